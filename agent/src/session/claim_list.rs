//! Who wants which probes, and whether these are there: what `instr claims` lists.

use std::time::Instant;

use control::{ClaimList, ClaimRow, DiagnosisState};
use instrument_core::selection::CompiledRule;
use trace::report::counted;

use super::Session;
use crate::caller_hooks;
use crate::contexts;
use crate::desired::{Claim, Kept, RequestedProbes};

impl Session {
    /// Returns all claims: the rules, and those of persons and of the governor. After the end of the recording only rules are left.
    pub(super) fn claim_list(&self) -> ClaimList {
        let ended = self.status_ended();
        let mut claims = self.rule_rows(ended.as_deref());
        if ended.is_none() {
            let by_person = self.instrumentation.claims.all();
            for claim in &by_person {
                let mut row = self.probe_row(claim);
                let methods = claim.probes.within.iter().enumerate();
                let anchors: Vec<ClaimRow> = methods.map(|(at, of)| self.anchor_row(&row, claim, (at, of))).collect();
                // Without one of its methods the context is not met, whatever probes there are.
                if let Some(missing) =
                    anchors.iter().find(|anchor| anchor.state != "active").filter(|_| row.state == "active")
                {
                    row.state.clone_from(&missing.state);
                    row.reason = format!("{}; {}.{} is {}", row.reason, missing.class, missing.method, missing.state);
                }
                claims.push(row);
                claims.extend(anchors);
            }
            claims.extend(self.instrumentation.live.level_claims());
            claims.extend(self.instrumentation.live.raised());
            claims.extend(self.instrumentation.live.ceilings());
            claims.extend(self.instrumentation.withdrawn.iter().flat_map(|withdrawn| withdrawn.claim_rows()));
        }
        ClaimList { claims }
    }

    /// Returns the rules; `ended` is why the recording has ended.
    fn rule_rows(&self, ended: Option<&str>) -> Vec<ClaimRow> {
        let generation = self.instrumentation.generation();
        let waiting = self.reconciler.waiting_classes();
        let first_waiting = |rule: usize| {
            let meant = waiting.iter().filter(|((name, _), _)| generation.rules().rule_wants_name(rule, name));
            meant.map(|(_, reason)| reason.clone()).min()
        };
        let state = |rule: usize| {
            if let Some(reason) = ended {
                ("ended", Some(format!("the recording has ended: {reason}")))
            } else if let Some(reason) = first_waiting(rule) {
                ("waiting", Some(reason))
            } else if let Some(reason) = generation.reach.why_idle(generation.rules(), rule) {
                ("pending", Some(format!("it takes no method: {reason}")))
            } else {
                ("active", None)
            }
        };
        let row = |(at, rule): (usize, &CompiledRule)| {
            let (state, why) = state(at);
            let claim = format!("rule {} ({}), generation {}", rule.name(), rule.origin(), generation.number);
            ClaimRow {
                id: None,
                owner: "rules".to_owned(),
                role: "probe".to_owned(),
                class: rule.class_text(),
                method: rule.method_text(),
                level: Some(rule.level().name().to_owned()),
                state: state.to_owned(),
                reason: [Some(claim), why].into_iter().flatten().collect::<Vec<_>>().join("; "),
                ..ClaimRow::default()
            }
        };
        generation.rules().rules().iter().enumerate().map(row).collect()
    }

    fn probe_row(&self, claim: &Claim) -> ClaimRow {
        let Claim { id, probes, expiry, hits, kept, .. } = claim;
        let waiting = self.reconciler.waiting(|class| probes.may_be_in(class));
        let count = self.instrumentation.live.probes_of_claim(*id).len();
        let state = if !waiting.is_empty() {
            "waiting"
        } else if count > 0 {
            "active"
        } else {
            "pending"
        };
        if claim.diagnosis.is_some() {
            return self.diagnosis_row(claim);
        }
        if let Some(hook) = &claim.caller_hook {
            let state = if caller_hooks::of_process().is_inserted(hook.number) { "active" } else { state };
            return ClaimRow {
                id: Some(*id),
                owner: "walk".to_owned(),
                role: "caller finder".to_owned(),
                class: probes.class.clone(),
                method: probes.method.clone(),
                level: None,
                state: state.to_owned(),
                reason: "instr callers".to_owned(),
                expires: expiry.text(Instant::now()),
                ..ClaimRow::default()
            };
        }
        let made_by = match kept {
            Kept::No => "instr probe",
            Kept::ForNextStart | Kept::SinceEarlierStart => "instr probe --pin",
            Kept::InConfiguration => "[[context]]",
            Kept::ForWalk => "instr walk",
        };
        let mut reason = format!("{made_by}, {}", counted(count as u64, "method"));
        let why_pending = if state == "pending" { self.why_pending(claim) } else { None };
        if let Some(context) = probes.context() {
            reason = format!("{reason}, inside {context}");
        }
        for why in waiting.first().into_iter().chain(&why_pending) {
            reason = format!("{reason}; {why}");
        }
        if let Some(overruled) = self.instrumentation.live.overruled(*id, probes.level) {
            reason = format!("{reason}; {overruled}");
        }
        ClaimRow {
            id: Some(*id),
            owner: match kept {
                Kept::No | Kept::ForNextStart => "user",
                Kept::SinceEarlierStart => "persisted",
                Kept::InConfiguration => "rules",
                Kept::ForWalk => "walk",
            }
            .to_owned(),
            role: if probes.context().is_some() { "conditional" } else { "probe" }.to_owned(),
            class: probes.class.clone(),
            method: probes.method.clone(),
            level: Some(probes.level.name().to_owned()),
            state: state.to_owned(),
            reason,
            hits: Some(*hits),
            expires: expiry.text(Instant::now()),
            condition: None,
            baggage: claim.context.as_ref().and_then(|context| Some(context.baggage()?.figures())),
        }
    }

    fn diagnosis_row(&self, claim: &Claim) -> ClaimRow {
        let Claim { id, probes, expiry, .. } = claim;
        let found = self.diagnosis_of(*id).ok();
        let state = match found.as_ref().map(|of| of.state) {
            Some(DiagnosisState::Inserting) | None => "waiting",
            Some(_) => "active",
        };
        let context = probes.context().map(|context| format!(", inside {context}")).unwrap_or_default();
        let waits = found.as_ref().and_then(|of| of.reason.clone()).map(|why| format!("; {why}")).unwrap_or_default();
        ClaimRow {
            id: Some(*id),
            owner: "diagnosis".to_owned(),
            role: "call sites".to_owned(),
            class: probes.class.clone(),
            method: probes.method.clone(),
            level: None,
            state: state.to_owned(),
            reason: format!("instr diagnose{context}{waits}"),
            hits: found.map(|of| of.calls),
            expires: expiry.text(Instant::now()),
            ..ClaimRow::default()
        }
    }

    /// Returns why no loaded class has probes of this claim, if that is known.
    fn why_pending(&self, claim: &Claim) -> Option<String> {
        let generation = self.instrumentation.generation();
        let class = claim.probes.class.replace('.', "/");
        let rules = generation.claimed.iter().find(|claimed| claimed.claim == claim.id).map(|claimed| &claimed.rules);
        let excluded = rules.filter(|_| !class.contains('*')).and_then(|rules| rules.unwanted(class.as_bytes()));
        let refused = || {
            let classes = self.instrumentation.statistics.refused_classes();
            let mut meant = classes.into_iter().filter(|(name, _)| claim.probes.may_be_in(&name.replace('.', "/")));
            meant.next().map(|(name, reason)| format!("{name}: {reason}"))
        };
        excluded.map(|reason| reason.to_string()).or_else(refused)
    }

    /// Returns the row of a method of a claim's context, which has anchors in some class or has not.
    fn anchor_row(&self, of_probes: &ClaimRow, claim: &Claim, (at, method): (usize, &RequestedProbes)) -> ClaimRow {
        let waiting = self.reconciler.waiting(|class| method.may_be_in(class));
        let is_anchored = claim.context.as_ref().is_some_and(|context| contexts::of_process().is_anchored(context, at));
        let (state, why) = match waiting.into_iter().next() {
            Some(reason) => ("waiting", Some(reason)),
            None if is_anchored => ("active", None),
            None => (
                "pending",
                Some("no loaded class has such a method with bytecode that can be changed (not abstract, not native): the context is not met until there is one".to_owned()),
            ),
        };
        let step = claim.context.as_ref().and_then(|context| Some((context, context.steps().get(at)?)));
        let condition = step.and_then(|(context, step)| context.condition(*step));
        let of = format!("the context of claim {}", claim.id);
        ClaimRow {
            role: "anchor".to_owned(),
            class: method.class.clone(),
            method: method.method.clone(),
            level: None,
            state: state.to_owned(),
            reason: [Some(of), why].into_iter().flatten().collect::<Vec<_>>().join("; "),
            hits: None,
            condition: condition.map(|condition| condition.figures()),
            baggage: None,
            ..of_probes.clone()
        }
    }
}
