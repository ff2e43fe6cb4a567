//! The present level of each probe that can change it (`java.instr.Live`), in a table of bytes that compiled code reads, and what
//! a call at each level begins with: a word a level.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use instrument_core::level::Level;
use records::probe_registry::HIGHEST_PROBE;

/// A level's byte is the offset of its word.
const OFF: u8 = 0;
const WATCH: u8 = 8;
const TIME: u8 = 16;
const FULL: u8 = 24;
const BURST: u8 = 32;
/// Off, and somebody said so.
const SWITCHED_OFF: u8 = 40;
/// Watch, and calls count themselves at present.
const COUNTING: u8 = 48;
/// Off until all probes of one change are there, then time or full: one store into the word of its level arms all of them.
const ARMED_TO_TIME: u8 = 56;
const ARMED_TO_FULL: u8 = 64;
/// Time, for as many calls as are left.
const LIMITED: u8 = 72;
/// Where the number of these is: no level.
#[cfg(test)]
const LEFT: u8 = 128;

/// In front of probe 0: one byte for each level, with which Java code warms up.
const WARM_UP: [u8; 5] = [OFF, WATCH, TIME, FULL, BURST];
const IN_FRONT: usize = WARM_UP.len();

/// Words that are no start of a call but say how to begin one.
const TIME_WORD: i64 = -1;
const FULL_WORD: i64 = -2;
const COUNTED_WORD: i64 = -3;
const LIMITED_WORD: i64 = -4;
/// The tick before the first and after the last.
const NO_TICK: i64 = 1;

/// The first seven words are in one cache line, which every live probe reads.
#[derive(Debug)]
#[repr(C, align(64))]
struct Words {
    /// Level off: 0 for ever.
    _off: AtomicI64,
    /// Level watch: the tick, odd.
    tick: AtomicI64,
    _time: AtomicI64,
    _full: AtomicI64,
    /// Level burst: as level off, or in a window its end and the sign.
    burst: AtomicI64,
    _switched_off: AtomicI64,
    _counting: AtomicI64,
    armed_to_time: AtomicI64,
    armed_to_full: AtomicI64,
    _limited: AtomicI64,
    /// Not in a cache line with words that other levels read.
    _apart: [AtomicI64; 6],
    /// Each call at a limited level takes one.
    calls_left: AtomicI64,
}

static WORDS: Words = Words {
    _off: AtomicI64::new(0),
    tick: AtomicI64::new(NO_TICK),
    _time: AtomicI64::new(TIME_WORD),
    _full: AtomicI64::new(FULL_WORD),
    burst: AtomicI64::new(0),
    _switched_off: AtomicI64::new(0),
    _counting: AtomicI64::new(COUNTED_WORD),
    armed_to_time: AtomicI64::new(0),
    armed_to_full: AtomicI64::new(0),
    _limited: AtomicI64::new(LIMITED_WORD),
    _apart: [const { AtomicI64::new(0) }; 6],
    calls_left: AtomicI64::new(0),
};

/// The levels of all live probes of the process.
#[derive(Debug)]
pub(crate) struct LiveLevels {
    bytes: &'static [AtomicU8],
    /// Probes at level burst.
    bursting: AtomicUsize,
    /// Probes at level watch.
    watching: AtomicUsize,
    windows: AtomicU64,
    window_nanos: AtomicU64,
}

static LEVELS: OnceLock<LiveLevels> = OnceLock::new();

/// How many bytes there are: one for each number that a record can hold, that of silent probes included.
const LENGTH: usize = IN_FRONT + HIGHEST_PROBE + 2;

/// A part of the library, so that it is there whenever the library is: classes may hold live probes that somebody else has inserted, and
/// those read it whatever becomes of the session. Its pages take memory when they are touched.
static BYTES: [AtomicU8; LENGTH] = [const { AtomicU8::new(OFF) }; LENGTH];

/// The table of this process.
pub(crate) fn of_process() -> &'static LiveLevels {
    LEVELS.get_or_init(|| {
        for (byte, level) in BYTES.iter().zip(WARM_UP) {
            byte.store(level, Ordering::Relaxed);
        }
        let (bursting, watching) = (AtomicUsize::new(0), AtomicUsize::new(0));
        LiveLevels { bytes: &BYTES, bursting, watching, windows: AtomicU64::new(0), window_nanos: AtomicU64::new(0) }
    })
}

impl LiveLevels {
    /// The address of the byte of probe 0.
    pub(crate) fn address(&self) -> u64 {
        self.bytes.get(IN_FRONT).map_or(0, |byte| byte.as_ptr() as u64)
    }

    /// The address of the words.
    pub(crate) fn words(&self) -> u64 {
        std::ptr::from_ref(&WORDS) as u64
    }

    /// Sets the level of a probe. Threads see it soon; a call that runs ends as it began.
    pub(crate) fn set(&self, probe: u32, level: Level) {
        self.put(
            probe,
            match level {
                Level::Off => SWITCHED_OFF,
                Level::Watch => WATCH,
                Level::Burst => BURST,
                Level::Time => TIME,
                Level::Full => FULL,
            },
        );
    }

    /// Has a probe record its calls as at level time, as long as some are left of the limit.
    pub(crate) fn set_limited(&self, probe: u32) {
        self.put(probe, LIMITED);
    }

    /// All probes with a limit together record this number of calls from now on.
    pub(crate) fn limit_calls(&self, calls: u64) {
        WORDS.calls_left.store(i64::try_from(calls).unwrap_or(i64::MAX), Ordering::Release);
    }

    /// Returns how many of these are left.
    pub(crate) fn calls_left(&self) -> u64 {
        u64::try_from(WORDS.calls_left.load(Ordering::Acquire)).unwrap_or(0)
    }

    /// Whether calls of the probe take one of these.
    pub(crate) fn is_limited(&self, probe: u32) -> bool {
        self.byte(probe).is_some_and(|byte| byte.load(Ordering::Relaxed) == LIMITED)
    }

    fn put(&self, probe: u32, value: u8) {
        let Some(byte) = self.byte(probe) else { return };
        let before = byte.swap(value, Ordering::Relaxed);
        let follow = |count: &AtomicUsize, was: bool, is: bool| match (was, is) {
            (false, true) => count.fetch_add(1, Ordering::Relaxed),
            (true, false) => count.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
        follow(&self.bursting, before == BURST, value == BURST);
        follow(&self.watching, matches!(before, WATCH | COUNTING), value == WATCH);
    }

    /// From now on calls at level watch of the probes up to this number count themselves (`watched_calls.rs`), or no more. A
    /// level that is set meanwhile takes precedence.
    pub(crate) fn count_calls(&self, on: bool, highest: u32) {
        // Looked at many times a second, but there may be none.
        if self.watching.load(Ordering::Relaxed) == 0 {
            return;
        }
        let (before, now) = if on { (WATCH, COUNTING) } else { (COUNTING, WATCH) };
        for byte in self.bytes.iter().skip(IN_FRONT).take(highest as usize + 1) {
            if byte.load(Ordering::Relaxed) == before {
                let _ = byte.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// Gives a probe its first level, unless it has one already: a class that is loaded or retransformed again keeps what was set meanwhile.
    pub(crate) fn begin(&self, probe: u32, level: Level) {
        if self.byte(probe).is_some_and(|byte| byte.load(Ordering::Relaxed) == OFF) {
            self.set(probe, level);
        }
    }

    /// Gives a probe its first level, as [`LiveLevels::begin`]; calls are not recorded before [`LiveLevels::arm`].
    pub(crate) fn begin_unarmed(&self, probe: u32, level: Level) {
        let value = match level {
            Level::Time => ARMED_TO_TIME,
            Level::Full => ARMED_TO_FULL,
            Level::Off => SWITCHED_OFF,
            // These record from tick to tick, and in windows: there is nothing to begin together.
            Level::Watch => WATCH,
            Level::Burst => BURST,
        };
        if self.byte(probe).is_some_and(|byte| byte.load(Ordering::Relaxed) == OFF) {
            self.put(probe, value);
        }
    }

    /// From now on the calls of these probes are recorded: those of one level by one store. Levels that were set meanwhile stay.
    pub(crate) fn arm(&self, probes: impl Iterator<Item = u32>) {
        let words = [
            (ARMED_TO_TIME, Level::Time, &WORDS.armed_to_time, TIME_WORD),
            (ARMED_TO_FULL, Level::Full, &WORDS.armed_to_full, FULL_WORD),
        ];
        words.iter().for_each(|(.., word, value)| word.store(*value, Ordering::Release));
        // One after the other they get the level itself, so that the words are free for the next change.
        for probe in probes {
            let value = self.byte(probe).map(|byte| byte.load(Ordering::Relaxed));
            if let Some((_, level, ..)) = words.iter().find(|(unarmed, ..)| value == Some(*unarmed)) {
                self.set(probe, *level);
            }
        }
        words.iter().for_each(|(.., word, _)| word.store(0, Ordering::Release));
    }

    /// The level of a probe.
    pub(crate) fn get(&self, probe: u32) -> Level {
        match self.byte(probe).map(|byte| byte.load(Ordering::Relaxed)) {
            Some(WATCH | COUNTING) => Level::Watch,
            Some(TIME | LIMITED) => Level::Time,
            Some(FULL) => Level::Full,
            Some(BURST) => Level::Burst,
            _ => Level::Off,
        }
    }

    /// Another session with other rules begins: nothing is set any more.
    pub(crate) fn forget(&self, probes: impl Iterator<Item = u32>) {
        probes.for_each(|probe| self.put(probe, OFF));
    }

    /// A tick, by Java's clock.
    pub(crate) fn tick(&self, now: i64) {
        WORDS.tick.store(now.max(NO_TICK) | 1, Ordering::Release);
    }

    /// No ticks and no windows any more.
    pub(crate) fn stand_still(&self) {
        WORDS.tick.store(NO_TICK, Ordering::Release);
        self.close_window();
    }

    /// Whether some probe is at level burst.
    pub(crate) fn is_bursting(&self) -> bool {
        self.bursting.load(Ordering::Relaxed) > 0
    }

    /// Calls that begin from now on until this time are recorded. The first call after that closes the window, if nothing else does.
    pub(crate) fn open_window(&self, end: i64) {
        WORDS.burst.store(end | i64::MIN, Ordering::Release);
    }

    /// The window is over.
    pub(crate) fn close_window(&self) {
        WORDS.burst.store(0, Ordering::Release);
    }

    /// Counts a window that is over.
    pub(crate) fn count_window(&self, nanos: u64) {
        self.windows.fetch_add(1, Ordering::Relaxed);
        self.window_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Windows of this process up to now, and how long they were open together, in nanoseconds.
    pub(crate) fn windows(&self) -> (u64, u64) {
        (self.windows.load(Ordering::Relaxed), self.window_nanos.load(Ordering::Relaxed))
    }

    fn byte(&self, probe: u32) -> Option<&AtomicU8> {
        self.bytes.get(IN_FRONT + probe as usize)
    }
}

#[cfg(test)]
mod tests {
    use instrument_core::ahead::SILENT_PROBE;

    use super::*;

    #[test]
    fn a_level_that_was_set_stays_when_the_class_comes_again_and_java_reads_the_same_byte() {
        let levels = of_process();
        let probe = 0x00ab_cdef;
        levels.begin(probe, Level::Time);
        levels.set(probe, Level::Off);
        levels.begin(probe, Level::Time);
        assert_eq!(levels.get(probe), Level::Off);
        levels.forget([probe].into_iter());
        levels.begin(probe, Level::Watch);
        assert_eq!(levels.get(probe), Level::Watch);
        let byte = levels.byte(probe).unwrap();
        assert_eq!(levels.address() + u64::from(probe), byte.as_ptr() as u64);
    }

    #[test]
    fn a_limit_is_one_of_calls_at_level_time() {
        let (levels, probe) = (of_process(), 0x00ab_cdee);
        levels.set_limited(probe);
        assert_eq!((levels.get(probe), levels.is_limited(probe)), (Level::Time, true));
        levels.set(probe, Level::Full);
        assert_eq!((levels.get(probe), levels.is_limited(probe)), (Level::Full, false));
        levels.limit_calls(u64::MAX);
        assert_eq!(levels.calls_left(), i64::MAX as u64);
        // As Java code leaves it when it has found none.
        WORDS.calls_left.store(-1, Ordering::Relaxed);
        assert_eq!(levels.calls_left(), 0);
    }

    #[test]
    fn java_code_and_this_table_agree() {
        let java = include_str!("../../java-runtime/src/main/java/java/instr/Live.java");
        let lines = [
            format!("TIME = {TIME_WORD};"),
            format!("FULL = {FULL_WORD};"),
            format!("COUNTED = {COUNTED_WORD};"),
            format!("LIMITED = {LIMITED_WORD};"),
            format!("NO_TICK = {NO_TICK};"),
            format!("TICK = WORDS + {WATCH};"),
            format!("BURST = WORDS + {BURST};"),
            format!("LEFT = WORDS + {LEFT};"),
            format!("OFF_ID = -{IN_FRONT};"),
        ];
        for line in lines {
            assert!(java.contains(&line), "{line}");
        }
        assert!(of_process().byte(SILENT_PROBE).is_some(), "a probe without a number reads its level, too");
        let first: Vec<u8> =
            of_process().bytes.iter().take(IN_FRONT).map(|byte| byte.load(Ordering::Relaxed)).collect();
        assert_eq!(first, WARM_UP);
    }

    #[test]
    fn a_byte_is_the_offset_of_its_word() {
        let at = [
            (OFF, &WORDS._off),
            (WATCH, &WORDS.tick),
            (TIME, &WORDS._time),
            (FULL, &WORDS._full),
            (BURST, &WORDS.burst),
            (SWITCHED_OFF, &WORDS._switched_off),
            (COUNTING, &WORDS._counting),
            (LIMITED, &WORDS._limited),
            (LEFT, &WORDS.calls_left),
        ];
        for (offset, word) in at {
            assert_eq!(word.as_ptr() as u64, of_process().words() + u64::from(offset));
        }
    }

    #[test]
    fn counting_is_no_level_and_ends_where_another_level_was_set() {
        let levels = of_process();
        let byte = |probe| levels.byte(probe).map(|byte| byte.load(Ordering::Relaxed));
        // Numbers of no other test, and few bytes to look at.
        let [watched, changed, timed] = [40, 41, 42];
        [watched, changed].iter().for_each(|probe| levels.begin(*probe, Level::Watch));
        levels.begin(timed, Level::Time);
        levels.count_calls(true, 41);
        assert_eq!([watched, changed, timed].map(byte), [Some(COUNTING), Some(COUNTING), Some(TIME)]);
        assert_eq!(levels.get(watched), Level::Watch);
        levels.set(changed, Level::Off);
        levels.count_calls(false, 41);
        assert_eq!([watched, changed, timed].map(byte), [Some(WATCH), Some(SWITCHED_OFF), Some(TIME)]);
        levels.forget([watched, changed, timed].into_iter());
    }

    #[test]
    fn probes_in_bursts_are_counted_through_all_changes() {
        let levels = of_process();
        let probes = [0x00ab_ce00, 0x00ab_ce01];
        probes.iter().for_each(|probe| levels.begin(*probe, Level::Burst));
        levels.set(probes[0], Level::Burst);
        assert!(levels.is_bursting() && levels.get(probes[1]) == Level::Burst);
        levels.set(probes[0], Level::Full);
        assert!(levels.is_bursting());
        levels.forget(probes.into_iter());
        assert!(!levels.is_bursting());
        assert_eq!(levels.get(probes[0]), Level::Off);
    }
}
