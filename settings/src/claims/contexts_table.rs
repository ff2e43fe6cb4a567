//! `[contexts]`: how it is known what a thread is executing.

use instrument_core::config::word;
use instrument_core::{declare_table, declare_words};

declare_table! {
    /// How contexts (`instr probe --in`, `[[context]]`; docs/probes.md) know what a thread is executing.
    pub struct ContextsConfig = "contexts" {
        /// Where it is kept: `off-heap`, in memory found by the id of the thread; `thread-local`, in memory found by a `ThreadLocal`, which each thread keeps that
        /// has met a probe; `stack`, nowhere: each probe inside a context has the stack of its thread walked, 1,024 frames at most, and conditions
        /// (`--when`) are refused. The first session of a process decides.
        place: ContextPlace = key("place", word::<ContextPlace>(), ContextPlace::OffHeap),
    }
}

declare_words! {
    /// Where it is kept what a thread is executing.
    pub enum ContextPlace {
        /// Memory that is found by the id of the thread.
        OffHeap = "off-heap",
        /// Memory that is found by a `ThreadLocal`.
        ThreadLocal = "thread-local",
        /// Nowhere: the stack is walked.
        Stack = "stack",
    }
}
