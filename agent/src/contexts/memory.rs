//! The memory that anchors and conditional probes share with the agent (`java.instr.Contexts`, `java.instr.PlaceTable`): places of threads, the steps of anchors, and the last
//! step of each probe's context, with a bit above it if this step must be the immediate caller.
//!
//! It is a part of the library, as classes may hold anchors whatever becomes of the session. Its pages take memory when they are touched.

use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use records::probe_registry::HIGHEST_PROBE;

/// How many words of steps a place has.
pub(super) const WORDS: usize = 4;
/// The bits of a word that are those of steps; the others are the runtime's.
pub(super) const STEP_BITS: u64 = !0b111;

const PLACES: usize = 1 << 16;
/// No thread has this id. The first place belongs to it, as a thread that is being attached has the id 0.
const NOBODY: i64 = -1;
const ANCHORS: usize = 1 << 16;
/// Anchor 0 and this step, the first of word 0, are for warming up.
pub(super) const WARM_UP_STEP: u8 = 3;
/// Entries before that of probe 0, for the probes -5 to -1, with which Java code warms up. Probe -4 asks who called.
const IN_FRONT: usize = 5;
const WARM_UP_DIRECT: usize = 1;
/// Set in the entry of a probe that records only what the last method of its context calls itself.
const DIRECT: u16 = 0x100;

#[derive(Debug)]
#[repr(C, align(64))]
struct Place {
    owner: AtomicI64,
    words: [AtomicU64; WORDS],
    displaced: AtomicI64,
    given_back: AtomicI64,
    helps: AtomicU32,
    handed_over_by: AtomicU32,
}

impl Place {
    const fn new() -> Place {
        Place {
            owner: AtomicI64::new(0),
            words: [const { AtomicU64::new(0) }; WORDS],
            displaced: AtomicI64::new(0),
            given_back: AtomicI64::new(0),
            helps: AtomicU32::new(0),
            handed_over_by: AtomicU32::new(0),
        }
    }
}

#[derive(Debug)]
#[repr(C, align(16))]
struct Anchor {
    mask: AtomicU64,
    first: AtomicU64,
}

static PLACE_TABLE: [Place; PLACES] = [const { Place::new() }; PLACES];

static ANCHOR_TABLE: [Anchor; ANCHORS] =
    [const { Anchor { mask: AtomicU64::new(0), first: AtomicU64::new(0) } }; ANCHORS];

static STEP_TABLE: [AtomicU16; IN_FRONT + HIGHEST_PROBE + 2] =
    [const { AtomicU16::new(0) }; IN_FRONT + HIGHEST_PROBE + 2];

/// The number of all steps, with those that are the runtime's.
const STEPS: usize = WORDS * 64;

/// What tasks take along from one thread to another (`java.instr.Handover`).
#[derive(Debug)]
#[repr(C, align(64))]
struct Carried {
    masks: [AtomicU64; WORDS],
    epoch: AtomicU64,
    wanted: AtomicU64,
    running: AtomicU64,
    known_from: AtomicU64,
    since: [AtomicU64; STEPS],
}

static CARRIED: Carried = Carried {
    masks: [const { AtomicU64::new(0) }; WORDS],
    epoch: AtomicU64::new(0),
    wanted: AtomicU64::new(0),
    running: AtomicU64::new(0),
    known_from: AtomicU64::new(0),
    since: [const { AtomicU64::new(0) }; STEPS],
};

/// What looks at tasks on the threads that run them, beside contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooksAtTasks {
    /// A diagnosis goes on in them.
    Diagnosis,
    /// A caller finder asks who hands them over.
    Finder,
}

static KNOWN_FROM: AtomicU64 = AtomicU64::new(0);

/// Who has handed a task over is known from this number on, while caller finders ask for that; to be said before they do.
pub(crate) fn know_hand_overs_from(number: u32) {
    KNOWN_FROM.store(number.into(), Ordering::SeqCst);
}

static WITHOUT_PLACE: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// What the stack of the thread amounted to when it was walked last.
    static WALKED: Place = const { Place::new() };
}

/// A place that a thread held at some moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeldPlace {
    place: usize,
    given_back: i64,
}

/// Gets the tables ready, and returns their addresses: places, anchors, steps, calls without a place.
pub(super) fn addresses() -> [i64; 4] {
    if let Some(first) = PLACE_TABLE.first() {
        first.owner.store(NOBODY, Ordering::Relaxed);
    }
    let warm_up = 1 << WARM_UP_STEP;
    set_anchor(0, warm_up, warm_up);
    for (probe, entry) in STEP_TABLE.iter().enumerate().take(IN_FRONT) {
        let direct = if probe == WARM_UP_DIRECT { DIRECT } else { 0 };
        entry.store(direct | u16::from(WARM_UP_STEP), Ordering::Relaxed);
    }
    let steps = STEP_TABLE.get(IN_FRONT).map_or(0, |entry| entry.as_ptr() as i64);
    [PLACE_TABLE.as_ptr() as i64, ANCHOR_TABLE.as_ptr() as i64, steps, WITHOUT_PLACE.as_ptr() as i64]
}

/// Returns the address of a place of the present thread with these words; 0 in its last moments.
pub(super) fn walked(words: [u64; WORDS]) -> i64 {
    let write = |place: &Place| {
        place.words.iter().zip(words).for_each(|(word, bits)| word.store(bits, Ordering::Relaxed));
        std::ptr::from_ref(place) as i64
    };
    WALKED.try_with(write).unwrap_or(0)
}

/// Counts a call that cannot be said to be inside its context.
pub(super) fn count_without_place() {
    WITHOUT_PLACE.fetch_add(1, Ordering::Relaxed);
}

/// Returns the address of what tasks take along, for the native method of `java.instr.Handover`.
pub(super) fn carried_address() -> i64 {
    std::ptr::from_ref(&CARRIED) as i64
}

/// Notes that steps have been given to a context: what was taken along before does not mean this one.
pub(super) fn begin_epoch(steps: &[u8]) {
    let epoch = CARRIED.epoch.fetch_add(1, Ordering::SeqCst) + 1;
    for step in steps {
        if let Some(since) = CARRIED.since.get(usize::from(*step)) {
            since.store(epoch, Ordering::SeqCst);
        }
    }
}

/// Tasks take these steps of a word along from now on, and no others.
pub(super) fn set_carried(word: usize, mask: u64) {
    if let Some(of_word) = CARRIED.masks.get(word) {
        of_word.store(mask, Ordering::SeqCst);
    }
}

/// Says how many steps tasks take along, how many diagnoses go on in tasks, and how many caller finders ask who hands tasks over.
pub(super) fn set_wanted(steps: u32, [diagnoses, finders]: [u32; 2]) {
    let known_from = if finders > 0 { KNOWN_FROM.load(Ordering::SeqCst) } else { 0 };
    CARRIED.known_from.store(known_from, Ordering::SeqCst);
    CARRIED.wanted.store((steps + diagnoses + finders).into(), Ordering::SeqCst);
}

/// Returns how much tasks take along; 0: nothing.
pub(super) fn wanted() -> u64 {
    CARRIED.wanted.load(Ordering::Relaxed)
}

/// Returns how many tasks run with what they have taken along.
pub(super) fn running() -> u64 {
    CARRIED.running.load(Ordering::SeqCst)
}

/// The number of anchors.
pub(super) const fn anchors() -> usize {
    ANCHORS
}

/// Sets the steps of an anchor: their mask, and those of them that are the first of a context.
pub(super) fn set_anchor(anchor: usize, mask: u64, first: u64) {
    let Some(of) = ANCHOR_TABLE.get(anchor) else { return };
    // The mask decides whether anything happens, so it is last.
    of.first.store(first, Ordering::Relaxed);
    of.mask.store(mask, Ordering::SeqCst);
}

/// Sets the last step of a probe's context, and whether this method must be the immediate caller. Step 0: the probe is inside no context ever.
pub(super) fn set_last_step(probe: u32, step: u8, is_direct: bool) {
    if let Some(entry) = STEP_TABLE.get(IN_FRONT + probe as usize) {
        entry.store(u16::from(step) | if is_direct { DIRECT } else { 0 }, Ordering::SeqCst);
    }
}

/// Returns the places that threads hold: these may have the bits of any step that was armed until now, others have none that is disarmed by now.
pub(super) fn held_places() -> Vec<HeldPlace> {
    // A thread that takes a place reads the mask of its anchor afterwards.
    fence(Ordering::SeqCst);
    let held = PLACE_TABLE.iter().enumerate().skip(1).filter(|(_, of)| of.owner.load(Ordering::SeqCst) != 0);
    held.map(|(place, of)| HeldPlace { place, given_back: of.given_back.load(Ordering::Acquire) }).collect()
}

impl HeldPlace {
    /// Whether the thread has held the place without interruption since then.
    pub(super) fn is_held(self) -> bool {
        let is_same = |of: &Place| {
            of.owner.load(Ordering::Acquire) != 0 && of.given_back.load(Ordering::Acquire) == self.given_back
        };
        PLACE_TABLE.get(self.place).is_some_and(is_same)
    }

    /// Whether a word of the place has some of these bits. While a place is held, words before have no other bits than the present one.
    pub(super) fn has_bits(self, word: usize, mask: u64) -> bool {
        let word = PLACE_TABLE.get(self.place).and_then(|of| of.words.get(word));
        word.is_some_and(|word| word.load(Ordering::Acquire) & mask != 0)
    }
}

/// Returns how many threads hold a place, and how many calls of anchors have found none.
pub(super) fn counts() -> (usize, u64) {
    (held_places().len(), u64::try_from(WITHOUT_PLACE.load(Ordering::Relaxed)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::super::INERT_ANCHOR;
    use super::*;
    use crate::java_constants;

    #[test]
    fn java_code_and_these_tables_agree() {
        let of_contexts = include_str!("../../../java-runtime/src/main/java/java/instr/Contexts.java");
        let of_places = include_str!("../../../java-runtime/src/main/java/java/instr/PlaceTable.java");
        let constant = |name: &str| {
            let is_of_contexts = of_contexts.contains(&format!(" {name} =")) && !matches!(name, "BITS" | "WORDS");
            java_constants::constant(if is_of_contexts { of_contexts } else { of_places }, name)
        };
        let size = |name: &str| 1_usize << constant(name);
        assert_eq!(constant("MASK") + 1, PLACES as i64);
        assert_eq!((size("STRIDE"), size("ANCHOR_STRIDE")), (size_of::<Place>(), size_of::<Anchor>()));
        for (name, expected) in [
            ("WORDS", WORDS),
            ("OWNER", offset_of!(Place, owner)),
            ("BITS", offset_of!(Place, words)),
            ("DISPLACED", offset_of!(Place, displaced)),
            ("GIVEN_BACK", offset_of!(Place, given_back)),
            ("HELPS", offset_of!(Place, helps)),
            ("HANDED_OVER_BY", offset_of!(Place, handed_over_by)),
            ("FIRST", offset_of!(Anchor, first)),
            ("WARM_UP_ANCHOR", 0),
            ("INERT_ANCHOR", INERT_ANCHOR as usize),
        ] {
            assert_eq!(constant(name), expected as i64, "{name}");
        }
        let java = include_str!("../../../java-runtime/src/main/java/java/instr/Handover.java");
        for (name, expected) in [
            ("MASKS", offset_of!(Carried, masks)),
            ("EPOCH", offset_of!(Carried, epoch)),
            ("WANTED", offset_of!(Carried, wanted)),
            ("RUNNING", offset_of!(Carried, running)),
            ("KNOWN_FROM", offset_of!(Carried, known_from)),
            ("SINCE", offset_of!(Carried, since)),
        ] {
            assert_eq!(java_constants::constant(java, name), expected as i64, "{name}");
        }
        assert_eq!(offset_of!(Anchor, mask), 0, "Java code reads the mask at the beginning");
        assert_eq!(constant("WARM_UP_ID"), -(IN_FRONT as i64));
        assert_eq!(constant("DIRECT_WARM_UP_ID"), WARM_UP_DIRECT as i64 - IN_FRONT as i64);
        assert_eq!((1 << constant("STEP_STRIDE"), constant("DIRECT")), (size_of::<AtomicU16>(), i64::from(DIRECT)));
        assert_eq!(!(constant("RESTORE") | constant("WORD")).cast_unsigned(), STEP_BITS);
    }
}
