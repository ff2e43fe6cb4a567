//! Reads one TOML table key by key and reports what does not belong there.

use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::declaration::TableDeclaration;
use super::problems::Problems;
use crate::rules::nearest_name::{nearest_name, suggest};

/// One table.
#[derive(Debug)]
pub struct TableReader<'t, 'i> {
    title: &'static str,
    table: &'t DeTable<'i>,
}

impl<'t, 'i> TableReader<'t, 'i> {
    /// Starts reading a table that has these keys: reports others, and keys that are given twice.
    pub(super) fn new(
        title: &'static str,
        names: &[&str],
        table: &'t DeTable<'i>,
        problems: &mut Problems,
    ) -> TableReader<'t, 'i> {
        for (key, _) in table.iter() {
            let name = key.get_ref();
            let start = key.span().start;
            if table.iter().any(|(other, _)| same_key(other.get_ref(), name) && other.span().end < start) {
                problems.error(key.span(), format!("`{name}` is given twice {}", shown(title)), None);
            }
            if !names.iter().any(|known| same_key(known, name)) {
                problems.unknown.push(UnknownKey { title, name: name.to_string(), span: key.span() });
            }
        }
        TableReader { title, table }
    }

    /// Returns the value of a key.
    pub fn value(&self, key: &'static str) -> Option<&'t Spanned<DeValue<'i>>> {
        self.table.iter().find(|(name, _)| same_key(name.get_ref(), key)).map(|(_, value)| value)
    }

    /// Returns the position of a key's value.
    pub fn span(&self, key: &'static str) -> Range<usize> {
        self.value(key).map_or(0..0, Spanned::span)
    }

    /// The keys present, with their places.
    pub fn keys(&self) -> impl Iterator<Item = (&'t str, Range<usize>)> {
        self.table.iter().map(|(key, _)| (key.get_ref().as_ref(), key.span()))
    }

    /// Returns a string that is not empty. `wanted` says what it must be, for a value of another type.
    pub fn string(&self, key: &'static str, wanted: &str, problems: &mut Problems) -> Option<Spanned<String>> {
        let value = self.value(key)?;
        let text = value.get_ref().as_str();
        match text {
            None => self.wrong_type(key, wanted, value, problems),
            Some("") => problems.error(value.span(), format!("`{key}` is empty"), None),
            Some(text) => return Some(Spanned::new(value.span(), text.to_owned())),
        }
        None
    }

    /// Returns the strings of a list, or a single string. `wanted` says what they must be, for a value of another type.
    pub fn strings(&self, key: &'static str, wanted: &str, problems: &mut Problems) -> Option<Vec<Spanned<String>>> {
        let value = self.value(key)?;
        let items = value.get_ref().as_array().map_or(std::slice::from_ref(value), |list| list.as_ref());
        let mut strings = Vec::with_capacity(items.len());
        for item in items {
            match item.get_ref().as_str() {
                Some(text) => strings.push(Spanned::new(item.span(), text.to_owned())),
                None => self.wrong_type(key, wanted, item, problems),
            }
        }
        Some(strings)
    }

    pub(super) fn wrong_type(&self, key: &str, wanted: &str, value: &Spanned<DeValue<'i>>, problems: &mut Problems) {
        let message = format!("`{key}` {} must be {wanted}, this is {}", shown(self.title), kind(value.get_ref()));
        let quotable = matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_));
        let quoted = wanted.starts_with("a string") && quotable;
        problems.error(value.span(), message, quoted.then(|| "put it in quotes".to_owned()));
    }
}

/// What a value is, for people.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// `-` and `_` are one and the same in keys.
fn same_key(one: &str, other: &str) -> bool {
    let folded = |byte: u8| if byte == b'_' { b'-' } else { byte };
    one.len() == other.len() && one.bytes().map(folded).eq(other.bytes().map(folded))
}

/// Describes for a message where a key belongs.
fn shown(title: &str) -> String {
    match title {
        "" => "at the top level".to_owned(),
        "rule" | "context" | "claim" | "slow-calls" => format!("in `[[{title}]]`"),
        title => format!("in `[{title}]`"),
    }
}

/// A key that its table does not have.
#[derive(Debug)]
pub(super) struct UnknownKey {
    title: &'static str,
    name: String,
    pub(super) span: Range<usize>,
}

impl UnknownKey {
    /// Returns what is said of it: message and suggestion. `tables` are those of the file.
    pub(super) fn text(&self, tables: &[TableDeclaration]) -> (String, Option<String>) {
        let name = self.name.as_str();
        let message = format!("unknown key `{name}` {}", shown(self.title));
        let known: Vec<&str> = match tables.iter().find(|table| table.title == self.title) {
            Some(table) => table.names.to_vec(),
            None => tables.iter().map(|table| table.title).collect(),
        };
        if let Some(nearest) = nearest_name(name, known.iter().copied()) {
            return (message, Some(format!("did you mean `{nearest}`?")));
        }
        let same = tables.iter().find_map(|table| Some((table, table.names.iter().find(|key| same_key(key, name))?)));
        if let Some((table, key)) = same {
            return (message, Some(format!("`{key}` belongs {}", shown(table.title))));
        }
        let near = tables.iter().find_map(|table| Some((table, nearest_name(name, table.names.iter().copied())?)));
        if let Some((table, key)) = near {
            return (message, Some(format!("did you mean `{key}` {}?", shown(table.title))));
        }
        (message, suggest(name, &known))
    }
}
