//! What can be changed while the program runs: levels of live probes, by people and by the governor, and the results.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use control::{Bursts, Changed, GovernorFigures, LiveCounts, RecordedTime, WantedLevel};
use instrument_core::level::Level;
use instrument_core::template::TemplateLibrary;
use parking_lot::Mutex;
use records::level_times::LevelTimes;
use records::probe_registry::{ProbeDescription, ProbeRegistry, RecordedAs, SECTION};
use rustc_hash::{FxHashMap, FxHashSet};
use settings::ControlConfig;
use trace::report::counted;

use crate::config::setup::Setup;
use crate::desired::governor::{Decision, Governor, Interval, Manner, ProbeCalls};
use crate::desired::live_selection::{LiveSelection, category_of, fixed};
use crate::desired::probe_prices::ProbePrices;
use crate::desired::{ClaimIds, ClaimedProbe};
use crate::live_levels::{self, LiveLevels};
use crate::recorder::CallsMade;

mod arming;
mod ceilings;
mod changes;
mod claimed;
mod for_walks;
mod held;
mod overruled;
mod raised;

use arming::Unarmed;
pub(crate) use changes::{Governing, LevelChange, LevelsSet};
pub(crate) use claimed::DecidedClaims;
pub(crate) use for_walks::PresentProbe;

/// The number of decisions that are remembered.
const REMEMBERED: usize = 100;
/// The governor looks this often.
const LOOK: Duration = Duration::from_millis(200);

/// As the owner of a change.
const GOVERNOR: &str = "governor";
/// A method at level full is set to time, not to watch, if it takes less than this part of the budget then.
const MOST_OF_ONE: f64 = 0.5;
/// In place of a level: the method has no probe.
pub(crate) const REMOVED: &str = "removed";

/// The live probes of a session.
#[derive(Debug)]
pub(crate) struct LiveControl {
    levels: &'static LiveLevels,
    probes: &'static ProbeRegistry,
    began: Instant,
    times: Arc<LevelTimes>,
    claim_ids: Arc<ClaimIds>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    budget_percent: Option<u32>,
    governor: Option<Governor>,
    prices: ProbePrices,
    /// What the rule of each live probe wants.
    ruled: FxHashMap<u32, Ruled>,
    /// The probes of a fixed level.
    fixed: FxHashMap<u32, Fixed>,
    /// Live probes that methods get on this thread, to be armed together.
    unarmed: Option<(ThreadId, Vec<Unarmed>)>,
    /// Counts the times that loaded classes are about to be retransformed.
    pass: u32,
    /// The probes of methods that claims on probes are about.
    claimed: FxHashMap<u32, ClaimedProbe>,
    /// Probes that nobody wants any more, and that classes may have still: their level is off.
    unwanted: FxHashSet<u32>,
    /// The claims on probes that ended last: a class may be on its way past the class hook with what they wanted.
    ended_claims: VecDeque<u32>,
    /// Live probes whose level a person set, and the claim: the governor leaves them alone.
    set_by_person: FxHashMap<u32, u32>,
    /// What these claims are about, and the level.
    level_claims: BTreeMap<u32, (String, Level)>,
    /// The levels to which the governor has lowered probes, with the reasons.
    ceilings: FxHashMap<u32, (Level, String)>,
    /// The levels to which the monitor has raised probes, with the reasons.
    raised: FxHashMap<u32, (Level, String)>,
    decisions: VecDeque<String>,
    last: Option<Last>,
    kept: Kept,
    claims_of_walks: FxHashSet<u32>,
    /// Probes that record arguments or results, too.
    capturing: FxHashSet<u32>,
    warned: FxHashSet<u32>,
}

/// A probe of a fixed level.
#[derive(Debug, Clone, Copy)]
struct Fixed {
    /// When a method got it, in milliseconds since the session began.
    begin: u32,
    pass: Passes,
}

/// The passes in which classes got a probe first and last.
#[derive(Debug, Clone, Copy)]
struct Passes {
    first: u32,
    last: u32,
}

/// What a rule wants of a live probe.
#[derive(Debug, Clone, Copy)]
struct Ruled {
    level: Level,
    /// Whether the governor may take the probe away: without it a method has no template at all.
    is_only_template: bool,
    /// When the method got the probe, since the session began.
    begin: Duration,
    pass: Passes,
    wanted: WantedBy,
}

/// Who wants a live probe.
#[derive(Debug, Clone, Copy)]
struct WantedBy {
    /// Whether its rule lets the governor change its level.
    allows_governor: bool,
    /// Whether a person's claim decides about its level.
    by_person: bool,
}

impl WantedBy {
    /// Whether the governor may change its level.
    fn is_governed(self) -> bool {
        self.allows_governor && !self.by_person
    }

    /// Returns the owner of a change to what is wanted, and the reason.
    fn owner(self) -> (&'static str, String) {
        if self.by_person { ("user", "instr probe".to_owned()) } else { ("rule", "reloaded".to_owned()) }
    }
}

/// What the governor saw last.
#[derive(Debug)]
struct Last {
    at: Duration,
    cpu: Duration,
    made: CallsMade,
}

/// What probes took of the CPU time whose level the governor does not change.
#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    percent: f64,
    /// The one that took most, and its part.
    dearest: Option<(u32, f64)>,
}

impl LiveControl {
    /// The control of a session that begins.
    pub(crate) fn new(probes: &'static ProbeRegistry, claim_ids: Arc<ClaimIds>) -> LiveControl {
        let levels = live_levels::of_process();
        levels.forget(1..=probes.highest());
        let began = Instant::now();
        let times = Arc::new(LevelTimes::new(began));
        LiveControl { levels, probes, began, times, claim_ids, state: Mutex::default() }
    }

    /// Starts the governor unless it runs, if there is a budget; when it is known what calls cost.
    pub(crate) fn start(&self, prices: ProbePrices, budget_percent: Option<u32>, cpu: Duration) {
        let mut state = self.state.lock();
        state.prices = prices;
        if state.governor.is_some() {
            return;
        }
        state.budget_percent = budget_percent;
        state.governor = budget_percent.map(|percent| Governor::new(percent, Manner::OF_LEVELS));
        state.last = Some(Last { at: self.began.elapsed(), cpu, made: CallsMade::default() });
    }

    /// Returns for how long probes were at each level.
    pub(crate) fn times(&self) -> &Arc<LevelTimes> {
        &self.times
    }

    /// Returns how calls of a probe were recorded, whose level is `fixed` or live; `None` if no class of this session has it.
    pub(crate) fn recorded_time(&self, probe: u32, fixed: Option<Level>) -> Option<RecordedTime> {
        let begin = self.state.lock().begin(probe)?;
        let level = fixed.unwrap_or_else(|| self.levels.get(probe));
        Some(self.times.recorded(probe, (begin, level)))
    }

    /// Notes that a probe was removed, or was inserted again.
    pub(crate) fn note_removal(&self, probe: u32, is_removed: bool) {
        let (begin, is_live) = {
            let state = self.state.lock();
            (state.begin(probe).unwrap_or_default(), state.ruled.contains_key(&probe))
        };
        // Others than those at level watch are not removed.
        let level = if is_live { self.levels.get(probe) } else { Level::Watch };
        if is_removed {
            self.times.remove(probe, begin, level);
        } else {
            self.times.restore(probe, begin, level);
        }
    }

    /// Sets the level of all live probes that are meant, or hands them back to their rules and the governor, and returns which these are.
    /// Those in `without` stay as they are.
    pub(crate) fn set(
        &self,
        selection: &LiveSelection,
        wanted: WantedLevel,
        setup: &Setup,
        without: &FxHashSet<u32>,
    ) -> LevelsSet {
        let described = self.described();
        let meant: Vec<&ProbeDescription> =
            described.iter().filter(|probe| selection.takes(probe, &setup.templates)).collect();
        let mut state = self.state.lock();
        let (mut numbers, mut changes, claim) = (Vec::new(), Vec::new(), self.claim_ids.next());
        for probe in meant.iter().filter(|probe| probe.live && !without.contains(&probe.number)) {
            numbers.push(probe.number);
            changes.extend(self.set_one(&mut state, probe.number, wanted, claim));
        }
        if let (WantedLevel::Exact(level), false) = (wanted, numbers.is_empty()) {
            state.level_claims.insert(claim, (selection.text(), level));
        }
        state.drop_empty_level_claims();
        let changed = numbers.len();
        let done = match wanted {
            WantedLevel::Auto => "handed back to their rules".to_owned(),
            WantedLevel::Exact(level) => format!("set to {level}"),
        };
        if changed > 0 {
            let methods = counted(changed as u64, "method");
            state.note(self.began.elapsed(), format!("{methods} {done} by request: {}", selection.text()));
        }
        let is_governed = |probe: &&u32| state.ruled.get(probe).is_some_and(|ruled| ruled.wanted.is_governed());
        let has_governor = state.governor.is_some();
        let governed = (wanted == WantedLevel::Auto)
            .then(|| numbers.iter().filter(|probe| has_governor && is_governed(probe)).count());
        let live = described.iter().filter(|probe| probe.live).count();
        let fixed = fixed(meant.into_iter(), &setup.rules, &setup.templates);
        let overruled = Vec::new();
        LevelsSet { answer: Changed { changed, governed, live, fixed, overruled }, changes, probes: numbers }
    }

    fn set_one(&self, state: &mut State, probe: u32, wanted: WantedLevel, claim: u32) -> Option<LevelChange> {
        let (to, owner, reason) = match wanted {
            WantedLevel::Exact(level) => {
                state.set_by_person.insert(probe, claim);
                (level, "user", "instr level")
            }
            WantedLevel::Auto => {
                state.set_by_person.remove(&probe);
                (state.ruled.get(&probe)?.level, "rule", "handed back by instr level")
            }
        };
        state.warned.remove(&probe);
        if let Some(governor) = &mut state.governor {
            governor.forget(probe);
        }
        self.change(state, probe, (owner, reason.to_owned()), to)
    }

    /// Sets a level; `None` if the probe is at this level already. The monitor has not raised it any more.
    fn change(
        &self,
        state: &mut State,
        probe: u32,
        (owner, reason): (&'static str, String),
        to: Level,
    ) -> Option<LevelChange> {
        state.raised.remove(&probe);
        let (before, was_limited) = (self.levels.get(probe), self.levels.is_limited(probe));
        let is_limited = to == Level::Time && state.records_for_walks_alone(probe);
        match is_limited {
            true => self.levels.set_limited(probe),
            false => self.levels.set(probe, to),
        }
        let begin = state.ruled.get(&probe).map_or(Duration::ZERO, |ruled| ruled.begin);
        // What is recorded for walks alone is in no figure of the probe: to others it has the level that it had before.
        let from = if was_limited { self.times.level(probe).unwrap_or(Level::Off) } else { before };
        let to = if is_limited { from } else { to };
        if from != to || is_limited {
            self.times.change(probe, begin, from, to);
        }
        (from != to).then_some(LevelChange { probe, owner, reason, from: Some(from), to })
    }

    /// Has the governor of levels forget these probes, which are removed.
    pub(crate) fn forget(&self, probes: &[u32]) {
        if let Some(governor) = &mut self.state.lock().governor {
            probes.iter().for_each(|probe| governor.forget(*probe));
        }
    }

    /// Returns the probes that loaded classes got in this session, and the sections that the application marks.
    pub(crate) fn described(&self) -> Vec<ProbeDescription> {
        let mut described = self.probes.described();
        let state = self.state.lock();
        let is_ours = |number: &u32| state.ruled.contains_key(number) || state.fixed.contains_key(number);
        described.retain(|ProbeDescription { number, template, .. }| is_ours(number) || **template == *SECTION);
        described
    }

    /// Returns how many live probes have which level, or are removed, by category.
    pub(crate) fn count(&self, templates: &TemplateLibrary, removed: &FxHashSet<u32>) -> Vec<LiveCounts> {
        let mut counts: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
        for probe in self.described().iter().filter(|probe| probe.live) {
            let of_category = counts.entry(category_of(&probe.template, templates)).or_default();
            let state = if removed.contains(&probe.number) { REMOVED } else { self.levels.get(probe.number).name() };
            *of_category.entry(state.to_owned()).or_default() += 1;
        }
        let of_category = |(category, levels): (&str, _)| LiveCounts { category: category.to_owned(), levels };
        counts.into_iter().map(of_category).collect()
    }

    /// Returns the windows of level burst, if there were some or will be.
    pub(crate) fn bursts(&self, control: &ControlConfig) -> Option<Bursts> {
        let (windows, open_nanos) = self.levels.windows();
        (windows > 0 || self.levels.is_bursting()).then_some(Bursts {
            open_ms: control.burst_open_ms,
            period_ms: control.burst_period_ms,
            windows,
            open_nanos,
        })
    }

    /// Returns the name of the present level of a probe, which is level watch unless it is live.
    pub(crate) fn recorded_level(&self, probe: u32) -> &'static str {
        let is_live = self.state.lock().ruled.contains_key(&probe);
        if is_live { self.levels.get(probe).name() } else { Level::Watch.name() }
    }

    /// Returns the present level of a live probe.
    pub(crate) fn level(&self, probe: u32) -> Level {
        self.levels.get(probe)
    }

    /// Remembers something that happened to the probes, with its time.
    pub(crate) fn note(&self, line: &str) {
        self.state.lock().note(self.began.elapsed(), line.to_owned());
    }

    /// Returns what was decided, oldest first.
    pub(crate) fn decisions(&self) -> Vec<String> {
        self.state.lock().decisions.iter().cloned().collect()
    }

    /// Returns the figures of the governor, if there is one.
    pub(crate) fn governed(&self, watch_percent: Option<f64>) -> Option<GovernorFigures> {
        let state = self.state.lock();
        let nanos = |level| state.prices.of(level).total_nanos;
        Some(GovernorFigures {
            budget_percent: state.budget_percent?,
            percent: state.governor.as_ref()?.percent(),
            kept_percent: state.kept.percent,
            watch_percent,
            nanos_per_call: nanos(Level::Time),
            nanos_per_full_call: nanos(Level::Full),
        })
    }

    /// Returns what users should know of the cost of probes.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warning(&self.state.lock()).into_iter().map(|(_, text)| text).collect()
    }

    /// The probe that takes most of the CPU time although nobody may lower it, if all of these take more than the budget.
    fn warning(&self, state: &State) -> Option<(u32, String)> {
        let budget = state.budget_percent.filter(|budget| state.kept.percent > f64::from(*budget))?;
        // It may have been removed since.
        let (probe, percent) = state.kept.dearest.filter(|(probe, _)| state.begin(*probe).is_some())?;
        let name = self.name(probe);
        let why = if state.set_by_person.contains_key(&probe) {
            format!("its level was set by request (`instr level PID {name} auto` hands it back)")
        } else if self.levels.get(probe) == Level::Burst {
            "its windows of level burst are long (`burst-open-ms` in [control])".to_owned()
        } else if let Some(claim) = state.claimed.get(&probe).and_then(|claimed| claimed.wanting_claims().next()) {
            format!("claim {claim} asked for it (`instr remove PID {claim}` ends that)")
        } else if state.ruled.contains_key(&probe) {
            "its rule has `governed = false`".to_owned()
        } else {
            "its probe has a fixed level".to_owned()
        };
        let all = state.kept.percent;
        let text = format!(
            "probes that the governor does not lower take {all:.1} % of the CPU time, the budget is {budget} %: {name} takes \
             {percent:.1} %, and {why}"
        );
        Some((probe, text))
    }

    fn name(&self, probe: u32) -> String {
        self.probes.describe(probe).map_or_else(|| "?".to_owned(), |probe| probe.method)
    }

    /// Whether [`LiveControl::govern`] has something to do.
    pub(crate) fn is_due(&self) -> bool {
        let state = self.state.lock();
        let since = |last: &Last| self.began.elapsed().saturating_sub(last.at);
        state.governor.is_some() && state.last.as_ref().is_none_or(|last| since(last) >= LOOK)
    }

    /// Has the governor look at the calls up to now and the CPU time that the process has used.
    pub(crate) fn govern(&self, made: CallsMade, cpu: Duration) -> Governing {
        let at = self.began.elapsed();
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(last) = state.last.replace(Last { at, cpu, made: made.clone() }) else {
            return Governing::default();
        };
        let (governed, kept) = self.costs(state, &made, &last);
        let (length, cpu) = (at.saturating_sub(last.at), cpu.saturating_sub(last.cpu));
        let kept_interval = Interval { at, length, cpu, calls: &kept };
        state.kept = Kept {
            percent: kept_interval.percent(),
            dearest: kept
                .iter()
                .max_by(|a, b| a.nanos.total_cmp(&b.nanos))
                .map(|dearest| (dearest.probe, kept_interval.percent_of(dearest))),
        };
        let Some(governor) = &mut state.governor else { return Governing::default() };
        let decisions = governor.decide(&Interval { at, length, cpu, calls: &governed });
        let mut changes = Vec::new();
        for decision in decisions {
            let Some((change, line)) = self.carry_out(state, decision) else { continue };
            tracing::info!("{line}");
            state.note(at, line);
            changes.push(change);
        }
        let warning = self.warning(state).filter(|(probe, _)| state.warned.insert(*probe)).map(|(_, text)| text);
        Governing { changes, warning }
    }

    /// What the calls since the last look cost: those of probes that the governor may lower, and the others.
    fn costs(&self, state: &State, made: &CallsMade, last: &Last) -> (Vec<ProbeCalls>, Vec<ProbeCalls>) {
        let before = |number: u32| last.made.by_number.get(number as usize).copied().unwrap_or(0);
        let fresh = |(number, now): (u32, &u64)| Some((number, now.checked_sub(before(number))?));
        let fresh: Vec<(u32, u64)> =
            (0u32..).zip(&made.by_number).filter_map(fresh).filter(|(_, calls)| *calls > 0).collect();
        // Calls whose records were lost cost as much; which probes they passed is unknown, so all get their share.
        let known: u64 = fresh.iter().map(|(_, calls)| calls).sum();
        let with_lost = 1.0 + made.lost.saturating_sub(last.made.lost) as f64 / known.max(1) as f64;
        let mut by_probe: BTreeMap<u32, (bool, ProbeCalls)> = BTreeMap::new();
        let recorded_as = self.probes.recorded_as(fresh.iter().map(|(number, _)| *number));
        for ((_, calls), recorded) in fresh.iter().zip(recorded_as) {
            // Ticks say nothing of calls.
            let Some(RecordedAs { probe, level, live }) = recorded.filter(|as_| as_.level != Level::Watch) else {
                continue;
            };
            let calls = (*calls as f64 * with_lost) as u64;
            let nanos = calls as f64 * state.prices.of(level).total_nanos;
            let sum = by_probe.entry(probe).or_insert((live, ProbeCalls { probe, calls: 0, nanos: 0.0 }));
            sum.1.calls += calls;
            sum.1.nanos += nanos;
        }
        let is_governed = |probe: u32, live: bool| {
            // What a burst costs is bounded by its windows.
            live && self.levels.get(probe) != Level::Burst
                && !state.set_by_person.contains_key(&probe)
                && state.ruled.get(&probe).is_some_and(|ruled| ruled.wanted.is_governed())
        };
        let (governed, kept): (Vec<_>, Vec<_>) =
            by_probe.into_values().partition(|(live, calls)| is_governed(calls.probe, *live));
        // What was lowered meanwhile costs nothing any more.
        let still = |calls: &ProbeCalls| !matches!(self.levels.get(calls.probe), Level::Off | Level::Watch);
        let calls = |list: Vec<(bool, ProbeCalls)>| list.into_iter().map(|(_, calls)| calls);
        (calls(governed).filter(still).collect(), calls(kept).collect())
    }

    fn carry_out(&self, state: &mut State, decision: Decision) -> Option<(LevelChange, String)> {
        match decision {
            Decision::Demote { probe, calls_per_second, percent } => {
                let prices = &state.prices;
                let timed = percent * prices.of(Level::Time).total_nanos / prices.of(Level::Full).total_nanos.max(1.0);
                let is_full = self.levels.get(probe) == Level::Full;
                let budget = f64::from(state.budget_percent?);
                let to = if is_full && timed < budget * MOST_OF_ONE { Level::Time } else { Level::Watch };
                let reason = format!("{calls_per_second:.0} calls a second took {percent:.1} % of the CPU time");
                let line = format!("{} set to {to}: {reason}", self.name(probe));
                state.note_ceiling(probe, Some((to, reason.clone())));
                Some((self.change(state, probe, (GOVERNOR, reason), to)?, line))
            }
            Decision::Promote { probe } => {
                let to = state.ruled.get(&probe).map_or(Level::Time, |ruled| ruled.level);
                let line = format!("{} set back to {to}: it is quiet", self.name(probe));
                state.note_ceiling(probe, None);
                Some((self.change(state, probe, (GOVERNOR, "it is quiet".to_owned()), to)?, line))
            }
        }
    }
}

impl State {
    /// Returns when a method got this probe, since the session began.
    fn begin(&self, probe: u32) -> Option<Duration> {
        let live = self.ruled.get(&probe).map(|ruled| ruled.begin);
        live.or_else(|| Some(Duration::from_millis(u64::from(self.fixed.get(&probe)?.begin))))
    }

    fn note(&mut self, at: Duration, line: String) {
        if self.decisions.len() == REMEMBERED {
            self.decisions.pop_front();
        }
        self.decisions.push_back(format!("{:.1} s: {line}", at.as_secs_f64()));
    }
}

#[cfg(test)]
mod tests {
    use instrument_core::level::Mode;
    use instrument_core::selection::Chosen;

    use super::*;
    use records::probe_registry::ProbeRequest;

    /// A session that began some seconds ago.
    fn session_since(seconds: u64, probes: &'static ProbeRegistry) -> LiveControl {
        let began = Instant::now() - Duration::from_secs(seconds);
        LiveControl { began, times: Arc::new(LevelTimes::new(began)), ..LiveControl::new(probes, Arc::default()) }
    }

    fn request<'a>(name: &'a str, live: bool) -> ProbeRequest<'a> {
        let level = if live { Level::Time } else { Level::Watch };
        ProbeRequest {
            name: name.as_bytes(),
            descriptor: b"()V",
            access_flags: 1,
            template: "timed",
            level,
            live,
            context: "",
        }
    }

    /// Returns every call, estimates and the whole in seconds, and the changes.
    fn in_seconds(recorded: RecordedTime) -> [u64; 4] {
        let RecordedTime { every_call, estimates, whole, changes } = recorded;
        [every_call / 1_000_000_000, estimates / 1_000_000_000, whole / 1_000_000_000, changes]
    }

    #[test]
    fn the_time_of_a_fixed_probe_begins_when_its_class_gets_it() {
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let probe = probes.numbers((b"p/Late", 1), &[request("a", false)]).unwrap()[0];
        let control = session_since(100, probes);
        assert!(control.recorded_time(probe, Some(Level::Watch)).is_none(), "no class of this session has it");
        control.begin_fixed(probe, Level::Watch, DecidedClaims::default());
        let before = control.recorded_time(probe, Some(Level::Watch)).map(in_seconds);
        assert!(matches!(before, Some([0, estimates, whole, 0]) if estimates == whole && whole < 50), "{before:?}");
        control.note_removal(probe, true);
        let at_watch = control.times().at(probe, Level::Watch);
        assert!(at_watch < Some(Duration::from_secs(50)), "it was not there for {at_watch:?}");
        let after = control.recorded_time(probe, Some(Level::Watch)).map(in_seconds);
        assert!(matches!(after, Some([0, _, _, 1])), "`instr top` marks the removal: {after:?}");
    }

    #[test]
    fn only_probes_that_loaded_classes_got_in_this_session_are_counted_and_set() {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'p.**'\nlevel = 'time'\n", "c.toml").unwrap();
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let probe =
            |class: &str, loader, live| probes.numbers((class.as_bytes(), loader), &[request("a", live)]).unwrap()[0];
        // The table of levels is one for all tests: the first number belongs to another test, too.
        let (unwanted, kept, script) = (probe("p/Old", 1, true), probe("p/Kept", 1, true), probe("p/Script", 2, true));
        let (fixed, _old_fixed) = (probe("p/Fixed", 1, false), probe("p/OldFixed", 1, false));
        probes.section(b"part");
        let templates = Arc::from(setup.rules.rules()[0].templates());
        let chosen = Chosen { rule: 0, templates, level: Level::Time, mode: Mode::Inline, capture: None };
        let control = LiveControl::new(probes, Arc::default());
        [kept, script].iter().for_each(|probe| drop(control.begin(*probe, &chosen, true, DecidedClaims::default())));
        control.begin_fixed(fixed, Level::Watch, DecidedClaims::default());
        probes.note_unloaded(&FxHashSet::from_iter([2]));
        let counts = control.count(&setup.templates, &FxHashSet::default());
        let levels: Vec<_> = counts.iter().map(|counts| format!("{} {:?}", counts.category, counts.levels)).collect();
        assert_eq!(levels, ["catch-all {\"time\": 1}"]);
        let removed = control.count(&setup.templates, &FxHashSet::from_iter([kept]));
        assert_eq!(removed[0].levels.keys().collect::<Vec<_>>(), [&REMOVED], "the same word as in the list of methods");
        let all = LiveSelection::parse("**").unwrap();
        let LevelsSet { answer, probes: numbers, .. } =
            control.set(&all, WantedLevel::Exact(Level::Full), &setup, &FxHashSet::default());
        assert_eq!((numbers, answer.changed, answer.live), (vec![kept], 1, 1));
        assert_eq!(answer.fixed.iter().map(|fixed| fixed.methods).collect::<Vec<_>>(), [1, 1], "and the section");
        assert_eq!([kept, unwanted].map(|probe| control.level(probe)), [Level::Full, Level::Off]);
        control.set(&LiveSelection::parse("q.*").unwrap(), WantedLevel::Auto, &setup, &FxHashSet::default());
        assert_eq!(control.decisions().len(), 1, "a request that changed nothing is no decision");
        control.state.lock().governor = Some(Governor::new(3, Manner::OF_LEVELS));
        assert_eq!(control.set(&all, WantedLevel::Auto, &setup, &FxHashSet::default()).answer.governed, Some(1));
        let next = LiveControl::new(probes, Arc::default());
        assert!(next.count(&setup.templates, &FxHashSet::default()).is_empty(), "attached again with other rules");
        assert_eq!(next.level(kept), Level::Off);
    }
}
