//! What samples of allocations say, as text for a terminal.

use super::super::units::{bytes, count, counted, percent};
use super::table::{Cell, Table};
use super::text::{Style, cut_end, printable, shorten_name};
use super::tree::{self, TreeView};
use super::{Report, TerminalOptions};
use crate::analysis::{AllocationProfile, AllocationRow};

/// Methods and classes by the bytes that are allocated, and the call tree of that, as text for a terminal.
#[must_use]
pub fn allocated(profile: &AllocationProfile, options: &TerminalOptions) -> String {
    let mut report = Report { style: Style { colours: options.colours }, options, lines: Vec::new() };
    sections(&mut report, profile);
    report.title("Call tree by allocated memory");
    report.lines.extend(tree::lines(&tree_of(profile), options));
    report.lines.join("\n") + "\n"
}

/// The same without the tree, for a report of everything.
pub(super) fn sections(report: &mut Report<'_>, profile: &AllocationProfile) {
    let options = report.options;
    head(report, profile, "Methods by allocated memory");
    let mut table = Table::new(vec!["own", "%", "total", "%", "samples"], "method");
    for row in profile.methods.iter().take(options.rows) {
        let mut cells = cells(row, profile.bytes);
        let total =
            [Cell::new(bytes(row.total)), Cell::share(percent(row.total, profile.bytes), row.total, profile.bytes)];
        cells.splice(2..2, total);
        table.row(cells, printable(&row.name));
    }
    report.lines.extend(table.lines(options.width, report.style, shorten_name));
    report.more(profile.methods.len());
    report.title("Classes by allocated memory");
    let mut table = Table::new(vec!["bytes", "%", "samples"], "class");
    for row in profile.classes.iter().take(options.rows) {
        table.row(cells(row, profile.bytes), printable(&row.name));
    }
    report.lines.extend(table.lines(options.width, report.style, cut_end));
    report.more(profile.classes.len());
}

/// Returns the title of a section with the number of samples that it is based on.
pub(super) fn head(report: &mut Report<'_>, profile: &AllocationProfile, title: &str) {
    report.title(&format!("{title}, of {} in {}", bytes(profile.bytes), counted(profile.samples, "sample")));
}

/// The call tree of allocated bytes.
pub(super) fn tree_of(profile: &AllocationProfile) -> TreeView<'_> {
    let (tree, frames) = (&profile.stacks.tree, &profile.stacks.frames);
    TreeView { tree, frames, unit: bytes, root: "all threads", calls: Some("samples") }
}

fn cells(row: &AllocationRow, all: u64) -> Vec<Cell> {
    vec![Cell::new(bytes(row.own)), Cell::share(percent(row.own, all), row.own, all), Cell::new(count(row.samples))]
}
