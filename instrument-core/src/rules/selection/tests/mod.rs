//! Rules against classes built for the purpose.

mod classes;
mod compiling;
mod conditions;
mod explaining;
mod methods;
mod presets;
mod reach;
mod unread;

use std::collections::HashMap;
use std::sync::Arc;

use classfile::{ClassFile, HeadMemory};

use super::class_builder::ClassBuilder;
use super::{
    ClassContext, ClassDecision, Hierarchy, MethodDecision, NoFactsYet, RuleSet, Supertypes, TemplateCatalog,
    UnknownOrigin,
};
use crate::level::Level;
use crate::rules::config::{Diagnostic, RuleFile};
use crate::weave::template::{TemplateId, category};

/// Some templates, each for all levels except `no-full`.
pub(super) struct Catalog(pub(super) &'static [&'static str]);

pub(super) const CATALOG: Catalog = Catalog(&["timed", "logged", "no-full"]);

impl TemplateCatalog for Catalog {
    fn find(&self, name: &str, level: Level) -> Option<TemplateId> {
        let at = self.0.iter().position(|known| *known == name)?;
        (name != "no-full" || level != Level::Full).then_some(TemplateId(at as u32))
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|name| (*name).to_owned()).collect()
    }

    fn of_category(&self, category: &str) -> Option<String> {
        category::with_parents(category).find(|known| *known == "log").map(|_| "logged".to_owned())
    }

    fn categories(&self) -> Vec<String> {
        vec!["log".to_owned()]
    }
}

/// Types that can be found; a text like `a/B: a/Base, a/Interface` for each.
#[derive(Default)]
pub(super) struct Types(HashMap<Vec<u8>, Arc<Supertypes>>);

impl Types {
    pub(super) fn new(lines: &[&str]) -> Types {
        Types(lines.iter().map(|line| Types::entry(line)).collect())
    }

    fn entry(line: &str) -> (Vec<u8>, Arc<Supertypes>) {
        let (name, supers) = line.split_once(':').unwrap();
        let names = supers.split(',').map(|name| name.trim().as_bytes()).filter(|name| !name.is_empty());
        let supertypes = Supertypes::named(names);
        (name.as_bytes().to_vec(), Arc::new(supertypes))
    }
}

impl Hierarchy for Types {
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.0.get(internal_name).cloned()
    }
}

pub(super) fn compile(text: &str) -> Result<RuleSet, Vec<Diagnostic>> {
    let (config, _) = RuleFile::parse(text, "test.toml")?;
    RuleSet::compile(config.tables(), &CATALOG, &[])
}

pub(super) fn rules(text: &str) -> RuleSet {
    compile(text).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

pub(super) fn never_never(_: &[u8], _: &[u8], _: &[u8]) -> bool {
    false
}

/// A class with these super types of which nothing else is known.
pub(super) fn context(hierarchy: &dyn Hierarchy) -> ClassContext<'_> {
    ClassContext {
        hierarchy,
        origin: &UnknownOrigin,
        facts: &NoFactsYet,
        never: &never_never,
        delegates: &[],
        reach: None,
    }
}

/// The decision; a class that does not pass the first look must have none.
fn decision_of(rules: &RuleSet, class: &ClassFile<'_>, types: &Types) -> ClassDecision {
    let decision = rules.decide(class, &context(types));
    let mut memory = HeadMemory::default();
    let look = rules.first_look(class.bytes(), &mut memory).unwrap();
    let may_take = rules.may_take(&look, &context(types));
    let is_none = decision.chosen().next().is_none() && decision.unresolved.is_empty();
    assert!(may_take || is_none, "the first look must not lose {}", class.this_class());
    decision
}

/// For each method `name rule-number` or `name skip-key`.
pub(super) fn decide(rules: &RuleSet, class: &[u8], types: &Types) -> Vec<String> {
    let class = ClassFile::parse(class).unwrap();
    let decision = decision_of(rules, &class, types);
    assert_eq!(decision.methods.len(), class.methods().len());
    let shown = class.methods().iter().zip(&decision.methods).map(|(method, decision)| match decision {
        MethodDecision::Chosen(chosen) => format!("{} {}", method.name, chosen.rule),
        MethodDecision::Skipped(reason) => format!("{} {}", method.name, reason.key()),
    });
    shown.collect()
}

/// A class with one method `run`, asked at level `time`; true if some rule takes it.
pub(super) fn takes(rule: &str, class: ClassBuilder, types: &Types) -> bool {
    let rules = rules(&format!("[[rule]]\nlevel = 'time'\n{rule}"));
    let bytes = class.method("run", "()V", super::class_builder::RETURNS).build();
    let class = ClassFile::parse(&bytes).unwrap();
    let decision = decision_of(&rules, &class, types);
    let chosen = decision.chosen().count() == 1;
    assert!(!chosen || rules.wants_name(class.this_class().0), "wants_name must not lose {}", class.this_class());
    chosen
}
