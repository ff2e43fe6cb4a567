//! Methods that are called as delegates of methods of other classes, in the jars that a user names.

use class_source::Error as SourceError;
use classfile::ClassFile;
use instrument_core::selection::{ClassContext, DelegateMark, Never, NoFactsYet};

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::file_origin::FileOrigin;

/// Returns the marks that the methods of all classes make; reads the classes only if a rule takes delegates.
pub(crate) fn find(
    configuration: &Configuration,
    classes: &Classes,
    never: &Never<'_>,
) -> Result<Vec<DelegateMark>, SourceError> {
    let mut found = Vec::new();
    let rules = &configuration.rules;
    if !rules.takes_delegates() {
        return Ok(found);
    }
    classes.for_each_in_jars(|class: &ClassFile<'_>, origin: &FileOrigin| {
        if rules.wants_name(class.this_class().as_bytes()) {
            let context =
                ClassContext { hierarchy: classes, origin, facts: &NoFactsYet, never, delegates: &[], reach: None };
            let delegates = rules.decide(class, &context).delegates;
            // Those of the class itself are found again whenever it is decided.
            found.extend(delegates.into_iter().filter(|mark| *mark.class != *class.this_class().as_bytes()));
        }
        Ok::<_, SourceError>(())
    })?;
    Ok(found)
}
