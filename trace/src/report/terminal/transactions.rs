//! Transactions as indented lines: what ran elsewhere is indented below the call that caused it.

use super::table::{Cell, Table};
use super::text::{Style, printable, shorten_name};
use super::{Report, TerminalOptions, estimated};
use crate::analysis::{TransactionNode, Transactions};
use crate::report::units::{count, duration, percent};

/// Deeper calls are not shown.
const DEEPEST: usize = 40;
/// The separator between the indentation of a line and its name, which is shortened apart from it.
const NAME: char = '\u{1}';
/// In front of what ran in a task that was handed over.
const ELSEWHERE: &str = "=> ";

/// The transactions of a recording, as text for a terminal.
#[must_use]
pub fn transactions(found: &Transactions, options: &TerminalOptions) -> String {
    let mut report = Report { style: Style { colours: options.colours }, options, lines: Vec::new() };
    report.title("Transactions");
    report.lines.push(format!(
        "  {} tasks and threads joined to the calls that gave them away; {ELSEWHERE}ran there, `beside` is what of it \
         passed while the call above still ran",
        count(found.joined)
    ));
    if found.ambiguous > 0 {
        let tasks = count(found.ambiguous);
        report.lines.push(format!("  {tasks} tasks stand alone: the same object had been handed over more than once"));
    }
    report.lines.extend(found.warnings.iter().map(|warning| format!("  {}", printable(warning))));
    let total = found.nodes.first().map_or(0, |root| total_below(found, root));
    let mut drawing = Drawing {
        found,
        total,
        smallest: options.smallest_share / 100.0 * total as f64,
        left: options.tree_lines,
        table: Table::new(vec!["total", "%", "own", "calls", "beside"], "transaction"),
    };
    if let Some(root) = found.nodes.first() {
        drawing.children(root, 0);
    }
    let lines = drawing.table.lines(options.width, report.style, |text, limit| {
        let (indentation, name) = text.split_once(NAME).unwrap_or(("", text));
        let limit = limit.saturating_sub(indentation.chars().count()).max(8);
        format!("{indentation}{}", shorten_name(name, limit))
    });
    report.lines.extend(lines);
    report.lines.join("\n") + "\n"
}

fn total_below(found: &Transactions, node: &TransactionNode) -> u64 {
    node.children.iter().filter_map(|child| found.nodes.get(*child)).map(|child| child.total).sum()
}

struct Drawing<'a> {
    found: &'a Transactions,
    total: u64,
    smallest: f64,
    left: usize,
    table: Table,
}

impl Drawing<'_> {
    fn children(&mut self, node: &TransactionNode, depth: usize) {
        let found = self.found;
        for child in node.children.iter().filter_map(|child| found.nodes.get(*child)) {
            if self.left == 0 || depth >= DEEPEST || (child.total as f64) < self.smallest {
                return;
            }
            self.left -= 1;
            self.line(child, depth);
            self.children(child, depth + 1);
        }
    }

    fn line(&mut self, node: &TransactionNode, depth: usize) {
        let name = self.found.frame(node).map(|frame| printable(&frame.distinct_name())).unwrap_or_default();
        let (mark, beside) = if node.is_elsewhere { (ELSEWHERE, duration(node.beside)) } else { ("", String::new()) };
        let numbers = vec![
            Cell::new(estimated(node.is_estimated, duration(node.total))),
            Cell::share(percent(node.total, self.total), node.total, self.total),
            Cell::share(estimated(node.own_is_estimated, duration(node.own)), node.own, self.total),
            Cell::new(count(node.calls)),
            Cell::new(beside),
        ];
        self.table.row(numbers, format!("{}{mark}{NAME}{name}", "  ".repeat(depth)));
    }
}
