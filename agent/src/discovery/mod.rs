//! Which methods a loaded method may call, level by level (decision 057). Changes nothing and stops nobody: the JVM is asked for its bytecode and its
//! constants.
//!
//! `resolution` finds the method that an instruction means among loaded classes, and those that override it; `levels` goes from method to method.
//! Both know no JVM. `loaded_types` and `bodies` ask it; `program` is the two of them, with what the session knows about probes.

mod bodies;
mod levels;
mod loaded_types;
mod program;
mod resolution;

pub(crate) use bodies::InstrumentedCode;
pub(crate) use levels::{Limits, Program, explore};
pub(crate) use loaded_types::LoadedTypes;
pub(crate) use program::{LoadedProgram, ProbeState};
pub(crate) use resolution::{ClassAt, Declared, MethodAt, Types, implementers, resolve, subclasses_declare_all};
