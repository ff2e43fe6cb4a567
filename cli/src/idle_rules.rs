//! Rules that take no method of the classes that a user names, each with the nearest reason.

use class_source::Error as SourceError;
use classfile::ClassFile;
use instrument_core::selection::{ClassContext, Figures, NoFactsYet, RuleReach};

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
