//! Loaded classes that were changed while the program ran (`instr.Retransform`): a part of the times around them is that of the change.

use std::collections::BTreeMap;

/// Classes that are retransformed for these reasons have not run yet, or the program has not begun.
const BEFORE_THEY_RUN: [&str; 2] = ["start", "linked"];

/// The changes of a recording.
#[derive(Debug, Default)]
pub(super) struct Retransforms {
    batches: u64,
    classes: u64,
    rejected: u64,
    /// Batches by reason.
    reasons: BTreeMap<String, u64>,
    longest_stop: u64,
}

impl Retransforms {
    /// Adds one call of the JVM: its classes, and whether the JVM rejected them together.
    pub(super) fn add(&mut self, reason: &str, (classes, is_rejected): (u64, bool), stopped: u64) {
        if BEFORE_THEY_RUN.contains(&reason) {
            return;
        }
        self.batches += 1;
        if is_rejected {
            self.rejected += 1;
        } else {
            self.classes = self.classes.saturating_add(classes);
        }
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
        self.longest_stop = self.longest_stop.max(stopped);
    }

    /// Returns what people must know who read times of this recording.
    pub(super) fn warning(&self) -> Option<String> {
        if self.batches == 0 {
            return None;
        }
        let reasons: Vec<String> =
            self.reasons.iter().map(|(reason, batches)| format!("{reason}: {batches}")).collect();
        let classes =
            if self.classes == 1 { "1 class was".to_owned() } else { format!("{} classes were", self.classes) };
        let batches = if self.batches == 1 { "1 batch".to_owned() } else { format!("{} batches", self.batches) };
        let rejected =
            if self.rejected > 0 { format!(", of which the JVM rejected {}", self.rejected) } else { String::new() };
        Some(format!(
            "{classes} retransformed while the program ran, in {batches}{rejected} ({}); each stopped the program for at most {:.1} ms, which is a part of \
             the times of calls that ran then",
            reasons.join(", "),
            self.longest_stop as f64 / 1e6,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_running_program_are_summed_up_with_their_reasons() {
        let mut retransforms = Retransforms::default();
        retransforms.add("start", (500, false), 90_000_000);
        retransforms.add("linked", (1, false), 90_000_000);
        assert_eq!(retransforms.warning(), None);
        retransforms.add("reload", (16, false), 3_000_000);
        retransforms.add("reload", (4, true), 9_000_000);
        retransforms.add("claim", (2, false), 1_000_000);
        let warning = retransforms.warning().unwrap();
        let expected = "18 classes were retransformed while the program ran, in 3 batches, of which the JVM rejected 1 (claim: 1, reload: 2); \
                        each stopped the program for at most 9.0 ms";
        assert!(warning.starts_with(expected), "{warning}");
    }
}
