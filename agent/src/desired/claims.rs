//! Claims of persons on methods: probes for a while, where no rule has any.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::expiry::{Expiry, Progress};
use super::probe_request::RequestedProbes;
use crate::call_sites::DiagnosisNumber;
use crate::caller_hooks::CallerHook;
use crate::contexts::Context;

/// Numbers the claims of a session.
#[derive(Debug, Default)]
pub(crate) struct ClaimIds(AtomicU32);

impl ClaimIds {
    /// Returns the next number, beginning with 1.
    pub(crate) fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether a claim has or had this number.
    pub(crate) fn was_given(&self, number: u32) -> bool {
        (1..=self.0.load(Ordering::Relaxed)).contains(&number)
    }
}

/// A claim on probes.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) id: u32,
    pub(crate) probes: RequestedProbes,
    /// The context inside which the probes record, if not everywhere.
    pub(crate) context: Option<Arc<Context>>,
    /// Set if it has no probes, but a diagnosis: its number in this process.
    pub(crate) diagnosis: Option<DiagnosisNumber>,
    /// Set if it has no probes, but the hook of a caller finder.
    pub(crate) caller_hook: Option<CallerHook>,
    pub(crate) expiry: Expiry,
    /// Calls of each probe that had been recorded when the claim was made.
    pub(crate) calls_before: FxHashMap<u32, u64>,
    /// Calls that have been recorded for it.
    pub(crate) hits: u64,
    pub(crate) kept: Kept,
    /// Why it has ended, from the first look at which a limit was reached: the application may be healthy again before the probes are removed.
    pub(crate) ended: Option<&'static str>,
}

/// Whether a claim is in the file of claims for the next start, or who made it if no person did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    No,
    /// It was written there in this session.
    ForNextStart,
    /// It was read from there.
    SinceEarlierStart,
    /// It is a `[[context]]` of the configuration file.
    InConfiguration,
    /// It belongs to a walk or a caller finder, which ends it.
    ForWalk,
}

impl Claim {
    /// A claim before the first call of its probes, which is not kept.
    pub(crate) fn new(id: u32, probes: RequestedProbes, expiry: Expiry) -> Claim {
        Claim {
            id,
            probes,
            context: None,
            diagnosis: None,
            caller_hook: None,
            expiry,
            calls_before: FxHashMap::default(),
            hits: 0,
            kept: Kept::No,
            ended: None,
        }
    }

    /// Returns the internal names of the classes that have no probes of this claim, but something else that they lose with it.
    pub(crate) fn changed_classes(&self) -> FxHashSet<Arc<[u8]>> {
        let hooked = self.caller_hook.iter().flat_map(|hook| hook.methods.iter().map(|key| Arc::clone(&key.class)));
        self.probes.preparing_classes().chain(hooked).collect()
    }

    /// Whether the claim is in the file of claims.
    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self.kept, Kept::ForNextStart | Kept::SinceEarlierStart)
    }
}

/// Whether a claim has ended is looked at this often.
const LOOK: Duration = Duration::from_millis(100);

/// The claims on probes of a session.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    claims: Mutex<BTreeMap<u32, Claim>>,
    looked: Mutex<Option<Instant>>,
}

impl Claims {
    /// Adds a claim.
    pub(crate) fn add(&self, claim: Claim) {
        self.claims.lock().insert(claim.id, claim);
    }

    /// Whether there is a claim with this number.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.claims.lock().contains_key(&id)
    }

    /// Whether this claim is a `[[context]]` of the configuration file: only a reload ends it.
    pub(crate) fn is_in_configuration(&self, id: u32) -> bool {
        self.claims.lock().get(&id).is_some_and(|claim| claim.kept == Kept::InConfiguration)
    }

    /// Returns the claim with this number, which is one no more.
    pub(crate) fn remove(&self, id: u32) -> Option<Claim> {
        self.claims.lock().remove(&id)
    }

    /// Forgets all claims: nothing is recorded any more.
    pub(crate) fn clear(&self) {
        self.claims.lock().clear();
    }

    /// Returns all claims, the oldest first.
    pub(crate) fn all(&self) -> Vec<Claim> {
        self.claims.lock().values().cloned().collect()
    }

    /// Whether there are claims, and it is time to look whether one has ended.
    pub(crate) fn are_due(&self, now: Instant) -> bool {
        let mut looked = self.looked.lock();
        if looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK) || self.claims.lock().is_empty() {
            return false;
        }
        *looked = Some(now);
        true
    }

    /// Notes that the client has disconnected on which this claim may depend.
    pub(crate) fn note_client_left(&self, id: u32) {
        if let Some(claim) = self.claims.lock().get_mut(&id) {
            claim.expiry.note_client_left();
        }
    }

    /// Notes how many calls have been recorded for each claim, and returns those that have ended, with the reason: at each look until they are removed.
    pub(crate) fn ended(&self, progress: impl Fn(&Claim) -> Progress) -> Vec<(u32, &'static str)> {
        let mut ended = Vec::new();
        for claim in self.claims.lock().values_mut() {
            let progress = progress(claim);
            claim.hits = progress.calls;
            claim.ended = claim.ended.or_else(|| claim.expiry.reached(&progress));
            ended.extend(claim.ended.map(|reason| (claim.id, reason)));
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use control::ClaimLimits;
    use instrument_core::level::Level;

    use super::*;
    use crate::health::Condition;

    #[test]
    fn a_claim_ends_by_its_own_limit_and_leaves_the_others() {
        let (claims, ids, now) = (Claims::default(), ClaimIds::default(), Instant::now());
        for most in [10, 20] {
            let probes = RequestedProbes::parse("a.B.c", "timed", Level::Time).unwrap();
            let limits = ClaimLimits { seconds: Some(60), calls: Some(most), ..ClaimLimits::default() };
            let expiry = Expiry::new(limits, now, None);
            claims.add(Claim::new(ids.next(), probes, expiry));
        }
        let ended = |seconds, calls| {
            let now = now + Duration::from_secs(seconds);
            claims.ended(|_| Progress { now, calls, cpu_time: Duration::ZERO, condition: None })
        };
        assert_eq!(ended(0, 9), []);
        assert_eq!(ended(0, 10), [(1, "its calls have been recorded")]);
        assert!(claims.remove(1).is_some() && claims.remove(1).is_none());
        assert_eq!(claims.all().iter().map(|claim| (claim.id, claim.hits)).collect::<Vec<_>>(), [(2, 10)]);
        assert_eq!(ended(60, 0), [(2, "its time is over")]);
    }

    #[test]
    fn a_claim_that_has_ended_does_not_begin_anew() {
        let (claims, now) = (Claims::default(), Instant::now());
        let limits = ClaimLimits { while_healthy: true, ..ClaimLimits::default() };
        let probes = RequestedProbes::parse("a.B.c", "timed", Level::Time).unwrap();
        claims.add(Claim::new(1, probes, Expiry::new(limits, now, None)));
        let ended = |condition| {
            claims.ended(|_| Progress { now, calls: 0, cpu_time: Duration::ZERO, condition: Some(condition) })
        };
        assert_eq!(ended(Condition::Healthy(now)), []);
        let in_trouble = [(1, "the application is in trouble")];
        assert_eq!(ended(Condition::Exceeded(3)), in_trouble);
        assert_eq!(ended(Condition::Healthy(now)), in_trouble);
    }
}
