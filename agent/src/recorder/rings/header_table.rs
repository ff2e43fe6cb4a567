//! The headers of all rings: one table of fixed places, so that Java code finds the header of its thread by arithmetic.
//!
//! A header is at the place that the id of its carrier thread gives, or at one of the next; Java code compares the
//! owner. `java.instr.Ring` knows size, distance and words.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many headers there are: the number of threads that can record at the same time.
const PLACES: usize = 8192;
const WORDS: usize = 16;

/// The owner of a place that is free.
const FREE: u64 = u64::MAX;
/// The owner of a place that belongs to a thread without an id yet: several could have none, so Java code must not find it.
const UNNAMED: u64 = u64::MAX - 1;

/// A header, on two cache lines of its own: neighbours are fetched in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Header([AtomicU64; WORDS]);

/// The words of a header, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// Id of the carrier thread, or `FREE`, or `UNNAMED`.
    Owner,
    /// Address of the next record.
    Position,
    /// End of the present segment.
    End,
    /// Records that found no room.
    Lost,
    /// Id of the thread that the next record belongs to, if it is the one of the last; 0 before the first.
    Thread,
}

impl Header {
    /// A header that no thread finds.
    pub(crate) fn without_owner() -> Header {
        let header = Header([const { AtomicU64::new(0) }; WORDS]);
        header.word(Word::Owner).store(FREE, Ordering::Relaxed);
        header
    }

    /// One word.
    pub(crate) fn word(&self, word: Word) -> &AtomicU64 {
        let [owner, position, end, lost, thread, ..] = &self.0;
        match word {
            Word::Owner => owner,
            Word::Position => position,
            Word::End => end,
            Word::Lost => lost,
            Word::Thread => thread,
        }
    }

    /// The address that Java code uses.
    pub(crate) fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    /// Whether the header belongs to the carrier thread with this id.
    pub(crate) fn belongs_to(&self, thread: u64) -> bool {
        self.word(Word::Owner).load(Ordering::Relaxed) == owner(thread)
    }

    /// Id of the carrier thread; 0 if it had none yet when it took the place.
    pub(crate) fn carrier(&self) -> u64 {
        match self.word(Word::Owner).load(Ordering::Relaxed) {
            FREE | UNNAMED => 0,
            carrier => carrier,
        }
    }

    /// Removes a header from its owner, which writes to another one from then on.
    pub(crate) fn hide(&self) {
        self.word(Word::Owner).store(UNNAMED, Ordering::Relaxed);
    }

    /// Gives the place back; the owner writes no more.
    pub(crate) fn release(&self) {
        for word in [Word::Position, Word::End, Word::Lost, Word::Thread] {
            self.word(word).store(0, Ordering::Relaxed);
        }
        self.word(Word::Owner).store(FREE, Ordering::Release);
    }
}

fn owner(thread: u64) -> u64 {
    if thread == 0 { UNNAMED } else { thread }
}

/// All headers.
#[derive(Debug)]
pub(crate) struct HeaderTable(Box<[Header]>);

impl HeaderTable {
    /// A table of free places.
    pub(crate) fn new() -> HeaderTable {
        HeaderTable((0..PLACES).map(|_| Header::without_owner()).collect())
    }

    /// The address of the first header.
    pub(crate) fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    /// Takes the free place nearest to the own one of a carrier thread; `None` if there are more threads than places. Only
    /// one thread at a time may ask.
    pub(crate) fn claim(&self, thread: u64) -> Option<&Header> {
        let home = (thread as usize) & (PLACES - 1);
        let (before, behind) = self.0.split_at_checked(home)?;
        let is_free = |header: &&Header| header.word(Word::Owner).load(Ordering::Acquire) == FREE;
        let header = behind.iter().chain(before).find(is_free)?;
        header.word(Word::Owner).store(owner(thread), Ordering::Release);
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(table: &HeaderTable, header: &Header) -> usize {
        (header.address() - table.address()) as usize / size_of::<Header>()
    }

    #[test]
    fn a_thread_gets_its_own_place_or_one_behind_and_places_come_back() {
        let table = HeaderTable::new();
        let thread = 3 * PLACES as u64 + 17;
        let first = table.claim(thread).unwrap();
        let second = table.claim(17).unwrap();
        assert_eq!((place(&table, first), place(&table, second)), (17, 18));
        assert!(first.belongs_to(thread) && !first.belongs_to(17) && second.belongs_to(17));
        first.word(Word::Lost).store(5, Ordering::Relaxed);
        first.release();
        let again = table.claim(PLACES as u64 + 17).unwrap();
        assert_eq!((place(&table, again), again.word(Word::Lost).load(Ordering::Relaxed)), (17, 0));
    }

    #[test]
    fn a_full_table_has_no_place_and_the_last_places_go_on_at_the_front() {
        let table = HeaderTable::new();
        let last = PLACES as u64 - 1;
        assert_eq!(place(&table, table.claim(last).unwrap()), PLACES - 1);
        assert_eq!(place(&table, table.claim(last).unwrap()), 0);
        (2..PLACES).for_each(|_| assert!(table.claim(1).is_some()));
        assert!(table.claim(1).is_none());
    }

    #[test]
    fn threads_without_an_id_never_share_a_header() {
        let table = HeaderTable::new();
        let (first, second) = (table.claim(0).unwrap(), table.claim(0).unwrap());
        assert_ne!(first.address(), second.address());
        assert_ne!(first.word(Word::Owner).load(Ordering::Relaxed), 0, "Java code would take it for its own");
    }

    #[test]
    fn java_code_and_this_table_agree() {
        let java = include_str!("../../../../java-runtime/src/main/java/java/instr/Ring.java");
        let constant = |name: &str| crate::java_constants::constant(java, name).cast_unsigned();
        assert_eq!(constant("MASK"), PLACES as u64 - 1);
        assert_eq!(1 << constant("STRIDE"), size_of::<Header>());
        let header = Header::without_owner();
        let words = [
            ("OWNER", Word::Owner),
            ("POSITION", Word::Position),
            ("END", Word::End),
            ("LOST", Word::Lost),
            ("THREAD", Word::Thread),
        ];
        for (name, word) in words {
            let offset = header.word(word).as_ptr() as u64 - header.address();
            assert_eq!(constant(name), offset, "{name}");
        }
    }
}
