//! The memory that `java.instr.Sites` shares with the agent. Words of which Java uses the halves are written as a whole here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::jvm::zeroed_words;

/// Diagnoses; number 0 is none.
pub(super) const DIAGNOSES: usize = 8;
/// Measured methods of all diagnoses.
pub(super) const METHODS: usize = 1 << 10;
/// Cells of a diagnosis.
pub(super) const CELLS: usize = 1 << 11;
/// Most places of a method in the trees of all diagnoses.
pub(super) const MOST_PLACES: usize = 15;
/// The cell around a root.
const ROOT: u32 = u32::MAX;
/// In the place of the round of a call that is not measured as a whole.
const NEVER: u64 = u64::MAX;
/// Counters of lengths: eight for each power of two.
pub(super) const LENGTHS: usize = 64 * 8;

const METHOD_WORDS: usize = 32;
const FIRST_PLACE: usize = 2;
const DIAGNOSIS_WORDS: usize = 1 << 10;
const FIRST_LENGTH: usize = 512;
const SUM_WORDS: usize = 4;
const FRAMES: usize = 256;
const CELL_WORDS: usize = 4;
const FIRST_CELL: usize = 8;
const FRAME_WORDS: usize = FIRST_CELL + CELLS * CELL_WORDS;

/// The tables, one after the other.
const DIAGNOSIS_TABLE: usize = METHODS * METHOD_WORDS;
const WATCHED: usize = DIAGNOSIS_TABLE + DIAGNOSES * DIAGNOSIS_WORDS;
const SUMS: usize = WATCHED + DIAGNOSES * CELLS / 8;
const FRAME_TABLE: usize = SUMS + DIAGNOSES * CELLS * SUM_WORDS;
const WORDS: usize = FRAME_TABLE + FRAMES * FRAME_WORDS;

static MEMORY: OnceLock<Option<&'static [AtomicU64]>> = OnceLock::new();

/// Returns the addresses of the tables in the order of the native methods of `java.instr.Sites`; zeros if there is no memory.
pub(super) fn addresses() -> [i64; 5] {
    let memory = MEMORY.get_or_init(|| zeroed_words(WORDS));
    let at = |table: usize| memory.and_then(|words| words.get(table)).map_or(0, |word| word.as_ptr() as i64);
    [METHODS_AT, DIAGNOSIS_TABLE, WATCHED, SUMS, FRAME_TABLE].map(at)
}

const METHODS_AT: usize = 0;

/// Whether there is memory.
pub(super) fn is_there() -> bool {
    MEMORY.get().is_some_and(Option::is_some)
}

fn word(at: usize) -> Option<&'static AtomicU64> {
    MEMORY.get().copied().flatten()?.get(at)
}

fn store(at: usize, value: u64) {
    if let Some(word) = word(at) {
        word.store(value, Ordering::SeqCst);
    }
}

fn load(at: usize) -> u64 {
    word(at).map_or(0, |word| word.load(Ordering::Acquire))
}

fn halves(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Says how many places of a method there are to look at; 0: it is inert.
pub(super) fn set_places(method: u32, places: usize) {
    store(method as usize * METHOD_WORDS, halves(places as u32, 0));
}

/// Sets a place of a method: within calls at a cell, or as a root inside the context of this last step (0: everywhere).
pub(super) fn set_place(method: u32, place: usize, diagnosis: u8, around: Result<u32, u8>, cell: u32) {
    let at = place_at(method, place);
    let (around, step) = around.map_or_else(|step| (ROOT, step), |around| (around, 0));
    store(at + 1, halves(around, cell));
    store(at, halves(diagnosis.into(), step.into()));
}

/// A place is nobody's from now on.
pub(super) fn clear_place(method: u32, place: usize) {
    store(place_at(method, place), 0);
}

fn place_at(method: u32, place: usize) -> usize {
    method as usize * METHOD_WORDS + FIRST_PLACE + place.min(MOST_PLACES - 1) * 2
}

fn diagnosis_at(diagnosis: u8) -> usize {
    DIAGNOSIS_TABLE + usize::from(diagnosis) * DIAGNOSIS_WORDS
}

/// What is measured from now on counts under this number; 0: nothing does.
pub(super) fn set_round(diagnosis: u8, round: u64) {
    store(diagnosis_at(diagnosis), round);
}

/// The first number that it has.
pub(super) fn set_first_round(diagnosis: u8, round: u64) {
    store(diagnosis_at(diagnosis) + 4, round);
}

/// Calls of the root that take as long as this, as probes read time, are slow.
pub(super) fn set_slower_than(diagnosis: u8, time: u64) {
    store(diagnosis_at(diagnosis) + 1, time);
}

/// How many calls found no frame.
pub(super) fn without_frame(diagnosis: u8) -> u64 {
    load(diagnosis_at(diagnosis) + 2)
}

/// How many calls were measured for another diagnosis.
pub(super) fn another_ones(diagnosis: u8) -> u64 {
    load(diagnosis_at(diagnosis) + 3)
}

/// Forgets the sums of all calls, and their lengths too if `lengths`.
pub(super) fn forget_sums(diagnosis: u8, lengths: bool) {
    let sums = SUMS + usize::from(diagnosis) * CELLS * SUM_WORDS;
    (sums..sums + CELLS * SUM_WORDS).for_each(|at| store(at, 0));
    if lengths {
        let at = diagnosis_at(diagnosis);
        (at + FIRST_LENGTH..at + FIRST_LENGTH + LENGTHS).for_each(|at| store(at, 0));
        store(at + 2, 0);
        store(at + 3, 0);
    }
}

/// Calls and time of a cell in slow calls of the root, and in fast ones.
pub(super) fn sums(diagnosis: u8, cell: u32) -> [u64; SUM_WORDS] {
    let at = SUMS + (usize::from(diagnosis) * CELLS + (cell as usize).min(CELLS - 1)) * SUM_WORDS;
    [0, 1, 2, 3].map(|of| load(at + of))
}

/// How many calls of the root had the length of each counter.
pub(super) fn lengths(diagnosis: u8) -> Vec<u64> {
    let at = diagnosis_at(diagnosis) + FIRST_LENGTH;
    (at..at + LENGTHS).map(load).collect()
}

/// Says whether calls at a cell are measured; texts of statements are not wanted there.
pub(super) fn set_watched(diagnosis: u8, cell: u32, is_watched: bool) {
    set_byte(diagnosis, cell, u64::from(is_watched));
}

/// Calls at a cell are measured, and texts of statements are wanted there.
pub(super) fn want_texts_at(diagnosis: u8, cell: u32) {
    set_byte(diagnosis, cell, 3);
}

fn set_byte(diagnosis: u8, cell: u32, value: u64) {
    let byte = usize::from(diagnosis) * CELLS + (cell as usize).min(CELLS - 1);
    let Some(word) = word(WATCHED + byte / 8) else { return };
    let shift = byte % 8 * 8;
    let changed = |before: u64| Some(before & !(0xff << shift) | value << shift);
    _ = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed);
}

/// Says whether a diagnosis wants texts of statements: a bit in the place of diagnosis 0, which is none.
pub(super) fn set_wants_texts(diagnosis: u8, wants: bool) {
    let Some(word) = word(DIAGNOSIS_TABLE) else { return };
    let bit = 1 << u32::from(diagnosis % DIAGNOSES as u8);
    if wants {
        word.fetch_or(bit, Ordering::SeqCst)
    } else {
        word.fetch_and(!bit, Ordering::SeqCst)
    };
}

/// A call of a root that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenCall {
    /// The number of its frame.
    pub(crate) frame: usize,
    /// The id of its thread.
    pub(crate) thread: u64,
    /// When it began, as probes read time.
    pub(crate) start: u64,
    /// The cell that is open.
    pub(crate) cell: u32,
}

/// Returns the calls of a root that have not ended.
pub(super) fn open_calls(diagnosis: u8) -> Vec<OpenCall> {
    (0..FRAMES).filter_map(|frame| open_call(diagnosis, frame)).collect()
}

/// Returns the call of this frame, if it is one of this diagnosis.
pub(super) fn open_call(diagnosis: u8, frame: usize) -> Option<OpenCall> {
    let at = FRAME_TABLE + frame * FRAME_WORDS;
    let owner = load(at);
    if owner & 7 != u64::from(diagnosis) || owner == 0 {
        return None;
    }
    // One that began for another diagnosis of this number, or that does not count.
    let round = load(at + 1);
    if round < load(diagnosis_at(diagnosis) + 4) || round == NEVER {
        return None;
    }
    let (start, cell) = (load(at + FIRST_CELL), load(at + 2) as u32);
    // A call that has just taken its frame.
    (start != 0).then_some(OpenCall { frame, thread: owner >> 3, start, cell })
}
