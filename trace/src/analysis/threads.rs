//! What each thread has done. All virtual threads together are one row: there may be millions.

use rustc_hash::FxHashMap;

use crate::reader::Thread;

/// Name of the row of what no known thread did: losses above all.
const UNKNOWN: &str = "(unknown threads)";

/// A platform thread, or all virtual threads.
#[derive(Debug, Clone, Default)]
pub struct ThreadRow {
    /// Name; the last one if it was renamed.
    pub name: String,
    /// Java id; 0 for the virtual threads and for calls of no known thread.
    pub id: u64,
    /// Whether this is the row of all virtual threads.
    pub is_virtual: bool,
    /// Number of calls.
    pub calls: u64,
    /// Time of the outermost calls, in nanoseconds.
    pub total: u64,
    /// Records of this thread that were lost on the way to the file.
    pub lost: u64,
}

/// Sums of a row.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ThreadTotals {
    calls: u64,
    total: u64,
    lost: u64,
}

impl ThreadTotals {
    pub(super) fn add(&mut self, duration: u64, is_outermost: bool) {
        self.calls += 1;
        if is_outermost {
            self.total = self.total.saturating_add(duration);
        }
    }

    fn is_empty(&self) -> bool {
        self.calls == 0 && self.lost == 0
    }
}

/// The rows under construction.
#[derive(Debug, Default)]
pub(super) struct ThreadRows {
    platform: FxHashMap<u64, (String, ThreadTotals)>,
    pub(super) virtual_threads: ThreadTotals,
}

impl ThreadRows {
    /// The sums of a platform thread. The file is read backward, so the first name that is read is the last one.
    pub(super) fn platform(&mut self, thread: &Thread) -> &mut ThreadTotals {
        let (name, totals) = self.platform.entry(thread.id).or_default();
        if name.is_empty() {
            name.clone_from(&thread.name);
        }
        totals
    }

    /// Adds records that were lost; those of threads that the recording does not know have one row.
    pub(super) fn lose(&mut self, thread: Option<&Thread>, lost: u64) {
        let totals = match thread {
            Some(thread) if thread.is_virtual => &mut self.virtual_threads,
            Some(thread) => self.platform(thread),
            None => &mut self.platform.entry(0).or_default().1,
        };
        totals.lost = totals.lost.saturating_add(lost);
    }

    /// All rows, the busiest first.
    pub(super) fn finish(self) -> Vec<ThreadRow> {
        let row = |name: String, id, is_virtual, totals: ThreadTotals| {
            let ThreadTotals { calls, total, lost } = totals;
            let name = if id == 0 && name.is_empty() { UNKNOWN.to_owned() } else { name };
            ThreadRow { name, id, is_virtual, calls, total, lost }
        };
        let platform = self.platform.into_iter().filter(|(_, (_, totals))| !totals.is_empty());
        let platform = platform.map(|(id, (name, totals))| row(name, id, false, totals));
        let virtual_threads = Some(self.virtual_threads).filter(|totals| !totals.is_empty());
        let virtual_threads = virtual_threads.map(|totals| row("virtual threads".to_owned(), 0, true, totals));
        let mut rows: Vec<_> = platform.chain(virtual_threads).collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.total), row.id));
        rows
    }
}
