//! The call tree as indented lines.

use super::table::{Cell, Table};
use super::text::{Style, printable, shorten_name};
use super::{TerminalOptions, at_least, estimated};
use crate::analysis::{CallTree, Frame, Node, NodeId};
use crate::report::units::{count, percent};

/// Columns of a line that indentation leaves to the figures and the name; deeper calls are not shown.
const NOT_INDENTED: usize = 68;
/// The separator between the guides of a line and its name, which is shortened apart from them.
const NAME: char = '\u{1}';

/// A call tree to show, and what its figures are.
pub(super) struct TreeView<'a> {
    pub(super) tree: &'a CallTree,
    pub(super) frames: &'a [Frame],
    /// Writes the figures `total` and `own`.
    pub(super) unit: fn(u64) -> String,
    /// Name of the line above all.
    pub(super) root: &'static str,
    /// Title of the column of counts; none if the figures are counts themselves.
    pub(super) calls: Option<&'static str>,
}

impl TreeView<'_> {
    fn name(&self, node: &Node) -> Option<String> {
        node.frame.and_then(|id| self.frames.get(id.index())).map(|frame| printable(&frame.distinct_name()))
    }
}

/// The lines of a call tree.
pub(super) fn lines(view: &TreeView<'_>, options: &TerminalOptions) -> Vec<String> {
    let mut titles = vec!["total", "%", "own"];
    titles.extend(view.calls);
    let mut drawing = Drawing {
        view,
        total: view.tree.total(),
        smallest: options.smallest_share / 100.0 * view.tree.total() as f64,
        left: options.tree_lines,
        deepest: options.width.saturating_sub(NOT_INDENTED).clamp(8, 120),
        table: Table::new(titles, "call tree"),
    };
    if let Some(root) = view.tree.node(NodeId::ROOT) {
        drawing.line(root, "", view.root);
        drawing.children(root, "", 0);
    }
    drawing.table.lines(options.width, Style { colours: options.colours }, |text, limit| {
        let (guides, name) = text.split_once(NAME).unwrap_or(("", text));
        format!("{guides}{}", shorten_name(name, limit.saturating_sub(guides.chars().count()).max(8)))
    })
}

struct Drawing<'a> {
    view: &'a TreeView<'a>,
    total: u64,
    smallest: f64,
    left: usize,
    deepest: usize,
    table: Table,
}

impl Drawing<'_> {
    fn children(&mut self, node: &Node, guides: &str, depth: usize) {
        let view = self.view;
        let children: Vec<&Node> = node.children.iter().filter_map(|child| view.tree.node(*child)).collect();
        let is_shown = |child: &&&Node| depth < self.deepest && child.total as f64 >= self.smallest;
        let shown = children.iter().take_while(is_shown).count().min(self.left);
        self.left -= shown;
        let (visible, hidden) = children.split_at_checked(shown).unwrap_or((&children, &[]));
        for (index, child) in visible.iter().enumerate() {
            let is_last = index + 1 == children.len();
            let branch = if is_last { "└" } else { "├" };
            self.line(child, &format!("{guides}{branch}"), view.name(child).as_deref().unwrap_or("?"));
            let below = if is_last { " " } else { "│" };
            self.children(child, &format!("{guides}{below}"), depth + 1);
        }
        if !hidden.is_empty() {
            let sum = hidden.iter().map(|child| child.total).sum();
            let (paths, calls, is_estimated) = self.paths_and_calls(hidden);
            let mut numbers = vec![estimated(is_estimated, (view.unit)(sum)), percent(sum, self.total), String::new()];
            numbers.extend(view.calls.map(|_| at_least(is_estimated, calls)));
            let numbers = numbers.into_iter().map(Cell::new).collect();
            self.table.row(numbers, format!("{guides}└{NAME} ... {} more", count(paths)));
        }
    }

    /// The number of nodes from `nodes` down, and of their calls, and whether these are estimates.
    fn paths_and_calls(&self, nodes: &[&Node]) -> (u64, u64, bool) {
        let mut left = nodes.to_vec();
        let (mut paths, mut calls, mut is_estimated) = (0, 0, false);
        while let Some(node) = left.pop() {
            paths += 1;
            calls += node.calls;
            is_estimated |= node.estimated_calls > 0;
            left.extend(node.children.iter().filter_map(|child| self.view.tree.node(*child)));
        }
        (paths, calls, is_estimated)
    }

    fn line(&mut self, node: &Node, guides: &str, name: &str) {
        let is_estimated = node.estimated_calls > 0;
        let unit = self.view.unit;
        let mut numbers = vec![
            Cell::new(estimated(is_estimated, unit(node.total))),
            Cell::share(percent(node.total, self.total), node.total, self.total),
            Cell::share(estimated(node.own_is_estimated, unit(node.own)), node.own, self.total),
        ];
        numbers.extend(self.view.calls.map(|_| Cell::new(at_least(is_estimated, node.calls))));
        self.table.row(numbers, format!("{guides}{NAME}{name}"));
    }
}
