//! Rules that take no method of the classes that a user names, each with the nearest reason; and `[[slow-calls]]` of methods that none of them has.

use std::ops::Range;

use class_source::Error as SourceError;
use classfile::ClassFile;
use instrument_core::rules::patterns::NameGlob;
use instrument_core::selection::{ClassContext, Figures, NoFactsYet, RuleReach};
use instrument_core::template::category;
use settings::Diagnostic;

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::file_origin::FileOrigin;

/// Why the classes are not visited any further.
enum End {
    /// Every rule has taken a method.
    Complete,
    Unreadable(SourceError),
}

impl From<SourceError> for End {
    fn from(error: SourceError) -> End {
        End::Unreadable(error)
    }
}

/// Returns a sentence for each rule of the configuration that takes no method, neither of the jars nor of the JDK.
pub(crate) fn find(configuration: &Configuration, classes: &Classes) -> Result<Vec<String>, SourceError> {
    let rules = &configuration.rules;
    let reach = RuleReach::new(rules);
    let never = configuration.never(classes);
    let visit = |class: &ClassFile<'_>, origin: &FileOrigin| {
        let context = ClassContext {
            hierarchy: classes,
            origin,
            facts: &NoFactsYet,
            never: &never,
            delegates: &[],
            reach: Some(&reach),
        };
        if rules.wants_name(class.this_class().as_bytes()) {
            rules.decide(class, &context);
        }
        if reach.is_complete(rules) { Err(End::Complete) } else { Ok(()) }
    };
    let in_jdk = || match rules.may_match_jdk() {
        true => classes.for_each_in_jdk(|name| rules.wants_name(name), visit),
        false => Ok(()),
    };
    match classes.for_each_in_jars(visit).and_then(|()| in_jdk()) {
        Ok(()) | Err(End::Complete) => {
            Ok(reach.lines(rules, Figures::Exact, &|name| classes.nearest(name).ok().flatten()))
        }
        Err(End::Unreadable(error)) => Err(error),
    }
}

/// Methods that `[[slow-calls]]` names, and no class up to now has had.
struct Named<'c> {
    text: &'c str,
    span: Range<usize>,
    method: NameGlob,
    class: NameGlob,
}

impl<'c> Named<'c> {
    /// `None` for categories, and for what is no pattern.
    fn of(text: &'c str, span: Range<usize>) -> Option<Named<'c>> {
        if text.starts_with(category::PREFIX) {
            return None;
        }
        let class = if text.ends_with("**") { text } else { text.rsplit_once('.')?.0 };
        Some(Named { text, span, method: NameGlob::method(text).ok()?, class: NameGlob::class(class).ok()? })
    }

    fn is_in(&self, class: &ClassFile<'_>) -> bool {
        let name = class.this_class().as_bytes();
        self.class.matches(name)
            && class.methods().iter().any(|method| self.method.matches(&[name, b"/", method.name.as_bytes()].concat()))
    }
}

/// Returns a warning for each `[[slow-calls]]` of methods that no class has, neither of the jars nor of the JDK.
pub(crate) fn slow_calls_of_nothing(
    configuration: &Configuration,
    classes: &Classes,
) -> Result<Vec<Diagnostic>, SourceError> {
    let stated = configuration.config.slow_calls.iter().filter_map(|of| of.methods.as_ref());
    let mut left: Vec<Named<'_>> = stated.filter_map(|of| Named::of(of.get_ref(), of.span())).collect();
    let ended = classes.for_each_in_jars(|class, _| {
        left.retain(|named| !named.is_in(class));
        if left.is_empty() { Err(End::Complete) } else { Ok(()) }
    });
    let in_jars = match ended {
        Err(End::Unreadable(error)) => return Err(error),
        Err(End::Complete) => true,
        Ok(()) => left.is_empty(),
    };
    if !in_jars {
        let globs: Vec<NameGlob> = left.iter().map(|named| named.class.clone()).collect();
        let ended = classes.for_each_in_jdk(
            |name| globs.iter().any(|glob| glob.matches(name)),
            |class, _| {
                left.retain(|named| !named.is_in(class));
                if left.is_empty() { Err(End::Complete) } else { Ok(()) }
            },
        );
        if let Err(End::Unreadable(error)) = ended {
            return Err(error);
        }
    }
    let warning = |named: &Named<'_>| {
        let text = named.text;
        let message = format!("no class has a method `{text}`, so this table of slow calls is about nothing");
        let class = text.rsplit_once('.').map_or(text, |(class, _)| class);
        let nearest = classes.nearest(class).ok().flatten().filter(|nearest| nearest != class);
        let suggestion = nearest.map(|nearest| format!("did you mean the class `{nearest}`?"));
        Diagnostic { suggestion, ..configuration.config.source.warning(named.span.clone(), message) }
    };
    Ok(left.iter().map(warning).collect())
}
