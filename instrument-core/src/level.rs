//! How much a probe does while the method runs, and how it is attached to the method.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::declare_words;

declare_words! {
    /// What an instrumented method does when it is called. Ordered by cost.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Level {
        /// Only the guard: the probe is in place but asleep.
        Off = "off",
        /// Records the calls during which a millisecond tick passed: every long call and a sample of the short ones.
        Watch = "watch",
        /// Exact times of the calls that begin in a window of a millisecond every now and then; nothing outside. Live probes only.
        Burst = "burst",
        /// Exact start and duration of every call.
        Time = "time",
        /// Exact times, and with `[metrics]` what runs, is stalled or failed, processor time and bytes allocated.
        Full = "full",
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

declare_words! {
    /// How a template gets around a method.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Mode {
        /// Template and method body become one method.
        Inline = "inline",
        /// The original is renamed and called by a new method of the old name.
        Wrapper = "wrapper",
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
