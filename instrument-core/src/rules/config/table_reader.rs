//! Reads one TOML table key by key and reports what does not belong there.

use std::cell::RefCell;
use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::problems::Problems;
use crate::rules::nearest_name::{nearest_name, quoted_list, suggest};
use crate::rules::patterns::pattern_error::PatternError;

/// One table. It has the keys that are asked for while it is read.
#[derive(Debug)]
pub struct TableReader<'t, 'i> {
    title: &'static str,
    table: &'t DeTable<'i>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'t, 'i> TableReader<'t, 'i> {
    /// Starts reading a table; reports keys that are given twice at once.
    pub fn new(title: &'static str, table: &'t DeTable<'i>, problems: &mut Problems) -> TableReader<'t, 'i> {
        for (key, _) in table.iter() {
            let name = key.get_ref();
            let start = key.span().start;
            if table.iter().any(|(other, _)| same_key(other.get_ref(), name) && other.span().end < start) {
                problems.error(key.span(), format!("`{name}` is given twice {}", shown(title)), None);
            }
        }
        TableReader { title, table, asked: RefCell::default() }
    }

    /// Ends reading: keys that were not asked for are unknown, and reported when all tables have been read.
    pub fn finish(self, problems: &mut Problems) {
        let asked = self.asked.into_inner();
        for (key, _) in self.table.iter() {
            if !asked.iter().any(|known| same_key(known, key.get_ref())) {
                problems.unknown.push(UnknownKey {
                    title: self.title,
                    name: key.get_ref().to_string(),
                    span: key.span(),
                });
            }
        }
        problems.note_table(self.title, asked);
    }

    /// Returns the value of a key.
    pub fn value(&self, key: &'static str) -> Option<&'t Spanned<DeValue<'i>>> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
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

    /// A string that is not empty.
    pub fn string(&self, key: &'static str, problems: &mut Problems) -> Option<Spanned<String>> {
        let value = self.value(key)?;
        let text = value.get_ref().as_str();
        match text {
            None => self.wrong_type(key, "a string", value, problems),
            Some("") => problems.error(value.span(), format!("`{key}` is empty"), None),
            Some(text) => return Some(Spanned::new(value.span(), text.to_owned())),
        }
        None
    }

    /// A string or a list of strings.
    pub fn strings(&self, key: &'static str, problems: &mut Problems) -> Vec<Spanned<String>> {
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
    pub fn patterns<P>(
        &self,
        key: &'static str,
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

    /// `true` or `false`.
    pub fn boolean(&self, key: &'static str, problems: &mut Problems) -> Option<bool> {
        let value = self.value(key)?;
        if value.get_ref().as_bool().is_none() {
            self.wrong_type(key, "`true` or `false`", value, problems);
        }
        value.get_ref().as_bool()
    }

    /// A whole number within bounds.
    pub fn number(&self, key: &'static str, bounds: Range<u32>, problems: &mut Problems) -> Option<u32> {
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
    pub fn choice<T: Copy>(
        &self,
        key: &'static str,
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

/// Describes for a message where a key belongs.
fn shown(title: &str) -> String {
    match title {
        "" => "at the top level".to_owned(),
        "rule" => "in `[[rule]]`".to_owned(),
        title => format!("in `[{title}]`"),
    }
}

/// A key that no reader asked for.
#[derive(Debug)]
pub(super) struct UnknownKey {
    title: &'static str,
    name: String,
    pub(super) span: Range<usize>,
}

impl UnknownKey {
    /// Returns what is said of it: message and suggestion. `tables` are those of the file with their keys.
    pub(super) fn text(&self, tables: &[(&'static str, Vec<&'static str>)]) -> (String, Option<String>) {
        let name = self.name.as_str();
        let message = format!("unknown key `{name}` {}", shown(self.title));
        let of_table = |title: &str| tables.iter().find(|(known, _)| *known == title);
        let known = of_table(self.title).map_or(&[][..], |(_, keys)| keys.as_slice());
        if let Some(nearest) = nearest_name(name, known.iter().copied()) {
            return (message, Some(format!("did you mean `{nearest}`?")));
        }
        // Most keys belong to rules.
        let others = || of_table("rule").into_iter().chain(tables.iter().filter(|(title, _)| !title.is_empty()));
        let same = others().find_map(|(title, keys)| Some((title, keys.iter().find(|key| same_key(key, name))?)));
        if let Some((title, key)) = same {
            return (message, Some(format!("`{key}` belongs {}", shown(title))));
        }
        let near = others().find_map(|(title, keys)| Some((title, nearest_name(name, keys.iter().copied())?)));
        if let Some((title, key)) = near {
            return (message, Some(format!("did you mean `{key}` {}?", shown(title))));
        }
        (message, suggest(name, known))
    }
}
