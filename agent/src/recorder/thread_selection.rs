//! Calls of threads that nobody wants to see are left out here, before anything is written or counted by method.
//!
//! Probes know nothing of it: a call of such a thread costs what any other costs, up to the drainer. Deciding costs the drainer
//! one look-up where the thread of the records changes, and nothing for a call.

use instrument_core::rules::patterns::ThreadNames;
use records::RecordThread;
use rustc_hash::FxHashMap;

/// Which threads' records are kept.
#[derive(Debug)]
pub(crate) struct ThreadSelection {
    names: ThreadNames,
    /// Platform threads, as far as they have been told.
    known: FxHashMap<u64, bool>,
    thread: RecordThread,
    keeps: bool,
    left_out: u64,
}

impl ThreadSelection {
    /// Keeps threads with these names.
    pub(crate) fn new(names: ThreadNames) -> ThreadSelection {
        let keeps = names.is_everything();
        ThreadSelection { names, known: FxHashMap::default(), thread: RecordThread::default(), keeps, left_out: 0 }
    }

    /// The following records are of this thread.
    pub(super) fn thread(&mut self, thread: RecordThread) {
        if self.names.is_everything() {
            return;
        }
        self.thread = thread;
        let known = self.known.get(&thread.id).filter(|_| !thread.is_virtual).copied();
        self.keeps = known.unwrap_or_else(|| self.names.contains(b""));
    }

    /// A platform thread has this name.
    pub(super) fn named(&mut self, thread: u64, name: &[u8]) {
        if self.names.is_everything() {
            return;
        }
        let keeps = self.names.contains(name);
        self.known.insert(thread, keeps);
        if self.thread.id == thread && !self.thread.is_virtual {
            self.keeps = keeps;
        }
    }

    /// A thread has ended.
    pub(super) fn gone(&mut self, thread: u64) {
        self.known.remove(&thread);
    }

    /// Whether the next records are kept; counts them if not.
    pub(super) fn keeps(&mut self, calls: usize) -> bool {
        if !self.keeps {
            self.left_out += calls as u64;
        }
        self.keeps
    }

    /// Calls that were left out.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(id: u64) -> RecordThread {
        RecordThread { id, is_virtual: false }
    }

    #[test]
    fn a_thread_is_kept_by_its_name_until_it_ends() {
        let mut selection = ThreadSelection::new(ThreadNames::of(&["http-*".to_owned()]));
        selection.thread(platform(1));
        selection.named(1, b"http-1");
        assert!(selection.keeps(5));
        selection.thread(platform(2));
        selection.named(2, b"main");
        assert!(!selection.keeps(3));
        selection.thread(platform(1));
        assert!(selection.keeps(1));
        selection.thread(RecordThread { id: 1, is_virtual: true });
        assert!(!selection.keeps(1), "a virtual thread has no name");
        selection.gone(1);
        selection.thread(platform(1));
        assert!(!selection.keeps(1), "nobody knows this one");
        assert_eq!(selection.left_out(), 5);
    }

    #[test]
    fn without_names_everything_is_kept() {
        let mut selection = ThreadSelection::new(ThreadNames::default());
        selection.thread(platform(9));
        assert!(selection.keeps(7) && selection.known.is_empty());
    }
}
