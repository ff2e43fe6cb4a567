//! Probes by request, for a while: made, listed, ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{ClaimList, ClaimRow, ProbeRequest, Probed, Removed};
use instrument_core::level::Level;
use rustc_hash::FxHashMap;
use trace::report::counted;

use super::{Kinds, Session};
use crate::desired::{Claim, Expiry, RequestedProbes};
use crate::jvm::{LoadedClasses, block_signals, methods_of};
use crate::reconcile::Change;

/// Most methods that a pattern may match, unless the request states another number.
const MOST_METHODS: usize = 1_000;

impl Session {
    /// Inserts probes into methods, whether a rule takes them or not.
    pub(super) fn make_claim(&self, request: &ProbeRequest) -> Result<Probed, String> {
        let _one_at_a_time = self.reloading.lock();
        let template = request.template.as_deref().unwrap_or("timed");
        let probes = RequestedProbes::parse(&request.methods, template, request.level.unwrap_or(Level::Time))?;
        let before = self.instrumentation.generation();
        probes.rules(before.templates(), &before.setup.config.exclude)?;
        self.check_number_of_methods(&probes, request.most.unwrap_or(MOST_METHODS))?;
        // Probes of claims are live.
        self.get_ready(Kinds { live: true, read_clock: true, ..Kinds::of(&before.setup) })?;
        let now = Instant::now();
        let expiry = Expiry::after(now, request.seconds.map(Duration::from_secs), request.calls);
        let (id, text) = (self.instrumentation.claim_ids.next(), probes.text());
        let calls_before = self.calls_of(&self.probes_of(&probes));
        self.instrumentation.claims.add(Claim { id, probes: probes.clone(), expiry, calls_before, hits: 0 });
        self.put_claims_in_force();
        let generation = self.instrumentation.generation();
        let outcome =
            self.reconciler.carry_out(&self.instrumentation, Change::Claimed { generation, claim: id, is_made: true });
        let classes = outcome.unwrap_or_default().changed.len();
        let methods = self.probes_of(&probes).len();
        self.note_claim(id, &format!("{} of {text} by request", counted(methods as u64, "probe")));
        Ok(Probed { claim: id, methods, classes, waiting: self.reconciler.counts().waiting })
    }

    /// Ends a claim of a person.
    pub(super) fn remove_claim(&self, id: u32, reason: &str) -> Result<Removed, String> {
        let _one_at_a_time = self.reloading.lock();
        if let Some((methods, changes)) = self.instrumentation.live.remove_level_claim(id) {
            self.record_changes(&changes);
            return Ok(Removed { claim: id, methods });
        }
        let generation = self.instrumentation.generation();
        let Some(claim) = self.instrumentation.claims.remove(id) else {
            return Err(format!("there is no claim {id}: `instr claims` lists those of persons with their numbers"));
        };
        let disarmed = self.instrumentation.live.disarm_claimed(&self.probes_of(&claim.probes));
        self.put_claims_in_force();
        let change = Change::Claimed { generation, claim: id, is_made: false };
        self.reconciler.carry_out(&self.instrumentation, change);
        // What rules or other claims want has begun again.
        let others = self.instrumentation.claims.all();
        let mut lost = self.instrumentation.live.still_claimed(&disarmed);
        let is_wanted = |probe: &u32| {
            let name = self.instrumentation.probes.describe(*probe).map(|probe| probe.method);
            name.is_some_and(|name| others.iter().any(|other| other.probes.takes(&name)))
        };
        lost.retain(|probe| !is_wanted(probe));
        self.instrumentation.live.lose(&lost);
        let still_there: Vec<u32> = disarmed.difference(&lost).copied().collect();
        if let Some(withdrawn) = &self.instrumentation.withdrawn {
            withdrawn.govern_again(&self.instrumentation.live.removable_among(&still_there));
        }
        self.close_gate();
        self.note_claim(
            id,
            &format!("{} of {} removed: {reason}", counted(lost.len() as u64, "probe"), claim.probes.text()),
        );
        Ok(Removed { claim: id, methods: lost.len() })
    }

    /// Ends claims whose time or calls have been reached. Called by the drainer, which must not wait for that.
    pub(super) fn end_reached_claims(self: &Arc<Self>) {
        let Some(rates) = self.rates.as_ref().filter(|_| self.instrumentation.claims.are_due(Instant::now())) else {
            return;
        };
        let made = rates.lock().made();
        let calls = |claim: &Claim| {
            let so_far = |probe: u32| made.by_number.get(probe as usize).copied().unwrap_or(0);
            let before = |probe: u32| claim.calls_before.get(&probe).copied().unwrap_or(0);
            self.probes_of(&claim.probes).into_iter().map(|probe| so_far(probe).saturating_sub(before(probe))).sum()
        };
        let ended = self.instrumentation.claims.ended(Instant::now(), calls);
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

    /// Returns all claims: the rules, and those of persons and of the governor.
    pub(super) fn claim_list(&self) -> ClaimList {
        let generation = self.instrumentation.generation();
        let waiting = self.reconciler.counts().waiting;
        let mut claims: Vec<ClaimRow> = generation
            .rules()
            .rules()
            .iter()
            .map(|rule| ClaimRow {
                id: None,
                owner: "rules".to_owned(),
                role: "probe".to_owned(),
                class: rule.class_text(),
                method: rule.method_text(),
                level: Some(rule.level().name().to_owned()),
                state: "active".to_owned(),
                reason: format!("rule {} ({}), generation {}", rule.name(), rule.origin(), generation.number),
                hits: None,
                expires: None,
            })
            .collect();
        let by_person = self.instrumentation.claims.all();
        claims.extend(by_person.iter().map(|claim| probe_row(claim, &waiting)));
        claims.extend(self.instrumentation.live.level_claims());
        claims.extend(self.instrumentation.withdrawn.iter().flat_map(|withdrawn| withdrawn.claim_rows()));
        ClaimList { claims }
    }

    fn probes_of(&self, probes: &RequestedProbes) -> Vec<u32> {
        self.instrumentation.live.probes_of(|method| probes.takes(method))
    }

    fn calls_of(&self, probes: &[u32]) -> FxHashMap<u32, u64> {
        let Some(rates) = &self.rates else { return FxHashMap::default() };
        let made = rates.lock().made();
        probes.iter().filter_map(|probe| Some((*probe, *made.by_number.get(*probe as usize)?))).collect()
    }

    /// From now on classes get what the claims want, besides the rules.
    pub(super) fn put_claims_in_force(&self) {
        self.open_gate();
        let claims = self.instrumentation.claims.all();
        let (generation, refused) = self.instrumentation.generation().with_claims(&claims);
        self.instrumentation.replace_generation(generation);
        for (id, reason) in refused {
            self.note_claim(id, &format!("has no effect any more: {reason}"));
        }
    }

    fn note_claim(&self, id: u32, what: &str) {
        let line = format!("claim {id}: {what}");
        tracing::info!("{line}");
        self.instrumentation.live.note(&line);
        self.instrumentation.events.note("claim", &line);
    }

    /// Refuses a pattern that matches more methods of loaded classes than are meant.
    fn check_number_of_methods(&self, probes: &RequestedProbes, most: usize) -> Result<(), String> {
        let counted = self.vm.with_attached_daemon(c"instr-probe", |jni| {
            let loaded = LoadedClasses::all(self.jvmti, jni).map_err(|error| error.to_string())?;
            let (mut classes, mut methods) = (0, 0);
            for class in loaded.as_slice() {
                let Some(name) = class.internal_name(self.jvmti) else { continue };
                let name = String::from_utf8_lossy(&name).into_owned();
                let takes = |method: &[u8]| probes.takes(&format!("{name}.{}", String::from_utf8_lossy(method)));
                if !probes.may_be_in(&name) {
                    continue;
                }
                let meant = methods_of(self.jvmti, *class).iter().filter(|method| takes(&method.name)).count();
                classes += usize::from(meant > 0);
                methods += meant;
            }
            Ok((classes, methods))
        });
        let (classes, methods) = counted.unwrap_or_else(|| Err("the JVM attaches no more threads".to_owned()))?;
        if methods > most {
            return Err(format!(
                "{} matches {methods} methods of {classes} loaded classes, and {most} are allowed: name fewer, or allow more with `--most {methods}`",
                probes.text()
            ));
        }
        Ok(())
    }
}

fn probe_row(claim: &Claim, waiting: &[String]) -> ClaimRow {
    let Claim { id, probes, expiry, hits, .. } = claim;
    let seconds = expiry.seconds_left(Instant::now()).map(|seconds| format!("in {seconds} s"));
    let calls = expiry.calls.map(|calls| format!("after {calls} calls"));
    let expires: Vec<String> = seconds.into_iter().chain(calls).collect();
    let class = probes.class.as_str();
    let waits = waiting.iter().any(|reason| reason.starts_with(&format!("{class} waits")));
    ClaimRow {
        id: Some(*id),
        owner: "user".to_owned(),
        role: "probe".to_owned(),
        class: class.to_owned(),
        method: probes.method.clone(),
        level: Some(probes.level.name().to_owned()),
        state: if waits { "waiting" } else { "active" }.to_owned(),
        reason: "instr probe".to_owned(),
        hits: Some(*hits),
        expires: (!expires.is_empty()).then(|| expires.join(" or ")),
    }
}
