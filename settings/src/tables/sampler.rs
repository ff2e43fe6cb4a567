//! `[sampler]`: samples of running threads.

use core::time::Duration;
use std::ops::RangeInclusive;

use instrument_core::config::{Boolean, number, time, word};
use instrument_core::{declare_table, declare_words};

/// Bounds of the interval. Below, the kernel's own tick is longer; above, samples say nothing.
const INTERVALS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);

declare_table! {
    /// Samples of what threads execute, taken each time a thread has used a certain amount of processor time. They need no
    /// rule and change no class.
    pub struct SamplerConfig = "sampler" {
        /// Whether samples are taken; without this table none are.
        enabled: bool = key("enabled", Boolean, true),
        /// Processor time of a thread between two of its samples on the average: half of it to one and a half, at random (engine `async`).
        interval: Duration = key("interval", time(INTERVALS), Duration::from_millis(10)),
        /// What takes the samples.
        engine: SamplerEngine = key("engine", word::<SamplerEngine>(), SamplerEngine::Auto),
        /// Frames of a stack that are recorded; deeper stacks are marked as truncated. `1` records only the innermost method.
        depth: u32 = key("depth", number(1..=2048), 128),
    }
}

declare_words! {
    /// What takes the samples.
    pub enum SamplerEngine {
        /// `async` where it is sound, else `jvmti`.
        Auto = "auto",
        /// A timer of processor time in each thread, and the JVM's function AsyncGetCallTrace in its signal handler: the stack of
        /// the very moment.
        Async = "async",
        /// A thread that asks the JVM for the stacks of busy threads: these are seen only where the JVM lets them stop.
        Jvmti = "jvmti",
    }
}
