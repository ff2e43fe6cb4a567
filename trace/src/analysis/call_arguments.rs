//! With which values calls were slow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::WatchedLengths;
use crate::reader::{Call, Chunk};

/// Calls that are kept.
const MOST_CALLS: usize = 1_000;

/// One of the longest calls that were recorded with values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowCall {
    /// Class and method.
    pub method: String,
    /// Name of its thread.
    pub thread: String,
    /// Start, in nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds.
    pub duration: u64,
    /// False when the times are estimates.
    pub exact: bool,
    /// The values, see [`crate::arguments`].
    pub arguments: String,
}

/// Ordered by duration, then by what is recorded of the call, so that the same recording gives the same calls.
type Kept = (u64, Reverse<u64>, String, String, String, bool);

/// The longest calls; memory is bounded by their number.
#[derive(Debug, Default)]
pub(super) struct SlowestCalls(BinaryHeap<Reverse<Kept>>);

impl SlowestCalls {
    pub(super) fn see(&mut self, chunk: &Chunk, call: &Call, arguments: &str) {
        let is_full = self.0.len() >= MOST_CALLS;
        if is_full && self.0.peek().is_some_and(|Reverse((shortest, ..))| call.duration <= *shortest) {
            return;
        }
        if is_full {
            self.0.pop();
        }
        let method = chunk.method(call.method);
        let method = method.map(|method| format!("{}.{}", method.class.replace('/', "."), method.name));
        let thread = chunk.thread(call.thread).map(|thread| crate::export::thread_name(thread).into_owned());
        self.0.push(Reverse((
            call.duration,
            Reverse(call.start),
            thread.unwrap_or_default(),
            method.unwrap_or_default(),
            arguments.to_owned(),
            call.exact,
        )));
    }

    /// The longest first.
    pub(super) fn finish(self, ticks: &WatchedLengths) -> Vec<SlowCall> {
        let call = |Reverse((duration, Reverse(start), thread, method, arguments, exact))| SlowCall {
            method,
            thread,
            start,
            duration,
            exact,
            arguments,
        };
        let calls = self.0.into_sorted_vec().into_iter().map(call);
        // Of a call at level watch that is shorter nobody knows how long it took.
        calls.filter(|call: &SlowCall| call.exact || ticks.counts(call.duration)).collect()
    }
}
