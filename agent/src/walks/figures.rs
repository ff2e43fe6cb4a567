//! What is found on a level: who calls a method, by samples and, where both have probes, by their calls.

use control::{WalkCaller, WalkLevel, WithoutMethod};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use trace::report::counted;

use super::ascent::Ascent;
use crate::hot_spots::{BEGINS, SampledCaller, TASK_BEGINS, margin, margin_of_sums};
use crate::recorder::CallSum;

/// A recorded call takes about this time; of calls that are shorter than ten times that, the time would be mostly that of the probes.
const PROBE_NANOS: u64 = 75;
const SHORTEST: u64 = 10;
/// Callers with this part of the calls say how long they are.
const MANY: f64 = 0.05;
/// Of fewer calls, shares may be off by more than ten points.
const FEW_CALLS: u64 = 100;
/// Calls without a caller up to this part are those at the edges of windows.
const UNCOVERED: f64 = 0.05;

/// Calls of one method that probes have recorded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// By caller.
    pub(crate) by_caller: FxHashMap<Arc<str>, CallSum>,
    /// Those within none of these callers, or within a call that has not ended.
    pub(crate) without_caller: CallSum,
    /// If a hook has counted them.
    pub(crate) by_hook: Option<ByHook>,
}

/// Calls that a hook has counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByHook {
    /// By how much the shares of each caller, of calls and of their time, may be off.
    pub(crate) margins: FxHashMap<Arc<str>, [Option<f64>; 2]>,
    /// What the calls have used, if they were not measured by time; in the place of nanoseconds.
    pub(crate) has_amounts: bool,
}

impl Measured {
    /// The part of the calls that were within one of a caller.
    pub(crate) fn covered(&self) -> f64 {
        let calls = self.all().calls;
        part(calls, calls + self.without_caller.calls)
    }

    fn all(&self) -> CallSum {
        let sums = self.by_caller.values();
        sums.fold(CallSum::default(), |mut all, of| {
            all.add(of);
            all
        })
    }
}

/// Returns what is known of the callers of a method of the present level of an ascent. `Err`: why its calls were not measured.
pub(crate) fn level_of(
    (ascent, level): (&Ascent, usize),
    callee: &str,
    followed: &[Arc<str>],
    (measured, margins): (Result<&Measured, String>, bool),
) -> WalkLevel {
    let found = measured.as_ref().ok().copied().filter(|of| of.all().calls > 0);
    let sums = found.map(Measured::all).unwrap_or_default();
    let uncovered = measured.as_ref().map_or(0, |of| of.without_caller.calls);
    let covered = measured.as_ref().map_or(0.0, |of| of.covered());
    // The rest may be of one caller alone: of its longest calls, for example.
    let found = found.filter(|_| covered >= 1.0 - UNCOVERED);
    // Of each caller with more than some calls: one call that was interrupted makes the mean of all look long.
    let is_long = |of: &CallSum| of.nanos / of.calls.max(1) >= PROBE_NANOS * SHORTEST;
    let are_long = |of: &Measured| {
        let mut many = of.by_caller.values().filter(|sum| part(sum.calls, sums.calls) >= MANY);
        many.all(is_long)
    };
    let has_amounts = found.and_then(|of| of.by_hook.as_ref()).is_some_and(|of| of.has_amounts);
    let has_time = sums.calls > 0 && (has_amounts || is_long(&sums) && found.is_some_and(are_long));
    let by_hook = found.and_then(|of| of.by_hook.as_ref());
    let hook_margins = |text: &Arc<str>| by_hook.and_then(|of| of.margins.get(text)).copied().unwrap_or_default();
    let caller = |text: &Arc<str>, sampled: Option<&SampledCaller>| {
        let sum = found.map(|of| of.by_caller.get(text).copied().unwrap_or_default());
        let timed = sum.filter(|_| has_time);
        let range = timed.and_then(|sum| sum.range);
        WalkCaller {
            method: text.to_string(),
            via: sampled.and_then(|of| of.via.as_ref()).map(ToString::to_string),
            calls: sum.map(|sum| sum.calls),
            calls_share: sum.map(|sum| part(sum.calls, sums.calls)),
            calls_margin: sum.map(|sum| {
                let of_hook = hook_margins(text)[0].unwrap_or(0.0);
                margin(part(sum.calls, sums.calls), sums.calls as f64).max(of_hook)
            }),
            time_ms: timed.filter(|_| !has_amounts).map(|sum| sum.nanos as f64 / 1e6),
            amount: timed.filter(|_| has_amounts && sums.nanos > 0).map(|sum| sum.nanos as f64),
            time_share: timed.filter(|_| sums.nanos > 0).map(|sum| part(sum.nanos, sums.nanos)),
            time_margin: timed.and_then(|sum| hook_margins(text)[1].or_else(|| margin_of_time(&sum, &sums))),
            shortest_ms: range.map(|(shortest, _)| shortest as f64 / 1e6),
            longest_ms: range.map(|(_, longest)| longest as f64 / 1e6),
            cpu_share: sampled.filter(|of| of.is_sampled()).map(|of| of.share),
            margin: sampled.filter(|of| margins && of.is_sampled()).map(|of| of.margin),
            followed: followed.contains(text),
        }
    };
    let sampled: Vec<&SampledCaller> = ascent.callers_of(callee).collect();
    let named = |of: &&SampledCaller| of.caller.as_ref().ok().cloned();
    let mut callers: Vec<WalkCaller> = sampled.iter().filter_map(|of| Some(caller(&named(of)?, Some(*of)))).collect();
    let is_sampled = |text: &Arc<str>| sampled.iter().any(|of| of.caller.as_ref() == Ok(text));
    let mut others: Vec<&Arc<str>> =
        found.iter().flat_map(|of| of.by_caller.keys()).filter(|of| !is_sampled(of)).collect();
    others.sort();
    callers.extend(others.into_iter().map(|text| caller(text, None)));
    let without = |of: &&SampledCaller| {
        let reason = *of.caller.as_ref().err()?;
        // Who has handed that over is a caller.
        let has_caller = by_hook.is_some() && matches!(reason, BEGINS | TASK_BEGINS);
        (of.is_sampled() && !has_caller).then(|| WithoutMethod {
            reason: reason.to_owned(),
            share: of.share,
            calls_share: None,
        })
    };
    let reason = match &measured {
        Err(reason) => Some(reason.clone()),
        Ok(_) if sums.calls + uncovered == 0 => Some("no call of it began and ended while it was measured".to_owned()),
        Ok(_) if sums.calls == 0 => Some(format!(
            "none of {} was within a call of a caller that is followed and began and ended meanwhile",
            counted(uncovered, "measured call")
        )),
        Ok(_) if covered < 1.0 - UNCOVERED => Some(format!(
            "no shares of calls: {:.0} % of the measured calls were within no call of a caller that is followed, or within one that had begun before or did not end",
            (1.0 - covered) * 100.0
        )),
        Ok(_) if sums.calls < FEW_CALLS => Some(format!("{} say little", counted(sums.calls, "call"))),
        Ok(_) => None,
    };
    WalkLevel {
        level,
        hot: ascent.hot.method.clone(),
        of: callee.to_owned(),
        source: match found {
            Some(of) if of.by_hook.is_some() => "finder",
            Some(_) => "measured",
            None => "samples",
        }
        .to_owned(),
        calls: measured.as_ref().ok().map(|_| sums.calls + uncovered),
        covered: measured.as_ref().ok().filter(|_| sums.calls > 0).map(|_| covered),
        share: ascent.share_of(callee),
        callers,
        without_caller: sampled.iter().filter_map(without).collect(),
        reason,
    }
}

/// By how much a caller's part of the time may be off by chance: much where few calls have most of it. If it is the only caller, that depends on calls alone.
fn margin_of_time(of: &CallSum, all: &CallSum) -> Option<f64> {
    if of.nanos == all.nanos {
        return Some(margin(1.0, all.calls as f64));
    }
    let sums = |sum: &CallSum| (sum.nanos as f64, sum.squares as f64);
    (all.nanos > 0 && all.squares > 0).then(|| margin_of_sums((sums(of), sums(all))))
}

fn part(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use control::HotSpot;

    use super::*;

    fn ascent() -> Ascent {
        let hot = HotSpot {
            method: "a.Hot.hot()".to_owned(),
            kind: None,
            share: 0.5,
            margin: None,
            waiting: None,
            samples: 10,
            lines: Vec::new(),
        };
        let caller = |caller: Result<Arc<str>, &'static str>, share: f64| SampledCaller {
            callee: "a.Hot.hot()".into(),
            caller,
            via: None,
            weight: share,
            share,
            margin: 0.01,
            hooked: 0.0,
        };
        let levels = vec![vec![
            caller(Ok("b.X.x()".into()), 0.5),
            caller(Ok("b.Y.y()".into()), 0.4),
            caller(Err("the thread begins there"), 0.1),
        ]];
        Ascent::new(hot, 1.0, levels)
    }

    fn level(measured: Result<&Measured, String>) -> WalkLevel {
        level_of((&ascent(), 1), "a.Hot.hot()", &["b.X.x()".into()], (measured, true))
    }

    fn measured(calls: &[(&str, u64, u64)], without: u64) -> Measured {
        let sum = CallSum::of;
        Measured {
            by_caller: calls.iter().map(|(caller, calls, nanos)| (Arc::from(*caller), sum(*calls, *nanos))).collect(),
            without_caller: sum(without, 0),
            by_hook: None,
        }
    }

    #[test]
    fn shares_are_those_of_the_measured_calls() {
        let level = level(Ok(&measured(&[("b.X.x()", 700, 1_000_000), ("b.Y.y()", 300, 3_000_000)], 10)));
        let of: Vec<_> = level.callers.iter().map(|of| (of.calls, of.calls_share, of.time_share)).collect();
        assert_eq!(of, [(Some(700), Some(0.7), Some(0.25)), (Some(300), Some(0.3), Some(0.75))]);
        assert_eq!((level.calls, level.reason.as_deref(), &*level.source), (Some(1_010), None, "measured"));
        assert_eq!(level.callers.iter().map(|of| of.followed).collect::<Vec<_>>(), [true, false]);
        assert_eq!(level.without_caller[0].reason, "the thread begins there");
    }

    #[test]
    fn the_margin_of_time_is_wide_where_few_calls_have_much_of_it() {
        let mut found = measured(&[], 0);
        let (even, micros) = (900_u64, 10_000_u64);
        let squares = |each: u64| u128::from(each) * u128::from(each);
        // 900 calls of 10 us, and 100 of which one has taken 4 ms.
        let sum = |calls, nanos, squares, range| CallSum { calls, nanos, squares, range: Some(range) };
        let of_even = sum(even, even * micros, u128::from(even) * squares(micros), (micros, micros));
        let uneven = sum(100, 99 * micros + 4_000_000, 99 * squares(micros) + squares(4_000_000), (micros, 4_000_000));
        found.by_caller.insert("b.X.x()".into(), of_even);
        let margins = |found: &Measured| {
            let callers = level(Ok(found)).callers;
            callers.iter().map(|of| (of.time_margin, of.shortest_ms, of.longest_ms)).collect::<Vec<_>>()
        };
        found.by_caller.insert("b.Y.y()".into(), sum(100, 100 * micros, 100 * squares(micros), (micros, micros)));
        let all_even = margins(&found)[0];
        assert!(
            all_even.0.is_some_and(|margin| (0.015..0.025).contains(&margin)),
            "{all_even:?}: as that of 1,000 calls"
        );
        found.by_caller.insert("b.Y.y()".into(), uneven);
        let [first, second] = margins(&found)[..] else { panic!("two callers") };
        assert!(first.0 > Some(0.3) && second.0 > Some(0.3), "{first:?} {second:?}: one call has 28 % of all");
        assert_eq!((second.1, second.2), (Some(0.01), Some(4.0)));
    }

    #[test]
    fn of_calls_shorter_than_ten_probes_there_is_no_time() {
        let level = level(Ok(&measured(&[("b.X.x()", 700, 70_000), ("b.Y.y()", 300, 3_000)], 0)));
        assert_eq!((level.callers[0].time_share, level.callers[0].calls_share), (None, Some(0.7)));
    }

    #[test]
    fn what_calls_have_used_is_no_time_and_may_be_little() {
        let by_hook = ByHook {
            margins: std::iter::once((Arc::from("b.X.x()"), [Some(0.09), Some(0.1)])).collect(),
            has_amounts: true,
        };
        let used =
            Measured { by_hook: Some(by_hook), ..measured(&[("b.X.x()", 700, 7_000), ("b.Y.y()", 300, 21_000)], 0) };
        let level = level(Ok(&used));
        let of: Vec<_> = level.callers.iter().map(|of| (of.time_ms, of.amount, of.time_share)).collect();
        assert_eq!(of, [(None, Some(7_000.0), Some(0.25)), (None, Some(21_000.0), Some(0.75))]);
        let margins = (level.callers[0].calls_margin, level.callers[0].time_margin);
        assert_eq!((&*level.source, margins), ("finder", (Some(0.09), Some(0.1))));
        assert!(level.callers[1].calls_margin < Some(0.09) && level.without_caller.is_empty());
    }

    #[test]
    fn what_is_not_measured_says_why() {
        let not = level(Err("it is native".to_owned()));
        assert_eq!(
            (&*not.source, not.reason.as_deref(), not.callers[0].calls),
            ("samples", Some("it is native"), None)
        );
        assert_eq!(not.callers[0].cpu_share, Some(0.5));
        let reason = |calls: &[(&str, u64, u64)], without| level(Ok(&measured(calls, without))).reason.unwrap();
        assert!(reason(&[], 0).starts_with("no call of it"));
        assert!(reason(&[], 7).starts_with("none of 7 measured calls"));
        assert!(reason(&[("b.X.x()", 800, 1)], 200).starts_with("no shares of calls: 20 %"));
        assert_eq!(reason(&[("b.X.x()", 8, 1)], 0), "8 calls say little");
    }

    #[test]
    fn a_caller_that_no_sample_has_met_is_listed() {
        let level = level(Ok(&measured(&[("b.X.x()", 700, 0), ("d.Q.q()", 300, 0)], 0)));
        let last = level.callers.last().unwrap();
        assert_eq!((&*last.method, last.calls, last.cpu_share), ("d.Q.q()", Some(300), None));
    }
}
