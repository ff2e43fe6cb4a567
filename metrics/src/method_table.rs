//! Figures of each method that has been called, kept up while the program runs. The drainer writes, whoever publishes reads.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use records::{Detail, RecordSink, RecordThread, SharedLengths};

use super::durations::Durations;

/// All methods, by probe number.
#[derive(Debug, Default)]
pub(crate) struct MethodTable {
    methods: Vec<Option<Box<MethodFigures>>>,
    lengths: SharedLengths,
    records: u64,
    lost: u64,
}

/// What is known of one method.
#[derive(Debug, Clone, Default)]
pub(crate) struct MethodFigures {
    /// All calls up to now.
    pub(crate) durations: Durations,
    /// Of these, those that are off by a late tick if the probe is at level watch.
    blurred: Durations,
    /// The shortest duration that says how long a call at level watch took.
    shortest: Option<u64>,
    /// Bytes told by the templates for sockets.
    pub(crate) socket_bytes: u64,
    /// The last complete interval; `None` until the method's first one has ended.
    pub(crate) interval: Option<Interval>,
}

/// What happened between two ticks of the publisher.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// Calls that ended, a second.
    pub(crate) rate: f64,
    /// Mean duration in seconds of the calls that ended; `None` without any.
    pub(crate) mean: Option<f64>,
    /// Time spent in calls that ended, divided by the length of the interval: by Little's law the mean number of calls at work.
    pub(crate) concurrency: f64,
    /// Calls and their nanoseconds up to its end.
    up_to_now: (u64, u64),
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
    /// Calls whose records were lost: no memory was free, or the processor's counter jumped while they ran.
    pub(crate) lost: u64,
}

impl MethodFigures {
    /// The durations that say how long calls at level watch took; `None` if too little is known.
    pub(crate) fn watched(&self) -> Option<Durations> {
        let shortest = self.shortest?;
        Some(self.durations.without(&self.blurred)).filter(|clear| clear.count() > 0 && clear.min() >= shortest)
    }
}

impl MethodTable {
    /// An empty table; at level watch late ticks count as `lengths` says.
    pub(crate) fn new(lengths: SharedLengths) -> MethodTable {
        MethodTable { lengths, ..MethodTable::default() }
    }

    fn method(&mut self, probe: u32) -> Option<&mut MethodFigures> {
        let at = probe as usize;
        if at >= self.methods.len() {
            self.methods.resize_with(at + 1, || None);
        }
        self.methods.get_mut(at).map(|slot| &mut **slot.get_or_insert_default())
    }

    fn add_all(&mut self, calls: impl Iterator<Item = (u32, u64, u64)>) {
        let lengths = Arc::clone(&self.lengths);
        let lengths = lengths.lock();
        for (probe, start, nanos) in calls {
            self.add(probe, nanos, lengths.is_blurred(start, nanos));
        }
    }

    fn add(&mut self, probe: u32, nanos: u64, blurred: bool) {
        self.records += 1;
        if let Some(method) = self.method(probe) {
            method.durations.record(nanos);
            if blurred {
                method.blurred.record(nanos);
            }
        }
    }

    /// An interval of this length ends.
    pub(crate) fn end_interval(&mut self, length: Duration) {
        let seconds = length.as_secs_f64().max(1e-9);
        for method in self.methods.iter_mut().flatten() {
            let (count, sum) = (method.durations.count(), method.durations.sum());
            let (count_before, sum_before) = method.interval.map_or((0, 0), |interval| interval.up_to_now);
            let calls = (count - count_before) as f64;
            let time = (sum - sum_before) as f64 / 1e9;
            method.interval = Some(Interval {
                rate: calls / seconds,
                mean: (calls > 0.0).then(|| time / calls),
                concurrency: time / seconds,
                up_to_now: (count, sum),
            });
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
        let shortest = self.lengths.lock().shortest();
        let copy = |(probe, method): (u32, &MethodFigures)| (probe, MethodFigures { shortest, ..method.clone() });
        MethodSnapshot {
            methods: methods.into_iter().map(copy).collect(),
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
    /// Notes calls whose records were lost.
    pub(crate) fn lost(&self, count: u64) {
        self.0.lock().lost += count;
    }
}

impl RecordSink for MethodSink {
    fn thread(&mut self, _thread: RecordThread) {}

    fn thread_name(&mut self, _thread: u64, _name: &[u8]) {}

    fn calls(&mut self, calls: &[[u64; 2]]) {
        self.0.lock().add_all(calls.iter().map(|[start, word]| ((word & 0x00ff_ffff) as u32, *start, word >> 24)));
    }

    fn long_call(&mut self, probe: u32, start: u64, duration: u64) {
        self.0.lock().add_all([(probe, start, duration)].into_iter());
    }

    fn detail(&mut self, detail: Detail<'_>) {
        let mut table = self.0.lock();
        table.add_all([(detail.probe, detail.start, detail.duration)].into_iter());
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
    fn lengths_of_level_watch_are_published_if_all_calls_were_long() {
        let lengths = SharedLengths::default();
        lengths.lock().raise_limit(1_000_000);
        lengths.lock().add_late(90_000_000, 40_000_000);
        let mut table = MethodTable::new(lengths);
        table.add_all(
            [(1, 5, 8_000_000), (1, 90_000_000, 40_000_000), (2, 5, 8_000_000), (2, 7, 1_000_000)].into_iter(),
        );
        let methods = table.snapshot(10).methods;
        let watched: Vec<_> = methods.iter().map(|(_, method)| method.watched().map(|known| known.count())).collect();
        assert_eq!(watched, [Some(1), None]);
        assert_eq!(methods[0].1.durations.count(), 2, "of sums nothing is left out");
    }

    #[test]
    fn only_the_methods_with_the_most_time_are_told() {
        let mut table = MethodTable::default();
        for (probe, nanos) in [(1, 5), (2, 50), (3, 7), (4, 40), (5, 6)] {
            table.add(probe, nanos, false);
        }
        let snapshot = table.snapshot(2);
        let told: Vec<u32> = snapshot.methods.iter().map(|(probe, _)| *probe).collect();
        assert_eq!((told, snapshot.omitted, snapshot.records), (vec![2, 4], 3, 5));
        assert_eq!((table.snapshot(5).methods.len(), table.snapshot(5).omitted), (5, 0));
    }

    #[test]
    fn an_interval_knows_rate_mean_and_concurrency_of_itself_alone() {
        let mut table = MethodTable::default();
        (0..5).for_each(|_| table.add(1, 1_000_000_000, false));
        assert_eq!(table.snapshot(10).methods[0].1.interval, None, "none has ended");
        table.end_interval(Duration::from_secs(1));
        // 20 calls of half a second within two seconds: five at a time.
        (0..20).for_each(|_| table.add(1, 500_000_000, false));
        table.end_interval(Duration::from_secs(2));
        let interval = table.snapshot(10).methods[0].1.interval.unwrap();
        assert_eq!((interval.rate, interval.mean, interval.concurrency), (10.0, Some(0.5), 5.0));
        table.end_interval(Duration::from_secs(2));
        let interval = table.snapshot(10).methods[0].1.interval.unwrap();
        assert_eq!((interval.rate, interval.mean, interval.concurrency), (0.0, None, 0.0));
    }
}
