//! The configuration as one type.

use std::sync::Arc;

use instrument_core::config::{
    ExcludeConfig, FilterConfig, Rule, RuleTables, SourceText, Table as _, TableDeclaration,
};

use crate::claims::{ClaimsConfig, ConditionsConfig, ContextConfig, ContextsConfig};
use crate::secrets::{self, Secret};
use crate::tables::agent_table::AgentConfig;
use crate::tables::allocation::AllocationConfig;
use crate::tables::control_table::ControlConfig;
use crate::tables::governor_table::GovernorConfig;
use crate::tables::metrics_table::MetricsConfig;
use crate::tables::monitor_tables::{MonitorConfig, SlowCallsConfig};
use crate::tables::sampler::SamplerConfig;
use crate::tables::trace_table::TraceConfig;
use crate::tables::walk_table::WalkConfig;
use crate::tables::watch_table::WatchConfig;

/// The tables of the file, in the order of `docs/configuration.md`.
pub(crate) const TABLES: [TableDeclaration; 18] = [
    Rule::TABLE,
    ContextConfig::TABLE,
    TraceConfig::TABLE,
    MetricsConfig::TABLE,
    AgentConfig::TABLE,
    SamplerConfig::TABLE,
    AllocationConfig::TABLE,
    FilterConfig::TABLE,
    ExcludeConfig::TABLE,
    ControlConfig::TABLE,
    ClaimsConfig::TABLE,
    ConditionsConfig::TABLE,
    ContextsConfig::TABLE,
    WatchConfig::TABLE,
    GovernorConfig::TABLE,
    MonitorConfig::TABLE,
    SlowCallsConfig::TABLE,
    WalkConfig::TABLE,
];

/// Configuration of the instr agent: what is instrumented, with which template, and where the results go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `[trace]`
    pub trace: TraceConfig,
    /// `[metrics]`
    pub metrics: MetricsConfig,
    /// `[agent]`
    pub agent: AgentConfig,
    /// `[sampler]`, if samples of running threads are taken.
    pub sampler: Option<SamplerConfig>,
    /// `[allocation]`, if samples of allocations are taken.
    pub allocation: Option<AllocationConfig>,
    /// `[filter]`
    pub filter: FilterConfig,
    /// `[exclude]`
    pub exclude: ExcludeConfig,
    /// `[control]`
    pub control: ControlConfig,
    /// `[claims]`
    pub claims: ClaimsConfig,
    /// `[conditions]`
    pub conditions: ConditionsConfig,
    /// `[contexts]`
    pub context_state: ContextsConfig,
    /// `[watch]`
    pub watch: WatchConfig,
    /// `[governor]`
    pub governor: GovernorConfig,
    /// `[monitor]`, if it is stated.
    pub monitor: Option<MonitorConfig>,
    /// From which length on calls are slow; the first that has the method counts.
    pub slow_calls: Vec<SlowCallsConfig>,
    /// `[walk]`, if it is stated.
    pub walk: Option<WalkConfig>,
    /// The rules, in order: the first that matches a method decides.
    pub rules: Vec<Rule>,
    /// Probes inside contexts.
    pub contexts: Vec<ContextConfig>,
    /// The text it was read from.
    pub source: Arc<SourceText>,
    /// Places of the text that are never shown, in their order.
    pub(crate) secrets: Vec<Secret>,
}

impl Config {
    /// Returns the text it was read from, without the values of headers: for recordings and for people.
    pub fn text_without_secrets(&self) -> String {
        secrets::without(&self.secrets, self.source.text())
    }

    /// Returns the names of the tables that differ and that a running agent cannot change: all but the rules, the contexts, the monitor, the walks, what they leave out, and the jars with
    /// templates.
    pub fn fixed_tables_that_differ(&self, other: &Config) -> Vec<&'static str> {
        let without_templates = |agent: &AgentConfig| AgentConfig { templates: Vec::new(), ..agent.clone() };
        let tables = [
            ("trace", self.trace == other.trace),
            ("metrics", self.metrics == other.metrics),
            ("agent", without_templates(&self.agent) == without_templates(&other.agent)),
            ("sampler", self.sampler == other.sampler),
            ("allocation", self.allocation == other.allocation),
            ("control", self.control == other.control),
            ("claims", self.claims == other.claims),
            ("conditions", self.conditions == other.conditions),
            ("contexts", self.context_state == other.context_state),
            ("watch", self.watch == other.watch),
            ("governor", self.governor == other.governor),
        ];
        tables.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
    }

    /// Returns the part that selection compiles.
    pub fn rule_tables(&self) -> RuleTables<'_> {
        RuleTables { rules: &self.rules, filter: &self.filter, exclude: &self.exclude }
    }
}
