//! Which variants of templates the rules of a configuration use: those for a fixed level, or live ones, whose level can change.
//!
//! Decided here for agent and command line alike: what `instr dump`, `explain` and `pre` show or write is what the agent inserts.

use instrument_core::level::Level;
use instrument_core::rules::nearest_name::suggest;
use instrument_core::selection::{RuleSet, TemplateCatalog};
use instrument_core::template::{TemplateId, TemplateLibrary, category};

use crate::claims::ContextConfig;
use crate::tables::monitor_tables::SlowCallsConfig;
use crate::{Config, Diagnostic};

impl Config {
    /// Whether the configuration asks for probes whose level can be set to any other one at any time.
    pub fn wants_live(&self) -> bool {
        self.control.live || self.governor.wants_live() || self.slow_calls.iter().any(|of| of.detail.is_some())
    }

    /// Compiles the rules, with the variants of templates that this configuration asks for. `presets` are pairs of name and rule file.
    pub fn compile_rules(
        &self,
        templates: &TemplateLibrary,
        presets: &[(&str, &str)],
    ) -> Result<RuleSet, Vec<Diagnostic>> {
        let rules = if self.wants_live() || self.governor.budget().is_some() {
            let live = LiveVariants { library: templates, all_levels: self.wants_live() };
            RuleSet::compile(self.rule_tables(), &live, presets)
        } else {
            RuleSet::compile(self.rule_tables(), templates, presets)
        };
        let of_contexts = self.contexts.iter().filter_map(|of| self.no_template(of, templates));
        let of_slow_calls = self.slow_calls.iter().filter_map(|of| self.no_category(of, templates));
        let unknown: Vec<Diagnostic> = of_contexts.chain(of_slow_calls).collect();
        match rules {
            Ok(rules) if unknown.is_empty() => Ok(rules),
            Ok(_) => Err(unknown),
            Err(problems) => Err(problems.into_iter().chain(unknown).collect()),
        }
    }

    /// Returns what is wrong with the category of slow calls.
    fn no_category(&self, slow_calls: &SlowCallsConfig, templates: &TemplateLibrary) -> Option<Diagnostic> {
        let methods = slow_calls.methods.as_ref()?;
        let category = methods.get_ref().strip_prefix(category::PREFIX)?;
        let message = templates.unknown_category(category)?;
        let suggestion = suggest(category, &templates.categories());
        Some(Diagnostic { suggestion, ..self.source.error(methods.span(), message) })
    }

    /// Returns what is wrong with the template of a context.
    fn no_template(&self, context: &ContextConfig, templates: &TemplateLibrary) -> Option<Diagnostic> {
        let stated = context.template.as_ref().filter(|name| templates.find_live(name.get_ref()).is_none())?;
        let (name, names): (_, Vec<&str>) = (stated.get_ref().as_str(), templates.names().collect());
        let (message, suggestion) = match names.contains(&name) {
            true => {
                (format!("template `{name}` has no variant with `@Template(live = true)`, which contexts need"), None)
            }
            false => (format!("unknown template `{name}`"), suggest(name, &names)),
        };
        Some(Diagnostic { suggestion, ..self.source.error(stated.span(), message) })
    }
}

/// A library in which a live variant is used instead of the one for a level: for all levels, or only for those that the governor may
/// have to lower.
struct LiveVariants<'a> {
    library: &'a TemplateLibrary,
    all_levels: bool,
}

impl LiveVariants<'_> {
    fn is_live(&self, level: Level) -> bool {
        self.all_levels || matches!(level, Level::Time | Level::Full)
    }
}

impl TemplateCatalog for LiveVariants<'_> {
    fn find(&self, name: &str, level: Level) -> Option<TemplateId> {
        let live = if self.is_live(level) { self.library.find_live(name) } else { None };
        live.or_else(|| self.library.find(name, level))
    }

    fn find_capturing(&self, name: &str, level: Level) -> Option<TemplateId> {
        let live = if self.is_live(level) { self.library.find_live_capturing(name) } else { None };
        live.or_else(|| self.library.find_capturing(name, level))
    }

    fn content(&self, template: TemplateId) -> u64 {
        TemplateCatalog::content(self.library, template)
    }

    fn names(&self) -> Vec<String> {
        TemplateCatalog::names(self.library)
    }

    fn of_category(&self, category: &str) -> Option<String> {
        TemplateCatalog::of_category(self.library, category)
    }

    fn categories(&self) -> Vec<String> {
        TemplateCatalog::categories(self.library)
    }
}
