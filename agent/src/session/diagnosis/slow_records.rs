//! A record for each slow call of the method that is diagnosed: when, on which thread, how long, and where its time went.

use super::run::Run;
use super::without_limit::Basis;
use crate::call_sites::{self, SlowCall, Sum};
use crate::descent::slow_path;
use crate::jvm::{probe_length_nanos, probe_nanos};

impl Run {
    /// Records the slow calls that have ended since the last time. Those before the descent has come further have short paths.
    pub(super) fn record_slow_calls(&self) {
        // Until it is settled which calls count, they may not be slow; where all count, none is.
        let is_settled = self.basis == Basis::Limit;
        let calls = if is_settled { call_sites::take_slow_calls(self.number) } else { Vec::new() };
        if calls.is_empty() {
            return;
        }
        let of_all = {
            let shared = self.shared.lock();
            let (method, context, condition) =
                (shared.method.clone(), shared.context.clone(), shared.condition.clone());
            trace::SlowCall { claim: shared.claim.into(), method, context, condition, ..trace::SlowCall::default() }
        };
        for call in calls {
            let ended = probe_nanos(call.ended);
            let recorded = self.recorded(call, &of_all);
            let began = ended.saturating_sub(recorded.duration_nanos);
            self.session.instrumentation.events.slow_call(began, recorded);
        }
    }

    fn recorded(&self, call: SlowCall, of_all: &trace::SlowCall) -> trace::SlowCall {
        let step = |(method, Sum { calls, time }): (String, Sum)| trace::SlowCallStep {
            method,
            calls,
            nanos: probe_length_nanos(time),
        };
        let whole = call.cells.iter().find(|(cell, _)| *cell == 0).map_or(0, |(_, sum)| sum.time);
        trace::SlowCall {
            thread_id: call.thread.java_id,
            thread: call.thread.name,
            duration_nanos: probe_length_nanos(whole),
            path: slow_path(&self.tree, &call.cells).into_iter().map(step).collect(),
            ..of_all.clone()
        }
    }
}
