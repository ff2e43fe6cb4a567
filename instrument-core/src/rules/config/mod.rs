//! The configuration file: TOML text -> types, with every mistake shown where it stands.

mod allocation;
mod capture_keys;
mod diagnostic;
mod file_pattern;
mod governor_table;
mod keys;
mod metrics_table;
mod model;
mod name_doubt;
mod parse;
mod problems;
mod read_rule;
mod sampler;
mod schema;
mod source_text;
mod table_reader;
mod trace_table;
mod watch_table;

#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;

pub use allocation::AllocationConfig;
pub use diagnostic::{Diagnostic, Severity};
pub use file_pattern::{FilePattern, NameParts};
pub use governor_table::GovernorConfig;
pub use metrics_table::{KeyValue, MetricsConfig};
pub use model::{
    AgentConfig, Config, ControlConfig, DEFAULT_MAX_BYTES, ExcludeConfig, FilterConfig, LogLevel, OnError, Rule,
};
pub use parse::{asks_to_abort, parse};
pub use sampler::{SamplerConfig, SamplerEngine};
pub use schema::schema;
pub use source_text::SourceText;
pub use trace_table::{JvmEvents, ProbeClock, TraceConfig, TraceMode, WhenFull};
pub use watch_table::WatchConfig;
