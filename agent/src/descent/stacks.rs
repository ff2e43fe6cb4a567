//! Stacks of slow calls: what runs below the cell that is open, which levels can be skipped, and whether calls run or wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use control::NodeKind;

use super::tree::{End, NodeAt, NodeOf, Tree};
use super::waits::{is_of_jdk, wait_of};
use crate::call_sites::{Cell, MethodKey};

/// A method of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameMethod {
    pub(crate) key: MethodKey,
    /// As people write it.
    pub(crate) text: String,
    /// It has no bytecode.
    pub(crate) is_native: bool,
    /// It enters a monitor before its code begins.
    pub(crate) is_synchronized: bool,
    /// Its class is hidden, or it is a bridge, which only calls the method that is meant.
    pub(crate) is_fixed: bool,
}

/// A frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) method: Arc<FrameMethod>,
    /// Offset in the bytecode that runs.
    pub(crate) offset: Option<u32>,
    pub(crate) line: Option<u32>,
}

/// A slow call at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlowStack {
    /// The cell that is open.
    pub(crate) cell: Cell,
    /// The line of the measured method whose code or call this cell is.
    pub(crate) line: Option<u32>,
    /// The frames below that of the measured method, from its callee inwards.
    pub(crate) below: Vec<Frame>,
    /// Whether the thread ran, or could have.
    pub(crate) is_runnable: bool,
    /// Whether it waited to enter a monitor.
    pub(crate) is_blocked: bool,
    /// Whether it is the thread that runs a task for which the call waits.
    pub(crate) is_of_task: bool,
}

/// The stacks of a diagnosis.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stacks {
    stacks: Vec<SlowStack>,
    seen: u64,
}

/// More are not kept: the latest replace others.
const MOST: usize = 2_000;
/// A method is measured, or a reason given, if this fraction of the stacks of a call shows it.
const LEAST_PART: f64 = 0.1;
/// A level is skipped if this fraction of the stacks goes on the same way.
const SAME_WAY: f64 = 0.6;
/// Most levels of a way.
const MOST_LEVELS: usize = 96;
/// Most methods that run at a call and are measured.
const MOST_METHODS: usize = 8;
/// Most lines of a node.
const MOST_LINES: usize = 5;

impl SlowStack {
    /// Whether it waits, in own words of the JDK.
    fn wait(&self) -> Option<&'static str> {
        if self.is_blocked {
            return Some("lock");
        }
        let names = self.below.iter().rev().map(|frame| (&*frame.method.key.class, &*frame.method.key.name));
        wait_of(names)
    }

    /// Whether it waits for the monitor of a `synchronized` method, whose own code has not begun.
    fn waits_to_begin(&self) -> bool {
        self.is_blocked && self.below.last().is_some_and(|frame| frame.method.is_synchronized)
    }

    /// Native methods that wait in the kernel look runnable to the JVM.
    fn waits(&self) -> bool {
        !self.is_runnable || self.wait().is_some()
    }
}

fn is_measurable(frame: &Frame) -> bool {
    let FrameMethod { key, is_native, is_fixed, .. } = &*frame.method;
    !is_native && !is_fixed && !is_of_jdk(&key.class)
}

/// A method on the way of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) method: Arc<FrameMethod>,
    /// What it calls on the way to the next one: that need not be the next one itself.
    pub(crate) callee: Option<Arc<FrameMethod>>,
    /// Where in its bytecode, as that was then.
    pub(crate) offset: Option<u32>,
    /// Of the stacks that are in it, the fraction that goes on to the next method of the way.
    pub(crate) part_that_goes_on: f64,
    /// The methods on the way to it that are not measured, from the outermost inwards.
    pub(crate) passed: Vec<Arc<FrameMethod>>,
}

impl Step {
    /// The end of a way.
    pub(crate) fn last(method: Arc<FrameMethod>) -> Step {
        Step { method, callee: None, offset: None, part_that_goes_on: 0.0, passed: Vec::new() }
    }
}

/// How a call goes on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GoesOn {
    /// No stack shows it.
    Unknown,
    /// Through these methods: each with those that follow it most of the time.
    Through(Vec<Vec<Step>>),
    /// Nowhere where it could be measured.
    Ends(End),
}

impl Stacks {
    /// Adds a stack.
    pub(crate) fn add(&mut self, stack: SlowStack) {
        self.seen += 1;
        if self.stacks.len() < MOST {
            self.stacks.push(stack);
        } else if let Some(place) = self.stacks.get_mut(self.seen as usize % MOST) {
            *place = stack;
        }
    }

    /// How many have been added.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    fn at(&self, cell: Option<Cell>) -> impl Iterator<Item = &SlowStack> {
        self.stacks.iter().filter(move |stack| Some(stack.cell) == cell)
    }

    /// Returns how calls at a node go on. Methods that are measured above are passed through: interceptors call the next one by the same method again.
    pub(crate) fn goes_on(&self, tree: &Tree, at: NodeAt) -> GoesOn {
        let above: Vec<&MethodKey> = tree.above(at).filter_map(|above| tree.get(above)?.of.method()).collect();
        let is_new = |frame: &Frame| is_measurable(frame) && !above.contains(&&frame.method.key);
        // Of a call that waits for tasks the threads count that run these.
        let waits_for_tasks = tree.tasks_at() == Some(at);
        let all = self.at(tree.get(at).and_then(|node| node.cell));
        let of_node: Vec<&SlowStack> = all.filter(|stack| !waits_for_tasks || stack.is_of_task).collect();
        // Of the callee itself nothing is known if the stack was seen before it began, or after it had ended.
        let inside: Vec<&SlowStack> = of_node.into_iter().filter(|stack| !stack.below.is_empty()).collect();
        if inside.is_empty() {
            return GoesOn::Unknown;
        }
        let mut ways: BTreeMap<&MethodKey, Vec<&[Frame]>> = BTreeMap::new();
        let mut ending = Vec::new();
        for stack in &inside {
            match stack.below.iter().position(is_new).and_then(|first| stack.below.get(first..)) {
                Some([_]) if stack.waits_to_begin() => ending.push(*stack),
                Some(rest @ [first, ..]) => ways.entry(&first.method.key).or_default().push(rest),
                _ => ending.push(*stack),
            }
        }
        if ending.len() * 2 > inside.len() {
            return GoesOn::Ends(end_of(&ending));
        }
        let least = (inside.len() as f64 * LEAST_PART).ceil() as usize;
        let mut ways: Vec<Vec<&[Frame]>> = ways.into_values().filter(|stacks| stacks.len() >= least).collect();
        ways.sort_by_key(|stacks| std::cmp::Reverse(stacks.len()));
        ways.truncate(MOST_METHODS);
        GoesOn::Through(ways.iter().map(|stacks| way(stacks, &is_new)).collect())
    }

    /// Returns, for each node with stacks within it, how many there are, and how many of them waited.
    pub(crate) fn waiting(&self, tree: &Tree) -> BTreeMap<NodeAt, (u32, u32)> {
        let mut by_cell: BTreeMap<Cell, (u32, u32)> = BTreeMap::new();
        for stack in &self.stacks {
            let (all, waiting) = by_cell.entry(stack.cell).or_default();
            (*all, *waiting) = (*all + 1, *waiting + u32::from(stack.waits()));
        }
        let mut by_node: BTreeMap<NodeAt, (u32, u32)> = BTreeMap::new();
        for (cell, (of_cell, waited)) in by_cell {
            let Some(at) = tree.of_cell(cell) else { continue };
            for node in std::iter::once(at).chain(tree.above(at)) {
                let (all, waiting) = by_node.entry(node).or_default();
                (*all, *waiting) = (*all + of_cell, *waiting + waited);
            }
        }
        by_node
    }

    /// Whether most stacks of a method's own code wait for a monitor.
    pub(crate) fn is_blocked_in_own_code(&self, tree: &Tree, at: NodeAt) -> bool {
        let method = tree.get(at).and_then(|node| node.parent).and_then(|method| tree.get(method)?.cell);
        let count = |(all, blocked), stack: &SlowStack| (all + 1, blocked + usize::from(stack.is_blocked));
        let (all, blocked) = self.at(method).fold((0, 0), count);
        method.is_some() && blocked * 2 > all
    }

    /// Returns the lines at which slow calls were seen at a node, the most frequent first: of own code those of the method, of a call those that make it.
    pub(crate) fn lines(&self, tree: &Tree, at: NodeAt) -> Vec<u32> {
        let node = tree.get(at);
        let cell = match node.map(|node| &node.of) {
            Some(NodeOf::OwnCode) => node.and_then(|node| node.parent).and_then(|method| tree.get(method)?.cell),
            Some(NodeOf::Call(_)) => node.and_then(|node| node.cell),
            _ => None,
        };
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        self.at(cell).filter_map(|stack| stack.line).for_each(|line| *counts.entry(line).or_default() += 1);
        let mut lines: Vec<(usize, u32)> = counts.into_iter().map(|(line, count)| (count, line)).collect();
        lines.sort_by_key(|(count, line)| (std::cmp::Reverse(*count), *line));
        lines.into_iter().take(MOST_LINES).map(|(_, line)| line).collect()
    }
}

/// Returns the first method of these stacks, which is the same in all, and those that follow it in most of them.
fn way(stacks: &[&[Frame]], is_new: &dyn Fn(&Frame) -> bool) -> Vec<Step> {
    let (mut way, mut same): (Vec<Step>, _) = (Vec::new(), stacks.to_vec());
    while let Some(frame) = same.first().and_then(|stack| stack.first()) {
        let mut nexts: Vec<(&Frame, &Frame, Vec<&[Frame]>)> = Vec::new();
        for stack in &same {
            let [frame, rest @ ..] = stack else { continue };
            let is_next = |next: &Frame| {
                let mut passed = way.iter().map(|step| &step.method.key).chain([&frame.method.key]);
                is_new(next) && !passed.any(|key| *key == next.method.key)
            };
            let next = rest.iter().position(is_next).and_then(|at| rest.get(at..));
            let (Some(next), Some(callee)) = (next, rest.first()) else { continue };
            let is_same = |(of, to, on): &&mut (&Frame, &Frame, Vec<&[Frame]>)| {
                let leads_to = on.first().and_then(|stack| stack.first()).map(|frame| &frame.method.key);
                (of.offset, &to.method.key) == (frame.offset, &callee.method.key)
                    && leads_to == next.first().map(|frame| &frame.method.key)
            };
            match nexts.iter_mut().find(is_same) {
                Some((.., on)) => on.push(next),
                None => nexts.push((frame, callee, vec![next])),
            }
        }
        let most = nexts.into_iter().max_by_key(|(.., on)| on.len());
        let most = most.filter(|(.., on)| on.len() as f64 >= stacks.len() as f64 * SAME_WAY);
        let Some((of, callee, on)) = most.filter(|_| way.len() + 1 < MOST_LEVELS) else {
            way.push(Step::last(Arc::clone(&frame.method)));
            break;
        };
        let part_that_goes_on = on.len() as f64 / same.len() as f64;
        let (method, callee) = (Arc::clone(&frame.method), Some(Arc::clone(&callee.method)));
        way.push(Step { method, callee, offset: of.offset, part_that_goes_on, passed: Vec::new() });
        same = on;
    }
    way
}

/// Returns why nothing below a call can be measured, and what it does instead.
fn end_of(stacks: &[&SlowStack]) -> End {
    let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
    stacks.iter().filter_map(|stack| stack.wait()).for_each(|wait| *waits.entry(wait).or_default() += 1);
    if let Some((wait, _)) =
        waits.iter().filter(|(_, count)| **count * 2 > stacks.len()).max_by_key(|(_, count)| **count)
    {
        return End { kind: NodeKind::Waiting, reason: (*wait).to_owned() };
    }
    let innermost = stacks.iter().filter_map(|stack| stack.below.last());
    let natives: Vec<&Frame> = innermost.filter(|frame| frame.method.is_native).collect();
    if let Some(latest) = natives.last().filter(|_| natives.len() * 2 > stacks.len()) {
        return End { kind: NodeKind::Native, reason: format!("native: {}", latest.method.text) };
    }
    if stacks.iter().filter(|stack| stack.below.iter().any(is_measurable)).count() * 2 > stacks.len() {
        return End { kind: NodeKind::Method, reason: "recursion: what runs there is measured above".to_owned() };
    }
    let is_jdk = stacks.iter().all(|stack| stack.below.iter().all(|frame| is_of_jdk(&frame.method.key.class)));
    let reason = if is_jdk { "code of the JDK" } else { "code that cannot be measured" };
    End { kind: NodeKind::CallSite, reason: reason.to_owned() }
}

/// Returns why a call of this method ends the descent, by its name alone: stacks say more.
pub(crate) fn end_by_name(class: &[u8], method: &[u8], is_native: bool) -> Option<End> {
    if let Some(wait) = wait_of(std::iter::once((class, method))) {
        return Some(End { kind: NodeKind::Waiting, reason: wait.to_owned() });
    }
    if is_native {
        return Some(End { kind: NodeKind::Native, reason: "native".to_owned() });
    }
    is_of_jdk(class).then(|| End { kind: NodeKind::CallSite, reason: "code of the JDK".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{add, key};
    use super::*;

    fn frame(text: &str, offset: u32) -> Frame {
        let method = FrameMethod {
            key: key(text),
            text: text.to_owned(),
            is_native: text.ends_with('0'),
            is_synchronized: text.ends_with("enter"),
            is_fixed: text.contains('+'),
        };
        Frame { method: Arc::new(method), offset: Some(offset), line: Some(offset + 1) }
    }

    fn stack(cell: Cell, below: &[(&str, u32)]) -> SlowStack {
        let below = below.iter().map(|(text, offset)| frame(text, *offset)).collect();
        SlowStack { cell, line: Some(9), below, is_runnable: true, is_blocked: false, is_of_task: false }
    }

    fn tree() -> Tree {
        let mut tree = Tree::default();
        add(&mut tree, None, "a.A.a", 0, &["a.B.b", "a.C.c"]);
        tree
    }

    #[test]
    fn levels_are_skipped_and_frames_that_cannot_be_measured_are_crossed() {
        let mut stacks = Stacks::default();
        let reflection = ("java/lang/reflect/Method.invoke", 5);
        let lambda = ("a/L+0x1.get", 1);
        for deeper in ["a/D.d", "a/D.d", "a/D.d", "a/E.e"] {
            stacks.add(stack(1, &[("a/B.b", 3), reflection, lambda, ("a/C.c", 7), (deeper, 0)]));
        }
        stacks.add(stack(1, &[]));
        let GoesOn::Through(ways) = stacks.goes_on(&tree(), 1) else { panic!("it goes on") };
        let callee = |step: &Step| step.callee.as_ref().map(|callee| callee.text.clone());
        let way: Vec<(&str, Option<String>)> =
            ways[0].iter().map(|step| (step.method.text.as_str(), callee(step))).collect();
        let called = |text: &str| Some(text.to_owned());
        assert_eq!(
            way,
            [("a/B.b", called("java/lang/reflect/Method.invoke")), ("a/C.c", called("a/D.d")), ("a/D.d", None)]
        );
        assert_eq!((ways.len(), stacks.goes_on(&tree(), 2)), (1, GoesOn::Unknown));
    }

    #[test]
    fn a_method_that_runs_again_is_passed_through() {
        let mut stacks = Stacks::default();
        // The root, an interceptor that runs twice, and the method to which both lead.
        stacks.add(stack(1, &[("a/A.a", 1), ("a/I.proceed", 2), ("a/A.a", 1), ("a/I.proceed", 2), ("a/S.search", 3)]));
        let mut tree = Tree::default();
        add(&mut tree, None, "a/A.a", 0, &["a/I.proceed"]);
        let GoesOn::Through(ways) = stacks.goes_on(&tree, 1) else { panic!("it goes on") };
        let way: Vec<&str> = ways[0].iter().map(|step| step.method.text.as_str()).collect();
        assert_eq!(way, ["a/I.proceed", "a/S.search"]);
        let mut only = Stacks::default();
        only.add(stack(1, &[("a/A.a", 1)]));
        let GoesOn::Ends(end) = only.goes_on(&tree, 1) else { panic!("nothing but the root itself") };
        assert!(end.reason.contains("recursion"), "{end:?}");
    }

    #[test]
    fn each_implementer_that_was_seen_is_a_way() {
        let mut stacks = Stacks::default();
        for (text, count) in [("a/One.i", 60), ("a/Two.i", 35), ("a/Three.i", 5)] {
            (0..count).for_each(|_| stacks.add(stack(1, &[(text, 0)])));
        }
        let GoesOn::Through(ways) = stacks.goes_on(&tree(), 1) else { panic!("it goes on") };
        let first: Vec<&str> = ways.iter().map(|way| way[0].method.text.as_str()).collect();
        assert_eq!(first, ["a/One.i", "a/Two.i"], "the third explains too little");
    }

    #[test]
    fn a_call_that_waits_says_for_what_and_one_in_native_code_where() {
        let end = |stacks: Vec<SlowStack>| {
            let mut all = Stacks::default();
            stacks.into_iter().for_each(|stack| all.add(stack));
            match all.goes_on(&tree(), 1) {
                GoesOn::Ends(End { kind, reason }) => (kind, reason),
                other => panic!("{other:?}"),
            }
        };
        let read = stack(
            1,
            &[
                ("java/net/Socket$SocketInputStream.read", 1),
                ("sun/nio/ch/NioSocketImpl.implRead", 2),
                ("sun/nio/ch/Net.poll0", 0),
            ],
        );
        assert_eq!(end(vec![read]), (NodeKind::Waiting, "socket read".to_owned()));
        let blocked = SlowStack { is_blocked: true, is_runnable: false, ..stack(1, &[("java/util/Hashtable.get", 0)]) };
        assert_eq!(end(vec![blocked.clone()]), (NodeKind::Waiting, "lock".to_owned()));
        let to_begin = SlowStack { below: vec![frame("a/Till.enter", 0)], ..blocked };
        assert_eq!(
            end(vec![to_begin]),
            (NodeKind::Waiting, "lock".to_owned()),
            "it could be measured, but has not begun"
        );
        assert_eq!(end(vec![stack(1, &[("a/Code.run0", 0)])]), (NodeKind::Native, "native: a/Code.run0".to_owned()));
        let native = stack(1, &[("java/util/zip/D.run", 1), ("java/util/zip/D.run0", 0)]);
        let about_to = stack(1, &[("java/util/zip/D.run", 1)]);
        assert_eq!(
            end(vec![native.clone(), native, about_to]),
            (NodeKind::Native, "native: java/util/zip/D.run0".to_owned()),
            "the latest stack was not inside"
        );
        assert_eq!(
            end(vec![stack(1, &[("java/util/HashMap.get", 0)])]),
            (NodeKind::CallSite, "code of the JDK".to_owned())
        );
    }

    #[test]
    fn of_a_call_that_waits_for_a_task_the_thread_counts_that_runs_it() {
        let (mut stacks, mut tree) = (Stacks::default(), tree());
        let get =
            stack(1, &[("java/util/concurrent/FutureTask.get", 1), ("java/util/concurrent/FutureTask.awaitDone", 2)]);
        (0..9).for_each(|_| stacks.add(get.clone()));
        let GoesOn::Ends(wait) = stacks.goes_on(&tree, 1) else { panic!("it waits") };
        assert_eq!(wait.reason, "result of another thread");
        tree.go_on_in_tasks(1, wait);
        assert_eq!(stacks.goes_on(&tree, 1), GoesOn::Unknown, "no thread was seen that runs a task");
        let task = stack(1, &[("java/util/concurrent/FutureTask.run", 1), ("a/Task.call", 2)]);
        stacks.add(SlowStack { is_of_task: true, ..task });
        let GoesOn::Through(ways) = stacks.goes_on(&tree, 1) else { panic!("it goes on") };
        assert_eq!(ways[0][0].method.text, "a/Task.call");
    }

    #[test]
    fn lines_and_states_of_what_was_seen() {
        let (mut stacks, tree) = (Stacks::default(), tree());
        stacks.add(SlowStack { line: Some(7), ..stack(1, &[]) });
        stacks.add(stack(1, &[("java/lang/Thread.sleep", 0)]));
        stacks.add(SlowStack { line: Some(7), ..stack(1, &[]) });
        assert_eq!(stacks.lines(&tree, 1), [7, 9]);
        assert_eq!(stacks.waiting(&tree).get(&0), Some(&(3, 1)));
        assert_eq!(stacks.waiting(&tree).get(&2), None);
    }
}
