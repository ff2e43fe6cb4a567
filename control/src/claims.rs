//! Claims: who wants which probes, and until when.

use instrument_core::level::Level;

use crate::message::messages;

/// A request for probes, as [`Request::Probe`](crate::Request::Probe) has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRequest {
    /// Methods as `package.Class.method` with `*` and `**`.
    pub methods: String,
    /// Their level.
    pub level: Option<Level>,
    /// The template.
    pub template: Option<String>,
    /// The methods inside which calls are recorded, as `a.B.c > d.E.f`; everywhere if there are none.
    pub within: Option<String>,
    /// Whether the last of these methods must be the immediate caller.
    pub direct: bool,
    /// The condition under which calls are recorded, as `arg.0 = 'card'`.
    pub when: Option<String>,
    /// Whether tasks that are handed over inside the context are inside it on other threads.
    pub across_threads: bool,
    /// The name by which requests that are sent inside the context tell other hosts so.
    pub across_hosts: Option<String>,
    /// When the claim ends by itself.
    pub limits: ClaimLimits,
    /// Whether the claim is kept for the next start.
    pub pin: bool,
    /// Most methods of loaded classes that the pattern may match.
    pub most: Option<usize>,
}

/// When a claim ends by itself: at the first of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimLimits {
    /// After this time.
    pub seconds: Option<u64>,
    /// After this number of recorded calls.
    pub calls: Option<u64>,
    /// After the process has used this number of processor cycles.
    pub cycles: Option<u64>,
    /// When the application has been healthy for this time without interruption.
    pub healthy_seconds: Option<u64>,
    /// When the application is in trouble.
    pub while_healthy: bool,
    /// When the client disconnects.
    pub while_connected: bool,
}

messages! {
    /// What a request for probes did.
    #[derive(Default, Eq)]
    pub struct Probed {
        /// The number of the claim.
        pub claim: u32,
        /// Methods of loaded classes that have the probe now; a method of several loaders counts once.
        pub methods: usize,
        /// Classes that were changed for that.
        pub classes: usize,
        /// Classes that the pattern names and that wait, with the reason.
        pub waiting: Vec<String>,
        /// Classes that the pattern names and that cannot be changed, with the reason; of many the first.
        pub refused: Vec<String>,
        /// Classes that cannot be changed, then those that wait; the first hundred of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub unchanged: Vec<UnchangedClass>,
        /// Of the methods, those that are at another level than asked for, and the claims that decide about them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub overruled: Option<String>,
        /// When the claim ends by itself, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub expires: Option<String>,
        /// The methods of the context, the outermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub within: Vec<ContextMethod>,
        /// Whether only calls are recorded that the last method of the context makes itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub direct: bool,
        /// The condition under which calls are recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub condition: Option<String>,
    }

    /// A class that is as it was.
    #[derive(Eq)]
    pub struct UnchangedClass {
        /// Its name, as `package.Class`.
        pub class: String,
        /// Why, with its name.
        pub reason: String,
    }

    /// A method of a context.
    #[derive(Eq)]
    pub struct ContextMethod {
        /// As it was asked for.
        pub method: String,
        /// The methods of loaded classes that are meant; 0 if none of these can be changed.
        pub methods: usize,
    }

    /// What ending a claim did.
    #[derive(Eq)]
    pub struct Removed {
        /// The number of the claim.
        pub claim: u32,
        /// Methods that lost their probe, or were handed back by a claim on levels; not those whose probe others want.
        pub methods: usize,
    }

    /// All claims.
    #[derive(Eq)]
    pub struct ClaimList {
        /// The rules first, in their order; then the others, the oldest first.
        pub claims: Vec<ClaimRow>,
    }

    /// A claim.
    #[derive(Default, Eq)]
    pub struct ClaimRow {
        /// Its number; none for rules, which the configuration file states.
        pub id: Option<u32>,
        /// `rules`, `user`, `persisted` (a claim that was pinned before the start), `diagnosis`, `walk`, `governor` or `monitor`.
        pub owner: String,
        /// `probe`, `level` (of probes that others want), `detail` (a higher level, because calls were slow), `ceiling` (no higher level), `suppress` (no probe) and others.
        pub role: String,
        /// The class, with `*` and `**`.
        pub class: String,
        /// The method, with `*`.
        pub method: String,
        /// The level that is wanted.
        pub level: Option<String>,
        /// `active`; `waiting` where a class cannot be changed yet; `pending` if no loaded class has a method that it may take; `ended` after the end of
        /// the recording.
        pub state: String,
        /// Why it exists, and why it is not active.
        pub reason: String,
        /// Calls that were recorded for it, if they are counted.
        pub hits: Option<u64>,
        /// When it ends by itself, in words.
        pub expires: Option<String>,
        /// Of an anchor: the condition that must hold for a call of the method to count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub condition: Option<ConditionFigures>,
        /// Of probes inside a context that reaches other hosts: how many requests have carried its name to them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub baggage: Option<BaggageFigures>,
    }

    /// Requests that were sent inside a context that reaches other hosts.
    #[derive(Eq)]
    pub struct BaggageFigures {
        /// The entry of the header `baggage`: `instr=NAME`.
        pub entry: String,
        /// Requests that have carried it.
        pub sent: u64,
        /// Requests without it, to hosts that `baggage-to` does not name.
        pub elsewhere: u64,
        /// Requests without it, because the header would have been longer than 8,192 bytes.
        pub too_long: u64,
    }

    /// How often a condition was evaluated. A getter may be called for that: what it throws is counted, and the application does not notice it.
    #[derive(Eq)]
    pub struct ConditionFigures {
        /// The condition.
        pub condition: String,
        /// How often it was evaluated.
        pub evaluated: u64,
        /// How often it held.
        pub held: u64,
        /// How often it could not be evaluated, so that it did not hold.
        pub failed: u64,
        /// Why, the last time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub last_failure: Option<String>,
    }
}
