//! `[agent]`: how the agent behaves.

use instrument_core::config::{Problems, TableReader, string_or_list};
use schemars::JsonSchema;
use serde_spanned::Spanned;

use crate::file_pattern::FilePattern;

/// How the agent behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AgentConfig {
    /// File for the figures at exit, as JSON: classes seen and rewritten, methods instrumented and refused, records, losses. `%p`, `%t`, `%h`
    /// and `%%` as in the name of the trace file; an earlier file is renamed to `NAME-1.json` and so on. `skipped` counts the methods that rules left alone, but none of `classes_unmatched`, which ended at their heads.
    #[schemars(with = "String")]
    pub stats: Option<FilePattern>,
    /// What happens when the agent cannot start, for instance because this file has an error. Default: `continue`.
    #[schemars(rename = "on_error")]
    pub on_error: OnError,
    /// Jars with templates of your own.
    #[schemars(schema_with = "string_or_list")]
    pub templates: Vec<Spanned<String>>,
    /// How much the agent logs to stderr. Default: `warn`.
    #[schemars(with = "LogLevel")]
    pub log: Option<LogLevel>,
    /// Directory that every rewritten class is written to, as `package/Name.class`, for looking into. A class
    /// replaces an earlier one of its name; with `%p` (and `%t`, `%h`, `%%`) each process has a directory of its own.
    #[schemars(with = "String")]
    pub dump: Option<FilePattern>,
    /// For measuring: compute every rewrite, then throw it away and let the application run unchanged.
    pub discard: bool,
}

/// What happens when the agent cannot start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum OnError {
    /// Say so on stderr; the application runs un-instrumented.
    #[default]
    Continue,
    /// Say so on stderr and end the JVM.
    Abort,
}

/// How much the agent logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What went wrong.
    Error,
    /// Also what may go wrong.
    Warn,
    /// Also the milestones.
    Info,
    /// Also each decision.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The name used in the file, which is also the directive of `tracing`.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}

pub(super) fn read_agent(table: &TableReader<'_, '_>, problems: &mut Problems) -> AgentConfig {
    let on_error = [("continue", OnError::Continue), ("abort", OnError::Abort)];
    let log = [LogLevel::Off, LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace]
        .map(|level| (level.name(), level));
    AgentConfig {
        stats: FilePattern::read("stats", table, problems),
        on_error: table.choice("on_error", &on_error, problems).map(Spanned::into_inner).unwrap_or_default(),
        templates: table.strings("templates", problems),
        log: table.choice("log", &log, problems).map(Spanned::into_inner),
        dump: FilePattern::read("dump", table, problems),
        discard: table.boolean("discard", problems).unwrap_or_default(),
    }
}
