//! Two neighbouring levels of a walk are measured together: which calls of callees were made within which calls of callers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::Refusal;
use records::{EndedCalls, probe_registry};
use rustc_hash::{FxHashMap, FxHashSet};

use super::levels::{Seen, TwoLevels};
use super::run::{ABOVE, NEVER_ENDS, Run};
use crate::hot_spots::wait;
use crate::recorder::{CallSum, LiveTree, Nested, Nesting};

/// The JIT compiles again what has been changed; until then calls take longer than usual.
const SETTLE: Duration = Duration::from_secs(1);
/// For so long it is looked how often methods are called, in windows.
const RATES: Duration = Duration::from_millis(600);
/// Records are read this long after they were written, at most.
const DRAINED: Duration = Duration::from_millis(250);
/// So long one waits for calls of callers to end, so that calls within them have a caller.
const GRACE: Duration = Duration::from_secs(2);
/// The part of the calls of a level that may be recorded for that.
const FOR_RATES: u64 = 4;
/// The first of these windows, and the longest. Each of the others is as long as an equal part of these calls is expected to take.
const FIRST: Duration = Duration::from_micros(250);
const LONGEST: Duration = Duration::from_millis(4);
/// Windows a period, as far as it has some.
const WINDOWS: u32 = 30;
/// A window is open for so long at least.
const SHORTEST: Duration = Duration::from_millis(1);
/// So often it is looked in a window, and without one, whether calls are left.
const LOOK_IN_WINDOW: Duration = Duration::from_micros(200);
const LOOK: Duration = Duration::from_millis(10);
const TAKEN_OVER: &str = "somebody else changed the level of its probe, or ended its claim, while it was measured";
/// Calls with a caller up to this part are enough.
pub(super) const COVERED: f64 = 0.95;
/// What a recorded call takes, about.
const PROBE_SECONDS: f64 = 75e-9;

/// How two levels are recorded.
struct Recorded {
    /// All calls of callers are; those of their callees, in windows only, if at all.
    has_all_callers: bool,
    /// How long a window is open; `None`: no windows, but all the time.
    open: Option<Duration>,
}

impl Run<'_> {
    /// Measures the methods of two levels at a time. `None` if there is nothing to measure.
    pub(super) fn measure(&mut self, levels: &TwoLevels, goes_on: &dyn Fn() -> bool) -> Result<Option<Seen>, Refusal> {
        if levels.callers.is_empty() {
            return Ok(None);
        }
        // Nothing calls them: what is above has no calls either.
        let ends = |of: &Arc<str>| self.without.get(of).is_none_or(|reason| reason != NEVER_ENDS && reason != ABOVE);
        if !levels.callees.iter().any(ends) {
            self.without.extend(levels.callers.iter().map(|of| (Arc::clone(of), ABOVE.to_owned())));
            return Ok(None);
        }
        self.set_state(&format!("inserting level {}", levels.level));
        let mut methods: Vec<Arc<str>> = Vec::new();
        for method in levels.callees.iter().chain(&levels.callers).filter(|of| !self.hooks.has(of)) {
            if !methods.contains(method) {
                methods.push(Arc::clone(method));
            }
        }
        self.insert(&methods)?;
        let has_hook = |of: &&Arc<str>| self.hooks.has(of);
        let (callees, callers): (FxHashSet<Arc<str>>, FxHashSet<Arc<str>>) = (
            levels.callees.iter().filter(has_hook).cloned().collect(),
            levels.callers.iter().filter(has_hook).cloned().collect(),
        );
        if callees.is_empty() || callers.is_empty() {
            return Ok(None);
        }
        self.publish();
        wait(SETTLE, goes_on);
        self.set_state(&format!("measuring level {}", levels.level));
        let all: FxHashSet<Arc<str>> = callees.union(&callers).cloned().collect();
        let only_callees: FxHashSet<Arc<str>> = callees.difference(&callers).cloned().collect();
        let recorded = self.how_to_record((&callees, &callers), goes_on);
        // Callers first: a call within one that was not recorded has no caller.
        if !recorded.has_all_callers {
            self.look_at((&callees, &callers), &all);
            self.record_in_windows(&[&callers, &only_callees], recorded.open, goes_on);
        } else {
            self.hooks.record(self.session, &callers, true);
            wait(DRAINED, goes_on);
            self.look_at((&callees, &callers), &only_callees);
            self.record_in_windows(&[&only_callees], recorded.open, goes_on);
        }
        wait(DRAINED, goes_on);
        wait(GRACE, &|| goes_on() && covered(&self.session.walks.calls.seen()) < COVERED);
        self.hooks.record(self.session, &all, false);
        let seen = self.session.walks.calls.seen();
        let methods = numbered(&all);
        self.note_calls(&seen, &methods);
        let without = self.hooks.taken_over(self.session, &all);
        self.without.extend(without.iter().map(|of| (Arc::clone(of), TAKEN_OVER.to_owned())));
        self.hooks.remove(self.session, &without, TAKEN_OVER);
        // In windows, a caller of few calls may have none; or others have used up all calls that are wanted.
        if recorded.has_all_callers && self.session.instrumentation.live.calls_left_to_walk() > 0 {
            self.note_uncalled(&callers, &methods, &seen);
        }
        self.hooks.figures.late += seen.late;
        Ok(Some(Seen { nested: seen, methods, without }))
    }

    /// Notes callers of which no call has begun and ended: loops of threads, most likely. On the next level they have none to measure.
    fn note_uncalled(&mut self, callers: &FxHashSet<Arc<str>>, numbered: &[Arc<str>], seen: &Nested) {
        let is_called = |method: &Arc<str>| {
            numbered.binary_search(method).is_ok_and(|number| seen.calls.get(&number).is_some_and(|calls| *calls > 0))
        };
        let is_missing = |of: &&Arc<str>| self.hooks.has(of) && !is_called(of);
        let uncalled: Vec<Arc<str>> = callers.iter().filter(is_missing).cloned().collect();
        self.hooks.remove(self.session, &uncalled, "no call of it began and ended");
        self.without.extend(uncalled.into_iter().map(|of| (of, NEVER_ENDS.to_owned())));
    }

    /// Looks in windows how often methods are called, and decides whether all calls are recorded, all of the callers, or those in windows only: no more than are
    /// wanted, and than the budget allows. The calls that are left of those that are wanted are the limit from now on.
    fn how_to_record(
        &mut self,
        (callees, callers): (&FxHashSet<Arc<str>>, &FxHashSet<Arc<str>>),
        goes_on: &dyn Fn() -> bool,
    ) -> Recorded {
        let all: FxHashSet<Arc<str>> = callees.union(callers).cloned().collect();
        let only_callees: FxHashSet<Arc<str>> = callees.difference(callers).cloned().collect();
        self.look_at((callees, callers), &all);
        let (live, wanted) = (&self.session.instrumentation.live, self.options.calls);
        let for_rates = wanted / FOR_RATES;
        live.limit_calls_of_walk(for_rates);
        let (begin, mut open, mut window, mut windows) = (Instant::now(), Duration::ZERO, FIRST, 0);
        while begin.elapsed() < RATES && goes_on() && live.calls_left_to_walk() > 0 {
            open += self.record_for(&[callers, &only_callees], window);
            windows += 1;
            let (each, used) =
                (for_rates / u64::from(WINDOWS), for_rates.saturating_sub(live.calls_left_to_walk()).max(1));
            window = open.mul_f64(each as f64 / used as f64).min(LONGEST);
            wait((RATES / WINDOWS).mul_f64(2.0 * self.random.part()), goes_on);
        }
        wait(DRAINED, goes_on);
        let seen = self.session.walks.calls.seen();
        let numbered = numbered(&all);
        self.note_calls(&seen, &numbered);
        let expected = |methods: &mut dyn Iterator<Item = &Arc<str>>| -> f64 {
            // What is recorded for others takes nothing from the limit.
            let own = methods.filter(|of| !self.hooks.is_read(of));
            let calls = own.filter_map(|of| seen.calls.get(&numbered.binary_search(of).ok()?)).sum::<u64>();
            calls as f64 / open.as_secs_f64().max(1e-4) * self.options.period.as_secs_f64()
        };
        // The first windows are too long for methods that are called that often: when in them the calls were used up is unknown.
        let is_unknown = live.calls_left_to_walk() == 0 && windows <= 2;
        let calls_left = wanted - for_rates + live.calls_left_to_walk();
        live.limit_calls_of_walk(calls_left);
        let most = (self.options.period.as_secs_f64() * self.options.budget / PROBE_SECONDS).min(calls_left as f64);
        // They are recorded before their callees are.
        let longer = (self.options.period + DRAINED).as_secs_f64() / self.options.period.as_secs_f64();
        let of_callers = expected(&mut callers.iter()) * longer;
        // The limit is that of callers and callees together.
        let has_all_callers = of_callers <= most / 2.0 && !is_unknown;
        let in_windows = if has_all_callers { expected(&mut only_callees.iter()) } else { expected(&mut all.iter()) };
        let left = if has_all_callers { most - of_callers } else { most };
        // `None`: all the time.
        let open = (in_windows > left).then(|| (self.options.period / WINDOWS).mul_f64(left / in_windows));
        Recorded { has_all_callers, open: open.map(|open| open.max(SHORTEST)) }
    }

    /// Has these methods record their calls for the period, all the time or in windows at random moments that are open for so long, or until no call is left of the limit.
    fn record_in_windows(
        &mut self,
        methods: &[&FxHashSet<Arc<str>>],
        open: Option<Duration>,
        goes_on: &dyn Fn() -> bool,
    ) {
        let live = &self.session.instrumentation.live;
        let goes_on = || goes_on() && live.calls_left_to_walk() > 0;
        let begin = Instant::now();
        let Some(open) = open else {
            self.switch(methods, (self.options.period, LOOK), &goes_on);
            return;
        };
        let closed = (self.options.period / WINDOWS).saturating_sub(open);
        let mut left_windows = u64::from(WINDOWS);
        while begin.elapsed() < self.options.period && goes_on() {
            // An equal part of what is left, so that the windows are spread over the period however often the methods are called.
            let left = live.calls_left_to_walk();
            let of_window = left.div_ceil(left_windows);
            live.limit_calls_of_walk(of_window);
            self.record_for(methods, open);
            live.limit_calls_of_walk(left - of_window + live.calls_left_to_walk());
            left_windows = (left_windows - 1).max(1);
            wait(closed.mul_f64(2.0 * self.random.part()), &goes_on);
        }
    }

    /// Has these methods record their calls for a moment; returns for how long.
    fn record_for(&self, methods: &[&FxHashSet<Arc<str>>], open: Duration) -> Duration {
        let begin = Instant::now();
        self.switch(methods, (open, LOOK_IN_WINDOW), &|| true);
        begin.elapsed()
    }

    /// Has these methods record their calls for so long, unless it is to end earlier: callers are switched on first and off last, as calls within those that are not recorded have no
    /// caller. Nor have those that begin when no call is left of the limit: the window ends at the last look at which some were.
    fn switch(&self, methods: &[&FxHashSet<Arc<str>>], (open, look): (Duration, Duration), goes_on: &dyn Fn() -> bool) {
        let (calls, live) = (&self.session.walks.calls, &self.session.instrumentation.live);
        methods.iter().for_each(|of| self.hooks.record(self.session, of, true));
        let (begin, mut end) = (Instant::now(), self.session.record_time());
        calls.open_window(end);
        while begin.elapsed() < open && goes_on() {
            std::thread::sleep(look.min(open.saturating_sub(begin.elapsed())));
            self.hooks.share(self.session);
            let now = self.session.record_time();
            if live.calls_left_to_walk() == 0 {
                break;
            }
            end = now;
        }
        calls.close_window(end);
        methods.iter().rev().for_each(|of| self.hooks.record(self.session, of, false));
    }

    /// Adds the calls that were recorded for the walk.
    fn note_calls(&mut self, seen: &Nested, methods: &[Arc<str>]) {
        let is_own = |method: &usize| methods.get(*method).is_some_and(|method| !self.hooks.is_read(method));
        let calls: u64 = seen.calls.iter().filter(|(method, _)| is_own(method)).map(|(_, calls)| calls).sum();
        self.hooks.figures.calls += calls;
    }

    /// Looks at calls of these methods from now on; of those of `in_windows` that are recorded for others all the time, at those in windows.
    fn look_at(
        &self,
        (callees, callers): (&FxHashSet<Arc<str>>, &FxHashSet<Arc<str>>),
        in_windows: &FxHashSet<Arc<str>>,
    ) {
        let all: FxHashSet<Arc<str>> = callees.union(callers).cloned().collect();
        let numbered = numbered(&all);
        let number = |method: &Arc<str>| numbered.binary_search(method).ok();
        let mut nesting = Nesting {
            methods: FxHashMap::default(),
            callees: callees.iter().filter_map(number).collect(),
            callers: callers.iter().filter_map(number).collect(),
            since: self.session.record_time(),
            in_windows: in_windows.iter().filter(|of| self.hooks.is_read(of)).filter_map(number).collect(),
        };
        for (at, method) in numbered.iter().enumerate() {
            nesting.methods.extend(self.hooks.numbers(method).into_iter().map(|number| (number, at)));
        }
        let ended = EndedCalls::new(probe_registry::of_process(), Arc::clone(&self.session.lengths));
        self.session.walks.calls.look_at(nesting, LiveTree::new(ended));
    }
}

/// Methods by the numbers that they have while they are looked at.
fn numbered(methods: &FxHashSet<Arc<str>>) -> Vec<Arc<str>> {
    let mut numbered: Vec<Arc<str>> = methods.iter().cloned().collect();
    numbered.sort();
    numbered
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
