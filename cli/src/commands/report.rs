//! `instr report`: what a recording says.

use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trace::analysis::{Grouping, Measure, TimeLine};
use trace::report::{TerminalOptions, View, allocated, html_with_time_line, json, method, moved, terminal, view};
use trace::{Analysis, AnalysisOptions, TraceReader};

use crate::diagnosis::terminal_width;
use crate::failure::Failure;
use crate::output_file;
use crate::progress::show_progress;

/// What is looked at, of methods.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum By {
    /// Time in the method itself
    Own,
    /// Time in the method and all that it called
    Total,
    /// Mean time of a call
    PerCall,
    /// Number of calls
    Calls,
    /// Memory that the method allocates, and the classes it goes to (`[allocation]` in the configuration)
    Allocated,
}

impl By {
    pub(crate) fn measure(self) -> Measure {
        match self {
            By::Own => Measure::Own,
            By::Total => Measure::Total,
            By::PerCall => Measure::Average,
            By::Calls => Measure::Calls,
            // Has a table of its own; beside calls it says nothing.
            By::Allocated => Measure::Own,
        }
    }
}

/// By what the figures are put together.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ViewChoice {
    /// The process as a whole
    Process,
    /// Threads
    Thread,
    /// Modules (of the JDK; classes of the class path stand under their package)
    Module,
    /// Packages
    Package,
    /// Classes
    Class,
    /// Methods
    Method,
    /// Call paths, each with the time at its end
    Stack,
    /// The call tree
    Tree,
}

impl ViewChoice {
    fn view(self) -> View {
        match self {
            ViewChoice::Process => View::Process,
            ViewChoice::Thread => View::Thread,
            ViewChoice::Module => View::Groups(Grouping::Module),
            ViewChoice::Package => View::Groups(Grouping::Package),
            ViewChoice::Class => View::Groups(Grouping::Class),
            ViewChoice::Method => View::Method,
            ViewChoice::Stack => View::Stack,
            ViewChoice::Tree => View::Tree,
        }
    }
}

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
    /// Print one view with its sum, which is the same in each, in place of the whole report.
    #[arg(long, value_enum, conflicts_with_all = ["json", "method", "before"])]
    view: Option<ViewChoice>,
    /// Print callers and callees of the methods whose name contains TEXT.
    #[arg(long, value_name = "TEXT")]
    method: Option<String>,
    /// Print which methods' shares of the samples have moved by more than two points since another recording.
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["method", "json"])]
    before: Option<PathBuf>,
    /// Leave out what happened before the application was up.
    #[arg(long)]
    after_start_up: bool,
    /// By what the methods are sorted.
    #[arg(long, value_enum, default_value = "own")]
    by: By,
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
    let options = AnalysisOptions { after_start_up: arguments.after_start_up, ..AnalysisOptions::default() };
    arguments.html.as_deref().map_or(Ok(()), output_file::refuse_recording)?;
    let mut reader = open(&arguments.trace)?;
    let analysis = match &arguments.html {
        Some(page) => {
            let mut time_line = TimeLine::of(&reader);
            let analysis = Analysis::with_slices(&mut reader, options, &mut time_line);
            let text = html_with_time_line(&analysis, &time_line);
            output_file::write(page, text)?;
            analysis
        }
        None => Analysis::of_reader(&mut reader, options),
    };
    let text = match &arguments.method {
        _ if arguments.json => json(&analysis) + "\n",
        _ if arguments.before.is_some() => shift(arguments, &analysis, options)?,
        _ if arguments.view.is_some() => one_view(arguments, &analysis),
        Some(pattern) => method(&analysis, pattern, &terminal_options(arguments.rows)),
        None if matches!(arguments.by, By::Allocated) => memory(arguments, &analysis)?,
        None => {
            let (by, lines) = (arguments.by.measure(), arguments.lines);
            terminal(&analysis, &TerminalOptions { by, lines, ..terminal_options(arguments.rows) })
        }
    };
    stdout().write_all(text.as_bytes())?;
    if let Some(page) = &arguments.html {
        eprintln!("HTML page: {}", page.display());
    }
    Ok(())
}

fn one_view(arguments: &Arguments, analysis: &Analysis) -> String {
    let options = TerminalOptions { by: arguments.by.measure(), ..terminal_options(arguments.rows) };
    arguments.view.map_or_else(String::new, |choice| view(analysis, choice.view(), &options))
}

/// Who allocates, and what.
fn memory(arguments: &Arguments, analysis: &Analysis) -> Result<String> {
    let profile = analysis.allocations.as_ref().with_context(|| {
        Failure::new(
            format!("there are no samples of allocations in {}", arguments.trace.display()),
            "write `[allocation]` into the configuration and record again",
        )
    })?;
    Ok(allocated(profile, &terminal_options(arguments.rows)))
}

fn open(trace: &Path) -> Result<TraceReader> {
    let mut reader = TraceReader::open(trace).with_context(|| {
        Failure::new(
            format!("cannot report on {}", trace.display()),
            "name a recording of the agent: instr-<pid>.jfr, or what [trace] file says",
        )
    })?;
    show_progress(&mut reader);
    Ok(reader)
}

/// What has moved since the recording `--before`.
fn shift(arguments: &Arguments, analysis: &Analysis, options: AnalysisOptions) -> Result<String> {
    let Some(other) = &arguments.before else { return Ok(String::new()) };
    let earlier = Analysis::of_reader(&mut open(other)?, options);
    let samples = |analysis: &Analysis, file: &Path| {
        analysis.samples.clone().with_context(|| {
            Failure::new(
                format!("there are no samples in {}", file.display()),
                "write `[sampler]` into the configuration and record again",
            )
        })
    };
    let (earlier, later) = (samples(&earlier, other)?, samples(analysis, &arguments.trace)?);
    Ok(moved(&earlier, &later, MOVED_POINTS, &terminal_options(arguments.rows)))
}

/// What the terminal looks like that is written to.
pub(crate) fn terminal_options(rows: usize) -> TerminalOptions {
    let is_terminal = stdout().is_terminal();
    let colours = is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    TerminalOptions { width: terminal_width(), colours, rows, ..TerminalOptions::default() }
}
