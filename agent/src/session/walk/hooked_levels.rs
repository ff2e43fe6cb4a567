//! Levels that hooks count, in the place of probes: those of methods with which tasks of pools, or threads, begin, by who hands these over (`--across-threads`), as that is executed on another thread,
//! and earlier, so probes do not see one within the other; and all levels of a walk by another metric than time, which probes do not measure.

use std::sync::Arc;

use control::{Callers, CallersRequest, HotBy, USUAL_HITS};
use rustc_hash::FxHashMap;

use super::missing_callers::hooked;
use super::run::Run;
use crate::recorder::CallSum;
use crate::walks::{ByHook, Measured};

/// Calls that have not ended or were not measured, up to this part, leave shares of the rest what they are.
const UNMEASURED: f64 = 0.05;

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
            let mut is_handed_over = self.is_handed_over(&callee);
            let what = if is_handed_over { "looking for who hands over" } else { "counting calls of" };
            self.set_state(&format!("{what} {callee}"));
            let mut counted_calls = self.counted_calls(&callee, is_handed_over, goes_on);
            // What no sample has met says only now that it begins tasks.
            if let Ok(found) = &counted_calls
                && !is_handed_over
            {
                self.note_hooked(&callee, found);
                is_handed_over = self.is_handed_over(&callee);
                if is_handed_over {
                    counted_calls = self.counted_calls(&callee, true, goes_on);
                }
            }
            match counted_calls {
                Ok(found) if !found.callers.is_empty() => {
                    self.note_hooked(&callee, &found);
                    found.notices.iter().for_each(|notice| self.note(format!("{callee}: {notice}")));
                    counted.insert(callee, measured(&found));
                }
                Ok(found) if is_handed_over => self.note(format!(
                    "who hands over {callee} is unknown: no task that begins with it was handed over and begun meanwhile{}",
                    found.notices.iter().map(|notice| format!("; {notice}")).collect::<String>()
                )),
                Ok(found) => found.notices.iter().for_each(|notice| self.note(format!("{callee}: {notice}"))),
                Err(reason) => self.note(format!("calls of {callee} are not counted: {reason}")),
            }
        }
        counted
    }

    fn counted_calls(
        &mut self,
        callee: &str,
        across_threads: bool,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Callers, String> {
        let request = CallersRequest {
            by: Some(self.options.metric.unwrap_or(HotBy::Wall)),
            seconds: Some(self.options.period.as_secs_f64().ceil() as u64),
            hits: Some(self.options.calls.min(USUAL_HITS)),
            used: self.options.used,
            across_threads,
            ..CallersRequest::default()
        };
        self.callers_by_hook(callee, request, goes_on)
    }

    fn note_hooked(&mut self, callee: &Arc<str>, found: &Callers) {
        for ascent in &mut self.ascents {
            ascent.note_hooked(callee, &hooked(found), &self.options.policy);
        }
    }

    /// Whether tasks or threads begin with a method, and one looks who hands them over.
    fn is_handed_over(&self, callee: &str) -> bool {
        let policy = &self.options.policy;
        let begins = |share: f64| share > 0.0 && share >= policy.share;
        policy.across_threads && self.ascents.iter().any(|of| begins(of.begins_with(callee)))
    }
}

fn measured(found: &Callers) -> Measured {
    // If too many are not measured, or little is used, shares may be those of something else.
    let is_doubtful = found.hook.as_ref().is_some_and(|hook| hook.unended as f64 > hook.calls as f64 * UNMEASURED);
    let is_known = !is_doubtful && !found.hook.as_ref().is_some_and(|hook| hook.too_little);
    let used = |of: &control::Caller| if is_known { of.amount.unwrap_or(of.time_ms * 1e6) as u64 } else { 0 };
    let sum = |of: &control::Caller| CallSum::of(of.calls.unwrap_or(0), used(of));
    let by_caller: FxHashMap<Arc<str>, CallSum> =
        found.callers.iter().map(|of| (Arc::from(of.method.as_str()), sum(of))).collect();
    let known: u64 = by_caller.values().map(|sum| sum.calls).sum();
    let all = found.hook.as_ref().map_or(known, |hook| hook.calls);
    let margins = |of: &control::Caller| (Arc::from(of.method.as_str()), [of.calls_margin, of.margin]);
    Measured {
        by_caller,
        without_caller: CallSum::of(all.saturating_sub(known), 0),
        by_hook: Some(ByHook {
            margins: found.callers.iter().map(margins).collect(),
            has_amounts: found.callers.iter().any(|of| of.amount.is_some()),
        }),
    }
}
