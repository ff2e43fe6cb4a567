//! The probes of a walk: claims that are inserted together and removed together, and their levels.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{ClaimLimits, HookFigures, WalkHooks, WalkTotals};
use instrument_core::level::Level;
use records::probe_registry::KnownProbe;
use rustc_hash::FxHashSet;

use crate::call_sites::MethodKey;
use crate::desired::{Claim, Expiry, Kept, RequestedProbes};
use crate::reconcile::Change;
use crate::session::{Kinds, Session};

/// Nothing of a walk is left after this time, whatever becomes of it.
const LONGEST: Duration = Duration::from_secs(600);

/// The probe of a method.
#[derive(Debug)]
pub(super) struct Hook {
    claim: u32,
    /// Its probes, as a rule one; those of a class of several loaders have numbers of their own.
    probes: Vec<u32>,
    /// Whether they were there, switched off: they stay.
    was_there: bool,
}

/// The probes of a walk, by the method.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    /// The number of the walk.
    walk: u64,
    /// The number of probes that the recording was given last.
    recorded: usize,
    /// What earlier walks have cost.
    before: Figures,
    by_method: BTreeMap<Arc<str>, Hook>,
    pub(super) figures: Figures,
}

/// What the probes have cost up to now.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    most: usize,
    pub(super) calls: u64,
    pub(super) late: u64,
    changes: usize,
    longest_stop: Duration,
}

impl Figures {
    /// Returns these figures and those of a later walk together.
    fn and(&self, later: &Figures) -> Figures {
        Figures {
            most: self.most.max(later.most),
            calls: self.calls + later.calls,
            late: self.late + later.late,
            changes: self.changes + later.changes,
            longest_stop: self.longest_stop.max(later.longest_stop),
        }
    }

    /// Returns them as the status of the agent has them, with the numbers of walks, of probes and of those that record.
    pub(super) fn totals(&self, walks: u64, (present, active): (usize, usize)) -> WalkTotals {
        let Figures { most, calls, late, changes, longest_stop } = *self;
        let longest_stop_ms = longest_stop.as_secs_f64() * 1e3;
        WalkTotals { walks, present, active, most, calls, late, changes, longest_stop_ms }
    }
}

impl Hooks {
    /// Those of the walk with this number: none yet. `before` is what earlier walks have cost.
    pub(super) fn of_walk(walk: u64, before: Figures) -> Hooks {
        Hooks { walk, before, ..Hooks::default() }
    }

    /// Adds what the walk has cost up to now to what earlier ones have.
    pub(super) fn note_costs(&self, session: &Session) {
        *session.walks.costs.lock() = self.before.and(&self.figures);
    }

    pub(super) fn walk(&self) -> u64 {
        self.walk
    }

    /// Records the number of probes if it has changed.
    fn record_count(&mut self, session: &Session) {
        self.note_costs(session);
        let now = self.count();
        if std::mem::replace(&mut self.recorded, now) != now {
            session.instrumentation.events.hook_gauge(self.walk, now, self.figures.most);
        }
    }

    pub(super) fn has(&self, method: &str) -> bool {
        self.by_method.contains_key(method)
    }

    pub(super) fn count(&self) -> usize {
        self.by_method.values().map(|hook| hook.probes.len()).sum()
    }

    /// The hook of a caller finder was inserted and removed beside the probes.
    pub(super) fn note_finder(&mut self, hook: &HookFigures) {
        let figures = &mut self.figures;
        figures.changes += 2;
        figures.calls += hook.calls;
        figures.longest_stop = figures.longest_stop.max(Duration::from_secs_f64(hook.longest_stop_ms.max(0.0) / 1e3));
        self.figures.most = self.figures.most.max(self.count() + 1);
    }

    /// Returns the numbers under which calls of a method are recorded.
    pub(super) fn numbers(&self, session: &Session, method: &str) -> Vec<u32> {
        let hook = self.by_method.get(method);
        hook.map(|hook| session.instrumentation.live.numbers_of_claim(hook.claim)).unwrap_or_default()
    }

    pub(super) fn shown(&self) -> WalkHooks {
        let Figures { most, calls, late, changes, longest_stop } = self.figures;
        WalkHooks { now: self.count(), most, calls, late, changes, longest_stop_ms: longest_stop.as_secs_f64() * 1e3 }
    }

    /// Inserts probes, switched off, into these methods. Returns those that stay without, and why.
    pub(super) fn insert(
        &mut self,
        session: &Session,
        methods: &[(Arc<str>, MethodKey)],
    ) -> Result<Vec<(Arc<str>, String)>, String> {
        if methods.is_empty() {
            return Ok(Vec::new());
        }
        let one_at_a_time = session.reloading.lock();
        let before = session.instrumentation.generation();
        session.get_ready(Kinds::of(&before.setup).with_claims(&before.setup))?;
        let (mut without, mut made) = (Vec::new(), Vec::new());
        for (text, key) in methods {
            if let Some(reason) = why_left_alone(session, key) {
                without.push((Arc::clone(text), reason));
                continue;
            }
            let requested = RequestedProbes::of_method(&key.class, &key.name, text, Level::Off);
            let checked = requested.and_then(|probes| {
                probes.rules(before.templates(), &before.setup.config.exclude)?;
                Ok(probes)
            });
            match checked {
                Ok(probes) => made.push((text, key, claim(session, probes))),
                Err(reason) => without.push((Arc::clone(text), reason)),
            }
        }
        for (text, _, claim) in &made {
            // Noted first: whatever happens from now on, the end of the walk removes it.
            let hook = Hook { claim: claim.id, probes: Vec::new(), was_there: false };
            self.by_method.insert(Arc::clone(text), hook);
            session.instrumentation.claims.add(claim.clone());
        }
        // Asked after they were added: a stop that did not find them there had not begun before.
        if session.instrumentation.is_leaving() {
            made.iter().for_each(|(.., claim)| _ = session.instrumentation.claims.remove(claim.id));
            return Err("the recording has ended".to_owned());
        }
        session.put_claims_in_force();
        let has_probe =
            |key: &MethodKey| probes_of(session, key).any(|(probe, _)| session.instrumentation.live.is_live(probe));
        let (present, missing): (Vec<_>, Vec<_>) = made.iter().partition(|(_, key, _)| has_probe(key));
        let were_there: FxHashSet<u32> = present.iter().map(|(.., claim)| claim.id).collect();
        for (.., Claim { id, probes, .. }) in present {
            let change = Change::Claim { claim: *id, probes: Box::new(probes.clone()), with_removed: false };
            session.reconciler.carry_out(&session.instrumentation, change);
        }
        let classes: FxHashSet<_> = missing.iter().map(|(_, key, ..)| Arc::clone(&key.class)).collect();
        let insert = || session.reconciler.carry_out(&session.instrumentation, Change::Insert(classes));
        let outcome = if missing.is_empty() { None } else { insert() };
        let waiting = session.reconciler.waiting_classes();
        let refused = session.instrumentation.statistics.refused_classes();
        for (text, key, claim) in made {
            let probes = session.instrumentation.live.probes_of_claim(claim.id);
            if probes.is_empty() {
                let waits =
                    waiting.iter().find(|((name, _), _)| **name == *key.class).map(|(_, reason)| reason.clone());
                let class =
                    text.split('(').next().and_then(|named| named.rsplit_once('.')).map_or("", |(class, _)| class);
                let reason = waits.or_else(|| refused.get(class).cloned());
                without.push((
                    Arc::clone(text),
                    reason.unwrap_or_else(|| "it takes no probe: `instr explain --live` says why".to_owned()),
                ));
            }
            session.note_claim(
                claim.id,
                &format!("{} of a walk in {text}", if probes.is_empty() { "no probe" } else { "probe" }),
            );
            let was_there = were_there.contains(&claim.id);
            self.by_method.insert(Arc::clone(text), Hook { claim: claim.id, probes, was_there });
        }
        let numbers: Vec<u32> = methods.iter().flat_map(|(text, _)| self.numbers(session, text)).collect();
        session.walks.calls.own(&numbers, session.record_time());
        if let Some(outcome) = outcome {
            self.figures.changes += usize::from(!outcome.changed.is_empty());
            self.figures.longest_stop = self.figures.longest_stop.max(outcome.longest_stop);
        }
        self.figures.most = self.figures.most.max(self.count());
        // Also those that wait: nothing of them is to come later, when nobody looks.
        let idle: Vec<Arc<str>> = without.iter().map(|(text, _)| Arc::clone(text)).collect();
        drop(one_at_a_time);
        self.record_count(session);
        self.remove(session, &idle, "no probe");
        Ok(without)
    }

    /// Sets the level of the probes of these methods.
    pub(super) fn set_level(&self, session: &Session, methods: &FxHashSet<Arc<str>>, level: Level) {
        for hook in methods.iter().filter_map(|method| self.by_method.get(method)) {
            for probe in &hook.probes {
                // Not recorded: a walk does this many times a second.
                session.instrumentation.live.set_for_walk(*probe, hook.claim, level);
            }
        }
    }

    /// Removes the probes of these methods: they record nothing from now on, and their classes get back what they had.
    pub(super) fn remove(&mut self, session: &Session, methods: &[Arc<str>], reason: &str) {
        self.take_out(session, methods, reason);
        self.record_count(session);
    }

    fn take_out(&mut self, session: &Session, methods: &[Arc<str>], reason: &str) {
        let removed: Vec<(Arc<str>, Hook)> =
            methods.iter().filter_map(|method| self.by_method.remove_entry(method)).collect();
        if removed.is_empty() {
            return;
        }
        let numbers_of = |hook: &Hook| session.instrumentation.live.numbers_of_claim(hook.claim);
        let numbers: Vec<u32> = removed.iter().flat_map(|(_, hook)| numbers_of(hook)).collect();
        removed.iter().for_each(|(_, hook)| session.switch_off(hook.claim));
        session.walks.calls.disown(&numbers, session.record_time());
        let _one_at_a_time = session.reloading.lock();
        let claims = &session.instrumentation.claims;
        // Not those that somebody else has ended, with all that belongs to that.
        let ended: Vec<&(Arc<str>, Hook)> =
            removed.iter().filter(|(_, hook)| claims.remove(hook.claim).is_some()).collect();
        if ended.is_empty() {
            return;
        }
        session.put_claims_in_force();
        ended.iter().for_each(|(_, hook)| session.switch_off(hook.claim));
        session.take_away(None, None, &FxHashSet::default());
        let generation = session.instrumentation.generation();
        session.reconciler.let_wait(|name| generation.wants_name(name));
        session.close_gate();
        self.figures.changes += usize::from(ended.iter().any(|(_, hook)| !hook.probes.is_empty() && !hook.was_there));
        for (text, hook) in ended.into_iter().filter(|(_, hook)| !hook.probes.is_empty()) {
            session.note_claim(hook.claim, &format!("probe of a walk in {text} removed: {reason}"));
        }
    }

    /// Removes the probes of all methods but these.
    pub(super) fn remove_but(&mut self, session: &Session, kept: &[Arc<str>], reason: &str) {
        let others: Vec<Arc<str>> = self.by_method.keys().filter(|of| !kept.contains(of)).cloned().collect();
        self.remove(session, &others, reason);
    }

    /// Removes all probes.
    pub(super) fn remove_all(&mut self, session: &Session, reason: &str) {
        let all: Vec<Arc<str>> = self.by_method.keys().cloned().collect();
        self.remove(session, &all, reason);
    }
}

/// Returns the probes of a method.
fn probes_of<'k>(session: &Session, key: &'k MethodKey) -> impl Iterator<Item = (u32, KnownProbe)> + use<'k> {
    let is_same = |probe: &KnownProbe| probe.method() == (&*key.class, &*key.name, &*key.descriptor);
    session.instrumentation.probes.of_class(&key.class).into_iter().filter(move |(_, probe)| is_same(probe))
}

/// Why a method gets no probe of a walk: others have one there, whose level and records are theirs, or the governor has removed it.
fn why_left_alone(session: &Session, key: &MethodKey) -> Option<String> {
    let live = &session.instrumentation.live;
    let level_of = |(number, probe): (u32, KnownProbe)| match probe.fixed_level() {
        Some(level) => live.recorded_time(number, Some(level)).map(|_| level),
        None => Some(live.level(number)).filter(|level| *level != Level::Off),
    };
    if let Some(level) = probes_of(session, key).find_map(level_of) {
        return Some(format!("it has a probe already, at level {level}, which a walk leaves as it is"));
    }
    let withdrawn = session.instrumentation.withdrawn.as_ref().map(|of| of.methods_of(&key.class)).unwrap_or_default();
    let is_withdrawn =
        withdrawn.iter().any(|(name, descriptor)| **name == *key.name && **descriptor == *key.descriptor);
    is_withdrawn.then(|| "the governor has removed its probe, because it is called too often".to_owned())
}

fn claim(session: &Session, probes: RequestedProbes) -> Claim {
    let limits = ClaimLimits { seconds: Some(LONGEST.as_secs()), ..ClaimLimits::default() };
    let expiry = Expiry::exactly(limits, Instant::now(), None);
    let calls_before = session.calls_up_to_now(&probes);
    Claim { calls_before, kept: Kept::ForWalk, ..Claim::new(session.instrumentation.claim_ids.next(), probes, expiry) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_are_added_up() {
        let figures = |most, calls, stop_ms| Figures {
            most,
            calls,
            late: 1,
            changes: 4,
            longest_stop: Duration::from_millis(stop_ms),
        };
        let totals = figures(5, 100, 2).and(&figures(3, 20, 7)).totals(2, (3, 1));
        let expected = WalkTotals {
            walks: 2,
            present: 3,
            active: 1,
            most: 5,
            calls: 120,
            late: 2,
            changes: 8,
            longest_stop_ms: 7.0,
        };
        assert_eq!(totals, expected);
    }
}
