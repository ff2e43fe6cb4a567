//! Which method calls which, while the program runs.
//!
//! A call is recorded when it ends, so after those that it made. Of each thread the calls are kept around which none has been
//! recorded yet: a call that began before some of them made these. At level watch that is certain only to a tick ([`NestingEvidence`]).

use std::cmp::Reverse;
use std::sync::Arc;

use parking_lot::Mutex;
use records::{Detail, EndedCalls, RecordSink, RecordThread};
use rustc_hash::FxHashMap;
use trace::{EndedCall, NestingEvidence};

use super::family::{Family, Kind, Unit, Value};
use super::method_families::MethodNames;

/// So many pairs are kept; calls of others are counted together.
const MOST_PAIRS: usize = 10_000;
/// So many calls of a thread wait for the call around them. Outermost calls wait in vain; the oldest goes.
const MOST_WAITING: usize = 256;
/// So many threads are followed at a time.
const MOST_THREADS: usize = 1_024;

/// Calls of one method by another.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Pair {
    calls: u64,
    nanos: u64,
}

/// All pairs.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    pairs: FxHashMap<(u32, u32), Pair>,
    omitted: u64,
}

impl Relations {
    fn add(&mut self, caller: u32, callee: u32, nanos: u64) {
        let is_room = self.pairs.len() < MOST_PAIRS;
        if is_room || self.pairs.contains_key(&(caller, callee)) {
            let pair = self.pairs.entry((caller, callee)).or_default();
            pair.calls += 1;
            pair.nanos = pair.nanos.saturating_add(nanos);
        } else {
            self.omitted += 1;
        }
    }

    /// The pairs with the most time, as metrics.
    pub(super) fn families(&self, names: &MethodNames, most: usize) -> [Family; 3] {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_unstable_by_key(|(probes, pair)| (Reverse(pair.nanos), **probes));
        let unpublished: u64 = pairs.get(most..).unwrap_or_default().iter().map(|(_, pair)| pair.calls).sum();
        let call = Unit::Things("{call}");
        let help = "Calls of one instrumented method by another, the nearest instrumented one around it";
        let mut calls = Family::new("instr.method.calls", call, Kind::Counter, help);
        let mut time = Family::new("instr.method.calls.time", Unit::Seconds, Kind::Counter, "Time in these calls");
        for ((caller, callee), pair) in pairs.into_iter().take(most) {
            let (Some(caller), Some(callee)) = (names.get(*caller), names.get(*callee)) else { continue };
            let attributes = [("instr.caller", caller.function()), ("code.function.name", callee.function())];
            calls = calls.with(&attributes, Value::Integer(pair.calls));
            time = time.with(&attributes, Value::Number(pair.nanos as f64 / 1e9));
        }
        let omitted =
            Family::new("instr.method.calls.omitted", call, Kind::Gauge, "Calls of pairs that have no series");
        [calls, time, omitted.with(&[], Value::Integer(self.omitted + unpublished))]
    }
}

/// The drainer's end.
#[derive(Debug)]
pub(crate) struct RelationSink {
    relations: Arc<Mutex<Relations>>,
    threads: FxHashMap<u64, Vec<EndedCall>>,
    thread: RecordThread,
    ended: EndedCalls,
    evidence: NestingEvidence,
}

impl RelationSink {
    /// A sink for these pairs.
    pub(crate) fn new(relations: Arc<Mutex<Relations>>, ended: EndedCalls) -> RelationSink {
        let (threads, thread, evidence) = Default::default();
        RelationSink { relations, threads, thread, ended, evidence }
    }

    /// A thread has ended: nobody has called what still waits.
    pub(crate) fn thread_gone(&mut self, thread: u64) {
        self.threads.remove(&thread);
    }

    /// Adds calls: probe, start and nanoseconds.
    fn add(&mut self, calls: impl Iterator<Item = (u32, u64, u64)>) {
        // The calls of a virtual thread may come in turns from several carriers.
        if self.thread.is_virtual {
            return;
        }
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&self.thread.id) {
            self.threads.clear();
        }
        let waiting = self.threads.entry(self.thread.id).or_default();
        let mut relations = self.relations.lock();
        for (probe, start, nanos) in calls {
            let call = self.ended.call(probe, start, nanos);
            while let Some(inner) = waiting.pop_if(|inner| self.evidence.learn_and_place(inner, &call)) {
                relations.add(probe, inner.method, inner.end.saturating_sub(inner.start));
            }
            if waiting.len() == MOST_WAITING {
                waiting.drain(..MOST_WAITING / 2);
            }
            waiting.push(call);
        }
    }
}

impl RecordSink for RelationSink {
    fn thread(&mut self, thread: RecordThread) {
        self.thread = thread;
    }

    fn thread_name(&mut self, _thread: u64, _name: &[u8]) {}

    fn calls(&mut self, calls: &[[u64; 2]]) {
        self.add(calls.iter().map(|[start, word]| {
            let probe = (word & 0x00ff_ffff) as u32;
            (probe, *start, word >> 24)
        }));
    }

    fn long_call(&mut self, probe: u32, start: u64, duration: u64) {
        self.add(std::iter::once((probe, start, duration)));
    }

    fn detail(&mut self, detail: Detail<'_>) {
        let Detail { start, probe, duration, .. } = detail;
        self.add(std::iter::once((probe, start, duration)));
    }
}

#[cfg(test)]
mod tests {
    use instrument_core::level::Level;
    use records::probe_registry::ProbeRequest;
    use records::{BOOT, ProbeRegistry};

    use super::*;

    fn sink() -> (RelationSink, Arc<Mutex<Relations>>) {
        let relations = Arc::<Mutex<Relations>>::default();
        let ended = EndedCalls::new(Box::leak(Box::default()), Arc::default());
        (RelationSink::new(Arc::clone(&relations), ended), relations)
    }

    fn call(start: u64, end: u64, probe: u64) -> [u64; 2] {
        [start, (end - start) << 24 | probe]
    }

    #[test]
    fn each_call_belongs_to_the_nearest_around_it() {
        let (mut sink, relations) = sink();
        // 1 calls 2 twice, 2 calls 3 once; before that a 3 of its own; meanwhile another thread.
        sink.calls(&[call(0, 5, 3), call(12, 14, 3), call(11, 20, 2)]);
        sink.thread(RecordThread { id: 9, is_virtual: false });
        sink.calls(&[call(1, 100, 4)]);
        sink.thread(RecordThread::default());
        sink.calls(&[call(21, 25, 2), call(10, 30, 1)]);
        let mut pairs: Vec<_> =
            relations.lock().pairs.iter().map(|(probes, pair)| (*probes, pair.calls, pair.nanos)).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, [((1, 2), 2, 13), ((2, 3), 1, 2)]);
    }

    /// Probe 1 records ticks, probe 2 exact times: siblings, although the record of the watched call begins before the exact call did.
    #[test]
    fn an_exact_call_before_a_watched_one_is_not_called_by_it() {
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let request = |level| {
            let (name, descriptor) = (b"m".as_slice(), b"()V".as_slice());
            ProbeRequest { name, descriptor, access_flags: 0, template: "t", level, live: false, context: "" }
        };
        probes.numbers((b"C", BOOT), &[request(Level::Watch), request(Level::Time)]).unwrap();
        let relations = Arc::<Mutex<Relations>>::default();
        let mut sink = RelationSink::new(Arc::clone(&relations), EndedCalls::new(probes, Arc::default()));
        for now in (0..200).map(|round| round * 10_000) {
            sink.calls(&[call(now + 100, now + 150, 2), call(now, now + 3_000, 1)]);
        }
        assert!(relations.lock().pairs.is_empty(), "{:?}", relations.lock().pairs);
    }

    #[test]
    fn outermost_calls_and_threads_without_end_take_a_bounded_memory() {
        let (mut sink, relations) = sink();
        for thread in 0..3_000 {
            sink.thread(RecordThread { id: thread, is_virtual: false });
            (0..2_000_u64).filter(|n| thread == 5 || *n < 3).for_each(|n| sink.calls(&[call(10 * n, 10 * n + 1, 1)]));
        }
        assert!(
            sink.threads.len() <= MOST_THREADS && sink.threads.values().all(|waiting| waiting.len() <= MOST_WAITING)
        );
        let before = sink.threads.len();
        sink.thread_gone(2_999);
        assert_eq!(sink.threads.len(), before - 1);
        let mut relations = relations.lock();
        assert!(relations.pairs.is_empty());
        (0..20_000).for_each(|callee| relations.add(1, callee, 1));
        assert_eq!((relations.pairs.len(), relations.omitted), (MOST_PAIRS, 10_000));
    }
}
