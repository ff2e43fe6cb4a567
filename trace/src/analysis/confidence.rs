//! How far estimates from ticks may be off (level watch).
//!
//! A tick that passes during a call adds the time since the tick before to that call. So the sum over many calls is right on
//! average, and how far it is off by chance follows from how many ticks it rests on: a call shorter than a tick is seen or not,
//! like the toss of a coin; a longer one is only rounded at its ends.
//!
//! Chance is not all: who is interrupted by a tick goes on later, and no tick sees the time in between, because the next one is not yet
//! due. Where threads wait for other things, those waits get it. How much that is depends on the machine and on the program
//! (measured: none to 17 %, `docs/performance.md`).

use super::{CallTree, Frame};

/// Of a hundred true values, 95 lie within so many standard errors.
const STANDARD_ERRORS: f64 = 1.96;
/// A recorded time up to so many ticks is taken for that of a single tick.
const SINGLE: f64 = 1.5;
/// Variance, in squared ticks, that rounding gives to a call longer than a tick, at most.
const ROUNDING: f64 = 0.25;
/// A tick that is so many times as long as others was late.
const LATE: f64 = 4.0;
/// What is lost after a tick, in times of what the tick itself takes (one standard error): often another thread that has waited for the
/// processor gets it then, and the one that was interrupted waits for a part of a tick or some.
const INTERRUPTED: f64 = 2.0;
/// So many calls tell how long a tick usually is.
const ENOUGH_CALLS: u64 = 20;
/// A tick that is so many times as long as others is worth a warning.
const HELD_UP: f64 = 20.0;

/// What a recording says about its ticks, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ticks {
    mean: f64,
    /// Root of the mean square of those that were not late.
    root_mean_square: f64,
    /// Longest time from tick to tick.
    longest: f64,
    /// How long it was from tick to tick where that was much longer than usual. They are few, but a single one may be longer than all the
    /// time that others say a method has.
    late: Vec<f64>,
    /// How long there were ticks.
    ticking: f64,
    /// What a tick itself takes, as a part of the time to the next; 0 if the recording does not tell.
    interruption: f64,
}

impl Ticks {
    /// From the settings of a recording of this length. One that was not ended has only the longest tick, and nothing where
    /// ticks come as often as is cheap: then calls tell.
    pub(super) fn of(settings: &[(String, String)], duration: u64, frames: &[Frame]) -> Ticks {
        let text = |key: &str| settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        let setting = |key: &str| text(key)?.parse::<f64>().ok().filter(|nanos| *nanos > 0.0);
        let usual = setting("watch.tick-ns").unwrap_or_else(|| usual_call(frames));
        let mean = setting("watch.tick-mean-ns").unwrap_or(usual);
        let longest = setting("watch.tick-max-ns").unwrap_or(usual);
        let stated = text("watch.ticks-longest-ns").map_or_else(
            || vec![longest],
            |list| list.split(' ').filter_map(|nanos| nanos.parse::<f64>().ok()).collect(),
        );
        let late: Vec<f64> = stated.into_iter().filter(|nanos| *nanos > LATE * mean).collect();
        let all = setting("watch.tick-rms-ns").unwrap_or(usual);
        // Without a number of ticks: there was at least one as long as some call took.
        let longest_call = frames.iter().map(|frame| frame.total).max().unwrap_or(0).max(duration) as f64;
        let ticking = setting("watch.ticks").map_or(longest_call, |ticks| ticks * mean).max(longest).max(mean);
        let ordinary = all * all - squares(&late) * mean / ticking;
        let interruption = setting("watch.tick-cost-ns").map_or(0.0, |cost| (cost / mean).min(1.0));
        Ticks { mean, root_mean_square: ordinary.max(mean * mean).sqrt(), longest, late, ticking, interruption }
    }

    /// A warning if the whole process was held up for so long that the margins do not hold: then the time is counted at whatever
    /// the threads did when it went on.
    pub(super) fn warning(&self, frames: &[Frame]) -> Option<String> {
        let stood_still = self.longest > HELD_UP * self.mean && frames.iter().any(Frame::is_estimated);
        stood_still.then(|| {
            format!(
                "the ticks of level watch were up to {:.0} ms late, because the machine was busy or the process was stopped: \
                 that much may stand at the wrong methods",
                self.longest / 1e6
            )
        })
    }

    /// Sets the margins of all methods with estimates.
    pub(super) fn set_margins(&self, frames: &mut [Frame], tree: &CallTree) {
        if !frames.iter().any(Frame::is_estimated) {
            return;
        }
        let mut stretches = vec![0; frames.len()];
        for node in tree.nodes() {
            let around = tree.node(node.parent).and_then(|parent| parent.frame);
            for frame in node.frame.into_iter().chain(around) {
                if let Some(count) = stretches.get_mut(frame.index()) {
                    *count += node.calls;
                }
            }
        }
        let all = tree.total().max(1) as f64;
        for (frame, stretches) in frames.iter_mut().zip(stretches).filter(|(frame, _)| frame.is_estimated()) {
            let total = self.variance_of_total(frame, all);
            let own = self.variance_of_own(frame, total, stretches as f64);
            frame.total_margin = margin(total + self.other_variance(frame, frame.total, frame.calls, all));
            frame.own_margin = margin(own + self.other_variance(frame, frame.own, stretches, all));
        }
        across_levels(frames, tree);
    }

    /// Of what is not chance of ordinary ticks, for this time of a method, which is in so many pieces.
    fn other_variance(&self, frame: &Frame, nanos: u64, pieces: u64, all: f64) -> f64 {
        self.variance_of_late_ticks(frame, nanos, all) + self.variance_of_interruptions(frame, nanos, pieces, all)
    }

    /// Without late ticks, in squared nanoseconds, as all variances here.
    fn variance_of_total(&self, frame: &Frame, all: f64) -> f64 {
        let single = frame.times.durations.count_up_to((SINGLE * self.root_mean_square) as u64) as f64;
        let longer = frame.calls as f64 - single;
        // As if one tick more had met it: of few ticks the root is too small.
        let ticks = (single + single.min(1.0)) * by_chance(frame.total, all) + longer * ROUNDING;
        estimated_part(frame) * ticks * self.root_mean_square.powi(2)
    }

    /// Own time is a part of the total, and which ticks meet it is chance again; but where it runs for many ticks on end, only the
    /// ends of such stretches are.
    fn variance_of_own(&self, frame: &Frame, variance_of_total: f64, stretches: f64) -> f64 {
        let ticks = frame.total as f64 / self.mean;
        let share = frame.own as f64 / frame.total.max(1) as f64;
        // As if one tick more had met either, so that callees that no tick has met are not taken for none.
        let likely_share = (share * ticks + 1.0) / (ticks + 2.0);
        let split = (ticks * likely_share * (1.0 - likely_share)).min(stretches);
        variance_of_total * share * share + split * self.root_mean_square.powi(2)
    }

    /// Each late tick meets the method or not. If its calls are short, one that was met shows it by its length; else, as often as it runs.
    fn variance_of_late_ticks(&self, frame: &Frame, nanos: u64, all: f64) -> f64 {
        let share = nanos as f64 / frame.total.max(1) as f64;
        let met = self
            .late
            .iter()
            .filter(|length| frame.times.durations.holds(**length as u64))
            .map(|length| length * length);
        let of_those_met = met.sum::<f64>() * share;
        let of_all = squares(&self.late) * nanos as f64 / self.ticking;
        estimated_part(frame) * of_all.max(of_those_met) * by_chance(nanos, all)
    }

    /// Pieces that are longer than a tick have the ticks that interrupt them inside.
    fn variance_of_interruptions(&self, frame: &Frame, nanos: u64, pieces: u64, all: f64) -> f64 {
        let short = (nanos as f64).min(pieces as f64 * self.mean);
        (estimated_part(frame) * INTERRUPTED * self.interruption * short * by_chance(nanos, all)).powi(2)
    }
}

/// Widens the margins of own times that are the difference of exact times and estimates: those are as far off as the estimates.
fn across_levels(frames: &mut [Frame], tree: &CallTree) {
    let mut variances = vec![0.0; frames.len()];
    for node in tree.nodes() {
        let caller = tree.node(node.parent).filter(|caller| (caller.estimated_calls > 0) != (node.estimated_calls > 0));
        let Some((caller, (from, to))) = caller.and_then(|caller| Some((caller, (node.frame?, caller.frame?)))) else {
            continue;
        };
        // The share of its margin that the estimated one of the two has here.
        let (estimate, total) = if node.estimated_calls > 0 { (from, node.total) } else { (to, caller.total) };
        let Some(frame) = frames.get(estimate.index()) else { continue };
        let variance =
            frame.total_margin as f64 * frame.total_margin as f64 * (total as f64 / frame.total.max(1) as f64).min(1.0);
        if let Some(sum) = variances.get_mut(to.index()) {
            *sum = if estimate == from { *sum + variance } else { f64::max(*sum, variance) };
        }
    }
    for (frame, variance) in frames.iter_mut().zip(variances) {
        frame.own_margin = frame.own_margin.max(variance.sqrt().round() as u64);
    }
}

/// How long most calls are that were seen: those that one tick has met, as long as it was to the tick before.
fn usual_call(frames: &[Frame]) -> f64 {
    let often = frames.iter().filter(|frame| frame.times.estimated_calls >= ENOUGH_CALLS);
    let most = often.max_by_key(|frame| frame.times.estimated_calls);
    most.map_or(1e6, |frame| (frame.times.durations.percentile(50.0) as f64).clamp(1e5, 1e7))
}

fn squares(lengths: &[f64]) -> f64 {
    lengths.iter().map(|length| length * length).sum()
}

fn margin(variance: f64) -> u64 {
    (STANDARD_ERRORS * variance.sqrt()).round() as u64
}

/// A method that runs all the time is seen by each tick: nothing is left to chance.
fn by_chance(nanos: u64, all: f64) -> f64 {
    1.0 - (nanos as f64 / all).min(1.0)
}

/// What was measured exactly, and calls inside calls of the same method, add nothing.
fn estimated_part(frame: &Frame) -> f64 {
    frame.times.estimated_calls as f64 / frame.calls.max(1) as f64 * frame.total as f64 / frame.times.sum.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{FrameId, NodeId};

    const MILLISECOND: u64 = 1_000_000;

    fn ticks() -> Ticks {
        Ticks::of(&[("watch.tick-ns".to_owned(), "1000000".to_owned())], 10_000 * MILLISECOND, &[])
    }

    /// Outermost calls that were seen of each method, and how long each was recorded.
    fn margins(methods: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let (mut tree, mut frames) = (CallTree::default(), vec![Frame::default(); methods.len()]);
        for (index, (calls, duration)) in methods.iter().enumerate() {
            for _ in 0..*calls {
                tree.add(NodeId::ROOT, FrameId(index as u32), *duration, false);
                frames[index].add(*duration, false, true);
            }
            frames[index].own = frames[index].total;
        }
        tree.complete();
        ticks().set_margins(&mut frames, &tree);
        frames.iter().map(|frame| (frame.total_margin, frame.own_margin)).collect()
    }

    #[test]
    fn a_hundred_ticks_out_of_many_are_right_to_a_fifth() {
        let margins = margins(&[(100, MILLISECOND), (9_900, MILLISECOND)]);
        // 1.96 * sqrt(101 * 0.99) ticks = 19.6 ms of 100 ms.
        assert!((19_500_000..19_700_000).contains(&margins[0].0), "{margins:?}");
        // What one method gains the other one loses.
        assert!(margins[0].0.abs_diff(margins[1].0) < 100_000, "{margins:?}");
    }

    #[test]
    fn long_calls_are_only_rounded_and_who_runs_always_is_known() {
        let margins = margins(&[(16, 50 * MILLISECOND)]);
        // 1.96 * sqrt(16 / 4) ticks of 800.
        assert_eq!(margins[0].0, 3_920_000);
        assert!(margins[0].1 < 5_000_000, "its own time, too: {margins:?}");
        let alone = self::margins(&[(1_000, MILLISECOND)]);
        assert_eq!(alone[0].0, 0);
    }

    fn stated(settings: &[(&str, &str)]) -> Ticks {
        let settings: Vec<_> =
            settings.iter().map(|(key, value)| (format!("watch.{key}"), (*value).to_owned())).collect();
        Ticks::of(&settings, 10_000 * MILLISECOND, &[])
    }

    #[test]
    fn an_unfinished_recording_has_the_nominal_tick() {
        let irregular = stated(&[("tick-mean-ns", "900000"), ("tick-rms-ns", "1500000")]);
        assert_eq!(
            (irregular.mean, irregular.root_mean_square, irregular.longest),
            (900_000.0, 1_500_000.0, 1_000_000.0)
        );
        assert_eq!(stated(&[]), ticks());
        let mut often = Frame::default();
        [6, 6, 6, 30].repeat(5).into_iter().for_each(|length| often.add(length * MILLISECOND, false, true));
        assert!((Ticks::of(&[], MILLISECOND, &[often]).mean - 6e6).abs() < 1e5);
        let mut estimated = Frame::default();
        estimated.add(MILLISECOND, false, true);
        let held_up = stated(&[("tick-max-ns", "170000000")]);
        assert!(held_up.warning(&[estimated.clone()]).is_some_and(|warning| warning.contains("170 ms late")));
        assert_eq!((held_up.warning(&[]), ticks().warning(&[estimated])), (None, None));
    }

    /// Of 10 s of ticks one was late by 100 ms; rms of all = sqrt(1 + 100^2 / 10,000) ms.
    #[test]
    fn a_late_tick_widens_what_it_may_have_met_and_no_other() {
        let late = stated(&[
            ("tick-mean-ns", "1000000"),
            ("tick-rms-ns", "1414214"),
            ("ticks-longest-ns", "100000000 3000000"),
        ]);
        assert_eq!(late.late, [1e8]);
        assert!((late.root_mean_square - 1e6).abs() < 1.0, "{late:?}");
        let variance = |durations: &[u64]| {
            let mut frame = Frame::default();
            durations.iter().for_each(|duration| frame.add(*duration, false, true));
            late.variance_of_late_ticks(&frame, frame.total, 10_000.0 * MILLISECOND as f64).sqrt() / MILLISECOND as f64
        };
        let milliseconds = |number: usize, length: u64| vec![length * MILLISECOND; number];
        // 1 % of the time: sqrt(0.01 * 0.99) of 100 ms.
        assert!((9.9..10.0).contains(&variance(&milliseconds(100, 1))));
        // It has met that tick.
        assert!((92.0..100.0).contains(&variance(&[milliseconds(10, 1), milliseconds(1, 100)].concat())));
        // Half of the time, in long calls: sqrt(0.5 * 0.5).
        assert!((49.9..50.1).contains(&variance(&milliseconds(100, 50))));
        assert_eq!(variance(&milliseconds(1, 10_000)), 0.0);
    }

    /// A tick that takes 40 us of a millisecond: 4 % of what is short and does not run all the time.
    #[test]
    fn what_ticks_take_widens_short_calls_and_no_long_ones() {
        let dear = stated(&[("tick-mean-ns", "1000000"), ("tick-cost-ns", "40000")]);
        let error = |calls: u64, length: u64| {
            let mut frame = Frame::default();
            (0..calls).for_each(|_| frame.add(length * MILLISECOND, false, true));
            dear.other_variance(&frame, frame.total, calls, 10_000.0 * MILLISECOND as f64).sqrt() / MILLISECOND as f64
        };
        assert!((error(5_000, 1) - 200.0).abs() < 0.1, "2 * 0.04 * 5 s * half of the time");
        assert!((error(100, 50) - 4.0).abs() < 0.1, "2 * 0.04 * 100 ticks * half of the time");
        assert_eq!(error(1, 10_000), 0.0);
        assert_eq!(stated(&[("tick-mean-ns", "1000000")]).interruption, 0.0, "an older recording does not state it");
    }
}
