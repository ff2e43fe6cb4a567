//! Threads and their keys. A thread's key is its Java id as long as it keeps its first name; a renamed thread gets a key
//! from a range of its own, because a key may never change its meaning within a file.

use rustc_hash::FxHashMap;

use super::payload::{push_flag, push_optional_text, push_text};
use super::pool::Pool;
use crate::schema::id;
use crate::varint::{self, Packed, pack};

/// Keys from here on are given to renamed, undefined and named virtual threads.
const FIRST_EXTRA_KEY: u64 = 1 << 33;
/// A chunk takes longer than anything that is under way when a thread ends.
const CHUNKS_AFTER_THE_END: u8 = 2;

#[derive(Debug)]
struct Thread {
    key: u64,
    name: Box<str>,
    os_id: u64,
    is_virtual: bool,
    /// The key is the Java id and must be the same if the thread is recorded again: keep the entry.
    is_kept: bool,
    /// The number of further chunks for which the entry is kept although it need not be kept.
    chunks_left: u8,
    chunk: u32,
}

/// The threads of a recording, and which of them writes now.
#[derive(Debug)]
pub(super) struct Threads {
    known: FxHashMap<u64, Thread>,
    last_extra_key: u64,
    current: u64,
    /// Chunk in which the current thread is known to be in the pool.
    current_in: u32,
    current_key: Packed,
    pool: Pool,
}

impl Threads {
    pub(super) fn new() -> Threads {
        Threads {
            known: FxHashMap::default(),
            last_extra_key: FIRST_EXTRA_KEY,
            current: 0,
            current_in: 0,
            current_key: Packed::default(),
            pool: Pool::new(id::THREAD),
        }
    }

    /// Says what a thread is called from now on. An empty name never replaces a known one.
    pub(super) fn define(&mut self, thread: u64, name: &str, os_id: u64, is_virtual: bool) {
        let known = self.known.get(&thread);
        let os_id = if is_virtual { 0 } else { os_id };
        if known.is_some_and(|known| name.is_empty() && !known.name.is_empty()) {
            return;
        }
        if known.is_some_and(|known| *known.name == *name && known.os_id == os_id && known.is_virtual == is_virtual) {
            return;
        }
        // The Java id serves as key for: a platform thread's first definition, and a virtual thread without a name,
        // whose meaning is the same each time. So virtual threads need not be remembered: there may be millions.
        let first = known.is_none_or(|known| !known.is_kept);
        let fits = (1..FIRST_EXTRA_KEY).contains(&thread);
        let own_key = fits && if is_virtual { name.is_empty() } else { first };
        let key = if own_key { thread } else { self.extra_key() };
        let is_kept = !is_virtual && (own_key || !first);
        self.known
            .insert(thread, Thread { key, name: name.into(), os_id, is_virtual, is_kept, chunks_left: 0, chunk: 0 });
        self.current_in = 0;
    }

    fn extra_key(&mut self) -> u64 {
        self.last_extra_key += 1;
        self.last_extra_key
    }

    /// Says what a thread is called unless that is known; whether it was not.
    pub(super) fn define_if_unknown(&mut self, thread: u64, name: &str, os_id: u64) -> bool {
        let is_unknown = !self.known.contains_key(&thread);
        if is_unknown {
            self.define(thread, name, os_id, false);
        }
        is_unknown
    }

    /// What is known about a thread: its name, and the operating system's number of it.
    pub(super) fn name_and_os_id(&self, thread: u64) -> Option<(&str, u64)> {
        self.known.get(&thread).map(|known| (&*known.name, known.os_id))
    }

    /// The thread has ended: its Java id is never used again.
    pub(super) fn forget(&mut self, thread: u64) {
        self.known.remove(&thread);
        self.current_in = 0;
    }

    /// The thread has ended, but events of it may still come that were under way: it is forgotten some chunks later.
    pub(super) fn forget_later(&mut self, thread: u64) {
        if let Some(entry) = self.known.get_mut(&thread).filter(|entry| entry.is_kept) {
            entry.is_kept = false;
            entry.chunks_left = CHUNKS_AFTER_THE_END;
        }
    }

    /// Following events are of this thread.
    #[inline]
    pub(super) fn current(&self) -> u64 {
        self.current
    }

    pub(super) fn set_current(&mut self, thread: u64) {
        if self.current != thread {
            self.current = thread;
            self.current_in = 0;
        }
    }

    /// The key of the current thread, which is in the pool of the chunk afterwards.
    #[inline]
    pub(super) fn use_current(&mut self, chunk: u32) -> Packed {
        if self.current_in != chunk {
            self.current_key = pack(self.use_thread(self.current, chunk));
            self.current_in = chunk;
        }
        self.current_key
    }

    /// The key of a thread, which is in the pool of the chunk afterwards. Id 0 is "no thread".
    pub(super) fn use_thread(&mut self, thread: u64, chunk: u32) -> u64 {
        if thread == 0 {
            return 0;
        }
        if !self.known.contains_key(&thread) {
            let key = self.extra_key();
            let unnamed =
                Thread { key, name: "".into(), os_id: 0, is_virtual: false, is_kept: false, chunks_left: 0, chunk: 0 };
            self.known.insert(thread, unnamed);
        }
        let Some(entry) = self.known.get_mut(&thread) else { return 0 };
        if entry.chunk != chunk {
            entry.chunk = chunk;
            self.pool.add(entry.key, |fields| {
                push_optional_text(fields, (!entry.is_virtual).then_some(&*entry.name));
                varint::push(fields, entry.os_id);
                push_text(fields, &entry.name);
                varint::push(fields, thread);
                push_flag(fields, entry.is_virtual);
            });
        }
        entry.key
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Starts the next chunk: only threads whose key must be remembered are.
    pub(super) fn next_chunk(&mut self) {
        self.pool.clear();
        let current = self.current;
        self.known.retain(|thread, entry| {
            let stays = entry.is_kept || entry.chunks_left > 0 || *thread == current;
            entry.chunks_left = entry.chunks_left.saturating_sub(1);
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_have_ended_are_forgotten_whatever_reports_it() {
        let mut threads = Threads::new();
        let mut most = 0;
        for thread in 1..=100_000 {
            threads.define(thread, &format!("short-{thread}"), thread, false);
            threads.set_current(thread);
            threads.use_current(1);
            if thread % 2 == 0 {
                threads.forget_later(thread)
            } else {
                threads.forget(thread)
            }
            if thread % 1_000 == 0 {
                threads.next_chunk();
            }
            most = most.max(threads.known.len());
        }
        assert!(most < 3_000, "{most} threads are remembered");
    }

    #[test]
    fn a_thread_is_known_when_its_end_is_recorded_late() {
        let mut threads = Threads::new();
        threads.define(7, "worker", 70, false);
        threads.forget_later(7);
        threads.next_chunk();
        assert_eq!(threads.use_thread(7, 2), 7);
        assert!(threads.known.get(&7).is_some_and(|known| &*known.name == "worker"));
        threads.next_chunk();
        threads.next_chunk();
        assert!(threads.known.is_empty());
    }
}
