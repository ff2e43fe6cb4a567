//! Callers by a hook (`instr callers --source finder`): a claim of owner `walk` that inserts the hook, windows in which it counts, and its removal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{
    Callers, CallersRequest, CallersSource, ClaimLimits, ErrorCode, HookFigures, HotBy, LONGEST_HOT_SECONDS, MOST_HITS,
    Refusal, USUAL_HITS, USUAL_HOT_SECONDS,
};
use instrument_core::internal_name::to_source;
use instrument_core::level::Level;
use rustc_hash::FxHashSet;
use trace::report::counted;

use super::{MOST_CALLERS, called};
use crate::call_sites::MethodKey;
use crate::caller_hooks::{self, CallerHook};
use crate::classes::hierarchy::LoaderId;
use crate::contexts::{self, LooksAtTasks};
use crate::desired::{Claim, Expiry, Kept, RequestedProbes};
use crate::hot_spots::{CountedCalls, FoundCallers, HandOvers, Meter, wait};
use crate::jvm_figures::FullCalls;
use crate::random::Random;
use crate::reconcile::Change;
use crate::session::callees::MeantMethod;
use crate::session::{Kinds, Session};

/// The JIT compiles again what has been changed; until then calls take longer than usual.
const SETTLE: Duration = Duration::from_secs(1);
/// So long one waits for classes of the JDK whose frames must not be disturbed now.
const PATIENCE: Duration = Duration::from_secs(5);
/// So long one waits for counted calls to end.
const GRACE: Duration = Duration::from_secs(2);
/// Nothing of a finder is left so long after its time, whatever becomes of it.
const LONGER: Duration = Duration::from_secs(30);
/// Methods that run on the way into the agent, or before there is a thread to look at.
const THREAD: &[u8] = b"java/lang/Thread";
/// Classes of one name that are changed.
const MOST_COPIES: usize = 64;
/// More calls than this part that have not ended make shares of time doubtful.
const UNENDED: f64 = 0.05;

/// Windows, if all goes as expected, ...
const WINDOWS: u64 = 250;
/// ... and at least: a method that is called very often switches the hook off.
const LEAST_WINDOWS: u64 = 100;
/// The part of the time over which they are spread.
const SPREAD: f64 = 0.85;
const SHORTEST: Duration = Duration::from_micros(50);
const FIRST: Duration = Duration::from_millis(1);
const LONGEST_WINDOW: Duration = Duration::from_millis(250);

/// What the windows have to reach.
#[derive(Debug, Clone, Copy)]
struct Goal {
    hits: u64,
    time: Duration,
}

/// How far they have come.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    hits: u64,
    /// For how long the hook was on.
    open: Duration,
    elapsed: Duration,
}

/// How long the hook is on next, for how many calls at most, and how long it is off after that, on the average.
#[derive(Debug, PartialEq)]
struct Window {
    open: Duration,
    most: u64,
    closed: Duration,
}

impl Goal {
    /// The next window; `None` if there are enough calls, or the time is over.
    fn next(self, Progress { hits, open, elapsed }: Progress) -> Option<Window> {
        let left = self.hits.checked_sub(hits).filter(|left| *left > 0)?;
        if elapsed >= self.time {
            return None;
        }
        let most = self.hits.div_ceil(LEAST_WINDOWS).min(left);
        if hits == 0 {
            // Longer and longer, until a call is seen.
            return Some(Window { open: open.clamp(FIRST, LONGEST_WINDOW), most, closed: Duration::ZERO });
        }
        let of_window = self.hits.div_ceil(WINDOWS) as f64;
        let per_call = open.as_secs_f64() / hits as f64;
        let length = Duration::from_secs_f64(per_call * of_window).clamp(SHORTEST, LONGEST_WINDOW);
        let windows = (left as f64 * per_call / length.as_secs_f64()).max(1.0);
        let remaining = self.time.mul_f64(SPREAD).saturating_sub(elapsed);
        let closed = (remaining.as_secs_f64() / windows - length.as_secs_f64()).max(0.0);
        Some(Window { open: length, most, closed: Duration::from_secs_f64(closed) })
    }
}

/// A hook in a method, which is gone when this is.
struct Inserted<'s> {
    session: &'s Session,
    claim: u32,
    number: u32,
    text: String,
    since: Instant,
    /// Whether it asks who hands tasks over.
    looks_at_tasks: bool,
    /// For how long the application was stopped for it at a time, at most.
    longest_stop: Duration,
}

impl Drop for Inserted<'_> {
    fn drop(&mut self) {
        caller_hooks::of_process().close(self.number);
        if self.looks_at_tasks {
            contexts::of_process().look_at_tasks(LooksAtTasks::Finder, false);
        }
        let _one_at_a_time = self.session.reloading.lock();
        // Not if somebody else has ended the claim, with all that belongs to that.
        if let Some(claim) = self.session.instrumentation.claims.remove(self.claim) {
            self.session.put_claims_in_force();
            self.session.take_away_of(&claim);
            let generation = self.session.instrumentation.generation();
            self.session.reconciler.let_wait(|name| generation.wants_name(name));
            self.session.close_gate();
            self.session.note_claim(self.claim, &format!("hook in {} removed", self.text));
        }
        caller_hooks::of_process().give_back(self.number);
        tracing::debug!(late = caller_hooks::of_process().late(), "a caller finder has ended");
    }
}

impl Session {
    /// Looks by a hook who calls methods, until it has counted enough calls, the time is over, or it does not go on.
    pub(in crate::session) fn find_callers(
        &self,
        request: &CallersRequest,
        meant: &[MeantMethod],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Callers, Refusal> {
        let goal = goal(request)?;
        if let Some(reason) = self.why_paused() {
            return Err(Refusal::new(ErrorCode::Refused, reason));
        }
        if let Some(reason) = too_many_copies(meant) {
            return Err(Refusal::from(format!("{} takes no hook: {reason}", request.method)));
        }
        let (methods, mut notices) = hookable(meant)?;
        let by = request.by.unwrap_or(HotBy::Wall);
        let calls = CountedCalls::new(called(request, meant)?, goal.hits).measured_by(Meter::by(by)?);
        let calls = Arc::new(match request.across_threads {
            true => calls.across_threads(HandOvers::of_process()),
            false => calls,
        });
        let inserted = self.insert_caller_hook((request, goal.time + LONGER), &methods, Arc::clone(&calls))?;
        let is_paused = || self.why_paused().is_some();
        let has_claim = || self.instrumentation.claims.has(inserted.claim);
        let goes_on = || goes_on() && !self.instrumentation.is_leaving() && has_claim() && !is_paused();
        wait(SETTLE, &goes_on);
        if request.across_threads {
            wait(PATIENCE, &|| goes_on() && self.waiting_for_tasks().is_some());
            notices.extend(self.waiting_for_tasks());
        }
        let begin = Instant::now();
        let is_used_up = || request.used.is_some_and(|most| calls.used() >= most as f64);
        let windows = count(goal, inserted.number, &calls, &|| goes_on() && !is_used_up());
        let took = begin.elapsed();
        let all_ended = || {
            let (calls, ended) = calls.counts();
            calls == ended
        };
        wait(GRACE, &|| goes_on() && !all_ended());
        let found = calls.found(request.most.unwrap_or(MOST_CALLERS));
        let was_ended = !self.instrumentation.is_leaving() && !self.instrumentation.claims.has(inserted.claim);
        notices.extend(was_ended.then(|| "its claim was removed, or its time is over".to_owned()));
        notices.extend(self.why_paused().map(str::to_owned));
        let is_leaving = self.instrumentation.is_leaving();
        notices.extend(is_leaving.then(|| "cut short: the recording ended, or the agent was detached".to_owned()));
        let (seconds, stop) = (inserted.since.elapsed().as_secs_f64(), inserted.longest_stop);
        drop(inserted);
        notices.extend(doubts(&found, by));
        let hook = HookFigures {
            calls: found.calls,
            unended: found.unended + found.unmeasured,
            nested: found.nested,
            windows,
            seconds,
            longest_stop_ms: stop.as_secs_f64() * 1e3,
            too_little: found.too_little,
        };
        Ok(Callers {
            method: request.method.clone(),
            by,
            seconds: took.as_secs_f64(),
            source: CallersSource::Finder.name().to_owned(),
            why: None,
            sampler: String::new(),
            bias: None,
            hook: Some(hook),
            samples: 0,
            share: 0.0,
            callers: found.callers,
            without_caller: found.without_caller,
            notices,
        })
    }

    fn insert_caller_hook(
        &self,
        (request, longest): (&CallersRequest, Duration),
        methods: &[&MeantMethod],
        calls: Arc<CountedCalls>,
    ) -> Result<Inserted<'_>, Refusal> {
        let one_at_a_time = self.reloading.lock();
        let before = self.instrumentation.generation();
        self.get_ready(Kinds::of(&before.setup).with_claims(&before.setup))?;
        let runtime = self.running.lock().runtime.ok_or_else(|| Refusal::from("nothing is recorded yet".to_owned()))?;
        let ready = self.vm.with_attached_daemon(c"instr-callers", |jni| {
            if request.by == Some(HotBy::Allocated) {
                let calls = FullCalls::of_process().filter(|calls| calls.knows_allocation());
                let calls = calls.ok_or("what threads allocate is unknown in this JVM: it has no such field")?;
                runtime.let_allocation_be_read(jni, calls)?;
            }
            runtime.warm_up_caller_hooks(jni)
        });
        ready.unwrap_or_else(|| Err("the JVM attaches no more threads".to_owned()))?;
        let name = request.method.split('(').next().unwrap_or(&request.method);
        let probes = RequestedProbes::parse(name, "timed", Level::Off)?;
        probes.rules(before.templates(), &before.setup.config.exclude)?;
        let probes = if request.across_threads { probes.with_handover()? } else { probes };
        let keys: Arc<[MethodKey]> = methods.iter().map(|method| method.key.clone()).collect();
        let classes: FxHashSet<Arc<[u8]>> = keys.iter().map(|key| Arc::clone(&key.class)).collect();
        let for_tasks = RequestedProbes::handover_classes().filter(|_| request.across_threads);
        let changed: FxHashSet<Arc<[u8]>> = classes.iter().cloned().chain(for_tasks).collect();
        let number = caller_hooks::of_process().take(calls)?;
        let (id, text) = (self.instrumentation.claim_ids.next(), request.method.clone());
        let limits = ClaimLimits { seconds: Some(longest.as_secs()), ..ClaimLimits::default() };
        let expiry = Expiry::exactly(limits, Instant::now(), None);
        let hook = Some(CallerHook { number, methods: keys });
        let claim = Claim { caller_hook: hook, kept: Kept::ForWalk, ..Claim::new(id, probes, expiry) };
        let looks_at_tasks = request.across_threads;
        if looks_at_tasks {
            contexts::of_process().look_at_tasks(LooksAtTasks::Finder, true);
        }
        self.instrumentation.claims.add(claim);
        // From here on it is removed, whatever happens; `one_at_a_time` is free again by then, as it is dropped first.
        let mut inserted = Inserted {
            session: self,
            claim: id,
            number,
            text,
            since: Instant::now(),
            looks_at_tasks,
            longest_stop: Duration::ZERO,
        };
        let one_at_a_time = one_at_a_time;
        // Asked after it was added: a stop that did not find it there had not begun before.
        if self.instrumentation.is_leaving() {
            return Err(Refusal::new(ErrorCode::Ended, "the recording has ended"));
        }
        self.put_claims_in_force();
        self.listen_to_threads();
        let outcome = self.reconciler.carry_out(&self.instrumentation, Change::Insert(changed));
        drop(one_at_a_time);
        let outcome = outcome.ok_or_else(|| {
            Refusal::from("loaded classes cannot be changed: the JVM attaches no more threads".to_owned())
        })?;
        inserted.longest_stop = outcome.longest_stop;
        if !caller_hooks::of_process().is_inserted(number) {
            return Err(Refusal::from(format!(
                "{} takes no hook: {}",
                request.method,
                self.why_without_hook(&classes)
            )));
        }
        self.note_claim(id, &format!("hook in {}, to find its callers", inserted.text));
        Ok(inserted)
    }

    /// Why some class that hands tasks over or runs them is not changed yet.
    fn waiting_for_tasks(&self) -> Option<String> {
        let waiting = self.reconciler.waiting_classes();
        RequestedProbes::handover_classes()
            .find_map(|class| waiting.iter().find(|((name, _), _)| **name == *class))
            .map(|(_, reason)| format!("tasks that it hands over have no caller: {reason}"))
    }

    fn why_without_hook(&self, classes: &FxHashSet<Arc<[u8]>>) -> String {
        let waiting = self.reconciler.waiting_classes();
        let waits = waiting.iter().find(|((name, _), _)| classes.contains(&**name)).map(|(_, reason)| reason.clone());
        let refused = self.instrumentation.statistics.refused_classes();
        let refused = || classes.iter().find_map(|class| refused.get(&to_source(class)).cloned());
        waits.or_else(refused).unwrap_or_else(|| "`instr explain --live` says why".to_owned())
    }
}

/// What should be known about these figures.
fn doubts(found: &FoundCallers, by: HotBy) -> Vec<String> {
    let FoundCallers { calls, unended, unmeasured, too_little, .. } = *found;
    if calls == 0 {
        return vec!["no call of it began while the hook was on".to_owned()];
    }
    let mut doubts = Vec::new();
    if unended as f64 > calls as f64 * UNENDED {
        doubts.push(format!(
            "{unended} of {} had not ended yet and have no time: they may be mostly of one caller",
            counted(calls, "call")
        ));
    }
    if unmeasured > 0 {
        doubts.push(format!(
            "{unmeasured} of {} could not be measured by `{}`: on virtual threads, or on too many threads",
            counted(calls, "call"),
            by.name()
        ));
    }
    if too_little {
        doubts.push(format!(
            "these calls use so little that their shares of `{}` are mostly those of the hook itself",
            by.name()
        ));
    }
    doubts
}

fn goal(request: &CallersRequest) -> Result<Goal, Refusal> {
    let (seconds, hits) = (request.seconds.unwrap_or(USUAL_HOT_SECONDS), request.hits.unwrap_or(USUAL_HITS));
    if !(1..=LONGEST_HOT_SECONDS).contains(&seconds) {
        return Err(Refusal::from(format!("{seconds} s: from 1 to {LONGEST_HOT_SECONDS} s are possible")));
    }
    if !(1..=MOST_HITS).contains(&hits) {
        return Err(Refusal::from(format!("{hits} calls: from 1 to {MOST_HITS} are possible")));
    }
    Ok(Goal { hits, time: Duration::from_secs(seconds) })
}

/// Why a method is left alone whose class has been loaded very often: each of its classes would be changed, one stop after the other.
pub(in crate::session) fn too_many_copies(meant: &[MeantMethod]) -> Option<String> {
    let loaders: FxHashSet<LoaderId> = meant.iter().map(|of| of.key.loader).collect();
    let reason = || {
        format!(
            "its class is loaded {} times, by as many class loaders, some of which may be waiting for the collector: {MOST_COPIES} can be changed",
            loaders.len()
        )
    };
    (loaders.len() > MOST_COPIES).then(reason)
}

/// Returns the methods that can have a hook, and what is to be said about the others. Refuses if there is none.
fn hookable(meant: &[MeantMethod]) -> Result<(Vec<&MeantMethod>, Vec<String>), Refusal> {
    let obstacle = |method: &MeantMethod| match &method.obstacle {
        None if *method.key.class == *THREAD => Some("the agent itself needs its methods".to_owned()),
        obstacle => obstacle.clone(),
    };
    let (without, with): (Vec<_>, Vec<_>) =
        meant.iter().map(|method| (method, obstacle(method))).partition(|(_, obstacle)| obstacle.is_some());
    let line = |(method, obstacle): &(&MeantMethod, Option<String>)| {
        format!("{} takes no hook: {}", method.text, obstacle.as_deref().unwrap_or("unknown"))
    };
    if let (true, Some(first)) = (with.is_empty(), without.first()) {
        return Err(Refusal::from(line(first)).help(first.0.help.clone()));
    }
    let with: Vec<&MeantMethod> = with.into_iter().map(|(method, _)| method).collect();
    // A bridge has the same text as the method to which it forwards, if only the type of the result differs.
    let is_bridge = |method: &MeantMethod| with.iter().any(|of| of.text == method.text);
    let lines = without.iter().filter(|(method, _)| !is_bridge(method)).map(line).collect();
    Ok((with, lines))
}

/// Has the hook count in short windows at random moments; returns how many there were.
fn count(goal: Goal, hook: u32, calls: &CountedCalls, goes_on: &dyn Fn() -> bool) -> u64 {
    let (mut random, begin, mut windows) = (Random::default(), Instant::now(), 0);
    let (mut progress, mut is_full) = (Progress::default(), false);
    while goes_on()
        && let Some(window) = goal.next(progress)
    {
        let (opened, looked_at) = (Instant::now(), calls.looked_at());
        // A random moment is mostly within a long call. Where a window ends after so many calls, those that follow such a one would be counted too often.
        let passed_over = if is_full { (random.part() * window.most as f64 * 2.0) as u64 } else { 0 };
        calls.pass_over(passed_over);
        caller_hooks::of_process().open(hook, window.most + passed_over);
        std::thread::sleep(window.open);
        caller_hooks::of_process().close(hook);
        progress.open += opened.elapsed();
        windows += 1;
        calls.window_ends();
        is_full = calls.looked_at() - looked_at >= window.most;
        progress.hits = calls.counts().0;
        wait(window.closed.mul_f64(2.0 * random.part()), goes_on);
        progress.elapsed = begin.elapsed();
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: Goal = Goal { hits: 2_500, time: Duration::from_secs(10) };

    /// Carries windows out for a method that is called so often; returns calls, windows and seconds.
    fn simulated(goal: Goal, per_second: f64) -> (u64, u64, f64) {
        let (mut progress, mut windows, mut called) = (Progress::default(), 0, 0.0);
        while let Some(window) = goal.next(progress) {
            let expected = window.open.as_secs_f64() * per_second;
            called += expected.min(window.most as f64);
            progress.hits = called as u64;
            progress.open += window.open;
            progress.elapsed += window.open + window.closed;
            windows += 1;
        }
        (progress.hits, windows, progress.elapsed.as_secs_f64())
    }

    #[test]
    fn enough_calls_are_counted_in_many_windows_spread_over_the_time() {
        for per_second in [2_000.0, 20_000.0, 200_000.0, 50_000_000.0] {
            let (calls, windows, seconds) = simulated(GOAL, per_second);
            assert!(calls == GOAL.hits && windows >= LEAST_WINDOWS, "{per_second}: {calls} in {windows}");
            assert!((5.0..10.0).contains(&seconds), "{per_second}: {seconds} s, {windows} windows");
        }
    }

    #[test]
    fn of_a_method_that_is_called_rarely_all_calls_are_counted() {
        let (calls, _, seconds) = simulated(GOAL, 20.0);
        assert!((180..=205).contains(&calls) && seconds >= 10.0, "{calls} in {seconds} s");
        assert_eq!(simulated(GOAL, 0.0).0, 0);
    }

    #[test]
    fn few_calls_are_enough_if_no_more_are_wanted() {
        assert_eq!(simulated(Goal { hits: 1, ..GOAL }, 1_000.0).0, 1);
        let done = Progress { hits: 2_500, ..Progress::default() };
        assert_eq!(GOAL.next(done), None);
    }
}
