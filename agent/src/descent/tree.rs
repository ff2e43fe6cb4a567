//! What a diagnosis measures, as a tree: a method whose calls are measured, below it what it calls, below that the methods that run then.

use control::NodeKind;
use instrument_core::facts::call_sites::Target;

use super::branches::{Branch, EXPLAINED, LEAST, choose};
use crate::call_sites::{Cell, CellSums, FoundCall, MethodKey, Sum};

/// A node by its place in the tree; 0 is the root.
pub(crate) type NodeAt = usize;

/// What a node of the tree is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeOf {
    /// A method whose own calls are measured.
    Method(MethodKey),
    /// What a method calls, as its bytecode has it.
    Call(FoundCall),
    /// What is left of a method without its calls.
    OwnCode,
}

impl NodeOf {
    /// Returns the method, if it is one whose calls are measured.
    pub(crate) fn method(&self) -> Option<&MethodKey> {
        match self {
            NodeOf::Method(key) => Some(key),
            NodeOf::Call(_) | NodeOf::OwnCode => None,
        }
    }
}

/// Why the descent does not go on at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) kind: NodeKind,
    pub(crate) reason: String,
}

/// What was decided about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing yet.
    Open,
    /// What is below it is followed.
    Followed,
    /// It explains too little.
    LeftAside,
    /// It is a part of the answer.
    End(End),
    /// Others are measured in its place.
    Replaced,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) parent: Option<NodeAt>,
    pub(crate) of: NodeOf,
    /// As people write it: `package.Class.method(Types)`.
    pub(crate) text: String,
    /// Where it is measured; own code is not.
    pub(crate) cell: Option<Cell>,
    pub(crate) fate: Fate,
    /// The latest figures, in nanoseconds; `None` if it was not measured with the others.
    pub(crate) sums: Option<CellSums>,
    /// What it explains of the time by which slow calls take longer than fast ones.
    pub(crate) share: Option<f64>,
    /// Calls of it for each call of the root, when it was last measured: nodes that were left aside keep it.
    pub(crate) per_call: Option<f64>,
    /// Of a method, those on the way to it that are not measured, from the outermost inwards.
    pub(crate) via: Vec<String>,
    /// How often calls of it that had been left aside were measured again.
    reopened: u8,
}

/// So often at most what was left aside is looked at again.
const MOST_REOPENED: u8 = 3;

impl Node {
    /// Whether it has been measured in slow calls of the root, and what it explains is known.
    pub(crate) fn has_figures(&self) -> bool {
        self.share.is_some() && self.sums.is_some_and(|sums| sums.slow.calls > 0)
    }
}

/// What is measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// The call below which tasks are measured that other threads run, and what it waits for.
    tasks: Option<(NodeAt, End)>,
}

impl Tree {
    /// The nodes, each after its parent.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// From now on what is measured below this call are tasks that other threads run, for which it waits.
    pub(crate) fn go_on_in_tasks(&mut self, call: NodeAt, wait: End) {
        self.tasks = Some((call, wait));
    }

    /// Returns the call below which tasks are measured, if there is one.
    pub(crate) fn tasks_at(&self) -> Option<NodeAt> {
        self.tasks.as_ref().map(|(call, _)| *call)
    }

    /// Returns what a call waits for below which tasks are measured.
    pub(crate) fn wait_for_tasks(&self, call: NodeAt) -> Option<&End> {
        self.tasks.as_ref().filter(|(at, _)| *at == call).map(|(_, wait)| wait)
    }

    /// A node.
    pub(crate) fn get(&self, at: NodeAt) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// Adds a method that is measured at this cell, with the calls of its body, which are measured at those that follow; `text_of` names them.
    pub(crate) fn add_method(
        &mut self,
        parent: Option<NodeAt>,
        (key, text): (MethodKey, String),
        (cell, calls): (Cell, &[FoundCall]),
        text_of: &dyn Fn(&FoundCall) -> String,
    ) -> NodeAt {
        let method = self.add(parent, NodeOf::Method(key), text, Some(cell));
        for (cell, call) in (cell + 1..).zip(calls) {
            let measured = call.refused.is_none().then_some(cell);
            self.add(Some(method), NodeOf::Call(call.clone()), text_of(call), measured);
        }
        if let Some(parent) = parent {
            self.decide(parent, Fate::Followed);
        }
        method
    }

    fn add(&mut self, parent: Option<NodeAt>, of: NodeOf, text: String, cell: Option<Cell>) -> NodeAt {
        let (fate, via) = (Fate::Open, Vec::new());
        self.nodes.push(Node {
            parent,
            of,
            text,
            cell,
            fate,
            sums: None,
            share: None,
            per_call: None,
            via,
            reopened: 0,
        });
        self.nodes.len() - 1
    }

    /// Returns the nodes directly below one.
    pub(crate) fn children(&self, at: NodeAt) -> impl Iterator<Item = NodeAt> + '_ {
        let nodes = self.nodes.iter().enumerate().skip(at + 1);
        nodes.filter(move |(_, node)| node.parent == Some(at)).map(|(at, _)| at)
    }

    /// Returns the node that is measured at a cell.
    pub(crate) fn of_cell(&self, cell: Cell) -> Option<NodeAt> {
        self.nodes.iter().position(|node| node.cell == Some(cell))
    }

    /// Returns the node of the call in a method's body that runs this method first: by its name and types, and of several by the offset, if the bytecode was
    /// the original.
    pub(crate) fn call_of(&self, method: NodeAt, callee: &MethodKey, offset: Option<u32>) -> Option<NodeAt> {
        let found = |at: &NodeAt| match self.get(*at).map(|node| &node.of) {
            Some(NodeOf::Call(found)) => Some(found),
            _ => None,
        };
        let is_named = |at: &NodeAt| match found(at).map(|found| &found.call.target) {
            Some(Target::Method(named) | Target::Function(_, named)) => {
                (&*named.name, &*named.descriptor) == (&*callee.name, &*callee.descriptor)
            }
            _ => false,
        };
        let named: Vec<NodeAt> = self.children(method).filter(is_named).collect();
        let is_there =
            |at: &&NodeAt| offset.is_some_and(|offset| found(at).is_some_and(|of| of.call.offsets.contains(&offset)));
        named.iter().find(is_there).or_else(|| named.first()).copied()
    }

    /// Returns how many measured methods there are above a node.
    pub(crate) fn level(&self, at: NodeAt) -> usize {
        self.above(at).filter(|above| matches!(self.get(*above).map(|of| &of.of), Some(NodeOf::Method(_)))).count()
    }

    /// Returns the nodes above one, the nearest first.
    pub(crate) fn above(&self, at: NodeAt) -> impl Iterator<Item = NodeAt> + '_ {
        std::iter::successors(self.get(at).and_then(|node| node.parent), |at| self.get(*at)?.parent)
    }

    /// Notes what was decided.
    pub(crate) fn decide(&mut self, at: NodeAt, fate: Fate) {
        if let Some(node) = self.nodes.get_mut(at).filter(|node| node.fate != Fate::Replaced) {
            node.fate = fate;
        }
    }

    /// Notes how often a call of the root makes a call that is not measured any more.
    pub(crate) fn note_calls(&mut self, call: NodeAt, per_call: f64) {
        if let Some(node) = self.nodes.get_mut(call) {
            node.per_call = Some(per_call);
        }
    }

    /// Notes the methods on the way to one that are not measured.
    pub(crate) fn note_via(&mut self, method: NodeAt, via: Vec<String>) {
        if let Some(node) = self.nodes.get_mut(method) {
            node.via = via;
        }
    }

    /// Takes what is below a call out of the answer: other methods are measured there.
    pub(crate) fn replace_below(&mut self, call: NodeAt) {
        let has_tasks_below = self.tasks_at().is_some_and(|at| self.above(at).any(|of| of == call));
        if has_tasks_below {
            self.tasks = None;
        }
        let below: Vec<NodeAt> =
            (call + 1..self.nodes.len()).filter(|at| self.above(*at).any(|of| of == call)).collect();
        for at in below {
            if let Some(node) = self.nodes.get_mut(at) {
                (node.fate, node.cell, node.sums, node.share, node.per_call) = (Fate::Replaced, None, None, None, None);
            }
        }
    }

    /// Takes figures of the same calls of the root for all nodes that are measured, and computes what each explains. Nodes that were left aside keep the
    /// share that they had then.
    pub(crate) fn take(&mut self, sums_of: impl Fn(Cell) -> CellSums) {
        let root = sums_of(0);
        let all = excess(&root, &root);
        for node in &mut self.nodes {
            let Some(cell) = node.cell else { continue };
            if node.fate == Fate::LeftAside {
                node.sums = None;
                continue;
            }
            let sums = sums_of(cell);
            node.share = (all > 0.0).then(|| (excess(&sums, &root) / all).clamp(0.0, 1.0));
            node.per_call = Some(sums.calls() as f64 / root.calls() as f64).filter(|calls| calls.is_finite());
            node.sums = Some(sums);
        }
        for at in 0..self.nodes.len() {
            if self.get(at).is_some_and(|node| node.of == NodeOf::OwnCode) {
                let share = self.get(at).and_then(|node| node.parent).and_then(|method| self.own_share(method));
                if let Some(node) = self.nodes.get_mut(at) {
                    node.share = share;
                }
            }
        }
    }

    /// What the method's own code explains: what it explains itself without what its calls do.
    fn own_share(&self, method: NodeAt) -> Option<f64> {
        let calls = self.children(method).filter_map(|at| self.get(at));
        let of_calls: f64 = calls.filter(|node| node.cell.is_some()).filter_map(|node| node.share).sum();
        Some((self.get(method)?.share? - of_calls).max(0.0))
    }

    /// Returns the methods about whose calls nothing was decided, outermost first.
    pub(crate) fn undecided(&self) -> Vec<NodeAt> {
        let is_undecided = |(at, node): &(NodeAt, &Node)| {
            let is_method = matches!(node.of, NodeOf::Method(_)) && node.fate == Fate::Open;
            is_method && self.above(*at).all(|above| self.get(above).is_some_and(|of| of.fate == Fate::Followed))
        };
        self.nodes.iter().enumerate().filter(is_undecided).map(|(at, _)| at).collect()
    }

    /// Returns the calls that were followed, and of which the methods that were measured there explain less than half: other methods run there.
    pub(crate) fn missed(&self) -> Vec<NodeAt> {
        let is_missed = |at: &NodeAt| self.explained_below(*at, false).is_some_and(|part| part < 0.5);
        (0..self.nodes.len()).filter(is_missed).collect()
    }

    /// Returns the calls that reach a measured method through methods that were passed over, if the measured one explains too little: the time is spent in between.
    pub(crate) fn passed_too_much(&self) -> Vec<NodeAt> {
        let is_unexplained = |at: &NodeAt| self.explained_below(*at, true).is_some_and(|part| part < EXPLAINED);
        (0..self.nodes.len()).filter(is_unexplained).collect()
    }

    /// Of a call that was followed, with or without passing methods over: the fraction that the methods explain that are measured there.
    fn explained_below(&self, call: NodeAt, has_passed: bool) -> Option<f64> {
        let Node { of: NodeOf::Call(_), fate: Fate::Followed, share: Some(share), sums: Some(_), .. } =
            self.get(call)?
        else {
            return None;
        };
        let below = self.children(call).filter_map(|below| self.get(below));
        let below: Vec<&Node> = below.filter(|node| node.fate != Fate::Replaced).collect();
        let are_known = !below.is_empty() && below.iter().all(|below| below.sums.is_some());
        let is_meant = below.iter().any(|node| !node.via.is_empty()) == has_passed;
        let explained: f64 = below.iter().filter_map(|below| below.share).sum();
        (are_known && is_meant && *share >= LEAST).then(|| explained / share)
    }

    /// Returns the methods of which what was followed explains too little by now, a tenth of the root is missing: the first few slow calls were no sample. Their calls
    /// that were left aside are open again, and so are they.
    pub(crate) fn reopen(&mut self) -> Vec<NodeAt> {
        let methods: Vec<NodeAt> = (0..self.nodes.len()).filter(|at| self.is_unexplained(*at)).collect();
        for method in &methods {
            for at in self.children(*method).collect::<Vec<NodeAt>>() {
                let is_aside = self.get(at).is_some_and(|node| node.fate == Fate::LeftAside && node.cell.is_some());
                if let Some(node) = self.nodes.get_mut(at).filter(|_| is_aside) {
                    (node.fate, node.share) = (Fate::Open, None);
                }
            }
            if let Some(node) = self.nodes.get_mut(*method) {
                (node.fate, node.reopened) = (Fate::Open, node.reopened + 1);
            }
        }
        methods
    }

    /// Whether methods are measured below a call: stacks led there, whatever the first figures say.
    fn is_followed(&self, at: NodeAt) -> bool {
        self.get(at).is_some_and(|node| node.fate == Fate::Followed)
    }

    fn is_unexplained(&self, method: NodeAt) -> bool {
        let Some(Node { of: NodeOf::Method(_), fate, share: Some(share), sums: Some(_), reopened, .. }) =
            self.get(method)
        else {
            return false;
        };
        let children = || self.children(method).filter_map(|at| self.get(at));
        let is_aside = children().any(|node| node.fate == Fate::LeftAside && node.cell.is_some());
        let was_looked_into = match fate {
            Fate::Followed => true,
            Fate::End(end) => end.kind == NodeKind::Method,
            Fate::Open | Fate::LeftAside | Fate::Replaced => false,
        };
        // What own code takes is what is left over: once, all calls are measured again before that is believed.
        let is_believed = |node: &Node| node.of != NodeOf::OwnCode || *reopened > 0;
        let explains = |node: &&Node| matches!(node.fate, Fate::Followed | Fate::End(_)) && is_believed(node);
        let explained: f64 = children().filter(explains).filter_map(|node| node.share).sum();
        *reopened < MOST_REOPENED && is_aside && was_looked_into && share - explained >= LEAST
    }

    /// Decides which calls of a method explain its slowness: these are returned, with what they explain; the others are left aside. If its own code does, it is
    /// added.
    pub(crate) fn follow(&mut self, method: NodeAt) -> Vec<NodeAt> {
        let Some(share) = self.get(method).and_then(|node| node.share) else { return Vec::new() };
        let is_call = |at: &NodeAt| self.get(*at).is_some_and(|node| node.of != NodeOf::OwnCode);
        let calls: Vec<NodeAt> = self.children(method).filter(is_call).collect();
        let of_call = |at: &NodeAt| {
            let share = self.get(*at).and_then(|node| node.share).unwrap_or(0.0);
            (Branch::Call(*at), share)
        };
        let own = self.own_share(method).unwrap_or(0.0);
        let all: Vec<(Branch, f64)> = calls.iter().map(of_call).chain([(Branch::OwnCode, own)]).collect();
        let chosen = choose(all, share);
        self.decide(method, Fate::Followed);
        for at in calls {
            let is_open = self.get(at).is_some_and(|node| node.fate == Fate::Open);
            if is_open && !chosen.contains(&Branch::Call(at)) {
                self.decide(at, Fate::LeftAside);
            }
        }
        if chosen.contains(&Branch::OwnCode) {
            let text = self.get(method).map(|node| node.text.clone()).unwrap_or_default();
            let known = self.children(method).find(|at| self.get(*at).is_some_and(|node| node.of == NodeOf::OwnCode));
            let at = known.unwrap_or_else(|| self.add(Some(method), NodeOf::OwnCode, text, None));
            self.decide(at, Fate::End(End { kind: NodeKind::OwnCode, reason: "own code".to_owned() }));
            if let Some(node) = self.nodes.get_mut(at) {
                node.share = Some(own);
            }
        } else if chosen.is_empty() && !self.children(method).any(|at| self.is_followed(at)) {
            let reason = "no call of it takes a tenth of the time".to_owned();
            self.decide(method, Fate::End(End { kind: NodeKind::Method, reason }));
        }
        let open = |branch: &Branch| match branch {
            Branch::Call(at) => self.get(*at).filter(|node| node.fate == Fate::Open).map(|_| *at),
            Branch::OwnCode => None,
        };
        chosen.iter().filter_map(open).collect()
    }
}

/// By how much a slow call of the root takes longer than a fast one at a cell, in the mean. Without fast calls: how long it takes.
fn excess(of: &CellSums, root: &CellSums) -> f64 {
    let mean = |sum: &Sum, calls: u64| if calls == 0 { 0.0 } else { sum.time as f64 / calls as f64 };
    mean(&of.slow, root.slow.calls) - mean(&of.fast, root.fast.calls)
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use instrument_core::facts::call_sites::{Call, CallKind, MethodName};

    use super::*;

    pub(crate) fn key(text: &str) -> MethodKey {
        let (class, name) = text.rsplit_once('.').unwrap();
        let [class, name, descriptor] = [class, name, "()V"].map(|text| Arc::from(text.as_bytes()));
        MethodKey { class, loader: 1, name, descriptor }
    }

    pub(crate) fn call(text: &str, offset: u32) -> FoundCall {
        let (owner, name) = text.rsplit_once('.').unwrap();
        let [owner, name, descriptor] = [owner, name, "()V"].map(|text| Box::from(text.as_bytes()));
        let target = Target::Method(MethodName { owner, name, descriptor });
        let call = Call { kind: CallKind::Virtual, target, offsets: vec![offset], lines: vec![] };
        FoundCall { call, refused: None }
    }

    pub(crate) fn text_of(found: &FoundCall) -> String {
        let Target::Method(named) = &found.call.target else { panic!("made of names") };
        format!("{}.{}()", String::from_utf8_lossy(&named.owner), String::from_utf8_lossy(&named.name))
    }

    pub(crate) fn add(tree: &mut Tree, parent: Option<NodeAt>, text: &str, cell: Cell, calls: &[&str]) -> NodeAt {
        let calls: Vec<FoundCall> = calls.iter().zip(0..).map(|(text, offset)| call(text, offset * 3)).collect();
        tree.add_method(parent, (key(text), format!("{text}()")), (cell, &calls), &text_of)
    }

    pub(crate) fn add_own_code(tree: &mut Tree, method: NodeAt) -> NodeAt {
        let at = tree.add(Some(method), NodeOf::OwnCode, String::new(), None);
        tree.decide(at, Fate::End(End { kind: NodeKind::OwnCode, reason: "own code".to_owned() }));
        at
    }

    /// Of the cells: time in slow calls and in fast ones, for 10 slow and 100 fast calls of the root.
    pub(crate) fn sums(times: &[(u64, u64)]) -> impl Fn(Cell) -> CellSums + '_ {
        |cell| {
            let (slow, fast) = times.get(cell as usize).copied().unwrap_or((0, 0));
            CellSums { slow: Sum { calls: 10, time: slow * 10 }, fast: Sum { calls: 100, time: fast * 100 } }
        }
    }

    #[test]
    fn what_is_slower_in_slow_calls_is_followed_and_what_takes_as_long_in_both_is_not() {
        let mut tree = Tree::default();
        let root = add(&mut tree, None, "a.A", 0, &["a.b", "a.c", "a.d"]);
        // c takes longest, but in fast calls, too.
        tree.take(sums(&[(1_000, 600), (400, 50), (500, 500), (5, 5)]));
        assert_eq!(tree.undecided(), [root]);
        assert_eq!(tree.follow(root), [1]);
        let share = |at: NodeAt| (tree.get(at).unwrap().share.unwrap() * 1000.0).round();
        assert_eq!((share(1), share(2)), (875.0, 0.0));
        assert_eq!(tree.get(2).unwrap().fate, Fate::LeftAside);
        assert_eq!((tree.level(root), tree.level(1)), (0, 1));
    }

    #[test]
    fn own_code_is_what_the_calls_leave() {
        let mut tree = Tree::default();
        let root = add(&mut tree, None, "a.A", 0, &["a.b"]);
        tree.take(sums(&[(1_000, 0), (300, 0)]));
        assert_eq!(tree.follow(root), [1]);
        let own = tree.nodes().last().unwrap();
        assert_eq!((&own.of, own.share), (&NodeOf::OwnCode, Some(0.7)));
        assert!(tree.undecided().is_empty());
        let below = add(&mut tree, Some(1), "a.B", 5, &["x.y"]);
        assert_eq!(tree.undecided(), [below]);
        assert_eq!(tree.call_of(below, &key("other.y"), Some(77)), Some(below + 1), "by its name");
        assert_eq!(tree.of_cell(6), Some(below + 1));
        // Once more, with all levels measured: own code follows.
        tree.take(sums(&[(1_000, 0), (500, 0), (0, 0), (0, 0), (0, 0), (500, 0), (500, 0)]));
        assert_eq!(tree.get(2).unwrap().share, Some(0.5));
    }

    #[test]
    fn what_was_left_aside_is_looked_at_again_if_too_little_is_explained() {
        let mut tree = Tree::default();
        let root = add(&mut tree, None, "a.A", 0, &["a.b", "a.c"]);
        tree.take(sums(&[(1_000, 0), (980, 0), (10, 0)]));
        assert_eq!(tree.follow(root), [1]);
        tree.decide(1, Fate::End(End { kind: NodeKind::Waiting, reason: "sleep".to_owned() }));
        assert!(tree.reopen().is_empty(), "all is explained");
        // Later, most slow calls are slow for another reason, which is not measured.
        tree.take(sums(&[(1_000, 0), (300, 0), (700, 0)]));
        assert_eq!((tree.reopen(), tree.get(2).map(|node| &node.fate)), (vec![root], Some(&Fate::Open)));
        assert_eq!(tree.undecided(), [root]);
        tree.take(sums(&[(1_000, 0), (300, 0), (700, 0)]));
        assert_eq!(tree.follow(root), [2]);
        assert!(tree.reopen().is_empty());
    }

    #[test]
    fn what_was_passed_over_is_replaced_if_what_is_behind_it_explains_too_little() {
        let mut tree = Tree::default();
        add(&mut tree, None, "a.A", 0, &["x.P"]);
        let deep = add(&mut tree, Some(1), "d.D", 5, &["d.e"]);
        tree.note_via(deep, vec!["x.P()".to_owned()]);
        let with = |part: u64| [(1_000, 0), (1_000, 0), (0, 0), (0, 0), (0, 0), (part, 0), (part, 0)];
        tree.take(sums(&with(950)));
        assert!(tree.passed_too_much().is_empty());
        tree.take(sums(&with(700)));
        assert_eq!((tree.passed_too_much(), tree.missed()), (vec![1], vec![]));
        tree.replace_below(1);
        let between = add(&mut tree, Some(1), "x.P", 7, &["d.D", "y.Y"]);
        assert_eq!((tree.of_cell(5), tree.undecided()), (None, vec![0]));
        tree.decide(0, Fate::Followed);
        assert_eq!(tree.undecided(), [between]);
        assert!(tree.passed_too_much().is_empty(), "its figures are not known yet");
    }

    #[test]
    fn own_code_is_believed_when_all_calls_have_been_measured_again() {
        let mut tree = Tree::default();
        let root = add(&mut tree, None, "a.A", 0, &["a.b", "a.c"]);
        tree.take(sums(&[(1_000, 0), (20, 0), (30, 0)]));
        assert!(tree.follow(root).is_empty());
        assert_eq!(tree.reopen(), [root]);
        tree.take(sums(&[(1_000, 0), (20, 0), (30, 0)]));
        tree.follow(root);
        assert_eq!(tree.nodes().iter().filter(|node| node.of == NodeOf::OwnCode).count(), 1);
        assert!(tree.reopen().is_empty());
    }

    #[test]
    fn a_method_whose_time_is_spread_over_many_calls_is_an_end() {
        let mut tree = Tree::default();
        let names: Vec<String> = (0..20).map(|at| format!("a.m{at}")).collect();
        let root = add(&mut tree, None, "a.A", 0, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let times: Vec<(u64, u64)> = std::iter::once((1_000, 0)).chain((0..20).map(|_| (50, 0))).collect();
        tree.take(sums(&times));
        assert!(tree.follow(root).is_empty());
        assert!(matches!(&tree.get(root).unwrap().fate, Fate::End(End { kind: NodeKind::Method, .. })));
    }
}
