//! `[allocation]`: samples of allocations.

use schemars::JsonSchema;

use instrument_core::config::{Problems, TableReader};

/// Samples of allocations: which methods and classes the memory goes to. They need no rule and change no class.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AllocationConfig {
    /// Whether samples are taken. Default: `true` if the table `[allocation]` is present.
    #[schemars(default = "yes")]
    pub enabled: bool,
    /// KiB that a thread allocates, on the average, between two of its samples. 0 takes every allocation, which is very slow.
    #[schemars(range(max = 1048576))]
    pub interval_kb: u32,
    /// Frames of a stack that are recorded; deeper stacks are marked as truncated.
    #[schemars(range(min = 1, max = 2048))]
    pub depth: u32,
}

impl Default for AllocationConfig {
    fn default() -> AllocationConfig {
        AllocationConfig { enabled: false, interval_kb: 512, depth: 64 }
    }
}

fn yes() -> bool {
    true
}

/// Reads the table. Who writes it wants samples.
pub(super) fn read_allocation(table: &TableReader<'_, '_>, problems: &mut Problems) -> AllocationConfig {
    let default = AllocationConfig::default();
    AllocationConfig {
        enabled: table.boolean("enabled", problems).unwrap_or(true),
        interval_kb: table.number("interval-kb", 0..1_048_577, problems).unwrap_or(default.interval_kb),
        depth: table.number("depth", 1..2049, problems).unwrap_or(default.depth),
    }
}
