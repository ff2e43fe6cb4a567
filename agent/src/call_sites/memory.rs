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

/// Tasks that other threads run are measured below this cell; 0: they are not.
pub(super) fn set_tasks_at(diagnosis: u8, cell: u32) {
    store(diagnosis_at(diagnosis) + 5, cell.into());
}

/// Says whether a diagnosis goes on in tasks: a bit in the place of diagnosis 0, which is none.
pub(super) fn set_wants_tasks(diagnosis: u8, wants: bool) {
    set_bit(DIAGNOSIS_TABLE + 1, diagnosis, wants);
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
    set_bit(DIAGNOSIS_TABLE, diagnosis, wants);
}

fn set_bit(at: usize, diagnosis: u8, wants: bool) {
    let Some(word) = word(at) else { return };
    let bit = 1 << u32::from(diagnosis % DIAGNOSES as u8);
    if wants {
        word.fetch_or(bit, Ordering::SeqCst)
    } else {
        word.fetch_and(!bit, Ordering::SeqCst)
    };
}

/// Returns the diagnosis for which the call of this frame is measured as a whole; `None` if it is for none, or for one that has ended.
pub(super) fn measured_for(frame: usize) -> Option<u8> {
    let at = FRAME_TABLE + frame.min(FRAMES - 1) * FRAME_WORDS;
    let diagnosis = u8::try_from(load(at) & 7).ok().filter(|diagnosis| *diagnosis != 0)?;
    let round = load(at + 1);
    let is_present = round >= load(diagnosis_at(diagnosis) + 4) && round != NEVER && load(diagnosis_at(diagnosis)) != 0;
    is_present.then_some(diagnosis)
}

/// Returns the cells that the call of this frame has used: number, calls, time. Its thread is the one that asks.
pub(super) fn used_cells(frame: usize) -> Vec<(u32, u64, u64)> {
    let at = FRAME_TABLE + frame.min(FRAMES - 1) * FRAME_WORDS;
    let mut last = (load(at + 2) >> 32) as u32;
    let mut cells = Vec::new();
    while (last as usize) < CELLS && cells.len() < CELLS {
        let of = at + FIRST_CELL + last as usize * CELL_WORDS;
        cells.push((last, load(of + 2) & u64::from(u32::MAX), load(of + 1)));
        last = load(of + 3) as u32;
    }
    cells
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
    /// Set if the thread runs a task of a call that waits at this cell.
    pub(crate) task_at: Option<u32>,
}

/// Returns the calls of a root that have not ended.
pub(super) fn open_calls(diagnosis: u8) -> Vec<OpenCall> {
    (0..FRAMES).filter_map(|frame| open_call(diagnosis, frame)).collect()
}

/// Returns when the call began that a frame has.
fn start_in_frame(frame: usize) -> u64 {
    if frame < FRAMES { load(FRAME_TABLE + frame * FRAME_WORDS + FIRST_CELL) } else { 0 }
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
    let task_at = Some((load(at + 4) >> 32) as u32).filter(|cell| *cell != 0);
    if task_at.is_some() && start_in_frame(load(at + 5) as u32 as usize) != start {
        // A task that has outlived its call.
        return None;
    }
    // A call that has just taken its frame.
    (start != 0).then_some(OpenCall { frame, thread: owner >> 3, start, cell, task_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::java_constants;

    /// Diagnosis 0 is none, so no test uses its table.
    const NO_DIAGNOSIS: u8 = 0;

    fn constant(name: &str) -> i64 {
        java_constants::constant(include_str!("../../../java-runtime/src/main/java/java/instr/Sites.java"), name)
    }

    fn number(name: &str) -> usize {
        usize::try_from(constant(name)).unwrap()
    }

    /// Reads what Java code reads at this offset of a table.
    fn long(table: usize, offset: usize) -> u64 {
        assert_eq!(offset % 8, 0);
        load(table + offset / 8)
    }

    fn int(table: usize, offset: usize) -> u32 {
        (long(table, offset / 8 * 8) >> (offset % 8 * 8)) as u32
    }

    #[test]
    fn java_code_has_the_same_sizes() {
        let bytes = |words: usize| words * 8;
        for (name, expected) in [
            ("METHOD_STRIDE", bytes(METHOD_WORDS)),
            ("DIAGNOSIS_STRIDE", bytes(DIAGNOSIS_WORDS)),
            ("CELLS", CELLS),
            ("SUM_STRIDE", bytes(SUM_WORDS)),
            ("CELL_STRIDE", bytes(CELL_WORDS)),
        ] {
            assert_eq!(1 << number(name), expected, "{name}");
        }
        assert_eq!(number("FRAMES"), FRAMES);
        assert_eq!(number("FIRST_CELL"), bytes(FIRST_CELL));
        let java = include_str!("../../../java-runtime/src/main/java/java/instr/Sites.java");
        assert!(java.contains(" FRAME_BYTES = FIRST_CELL + (1L << CELLS + CELL_STRIDE);"));
        assert_eq!(bytes(FRAME_WORDS), number("FIRST_CELL") + (1 << (number("CELLS") + number("CELL_STRIDE"))));
        assert_eq!(number("LENGTHS"), bytes(FIRST_LENGTH));
        assert!(
            java.contains("owner & 7L") && 1 << number("NUMBERS") == DIAGNOSES,
            "the number of a diagnosis has three bits"
        );
    }

    #[test]
    fn all_that_java_code_writes_is_inside_its_table() {
        let places = number("FIRST_PLACE") + (MOST_PLACES << number("PLACE_STRIDE"));
        assert!(places <= METHOD_WORDS * 8 && number("PLACE_CELL") + 4 <= 1 << number("PLACE_STRIDE"));
        assert!(FIRST_LENGTH + LENGTHS <= DIAGNOSIS_WORDS && number("ANOTHER_ONES") + 8 <= number("LENGTHS"));
        assert!(number("FAST") + 16 <= SUM_WORDS * 8);
        const {
            assert!(
                (WORDS - WATCHED) * 8 > DIAGNOSES * CELLS + (1 << 16),
                "the byte of a site is read before its number is checked"
            )
        };
        for name in ["OWNER", "FRAME_ROUND", "OPEN", "LAST", "DISPLACED", "FRAME_DIAGNOSIS", "NUMBER", "TASK_AT"] {
            assert!(number(name) + 8 <= number("FIRST_CELL"), "{name}");
        }
        for name in ["START", "TIME", "CALLS", "AROUND", "BEFORE"] {
            assert!(number(name) + 4 <= CELL_WORDS * 8, "{name}");
        }
    }

    #[test]
    fn java_code_finds_what_is_stored() {
        assert!(addresses().iter().all(|address| *address != 0));
        let method = METHODS - 1;
        let table = METHODS_AT + method * METHOD_WORDS;
        let place = |place: usize| number("FIRST_PLACE") + (place << number("PLACE_STRIDE"));
        let method = u32::try_from(method).unwrap();
        set_place(method, MOST_PLACES - 1, 5, Ok(71), 72);
        set_place(method, 1, 6, Err(9), 73);
        let read =
            |at: usize| ["DIAGNOSIS", "STEP", "PLACE_AROUND", "PLACE_CELL"].map(|of| int(table, at + number(of)));
        assert_eq!(read(place(MOST_PLACES - 1)), [5, 0, 71, 72]);
        assert_eq!(read(place(1)), [6, 9, constant("ROOT") as u32, 73]);
        set_places(method, 3);
        assert_eq!(int(table, number("PLACES")), 3);
        set_places(method, 0);
        clear_place(method, 1);
        clear_place(method, MOST_PLACES - 1);
        assert_eq!([place(1), place(MOST_PLACES - 1)].map(|at| int(table, at + number("DIAGNOSIS"))), [0, 0]);

        let table = DIAGNOSIS_TABLE + usize::from(NO_DIAGNOSIS) * DIAGNOSIS_WORDS;
        set_slower_than(NO_DIAGNOSIS, 81);
        assert_eq!(long(table, number("SLOWER_THAN")), 81);
        store(table + number("WITHOUT_FRAME") / 8, 82);
        store(table + number("ANOTHER_ONES") / 8, 83);
        store(table + (number("LENGTHS") / 8) + LENGTHS - 1, 84);
        assert_eq!((without_frame(NO_DIAGNOSIS), another_ones(NO_DIAGNOSIS)), (82, 83));
        assert_eq!(lengths(NO_DIAGNOSIS).last(), Some(&84));
        set_tasks_at(NO_DIAGNOSIS, 86);
        assert_eq!(int(table, number("TASKS_AT")), 86);
        set_tasks_at(NO_DIAGNOSIS, 0);
        assert_eq!(number("WANT_TASKS"), number("SLOWER_THAN"), "no call is measured for diagnosis 0");
        forget_sums(NO_DIAGNOSIS, true);
        assert_eq!(diagnosis_at(NO_DIAGNOSIS) + number("ROUND") / 8, table);

        let last = u32::try_from(CELLS - 1).unwrap();
        let sum = (CELLS - 1) << number("SUM_STRIDE");
        store(SUMS + (sum + number("FAST")) / 8, 85);
        assert_eq!(sums(NO_DIAGNOSIS, last), [0, 0, 85, 0]);
        forget_sums(NO_DIAGNOSIS, false);
        assert_eq!(sums(NO_DIAGNOSIS, last), [0; SUM_WORDS]);

        want_texts_at(NO_DIAGNOSIS, last);
        let byte = |cell: u32| int(WATCHED, cell as usize / 4 * 4) >> (cell % 4 * 8) & 0xff;
        assert_eq!(byte(last) & constant("TEXTS") as u32, constant("TEXTS") as u32);
        set_watched(NO_DIAGNOSIS, last, true);
        assert_eq!((byte(last) & constant("TEXTS") as u32, byte(last) != 0), (0, true));
        set_watched(NO_DIAGNOSIS, last, false);
        assert_eq!(byte(last), 0);
    }

    #[test]
    fn open_calls_are_read_where_java_code_has_them() {
        assert!(addresses().iter().all(|address| *address != 0));
        // The last frame, of a diagnosis that no other test reads.
        let (frame, diagnosis) = (FRAMES - 1, 3_u8);
        let table = FRAME_TABLE + frame * FRAME_WORDS;
        store(table + (number("FIRST_CELL") + number("START")) / 8, 92);
        store(table + number("OPEN") / 8, halves(93, 0));
        store(table + number("OWNER") / 8, 91 << 3 | u64::from(diagnosis));
        let call = OpenCall { frame, thread: 91, start: 92, cell: 93, task_at: None };
        assert_eq!(open_call(diagnosis, frame), Some(call));
        store(table + number("TASK_AT") / 8, halves(0, 94));
        assert_eq!((number("TASK_AT") % 8, number("CALL_FRAME") % 8), (4, 0));
        store(table + number("CALL_FRAME") / 8, halves(frame as u32 - 1, 0));
        assert_eq!(open_call(diagnosis, frame), None, "the call of which it is a task has ended");
        store(table + number("CALL_FRAME") / 8, halves(frame as u32, 0));
        assert_eq!(open_call(diagnosis, frame), Some(OpenCall { task_at: Some(94), ..call }));
        store(table + number("TASK_AT") / 8, 0);
        let cell =
            |cell: usize, of: &str| table + (number("FIRST_CELL") + (cell << number("CELL_STRIDE")) + number(of)) / 8;
        store(table + number("OPEN") / 8, halves(0, 7));
        store(cell(7, "TIME"), 94);
        store(cell(7, "CALLS"), halves(95, 0));
        store(cell(7, "BEFORE"), halves(0, 0));
        store(cell(0, "TIME"), 96);
        store(cell(0, "CALLS"), halves(1, 0));
        store(cell(0, "BEFORE"), halves(constant("END") as u32, 0));
        assert_eq!(number("LAST"), number("OPEN") + 4);
        assert_eq!(used_cells(frame), [(7, 95, 94), (0, 1, 96)]);
        set_round(diagnosis, 5);
        store(table + number("FRAME_ROUND") / 8, 5);
        assert_eq!(measured_for(frame), Some(diagnosis));
        store(table + number("FRAME_ROUND") / 8, NEVER);
        assert_eq!(measured_for(frame), None);
        store(table + number("FRAME_ROUND") / 8, 0);
        set_round(diagnosis, 0);
        store(table + number("OWNER") / 8, 0);
        assert_eq!((open_call(diagnosis, frame), measured_for(frame)), (None, None));
    }
}
