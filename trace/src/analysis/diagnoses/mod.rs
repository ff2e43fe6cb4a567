//! Diagnoses in a recording (`instr.Diagnosis`, `instr.DiagnosisNode` and `instr.SlowCall`): their trees are put together again, as far as they are there.

mod slow_calls;

use std::collections::BTreeMap;

use crate::reader::Event;
use crate::{Diagnosis, DiagnosisNode};
use slow_calls::SlowCalls;

/// Diagnoses that are kept, and nodes of all of them together. The last ones are: a recording is read from its end.
const MOST: usize = 200;
const MOST_NODES: usize = 100_000;

/// The diagnoses of a recording.
#[derive(Debug, Default)]
pub(super) struct Diagnoses {
    /// By time and claim.
    found: BTreeMap<(u64, u64), Parts>,
    slow_calls: SlowCalls,
    nodes: usize,
    is_any_left_out: bool,
}

/// What has been read of a diagnosis.
#[derive(Debug, Default)]
struct Parts {
    /// The result, and how many nodes its tree has.
    result: Option<(Diagnosis, u64)>,
    nodes: BTreeMap<u64, DiagnosisNode>,
}

impl Diagnoses {
    /// Adds the event if it is a part of a diagnosis.
    pub(super) fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Diagnosis { at, diagnosis, nodes } => {
                if let Some(parts) = self.parts((at, diagnosis.claim)) {
                    parts.result = Some((*diagnosis, nodes));
                }
            }
            Event::DiagnosisNode { at, claim, number, node } if self.nodes < MOST_NODES => {
                if let Some(parts) = self.parts((at, claim)) {
                    parts.nodes.insert(number, *node);
                    self.nodes += 1;
                }
            }
            Event::DiagnosisNode { .. } => self.is_any_left_out = true,
            Event::SlowCall { at, call } => self.slow_calls.add(at, *call),
            _ => {}
        }
    }

    fn parts(&mut self, key: (u64, u64)) -> Option<&mut Parts> {
        if self.found.len() >= MOST && !self.found.contains_key(&key) {
            self.is_any_left_out = true;
            return None;
        }
        Some(self.found.entry(key).or_default())
    }

    /// Returns the diagnoses in the order in which they ended, and a warning if not all could be kept. `start` is that of the recording.
    pub(super) fn finish(self, start: u64) -> (Vec<Diagnosis>, Option<String>) {
        let complete = |((at, claim), parts): ((u64, u64), Parts)| {
            let ended_after_nanos = Some(at.saturating_sub(start));
            Diagnosis { ended_after_nanos, ..parts.complete(claim) }
        };
        let mut found: Vec<Diagnosis> = self.found.into_iter().map(complete).collect();
        let warning = format!("only the last {} diagnoses are shown, with {} nodes", found.len(), self.nodes);
        let unfinished = self.slow_calls.give_to(&mut found, start);
        found.extend(unfinished);
        (found, self.is_any_left_out.then_some(warning))
    }
}

impl Parts {
    fn complete(mut self, claim: u64) -> Diagnosis {
        let read = self.nodes.len() as u64;
        let first = self.nodes.get(&0).map(|node| node.method.clone());
        let (mut diagnosis, expected) = self.result.unwrap_or_else(|| {
            let notice = "the result is missing in this recording, only a part of its tree is there".to_owned();
            let method = first.unwrap_or_else(|| "a method that is missing in this recording".to_owned());
            (Diagnosis { claim, method, notices: vec![notice], ..Diagnosis::default() }, 0)
        });
        if read < expected {
            let missing = expected - read;
            diagnosis.notices.push(format!("{missing} of {expected} nodes of the tree are missing in this recording"));
        }
        if read > 0 {
            // All others are below it.
            self.nodes.entry(0).or_insert_with(|| DiagnosisNode {
                method: diagnosis.method.clone(),
                kind: "method".to_owned(),
                ..DiagnosisNode::default()
            });
        }
        let places: BTreeMap<usize, usize> = self
            .nodes
            .keys()
            .enumerate()
            .filter_map(|(at, number)| Some((usize::try_from(*number).ok()?, at)))
            .collect();
        diagnosis.nodes = self.nodes.into_values().collect();
        for node in &mut diagnosis.nodes {
            node.parent = node.parent.and_then(|parent| places.get(&parent).copied());
        }
        diagnosis
    }
}

#[cfg(test)]
mod tests;
