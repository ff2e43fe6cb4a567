//! Probes by request, for a while: made and ended.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use control::{ContextMethod, ProbeRequest, Probed, Removed, UnchangedClass};
use instrument_core::internal_name::to_source;
use instrument_core::level::Level;
use instrument_core::rules::predicates::{Condition, Expected, Path, Root};
use records::probe_registry::LIVE_NUMBERS;
use rustc_hash::{FxHashMap, FxHashSet};
use settings::{ConditionsConfig, ContextPlace};
use trace::report::counted;

use super::{Kinds, Session};
use crate::call_sites;
use crate::conditions::StepCondition;
use crate::contexts::{self, BaggageEntry, Context, ImmediateCaller, Kind, LooksAtTasks};
use crate::desired::generation::Generation;
use crate::desired::withdrawn_probes::WithdrawnProbes;
use crate::desired::{Claim, RequestedProbes};
use crate::jvm::{LoadedClasses, methods_of};
use crate::reconcile::{Change, Outcome};

/// Most methods that a pattern may match, unless the request states another number.
pub(super) const MOST_METHODS: usize = 1_000;
/// Classes that are on their way past the hook get probes that nobody wants any more, a few times at most.
const MOST_ROUNDS: usize = 16;
/// Most classes whose reason is answered.
const MOST_REASONS: usize = 10;
/// Classes that are as they were, of which an answer has the names.
const MOST_UNCHANGED: usize = 100;

/// Returns the context of requested probes, if they have one.
pub(super) fn open_context(
    probes: &RequestedProbes,
    allowed: &ConditionsConfig,
) -> Result<Option<Arc<Context>>, String> {
    let Some(text) = probes.context() else { return Ok(None) };
    let is_baggage = |(path, _): &(&Path, Expected)| matches!(path.root, Root::Baggage(_));
    let looks_at_baggage = |condition: &Condition| condition.paths().iter().any(is_baggage);
    let mut conditions = probes.condition.iter().flat_map(|condition| condition.steps());
    // Wherever it is in the condition: it is the configuration that lacks something, and `instr diagnose --with` writes conditions itself.
    if allowed.baggage_from.is_empty() && conditions.any(|(_, condition, _)| looks_at_baggage(condition)) {
        return Err("no client's baggage is believed; name their addresses: `baggage-from` in [conditions] of the configuration file, then detach the agent and attach it again, or restart the JVM".to_owned());
    }
    if probes.condition.is_some() && contexts::place() == ContextPlace::Stack {
        return Err("the stack of a thread does not say for which calls a condition held: conditions need `place = \"off-heap\"` or `\"thread-local\"` in [contexts] of the configuration file, and a restart".to_owned());
    }
    check_for_tasks(probes.reaches_across_threads())?;
    if probes.name_for_hosts().is_some() && allowed.baggage_to.is_empty() {
        return Err("no host may be sent baggage; name those that may: `baggage-to` in [conditions] of the configuration file, then detach the agent and attach it again, or restart the JVM".to_owned());
    }
    let conditions = probes.condition.iter().flat_map(|condition| condition.steps());
    let of_step = |(at, condition, is_own): (usize, &Condition, bool)| {
        (at, StepCondition::new(condition.clone(), is_own, allowed))
    };
    let caller = probes.immediate_caller().cloned().map(ImmediateCaller::new);
    let baggage = probes.name_for_hosts().map(|name| BaggageEntry::new(name, allowed));
    let kind = Kind { caller, reaches_across_threads: probes.reaches_across_threads(), baggage };
    contexts::of_process().open(&text, probes.within.len(), conditions.map(of_step).collect(), kind).map(Some)
}

/// Refuses what goes on in tasks of other threads if nothing is kept that they could take along.
pub(super) fn check_for_tasks(across_threads: bool) -> Result<(), String> {
    if across_threads && contexts::place() != ContextPlace::OffHeap {
        return Err("tasks take along only what is kept off heap: --across-threads needs `place = \"off-heap\"` in [contexts] of the configuration file, and a restart".to_owned());
    }
    Ok(())
}

impl Session {
    /// Inserts probes into methods, whether a rule takes them or not.
    pub(super) fn make_claim(&self, request: &ProbeRequest) -> Result<Probed, String> {
        let _one_at_a_time = self.reloading.lock();
        if self.instrumentation.is_leaving() {
            return Err("the recording has ended: nothing would be recorded".to_owned());
        }
        let template = request.template.as_deref().unwrap_or("timed");
        let level = request.level.unwrap_or(Level::Time);
        let probes = RequestedProbes::parse(&request.methods, template, level)?;
        let probes = match &request.within {
            Some(context) => probes.within(context)?,
            None => probes,
        };
        let probes = if request.direct { probes.directly()? } else { probes };
        let probes = self.with_condition(probes, request.when.as_deref())?;
        let probes = if request.across_threads { probes.across_threads()? } else { probes };
        let probes = request.across_hosts.iter().try_fold(probes, |probes, name| probes.across_hosts(name))?;
        let before = self.instrumentation.generation();
        let mut counted_methods = Vec::new();
        for pattern in probes.asked_patterns() {
            pattern.rules(before.templates(), &before.setup.config.exclude)?;
            counted_methods.push(self.check_number_of_methods(pattern, request.most.unwrap_or(MOST_METHODS))?);
        }
        let expiry = self.expiry_of(request)?;
        let expires = expiry.text_of_new(UNIX_EPOCH.elapsed().unwrap_or_default());
        self.get_ready(Kinds::of(&before.setup).with_claims(&before.setup).and_contexts(probes.context().is_some()))?;
        let context = open_context(&probes, &self.instrumentation.config.conditions)?;
        let close = |reason| {
            context.iter().for_each(|context| contexts::of_process().give_up(context));
            reason
        };
        let kept = self.pin(&probes, request).map_err(close)?;
        let (id, text) = (self.instrumentation.claim_ids.next(), probes.text());
        let calls_before = self.calls_up_to_now(&probes);
        let claim = Claim { calls_before, kept, context, ..Claim::new(id, probes.clone(), expiry) };
        self.instrumentation.claims.add(claim.clone());
        // Asked after it was added: a stop that did not find it there had not begun before.
        if self.instrumentation.is_leaving() {
            self.give_up(&claim)?;
            return Err("the recording has ended: nothing would be recorded".to_owned());
        }
        let Some(outcome) = self.insert_claimed(id, &probes) else {
            let given_up = self.give_up(&claim);
            self.put_claims_in_force();
            given_up?;
            return Err("loaded classes cannot be changed: the JVM attaches no more threads".to_owned());
        };
        if let Some(context) = &claim.context {
            contexts::of_process().arm(context);
        }
        let methods = self.instrumentation.live.probes_of_claim(id).len();
        self.note_claim(id, &format!("{} of {text} by request", counted(methods as u64, "probe")));
        let is_meant = |class: &str| probes.patterns().any(|pattern| pattern.may_be_in(class));
        let overruled = self.instrumentation.live.overruled(id, probes.level);
        let mut unchanged = self.refused(&outcome.refused);
        let refused = unchanged.iter().take(MOST_REASONS).map(|of| of.reason.clone()).collect();
        let waits = self.reconciler.waiting_classes().into_iter();
        let waits = waits.filter(|((name, _), _)| is_meant(&String::from_utf8_lossy(name)));
        let waits = waits.map(|((name, _), reason)| UnchangedClass { class: to_source(&name), reason });
        let mut waits: Vec<UnchangedClass> = waits.collect();
        waits.sort_unstable_by(|one, other| one.class.cmp(&other.class));
        let waiting = waits.iter().map(|of| of.reason.clone()).collect();
        unchanged.extend(waits);
        unchanged.truncate(MOST_UNCHANGED);
        let has_probes = |name: &&Arc<[u8]>| probes.may_be_in(&String::from_utf8_lossy(name));
        let classes = outcome.changed.iter().filter(has_probes).count();
        let within = self.context_methods(&claim, counted_methods.into_iter().skip(1));
        let condition = probes.asked_condition().map(str::to_owned);
        Ok(Probed {
            claim: id,
            methods,
            classes,
            waiting,
            refused,
            unchanged,
            overruled,
            expires,
            within,
            direct: request.direct,
            condition,
        })
    }

    /// Returns the methods of a claim's context; one that gets no anchor in any class counts none, whatever its name matches.
    fn context_methods(&self, claim: &Claim, counted: impl Iterator<Item = usize>) -> Vec<ContextMethod> {
        let has_anchor = |at, of: &RequestedProbes| {
            let is_anchored = |context: &Arc<Context>| contexts::of_process().is_anchored(context, at);
            let waits = || !self.reconciler.waiting(|class| of.may_be_in(class)).is_empty();
            claim.context.as_ref().is_some_and(is_anchored) || waits()
        };
        let method = |(at, (of, methods)): (usize, (&RequestedProbes, usize))| ContextMethod {
            method: of.text(),
            methods: if has_anchor(at, of) { methods } else { 0 },
        };
        // That the recorded method has an anchor of its own is no news.
        let own =
            claim.probes.condition.iter().flat_map(|of| of.steps()).find(|(.., is_own)| *is_own).map(|(at, ..)| at);
        let methods = claim.probes.within.iter().zip(counted).enumerate().map(|of| (of.0, method(of)));
        methods.filter(|(at, of)| own != Some(*at) || of.methods == 0).map(|(_, of)| of).collect()
    }

    /// Takes a claim back of which nothing was inserted.
    pub(super) fn give_up(&self, claim: &Claim) -> Result<(), String> {
        self.instrumentation.claims.remove(claim.id);
        claim.diagnosis.iter().for_each(|number| _ = call_sites::of_process().end(*number));
        claim.context.iter().for_each(|context| contexts::of_process().give_up(context));
        self.unpin(claim)
    }

    /// Has loaded classes carry the probes of a new claim, also where the governor has removed them, and returns how many were changed. `None`
    /// if there is no thread for that.
    fn insert_claimed(&self, claim: u32, probes: &RequestedProbes) -> Option<Outcome> {
        self.put_claims_in_force();
        let withdrawn = self.instrumentation.withdrawn.as_ref();
        let _no_removals = withdrawn.map(WithdrawnProbes::one_change_at_a_time);
        // A probe that records inside a context only is another one than that which the governor removed.
        let restored = withdrawn.filter(|_| probes.context().is_none()).map(|withdrawn| {
            let meant = self.instrumentation.live.live_probes_of(|method| probes.takes(method));
            withdrawn.give_back(&meant, true)
        });
        let with_removed = restored.as_ref().is_some_and(|restored| !restored.of_probes.is_empty());
        let change = Change::Claim { claim, probes: Box::new(probes.clone()), with_removed };
        let outcome = self.reconciler.carry_out(&self.instrumentation, change)?;
        if let Some((withdrawn, restored)) = withdrawn.zip(restored) {
            self.report_changes(&withdrawn.settle(restored, &outcome.refused));
        }
        Some(outcome)
    }

    /// Returns the classes of these names, which cannot be changed, with the reasons.
    fn refused(&self, names: &FxHashSet<Arc<[u8]>>) -> Vec<UnchangedClass> {
        let reasons = self.instrumentation.statistics.refused_classes();
        let mut names: Vec<String> = names.iter().map(|name| to_source(name)).collect();
        names.sort_unstable();
        let reason = |name: &String| reasons.get(name).map_or("refused", String::as_str);
        let of = |class: String| UnchangedClass { reason: format!("{class}: {}", reason(&class)), class };
        names.into_iter().map(of).collect()
    }

    /// Ends a claim of a person.
    pub(super) fn remove_claim(&self, id: u32, reason: &str) -> Result<Removed, String> {
        if self.instrumentation.claims.is_in_configuration(id) {
            return Err(format!(
                "claim {id} is a [[context]] of the configuration file: take it out there, and `instr reload`; until then `instr level METHODS off` silences its probes"
            ));
        }
        // A reload may take a while, in which nothing more is to be recorded.
        if self.instrumentation.claims.has(id) {
            self.switch_off(id);
        }
        let _one_at_a_time = self.reloading.lock();
        let live = &self.instrumentation.live;
        let removed = self.instrumentation.withdrawn.as_ref().map(WithdrawnProbes::numbers).unwrap_or_default();
        if let Some((probes, changes)) = live.end_level_claim(id, &removed) {
            self.record_changes(&changes);
            self.govern_again(&probes);
            return Ok(Removed { claim: id, methods: probes.len() });
        }
        let Some(claim) = self.instrumentation.claims.remove(id) else {
            return Err(format!("there is no claim {id}: `instr claims` lists those of persons with their numbers"));
        };
        if claim.diagnosis.is_some() {
            self.diagnoses.note_end(id, reason);
        }
        let unpinned = self.unpin(&claim);
        self.put_claims_in_force();
        self.switch_off(id);
        let measured = claim.diagnosis.map_or(0, |number| call_sites::of_process().count(number));
        let hooked = claim.caller_hook.as_ref().map_or(0, |hook| hook.methods.len());
        let methods = self.take_away_of(&claim) + measured + hooked;
        let generation = self.instrumentation.generation();
        self.reconciler.let_wait(|name| generation.wants_name(name));
        self.close_gate();
        let (probes, text) = (counted(methods as u64, "probe"), claim.probes.text());
        let what = if claim.diagnosis.is_some() { "the diagnosis of " } else { "" };
        self.note_claim(id, &format!("{probes} of {what}{text} removed: {reason}"));
        unpinned.map(|()| Removed { claim: id, methods })
    }

    /// Has only the others decide about the probes of a claim that ends. What nobody wants any more records nothing from now on, and stays in its class.
    pub(super) fn switch_off(&self, claim: u32) {
        let ended = self.instrumentation.live.end_claim(claim);
        self.record_changes(&ended.changes);
        self.govern_again(&ended.handed_back);
    }

    /// Takes away what a claim wanted that has ended; returns how many probes that were.
    pub(super) fn take_away_of(&self, claim: &Claim) -> usize {
        let closed = claim.context.as_ref().filter(|context| contexts::of_process().close(context));
        let measured = claim.diagnosis.map(|number| call_sites::of_process().end(number));
        if claim.diagnosis.is_some() && claim.probes.reaches_across_threads() {
            contexts::of_process().look_at_tasks(LooksAtTasks::Diagnosis, false);
        }
        let taken = self.take_away(closed, measured, &claim.changed_classes());
        self.end_handover(claim);
        taken
    }

    /// Retransforms the classes of probes that nobody wants, those with anchors of a context that was closed, those with calls that were measured and others that have something else to lose, and returns
    /// how many probes these have lost. Classes that the JVM cannot retransform keep them, at level off, and inert anchors.
    pub(super) fn take_away(
        &self,
        closed: Option<&Arc<Context>>,
        measured: Option<FxHashSet<Arc<[u8]>>>,
        others: &FxHashSet<Arc<[u8]>>,
    ) -> usize {
        let (live, contexts) = (&self.instrumentation.live, contexts::of_process());
        let class = |probe: &u32| self.instrumentation.probes.method(*probe).map(|method| method.class);
        let (mut taken, mut is_clean, mut kept) = (0, true, FxHashSet::default());
        let is_diagnosis = measured.is_some();
        let measured = measured.unwrap_or_default();
        for round in 0.. {
            // Classes that were on their way past the hook with the claim get its probes and anchors meanwhile.
            let unwanted = live.take_unwanted();
            let anchored = closed.map(|context| contexts.take_classes(context)).unwrap_or_default();
            let has_others = !measured.is_empty() || !others.is_empty();
            if unwanted.is_empty() && anchored.is_empty() && (round > 0 || !has_others) {
                break;
            }
            if round == MOST_ROUNDS {
                tracing::warn!("classes get probes again and again that nobody wants; these stay, switched off");
                is_clean = false;
                break;
            }
            let names = unwanted
                .iter()
                .filter_map(class)
                .chain(anchored.iter().cloned())
                .chain(measured.iter().cloned())
                .chain(others.iter().cloned())
                .collect();
            let Some(outcome) = self.reconciler.carry_out(&self.instrumentation, Change::Remove(names)) else {
                is_clean = false;
                kept.extend(measured.iter().cloned());
                break;
            };
            is_clean &= anchored.is_disjoint(&outcome.refused);
            kept.extend(measured.intersection(&outcome.refused).cloned());
            // A probe that classes of several names share has no class: it stays.
            let is_gone = |probe: &u32| class(probe).is_some_and(|class| !outcome.refused.contains(&class));
            let left = live.not_given_since(outcome.pass).into_iter().filter(|probe| unwanted.contains(probe));
            let gone: FxHashSet<u32> = left.filter(is_gone).collect();
            live.lose(&gone);
            taken += gone.len();
        }
        if let Some(context) = closed {
            contexts.retire(context, is_clean);
        }
        if is_diagnosis {
            call_sites::of_process().free_ended(Some(&measured), &kept);
        }
        taken
    }

    fn govern_again(&self, probes: &[u32]) {
        if let Some(withdrawn) = &self.instrumentation.withdrawn {
            withdrawn.govern_again(&self.instrumentation.live.removable_among(probes));
        }
    }

    /// Returns the calls that have been recorded for methods of a claim, by their numbers: also for probes that these had and have lost.
    pub(super) fn calls_up_to_now(&self, probes: &RequestedProbes) -> FxHashMap<u32, u64> {
        let Some(rates) = &self.rates else { return FxHashMap::default() };
        let known = self.instrumentation.probes.described();
        let meant = known.iter().filter(|probe| probes.takes(&probe.method));
        let numbers = meant.flat_map(|probe| probe.number..probe.number + if probe.live { LIVE_NUMBERS } else { 1 });
        let rates = rates.lock();
        numbers.map(|number| (number, rates.made_by(number as usize))).collect()
    }

    /// Returns the claims on probes about whose level other claims decide.
    pub(super) fn overruled_claims(&self) -> Vec<String> {
        let line = |Claim { id, probes, .. }: Claim| {
            let overruled = self.instrumentation.live.overruled(id, probes.level)?;
            Some(format!("claim {id} ({} at level {}): {overruled}", probes.text(), probes.level))
        };
        self.instrumentation.claims.all().into_iter().filter_map(line).collect()
    }

    /// From now on classes get what the claims want, besides the rules.
    pub(super) fn put_claims_in_force(&self) {
        self.open_gate();
        self.put_in_force(&self.instrumentation.generation());
    }

    /// From now on classes get what this generation and the claims want.
    pub(super) fn put_in_force(&self, generation: &Generation) {
        let (generation, refused) = generation.with_claims(&self.instrumentation.claims.all());
        self.instrumentation.replace_generation(generation);
        self.listen_to_threads();
        self.remember_statements();
        for (id, reason) in refused {
            self.note_claim(id, &format!("has no effect any more: {reason}"));
        }
    }

    pub(super) fn note_claim(&self, id: u32, what: &str) {
        let line = format!("claim {id}: {what}");
        tracing::info!("{line}");
        self.instrumentation.live.note(&line);
        self.instrumentation.events.note("claim", &line);
    }

    /// Refuses a pattern that matches more methods of loaded classes than are meant; returns how many it matches.
    pub(super) fn check_number_of_methods(&self, probes: &RequestedProbes, most: usize) -> Result<usize, String> {
        let counted = self.vm.with_attached_daemon(c"instr-probe", |jni| {
            let loaded = LoadedClasses::all(self.jvmti, jni).map_err(|error| error.to_string())?;
            let (mut classes, mut methods, mut without) = (0, 0, 0);
            for class in loaded.as_slice() {
                let Some(name) = class.internal_name(self.jvmti) else { continue };
                if !probes.may_be_in(&String::from_utf8_lossy(&name)) {
                    continue;
                }
                let meant = probes.count_among(&name, &methods_of(self.jvmti, *class));
                classes += usize::from(meant > 0 || !class.is_prepared(self.jvmti));
                methods += meant;
                without += usize::from(meant == 0);
            }
            Ok((classes, methods, without))
        });
        let (classes, methods, without) =
            counted.unwrap_or_else(|| Err("the JVM attaches no more threads".to_owned()))?;
        if without > 0 && classes == 0 && !probes.class.contains('*') {
            return Err(format!("class {} has no method {}", probes.class, probes.method));
        }
        if methods > most {
            return Err(format!(
                "{} matches {methods} methods of {classes} loaded classes, and {most} are allowed: name fewer, or allow more with `--most {methods}`",
                probes.text()
            ));
        }
        Ok(methods)
    }
}
