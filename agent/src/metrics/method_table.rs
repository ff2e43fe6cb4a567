//! Figures of each method that has been called, kept up while the program runs. The drainer writes, whoever publishes reads.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::durations::Durations;
use crate::recorder::{Detail, RecordSink, RecordThread};

/// All methods, by probe number.
#[derive(Debug, Default)]
pub(crate) struct MethodTable {
    methods: Vec<Option<Box<MethodFigures>>>,
    records: u64,
    lost: u64,
}

/// What is known of one method.
#[derive(Debug, Clone, Default)]
pub(crate) struct MethodFigures {
    /// All calls up to now.
    pub(crate) durations: Durations,
    /// Bytes told by the templates for sockets.
    pub(crate) socket_bytes: u64,
    /// The last complete interval.
    pub(crate) interval: Interval,
}

/// What happened between two ticks of the publisher.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Interval {
    /// Calls that ended, a second.
    pub(crate) rate: f64,
    /// Mean duration in seconds of the calls that ended; 0 without any.
    pub(crate) mean: f64,
    /// Time spent in calls that ended, divided by the length of the interval: by Little's law the mean number of calls at work.
    pub(crate) concurrency: f64,
    count_before: u64,
    sum_before: u64,
}

/// A copy of the table.
#[derive(Debug, Clone, Default)]
pub(crate) struct MethodSnapshot {
    /// Probe number and figures of methods that have been called, by number.
    pub(crate) methods: Vec<(u32, MethodFigures)>,
    /// Methods that have been called and are not among them.
    pub(crate) omitted: usize,
    /// Records that reached the table.
    pub(crate) records: u64,
    /// Calls for which there was no memory.
    pub(crate) lost: u64,
}

impl MethodTable {
    fn method(&mut self, probe: u32) -> Option<&mut MethodFigures> {
        let at = probe as usize;
        if at >= self.methods.len() {
            self.methods.resize_with(at + 1, || None);
        }
        self.methods.get_mut(at).map(|slot| &mut **slot.get_or_insert_default())
    }

    fn add(&mut self, probe: u32, nanos: u64) {
        self.records += 1;
        if let Some(method) = self.method(probe) {
            method.durations.record(nanos);
        }
    }

    /// An interval of this length ends.
    pub(crate) fn end_interval(&mut self, length: Duration) {
        let seconds = length.as_secs_f64().max(1e-9);
        for method in self.methods.iter_mut().flatten() {
            let (count, sum) = (method.durations.count(), method.durations.sum());
            let calls = (count - method.interval.count_before) as f64;
            let time = (sum - method.interval.sum_before) as f64 / 1e9;
            method.interval = Interval {
                rate: calls / seconds,
                mean: if calls > 0.0 { time / calls } else { 0.0 },
                concurrency: time / seconds,
                count_before: count,
                sum_before: sum,
            };
        }
    }

    /// The methods with the most time, at most so many, as they stand.
    pub(crate) fn snapshot(&self, most: usize) -> MethodSnapshot {
        let called = (0..).zip(&self.methods).filter_map(|(probe, slot)| Some((probe, slot.as_deref()?)));
        let mut methods: Vec<(u32, &MethodFigures)> = called.collect();
        let omitted = methods.len().saturating_sub(most);
        if omitted > 0 {
            methods.select_nth_unstable_by_key(most, |(_, method)| Reverse(method.durations.sum()));
            methods.truncate(most);
            methods.sort_unstable_by_key(|(probe, _)| *probe);
        }
        MethodSnapshot {
            methods: methods.into_iter().map(|(probe, method)| (probe, method.clone())).collect(),
            omitted,
            records: self.records,
            lost: self.lost,
        }
    }
}

/// The drainer's end of the table.
#[derive(Debug)]
pub(crate) struct MethodSink(pub(crate) Arc<Mutex<MethodTable>>);

impl MethodSink {
    /// Notes calls for which there was no memory.
    pub(crate) fn lost(&self, count: u64) {
        self.0.lock().lost += count;
    }
}

impl RecordSink for MethodSink {
    fn thread(&mut self, _thread: RecordThread) {}

    fn thread_name(&mut self, _thread: u64, _name: &[u8]) {}

    fn calls(&mut self, calls: &[[u64; 2]]) {
        let mut table = self.0.lock();
        for [_, word] in calls {
            table.add((word & 0x00ff_ffff) as u32, word >> 24);
        }
    }

    fn long_call(&mut self, probe: u32, _start: u64, duration: u64) {
        self.0.lock().add(probe, duration);
    }

    fn detail(&mut self, detail: Detail<'_>) {
        let mut table = self.0.lock();
        table.add(detail.probe, detail.duration);
        if detail.kind == b'S'
            && let Some(method) = table.method(detail.probe)
        {
            method.socket_bytes += u64::from(detail.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_records_are_counted_and_sockets_add_their_bytes() {
        let table = Arc::new(Mutex::new(MethodTable::default()));
        let mut sink = MethodSink(Arc::clone(&table));
        sink.calls(&[[10, 7 << 24 | 3], [20, 9 << 24 | 3], [30, 5 << 24 | 1]]);
        sink.long_call(3, 40, 1 << 41);
        sink.detail(Detail { kind: b'S', probe: 2, start: 50, duration: 4, number: 1000, text: b"peer" });
        sink.lost(6);
        let snapshot = table.lock().snapshot(10);
        let counts: Vec<_> =
            snapshot.methods.iter().map(|(probe, method)| (*probe, method.durations.count())).collect();
        assert_eq!(counts, [(1, 1), (2, 1), (3, 3)]);
        assert_eq!((snapshot.records, snapshot.lost, snapshot.methods[1].1.socket_bytes), (5, 6, 1000));
    }

    #[test]
    fn only_the_methods_with_the_most_time_are_told() {
        let mut table = MethodTable::default();
        for (probe, nanos) in [(1, 5), (2, 50), (3, 7), (4, 40), (5, 6)] {
            table.add(probe, nanos);
        }
        let snapshot = table.snapshot(2);
        let told: Vec<u32> = snapshot.methods.iter().map(|(probe, _)| *probe).collect();
        assert_eq!((told, snapshot.omitted, snapshot.records), (vec![2, 4], 3, 5));
        assert_eq!((table.snapshot(5).methods.len(), table.snapshot(5).omitted), (5, 0));
    }

    #[test]
    fn an_interval_knows_rate_mean_and_concurrency_of_itself_alone() {
        let mut table = MethodTable::default();
        (0..5).for_each(|_| table.add(1, 1_000_000_000));
        table.end_interval(Duration::from_secs(1));
        // 20 calls of half a second within two seconds: five at a time.
        (0..20).for_each(|_| table.add(1, 500_000_000));
        table.end_interval(Duration::from_secs(2));
        let interval = table.snapshot(10).methods[0].1.interval;
        assert_eq!((interval.rate, interval.mean, interval.concurrency), (10.0, 0.5, 5.0));
        table.end_interval(Duration::from_secs(2));
        let interval = table.snapshot(10).methods[0].1.interval;
        assert_eq!((interval.rate, interval.mean, interval.concurrency), (0.0, 0.0, 0.0));
    }
}
