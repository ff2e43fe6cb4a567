//! Calls that are too short and too frequent to be measured.

use super::run::{LEAST_CALLS, Run};
use crate::call_sites::{self, CellSums};
use crate::descent::{Fate, NodeOf, short};
use crate::jvm::probe_length_nanos;

/// Calls that are shorter than this many times what measuring takes are not measured if that takes more than this part of the time, or of the root's slow calls.
const LEAST_LENGTH: u64 = 10;
const MEASURING_NANOS: u64 = 60;
const MOST_PART: f64 = 0.02;
/// After so many calls of the root it is known within some percent how often it calls what is not measured any more.
const ENOUGH_FOR_A_RATE: u64 = 20;

impl Run {
    /// Calls that are short and so frequent that measuring them would show, in the figures or in what the program does besides, are not measured any more.
    /// Returns whether there are any.
    pub(super) fn leave_out_the_shortest(&mut self, root: &CellSums) -> bool {
        // While it is learnt which calls are slow, all count as fast.
        let is_learning = self.slower_than.is_none();
        let judged = |of: &CellSums| if is_learning { of.fast } else { of.slow };
        let (root_calls, root_nanos) = (judged(root).calls, probe_length_nanos(judged(root).time) as f64);
        let nanos = self.round.elapsed().as_nanos().max(100_000_000) as f64;
        let mut left_out = Vec::new();
        for (at, node) in self.tree.nodes().iter().enumerate() {
            let Some(cell) = node.cell.filter(|cell| *cell > 0 && node.fate == Fate::Open) else { continue };
            let sums @ CellSums { slow, fast } = self.sums(cell);
            let (calls, time) = (slow.calls + fast.calls, probe_length_nanos(slow.time + fast.time));
            let part_of = |calls: u64, nanos: f64| calls as f64 * MEASURING_NANOS as f64 / nanos.max(1.0);
            let of_root = if root_calls < LEAST_CALLS { 0.0 } else { part_of(judged(&sums).calls, root_nanos) };
            let part = part_of(calls, nanos).max(of_root);
            let is_call = matches!(node.of, NodeOf::Call(_)) && self.tree.children(at).next().is_none();
            if is_call && part > MOST_PART && time / calls.max(1) < LEAST_LENGTH * MEASURING_NANOS {
                left_out.push((at, cell));
            }
        }
        let is_any = !left_out.is_empty();
        for (at, cell) in left_out {
            // One call of the root may be under way: of few, that would be a large part.
            if root.calls() >= ENOUGH_FOR_A_RATE {
                self.tree.note_calls(at, self.sums(cell).calls() as f64 / root.calls() as f64);
            }
            call_sites::of_process().watch(self.number, cell, false);
            self.tree.decide(at, Fate::LeftAside);
            if let Some(node) = self.tree.get(at) {
                let text = format!(
                    "calls of {} are too short and too frequent to be measured: they count as own code, which takes 1 to 2 ns longer for each, so its share may be too large",
                    short(&node.text)
                );
                if !self.notices.contains(&text) {
                    self.notices.push(text);
                }
            }
        }
        is_any
    }
}
