//! What each thread has done. All virtual threads together are one row: there may be millions.

use rustc_hash::FxHashMap;

use crate::reader::Thread;

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
}

/// Sums of a row.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ThreadTotals {
    calls: u64,
    total: u64,
}

impl ThreadTotals {
    pub(super) fn add(&mut self, duration: u64, is_outermost: bool) {
        self.calls += 1;
        if is_outermost {
            self.total = self.total.saturating_add(duration);
        }
    }
}

/// The rows under construction.
#[derive(Debug, Default)]
pub(super) struct ThreadRows {
    platform: FxHashMap<u64, (String, ThreadTotals)>,
    pub(super) virtual_threads: ThreadTotals,
}

impl ThreadRows {
    /// The sums of a platform thread. The file is read backward, so the first name that comes by is the last one.
    pub(super) fn platform(&mut self, thread: &Thread) -> &mut ThreadTotals {
        let (name, totals) = self.platform.entry(thread.id).or_default();
        if name.is_empty() {
            name.clone_from(&thread.name);
        }
        totals
    }

    /// All rows, the busiest first.
    pub(super) fn finish(self) -> Vec<ThreadRow> {
        let row = |name: String, id, is_virtual, totals: ThreadTotals| {
            let ThreadTotals { calls, total } = totals;
            ThreadRow { name, id, is_virtual, calls, total }
        };
        let platform = self.platform.into_iter().map(|(id, (name, totals))| row(name, id, false, totals));
        let virtual_threads = row("virtual threads".to_owned(), 0, true, self.virtual_threads);
        let mut rows: Vec<_> = platform.chain([virtual_threads]).filter(|row| row.calls > 0).collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.total), row.id));
        rows
    }
}
