//! What was recorded with calls, until the calls themselves are read.

use rustc_hash::FxHashMap;

use super::{Frame, FrameId};
use crate::reader::{Call, Chunk};

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// Details whose calls have not been read yet. A call and its details have thread, method and times in common; of several such calls,
/// as recursion makes them at level watch, both have the same order.
#[derive(Debug)]
pub(super) struct Pending<T> {
    waiting: FxHashMap<(u64, u64, u64, u64), Vec<T>>,
    /// The hash of each method's names, once it was asked for.
    methods: Vec<Option<u64>>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Pending { waiting: FxHashMap::default(), methods: Vec::new() }
    }
}

impl<T> Pending<T> {
    /// Notes what was recorded with a call, in the order of the file.
    pub(super) fn add(&mut self, chunk: &Chunk, call: &Call, detail: T) {
        let Some(method) = chunk.method(call.method) else { return };
        let thread = chunk.thread(call.thread).map_or(0, |thread| thread.id);
        let key = (thread, call.start, call.duration, hash([method.class, method.name, method.descriptor]));
        self.waiting.entry(key).or_default().push(detail);
    }

    /// Returns what was recorded with a call; calls are read from the last to the first. `times` are the thread, and start and duration as
    /// recorded.
    #[inline]
    pub(super) fn take(&mut self, times: (u64, u64, u64), id: FrameId, frame: &Frame) -> Option<T> {
        if self.waiting.is_empty() { None } else { self.find(times, id, frame) }
    }

    fn find(&mut self, (thread, start, duration): (u64, u64, u64), id: FrameId, frame: &Frame) -> Option<T> {
        if self.methods.len() <= id.index() {
            self.methods.resize(id.index() + 1, None);
        }
        let of_frame = || hash([&frame.class, frame.bare_method(), &frame.descriptor]);
        let method = *self.methods.get_mut(id.index())?.get_or_insert_with(of_frame);
        let key = (thread, start, duration, method);
        let details = self.waiting.get_mut(&key)?;
        let detail = details.pop();
        if details.is_empty() {
            self.waiting.remove(&key);
        }
        detail
    }
}

/// FNV-1a of the names, with slashes as dots.
fn hash(names: [&str; 3]) -> u64 {
    let bytes = names.into_iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(if byte == b'/' { b'.' } else { byte })).wrapping_mul(PRIME))
}
