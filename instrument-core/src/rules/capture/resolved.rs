//! What a rule's wishes come to in one method.

use classfile::descriptor::MethodDescriptor;
use classfile::{ClassFile, Member, access};

use super::{ArgumentKey, Capture, Render, parameter_names};
use crate::rules::nearest_name::nearest_name;
use crate::weave::captured::{CapturedValue, CapturedValues};
use crate::weave::starts_uninitialised;

/// The values that are captured in one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedMethod {
    /// The values with their names, in the order in which they are shown.
    pub values: Vec<(CapturedValue, String)>,
    /// What was asked for and is not captured, and why.
    pub notes: Vec<String>,
    length: u32,
    render: Render,
}

impl CapturedMethod {
    /// Resolves `capture` for this method; a method whose descriptor cannot be read captures nothing.
    pub fn of(class: &ClassFile<'_>, method: &Member<'_>, capture: &Capture) -> CapturedMethod {
        let mut captured =
            CapturedMethod { values: Vec::new(), notes: Vec::new(), length: capture.length, render: capture.render };
        let Ok(descriptor) = MethodDescriptor::parse(method.descriptor.as_bytes()) else { return captured };
        let names = parameter_names::of(class, method, &descriptor);
        captured.add_arguments(&capture.arguments, &names, (class, method));
        match (capture.result, descriptor.return_type()) {
            (true, Some(_)) => captured.values.push((CapturedValue::Result, "return".to_owned())),
            (true, None) => captured.notes.push("no result: the method returns nothing".to_owned()),
            (false, _) => {}
        }
        captured
    }

    fn add_arguments(
        &mut self,
        keys: &[ArgumentKey],
        names: &[Option<String>],
        (class, method): (&ClassFile<'_>, &Member<'_>),
    ) {
        let is_left_out = |name: &str| keys.iter().any(|key| matches!(key, ArgumentKey::Except(left) if left == name));
        let leaves_out = keys.iter().any(|key| matches!(key, ArgumentKey::Except(_)));
        if leaves_out && names.iter().any(Option::is_none) {
            self.notes.push(format!("no arguments: some are to be left out, but {NO_NAMES}"));
            return;
        }
        for key in keys {
            match key {
                ArgumentKey::Except(_) => {}
                ArgumentKey::Receiver => self.add_receiver(class, method),
                ArgumentKey::All => (0..names.len()).for_each(|index| self.add(index as u16, names)),
                ArgumentKey::Index(index) if usize::from(*index) < names.len() => self.add(*index, names),
                ArgumentKey::Index(index) => self.notes.push(no_argument(*index, names.len())),
                ArgumentKey::Name(name) => self.add_named(name, names),
            }
        }
        self.values.retain(|(value, _)| match value {
            CapturedValue::Argument(index) => {
                let name = names.get(usize::from(*index)).and_then(Option::as_deref);
                !name.is_some_and(is_left_out)
            }
            _ => true,
        });
    }

    fn add_receiver(&mut self, class: &ClassFile<'_>, method: &Member<'_>) {
        if method.has(access::STATIC) {
            self.notes.push("no `this`: the method is static".to_owned());
        } else if starts_uninitialised(class, method) {
            self.notes.push("no `this`: before `super()` nothing may look at it".to_owned());
        } else if !self.has(CapturedValue::Receiver) {
            self.values.push((CapturedValue::Receiver, "this".to_owned()));
        }
    }

    fn add(&mut self, index: u16, names: &[Option<String>]) {
        let value = CapturedValue::Argument(index);
        if !self.has(value) {
            let known = names.get(usize::from(index)).cloned().flatten().filter(|name| !name.is_empty());
            self.values.push((value, known.map_or_else(|| format!("arg{index}"), |name| shown(&name))));
        }
    }

    fn add_named(&mut self, wanted: &str, names: &[Option<String>]) {
        match names.iter().position(|name| name.as_deref() == Some(wanted)) {
            Some(index) => self.add(index as u16, names),
            None if names.is_empty() => self.notes.push(format!("no argument `{wanted}`: the method has none")),
            None if names.iter().all(Option::is_none) => {
                self.notes.push(format!("no argument `{wanted}`: {NO_NAMES}; use its number, from 0"))
            }
            None => {
                let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
                let meant = nearest_name(wanted, known.iter().copied().chain(["all", "this"]));
                let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                self.notes.push(format!("no argument `{wanted}`: they are {}{meant}", known.join(", ")));
            }
        }
    }

    fn has(&self, value: CapturedValue) -> bool {
        self.values.iter().any(|(known, _)| *known == value)
    }

    /// Returns what a template is given: the values and, as its constant, the most characters of each, a letter for how objects are shown
    /// (upper case if the last value is the result), and their names.
    pub fn for_template(&self) -> CapturedValues {
        let has_result = self.has(CapturedValue::Result);
        let letter = match (self.render, has_result) {
            (Render::Identity, false) => 'i',
            (Render::Identity, true) => 'I',
            (Render::ToString, false) => 's',
            (Render::ToString, true) => 'S',
        };
        let mut form = format!("{}{letter}", self.length);
        for (at, (_, name)) in self.values.iter().enumerate() {
            form.push_str(if at == 0 { "" } else { "," });
            form.push_str(name);
        }
        CapturedValues { values: self.values.iter().map(|(value, _)| *value).collect(), form }
    }
}

pub(in crate::rules) const NO_NAMES: &str =
    "the class was compiled without names of parameters (javac -parameters or -g)";

fn no_argument(index: u16, count: usize) -> String {
    match count {
        0 => format!("no argument {index}: the method has none"),
        1 => format!("no argument {index}: the method has only argument 0"),
        count => format!("no argument {index}: the method has arguments 0 to {}", count - 1),
    }
}

/// A name may be almost any text; what has a meaning in the text of a recording is replaced.
fn shown(name: &str) -> String {
    let is_special =
        |c: char| c.is_whitespace() || c.is_control() || c > '\u{ffff}' || matches!(c, ',' | '=' | '"' | '\\');
    name.chars().map(|c| if is_special(c) { '_' } else { c }).collect()
}
