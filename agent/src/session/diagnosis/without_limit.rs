//! Without a stated limit: which calls are slow is learnt, and if slow ones make up hardly any of the time, all calls count.

use std::time::Duration;

use crate::call_sites::CellSums;

/// What slow calls take longer than others is what any method has now and then, if it is less of the time.
const LEAST_PART: f64 = 0.05;
/// So many slow calls are no accident.
const LEAST_SLOW: u64 = 3;
/// Slow calls that are rarer than in this time, and among so many, are not waited for.
const PATIENCE: Duration = Duration::from_secs(5);
const LEAST_CALLS: u64 = 20;

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
pub(super) fn why_all_calls(learnt: Duration) -> String {
    let learnt = u64::try_from(learnt.as_nanos()).unwrap_or(u64::MAX);
    format!(
        "no limit was given, and calls that take longer than {} (learnt) make up hardly any of the time: all calls count; `--slower-than` compares slow ones with fast ones",
        trace::report::duration(learnt)
    )
}

/// Decides by the calls since a limit was learnt.
pub(super) fn basis(root: &CellSums, waited: Duration) -> Basis {
    let CellSums { slow, fast } = root;
    let [in_slow, in_fast] = [slow, fast].map(|sum| sum.time as f64);
    let usual = if fast.calls == 0 { 0.0 } else { in_fast / fast.calls as f64 };
    let additional = in_slow - usual * slow.calls as f64;
    if slow.calls >= LEAST_SLOW && additional >= (in_slow + in_fast) * LEAST_PART {
        Basis::Limit
    } else if waited >= PATIENCE && slow.calls + fast.calls >= LEAST_CALLS {
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
        assert_eq!(of((3, 30), (9, 3), 0), Basis::Limit);
        assert_eq!(of((10, 100), (990, 10), 1), Basis::Limit, "one in a hundred, ten times as long");
        assert_eq!(of((5, 16), (95, 10), 60), Basis::AllCalls, "what any machine does now and then");
        assert_eq!(of((20, 30), (0, 0), 1), Basis::Limit, "all of them are slower than before");
    }

    #[test]
    fn a_method_without_slow_calls_is_not_waited_for_for_ever() {
        assert_eq!(of((0, 0), (500, 10), 4), Basis::Unsettled);
        assert_eq!(of((0, 0), (500, 10), 5), Basis::AllCalls);
        assert_eq!(of((1, 100), (10, 10), 5), Basis::Unsettled, "too few to say that slow ones are rare");
    }
}
