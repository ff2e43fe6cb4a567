//! What can be changed while the program runs: levels of live probes, by people and by the governor, with what came of it.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use instrument_core::level::Level;
use instrument_core::selection::Chosen;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::governor::{Decision, Governor, Interval, Manner};
use crate::live_levels::{self, LiveLevels};
use crate::live_selection::{Fixed, LiveSelection, category_of, fixed};
use crate::probe_prices::ProbePrices;
use crate::probe_registry::{ProbeDescription, ProbeRegistry};
use crate::recorder::Calls;
use crate::setup::Setup;

/// So many decisions are remembered.
const REMEMBERED: usize = 100;
/// The governor looks this often.
const LOOK: Duration = Duration::from_millis(200);

/// In place of a level: the method lost its probe.
const WITHDRAWN: &str = "withdrawn";

/// The live probes of a session.
#[derive(Debug)]
pub(crate) struct LiveControl {
    levels: &'static LiveLevels,
    probes: &'static ProbeRegistry,
    began: Instant,
    budget_percent: Option<u32>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    governor: Option<Governor>,
    /// Live probes that the governor leaves alone: by their rule, or because a person set them.
    ungoverned: FxHashSet<u32>,
    decisions: VecDeque<String>,
    last: Option<Last>,
}

/// What the governor saw last.
#[derive(Debug)]
struct Last {
    at: Duration,
    cpu: Duration,
    calls: Vec<Calls>,
}

/// The governor's state, for people.
#[derive(Debug, Serialize)]
pub(crate) struct Governed {
    /// Most of the CPU time that probes may take.
    pub(crate) budget_percent: u32,
    /// What exact times took in the last interval.
    pub(crate) percent: f64,
    /// What a call is taken to cost.
    pub(crate) nanos_per_call: f64,
}

/// What a request changed.
#[derive(Debug, Serialize)]
pub(crate) struct Changed {
    changed: usize,
    /// All live probes.
    live: usize,
    /// What was meant and cannot change.
    fixed: Vec<Fixed>,
}

/// Live probes of one category.
#[derive(Debug, Serialize)]
pub(crate) struct LiveCounts {
    category: String,
    /// Methods by level, or withdrawn.
    levels: BTreeMap<&'static str, usize>,
}

/// The windows of level burst.
#[derive(Debug, Serialize)]
pub(crate) struct Bursts {
    open_ms: u32,
    period_ms: u32,
    /// Since the process started.
    windows: u64,
    open_nanos: u64,
}

impl LiveControl {
    /// The control of a session that begins.
    pub(crate) fn new(probes: &'static ProbeRegistry, budget_percent: Option<u32>) -> LiveControl {
        let levels = live_levels::of_process();
        levels.forget(probes.described().into_iter().filter(|probe| probe.live).map(|probe| probe.number));
        LiveControl { levels, probes, began: Instant::now(), budget_percent, state: Mutex::default() }
    }

    /// Starts the governor, if there is a budget; when it is known what calls cost.
    pub(crate) fn start(&self, prices: &ProbePrices) {
        let nanos_per_call = prices.of(Level::Time).total_nanos;
        let governor = |percent| Governor::new(percent, nanos_per_call, Manner::OF_LEVELS);
        self.state.lock().governor = self.budget_percent.map(governor);
    }

    /// A method got this live probe.
    pub(crate) fn begin(&self, probe: u32, chosen: &Chosen, is_governed: bool) {
        self.levels.begin(probe, chosen.level);
        if !is_governed {
            self.state.lock().ungoverned.insert(probe);
        }
    }

    /// Sets the level of all live probes that are meant, and says which these are.
    pub(crate) fn set(&self, selection: &LiveSelection, level: Level, setup: &Setup) -> (Changed, Vec<u32>) {
        let described = self.probes.described();
        let meant: Vec<&ProbeDescription> =
            described.iter().filter(|probe| selection.takes(probe, &setup.templates)).collect();
        let mut state = self.state.lock();
        let mut numbers = Vec::new();
        for probe in meant.iter().filter(|probe| probe.live) {
            self.levels.set(probe.number, level);
            state.ungoverned.insert(probe.number);
            if let Some(governor) = &mut state.governor {
                governor.forget(probe.number);
            }
            numbers.push(probe.number);
        }
        let changed = numbers.len();
        let line = format!("{changed} methods set to {level} by request: {}", selection.text());
        state.note(self.began.elapsed(), line);
        let live = described.iter().filter(|probe| probe.live).count();
        let fixed = fixed(meant.into_iter(), &setup.rules, &setup.templates);
        (Changed { changed, live, fixed }, numbers)
    }

    /// These probes are gone: nothing is to be given back to them.
    pub(crate) fn forget(&self, probes: &[u32]) {
        if let Some(governor) = &mut self.state.lock().governor {
            probes.iter().for_each(|probe| governor.forget(*probe));
        }
    }

    /// How many live probes stand at which level, or are gone, by category.
    pub(crate) fn count(&self, setup: &Setup, gone: &FxHashSet<u32>) -> Vec<LiveCounts> {
        let mut counts: BTreeMap<&str, BTreeMap<&'static str, usize>> = BTreeMap::new();
        for probe in self.probes.described().iter().filter(|probe| probe.live) {
            let of_category = counts.entry(category_of(&probe.template, &setup.templates)).or_default();
            let is_gone = gone.contains(&probe.number);
            let state = if is_gone { WITHDRAWN } else { self.levels.get(probe.number).name() };
            *of_category.entry(state).or_default() += 1;
        }
        let told = |(category, levels): (&str, _)| LiveCounts { category: category.to_owned(), levels };
        counts.into_iter().map(told).collect()
    }

    /// The windows of level burst, if there were some or will be.
    pub(crate) fn bursts(&self, setup: &Setup) -> Option<Bursts> {
        let (windows, open_nanos) = self.levels.windows();
        let control = &setup.config.control;
        (windows > 0 || self.levels.is_bursting()).then_some(Bursts {
            open_ms: control.burst_open_ms,
            period_ms: control.burst_period_ms,
            windows,
            open_nanos,
        })
    }

    /// The present level of a live probe.
    pub(crate) fn level(&self, probe: u32) -> Level {
        self.levels.get(probe)
    }

    /// Remembers something that happened to the probes, with its time.
    pub(crate) fn note(&self, line: &str) {
        self.state.lock().note(self.began.elapsed(), line.to_owned());
    }

    /// What was decided, oldest first.
    pub(crate) fn decisions(&self) -> Vec<String> {
        self.state.lock().decisions.iter().cloned().collect()
    }

    /// The governor, if there is one.
    pub(crate) fn governed(&self, budget_percent: Option<u32>) -> Option<Governed> {
        let state = self.state.lock();
        let governor = state.governor.as_ref()?;
        let (percent, nanos_per_call) = (governor.percent(), governor.nanos_per_call());
        Some(Governed { budget_percent: budget_percent?, percent, nanos_per_call })
    }

    /// Whether [`LiveControl::govern`] has something to do.
    pub(crate) fn is_due(&self) -> bool {
        let state = self.state.lock();
        let since = |last: &Last| self.began.elapsed().saturating_sub(last.at);
        state.governor.is_some() && state.last.as_ref().is_none_or(|last| since(last) >= LOOK)
    }

    /// Has the governor look at the calls up to now and the CPU time that the process has used.
    pub(crate) fn govern(&self, calls: Vec<Calls>, cpu: Duration) {
        let at = self.began.elapsed();
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(governor) = &mut state.governor else { return };
        let Some(last) = state.last.replace(Last { at, cpu, calls: calls.clone() }) else { return };
        let mut fresh = Vec::new();
        for (probe, now) in (0u32..).zip(&calls) {
            let before = last.calls.get(probe as usize).map_or(0, |calls| calls.count);
            let is_ours = || self.levels.get(probe) == Level::Time && !state.ungoverned.contains(&probe);
            if now.count > before && is_ours() {
                fresh.push((probe, now.count - before));
            }
        }
        let interval =
            Interval { at, length: at.saturating_sub(last.at), cpu: cpu.saturating_sub(last.cpu), calls: &fresh };
        for decision in governor.decide(&interval) {
            let line = self.carry_out(decision);
            tracing::info!("{line}");
            state.note(at, line);
        }
    }

    fn carry_out(&self, decision: Decision) -> String {
        let name = |probe| self.probes.describe(probe).map_or_else(|| "?".to_owned(), |probe| probe.method);
        match decision {
            Decision::Demote { probe, calls_per_second, percent } => {
                self.levels.set(probe, Level::Watch);
                let name = name(probe);
                format!("{name} set to watch: {calls_per_second:.0} calls a second took {percent:.1} % of the CPU time")
            }
            Decision::Promote { probe } => {
                self.levels.set(probe, Level::Time);
                format!("{} set back to time: it is quiet", name(probe))
            }
        }
    }
}

impl State {
    fn note(&mut self, at: Duration, line: String) {
        if self.decisions.len() == REMEMBERED {
            self.decisions.pop_front();
        }
        self.decisions.push_back(format!("{:.1} s: {line}", at.as_secs_f64()));
    }
}
