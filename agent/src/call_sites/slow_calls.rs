//! Slow calls of the roots of diagnoses, one by one: what each took at each cell. The thread of the call adds it, that of the diagnosis takes it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::memory::{self, DIAGNOSES};
use super::{Cell, DiagnosisNumber, Sum};
use crate::jvm::ThreadFacts;

/// Slow calls of a diagnosis that are recorded of one second.
const MOST_A_SECOND: u32 = 20;
const SECOND: Duration = Duration::from_secs(1);

/// A slow call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlowCall {
    pub(crate) thread: ThreadFacts,
    /// When it ended, as probes read time.
    pub(crate) ended: u64,
    /// What it took at each cell that it used; cell 0 is the call itself.
    pub(crate) cells: Vec<(Cell, Sum)>,
}

/// The slow calls of one diagnosis.
#[derive(Debug)]
struct SlowCalls {
    ended: Vec<SlowCall>,
    second: Option<Instant>,
    in_second: u32,
    left_out: u64,
}

impl SlowCalls {
    const NONE: SlowCalls = SlowCalls { ended: Vec::new(), second: None, in_second: 0, left_out: 0 };

    /// Whether one more is recorded now; if not, it is counted.
    fn take_one_more(&mut self, now: Instant) -> bool {
        if self.second.is_none_or(|began| now.saturating_duration_since(began) >= SECOND) {
            (self.second, self.in_second) = (Some(now), 0);
        }
        self.in_second += 1;
        let is_taken = self.in_second <= MOST_A_SECOND;
        self.left_out += u64::from(!is_taken);
        is_taken
    }
}

static ENDED: [Mutex<SlowCalls>; DIAGNOSES] = [const { Mutex::new(SlowCalls::NONE) }; DIAGNOSES];

fn of(diagnosis: DiagnosisNumber) -> Option<&'static Mutex<SlowCalls>> {
    ENDED.get(usize::from(diagnosis))
}

/// Forgets what was noted up to now, for an earlier diagnosis of this number or for calls that do not count.
pub(crate) fn forget_slow_calls(diagnosis: DiagnosisNumber) {
    if let Some(calls) = of(diagnosis) {
        *calls.lock() = SlowCalls::NONE;
    }
}

/// Notes that the slow call of this frame ends now (`java.instr.Sites.slowCall`), on its thread: until this returns, the frame is its own.
pub(crate) fn note_slow_call(frame: usize, ended: u64, thread: &dyn Fn() -> ThreadFacts) {
    let Some(diagnosis) = memory::measured_for(frame) else { return };
    let Some(calls) = of(diagnosis) else { return };
    if !calls.lock().take_one_more(Instant::now()) {
        return;
    }
    let cells = memory::used_cells(frame).into_iter().map(|(cell, calls, time)| (cell, Sum { calls, time })).collect();
    let call = SlowCall { thread: thread(), ended, cells };
    calls.lock().ended.push(call);
}

/// Returns the slow calls that have ended since the last time.
pub(crate) fn take_slow_calls(diagnosis: DiagnosisNumber) -> Vec<SlowCall> {
    of(diagnosis).map(|calls| std::mem::take(&mut calls.lock().ended)).unwrap_or_default()
}

/// Returns how many slow calls were left out, because there were too many in a second.
pub(crate) fn slow_calls_left_out(diagnosis: DiagnosisNumber) -> u64 {
    of(diagnosis).map_or(0, |calls| calls.lock().left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_slow_calls_in_a_second_the_first_are_recorded_and_the_others_counted() {
        let (mut calls, start) = (SlowCalls::NONE, Instant::now());
        let mut taken = |millis: u64| calls.take_one_more(start + Duration::from_millis(millis));
        assert_eq!((0..30).filter(|at| taken(*at)).count(), 20);
        assert!(!taken(999) && taken(1_000));
        assert_eq!(calls.left_out, 11);
    }
}
