//! What a walk found: who calls hot methods, level by level. It is written as JSON by the names that `instr walk --json` prints.

use serde::{Serialize, Serializer};

/// A walk as a recording holds it and as reports show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Walk {
    /// Its number within the recording, from 1; 0 outside of recordings.
    #[serde(skip_serializing_if = "is_zero")]
    pub number: u64,
    /// What it does: `sampling`, `measuring level 2`, `ended` and others.
    pub state: String,
    /// By what calls were measured, if not by time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Samples that it began with.
    pub samples: u64,
    /// What took them: `async` or `jvmti`.
    pub sampler: String,
    /// In which respect they are not what one might think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<String>,
    /// The hot methods from which it walks up.
    pub hot: Vec<HotSpot>,
    /// The callers, level by level.
    pub levels: Vec<WalkLevel>,
    /// Its probes.
    pub hooks: WalkHooks,
    /// Why it has ended, for each hot method; `None` as long as it has not.
    pub end: Option<String>,
    /// What should be known about the figures.
    pub notices: Vec<String>,
    /// Of one in a recording, the time from the start of the recording to its end.
    #[serde(rename = "ended_after_ms", serialize_with = "millis", skip_serializing_if = "Option::is_none")]
    pub ended_after_nanos: Option<u64>,
    /// Of one in a recording, the number of its probes whenever it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gauge: Vec<HookCount>,
}

/// A hot method.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HotSpot {
    /// The method, as `package.Class.method(Types)`.
    pub method: String,
    /// What kind of code it mostly executes: `jit`, `interpreted` or `native`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its part of all samples (0 to 1), without the methods that it calls.
    pub share: f64,
    /// By chance alone the share is off by more than this in one of twenty cases (0 to 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Its samples.
    pub samples: u64,
}

/// Who calls a method on a level of a walk.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WalkLevel {
    /// 1: the callers of a hot method.
    pub level: usize,
    /// The hot method below.
    pub hot: String,
    /// The method that is called.
    pub of: String,
    /// Where calls and time are from: `measured`, `finder` or `samples`.
    pub source: String,
    /// Calls of the method that were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// The part of these calls (0 to 1) for which a caller was measured, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered: Option<f64>,
    /// Its part of the processor time of the hot method (0 to 1), by samples.
    pub share: f64,
    /// The callers, the largest share of the processor time first.
    pub callers: Vec<WalkCaller>,
    /// Parts without a caller, by reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_caller: Vec<WithoutCaller>,
    /// Why there are no measured figures, or why they are not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A caller on a level of a walk. Figures that were not measured are `None`; shares and margins are from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WalkCaller {
    /// The method that calls, as `package.Class.method(Types)`.
    pub method: String,
    /// The method that mostly stands between the two.
    pub via: Option<String>,
    /// Its calls that were measured.
    pub calls: Option<u64>,
    /// Their part of all measured calls that have a caller.
    pub calls_share: Option<f64>,
    /// By chance alone that part is off by more than this in one of twenty cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_margin: Option<f64>,
    /// How long they took together.
    #[serde(rename = "time_ms", serialize_with = "millis")]
    pub time_nanos: Option<u64>,
    /// Their part of the time of all measured calls that have a caller, or of what these have used by the walk's metric.
    pub time_share: Option<f64>,
    /// By chance alone that part is off by more than this in one of twenty cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_margin: Option<f64>,
    /// The shortest of these calls.
    #[serde(rename = "shortest_ms", serialize_with = "millis", skip_serializing_if = "Option::is_none")]
    pub shortest_nanos: Option<u64>,
    /// The longest of these calls.
    #[serde(rename = "longest_ms", serialize_with = "millis", skip_serializing_if = "Option::is_none")]
    pub longest_nanos: Option<u64>,
    /// Its part of the processor time of the method, by samples.
    pub cpu_share: Option<f64>,
    /// By chance alone that part is off by more than this in one of twenty cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Whether the walk went on there.
    pub followed: bool,
}

/// Samples of a method without a caller.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WithoutCaller {
    /// Why.
    pub reason: String,
    /// Their part of the processor time of the method (0 to 1).
    pub share: f64,
}

/// The probes of a walk, and what they have cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WalkHooks {
    /// Probes that it has now.
    pub now: u64,
    /// Most at a time.
    pub most: u64,
    /// Calls that they recorded.
    pub calls: u64,
    /// Calls that began before a level was measured, and ended meanwhile.
    pub late: u64,
    /// How often classes were changed.
    pub changes: u64,
    /// The longest time for which the application was stopped for that.
    #[serde(rename = "longest_stop_ms", serialize_with = "millis_of")]
    pub longest_stop_nanos: u64,
}

/// How many probes a walk has from a moment on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct HookCount {
    /// Nanoseconds from the start of the recording.
    #[serde(rename = "after_ms", serialize_with = "millis_of")]
    pub after_nanos: u64,
    /// Probes.
    pub now: u64,
}

fn millis<S: Serializer>(nanos: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    nanos.map(|nanos| nanos as f64 / 1e6).serialize(serializer)
}

fn millis_of<S: Serializer>(nanos: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*nanos as f64 / 1e6)
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
