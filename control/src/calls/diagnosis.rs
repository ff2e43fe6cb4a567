//! Diagnoses: which branch makes slow calls of a method slow.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use trace::CountedCalls;

use crate::message::{Described, Types, messages, words};

/// A request for a diagnosis, as [`Request::Diagnose`](crate::Request::Diagnose) has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiagnoseRequest {
    /// The method, as `package.Class.method`, with `(types)` if only one of its overloads is meant.
    pub method: String,
    /// Only of classes of this loader: its name or class, with `*`.
    pub loader: Option<String>,
    /// Only calls while these methods are executing, as `a.B.c > d.E.f`.
    pub within: Option<String>,
    /// Only calls for which this expression holds.
    pub when: Option<String>,
    /// Calls that take longer are slow, in microseconds; unless stated, that is learnt.
    pub slower_than_us: Option<u64>,
    /// How many levels below the method.
    pub depth: Option<usize>,
    /// Only what the method may call and its own calls are measured: nothing is inserted below it.
    pub report_only: bool,
    /// The descent goes on in tasks that are handed to executors, and the context reaches across threads.
    pub across_threads: bool,
    /// It ends after this time.
    pub seconds: Option<u64>,
    /// It ends with the connection of the request.
    pub while_connected: bool,
}

/// A diagnosis ends after this time, unless the request states another one, in seconds.
pub const LONGEST_DIAGNOSIS: u64 = 600;

instrument_core::declare_words! {
    /// What a node of a diagnosis is.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum NodeKind {
        /// A method whose own calls are measured.
        Method = "method",
        /// Calls of a method, measured where it is called.
        CallSite = "call-site",
        /// Calls of a method without bytecode.
        Native = "native",
        /// Calls that mostly wait.
        Waiting = "waiting",
        /// What is left of a method when its measured calls are subtracted.
        OwnCode = "own-code",
    }
}

instrument_core::declare_words! {
    /// How far a diagnosis has come.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum DiagnosisState {
        /// The probes are being inserted.
        Inserting = "inserting",
        /// Too few slow calls have been seen.
        Waiting = "waiting",
        /// Slow calls are followed level by level.
        Descending = "descending",
        /// All levels are known; calls are measured on all of them at once.
        Measuring = "measuring",
        /// The figures are final and the probes removed.
        Done = "done",
        /// It was ended before it was done; the probes are removed.
        Ended = "ended",
    }
}

messages! {
    /// The present state of a diagnosis. Shares are fractions of the time by which slow calls of the method take longer than fast ones.
    pub struct Diagnosis {
        /// The number of its claim, by which `diagnosis` asks for it and `remove` ends it.
        pub claim: u32,
        /// The method that is diagnosed.
        pub method: String,
        /// The context inside which its calls count, if not all do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub context: Option<String>,
        /// The condition under which its calls count, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub condition: Option<String>,
        /// How far it has come.
        pub state: DiagnosisState,
        /// Why it has ended, or what it waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
        /// Why it was begun, if nobody asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub evidence: Option<String>,
        /// Calls that take longer are slow, in milliseconds; absent while that is being learnt, 0 if all calls count, as no limit was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub slower_than_ms: Option<f64>,
        /// Whether that was learnt from the calls seen.
        #[serde(default)]
        pub learnt: bool,
        /// Calls of the method that have ended, on all threads together; a call within a call of the same method is part of that.
        pub calls: u64,
        /// Those of them that were slow.
        pub slow: u64,
        /// How much of the slow calls' additional time the branches that were followed explain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub explained: Option<f64>,
        /// The result in one sentence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub sentence: Option<String>,
        /// The parts of that sentence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub parts: Option<DiagnosisSentence>,
        /// The tree: the method first, each node after its parent.
        pub nodes: Vec<DiagnosisNode>,
        /// What the diagnosis has cost up to now.
        pub cost: DiagnosisCost,
        /// Stacks of slow calls that have been looked at.
        #[serde(default)]
        pub stacks: u64,
        /// What should be known about the figures.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub notices: Vec<String>,
    }

    /// The result of a diagnosis.
    pub struct DiagnosisSentence {
        /// What was diagnosed: `Class.method`, and under which condition.
        pub subject: String,
        /// Of which calls the shares are.
        pub calls: CountedCalls,
        /// The branches that are named, the one that explains most first.
        pub branches: Vec<DiagnosisBranch>,
    }

    /// A branch that was followed to its end.
    pub struct DiagnosisBranch {
        /// The place of its end in `nodes`.
        pub node: usize,
        /// What it explains.
        pub share: f64,
        /// The way to its end: methods from the outermost inwards, then what is waited for, if anything is.
        pub way: Vec<String>,
    }

    /// A node of the tree.
    pub struct DiagnosisNode {
        /// The place of its parent in `nodes`; absent for the method that is diagnosed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub parent: Option<usize>,
        /// Its level: 0 for the method that is diagnosed.
        pub level: usize,
        /// The method, as `package.Class.method(Types)`; of own code, the method whose code it is.
        pub method: String,
        /// What it is.
        pub kind: NodeKind,
        /// Its calls within the calls that were measured on all levels; absent if it has not been measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub calls: Option<u64>,
        /// Those of them within slow calls of the method that is diagnosed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub slow_calls: Option<u64>,
        /// Its time, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub total_ms: Option<f64>,
        /// Its time within slow calls of the method that is diagnosed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub slow_ms: Option<f64>,
        /// What it explains; absent if it is not known yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub share: Option<f64>,
        /// Its calls for each call of the method that is diagnosed, when it was last measured: also of what was left aside afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub per_call: Option<f64>,
        /// Of the stacks of slow calls that were inside it, the fraction of those that were running, or could have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub running: Option<f64>,
        /// Of the stacks of slow calls that were inside it, the fraction of those that waited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub waiting: Option<f64>,
        /// Whether the descent went on through it.
        #[serde(default)]
        pub followed: bool,
        /// Why the descent ends here: `socket read`, `lock`, `native`, `own code`, ...
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
        /// The lines at which slow calls were seen in it, the most frequent first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub lines: Vec<u32>,
        /// The methods between its caller in the tree and itself that were not measured, from the outermost inwards.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub via: Vec<String>,
    }

    /// What a diagnosis has cost.
    pub struct DiagnosisCost {
        /// Classes that carry or have carried its probes.
        pub classes: u64,
        /// Retransformations of classes.
        pub retransforms: u64,
        /// The longest stop of the application for one of them, in milliseconds.
        pub longest_stop_ms: f64,
        /// The agent's own processor time for it, in milliseconds.
        pub cpu_ms: f64,
    }
}

impl Described for NodeKind {
    fn describe(_: &mut Types) -> Json {
        words::<NodeKind>()
    }
}

impl Described for CountedCalls {
    fn describe(_: &mut Types) -> Json {
        json!({ "enum": CountedCalls::ALL })
    }
}

impl Described for DiagnosisState {
    fn describe(_: &mut Types) -> Json {
        words::<DiagnosisState>()
    }
}

impl DiagnosisState {
    /// Whether nothing will change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, DiagnosisState::Done | DiagnosisState::Ended)
    }
}
