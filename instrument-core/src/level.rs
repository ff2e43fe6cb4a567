//! How much a probe does while the method runs, and how it is attached to the method.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an instrumented method does when it is called. Ordered by cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Only the guard: the probe is in place but asleep.
    Off,
    /// Records the calls during which a millisecond tick passed: every long call and a sample of the short ones.
    #[default]
    Watch,
    /// Exact times of the calls that begin in a window of a millisecond every now and then; nothing outside. Live probes only.
    Burst,
    /// Exact start and duration of every call.
    Time,
    /// Exact times, and with `[metrics]` what runs, is stalled or failed, processor time and bytes allocated.
    Full,
}

impl Level {
    /// All levels, cheapest first.
    pub const ALL: [Level; 5] = [Level::Off, Level::Watch, Level::Burst, Level::Time, Level::Full];

    /// The name used in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Watch => "watch",
            Level::Burst => "burst",
            Level::Time => "time",
            Level::Full => "full",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a template gets around a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Template and method body become one method.
    #[default]
    Inline,
    /// The original is renamed and called by a new method of the old name.
    Wrapper,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 2] = [Mode::Inline, Mode::Wrapper];

    /// The name used in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Inline => "inline",
            Mode::Wrapper => "wrapper",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
