//! Which probes a request to change levels means: methods by name, or all of a category; and what of them cannot change.

use std::collections::BTreeMap;

use control::Fixed;
use instrument_core::level::Level;
use instrument_core::rules::patterns::NameGlob;
use instrument_core::selection::RuleSet;
use instrument_core::template::TemplateLibrary;
use instrument_core::template::category::{self, is_within};
use records::probe_registry::ProbeDescription;

/// The probes that a request means.
#[derive(Debug)]
pub(crate) enum LiveSelection {
    /// Methods, as `package.Class.method` with `*`.
    Methods(NameGlob),
    /// Methods whose template has this category or one that refines it.
    Category(String),
}

impl LiveSelection {
    /// Reads a request: `category:database`, or a pattern of methods.
    pub(crate) fn parse(text: &str) -> Result<LiveSelection, String> {
        match text.strip_prefix(category::PREFIX) {
            Some("") => Err("no category after `category:`".to_owned()),
            Some(category) => Ok(LiveSelection::Category(category.to_owned())),
            None => NameGlob::method(text).map(LiveSelection::Methods).map_err(|error| error.message),
        }
    }

    /// As it was asked for.
    pub(crate) fn text(&self) -> String {
        match self {
            LiveSelection::Methods(methods) => methods.text().replace('/', "."),
            LiveSelection::Category(category) => format!("{}{category}", category::PREFIX),
        }
    }

    /// Whether the probe is meant.
    pub(crate) fn takes(&self, probe: &ProbeDescription, templates: &TemplateLibrary) -> bool {
        match self {
            LiveSelection::Methods(methods) => methods.matches(probe.method.replace('.', "/").as_bytes()),
            LiveSelection::Category(category) => is_within(category_of(&probe.template, templates), category),
        }
    }

    /// Whether a list has the probe: it is meant, or the pattern names its class.
    pub(crate) fn lists(&self, probe: &ProbeDescription, templates: &TemplateLibrary) -> bool {
        let names_class = || match self {
            LiveSelection::Methods(pattern) => {
                let class = probe.method.rsplit_once('.').map_or("", |(class, _)| class);
                pattern.matches(class.replace('.', "/").as_bytes())
            }
            LiveSelection::Category(_) => false,
        };
        self.takes(probe, templates) || names_class()
    }

    /// Why nothing can be meant at all: there is no such category.
    pub(crate) fn unknown(&self, templates: &TemplateLibrary) -> Option<String> {
        let LiveSelection::Category(category) = self else { return None };
        templates.unknown_category(category)
    }
}

/// The category of a template.
pub(crate) fn category_of<'t>(template: &str, templates: &'t TemplateLibrary) -> &'t str {
    templates.iter().find(|(_, known)| known.name == template).map_or("", |(_, known)| known.category.as_str())
}

/// Those of the probes that keep their level, by template.
pub(crate) fn fixed<'p>(
    meant: impl Iterator<Item = &'p ProbeDescription>,
    rules: &RuleSet,
    templates: &TemplateLibrary,
) -> Vec<Fixed> {
    let mut counts: BTreeMap<(&str, Level), usize> = BTreeMap::new();
    for probe in meant.filter(|probe| !probe.live) {
        *counts.entry((&probe.template, probe.level)).or_default() += 1;
    }
    let fixed = |((template, level), methods): ((&str, Level), usize)| {
        let uses = |names: &[String]| names.iter().any(|name| name == template);
        let with_template = rules.rules().iter().filter(|rule| uses(rule.template_names()));
        let reason = match templates.find_live(template) {
            None => "it has no variant with `@Template(live = true)`",
            Some(_) => "these methods were instrumented by an earlier session, or by rules without `live = true`",
        };
        Fixed {
            rules: with_template.map(|rule| rule.name().to_owned()).collect(),
            template: template.to_owned(),
            methods,
            level: level.name().to_owned(),
            reason: reason.to_owned(),
        }
    };
    counts.into_iter().map(fixed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::setup;

    fn probe(method: &str, template: &str, live: bool) -> ProbeDescription {
        let (method, descriptor) = (method.to_owned(), "()V".to_owned());
        ProbeDescription {
            number: 1,
            method,
            descriptor,
            template: template.into(),
            level: Level::Time,
            live,
            context: "".into(),
        }
    }

    #[test]
    fn a_request_means_methods_or_a_category() {
        let setup = setup::from_text("[[rule]]\nclass = 'a.B'\n", "c.toml").unwrap();
        let (timed, jdbc) = (probe("a.B.c", "timed", true), probe("a.Driver.execute", "jdbc", true));
        let takes =
            |text: &str, probe: &ProbeDescription| LiveSelection::parse(text).unwrap().takes(probe, &setup.templates);
        assert!(takes("a.**", &timed) && takes("a.**", &jdbc) && !takes("b.**", &timed));
        assert!(takes("a.B.<init>", &probe("a.B.<init>", "timed", true)) && !takes("a.B.<init>", &timed));
        assert!(takes("category:database", &jdbc) && !takes("category:database", &timed));
        assert!(takes("category:catch-all", &timed) && !takes("category:catch-all", &jdbc));
        let lists =
            |text: &str, probe: &ProbeDescription| LiveSelection::parse(text).unwrap().lists(probe, &setup.templates);
        for of_class in ["a.B", "a.*", "*.B", "a.B.c"] {
            assert!(lists(of_class, &timed), "{of_class}");
        }
        assert!(!takes("a.B", &timed) && !lists("a", &timed) && !lists("a.B.d", &timed) && !lists("a.Driver", &timed));
        let oracle = LiveSelection::parse("category:database/oracle").unwrap();
        assert!(!oracle.takes(&jdbc, &setup.templates), "a category is not one that refines it");
        assert!(oracle.unknown(&setup.templates).is_some());
        assert_eq!(LiveSelection::parse("category:database").unwrap().text(), "category:database");
        assert_eq!(LiveSelection::parse("a.**").unwrap().text(), "a.**");
        for wrong in ["category:", "a..b"] {
            assert!(LiveSelection::parse(wrong).is_err(), "{wrong}");
        }
        let unknown = LiveSelection::parse("category:databse").unwrap().unknown(&setup.templates);
        let unknown = unknown.unwrap();
        assert!(
            unknown.starts_with("no template has the category `databse`; there are catch-all, database, "),
            "{unknown}"
        );
        assert_eq!(LiveSelection::parse("category:socket").unwrap().unknown(&setup.templates), None);
    }

    #[test]
    fn what_cannot_change_is_listed_by_template_with_its_rules() {
        let text = "[[rule]]\nname = 'bills'\nclass = 'a.B'\ntemplate = 'jdbc-prepare'\n";
        let setup = setup::from_text(text, "c.toml").unwrap();
        let probes =
            [probe("a.B.c", "jdbc-prepare", false), probe("a.B.d", "jdbc-prepare", false), probe("a", "timed", true)];
        let fixed = fixed(probes.iter(), &setup.rules, &setup.templates);
        let kept: Vec<_> =
            fixed.iter().map(|fixed| (fixed.rules.join(" "), fixed.methods, fixed.level.as_str())).collect();
        assert_eq!(kept, [("bills".to_owned(), 2, "time")]);
        assert!(fixed[0].reason.contains("live = true"), "{}", fixed[0].reason);
    }
}
