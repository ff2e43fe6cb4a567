//! Walks by request: `run` is the thread, `measuring` what it does on each level (`levels`), `hooks` its probes. What is followed and what is found is decided in `walks/`.

mod background;
mod hooked_levels;
mod hooks;
mod levels;
mod measuring;
mod missing_callers;
mod present_probes;
mod run;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use control::{
    ErrorCode, HotBy, LONGEST_HOT_SECONDS, Refusal, USUAL_HOT_SECONDS, WALK_BUDGET, WALK_CALLS, WALK_HOOKS,
    WALK_LEVELS, WALK_PERCENT, WALK_PERIOD_MS, Walk, WalkHooks, WalkRequest, WalkTotals,
};
use instrument_core::rules::patterns::NameGlob;
use parking_lot::Mutex;

use super::Session;
use super::claims::check_for_tasks;
use crate::desired::Kept;
use crate::hot_spots::Meter;
use crate::jvm::{block_signals, thread_cpu_time};
use crate::recorder::NestedCalls;
use crate::walks::Policy;
use background::Due;
use hooks::Figures;
use run::{Options, Run};

/// Hot methods from which one walks up, unless the request states another number, and at most.
const TOP: usize = 3;
const MOST: usize = 8;
const LONGEST_PERIOD_MS: u64 = 60_000;
const MOST_LEVELS: usize = 64;
const MOST_HOOKS: usize = 64;
/// A walk whose recording ends has this time for removing its probes.
const LONGEST_END: Duration = Duration::from_secs(1);

/// The walk that is under way, or the last one.
#[derive(Debug, Default)]
pub(super) struct Walks {
    /// Held by the walk.
    walking: Mutex<()>,
    /// Walks are numbered from 1.
    last_number: AtomicU64,
    state: Arc<Mutex<Option<Walk>>>,
    /// When background walks begin.
    due: Mutex<Due>,
    /// The one that is under way is a background walk ...
    is_background: AtomicBool,
    /// ... and is to end.
    makes_way: AtomicBool,
    /// What all of them have cost up to now.
    costs: Mutex<Figures>,
    /// What it sees of the calls that are recorded.
    pub(super) calls: Arc<NestedCalls>,
}

impl Session {
    /// Waits for a walk that is under way while the recording ends, so that its result is recorded; not for long: it may wait for the JVM.
    pub(super) fn await_end_of_walk(&self) {
        drop(self.walks.walking.try_lock_for(LONGEST_END));
    }

    /// Returns how far the walk has come.
    pub(super) fn walk_progress(&self) -> Result<Walk, Refusal> {
        self.walks.state.lock().clone().ok_or_else(|| {
            Refusal::new(ErrorCode::UnknownName, "there was no walk since the agent was attached")
                .help("`instr walk PID` begins one")
        })
    }

    /// Returns what all walks have cost; `None` if there was none.
    pub(super) fn walk_totals(&self) -> Option<WalkTotals> {
        let walks = Some(self.walks.last_number.load(Ordering::Relaxed)).filter(|walks| *walks > 0)?;
        let (claims, live) = (self.instrumentation.claims.all(), &self.instrumentation.live);
        let of_walks = claims.iter().filter(|claim| claim.kept == Kept::ForWalk);
        let probes: Vec<u32> = of_walks.flat_map(|claim| live.probes_of_claim(claim.id)).collect();
        let active = probes.iter().filter(|probe| live.records_for_walk(**probe)).count();
        Some(self.walks.costs.lock().totals(walks, (probes.len(), active)))
    }

    /// Walks up from hot methods, as long as it `goes_on`.
    pub(super) fn walk_up(&self, request: &WalkRequest, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<Walk, Refusal> {
        let options = options(request)?;
        check_for_tasks(request.across_threads)?;
        let root = match &request.method {
            Some(method) => Some(self.method_to_walk_from(method)?),
            None => None,
        };
        self.end_background_walk();
        let before = self.walks.state.lock().clone();
        let walked = self.walk((options, root), &self.walks.state, goes_on);
        walked.inspect_err(|_| *self.walks.state.lock() = before)?;
        self.walk_progress()
    }

    /// Walks up, one at a time; `state` has what is found. Returns the processor time that its thread has used.
    fn walk(
        &self,
        (options, root): (Options, Option<String>),
        state: &Arc<Mutex<Option<Walk>>>,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Duration, Refusal> {
        let Some(_one_at_a_time) = self.walks.walking.try_lock() else {
            return Err(Refusal::new(ErrorCode::Busy, "another walk is under way")
                .help("`instr walk PID --show` shows it; ask again when it is over"));
        };
        if let Some(reason) = self.why_paused() {
            return Err(Refusal::new(ErrorCode::Refused, reason));
        }
        *state.lock() = Some(at_the_beginning(options.metric));
        let goes_on = || goes_on() && !self.instrumentation.is_leaving() && self.why_paused().is_none();
        let walk = || {
            block_signals();
            let number = self.walks.last_number.fetch_add(1, Ordering::Relaxed) + 1;
            let mut run = Run::new(self, number, (options, root), Arc::clone(state));
            let found = self.vm.with_attached_daemon(c"instr-walk", |_| {
                // Whatever happens, no probe stays.
                let found = catch_unwind(AssertUnwindSafe(|| run.run(&goes_on)));
                let found = found.unwrap_or_else(|_| Err(Refusal::from("internal error: please report it".to_owned())));
                let failure = found.as_ref().err().map(ToString::to_string);
                if catch_unwind(AssertUnwindSafe(|| run.finish(failure.as_deref()))).is_err() {
                    tracing::error!("the probes of a walk stay for a while: internal error, please report it");
                }
                found.map(|()| thread_cpu_time())
            });
            found.unwrap_or_else(|| Err(Refusal::from("the JVM takes no more threads".to_owned())))
        };
        let result = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("instr-walk".to_owned()).spawn_scoped(scope, walk);
            let thread = thread.map_err(|error| Refusal::from(format!("there is no thread for a walk: {error}")))?;
            thread.join().unwrap_or_else(|_| Err(Refusal::from("internal error: please report it".to_owned())))
        });
        if let Ok(cpu) = &result {
            self.walks.costs.lock().cpu += *cpu;
        }
        // One that has not begun leaves nothing to show.
        if result.is_err() {
            state.lock().take_if(|walk| walk.end.is_none());
        }
        result
    }

    /// The present moment by the clock of records.
    fn record_time(&self) -> u64 {
        let clock = self.running.lock().clock;
        clock.map_or(0, |clock| u64::try_from(clock.now()).unwrap_or(0))
    }

    /// Returns the text of the one method that is meant.
    fn method_to_walk_from(&self, method: &str) -> Result<String, Refusal> {
        let meant = self.meant_methods(method, None)?;
        let mut texts: Vec<String> = meant.into_iter().map(|of| of.text).collect();
        texts.sort();
        texts.dedup();
        match texts.as_slice() {
            [one] => Ok(one.clone()),
            several => Err(Refusal::new(
                ErrorCode::Malformed,
                format!("{method} means several methods: {}", several.join(", ")),
            )
            .help("name one of them with its types, in quotes: 'package.Class.method(int, String)'")),
        }
    }
}

fn options(request: &WalkRequest) -> Result<Options, Refusal> {
    let within = |what: &str, value: u64, (least, most): (u64, u64)| {
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(Refusal::from(format!("{value} {what}: from {least} to {most} are possible")))
        }
    };
    let number = |value: Option<usize>, usual: usize| value.unwrap_or(usual) as u64;
    let globs = |classes: &[String]| -> Result<Vec<NameGlob>, Refusal> {
        let glob = |class: &String| {
            let glob = NameGlob::class(class);
            glob.map_err(|error| Refusal::from(format!("`{class}` names no classes: {}", error.message)))
        };
        classes.iter().map(glob).collect()
    };
    let seconds = within("s of sampling", request.seconds.unwrap_or(USUAL_HOT_SECONDS), (1, LONGEST_HOT_SECONDS))?;
    let period = within("ms a level", request.period_ms.unwrap_or(WALK_PERIOD_MS), (100, LONGEST_PERIOD_MS))?;
    let top = within("hot methods", number(request.top, TOP), (1, MOST as u64))?;
    let levels = within("levels", number(request.levels, WALK_LEVELS), (1, MOST_LEVELS as u64))?;
    let hooks = within("probes", number(request.hooks, WALK_HOOKS), (2, MOST_HOOKS as u64))?;
    let budget = within("% of a processor", request.budget.unwrap_or(WALK_BUDGET).into(), (1, 100))?;
    let percent = within("%", request.percent.unwrap_or(WALK_PERCENT).into(), (0, 100))?;
    Ok(Options {
        seconds,
        period: Duration::from_millis(period),
        calls: within("calls a level", request.calls.unwrap_or(WALK_CALLS), (1, u64::MAX))?,
        top: top as usize,
        hooks: hooks as usize,
        budget: budget as f64 / 100.0,
        metric: metric(request.metric)?,
        used: used(request)?,
        through: globs(&request.through)?,
        policy: Policy {
            share: percent as f64 / 100.0,
            most: within("callers", number(request.most_callers, usize::MAX), (1, u64::MAX))? as usize,
            levels: levels as usize,
            boundary: globs(&request.boundary)?,
            across_threads: request.across_threads,
        },
    })
}

/// By what calls are measured; `None`: by time.
fn metric(stated: Option<HotBy>) -> Result<Option<HotBy>, Refusal> {
    let metric = stated.filter(|by| *by != HotBy::Wall);
    // Whether there is such a one at all.
    metric.map(Meter::by).transpose()?;
    Ok(metric)
}

/// How much of the metric the calls of a level may have used.
fn used(request: &WalkRequest) -> Result<Option<u64>, Refusal> {
    let has_metric = request.metric.is_some_and(|metric| metric != HotBy::Wall);
    match request.used {
        Some(_) if !has_metric => Err(Refusal::from(
            "time is no metric that can be used up: `used` needs `cpu`, `allocated`, `cycles` or `instructions`"
                .to_owned(),
        )),
        Some(0) => Err(Refusal::from("a level that ends when nothing is used measures nothing".to_owned())),
        used => Ok(used),
    }
}

fn at_the_beginning(metric: Option<HotBy>) -> Walk {
    Walk {
        metric,
        state: "sampling".to_owned(),
        samples: 0,
        sampler: String::new(),
        bias: None,
        hot: Vec::new(),
        levels: Vec::new(),
        hooks: WalkHooks { now: 0, most: 0, calls: 0, late: 0, changes: 0, longest_stop_ms: 0.0 },
        end: None,
        notices: Vec::new(),
    }
}
