//! How often each probe recorded, for those who ask while the program runs, and how long calls took while somebody looks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::Durations;
use records::SharedLengths;
use rustc_hash::FxHashMap;

/// A client that has not asked for this time is no longer served.
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls of a probe since the recording began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Records.
    pub(crate) count: u64,
    /// Their durations together, in nanoseconds.
    pub(crate) nanos: u64,
    /// The shortest duration, late ticks at level watch aside.
    pub(crate) shortest: Option<u64>,
    /// Calls were within other calls of the same probe, so that `nanos` has the same time several times.
    pub(crate) is_recursive: bool,
}

/// The call of a probe that was recorded last.
#[derive(Debug, Clone, Copy, Default)]
struct LastCall {
    thread: u64,
    start: u64,
    nanos: u64,
}

/// Calls that probes were passed for, whether their records were kept or not.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallsMade {
    /// By the number of the probe.
    pub(crate) by_number: Vec<u64>,
    /// Calls of unknown probes: no segment was free for their records, or they ended in the future (the processor's counter jumped).
    pub(crate) lost: u64,
}

/// Calls by probe number.
#[derive(Debug, Default)]
pub(crate) struct CallRates {
    calls: Vec<Calls>,
    last_calls: Vec<LastCall>,
    /// The thread whose calls follow.
    thread: u64,
    lengths: SharedLengths,
    /// Calls of threads that the configuration leaves out: they cost as much.
    left_out: Vec<u64>,
    /// Calls whose records were lost, for the reasons of [`CallsMade::lost`].
    lost: u64,
    /// Only while somebody looks: keeping distributions up costs more than counting.
    watched: [Option<Watched>; Looker::COUNT],
}

/// Who looks at distributions. Each gets the calls since its own last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looker {
    /// Clients that show figures, such as `instr top`.
    Clients,
    /// The monitor of slow calls.
    Monitor,
}

impl Looker {
    const COUNT: usize = 2;
}

/// Distributions of the calls since the last look, by probe number.
#[derive(Debug)]
struct Watched {
    durations: FxHashMap<usize, RecentCalls>,
    last_look: Instant,
}

/// Durations of the calls of a probe since the last look.
#[derive(Debug, Default)]
pub(crate) struct RecentCalls {
    /// All recorded durations.
    pub(crate) durations: Durations,
    /// Of these, those that are off by a late tick if the probe is at level watch.
    pub(crate) blurred: Durations,
}

const PROBE_MASK: u64 = 0x00ff_ffff;

impl CallRates {
    /// Nothing was called yet; at level watch late ticks count as `lengths` says.
    pub(crate) fn new(lengths: SharedLengths) -> CallRates {
        CallRates { lengths, ..CallRates::default() }
    }

    /// The following calls are those of this thread.
    pub(crate) fn set_thread(&mut self, thread: u64) {
        self.thread = thread;
    }

    /// Counts ring records: start, duration << 24 | probe.
    pub(crate) fn add(&mut self, records: &[[u64; 2]]) {
        let lengths = Arc::clone(&self.lengths);
        let lengths = lengths.lock();
        for watched in &mut self.watched {
            watched.take_if(|watched| watched.last_look.elapsed() > PATIENCE);
        }
        for [start, word] in records {
            let nanos = word >> 24;
            self.count((word & PROBE_MASK) as usize, *start, nanos, lengths.is_blurred(*start, nanos));
        }
    }

    /// Counts one call.
    pub(crate) fn add_call(&mut self, probe: usize, start: u64, nanos: u64) {
        let blurred = self.lengths.lock().is_blurred(start, nanos);
        self.count(probe, start, nanos, blurred);
    }

    /// How the calls since this one's last look were distributed, by probe number. The first look finds nothing: it begins here.
    pub(crate) fn look(&mut self, looker: Looker) -> FxHashMap<usize, RecentCalls> {
        let next = Watched { durations: FxHashMap::default(), last_look: Instant::now() };
        let watched = self.watched.get_mut(looker as usize).and_then(|watched| watched.replace(next));
        watched.map(|watched| watched.durations).unwrap_or_default()
    }

    /// This one looks no more.
    pub(crate) fn look_away(&mut self, looker: Looker) {
        if let Some(watched) = self.watched.get_mut(looker as usize) {
            *watched = None;
        }
    }

    fn count(&mut self, probe: usize, start: u64, nanos: u64, blurred: bool) {
        for watched in self.watched.iter_mut().flatten() {
            let recent = watched.durations.entry(probe).or_default();
            recent.durations.record(nanos);
            if blurred {
                recent.blurred.record(nanos);
            }
        }
        if self.calls.len() <= probe && probe <= PROBE_MASK as usize {
            self.calls.resize((probe + 1).next_power_of_two(), Calls::default());
            self.last_calls.resize(self.calls.len(), LastCall::default());
        }
        let is_recursive = self.is_around_last_call(probe, start, nanos);
        if let Some(calls) = self.calls.get_mut(probe) {
            calls.count += 1;
            calls.nanos = calls.nanos.saturating_add(nanos);
            calls.is_recursive |= is_recursive;
            if !blurred {
                calls.shortest = Some(calls.shortest.map_or(nanos, |shortest| shortest.min(nanos)));
            }
        }
    }

    /// Whether a call was still running when the last call of the same probe and thread began: calls are recorded when they end. The last
    /// call of one thread is known, so calls within each other are missed only if other threads record each time in between.
    fn is_around_last_call(&mut self, probe: usize, start: u64, nanos: u64) -> bool {
        let Some(last) = self.last_calls.get_mut(probe) else { return false };
        let this = LastCall { thread: self.thread, start, nanos };
        let last = std::mem::replace(last, this);
        let began_earlier = start < last.start || (start == last.start && last.nanos > 0);
        last.start > 0 && last.thread == this.thread && began_earlier
    }

    /// Counts ring records of a thread that the configuration leaves out.
    pub(crate) fn add_left_out(&mut self, records: &[[u64; 2]]) {
        records.iter().for_each(|[_, word]| self.add_left_out_call((word & PROBE_MASK) as usize));
    }

    /// Counts one such call.
    pub(crate) fn add_left_out_call(&mut self, probe: usize) {
        if self.left_out.len() <= probe && probe <= PROBE_MASK as usize {
            self.left_out.resize((probe + 1).next_power_of_two(), 0);
        }
        if let Some(calls) = self.left_out.get_mut(probe) {
            *calls += 1;
        }
    }

    /// Counts calls whose records were lost.
    pub(crate) fn add_lost(&mut self, count: u64) {
        self.lost += count;
    }

    /// Everything that was paid for up to this moment.
    pub(crate) fn made(&self) -> CallsMade {
        let longest = self.calls.len().max(self.left_out.len());
        CallsMade { by_number: (0..longest).map(|number| self.made_by(number)).collect(), lost: self.lost }
    }

    /// Calls under this number up to this moment.
    pub(crate) fn made_by(&self, number: usize) -> u64 {
        let kept = self.calls.get(number).map_or(0, |calls| calls.count);
        kept + self.left_out.get(number).copied().unwrap_or(0)
    }

    /// The figures at this moment, at the position of the probe's number.
    pub(crate) fn snapshot(&self) -> Vec<Calls> {
        self.calls.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_time_are_counted_for_each_probe() {
        let mut rates = CallRates::default();
        rates.add(&[[1, 10 << 24 | 3], [2, 5 << 24 | 3], [3, 7 << 24 | 1]]);
        rates.add_call(900, 4, 1 << 41);
        let calls = rates.snapshot();
        assert_eq!(calls[3], Calls { count: 2, nanos: 15, shortest: Some(5), is_recursive: false });
        assert_eq!(calls[1], Calls { count: 1, nanos: 7, shortest: Some(7), is_recursive: false });
        assert_eq!(calls[900], Calls { count: 1, nanos: 1 << 41, shortest: Some(1 << 41), is_recursive: false });
        assert_eq!(calls[2], Calls::default());
    }

    #[test]
    fn calls_within_calls_of_the_same_method_are_noticed() {
        let mut rates = CallRates::default();
        rates.set_thread(1);
        rates.add(&[[10, 5 << 24 | 1], [20, 5 << 24 | 1], [30, 5 << 24 | 2]]);
        rates.set_thread(2);
        rates.add(&[[12, 9 << 24 | 1], [25, 9 << 24 | 3]]);
        rates.add_call(3, 18, 90);
        rates.set_thread(1);
        rates.add(&[[28, 60 << 24 | 2]]);
        let recursive: Vec<_> = rates.snapshot().iter().map(|calls| calls.is_recursive).collect();
        assert_eq!(recursive, [false, false, true, true], "calls of two threads are not within each other");
    }

    #[test]
    fn calls_whose_records_are_left_out_or_lost_were_made_all_the_same() {
        let mut rates = CallRates::default();
        rates.add(&[[1, 10 << 24 | 1]]);
        rates.add_left_out(&[[1, 10 << 24 | 1], [2, 10 << 24 | 5]]);
        rates.add_lost(7);
        let made = rates.made();
        assert_eq!((made.by_number[1], made.by_number[5], made.lost), (2, 1, 7));
        assert_eq!(rates.snapshot()[1].count, 1);
    }

    #[test]
    fn distributions_are_those_of_the_calls_between_two_looks() {
        let mut rates = CallRates::default();
        rates.add(&[[1, 10 << 24 | 3]]);
        assert!(rates.look(Looker::Clients).is_empty(), "nobody had looked");
        rates.add(&[[2, 20 << 24 | 3], [3, 1_000 << 24 | 3]]);
        rates.add_call(7, 4, 1 << 41);
        let looked = rates.look(Looker::Clients);
        assert_eq!(
            (looked[&3].durations.count(), looked[&3].durations.max(), looked[&7].durations.count()),
            (2, 1_000, 1)
        );
        assert!(rates.look(Looker::Clients).is_empty());
        assert_eq!(rates.snapshot()[3].count, 3);
    }

    #[test]
    fn each_one_that_looks_sees_all_calls() {
        let mut rates = CallRates::default();
        assert!(rates.look(Looker::Clients).is_empty() && rates.look(Looker::Monitor).is_empty());
        rates.add(&[[2, 20 << 24 | 3]]);
        assert_eq!(rates.look(Looker::Clients).len(), 1);
        rates.add(&[[4, 20 << 24 | 3]]);
        assert_eq!(rates.look(Looker::Monitor)[&3].durations.count(), 2);
        rates.look_away(Looker::Monitor);
        rates.add(&[[5, 20 << 24 | 3]]);
        assert!(rates.look(Looker::Monitor).is_empty());
        assert_eq!(rates.look(Looker::Clients)[&3].durations.count(), 2);
    }
}
