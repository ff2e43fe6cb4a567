//! Whose share of the samples has moved from one recording to another: instrumenting a program changes what is inlined, and
//! with it where time is spent.

use std::collections::BTreeMap;

use super::table::{Cell, Table};
use super::text::{Style, printable, shorten_name};
use super::{Report, TerminalOptions};
use crate::analysis::SampleProfile;
use crate::report::units::count;

/// Shares of a method in percent: own in the earlier and the later recording.
type Shares = BTreeMap<String, [f64; 2]>;

/// What has changed between the samples of an earlier and a later recording, as text for a terminal: methods whose share of
/// the samples (in the method itself) has moved by more than `points` percent of all.
#[must_use]
pub fn moved(earlier: &SampleProfile, later: &SampleProfile, points: f64, options: &TerminalOptions) -> String {
    let mut report = Report { style: Style { colours: options.colours }, options, lines: Vec::new() };
    let (before, after) = (count(earlier.ticks), count(later.ticks));
    report.title(&format!(
        "Shares of samples that moved by more than {points} points ({before} samples before, {after} now)"
    ));
    let mut shares = Shares::new();
    for (column, profile) in [earlier, later].into_iter().enumerate() {
        add(&mut shares, profile, column);
    }
    let mut rows: Vec<(String, [f64; 2])> =
        shares.into_iter().filter(|(_, [before, after])| (after - before).abs() > points).collect();
    let distance = |[before, after]: [f64; 2]| (after - before).abs();
    rows.sort_by(|(_, one), (_, other)| distance(*other).total_cmp(&distance(*one)));
    if rows.is_empty() {
        report.lines.push("  none: what is hot has not changed".to_owned());
        return report.lines.join("\n") + "\n";
    }
    let mut table = Table::new(vec!["before %", "now %", "points"], "method");
    for (name, [before, after]) in rows.iter().take(options.rows) {
        let cells = [format!("{before:.1}"), format!("{after:.1}"), format!("{:+.1}", after - before)];
        table.row(cells.map(Cell::new).into(), printable(name));
    }
    report.lines.extend(table.lines(options.width, report.style, shorten_name));
    report.more(rows.len());
    report.lines.join("\n") + "\n"
}

fn add(shares: &mut Shares, profile: &SampleProfile, column: usize) {
    for frame in profile.frames.iter().filter(|frame| frame.own > 0) {
        let share = frame.own as f64 * 100.0 / profile.ticks.max(1) as f64;
        if let Some(place) = shares.entry(frame.full_name()).or_default().get_mut(column) {
            *place += share;
        }
    }
}
