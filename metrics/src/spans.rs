//! Long calls as spans: which call was made within which, for each thread.
//!
//! Calls are recorded when they end, so inner ones come first. A call takes those that began after it as its children. Whether
//! an outer call is still running nobody knows, hence a call waits for a parent as long as an interval; a parent that
//! comes later begins a trace of its own, and is counted.

use std::sync::Arc;

use parking_lot::Mutex;
use records::{Detail, RecordSink, RecordThread};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::TaskStep;
use trace::analysis::TaskRecord;

/// Calls that wait at the same time; more are left out, and counted.
const MOST_WAITING: usize = 50_000;

/// Calls that may stand in one another; what is deeper is left out, and counted.
const DEEPEST: usize = 500;

/// Steps of tasks in an interval; without the others their spans begin traces of their own.
const MOST_STEPS: usize = 500_000;

/// Names of threads that are kept; each thread tells its name only once.
const MOST_NAMES: usize = 10_000;

/// One call with what was called in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpanNode {
    /// The probe that was passed.
    pub(crate) probe: u32,
    /// Start on Java's clock, in nanoseconds.
    pub(crate) start: u64,
    /// End on Java's clock.
    pub(crate) end: u64,
    /// What the template noted.
    pub(crate) detail: Option<SpanDetail>,
    /// Calls within it, in the order of time.
    pub(crate) children: Vec<SpanNode>,
    /// How many calls stand in one another here, this one included.
    pub(crate) depth: usize,
}

/// A text and a number from a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpanDetail {
    /// `J` statement, `H` HTTP request that was answered, `C` one that was sent, `S` peer, `A` values; the text as `records/src/detail_fields.rs` takes it apart.
    pub(crate) kind: u8,
    /// The text.
    pub(crate) text: String,
    /// HTTP status (and port), number of bytes, or the probe of the driver that executed the statement.
    pub(crate) number: u32,
}

/// The calls of a thread that have found their parents or do not wait for them any longer.
#[derive(Debug, Clone)]
pub(crate) struct ThreadTrees {
    /// Java's number of the thread.
    pub(crate) thread: u64,
    /// Its name, if it has been told.
    pub(crate) name: Option<Arc<str>>,
    /// The outermost calls.
    pub(crate) roots: Vec<SpanNode>,
}

/// What became of the calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SpanCounts {
    /// Calls below the threshold.
    pub(crate) short: u64,
    /// Calls for which there was no room.
    pub(crate) dropped: u64,
    /// Calls whose inner calls had already been sent.
    pub(crate) late: u64,
}

/// Calls that wait.
#[derive(Debug)]
pub(crate) struct SpanTable {
    threshold: u64,
    threads: FxHashMap<u64, Waiting>,
    names: FxHashMap<u64, Arc<str>>,
    /// Threads that have ended, whose names go with their last calls.
    ended: FxHashSet<u64>,
    waiting: usize,
    counts: SpanCounts,
    /// Steps of tasks between threads.
    steps: Vec<TaskRecord>,
}

#[derive(Debug, Default)]
struct Waiting {
    roots: Vec<SpanNode>,
    /// End of the last call that has been given out.
    given_until: u64,
}

impl SpanTable {
    /// A table for calls of at least this many nanoseconds.
    pub(crate) fn new(threshold: u64) -> SpanTable {
        SpanTable {
            threshold,
            threads: FxHashMap::default(),
            names: FxHashMap::default(),
            ended: FxHashSet::default(),
            waiting: 0,
            counts: SpanCounts::default(),
            steps: Vec::new(),
        }
    }

    fn add_step(&mut self, step: TaskRecord) {
        if self.steps.len() < MOST_STEPS {
            self.steps.push(step);
        }
    }

    /// Gives out the steps of tasks before `until`, in the order of time.
    pub(crate) fn take_steps_until(&mut self, until: u64) -> Vec<TaskRecord> {
        self.steps.sort_by_key(|step| step.at);
        let ready = self.steps.partition_point(|step| step.at < until);
        self.steps.drain(..ready).collect()
    }

    fn add(&mut self, thread: u64, probe: u32, start: u64, duration: u64, detail: impl FnOnce() -> Option<SpanDetail>) {
        if duration < self.threshold {
            self.counts.short += 1;
            return;
        }
        self.take(thread, probe, start, duration, detail());
    }

    fn take(&mut self, thread: u64, probe: u32, start: u64, duration: u64, detail: Option<SpanDetail>) {
        if self.waiting >= MOST_WAITING {
            self.counts.dropped += 1;
            return;
        }
        self.waiting += 1;
        let of_thread = self.threads.entry(thread).or_default();
        self.counts.late += u64::from(start < of_thread.given_until);
        let end = start.saturating_add(duration);
        let call = SpanNode { probe, start, end, detail, children: Vec::new(), depth: 1 };
        let too_deep = insert(&mut of_thread.roots, call);
        self.waiting -= too_deep;
        self.counts.dropped += too_deep as u64;
    }

    /// Adds what came behind its call.
    fn tell(&mut self, thread: u64, probe: u32, (start, end): (u64, u64), detail: SpanDetail) {
        let Some(waiting) = self.threads.get_mut(&thread) else { return };
        let mut siblings = &mut waiting.roots;
        loop {
            let place = siblings.partition_point(|known| known.end < end);
            let Some(call) = siblings.get_mut(place).filter(|call| call.start <= start) else { return };
            // Those around it with the same times have not come yet, or have their values.
            if (call.probe, call.start, call.end) == (probe, start, end) && call.detail.is_none() {
                call.detail = Some(detail);
                return;
            }
            siblings = &mut call.children;
        }
    }

    /// Gives out the outermost calls that ended before `until`.
    pub(crate) fn take_until(&mut self, until: u64) -> Vec<ThreadTrees> {
        let mut trees = Vec::new();
        for (thread, waiting) in &mut self.threads {
            let ready = waiting.roots.partition_point(|root| root.end < until);
            let roots: Vec<SpanNode> = waiting.roots.drain(..ready).collect();
            if let Some(last) = roots.last() {
                waiting.given_until = last.end;
                trees.push(ThreadTrees { thread: *thread, name: self.names.get(thread).map(Arc::clone), roots });
            }
        }
        self.waiting -= trees.iter().map(|tree| tree.roots.iter().map(SpanNode::size).sum::<usize>()).sum::<usize>();
        // Threads come and go, virtual ones by the thousand: what was silent for a whole interval is forgotten.
        self.threads.retain(|_, waiting| !waiting.roots.is_empty() || waiting.given_until >= until);
        let SpanTable { threads, names, ended, .. } = self;
        ended.retain(|thread| {
            let has_calls = threads.contains_key(thread);
            if !has_calls {
                names.remove(thread);
            }
            has_calls
        });
        if names.len() > MOST_NAMES {
            names.retain(|thread, _| threads.contains_key(thread));
        }
        trees
    }

    /// What became of the calls up to now.
    pub(crate) fn counts(&self) -> SpanCounts {
        self.counts
    }
}

impl SpanNode {
    /// The call and all within it.
    pub(crate) fn size(&self) -> usize {
        1 + self.children.iter().map(SpanNode::size).sum::<usize>()
    }

    /// Counts the depth anew; what stands too deep goes, and is told.
    fn measure_depth(&mut self) -> usize {
        let below = self.children.iter().map(|child| child.depth).max().unwrap_or(0);
        if below < DEEPEST {
            self.depth = below + 1;
            return 0;
        }
        self.depth = 1;
        std::mem::take(&mut self.children).iter().map(SpanNode::size).sum()
    }

    fn encloses(&self, other: &SpanNode) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Puts a call where it belongs among calls of one thread, which are in the order of time and do not overlap. Tells how many
/// calls had to go because they stood too deep.
fn insert(siblings: &mut Vec<SpanNode>, mut call: SpanNode) -> usize {
    // Only with virtual threads: the outer call was recorded on another carrier, whose records were read first.
    let outer = siblings.partition_point(|known| known.end < call.end);
    if let Some(outer) = siblings.get_mut(outer).filter(|known| known.encloses(&call) && !call.encloses(known)) {
        let too_deep = insert(&mut outer.children, call);
        return too_deep + outer.measure_depth();
    }
    let first_inner = siblings.partition_point(|known| known.start < call.start);
    let behind = siblings.partition_point(|known| known.end <= call.end);
    if first_inner < behind {
        call.children = siblings.drain(first_inner..behind).collect();
    }
    let too_deep = call.measure_depth();
    siblings.insert(first_inner.min(behind), call);
    too_deep
}

/// The drainer's end of the table.
#[derive(Debug)]
pub(crate) struct SpanSink {
    table: Arc<Mutex<SpanTable>>,
    thread: u64,
}

impl SpanSink {
    /// An end of this table.
    pub(crate) fn new(table: Arc<Mutex<SpanTable>>) -> SpanSink {
        SpanSink { table, thread: 0 }
    }

    /// A thread has ended and all its records have come.
    pub(crate) fn thread_gone(&self, thread: u64) {
        self.table.lock().ended.insert(thread);
    }
}

impl RecordSink for SpanSink {
    fn thread(&mut self, thread: RecordThread) {
        self.thread = thread.id;
    }

    fn thread_name(&mut self, thread: u64, name: &[u8]) {
        self.table.lock().names.insert(thread, String::from_utf8_lossy(name).into());
    }

    fn calls(&mut self, calls: &[[u64; 2]]) {
        let mut table = self.table.lock();
        for [start, word] in calls {
            table.add(self.thread, (word & 0x00ff_ffff) as u32, *start, word >> 24, || None);
        }
    }

    fn long_call(&mut self, probe: u32, start: u64, duration: u64) {
        self.table.lock().add(self.thread, probe, start, duration, || None);
    }

    fn detail(&mut self, detail: Detail<'_>) {
        let Detail { kind, probe, start, duration, number, text } = detail;
        let known = || Some(SpanDetail { kind, text: String::from_utf8_lossy(text).into_owned(), number });
        // The last field of a request is its traceparent. Other processes have spans above or below this one, however short it was.
        if matches!(kind, b'H' | b'C') && text.last().is_some_and(|last| *last != 0) {
            self.table.lock().take(self.thread, probe, start, duration, known());
        } else {
            self.table.lock().add(self.thread, probe, start, duration, known);
        }
    }

    fn values_of_call(&mut self, detail: Detail<'_>) {
        let Detail { probe, start, duration, number, text, .. } = detail;
        let values = SpanDetail { kind: b'A', text: String::from_utf8_lossy(text).into_owned(), number };
        self.table.lock().tell(self.thread, probe, (start, start.saturating_add(duration)), values);
    }

    fn task(&mut self, step: TaskStep, task: u32, at: u64) {
        self.table.lock().add_step(TaskRecord { at, thread: self.thread, step, task });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(nodes: &[SpanNode]) -> String {
        let parts: Vec<String> =
            nodes.iter().map(|node| format!("{}[{}]", node.probe, shape(&node.children))).collect();
        parts.join(" ")
    }

    fn table(threshold: u64, calls: &[(u64, u32, u64, u64)]) -> SpanTable {
        let mut table = SpanTable::new(threshold);
        for (thread, probe, start, end) in calls {
            table.add(*thread, *probe, *start, end - start, || None);
        }
        table
    }

    #[test]
    fn inner_calls_come_first_and_find_their_parents() {
        let mut table =
            table(5, &[(1, 1, 20, 30), (1, 2, 32, 34), (1, 3, 40, 50), (2, 9, 0, 90), (1, 4, 10, 60), (1, 5, 70, 80)]);
        assert_eq!(table.counts().short, 1);
        let mut trees = table.take_until(1_000);
        trees.sort_by_key(|tree| tree.thread);
        assert_eq!(shape(&trees[0].roots), "4[1[] 3[]] 5[]");
        assert_eq!((shape(&trees[1].roots), table.waiting), ("9[]".to_owned(), 0));
    }

    #[test]
    fn recursion_of_depth_five_is_five_spans_in_one_another() {
        let calls: Vec<_> = (0..5).map(|depth| (1, 7, 50 - depth * 10, 60 + depth * 10)).collect();
        let trees = table(1, &calls).take_until(1_000);
        assert_eq!(shape(&trees[0].roots), "7[7[7[7[7[]]]]]");
    }

    #[test]
    fn records_of_another_carrier_may_come_later() {
        let trees = table(1, &[(1, 1, 0, 100), (1, 2, 10, 20), (1, 3, 12, 15), (1, 4, 30, 40)]).take_until(1_000);
        assert_eq!(shape(&trees[0].roots), "1[2[3[]] 4[]]");
    }

    #[test]
    fn equal_times_make_the_later_record_the_outer_call() {
        let trees = table(1, &[(1, 1, 0, 10), (1, 2, 0, 10)]).take_until(1_000);
        assert_eq!(shape(&trees[0].roots), "2[1[]]");
    }

    #[test]
    fn a_name_goes_with_the_last_calls_of_its_thread() {
        let table = Arc::new(Mutex::new(SpanTable::new(1)));
        let mut sink = SpanSink::new(Arc::clone(&table));
        for thread in 1..=100 {
            sink.thread(RecordThread { id: thread, is_virtual: false });
            sink.thread_name(thread, format!("short-{thread}").as_bytes());
            sink.calls(&[[10, 5 << 24 | 1]]);
            if thread != 7 {
                sink.thread_gone(thread);
            }
        }
        let mut table = table.lock();
        let trees = table.take_until(50);
        assert!(trees.len() == 100 && trees.iter().all(|tree| tree.name.is_some()), "told before it is forgotten");
        table.take_until(100);
        let left: Vec<_> = table.names.keys().copied().collect();
        assert_eq!((left, table.ended.len()), (vec![7], 0));
    }

    #[test]
    fn who_waits_longer_than_an_interval_goes_without_a_parent() {
        let mut table = table(1, &[(1, 1, 10, 20), (1, 2, 30, 90)]);
        assert_eq!(shape(&table.take_until(50)[0].roots), "1[]");
        table.add(1, 3, 5, 95, || None);
        assert_eq!(table.counts().late, 1);
        assert_eq!(shape(&table.take_until(1_000)[0].roots), "3[2[]]");
    }

    #[test]
    fn requests_that_belong_to_the_trace_of_another_process_are_spans_however_short() {
        let table = Arc::new(Mutex::new(SpanTable::new(1_000)));
        let mut sink = SpanSink::new(Arc::clone(&table));
        let mut request = |probe: u32, kind: u8, text: &[u8]| {
            sink.detail(Detail { kind, probe, start: u64::from(probe) * 100, duration: 5, number: 0, text });
        };
        request(1, b'H', b"GET\0/x\0\0http\0\0");
        request(2, b'H', b"GET\0/x\0\0http\0\x0000-1");
        request(3, b'C', b"GET\0http\0db\0/x\0\0");
        request(4, b'C', b"GET\0http\0db\0/x\0\x0000-1");
        request(5, b'J', b"\0select 1");
        assert_eq!(shape(&table.lock().take_until(1_000)[0].roots), "2[] 4[]");
    }

    #[test]
    fn values_that_come_behind_their_call_find_it() {
        let mut table = table(1, &[(1, 2, 10, 20), (1, 7, 10, 20), (1, 1, 0, 90)]);
        let detail = |text: &str| SpanDetail { kind: b'A', text: text.to_owned(), number: 0 };
        table.tell(1, 7, (10, 20), detail("outer"));
        table.tell(1, 2, (10, 20), detail("inner"));
        table.tell(1, 2, (11, 20), detail("nobody's"));
        table.tell(9, 2, (10, 20), detail("nobody's"));
        let roots = table.take_until(1_000).remove(0).roots;
        let outer = &roots[0].children[0];
        assert_eq!((roots[0].detail.as_ref(), outer.detail.as_ref()), (None, Some(&detail("outer"))));
        assert_eq!(outer.children[0].detail, Some(detail("inner")));
    }

    #[test]
    fn there_is_an_end_to_depth() {
        let calls: Vec<_> = (0..2_000).map(|depth| (1, 7, 5_000 - depth, 6_000 + depth)).collect();
        let mut table = table(1, &calls);
        let left: usize = table.take_until(u64::MAX)[0].roots.iter().map(SpanNode::size).sum();
        assert_eq!((left + table.counts().dropped as usize, table.waiting), (2_000, 0));
        assert!(left <= DEEPEST, "{left} in one another");
    }

    #[test]
    fn there_is_an_end_to_waiting() {
        let mut table = SpanTable::new(1);
        (0..MOST_WAITING as u64 + 3).for_each(|at| table.add(1, 1, at * 10, 5, || None));
        assert_eq!((table.counts().dropped, table.waiting), (3, MOST_WAITING));
        assert_eq!(table.take_until(u64::MAX).len(), 1);
        assert_eq!((table.waiting, table.threads.len()), (0, 0));
    }
}
