//! `instr transactions`: calls with what they had other threads do.

use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::{Context, Result};
use instrument_core::rules::patterns::NameGlob;
use trace::analysis::{Frame, Transactions};
use trace::report::{TerminalOptions, transactions, transactions_json};
use trace::{AnalysisOptions, TraceReader};

use super::report::terminal_options;
use crate::failure::Failure;

/// Print what outermost calls have caused, on whatever threads: the calls of a task stand below the call that handed it over.
/// The recording must have been made with `preset = "async"`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Calls of these methods begin a transaction, too, wherever they are called: `order`, `Shop.order`, `com.acme.Shop.order`, or a
    /// pattern like `com.acme.**.order*`.
    #[arg(long, value_name = "METHOD", value_parser = Root::parse)]
    root: Vec<Root>,
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

/// Methods that begin a transaction.
#[derive(Debug, Clone)]
struct Root(NameGlob);

impl Root {
    fn parse(text: &str) -> Result<Root, String> {
        // A name without its package, or without its class, is that of any.
        let has_package = text.matches('.').count() > 1 || text.starts_with("**");
        let text = if has_package { text.to_owned() } else { format!("**.{text}") };
        NameGlob::method(&text).map(Root).map_err(|error| error.message)
    }

    fn matches(&self, method: &str) -> bool {
        self.0.matches(method.replace('.', "/").as_bytes())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = AnalysisOptions { after_start_up: arguments.after_start_up, ..AnalysisOptions::default() };
    let mut reader = TraceReader::open(&arguments.trace).with_context(|| {
        Failure::new(
            format!("cannot report on {}", arguments.trace.display()),
            "name a recording of the agent: instr-<pid>.jfr, or what [trace] file says",
        )
    })?;
    let begins = |frame: &Frame| arguments.root.iter().any(|root| root.matches(&frame.full_name()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_whole_name_or_a_pattern() {
        let matching = |root: &str| {
            let names = [
                "com.acme.Shop.order",
                "com.acme.Shop.lambda$order$0",
                "com.acme.Shop.reorder",
                "com.acme.old.Shop.order",
                "Shop.order",
                "com.acme.Other.order",
            ];
            let root = Root::parse(root).unwrap();
            names.map(|name| root.matches(name)).map(u8::from)
        };
        assert_eq!(matching("order"), [1, 0, 0, 1, 1, 1]);
        assert_eq!(matching("Shop.order"), [1, 0, 0, 1, 1, 0]);
        assert_eq!(matching("com.acme.Shop.order"), [1, 0, 0, 0, 0, 0]);
        assert_eq!(matching("com.acme.**.order"), [1, 0, 0, 1, 0, 1]);
        assert_eq!(matching("*order*"), [1, 1, 1, 1, 1, 1]);
        assert!(Root::parse("order()").is_err());
    }
}
