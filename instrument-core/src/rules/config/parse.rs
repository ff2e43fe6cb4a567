//! Text -> configuration, or everything that is wrong with it.

use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::allocation::read_allocation;
use super::diagnostic::Diagnostic;
use super::governor_table::{GovernorConfig, read_governor};
use super::keys;
use super::metrics_table::read_metrics;
use super::model::{AgentConfig, Config, ControlConfig, ExcludeConfig, FilterConfig, LogLevel, OnError, Rule};
use super::problems::Problems;
use super::read_rule::{check_rules, doubt_class_patterns, read_rule};
use super::sampler::read_sampler;
use super::source_text::SourceText;
use super::table_reader::{TableReader, kind};
use super::trace_table::read_trace;
use super::watch_table::read_watch;
use crate::level::Level;
use crate::rules::patterns::class_pattern::ClassPattern;

/// Most errors of TOML syntax shown for one file; what follows the first is often its consequence.
const MOST_SYNTAX_ERRORS: usize = 3;

/// Reads a configuration. `file_name` is only shown in diagnostics.
///
/// `Ok` holds the configuration and warnings, `Err` all diagnostics with at least one error, in the order of the file.
///
/// ```
/// let (config, warnings) = instrument_core::config::parse("[[rule]]\nclass = 'com.acme.**'", "instr.toml").unwrap();
/// assert_eq!((config.rules.len(), warnings.len()), (1, 0));
/// let errors = instrument_core::config::parse("[[rule]]\nclas = 'com.acme.**'", "instr.toml").unwrap_err();
/// assert_eq!(errors[0].suggestion.as_deref(), Some("did you mean `class`?"));
/// ```
pub fn parse(text: &str, file_name: &str) -> Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>> {
    let source = Arc::new(SourceText::new(file_name, text));
    let mut problems = Problems::new(Arc::clone(&source));
    let (document, syntax_errors) = DeTable::parse_recoverable(text);
    for error in syntax_errors.iter().take(MOST_SYNTAX_ERRORS) {
        let end = text.len();
        let span = error.span().unwrap_or(end..end);
        problems.error(span, format!("not valid TOML: {}", error.message()), None);
    }
    if !syntax_errors.is_empty() {
        return Err(problems.found);
    }
    let config = read_config(document.get_ref(), source, &mut problems);
    let mut found = problems.found;
    found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.severity));
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok((config, found)) }
}

/// Whether a file says `on_error = "abort"`, even if [`parse`] refuses it: then its author wants no start without agent.
pub fn asks_to_abort(text: &str) -> bool {
    let (document, _) = DeTable::parse_recoverable(text);
    let mut unheard = Problems::new(Arc::default());
    let top = TableReader::new("", keys::TOP, document.get_ref(), &mut unheard);
    let agent = table("agent", keys::AGENT, &top, &mut unheard);
    agent.is_some_and(|agent| read_agent(&agent, &mut unheard).on_error == OnError::Abort)
}

fn read_config(document: &DeTable<'_>, source: Arc<SourceText>, problems: &mut Problems) -> Config {
    let top = TableReader::new("", keys::TOP, document, problems);
    let trace = table("trace", keys::TRACE, &top, problems).map(|table| read_trace(&table, problems));
    let metrics = table("metrics", keys::METRICS, &top, problems).map(|table| read_metrics(&table, problems));
    let agent = table("agent", keys::AGENT, &top, problems).map(|table| read_agent(&table, problems));
    let sampler = table("sampler", keys::SAMPLER, &top, problems).map(|table| read_sampler(&table, problems));
    let allocation =
        table("allocation", keys::ALLOCATION, &top, problems).map(|table| read_allocation(&table, problems));
    let filter = table("filter", keys::FILTER, &top, problems).map(|table| read_filter(&table, problems));
    let exclude = table("exclude", keys::EXCLUDE, &top, problems).map(|table| read_exclude(&table, problems));
    let control = table("control", keys::CONTROL, &top, problems).map(|table| read_control(&table, problems));
    let watch = table("watch", keys::WATCH, &top, problems).map(|table| read_watch(&table, problems));
    let governor = table("governor", keys::GOVERNOR, &top, problems).map(|table| read_governor(&table, problems));
    let mut rules = Vec::new();
    for (span, rule) in rule_tables(&top, problems) {
        let reader = TableReader::new("rule", keys::RULE, rule, problems);
        rules.push(read_rule(&reader, span, &source, problems));
    }
    let is_live = control.as_ref().is_some_and(|control: &ControlConfig| control.live)
        || governor.as_ref().is_some_and(GovernorConfig::wants_live);
    check_bursts(&rules, is_live, problems);
    let (sampler, allocation) = (sampler.unwrap_or_default(), allocation.unwrap_or_default());
    if !(rules.is_empty() && (sampler.enabled || allocation.enabled)) {
        check_rules(&rules, problems);
    }
    Config {
        trace: trace.unwrap_or_default(),
        metrics: metrics.unwrap_or_default(),
        agent: agent.unwrap_or_default(),
        sampler,
        allocation,
        filter: filter.unwrap_or_default(),
        exclude: exclude.unwrap_or_default(),
        control: control.unwrap_or_default(),
        watch: watch.unwrap_or_default(),
        governor: governor.unwrap_or_default(),
        rules,
        source,
    }
}

fn table<'t, 'i>(
    key: &'static str,
    known: &[&'static str],
    top: &TableReader<'t, 'i>,
    problems: &mut Problems,
) -> Option<TableReader<'t, 'i>> {
    let value = top.value(key)?;
    match value.get_ref().as_table() {
        Some(table) => Some(TableReader::new(key, known, table, problems)),
        None => {
            let message = format!("`{key}` must be a table, this is {}", kind(value.get_ref()));
            problems.error(value.span(), message, Some(format!("write `[{key}]` on a line of its own")));
            None
        }
    }
}

type SpannedTable<'t, 'i> = (std::ops::Range<usize>, &'t DeTable<'i>);

fn rule_tables<'t, 'i>(top: &TableReader<'t, 'i>, problems: &mut Problems) -> Vec<SpannedTable<'t, 'i>> {
    let Some(value) = top.value("rule") else { return Vec::new() };
    let items: &'t [Spanned<DeValue<'i>>] = match value.get_ref() {
        DeValue::Array(items) => items,
        _ => std::slice::from_ref(value),
    };
    let is_list = value.get_ref().is_array();
    let mut tables = Vec::new();
    for item in items {
        match item.get_ref().as_table() {
            Some(table) if is_list => tables.push((item.span(), table)),
            _ => {
                let message = format!("rules are a list of tables, this is {}", kind(item.get_ref()));
                problems.error(item.span(), message, Some("write `[[rule]]` on a line of its own".to_owned()));
            }
        }
    }
    tables
}

fn read_agent(table: &TableReader<'_, '_>, problems: &mut Problems) -> AgentConfig {
    let on_error = [("continue", OnError::Continue), ("abort", OnError::Abort)];
    let log = [LogLevel::Off, LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace]
        .map(|level| (level.name(), level));
    AgentConfig {
        stats: table.file_pattern("stats", problems),
        on_error: table.choice("on_error", &on_error, problems).map(Spanned::into_inner).unwrap_or_default(),
        templates: table.strings("templates", problems),
        log: table.choice("log", &log, problems).map(Spanned::into_inner),
        dump: table.file_pattern("dump", problems),
        discard: table.boolean("discard", problems).unwrap_or_default(),
    }
}

fn read_filter(table: &TableReader<'_, '_>, problems: &mut Problems) -> FilterConfig {
    let default = FilterConfig::default();
    let max_bytes = table.number("max-bytes", 0..65_536, problems).unwrap_or(default.max_bytes);
    // Who wants even the smallest methods does not expect that others are missing.
    let of_libraries = if max_bytes == 0 { 0 } else { default.library_max_bytes };
    FilterConfig {
        leaf: table.boolean("leaf", problems).unwrap_or(default.leaf),
        max_bytes,
        library_max_bytes: table.number("library-max-bytes", 0..65_536, problems).unwrap_or(of_libraries),
    }
}

fn read_control(table: &TableReader<'_, '_>, problems: &mut Problems) -> ControlConfig {
    let default = ControlConfig::default();
    let burst_open_ms = table.number("burst-open-ms", 1..10_001, problems).unwrap_or(default.burst_open_ms);
    let burst_period_ms = table.number("burst-period-ms", 2..60_001, problems).unwrap_or(default.burst_period_ms);
    let spans: Vec<_> = table.keys().filter(|(key, _)| key.starts_with("burst-")).map(|(_, span)| span).collect();
    if let (true, Some(span)) = (burst_open_ms >= burst_period_ms, spans.first()) {
        let message =
            format!("a window of {burst_open_ms} ms does not close before the next, after {burst_period_ms} ms");
        let help = "make `burst-period-ms` longer, or use level `time`, which records always";
        problems.error(span.clone(), message, Some(help.to_owned()));
    }
    ControlConfig {
        live: table.boolean("live", problems).unwrap_or(default.live),
        burst_open_ms,
        burst_period_ms,
        socket: table.boolean("socket", problems).unwrap_or(default.socket),
        call_tree: table.boolean("call-tree", problems).unwrap_or(default.call_tree),
    }
}

/// Level `burst` is one of live probes.
fn check_bursts(rules: &[Rule], is_live: bool, problems: &mut Problems) {
    let bursts = rules.iter().filter_map(|rule| rule.level.as_ref()).filter(|level| *level.get_ref() == Level::Burst);
    for level in bursts.filter(|_| !is_live) {
        let help = "add `live = true` in `[control]`".to_owned();
        problems.error(level.span(), "level `burst` needs probes whose level can change", Some(help));
    }
}

fn read_exclude(table: &TableReader<'_, '_>, problems: &mut Problems) -> ExcludeConfig {
    let class = table.patterns("class", ClassPattern::parse, problems);
    for pattern in class.iter().filter(|pattern| pattern.get_ref().negated) {
        let help = Some("leave the `!` out".to_owned());
        problems.error(pattern.span(), "`[exclude]` excludes by itself", help);
    }
    doubt_class_patterns(&class, problems);
    ExcludeConfig { class }
}
