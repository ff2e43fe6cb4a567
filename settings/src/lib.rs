//! The configuration file of the agent: TOML text -> types, with every mistake shown at its place.
//!
//! `[[rule]]`, `[filter]` and `[exclude]` are those of [`instrument_core::config`]; every other table is declared here, one module each,
//! with [`declare_table!`](instrument_core::declare_table). The reader, the JSON Schema and `docs/configuration.md` follow from the
//! declarations; a module checks by hand only what concerns several keys.

mod agent_table;
mod allocation;
mod claims;
mod control_table;
mod file_pattern;
mod governor_table;
mod live_templates;
mod metrics_table;
mod model;
mod parse;
mod sampler;
mod schema;
mod secrets;
mod trace_table;
mod watch_table;

#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;

pub use agent_table::{AgentConfig, LogLevel, OnError};
pub use allocation::AllocationConfig;
pub use claims::{ClaimsConfig, ConditionsConfig, ContextConfig, PinnedClaim, claims_text, parse_claims};
pub use control_table::ControlConfig;
pub use file_pattern::{FilePattern, NameParts};
pub use governor_table::GovernorConfig;
pub use instrument_core::config::{Diagnostic, ExcludeConfig, FilterConfig, Rule, Severity, SourceText};
pub use metrics_table::{KeyValue, MetricsConfig};
pub use model::Config;
pub use parse::{asks_to_abort, parse};
pub use sampler::{SamplerConfig, SamplerEngine};
pub use schema::schema;
pub use secrets::without_credentials;
pub use trace_table::{JvmEvents, ProbeClock, TraceConfig, TraceMode, WhenFull};
pub use watch_table::WatchConfig;
