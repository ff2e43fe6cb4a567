//! The calls that diagnoses measure in the bodies of a class: planned with the class, and recorded in `call_sites` when it has been rewritten or refused.

use std::sync::Arc;

use classfile::ClassFile;
use instrument_core::facts::call_sites::{Call, calls_of};
use instrument_core::{CallSite, Outcome, RefusedSite};

use super::class_plan::ClassPlan;
use super::wishes::Decided;
use crate::call_sites::{self, FoundCall, FoundCalls};

/// What is measured in a class.
#[derive(Debug, Default)]
pub(super) struct MeasuredCalls(Vec<InMethod>);

#[derive(Debug)]
struct InMethod {
    method_index: usize,
    number: u32,
    /// Each called method; the number of a site is its place here.
    calls: Vec<Call>,
}

impl MeasuredCalls {
    /// Plans a site for each call in those methods of the class that diagnoses measure. For a method that cannot be measured the reason is recorded.
    pub(super) fn plan(file: &ClassFile<'_>, decided: &Decided, plan: &mut ClassPlan) -> MeasuredCalls {
        let mut planned = Vec::new();
        for (method_index, number, skipped) in decided.measured(file) {
            match in_method(file, method_index, skipped.map(|reason| reason.to_string())) {
                Ok(calls) => {
                    if plan.measure(method_index, sites(&calls)) {
                        planned.push(InMethod { method_index, number, calls });
                    } else {
                        call_sites::of_process().note(number, Err("it is left alone".into()));
                    }
                }
                Err(reason) => call_sites::of_process().note(number, Err(reason.into())),
            }
        }
        MeasuredCalls(planned)
    }

    /// Notes what was inserted.
    pub(super) fn note(self, outcome: &Outcome) {
        for InMethod { method_index, number, calls } in self.0 {
            call_sites::of_process().note(number, found(outcome, method_index, calls));
        }
    }
}

fn in_method(file: &ClassFile<'_>, method_index: usize, skipped: Option<String>) -> Result<Vec<Call>, String> {
    if let Some(reason) = skipped {
        return Err(reason);
    }
    let method = file.methods().get(method_index).ok_or("its class has no such method any more")?;
    calls_of(file, method).map_err(|error| format!("its bytecode cannot be read: {error}"))
}

fn sites(calls: &[Call]) -> Vec<CallSite> {
    let numbered = calls.iter().enumerate();
    let of_call = |(number, call): (usize, &Call)| {
        let number = u16::try_from(number).ok();
        let offsets: Vec<u16> = call.offsets.iter().filter_map(|offset| u16::try_from(*offset).ok()).collect();
        offsets.into_iter().filter_map(move |offset| Some(CallSite { offset, number: number? }))
    };
    let mut sites: Vec<CallSite> = numbered.flat_map(of_call).collect();
    sites.sort_unstable_by_key(|site| site.offset);
    sites
}

fn found(outcome: &Outcome, method_index: usize, calls: Vec<Call>) -> FoundCalls {
    let refused = match outcome {
        Outcome::Rewritten(rewritten) => &rewritten.refused,
        Outcome::Unchanged { refused } => refused,
    };
    if let Some(refused) = refused.iter().find(|refused| refused.method_index == method_index) {
        return Err(refused.reason.to_string().into());
    }
    let Outcome::Rewritten(rewritten) = outcome else { return Err("it was left alone".into()) };
    let done = rewritten.methods.iter().find(|done| done.method_index == method_index);
    let done = done.ok_or_else(|| Arc::from("it was left alone"))?;
    let with_reason = |(number, call): (usize, Call)| {
        let is_of = |refused: &&RefusedSite| usize::from(refused.site.number) == number;
        let mut of_call = done.refused_sites.iter().filter(is_of);
        let count = of_call.clone().count();
        // A call that is measured at one of its places at least is measured.
        let refused = of_call.next().filter(|_| count == call.offsets.len());
        FoundCall { refused: refused.map(|refused| refused.reason.to_string().into()), call }
    };
    Ok(calls.into_iter().enumerate().map(with_reason).collect())
}
