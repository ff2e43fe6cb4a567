//! The present level of each probe that can change it (`java.instr.Live`), in a table of bytes that compiled code reads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use instrument_core::level::Level;

use crate::jvm;
use crate::probe_registry::HIGHEST_PROBE;

const OFF: u8 = 0;
const WATCH: u8 = 1;
const TIME: u8 = 2;
/// Off, and somebody said so.
const SWITCHED_OFF: u8 = 3;

/// In front of probe 0: one byte for each of the levels off, watch and time, with which Java code warms up.
const IN_FRONT: usize = 3;

/// The levels of all live probes of the process.
#[derive(Debug)]
pub(crate) struct LiveLevels {
    bytes: &'static [AtomicU8],
}

static LEVELS: OnceLock<LiveLevels> = OnceLock::new();

/// The table of this process.
pub(crate) fn of_process() -> &'static LiveLevels {
    LEVELS.get_or_init(|| {
        static WARM_UP_ONLY: [AtomicU8; IN_FRONT + 1] = [const { AtomicU8::new(OFF) }; IN_FRONT + 1];
        // Without memory the first probe's byte is there to have an address; no session with live probes starts then.
        let bytes = jvm::zeroed_bytes(IN_FRONT + HIGHEST_PROBE + 2).unwrap_or(&WARM_UP_ONLY);
        for (byte, level) in bytes.iter().zip([OFF, WATCH, TIME]) {
            byte.store(level, Ordering::Relaxed);
        }
        LiveLevels { bytes }
    })
}

impl LiveLevels {
    /// Whether there was memory for all probes. Without it no class may get a live probe: Java code would read elsewhere.
    pub(crate) fn is_complete(&self) -> bool {
        self.bytes.len() > IN_FRONT + HIGHEST_PROBE
    }

    /// The address of the byte of probe 0.
    pub(crate) fn address(&self) -> u64 {
        self.bytes.get(IN_FRONT).map_or(0, |byte| byte.as_ptr() as u64)
    }

    /// Sets the level of a probe. Threads see it soon; a call that runs ends as it began.
    pub(crate) fn set(&self, probe: u32, level: Level) {
        let value = match level {
            Level::Off => SWITCHED_OFF,
            Level::Watch => WATCH,
            Level::Time | Level::Full => TIME,
        };
        if let Some(byte) = self.byte(probe) {
            byte.store(value, Ordering::Relaxed);
        }
    }

    /// Gives a probe its first level, unless it has one already: a class that comes again keeps what was set meanwhile.
    pub(crate) fn begin(&self, probe: u32, level: Level) {
        if self.byte(probe).is_some_and(|byte| byte.load(Ordering::Relaxed) == OFF) {
            self.set(probe, level);
        }
    }

    /// The level of a probe.
    pub(crate) fn get(&self, probe: u32) -> Level {
        match self.byte(probe).map(|byte| byte.load(Ordering::Relaxed)) {
            Some(WATCH) => Level::Watch,
            Some(TIME) => Level::Time,
            _ => Level::Off,
        }
    }

    /// Another session with other rules begins: nothing is set any more.
    pub(crate) fn forget(&self, probes: impl Iterator<Item = u32>) {
        probes.filter_map(|probe| self.byte(probe)).for_each(|byte| byte.store(OFF, Ordering::Relaxed));
    }

    fn byte(&self, probe: u32) -> Option<&AtomicU8> {
        self.bytes.get(IN_FRONT + probe as usize)
    }
}

#[cfg(test)]
mod tests {
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
    fn java_code_and_this_table_agree() {
        let java = include_str!("../../java-runtime/src/main/java/java/instr/Live.java");
        assert!(java.contains(&format!("int WATCH = {WATCH};")) && java.contains(&format!("int TIME = {TIME};")));
        assert!(java.contains("i % 3 - 3"), "the three bytes in front");
        assert!(of_process().is_complete());
        let first: Vec<u8> = of_process().bytes.iter().take(3).map(|byte| byte.load(Ordering::Relaxed)).collect();
        assert_eq!(first, [OFF, WATCH, TIME]);
    }
}
