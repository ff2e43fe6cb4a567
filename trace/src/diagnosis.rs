//! What a diagnosis found: which branch makes slow calls of a method slow.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::SlowCall;

/// Nodes below each other, at most: programs that read JSON do not nest without a limit.
const DEEPEST: usize = 256;

/// A diagnosis as a recording holds it and as reports show it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnosis {
    /// The number of its claim.
    pub claim: u64,
    /// The method that is diagnosed, as `package.Class.method(Types)`.
    pub method: String,
    /// The context inside which its calls count, if not all do.
    pub context: Option<String>,
    /// The condition under which its calls count, if there is one.
    pub condition: Option<String>,
    /// How far it has come: `waiting`, `descending`, `done` and others; empty if a recording has lost it.
    pub state: String,
    /// Why it has ended, or what it waits for.
    pub reason: Option<String>,
    /// Calls that take longer are slow; `None` if that is not known, 0 if all count, as no limit was given.
    pub slower_than_nanos: Option<u64>,
    /// Whether that was learnt from the calls.
    pub learnt: bool,
    /// Calls of the method.
    pub calls: u64,
    /// Those of them that were slow.
    pub slow: u64,
    /// The part of the slow calls' additional time that the branches explain, from 0 to 1.
    pub explained: Option<f64>,
    /// The result in one sentence.
    pub sentence: Option<String>,
    /// The parts of that sentence; `None` in a recording.
    pub parts: Option<DiagnosisSentence>,
    /// The tree: the method first, each node after its parent.
    pub nodes: Vec<DiagnosisNode>,
    /// What it has cost.
    pub cost: DiagnosisCost,
    /// What should be known about the figures.
    pub notices: Vec<String>,
    /// Of one in a recording, the time from the start of the recording to its end.
    pub ended_after_nanos: Option<u64>,
    /// Of one in a recording, the slowest calls that were recorded one by one, the slowest first.
    pub slow_calls: Vec<SlowCall>,
    /// Of one in a recording, how many slow calls were recorded one by one.
    pub recorded_slow_calls: u64,
}

/// The result of a diagnosis, which is shown as one sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DiagnosisSentence {
    /// What was diagnosed: `Class.method`, and under which condition.
    pub subject: String,
    /// Of which calls the shares are.
    pub calls: CountedCalls,
    /// The branches that are named, the one that explains most first.
    pub branches: Vec<DiagnosisBranch>,
}

/// Of which calls the shares of a diagnosis are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedCalls {
    /// Of what makes slow calls slower than fast ones.
    #[default]
    SlowAndFast,
    /// Of the time of slow calls: there were no fast ones to compare with.
    SlowOnly,
    /// Of the time of all calls: no limit was given.
    All,
}

impl CountedCalls {
    /// All values.
    pub const ALL: [CountedCalls; 3] = [CountedCalls::SlowAndFast, CountedCalls::SlowOnly, CountedCalls::All];
}

/// A branch that was followed to its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DiagnosisBranch {
    /// The place of its end among the nodes.
    pub node: usize,
    /// The part of the slow calls' additional time that it explains.
    pub share: f64,
    /// The way to its end: methods from the outermost inwards, then what is waited for, if anything is.
    pub way: Vec<String>,
}

impl fmt::Display for DiagnosisSentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, remark) = match self.calls {
            CountedCalls::SlowAndFast => ("of the slow calls of", ""),
            CountedCalls::SlowOnly => ("of the time of slow calls of", " (there were no fast calls to compare with)"),
            CountedCalls::All => ("of the time of", " (all calls: no limit was given)"),
        };
        for (number, DiagnosisBranch { share, way, .. }) in self.branches.iter().enumerate() {
            let (percent, way) = (share * 100.0, way.join(" -> "));
            match number {
                0 => write!(f, "{percent:.0} % {of} {} is {way}", self.subject)?,
                _ => write!(f, "; {percent:.0} % is {way}")?,
            }
        }
        f.write_str(remark)
    }
}

/// A node of a diagnosis. Figures that were not measured are `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DiagnosisNode {
    /// The place of its parent among the nodes; `None` for the method that is diagnosed.
    pub parent: Option<usize>,
    /// The process id of its JVM, if that is another one than that of the method that is diagnosed.
    pub jvm: Option<u32>,
    /// Its level: 0 for the method that is diagnosed.
    pub level: usize,
    /// The method, as `package.Class.method(Types)`; of own code, the method whose code it is.
    pub method: String,
    /// What it is: `method`, `call-site`, `native`, `waiting` or `own-code`.
    pub kind: String,
    /// Its calls.
    pub calls: Option<u64>,
    /// Those of them within slow calls of the method that is diagnosed.
    pub slow_calls: Option<u64>,
    /// Its time.
    pub total_nanos: Option<u64>,
    /// Its time within slow calls of the method that is diagnosed.
    pub slow_nanos: Option<u64>,
    /// The part of the slow calls' additional time that it explains.
    pub share: Option<f64>,
    /// Its calls for each call of the method that is diagnosed, when it was last measured. Recordings do not have it.
    pub per_call: Option<f64>,
    /// The part of the stacks inside it that were running.
    pub running: Option<f64>,
    /// The part of the stacks inside it that waited.
    pub waiting: Option<f64>,
    /// Whether the descent went on through it.
    pub followed: bool,
    /// Why the descent ends here: `socket read`, `lock`, `native`, `own code`, ...
    pub reason: Option<String>,
    /// The lines at which slow calls were seen in it, the most frequent first.
    pub lines: Vec<u32>,
    /// The methods between its caller in the tree and itself that were not measured, from the outermost inwards.
    pub via: Vec<String>,
}

/// Which of the methods that are called at the same place are listed first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiagnosisOrder {
    /// Those that explain most.
    #[default]
    Share,
    /// Those that are called most often, also where they explain nothing.
    Calls,
}

/// The reason of a method that runs on another thread than the method above it, which waits for it.
pub const ON_ANOTHER_THREAD: &str = "runs on another thread";

/// What a diagnosis has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiagnosisCost {
    /// Classes that carried its probes.
    pub classes: u64,
    /// Retransformations of classes.
    pub retransforms: u64,
    /// The longest stop of the application for one of them.
    pub longest_stop_nanos: u64,
    /// The agent's own processor time.
    pub cpu_nanos: u64,
}

impl Diagnosis {
    /// Whether more than parts of its tree is known: a damaged recording may have lost the rest.
    pub(crate) fn has_result(&self) -> bool {
        !self.state.is_empty()
    }

    /// Whether all calls count, as no limit was given: none of them is slow.
    pub(crate) fn counts_all_calls(&self) -> bool {
        self.slower_than_nanos == Some(0)
    }

    /// Returns the places of the children of each node in this order. A node without an earlier parent is a child of the
    /// first node, and so is one that is too deep: what a damaged recording has lost must not hide the rest.
    pub(crate) fn children(&self, order: DiagnosisOrder) -> Vec<Vec<usize>> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut depths = vec![0; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().skip(1) {
            let depth_of = |parent: usize| depths.get(parent).copied().filter(|depth| *depth < DEEPEST);
            let parent = node.parent.filter(|parent| *parent < at);
            let (parent, depth) = parent.and_then(|parent| Some((parent, depth_of(parent)?))).unwrap_or((0, 0));
            if let (Some(siblings), Some(own)) = (children.get_mut(parent), depths.get_mut(at)) {
                siblings.push(at);
                *own = depth + 1;
            }
        }
        for siblings in &mut children {
            let weight = |at: &usize| self.weight(*at, order);
            siblings.sort_by(|a, b| weight(b).partial_cmp(&weight(a)).unwrap_or(std::cmp::Ordering::Equal));
        }
        children
    }

    fn weight(&self, at: usize, order: DiagnosisOrder) -> (f64, u64) {
        let node = self.nodes.get(at);
        let first = match order {
            DiagnosisOrder::Share => node.and_then(|node| node.share),
            DiagnosisOrder::Calls => node.and_then(|node| node.per_call),
        };
        let share = first.filter(|share| !share.is_nan());
        (share.unwrap_or(f64::NEG_INFINITY), node.and_then(|node| node.slow_nanos).unwrap_or(0))
    }
}

impl DiagnosisNode {
    /// Whether anything was measured in it.
    pub(crate) fn is_measured(&self) -> bool {
        self.calls.is_some() || self.slow_nanos.is_some() || self.share.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_without_end_is_cut_and_nothing_is_lost() {
        let node = |at: usize| DiagnosisNode { parent: at.checked_sub(1), ..DiagnosisNode::default() };
        let diagnosis = Diagnosis { nodes: (0..4_000).map(node).collect(), ..Diagnosis::default() };
        let children = diagnosis.children(DiagnosisOrder::Share);
        let depth = |mut at: usize| {
            let mut depth = 0;
            while let Some(child) = children.get(at).and_then(|of| of.first()) {
                (at, depth) = (*child, depth + 1);
            }
            depth
        };
        assert_eq!(depth(0), DEEPEST);
        assert_eq!(children.iter().map(Vec::len).sum::<usize>(), 3_999);
    }
}
