//! The keys of a rule that choose values of a call: `arguments`, `result`, `argument-length`, `render`.

use serde_json::{Value as Json, json};
use serde_spanned::Spanned;
use toml::de::DeValue;

use super::model::Rule;
use super::problems::Problems;
use super::table_reader::{TableReader, kind};
use super::value_kind::ValueKind;
use crate::level::Level;
use crate::rules::capture::{ArgumentKey, Capture};
use crate::rules::nearest_name::nearest_name;

/// Words with a meaning of their own.
const WORDS: [&str; 2] = ["all", "this"];
/// A method has at most 255 arguments (JVMS 4.11).
const LAST_ARGUMENT: u16 = 254;
const HELP: &str = "write `\"all\"`, or a list of numbers (from 0), names of parameters, and `\"this\"`; `!` in front leaves a parameter out";

impl Rule {
    /// The values of a call that the rule asks for, if there are some.
    pub fn capture(&self) -> Option<Capture> {
        let arguments: Vec<ArgumentKey> = self.arguments.iter().map(|key| key.get_ref().clone()).collect();
        let result = self.result.as_ref().is_some_and(|result| *result.get_ref());
        let capture = Capture { arguments, result, length: self.argument_length, render: self.render };
        (result || !capture.arguments.is_empty()).then_some(capture)
    }
}

/// Numbers and names of parameters, and words with a meaning of their own.
#[derive(Debug)]
pub(super) struct Arguments;

impl ValueKind for Arguments {
    type Value = Vec<Spanned<ArgumentKey>>;

    fn read(&self, key: &'static str, table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Self::Value> {
        let value = table.value(key)?;
        let Some(list) = value.get_ref().as_array() else {
            let key = read_key(value, problems);
            doubt_word(value, problems);
            return Some(key.into_iter().collect());
        };
        if list.is_empty() {
            problems.error(value.span(), "`arguments` is an empty list", Some(format!("{HELP}, or leave the key out")));
        }
        let mut keys: Vec<Spanned<ArgumentKey>> = Vec::new();
        for item in list.iter() {
            let Some(key) = read_key(item, problems) else { continue };
            if keys.iter().any(|known| known.get_ref() == key.get_ref()) {
                problems.warning(item.span(), "this argument is listed twice", Some("once is enough".to_owned()));
            } else {
                keys.push(key);
            }
        }
        Some(keys)
    }

    fn schema(&self) -> Json {
        let text = json!({ "type": "string", "minLength": 1 });
        let number = json!({ "type": "integer", "minimum": 0, "maximum": LAST_ARGUMENT });
        json!({ "anyOf": [
            text, number,
            { "type": "array", "minItems": 1, "items": { "anyOf": [text, number] } },
        ] })
    }

    fn summary(&self) -> String {
        format!("string, 0 to {LAST_ARGUMENT}, or list of them")
    }
}

/// A word alone that is nearly one of those that mean something. In a list it is surely a name.
fn doubt_word(value: &Spanned<DeValue<'_>>, problems: &mut Problems) {
    let Some(word) = value.get_ref().as_str() else { return };
    if let Some(nearest) = nearest_name(word, WORDS).filter(|nearest| *nearest != word) {
        let message = format!("`{word}` is taken for the name of a parameter");
        let help = format!("did you mean `{nearest}`? If there is such a parameter, write `[\"{word}\"]`");
        problems.warning(value.span(), message, Some(help));
    }
}

fn read_key(value: &Spanned<DeValue<'_>>, problems: &mut Problems) -> Option<Spanned<ArgumentKey>> {
    let message = match value.get_ref() {
        DeValue::String(text) if text.is_empty() => "an argument without a name".to_owned(),
        DeValue::String(text) => return Some(Spanned::new(value.span(), ArgumentKey::of_text(text))),
        DeValue::Integer(number) => {
            let number = u16::from_str_radix(number.as_str(), number.radix()).ok();
            match number.filter(|number| *number <= LAST_ARGUMENT) {
                Some(number) => return Some(Spanned::new(value.span(), ArgumentKey::Index(number))),
                None => format!("there is no such argument: numbers go from 0 to {LAST_ARGUMENT}"),
            }
        }
        other => format!("`arguments` is made of numbers and names, this is {}", kind(other)),
    };
    problems.error(value.span(), message, Some(HELP.to_owned()));
    None
}

/// Warnings about keys that change nothing.
pub(super) fn check(rule: &Rule, table: &TableReader<'_, '_>, problems: &mut Problems) {
    if rule.capture().is_none() {
        for key in ["argument-length", "render"].into_iter().filter(|key| table.value(key).is_some()) {
            let help = "add `arguments = \"all\"` or `result = true`, or leave the key out";
            problems.warning(table.span(key), format!("`{key}` without values says nothing"), Some(help.to_owned()));
        }
    } else if rule.level.as_ref().is_some_and(|level| *level.get_ref() == Level::Off) {
        let key = if rule.arguments.is_empty() { "result" } else { "arguments" };
        let help = "use level `watch`, which shows the values of slow calls; live probes can be switched to it";
        problems.warning(table.span(key), "at level `off` no call is recorded, and so no value", Some(help.to_owned()));
    }
}
