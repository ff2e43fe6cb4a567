//! `instr diff`: recordings of two sides, method by method.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;
use trace::analysis::{Comparison, Figures, Measure, MethodChange, RecordedPart};
use trace::report::{TerminalOptions, comparison, counted, diff_html, margin};
use trace::{Analysis, AnalysisOptions, TraceReader};

use super::report::{By, terminal_options};
use crate::failure::{Complete, Failure};
use crate::output_file;
use crate::progress::show_progress;

/// Compare recordings: which methods became slower or faster, which are new or gone.
///
/// How much one run of a program differs from the next shows only in several recordings of each side:
/// instr diff --before A1 A2 A3 --after B1 B2 B3
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What is compared.
    #[arg(long, value_enum, default_value = "own")]
    by: By,
    /// Fail (exit status 1) if a method of both sides got worse by more than this, even without what may be chance.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_above: Option<f64>,
    /// For --fail-above: methods with a smaller share of the time do not matter.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    smallest_share: f64,
    /// Print JSON in place of the text.
    #[arg(long)]
    json: bool,
    /// Also write one HTML page: a flame graph of the differences, and a table to search. It needs nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Leave out what happened before the application was up.
    #[arg(long)]
    after_start_up: bool,
    /// Rows of the table.
    #[arg(long, default_value_t = TerminalOptions::default().rows)]
    rows: usize,
    /// Recordings from before, in place of BEFORE; several show how much runs differ.
    #[arg(long = "before", value_name = "FILE", num_args = 1.., requires = "after_files")]
    before_files: Vec<PathBuf>,
    /// Recordings from after, in place of AFTER.
    #[arg(long = "after", value_name = "FILE", num_args = 1.., requires = "before_files")]
    after_files: Vec<PathBuf>,
    /// The recording from before.
    #[arg(required_unless_present = "before_files", conflicts_with_all = ["before_files", "after_files"])]
    before: Option<PathBuf>,
    /// The recording from after.
    #[arg(required_unless_present = "after_files", conflicts_with_all = ["before_files", "after_files"])]
    after: Option<PathBuf>,
}

/// `10` or `10%`
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|number| *number >= 0.0).ok_or_else(|| format!("`{text}` is not a percentage like 10%"))
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.html.as_deref().map_or(Ok(()), output_file::refuse_recording)?;
    let side = |one: &Option<PathBuf>, several: &[PathBuf]| -> Result<Vec<Analysis>> {
        one.iter().chain(several).map(|file| analysis(file, arguments)).collect()
    };
    let before = side(&arguments.before, &arguments.before_files)?;
    let after = side(&arguments.after, &arguments.after_files)?;
    let changes = Comparison::of_several(&before, &after);
    if let Some(page) = &arguments.html {
        let text = diff_html(&before, &after, &changes);
        output_file::write(page, text)?;
    }
    let by = arguments.by.measure();
    let text =
        if arguments.json { json(&changes, by) } else { comparison(&changes, by, &terminal_options(arguments.rows)) };
    stdout().write_all(text.as_bytes())?;
    stdout().flush()?;
    if let Some(page) = &arguments.html {
        eprintln!("HTML page: {}", page.display());
    }
    let Some(limit) = arguments.fail_above else { return Ok(()) };
    check_that_it_compares(before.iter().chain(&after), &changes)?;
    check(&changes, by, limit, arguments.smallest_share)
}

fn analysis(file: &Path, arguments: &Arguments) -> Result<Analysis> {
    let mut reader = TraceReader::open(file).with_context(|| {
        Failure::new(
            format!("cannot compare {}", file.display()),
            "name recordings of the agent: instr-<pid>.jfr, or what [trace] file says",
        )
    })?;
    show_progress(&mut reader);
    let options = AnalysisOptions { after_start_up: arguments.after_start_up, in_blocks: true };
    Ok(Analysis::of_reader(&mut reader, options))
}

/// Fails if the recordings cannot show that anything got worse. A recording without calls would also halve the mean of its side.
fn check_that_it_compares<'a>(mut sides: impl Iterator<Item = &'a Analysis>, changes: &Comparison) -> Result<()> {
    let without_calls = sides.find(|analysis| analysis.calls == 0);
    let reason = match (without_calls, changes.compares_nothing()) {
        (Some(analysis), _) => format!("no calls were recorded in {}", analysis.recording.path.display()),
        (None, Some(reason)) => reason.to_owned(),
        (None, None) => return Ok(()),
    };
    let help = "check that both sides are recordings of the agent, and that the rules of both configurations choose the same methods";
    Err(Failure::new(format!("--fail-above cannot be checked: {reason}"), help).into())
}

fn check(changes: &Comparison, by: Measure, limit: f64, smallest_share: f64) -> Result<()> {
    let unjudged = changes.unjudged_above(by, limit, smallest_share);
    if !unjudged.is_empty() {
        eprintln!("{}", unjudged_text(&unjudged, by, limit));
    }
    let worse = changes.worse_by(by, limit, smallest_share);
    if worse.is_empty() {
        let hidden = changes.too_little_data_for(by, limit, smallest_share);
        if hidden > 0 {
            let methods = counted(hidden as u64, "method");
            eprintln!(
                "note: {methods} did not seem to get worse by more than {limit} %, but the recordings could not show it: the calls are too few or \
                 differ too much"
            );
        }
        return Ok(());
    }
    let mut text = format!("error: {} got worse by more than {limit} %:", counted(worse.len() as u64, "method"));
    for method in worse {
        let change = method.percent(by).unwrap_or_default();
        let noise = method.noise_percent(by).unwrap_or_default();
        text.push_str(&format!(
            "\n  {change:+.1} % (chance: ±{})  {}{}",
            margin(noise),
            method.name,
            method.descriptor
        ));
    }
    Err(Complete(text).into())
}

fn unjudged_text(unjudged: &[&MethodChange], by: Measure, limit: f64) -> String {
    let mut text = format!(
        "warning: {} cannot be judged. More than {limit} % worse is possible, but the calls are too few or differ too much to exclude \
         chance, or figures are unknown or cover a part of the time only:",
        counted(unjudged.len() as u64, "method")
    );
    for method in unjudged {
        let change = method.percent(by).map_or("?".to_owned(), |change| format!("{change:+.1} %"));
        let noise = method.noise_percent(by).map(|noise| format!(" (chance: ±{})", margin(noise))).unwrap_or_default();
        text.push_str(&format!("\n  {change}{noise}  {}{}", method.marked_name(), method.descriptor));
    }
    text + "\n  record for longer, or compare several recordings of each side: --before A1 A2 A3 --after B1 B2 B3"
}

fn json(changes: &Comparison, by: Measure) -> String {
    let figures = |figures: &Option<Figures>| {
        figures.map(|figures| {
            json!({
                "calls": figures.calls, "estimated_calls": figures.estimated_calls, "total": figures.total,
                "own": figures.own, "per_call": figures.average,
            })
        })
    };
    let part = |part: &Option<RecordedPart>| {
        part.as_ref().map(|RecordedPart { percent, text, rest_is_estimated, .. }| {
            json!({ "percent": percent, "text": text, "rest_is_estimated": rest_is_estimated })
        })
    };
    let row = |method: &&MethodChange| {
        json!({
            "method": method.name, "descriptor": method.descriptor, "before": figures(&method.before),
            "after": figures(&method.after), "percent": method.percent(by), "chance_percent": method.noise_percent(by),
            "is_chance": method.is_noise(by), "parts": method.parts.each_ref().map(part),
        })
    };
    let rows: Vec<_> = changes.by_difference(by).iter().map(row).collect();
    let whole = json!({
        "recordings": changes.recordings, "chance_includes_runs": changes.sees_runs(),
        "calls": changes.calls, "total": changes.total, "duration": changes.durations,
        "warnings": changes.warnings, "compares_nothing": changes.compares_nothing(), "methods": rows,
    });
    format!("{whole}\n")
}
