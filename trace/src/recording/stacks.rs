//! Sampled stacks and their keys.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::constants::Constants;
use super::payload::{push_flag, push_text};
use super::pool::Pool;
use super::samples::SampledMethod;
use crate::schema::id;
use crate::varint;

const JAVA_FRAME: u64 = 1;
const NATIVE_FRAME: u64 = 2;
/// Key of the state of a thread that uses the processor.
pub(super) const RUNNABLE: u64 = 1;

/// A frame of a sampled stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleFrame {
    /// The method, from [`Recording::sampled_method`](super::Recording::sampled_method).
    pub method: SampledMethod,
    /// Line in the source file, 0 if unknown: of the call in progress, or of what the innermost method executes.
    pub line: u32,
    /// Offset of that instruction in the method's bytecode.
    pub bytecode_index: u32,
    /// Whether the method is a native one.
    pub is_native: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stack {
    frames: Arc<[SampleFrame]>,
    truncated: bool,
}

/// The stacks of a recording, and the pools of the chunk under construction. Programs have many distinct stacks, so not all
/// are remembered for ever: a forgotten one gets a new key when it is used again, no key is ever given twice.
#[derive(Debug)]
pub(super) struct Stacks {
    keys: FxHashMap<Stack, (u64, u32)>,
    last_key: u64,
    stacks: Pool,
    frame_types: Pool,
    thread_states: Pool,
}

impl Stacks {
    const REMEMBERED: usize = 16_384;

    pub(super) fn new() -> Stacks {
        Stacks {
            keys: FxHashMap::default(),
            last_key: 0,
            stacks: Pool::new(id::STACK_TRACE),
            frame_types: Pool::new(id::FRAME_TYPE),
            thread_states: Pool::new(id::THREAD_STATE),
        }
    }

    /// The key of a stack, which is in the pools of the chunk afterwards with all that it refers to.
    pub(super) fn use_stack(&mut self, frames: &[SampleFrame], truncated: bool, constants: &mut Constants) -> u64 {
        let chunk = constants.chunk();
        let stack = Stack { frames: frames.into(), truncated };
        let next = self.last_key + 1;
        let (key, last_chunk) = self.keys.entry(stack).or_insert((next, 0));
        let (key, is_used) = (*key, std::mem::replace(last_chunk, chunk) == chunk);
        self.last_key = self.last_key.max(key);
        if !is_used {
            frames.iter().for_each(|frame| constants.use_method(frame.method.0));
            self.stacks.add(key, |fields| push_stack(fields, frames, truncated));
        }
        key
    }

    /// Puts the names of frame types and thread states into the chunk, once.
    pub(super) fn use_names(&mut self) {
        if self.thread_states.is_empty() {
            self.thread_states.add(RUNNABLE, |fields| push_text(fields, "STATE_RUNNABLE"));
            self.frame_types.add(JAVA_FRAME, |fields| push_text(fields, "Java"));
            self.frame_types.add(NATIVE_FRAME, |fields| push_text(fields, "Native"));
        }
    }

    pub(super) fn pools(&self) -> [&Pool; 3] {
        [&self.stacks, &self.frame_types, &self.thread_states]
    }

    /// Starts the next chunk: nothing is in use.
    pub(super) fn next_chunk(&mut self) {
        if self.keys.len() > Self::REMEMBERED {
            self.keys.clear();
        }
        for pool in [&mut self.stacks, &mut self.frame_types, &mut self.thread_states] {
            pool.clear();
        }
    }
}

fn push_stack(fields: &mut Vec<u8>, frames: &[SampleFrame], truncated: bool) {
    push_flag(fields, truncated);
    varint::push(fields, frames.len() as u64);
    for frame in frames {
        let frame_type = if frame.is_native { NATIVE_FRAME } else { JAVA_FRAME };
        let parts = [u64::from(frame.method.0), u64::from(frame.line), u64::from(frame.bytecode_index), frame_type];
        parts.into_iter().for_each(|part| varint::push(fields, part));
    }
}
