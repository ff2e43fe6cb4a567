//! `[allocation]`: samples of allocations.

use instrument_core::config::{Boolean, number};
use instrument_core::declare_table;

declare_table! {
    /// Samples of allocations: which methods and classes the memory goes to. They need no rule and change no class.
    pub struct AllocationConfig = "allocation" {
        /// Whether samples are taken; without this table none are.
        enabled: bool = key("enabled", Boolean, true),
        /// KiB that a thread allocates, on the average, between two of its samples. 0 takes every allocation, which is very slow.
        interval_kb: u32 = key("interval-kb", number(0..=1_048_576), 512),
        /// Frames of a stack that are recorded; deeper stacks are marked as truncated.
        depth: u32 = key("depth", number(1..=2048), 64),
    }
}
