//! Threads of the JVM, and samples of them.

pub(super) mod own_stack;
pub(super) mod sample_buffer;
mod sample_moments;
pub(super) mod sample_signal;
mod stub_caller;
pub(super) mod thread_facts;
