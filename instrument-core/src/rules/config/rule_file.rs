//! The tables of a file that concern rules, and files with nothing else, such as presets.

use std::ops::Range;
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::Diagnostic;
use super::model::{ExcludeConfig, FilterConfig, Rule, RuleTables};
use super::problems::Problems;
use super::read_rule::{doubt_class_patterns, read_rule};
use super::source_text::SourceText;
use super::table_reader::{TableReader, kind};
use crate::rules::patterns::class_pattern::ClassPattern;

/// Most errors of TOML syntax shown for one file; what follows the first is often its consequence.
const MOST_SYNTAX_ERRORS: usize = 3;

/// The rules of a file with their `[filter]` and `[exclude]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFile {
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// `[filter]`
    pub filter: FilterConfig,
    /// `[exclude]`
    pub exclude: ExcludeConfig,
}

impl RuleFile {
    /// Reads a file that holds nothing but rules, `[filter]` and `[exclude]`. Returns warnings with it, or all problems.
    pub fn parse(text: &str, file_name: &str) -> Result<(RuleFile, Vec<Diagnostic>), Vec<Diagnostic>> {
        parse_document(text, file_name, RuleFile::read)
    }

    /// Reads the three tables.
    pub fn read(top: &TableReader<'_, '_>, problems: &mut Problems) -> RuleFile {
        let filter = read_table("filter", top, problems, read_filter).unwrap_or_default();
        let exclude = read_table("exclude", top, problems, read_exclude).unwrap_or_default();
        RuleFile { rules: read_rules(top, problems), filter, exclude }
    }

    /// Returns what selection compiles.
    pub fn tables(&self) -> RuleTables<'_> {
        RuleTables { rules: &self.rules, filter: &self.filter, exclude: &self.exclude }
    }
}

/// Reads a file: `read` makes something of its top level, and whatever key it does not ask for is reported.
///
/// `Ok` holds what was read and warnings, `Err` all diagnostics with at least one error, in the order of the file.
pub fn parse_document<T>(
    text: &str,
    file_name: &str,
    read: impl FnOnce(&TableReader<'_, '_>, &mut Problems) -> T,
) -> Result<(T, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut problems = Problems::new(Arc::new(SourceText::new(file_name, text)));
    let (document, syntax_errors) = DeTable::parse_recoverable(text);
    for error in syntax_errors.iter().take(MOST_SYNTAX_ERRORS) {
        let end = text.len();
        let span = error.span().unwrap_or(end..end);
        problems.error(span, format!("not valid TOML: {}", error.message()), None);
    }
    if !syntax_errors.is_empty() {
        return Err(problems.found);
    }
    let top = TableReader::new("", document.get_ref(), &mut problems);
    let done = read(&top, &mut problems);
    top.finish(&mut problems);
    let mut found = problems.into_found();
    found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.severity));
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok((done, found)) }
}

/// Reads what can be read of a file, whatever is wrong with it.
pub fn read_damaged_document<T>(text: &str, read: impl FnOnce(&TableReader<'_, '_>, &mut Problems) -> T) -> T {
    let (document, _) = DeTable::parse_recoverable(text);
    let mut unheard = Problems::new(Arc::default());
    let top = TableReader::new("", document.get_ref(), &mut unheard);
    read(&top, &mut unheard)
}

/// Reads a table of the top level; `None` if it is not there. Even then `read` is asked which keys there are, for suggestions.
pub fn read_table<T>(
    title: &'static str,
    top: &TableReader<'_, '_>,
    problems: &mut Problems,
    read: impl FnOnce(&TableReader<'_, '_>, &mut Problems) -> T,
) -> Option<T> {
    let value = top.value(title);
    let table = value.and_then(|value| value.get_ref().as_table());
    if let (Some(value), None) = (value, table) {
        let message = format!("`{title}` must be a table, this is {}", kind(value.get_ref()));
        problems.error(value.span(), message, Some(format!("write `[{title}]` on a line of its own")));
    }
    let Some(table) = table else {
        note_keys(title, problems, read);
        return None;
    };
    let reader = TableReader::new(title, table, problems);
    let done = read(&reader, problems);
    reader.finish(problems);
    Some(done)
}

/// Notes the keys of a table that is not there.
fn note_keys<T>(
    title: &'static str,
    problems: &mut Problems,
    read: impl FnOnce(&TableReader<'_, '_>, &mut Problems) -> T,
) {
    let nothing = DeTable::new();
    let mut unheard = Problems::new(Arc::clone(&problems.source));
    let reader = TableReader::new(title, &nothing, &mut unheard);
    read(&reader, &mut unheard);
    reader.finish(problems);
}

fn read_rules(top: &TableReader<'_, '_>, problems: &mut Problems) -> Vec<Rule> {
    let source = Arc::clone(&problems.source);
    let mut rules = Vec::new();
    let tables = rule_tables(top, problems);
    if tables.is_empty() {
        note_keys("rule", problems, |table, problems| read_rule(table, 0..0, &source, problems));
    }
    for (span, rule) in tables {
        let reader = TableReader::new("rule", rule, problems);
        rules.push(read_rule(&reader, span, &source, problems));
        reader.finish(problems);
    }
    rules
}

type SpannedTable<'t, 'i> = (Range<usize>, &'t DeTable<'i>);

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

fn read_filter(table: &TableReader<'_, '_>, problems: &mut Problems) -> FilterConfig {
    let default = FilterConfig::default();
    let max_bytes = table.number("max-bytes", 0..65_536, problems).unwrap_or(default.max_bytes);
    // Who wants even the smallest methods does not expect that others are missing.
    let by_wildcard = if max_bytes == 0 { 0 } else { default.wildcard_max_bytes };
    FilterConfig {
        leaf: table.boolean("leaf", problems).unwrap_or(default.leaf),
        max_bytes,
        wildcard_max_bytes: table.number("wildcard-max-bytes", 0..65_536, problems).unwrap_or(by_wildcard),
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
