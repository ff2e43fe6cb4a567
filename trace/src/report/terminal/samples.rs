//! The part of a report about samples of running threads.

use super::table::{Cell, Table};
use super::text::{cut_end, printable, shorten_name};
use super::tree::{self, TreeView};
use super::{Report, TerminalOptions};
use crate::analysis::{FrameId, SampleProfile};
use crate::report::units::{count, counted, duration, percent};

/// What the samples of a recording say, as text for a terminal: methods, lines if wanted, call tree, threads.
pub(super) fn sections(report: &mut Report<'_>, profile: &SampleProfile) {
    head(report, profile, "Hot methods by samples");
    methods(report, profile);
    if report.options.lines {
        lines(report, profile);
    }
    report.title("Call tree of samples");
    let view = TreeView { tree: &profile.tree, frames: &profile.frames, unit: count, root: "all threads", calls: None };
    report.lines.extend(tree::lines(&view, report.options));
    threads(report, profile);
}

/// The title of a section, and what there is to know of all samples.
pub(super) fn head(report: &mut Report<'_>, profile: &SampleProfile, title: &str) {
    let cpu = profile.interval_nanos.map_or_else(String::new, |interval| {
        let time = duration(profile.ticks.saturating_mul(interval));
        format!(", one each {} of processor time: {time}", duration(interval))
    });
    report.title(&format!("{title}: {}{cpu}", counted(profile.ticks, "sample")));
    let mut fact = |text: String| {
        let text = cut_end(&printable(&text), report.options.width.saturating_sub(2).max(20));
        report.lines.push(format!("  {}", report.style.faint(&text)));
    };
    if !profile.engine.is_empty() {
        fact(format!("engine {}: {}", profile.engine, profile.bias));
    }
    if profile.truncated > 0 {
        fact(format!("{} stacks are deeper than what was recorded ([sampler] depth)", count(profile.truncated)));
    }
    if !profile.failed.is_empty() {
        let reasons: Vec<String> =
            profile.failed.iter().map(|(reason, ticks)| format!("{reason} {}", count(*ticks))).collect();
        let share = percent(profile.failed_ticks(), profile.ticks);
        let failed = count(profile.failed_ticks());
        fact(format!("{failed} samples ({share} %) have no stack: {}", reasons.join(", ")));
        if profile.engine == "async" && has_too_few_stacks(profile) {
            fact("[sampler] engine = \"jvmti\" has a stack for nearly all samples, but only at safepoints".to_owned());
        }
    }
}

/// Whether so many samples have no stack that the rest may mislead: programs whose time is spent in stubs of the JVM, like those of
/// `Math.sin`, which the engine `async` cannot look beyond.
fn has_too_few_stacks(profile: &SampleProfile) -> bool {
    profile.failed_ticks() > profile.ticks / 4
}

fn methods(report: &mut Report<'_>, profile: &SampleProfile) {
    let ids = profile.frames_by_own_ticks();
    let mut table = Table::new(vec!["own", "%", "total", "%"], "method");
    for frame in ids.iter().take(report.options.rows).filter_map(|id| profile.frame(*id)) {
        let mut cells = ticks_cells(frame.own, profile.ticks);
        cells.extend(ticks_cells(frame.total, profile.ticks));
        table.row(cells, printable(&frame.distinct_name()));
    }
    finish(report, &table, ids.len());
}

fn lines(report: &mut Report<'_>, profile: &SampleProfile) {
    report.title("Hot lines by samples");
    let mut table = Table::new(vec!["own", "%"], "method:line");
    for row in profile.lines.iter().take(report.options.rows) {
        let name = name(profile, row.frame);
        let name = if row.line == 0 { name } else { format!("{name}:{}", row.line) };
        table.row(ticks_cells(row.ticks, profile.ticks), printable(&name));
    }
    finish(report, &table, profile.lines.len());
}

fn threads(report: &mut Report<'_>, profile: &SampleProfile) {
    report.title("Threads by samples");
    let mut table = Table::new(vec!["samples", "%"], "thread");
    for row in profile.threads.iter().take(report.options.rows) {
        let id = if row.id == 0 { String::new() } else { format!(" (id {})", row.id) };
        table.row(ticks_cells(row.ticks, profile.ticks), printable(&format!("{}{id}", row.name)));
    }
    finish(report, &table, profile.threads.len());
}

fn finish(report: &mut Report<'_>, table: &Table, rows: usize) {
    let TerminalOptions { width, .. } = *report.options;
    report.lines.extend(table.lines(width, report.style, shorten_name));
    report.more(rows);
}

fn ticks_cells(ticks: u64, all: u64) -> Vec<Cell> {
    vec![Cell::new(count(ticks)), Cell::share(percent(ticks, all), ticks, all)]
}

fn name(profile: &SampleProfile, id: FrameId) -> String {
    profile.frame(id).map_or_else(|| "?".to_owned(), crate::analysis::Frame::full_name)
}
