//! Methods that get the template of a rule with `delegates`, because a method of another class hands them to somebody who calls them (decision 051). Their class
//! may be loaded before or after that is found.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use instrument_core::selection::DelegateMark;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

/// More are not kept.
const MOST: usize = 20_000;
/// Loaded classes are searched for marked ones at most this often: the search lists all loaded classes.
const PAUSE: Duration = Duration::from_secs(1);
/// A marked class may be on its way past the class hook when it is first searched for.
const SEARCHES: u8 = 2;

/// The marks of one generation of rules.
#[derive(Debug, Default)]
pub(crate) struct DelegateMarks {
    table: Mutex<Table>,
    /// How many marks there are, to be read without the lock.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Table {
    by_class: FxHashMap<Box<[u8]>, Vec<DelegateMark>>,
    /// Classes that may have been loaded before their mark was found, and how often they were searched for.
    unseen: FxHashMap<Box<[u8]>, u8>,
    searched: Option<Instant>,
    dropped: u64,
}

impl DelegateMarks {
    /// Keeps the marks that a class makes about others.
    pub(crate) fn add(&self, class: &[u8], marks: &[DelegateMark]) {
        let others = || marks.iter().filter(|mark| *mark.class != *class);
        if others().next().is_none() {
            return;
        }
        let mut table = self.table.lock();
        for mark in others() {
            if table.by_class.get(&mark.class).is_some_and(|known| known.contains(mark)) {
                continue;
            }
            if self.count.load(Ordering::Relaxed) >= MOST {
                table.dropped += 1;
                if table.dropped == 1 {
                    tracing::warn!(
                        "more than {MOST} methods are delegates of others: further ones in other classes get no template"
                    );
                }
                continue;
            }
            self.count.fetch_add(1, Ordering::Relaxed);
            table.unseen.insert(mark.class.clone(), 0);
            table.by_class.entry(mark.class.clone()).or_default().push(mark.clone());
        }
    }

    /// Whether methods of classes of this name are marked.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.table.lock().by_class.contains_key(name)
    }

    /// Returns the marks of methods of classes of this name.
    pub(crate) fn of_class(&self, name: &[u8]) -> Vec<DelegateMark> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        self.table.lock().by_class.get(name).cloned().unwrap_or_default()
    }

    /// The class hook has decided about a class of this name with its marks.
    pub(crate) fn note_decided(&self, name: &[u8]) {
        if self.count.load(Ordering::Relaxed) > 0 {
            self.table.lock().unseen.remove(name);
        }
    }

    /// Returns the names of marked classes that the class hook has not seen since, to be searched for among the loaded classes; none if that was done a
    /// moment ago.
    pub(crate) fn take_unseen(&self) -> FxHashSet<Arc<[u8]>> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return FxHashSet::default();
        }
        let mut table = self.table.lock();
        if table.unseen.is_empty() || table.searched.is_some_and(|searched| searched.elapsed() < PAUSE) {
            return FxHashSet::default();
        }
        table.searched = Some(Instant::now());
        let names = table.unseen.keys().map(|name| Arc::from(&**name)).collect();
        table.unseen.retain(|_, searches| {
            *searches += 1;
            *searches < SEARCHES
        });
        names
    }

    /// Returns how many marks are kept, and how many there was no room for.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed) as u64, self.table.lock().dropped)
    }
}
