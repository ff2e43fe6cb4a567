//! Conditions of contexts: evaluated at the beginning of a method of the context, on the application's thread.
//!
//! `call_values` reads what a condition looks at, `members` finds fields and getters of a class, `checks` says before a probe is inserted what cannot
//! be read. Of the application's code only getters of requests, `MDC.get`, getters that the configuration lists, and class loaders run, which are asked
//! for `org.slf4j.MDC`; a getter that only returns a field is read as this field.

mod call_values;
mod checks;
mod members;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use control::ConditionFigures;
use instrument_core::rules::predicates::Condition;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use settings::ConditionsConfig;

pub(crate) use checks::{KnownClasses, MethodUnderCondition, check, takes_request};

use call_values::CallValues;
use members::KnownMembers;

use crate::jvm::AnchoredCall;

/// The condition of a step of a context.
#[derive(Debug)]
pub(crate) struct StepCondition {
    pub(crate) condition: Condition,
    /// Whether the calls of the method itself are recorded for which it holds, not what is called within them.
    pub(crate) is_own: bool,
    allowed: ConditionsConfig,
    members: KnownMembers,
    evaluated: AtomicU64,
    held: AtomicU64,
    failed: AtomicU64,
    last_failure: Mutex<Option<String>>,
}

/// The conditions of anchors, by their numbers.
type Anchored = RwLock<FxHashMap<u32, Arc<StepCondition>>>;

fn anchored() -> &'static Anchored {
    static ANCHORED: OnceLock<Anchored> = OnceLock::new();
    ANCHORED.get_or_init(RwLock::default)
}

thread_local! {
    /// Whether this thread is evaluating a condition: a getter that it calls may be an anchor itself. A virtual thread stays on its carrier meanwhile, as
    /// there is a native frame.
    static IS_EVALUATING: Cell<bool> = const { Cell::new(false) };
}

/// As long as it exists, this thread evaluates a condition.
struct Evaluating;

impl Evaluating {
    /// `None` if this thread evaluates one already.
    fn begin() -> Option<Evaluating> {
        let is_evaluating = IS_EVALUATING.try_with(|is| is.replace(true)).unwrap_or(true);
        (!is_evaluating).then_some(Evaluating)
    }
}

impl Drop for Evaluating {
    fn drop(&mut self) {
        let _ = IS_EVALUATING.try_with(|is| is.set(false));
    }
}

impl StepCondition {
    /// A condition that has not been evaluated yet, and what the configuration allows it.
    pub(crate) fn new(condition: Condition, is_own: bool, allowed: &ConditionsConfig) -> StepCondition {
        StepCondition {
            condition,
            is_own,
            allowed: allowed.clone(),
            members: KnownMembers::default(),
            evaluated: AtomicU64::new(0),
            held: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            last_failure: Mutex::new(None),
        }
    }

    /// Returns how often it was evaluated.
    pub(crate) fn figures(&self) -> ConditionFigures {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        ConditionFigures {
            condition: self.condition.text().to_owned(),
            evaluated: count(&self.evaluated),
            held: count(&self.held),
            failed: count(&self.failed),
            last_failure: self.last_failure.lock().clone(),
        }
    }

    fn holds(&self, call: AnchoredCall<'_>) -> bool {
        self.evaluated.fetch_add(1, Ordering::Relaxed);
        match self.condition.holds(&mut CallValues::new(self, call)) {
            Ok(holds) => {
                self.held.fetch_add(u64::from(holds), Ordering::Relaxed);
                holds
            }
            Err(reason) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                let mut last = self.last_failure.lock();
                if last.as_ref() != Some(&reason.0) {
                    *last = Some(reason.0);
                }
                false
            }
        }
    }
}

/// From now on this anchor is one for which the condition must hold.
pub(crate) fn set(anchor: u32, condition: &Arc<StepCondition>) {
    anchored().write().insert(anchor, Arc::clone(condition));
}

/// From now on no anchor has this condition.
pub(crate) fn remove(condition: &Arc<StepCondition>) {
    anchored().write().retain(|_, known| !Arc::ptr_eq(known, condition));
}

/// Whether the condition of an anchor holds for a call; not if it has none any more, or if the thread is evaluating one already.
pub(crate) fn evaluate(call: AnchoredCall<'_>) -> bool {
    let Some(condition) = anchored().read().get(&call.anchor).cloned() else { return false };
    let Some(_evaluating) = Evaluating::begin() else { return false };
    condition.holds(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_evaluation() {
        let result = std::panic::catch_unwind(|| {
            let _evaluating = Evaluating::begin().unwrap();
            assert!(Evaluating::begin().is_none(), "one at a time");
            std::panic::resume_unwind(Box::new("in a condition"));
        });
        assert!(result.is_err() && Evaluating::begin().is_some());
    }
}
