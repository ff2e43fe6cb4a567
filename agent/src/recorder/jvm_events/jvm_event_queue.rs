//! What the JVM reports besides calls: queued here until the drainer writes it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::jvm::{CodePlace, MethodFacts, MethodNames, NanoClock, NativeLibrary, ThreadFacts};

/// An event that waits to be written.
#[derive(Debug)]
pub(crate) enum JvmEvent {
    /// Lived already when the recording began.
    LiveThread(ThreadFacts),
    /// Was loaded already when the recording began: its internal name and the number of its loader.
    LoadedClass(Vec<u8>, u64),
    /// The methods of such a class.
    LoadedMethods(Vec<u8>, u64, Vec<MethodNames>),
    /// The whole initial state has been reported.
    StateComplete,
    /// A platform thread begins; the operating system's number of it.
    ThreadStarted(ThreadFacts, u64),
    /// A platform thread ends.
    ThreadEnded(u64),
    /// How often a platform thread has left its processor since it began: because it had to wait, because another took its place.
    ThreadSwitches(u64, (u64, u64)),
    /// A class is defined: its internal name and the number of its loader, by this thread.
    ClassDefined(Vec<u8>, u64, u64),
    /// A method was compiled.
    Compiled(MethodFacts, CodePlace),
    /// The compiled code at this address is gone.
    CodeUnloaded(u64),
    /// The JVM has made code for itself, by this name.
    CodeGenerated(String, CodePlace),
    /// A file with machine code lies in memory.
    NativeLibrary(NativeLibrary),
    /// A window of level burst is over.
    BurstWindow {
        /// When it opened, by Java's clock.
        start: u64,
        /// How long it was open.
        nanos: u64,
    },
    /// The level of a probe changes, or of all.
    Claim { probe: Option<u32>, owner: &'static str, reason: String, from: &'static str, to: &'static str },
    /// Loaded classes were retransformed together; ended now.
    Retransform(trace::Retransform),
    /// A diagnosis has ended.
    Diagnosis(Box<trace::Diagnosis>),
    /// A slow call of a method that is diagnosed has ended; when it began, by Java's clock.
    SlowCall { start: u64, call: Box<trace::SlowCall> },
    /// A walk has ended.
    Walk(Box<trace::Walk>),
    /// The number of probes of a walk has changed.
    HookGauge { walk: u64, now: u64, most: u64 },
    /// A tick of level watch followed late.
    LateTick {
        /// The tick before it, by Java's clock.
        start: u64,
        /// Time from there to the late one.
        nanos: u64,
    },
    /// Something that users should know: a short word to sort by, and what it is.
    Note(&'static str, String),
    /// A fact about how was measured.
    Setting(&'static str, String),
}

impl JvmEvent {
    /// Whether people must know it of the recording itself, however large the file is: there are few of these events.
    pub(in crate::recorder) fn is_always_written(&self) -> bool {
        matches!(
            self,
            JvmEvent::Note(..)
                | JvmEvent::Setting(..)
                | JvmEvent::Claim { .. }
                | JvmEvent::Retransform(_)
                | JvmEvent::Diagnosis(_)
                | JvmEvent::Walk(_)
        )
    }
}

/// Most events that are queued. The drainer takes them ten times a second.
const MOST: usize = 1 << 17;

/// The waiting events of one recording, each with its time on Java's clock.
#[derive(Debug)]
pub(crate) struct JvmEventQueue {
    clock: NanoClock,
    waiting: Mutex<Vec<(i64, JvmEvent)>>,
    lost: AtomicU64,
    /// Pauses of the garbage collector that have been taken out.
    pauses_taken: AtomicU64,
}

impl JvmEventQueue {
    /// An empty queue. Pauses of the garbage collector count from now on.
    pub(crate) fn new(clock: NanoClock) -> JvmEventQueue {
        PAUSES.clock.get_or_init(|| clock);
        FREED_LOADERS.lock().clear();
        let pauses_taken = AtomicU64::new(PAUSES.finished.load(Ordering::Acquire));
        JvmEventQueue { clock, waiting: Mutex::new(Vec::new()), lost: AtomicU64::new(0), pauses_taken }
    }

    /// Adds an event that happens now.
    pub(crate) fn add(&self, event: JvmEvent) {
        let at = self.clock.now();
        let mut waiting = self.waiting.lock();
        if waiting.len() < MOST {
            waiting.push((at, event));
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes what waits. Calls of a thread that has ended must be in the rings by now, so take this before reading those.
    pub(in crate::recorder) fn take(&self) -> Vec<(i64, JvmEvent)> {
        std::mem::take(&mut *self.waiting.lock())
    }

    /// Class loaders that are gone since the last time: when, and their numbers. Take these before [`JvmEventQueue::take`] and
    /// write them after what that gives: their classes must have been written.
    pub(in crate::recorder) fn take_freed_loaders(&self) -> Vec<(i64, u64)> {
        std::mem::take(&mut *FREED_LOADERS.lock())
    }

    /// How many were lost since the last time.
    pub(in crate::recorder) fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    /// Pauses since the last time.
    pub(in crate::recorder) fn take_pauses(&self, pause: impl FnMut(Pause)) -> u64 {
        let taken = self.pauses_taken.load(Ordering::Relaxed);
        let (next, lost) = PAUSES.read(taken, pause);
        self.pauses_taken.store(next, Ordering::Relaxed);
        lost
    }
}

/// One pause of the garbage collector, on Java's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Counted from 1 in this process.
    pub(crate) number: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

const SLOTS: usize = 1024;

/// Pauses as the collector's own thread notes them: it must not wait for anybody, and there is one pause at a time.
#[derive(Debug)]
struct Pauses {
    clock: OnceLock<NanoClock>,
    /// When the present pause began; 0 outside pauses.
    started: AtomicI64,
    /// Pauses finished since the agent listens. Pause number n (from 0) is in slot n modulo their number.
    finished: AtomicU64,
    slots: [[AtomicI64; 2]; SLOTS],
}

static PAUSES: Pauses = Pauses::new();

/// The application is stopped for the garbage collector, or resumed. Waits for nothing.
pub(crate) fn note_pause(starts: bool) {
    let Some(clock) = PAUSES.clock.get() else { return };
    if starts {
        PAUSES.started.store(clock.now(), Ordering::Relaxed);
    } else {
        PAUSES.finish(clock.now());
    }
}

/// Class loaders that are gone. On some JDKs the application is stopped while the JVM reports this, so the lock is held for a moment
/// only, never while the JVM is called.
static FREED_LOADERS: Mutex<Vec<(i64, u64)>> = Mutex::new(Vec::new());

/// The class loader of this number is gone.
pub(crate) fn note_freed_loader(number: u64) {
    if let Some(clock) = PAUSES.clock.get() {
        FREED_LOADERS.lock().push((clock.now(), number));
    }
}

impl Pauses {
    const fn new() -> Pauses {
        let slots = [const { [const { AtomicI64::new(0) }; 2] }; SLOTS];
        Pauses { clock: OnceLock::new(), started: AtomicI64::new(0), finished: AtomicU64::new(0), slots }
    }

    fn slot(&self, number: u64) -> Option<&[AtomicI64; 2]> {
        self.slots.get((number % SLOTS as u64) as usize)
    }

    fn finish(&self, end: i64) {
        // If the events are switched on or off in the middle of a pause, only its end is reported.
        let start = self.started.swap(0, Ordering::Relaxed);
        if start == 0 {
            return;
        }
        let number = self.finished.load(Ordering::Relaxed);
        if let Some([start_slot, end_slot]) = self.slot(number) {
            start_slot.store(start, Ordering::Relaxed);
            end_slot.store(end, Ordering::Relaxed);
        }
        self.finished.store(number + 1, Ordering::Release);
    }

    /// Reports the pauses from number `from` on; returns the next number and how many were overwritten.
    fn read(&self, from: u64, mut pause: impl FnMut(Pause)) -> (u64, u64) {
        let finished = self.finished.load(Ordering::Acquire);
        // The oldest slot may be written to at this moment.
        let first = from.max(finished.saturating_sub(SLOTS as u64 - 1));
        for number in first..finished {
            if let Some([start, end]) = self.slot(number) {
                let (start, end) = (start.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
                pause(Pause { number: number + 1, start, end });
            }
        }
        (finished, first - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_told_once_in_order_and_overwritten_ones_are_counted() {
        let pauses = Pauses::new();
        let pause = |at: i64| {
            pauses.started.store(at, Ordering::Relaxed);
            pauses.finish(at + 5);
        };
        let told = |from: u64| {
            let mut told = Vec::new();
            let (next, lost) = pauses.read(from, |pause| told.push(pause));
            (told, next, lost)
        };
        pauses.finish(1);
        (1..4).for_each(pause);
        let (first, next, lost) = told(0);
        assert_eq!((next, lost), (3, 0));
        assert_eq!(first.last(), Some(&Pause { number: 3, start: 3, end: 8 }));
        assert_eq!(told(3), (Vec::new(), 3, 0));
        (1..=2000).for_each(pause);
        let (rest, next, lost) = told(3);
        assert_eq!((rest.len() as u64 + lost, next), (2000, 2003));
        assert_eq!(rest.last(), Some(&Pause { number: 2003, start: 2000, end: 2005 }));
    }
}
