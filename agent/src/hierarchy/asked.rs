//! Which of the types that rules ask for exist. Where none does, no class has one above it, and its super types need not be read; where
//! they are classes, no interface need be.
//!
//! A type exists as soon as one file or one loader of this JVM is known to have it. What is missing is only believed where all is known that
//! a loader looks at (`native_paths.rs`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use instrument_core::selection::AskedTypes;

/// Whoever has this class may append to the class path of the boot loader and define classes anywhere, unseen by us if he came first.
const JAVA_AGENTS: &[u8] = b"sun/instrument/InstrumentationImpl";

/// More missing types than this are not looked for again and again where directories may get them at any time.
const MOST_IN_DIRECTORIES: usize = 8;

/// The types that rules ask for.
#[derive(Debug)]
pub(super) struct Asked {
    names: Vec<Box<[u8]>>,
    /// A bit for the length of each, the length counted modulo 64: most classes need no comparison.
    lengths: u64,
    /// What is known to exist, as [`number`].
    seen: AtomicU8,
    /// What the JDK cannot rule out, once it was searched.
    jdk: OnceLock<AskedTypes>,
    /// Whether the classes are noted that the JVM had loaded before it told us of any.
    knows_loaded: AtomicBool,
}

fn number(types: AskedTypes) -> u8 {
    match types {
        AskedTypes::Nowhere => 0,
        AskedTypes::Classes => 1,
        AskedTypes::Any => 2,
    }
}

impl Asked {
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n [u8]>) -> Asked {
        let names: Vec<Box<[u8]>> = names.map(Into::into).collect();
        let lengths = names.iter().map(|name| name.len()).chain([JAVA_AGENTS.len()]);
        let lengths = lengths.fold(0, |lengths, length| lengths | 1 << (length % 64));
        Asked { names, lengths, seen: AtomicU8::new(0), jdk: OnceLock::new(), knows_loaded: AtomicBool::new(false) }
    }

    /// Notes a class of which nothing but its name is known, if it is not one of the JDK's own, which [`in_jdk`](Self::in_jdk) finds.
    pub(super) fn note_loaded(&self, name: &[u8], is_shipped: impl FnOnce() -> bool) {
        if name == JAVA_AGENTS || (self.is_asked(name) && !is_shipped()) {
            self.raise(AskedTypes::Any);
        }
    }

    /// Notes that there is a type of this name.
    #[inline]
    pub(super) fn note(&self, name: &[u8], is_interface: bool) {
        if self.lengths >> (name.len() % 64) & 1 != 0 && (name == JAVA_AGENTS || self.is_asked(name)) {
            self.raise(if is_interface || name == JAVA_AGENTS { AskedTypes::Any } else { AskedTypes::Classes });
        }
    }

    fn is_asked(&self, name: &[u8]) -> bool {
        self.names.iter().any(|asked| **asked == *name)
    }

    fn raise(&self, types: AskedTypes) {
        self.seen.fetch_max(number(types), Ordering::Relaxed);
    }

    /// From now on what was not noted was not loaded either.
    pub(super) fn all_loaded_are_noted(&self) {
        self.knows_loaded.store(true, Ordering::Release);
    }

    /// What is known to exist.
    pub(super) fn seen(&self) -> AskedTypes {
        match self.seen.load(Ordering::Relaxed) {
            _ if !self.knows_loaded.load(Ordering::Acquire) => AskedTypes::Any,
            0 => AskedTypes::Nowhere,
            1 => AskedTypes::Classes,
            _ => AskedTypes::Any,
        }
    }

    /// The same, once the JDK has been searched by `is_sure`, which notes the type if the JDK has it and says whether all is known about it.
    pub(super) fn in_jdk(&self, is_sure: impl Fn(&[u8]) -> bool) -> AskedTypes {
        let search = || if self.names.iter().all(|name| is_sure(name)) { AskedTypes::Nowhere } else { AskedTypes::Any };
        (*self.jdk.get_or_init(search)).max(self.seen())
    }

    /// All names.
    pub(super) fn names(&self) -> &[Box<[u8]>] {
        &self.names
    }

    /// The names, if there are few enough to look for each of them time and again in so many directories.
    pub(super) fn few_names(&self, directories: usize) -> Option<&[Box<[u8]>]> {
        (self.names.len().saturating_mul(directories) <= MOST_IN_DIRECTORIES).then_some(&self.names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked::new([b"a/Wanted".as_slice(), b"a/Other"].into_iter())
    }

    fn not_in_jdk(_: &[u8]) -> bool {
        true
    }

    #[test]
    fn nothing_is_believed_before_the_loaded_classes_are_noted() {
        let asked = asked();
        assert_eq!(asked.in_jdk(not_in_jdk), AskedTypes::Any);
        asked.all_loaded_are_noted();
        assert_eq!(asked.in_jdk(not_in_jdk), AskedTypes::Nowhere);
    }

    #[test]
    fn one_asked_type_anywhere_is_enough_and_it_stays() {
        let asked = asked();
        asked.all_loaded_are_noted();
        asked.note(b"a/Common", true);
        asked.note(b"a/Unasked", true);
        assert_eq!(asked.seen(), AskedTypes::Nowhere, "of the same length, too");
        asked.note(b"a/Wanted", false);
        assert_eq!(asked.seen(), AskedTypes::Classes);
        asked.note(b"a/Other", true);
        asked.note(b"a/Wanted", false);
        assert_eq!(asked.in_jdk(not_in_jdk), AskedTypes::Any);
    }

    #[test]
    fn beside_a_java_agent_nothing_is_missing_for_sure() {
        let asked = asked();
        asked.all_loaded_are_noted();
        asked.note(JAVA_AGENTS, false);
        assert_eq!(asked.seen(), AskedTypes::Any);
    }

    #[test]
    fn what_the_jdk_cannot_rule_out_may_be_anything() {
        let asked = asked();
        asked.all_loaded_are_noted();
        assert_eq!(asked.in_jdk(|name| name != b"a/Other"), AskedTypes::Any);
    }

    #[test]
    fn many_names_are_not_looked_for_in_many_directories() {
        assert!(asked().few_names(MOST_IN_DIRECTORIES / 2).is_some());
        assert!(asked().few_names(MOST_IN_DIRECTORIES / 2 + 1).is_none());
        assert!(asked().few_names(usize::MAX).is_none());
    }
}
