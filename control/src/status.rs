//! What an agent has done and decided.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::message::messages;

messages! {
    /// The answer to a request for the status.
    pub struct Status {
        /// Version of the agent.
        pub agent_version: String,
        /// Process id of the JVM, as it is inside its own container.
        pub pid: u32,
        /// The recording, if there is one now.
        pub trace_file: Option<PathBuf>,
        /// Its length.
        pub trace_file_bytes: u64,
        /// Why calls are not written to the file at present, or why there is no file of this name: a sentence whose subject is the file.
        #[serde(default)]
        pub trace_file_trouble: Option<String>,
        /// Whether the newest part of the recording is kept in memory.
        #[serde(default)]
        pub ring: bool,
        /// Why the recording has ended, if it has.
        #[serde(default)]
        pub ended: Option<String>,
        /// Dumps of the ring that were written.
        #[serde(default)]
        pub dumps: Vec<Dumped>,
        /// Classes that were handed back changed; one that several class loaders have loaded counts for each.
        pub classes_rewritten: u64,
        /// Methods that were given probes; what a reload or the end of a claim takes away is not subtracted.
        pub methods_instrumented: u64,
        /// Classes that `instr pre` had instrumented.
        #[serde(default)]
        pub classes_instrumented_ahead: u64,
        /// Their probes that record.
        #[serde(default)]
        pub probes_instrumented_ahead: u64,
        /// Calls that were recorded.
        pub records: u64,
        /// Calls that were lost.
        pub lost: u64,
        /// Live probes by category and level.
        pub live: Vec<LiveCounts>,
        /// The windows of level burst, if a probe is or was at this level.
        pub bursts: Option<Bursts>,
        /// The governor's figures, if there is one.
        pub governor: Option<GovernorFigures>,
        /// Why no probe records at present: `request` (`instr pause`), `breaker`; empty if they record.
        #[serde(default)]
        pub paused: Vec<String>,
        /// Why the breaker is open.
        #[serde(default)]
        pub breaker: Option<String>,
        /// The state of sending to an OpenTelemetry receiver.
        #[serde(default)]
        pub otlp: Option<Sending>,
        /// What is probably not as the user meant it.
        #[serde(default)]
        pub warnings: Vec<String>,
        /// The number of the generation of rules that is in force: 1 at the start of the agent, one more after each reload.
        #[serde(default)]
        pub generation: u32,
        /// What was found in classes, and how often that was enough for a decision.
        #[serde(default)]
        pub analysis: Analysis,
        /// What was done to loaded classes.
        #[serde(default)]
        pub retransforms: Retransforms,
        /// Contexts inside which probes record, if there were any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub contexts: Option<ContextFigures>,
        /// Which hosts may be sent the names of contexts, and whose are believed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub baggage: Option<BaggageAllowed>,
        /// What walks have cost, if there were any since the agent was attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub walks: Option<WalkTotals>,
        /// The latest changes of levels, with reasons.
        pub decisions: Vec<String>,
        /// The methods that took the most time.
        pub hottest: Vec<Hot>,
    }

    /// The keys of `[conditions]` about the header `baggage`.
    #[derive(Eq)]
    pub struct BaggageAllowed {
        /// `baggage-to`: hosts that may be sent it.
        pub to: Vec<String>,
        /// `baggage-from`: addresses of clients whose header is believed.
        pub from: Vec<String>,
    }

    /// How much room contexts take.
    #[derive(Eq)]
    pub struct ContextFigures {
        /// Contexts that claims want.
        pub contexts: usize,
        /// Steps (methods of contexts) for which there is still room.
        pub free_steps: usize,
        /// Threads that are inside a method of a context at present.
        pub threads: usize,
        /// Calls of such methods that were not noticed, because too many threads were inside others.
        pub without_place: u64,
    }

    /// What was found in classes that rules may want, whatever the rules are. Classes that end at their names or super types are not counted.
    #[derive(Default, Copy)]
    pub struct Analysis {
        /// Classes that were analysed.
        pub classes: u64,
        /// Decisions that needed no analysis: the class had been analysed before.
        pub reused: u64,
        /// Classes of which the findings are kept.
        pub kept: u64,
        /// Memory that these take, in bytes.
        pub bytes: u64,
        /// How often the super types of a class were walked: once when it is loaded, if a rule asks for them.
        #[serde(default)]
        pub hierarchies: u64,
        /// Methods that are called as delegates of methods of other classes.
        #[serde(default)]
        pub delegates: u64,
        /// Such methods for which there was no room.
        #[serde(default)]
        pub delegates_dropped: u64,
    }

    /// What was done to loaded classes in this process.
    #[derive(Default)]
    pub struct Retransforms {
        /// Calls of `RetransformClasses`.
        pub batches: u64,
        /// Classes that were retransformed, each as often as that happened.
        pub classes: u64,
        /// Batches that the JVM rejected.
        pub rejected: u64,
        /// For how long a batch stopped the application at most, in milliseconds: all safepoints of the longest one.
        pub longest_stop_ms: f64,
        /// Classes that wait, with the reason.
        #[serde(default)]
        pub waiting: Vec<String>,
    }

    /// What all walks together have cost (`instr walk`).
    pub struct WalkTotals {
        /// Walks that have begun.
        pub walks: u64,
        /// Probes that are there for a walk at present.
        pub present: usize,
        /// Those of them that record at present.
        pub active: usize,
        /// Most at a time.
        pub most: usize,
        /// Calls that they recorded.
        pub calls: u64,
        /// Calls that began before a level was measured, and ended meanwhile.
        pub late: u64,
        /// How often classes were changed.
        pub changes: usize,
        /// The longest time for which the application was stopped for that, in milliseconds.
        pub longest_stop_ms: f64,
        /// Processor time of their threads, without that of the probes, in milliseconds.
        #[serde(default)]
        pub cpu_ms: f64,
    }

    /// Live probes of one category.
    #[derive(Eq)]
    pub struct LiveCounts {
        /// The category of their templates.
        pub category: String,
        /// Methods by level, or `removed`.
        pub levels: BTreeMap<String, usize>,
    }

    /// The windows of level burst.
    #[derive(Eq)]
    pub struct Bursts {
        /// Length of a window, in milliseconds.
        pub open_ms: u32,
        /// From the beginning of a window to that of the next one, in milliseconds.
        pub period_ms: u32,
        /// Windows since the process started.
        pub windows: u64,
        /// For how long they were open.
        pub open_nanos: u64,
    }

    /// The governor's figures.
    pub struct GovernorFigures {
        /// Most of the processor time that probes may take.
        pub budget_percent: u32,
        /// What the probes took in the last interval whose level the governor changes, at all levels but watch.
        pub percent: f64,
        /// What the others took: those whose level a person set, of rules with `governed = false`, and those that are not live.
        #[serde(default)]
        pub kept_percent: f64,
        /// What probes at level watch took when their calls were counted last.
        #[serde(default)]
        pub watch_percent: Option<f64>,
        /// What a call at level time costs.
        pub nanos_per_call: f64,
        /// What a call at level full costs.
        #[serde(default)]
        pub nanos_per_full_call: f64,
    }

    /// A dump of the ring that was written.
    pub struct Dumped {
        /// The file.
        pub file: PathBuf,
        /// Its length.
        pub bytes: u64,
        /// From the first moment in it to the last.
        pub seconds: f64,
        /// Why it was written.
        pub reason: String,
    }

    /// Metrics and spans that are sent to a receiver.
    pub struct Sending {
        /// The receiver, without credentials.
        pub url: String,
        /// Values of metrics that it accepted.
        pub metrics_sent: u64,
        /// Values of metrics that were dropped.
        pub metrics_dropped: u64,
        /// Spans that it accepted.
        pub spans_sent: u64,
        /// Spans that were dropped.
        pub spans_dropped: u64,
        /// Set while the receiver does not accept what it is sent.
        pub failing: Option<Failing>,
    }

    /// The state of a receiver that fails.
    pub struct Failing {
        /// Why the last attempt failed.
        pub reason: String,
        /// Attempts that failed since it last worked.
        pub attempts: u64,
        /// Seconds since the first of them.
        pub seconds: f64,
    }

    /// A method that was called often or long.
    #[derive(Eq)]
    pub struct Hot {
        /// The lowest number of its probes.
        pub probe: u32,
        /// `package.Class.method`.
        pub method: String,
        /// The context inside which its calls are recorded only; none: everywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub context: Option<String>,
        /// The category of its template.
        pub category: String,
        /// Its present level, or `removed`.
        pub level: String,
        /// How its calls were recorded, if a class of this session has the probe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recorded: Option<RecordedTime>,
        /// Its descriptor (JVMS 4.3.3).
        #[serde(default)]
        pub descriptor: String,
        /// Calls that were recorded.
        pub calls: u64,
        /// Of these: calls at level watch, whose times are estimates.
        #[serde(default)]
        pub estimated_calls: u64,
        /// Time in the method and what it called. `None` if the method calls itself: `lengths` has the same time once for each call around
        /// it.
        pub nanos: Option<u64>,
        /// The lengths of all calls together.
        #[serde(default)]
        pub lengths: u64,
        /// Whether `lengths / calls` is the mean time of a call: with calls at level watch only if all that were seen were long enough.
        #[serde(default)]
        pub mean_is_known: bool,
        /// How long the calls since the last request took, if that was asked for and there were any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recent: Option<Recent>,
    }

    /// How calls were recorded since a probe was inserted. Nanoseconds.
    #[derive(Copy, Default, Eq)]
    pub struct RecordedTime {
        /// In which every call was recorded.
        pub every_call: u64,
        /// In which calls were estimated (level watch).
        pub estimates: u64,
        /// Since the probe was inserted.
        pub whole: u64,
        /// Changes of the level.
        pub changes: u64,
    }

    /// Percentiles of the calls since the last request. Nanoseconds.
    #[derive(Copy, Eq)]
    pub struct Recent {
        /// Half of them took no longer.
        pub p50: u64,
        /// 99 % of them took no longer.
        pub p99: u64,
        /// The longest.
        pub max: u64,
    }
}

impl GovernorFigures {
    /// Returns what all probes take whose cost is known.
    #[must_use]
    pub fn all_percent(&self) -> f64 {
        self.percent + self.kept_percent + self.watch_percent.unwrap_or(0.0)
    }
}
