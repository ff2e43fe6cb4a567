//! Callers that samples have not met are found by a hook (`caller_finder`): of methods that use hardly any processor time, and where the JIT's code hides them.

use std::sync::Arc;

use control::CallersRequest;
use rustc_hash::FxHashSet;

use super::levels::{Seen, TwoLevels};
use super::measuring::COVERED;
use super::run::{ABOVE, NEVER_ENDS, Run};
use crate::walks::{Ascent, HookedCaller};

/// A hook looks for so long, and at so many calls, at most.
const SECONDS: u64 = 2;
const HITS: u64 = 500;
/// The callers of so many methods of a level are looked for.
const MOST: usize = 4;
/// Of fewer calls without a caller most may be those at the edges of windows.
const SOME: u64 = 20;

impl Run<'_> {
    /// Looks for callers of the methods of the present level of which no sample has a caller.
    pub(super) fn find_unsampled(&mut self, goes_on: &dyn Fn() -> bool) {
        let unsampled = |of: &Ascent| -> Vec<Arc<str>> {
            of.present().iter().filter(|callee| of.callers_of(callee).next().is_none()).cloned().collect()
        };
        let methods = self.ascents.iter().flat_map(unsampled).collect();
        self.find(methods, goes_on);
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
    fn find(&mut self, mut methods: Vec<Arc<str>>, goes_on: &dyn Fn() -> bool) -> bool {
        let mut looked_at: FxHashSet<Arc<str>> = FxHashSet::default();
        methods.retain(|of| {
            let is_reached = self.without.get(of).is_none_or(|reason| reason != NEVER_ENDS && reason != ABOVE);
            is_reached && looked_at.insert(Arc::clone(of))
        });
        let mut has_found = false;
        for callee in methods.iter().take(MOST) {
            if !goes_on() {
                break;
            }
            self.set_state(&format!("looking for callers of {callee}"));
            match self.hooked_callers(callee, goes_on) {
                Ok(found) => {
                    let policy = &self.options.policy;
                    for ascent in &mut self.ascents {
                        has_found |= ascent.note_hooked(callee, &found, policy);
                    }
                    if !found.is_empty() {
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

    fn hooked_callers(&self, callee: &str, goes_on: &dyn Fn() -> bool) -> Result<Vec<HookedCaller>, String> {
        let mut meant = self.session.meant_methods(callee, None).map_err(|refusal| refusal.to_string())?;
        meant.retain(|of| of.text == callee);
        let request = CallersRequest {
            method: callee.to_owned(),
            seconds: Some(SECONDS),
            hits: Some(HITS),
            through: self.options.through.iter().map(|class| class.text().to_owned()).collect(),
            ..CallersRequest::default()
        };
        let found = self.session.find_callers(&request, &meant, goes_on).map_err(|refusal| refusal.to_string())?;
        let caller = |of: control::Caller| HookedCaller {
            method: Arc::from(of.method),
            via: of.via.map(Arc::from),
            part: of.time_share.max(of.calls_share.unwrap_or(0.0)),
        };
        Ok(found.callers.into_iter().map(caller).collect())
    }

    fn note(&self, notice: String) {
        if let Some(walk) = &mut *self.shared.lock() {
            walk.notices.push(notice);
        }
    }
}
