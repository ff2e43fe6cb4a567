//! The first check of a class: whether anything can want one whose name begins so. Most classes are rejected here.
//!
//! When a class is loaded, hardly anything of the agent is in a cache, so what counts is not how much is computed but how many cache
//! lines are touched: this is one of them, and the code beside it a few more. No session, no lock, no length of the name.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes at the beginning of a name that are compared.
const LOOKED_AT: usize = size_of::<u64>();

/// In place of the lengths: every class passes.
const OPEN: u64 = u64::MAX;

/// Class files of this number of bytes and more pass whatever the class is called: their sizes are noted.
pub(crate) const LARGE_FILE: usize = 256 << 10;

/// The gate of this process. Open unless a session has closed it.
pub(crate) static NAME_GATE: NameGate = NameGate::open();

/// Passes names with certain beginnings, and now and then another one.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct NameGate {
    /// Bit `n` is set if some beginning is recognised by its first `n` bytes, 1 to 8; or [`OPEN`].
    lengths: AtomicU64,
    /// The number of classes that were rejected.
    turned_away: AtomicU64,
    /// A set of the beginnings' hashes.
    hashes: [AtomicU64; 6],
}

impl NameGate {
    const fn open() -> NameGate {
        NameGate {
            lengths: AtomicU64::new(OPEN),
            turned_away: AtomicU64::new(0),
            hashes: [const { AtomicU64::new(0) }; 6],
        }
    }

    /// From now on only classes whose internal name begins with one of these texts are let in; all of them if there are none to go by.
    pub(crate) fn let_in<'t>(&self, beginnings: Option<impl Iterator<Item = &'t [u8]>>) {
        self.reopen();
        let Some(beginnings) = beginnings else { return };
        let mut hashes = [0u64; 6];
        let mut lengths = 0;
        for beginning in beginnings {
            let length = beginning.len().min(LOOKED_AT);
            if length == 0 {
                return;
            }
            lengths |= 1 << length;
            let (word, bit) = place_of(shortened(head_of(beginning.iter().copied()), length as u32));
            if let Some(word) = hashes.get_mut(word) {
                *word |= bit;
            }
        }
        for (word, hashes) in self.hashes.iter().zip(hashes) {
            word.store(hashes, Ordering::Relaxed);
        }
        self.lengths.store(lengths, Ordering::Release);
    }

    /// Passes every class again, and returns how many were rejected since the gate was closed.
    pub(crate) fn reopen(&self) -> u64 {
        self.lengths.store(OPEN, Ordering::SeqCst);
        self.turned_away.swap(0, Ordering::Relaxed)
    }

    /// Whether surely nobody wants a class whose name has these bytes.
    #[inline]
    fn turns_away(&self, name: impl Iterator<Item = u8>) -> bool {
        let mut lengths = self.lengths.load(Ordering::Acquire);
        if lengths == OPEN {
            return false;
        }
        let head = head_of(name);
        while lengths != 0 {
            let (word, bit) = place_of(shortened(head, lengths.trailing_zeros()));
            if self.hashes.get(word).is_none_or(|hashes| hashes.load(Ordering::Relaxed) & bit != 0) {
                return false;
            }
            lengths &= lengths - 1;
        }
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The same for a name of the JVM; one that is missing is let in.
    ///
    /// # Safety
    /// `name` must be null or a NUL-terminated string.
    #[inline]
    pub(in crate::jvm) unsafe fn turns_away_name(&self, name: *const c_char) -> bool {
        if name.is_null() {
            return false;
        }
        // SAFETY: the caller guarantees that a NUL ends the string; no byte after the first NUL is read.
        let byte = |at: usize| unsafe { *name.add(at) as u8 };
        self.turns_away((0..).map(byte).take_while(|byte| *byte != 0))
    }
}

/// The first bytes as a number: the first one the highest, zeros where the name is shorter.
#[inline]
fn head_of(name: impl Iterator<Item = u8>) -> u64 {
    name.take(LOOKED_AT)
        .zip((0..LOOKED_AT as u32).rev())
        .fold(0, |head, (byte, place)| head | u64::from(byte) << (8 * place))
}

/// The first `length` bytes of a head, 1 to 8.
#[inline]
fn shortened(head: u64, length: u32) -> u64 {
    head & u64::MAX.checked_shl(64 - 8 * length).unwrap_or(u64::MAX)
}

/// Where the set has a mark for a head: which word and which bit of it.
#[inline]
fn place_of(head: u64) -> (usize, u64) {
    let hash = head.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let place = (hash * (6 * 64)) >> 32;
    ((place / 64) as usize, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns_away(gate: &NameGate, name: &str) -> bool {
        let name = std::ffi::CString::new(name).unwrap();
        // SAFETY: a NUL-terminated string.
        unsafe { gate.turns_away_name(name.as_ptr()) }
    }

    fn gate(beginnings: &[&str]) -> NameGate {
        let gate = NameGate::open();
        gate.let_in(Some(beginnings.iter().map(|text| text.as_bytes())));
        gate
    }

    #[test]
    fn a_name_with_one_of_the_beginnings_is_always_let_in() {
        let beginnings = ["com/acme/app1/", "com/acme/app2/", "o", "ab", "org/x/", "Main", "a/b/c/d/e"];
        let gate = gate(&beginnings);
        for beginning in beginnings {
            for rest in ["", "X", "package/Class$Inner", "\u{e4}"] {
                assert!(!turns_away(&gate, &format!("{beginning}{rest}")), "{beginning}{rest}");
            }
        }
    }

    #[test]
    fn most_others_are_turned_away_and_counted() {
        let gate = gate(&["com/acme/app1/", "com/acme/**", "Main"]);
        let names = ["", "M", "Mai", "java/lang/Object", "org/acme/X", "com/acm", "con/acme/X", "main"];
        let turned_away = names.iter().filter(|name| turns_away(&gate, name)).count();
        assert!(turned_away >= names.len() - 1, "{turned_away}");
        assert_eq!(gate.reopen(), turned_away as u64);
        assert!(names.iter().all(|name| !turns_away(&gate, name)), "open again");
        assert_eq!(gate.reopen(), 0);
    }

    #[test]
    fn it_stays_open_without_beginnings_to_go_by_and_for_names_that_are_missing() {
        let gate = gate(&["com/acme/", ""]);
        assert!(!turns_away(&gate, "java/lang/Object"), "any name begins with nothing");
        gate.let_in(None::<std::iter::Empty<&[u8]>>);
        assert!(!turns_away(&gate, "java/lang/Object"));
        gate.let_in(Some(std::iter::empty()));
        assert!(turns_away(&gate, "java/lang/Object"), "no rule at all");
        // SAFETY: null is allowed.
        assert!(!unsafe { gate.turns_away_name(std::ptr::null()) });
    }

    #[test]
    fn a_new_session_forgets_the_beginnings_of_the_last_one() {
        let gate = gate(&["com/acme/"]);
        gate.let_in(Some([b"org/x/".as_slice()].into_iter()));
        assert!(turns_away(&gate, "com/acme/X") && !turns_away(&gate, "org/x/Y"));
    }
}
