//! Levels that hooks count, in the place of probes: those of methods with which tasks of pools, or threads, begin, by who hands these over (`--across-threads`), as that is executed on another thread,
//! and earlier, so probes do not see one within the other; and all levels of a walk by another metric than time, which probes do not measure.

use std::sync::Arc;

use control::{Callers, CallersRequest, HotBy, USUAL_HITS};
use rustc_hash::FxHashMap;

use super::missing_callers::hooked;
use super::run::Run;
use crate::recorder::CallSum;
use crate::walks::{ByHook, Measured};

impl Run<'_> {
    /// Counts calls of methods of the present level by a hook, where probes do not say enough; returns what is known of these methods.
    pub(super) fn count_by_hooks(&mut self, goes_on: &dyn Fn() -> bool) -> FxHashMap<Arc<str>, Measured> {
        let mut counted = FxHashMap::default();
        let all: Vec<Arc<str>> = self.ascents.iter().flat_map(|of| of.present()).cloned().collect();
        let to_count = all.into_iter().filter(|of| self.options.metric.is_some() || self.is_handed_over(of)).collect();
        for callee in self.worth_a_hook(to_count) {
            if !goes_on() {
                break;
            }
            let is_handed_over = self.is_handed_over(&callee);
            let what = if is_handed_over { "looking for who hands over" } else { "counting calls of" };
            self.set_state(&format!("{what} {callee}"));
            let request = CallersRequest {
                by: Some(self.options.metric.unwrap_or(HotBy::Wall)),
                seconds: Some(self.options.period.as_secs().max(1)),
                hits: Some(self.options.calls.min(USUAL_HITS)),
                across_threads: is_handed_over,
                ..CallersRequest::default()
            };
            match self.callers_by_hook(&callee, request, goes_on) {
                Ok(found) if !found.callers.is_empty() => {
                    let policy = &self.options.policy;
                    for ascent in &mut self.ascents {
                        ascent.note_hooked(&callee, &hooked(&found), policy);
                    }
                    counted.insert(callee, measured(&found));
                }
                Ok(_) if is_handed_over => self.note(format!(
                    "who hands over {callee} is unknown: no task that begins with it was handed over and begun meanwhile"
                )),
                Ok(_) => {}
                Err(reason) => self.note(format!("calls of {callee} are not counted: {reason}")),
            }
        }
        counted
    }

    /// Whether tasks or threads begin with a method, and one looks who hands them over.
    fn is_handed_over(&self, callee: &str) -> bool {
        let policy = &self.options.policy;
        let begins = |share: f64| share > 0.0 && share >= policy.share;
        policy.across_threads && self.ascents.iter().any(|of| begins(of.begins_with(callee)))
    }
}

fn measured(found: &Callers) -> Measured {
    let used = |of: &control::Caller| of.amount.unwrap_or(of.time_ms * 1e6) as u64;
    let sum = |of: &control::Caller| CallSum { calls: of.calls.unwrap_or(0), nanos: used(of) };
    let by_caller: FxHashMap<Arc<str>, CallSum> =
        found.callers.iter().map(|of| (Arc::from(of.method.as_str()), sum(of))).collect();
    let known: u64 = by_caller.values().map(|sum| sum.calls).sum();
    let all = found.hook.as_ref().map_or(known, |hook| hook.calls);
    let margins = |of: &control::Caller| (Arc::from(of.method.as_str()), [of.calls_margin, of.margin]);
    Measured {
        by_caller,
        without_caller: CallSum { calls: all.saturating_sub(known), nanos: 0 },
        by_hook: Some(ByHook {
            margins: found.callers.iter().map(margins).collect(),
            has_amounts: found.by != HotBy::Wall,
        }),
    }
}
