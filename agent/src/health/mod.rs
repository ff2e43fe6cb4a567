//! How the JVM is: a thread that looks twice a second at HotSpot's own counters of heap and collections. It opens the breaker
//! while the heap is short, and reports when the used heap keeps growing.

mod breaker;
mod leak;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metrics::{Family, Kind, PerfCounters, Unit, Value};
use parking_lot::Mutex;

use crate::jvm::{VmStructs, block_signals, perf_memory};
use crate::log::message;
pub(crate) use breaker::Limits;
use breaker::{Breaker, Change, Reading};
use leak::LeakWatch;

const LOOK: Duration = Duration::from_millis(500);
/// HotSpot numbers its collectors and generations from 0; none has more.
const NUMBERS: std::ops::Range<u32> = 0..4;

/// What is known about the heap, for those who ask.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Health {
    /// Least bytes in use since the last major collection: what is really needed.
    pub(crate) lowest: Option<u64>,
    /// Bytes by which the heap in use grew over the last major collections, each time; 0 unless that looks like a leak.
    pub(crate) leak_growth: u64,
    /// How often the breaker has opened.
    pub(crate) openings: u64,
    /// Why it is open.
    pub(crate) open_because: Option<String>,
    /// Whether its limits are exceeded; `None` if there is no breaker, or nobody has looked yet.
    pub(crate) condition: Option<Condition>,
}

/// Whether limits of the breaker are exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// None is, since this moment.
    Healthy(Instant),
    /// One was at this number of looks in a row.
    Exceeded(u32),
}

impl Condition {
    /// Returns the condition after a look at `now`.
    fn next(before: Option<Condition>, exceeded: u32, now: Instant) -> Condition {
        match (before, exceeded) {
            (Some(Condition::Healthy(since)), 0) => Condition::Healthy(since),
            (_, 0) => Condition::Healthy(now),
            (_, looks) => Condition::Exceeded(looks),
        }
    }
}

impl Health {
    /// The same as metrics.
    pub(crate) fn families(&self) -> [Family; 3] {
        let leak = "Growth of the least heap in use between major collections, where it grew at each of the last five; otherwise 0";
        let openings = "Times that the breaker stopped all probes because the heap was short";
        let lowest = "Least of the Java heap in use since the latest major collection";
        let lowest = Family::new("instr.heap.lowest", Unit::Bytes, Kind::Gauge, lowest);
        [
            self.lowest.map_or(lowest.clone(), |bytes| lowest.with(&[], Value::Integer(bytes))),
            Family::new("instr.heap.growth", Unit::Bytes, Kind::Gauge, leak)
                .with(&[], Value::Integer(self.leak_growth)),
            Family::new("instr.breaker.openings", Unit::Things("{opening}"), Kind::Counter, openings)
                .with(&[], Value::Integer(self.openings)),
        ]
    }
}

/// What is done when the health of the JVM changes.
pub(crate) trait Reactions: Send + 'static {
    /// The breaker opens (false) or closes.
    fn switch_probes(&self, on: bool);

    /// Records a note of this kind.
    fn note(&self, kind: &'static str, text: &str);
}

/// The running thread.
#[derive(Debug)]
pub(crate) struct HealthWatch {
    has_limits: bool,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl HealthWatch {
    /// Starts to look; `None` where the JVM counts nothing (`-XX:-UsePerfData`) or there is no thread.
    pub(crate) fn start(
        reactions: impl Reactions,
        health: Arc<Mutex<Health>>,
        limits: Option<Limits>,
        heap_limit: u64,
    ) -> Option<HealthWatch> {
        if VmStructs::find().and_then(perf_memory).is_none() {
            tracing::info!("this JVM shows no counters of its heap: no breaker, no watch for leaks");
            return None;
        }
        let has_limits = limits.is_some();
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new().name("instr-health".to_owned()).spawn(move || {
            block_signals();
            let mut watcher = Watcher {
                reactions: Box::new(reactions),
                health,
                breaker: limits.map(Breaker::new),
                leak: LeakWatch::default(),
            };
            let began = Instant::now();
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let memory = VmStructs::find().and_then(perf_memory);
                if let Some(counters) = memory.as_deref().and_then(PerfCounters::decode) {
                    watcher.look(&Counted::of(&counters), began.elapsed(), heap_limit);
                }
            }
        });
        let thread = thread.inspect_err(|error| tracing::error!(%error, "no thread to look at the heap")).ok()?;
        Some(HealthWatch { has_limits, stop, thread })
    }

    /// Whether there is a breaker, whose limits say whether the application is healthy.
    pub(crate) fn has_limits(&self) -> bool {
        self.has_limits
    }

    /// Ends the thread.
    pub(crate) fn stop(self) {
        // Fails if the thread has ended already.
        let _ = self.stop.send(());
        if self.thread.join().is_err() {
            tracing::error!("the thread that looks at the heap failed");
        }
    }
}

/// What HotSpot counts.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    collections: u64,
    major_collections: u64,
    stopped: Duration,
    used: u64,
    /// Whether a collection is under way: it is counted already, while `used` is what the one before has left.
    is_collecting: bool,
}

impl Counted {
    fn of(counters: &PerfCounters) -> Counted {
        let mut counted = Counted::default();
        let mut collectors = 0;
        for number in NUMBERS {
            let Some(count) = counters.number(&format!("sun.gc.collector.{number}.invocations")) else { continue };
            collectors += 1;
            counted.collections += count;
            counted.major_collections += match number {
                // The first collects the young generation, where there are several.
                0 => 0,
                // G1, the only one with three, counts both pauses of a concurrent cycle: Remark and Cleanup.
                2 if collectors == 3 => count.div_ceil(2),
                _ => count,
            };
            let seconds = counters.seconds(&format!("sun.gc.collector.{number}.time")).unwrap_or(0.0);
            counted.stopped += Duration::try_from_secs_f64(seconds).unwrap_or_default();
            let [entered, left] = ["lastEntryTime", "lastExitTime"]
                .map(|moment| counters.number(&format!("sun.gc.collector.{number}.{moment}")));
            counted.is_collecting |= entered > left;
        }
        if collectors == 1 {
            counted.major_collections = counted.collections;
        }
        for generation in NUMBERS {
            for space in NUMBERS {
                let name = format!("sun.gc.generation.{generation}.space.{space}.used");
                counted.used += counters.number(&name).unwrap_or(0);
            }
        }
        counted
    }
}

struct Watcher {
    reactions: Box<dyn Reactions>,
    health: Arc<Mutex<Health>>,
    breaker: Option<Breaker>,
    leak: LeakWatch,
}

impl Watcher {
    fn look(&mut self, counted: &Counted, at: Duration, limit: u64) {
        let Counted { collections, major_collections, stopped, used, is_collecting } = *counted;
        if !is_collecting && let Some(text) = self.leak.see(major_collections, used, limit) {
            self.tell("leak", &text);
        }
        let change =
            self.breaker.as_mut().and_then(|breaker| breaker.see(Reading { at, collections, stopped, used, limit }));
        {
            let mut health = self.health.lock();
            health.lowest = self.leak.lowest();
            health.leak_growth = self.leak.growth(limit);
            health.openings += u64::from(matches!(change, Some(Change::Open(_))));
            health.open_because = self.breaker.as_ref().and_then(Breaker::reason).map(str::to_owned);
            let exceeded = self.breaker.as_ref().map(Breaker::exceeded);
            health.condition = exceeded.map(|looks| Condition::next(health.condition, looks, Instant::now()));
        }
        match change {
            Some(Change::Open(reason)) => {
                self.reactions.switch_probes(false);
                self.tell("breaker", &format!("breaker open, nothing is recorded: {reason}"));
            }
            Some(Change::Close) => {
                self.reactions.switch_probes(true);
                self.tell("breaker", "breaker closed, probes record again: the heap has been well for a while");
            }
            None => {}
        }
    }

    fn tell(&self, kind: &'static str, text: &str) {
        message::say(text);
        self.reactions.note(kind, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Reactions for Nothing {
        fn switch_probes(&self, _on: bool) {}

        fn note(&self, _kind: &'static str, _text: &str) {}
    }

    #[test]
    fn collections_beyond_those_of_the_young_generation_are_major_ones() {
        let counters = PerfCounters::of_numbers(&[
            ("sun.os.hrt.frequency", 1000),
            ("sun.gc.collector.0.invocations", 5),
            ("sun.gc.collector.0.time", 2500),
            ("sun.gc.collector.1.invocations", 2),
            ("sun.gc.collector.1.time", 500),
            ("sun.gc.generation.0.space.0.used", 100),
            ("sun.gc.generation.0.space.2.used", 20),
            ("sun.gc.generation.1.space.0.used", 3),
        ]);
        let stopped = Duration::from_secs(3);
        let expected = Counted { collections: 7, major_collections: 2, stopped, used: 123, is_collecting: false };
        assert_eq!(Counted::of(&counters), expected);
        let one = PerfCounters::of_numbers(&[("sun.gc.collector.2.invocations", 4)]);
        assert_eq!(Counted::of(&one).major_collections, 4, "a collector without generations");
        let of_g1 = |pauses| {
            let [young, full, concurrent] = [0, 1, 2].map(|number| format!("sun.gc.collector.{number}.invocations"));
            let counters = PerfCounters::of_numbers(&[(&young, 30), (&full, 1), (&concurrent, pauses)]);
            Counted::of(&counters).major_collections
        };
        assert_eq!([of_g1(0), of_g1(1), of_g1(2), of_g1(3)], [1, 2, 2, 3], "a cycle of G1 is one collection");
    }

    #[test]
    fn the_condition_says_for_how_long_no_limit_or_one_has_been_exceeded() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let healthy = Condition::next(None, 0, at(1));
        assert_eq!(healthy, Condition::Healthy(at(1)));
        assert_eq!(Condition::next(Some(healthy), 0, at(2)), Condition::Healthy(at(1)));
        let exceeded = Condition::next(Some(healthy), 2, at(3));
        assert_eq!(exceeded, Condition::Exceeded(2));
        assert_eq!(Condition::next(Some(exceeded), 0, at(4)), Condition::Healthy(at(4)));
    }

    #[test]
    fn what_a_collection_leaves_is_read_when_it_is_over() {
        let counted = |major, used, entered, left| {
            Counted::of(&PerfCounters::of_numbers(&[
                ("sun.gc.collector.0.invocations", 5),
                ("sun.gc.collector.0.lastEntryTime", 10),
                ("sun.gc.collector.0.lastExitTime", 20),
                ("sun.gc.collector.1.invocations", major),
                ("sun.gc.collector.1.lastEntryTime", entered),
                ("sun.gc.collector.1.lastExitTime", left),
                ("sun.gc.generation.0.space.0.used", used),
            ]))
        };
        let health = Arc::new(Mutex::new(Health::default()));
        let mut watcher = Watcher {
            reactions: Box::new(Nothing),
            health: Arc::clone(&health),
            breaker: None,
            leak: LeakWatch::default(),
        };
        let mut lowest_after = |counted: &Counted| {
            watcher.look(counted, Duration::ZERO, 1_000);
            health.lock().lowest
        };
        lowest_after(&counted(0, 90, 0, 0));
        assert_eq!(lowest_after(&counted(1, 40, 30, 31)), Some(40));
        // The heap has grown, which the counter of bytes does not show yet.
        assert_eq!(lowest_after(&counted(2, 40, 50, 31)), Some(40));
        assert_eq!(lowest_after(&counted(2, 60, 50, 53)), Some(60));
    }
}
