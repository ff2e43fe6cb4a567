//! The kinds of values that keys have. Each kind reads its values from a file, and describes them for the JSON Schema and for
//! `docs/configuration.md`: a bound or a word is written once, where the key is declared.

use core::time::Duration;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use serde_json::{Value as Json, json};
use serde_spanned::Spanned;

use super::problems::Problems;
use super::table_reader::TableReader;
use super::time::{HOW_TO_WRITE_TIMES, PATTERN, parse_time, written_time};
use crate::rules::nearest_name::{nearest_name, quoted_list};
use crate::rules::patterns::pattern_error::PatternError;
use crate::words::Words;

/// What the value of a key can be.
pub trait ValueKind {
    /// What is read.
    type Value;

    /// Returns the value of a key; `None` if the key is missing, or if its value is wrong, which is then reported.
    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Self::Value>;

    /// Returns the JSON Schema of the values.
    fn schema(&self) -> Json;

    /// Returns a few words about the values, for `docs/configuration.md`.
    fn summary(&self) -> String;

    /// Returns a default as it is written in a file; null if it cannot be written, such as an empty list.
    fn written(&self, _default: &Self::Value) -> Json {
        Json::Null
    }
}

/// `true` or `false`.
#[derive(Debug)]
pub struct Boolean;

impl ValueKind for Boolean {
    type Value = bool;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<bool> {
        let value = table.value(key)?;
        if value.get_ref().as_bool().is_none() {
            table.wrong_type(key, "`true` or `false`", value, problems);
        }
        value.get_ref().as_bool()
    }

    fn schema(&self) -> Json {
        json!({ "type": "boolean" })
    }

    fn summary(&self) -> String {
        "`true`, `false`".to_owned()
    }

    fn written(&self, default: &bool) -> Json {
        json!(default)
    }
}

/// A whole number within bounds.
#[derive(Debug)]
pub struct Number(RangeInclusive<u32>);

/// Returns the kind of whole numbers within these bounds.
pub fn number(bounds: RangeInclusive<u32>) -> Number {
    Number(bounds)
}

impl ValueKind for Number {
    type Value = u32;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<u32> {
        let value = table.value(key)?;
        let Some(integer) = value.get_ref().as_integer() else {
            table.wrong_type(key, "a whole number", value, problems);
            return None;
        };
        let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|n| self.0.contains(n));
        if number.is_none() {
            let message = format!("`{key}` must be between {} and {}", self.0.start(), self.0.end());
            problems.error(value.span(), message, None);
        }
        number
    }

    fn schema(&self) -> Json {
        json!({ "type": "integer", "minimum": self.0.start(), "maximum": self.0.end() })
    }

    fn summary(&self) -> String {
        format!("{} to {}", self.0.start(), self.0.end())
    }

    fn written(&self, default: &u32) -> Json {
        json!(default)
    }
}

/// A time with its unit, such as `10 ms`.
#[derive(Debug)]
pub struct Time(RangeInclusive<Duration>);

/// Returns the kind of times within these bounds.
pub fn time(bounds: RangeInclusive<Duration>) -> Time {
    Time(bounds)
}

impl ValueKind for Time {
    type Value = Duration;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Duration> {
        let text = table.string(key, "a time in quotes, such as `\"10 s\"`", problems)?;
        let Some(time) = parse_time(text.get_ref()) else {
            let message = format!("`{}` is not a time", text.get_ref());
            problems.error(text.span(), message, Some(HOW_TO_WRITE_TIMES.to_owned()));
            return None;
        };
        if !self.0.contains(&time) {
            let [least, most] = [self.0.start(), self.0.end()].map(written_time);
            problems.error(text.span(), format!("`{key}` must be between {least} and {most}"), None);
            return None;
        }
        Some(time)
    }

    fn schema(&self) -> Json {
        let examples = [written_time(self.0.start()), written_time(self.0.end())];
        json!({ "type": "string", "pattern": PATTERN, "examples": examples })
    }

    fn summary(&self) -> String {
        format!("`{}` to `{}`", written_time(self.0.start()), written_time(self.0.end()))
    }

    fn written(&self, default: &Duration) -> Json {
        json!(written_time(default))
    }
}

/// One of the words of `T`.
#[derive(Debug)]
pub struct Word<T>(PhantomData<T>);

/// Returns the kind of the words of `T`.
pub fn word<T: Words>() -> Word<T> {
    Word(PhantomData)
}

impl<T: Words> ValueKind for Word<T> {
    type Value = T;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<T> {
        let text = table.string(key, &format!("{} in quotes", quoted_words::<T>()), problems)?;
        let chosen = find_word(text.get_ref());
        if chosen.is_none() {
            unknown_word::<T>(key, "it is", &text, problems);
        }
        chosen
    }

    fn schema(&self) -> Json {
        let choices = T::WORDS.iter().map(|(_, word, about)| json!({ "const": word, "description": about.trim() }));
        json!({ "type": "string", "oneOf": choices.collect::<Json>() })
    }

    fn summary(&self) -> String {
        let words: Vec<String> = T::WORDS.iter().map(|(_, word, _)| format!("`{word}`")).collect();
        words.join(", ")
    }

    fn written(&self, default: &T) -> Json {
        T::WORDS.iter().find(|(value, _, _)| value == default).map(|(_, word, _)| *word).into()
    }
}

fn find_word<T: Words>(text: &str) -> Option<T> {
    T::WORDS.iter().find(|(_, word, _)| *word == text).map(|(value, _, _)| *value)
}

fn quoted_words<T: Words>() -> String {
    let words: Vec<&str> = T::WORDS.iter().map(|(_, word, _)| *word).collect();
    quoted_list(&words, "or")
}

fn unknown_word<T: Words>(key: &str, verb: &str, text: &Spanned<String>, problems: &mut Problems) {
    let message = format!("unknown {key} `{}`: {verb} {}", text.get_ref(), quoted_words::<T>());
    let nearest = nearest_name(text.get_ref(), T::WORDS.iter().map(|(_, word, _)| *word));
    problems.error(text.span(), message, nearest.map(|word| format!("did you mean `{word}`?")));
}

/// Some of the words of `T`.
#[derive(Debug)]
pub struct WordList<T>(PhantomData<T>);

/// Returns the kind of lists of words of `T`.
pub fn words<T: Words>() -> WordList<T> {
    WordList(PhantomData)
}

impl<T: Words> ValueKind for WordList<T> {
    type Value = Vec<T>;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Vec<T>> {
        let mut chosen = Vec::new();
        for text in table.strings(key, &format!("{} in quotes, or a list of these", quoted_words::<T>()), problems)? {
            match find_word(text.get_ref()) {
                Some(value) => chosen.push(value),
                None => unknown_word::<T>(key, "they are", &text, problems),
            }
        }
        Some(chosen)
    }

    fn schema(&self) -> Json {
        let word = word::<T>().schema();
        json!({ "anyOf": [word, { "type": "array", "items": word }] })
    }

    fn summary(&self) -> String {
        format!("list of {}", word::<T>().summary())
    }

    fn written(&self, default: &Vec<T>) -> Json {
        default.iter().map(|value| word::<T>().written(value)).collect()
    }
}

type Parse<P> = fn(&str) -> Result<P, PatternError>;

/// A string that is not empty, and what is made of it.
#[derive(Debug)]
pub struct Parsed<P> {
    parse: Parse<P>,
    form: Option<&'static str>,
}

/// Returns the kind of strings from which `parse` makes something.
pub fn parsed<P>(parse: Parse<P>) -> Parsed<P> {
    Parsed { parse, form: None }
}

/// Returns the kind of strings.
pub fn text() -> Parsed<String> {
    parsed(|text| Ok(text.to_owned()))
}

impl<P> Parsed<P> {
    /// Returns the same kind; a regular expression describes its strings in the JSON Schema.
    #[must_use]
    pub fn form(self, form: &'static str) -> Parsed<P> {
        Parsed { form: Some(form), ..self }
    }
}

impl<P> ValueKind for Parsed<P> {
    type Value = P;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<P> {
        let text = table.string(key, "a string", problems)?;
        (self.parse)(text.get_ref()).map_err(|error| problems.pattern(text.span(), text.get_ref(), error)).ok()
    }

    fn schema(&self) -> Json {
        match self.form {
            Some(form) => json!({ "type": "string", "pattern": form }),
            None => json!({ "type": "string", "minLength": 1 }),
        }
    }

    fn summary(&self) -> String {
        "string".to_owned()
    }
}

/// A string or a list of strings, and what is made of each.
#[derive(Debug)]
pub struct List<P> {
    parse: Parse<P>,
    least: usize,
    words: Option<fn() -> Vec<String>>,
}

/// Returns the kind of lists of strings from each of which `parse` makes something.
pub fn list<P>(parse: Parse<P>) -> List<P> {
    List { parse, least: 0, words: None }
}

/// Returns the kind of lists of strings.
pub fn texts() -> List<String> {
    list(|text| Ok(text.to_owned()))
}

impl<P> List<P> {
    /// Returns the same kind without the empty list, which in a condition could mean all or nothing.
    #[must_use]
    pub fn not_empty(self) -> List<P> {
        List { least: 1, ..self }
    }

    /// Returns the same kind; the JSON Schema lists all strings that `parse` reads.
    #[must_use]
    pub fn of(self, words: fn() -> Vec<String>) -> List<P> {
        List { words: Some(words), ..self }
    }

    /// Returns the same kind, read without the places of the items.
    pub fn plain(self) -> Plain<P> {
        Plain(self)
    }
}

impl<P> ValueKind for List<P> {
    type Value = Vec<Spanned<P>>;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Self::Value> {
        let value = table.value(key)?;
        if value.get_ref().as_array().is_some_and(|list| list.len() < self.least) {
            problems.error(value.span(), format!("`{key}` is an empty list"), Some("leave the key out".to_owned()));
        }
        let mut items = Vec::new();
        for text in table.strings(key, "a string or a list of strings", problems)? {
            match (self.parse)(text.get_ref()) {
                Ok(item) => items.push(Spanned::new(text.span(), item)),
                Err(error) => problems.pattern(text.span(), text.get_ref(), error),
            }
        }
        Some(items)
    }

    fn schema(&self) -> Json {
        let item = match self.words {
            Some(words) => json!({ "type": "string", "enum": words() }),
            None => json!({ "type": "string" }),
        };
        json!({ "anyOf": [item, { "type": "array", "items": item, "minItems": self.least }] })
    }

    fn summary(&self) -> String {
        "string, or list of strings".to_owned()
    }
}

/// A list without the places of its items.
#[derive(Debug)]
pub struct Plain<P>(List<P>);

impl<P> ValueKind for Plain<P> {
    type Value = Vec<P>;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Vec<P>> {
        let items = self.0.read(key, table, problems)?;
        Some(items.into_iter().map(Spanned::into_inner).collect())
    }

    fn schema(&self) -> Json {
        self.0.schema()
    }

    fn summary(&self) -> String {
        self.0.summary()
    }
}

/// A value with its place in the file, for problems that are found later.
#[derive(Debug)]
pub struct Located<K>(K);

/// Returns a kind whose values are read with their places.
pub fn located<K: ValueKind>(kind: K) -> Located<K> {
    Located(kind)
}

impl<K: ValueKind> ValueKind for Located<K> {
    type Value = Spanned<K::Value>;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Self::Value> {
        self.0.read(key, table, problems).map(|value| Spanned::new(table.span(key), value))
    }

    fn schema(&self) -> Json {
        self.0.schema()
    }

    fn summary(&self) -> String {
        self.0.summary()
    }
}
