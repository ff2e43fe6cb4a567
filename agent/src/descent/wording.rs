//! The result of a descent: its tree as clients get it, how much of the slowness it explains, and one sentence.

use control::{DiagnosisNode, NodeKind};
use instrument_core::facts::call_sites::Target;
use trace::ON_ANOTHER_THREAD;
use trace::report::class_and_method as short;
use trace::{CountedCalls, DiagnosisBranch, DiagnosisSentence};

use super::stacks::Stacks;
use super::tree::{End, Fate, Node, NodeAt, NodeOf, Tree};

/// What was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Result {
    pub(crate) nodes: Vec<DiagnosisNode>,
    /// What all ends explain together.
    pub(crate) explained: Option<f64>,
    pub(crate) sentence: Option<String>,
    /// The parts of that.
    pub(crate) parts: Option<DiagnosisSentence>,
}

/// How the sentence names what was diagnosed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// `Class.method`.
    pub(crate) method: &'a str,
    pub(crate) context: Option<&'a str>,
    pub(crate) calls: CountedCalls,
}

/// Returns the result by what is known now; `nanos` converts what probes read.
pub(crate) fn result_of(tree: &Tree, stacks: &Stacks, nanos: &dyn Fn(u64) -> u64, subject: Subject<'_>) -> Result {
    let mut nodes: Vec<DiagnosisNode> = Vec::new();
    let waiting = stacks.waiting(tree);
    let mut places: Vec<Option<usize>> = vec![None; tree.nodes().len()];
    for (at, node) in tree.nodes().iter().enumerate() {
        if node.fate == Fate::Replaced {
            continue;
        }
        let parent = node.parent.and_then(|parent| places.get(parent).copied().flatten());
        // A call that always runs one method, under its own name, is shown as that method.
        let merged = merged_with(tree, at);
        let place = match node.parent.filter(|_| merged) {
            Some(_) => parent,
            None => {
                nodes.push(shown(tree, (stacks, waiting.get(&at)), nanos, at, parent));
                Some(nodes.len() - 1)
            }
        };
        if let (true, Some(shown)) = (merged, place.and_then(|place| nodes.get_mut(place))) {
            shown.method.clone_from(&node.text);
            shown.kind = NodeKind::Method;
            shown.via.clone_from(&node.via);
            if let Fate::End(End { reason, .. }) = &node.fate {
                shown.reason = Some(reason.clone());
            }
        }
        if let Some(slot) = places.get_mut(at) {
            *slot = place;
        }
    }
    let ends = ends(tree);
    let shares: Vec<f64> = ends.iter().filter_map(|at| tree.get(*at)?.share).collect();
    let explained = (!shares.is_empty()).then(|| shares.iter().sum::<f64>().min(1.0));
    let parts = sentence((tree, stacks), &ends, &places, subject);
    Result { nodes, explained, sentence: parts.as_ref().map(ToString::to_string), parts }
}

/// Whether a method is shown in the place of the call that it runs for.
fn merged_with(tree: &Tree, at: NodeAt) -> bool {
    let Some(Node { of: NodeOf::Method(key), parent: Some(parent), .. }) = tree.get(at) else { return false };
    if tree.tasks_at() == Some(*parent) {
        return false;
    }
    let is_only = there(tree, *parent) == 1;
    let Some(Node { of: NodeOf::Call(found), sums: of_call, .. }) = tree.get(*parent) else { return false };
    // Other implementations run there, too.
    let of_method = tree.get(at).and_then(|node| node.sums);
    if let (Some(of_call), Some(of_method)) = (of_call, of_method)
        && of_method.slow.time.saturating_mul(10) < of_call.slow.time.saturating_mul(8)
    {
        return false;
    }
    let named = match &found.call.target {
        Target::Method(named) | Target::Function(_, named) | Target::Bootstrap(named) => Some(&*named.name),
        Target::Unknown(..) => None,
    };
    is_only && named == Some(&*key.name)
}

/// How many methods are measured at a call.
fn there(tree: &Tree, call: NodeAt) -> usize {
    tree.children(call).filter(|at| tree.get(*at).is_some_and(|node| node.fate != Fate::Replaced)).count()
}

fn shown(
    tree: &Tree,
    (stacks, waiting): (&Stacks, Option<&(u32, u32)>),
    nanos: &dyn Fn(u64) -> u64,
    at: NodeAt,
    parent: Option<usize>,
) -> DiagnosisNode {
    let millis = |time: u64| nanos(time) as f64 / 1e6;
    let node = tree.get(at);
    let sums = node.and_then(|node| node.sums);
    let (kind, reason) = match node.map(|node| (&node.fate, &node.of)) {
        // Waiting for the monitor of a `synchronized` block: the method itself is the node above.
        Some((Fate::End(end), NodeOf::OwnCode)) => (NodeKind::OwnCode, Some(end.reason.clone())),
        Some((Fate::End(end), _)) => (end.kind, Some(end.reason.clone())),
        Some((_, NodeOf::Method(_))) => {
            let is_task = node.and_then(|node| node.parent).is_some_and(|parent| tree.tasks_at() == Some(parent));
            (NodeKind::Method, is_task.then(|| ON_ANOTHER_THREAD.to_owned()))
        }
        Some((_, NodeOf::Call(found))) => {
            let refused = found.refused.as_ref().map(|reason| format!("not measured: {reason}"));
            (NodeKind::CallSite, refused)
        }
        Some((_, NodeOf::OwnCode)) | None => (NodeKind::OwnCode, None),
    };
    let waiting = waiting.map(|(all, waiting)| f64::from(*waiting) / f64::from(*all));
    DiagnosisNode {
        parent,
        level: tree.level(at),
        method: node.map(|node| node.text.clone()).unwrap_or_default(),
        kind,
        calls: sums.map(|sums| sums.calls()),
        slow_calls: sums.map(|sums| sums.slow.calls),
        total_ms: sums.map(|sums| millis(sums.slow.time + sums.fast.time)),
        slow_ms: sums.map(|sums| millis(sums.slow.time)),
        // That of a call that was left aside is from other calls than all the rest.
        share: node.filter(|node| node.fate != Fate::LeftAside).and_then(|node| node.share),
        per_call: node.and_then(|node| node.per_call),
        running: waiting.map(|waiting| 1.0 - waiting),
        waiting,
        followed: node.is_some_and(|node| matches!(node.fate, Fate::Followed | Fate::End(_))),
        reason,
        lines: stacks.lines(tree, at),
        via: node.map(|node| node.via.clone()).unwrap_or_default(),
    }
}

/// The nodes at which the descent ended, those that explain most first.
fn ends(tree: &Tree) -> Vec<NodeAt> {
    let is_end = |at: &NodeAt| {
        let reached = tree.above(*at).all(|above| tree.get(above).is_some_and(|node| node.fate == Fate::Followed));
        reached && tree.get(*at).is_some_and(|node| matches!(node.fate, Fate::End(_)))
    };
    let mut ends: Vec<NodeAt> = (0..tree.nodes().len()).filter(is_end).collect();
    let share = |at: &NodeAt| tree.get(*at).and_then(|node| node.share).unwrap_or(0.0);
    ends.sort_by(|a, b| share(b).total_cmp(&share(a)));
    ends
}

/// Between a call that waits and the method that another thread runs meanwhile.
const IN_A_TASK: &str = "(another thread)";
/// Ends that explain less are not named beside others.
const LEAST_NAMED: f64 = 0.1;
/// Most ends that the sentence names.
const MOST_NAMED: usize = 3;
/// Most lines of own code that the sentence names.
const MOST_OF_LINES: usize = 3;
/// Most characters of a reason in the sentence.
const MOST_OF_REASON: usize = 120;

/// Returns the parts of the sentence; `places` has the places of the tree's nodes among those that are shown.
fn sentence(
    (tree, stacks): (&Tree, &Stacks),
    ends: &[NodeAt],
    places: &[Option<usize>],
    subject: Subject<'_>,
) -> Option<DiagnosisSentence> {
    let share = |at: NodeAt| tree.get(at).and_then(|node| node.share);
    share(*ends.first()?)?;
    let is_named = |(number, share): (usize, f64)| number == 0 || (number < MOST_NAMED && share >= LEAST_NAMED);
    let branch = |(number, at): (usize, &NodeAt)| {
        let share = share(*at).filter(|share| is_named((number, *share)))?;
        let node = places.get(*at).copied().flatten()?;
        Some(DiagnosisBranch { node, share, way: way((tree, stacks), *at) })
    };
    let under = subject.context.map(|context| format!(" under {context}")).unwrap_or_default();
    Some(DiagnosisSentence {
        subject: format!("{}{under}", subject.method),
        calls: subject.calls,
        branches: together(ends.iter().enumerate().filter_map(branch)),
    })
}

/// Ways that read the same are one: a method that calls itself has the same one at each level.
fn together(branches: impl Iterator<Item = DiagnosisBranch>) -> Vec<DiagnosisBranch> {
    let mut all: Vec<DiagnosisBranch> = Vec::new();
    for branch in branches {
        match all.iter_mut().find(|of| of.way == branch.way) {
            Some(same) => same.share += branch.share,
            None => all.push(branch),
        }
    }
    all
}

/// The way from the root to an end: `B`, `C`, `socket read`.
fn way((tree, stacks): (&Tree, &Stacks), end: NodeAt) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(Node { fate: Fate::End(End { kind, reason }), text, of, .. }) = tree.get(end) {
        match (kind, of) {
            (NodeKind::OwnCode, _) => steps.push(own_code(&stacks.lines(tree, end))),
            (NodeKind::Waiting, NodeOf::OwnCode) => steps.extend([cut(reason), own_code(&stacks.lines(tree, end))]),
            (NodeKind::Waiting, _) => steps.extend([cut(reason), short(text)]),
            (_, NodeOf::Method(_) | NodeOf::Call(_) | NodeOf::OwnCode) => steps.push(short(text)),
        }
    }
    for at in tree.above(end) {
        let Some(node) = tree.get(at) else { break };
        // The root is the subject; of a call and the method that runs for it one is named.
        let is_named = node.parent.is_some()
            && match node.of {
                NodeOf::Method(_) => true,
                NodeOf::Call(_) if tree.tasks_at() == Some(at) => true,
                NodeOf::Call(_) => !tree.children(at).any(|child| merged_with(tree, child)) && there(tree, at) != 1,
                NodeOf::OwnCode => false,
            };
        if is_named {
            steps.push(short(&node.text));
        }
        if !node.via.is_empty() {
            steps.push("...".to_owned());
        }
        if node.parent.is_some_and(|parent| tree.tasks_at() == Some(parent)) {
            steps.push(IN_A_TASK.to_owned());
        }
    }
    if steps.is_empty() {
        steps.push("spread over many calls of it".to_owned());
    }
    steps.reverse();
    // A call and the methods that run for it may have the same name.
    steps.dedup();
    steps
}

/// `own code (lines 41, 44)`, the most frequent line first.
fn own_code(lines: &[u32]) -> String {
    let named: Vec<String> = lines.iter().take(MOST_OF_LINES).map(u32::to_string).collect();
    match named.as_slice() {
        [] => "own code".to_owned(),
        [line] => format!("own code (line {line})"),
        lines => format!("own code (lines {})", lines.join(", ")),
    }
}

/// A reason may contain the whole text of a statement.
fn cut(reason: &str) -> String {
    match reason.char_indices().nth(MOST_OF_REASON) {
        Some((end, _)) => format!("{}...", reason.get(..end).unwrap_or_default().trim_end()),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::stacks::SlowStack;
    use super::super::tree::tests::{add, add_own_code, sums};
    use super::*;

    /// A calls B, which calls C, which sleeps.
    fn slept() -> Tree {
        let mut tree = Tree::default();
        let root = add(&mut tree, None, "a.A.a", 0, &["a.B.b", "a.X.x"]);
        tree.take(sums(&[(1_000, 100), (900, 50), (100, 50)]));
        assert_eq!(tree.follow(root), [1]);
        let below = add(&mut tree, Some(1), "a.B.b", 3, &["java.lang.Thread.sleep"]);
        tree.take(sums(&[(1_000, 100), (900, 50), (100, 50), (890, 50), (880, 50)]));
        assert_eq!(tree.follow(below), [below + 1]);
        tree.decide(below + 1, Fate::End(End { kind: NodeKind::Waiting, reason: "sleep".to_owned() }));
        tree
    }

    fn subject() -> Subject<'static> {
        Subject { method: "A.a", context: Some("payment=card"), calls: CountedCalls::SlowAndFast }
    }

    #[test]
    fn one_sentence_names_the_way_and_what_is_waited_for() {
        let result = result_of(&slept(), &Stacks::default(), &|time| time, subject());
        let sentence = result.sentence.unwrap();
        assert_eq!(sentence, "92 % of the slow calls of A.a under payment=card is B.b -> Thread.sleep -> sleep");
        let branches = result.parts.unwrap().branches;
        assert_eq!((branches.len(), branches[0].node), (1, 3), "its end among the nodes that are shown");
        let of: Vec<(usize, &str, NodeKind)> =
            result.nodes.iter().map(|node| (node.level, node.method.as_str(), node.kind)).collect();
        assert_eq!(
            of,
            [
                (0, "a.A.a()", NodeKind::Method),
                (1, "a.B.b()", NodeKind::Method),
                (1, "a.X.x()", NodeKind::CallSite),
                (2, "java.lang.Thread.sleep()", NodeKind::Waiting),
            ],
            "a call and the method that runs for it are one"
        );
        assert_eq!(result.nodes[3].parent, Some(1));
        assert_eq!(result.nodes[2].calls, None, "it was left aside, and not measured with the others");
        assert!((result.explained.unwrap() - 830.0 / 900.0).abs() < 1e-9);
    }

    #[test]
    fn ways_that_read_the_same_are_one() {
        let branch = |node, share, way: &[&str]| DiagnosisBranch {
            node,
            share,
            way: way.iter().map(|step| (*step).to_owned()).collect(),
        };
        let both = together([branch(3, 0.5, &["B.b", "sleep"]), branch(7, 0.25, &["B.b", "sleep"])].into_iter());
        assert_eq!(both, [branch(3, 0.75, &["B.b", "sleep"])]);
        let others = [branch(3, 0.5, &["B.b", "sleep"]), branch(7, 0.25, &["C.c", "sleep"])];
        assert_eq!(together(others.clone().into_iter()), others);
    }

    #[test]
    fn what_runs_on_another_thread_is_marked() {
        let mut tree = slept();
        tree.go_on_in_tasks(1, End { kind: NodeKind::Waiting, reason: "result of another thread".to_owned() });
        let result = result_of(&tree, &Stacks::default(), &|time| time, subject());
        let sentence = result.sentence.unwrap();
        assert!(sentence.ends_with("is B.b -> (another thread) -> B.b -> Thread.sleep -> sleep"), "{sentence}");
        let task = result.nodes.iter().find(|node| node.reason.as_deref() == Some(ON_ANOTHER_THREAD)).unwrap();
        assert_eq!((task.method.as_str(), task.kind), ("a.B.b()", NodeKind::Method));
    }

    #[test]
    fn the_sentence_ends_with_the_statement_which_may_be_long() {
        let sentence = |reason: &str| {
            let mut tree = slept();
            let end = tree.nodes().iter().rposition(|node| matches!(node.fate, Fate::End(_))).unwrap();
            tree.decide(end, Fate::End(End { kind: NodeKind::Waiting, reason: reason.to_owned() }));
            let result = result_of(&tree, &Stacks::default(), &|time| time, subject());
            assert!(result.nodes.iter().any(|node| node.reason.as_deref() == Some(reason)));
            result.sentence.unwrap()
        };
        let found = sentence("statement: SELECT * FROM orders WHERE customer = ?");
        assert!(found.ends_with("Thread.sleep -> statement: SELECT * FROM orders WHERE customer = ?"), "{found}");
        let found = sentence(&format!("statement: {}", "x".repeat(1_000)));
        assert!(found.ends_with(&format!("-> statement: {}...", "x".repeat(109))), "{found}");
    }

    #[test]
    fn the_sentence_names_lines_of_own_code_and_that_methods_were_passed_over() {
        let mut tree = slept();
        let at = |of: &dyn Fn(&Node) -> bool| tree.nodes().iter().rposition(of).unwrap();
        let (end, below) = (at(&|node| matches!(node.fate, Fate::End(_))), at(&|node| node.text == "a.B.b()"));
        tree.decide(end, Fate::LeftAside);
        tree.note_via(below, vec!["x.P.p()".to_owned()]);
        let own = add_own_code(&mut tree, below);
        let mut stacks = Stacks::default();
        let cell = tree.get(below).and_then(|node| node.cell).unwrap();
        for line in [41, 44, 41] {
            let (below, line) = (Vec::new(), Some(line));
            let stack = SlowStack { cell, line, below, is_runnable: true, is_blocked: false, is_of_task: false };
            stacks.add(stack);
        }
        assert_eq!(way((&tree, &stacks), own), ["...", "B.b", "own code (lines 41, 44)"]);
    }

    #[test]
    fn a_method_that_waits_for_the_monitor_of_a_block_is_named_once() {
        let mut tree = slept();
        let below = tree.nodes().iter().rposition(|node| node.text == "a.B.b()").unwrap();
        for at in tree.children(below).collect::<Vec<_>>() {
            tree.decide(at, Fate::LeftAside);
        }
        let own = add_own_code(&mut tree, below);
        tree.decide(own, Fate::End(End { kind: NodeKind::Waiting, reason: "lock".to_owned() }));
        assert_eq!(way((&tree, &Stacks::default()), own), ["B.b", "own code", "lock"]);
        let nodes = result_of(&tree, &Stacks::default(), &|time| time, subject()).nodes;
        let shown: Vec<_> = nodes.iter().filter(|node| node.reason.as_deref() == Some("lock")).collect();
        assert_eq!(shown.iter().map(|node| node.kind).collect::<Vec<_>>(), [NodeKind::OwnCode]);
    }

    #[test]
    fn without_fast_calls_or_a_limit_it_says_so() {
        let sentence = |calls| {
            let subject = Subject { context: None, calls, ..subject() };
            result_of(&slept(), &Stacks::default(), &|time| time, subject).sentence.unwrap()
        };
        let all = "92 % of the time of A.a is B.b -> Thread.sleep -> sleep (all calls: no limit was given)";
        assert_eq!(sentence(CountedCalls::All), all);
        let sentence = sentence(CountedCalls::SlowOnly);
        assert!(
            sentence.starts_with("92 % of the time of slow calls of A.a is ") && sentence.contains("no fast calls")
        );
    }
}
