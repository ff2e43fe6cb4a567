//! The time that probes took themselves: subtracted from own times and totals, at the prices that the agent measured when the recording
//! began (decision 034).
//!
//! A call's duration contains a part of the call's own probe (`inside`); the rest (`outside`) is recorded as its caller's own time. Each
//! node of the call tree loses both, for its own calls and for those of its children. Estimates of level watch contain no such part.

use super::tree::Subtracted;
use super::{CallTree, Frame, FrameId, Node, RecordingInfo};
use crate::{FULL_PROBE_OUTSIDE, PROBE_INSIDE, TIME_PROBE_OUTSIDE};

/// A larger share of the recorded time needs a reader's attention before all other figures, in percent.
const LARGE_SHARE: f64 = 10.0;

/// What one call costs, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Prices {
    inside: f64,
    time_outside: f64,
    full_outside: f64,
}

/// The time of probes that was subtracted from own times and totals.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeTime {
    /// All of it, in nanoseconds.
    pub nanos: u64,
    /// Its share of the recorded time of all threads' calls: at least, because prices are measured before the program's own work slows probes
    /// down.
    pub percent: f64,
    /// The method whose probe took most of it, and its calls with exact times.
    costliest: (String, u64),
}

impl ProbeTime {
    /// Returns what readers of the figures must know.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "at least {:.1} % of the recorded time was the probes' own and is left out of own and total times",
            self.percent
        )
    }

    /// Returns what to do if probes took much of the time; `None` if they did not.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let (method, calls) = &self.costliest;
        (self.percent > LARGE_SHARE).then(|| {
            format!(
                "{}; what remains is less certain. Most of it is the probe of {method} ({calls} calls): lower the level of such methods to \
                 `watch`, exclude them from the rule, or let the governor do it ([governor], docs/governor.md)",
                self.text(),
            )
        })
    }

    /// Subtracts the time of probes from a complete tree, and from the totals of the methods, which have no own times yet. Returns `None`
    /// if the recording has no prices, or no calls with exact times.
    pub(super) fn subtract(recording: &RecordingInfo, tree: &mut CallTree, frames: &mut [Frame]) -> Option<ProbeTime> {
        let prices = Prices::of(&recording.configuration)?;
        let recorded = tree.total();
        let subtracted = tree.subtract(&prices.costs(tree));
        for (node, Subtracted { own, total }) in tree.nodes().iter().zip(&subtracted) {
            let Some(frame) = node.frame.and_then(|id| frames.get_mut(id.index())) else { continue };
            let total = if node.is_outermost { *total } else { 0 };
            frame.total = frame.total.saturating_sub(total);
            frame.probes.own = frame.probes.own.saturating_add(*own);
            frame.probes.total = frame.probes.total.saturating_add(total);
        }
        let nanos = recorded.saturating_sub(tree.total());
        let percent = 100.0 * nanos as f64 / recorded.max(1) as f64;
        let (costliest, calls) = prices.costliest(tree, frames.len())?;
        let name = frames.get(costliest.index()).map(Frame::distinct_name).unwrap_or_default();
        Some(ProbeTime { nanos, percent, costliest: (name, calls) })
    }
}

impl Prices {
    fn of(settings: &[(String, String)]) -> Option<Prices> {
        let price = |key: &str| {
            let (_, value) = settings.iter().find(|(known, _)| known == key)?;
            value.parse::<f64>().ok().filter(|nanos| nanos.is_finite() && *nanos >= 0.0)
        };
        Some(Prices {
            inside: price(PROBE_INSIDE)?,
            time_outside: price(TIME_PROBE_OUTSIDE)?,
            full_outside: price(FULL_PROBE_OUTSIDE)?,
        })
    }

    fn inside(&self, node: &Node) -> f64 {
        exact_calls(node) as f64 * self.inside
    }

    fn outside(&self, node: &Node) -> f64 {
        let full = node.full_calls.min(exact_calls(node));
        (exact_calls(node) - full) as f64 * self.time_outside + full as f64 * self.full_outside
    }

    /// Returns what probes take of the own time of each node. A node that sums up paths for which there was no room stays as recorded: which
    /// calls it contains is unknown.
    fn costs(&self, tree: &CallTree) -> Vec<u64> {
        let mut costs = vec![0.0; tree.nodes().len()];
        for (index, node) in tree.nodes().iter().enumerate().skip(1) {
            if let Some(cost) = costs.get_mut(index).filter(|_| node.frame != tree.left_out()) {
                *cost += self.inside(node);
            }
            if let Some(cost) = costs.get_mut(node.parent.index()) {
                *cost += self.outside(node);
            }
        }
        costs.into_iter().map(|cost| cost.round() as u64).collect()
    }

    /// Returns the method whose probe costs most, and its calls with exact times.
    fn costliest(&self, tree: &CallTree, frames: usize) -> Option<(FrameId, u64)> {
        let mut sums = vec![(0.0, 0); frames];
        for node in tree.nodes() {
            if let Some((cost, calls)) = node.frame.and_then(|id| sums.get_mut(id.index())) {
                *cost += self.inside(node) + self.outside(node);
                *calls += exact_calls(node);
            }
        }
        let all = sums.into_iter().zip(0..).filter(|((_, calls), _)| *calls > 0);
        let ((_, calls), id) = all.max_by(|((one, _), _), ((other, _), _)| one.total_cmp(other))?;
        Some((FrameId(id), calls))
    }
}

fn exact_calls(node: &Node) -> u64 {
    node.calls.saturating_sub(node.estimated_calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::NodeId;

    #[test]
    fn paths_without_room_stay_as_recorded_and_everything_still_adds_up() {
        let [outer, inner, left_out] = [FrameId(0), FrameId(1), FrameId(2)];
        let mut tree = CallTree::with_room(2);
        let mut frames = vec![Frame::default(); 3];
        let (caller, _) = tree.add(NodeId::ROOT, outer, 1_000, true);
        tree.leave_out(left_out);
        tree.add(caller, inner, 600, true);
        tree.complete();
        frames[0].total = 1_000;
        let settings = [(PROBE_INSIDE, "20"), (TIME_PROBE_OUTSIDE, "30"), (FULL_PROBE_OUTSIDE, "500")];
        let configuration = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let recording = RecordingInfo { configuration, ..RecordingInfo::default() };
        let time = ProbeTime::subtract(&recording, &mut tree, &mut frames).unwrap();
        let nodes: Vec<_> = tree.nodes().iter().map(|node| (node.own, node.total)).collect();
        assert_eq!(nodes, [(0, 950), (350, 950), (600, 600)]);
        assert_eq!((time.nanos, frames[0].total), (50, 950));
    }

    #[test]
    fn prices_that_make_no_sense_are_no_prices() {
        for price in ["", "-3", "NaN", "inf"] {
            let settings = [PROBE_INSIDE, TIME_PROBE_OUTSIDE, FULL_PROBE_OUTSIDE];
            let settings = settings.map(|key| (key.to_owned(), price.to_owned()));
            assert!(Prices::of(&settings).is_none(), "{price}");
        }
    }
}
