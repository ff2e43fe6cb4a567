//! What a configuration would do to the classes of jars and directories.

use std::collections::BTreeMap;

use anyhow::Result;
use class_source::Error as SourceError;
use classfile::ClassFile;
use control::{InventoryClass, LeftAlone};
use instrument_core::internal_name::{to_internal, to_source};
use instrument_core::rules::patterns::NameGlob;
use instrument_core::selection::ClassOrigin;
use instrument_core::{EngineOptions, Outcome};

use super::Inventory;
use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::instrumentation::Instrumentation;
use crate::progress::Counting;

/// What is listed.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Classes of these names.
    pub(crate) classes: Option<NameGlob>,
    /// Also classes of the JDK that a rule may take.
    pub(crate) jdk: bool,
    /// Each method of the classes that a rule matches.
    pub(crate) methods: bool,
}

impl Listed {
    /// Whether classes of this internal name are listed.
    fn has(&self, name: &[u8]) -> bool {
        self.classes.as_ref().is_none_or(|classes| classes.matches(name))
    }
}

/// Returns the inventory of these classes: what is decided of each, and whether the engine can do it.
pub(crate) fn inventory(configuration: &Configuration, classes: &Classes, listed: &Listed) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    let mut instrumentation = Instrumentation::new(configuration, classes, EngineOptions::default());
    let (mut progress, mut number) = (Counting::start(), 0);
    classes.for_each_file_in_jars(|name, file, origin| {
        number += 1;
        progress.done(number, "classes looked at");
        if !listed.has(&to_internal(name)) || inventory.has(name) {
            return Ok::<_, SourceError>(());
        }
        inventory.add(match file {
            Ok(class) => {
                instrumentation.origin = origin.clone();
                of_class(configuration, &mut instrumentation, class, listed.methods)
            }
            Err(error) => {
                let why = LeftAlone::new("unreadable", format!("its class file cannot be read: {error}"));
                InventoryClass::unchanged(name.to_owned(), origin.jar().ok(), why)
            }
        });
        Ok(())
    })?;
    if listed.jdk {
        let is_meant = |name: &[u8]| configuration.rules.wants_name(name) && listed.has(name);
        classes.for_each_in_jdk(is_meant, |class, origin| {
            instrumentation.origin = origin.clone();
            inventory.add(of_class(configuration, &mut instrumentation, class, listed.methods));
            Ok::<_, SourceError>(())
        })?;
    }
    progress.end();
    Ok(inventory)
}

fn of_class(
    configuration: &Configuration,
    instrumentation: &mut Instrumentation<'_>,
    class: &ClassFile<'_>,
    with_methods: bool,
) -> InventoryClass {
    let jar = instrumentation.origin.jar().ok();
    let name = class.this_class().as_bytes();
    if let Some(reason) = configuration.rules.unwanted(name).filter(|_| !instrumentation.has_delegates(name)) {
        return InventoryClass::unchanged(to_source(name), jar, LeftAlone::of_class(reason));
    }
    let explanation = configuration.rules.explain(class, &instrumentation.context());
    // What `instr pre` has instrumented stays as it is.
    let is_done = explanation.instrumented_ahead.is_some();
    let outcome = if is_done { None } else { Some(instrumentation.examine(class).1) };
    let refused = match outcome {
        Some(Outcome::Rewritten(rewritten)) => rewritten.refused,
        Some(Outcome::Unchanged { refused }) => refused,
        None => Vec::new(),
    };
    let refused: BTreeMap<usize, LeftAlone> = refused
        .into_iter()
        .map(|refused| (refused.method_index, LeftAlone::new(refused.reason.key(), refused.reason.to_string())))
        .collect();
    InventoryClass::of(&explanation, jar, &refused, with_methods)
}
