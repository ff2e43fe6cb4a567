//! The same figures by module, package or class, and by stack: each way of looking at a recording adds up to the same total.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::{CallTree, Frame, FrameId, NodeId};

/// Which methods are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// Methods of the same module; of the same package where the recording names no module.
    Module,
    /// Methods of the same package.
    Package,
    /// Methods of the same class.
    Class,
}

impl Grouping {
    /// The name of the group that a method belongs to. What is no method (samples without a stack) is its own group.
    #[must_use]
    pub fn name_of(self, frame: &Frame) -> &str {
        match self {
            _ if frame.class.is_empty() => &frame.method,
            Grouping::Module if !frame.module.is_empty() => &frame.module,
            Grouping::Module | Grouping::Package => package_of(&frame.class),
            Grouping::Class => &frame.class,
        }
    }
}

/// The package of a class whose name is written with dots.
#[must_use]
pub fn package_of(class: &str) -> &str {
    // Classes made by the JVM have a number after their name and one more dot: `com.acme.Shop$$Lambda.0x7f`.
    let named = class.find("$$").and_then(|end| class.get(..end)).unwrap_or(class);
    named.rsplit_once('.').map_or("(default package)", |(package, _)| package)
}

/// The figures of a group. Times in nanoseconds; of samples, all figures are ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupRow {
    /// Name of the module, package or class.
    pub name: String,
    /// Methods of it that were called.
    pub methods: u64,
    /// Calls of these.
    pub calls: u64,
    /// Of these: calls whose times are estimates.
    pub estimated_calls: u64,
    /// Whether times are estimates: those of some calls or of calls that they made are.
    pub own_is_estimated: bool,
    /// Time in the methods of the group, without what they called outside of it or inside.
    pub own: u64,
    /// Time in the methods of the group and all that they called. A call inside another call of the group counts once.
    pub total: u64,
}

/// The groups of a call tree, the one with the most own time first.
#[must_use]
pub fn groups(tree: &CallTree, frames: &[Frame], grouping: Grouping) -> Vec<GroupRow> {
    let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
    let mut rows: Vec<GroupRow> = Vec::new();
    let mut group_of: Vec<usize> = Vec::with_capacity(frames.len());
    for frame in frames {
        let name = grouping.name_of(frame);
        let position = *positions.entry(name).or_insert(rows.len());
        if position == rows.len() {
            rows.push(GroupRow { name: name.to_owned(), ..GroupRow::default() });
        }
        group_of.push(position);
        if let Some(row) = rows.get_mut(position) {
            row.methods += u64::from(frame.calls > 0);
            row.calls += frame.calls;
            row.estimated_calls += frame.times.estimated_calls;
            row.own_is_estimated |= frame.own_is_estimated;
            row.own = row.own.saturating_add(frame.own);
        }
    }
    for (row, total) in rows.iter_mut().zip(outermost_totals(tree, &group_of, positions.len())) {
        // Paths for which there was no room have given their own time to their methods, but stand nowhere in the tree.
        row.total = total.max(row.own);
    }
    rows.retain(|row| row.calls > 0 || row.own > 0 || row.total > 0);
    rows.sort_by(|a, b| (Reverse(a.own), Reverse(a.total), &a.name).cmp(&(Reverse(b.own), Reverse(b.total), &b.name)));
    rows
}

/// Time of each group's calls that are not inside of another call of the same group.
fn outermost_totals(tree: &CallTree, group_of: &[usize], groups: usize) -> Vec<u64> {
    let mut totals = vec![0_u64; groups];
    // How many calls of each group are around the node that is looked at.
    let mut around = vec![0_u32; groups];
    let mut left = vec![(NodeId::ROOT, false)];
    while let Some((id, is_leaving)) = left.pop() {
        let Some(node) = tree.node(id) else { continue };
        let group = node.frame.and_then(|frame| group_of.get(frame.index())).copied();
        if let Some((group, depth)) = group.and_then(|group| Some((group, around.get_mut(group)?))) {
            if is_leaving {
                *depth -= 1;
                continue;
            }
            if let (0, Some(total)) = (*depth, totals.get_mut(group)) {
                *total = total.saturating_add(node.total);
            }
            *depth += 1;
            left.push((id, true));
        }
        left.extend(node.children.iter().map(|child| (*child, false)));
    }
    totals
}

/// A call path with the time at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackRow {
    /// The methods, the innermost first.
    pub frames: Vec<FrameId>,
    /// Calls of the innermost method by this path.
    pub calls: u64,
    /// Of these: calls whose times are estimates.
    pub estimated_calls: u64,
    /// Whether `own` is an estimate.
    pub own_is_estimated: bool,
    /// Time in the innermost method itself.
    pub own: u64,
}

/// The `most` call paths with the most time of their own, and how many there are.
#[must_use]
pub fn stacks(tree: &CallTree, most: usize) -> (Vec<StackRow>, usize) {
    let mut ids: Vec<NodeId> = (1..tree.nodes().len() as u32).map(NodeId).collect();
    // The calls of a path count even if the time of their probes was all that they had.
    ids.retain(|id| tree.node(*id).is_some_and(|node| node.own > 0 || node.probes > 0));
    ids.sort_by_key(|id| (Reverse(tree.node(*id).map_or(0, |node| node.own)), *id));
    let row = |id: &NodeId| {
        let node = tree.node(*id)?;
        let (calls, estimated_calls, own) = (node.calls, node.estimated_calls, node.own);
        Some(StackRow { frames: path(tree, *id), calls, estimated_calls, own_is_estimated: node.own_is_estimated, own })
    };
    (ids.iter().take(most).filter_map(row).collect(), ids.len())
}

/// The methods of a path, the innermost first.
fn path(tree: &CallTree, id: NodeId) -> Vec<FrameId> {
    let mut frames = Vec::new();
    let mut at = id;
    while let Some((frame, parent)) = tree.node(at).and_then(|node| Some((node.frame?, node.parent))) {
        frames.push(frame);
        at = parent;
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_ordinary_hidden_and_unnamed_classes() {
        assert_eq!(package_of("com.acme.Shop$Order"), "com.acme");
        assert_eq!(package_of("com.acme.Shop$$Lambda.0x00007f"), "com.acme");
        assert_eq!(package_of("Main"), "(default package)");
    }

    #[test]
    fn a_module_is_named_where_it_is_known() {
        let frame = |class: &str, module: &str| Frame {
            class: class.to_owned(),
            module: module.to_owned(),
            method: "m".to_owned(),
            ..Frame::default()
        };
        let of = |grouping: Grouping, frame: &Frame| grouping.name_of(frame).to_owned();
        assert_eq!(of(Grouping::Module, &frame("java.util.Map", "java.base")), "java.base");
        assert_eq!(of(Grouping::Module, &frame("com.acme.Shop", "")), "com.acme");
        assert_eq!(of(Grouping::Package, &frame("java.util.Map", "java.base")), "java.util");
        assert_eq!(of(Grouping::Class, &frame("", "")), "m", "what is no method is a group of its own");
    }

    #[test]
    fn a_call_inside_its_own_group_counts_once_in_the_total() {
        let mut tree = CallTree::default();
        let [outer, other, inner] = [FrameId(0), FrameId(1), FrameId(2)];
        let (a, _) = tree.add(NodeId::ROOT, outer, 100, true);
        let (b, _) = tree.add(a, other, 60, true);
        tree.add(b, inner, 25, true);
        tree.complete();
        let frame = |class: &str, own| Frame { class: class.to_owned(), own, calls: 1, ..Frame::default() };
        let frames = [frame("a.A", 40), frame("b.B", 35), frame("a.C", 25)];
        let rows = groups(&tree, &frames, Grouping::Package);
        let figures: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.methods, row.own, row.total)).collect();
        assert_eq!(figures, [("a", 2, 65, 100), ("b", 1, 35, 60)]);
        let (stacks, all) = stacks(&tree, 2);
        assert_eq!((stacks[0].frames.clone(), stacks[0].own, all), (vec![outer], 40, 3));
        assert_eq!(stacks[1].frames, [other, outer]);
    }
}
