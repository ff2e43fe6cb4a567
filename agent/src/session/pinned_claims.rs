//! Claims that are kept for the next start, in the file that `[claims]` names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{ClaimLimits, ProbeRequest};
use settings::PinnedClaim;

use super::Session;
use super::claims::open_context;
use super::ends_of_claims::last_cpu_time;
use crate::contexts::{self, Context};
use crate::desired::{Claim, Expiry, Kept, RequestedProbes};
use crate::files::claims_file::ClaimsFile;
use crate::log::message;

impl Session {
    /// Returns the claims that are kept in the file, none if it cannot be used, which is then reported.
    pub(super) fn pinned_claims(&self) -> Vec<PinnedClaim> {
        let Some(file) = self.claims_file() else { return Vec::new() };
        file.read().unwrap_or_else(|reason| {
            message::say(reason.trim_end());
            message::say("the application runs without the pinned claims; the file stays as it is, and `instr probe --pin` is refused until it is corrected or removed");
            Vec::new()
        })
    }

    /// Puts claims of the file in force, before the first class is decided.
    pub(super) fn take_up(&self, pinned: &[PinnedClaim]) {
        let Some(file) = self.claims_file().filter(|_| !pinned.is_empty()) else { return };
        let _one_at_a_time = self.reloading.lock();
        for claim in pinned {
            match self.persisted(claim) {
                Ok((probes, context, expiry)) => {
                    let (id, text) = (self.instrumentation.claim_ids.next(), probes.text());
                    // No class has an anchor yet, so none is half done.
                    context.iter().for_each(|context| contexts::of_process().arm(context));
                    let claim = Claim { kept: Kept::SinceEarlierStart, context, ..Claim::new(id, probes, expiry) };
                    self.instrumentation.claims.add(claim);
                    self.note_claim(id, &format!("probes of {text}, kept in {}", file.path().display()));
                }
                Err(reason) => {
                    let place = format!("{}:{}", file.path().display(), claim.line);
                    message::say(&format!("{place}: {}; the application runs without this claim", reason.trim_end()));
                }
            }
        }
        self.put_claims_in_force();
    }

    fn persisted(&self, claim: &PinnedClaim) -> Result<(RequestedProbes, Option<Arc<Context>>, Expiry), String> {
        let methods = claim.methods.as_deref().unwrap_or_default();
        let probes = RequestedProbes::parse(methods, &claim.template, claim.level)?;
        let probes = claim.within.iter().try_fold(probes, |probes, context| probes.within(context))?;
        let probes = if claim.direct { probes.directly()? } else { probes };
        let probes = claim.when.iter().try_fold(probes, |probes, when| probes.when(when, false))?;
        let probes = if claim.across_threads { probes.across_threads()? } else { probes };
        let probes = claim.across_hosts.iter().try_fold(probes, |probes, name| probes.across_hosts(name))?;
        let generation = self.instrumentation.generation();
        for pattern in probes.asked_patterns() {
            pattern.rules(generation.templates(), &generation.setup.config.exclude)?;
        }
        let limits = limits_of(claim);
        self.check_limits(&limits)?;
        let context = open_context(&probes, &self.instrumentation.config.conditions)?;
        Ok((probes, context, Expiry::exactly(limits, Instant::now(), last_cpu_time(&limits))))
    }

    /// Writes a requested claim into the file if it is to be kept for the next start.
    pub(super) fn pin(&self, probes: &RequestedProbes, request: &ProbeRequest) -> Result<Kept, String> {
        if !request.pin {
            return Ok(Kept::No);
        }
        if request.limits.while_connected {
            return Err("a claim that is kept for the next start cannot end with its client".to_owned());
        }
        let file = self.claims_file().ok_or("there is no `file` in [claims]")?;
        let wanted = pinned_claim(probes, &request.limits);
        let others = self.instrumentation.claims.all().into_iter().filter(Claim::is_pinned);
        let same = |claim: &Claim| pinned_claim(&claim.probes, &ClaimLimits::default()).wants_the_same(&wanted);
        if let Some(Claim { id, .. }) = others.into_iter().find(same) {
            return Err(format!("claim {id} is pinned and wants the same: remove it to pin it with other limits"));
        }
        file.add(wanted)
            .map_err(|reason| format!("nothing was pinned and no probe inserted: {}", reason.trim_end()))?;
        Ok(Kept::ForNextStart)
    }

    /// Takes a claim that has ended out of the file.
    pub(super) fn unpin(&self, claim: &Claim) -> Result<(), String> {
        let Some(file) = self.claims_file().filter(|_| claim.is_pinned()) else { return Ok(()) };
        file.remove(&pinned_claim(&claim.probes, &ClaimLimits::default())).map_err(|reason| {
            let reason = reason.trim_end();
            let text = format!("claim {} has ended, but it is still kept for the next start: {reason}", claim.id);
            tracing::warn!("{text}");
            text
        })
    }

    fn claims_file(&self) -> Option<ClaimsFile> {
        self.instrumentation.config.claims.file.as_deref().map(ClaimsFile::new)
    }
}

fn limits_of(claim: &PinnedClaim) -> ClaimLimits {
    ClaimLimits {
        seconds: claim.time.map(|time| time.as_secs()),
        calls: claim.calls.map(u64::from),
        cycles: claim.cycles,
        healthy_seconds: claim.healthy_for.map(|time| time.as_secs()),
        while_healthy: claim.while_healthy,
        while_connected: false,
    }
}

fn pinned_claim(probes: &RequestedProbes, limits: &ClaimLimits) -> PinnedClaim {
    PinnedClaim {
        methods: Some(probes.text()),
        within: probes.asked_within(),
        direct: probes.direct,
        when: probes.asked_condition().map(str::to_owned),
        across_threads: probes.reaches_across_threads(),
        across_hosts: probes.name_for_hosts().map(str::to_owned),
        template: probes.template.clone(),
        level: probes.level,
        time: limits.seconds.map(Duration::from_secs),
        // More than this are never recorded.
        calls: limits.calls.map(|calls| u32::try_from(calls).unwrap_or(u32::MAX)),
        cycles: limits.cycles,
        healthy_for: limits.healthy_seconds.map(Duration::from_secs),
        while_healthy: limits.while_healthy,
        line: 0,
    }
}
