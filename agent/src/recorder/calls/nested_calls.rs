//! Calls of some methods within calls of others, while a walk looks: within which callers how many calls of their callees were made, and how long these took.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use records::RecordThread;
use rustc_hash::{FxHashMap, FxHashSet};

use super::live_tree::{LiveTree, TreeNode};

/// Whose calls are looked at: probes by the numbers of their records.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// The method of each number, as the walk numbers methods.
    pub(crate) methods: FxHashMap<u32, usize>,
    /// The methods whose callers are wanted.
    pub(crate) callees: FxHashSet<usize>,
    /// The methods that may be callers.
    pub(crate) callers: FxHashSet<usize>,
    /// Calls of callees that began earlier do not count, in nanoseconds of the clock of records: callers were not recorded then.
    pub(crate) since: u64,
    /// The methods whose calls are recorded for others all the time: only those that begin in a window count.
    pub(crate) in_windows: FxHashSet<usize>,
}

/// Calls and their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallSum {
    pub(crate) calls: u64,
    pub(crate) nanos: u64,
    /// The sum of the squares of these times; 0 where single calls are not known.
    pub(crate) squares: u128,
    /// The shortest and the longest one, where single calls are known.
    pub(crate) range: Option<(u64, u64)>,
}

impl CallSum {
    /// Calls of which no more is known.
    pub(crate) fn of(calls: u64, nanos: u64) -> CallSum {
        CallSum { calls, nanos, ..CallSum::default() }
    }

    /// Adds others.
    pub(crate) fn add(&mut self, others: &CallSum) {
        self.calls += others.calls;
        self.nanos = self.nanos.saturating_add(others.nanos);
        self.squares = self.squares.saturating_add(others.squares);
        self.range = match (self.range, others.range) {
            (Some((shortest, longest)), Some((least, most))) => Some((shortest.min(least), longest.max(most))),
            (one, other) => one.or(other),
        };
    }
}

impl From<&TreeNode> for CallSum {
    fn from(node: &TreeNode) -> CallSum {
        let TreeNode { calls, total, squares, shortest, longest, .. } = *node;
        CallSum { calls, nanos: total, squares, range: Some((shortest, longest)) }
    }
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Nested {
    /// By callee and caller; without a caller, the call was within no call of a caller, or within one that has not ended yet. Calls within calls of the same
    /// method are left out.
    pub(crate) edges: FxHashMap<(usize, Option<usize>), CallSum>,
    /// Calls of each method.
    pub(crate) calls: FxHashMap<usize, u64>,
    /// Calls that began before `since` and ended after it.
    pub(crate) late: u64,
}

/// What a walk sees of the records, while there is one.
#[derive(Debug, Default)]
pub(crate) struct NestedCalls {
    is_wanted: AtomicBool,
    state: Mutex<Option<State>>,
    /// Whether walks have or had probes of their own.
    has_own: AtomicBool,
    own: Mutex<FxHashMap<u32, OwnTime>>,
}

/// When the records of a number were those of a walk: from a moment on, and up to one if the probe is gone.
#[derive(Debug)]
struct OwnTime {
    from: u64,
    to: Option<u64>,
    /// When they were somebody else's, too, from and up to which moments.
    shared: Vec<(u64, Option<u64>)>,
}

/// Numbers whose probes are gone are kept for calls that have not ended; when there are more, they are forgotten.
const MOST_GONE: usize = 10_000;

#[derive(Debug)]
struct State {
    nesting: Nesting,
    tree: LiveTree,
    late: u64,
    calls: FxHashMap<usize, u64>,
    /// When windows were opened and closed, the oldest first.
    windows: Vec<(u64, Option<u64>)>,
    /// Whether it is known whose calls follow: not before the first thread that is named after a walk began to look.
    has_thread: bool,
}

impl NestedCalls {
    /// From this moment on the calls of these numbers are only for a walk: nobody else asked for them.
    pub(crate) fn own(&self, numbers: &[u32], from: u64) {
        let own = &mut *self.own.lock();
        if own.len() > MOST_GONE {
            own.retain(|_, time| time.to.is_none());
        }
        own.extend(numbers.iter().map(|number| (*number, OwnTime { from, to: None, shared: Vec::new() })));
        self.has_own.store(true, Ordering::Release);
    }

    /// From this moment on somebody else wants calls of these numbers, too, or no more.
    pub(crate) fn share(&self, numbers: &[u32], is_shared: bool, now: u64) {
        let own = &mut *self.own.lock();
        for number in numbers {
            let Some(shared) = own.get_mut(number).map(|time| &mut time.shared) else { continue };
            match shared.last_mut().filter(|(_, to)| to.is_none()) {
                Some((_, to)) if !is_shared => *to = Some(now),
                None if is_shared => shared.push((now, None)),
                _ => {}
            }
        }
    }

    /// Calls of these numbers that begin after this moment are not the walk's.
    pub(crate) fn disown(&self, numbers: &[u32], to: u64) {
        let own = &mut *self.own.lock();
        for number in numbers {
            if let Some(time) = own.get_mut(number) {
                time.to.get_or_insert(to);
            }
        }
    }

    /// Whether a call of this number, which began at this moment, was recorded for a walk alone.
    pub(crate) fn is_own(&self, number: u32, start: u64) -> bool {
        self.has_own.load(Ordering::Acquire) && is_own(&self.own.lock(), number, start)
    }

    /// Returns those calls that were not recorded for a walk alone.
    pub(crate) fn for_others<'c>(&self, calls: &'c [[u64; 2]]) -> Cow<'c, [[u64; 2]]> {
        if !self.has_own.load(Ordering::Acquire) {
            return Cow::Borrowed(calls);
        }
        let own = self.own.lock();
        let is_own = |[start, word]: &[u64; 2]| is_own(&own, number_of(*word), *start);
        if !calls.iter().any(is_own) {
            return Cow::Borrowed(calls);
        }
        Cow::Owned(calls.iter().filter(|call| !is_own(call)).copied().collect())
    }

    /// Looks at these methods from now on, and at no others.
    pub(crate) fn look_at(&self, nesting: Nesting, tree: LiveTree) {
        let (calls, windows) = Default::default();
        *self.state.lock() = Some(State { nesting, tree, late: 0, calls, windows, has_thread: false });
        self.is_wanted.store(true, Ordering::Release);
    }

    /// From this moment on a window is open.
    pub(crate) fn open_window(&self, now: u64) {
        self.with(|state| state.windows.push((now, None)));
    }

    /// At this moment it was closed.
    pub(crate) fn close_window(&self, now: u64) {
        self.with(|state| {
            if let Some((_, end)) = state.windows.last_mut() {
                *end = Some(now);
            }
        });
    }

    /// Nobody looks any more.
    pub(crate) fn end(&self) {
        self.is_wanted.store(false, Ordering::Release);
        *self.state.lock() = None;
    }

    /// The following calls are of this thread.
    pub(crate) fn thread(&self, thread: RecordThread) {
        self.with(|state| {
            state.has_thread = true;
            state.tree.thread(thread);
        });
    }

    /// All calls of this thread have been seen.
    pub(crate) fn thread_gone(&self, thread: u64) {
        self.with(|state| state.tree.thread_gone(thread));
    }

    /// All rings have been read once, from this moment on.
    pub(crate) fn round_done(&self, began_nanos: u64) {
        self.with(|state| state.tree.round_done(began_nanos));
    }

    /// Calls that have ended, as rings have them: start, duration << 24 | number.
    pub(crate) fn calls(&self, calls: &[[u64; 2]]) {
        self.with(|state| {
            calls.iter().for_each(|[start, word]| state.call(number_of(*word), *start, word >> 24));
        });
    }

    /// A call that has ended.
    pub(crate) fn call(&self, number: u32, start: u64, duration: u64) {
        self.with(|state| state.call(number, start, duration));
    }

    /// Returns what was seen up to now.
    pub(crate) fn seen(&self) -> Nested {
        let state = self.state.lock();
        let Some(state) = state.as_ref() else { return Nested::default() };
        let mut seen = Nested { late: state.late, calls: state.calls.clone(), ..Nested::default() };
        let roots = state.tree.snapshot().roots;
        roots.iter().for_each(|root| state.nesting.add(root, &mut Vec::new(), &mut seen));
        seen
    }

    fn with(&self, act: impl FnOnce(&mut State)) {
        if self.is_wanted.load(Ordering::Acquire)
            && let Some(state) = &mut *self.state.lock()
        {
            act(state);
        }
    }
}

/// The number of the probe in the second word of a record.
fn number_of(word: u64) -> u32 {
    (word & 0x00ff_ffff) as u32
}

fn is_own(own: &FxHashMap<u32, OwnTime>, number: u32, start: u64) -> bool {
    let is_in = |(from, to): (u64, Option<u64>)| start >= from && to.is_none_or(|to| start <= to);
    own.get(&number).is_some_and(|time| is_in((time.from, time.to)) && !time.shared.iter().any(|shared| is_in(*shared)))
}

impl State {
    fn call(&mut self, number: u32, start: u64, duration: u64) {
        let Some(method) = self.nesting.methods.get(&number).filter(|_| self.has_thread) else { return };
        let is_caller = self.nesting.callers.contains(method);
        if self.nesting.in_windows.contains(method) && !self.is_in_window(start) {
            // Calls within it may be in one. Of one that is a callee, too, the caller may not be recorded.
            if is_caller && !self.nesting.callees.contains(method) {
                self.tree.call(number, start, duration);
            }
            return;
        }
        *self.calls.entry(*method).or_default() += 1;
        if start < self.nesting.since && !is_caller {
            self.late += 1;
            return;
        }
        self.tree.call(number, start, duration);
    }

    fn is_in_window(&self, start: u64) -> bool {
        let mut latest_first = self.windows.iter().rev();
        let last = latest_first.find(|(from, _)| *from <= start);
        last.is_some_and(|(_, to)| to.is_none_or(|to| start < to))
    }
}

impl Nesting {
    /// Adds a node and what is below it; `path` has the methods around it, the outermost first. Its length is that of the tree, which has bounds.
    fn add(&self, node: &TreeNode, path: &mut Vec<usize>, seen: &mut Nested) {
        let Some(method) = self.methods.get(&node.probe).copied() else { return };
        if self.callees.contains(&method) && !path.contains(&method) {
            let caller = path.iter().rev().find(|of| self.callers.contains(of)).copied();
            seen.edges.entry((method, caller)).or_default().add(&node.into());
        }
        path.push(method);
        node.children.iter().for_each(|child| self.add(child, path, seen));
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use records::EndedCalls;

    use super::*;

    const HOT: u32 = 10;
    const A: u32 = 20;
    const B: u32 = 30;

    /// What is seen of calls (number, start, end), inner ones first, of `HOT` within `A` and `B`, from 100 on.
    fn seen(calls: &[(u32, u64, u64)]) -> Nested {
        seen_with(calls, FxHashSet::default())
    }

    const WINDOWS: [(u64, u64); 2] = [(200, 300), (400, 500)];

    /// The same where these methods are recorded outside of windows, too.
    fn seen_with(calls: &[(u32, u64, u64)], in_windows: FxHashSet<usize>) -> Nested {
        let nested = NestedCalls::default();
        let methods = [(HOT, 0), (HOT + 3, 0), (A, 1), (B, 2)].into_iter().collect();
        let (callees, callers) = (FxHashSet::from_iter([0]), FxHashSet::from_iter([1, 2]));
        let tree = LiveTree::new(EndedCalls::new(Box::leak(Box::default()), Default::default()));
        nested.look_at(Nesting { methods, callees, callers, since: 100, in_windows }, tree);
        nested.thread(RecordThread { id: 1, is_virtual: false });
        for (from, to) in WINDOWS {
            nested.open_window(from);
            nested.close_window(to);
        }
        calls.iter().for_each(|(number, start, end)| nested.call(*number, *start, end - start));
        nested.seen()
    }

    fn edges(calls: &[(u32, u64, u64)]) -> Vec<(Option<usize>, u64, u64)> {
        let mut edges: Vec<_> =
            seen(calls).edges.iter().map(|((_, caller), of)| (*caller, of.calls, of.nanos)).collect();
        edges.sort_unstable();
        edges
    }

    #[test]
    fn each_call_counts_for_the_nearest_caller() {
        let calls =
            [(HOT, 110, 120), (HOT + 3, 130, 135), (A, 105, 140), (HOT, 151, 152), (A, 150, 160), (B, 149, 170)];
        assert_eq!(edges(&calls), [(Some(1), 3, 16)]);
        assert_eq!(edges(&[(HOT, 110, 120), (B, 105, 140)]), [(Some(2), 1, 10)]);
    }

    #[test]
    fn what_is_known_of_single_calls_is_added_up() {
        let seen = seen(&[(HOT, 110, 113), (HOT, 120, 127), (HOT, 130, 135), (A, 105, 140)]);
        let three = CallSum { calls: 3, nanos: 15, squares: 9 + 49 + 25, range: Some((3, 7)) };
        assert_eq!(seen.edges[&(0, Some(1))], three);
        let mut all = CallSum::of(1, 2);
        all.add(&three);
        all.add(&CallSum { range: Some((1, 4)), ..CallSum::default() });
        assert_eq!((all.calls, all.nanos, all.range), (4, 17, Some((1, 7))));
    }

    #[test]
    fn a_call_of_which_no_caller_has_ended_has_none() {
        assert_eq!(edges(&[(HOT, 110, 120), (A, 130, 140)]), [(None, 1, 10)]);
    }

    #[test]
    fn recursion_counts_once() {
        assert_eq!(edges(&[(HOT, 115, 116), (HOT, 112, 118), (HOT, 110, 120), (A, 105, 140)]), [(Some(1), 1, 10)]);
    }

    #[test]
    fn calls_that_began_before_their_callers_were_recorded_do_not_count() {
        let seen = seen(&[(HOT, 90, 105), (HOT, 110, 120), (A, 95, 140), (77, 110, 111)]);
        assert_eq!((seen.late, seen.edges.len()), (1, 1));
        let one = CallSum { calls: 1, nanos: 10, squares: 100, range: Some((10, 10)) };
        assert_eq!(seen.edges[&(0, Some(1))], one);
        assert_eq!(seen.calls, FxHashMap::from_iter([(0, 2), (1, 1)]));
    }

    #[test]
    fn of_methods_that_are_always_recorded_calls_in_windows_count() {
        let calls = [
            (HOT, 110, 120),
            (A, 105, 130),
            (HOT, 200, 210),
            (HOT, 310, 320),
            (A, 190, 330),
            (HOT, 420, 430),
            (B, 405, 450),
            (HOT, 500, 510),
        ];
        let hot_is = seen_with(&calls, FxHashSet::from_iter([0]));
        assert_eq!(hot_is.calls, FxHashMap::from_iter([(0, 2), (1, 2), (2, 1)]));
        assert_eq!((hot_is.edges[&(0, Some(1))].calls, hot_is.edges[&(0, Some(2))].calls), (1, 1));
        assert!(!hot_is.edges.contains_key(&(0, None)));
        let callers_are = seen_with(&calls, FxHashSet::from_iter([1]));
        assert_eq!(callers_are.calls.get(&1), None, "none of its calls began in a window");
        assert_eq!(callers_are.edges[&(0, Some(1))].calls, 3, "it is still the caller of those within it");
    }

    #[test]
    fn calls_of_a_walk_are_not_for_others() {
        let nested = NestedCalls::default();
        let calls = [
            [50, 10 << 24 | u64::from(HOT)],
            [150, 10 << 24 | u64::from(HOT)],
            [150, u64::from(A)],
            [250, u64::from(HOT)],
        ];
        assert!(matches!(nested.for_others(&calls), Cow::Borrowed(all) if all.len() == 4));
        nested.own(&[HOT], 100);
        assert_eq!(nested.for_others(&calls).iter().map(|[start, _]| *start).collect::<Vec<_>>(), [50, 150]);
        nested.share(&[HOT], true, 140);
        assert!(!nested.is_own(HOT, 150), "somebody else wants it, too");
        nested.share(&[HOT], false, 145);
        assert!(nested.is_own(HOT, 150) && !nested.is_own(HOT, 142));
        nested.disown(&[HOT], 200);
        let starts: Vec<u64> = nested.for_others(&calls).iter().map(|[start, _]| *start).collect();
        assert_eq!(starts, [50, 150, 250], "the method may have got a probe of somebody else since");
        assert!(nested.is_own(HOT, 150) && !nested.is_own(HOT, 250) && !nested.is_own(A, 150));
    }

    #[test]
    fn nothing_is_kept_while_nobody_looks() {
        let nested = NestedCalls::default();
        nested.call(HOT, 110, 10);
        assert_eq!(nested.seen(), Nested::default());
    }
}
