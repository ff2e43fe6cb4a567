//! `[agent]`: how the agent behaves.

use instrument_core::config::{Boolean, parsed, texts, word};
use instrument_core::{declare_table, declare_words};
use serde_spanned::Spanned;

use crate::file_pattern::FilePattern;

declare_table! {
    /// How the agent behaves.
    pub struct AgentConfig = "agent" {
        /// File for the figures at exit, as JSON: classes seen and rewritten, methods instrumented and refused, records, losses. `%p`, `%t`, `%h`
        /// and `%%` as in the name of the trace file; an earlier file is renamed to `NAME-1.json` and so on. `skipped` counts the methods that rules left alone, but none of `classes_unmatched`, which ended at their heads.
        stats: Option<FilePattern> = key("stats", parsed(FilePattern::parse)),
        /// What happens when the agent cannot start, for instance because this file has an error. A trace file that cannot be written is none:
        /// the agent starts, says so on stderr, and counts calls without recording them.
        on_error: OnError = key("on_error", word::<OnError>(), OnError::Continue),
        /// Jars with templates of your own.
        templates: Vec<Spanned<String>> = key("templates", texts(), Vec::new()),
        /// How much the agent logs to stderr. Default: `warn`.
        log: Option<LogLevel> = key("log", word::<LogLevel>()),
        /// Directory that every rewritten class is written to, as `package/Name.class`, for looking into. A class
        /// replaces an earlier one of its name; with `%p` (and `%t`, `%h`, `%%`) each process has a directory of its own.
        dump: Option<FilePattern> = key("dump", parsed(FilePattern::parse)),
        /// For measuring: compute every rewrite, then throw it away and let the application run unchanged.
        discard: bool = key("discard", Boolean, false),
    }
}

declare_words! {
    /// What happens when the agent cannot start.
    pub enum OnError {
        /// Say so on stderr; the application runs un-instrumented.
        Continue = "continue",
        /// Say so on stderr and end the JVM.
        Abort = "abort",
    }
}

declare_words! {
    /// How much the agent logs.
    pub enum LogLevel {
        /// Nothing.
        Off = "off",
        /// What went wrong.
        Error = "error",
        /// Also what may go wrong.
        Warn = "warn",
        /// Also the milestones.
        Info = "info",
        /// Also each decision.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}
