//! How far estimates from ticks may be off (level watch).
//!
//! A tick that passes during a call adds the time since the tick before to that call. So the sum over many calls is right on
//! average, and how far it is off by chance follows from how many ticks it rests on: a call shorter than a tick is seen or not,
//! like the toss of a coin; a longer one is only rounded at its ends.

use super::{CallTree, Frame};

/// Of a hundred true values, 95 lie within so many standard errors.
const STANDARD_ERRORS: f64 = 1.96;
/// A recorded time up to so many ticks is taken for that of a single tick.
const SINGLE: f64 = 1.5;
/// Variance, in squared ticks, that rounding gives to a call longer than a tick, at most.
const ROUNDING: f64 = 0.25;
/// A tick that is so many times as long as others is worth a warning.
const HELD_UP: f64 = 20.0;

/// What a recording says about its ticks, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ticks {
    mean: f64,
    /// Root of the mean square: late ticks weigh more.
    root_mean_square: f64,
    /// Longest time from tick to tick.
    longest: f64,
}

impl Ticks {
    /// As the settings of the recording tell; one that was not ended only tells the longest tick, and an old one nothing.
    pub(super) fn of(settings: &[(String, String)]) -> Ticks {
        let setting = |key: &str| {
            let found = settings.iter().find(|(known, _)| known == key);
            found.and_then(|(_, value)| value.parse::<f64>().ok()).filter(|nanos| *nanos > 0.0)
        };
        let longest = setting("watch.tick-ns").unwrap_or(1e6);
        let mean = setting("watch.tick-mean-ns").unwrap_or(longest);
        let root_mean_square = setting("watch.tick-rms-ns").unwrap_or(longest);
        Ticks { mean, root_mean_square, longest: setting("watch.tick-max-ns").unwrap_or(longest) }
    }

    /// A warning if the whole process was held up for so long that the margins do not hold: then the time stands at whatever
    /// the threads did when it went on.
    pub(super) fn warning(self, frames: &[Frame]) -> Option<String> {
        let stood_still = self.longest > HELD_UP * self.mean && frames.iter().any(Frame::is_estimated);
        stood_still.then(|| {
            format!(
                "the ticks of level watch came up to {:.0} ms late, because the machine was busy or the process stood still: \
                 that much may stand at the wrong methods, beyond what ± says",
                self.longest / 1e6
            )
        })
    }

    /// Sets the margins of all methods with estimates.
    pub(super) fn set_margins(self, frames: &mut [Frame], tree: &CallTree) {
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
            frame.total_margin = self.margin(total);
            frame.own_margin = self.margin(self.variance_of_own(frame, total, stretches as f64));
        }
    }

    fn margin(self, variance: f64) -> u64 {
        (STANDARD_ERRORS * self.root_mean_square * variance.sqrt()).round() as u64
    }

    /// In squared ticks.
    fn variance_of_total(self, frame: &Frame, all: f64) -> f64 {
        let single = frame.durations.count_up_to((SINGLE * self.root_mean_square) as u64) as f64;
        let longer = frame.calls as f64 - single;
        // What was measured exactly, and calls inside calls of the same method, add nothing.
        let part =
            frame.estimated_calls as f64 / frame.calls.max(1) as f64 * frame.total as f64 / frame.sum.max(1) as f64;
        // A method that runs all the time is seen by each tick: nothing is left to chance.
        let by_chance = 1.0 - (frame.total as f64 / all).min(1.0);
        // As if one tick more had met it: of few ticks the root is too small.
        part * ((single + single.min(1.0)) * by_chance + longer * ROUNDING)
    }

    /// In squared ticks. Own time is a part of the total, and which ticks meet it is chance again; but where it runs for
    /// many ticks on end, only the ends of such stretches are.
    fn variance_of_own(self, frame: &Frame, variance_of_total: f64, stretches: f64) -> f64 {
        let ticks = frame.total as f64 / self.mean;
        let share = frame.own as f64 / frame.total.max(1) as f64;
        // As if one tick more had met either, so that callees that no tick has met are not taken for none.
        let likely_share = (share * ticks + 1.0) / (ticks + 2.0);
        let split = (ticks * likely_share * (1.0 - likely_share)).min(stretches);
        variance_of_total * share * share + split
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{FrameId, NodeId};

    const MILLISECOND: u64 = 1_000_000;

    fn ticks() -> Ticks {
        Ticks::of(&[("watch.tick-ns".to_owned(), "1000000".to_owned())])
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

    #[test]
    fn late_ticks_widen_and_an_unfinished_recording_has_the_nominal_tick() {
        let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let told = Ticks::of(&[setting("watch.tick-mean-ns", "900000"), setting("watch.tick-rms-ns", "1500000")]);
        assert_eq!(told, Ticks { mean: 900_000.0, root_mean_square: 1_500_000.0, longest: 1_000_000.0 });
        assert_eq!(Ticks::of(&[]), ticks());
        let mut estimated = Frame::default();
        estimated.add(MILLISECOND, false, true);
        let held_up = Ticks::of(&[setting("watch.tick-max-ns", "170000000")]);
        assert!(held_up.warning(&[estimated.clone()]).is_some_and(|warning| warning.contains("170 ms late")));
        assert_eq!((held_up.warning(&[]), ticks().warning(&[estimated])), (None, None));
    }
}
