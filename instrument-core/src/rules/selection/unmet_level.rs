//! Rules with a level that their template does not have. They are reported, because the recording will contain another level.

use std::fmt;

use super::{CompiledRule, RuleSet};
use crate::level::Level;
use crate::weave::template::{Template, TemplateLibrary};

/// A rule that states a level, and a template of it that records its calls at another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetLevel {
    /// Name of the rule.
    pub rule: String,
    /// File and line of the rule.
    pub origin: String,
    /// What the rule states.
    pub stated: Level,
    /// Name of the template.
    pub template: String,
    /// The level of the variant that is used.
    pub used: Level,
}

impl UnmetLevel {
    /// All of them, in the order of the rules. Templates that record no calls of their own do the same at each level.
    pub fn find(rules: &RuleSet, templates: &TemplateLibrary) -> Vec<UnmetLevel> {
        let stated = rules.rules().iter().filter(|rule| rule.states_level());
        let uses = stated.flat_map(|rule| rule.templates().iter().map(move |id| (rule, *id)));
        let known = uses.filter_map(|(rule, id)| Some((rule, templates.get(id)?)));
        known.filter_map(|(rule, template)| unmet(rule, template)).collect()
    }
}

fn unmet(rule: &CompiledRule, template: &Template) -> Option<UnmetLevel> {
    let is_met = template.live || !template.records() || template.level == rule.level();
    (!is_met).then(|| UnmetLevel {
        rule: rule.name().to_owned(),
        origin: rule.origin().to_owned(),
        stated: rule.level(),
        template: template.name.clone(),
        used: template.level,
    })
}

impl fmt::Display for UnmetLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnmetLevel { rule, origin, stated, template, used } = self;
        write!(
            f,
            "warning: rule {rule} ({origin}) asks for level {stated}, but its template `{template}` has neither a variant of this \
             level nor one with `@Template(live = true)`, which would be for all: it is used at level {used}"
        )
    }
}
