//! The tables of a file that concern rules, and files with nothing else, such as presets.

use std::ops::Range;
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::declaration::{Table, TableDeclaration};
use super::diagnostic::Diagnostic;
use super::model::{ExcludeConfig, FilterConfig, Rule, RuleTables};
use super::problems::Problems;
use super::read_rule::{doubt_class_patterns, read_rule};
use super::source_text::SourceText;
use super::table_reader::{TableReader, kind};

/// Most errors of TOML syntax shown for one file; what follows the first is often its consequence.
const MOST_SYNTAX_ERRORS: usize = 3;

/// The tables that every file with rules may have.
const RULE_TABLES: [TableDeclaration; 3] = [Rule::TABLE, FilterConfig::TABLE, ExcludeConfig::TABLE];

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
        parse_document(text, file_name, &RULE_TABLES, RuleFile::read)
    }

    /// Reads the three tables.
    pub fn read(top: &TableReader<'_, '_>, problems: &mut Problems) -> RuleFile {
        let filter = read_table(top, problems, read_filter).unwrap_or_default();
        let exclude = read_table(top, problems, read_exclude).unwrap_or_default();
        RuleFile { rules: read_rules(top, problems), filter, exclude }
    }

    /// Returns what selection compiles.
    pub fn tables(&self) -> RuleTables<'_> {
        RuleTables { rules: &self.rules, filter: &self.filter, exclude: &self.exclude }
    }
}

/// Reads a file that may have these tables: `read` makes something of its top level.
///
/// `Ok` holds what was read and warnings, `Err` all diagnostics with at least one error, in the order of the file.
pub fn parse_document<T>(
    text: &str,
    file_name: &str,
    tables: &[TableDeclaration],
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
    let titles: Vec<&str> = tables.iter().map(|table| table.title).collect();
    let top = TableReader::new("", &titles, document.get_ref(), &mut problems);
    let done = read(&top, &mut problems);
    let mut found = problems.into_found(tables);
    found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.severity));
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok((done, found)) }
}

/// Reads what can be read of a file, whatever is wrong with it.
pub fn read_damaged_document<T>(text: &str, read: impl FnOnce(&TableReader<'_, '_>, &mut Problems) -> T) -> T {
    let (document, _) = DeTable::parse_recoverable(text);
    let mut unheard = Problems::new(Arc::default());
    let top = TableReader::new("", &[], document.get_ref(), &mut unheard);
    read(&top, &mut unheard)
}

/// Reads a table of the top level; `None` if it is not there.
pub fn read_table<T: Table>(
    top: &TableReader<'_, '_>,
    problems: &mut Problems,
    read: impl FnOnce(&TableReader<'_, '_>, &mut Problems) -> T,
) -> Option<T> {
    let TableDeclaration { title, names, .. } = T::TABLE;
    let value = top.value(title)?;
    let Some(table) = value.get_ref().as_table() else {
        let message = format!("`{title}` must be a table, this is {}", kind(value.get_ref()));
        problems.error(value.span(), message, Some(format!("write `[{title}]` on a line of its own")));
        return None;
    };
    let reader = TableReader::new(title, names, table, problems);
    Some(read(&reader, problems))
}

fn read_rules(top: &TableReader<'_, '_>, problems: &mut Problems) -> Vec<Rule> {
    let source = Arc::clone(&problems.source);
    read_tables(top, problems, |rule, span, problems| read_rule(rule, span, &source, problems))
}

/// Reads all tables of a list at the top level, such as all `[[rule]]`, each with its place in the file.
pub fn read_tables<T: Table>(
    top: &TableReader<'_, '_>,
    problems: &mut Problems,
    read: impl Fn(&TableReader<'_, '_>, Range<usize>, &mut Problems) -> T,
) -> Vec<T> {
    let TableDeclaration { title, names, .. } = T::TABLE;
    let mut done = Vec::new();
    for (span, table) in tables_of_list(title, top, problems) {
        let reader = TableReader::new(title, names, table, problems);
        done.push(read(&reader, span, problems));
    }
    done
}

type SpannedTable<'t, 'i> = (Range<usize>, &'t DeTable<'i>);

fn tables_of_list<'t, 'i>(
    title: &'static str,
    top: &TableReader<'t, 'i>,
    problems: &mut Problems,
) -> Vec<SpannedTable<'t, 'i>> {
    let Some(value) = top.value(title) else { return Vec::new() };
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
                let message =
                    format!("{}s are a list of tables, this is {}", title.trim_end_matches('s'), kind(item.get_ref()));
                problems.error(item.span(), message, Some(format!("write `[[{title}]]` on a line of its own")));
            }
        }
    }
    tables
}

fn read_filter(table: &TableReader<'_, '_>, problems: &mut Problems) -> FilterConfig {
    let filter = FilterConfig::read(table, problems);
    // A rule that takes even the smallest methods should not leave out others.
    if filter.max_bytes == 0 && table.value("wildcard-max-bytes").is_none() {
        return FilterConfig { wildcard_max_bytes: 0, ..filter };
    }
    filter
}

fn read_exclude(table: &TableReader<'_, '_>, problems: &mut Problems) -> ExcludeConfig {
    let exclude = ExcludeConfig::read(table, problems);
    for pattern in exclude.class.iter().filter(|pattern| pattern.get_ref().negated) {
        let help = Some("leave the `!` out".to_owned());
        problems.error(pattern.span(), "`[exclude]` excludes by itself", help);
    }
    doubt_class_patterns(&exclude.class, problems);
    exclude
}
