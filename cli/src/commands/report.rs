//! `instr report`: what a recording says.

use std::fs;
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trace::report::{TerminalOptions, html, json, method, moved, terminal};
use trace::{Analysis, AnalysisOptions};

use crate::failure::Failure;

/// Smaller changes of a share of the samples are what chance makes of a few thousand of them.
const MOVED_POINTS: f64 = 2.0;

/// Print what a recording says: methods by their own time, call tree, threads, statements, requests.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also write one HTML page with everything, a flame graph too; it needs nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON in place of the text.
    #[arg(long, conflicts_with = "method")]
    json: bool,
    /// Print callers and callees of the methods whose name contains TEXT.
    #[arg(long, value_name = "TEXT")]
    method: Option<String>,
    /// Print which methods' shares of the samples have moved by more than two points since another recording.
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["method", "json"])]
    before: Option<PathBuf>,
    /// Leave out what happened before the application was up.
    #[arg(long)]
    after_start_up: bool,
    /// Show the lines of the source at which samples were taken, too.
    #[arg(long)]
    lines: bool,
    /// Rows of each table.
    #[arg(long, default_value_t = TerminalOptions::default().rows)]
    rows: usize,
    /// The recording.
    trace: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = AnalysisOptions { after_start_up: arguments.after_start_up };
    let analysis = analyse(&arguments.trace, options)?;
    if let Some(page) = &arguments.html {
        fs::write(page, html(&analysis)).with_context(|| format!("cannot write {}", page.display()))?;
    }
    let text = match &arguments.method {
        _ if arguments.json => json(&analysis) + "\n",
        _ if arguments.before.is_some() => shift(arguments, &analysis, options)?,
        Some(pattern) => method(&analysis, pattern, &terminal_options(arguments)),
        None => terminal(&analysis, &terminal_options(arguments)),
    };
    stdout().write_all(text.as_bytes())?;
    if let Some(page) = &arguments.html {
        eprintln!("HTML page: {}", page.display());
    }
    Ok(())
}

fn analyse(trace: &Path, options: AnalysisOptions) -> Result<Analysis> {
    Analysis::of_file(trace, options).with_context(|| {
        Failure::new(
            format!("cannot report on {}", trace.display()),
            "name a recording of the agent: instr-<pid>.jfr, or what [trace] file says",
        )
    })
}

/// What has moved since the recording `--before`.
fn shift(arguments: &Arguments, analysis: &Analysis, options: AnalysisOptions) -> Result<String> {
    let Some(other) = &arguments.before else { return Ok(String::new()) };
    let earlier = analyse(other, options)?;
    let samples = |analysis: &Analysis, file: &Path| {
        analysis.samples.clone().with_context(|| {
            Failure::new(
                format!("there are no samples in {}", file.display()),
                "write `[sampler]` into the configuration and record again",
            )
        })
    };
    let (earlier, later) = (samples(&earlier, other)?, samples(analysis, &arguments.trace)?);
    Ok(moved(&earlier, &later, MOVED_POINTS, &terminal_options(arguments)))
}

fn terminal_options(arguments: &Arguments) -> TerminalOptions {
    let colours = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let standard = TerminalOptions::default();
    TerminalOptions {
        width: width.unwrap_or(standard.width),
        colours,
        rows: arguments.rows,
        lines: arguments.lines,
        ..standard
    }
}
