//! Which methods a loaded method may call, level by level.

use instrument_core::facts::call_sites::CallKind;

use crate::message::{Described, Types, messages, words};
use serde_json::Value as Json;

/// A request for callees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CalleesRequest {
    /// The method, as `package.Class.method`, with `(types)` if only some of its overloads are meant.
    pub method: String,
    /// Only of classes of this loader: its name or class, with `*`.
    pub loader: Option<String>,
    /// How many levels.
    pub depth: Option<usize>,
    /// Which instructions count; all unless stated.
    pub opcodes: Option<Vec<CallKind>>,
    /// Most methods in the answer.
    pub most: Option<usize>,
    /// Most implementers that are listed of a call.
    pub implementers: Option<usize>,
    /// The largest class that is looked into, in KiB.
    pub class_kb: Option<u64>,
}

messages! {
    /// What a method may call, whether it ever does or not. Each method is listed once, however many call it.
    #[derive(Eq)]
    pub struct Callees {
        /// How many of `methods` were asked for: the first ones, one for each overload and class loader.
        pub asked: usize,
        /// The methods, those of each level after those of the level before.
        pub methods: Vec<Callee>,
        /// Calls that are not in the answer, because it would have more methods than `most`.
        pub left_out: usize,
        /// Bodies that were decoded for this answer.
        pub decoded: u64,
        /// Bodies whose calls were known from an earlier request.
        pub known: u64,
        /// Classes and methods that were asked for and not looked into, with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub notices: Vec<String>,
    }

    /// A method that is called, or that was asked for.
    #[derive(Eq)]
    pub struct Callee {
        /// The class that declares it, in source form; of a dynamic call that leads to no method of a class, that of its bootstrap method.
        pub class: String,
        /// Its name.
        pub method: String,
        /// Its descriptor.
        pub descriptor: String,
        /// Name and types as in Java source.
        pub signature: String,
        /// The class loader: name or class, `boot` for that of the JVM; absent if no such class is loaded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub loader: Option<String>,
        /// `probed`: a probe records its calls; `inactive`: it has a probe at level off; `none`: it has no probe.
        pub state: String,
        /// The present level of its probe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub level: Option<String>,
        /// Calls that its probes have recorded up to now, all together; absent if it has no probe, or calls are not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recorded: Option<u64>,
        /// The rules (`rule NAME`) and the claims of persons (`claim NUMBER`) that want the probe.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub wanted_by: Vec<String>,
        /// Why it cannot have a probe at present, for programs: `native`, `abstract`, `not-loaded`, `hidden`, ... Words may be added.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub code: Option<String>,
        /// The same for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
        /// Whether its calls were looked for: not at the last level.
        pub expanded: bool,
        /// Why its calls are unknown although they were looked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub not_decoded: Option<String>,
        /// What it may call, in the order of its bytecode.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub calls: Vec<CalleeCall>,
    }

    /// All calls of one method in a body by one kind of instruction.
    #[derive(Eq)]
    pub struct CalleeCall {
        /// The instruction: invokevirtual is `virtual`.
        pub opcode: CallKind,
        /// What it calls: a place in `methods`, from 0.
        pub callee: usize,
        /// The class that the instruction names, if that is not the one that declares the method.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub owner: Option<String>,
        /// Offsets of the instructions in the bytecode that runs.
        pub offsets: Vec<u32>,
        /// Their lines, as far as they are known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub lines: Vec<u32>,
        /// Methods of loaded classes that may be called in its place, because they override or implement it: places in `methods`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub implementers: Vec<usize>,
        /// How many more there are.
        #[serde(default, skip_serializing_if = "is_none")]
        pub more_implementers: usize,
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Described for CallKind {
    fn describe(_: &mut Types) -> Json {
        words::<CallKind>()
    }
}
