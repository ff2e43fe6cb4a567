//! Text -> configuration, or everything that is wrong with it.

use instrument_core::config::{
    Diagnostic, Problems, Rule, RuleFile, TableReader, check_rules, parse_document, read_damaged_document, read_table,
};
use instrument_core::level::Level;

use crate::agent_table::{OnError, read_agent};
use crate::allocation::read_allocation;
use crate::control_table::read_control;
use crate::governor_table::{GovernorConfig, read_governor};
use crate::metrics_table::read_metrics;
use crate::model::Config;
use crate::sampler::read_sampler;
use crate::secrets;
use crate::trace_table::read_trace;
use crate::watch_table::read_watch;

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
    parse_document(text, file_name, read_config)
}

/// Whether a file says `on_error = "abort"`, even if [`parse`] refuses it: then its author wants no start without agent.
pub fn asks_to_abort(text: &str) -> bool {
    read_damaged_document(text, |top, problems| {
        let agent = read_table("agent", top, problems, read_agent);
        agent.is_some_and(|agent| agent.on_error == OnError::Abort)
    })
}

fn read_config(top: &TableReader<'_, '_>, problems: &mut Problems) -> Config {
    let trace = read_table("trace", top, problems, read_trace);
    let metrics = read_table("metrics", top, problems, |table, problems| {
        (read_metrics(table, problems), secrets::in_metrics(table))
    });
    let (metrics, secrets) = metrics.unwrap_or_default();
    let agent = read_table("agent", top, problems, read_agent);
    let sampler = read_table("sampler", top, problems, read_sampler).unwrap_or_default();
    let allocation = read_table("allocation", top, problems, read_allocation).unwrap_or_default();
    let RuleFile { rules, filter, exclude } = RuleFile::read(top, problems);
    let control = read_table("control", top, problems, read_control);
    let watch = read_table("watch", top, problems, read_watch);
    let governor = read_table("governor", top, problems, read_governor);
    let is_live = control.as_ref().is_some_and(|control| control.live)
        || governor.as_ref().is_some_and(GovernorConfig::wants_live);
    check_bursts(&rules, is_live, problems);
    if !(rules.is_empty() && (sampler.enabled || allocation.enabled)) {
        check_rules(&rules, problems);
    }
    Config {
        trace: trace.unwrap_or_default(),
        metrics,
        agent: agent.unwrap_or_default(),
        sampler,
        allocation,
        filter,
        exclude,
        control: control.unwrap_or_default(),
        watch: watch.unwrap_or_default(),
        governor: governor.unwrap_or_default(),
        rules,
        source: problems.source(),
        secrets,
    }
}

/// All tables with the keys that are asked for, rules first.
#[cfg(test)]
pub(crate) fn known_tables() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut tables = Vec::new();
    let read = parse_document("", "", |top, problems| {
        read_config(top, problems);
        tables = problems.tables().to_vec();
    });
    assert!(read.is_ok(), "an empty file has nothing wrong in it");
    tables.sort_by_key(|(table, _)| *table != "rule");
    tables
}

/// Level `burst` is one of live probes.
fn check_bursts(rules: &[Rule], is_live: bool, problems: &mut Problems) {
    let bursts = rules.iter().filter_map(|rule| rule.level.as_ref()).filter(|level| *level.get_ref() == Level::Burst);
    for level in bursts.filter(|_| !is_live) {
        let help = "add `live = true` in `[control]`".to_owned();
        problems.error(level.span(), "level `burst` needs probes whose level can change", Some(help));
    }
}
