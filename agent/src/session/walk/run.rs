//! The thread of a walk: takes samples, then has two neighbouring levels measured at a time (`measuring`), until there is nothing above. Callers that samples have not
//! met are looked for by a hook (`missing_callers`).
//!
//! Callers get probes while their callees still have theirs: each call of a callee is within a call of a caller. Then the probes of the lower level are removed, and those
//! of the next one inserted.

use std::sync::Arc;
use std::time::Duration;

use control::{CLIENT_LEFT, HotBy, HotSpot, Refusal, Walk};
use instrument_core::rules::patterns::NameGlob;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::hooks::Hooks;
use super::levels::{Seen, TwoLevels};
use super::present_probes::{Way, way_to};
use crate::hot_spots::{Listed, SampledStacks, Tally};
use crate::random::Random;
use crate::session::Session;
use crate::session::callees::MeantMethod;
use crate::session::hot_spots::too_many_copies;
use crate::walks::{Ascent, Measured, Policy, level_of};

/// Methods with this part of all samples are hot.
const HOT: f64 = 0.05;
/// If none is, one of so many is taken.
const TOP_OF_NONE: usize = 5;
/// Its methods begin threads: what they call is the loop of a thread, or ends it.
const THREAD: &[u8] = b"java/lang/Thread";
/// The methods of a level whose callers are looked for, or whose calls are counted, by a hook.
pub(super) const MOST_HOOKED: usize = 8;
pub(super) const NEVER_ENDS: &str =
    "no call of it began and ended while its callees were measured: the loop of a thread, or rarely called";
pub(super) const ABOVE: &str = "it is above methods of which no call was measured";

/// How a walk is to be done.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) seconds: u64,
    pub(super) period: Duration,
    /// Most recorded calls of a level and its callers.
    pub(super) calls: u64,
    pub(super) top: usize,
    pub(super) hooks: usize,
    /// The part of one processor that recording calls may take; methods that are called more often are recorded in windows.
    pub(super) budget: f64,
    /// Counting calls of a method ends when they have used this much of the metric.
    pub(super) used: Option<u64>,
    /// By what calls are measured, by hooks; by time, and by probes, if there is none.
    pub(super) metric: Option<HotBy>,
    pub(super) through: Vec<NameGlob>,
    pub(super) policy: Policy,
}

/// A walk under way.
pub(super) struct Run<'s> {
    pub(super) session: &'s Session,
    pub(super) options: Options,
    /// The method to begin at, if it is not the hot ones.
    root: Option<String>,
    pub(super) shared: Arc<Mutex<Option<Walk>>>,
    pub(super) hooks: Hooks,
    /// Why methods have no probe.
    pub(super) without: FxHashMap<Arc<str>, String>,
    pub(super) ascents: Vec<Ascent>,
    pub(super) random: Random,
    has_margins: bool,
    /// Why it has ended before it began to go up.
    end: Option<String>,
}

impl<'s> Run<'s> {
    pub(super) fn new(
        session: &'s Session,
        number: u64,
        (options, root): (Options, Option<String>),
        shared: Arc<Mutex<Option<Walk>>>,
    ) -> Run<'s> {
        let (without, ascents, random, end) = Default::default();
        let hooks = Hooks::of_walk(number, session.walks.costs.lock().clone());
        Run { session, options, root, shared, hooks, without, ascents, random, has_margins: false, end }
    }

    pub(super) fn run(&mut self, goes_on: &dyn Fn() -> bool) -> Result<(), Refusal> {
        self.sample(goes_on)?;
        if self.ascents.is_empty() && goes_on() {
            self.end = Some("no thread has used processor time".to_owned());
        }
        let mut level = 0;
        while goes_on() && self.ascents.iter().any(|of| of.end().is_none()) {
            level += 1;
            if self.options.metric.is_none() {
                self.find_unsampled(goes_on);
            }
            let hooked = self.count_by_hooks(goes_on);
            let mut levels = self.two_levels(level, hooked);
            let mut seen = self.measure(&levels, goes_on)?;
            if seen.as_ref().is_some_and(|seen| self.find_uncovered(&levels, seen, goes_on)) {
                levels = self.two_levels(level, levels.hooked);
                seen = self.measure(&levels, goes_on)?;
            }
            // It was ended before anything of the level was measured.
            let has_seen = |seen: &Option<Seen>| seen.as_ref().is_some_and(|seen| !seen.nested.calls.is_empty());
            if !goes_on() && !has_seen(&seen) && levels.hooked.is_empty() {
                break;
            }
            self.note_levels(&levels, seen.as_ref());
            let Options { policy, .. } = &self.options;
            for (ascent, followed) in self.ascents.iter_mut().zip(levels.followed) {
                ascent.go_up(followed, policy);
            }
            let next: Vec<Arc<str>> = self.present();
            self.hooks.remove_but(self.session, &next, "its level has been measured");
            self.publish();
        }
        Ok(())
    }

    /// Why a walk does not go on that has no end of its own.
    fn why_stopped(&self) -> &'static str {
        if self.session.instrumentation.is_leaving() {
            "the recording ended, or the agent was detached"
        } else {
            self.session.why_paused().unwrap_or(CLIENT_LEFT)
        }
    }

    /// Removes what is still there, and says how it ended: by an error, or as the walk itself did.
    pub(super) fn finish(&mut self, failure: Option<&str>) {
        self.session.walks.calls.end();
        self.hooks.remove_all(self.session, "the walk has ended");
        let end = |ascent: &Ascent| {
            format!("{}: {}", ascent.hot.method, ascent.end().or(failure).unwrap_or(self.why_stopped()))
        };
        let ends: Vec<String> = self.ascents.iter().map(end).collect();
        let none = || self.end.clone().or(failure.map(str::to_owned)).unwrap_or_else(|| self.why_stopped().to_owned());
        let end = if ends.is_empty() { none() } else { ends.join("; ") };
        self.set_state("ended");
        let found = self.shared.lock().as_mut().map(|walk| {
            walk.end = Some(end);
            walk.hooks = self.hooks.shown();
            trace::Walk { number: self.hooks.walk(), ..(&*walk).into() }
        });
        // Without samples it has found nothing.
        if let Some(found) = found.filter(|found| !found.sampler.is_empty()) {
            self.session.instrumentation.events.walk(found);
        }
    }

    /// Looks what is hot, and who calls it, without any probe.
    fn sample(&mut self, goes_on: &dyn Fn() -> bool) -> Result<(), Refusal> {
        let by = self.options.metric.filter(|by| *by == HotBy::Allocated).unwrap_or(HotBy::Cpu);
        let watched = self.session.watch(by, (Some(self.options.seconds), goes_on), Tally::default().with_stacks())?;
        self.has_margins = !watched.is_biased;
        let (tally, none) = (&watched.tally, SampledStacks::default());
        let stacks = tally.stacks().unwrap_or(&none);
        let listed = Listed { share: HOT, top: TOP_OF_NONE, margins: self.has_margins, waiting: false };
        let hot = match &self.root {
            Some(root) => vec![root_spot(root, stacks)],
            // Not places in the JVM and its libraries, which have no callers.
            None => {
                let hot = tally.hot(listed).into_iter().filter(|spot| stacks.weight_of(&spot.method) > 0.0);
                hot.take(self.options.top).collect::<Vec<_>>()
            }
        };
        let ascent = |hot: HotSpot| {
            let (weight, levels) =
                (stacks.weight_of(&hot.method), stacks.levels_above(&hot.method, &self.options.through));
            Ascent::new(hot, weight, levels)
        };
        self.ascents = hot.into_iter().map(ascent).collect();
        if let Some(walk) = &mut *self.shared.lock() {
            walk.samples = tally.samples();
            walk.sampler = watched.source.to_owned();
            walk.bias = watched.bias.map(str::to_owned);
            walk.hot = self.ascents.iter().map(|of| of.hot.clone()).collect();
            walk.notices = watched.notes.clone();
            if let Some(root) = &self.root {
                walk.notices.push(format!("the share of {root} is that of all samples that were taken while it was executing, with what it calls"));
            }
            if watched.is_biased && walk.samples > 0 {
                walk.notices.push("the samples are biased, so their shares have no margins".to_owned());
            }
            if stacks.left_out() > 0 {
                walk.notices
                    .push(format!("{} samples were left out: there are too many different stacks", stacks.left_out()));
            }
        }
        Ok(())
    }

    fn present(&self) -> Vec<Arc<str>> {
        let mut present: Vec<Arc<str>> = self.ascents.iter().flat_map(|of| of.present()).cloned().collect();
        present.sort();
        present.dedup();
        present
    }

    fn two_levels(&self, level: usize, hooked: FxHashMap<Arc<str>, Measured>) -> TwoLevels {
        let policy = &self.options.policy;
        // Probes measure time, and nothing else.
        let is_hooked = |callee: &Arc<str>| self.options.metric.is_some() || hooked.contains_key(callee);
        let followed: Vec<Vec<Arc<str>>> = self.ascents.iter().map(|of| of.followed(policy)).collect();
        let callees: Vec<Arc<str>> = self.present().into_iter().filter(|callee| !is_hooked(callee)).collect();
        let of_callees = |of: &Ascent| -> Vec<Arc<str>> {
            let called = of.present().iter().filter(|callee| !is_hooked(callee));
            called.flat_map(|callee| of.followed_of(callee, policy)).collect()
        };
        let measured: Vec<Vec<Arc<str>>> = self.ascents.iter().map(of_callees).collect();
        let mut callers: Vec<Arc<str>> = Vec::new();
        // Round robin, so that no hot method takes the whole budget.
        for at in 0..measured.iter().map(Vec::len).max().unwrap_or(0) {
            for caller in measured.iter().filter_map(|of| of.get(at)) {
                if !callers.contains(caller) {
                    callers.push(Arc::clone(caller));
                }
            }
        }
        TwoLevels { level, callees, callers, followed, hooked }
    }

    /// Inserts probes into these methods, as far as the budget reaches.
    pub(super) fn insert(&mut self, methods: &[Arc<str>]) -> Result<(), Refusal> {
        let (mut found, mut hooks) = (Vec::new(), self.hooks.count());
        for method in methods {
            if self.without.get(method).is_some_and(|reason| reason == NEVER_ENDS || reason == ABOVE) {
                continue;
            }
            let meant = self.session.meant_methods(method, None);
            // A bridge has the same text as the method to which it forwards, if only the type of the result differs.
            let of_text = meant.map(|mut all| {
                all.retain(|of| of.text == **method);
                let copies = too_many_copies(&all);
                let first = all.into_iter().min_by_key(|of| of.obstacle.is_some());
                first.map(|of| MeantMethod { obstacle: of.obstacle.clone().or(copies), ..of })
            });
            match of_text {
                Ok(Some(meant)) => match meant.obstacle.clone().map_or_else(|| way_to(self.session, &meant), Err) {
                    Err(reason) => _ = self.without.insert(Arc::clone(method), reason),
                    Ok(_) if *meant.key.class == *THREAD => {
                        self.without.insert(Arc::clone(method), ABOVE.to_owned());
                    }
                    Ok(way) if matches!(way, Way::Read(_)) || hooks < self.options.hooks => {
                        hooks += usize::from(!matches!(way, Way::Read(_)));
                        self.without.remove(method);
                        found.push((Arc::clone(method), meant.key));
                    }
                    Ok(_) => {
                        let reason = format!("the budget of {} probes is used up", self.options.hooks);
                        self.without.insert(Arc::clone(method), reason);
                    }
                },
                Ok(None) => _ = self.without.insert(Arc::clone(method), "it is not loaded any more".to_owned()),
                Err(refusal) => _ = self.without.insert(Arc::clone(method), refusal.to_string()),
            }
        }
        let without = self.hooks.insert(self.session, &found).map_err(Refusal::from)?;
        self.without.extend(without);
        Ok(())
    }

    /// Notes what was found on a level.
    fn note_levels(&self, levels: &TwoLevels, seen: Option<&Seen>) {
        let mut found = Vec::new();
        for (ascent, followed) in self.ascents.iter().zip(&levels.followed) {
            for callee in ascent.present() {
                let by_probes = || seen?.of(callee, &ascent.followed_of(callee, &self.options.policy));
                let measured = levels.hooked.get(callee).cloned().or_else(by_probes);
                let measured = measured.as_ref().ok_or_else(|| self.why_not(callee, followed));
                found.push(level_of((ascent, levels.level), callee, followed, (measured, self.has_margins)));
            }
        }
        if let Some(walk) = &mut *self.shared.lock() {
            walk.levels.extend(found);
        }
    }

    /// Why the calls of a method were not measured.
    fn why_not(&self, callee: &Arc<str>, followed: &[Arc<str>]) -> String {
        if self.options.metric.is_some() {
            return "not counted by a hook: no call of it began, tasks or threads begin there, or it takes none (the notices say why)".to_owned();
        }
        if let Some(reason) = self.without.get(callee) {
            return format!("not measured: {reason}");
        }
        match followed.iter().find_map(|caller| Some((caller, self.without.get(caller)?))) {
            Some((caller, reason)) => format!("not measured, because its caller {caller} is not: {reason}"),
            None => "not measured: no caller is followed".to_owned(),
        }
    }

    pub(super) fn set_state(&self, state: &str) {
        if let Some(walk) = &mut *self.shared.lock() {
            state.clone_into(&mut walk.state);
        }
        self.publish();
    }

    pub(super) fn publish(&self) {
        self.hooks.note_costs(self.session);
        if let Some(walk) = &mut *self.shared.lock() {
            walk.hooks = self.hooks.shown();
        }
    }
}

/// A method that was asked for, with the part of all samples that were taken while it was executing.
fn root_spot(root: &str, stacks: &SampledStacks) -> HotSpot {
    let weight = stacks.weight_of(root);
    HotSpot {
        method: root.to_owned(),
        kind: None,
        share: weight / stacks.weight().max(f64::MIN_POSITIVE),
        margin: None,
        waiting: None,
        samples: weight.round() as u64,
        lines: Vec::new(),
    }
}
