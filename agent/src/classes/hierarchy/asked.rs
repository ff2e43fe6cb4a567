//! Which of the types that rules ask for have been seen. Before the first one is seen, no class can extend one, and super types need not be
//! read; as long as only classes have been seen, interfaces need not be read.
//!
//! A type has been seen once it passes the class hook, or if the JDK contains it. Until then classes are left alone on the assumption that it is
//! never loaded; when it is, [`overlooked`](super::overlooked) finds the classes whose definition is in progress. As these can only be
//! retransformed, which HotSpot cannot do with every class, it is checked whether such a type may still be loaded before a class is left alone.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use instrument_core::selection::AskedTypes;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashSet};

/// The types that rules ask for.
#[derive(Debug)]
pub(super) struct Asked {
    names: Vec<Box<[u8]>>,
    /// A bit for the length of each, the length counted modulo 64: most classes need no comparison.
    lengths: u64,
    /// Which of them have been seen, as [`number`].
    seen: AtomicU8,
    /// What the JDK has or cannot rule out, once it was searched, and what was known by then.
    jdk: OnceLock<AskedTypes>,
    /// Hashes of the names of classes that the JVM had loaded before the agent saw any; they are not loaded again.
    loaded: Mutex<FxHashSet<u64>>,
    /// Whether these are noted.
    knows_loaded: AtomicBool,
    /// Whether a class was left alone because something does not exist.
    is_believed: AtomicBool,
    /// Whether a class that was left alone can be taken later.
    may_be_late: bool,
}

fn number(types: AskedTypes) -> u8 {
    match types {
        AskedTypes::Nowhere => 0,
        AskedTypes::Classes => 1,
        AskedTypes::Any => 2,
    }
}

impl Asked {
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n [u8]>, may_be_late: bool) -> Asked {
        let names: Vec<Box<[u8]>> = names.map(Into::into).collect();
        let lengths = names.iter().fold(0, |lengths, name| lengths | 1 << (name.len() % 64));
        Asked {
            names,
            lengths,
            seen: AtomicU8::new(0),
            jdk: OnceLock::new(),
            loaded: Mutex::default(),
            knows_loaded: AtomicBool::new(false),
            is_believed: AtomicBool::new(false),
            may_be_late,
        }
    }

    /// Whether the same types are asked for in the same way.
    pub(super) fn is_for_the_same(&self, other: &Asked) -> bool {
        let names = |asked: &Asked| asked.names.iter().cloned().collect::<FxHashSet<_>>();
        self.may_be_late == other.may_be_late && names(self) == names(other)
    }

    /// Notes a class of which nothing but its name is known, if it is not one of the JDK's own, which [`in_jdk`](Self::in_jdk) finds.
    pub(super) fn note_loaded(&self, name: &[u8], is_shipped: impl FnOnce() -> bool) {
        self.loaded.lock().insert(FxBuildHasher.hash_one(name));
        if self.is_asked(name) && !is_shipped() {
            self.raise(AskedTypes::Any);
        }
    }

    /// Notes that there is a type of this name; true if a rule asks for it.
    #[inline]
    pub(super) fn note(&self, name: &[u8], is_interface: bool) -> bool {
        let is_asked = self.is_asked(name);
        if is_asked {
            self.raise(if is_interface { AskedTypes::Any } else { AskedTypes::Classes });
        }
        is_asked
    }

    /// Whether a rule asks for this type.
    #[inline]
    pub(super) fn is_asked(&self, name: &[u8]) -> bool {
        self.lengths >> (name.len() % 64) & 1 != 0 && self.names.iter().any(|asked| **asked == *name)
    }

    fn raise(&self, types: AskedTypes) {
        self.seen.fetch_max(number(types), Ordering::SeqCst);
    }

    /// From now on what was not noted was not loaded either.
    pub(super) fn all_loaded_are_noted(&self) {
        self.knows_loaded.store(true, Ordering::Release);
    }

    pub(super) fn loaded_are_noted(&self) -> bool {
        self.knows_loaded.load(Ordering::Acquire)
    }

    /// Whether the class hook will see a type of this name that it has not seen yet, if there is one, and a class that waits for it can be
    /// taken then.
    pub(super) fn may_still_come(&self, name: &[u8]) -> bool {
        self.may_be_late
            && self.knows_loaded.load(Ordering::Acquire)
            && !self.loaded.lock().contains(&FxBuildHasher.hash_one(name))
    }

    /// Returns which of them have been seen.
    pub(super) fn seen(&self) -> AskedTypes {
        match self.seen.load(Ordering::SeqCst) {
            _ if !self.may_be_late || !self.knows_loaded.load(Ordering::Acquire) => AskedTypes::Any,
            0 => AskedTypes::Nowhere,
            1 => AskedTypes::Classes,
            _ => AskedTypes::Any,
        }
    }

    /// The same, once the JDK has been searched by `is_sure`, which notes the type if the JDK has it and says whether all is known about it.
    pub(super) fn in_jdk(&self, is_sure: impl Fn(&[u8]) -> bool) -> AskedTypes {
        let search = || {
            let is_sure = self.names.iter().all(|name| is_sure(name));
            if is_sure { self.seen() } else { AskedTypes::Any }
        };
        (*self.jdk.get_or_init(search)).max(self.seen())
    }

    /// Returns which of them have been seen, to a caller that expects this and leaves classes alone because of it.
    pub(super) fn believe(&self, expected: AskedTypes) -> AskedTypes {
        if expected.max(self.seen()) == AskedTypes::Any {
            return AskedTypes::Any;
        }
        if !self.is_believed.load(Ordering::SeqCst) {
            self.is_believed.store(true, Ordering::SeqCst);
        }
        // Read again: a type that is seen from here on triggers a search for classes that were left alone.
        expected.max(self.seen())
    }

    /// Returns which of them have been seen, if these are more than when classes were last left alone because the others had not been.
    pub(super) fn newly_seen(&self, before: AskedTypes) -> Option<AskedTypes> {
        let before = before.max(self.jdk.get().copied().unwrap_or(AskedTypes::Nowhere));
        Some(self.seen()).filter(|now| self.is_believed.load(Ordering::SeqCst) && *now > before)
    }

    /// Whether none had been seen before, the types of the JDK included.
    pub(super) fn is_first(&self, before: AskedTypes) -> bool {
        before.max(self.jdk.get().copied().unwrap_or(AskedTypes::Nowhere)) == AskedTypes::Nowhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked::new([b"a/Wanted".as_slice(), b"a/Other"].into_iter(), true)
    }

    fn not_in_jdk(_: &[u8]) -> bool {
        true
    }

    #[test]
    fn nothing_is_believed_before_the_loaded_classes_are_noted() {
        let asked = asked();
        assert_eq!(asked.seen(), AskedTypes::Any);
        asked.all_loaded_are_noted();
        assert_eq!(asked.in_jdk(not_in_jdk), AskedTypes::Nowhere);
    }

    #[test]
    fn nothing_is_believed_if_a_class_can_only_be_taken_when_it_comes() {
        let asked = Asked::new([b"a/Wanted".as_slice()].into_iter(), false);
        asked.all_loaded_are_noted();
        assert_eq!(asked.in_jdk(not_in_jdk), AskedTypes::Any);
        asked.note(b"a/Wanted", true);
        assert_eq!(asked.newly_seen(AskedTypes::Nowhere), None, "none was left alone");
    }

    #[test]
    fn one_asked_type_anywhere_is_enough_and_it_stays() {
        let asked = asked();
        asked.all_loaded_are_noted();
        assert!(!asked.note(b"a/Common", true) && !asked.note(b"a/Unasked", true));
        assert_eq!(asked.seen(), AskedTypes::Nowhere, "of the same length, too");
        assert!(asked.note(b"a/Wanted", false));
        assert_eq!(asked.seen(), AskedTypes::Classes);
        asked.note(b"a/Other", true);
        asked.note(b"a/Wanted", false);
        assert_eq!(asked.in_jdk(not_in_jdk), AskedTypes::Any);
    }

    #[test]
    fn each_step_up_is_news_once() {
        let asked = asked();
        asked.all_loaded_are_noted();
        asked.in_jdk(not_in_jdk);
        assert_eq!(asked.believe(AskedTypes::Nowhere), AskedTypes::Nowhere);
        assert_eq!(asked.newly_seen(AskedTypes::Nowhere), None);
        asked.note(b"a/Wanted", false);
        assert_eq!(asked.newly_seen(AskedTypes::Nowhere), Some(AskedTypes::Classes));
        assert_eq!(asked.newly_seen(AskedTypes::Classes), None);
        asked.note(b"a/Other", true);
        assert_eq!(asked.newly_seen(AskedTypes::Classes), Some(AskedTypes::Any));
    }

    #[test]
    fn what_comes_before_anybody_was_left_alone_is_no_news() {
        let asked = asked();
        asked.all_loaded_are_noted();
        assert_eq!(asked.believe(AskedTypes::Any), AskedTypes::Any);
        asked.note(b"a/Wanted", true);
        assert_eq!(asked.believe(AskedTypes::Nowhere), AskedTypes::Any);
        assert_eq!(asked.newly_seen(AskedTypes::Nowhere), None);
    }

    #[test]
    fn what_the_jdk_has_is_no_news() {
        let asked = asked();
        asked.all_loaded_are_noted();
        asked.in_jdk(|name| {
            asked.note(name, true);
            true
        });
        assert_eq!(asked.newly_seen(AskedTypes::Nowhere), None);
    }

    #[test]
    fn what_the_jdk_cannot_rule_out_may_be_anything() {
        let asked = asked();
        asked.all_loaded_are_noted();
        assert_eq!(asked.in_jdk(|name| name != b"a/Other"), AskedTypes::Any);
    }
}
