//! Classes that `instr pre` instrumented before they were loaded: their probes get numbers of this process where a rule takes their method,
//! and stay silent elsewhere. No probe is added to them (decision 033).

use std::sync::Once;

use classfile::ClassFile;
use instrument_core::ahead::{self, AheadProbes};
use instrument_core::selection::ClassDecision;
use instrument_core::{ProbeSlot, Rewritten};

use super::class_plan::{ClassPlan, Coming};
use crate::desired::generation::Generation;
use crate::statistics::{RefusedMethod, Statistics};
use crate::transform::instrumentation::Instrumentation;

/// What such a class is refused under where a rule asks for more than it holds.
const KEY: &str = "instrumented-ahead";

/// Whether the class holds probes already: those that its mark lists, or, without a mark, some that nobody can give numbers.
#[derive(Debug)]
pub(crate) enum Inserted {
    Listed(AheadProbes),
    Unlisted,
}

impl Inserted {
    /// Returns what the class holds; `None` for one that holds no probe.
    pub(crate) fn of(generation: &Generation, file: &ClassFile<'_>) -> Option<Inserted> {
        let listed = ahead::probes(file, generation.engine.library()).map(Inserted::Listed);
        listed.or_else(|| ahead::holds_probes(file).then_some(Inserted::Unlisted))
    }

    /// Returns the class with the probes that are to record, which have no numbers yet; `None` if there are none.
    pub(crate) fn claimed(
        &self,
        instrumentation: &Instrumentation,
        file: &ClassFile<'_>,
        decision: &ClassDecision,
        is_counted: bool,
    ) -> Option<Rewritten> {
        let Inserted::Listed(ahead) = self else {
            refuse(
                instrumentation,
                file,
                "",
                "it holds probes of another version of instr or of a dump: instrument the original jar again",
            );
            return None;
        };
        warn_of_other_version(&ahead.version);
        // As if the class were new: whether a method has a wrapper was decided when the probes were inserted.
        let plan = ClassPlan::new(file, decision, &Coming::First);
        let probes: Vec<ProbeSlot> =
            ahead.probes.iter().filter(|slot| plan.has_templates(slot.method_index)).copied().collect();
        if is_counted {
            self.count(instrumentation, file, &plan, &probes);
        }
        if probes.is_empty() {
            return None;
        }
        Some(Rewritten { bytes: file.bytes().to_vec(), probes, methods: Vec::new(), refused: Vec::new() })
    }

    fn count(&self, instrumentation: &Instrumentation, file: &ClassFile<'_>, plan: &ClassPlan, probes: &[ProbeSlot]) {
        let has_probe = |method: usize| probes.iter().any(|slot| slot.method_index == method);
        let mut methods = 0;
        for planned in &plan.methods {
            if has_probe(planned.method_index) {
                methods += 1;
            } else if let Some(method) = file.methods().get(planned.method_index) {
                let method = format!("{}{}", method.name, method.descriptor);
                refuse(
                    instrumentation,
                    file,
                    &method,
                    "`instr pre` inserted no probe here: instrument the original jar again with these rules",
                );
            }
        }
        let statistics = &instrumentation.statistics;
        for (counter, amount) in [
            (&statistics.classes_ahead, 1),
            (&statistics.probes_ahead, probes.len()),
            (&statistics.methods_instrumented, methods),
            (&statistics.probes, probes.len()),
        ] {
            Statistics::add(counter, amount);
        }
    }
}

fn refuse(instrumentation: &Instrumentation, file: &ClassFile<'_>, method: &str, why: &str) {
    let reason = format!("the class was instrumented ahead of time, and {why}");
    instrumentation
        .statistics
        .refuse(KEY, RefusedMethod { class: file.this_class().to_string(), method: method.to_owned(), reason });
}

/// Logs once that the probes may call what this runtime does not have.
fn warn_of_other_version(version: &str) {
    static WARNED: Once = Once::new();
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        WARNED.call_once(|| {
            tracing::warn!("classes were instrumented ahead of time by instr {version}, this agent is {own}: instrument their jars again");
        });
    }
}
