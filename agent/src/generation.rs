//! What is wanted by one reading of the configuration: rules, templates, the engine with these, types that rules ask for. Nothing in it changes; a
//! reload replaces all of it at once.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use instrument_core::selection::{Chosen, CompiledRule, RuleReach, RuleSet, Untouchable};
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions};

use crate::hierarchy::TypeIndex;
use crate::parameter_doubts::ParameterDoubts;
use crate::setup::Setup;

/// One generation.
#[derive(Debug)]
pub(crate) struct Generation {
    /// 1 for that of the start.
    pub(crate) number: u32,
    /// Configuration, templates and rules.
    pub(crate) setup: Setup,
    /// The engine with these templates.
    pub(crate) engine: Engine,
    /// Known super types, as far as these rules need them.
    pub(crate) types: Arc<TypeIndex>,
    /// What rules ask for and no method has.
    pub(crate) doubts: ParameterDoubts,
    /// How far each rule got with the classes up to now.
    pub(crate) reach: RuleReach,
    /// Methods that are never instrumented, computed when a class of the JDK is first decided.
    untouchable: OnceLock<Untouchable>,
}

impl Generation {
    /// The generation of the start, for a JVM at `java_home` that was started then or later.
    pub(crate) fn first(java_home: PathBuf, started: SystemTime, setup: Setup) -> Generation {
        let types = Arc::new(TypeIndex::new(java_home, started, &setup.rules));
        Generation::new(1, setup, types)
    }

    fn new(number: u32, setup: Setup, types: Arc<TypeIndex>) -> Generation {
        let engine = Engine::new(Arc::clone(&setup.templates), EngineOptions::default());
        let reach = RuleReach::new(&setup.rules);
        Generation { number, setup, engine, types, reach, doubts: ParameterDoubts::new(), untouchable: OnceLock::new() }
    }

    /// The next one, with this configuration. What is known of super types is kept if the rules ask for the same types.
    pub(crate) fn next(&self, setup: Setup) -> Generation {
        let types = self.types.for_rules(&setup.rules).map_or_else(|| Arc::clone(&self.types), Arc::new);
        Generation::new(self.number + 1, setup, types)
    }

    /// Whether the templates are others than in this one, so that every instrumented class differs.
    pub(crate) fn has_other_templates(&self, other: &Generation) -> bool {
        self.setup.own_templates() != other.setup.own_templates()
    }

    /// The rules.
    pub(crate) fn rules(&self) -> &RuleSet {
        &self.setup.rules
    }

    /// The templates.
    pub(crate) fn templates(&self) -> &TemplateLibrary {
        &self.setup.templates
    }

    /// The rule that has chosen a method.
    pub(crate) fn rule_of(&self, chosen: &Chosen) -> Option<&CompiledRule> {
        self.rules().rules().get(chosen.rule)
    }

    /// Whether a method that the rules want must be left alone all the same.
    pub(crate) fn is_untouchable(&self, class: &[u8], method: &[u8], descriptor: &[u8]) -> bool {
        if !Untouchable::concerns(class) {
            return false;
        }
        let untouchable = self.untouchable.get_or_init(|| self.setup.untouchable(&|name| self.types.jdk_class(name)));
        untouchable.contains(class, method, descriptor)
    }
}
