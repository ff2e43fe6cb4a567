//! What can be changed while the program runs: levels of live probes, by people and by the governor, with what came of it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use instrument_core::level::Level;
use instrument_core::selection::{Chosen, NameGlob};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::governor::{Decision, Governor, Interval};
use crate::live_levels::{self, LiveLevels};
use crate::probe_registry::ProbeRegistry;
use crate::recorder::Calls;

/// So many decisions are remembered.
const REMEMBERED: usize = 100;
/// The governor looks this often.
const LOOK: Duration = Duration::from_millis(200);

/// The live probes of a session.
#[derive(Debug)]
pub(crate) struct LiveControl {
    levels: &'static LiveLevels,
    probes: &'static ProbeRegistry,
    began: Instant,
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

impl LiveControl {
    /// The control of a session that begins.
    pub(crate) fn new(probes: &'static ProbeRegistry, budget_percent: Option<u32>) -> LiveControl {
        let levels = live_levels::of_process();
        levels.forget(probes.live_probes().into_iter().map(|(probe, _)| probe));
        let governor = budget_percent.map(|percent| Governor::new(percent, nanos_per_call()));
        LiveControl { levels, probes, began: Instant::now(), state: Mutex::new(State { governor, ..State::default() }) }
    }

    /// A method got this live probe.
    pub(crate) fn begin(&self, probe: u32, chosen: &Chosen, is_governed: bool) {
        self.levels.begin(probe, chosen.level);
        if !is_governed {
            self.state.lock().ungoverned.insert(probe);
        }
    }

    /// Sets the level of all live probes of these methods (`package.Class.method` with `*`), and says of how many.
    pub(crate) fn set(&self, methods: &NameGlob, level: Level) -> usize {
        let mut state = self.state.lock();
        let mut count = 0;
        for (probe, name) in self.probes.live_probes() {
            if methods.matches(name.replace('.', "/").as_bytes()) {
                self.levels.set(probe, level);
                state.ungoverned.insert(probe);
                if let Some(governor) = &mut state.governor {
                    governor.forget(probe);
                }
                count += 1;
            }
        }
        let line = format!("{count} methods set to {level} by request: {}", methods.text());
        state.note(self.began.elapsed(), line);
        count
    }

    /// How many live probes stand at the levels off, watch and time.
    pub(crate) fn count(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for (probe, _) in self.probes.live_probes() {
            let at = match self.levels.get(probe) {
                Level::Off => 0,
                Level::Watch => 1,
                Level::Time | Level::Full => 2,
            };
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
        counts
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
        let name = |probe| self.probes.describe(probe).map_or_else(|| "?".to_owned(), |(name, ..)| name);
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

/// Two readings of the clock, measured, and what it takes to write and drain a record (docs/performance.md).
fn nanos_per_call() -> f64 {
    const READINGS: u32 = 2_000;
    const RECORD: f64 = 12.0;
    let begin = Instant::now();
    for _ in 0..READINGS {
        std::hint::black_box(Instant::now());
    }
    2.0 * begin.elapsed().as_nanos() as f64 / f64::from(READINGS) + RECORD
}
