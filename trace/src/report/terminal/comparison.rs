//! Recordings of two sides beside each other, as text for a terminal.

use super::table::{Cell, Table};
use super::text::{Style, printable, shorten_name};
use super::{TerminalOptions, WATCH_LEGEND, at_least, estimated};
use crate::analysis::{Comparison, Figures, Measure, MethodChange};
use crate::report::units::{count, duration, margin};

const ONE_RUN: [&str; 2] = [
    "  ± is computed from blocks of time within each recording. How much one run of the program differs from the next is not in it:",
    "  record each side several times, and compare with --before A1 A2 A3 --after B1 B2 B3.",
];

/// The methods with the largest differences, as text for a terminal.
#[must_use]
pub fn comparison(comparison: &Comparison, by: Measure, options: &TerminalOptions) -> String {
    let style = Style { colours: options.colours };
    let mut lines = Vec::new();
    let fact = |name: &str, [before, after]: [String; 2]| format!("  {name:<14}  {before:>16}  {after:>16}");
    lines.push(style.title("Recordings"));
    lines.push(style.faint(&fact("", ["before".to_owned(), "after".to_owned()])));
    if comparison.sees_runs() {
        lines.push(fact("recordings", comparison.recordings.map(|number| count(number as u64))));
        lines.push(style.faint("  figures are means of the recordings of a side"));
    }
    lines.push(fact("duration", comparison.durations.map(duration)));
    lines.push(fact("time in calls", comparison.total.map(duration)));
    lines.push(fact("calls", comparison.calls.map(count)));
    for (name, warnings) in ["before", "after"].iter().zip(&comparison.warnings) {
        for warning in warnings {
            lines.push(format!("  {}", style.warning(&format!("warning: {name}: {}", printable(warning)))));
        }
    }
    if let Some(reason) = comparison.compares_nothing() {
        lines.push(format!("  {}", style.warning(&format!("warning: nothing is compared: {reason}"))));
    }
    lines.push(String::new());
    lines.push(style.title(&format!("Methods by difference of {}", name_of(by))));
    let mut table = Table::new(titles(by), "method");
    let methods = comparison.by_difference(by);
    for method in methods.iter().take(options.rows) {
        table.row(cells(method, by), printable(&method.marked_name()));
    }
    lines.extend(table.lines(options.width, style, shorten_name));
    if methods.len() > options.rows {
        lines.push(style.faint(&format!("  ... {} more", count((methods.len() - options.rows) as u64))));
    }
    let has_gone = methods.iter().take(options.rows).any(|method| method.after.is_none());
    let legend = [
        (
            "  ± what chance alone makes of it, in 19 cases of 20; ≈ no more than that; ? cannot be said: too few calls, or a part of the time",
            true,
        ),
        (WATCH_LEGEND, methods.iter().any(|method| method.is_estimated())),
        ("  gone: no call of it ended in the later recording; one that still runs at its end is not in it", has_gone),
        (
            "  [..] the calls are those of this part of the time (docs/reports.md)",
            methods.iter().any(|method| method.is_in_part()),
        ),
    ];
    lines.extend(legend.iter().filter(|(_, is_needed)| *is_needed).map(|(line, _)| style.faint(line)));
    if !comparison.sees_runs() {
        lines.extend(ONE_RUN.map(|line| style.warning(line)));
    }
    lines.join("\n") + "\n"
}

pub(super) fn name_of(measure: Measure) -> &'static str {
    match measure {
        Measure::Own => "own time",
        Measure::Total => "total time",
        Measure::Average => "time per call",
        Measure::Calls => "calls",
    }
}

fn titles(by: Measure) -> Vec<&'static str> {
    let first = match by {
        Measure::Own => ["own", "after"],
        Measure::Total => ["total", "after"],
        Measure::Average | Measure::Calls => ["own", "after"],
    };
    let [before, after] = first;
    vec![before, after, "change", "±", "calls", "after", "per call", "after"]
}

fn cells(method: &MethodChange, by: Measure) -> Vec<Cell> {
    let time_measure = if by == Measure::Total { Measure::Total } else { Measure::Own };
    let both = [method.before, method.after];
    let value = |figures: Option<Figures>, measure: Measure| match figures {
        None => "-".to_owned(),
        Some(figures) if measure == Measure::Calls => at_least(figures.estimated_calls > 0, figures.calls),
        Some(figures) if measure == Measure::Average && figures.average.is_none() => String::new(),
        Some(figures) if measure == Measure::Own => estimated(figures.own_is_estimated, duration(figures.own)),
        Some(figures) => estimated(figures.estimated_calls > 0, duration(figures.value(measure))),
    };
    let noise = method.noise_percent(by).map_or("-".to_owned(), margin);
    let mut cells: Vec<Cell> = both.map(|figures| Cell::new(value(figures, time_measure))).into();
    cells.extend([Cell::new(change(method, by)), Cell::new(noise)]);
    cells.extend(both.map(|figures| Cell::new(value(figures, Measure::Calls))));
    cells.extend(both.map(|figures| Cell::new(value(figures, Measure::Average))));
    cells
}

fn change(method: &MethodChange, by: Measure) -> String {
    match (&method.before, &method.after, method.percent(by)) {
        (None, _, _) => "new".to_owned(),
        (_, None, _) => "gone".to_owned(),
        (_, _, Some(percent)) => {
            let mark = match method.is_noise(by) {
                Some(true) => "≈",
                Some(false) => "",
                None => "?",
            };
            // Not `-0.0 %`.
            let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
            format!("{mark}{percent:+.1} %")
        }
        _ => "-".to_owned(),
    }
}
