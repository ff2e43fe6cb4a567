//! The configuration file of the agent: TOML text -> types, with every mistake shown at its place.
//!
//! `[[rule]]`, `[filter]` and `[exclude]` are those of [`instrument_core::config`]; every other table is declared here, one module each,
//! with [`declare_table!`](instrument_core::declare_table). The reader, the JSON Schema and `docs/configuration.md` follow from the
//! declarations; a module checks by hand only what concerns several keys.

mod claims;
mod file_pattern;
mod live_templates;
mod model;
mod parse;
mod schema;
mod secrets;
mod tables;

#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;

pub use claims::{
    ClaimsConfig, ConditionsConfig, ContextConfig, ContextPlace, ContextsConfig, PinnedClaim, claims_text,
    name_for_hosts, parse_claims,
};
pub use file_pattern::{FilePattern, NameParts};
pub use instrument_core::config::{Diagnostic, ExcludeConfig, FilterConfig, Rule, Severity, SourceText};
pub use model::Config;
pub use parse::{asks_to_abort, parse};
pub use schema::schema;
pub use secrets::without_credentials;
pub use tables::agent_table::{AgentConfig, LogLevel, OnError};
pub use tables::allocation::AllocationConfig;
pub use tables::control_table::ControlConfig;
pub use tables::governor_table::GovernorConfig;
pub use tables::metrics_table::{KeyValue, MetricsConfig};
pub use tables::monitor_tables::{Detail, MonitorConfig, SlowCallsConfig};
pub use tables::sampler::{SamplerConfig, SamplerEngine};
pub use tables::trace_table::{JvmEvents, ProbeClock, TraceConfig, TraceMode, WhenFull};
pub use tables::walk_table::WalkConfig;
pub use tables::watch_table::WatchConfig;
