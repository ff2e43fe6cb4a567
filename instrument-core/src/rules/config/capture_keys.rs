//! The keys of a rule that choose values of a call: `arguments`, `result`, `argument-length`, `render`.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_spanned::Spanned;
use toml::de::DeValue;

use super::model::Rule;
use super::problems::Problems;
use super::table_reader::{TableReader, kind};
use crate::level::Level;
use crate::rules::capture::{ArgumentKey, Capture, DEFAULT_VALUE_LENGTH, LONGEST_VALUE, Render};
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
        let length = self.argument_length.unwrap_or(DEFAULT_VALUE_LENGTH);
        let capture = Capture { arguments, result, length, render: self.render.unwrap_or_default() };
        (result || !capture.arguments.is_empty()).then_some(capture)
    }
}

pub(super) fn read_length(table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<u16> {
    let length = table.number("argument-length", 1..u32::from(LONGEST_VALUE) + 1, problems)?;
    u16::try_from(length).ok()
}

pub(super) fn read_render(table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Render> {
    let ways = Render::ALL.map(|render| (render.name(), render));
    table.choice("render", &ways, problems).map(Spanned::into_inner)
}

pub(super) fn read_arguments(table: &TableReader<'_, '_>, problems: &mut Problems) -> Vec<Spanned<ArgumentKey>> {
    let Some(value) = table.value("arguments") else { return Vec::new() };
    let Some(list) = value.get_ref().as_array() else {
        let key = read_key(value, problems);
        doubt_word(value, problems);
        return key.into_iter().collect();
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
    keys
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

/// `"all"`, a number, a name, or a list of them.
pub(super) fn argument_keys(_: &mut SchemaGenerator) -> Schema {
    let text = json_schema!({ "type": "string", "minLength": 1 });
    let number = json_schema!({ "type": "integer", "minimum": 0, "maximum": LAST_ARGUMENT });
    json_schema!({ "anyOf": [
        text, number,
        { "type": "array", "minItems": 1, "items": { "anyOf": [text, number] } },
    ] })
}
