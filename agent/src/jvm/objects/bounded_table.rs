//! What was found out about classes, kept within a bound.

use std::time::{Duration, Instant};

use parking_lot::RwLock;

/// Entries that are kept at a time.
const MOST: usize = 64;
/// A full table is emptied once in this time at most; until then it takes no other entries, and no thread waits for another.
const BETWEEN_EMPTYING: Duration = Duration::from_secs(1);

/// Entries that are found by looking at each.
#[derive(Debug)]
pub(crate) struct BoundedTable<T>(RwLock<Entries<T>>);

#[derive(Debug)]
struct Entries<T> {
    all: Vec<T>,
    emptied: Option<Instant>,
}

impl<T: Clone> BoundedTable<T> {
    pub(crate) const fn new() -> BoundedTable<T> {
        BoundedTable(RwLock::new(Entries { all: Vec::new(), emptied: None }))
    }

    /// Returns the entry that is meant.
    pub(crate) fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        self.0.read().all.iter().find(|entry| is_it(entry)).cloned()
    }

    /// Keeps an entry in place of those that are meant, if there is room.
    pub(crate) fn put(&self, entry: T, is_it: impl Fn(&T) -> bool) {
        self.put_at(Instant::now(), entry, is_it);
    }

    fn put_at(&self, now: Instant, entry: T, is_it: impl Fn(&T) -> bool) {
        let takes_it = |entries: &Entries<T>| {
            let is_long_ago = |emptied| now.saturating_duration_since(emptied) >= BETWEEN_EMPTYING;
            entries.all.len() < MOST || entries.emptied.is_none_or(is_long_ago) || entries.all.iter().any(&is_it)
        };
        if !takes_it(&self.0.read()) {
            return;
        }
        let entries = &mut *self.0.write();
        if !takes_it(entries) {
            return;
        }
        entries.all.retain(|known| !is_it(known));
        if entries.all.len() >= MOST {
            entries.all.clear();
            entries.emptied = Some(now);
        }
        entries.all.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_is_emptied_once_a_second() {
        let table = BoundedTable::new();
        let (start, is) = (Instant::now(), |wanted: usize| move |of: &(usize, char)| of.0 == wanted);
        let put = |at: u64, number: usize, letter: char| {
            table.put_at(start + Duration::from_millis(at), (number, letter), is(number));
        };
        (0..MOST).for_each(|number| put(0, number, 'a'));
        put(0, 3, 'b');
        assert_eq!((table.find(is(3)), table.find(is(MOST - 1))), (Some((3, 'b')), Some((MOST - 1, 'a'))));
        put(0, 100, 'a');
        assert_eq!((table.find(is(3)), table.find(is(100))), (None, Some((100, 'a'))));
        (0..MOST).for_each(|number| put(500, number, 'c'));
        assert_eq!((table.find(is(100)), table.find(is(MOST - 1))), (Some((100, 'a')), None));
        put(999, 3, 'd');
        put(1_000, 200, 'a');
        assert_eq!((table.find(is(3)), table.find(is(200))), (None, Some((200, 'a'))));
    }
}
