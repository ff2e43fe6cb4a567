//! The call tree as indented lines.

use super::table::{Cell, Table};
use super::text::{Style, printable, shorten_name};
use super::{TerminalOptions, estimated};
use crate::Analysis;
use crate::analysis::{Node, NodeId};
use crate::report::units::{count, duration, percent};

/// Columns of a line that indentation leaves to the figures and the name; deeper calls are not shown.
const NOT_INDENTED: usize = 68;
/// The separator between the guides of a line and its name, which is shortened apart from them.
const NAME: char = '\u{1}';

/// The lines of the call tree.
pub(super) fn lines(analysis: &Analysis, options: &TerminalOptions) -> Vec<String> {
    let mut drawing = Drawing {
        analysis,
        total: analysis.tree.total(),
        smallest: options.smallest_share / 100.0 * analysis.tree.total() as f64,
        left: options.tree_lines,
        deepest: options.width.saturating_sub(NOT_INDENTED).clamp(8, 120),
        table: Table::new(vec!["total", "%", "own", "calls"], "call tree"),
    };
    if let Some(root) = analysis.tree.node(NodeId::ROOT) {
        drawing.line(root, "", "all threads");
        drawing.children(root, "", 0);
    }
    drawing.table.lines(options.width, Style { colours: options.colours }, |text, limit| {
        let (guides, name) = text.split_once(NAME).unwrap_or(("", text));
        format!("{guides}{}", shorten_name(name, limit.saturating_sub(guides.chars().count()).max(8)))
    })
}

struct Drawing<'a> {
    analysis: &'a Analysis,
    total: u64,
    smallest: f64,
    left: usize,
    deepest: usize,
    table: Table,
}

impl Drawing<'_> {
    fn children(&mut self, node: &Node, guides: &str, depth: usize) {
        let analysis = self.analysis;
        let children: Vec<&Node> = node.children.iter().filter_map(|child| analysis.tree.node(*child)).collect();
        let is_shown = |child: &&&Node| depth < self.deepest && child.total as f64 >= self.smallest;
        let shown = children.iter().take_while(is_shown).count().min(self.left);
        self.left -= shown;
        let (visible, hidden) = children.split_at_checked(shown).unwrap_or((&children, &[]));
        for (index, child) in visible.iter().enumerate() {
            let is_last = index + 1 == children.len();
            let name = child.frame.and_then(|id| analysis.frame(id)).map(|frame| printable(&frame.full_name()));
            let branch = if is_last { "└" } else { "├" };
            self.line(child, &format!("{guides}{branch}"), name.as_deref().unwrap_or("?"));
            let below = if is_last { " " } else { "│" };
            self.children(child, &format!("{guides}{below}"), depth + 1);
        }
        if !hidden.is_empty() {
            let sum = hidden.iter().map(|child| child.total).sum();
            let calls = hidden.iter().map(|child| child.calls).sum();
            let numbers = [duration(sum), percent(sum, self.total), String::new(), count(calls)].map(Cell::new).into();
            self.table.row(numbers, format!("{guides}└{NAME} ... {} more", count(hidden.len() as u64)));
        }
    }

    fn line(&mut self, node: &Node, guides: &str, name: &str) {
        let is_estimated = node.estimated_calls > 0;
        let numbers = vec![
            Cell::new(estimated(is_estimated, duration(node.total))),
            Cell::share(percent(node.total, self.total), node.total, self.total),
            Cell::share(estimated(is_estimated, duration(node.own)), node.own, self.total),
            Cell::new(count(node.calls)),
        ];
        self.table.row(numbers, format!("{guides}{NAME}{name}"));
    }
}
