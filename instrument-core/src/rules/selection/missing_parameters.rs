//! Names of parameters that a rule asks for and that none of its methods has: most likely misspelt, which cannot be decided from a single method.

use std::collections::{BTreeMap, BTreeSet};

use classfile::descriptor::MethodDescriptor;
use classfile::{ClassFile, Member};

use super::rule::CompiledRule;
use crate::rules::capture::resolved::NO_NAMES;
use crate::rules::capture::{ArgumentKey, Capture, parameter_names};
use crate::rules::nearest_name::nearest_name;

/// Largest number of parameter names that are listed in a message.
const LISTED: usize = 10;

/// Which names were found in the methods that rules took up to now.
#[derive(Debug, Default)]
pub struct MissingParameters {
    /// By the number of the rule.
    rules: BTreeMap<usize, Asked>,
}

/// What one rule asks for by name.
#[derive(Debug)]
struct Asked {
    /// Not found yet.
    missing: Vec<String>,
    methods: usize,
    /// Some of those that the methods have.
    known: BTreeSet<String>,
}

impl Asked {
    fn of(capture: &Capture) -> Asked {
        let named = capture.arguments.iter().filter_map(|key| match key {
            ArgumentKey::Name(name) | ArgumentKey::Except(name) => Some(name.clone()),
            ArgumentKey::Receiver | ArgumentKey::All | ArgumentKey::Index(_) => None,
        });
        Asked { missing: named.collect(), methods: 0, known: BTreeSet::new() }
    }

    fn note(&mut self, class: &ClassFile<'_>, method: &Member<'_>) {
        let Ok(descriptor) = MethodDescriptor::parse(method.descriptor.as_bytes()) else { return };
        self.methods += 1;
        for name in parameter_names::of(class, method, &descriptor).into_iter().flatten() {
            self.missing.retain(|missing| *missing != name);
            if self.known.len() < LISTED {
                self.known.insert(name);
            }
        }
    }

    fn line(&self, missing: &str, rule: &CompiledRule) -> String {
        let of = match self.methods {
            1 => "its only method has no".to_owned(),
            methods => format!("none of its {methods} methods has a"),
        };
        let candidates = self.known.iter().map(String::as_str).chain(["all", "this"]);
        let help = match nearest_name(missing, candidates) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if self.known.is_empty() => format!("{NO_NAMES}, or none has parameters"),
            None => format!("they have {}", self.known.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
        };
        format!("rule {} ({}): {of} parameter `{missing}`; {help}", rule.name(), rule.origin())
    }
}

impl MissingParameters {
    /// The rule of this number took a method, of which it wants these values.
    pub fn note(&mut self, rule: usize, capture: &Capture, class: &ClassFile<'_>, method: &Member<'_>) {
        let asked = self.rules.entry(rule).or_insert_with(|| Asked::of(capture));
        if !asked.missing.is_empty() {
            asked.note(class, method);
        }
    }

    /// A sentence for each name that no method of its rule had.
    pub fn lines(&self, rules: &[CompiledRule]) -> Vec<String> {
        let known = self.rules.iter().filter_map(|(number, asked)| Some((rules.get(*number)?, asked)));
        known.flat_map(|(rule, asked)| asked.missing.iter().map(|missing| asked.line(missing, rule))).collect()
    }
}
