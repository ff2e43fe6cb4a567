//! What the methods of a class carry: the decision of the rules, the claims of persons and of the governor made one plan each.

use std::sync::Arc;

use classfile::{ClassFile, Member};
use instrument_core::selection::{Chosen, ClassContext, ClassDecision, MethodDecision};

use crate::desired::generation::Generation;
use crate::desired::withdrawn_probes::Signature;
use crate::desired::{Effective, Wish, effective_plan};
use crate::transform::instrumentation::Instrumentation;

/// As the number of a rule: no rule has chosen the method, a person has.
const NO_RULE: usize = usize::MAX;

/// What was decided about a class.
#[derive(Debug)]
pub(super) struct Decided {
    /// A method that is chosen without templates loses those of the rules to the governor.
    pub(super) decision: ClassDecision,
    /// A number that stands for what the rules alone want; `None` if that is not final.
    pub(super) by_rules: Option<u64>,
    /// Indices of the methods whose level a person's claim decides.
    pub(super) by_person: Vec<usize>,
}

impl Decided {
    /// Whether a person's claim decides about the level of this method.
    pub(super) fn is_by_person(&self, method_index: usize) -> bool {
        self.by_person.contains(&method_index)
    }
}

/// Decides about the methods of a class.
pub(super) fn decide(
    instrumentation: &Instrumentation,
    generation: &Generation,
    file: &ClassFile<'_>,
    context: &ClassContext<'_>,
) -> Decided {
    let mut decision = generation.rules().decide(file, context);
    let by_rules = generation.rules().effect(&decision);
    let name = file.this_class().as_bytes();
    let without_reach = ClassContext { reach: None, ..*context };
    let claimed: Vec<(u32, ClassDecision)> = generation
        .claimed
        .iter()
        .filter(|claimed| claimed.rules.wants_name(name))
        .map(|claimed| (claimed.claim, claimed.rules.decide(file, &without_reach)))
        .collect();
    let suppressed = instrumentation.withdrawn.as_ref().map_or_else(Vec::new, |withdrawn| withdrawn.methods_of(name));
    let mut by_person = Vec::new();
    // For most classes the rules say all there is.
    if claimed.is_empty() && suppressed.is_empty() {
        return Decided { decision, by_rules, by_person };
    }
    for (index, (method, decided)) in file.methods().iter().zip(&mut decision.methods).enumerate() {
        let rule = if let MethodDecision::Chosen(chosen) = &*decided { Some(chosen.rule) } else { None };
        let wishes = wishes(method, decided, &claimed, index, &suppressed);
        match effective_plan(&wishes) {
            Some(Effective { templates, level, mode, capture, decided_by }) => {
                by_person.extend(decided_by.map(|_| index));
                let rule = rule.unwrap_or(NO_RULE);
                *decided = MethodDecision::Chosen(Chosen { rule, templates, level, mode, capture });
            }
            None => {
                if let MethodDecision::Chosen(chosen) = decided {
                    chosen.templates = Arc::new([]);
                }
            }
        }
    }
    Decided { decision, by_rules, by_person }
}

fn wishes(
    method: &Member<'_>,
    by_rules: &MethodDecision,
    claimed: &[(u32, ClassDecision)],
    index: usize,
    suppressed: &[Signature],
) -> Vec<Wish> {
    let mut wishes = Vec::new();
    if let MethodDecision::Chosen(Chosen { templates, level, mode, capture, .. }) = by_rules {
        let (templates, capture) = (Arc::clone(templates), capture.clone());
        wishes.push(Wish::Rules { templates, level: *level, mode: *mode, capture });
    }
    for (claim, decision) in claimed {
        if let Some(MethodDecision::Chosen(Chosen { templates, level, .. })) = decision.methods.get(index) {
            wishes.push(Wish::Person { claim: *claim, templates: Arc::clone(templates), level: *level });
        }
    }
    let is_suppressed = |(name, descriptor): &Signature| {
        **name == *method.name.as_bytes() && **descriptor == *method.descriptor.as_bytes()
    };
    wishes.extend(suppressed.iter().any(is_suppressed).then_some(Wish::Suppress));
    wishes
}
