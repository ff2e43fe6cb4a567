//! A request for probes in methods that no rule takes, as a rule: the same selection, the same refusals, the same reasons.

use std::sync::Arc;

use instrument_core::level::Level;
use instrument_core::rules::patterns::NameGlob;
use instrument_core::selection::RuleSet;
use instrument_core::template::TemplateLibrary;
use settings::{Diagnostic, ExcludeConfig};

use crate::config::embedded;
use crate::jvm::MethodNames;

/// Methods that get probes by request.
#[derive(Debug, Clone)]
pub(crate) struct RequestedProbes {
    /// The class, with `*` and `**`.
    pub(crate) class: String,
    /// Its methods, with `*`.
    pub(crate) method: String,
    pub(crate) template: String,
    pub(crate) level: Level,
    /// The methods inside which the probes record, the outermost first; none: everywhere.
    pub(crate) within: Arc<[RequestedProbes]>,
    glob: NameGlob,
    class_glob: NameGlob,
}

/// Most methods of a context.
const MOST_STEPS: usize = 16;
/// Between the methods of a context.
const INSIDE: &str = " > ";

impl RequestedProbes {
    /// Reads `package.Class.method` with `*` and `**`.
    pub(crate) fn parse(methods: &str, template: &str, level: Level) -> Result<RequestedProbes, String> {
        let glob = NameGlob::method(methods).map_err(|error| error.message)?;
        let (class, method) = match methods.rsplit_once('.') {
            _ if methods.ends_with("**") => (methods, "*"),
            Some(parts) => parts,
            None => return Err(format!("`{methods}` names no class: write `package.Class.method`")),
        };
        let class_glob = NameGlob::class(class).map_err(|error| error.message)?;
        let (class, method) = (class.to_owned(), method.to_owned());
        Ok(RequestedProbes {
            class,
            method,
            template: template.to_owned(),
            level,
            within: Arc::default(),
            glob,
            class_glob,
        })
    }

    /// The same, but recording only while the methods of `a.B.c > d.E.f` are executing, in this order.
    pub(crate) fn within(self, methods: &str) -> Result<RequestedProbes, String> {
        let step = |text: &str| match text.trim() {
            "" => Err(format!("`{methods}` is no context: write methods with `>` between them, as `a.B.c > d.E.f`")),
            text => RequestedProbes::parse(text, &self.template, self.level),
        };
        let within = methods.split('>').map(step).collect::<Result<Arc<[_]>, _>>()?;
        if within.len() > MOST_STEPS {
            return Err(format!(
                "a context of {} methods: {MOST_STEPS} are allowed; leave out some, the others keep their order",
                within.len()
            ));
        }
        Ok(RequestedProbes { within, ..self })
    }

    /// Returns the context as text, if there is one: its methods, the outermost first.
    pub(crate) fn context(&self) -> Option<String> {
        let methods: Vec<String> = self.within.iter().map(RequestedProbes::text).collect();
        (!methods.is_empty()).then(|| methods.join(INSIDE))
    }

    /// Whether both want the same of the same methods.
    pub(crate) fn wants_the_same(&self, other: &RequestedProbes) -> bool {
        let wanted = |of: &RequestedProbes| (of.text(), of.context(), of.template.clone(), of.level);
        wanted(self) == wanted(other)
    }

    /// Returns the patterns of all methods that are changed: those of the context, too.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &RequestedProbes> {
        std::iter::once(self).chain(self.within.iter())
    }

    /// Whether this method is meant, as `package.Class.method`.
    pub(crate) fn takes(&self, method: &str) -> bool {
        self.glob.matches(method.replace('.', "/").as_bytes())
    }

    /// Whether methods of the class of this internal name are meant.
    pub(crate) fn may_be_in(&self, class: &str) -> bool {
        self.class_glob.matches(class.as_bytes())
    }

    /// How many of the methods of the class of this internal name are meant.
    pub(crate) fn count_among(&self, class: &[u8], methods: &[MethodNames]) -> usize {
        methods.iter().filter(|method| self.takes_of(class, method)).count()
    }

    /// Whether this method of the class of this internal name is meant.
    pub(crate) fn takes_of(&self, class: &[u8], method: &MethodNames) -> bool {
        let (class, method) = (String::from_utf8_lossy(class), String::from_utf8_lossy(&method.name));
        self.takes(&format!("{class}.{method}"))
    }

    /// As it was asked for.
    pub(crate) fn text(&self) -> String {
        self.glob.text().replace('/', ".")
    }

    /// Returns the rule that takes these methods; what `[exclude]` leaves out stays left out.
    pub(crate) fn rules(&self, templates: &TemplateLibrary, exclude: &ExcludeConfig) -> Result<RuleSet, String> {
        let RequestedProbes { class, method, template, level, .. } = self;
        let text = format!(
            "[control]\nlive = true\n[filter]\nleaf = false\nmax-bytes = 0\n[[rule]]\nname = 'instr probe'\nclass = {class:?}\n\
             method = {method:?}\ntemplate = {template:?}\nlevel = '{level}'\ngoverned = false\nconstructors = true\n"
        );
        let reason =
            |problems: Vec<Diagnostic>| problems.first().map_or_else(String::new, |first| first.message.clone());
        let (mut config, _) = settings::parse(&text, "instr probe").map_err(reason)?;
        config.exclude = exclude.clone();
        config.compile_rules(templates, embedded::PRESETS).map_err(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(methods: &str) -> Result<(String, String), String> {
        let requested = RequestedProbes::parse(methods, "timed", Level::Time)?;
        Ok((requested.class, requested.method))
    }

    #[test]
    fn a_pattern_names_classes_and_methods() {
        let parts = |class: &str, method: &str| Ok((class.to_owned(), method.to_owned()));
        assert_eq!(parse("a.b.C.run"), parts("a.b.C", "run"));
        assert_eq!(parse("a.b.C.<init>"), parts("a.b.C", "<init>"));
        assert_eq!(parse("a.*.find*"), parts("a.*", "find*"));
        assert_eq!(parse("a.b.**"), parts("a.b.**", "*"));
        assert!(parse("run").is_err() && parse("a.b;.C").is_err());
    }

    #[test]
    fn a_context_is_methods_in_their_order() {
        let within = |text: &str| RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap().within(text);
        let requested = within("a.B.c>d.*.e*").unwrap();
        assert_eq!(requested.context().as_deref(), Some("a.B.c > d.*.e*"));
        assert!(
            requested.takes("x.Y.z") && !requested.takes("a.B.c") && requested.patterns().any(|of| of.takes("a.B.c"))
        );
        for wrong in ["", "a.B.c >", "a", "> a.B.c"] {
            assert!(within(wrong).is_err(), "{wrong}");
        }
        let methods = |count: usize| vec!["a.B.c"; count].join(" > ");
        assert!(within(&methods(16)).is_ok() && within(&methods(17)).unwrap_err().contains("16 are allowed"));
    }

    #[test]
    fn the_rule_takes_what_was_asked_for_and_what_is_wrong_has_a_reason() {
        let setup =
            crate::config::setup::from_text("[[rule]]\nclass = 'x.Y'\n[exclude]\nclass = 'a.Secret'\n", "c.toml")
                .unwrap();
        let rules = |template: &str| {
            let requested = RequestedProbes::parse("a.*.find*", template, Level::Time).unwrap();
            requested.rules(&setup.templates, &setup.config.exclude)
        };
        let taken = rules("timed").unwrap();
        assert!(taken.wants_name(b"a/B") && !taken.wants_name(b"a/Secret") && !taken.wants_name(b"b/B"));
        let template = setup.templates.get(taken.rules()[0].templates()[0]).unwrap();
        assert!(template.live, "its level can change");
        assert!(rules("timd").unwrap_err().contains("timd"));
    }
}
