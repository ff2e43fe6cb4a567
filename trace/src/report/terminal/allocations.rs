//! What samples of allocations say, as text for a terminal.

use super::super::units::{bytes, count, percent};
use super::table::{Cell, Table};
use super::text::{Style, cut_end, printable, shorten_name};
use super::{Report, TerminalOptions};
use crate::analysis::{AllocationProfile, AllocationRow};

/// Methods and classes by the bytes that are allocated, as text for a terminal.
#[must_use]
pub fn allocated(profile: &AllocationProfile, options: &TerminalOptions) -> String {
    let mut report = Report { style: Style { colours: options.colours }, options, lines: Vec::new() };
    let (all, samples) = (bytes(profile.bytes), count(profile.samples));
    report.title(&format!("Methods by allocated memory, of {all} in {samples} samples"));
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
    report.lines.join("\n") + "\n"
}

fn cells(row: &AllocationRow, all: u64) -> Vec<Cell> {
    vec![Cell::new(bytes(row.own)), Cell::share(percent(row.own, all), row.own, all), Cell::new(count(row.samples))]
}
