//! What the methods of a class carry: the decision of the rules, the claims of persons and of the governor made one plan each.

use std::sync::Arc;

use classfile::{ClassFile, Member};
use instrument_core::level::Mode;
use instrument_core::selection::{Chosen, ClassContext, ClassDecision, MethodDecision, SkipReason};
use instrument_core::template::{TemplateId, TemplateLibrary};
use rustc_hash::FxHashMap;

use super::class_plan::Coming;
use crate::desired::generation::Generation;
use crate::desired::withdrawn_probes::Signature;
use crate::desired::{ClaimedProbe, Effective, Wish, effective_plan};
use crate::transform::instrumentation::Instrumentation;

/// As the number of a rule: no rule has chosen the method, a person has.
const NO_RULE: usize = usize::MAX;

/// What was decided about a class.
#[derive(Debug)]
pub(super) struct Decided {
    /// A method that is chosen without templates loses those of the rules to the governor.
    pub(super) decision: ClassDecision,
    /// A digest of what the rules alone want; `None` if that is not final.
    pub(super) by_rules: Option<u64>,
    /// By their indices, the methods that claims of persons are about, and all that is wanted of these.
    claimed: FxHashMap<usize, Vec<Wish>>,
    /// What each claim decides by itself.
    by_claims: Vec<(u32, ClassDecision)>,
}

impl Decided {
    /// Returns who wants the probe of this template in this method, if a claim of a person is about the method.
    pub(super) fn claimed_probe(&self, method_index: usize, template: TemplateId) -> Option<ClaimedProbe> {
        Some(ClaimedProbe::of(self.claimed.get(&method_index)?, template))
    }

    /// Returns the templates that persons want in this method, if they want any.
    pub(super) fn templates_of_claims(&self, method_index: usize) -> Option<Arc<[TemplateId]>> {
        let wishes = self.claimed.get(&method_index)?.iter();
        let of_persons: Vec<Wish> = wishes.filter(|wish| matches!(wish, Wish::Person { .. })).cloned().collect();
        Some(effective_plan(&of_persons)?.templates)
    }

    /// Returns the number of the person's claim that decides about this method.
    pub(super) fn claim_of(&self, method_index: usize) -> Option<u32> {
        effective_plan(self.claimed.get(&method_index)?)?.decided_by
    }

    /// Returns the number of a claim that names this method and does not take it, and why not.
    pub(super) fn left_out_by_claim(&self, method_index: usize) -> Option<(u32, SkipReason)> {
        self.by_claims.iter().find_map(|(claim, decision)| match decision.methods.get(method_index)? {
            MethodDecision::Skipped(reason) if *reason != SkipReason::NoRule => Some((*claim, *reason)),
            _ => None,
        })
    }
}

/// Decides about the methods of a class.
pub(super) fn decide(
    instrumentation: &Instrumentation,
    generation: &Generation,
    file: &ClassFile<'_>,
    context: &ClassContext<'_>,
    coming: &Coming,
) -> Decided {
    let mut decision = generation.rules().decide(file, context);
    let by_rules = generation.rules().effect(&decision);
    let name = file.this_class().as_bytes();
    let without_reach = ClassContext { reach: None, delegates: &[], ..*context };
    let claimed: Vec<(u32, ClassDecision)> = generation
        .claimed
        .iter()
        .filter(|claimed| claimed.rules.wants_name(name))
        .map(|claimed| (claimed.claim, claimed.rules.decide(file, &without_reach)))
        .collect();
    let suppressed = instrumentation.withdrawn.as_ref().map_or_else(Vec::new, |withdrawn| withdrawn.methods_of(name));
    let mut of_claims = FxHashMap::default();
    // For most classes the rules say all there is.
    if claimed.is_empty() && suppressed.is_empty() {
        return Decided { decision, by_rules, claimed: of_claims, by_claims: claimed };
    }
    for (index, (method, decided)) in file.methods().iter().zip(&mut decision.methods).enumerate() {
        let rule = if let MethodDecision::Chosen(chosen) = &*decided { Some(chosen.rule) } else { None };
        let mut wishes = wishes(method, decided, &claimed, index, &suppressed);
        leave_out_late_wrapper(&mut wishes, method, coming);
        take_live_variants(&mut wishes, generation.templates());
        match effective_plan(&wishes) {
            Some(Effective { templates, level, mode, capture, decided_by }) => {
                let rule = rule.unwrap_or(NO_RULE);
                *decided = MethodDecision::Chosen(Chosen { rule, templates, level, mode, capture });
                if decided_by.is_some() {
                    // What the governor takes away is not wanted.
                    let is_suppressed = wishes.contains(&Wish::Suppress);
                    wishes.retain(|wish| !(is_suppressed && matches!(wish, Wish::Rules { .. })));
                    of_claims.insert(index, wishes);
                }
            }
            None => {
                if let MethodDecision::Chosen(chosen) = decided {
                    chosen.templates = Arc::new([]);
                }
            }
        }
    }
    Decided { decision, by_rules, claimed: of_claims, by_claims: claimed }
}

/// A wrapper that a rule wants cannot be added to a loaded class, which does not exclude what persons want.
fn leave_out_late_wrapper(wishes: &mut Vec<Wish>, method: &Member<'_>, coming: &Coming) {
    let is_late = match coming {
        Coming::First => false,
        Coming::Again(wrapped) => !wrapped.as_ref().is_some_and(|wrapped| wrapped.contains(method)),
    };
    if is_late && wishes.iter().any(|wish| matches!(wish, Wish::Person { .. })) {
        wishes.retain(|wish| !matches!(wish, Wish::Rules { mode: Mode::Wrapper, .. }));
    }
}

/// A person's level is that of the whole method: what the rules want of it becomes live, too.
fn take_live_variants(wishes: &mut [Wish], library: &TemplateLibrary) {
    if !wishes.iter().any(|wish| matches!(wish, Wish::Person { .. })) {
        return;
    }
    let live_variant = |id: &TemplateId| {
        let template = library.get(*id).filter(|template| !template.live)?;
        if template.captures() {
            library.find_live_capturing(&template.name)
        } else {
            library.find_live(&template.name)
        }
    };
    for wish in wishes {
        if let Wish::Rules { templates, .. } = wish {
            *templates = templates.iter().map(|id| live_variant(id).unwrap_or(*id)).collect();
        }
    }
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
