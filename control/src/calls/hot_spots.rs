//! Hot spots: which methods use most of the processor time, the time, the memory, and who calls them.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::message::{Described, Types, messages, words};

/// How long hot spots are looked for, unless the request states another time, in seconds.
pub const USUAL_HOT_SECONDS: u64 = 10;
/// ... and at most.
pub const LONGEST_HOT_SECONDS: u64 = 240;
/// Methods with this share are hot, unless the request states another one, in percent.
pub const HOT_PERCENT: u32 = 5;
/// If none has, so many with the largest shares are listed, unless the request states another number.
pub const HOT_TOP: usize = 5;

/// Calls that the hook of a caller finder counts, unless the request states another number.
pub const USUAL_HITS: u64 = 2_500;
/// ... and at most.
pub const MOST_HITS: u64 = 100_000;

/// A request for hot spots, as [`Request::Hot`](crate::Request::Hot) has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HotRequest {
    /// Hot by what; processor time unless stated.
    pub by: Option<HotBy>,
    /// How long to look.
    pub seconds: Option<u64>,
    /// Methods with this share are listed, in percent.
    pub share_percent: Option<u32>,
    /// If none has, so many are.
    pub top: Option<usize>,
}

/// A request for callers, as [`Request::Callers`](crate::Request::Callers) has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallersRequest {
    /// The method, as `package.Class.method`, with `(types)` if only one of its overloads is meant.
    pub method: String,
    /// Only of classes of this loader: its name or class, with `*`.
    pub loader: Option<String>,
    /// Processor time or time; of a hook also allocated bytes, cycles or instructions. Unless stated processor time by samples, and time by a hook.
    pub by: Option<HotBy>,
    /// How long to look.
    pub seconds: Option<u64>,
    /// Classes whose methods are passed through, with `*` and `**`.
    pub through: Vec<String>,
    /// So many callers are listed.
    pub most: Option<usize>,
    /// How they are found; by samples unless stated.
    pub source: Option<CallersSource>,
    /// Calls that a hook counts, at most.
    pub hits: Option<u64>,
    /// A hook ends when the calls that it has counted have used this much of what they are measured by.
    pub used: Option<u64>,
    /// Whether who hands tasks and threads over is the caller of what these begin with.
    pub across_threads: bool,
}

instrument_core::declare_words! {
    /// By what a method is hot.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum HotBy {
        /// Processor time that threads use while they execute the method itself.
        Cpu = "cpu",
        /// Time that threads spend in the method itself, whether they execute or wait.
        Wall = "wall",
        /// Bytes that the method itself allocates.
        Allocated = "allocated",
        /// Time that threads wait in the method to enter a monitor.
        Locks = "locks",
        /// Calls, of methods that record theirs.
        Calls = "calls",
        /// Cycles of the processor, without the kernel's; only of calls that a hook counts, and where `perf_event_open` has them.
        Cycles = "cycles",
        /// Instructions that the processor executes, in the same way.
        Instructions = "instructions",
    }
}

instrument_core::declare_words! {
    /// How callers are found.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum CallersSource {
        /// By samples, and by a hook if they are biased or too few.
        Auto = "auto",
        /// By samples of stacks; no class is changed.
        Samples = "samples",
        /// By a hook in the method, for a while: it counts calls, too.
        Finder = "finder",
    }
}

instrument_core::declare_words! {
    /// What kind of code a hot method mostly executes.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum CodeKind {
        /// What the JIT has compiled.
        Jit = "jit",
        /// Bytecode, in the interpreter.
        Interpreted = "interpreted",
        /// A native method, or what the JVM and its libraries do for the method.
        Native = "native",
    }
}

messages! {
    /// The hot methods.
    pub struct HotSpots {
        /// By what they are hot.
        pub by: HotBy,
        /// For how long was looked, in seconds.
        pub seconds: f64,
        /// Samples, those without a method included; for `calls` the calls themselves.
        pub samples: u64,
        /// What took the samples: `async` (signals, AsyncGetCallTrace), `jvmti` (stacks at safepoints), `allocation` (the JVM's sampler of allocations), `records` (calls of probes).
        pub source: String,
        /// In which respect the samples are not what one might think.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub bias: Option<String>,
        /// The hot methods, the largest share first.
        pub hot: Vec<HotSpot>,
        /// Packages of all methods that were seen, the largest share first; ten at most.
        pub packages: Vec<PackageShare>,
        /// Samples without a method, by reason, the largest share first.
        #[serde(default)]
        pub without_method: Vec<WithoutMethod>,
        /// What threads of the JVM itself have used meanwhile, beside all these shares; only for `cpu`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub jvm_threads: Vec<JvmThreads>,
        /// What one should know about these figures.
        #[serde(default)]
        pub notices: Vec<String>,
    }

    /// A hot method.
    pub struct HotSpot {
        /// The method, as `package.Class.method(Types)`; of samples without a stack the native code, as `library: function` or `JVM stub: name`.
        pub method: String,
        /// What kind of code it mostly executes; absent where that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub kind: Option<CodeKind>,
        /// Its part of all that was seen (0 to 1), without the methods that it calls.
        pub share: f64,
        /// The share is off by more than this in one of twenty cases (0 to 1); absent where samples are biased, and nothing can be said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub margin: Option<f64>,
        /// Which part of its share (0 to 1) threads were waiting; only for `wall`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub waiting: Option<f64>,
        /// What was seen of it: samples, or calls.
        pub samples: u64,
        /// Its lines with a tenth of that or more, the largest part first, three at most; none where lines are not known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub lines: Vec<LineShare>,
    }

    /// A line of a hot method.
    pub struct LineShare {
        /// In the source file of the class.
        pub line: u32,
        /// Its part of what was seen of the method (0 to 1).
        pub share: f64,
    }

    /// Who calls a method.
    pub struct Callers {
        /// The method, as it was asked for.
        pub method: String,
        /// Shares of what.
        pub by: HotBy,
        /// For how long was looked, in seconds.
        pub seconds: f64,
        /// Where this is from: `samples`, or `finder`, a hook in the method.
        pub source: String,
        /// Why it is from there, if the request left that to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub why: Option<String>,
        /// What took the samples: `async` (signals, AsyncGetCallTrace), `jvmti` (stacks at safepoints); empty if none were taken.
        pub sampler: String,
        /// In which respect the samples are not what one might think.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub bias: Option<String>,
        /// What a hook has counted; absent if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub hook: Option<HookFigures>,
        /// Samples of the method, with those of methods that it calls; 0 if none were taken.
        pub samples: u64,
        /// Their part of all samples (0 to 1).
        pub share: f64,
        /// The callers, the largest share first.
        pub callers: Vec<Caller>,
        /// Samples of the method without a caller, by reason.
        #[serde(default)]
        pub without_caller: Vec<WithoutMethod>,
        /// What one should know about these figures.
        #[serde(default)]
        pub notices: Vec<String>,
    }

    /// What the hook of a caller finder has counted.
    pub struct HookFigures {
        /// Calls of the method. One that it makes itself, or that others make on its behalf, is a part of that one.
        pub calls: u64,
        /// How many of them have not ended meanwhile, or could not be measured: they have no time.
        pub unended: u64,
        /// Whether they use so little that their shares are mostly those of the hook itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub too_little: bool,
        /// Calls within calls of the method, which are not counted.
        pub nested: u64,
        /// How often the hook was on.
        pub windows: u64,
        /// For how long the hook was in the method, in seconds.
        pub seconds: f64,
        /// The longest time for which the application was stopped to insert it, in milliseconds.
        #[serde(default)]
        pub longest_stop_ms: f64,
    }

    /// A caller.
    pub struct Caller {
        /// The method that calls, as `package.Class.method(Types)`.
        pub method: String,
        /// What is mostly between the two: the nearest method of reflection, of a lambda, of the compiler, or of a class that is passed through.
        #[serde(default)]
        pub via: Option<String>,
        /// How often it calls; absent where that is from samples.
        #[serde(default)]
        pub calls: Option<u64>,
        /// Its part of all calls (0 to 1).
        #[serde(default)]
        pub calls_share: Option<f64>,
        /// The share of calls is off by more than this in one of twenty cases (0 to 1); absent where that is from samples.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub calls_margin: Option<f64>,
        /// How long its calls took, in milliseconds of the time that shares are parts of; 0 where that is no time.
        pub time_ms: f64,
        /// What they have used, by a hook, where that is no time: bytes, cycles, instructions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub amount: Option<f64>,
        /// Their part of all time of the method, or of all that it has used (0 to 1); 0 without a margin if a hook has measured none of them.
        pub time_share: f64,
        /// The share of time is off by more than this in one of twenty cases (0 to 1); absent where samples are biased, and nothing can be said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub margin: Option<f64>,
    }

    /// A package with all its methods.
    pub struct PackageShare {
        /// Its name; empty for classes without a package.
        pub package: String,
        /// Its part of all that was seen (0 to 1).
        pub share: f64,
    }

    /// Processor time of threads of the JVM itself, which have no samples.
    pub struct JvmThreads {
        /// What they do: `compiler`, `collector`, `VM` (stops, and the serial collector).
        pub threads: String,
        /// Milliseconds of processor time.
        pub cpu_ms: f64,
    }

    /// Samples that belong to no method.
    pub struct WithoutMethod {
        /// Why.
        pub reason: String,
        /// Their part of all that was seen (0 to 1).
        pub share: f64,
        /// Their part of the calls (0 to 1), where a hook has counted these.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub calls_share: Option<f64>,
    }
}

impl Described for HotBy {
    fn describe(_: &mut Types) -> Json {
        words::<HotBy>()
    }
}

impl Described for CallersSource {
    fn describe(_: &mut Types) -> Json {
        words::<CallersSource>()
    }
}

impl Described for CodeKind {
    fn describe(_: &mut Types) -> Json {
        words::<CodeKind>()
    }
}
