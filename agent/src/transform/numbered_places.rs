//! Which number belongs into which place of a rewritten class: that of a probe, or that of an anchor.

use classfile::ClassFile;
use instrument_core::ProbeSlot;
use instrument_core::template::{Purpose, TemplateLibrary};
use rustc_hash::FxHashMap;

use super::wishes::{Decided, InContexts};
use crate::caller_hooks;
use crate::contexts::{self, INERT_ANCHOR, MethodAnchors};
use crate::desired::ConditionalProbe;

/// The places of a class.
#[derive(Debug, Default)]
pub(super) struct NumberedPlaces<'d> {
    /// Those of probes.
    pub(super) probes: Vec<NumberedPlace<'d>>,
    /// Those of anchors and of methods with measured calls, by their offset in the class file, with the numbers.
    pub(super) fixed: Vec<(usize, u32)>,
}

/// The place of a probe's number.
#[derive(Debug)]
pub(super) struct NumberedPlace<'d> {
    pub(super) slot: ProbeSlot,
    /// Set if the probe records inside a context only.
    pub(super) conditional: Option<&'d ConditionalProbe>,
}

/// Returns the places. Several probes of one template in a method differ by nothing but their contexts, so it does not matter which is which; the same
/// goes for anchors.
pub(super) fn of<'d>(
    library: &TemplateLibrary,
    (file, decided): (&ClassFile<'_>, &'d Decided),
    slots: &[ProbeSlot],
) -> NumberedPlaces<'d> {
    let mut left: FxHashMap<usize, (Vec<&'d ConditionalProbe>, MethodAnchors)> = FxHashMap::default();
    let mut callers: FxHashMap<usize, usize> = FxHashMap::default();
    let mut places = NumberedPlaces::default();
    for slot in slots {
        let purpose = library.get(slot.template).map_or(Purpose::Rules, |template| template.purpose);
        let of_method = |InContexts { probes, steps, .. }: &'d InContexts| {
            let anchors = file.methods().get(slot.method_index).map(|method| {
                let names = [file.this_class(), method.name, method.descriptor].map(|name| name.as_bytes());
                contexts::of_process().anchors(names, steps)
            });
            (probes.iter().collect(), anchors.unwrap_or_default())
        };
        match purpose {
            Purpose::Rules => {
                places.probes.push(NumberedPlace { slot: *slot, conditional: None });
                continue;
            }
            Purpose::CallSites => {
                let measured = decided.in_contexts(slot.method_index).and_then(|of| of.measured);
                places.fixed.push((slot.offset, measured.unwrap_or(0)));
                continue;
            }
            Purpose::CallerHook => {
                let all = decided.in_contexts(slot.method_index).map_or(&[][..], |of| &of.caller_hooks);
                // Those of one method differ by nothing but their numbers.
                let count = callers.entry(slot.method_index).or_insert(0_usize);
                if let Some(hook) = all.get(*count) {
                    places.fixed.push((slot.offset, *hook));
                    caller_hooks::of_process().note_inserted(*hook);
                }
                *count += 1;
                continue;
            }
            // They ask for no number.
            Purpose::StatementTexts | Purpose::Handover => continue,
            Purpose::Anchor | Purpose::ConditionalAnchor | Purpose::OwnAnchor | Purpose::Conditional => {}
        }
        let of_method = || decided.in_contexts(slot.method_index).map(of_method).unwrap_or_default();
        let (probes, anchors) = left.entry(slot.method_index).or_insert_with(of_method);
        match purpose {
            Purpose::Anchor => places.fixed.push((slot.offset, anchors.plain.pop().unwrap_or(INERT_ANCHOR))),
            Purpose::ConditionalAnchor => {
                places.fixed.push((slot.offset, anchors.conditional.pop().unwrap_or(INERT_ANCHOR)));
            }
            Purpose::OwnAnchor => places.fixed.push((slot.offset, anchors.own.pop().unwrap_or(INERT_ANCHOR))),
            Purpose::Rules
            | Purpose::CallSites
            | Purpose::StatementTexts
            | Purpose::Handover
            | Purpose::CallerHook
            | Purpose::Conditional => {
                let of_template = probes.iter().position(|probe| probe.template == slot.template);
                let conditional = of_template.map(|at| probes.swap_remove(at));
                places.probes.push(NumberedPlace { slot: *slot, conditional });
            }
        }
    }
    places
}
