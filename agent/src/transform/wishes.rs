//! What the methods of a class carry: the decision of the rules, the claims of persons and of the governor made one plan each.

use std::sync::Arc;

use classfile::{ClassFile, Member};
use instrument_core::level::Mode;
use instrument_core::selection::{Chosen, ClassContext, ClassDecision, MethodDecision, SkipReason};
use instrument_core::template::{Purpose, TemplateId, TemplateLibrary};
use rustc_hash::FxHashMap;

use super::class_plan::Coming;
use crate::call_sites::{self, MeasuredMethod, MethodKey};
use crate::classes::hierarchy::LoaderId;
use crate::contexts::AnchorStep;
use crate::desired::generation::{ClaimedProbes, ClaimedRole, Generation};
use crate::desired::withdrawn_probes::Signature;
use crate::desired::{ClaimedProbe, ConditionalProbe, Effective, Wish, effective_plan};
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
    /// By their indices, the methods with probes that record inside contexts only, with anchors, or with measured calls.
    in_contexts: FxHashMap<usize, InContexts>,
    /// Methods of the class that a diagnosis measures, and what its rules say.
    measured: Vec<(MeasuredMethod, ClassDecision)>,
    /// What each claim decides by itself.
    by_claims: Vec<(u32, ClassDecision)>,
}

/// What contexts and diagnoses have put into a method.
#[derive(Debug, Clone)]
pub(super) struct InContexts {
    pub(super) probes: Vec<ConditionalProbe>,
    /// The steps for which its anchors stand.
    pub(super) steps: Vec<AnchorStep>,
    /// The number under which its calls are measured.
    pub(super) measured: Option<u32>,
    /// What asks for the text of a statement.
    pub(super) statement_text: Option<TemplateId>,
    /// What has tasks take contexts along.
    pub(super) handover: Option<TemplateId>,
    /// The numbers of the hooks of caller finders.
    pub(super) caller_hooks: Vec<u32>,
}

impl Decided {
    /// Returns what contexts have put into a method, if anything.
    pub(super) fn in_contexts(&self, method_index: usize) -> Option<&InContexts> {
        self.in_contexts.get(&method_index)
    }

    /// Returns the methods of the class that a diagnosis wants to measure: number, name and descriptor, and why not if the rules leave it alone.
    pub(super) fn measured<'d>(
        &'d self,
        file: &'d ClassFile<'_>,
    ) -> impl Iterator<Item = (usize, u32, Option<SkipReason>)> + 'd {
        self.measured.iter().filter_map(|(measured, decision)| {
            let is_it = |method: &Member<'_>| is_method(measured, method);
            let index = file.methods().iter().position(is_it)?;
            let skipped = match decision.methods.get(index)? {
                MethodDecision::Skipped(reason) => Some(*reason),
                MethodDecision::Chosen(_) => None,
            };
            Some((index, measured.number, skipped))
        })
    }

    /// Returns who wants the probe of this template in this method, if a claim of a person is about the method.
    pub(super) fn claimed_probe(&self, method_index: usize, template: TemplateId) -> Option<ClaimedProbe> {
        let wishes = self.claimed.get(&method_index)?;
        // What contexts put into a method leaves its other probes to the rules and the governor.
        let is_by_person = wishes.iter().any(|wish| matches!(wish, Wish::Person { .. }));
        is_by_person.then(|| ClaimedProbe::of(wishes, template))
    }

    /// Returns what a method has been chosen for, in words: `timed`, `timed inside a.B.c`, `anchor of a.B.c`.
    pub(super) fn template_names(
        &self,
        library: &TemplateLibrary,
        method_index: usize,
        chosen: &[TemplateId],
    ) -> Vec<String> {
        let of_rules = chosen.iter().filter_map(|id| library.get(*id)).filter(|of| of.purpose == Purpose::Rules);
        let mut names: Vec<String> = of_rules.map(|template| template.name.clone()).collect();
        let Some(InContexts { probes, steps, measured, statement_text, handover, caller_hooks }) =
            self.in_contexts(method_index)
        else {
            return names;
        };
        for ConditionalProbe { template, context, .. } in probes {
            let name = library.get(*template).map_or("?", |template| template.name.as_str());
            names.push(format!("{name} inside {}", context.text()));
        }
        let mut anchors: Vec<String> = steps.iter().map(|of| format!("anchor of {}", of.context.text())).collect();
        anchors.dedup();
        names.extend(anchors);
        names.extend(measured.map(|_| "call sites".to_owned()));
        names.extend(statement_text.map(|_| "statement text".to_owned()));
        names.extend(handover.map(|_| "hand-over of contexts".to_owned()));
        names.extend(caller_hooks.iter().map(|_| "hook of a caller finder".to_owned()));
        names
    }

    /// Returns what is left to a method that cannot have all that is wanted: without what contexts put into it, if they do; else what persons want.
    pub(super) fn templates_if_refused(&self, method_index: usize) -> Option<Arc<[TemplateId]>> {
        let wishes = self.claimed.get(&method_index)?.iter();
        let is_left = |wish: &&Wish| match wish {
            Wish::Conditional { .. }
            | Wish::Anchor(_)
            | Wish::CallSites(_)
            | Wish::StatementText(_)
            | Wish::Handover(_)
            | Wish::CallerHook(_) => false,
            Wish::Rules { .. } => self.in_contexts.contains_key(&method_index),
            Wish::Person { .. } | Wish::Suppress => true,
        };
        Some(effective_plan(&wishes.filter(is_left).cloned().collect::<Vec<_>>())?.templates)
    }

    /// Returns the number of the person's claim that decides about this method.
    pub(super) fn claim_of(&self, method_index: usize) -> Option<u32> {
        let wishes = self.claimed.get(&method_index)?;
        let decides = effective_plan(wishes)?.decided_by;
        // A probe or an anchor of a context decides nothing about what the rules want.
        let is_without_rules = !wishes.iter().any(|wish| matches!(wish, Wish::Rules { .. }));
        let takes =
            |decision: &ClassDecision| matches!(decision.methods.get(method_index), Some(MethodDecision::Chosen(_)));
        let of_context = || self.by_claims.iter().find(|(_, decision)| takes(decision)).map(|(claim, _)| *claim);
        decides.or_else(|| of_context().filter(|_| is_without_rules))
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
    (file, loader): (&ClassFile<'_>, LoaderId),
    context: &ClassContext<'_>,
    coming: &Coming,
) -> Decided {
    let mut decision = generation.rules().decide(file, context);
    let by_rules = generation.rules().effect(&decision);
    let name = file.this_class().as_bytes();
    let without_reach = ClassContext { reach: None, delegates: &[], ..*context };
    let claimed: Vec<(&ClaimedProbes, ClassDecision)> = generation
        .claimed
        .iter()
        .filter(|claimed| claimed.rules.wants_name(name))
        .map(|claimed| (claimed, claimed.rules.decide(file, &without_reach)))
        .collect();
    let suppressed = instrumentation.withdrawn.as_ref().map_or_else(Vec::new, |withdrawn| withdrawn.methods_of(name));
    let measured: Vec<(MeasuredMethod, ClassDecision)> = call_sites::of_process()
        .of_class(name, loader)
        .into_iter()
        .map(|method| {
            let decision = method.rules.decide(file, &without_reach);
            (method, decision)
        })
        .collect();
    let texts = call_sites::of_process().statement_rules(name, loader).map(|rules| rules.decide(file, &without_reach));
    let (mut of_claims, mut in_contexts) = (FxHashMap::default(), FxHashMap::default());
    // For most classes the rules say all there is.
    if claimed.is_empty() && suppressed.is_empty() && measured.is_empty() && texts.is_none() {
        return Decided { decision, by_rules, claimed: of_claims, in_contexts, measured, by_claims: Vec::new() };
    }
    for (index, (method, decided)) in file.methods().iter().zip(&mut decision.methods).enumerate() {
        let rule = if let MethodDecision::Chosen(chosen) = &*decided { Some(chosen.rule) } else { None };
        let mut wishes = wishes(generation.templates(), (method, decided), &claimed, index, &suppressed);
        wishes.extend(caller_hooks(&claimed, (index, method), (name, loader)));
        let is_taken =
            |decision: &ClassDecision| matches!(decision.methods.get(index), Some(MethodDecision::Chosen(_)));
        let of_method = measured.iter().filter(|(measured, of)| is_method(measured, method) && is_taken(of));
        wishes.extend(of_method.map(|(measured, _)| Wish::CallSites(measured.number)));
        if texts.as_ref().is_some_and(is_taken) {
            let template = generation.templates().statement_text(method.name.as_bytes(), method.descriptor.as_bytes());
            wishes.extend(template.map(Wish::StatementText));
        }
        leave_out_late_wrapper(&mut wishes, method, coming);
        take_live_variants(&mut wishes, generation.templates());
        match effective_plan(&wishes) {
            Some(effective) => {
                let contexts = InContexts::of(&effective);
                let is_constructor = method.name.as_bytes() == b"<init>";
                let templates = all_templates(generation.templates(), &effective, contexts.as_ref(), is_constructor);
                let Effective { level, mode, capture, decided_by, .. } = effective;
                let rule = rule.unwrap_or(NO_RULE);
                *decided = MethodDecision::Chosen(Chosen { rule, templates, level, mode, capture });
                if decided_by.is_some() || contexts.is_some() {
                    // What the governor takes away is not wanted.
                    let is_suppressed = wishes.contains(&Wish::Suppress);
                    wishes.retain(|wish| !(is_suppressed && matches!(wish, Wish::Rules { .. })));
                    of_claims.insert(index, wishes);
                }
                in_contexts.extend(contexts.map(|contexts| (index, contexts)));
            }
            None => {
                if let MethodDecision::Chosen(chosen) = decided {
                    chosen.templates = Arc::new([]);
                }
            }
        }
    }
    let by_claims = claimed.into_iter().map(|(claimed, decision)| (claimed.claim, decision)).collect();
    Decided { decision, by_rules, claimed: of_claims, in_contexts, measured, by_claims }
}

impl InContexts {
    /// Returns what contexts put into a method.
    fn of(effective: &Effective) -> Option<InContexts> {
        let Effective { conditional, steps, measured, statement_text, handover, caller_hooks, .. } = effective;
        let is_any = !conditional.is_empty() || !steps.is_empty() || measured.is_some();
        let is_any = is_any || statement_text.is_some() || handover.is_some() || !caller_hooks.is_empty();
        is_any.then(|| InContexts {
            probes: conditional.clone(),
            steps: steps.clone(),
            measured: *measured,
            statement_text: *statement_text,
            handover: *handover,
            caller_hooks: caller_hooks.clone(),
        })
    }
}

fn is_method(measured: &MeasuredMethod, method: &Member<'_>) -> bool {
    (&*measured.key.name, &*measured.key.descriptor) == (method.name.as_bytes(), method.descriptor.as_bytes())
}

/// Returns the templates of a method, outermost first: its anchors are innermost but for what measures its calls.
fn all_templates(
    library: &TemplateLibrary,
    effective: &Effective,
    contexts: Option<&InContexts>,
    is_constructor: bool,
) -> Arc<[TemplateId]> {
    let Some(InContexts { probes, steps, measured, statement_text, handover, caller_hooks }) = contexts else {
        return Arc::clone(&effective.templates);
    };
    let anchors = (0..AnchorStep::words(steps)).filter_map(|_| library.anchor());
    let conditions = || steps.iter().filter_map(AnchorStep::condition);
    // A condition of the method's own calls is evaluated around their probe. Others are the innermost, as a call is not inside a context by itself.
    let own = conditions().filter(|of| of.is_own).filter_map(|_| library.own_anchor(is_constructor));
    let conditional = conditions().filter(|of| !of.is_own).filter_map(|_| library.conditional_anchor(is_constructor));
    let call_sites = measured.and_then(|_| library.call_sites());
    let caller_hooks = caller_hooks.iter().filter_map(|_| library.caller_hook());
    let of_probes = probes.iter().map(|probe| probe.template);
    let of_rules = effective.templates.iter().copied();
    of_rules
        .chain(own)
        .chain(of_probes)
        .chain(*statement_text)
        .chain(*handover)
        .chain(anchors)
        .chain(conditional)
        .chain(caller_hooks)
        .chain(call_sites)
        .collect()
}

/// A wrapper that a rule wants cannot be added to a loaded class, which does not exclude what persons want.
fn leave_out_late_wrapper(wishes: &mut Vec<Wish>, method: &Member<'_>, coming: &Coming) {
    let is_late = match coming {
        Coming::First => false,
        Coming::Again(wrapped) => !wrapped.as_ref().is_some_and(|wrapped| wrapped.contains(method)),
    };
    let is_by_person = |wish: &Wish| {
        matches!(
            wish,
            Wish::Person { .. }
                | Wish::Conditional { .. }
                | Wish::Anchor(_)
                | Wish::CallSites(_)
                | Wish::StatementText(_)
                | Wish::Handover(_)
                | Wish::CallerHook(_)
        )
    };
    if is_late && wishes.iter().any(is_by_person) {
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

/// Returns the hooks of caller finders for a method of the class of this name and loader.
fn caller_hooks(
    claimed: &[(&ClaimedProbes, ClassDecision)],
    (index, method): (usize, &Member<'_>),
    (class, loader): (&[u8], LoaderId),
) -> Vec<Wish> {
    let is_meant = |key: &MethodKey| {
        (&*key.class, key.loader) == (class, loader)
            && (&*key.name, &*key.descriptor) == (method.name.as_bytes(), method.descriptor.as_bytes())
    };
    let hook = |(ClaimedProbes { role, .. }, decision): &(&ClaimedProbes, ClassDecision)| match role {
        ClaimedRole::CallerHook(hook) if hook.methods.iter().any(is_meant) => {
            let is_taken = matches!(decision.methods.get(index), Some(MethodDecision::Chosen(_)));
            is_taken.then_some(Wish::CallerHook(hook.number))
        }
        _ => None,
    };
    claimed.iter().filter_map(hook).collect()
}

fn wishes(
    library: &TemplateLibrary,
    (method, by_rules): (&Member<'_>, &MethodDecision),
    claimed: &[(&ClaimedProbes, ClassDecision)],
    index: usize,
    suppressed: &[Signature],
) -> Vec<Wish> {
    let mut wishes = Vec::new();
    if let MethodDecision::Chosen(Chosen { templates, level, mode, capture, .. }) = by_rules {
        let (templates, capture) = (Arc::clone(templates), capture.clone());
        wishes.push(Wish::Rules { templates, level: *level, mode: *mode, capture });
    }
    for (ClaimedProbes { claim, role, .. }, decision) in claimed {
        let Some(MethodDecision::Chosen(Chosen { templates, level, .. })) = decision.methods.get(index) else {
            continue;
        };
        match role {
            ClaimedRole::Probe => {
                wishes.push(Wish::Person { claim: *claim, templates: Arc::clone(templates), level: *level });
            }
            ClaimedRole::Conditional(context) => {
                wishes.extend(templates.iter().filter_map(|live| library.conditional(*live)).map(|template| {
                    Wish::Conditional { claim: *claim, template, level: *level, context: Arc::clone(context) }
                }));
            }
            ClaimedRole::Anchor(step) => wishes.push(Wish::Anchor(step.clone())),
            ClaimedRole::Handover => {
                let template = library.handover(method.name.as_bytes(), method.descriptor.as_bytes());
                wishes.extend(template.map(Wish::Handover));
            }
            // They are about the class of one loader.
            ClaimedRole::CallerHook(_) => {}
            ClaimedRole::Preparing => {
                let template = library.statement_text(method.name.as_bytes(), method.descriptor.as_bytes());
                wishes.extend(template.map(Wish::StatementText));
            }
        }
    }
    let is_suppressed = |(name, descriptor): &Signature| {
        **name == *method.name.as_bytes() && **descriptor == *method.descriptor.as_bytes()
    };
    wishes.extend(suppressed.iter().any(is_suppressed).then_some(Wish::Suppress));
    wishes
}
