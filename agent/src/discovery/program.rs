//! The running program, as it is explored: classes and bodies as the JVM shows them, states of methods as the session knows them.

use std::cell::RefCell;
use std::sync::Arc;

use control::{Callee, LeftAlone};
use instrument_core::facts::call_sites::Call;
use instrument_core::level::Level;
use rustc_hash::FxHashMap;

use super::bodies::{Bodies, Counts, InstrumentedCode};
use super::levels::{Program, entry};
use super::loaded_types::LoadedTypes;
use super::resolution::{ClassAt, Declared, MethodAt, Types};
use crate::classes::hierarchy::ClassId;
use crate::jvm::{Jni, Jvmti, LoadedClass};

/// What is known about the probes of a method.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeState {
    /// The present level, if it has a probe.
    pub(crate) level: Option<Level>,
    /// Calls that its probes have recorded, if they are counted.
    pub(crate) recorded: Option<u64>,
    /// Rules and claims that want the probe.
    pub(crate) wanted_by: Vec<String>,
    /// Why it cannot have one at present.
    pub(crate) obstacle: Option<LeftAlone>,
}

/// The program. What it is made of is handed in by the session.
pub(crate) struct LoadedProgram<'a> {
    bodies: Bodies<'a>,
    types: &'a LoadedTypes<'a>,
    states: &'a dyn Fn(LoadedClass<'_>, &ClassId, &Declared) -> ProbeState,
    loader_name: &'a dyn Fn(LoadedClass<'_>, &ClassId) -> String,
    goes_on: &'a dyn Fn() -> bool,
    loader_names: RefCell<FxHashMap<u64, String>>,
}

impl<'a> LoadedProgram<'a> {
    /// The program of these classes; those that take more bytes than this are not looked into.
    pub(crate) fn new(
        (jvmti, jni): (Jvmti, &'a Jni<'a>),
        types: &'a LoadedTypes<'a>,
        code: &'a dyn InstrumentedCode,
        most_bytes: usize,
        states: &'a dyn Fn(LoadedClass<'_>, &ClassId, &Declared) -> ProbeState,
        loader_name: &'a dyn Fn(LoadedClass<'_>, &ClassId) -> String,
        goes_on: &'a dyn Fn() -> bool,
    ) -> LoadedProgram<'a> {
        let bodies =
            Bodies { jvmti, jni, types, code, most_bytes, counts: Counts::default(), constants: RefCell::default() };
        LoadedProgram { bodies, types, states, loader_name, goes_on, loader_names: RefCell::default() }
    }

    /// How many bodies were decoded, and of how many the calls were known.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.bodies.counts.decoded.get(), self.bodies.counts.known.get())
    }

    /// The name of the loader of a class.
    pub(crate) fn loader_of(&self, at: ClassAt) -> Option<String> {
        let (class, id) = self.types.class(at)?;
        let mut names = self.loader_names.borrow_mut();
        Some(names.entry(id.1).or_insert_with(|| (self.loader_name)(class, id)).clone())
    }
}

impl Program for LoadedProgram<'_> {
    fn types(&self) -> &dyn Types {
        self.types
    }

    fn calls(&self, method: MethodAt) -> Result<Arc<[Call]>, String> {
        self.bodies.calls(method)
    }

    fn entry(&self, (at, method): MethodAt) -> Callee {
        let methods = self.types.methods(at);
        let (Some((class, id)), Some(declared)) = (self.types.class(at), methods.get(method)) else {
            return entry(&[], &[], &[]);
        };
        let ProbeState { level, recorded, wanted_by, obstacle } = (self.states)(class, id, declared);
        let state = match level {
            Some(Level::Off) => "inactive",
            Some(_) => "probed",
            None => "none",
        };
        let named = entry(&id.0, &declared.name, &declared.descriptor);
        Callee {
            loader: self.loader_of(at),
            state: state.to_owned(),
            level: level.map(|level| level.name().to_owned()),
            recorded,
            wanted_by,
            code: obstacle.as_ref().map(|why| why.code.clone()),
            reason: obstacle.map(|why| why.reason),
            ..named
        }
    }

    fn recorded(&self, (at, method): MethodAt) -> u64 {
        let methods = self.types.methods(at);
        let (Some((_, id)), Some(declared)) = (self.types.class(at), methods.get(method)) else { return 0 };
        self.bodies.code.recorded(id, &declared.name, &declared.descriptor)
    }

    fn goes_on(&self) -> bool {
        (self.goes_on)()
    }
}
