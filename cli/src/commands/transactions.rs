//! `instr transactions`: calls with what they had other threads do.

use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::{Context, Result};
use trace::analysis::{Frame, Transactions};
use trace::report::{TerminalOptions, transactions, transactions_json};
use trace::{AnalysisOptions, TraceReader};

use super::report::terminal_options;
use crate::failure::Failure;

/// Print what outermost calls have caused, on whatever threads: the calls of a task stand below the call that handed it over.
/// The recording must have been made with `preset = "async"`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Calls of methods whose name contains TEXT begin a transaction, too, wherever they stand.
    #[arg(long, value_name = "TEXT")]
    root: Vec<String>,
    /// Print JSON in place of the text.
    #[arg(long)]
    json: bool,
    /// Leave out what happened before the application was up.
    #[arg(long)]
    after_start_up: bool,
    /// Lines of the tree, at most.
    #[arg(long, default_value_t = TerminalOptions::default().tree_lines)]
    lines: usize,
    /// The recording.
    trace: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = AnalysisOptions { after_start_up: arguments.after_start_up, ..AnalysisOptions::default() };
    let mut reader = TraceReader::open(&arguments.trace).with_context(|| {
        Failure::new(
            format!("cannot report on {}", arguments.trace.display()),
            "name a recording of the agent: instr-<pid>.jfr, or what [trace] file says",
        )
    })?;
    let begins = |frame: &Frame| arguments.root.iter().any(|text| frame.full_name().contains(text));
    let found = Transactions::of_reader(&mut reader, options, &begins);
    let text = if arguments.json {
        transactions_json(&found) + "\n"
    } else {
        let terminal = terminal_options(TerminalOptions::default().rows);
        transactions(&found, &TerminalOptions { tree_lines: arguments.lines, ..terminal })
    };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}
