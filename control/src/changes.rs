//! Answers to requests that change something.

use std::path::PathBuf;

use crate::message::messages;

messages! {
    /// What a change of level did.
    #[derive(Eq)]
    pub struct Changed {
        /// Probes whose level was set.
        pub changed: usize,
        /// Of those that were handed back: probes whose level the governor may change from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub governed: Option<usize>,
        /// All live probes.
        pub live: usize,
        /// Methods that were meant and whose level cannot change.
        pub fixed: Vec<Fixed>,
        /// Claims on probes that want another level of these methods.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub overruled: Vec<String>,
    }

    /// What reading the configuration again did.
    #[derive(Eq)]
    pub struct Reloaded {
        /// The number of the generation of rules that is in force now: 1 at the start of the agent.
        pub generation: u32,
        /// Its rules, those of presets each.
        pub rules: usize,
        /// Loaded classes of which something else is wanted; each was retransformed or waits.
        pub classes_changed: usize,
        /// Classes that wait, with the reason.
        pub waiting: Vec<String>,
        /// Warnings about the configuration.
        pub warnings: Vec<String>,
    }

    /// Methods that keep their level, and why.
    #[derive(Eq)]
    pub struct Fixed {
        /// Rules with this template.
        pub rules: Vec<String>,
        /// The template's name.
        pub template: String,
        /// Instrumented methods that were meant.
        pub methods: usize,
        /// The level at which they stay.
        pub level: String,
        /// Why it cannot change.
        pub reason: String,
    }

    /// What a request to pause or resume all probes did.
    #[derive(Eq)]
    pub struct Switched {
        /// Whether anything changed.
        pub changed: bool,
        /// Why probes record nothing all the same, as in [`Status::paused`](crate::Status::paused).
        pub paused: Vec<String>,
    }

    /// A recording that was ended by request.
    #[derive(Eq)]
    pub struct Stopped {
        /// Why it ended.
        #[serde(default)]
        pub reason: String,
        /// The recording, if one was written.
        pub trace_file: Option<PathBuf>,
        /// Its length.
        pub trace_file_bytes: u64,
        /// Calls that were recorded.
        pub records: u64,
        /// Calls that were lost.
        pub lost: u64,
    }
}
