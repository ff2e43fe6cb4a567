//! Callers that samples have not met are found by a hook (`caller_finder`): of methods that use hardly any processor time, and where the JIT's code hides them.

use std::sync::Arc;

use control::{Callers, CallersRequest};
use rustc_hash::FxHashSet;

use super::levels::{Seen, TwoLevels};
use super::measuring::COVERED;
use super::present_probes::HAS_NATIVES;
use super::run::{ABOVE, MOST_HOOKED, NEVER_ENDS, Run};
use crate::hot_spots::{BEGINS, TASK_BEGINS};
use crate::walks::{Ascent, HookedCaller};

/// A hook looks for so long, and at so many calls, at most.
const SECONDS: u64 = 2;
const HITS: u64 = 500;
/// Of fewer calls without a caller most may be those at the edges of windows.
const SOME: u64 = 20;

impl Run<'_> {
    /// Looks for callers of the methods of the present level of which no sample has a caller.
    pub(super) fn find_unsampled(&mut self, goes_on: &dyn Fn() -> bool) {
        let unsampled = |of: &Ascent| -> Vec<Arc<str>> {
            of.present().iter().filter(|callee| of.callers_of(callee).next().is_none()).cloned().collect()
        };
        let methods: Vec<Arc<str>> = self.ascents.iter().flat_map(unsampled).collect();
        let (methods, endless): (Vec<_>, Vec<_>) = methods.into_iter().partition(|of| self.is_called(of));
        for endless in &endless {
            let none = HookedCaller { method: Err(NEVER_ENDS), via: None, part: 1.0 };
            for ascent in &mut self.ascents {
                ascent.note_hooked(endless, std::slice::from_ref(&none), &self.options.policy);
            }
        }
        self.find(methods, goes_on);
    }

    /// Whether calls of a method begin and end, as far as it is known.
    fn is_called(&self, method: &Arc<str>) -> bool {
        self.without.get(method).is_none_or(|reason| reason != NEVER_ENDS && reason != ABOVE)
    }

    /// Looks for callers of the methods of which too many calls were within no call of a caller that is followed. Returns whether it has found some.
    pub(super) fn find_uncovered(&mut self, levels: &TwoLevels, seen: &Seen, goes_on: &dyn Fn() -> bool) -> bool {
        let policy = &self.options.policy;
        let is_uncovered = |callee: &Arc<str>| {
            self.ascents.iter().filter(|of| of.present().contains(callee)).any(|of| {
                let followed = of.followed_of(callee, policy);
                // Calls of loops that do not end are within none that is recorded.
                let has_loop = followed.iter().any(|of| self.without.contains_key(of));
                let measured = seen.of(callee, &followed).filter(|_| !has_loop);
                measured.is_some_and(|of| of.without_caller.calls >= SOME && of.covered() < COVERED)
            })
        };
        let methods = levels.callees.iter().filter(|callee| is_uncovered(callee)).cloned().collect();
        self.find(methods, goes_on)
    }

    /// Looks for callers of these methods, one after the other. Returns whether there are some to follow that were not known.
    fn find(&mut self, methods: Vec<Arc<str>>, goes_on: &dyn Fn() -> bool) -> bool {
        let mut has_found = false;
        for callee in &self.worth_a_hook(methods) {
            if !goes_on() {
                break;
            }
            self.set_state(&format!("looking for callers of {callee}"));
            match self.hooked_callers(callee, goes_on) {
                Ok(found) => {
                    let policy = &self.options.policy;
                    let mut is_new = false;
                    for ascent in &mut self.ascents {
                        is_new |= ascent.note_hooked(callee, &found, policy);
                    }
                    has_found |= is_new;
                    if is_new {
                        self.note(format!(
                            "callers of {callee} were found by a hook: samples have not met all of them"
                        ));
                    }
                }
                Err(reason) => {
                    self.note(format!("callers of {callee} that samples have not met are unknown: {reason}"))
                }
            }
        }
        has_found
    }

    /// Those of these methods whose callers are looked for, each once: not those that are never called, and not too many.
    pub(super) fn worth_a_hook(&self, mut methods: Vec<Arc<str>>) -> Vec<Arc<str>> {
        let mut looked_at: FxHashSet<Arc<str>> = FxHashSet::default();
        methods.retain(|of| self.is_called(of) && looked_at.insert(Arc::clone(of)));
        if methods.len() > MOST_HOOKED {
            let left_out = methods.split_off(MOST_HOOKED).join(", ");
            self.note(format!("a hook looks at {MOST_HOOKED} methods of a level, so not at {left_out}"));
        }
        methods
    }

    fn hooked_callers(&mut self, callee: &str, goes_on: &dyn Fn() -> bool) -> Result<Vec<HookedCaller>, String> {
        let request = CallersRequest { seconds: Some(SECONDS), hits: Some(HITS), ..CallersRequest::default() };
        Ok(hooked(&self.callers_by_hook(callee, request, goes_on)?))
    }

    /// Has a hook find the callers of a method.
    pub(super) fn callers_by_hook(
        &mut self,
        callee: &str,
        request: CallersRequest,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Callers, String> {
        let mut meant = self.session.meant_methods(callee, None).map_err(|refusal| refusal.to_string())?;
        meant.retain(|of| of.text == callee);
        if meant.iter().any(|of| of.has_natives) {
            return Err(HAS_NATIVES.to_owned());
        }
        let through = self.options.through.iter().map(|class| class.text().to_owned()).collect();
        let request = CallersRequest { method: callee.to_owned(), through, ..request };
        let found = self.session.find_callers(&request, &meant, goes_on).map_err(|refusal| refusal.to_string())?;
        if let Some(hook) = &found.hook {
            self.hooks.note_finder(hook);
        }
        Ok(found)
    }

    pub(super) fn note(&self, notice: String) {
        if let Some(walk) = &mut *self.shared.lock() {
            walk.notices.push(notice);
        }
    }
}

/// What a hook has found: callers, and calls with which threads or tasks begin.
pub(super) fn hooked(found: &Callers) -> Vec<HookedCaller> {
    let caller = |of: &control::Caller| HookedCaller {
        method: Ok(Arc::from(of.method.as_str())),
        via: of.via.as_deref().map(Arc::from),
        part: of.time_share.max(of.calls_share.unwrap_or(0.0)),
    };
    let without = found.without_caller.iter().filter_map(|of| {
        let reason = [BEGINS, TASK_BEGINS].into_iter().find(|reason| *reason == of.reason)?;
        Some(HookedCaller { method: Err(reason), via: None, part: of.share })
    });
    found.callers.iter().map(caller).chain(without).collect()
}
