//! Claims that end by themselves: their limits, and who ends them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{ClaimLimits, ProbeRequest};

use super::Session;
use crate::desired::{Claim, Expiry, Progress};
use crate::health::HealthWatch;
use crate::jvm::{block_signals, counter, process_cpu_time};

impl Session {
    /// Returns the end of a claim that is made now; refuses limits that nothing here measures.
    pub(super) fn expiry_of(&self, request: &ProbeRequest) -> Result<Expiry, String> {
        let limits = &request.limits;
        self.check_limits(limits)?;
        // A claim that is kept for the next start has no end unless one is stated.
        let expiry = if request.pin { Expiry::exactly } else { Expiry::new };
        Ok(expiry(*limits, Instant::now(), last_cpu_time(limits)))
    }

    /// Refuses limits that nothing here measures.
    pub(super) fn check_limits(&self, limits: &ClaimLimits) -> Result<(), String> {
        if limits.cycles.is_some() && last_cpu_time(limits).is_none() {
            return Err(
                "processor cycles are not counted here: the kernel does not use the processor's counter as its clock; \
                limit the claim by a time or a number of calls"
                    .to_owned(),
            );
        }
        let needs_health = limits.while_healthy || limits.healthy_seconds.is_some();
        if needs_health && !self.running.lock().health.as_ref().is_some_and(HealthWatch::has_limits) {
            let generation = self.instrumentation.generation();
            let why =
                generation.setup.why_no_breaker().unwrap_or("the JVM counts no collections, as with -XX:-UsePerfData");
            return Err(format!(
                "the health of this application is not known, as there is no breaker: {why}. Or limit the claim by a time or a number of calls"
            ));
        }
        Ok(())
    }

    /// Notes that the client has disconnected that made these claims. Those that depend on it end soon.
    pub(super) fn note_client_left(&self, claims: &[u32]) {
        claims.iter().for_each(|id| self.instrumentation.claims.note_client_left(*id));
    }

    /// Ends claims of which a limit has been reached. Called by the drainer, which must not wait for that.
    pub(super) fn end_reached_claims(self: &Arc<Self>) {
        let Some(rates) = self.rates.as_ref().filter(|_| self.instrumentation.claims.are_due(Instant::now())) else {
            return;
        };
        let calls = |claim: &Claim| {
            let numbers = self.instrumentation.live.numbers_of_claim(claim.id);
            let rates = rates.lock();
            let since = |number: u32| {
                let before = claim.calls_before.get(&number).copied().unwrap_or(0);
                rates.made_by(number as usize).saturating_sub(before)
            };
            numbers.into_iter().map(since).sum()
        };
        let (now, cpu_time, condition) = (Instant::now(), process_cpu_time(), self.health.lock().condition);
        let progress = |claim: &Claim| Progress { now, calls: calls(claim), cpu_time, condition };
        let ended = self.instrumentation.claims.ended(progress);
        // At once, whatever is being done to classes: the rest may take a while.
        ended.iter().for_each(|(id, _)| self.switch_off(*id));
        let mut running = self.running.lock();
        if ended.is_empty() || running.claims.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let session = Arc::clone(self);
        let end = move || {
            block_signals();
            for (id, reason) in ended {
                if let Err(reason) = session.remove_claim(id, reason) {
                    tracing::debug!("{reason}");
                }
            }
        };
        match std::thread::Builder::new().name("instr-claims".to_owned()).spawn(end) {
            Ok(thread) => running.claims = Some(thread),
            Err(error) => tracing::error!(%error, "claims that have ended stay: there is no thread for removing them"),
        }
    }
}

/// Returns the CPU time of the process at which the cycles of a claim are used up that is made now.
pub(super) fn last_cpu_time(limits: &ClaimLimits) -> Option<Duration> {
    Some(process_cpu_time().saturating_add(counter::time_of_cycles(limits.cycles?)?))
}
