//! Values that were recorded with calls: to which call they belong, and with which values calls were slow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::{Frame, FrameId};
use crate::reader::{Call, Chunk};

/// Calls that are kept.
const MOST_CALLS: usize = 1_000;
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

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

/// Ordered by duration, then by what is told of the call, so that the same recording gives the same calls.
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
    pub(super) fn finish(self) -> Vec<SlowCall> {
        let call = |Reverse((duration, Reverse(start), thread, method, arguments, exact))| SlowCall {
            method,
            thread,
            start,
            duration,
            exact,
            arguments,
        };
        self.0.into_sorted_vec().into_iter().map(call).collect()
    }
}

/// Values whose calls have not come up yet. A call and its values have thread, method and times in common; of several such calls,
/// as recursion makes them at level watch, both come in the same order.
#[derive(Debug, Default)]
pub(super) struct PendingArguments {
    texts: FxHashMap<(u64, u64, u64, u64), Vec<String>>,
    /// What stands for each method, once it was asked for.
    methods: Vec<Option<u64>>,
}

impl PendingArguments {
    /// Notes values, in the order of the file.
    pub(super) fn add(&mut self, chunk: &Chunk, call: &Call, arguments: &str) {
        let Some(method) = chunk.method(call.method) else { return };
        let thread = chunk.thread(call.thread).map_or(0, |thread| thread.id);
        let key = (thread, call.start, call.duration, hash([method.class, method.name, method.descriptor]));
        self.texts.entry(key).or_default().push(arguments.to_owned());
    }

    /// The values of a call; calls come from the last to the first.
    #[inline]
    pub(super) fn take(&mut self, times: (u64, u64, u64), id: FrameId, frame: &Frame) -> Option<String> {
        if self.texts.is_empty() { None } else { self.find(times, id, frame) }
    }

    fn find(&mut self, (thread, start, duration): (u64, u64, u64), id: FrameId, frame: &Frame) -> Option<String> {
        if self.methods.len() <= id.index() {
            self.methods.resize(id.index() + 1, None);
        }
        let of_frame = || hash([&frame.class, &frame.method, &frame.descriptor]);
        let method = *self.methods.get_mut(id.index())?.get_or_insert_with(of_frame);
        let key = (thread, start, duration, method);
        let texts = self.texts.get_mut(&key)?;
        let text = texts.pop();
        if texts.is_empty() {
            self.texts.remove(&key);
        }
        text
    }
}

/// FNV-1a of the names, with slashes as dots.
fn hash(names: [&str; 3]) -> u64 {
    let bytes = names.into_iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(if byte == b'/' { b'.' } else { byte })).wrapping_mul(PRIME))
}
