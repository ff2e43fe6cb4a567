//! Without a stated limit: which calls are slow is learnt, and if slow ones make up hardly any of the time, all calls count.

use std::time::Duration;

use crate::call_sites::CellSums;

/// What slow calls take longer than others is what any method has now and then, if it is a smaller part of the time.
const LEAST_ADDITIONAL: f64 = 0.05;
/// Fewer slow calls may be an accident.
const LEAST_SLOW: u64 = 3;
/// Those of a shorter time may be one, too: a collection of garbage makes one call of each thread slow.
const LEAST_TIME: Duration = Duration::from_secs(1);
/// After this time and so many calls, slow calls that take hardly any additional time are not waited for.
const ENOUGH_TIME: Duration = Duration::from_secs(5);
const ENOUGH_CALLS: u64 = 20;
/// After this time, all calls count in any case.
const LONGEST: Duration = Duration::from_secs(30);

/// Which calls of the root count as slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// Those that take longer than the limit.
    Limit,
    /// It is not known yet whether there are slow ones.
    Unsettled,
    /// All of them: no limit was stated, and none of them stands out.
    AllCalls,
}

/// Says why all calls count, although calls that take longer than this would be slow.
pub(super) fn why_all_calls(root: &CellSums, learnt: Duration) -> String {
    let learnt = u64::try_from(learnt.as_nanos()).unwrap_or(u64::MAX);
    let (slow, calls) = (root.slow.calls, root.slow.calls + root.fast.calls);
    format!(
        "all calls count: no limit was given, and {slow} of {calls} calls took longer than {} (learnt); what they took beyond the others is {:.0} % of all time; \
         `--slower-than` compares such calls with the others",
        trace::report::duration(learnt),
        additional_part(root) * 100.0
    )
}

/// Returns which part of the time is what slow calls took longer than fast ones; all of it if there are no fast ones.
fn additional_part(CellSums { slow, fast }: &CellSums) -> f64 {
    let [in_slow, in_fast] = [slow, fast].map(|sum| sum.time as f64);
    let usual = if fast.calls == 0 { 0.0 } else { in_fast / fast.calls as f64 };
    (in_slow - usual * slow.calls as f64) / (in_slow + in_fast).max(1.0)
}

/// Decides by the calls since a limit was learnt.
pub(super) fn basis(root: &CellSums, waited: Duration) -> Basis {
    let calls = root.slow.calls + root.fast.calls;
    let matters = additional_part(root) >= LEAST_ADDITIONAL;
    let are_enough = calls >= ENOUGH_CALLS && waited >= ENOUGH_TIME && !matters;
    if root.slow.calls >= LEAST_SLOW && waited >= LEAST_TIME && matters {
        Basis::Limit
    } else if are_enough || calls > 0 && waited >= LONGEST {
        Basis::AllCalls
    } else {
        Basis::Unsettled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_sites::Sum;

    fn of(slow: (u64, u64), fast: (u64, u64), seconds: u64) -> Basis {
        let sum = |(calls, mean): (u64, u64)| Sum { calls, time: calls * mean * 1_000_000 };
        basis(&CellSums { slow: sum(slow), fast: sum(fast) }, Duration::from_secs(seconds))
    }

    #[test]
    fn slow_calls_count_if_they_take_a_part_of_the_time_that_matters() {
        assert_eq!(of((3, 30), (9, 3), 1), Basis::Limit);
        assert_eq!(of((3, 30), (9, 3), 0), Basis::Unsettled, "one stop of three threads");
        assert_eq!(of((10, 100), (990, 10), 1), Basis::Limit, "one in a hundred, ten times as long");
        assert_eq!(of((5, 16), (95, 10), 60), Basis::AllCalls, "what any machine does now and then");
        assert_eq!(of((20, 30), (0, 0), 1), Basis::Limit, "all of them are slower than before");
    }

    #[test]
    fn a_method_without_slow_calls_is_not_waited_for_for_ever() {
        assert_eq!(of((0, 0), (500, 10), 4), Basis::Unsettled);
        assert_eq!(of((0, 0), (500, 10), 5), Basis::AllCalls);
        assert_eq!(of((1, 100), (10, 10), 5), Basis::Unsettled, "too few to say that slow ones are rare");
        assert_eq!(of((2, 2_500), (98, 10), 5), Basis::Unsettled, "few, but most of the time");
        assert_eq!(of((2, 2_500), (98, 10), 30), Basis::AllCalls);
    }

    #[test]
    fn it_is_said_how_many_calls_would_be_slow_and_what_they_took() {
        let sum = |calls, millis: u64| Sum { calls, time: millis * 1_000_000 };
        let root = CellSums { slow: sum(2, 220), fast: sum(78, 780) };
        let why = why_all_calls(&root, Duration::from_millis(40));
        assert!(
            why.contains(
                "2 of 80 calls took longer than 40.0 ms (learnt); what they took beyond the others is 20 % of all time"
            ),
            "{why}"
        );
    }
}
