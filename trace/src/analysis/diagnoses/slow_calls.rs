//! Slow calls of diagnoses (`instr.SlowCall`): how many of each there are, and the slowest of those that were measured far enough down to show where their time went.

use std::collections::BTreeMap;

use crate::{Diagnosis, SlowCall};

/// Slow calls of a diagnosis that are kept.
const MOST_OF_ONE: usize = 5;
/// Longer paths are as good as this one.
const LONGEST_PATH: usize = 64;
/// Diagnoses whose slow calls are kept.
const MOST: usize = 200;

/// The slow calls of all diagnoses.
#[derive(Debug, Default)]
pub(super) struct SlowCalls(BTreeMap<u64, OfDiagnosis>);

#[derive(Debug, Default)]
struct OfDiagnosis {
    recorded: u64,
    /// By the length of their path, the slowest first.
    slowest: BTreeMap<usize, Vec<SlowCall>>,
}

impl OfDiagnosis {
    /// Returns the slowest calls whose path is at least half as long as the longest one: those before it had no time to come further down.
    fn slowest(self) -> Vec<SlowCall> {
        let longest = self.slowest.keys().next_back().copied().unwrap_or(0);
        let far_enough = self.slowest.into_iter().filter(|(length, _)| length * 2 >= longest);
        let mut calls: Vec<SlowCall> = far_enough.flat_map(|(_, calls)| calls).collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.duration_nanos));
        calls.truncate(MOST_OF_ONE);
        calls
    }
}

impl SlowCalls {
    /// Adds a call that began at this time, in nanoseconds since 1970.
    pub(super) fn add(&mut self, at: u64, call: SlowCall) {
        if self.0.len() >= MOST && !self.0.contains_key(&call.claim) {
            return;
        }
        let of = self.0.entry(call.claim).or_default();
        of.recorded += 1;
        let slowest = of.slowest.entry(call.path.len().min(LONGEST_PATH)).or_default();
        let place = slowest.partition_point(|slower| slower.duration_nanos >= call.duration_nanos);
        if place < MOST_OF_ONE {
            slowest.insert(place, SlowCall { began_after_nanos: at, ..call });
            slowest.truncate(MOST_OF_ONE);
        }
    }

    /// Gives diagnoses their slow calls, and returns those whose result the recording does not have, made of these. The recording began at `start`.
    pub(super) fn give_to(mut self, diagnoses: &mut [Diagnosis], start: u64) -> Vec<Diagnosis> {
        for call in self.0.values_mut().flat_map(|of| of.slowest.values_mut()).flatten() {
            call.began_after_nanos = call.began_after_nanos.saturating_sub(start);
        }
        for diagnosis in diagnoses {
            if let Some(of) = self.0.remove(&diagnosis.claim) {
                (diagnosis.recorded_slow_calls, diagnosis.slow_calls) = (of.recorded, of.slowest());
            }
        }
        let unfinished = |(claim, of): (u64, OfDiagnosis)| {
            let (recorded, slowest) = (of.recorded, of.slowest());
            let first = slowest.first()?;
            let notice = "the result is missing in this recording: it ended before the diagnosis did".to_owned();
            Some(Diagnosis {
                claim,
                method: first.method.clone(),
                context: first.context.clone(),
                condition: first.condition.clone(),
                notices: vec![notice],
                recorded_slow_calls: recorded,
                slow_calls: slowest,
                ..Diagnosis::default()
            })
        };
        self.0.into_iter().filter_map(unfinished).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(claim: u64, millis: u64) -> SlowCall {
        SlowCall { claim, method: "a.B.c()".to_owned(), duration_nanos: millis * 1_000_000, ..SlowCall::default() }
    }

    #[test]
    fn calls_that_were_measured_too_early_are_not_shown() {
        let mut calls = SlowCalls::default();
        for (millis, length) in [(90, 0), (80, 1), (50, 2), (60, 3), (40, 4)] {
            let path = vec![crate::SlowCallStep::default(); length];
            calls.add(0, SlowCall { path, ..call(3, millis) });
        }
        let mut diagnoses = vec![Diagnosis { claim: 3, ..Diagnosis::default() }];
        calls.give_to(&mut diagnoses, 0);
        let shown: Vec<usize> = diagnoses[0].slow_calls.iter().map(|call| call.path.len()).collect();
        assert_eq!((diagnoses[0].recorded_slow_calls, shown), (5, vec![3, 2, 4]));
    }

    #[test]
    fn the_slowest_calls_belong_to_their_diagnosis() {
        let mut calls = SlowCalls::default();
        for millis in [20, 70, 30, 60, 50, 40, 10] {
            calls.add(1_000 + millis, call(3, millis));
        }
        calls.add(0, call(4, 15));
        let mut diagnoses = vec![Diagnosis { claim: 3, ..Diagnosis::default() }];
        let unfinished = calls.give_to(&mut diagnoses, 1_000);
        let lengths: Vec<u64> = diagnoses[0].slow_calls.iter().map(|call| call.duration_nanos / 1_000_000).collect();
        assert_eq!((diagnoses[0].recorded_slow_calls, lengths), (7, vec![70, 60, 50, 40, 30]));
        assert_eq!(diagnoses[0].slow_calls[0].began_after_nanos, 70);
        assert_eq!(unfinished.iter().map(|of| (of.claim, of.method.as_str())).collect::<Vec<_>>(), [(4, "a.B.c()")]);
        assert!(unfinished[0].notices[0].contains("the result is missing"));
    }
}
