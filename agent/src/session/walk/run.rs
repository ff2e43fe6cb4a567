//! The thread of a walk: takes samples, then measures two neighbouring levels at a time, until there is nothing above.
//!
//! The probes of the callers are inserted while those of their callees are still there: calls of these within calls of those say exactly who made them. Then the lower
//! level is removed, and the next one inserted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{HotBy, HotSpot, Refusal, Walk};
use instrument_core::level::Level;
use instrument_core::rules::patterns::NameGlob;
use parking_lot::Mutex;
use records::{EndedCalls, probe_registry};
use rustc_hash::{FxHashMap, FxHashSet};

use super::hooks::Hooks;
use crate::hot_spots::{Listed, SampledStacks, Tally};
use crate::random::Random;
use crate::recorder::{CallSum, LiveTree, Nested, Nesting};
use crate::session::Session;
use crate::walks::{Ascent, Measured, Policy, level_of};

/// The JIT compiles again what has been changed; until then calls take longer than usual.
const SETTLE: Duration = Duration::from_secs(1);
/// For so long it is looked how often methods are called, in windows.
const RATES: Duration = Duration::from_millis(600);
/// Records are read this long after they were written, at most.
const DRAINED: Duration = Duration::from_millis(250);
/// So long one waits for calls of callers to end, so that calls within them have a caller.
const GRACE: Duration = Duration::from_secs(2);
/// Methods with this part of all samples are hot.
const HOT: f64 = 0.05;
/// If none is, one of so many is taken.
const TOP_OF_NONE: usize = 5;
/// Windows a period, as far as it has some.
const WINDOWS: u32 = 30;
/// A window is open for so long at least.
const SHORTEST: Duration = Duration::from_millis(1);
const TURN: Duration = Duration::from_millis(50);
/// Calls with a caller up to this part are enough.
const COVERED: f64 = 0.95;
/// What a recorded call takes, about.
const PROBE_SECONDS: f64 = 75e-9;
/// The part of one processor that recording all calls of the methods of a level may take; methods that are called more often are recorded in windows.
const BUDGET: f64 = 0.02;
const NEVER_ENDS: &str =
    "no call of it began and ended while its callees were measured: the loop of a thread, or rarely called";
const ABOVE: &str = "it is above methods of which no call was measured";
const STOPPED: &str = "it was ended: by its client, a detach, a pause, or the end of the recording";

/// How a walk is to be done.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) seconds: u64,
    pub(super) period: Duration,
    /// The measured calls of a level that are enough.
    pub(super) calls: u64,
    pub(super) top: usize,
    pub(super) hooks: usize,
    pub(super) through: Vec<NameGlob>,
    pub(super) policy: Policy,
}

/// A walk under way.
pub(super) struct Run<'s> {
    session: &'s Session,
    options: Options,
    /// The method to begin at, if it is not the hot ones.
    root: Option<String>,
    shared: Arc<Mutex<Option<Walk>>>,
    hooks: Hooks,
    /// Why methods have no probe.
    without: FxHashMap<Arc<str>, String>,
    ascents: Vec<Ascent>,
    random: Random,
    has_margins: bool,
}

/// How two levels are recorded.
struct Manner {
    /// All calls of callers are; those of their callees, in windows only, if at all.
    has_all_callers: bool,
    /// How long a window is open; `None`: no windows, but all the time.
    open: Option<Duration>,
}

/// The methods of two levels.
struct TwoLevels {
    level: usize,
    /// Those whose callers are looked for.
    inner: Vec<Arc<str>>,
    /// Their callers, of all hot methods together, each once.
    outer: Vec<Arc<str>>,
    /// The callers that are followed, by hot method.
    followed: Vec<Vec<Arc<str>>>,
}

/// What was measured, and the methods by the numbers that they had meanwhile.
struct Seen {
    nested: Nested,
    methods: Vec<Arc<str>>,
}

impl<'s> Run<'s> {
    pub(super) fn new(
        session: &'s Session,
        number: u64,
        (options, root): (Options, Option<String>),
        shared: Arc<Mutex<Option<Walk>>>,
    ) -> Run<'s> {
        let (without, ascents, random) = Default::default();
        let hooks = Hooks::of_walk(number);
        Run { session, options, root, shared, hooks, without, ascents, random, has_margins: false }
    }

    pub(super) fn run(&mut self, goes_on: &dyn Fn() -> bool) -> Result<(), Refusal> {
        self.sample(goes_on)?;
        let mut level = 0;
        while goes_on() && self.ascents.iter().any(|of| of.end().is_none()) {
            level += 1;
            let levels = self.two_levels(level);
            let seen = self.measure(&levels, goes_on)?;
            self.note_levels(&levels, seen.as_ref());
            let Options { policy, .. } = &self.options;
            for (ascent, followed) in self.ascents.iter_mut().zip(levels.followed) {
                ascent.go_up(followed, policy);
            }
            let next: Vec<Arc<str>> = self.present();
            self.hooks.remove_but(self.session, &next, "its level has been measured");
            self.publish();
        }
        self.ascents.iter_mut().for_each(|ascent| ascent.end_here(STOPPED));
        Ok(())
    }

    /// Removes what is still there, and says how it ended: by an error, or as the walk itself did.
    pub(super) fn finish(&mut self, failure: Option<&str>) {
        self.session.walks.calls.end();
        self.hooks.remove_all(self.session, "the walk has ended");
        let end = |ascent: &Ascent| format!("{}: {}", ascent.hot.method, ascent.end().or(failure).unwrap_or(STOPPED));
        let ends: Vec<String> = self.ascents.iter().map(end).collect();
        let end = if ends.is_empty() { STOPPED.to_owned() } else { ends.join("; ") };
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
        let watched =
            self.session.watch(HotBy::Cpu, (Some(self.options.seconds), goes_on), Tally::default().with_stacks())?;
        self.has_margins = !watched.is_biased;
        let (tally, none) = (&watched.tally, SampledStacks::default());
        let stacks = tally.stacks().unwrap_or(&none);
        let listed = Listed { share: HOT, top: TOP_OF_NONE, margins: self.has_margins, waiting: false };
        let hot = match &self.root {
            Some(root) => vec![root_spot(root, tally, stacks)],
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
            if watched.is_biased {
                walk.notices.push("the samples are biased, so their shares have no margins".to_owned());
            }
            if stacks.left_out() > 0 {
                walk.notices
                    .push(format!("{} samples were left out: there are too many different stacks", stacks.left_out()));
            }
            if self.ascents.is_empty() {
                walk.notices.push("no thread has used processor time".to_owned());
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

    fn two_levels(&self, level: usize) -> TwoLevels {
        let followed: Vec<Vec<Arc<str>>> = self.ascents.iter().map(|of| of.followed(&self.options.policy)).collect();
        let mut outer: Vec<Arc<str>> = Vec::new();
        // Round robin, so that no hot method takes the whole budget.
        for at in 0..followed.iter().map(Vec::len).max().unwrap_or(0) {
            for caller in followed.iter().filter_map(|of| of.get(at)) {
                if !outer.contains(caller) {
                    outer.push(Arc::clone(caller));
                }
            }
        }
        TwoLevels { level, inner: self.present(), outer, followed }
    }

    /// Measures the methods of two levels at a time. `None` if there is nothing to measure.
    fn measure(&mut self, levels: &TwoLevels, goes_on: &dyn Fn() -> bool) -> Result<Option<Seen>, Refusal> {
        if levels.outer.is_empty() {
            return Ok(None);
        }
        // Nothing calls them: what is above has no calls either.
        let ends = |of: &Arc<str>| self.without.get(of).is_none_or(|reason| reason != NEVER_ENDS && reason != ABOVE);
        if !levels.inner.iter().any(ends) {
            self.without.extend(levels.outer.iter().map(|of| (Arc::clone(of), ABOVE.to_owned())));
            return Ok(None);
        }
        self.set_state(&format!("inserting level {}", levels.level));
        let mut methods: Vec<Arc<str>> = Vec::new();
        for method in levels.inner.iter().chain(&levels.outer).filter(|of| !self.hooks.has(of)) {
            if !methods.contains(method) {
                methods.push(Arc::clone(method));
            }
        }
        self.insert(&methods)?;
        let has_hook = |of: &&Arc<str>| self.hooks.has(of);
        let (inner, outer): (FxHashSet<Arc<str>>, FxHashSet<Arc<str>>) = (
            levels.inner.iter().filter(has_hook).cloned().collect(),
            levels.outer.iter().filter(has_hook).cloned().collect(),
        );
        if inner.is_empty() || outer.is_empty() {
            return Ok(None);
        }
        self.publish();
        wait(SETTLE, goes_on);
        self.set_state(&format!("measuring level {}", levels.level));
        let all: FxHashSet<Arc<str>> = inner.union(&outer).cloned().collect();
        let only_inner: FxHashSet<Arc<str>> = inner.difference(&outer).cloned().collect();
        let manner = self.manner((&inner, &outer), goes_on);
        // Callers first: a call within one that was not recorded has no caller.
        if !manner.has_all_callers {
            self.look_at((&inner, &outer), self.now());
            self.record_in_windows(&all, manner.open, goes_on);
        } else {
            self.hooks.set_level(self.session, &outer, Level::Time);
            wait(DRAINED, goes_on);
            self.look_at((&inner, &outer), self.now());
            self.record_in_windows(&only_inner, manner.open, goes_on);
        }
        wait(DRAINED, goes_on);
        wait(GRACE, &|| goes_on() && covered(&self.session.walks.calls.seen()) < COVERED);
        self.hooks.set_level(self.session, &all, Level::Off);
        let seen = self.session.walks.calls.seen();
        let methods = numbered(&all);
        // In windows, a caller of few calls may have none.
        if manner.has_all_callers {
            self.note_uncalled(&outer, &methods, &seen);
        }
        self.hooks.figures.calls += seen.calls.values().sum::<u64>();
        self.hooks.figures.late += seen.late;
        Ok(Some(Seen { nested: seen, methods }))
    }

    /// Notes callers of which no call has begun and ended: loops of threads, most likely. On the next level they have none to measure.
    fn note_uncalled(&mut self, outer: &FxHashSet<Arc<str>>, numbered: &[Arc<str>], seen: &Nested) {
        let is_called = |method: &Arc<str>| {
            numbered.binary_search(method).is_ok_and(|number| seen.calls.get(&number).is_some_and(|calls| *calls > 0))
        };
        let uncalled: Vec<Arc<str>> = outer.iter().filter(|of| !is_called(of)).cloned().collect();
        self.hooks.remove(self.session, &uncalled, "no call of it began and ended");
        self.without.extend(uncalled.into_iter().map(|of| (of, NEVER_ENDS.to_owned())));
    }

    /// Inserts probes into these methods, as far as the budget reaches.
    fn insert(&mut self, methods: &[Arc<str>]) -> Result<(), Refusal> {
        let mut found = Vec::new();
        for method in methods {
            if self.without.get(method).is_some_and(|reason| reason == NEVER_ENDS || reason == ABOVE) {
                continue;
            }
            let meant = self.session.meant_methods(method, None);
            match meant.map(|all| all.into_iter().find(|of| of.text == **method)) {
                Ok(Some(meant)) => match meant.obstacle {
                    Some(reason) => _ = self.without.insert(Arc::clone(method), reason),
                    None if self.hooks.count() + found.len() < self.options.hooks => {
                        self.without.remove(method);
                        found.push((Arc::clone(method), meant.key));
                    }
                    None => {
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

    /// Looks in windows how often methods are called, and decides whether all calls are recorded, all of the callers, or those in windows only: no more than are
    /// wanted, and than the budget allows.
    fn manner(
        &mut self,
        (inner, outer): (&FxHashSet<Arc<str>>, &FxHashSet<Arc<str>>),
        goes_on: &dyn Fn() -> bool,
    ) -> Manner {
        let all: FxHashSet<Arc<str>> = inner.union(outer).cloned().collect();
        self.look_at((inner, outer), self.now());
        let (begin, mut open) = (Instant::now(), Duration::ZERO);
        while begin.elapsed() < RATES && goes_on() {
            open += self.record_for(&all, RATES / WINDOWS / 5);
            wait((RATES / WINDOWS).mul_f64(2.0 * self.random.part()), goes_on);
        }
        wait(DRAINED, goes_on);
        let seen = self.session.walks.calls.seen();
        let numbered = numbered(&all);
        let expected = |methods: &mut dyn Iterator<Item = &Arc<str>>| -> f64 {
            let calls = methods.filter_map(|of| seen.calls.get(&numbered.binary_search(of).ok()?)).sum::<u64>();
            calls as f64 / open.as_secs_f64().max(1e-3) * self.options.period.as_secs_f64()
        };
        let most = (self.options.period.as_secs_f64() * BUDGET / PROBE_SECONDS).min(self.options.calls as f64);
        let of_callers = expected(&mut outer.iter());
        let has_all_callers = of_callers <= most;
        let in_windows =
            if has_all_callers { expected(&mut inner.difference(outer)) } else { expected(&mut all.iter()) };
        let left = if has_all_callers { (most - of_callers).max(most / 2.0) } else { most };
        // `None`: all the time.
        let open = (in_windows > left).then(|| (self.options.period / WINDOWS).mul_f64(left / in_windows));
        Manner { has_all_callers, open: open.map(|open| open.max(SHORTEST)) }
    }

    /// Has these methods record their calls for the period, all the time or in windows at random moments that are open for so long, or until there are enough.
    fn record_in_windows(&mut self, methods: &FxHashSet<Arc<str>>, open: Option<Duration>, goes_on: &dyn Fn() -> bool) {
        let (most, nested) = (self.options.calls, Arc::clone(&self.session.walks.calls));
        let goes_on = || goes_on() && nested.inner_calls() < most;
        let begin = Instant::now();
        let Some(open) = open else {
            self.hooks.set_level(self.session, methods, Level::Time);
            wait(self.options.period, &goes_on);
            self.hooks.set_level(self.session, methods, Level::Off);
            return;
        };
        let closed = (self.options.period / WINDOWS).saturating_sub(open);
        while begin.elapsed() < self.options.period && goes_on() {
            self.record_for(methods, open);
            wait(closed.mul_f64(2.0 * self.random.part()), &goes_on);
        }
    }

    /// Has these methods record their calls for a moment; returns for how long.
    fn record_for(&self, methods: &FxHashSet<Arc<str>>, open: Duration) -> Duration {
        let begin = Instant::now();
        self.hooks.set_level(self.session, methods, Level::Time);
        std::thread::sleep(open);
        self.hooks.set_level(self.session, methods, Level::Off);
        begin.elapsed()
    }

    fn look_at(&self, (inner, outer): (&FxHashSet<Arc<str>>, &FxHashSet<Arc<str>>), since: u64) {
        let all: FxHashSet<Arc<str>> = inner.union(outer).cloned().collect();
        let numbered = numbered(&all);
        let number = |method: &Arc<str>| numbered.binary_search(method).ok();
        let mut nesting = Nesting {
            methods: FxHashMap::default(),
            inner: inner.iter().filter_map(number).collect(),
            outer: outer.iter().filter_map(number).collect(),
            since,
        };
        for (at, method) in numbered.iter().enumerate() {
            nesting.methods.extend(self.hooks.numbers(self.session, method).into_iter().map(|number| (number, at)));
        }
        let ended = EndedCalls::new(probe_registry::of_process(), Arc::clone(&self.session.lengths));
        self.session.walks.calls.look_at(nesting, LiveTree::new(ended));
    }

    /// The present moment by the clock of records.
    fn now(&self) -> u64 {
        let clock = self.session.running.lock().clock;
        clock.map_or(0, |clock| u64::try_from(clock.now()).unwrap_or(0))
    }

    /// Notes what was found on a level.
    fn note_levels(&self, levels: &TwoLevels, seen: Option<&Seen>) {
        let mut found = Vec::new();
        for (ascent, followed) in self.ascents.iter().zip(&levels.followed) {
            for callee in ascent.present() {
                let measured = seen.and_then(|seen| seen.of(callee, &ascent.followed_of(callee, &self.options.policy)));
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
        if let Some(reason) = self.without.get(callee) {
            return format!("not measured: {reason}");
        }
        match followed.iter().find_map(|caller| Some((caller, self.without.get(caller)?))) {
            Some((caller, reason)) => format!("not measured: its caller {caller} has no probe: {reason}"),
            None => "not measured: no caller is followed".to_owned(),
        }
    }

    fn set_state(&self, state: &str) {
        if let Some(walk) = &mut *self.shared.lock() {
            state.clone_into(&mut walk.state);
        }
        self.publish();
    }

    fn publish(&self) {
        if let Some(walk) = &mut *self.shared.lock() {
            walk.hooks = self.hooks.shown();
        }
    }
}

/// A method that was asked for, with the part of all samples that it has itself, or, if it has none, with all that it calls.
fn root_spot(root: &str, tally: &Tally, stacks: &SampledStacks) -> HotSpot {
    let all = Listed { share: 0.0, top: 0, margins: false, waiting: false };
    let found = tally.hot(all).into_iter().find(|spot| spot.method == root);
    found.unwrap_or_else(|| HotSpot {
        method: root.to_owned(),
        kind: None,
        share: stacks.weight_of(root) / stacks.weight().max(f64::MIN_POSITIVE),
        margin: None,
        waiting: None,
        samples: 0,
    })
}

/// Methods by the numbers that they have while they are looked at.
fn numbered(methods: &FxHashSet<Arc<str>>) -> Vec<Arc<str>> {
    let mut numbered: Vec<Arc<str>> = methods.iter().cloned().collect();
    numbered.sort();
    numbered
}

impl Seen {
    /// Returns what was seen of a method; `None` if it, or one of those of its callers that are followed, had no probe: then calls of that one would count for
    /// whoever called it.
    fn of(&self, callee: &Arc<str>, followed: &[Arc<str>]) -> Option<Measured> {
        let number = self.methods.binary_search(callee).ok()?;
        if !followed.iter().all(|caller| self.methods.binary_search(caller).is_ok()) {
            return None;
        }
        let mut found = Measured::default();
        for ((_, caller), sum) in self.nested.edges.iter().filter(|((of, _), _)| *of == number) {
            // Within a call of another method that has a probe: it may have called by way of one that has none.
            match caller.and_then(|caller| self.methods.get(caller)).filter(|caller| followed.contains(caller)) {
                Some(caller) => _ = found.by_caller.insert(Arc::clone(caller), *sum),
                None => found.without_caller.calls += sum.calls,
            }
        }
        Some(found)
    }
}

/// The part of calls that have a caller.
fn covered(seen: &Nested) -> f64 {
    let calls = |with_caller: bool| -> u64 {
        let meant = seen.edges.iter().filter(|((_, caller), _)| caller.is_some() == with_caller);
        meant.map(|(_, CallSum { calls, .. })| calls).sum()
    };
    let (with, without) = (calls(true), calls(false));
    if with + without == 0 { 1.0 } else { with as f64 / (with + without) as f64 }
}

/// Waits so long, or as long as it goes on.
fn wait(time: Duration, goes_on: &dyn Fn() -> bool) {
    let begin = Instant::now();
    while begin.elapsed() < time && goes_on() {
        std::thread::sleep(TURN.min(time.saturating_sub(begin.elapsed())));
    }
}
