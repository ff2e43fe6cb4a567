//! How often each probe recorded, for those who ask while the program runs, and how long calls took while somebody looks.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::metrics::Durations;

/// Who has not looked for so long does not look any more.
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls of a probe since the recording began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Records.
    pub(crate) count: u64,
    /// Their durations together, in nanoseconds.
    pub(crate) nanos: u64,
}

/// Calls by probe number.
#[derive(Debug, Default)]
pub(crate) struct CallRates {
    calls: Vec<Calls>,
    /// Only while somebody looks: keeping distributions up costs more than counting.
    watched: Option<Watched>,
}

/// Distributions of the calls since the last look, by probe number.
#[derive(Debug)]
struct Watched {
    durations: FxHashMap<usize, Durations>,
    last_look: Instant,
}

const PROBE_MASK: u64 = 0x00ff_ffff;

impl CallRates {
    /// Counts ring records: start, duration << 24 | probe.
    pub(crate) fn add(&mut self, records: &[[u64; 2]]) {
        for [_, word] in records {
            self.count((word & PROBE_MASK) as usize, word >> 24);
        }
        if self.watched.is_some() {
            self.distribute(records.iter().map(|[_, word]| ((word & PROBE_MASK) as usize, word >> 24)));
        }
    }

    /// Counts one call.
    pub(crate) fn add_call(&mut self, probe: usize, nanos: u64) {
        self.count(probe, nanos);
        if self.watched.is_some() {
            self.distribute([(probe, nanos)].into_iter());
        }
    }

    fn distribute(&mut self, calls: impl Iterator<Item = (usize, u64)>) {
        let Some(watched) = &mut self.watched else { return };
        if watched.last_look.elapsed() > PATIENCE {
            self.watched = None;
            return;
        }
        for (probe, nanos) in calls {
            watched.durations.entry(probe).or_default().record(nanos);
        }
    }

    /// How the calls since the last look were distributed, by probe number. The first look finds nothing: it begins here.
    pub(crate) fn look(&mut self) -> FxHashMap<usize, Durations> {
        let next = Watched { durations: FxHashMap::default(), last_look: Instant::now() };
        self.watched.replace(next).map(|watched| watched.durations).unwrap_or_default()
    }

    fn count(&mut self, probe: usize, nanos: u64) {
        if self.calls.len() <= probe && probe <= PROBE_MASK as usize {
            self.calls.resize((probe + 1).next_power_of_two(), Calls::default());
        }
        if let Some(calls) = self.calls.get_mut(probe) {
            calls.count += 1;
            calls.nanos = calls.nanos.saturating_add(nanos);
        }
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
        rates.add_call(900, 1 << 41);
        let calls = rates.snapshot();
        assert_eq!(calls[3], Calls { count: 2, nanos: 15 });
        assert_eq!(calls[1], Calls { count: 1, nanos: 7 });
        assert_eq!(calls[900], Calls { count: 1, nanos: 1 << 41 });
        assert_eq!(calls[2], Calls::default());
    }

    #[test]
    fn distributions_are_those_of_the_calls_between_two_looks() {
        let mut rates = CallRates::default();
        rates.add(&[[1, 10 << 24 | 3]]);
        assert!(rates.look().is_empty(), "nobody had looked");
        rates.add(&[[2, 20 << 24 | 3], [3, 1_000 << 24 | 3]]);
        rates.add_call(7, 1 << 41);
        let looked = rates.look();
        assert_eq!((looked[&3].count(), looked[&3].max(), looked[&7].count()), (2, 1_000, 1));
        assert!(rates.look().is_empty());
        assert_eq!(rates.snapshot()[3].count, 3);
    }
}
