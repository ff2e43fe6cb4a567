//! The call trees of the recordings of two sides as one: each path with its figures before and after.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::{Analysis, Frame};

/// Figures of a call path before or after; of several recordings, the means. Times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathFigures {
    /// Calls by this path.
    pub calls: u64,
    /// Time in the method and all that it called.
    pub total: u64,
    /// Time in the method itself.
    pub own: u64,
}

/// A call path of either recording, or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedNode {
    /// Position of the caller in [`ComparedTree::nodes`]; the first node is its own.
    pub parent: usize,
    /// Position of the method in [`ComparedTree::methods`]; `None` for the node above all.
    pub method: Option<usize>,
    /// Before and after.
    pub figures: [PathFigures; 2],
    /// Whether some of the times are estimates.
    pub is_estimated: bool,
}

impl ComparedNode {
    /// The larger of both totals.
    #[must_use]
    pub fn larger_total(&self) -> u64 {
        self.figures.iter().map(|figures| figures.total).max().unwrap_or(0)
    }
}

/// A method of either recording, whatever template measured it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ComparedMethod {
    /// Name of the class with dots.
    pub class: String,
    /// Name of the method.
    pub method: String,
    /// Its descriptor.
    pub descriptor: String,
}

/// The paths of two recordings.
#[derive(Debug, Clone, Default)]
pub struct ComparedTree {
    /// The methods of all paths.
    pub methods: Vec<ComparedMethod>,
    /// The paths; parents precede their children.
    pub nodes: Vec<ComparedNode>,
}

impl ComparedTree {
    /// Puts the trees of all analyses of two sides together.
    #[must_use]
    pub fn of(before: &[Analysis], after: &[Analysis]) -> ComparedTree {
        let mut merging = Merging::default();
        merging.tree.nodes.push(ComparedNode {
            parent: 0,
            method: None,
            figures: [PathFigures::default(); 2],
            is_estimated: false,
        });
        for (side, analyses) in [before, after].into_iter().enumerate() {
            analyses.iter().for_each(|analysis| merging.add(analysis, side));
            merging.tree.make_means(side, analyses.len() as u64);
        }
        merging.tree
    }

    /// Turns the sums of a side into means of its recordings.
    fn make_means(&mut self, side: usize, recordings: u64) {
        if recordings < 2 {
            return;
        }
        for figures in self.nodes.iter_mut().filter_map(|node| node.figures.get_mut(side)) {
            let PathFigures { calls, total, own } = *figures;
            let [calls, total, own] = [calls, total, own].map(|sum| sum.saturating_add(recordings / 2) / recordings);
            *figures = PathFigures { calls, total, own };
        }
    }

    /// The same without the paths that have the least time in both recordings: `most` are kept at most, each with all above it.
    #[must_use]
    pub fn with_at_most(&self, most: usize) -> ComparedTree {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        // A parent has at least the time of its child (estimates aside) and precedes it.
        order.sort_by_key(|index| (Reverse(self.nodes.get(*index).map_or(0, ComparedNode::larger_total)), *index));
        let mut is_kept = vec![false; self.nodes.len()];
        for index in order.into_iter().take(most) {
            if let Some(kept) = is_kept.get_mut(index) {
                *kept = true;
            }
        }
        let mut positions: Vec<Option<usize>> = Vec::with_capacity(self.nodes.len());
        let mut nodes: Vec<ComparedNode> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let parent = positions.get(node.parent).copied().flatten();
            let stays = index == 0 || (is_kept.get(index) == Some(&true) && parent.is_some());
            positions.push(stays.then_some(nodes.len()));
            if stays {
                nodes.push(ComparedNode { parent: parent.unwrap_or(0), ..*node });
            }
        }
        ComparedTree { methods: self.methods.clone(), nodes }
    }
}

#[derive(Default)]
struct Merging {
    tree: ComparedTree,
    methods: FxHashMap<ComparedMethod, usize>,
    children: FxHashMap<(usize, usize), usize>,
}

impl Merging {
    fn add(&mut self, analysis: &Analysis, side: usize) {
        let methods: Vec<usize> = analysis.frames.iter().map(|frame| self.method(frame)).collect();
        let mut positions: Vec<usize> = Vec::with_capacity(analysis.tree.nodes().len());
        for node in analysis.tree.nodes() {
            let method = node.frame.and_then(|frame| methods.get(frame.index())).copied();
            let parent = positions.get(node.parent.index()).copied().unwrap_or(0);
            let position = method.map_or(0, |method| self.child(parent, method));
            positions.push(position);
            let Some(merged) = self.tree.nodes.get_mut(position) else { continue };
            merged.is_estimated |= node.own_is_estimated;
            // Two templates on one method make two nodes of the recording one node here.
            if let Some(figures) = merged.figures.get_mut(side) {
                figures.calls += node.calls;
                figures.total = figures.total.saturating_add(node.total);
                figures.own = figures.own.saturating_add(node.own);
            }
        }
    }

    fn method(&mut self, frame: &Frame) -> usize {
        let method = ComparedMethod {
            class: frame.class.clone(),
            method: frame.method.clone(),
            descriptor: frame.descriptor.clone(),
        };
        let next = self.tree.methods.len();
        *self.methods.entry(method).or_insert_with_key(|method| {
            self.tree.methods.push(method.clone());
            next
        })
    }

    fn child(&mut self, parent: usize, method: usize) -> usize {
        let next = self.tree.nodes.len();
        *self.children.entry((parent, method)).or_insert_with(|| {
            let figures = [PathFigures::default(); 2];
            self.tree.nodes.push(ComparedNode { parent, method: Some(method), figures, is_estimated: false });
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CallTree, FrameId, NodeId};
    use super::*;

    fn analysis(paths: &[(&str, u64)]) -> Analysis {
        let mut analysis = Analysis { tree: CallTree::default(), ..Analysis::default() };
        for (path, total) in paths {
            let mut parent = NodeId::ROOT;
            let methods: Vec<&str> = path.split('/').collect();
            for (depth, method) in methods.iter().enumerate() {
                let known = analysis.frames.iter().position(|frame| frame.method == *method);
                let frame = known.unwrap_or_else(|| {
                    analysis.frames.push(Frame { method: (*method).to_owned(), ..Frame::default() });
                    analysis.frames.len() - 1
                });
                let time = if depth + 1 == methods.len() { *total } else { 0 };
                parent = analysis.tree.add(parent, FrameId(frame as u32), time, true).0;
            }
        }
        analysis.tree.complete();
        analysis
    }

    fn rows(tree: &ComparedTree) -> Vec<(String, u64, u64)> {
        let mut names: Vec<String> = Vec::new();
        for node in &tree.nodes {
            let own = node.method.map_or("", |method| &tree.methods[method].method);
            let above = names.get(node.parent).cloned().unwrap_or_default();
            names.push(format!("{above}/{own}"));
        }
        let row = |(name, node): (&String, &ComparedNode)| {
            (name.trim_start_matches('/').to_owned(), node.figures[0].total, node.figures[1].total)
        };
        names.iter().zip(&tree.nodes).skip(1).map(row).collect()
    }

    fn compared(before: &Analysis, after: &Analysis) -> ComparedTree {
        ComparedTree::of(std::slice::from_ref(before), std::slice::from_ref(after))
    }

    #[test]
    fn several_recordings_of_a_side_become_their_mean() {
        let before = [analysis(&[("a", 100), ("a/b", 60)]), analysis(&[("a", 200)])];
        let after = [analysis(&[("a", 30)])];
        let found = rows(&ComparedTree::of(&before, &after));
        assert_eq!(found, [("a".to_owned(), 150, 30), ("a/b".to_owned(), 30, 0)]);
    }

    #[test]
    fn paths_of_both_new_ones_and_those_that_are_gone() {
        let before = analysis(&[("a", 100), ("a/b", 60), ("gone", 5)]);
        let after = analysis(&[("new", 7), ("a", 90), ("a/c", 10), ("a/b", 20)]);
        let tree = compared(&before, &after);
        let mut found = rows(&tree);
        found.sort();
        let expected = [("a", 100, 90), ("a/b", 60, 20), ("a/c", 0, 10), ("gone", 5, 0), ("new", 0, 7)];
        assert_eq!(found, expected.map(|(path, before, after)| (path.to_owned(), before, after)));
        let totals = [before.tree.total(), after.tree.total()];
        assert_eq!(tree.nodes[0].figures.map(|figures| figures.total), totals);
        for (side, total) in totals.into_iter().enumerate() {
            let own: u64 = tree.nodes.iter().map(|node| node.figures[side].own).sum();
            assert_eq!(own, total, "own times add up");
        }
    }

    #[test]
    fn what_is_left_out_has_the_least_time_in_both() {
        let before = analysis(&[("a", 100), ("a/b", 60), ("gone", 50), ("little", 1)]);
        let after = analysis(&[("a", 100), ("a/c", 2)]);
        let mut found = rows(&compared(&before, &after).with_at_most(4));
        found.sort();
        let expected = [("a", 100, 100), ("a/b", 60, 0), ("gone", 50, 0)];
        assert_eq!(found, expected.map(|(path, before, after)| (path.to_owned(), before, after)));
    }
}
