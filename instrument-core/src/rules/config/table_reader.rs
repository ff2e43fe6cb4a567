//! Reads one TOML table key by key and reports what does not belong there.

use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::file_pattern::FilePattern;
use super::keys;
use super::problems::Problems;
use crate::rules::nearest_name::{nearest_name, quoted_list, suggest};
use crate::rules::patterns::pattern_error::PatternError;

/// One table with the keys it may have.
pub(super) struct TableReader<'t, 'i> {
    title: &'static str,
    table: &'t DeTable<'i>,
}

impl<'t, 'i> TableReader<'t, 'i> {
    /// Reports unknown keys at once.
    pub(super) fn new(
        title: &'static str,
        known: &[&'static str],
        table: &'t DeTable<'i>,
        problems: &mut Problems,
    ) -> TableReader<'t, 'i> {
        for (key, _) in table.iter() {
            let name = key.get_ref();
            if !known.iter().any(|known| same_key(known, name)) {
                let (message, suggestion) = unknown_key(title, known, name);
                problems.error(key.span(), message, suggestion);
            } else if table
                .iter()
                .any(|(other, _)| same_key(other.get_ref(), name) && other.span().end < key.span().start)
            {
                problems.error(key.span(), format!("`{name}` is given twice {}", shown(title)), None);
            }
        }
        TableReader { title, table }
    }

    pub(super) fn value(&self, key: &str) -> Option<&'t Spanned<DeValue<'i>>> {
        self.table.iter().find(|(name, _)| same_key(name.get_ref(), key)).map(|(_, value)| value)
    }

    /// Where the value of a key stands.
    pub(super) fn span(&self, key: &str) -> Range<usize> {
        self.value(key).map_or(0..0, Spanned::span)
    }

    /// The keys present, with their places.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'t str, Range<usize>)> {
        self.table.iter().map(|(key, _)| (key.get_ref().as_ref(), key.span()))
    }

    /// A string that is not empty.
    pub(super) fn string(&self, key: &str, problems: &mut Problems) -> Option<Spanned<String>> {
        let value = self.value(key)?;
        let text = value.get_ref().as_str();
        match text {
            None => self.wrong_type(key, "a string", value, problems),
            Some("") => problems.error(value.span(), format!("`{key}` is empty"), None),
            Some(text) => return Some(Spanned::new(value.span(), text.to_owned())),
        }
        None
    }

    /// Name of a file that is written.
    pub(super) fn file_pattern(&self, key: &str, problems: &mut Problems) -> Option<FilePattern> {
        let text = self.string(key, problems)?;
        let pattern = FilePattern::parse(text.get_ref());
        pattern.map_err(|error| problems.pattern(text.span(), text.get_ref(), error)).ok()
    }

    /// A string or a list of strings.
    pub(super) fn strings(&self, key: &str, problems: &mut Problems) -> Vec<Spanned<String>> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let Some(list) = value.get_ref().as_array() else {
            match value.get_ref().as_str() {
                Some(text) => return vec![Spanned::new(value.span(), text.to_owned())],
                None => self.wrong_type(key, "a string or a list of strings", value, problems),
            }
            return Vec::new();
        };
        // In a condition it could mean all or nothing.
        if list.is_empty() && self.title == "rule" && key != "exclude" {
            problems.error(value.span(), format!("`{key}` is an empty list"), Some("leave the key out".to_owned()));
        }
        let mut strings = Vec::with_capacity(list.len());
        for item in list.iter() {
            match item.get_ref().as_str() {
                Some(text) => strings.push(Spanned::new(item.span(), text.to_owned())),
                None => self.wrong_type(key, "a string or a list of strings", item, problems),
            }
        }
        strings
    }

    /// Patterns, each from a string.
    pub(super) fn patterns<P>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<P, PatternError>,
        problems: &mut Problems,
    ) -> Vec<Spanned<P>> {
        let mut patterns = Vec::new();
        for text in self.strings(key, problems) {
            match parse(text.get_ref()) {
                Ok(pattern) => patterns.push(Spanned::new(text.span(), pattern)),
                Err(error) => problems.pattern(text.span(), text.get_ref(), error),
            }
        }
        patterns
    }

    pub(super) fn boolean(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        let value = self.value(key)?;
        if value.get_ref().as_bool().is_none() {
            self.wrong_type(key, "`true` or `false`", value, problems);
        }
        value.get_ref().as_bool()
    }

    /// A whole number within bounds.
    pub(super) fn number(&self, key: &str, bounds: Range<u32>, problems: &mut Problems) -> Option<u32> {
        let value = self.value(key)?;
        let Some(integer) = value.get_ref().as_integer() else {
            self.wrong_type(key, "a whole number", value, problems);
            return None;
        };
        let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|n| bounds.contains(n));
        if number.is_none() {
            let message = format!("`{key}` must be between {} and {}", bounds.start, bounds.end - 1);
            problems.error(value.span(), message, None);
        }
        number
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&'static str, T)],
        problems: &mut Problems,
    ) -> Option<Spanned<T>> {
        let text = self.string(key, problems)?;
        if let Some((_, chosen)) = choices.iter().find(|(name, _)| name == text.get_ref()) {
            return Some(Spanned::new(text.span(), *chosen));
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let message = format!("unknown {key} `{}`: it is {}", text.get_ref(), quoted_list(&names, "or"));
        let nearest = nearest_name(text.get_ref(), names.iter().copied());
        problems.error(text.span(), message, nearest.map(|name| format!("did you mean `{name}`?")));
        None
    }

    fn wrong_type(&self, key: &str, wanted: &str, value: &Spanned<DeValue<'i>>, problems: &mut Problems) {
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

/// Where a key stands, in words.
fn shown(title: &str) -> String {
    match title {
        "" => "at the top level".to_owned(),
        "rule" => "in `[[rule]]`".to_owned(),
        title => format!("in `[{title}]`"),
    }
}

fn unknown_key(title: &str, known: &[&str], name: &str) -> (String, Option<String>) {
    let message = format!("unknown key `{name}` {}", shown(title));
    if let Some(nearest) = nearest_name(name, known.iter().copied()) {
        return (message, Some(format!("did you mean `{nearest}`?")));
    }
    let elsewhere = |matches: &dyn Fn(&[&'static str]) -> Option<&'static str>| {
        keys::TABLES.iter().find_map(|(title, keys)| Some((shown(title), matches(keys)?)))
    };
    if let Some((place, key)) = elsewhere(&|keys| keys.iter().copied().find(|key| same_key(key, name))) {
        return (message, Some(format!("`{key}` stands {place}")));
    }
    if let Some((place, key)) = elsewhere(&|keys| nearest_name(name, keys.iter().copied())) {
        return (message, Some(format!("did you mean `{key}` {place}?")));
    }
    (message, suggest(name, known))
}
