//! The probes of a walk: claims that are inserted together and removed together, and their levels; and probes of others that it reads.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{ClaimLimits, HookFigures, WalkHooks, WalkTotals};
use instrument_core::level::Level;
use records::probe_registry::exact_numbers;
use rustc_hash::FxHashSet;

use super::present_probes::{Way, way_of};

use crate::call_sites::MethodKey;
use crate::desired::{Claim, Expiry, Kept, RequestedProbes};
use crate::reconcile::Change;
use crate::session::{Kinds, Session};

/// Nothing of a walk is left after this time, whatever becomes of it.
const LONGEST: Duration = Duration::from_secs(600);

/// What records the calls of a method.
#[derive(Debug)]
enum Hook {
    Claimed(ClaimedHook),
    /// A probe that records all calls for somebody else, under these numbers.
    Read(MethodKey, Vec<u32>),
}

/// A probe that the walk has a claim on.
#[derive(Debug)]
struct ClaimedHook {
    claim: u32,
    /// As a rule one.
    probes: Vec<u32>,
    /// The level outside of windows: that of the probe that was there; off, if there was none.
    rest: Level,
    /// Whether it was there before: it stays.
    was_there: bool,
    /// Whether it records all calls for somebody else, too, as it was seen last.
    is_shared: Cell<bool>,
}

impl Hook {
    fn of_claim(claim: &Claim, probes: Vec<u32>, was_there: bool) -> Hook {
        let (rest, is_shared) = (claim.probes.level, Cell::new(false));
        Hook::Claimed(ClaimedHook { claim: claim.id, probes, rest, was_there, is_shared })
    }

    fn claimed(&self) -> Option<&ClaimedHook> {
        match self {
            Hook::Claimed(claimed) => Some(claimed),
            Hook::Read(..) => None,
        }
    }
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
    /// Processor time of the thread, when it has ended.
    pub(super) cpu: Duration,
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
            cpu: self.cpu + later.cpu,
        }
    }

    /// Returns them as the status of the agent has them, with the numbers of walks, of probes and of those that record.
    pub(super) fn totals(&self, walks: u64, (present, active): (usize, usize)) -> WalkTotals {
        let Figures { most, calls, late, changes, longest_stop, cpu } = *self;
        let [longest_stop_ms, cpu_ms] = [longest_stop, cpu].map(|time| time.as_secs_f64() * 1e3);
        WalkTotals { walks, present, active, most, calls, late, changes, longest_stop_ms, cpu_ms }
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
        self.by_method.values().filter_map(Hook::claimed).map(|hook| hook.probes.len()).sum()
    }

    /// Whether calls of a method are recorded all the time, for somebody else.
    pub(super) fn is_read(&self, method: &str) -> bool {
        self.by_method.get(method).is_some_and(|hook| hook.claimed().is_none())
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
    pub(super) fn numbers(&self, method: &str) -> Vec<u32> {
        match self.by_method.get(method) {
            Some(Hook::Claimed(hook)) => hook.probes.iter().copied().flat_map(exact_numbers).collect(),
            Some(Hook::Read(_, numbers)) => numbers.clone(),
            None => Vec::new(),
        }
    }

    pub(super) fn shown(&self) -> WalkHooks {
        let Figures { most, calls, late, changes, longest_stop, .. } = self.figures;
        WalkHooks { now: self.count(), most, calls, late, changes, longest_stop_ms: longest_stop.as_secs_f64() * 1e3 }
    }

    /// Inserts probes into these methods, switched off or at the level of the one that was there. Returns those that stay without, and why.
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
            let (rest, present) = match way_of(session, key) {
                Ok(Way::Inserted(level)) => (level, None),
                Ok(Way::Raised(level, probes)) => (level, Some(probes)),
                Ok(Way::Read(numbers)) => {
                    self.by_method.insert(Arc::clone(text), Hook::Read(key.clone(), numbers));
                    continue;
                }
                Err(reason) => {
                    without.push((Arc::clone(text), reason));
                    continue;
                }
            };
            let requested = RequestedProbes::of_method(&key.class, &key.name, text, rest);
            let checked = requested.and_then(|probes| {
                probes.rules(before.templates(), &before.setup.config.exclude)?;
                Ok(probes)
            });
            match checked {
                Ok(probes) => made.push((text, key, claim(session, probes), present)),
                Err(reason) => without.push((Arc::clone(text), reason)),
            }
        }
        for (text, _, claim, present) in &made {
            // Noted first: whatever happens from now on, the end of the walk removes it.
            self.by_method.insert(Arc::clone(text), Hook::of_claim(claim, Vec::new(), present.is_some()));
            session.instrumentation.claims.add(claim.clone());
        }
        // Asked after they were added: a stop that did not find them there had not begun before.
        if session.instrumentation.is_leaving() {
            made.iter().for_each(|(_, _, claim, _)| _ = session.instrumentation.claims.remove(claim.id));
            return Err("the recording has ended".to_owned());
        }
        session.put_claims_in_force();
        for (_, _, claim, present) in &made {
            let claim_live =
                |probe: &u32| session.instrumentation.claim_live(*probe, (claim.id, claim.probes.level, true));
            present.iter().flatten().for_each(claim_live);
        }
        let missing = made.iter().filter(|(.., present)| present.is_none());
        let classes: FxHashSet<_> = missing.map(|(_, key, ..)| Arc::clone(&key.class)).collect();
        let is_none_missing = classes.is_empty();
        let insert = || session.reconciler.carry_out(&session.instrumentation, Change::Insert(classes));
        let outcome = if is_none_missing { None } else { insert() };
        let waiting = session.reconciler.waiting_classes();
        let refused = session.instrumentation.statistics.refused_classes();
        let mut own = Vec::new();
        for (text, key, claim, present) in made {
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
            own.extend(&probes);
            self.by_method.insert(Arc::clone(text), Hook::of_claim(&claim, probes, present.is_some()));
        }
        // Their records at level time. Those at the level at which they were before have other numbers.
        session.walks.calls.own(&own, session.record_time());
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

    /// Has the probes of these methods record all calls, or sets them back to the level at which they were.
    pub(super) fn record(&self, session: &Session, methods: &FxHashSet<Arc<str>>, is_on: bool) {
        for hook in methods.iter().filter_map(|method| self.by_method.get(method)?.claimed()) {
            for probe in &hook.probes {
                let level = if is_on { Level::Time } else { hook.rest };
                // Not recorded: a walk does this many times a second.
                session.instrumentation.live.set_for_walk(*probe, hook.claim, level);
            }
        }
        self.share(session);
    }

    /// Looks which probes record all calls for somebody else, too, and leaves these to him from now on.
    pub(super) fn share(&self, session: &Session) {
        for hook in self.by_method.values().filter_map(Hook::claimed) {
            let is_shared = hook.probes.iter().any(|probe| session.instrumentation.live.records_for_others(*probe));
            if hook.is_shared.replace(is_shared) != is_shared {
                session.walks.calls.share(&hook.probes, is_shared, session.record_time());
            }
        }
    }

    /// Returns those of these methods that others have decided about meanwhile: their calls were not recorded all the time.
    pub(super) fn taken_over(&self, session: &Session, methods: &FxHashSet<Arc<str>>) -> Vec<Arc<str>> {
        let live = &session.instrumentation.live;
        let is_taken_over = |method: &&Arc<str>| match self.by_method.get(*method) {
            Some(Hook::Read(key, numbers)) => way_of(session, key).as_ref() != Ok(&Way::Read(numbers.clone())),
            Some(Hook::Claimed(hook)) => !hook.probes.iter().all(|probe| live.is_decided_by_walk(*probe, hook.claim)),
            None => false,
        };
        methods.iter().filter(is_taken_over).cloned().collect()
    }

    /// Removes the probes of these methods: they record nothing from now on, and their classes get back what they had.
    pub(super) fn remove(&mut self, session: &Session, methods: &[Arc<str>], reason: &str) {
        self.take_out(session, methods, reason);
        self.record_count(session);
    }

    fn take_out(&mut self, session: &Session, methods: &[Arc<str>], reason: &str) {
        let removed: Vec<(Arc<str>, ClaimedHook)> = methods
            .iter()
            .filter_map(|method| match self.by_method.remove_entry(method)? {
                (method, Hook::Claimed(hook)) => Some((method, hook)),
                (_, Hook::Read(..)) => None,
            })
            .collect();
        if removed.is_empty() {
            return;
        }
        removed.iter().for_each(|(_, hook)| session.switch_off(hook.claim));
        let numbers: Vec<u32> = removed.iter().flat_map(|(_, hook)| hook.probes.iter().copied()).collect();
        session.walks.calls.disown(&numbers, session.record_time());
        let _one_at_a_time = session.reloading.lock();
        let claims = &session.instrumentation.claims;
        // Not those that somebody else has ended, with all that belongs to that.
        let ended: Vec<&(Arc<str>, ClaimedHook)> =
            removed.iter().filter(|(_, hook)| claims.remove(hook.claim).is_some()).collect();
        let inserted =
            removed.iter().filter(|(_, hook)| !hook.was_there).flat_map(|(_, hook)| hook.probes.iter().copied());
        if ended.is_empty() && inserted.clone().next().is_none() {
            return;
        }
        session.put_claims_in_force();
        ended.iter().for_each(|(_, hook)| session.switch_off(hook.claim));
        session.instrumentation.live.make_way(inserted);
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
            cpu: Duration::from_millis(30),
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
            cpu_ms: 60.0,
        };
        assert_eq!(totals, expected);
    }
}
