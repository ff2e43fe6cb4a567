//! The way from the sampler's thread to the drainer, who writes the trace file.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use control::CodeKind;
use parking_lot::Mutex;

use super::Engine;
use super::innermost_place::InnermostPlace;
use crate::jvm::MethodFacts;

/// More items do not wait: the drainer hangs, or the file cannot be written.
const MOST: usize = 200_000;

/// A frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueuedFrame {
    /// Number of the method, told before by [`QueuedItem::Method`].
    pub(crate) method: u32,
    /// Line, 0 if unknown.
    pub(crate) line: u32,
    /// Offset in the bytecode; `None` in native methods.
    pub(crate) offset: Option<u32>,
}

/// A stack, the innermost frame first.
#[derive(Debug, Clone)]
pub(crate) struct QueuedStack {
    pub(crate) frames: Box<[QueuedFrame]>,
    /// Whether outer frames are missing.
    pub(crate) truncated: bool,
}

/// What the trace file is to hold. What an item refers to stands in an earlier one.
#[derive(Debug, Clone)]
pub(crate) enum QueuedItem {
    /// Samples are taken.
    Engine { at: u64, engine: Engine, interval: Duration },
    /// Defines a method; numbers count up from 0. `unnamed`: it represents all methods without a name, for this reason.
    Method { number: u32, facts: MethodFacts, unnamed: Option<&'static str> },
    /// A thread.
    Thread { id: u64, name: String, os_thread: u64, is_virtual: bool },
    /// A sample; `code` is what the thread was executing, if that is known.
    Stack { thread: u64, at: u64, ticks: u32, code: Option<CodeKind>, stack: QueuedStack },
    /// A sample without stack; `place` is what the thread was executing, if that is known.
    Failed { thread: u64, at: u64, ticks: u32, reason: &'static str, place: Option<InnermostPlace> },
    /// Allocations are sampled: bytes between two samples of a thread.
    AllocationInterval { at: u64, bytes: u64 },
    /// A sample of an allocation: an object of this class and size, for `weight` bytes.
    Allocation { thread: u64, at: u64, class: Vec<u8>, size: u64, weight: u64, stack: QueuedStack },
    /// Something to know.
    Note { at: u64, text: String },
}

/// Items that wait.
#[derive(Debug, Default)]
pub(crate) struct SampleQueue {
    items: Mutex<Vec<QueuedItem>>,
    /// Copies of the items, while there is a second reader.
    copies: Mutex<Option<Vec<QueuedItem>>>,
    /// The number of second readers up to now: each needs the definitions of its methods.
    readers: AtomicU32,
}

impl SampleQueue {
    /// Appends an item; false if too many wait already. Definitions always find a place.
    pub(crate) fn push(&self, item: QueuedItem) -> bool {
        let is_sample =
            matches!(item, QueuedItem::Stack { .. } | QueuedItem::Failed { .. } | QueuedItem::Allocation { .. });
        if let Some(copies) = &mut *self.copies.lock()
            && (!is_sample || copies.len() < MOST)
        {
            copies.push(item.clone());
        }
        let mut items = self.items.lock();
        if is_sample && items.len() >= MOST {
            return false;
        }
        items.push(item);
        true
    }

    /// Begins to copy items, for a second reader; methods that were defined before are defined again with their next sample.
    pub(crate) fn begin_copies(&self) {
        *self.copies.lock() = Some(Vec::new());
        self.readers.fetch_add(1, Ordering::Release);
    }

    /// Takes the copies since the last time.
    pub(crate) fn take_copies(&self) -> Vec<QueuedItem> {
        self.copies.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends copying.
    pub(crate) fn end_copies(&self) {
        *self.copies.lock() = None;
    }

    /// Adds a definition to the copies only.
    pub(super) fn define_again(&self, item: QueuedItem) {
        if let Some(copies) = &mut *self.copies.lock() {
            copies.push(item);
        }
    }

    /// The number of second readers up to now.
    pub(super) fn readers(&self) -> u32 {
        self.readers.load(Ordering::Acquire)
    }

    pub(super) fn engine(&self, at: u64, engine: Engine, interval: Duration) {
        self.push(QueuedItem::Engine { at, engine, interval });
    }

    /// Takes all items.
    pub(crate) fn take(&self) -> Vec<QueuedItem> {
        std::mem::take(&mut self.items.lock())
    }
}
