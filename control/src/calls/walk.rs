//! Walks: from hot methods up to their callers, level by level.

use super::hot_spots::{HotBy, HotSpot, WithoutMethod};
use crate::message::messages;

/// Levels of a walk, unless the request states another number.
pub const WALK_LEVELS: usize = 8;
/// For how long a level is measured, unless the request states another time, in milliseconds.
pub const WALK_PERIOD_MS: u64 = 3_000;
/// ... or until so many calls have been recorded.
pub const WALK_CALLS: u64 = 20_000;
/// Probes of a walk at a time, unless the request states another number.
pub const WALK_HOOKS: usize = 16;
/// What recording calls may take unless the request states another part, in percent of one processor.
pub const WALK_BUDGET: u32 = 2;
/// Callers with this share of a level are followed, unless the request states another one, in percent.
pub const WALK_PERCENT: u32 = 5;

/// Why a walk has ended whose client has closed its connection.
pub const CLIENT_LEFT: &str = "its client has left";

/// A request for a walk, as [`Request::Walk`](crate::Request::Walk) has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkRequest {
    /// The method to begin at, as `package.Class.method`, with `(types)` if only one of its overloads is meant; the hot ones unless stated.
    pub method: Option<String>,
    /// So many hot methods.
    pub top: Option<usize>,
    /// For how long samples are taken first, in seconds.
    pub seconds: Option<u64>,
    /// For how long each level is measured, in milliseconds.
    pub period_ms: Option<u64>,
    /// ... or until so many calls of it and of its callers have been recorded; never more.
    pub calls: Option<u64>,
    /// So many levels.
    pub levels: Option<usize>,
    /// Callers with this share are followed, in percent.
    pub percent: Option<u32>,
    /// The most callers of one method that are followed.
    pub most_callers: Option<usize>,
    /// The most probes at a time.
    pub hooks: Option<usize>,
    /// The part of one processor that recording calls may take, in percent.
    pub budget: Option<u32>,
    /// Counting calls of a method ends when they have used this much of the metric.
    pub used: Option<u64>,
    /// Classes whose methods are passed through, with `*` and `**`.
    pub through: Vec<String>,
    /// Classes at whose methods a walk ends, with `*` and `**`.
    pub boundary: Vec<String>,
    /// By what calls are measured: `wall`, `cpu`, `allocated`, `cycles` or `instructions`; by time, and by probes, unless stated.
    pub metric: Option<HotBy>,
    /// Whether the walk goes on from tasks and threads to who hands them over.
    pub across_threads: bool,
}

messages! {
    /// What a walk has found, or has found up to now.
    pub struct Walk {
        /// What it does: `sampling`, `inserting level 2`, `measuring level 2`, `ended`.
        pub state: String,
        /// By what calls were measured, if not by time: then `time_share` is a part of that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub metric: Option<HotBy>,
        /// Samples that it began with.
        pub samples: u64,
        /// What took them: `async` (signals, AsyncGetCallTrace), `jvmti` (stacks at safepoints).
        pub sampler: String,
        /// In which respect they are not what one might think.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub bias: Option<String>,
        /// The hot methods from which it walks up.
        pub hot: Vec<HotSpot>,
        /// The callers, level by level.
        pub levels: Vec<WalkLevel>,
        /// Probes.
        pub hooks: WalkHooks,
        /// Why it has ended; absent as long as it has not.
        #[serde(default)]
        pub end: Option<String>,
        /// What one should know about these figures.
        #[serde(default)]
        pub notices: Vec<String>,
    }

    /// Who calls a method on a level of a walk.
    pub struct WalkLevel {
        /// 1: the callers of a hot method.
        pub level: usize,
        /// The hot method below.
        pub hot: String,
        /// The method that is called.
        pub of: String,
        /// Where calls and time are from: `measured` (probes in the method and in its callers), `finder` (a hook in the method, where tasks begin with it), `samples`.
        pub source: String,
        /// Calls of the method that were measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub calls: Option<u64>,
        /// The part of these calls (0 to 1) for which a caller was measured, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub covered: Option<f64>,
        /// Its part of the processor time of the hot method (0 to 1), by samples.
        pub share: f64,
        /// The callers, the largest share of the processor time first.
        pub callers: Vec<WalkCaller>,
        /// Parts without a caller, by reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub without_caller: Vec<WithoutMethod>,
        /// Why there are no measured figures, or why they are not complete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }

    /// A caller on a level of a walk.
    pub struct WalkCaller {
        /// The method that calls, as `package.Class.method(Types)`.
        pub method: String,
        /// What is mostly between the two: a method that was passed through.
        #[serde(default)]
        pub via: Option<String>,
        /// Its calls that were measured; absent where the level was not.
        #[serde(default)]
        pub calls: Option<u64>,
        /// Their part of all measured calls that have a caller (0 to 1).
        #[serde(default)]
        pub calls_share: Option<f64>,
        /// That part is off by more than this in one of twenty cases (0 to 1), by chance alone, if it does not depend on earlier calls who calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub calls_margin: Option<f64>,
        /// How long they took together, in milliseconds; absent where calls are so short that measuring them takes longer.
        #[serde(default)]
        pub time_ms: Option<f64>,
        /// What they have used, if the walk has a metric that is no time: bytes, cycles, instructions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub amount: Option<f64>,
        /// Their part of the time of all measured calls that have a caller, or of what these have used (0 to 1).
        #[serde(default)]
        pub time_share: Option<f64>,
        /// That part is off by more than this in one of twenty cases (0 to 1), by chance alone: much where few long calls have most of the time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub time_margin: Option<f64>,
        /// The shortest of these calls, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub shortest_ms: Option<f64>,
        /// The longest of these calls, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub longest_ms: Option<f64>,
        /// Its part of the processor time of the method (0 to 1), by samples; absent for a caller that no sample has met.
        #[serde(default)]
        pub cpu_share: Option<f64>,
        /// That part is off by more than this in one of twenty cases (0 to 1); absent where samples are biased.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub margin: Option<f64>,
        /// Whether the walk goes on there.
        pub followed: bool,
    }

    /// The probes of a walk.
    pub struct WalkHooks {
        /// Methods that have one now.
        pub now: usize,
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
    }
}
