//! From the decision about a class to the plan for the engine: what can still be done depends on whether the class is being loaded or retransformed.

use std::sync::Arc;

use classfile::ClassFile;
use instrument_core::level::Mode;
use instrument_core::selection::{ClassDecision, MethodDecision};
use instrument_core::template::TemplateId;
use instrument_core::{CallSite, MethodPlan, NotWrapped, Refused, Templates};

use crate::classes::wrapped_classes::{WrappedClasses, WrappedMethods};
use crate::jvm;

/// Why a class is presented to the hook.
#[derive(Debug)]
pub(crate) enum Coming {
    /// It is about to be defined.
    First,
    /// It is loaded and gets new bodies; perhaps some of its methods were given wrappers when it was loaded.
    Again(Option<Arc<WrappedMethods>>),
}

impl Coming {
    /// Returns why this class is presented.
    pub(crate) fn of(class: &jvm::ClassFile<'_>, wrapped: &WrappedClasses) -> Coming {
        if !class.is_loaded() {
            return Coming::First;
        }
        Coming::Again(
            class
                .name
                .and_then(|name| if wrapped.is_empty() { None } else { wrapped.of_class(name, class.loader_id()) }),
        )
    }

    /// Whether there are wrappers that must stay.
    pub(crate) fn has_wrappers(&self) -> bool {
        matches!(self, Coming::Again(Some(_)))
    }
}

/// What the engine is asked for, and what it need not be asked.
#[derive(Debug)]
pub(crate) struct ClassPlan {
    /// In ascending order.
    pub(crate) methods: Vec<MethodPlan>,
    /// Methods that should have a wrapper and can have none any more.
    pub(crate) refused: Vec<Refused>,
}

impl ClassPlan {
    /// Plans every chosen method, and every method that has a wrapper already.
    pub(crate) fn new(file: &ClassFile<'_>, decision: &ClassDecision, coming: &Coming) -> ClassPlan {
        let mut plan = ClassPlan { methods: Vec::new(), refused: Vec::new() };
        for (method_index, method) in file.methods().iter().enumerate() {
            let chosen = match decision.methods.get(method_index) {
                Some(MethodDecision::Chosen(chosen)) if !chosen.templates.is_empty() => Some(chosen),
                _ => None,
            };
            let templates = chosen.map(|chosen| Templates::from(&chosen.templates));
            let capture = chosen.and_then(|chosen| chosen.capture.as_ref());
            let captured = capture.map(|capture| capture.in_method(file, method));
            let first = matches!(coming, Coming::First);
            match (coming, templates, chosen.map(|chosen| chosen.mode)) {
                (Coming::Again(Some(wrapped)), templates, _) if wrapped.contains(method) => {
                    plan.methods.push(
                        MethodPlan::wrapper(method_index, templates.unwrap_or_else(|| Vec::new().into()))
                            .capturing(captured),
                    );
                }
                (Coming::First, Some(templates), Some(Mode::Wrapper)) => {
                    plan.methods.push(MethodPlan::wrapper(method_index, templates).capturing(captured));
                }
                (_, Some(_), Some(Mode::Wrapper)) => {
                    plan.refused.push(Refused { method_index, reason: NotWrapped::LoadedBefore.into() });
                }
                (_, Some(templates), Some(Mode::Inline)) => {
                    let planned = MethodPlan { wrapper_allowed: first, ..MethodPlan::inline(method_index, templates) };
                    plan.methods.push(planned.capturing(captured));
                }
                (_, None, _) | (_, _, None) => {}
            }
        }
        plan
    }

    /// Has these calls in the body of a method measured; returns whether anything is put around it.
    pub(crate) fn measure(&mut self, method_index: usize, sites: Vec<CallSite>) -> bool {
        let Some(plan) = self.methods.iter_mut().find(|plan| plan.method_index == method_index) else { return false };
        plan.sites = sites;
        true
    }

    /// Takes the templates off the wrappers among these methods, and the others out of the plan.
    pub(crate) fn strip(&mut self, is_meant: impl Fn(usize) -> bool) {
        self.methods.retain(|plan| plan.mode == Mode::Wrapper || !is_meant(plan.method_index));
        let meant = self.methods.iter_mut().filter(|plan| is_meant(plan.method_index));
        meant.for_each(|plan| plan.templates = Vec::new().into());
    }

    /// Leaves these templates to a method, and returns whether others are planned.
    pub(crate) fn leave(&mut self, method_index: usize, templates: &Arc<[TemplateId]>) -> bool {
        let Some(plan) = self.methods.iter_mut().find(|plan| plan.method_index == method_index) else { return false };
        let left = Templates::from(templates);
        let is_other = plan.templates != left;
        plan.templates = left;
        is_other
    }

    /// Whether anything is put around the method.
    pub(crate) fn has_templates(&self, method_index: usize) -> bool {
        // The plan is in the order of the class.
        let place = self.methods.binary_search_by_key(&method_index, |plan| plan.method_index);
        place.ok().and_then(|place| self.methods.get(place)).is_some_and(|plan| !plan.templates.is_empty())
    }
}
