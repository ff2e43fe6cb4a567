//! The configuration as one type. The JSON Schema is generated from it, so the comments are its descriptions.

use std::sync::Arc;

use instrument_core::config::{ExcludeConfig, FilterConfig, Rule, RuleTables, SourceText};
use schemars::JsonSchema;

use crate::agent_table::AgentConfig;
use crate::allocation::AllocationConfig;
use crate::control_table::ControlConfig;
use crate::governor_table::GovernorConfig;
use crate::metrics_table::MetricsConfig;
use crate::sampler::SamplerConfig;
use crate::secrets::{self, Secret};
use crate::trace_table::TraceConfig;
use crate::watch_table::WatchConfig;

/// Configuration of the instr agent: what is instrumented, with which template, and where the results go.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Config {
    /// The recording.
    #[schemars(default)]
    pub trace: TraceConfig,
    /// Figures of the running program, for monitoring systems.
    #[schemars(default)]
    pub metrics: MetricsConfig,
    /// The agent itself.
    #[schemars(default)]
    pub agent: AgentConfig,
    /// Samples of running threads, beside or without probes. Off unless this table is there.
    #[schemars(default)]
    pub sampler: SamplerConfig,
    /// Samples of allocations. Off unless this table is there.
    #[schemars(default)]
    pub allocation: AllocationConfig,
    /// Methods too small to be worth a probe at level `watch`.
    #[schemars(default)]
    pub filter: FilterConfig,
    /// What is never instrumented, whatever the rules say.
    #[schemars(default)]
    pub exclude: ExcludeConfig,
    /// What can be changed while the program runs.
    #[schemars(default)]
    pub control: ControlConfig,
    /// How level `watch` looks.
    #[schemars(default)]
    pub watch: WatchConfig,
    /// Keeps the cost of exact times below a budget.
    #[schemars(default)]
    pub governor: GovernorConfig,
    /// The rules, in order: the first that matches a method decides.
    #[schemars(default, rename = "rule")]
    pub rules: Vec<Rule>,
    /// The text it was read from.
    #[schemars(skip)]
    pub source: Arc<SourceText>,
    /// Places of the text that are never shown, in their order.
    #[schemars(skip)]
    pub(crate) secrets: Vec<Secret>,
}

impl Config {
    /// Returns the text it was read from, without the values of headers: for recordings and for people.
    pub fn text_without_secrets(&self) -> String {
        secrets::without(&self.secrets, self.source.text())
    }

    /// Returns the part that selection compiles.
    pub fn rule_tables(&self) -> RuleTables<'_> {
        RuleTables { rules: &self.rules, filter: &self.filter, exclude: &self.exclude }
    }
}
