//! Text -> configuration, or everything that is wrong with it.

use instrument_core::config::{
    Diagnostic, Problems, RuleFile, Table as _, TableReader, check_rules, parse_document, read_damaged_document,
    read_table,
};
use instrument_core::level::Level;

use crate::claims::{ClaimsConfig, ConditionsConfig, ContextsConfig, read_contexts};
use crate::model::{Config, TABLES};
use crate::secrets;
use crate::tables::agent_table::{AgentConfig, OnError};
use crate::tables::allocation::AllocationConfig;
use crate::tables::control_table::read_control;
use crate::tables::governor_table::GovernorConfig;
use crate::tables::metrics_table::read_metrics;
use crate::tables::monitor_tables::{MonitorConfig, read_slow_calls};
use crate::tables::sampler::SamplerConfig;
use crate::tables::trace_table::read_trace;
use crate::tables::walk_table::WalkConfig;
use crate::tables::watch_table::WatchConfig;

/// Reads a configuration. `file_name` is only shown in diagnostics.
///
/// `Ok` holds the configuration and warnings, `Err` all diagnostics with at least one error, in the order of the file.
///
/// ```
/// let (config, warnings) = settings::parse("[[rule]]\nclass = 'com.acme.**'", "instr.toml").unwrap();
/// assert_eq!((config.rules.len(), warnings.len()), (1, 0));
/// let errors = settings::parse("[[rule]]\nclas = 'com.acme.**'", "instr.toml").unwrap_err();
/// assert_eq!(errors[0].suggestion.as_deref(), Some("did you mean `class`?"));
/// ```
pub fn parse(text: &str, file_name: &str) -> Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>> {
    parse_document(text, file_name, &TABLES, read_config)
}

/// Whether a file says `on_error = "abort"`, even if [`parse`] refuses it: then its author wants no start without agent.
pub fn asks_to_abort(text: &str) -> bool {
    read_damaged_document(text, |top, problems| {
        let agent = read_table(top, problems, AgentConfig::read);
        agent.is_some_and(|agent| agent.on_error == OnError::Abort)
    })
}

fn read_config(top: &TableReader<'_, '_>, problems: &mut Problems) -> Config {
    let mut secrets = Vec::new();
    let metrics = read_table(top, problems, |table, problems| {
        secrets = secrets::in_metrics(table);
        read_metrics(table, problems)
    });
    let RuleFile { rules, filter, exclude } = RuleFile::read(top, problems);
    let config = Config {
        trace: read_table(top, problems, read_trace).unwrap_or_default(),
        metrics: metrics.unwrap_or_default(),
        agent: read_table(top, problems, AgentConfig::read).unwrap_or_default(),
        sampler: read_table(top, problems, SamplerConfig::read).filter(|sampler| sampler.enabled),
        allocation: read_table(top, problems, AllocationConfig::read).filter(|allocation| allocation.enabled),
        filter,
        exclude,
        control: read_table(top, problems, read_control).unwrap_or_default(),
        claims: read_table(top, problems, ClaimsConfig::read).unwrap_or_default(),
        conditions: read_table(top, problems, ConditionsConfig::read).unwrap_or_default(),
        context_state: read_table(top, problems, ContextsConfig::read).unwrap_or_default(),
        watch: read_table(top, problems, WatchConfig::read).unwrap_or_default(),
        governor: read_table(top, problems, GovernorConfig::read).unwrap_or_default(),
        monitor: read_table(top, problems, MonitorConfig::read),
        slow_calls: read_slow_calls(top, problems),
        walk: read_table(top, problems, WalkConfig::read),
        rules,
        contexts: read_contexts(top, problems),
        source: problems.source(),
        secrets,
    };
    check_bursts(&config, problems);
    let is_without_rules =
        config.sampler.is_some() || config.allocation.is_some() || config.walk.is_some() || !config.contexts.is_empty();
    if !config.rules.is_empty() || !is_without_rules {
        check_rules(&config.rules, problems);
    }
    config
}

/// Level `burst` is one of live probes.
fn check_bursts(config: &Config, problems: &mut Problems) {
    let levels = config.rules.iter().filter_map(|rule| rule.level.as_ref());
    for level in levels.filter(|level| *level.get_ref() == Level::Burst && !config.wants_live()) {
        let help = "add `live = true` in `[control]`".to_owned();
        problems.error(level.span(), "level `burst` needs probes whose level can change", Some(help));
    }
}
