//! Which methods have slow calls, and diagnoses of them that nobody has asked for (`[monitor]`, `[[slow-calls]]`, `instr suspects`). `details` raises levels.

mod details;

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{DiagnoseRequest, ErrorCode, Refusal, Suspect, SuspectList};
use instrument_core::level::Level;
use instrument_core::rules::nearest_name::nearest_name;
use metrics::Durations;
use parking_lot::Mutex;
use records::probe_registry::{KnownProbe, ProbeDescription};
use rustc_hash::{FxHashMap, FxHashSet};
use settings::{Config, Detail, MonitorConfig, SlowCallsConfig};

use super::Session;
use crate::call_sites::method_text;
use crate::desired::generation::Generation;
use crate::desired::live_selection::{LiveSelection, category_of};
use crate::desired::{ACROSS_HOSTS, ACROSS_THREADS, DIRECTLY};
use crate::jvm::block_signals;
use crate::monitor::{DetailRule, Lengths, Restraint, Restraints, SlowCalls, SlowFrom};
use crate::recorder::{Looker, RecentCalls};
use details::RaisedLevels;

const LOOK: Duration = Duration::from_secs(1);
/// Between two looks for a method to diagnose.
const SEARCH: Duration = Duration::from_secs(5);
/// What is usual is not known before: first calls are slow.
const LEARNING: Duration = Duration::from_secs(60);
/// A diagnosis that nobody watches ends after this time.
const LONGEST: u64 = 300;
/// Without `[monitor]`, calls are watched for so long after the last request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most suspects in an answer.
const MOST: usize = 100;

/// What the monitor knows.
#[derive(Debug, Default)]
pub(super) struct Monitor(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// While calls are watched.
    lengths: Option<Lengths>,
    looked: Option<Instant>,
    searched: Option<Instant>,
    asked: Option<Instant>,
    begun: Restraints,
    raised: RaisedLevels,
    /// The claims of diagnoses that it has begun.
    claims: Vec<u32>,
    /// A thread looks for a method to diagnose, or begins a diagnosis.
    is_searching: bool,
}

/// Which calls of which methods are slow.
struct Limits(Vec<Limit>);

/// From which length on calls of these methods are slow; of all others if there are none.
struct Limit {
    methods: Option<LiveSelection>,
    from: SlowFrom,
    detail: Option<DetailRule>,
}

/// A probe with slow calls.
struct Found {
    slow: SlowCalls,
    method: String,
    context: Option<String>,
    category: String,
    /// Only calls that met a tick were recorded: how many others there were is unknown.
    is_watched: bool,
    /// The methods for which the limit was stated.
    stated_for: Option<String>,
}

impl Limits {
    /// What a request states, or else the configuration.
    fn of(slow_calls: &[SlowCallsConfig], methods: Option<LiveSelection>, slower_than_us: Option<u64>) -> Limits {
        if methods.is_some() || slower_than_us.is_some() || slow_calls.is_empty() {
            let from = slower_than_us.map_or(SlowFrom::Learnt, |micros| SlowFrom::Stated(micros.saturating_mul(1_000)));
            return Limits(vec![Limit { methods, from, detail: None }]);
        }
        let limit = |config: &SlowCallsConfig| {
            let stated = config.slower_than.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            // The pattern was checked when the configuration was read.
            let methods = config.methods.as_ref().and_then(|methods| LiveSelection::parse(methods.get_ref()).ok());
            let from = stated.map_or(SlowFrom::Learnt, SlowFrom::Stated);
            Limit { methods, from, detail: detail_rule(config) }
        };
        Limits(slow_calls.iter().map(limit).collect())
    }

    fn of_probe(&self, probe: &ProbeDescription, generation: &Generation) -> Option<(SlowFrom, Option<String>)> {
        let Limit { methods, from, .. } = self.limit_of(probe, generation)?;
        Some((*from, methods.as_ref().map(LiveSelection::text)))
    }

    /// When the level of a probe is raised, and from which length on its calls are slow.
    fn detail_of(&self, probe: &ProbeDescription, generation: &Generation) -> Option<(SlowFrom, DetailRule)> {
        let Limit { from, detail, .. } = self.limit_of(probe, generation)?;
        Some((*from, (*detail)?))
    }

    fn has_details(&self) -> bool {
        self.0.iter().any(|limit| limit.detail.is_some())
    }

    fn limit_of(&self, probe: &ProbeDescription, generation: &Generation) -> Option<&Limit> {
        let takes =
            |limit: &&Limit| limit.methods.as_ref().is_none_or(|methods| methods.takes(probe, generation.templates()));
        self.0.iter().find(takes)
    }
}

impl Session {
    /// Called by the drainer every few milliseconds.
    pub(super) fn monitor_calls(self: &Arc<Self>) {
        let generation = self.instrumentation.generation();
        let config = &generation.setup.config;
        let now = Instant::now();
        // The drainer must not block; its next round comes soon.
        let Some(mut state) = self.monitor.0.try_lock() else { return };
        let is_asked = state.asked.is_some_and(|asked| now.saturating_duration_since(asked) < PATIENCE);
        if !is_asked && !is_wanted(config) {
            if state.lengths.take().is_some()
                && let Some(rates) = &self.rates
            {
                rates.lock().look_away(Looker::Monitor);
            }
            self.end_details(&mut state);
            return;
        }
        if state.looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK) {
            return;
        }
        state.looked = Some(now);
        self.look_at_lengths(&mut state, &generation, now);
        let is_time = state.searched.is_none_or(|searched| now.saturating_duration_since(searched) >= SEARCH);
        if is_time && !state.is_searching && config.monitor.as_ref().is_some_and(|monitor| monitor.diagnose) {
            state.searched = Some(now);
            state.is_searching = true;
            self.search_elsewhere(&mut state);
        }
    }

    fn look_at_lengths(&self, state: &mut State, generation: &Generation, now: Instant) {
        let Some(rates) = &self.rates else { return };
        let lately = rates.lock().look(Looker::Monitor);
        // Level watch sees calls at ticks, some of which come late.
        let clear =
            |(number, RecentCalls { durations, blurred }): (usize, RecentCalls)| (number, durations.without(&blurred));
        let lately: FxHashMap<usize, Durations> = lately.into_iter().map(clear).collect();
        self.look_at_details(state, &lately, generation, now);
        state.lengths.get_or_insert_with(|| Lengths::new(now)).add(lately, now);
    }

    /// Returns the methods with slow calls.
    pub(super) fn suspects_of(
        &self,
        methods: Option<&str>,
        slower_than_us: Option<u64>,
    ) -> Result<SuspectList, Refusal> {
        let generation = self.instrumentation.generation();
        let config = &generation.setup.config;
        let selection = methods.map(LiveSelection::parse).transpose()?;
        if let Some(unknown) = selection.as_ref().and_then(|meant| meant.unknown(generation.templates())) {
            return Err(Refusal::new(ErrorCode::UnknownName, unknown));
        }
        if let Some(meant @ LiveSelection::Methods(_)) = &selection {
            self.check_that_some_have_probes(meant, &generation)?;
        }
        let limits = Limits::of(&config.slow_calls, selection, slower_than_us);
        let now = Instant::now();
        let mut state = self.monitor.0.lock();
        state.asked = Some(now);
        let diagnoses = config.monitor.as_ref().is_some_and(|monitor| monitor.diagnose);
        let Some(lengths) = &state.lengths else {
            return Ok(SuspectList { watched_seconds: 0.0, methods: 0, unknown: 0, suspects: Vec::new(), diagnoses });
        };
        let mut found = self.slow_methods(lengths, &limits, &generation);
        found.truncate(MOST);
        let monitor = config.monitor.clone().unwrap_or_default();
        let suspects = found.into_iter().map(|found| {
            let diagnosed = self.diagnoses.about(&found.method, found.context.as_deref());
            let why_not = || {
                let conditional = "its calls are recorded under a condition, only those of an immediate caller, or in tasks of a context: diagnose it by its name, with `--when` or `--in`".to_owned();
                let restrained =
                    || state.begun.why_not(&found.method, now, self.under_way(&state), restraint(&monitor));
                if found.has_condition() { Some(conditional) } else { restrained() }
            };
            suspect(&found, diagnosed, diagnoses.then(why_not).flatten())
        });
        Ok(SuspectList {
            watched_seconds: lengths.watched_for(now).as_secs_f64(),
            methods: self.watched_methods(lengths, &|_| true),
            unknown: self.watched_methods(lengths, &|number| self.is_unknown(number, &limits, &generation)),
            suspects: suspects.collect(),
            diagnoses,
        })
    }

    /// Refuses methods of which none has a probe, at whatever level: their calls are never seen.
    fn check_that_some_have_probes(&self, meant: &LiveSelection, generation: &Generation) -> Result<(), Refusal> {
        let described = self.instrumentation.probes.described();
        if described.iter().any(|probe| meant.takes(probe, generation.templates())) {
            return Ok(());
        }
        let text = meant.text();
        let help = match nearest_name(&text, described.iter().map(|probe| probe.method.as_str())) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!(
                "`instr methods` lists those that have; `instr probe PID '{text}'` adds probes, if the name is right"
            ),
        };
        Err(Refusal::new(ErrorCode::UnknownName, format!("no loaded method that matches {text} has a probe"))
            .help(help))
    }

    /// Returns from which length on calls of a method (`package.Class.method(Types)`) are slow by `[[slow-calls]]`, if that is stated for it, and says so.
    pub(super) fn configured_limit(&self, method: &str) -> Option<(Duration, String)> {
        let generation = self.instrumentation.generation();
        let name = method.split('(').next().unwrap_or(method);
        // Without a probe of its own it has no category.
        let unprobed = || ProbeDescription {
            number: 0,
            method: name.to_owned(),
            descriptor: String::new(),
            template: "".into(),
            level: Level::Off,
            live: false,
            context: "".into(),
        };
        let described = self.instrumentation.live.described();
        // That of a rule before those of contexts.
        let own =
            described.into_iter().filter(|probe| probe.method == name).min_by_key(|probe| !probe.context.is_empty());
        let slow_calls = &generation.setup.config.slow_calls;
        let limits = Limits::of(slow_calls, None, None);
        match limits.of_probe(&own.unwrap_or_else(unprobed), &generation)? {
            (SlowFrom::Stated(nanos), methods) => {
                let of = methods.map(|methods| format!(" for {methods}")).unwrap_or_default();
                Some((Duration::from_nanos(nanos), format!("the limit is that of [[slow-calls]]{of}")))
            }
            (SlowFrom::Learnt, _) => None,
        }
    }

    /// Whether nobody can say which calls under a number are slow: at level watch only long calls are seen, from which nothing is learnt.
    fn is_unknown(&self, number: u32, limits: &Limits, generation: &Generation) -> bool {
        let probes = self.instrumentation.probes;
        let own = probes.own_number(number).filter(|(_, level)| *level == Level::Watch);
        let probe = own.and_then(|(own, _)| probes.describe(own));
        let limit = probe.map(|probe| limits.of_probe(&probe, generation));
        limit.is_some_and(|limit| limit.is_none_or(|(from, _)| from == SlowFrom::Learnt))
    }

    fn watched_methods(&self, lengths: &Lengths, counts: &dyn Fn(u32) -> bool) -> usize {
        // Before the registry is asked, which is locked meanwhile.
        let numbers: Vec<u32> = lengths.numbers().filter(|number| counts(*number)).collect();
        let known = self.instrumentation.probes.known(numbers.into_iter());
        let methods = known.iter().flatten().map(|probe| (probe.method(), probe.context()));
        methods.collect::<FxHashSet<_>>().len()
    }

    /// The methods with slow calls; one that has several probes once, by that with most slow calls.
    fn slow_methods(&self, lengths: &Lengths, limits: &Limits, generation: &Generation) -> Vec<Found> {
        let probes = self.instrumentation.probes;
        let limit = |number: u32| {
            let (own, level) = probes.own_number(number)?;
            let found = limits.of_probe(&probes.describe(own)?, generation)?;
            // As in `is_unknown`.
            (level != Level::Watch || found.0 != SlowFrom::Learnt).then_some(found)
        };
        let slow_calls = lengths.slow_calls(|number| Some(limit(number)?.0));
        let known = probes.known(slow_calls.iter().map(|slow| slow.number));
        let mut methods: FxHashSet<(String, Option<String>)> = FxHashSet::default();
        let found = slow_calls.into_iter().zip(known).filter_map(|(slow, known)| {
            let known: KnownProbe = known?;
            let (class, name, descriptor) = known.method();
            let method = method_text(class, name, descriptor);
            let context = Some(known.context()).filter(|context| !context.is_empty()).map(str::to_owned);
            if !methods.insert((method.clone(), context.clone())) {
                return None;
            }
            let category = category_of(known.template(), generation.templates()).to_owned();
            let is_watched = probes.own_number(slow.number)?.1 == Level::Watch;
            let stated_for = limit(slow.number)?.1.filter(|_| !slow.is_learnt);
            Some(Found { slow, method, context, category, is_watched, stated_for })
        });
        found.collect()
    }

    fn under_way(&self, state: &State) -> usize {
        let goes_on = |claim: &&u32| self.instrumentation.claims.has(**claim);
        state.claims.iter().filter(goes_on).count()
    }

    /// Has another thread look for a method to diagnose: the drainer waits neither for that nor for classes that are changed.
    fn search_elsewhere(self: &Arc<Self>, state: &mut State) {
        let session = Arc::clone(self);
        let search = move || {
            block_signals();
            session.diagnose_a_suspect();
            session.monitor.0.lock().is_searching = false;
        };
        match std::thread::Builder::new().name("instr-monitor".to_owned()).spawn(search) {
            Ok(thread) => self.running.lock().await_at_the_end(thread),
            Err(error) => {
                state.is_searching = false;
                tracing::warn!(%error, "no diagnosis is begun: there is no thread for it");
            }
        }
    }

    /// Begins a diagnosis of the first suspect, if the configuration lets it now.
    fn diagnose_a_suspect(self: &Arc<Self>) {
        let generation = self.instrumentation.generation();
        let Some(config) = &generation.setup.config.monitor else { return };
        if self.why_paused().is_some() {
            return;
        }
        let (restraint, now) = (restraint(config), Instant::now());
        let Some(found) = self.due_suspect(&generation, restraint, now) else { return };
        let evidence = evidence(&found);
        let request = DiagnoseRequest {
            method: found.method.clone(),
            within: found.context.clone(),
            slower_than_us: Some((found.slow.slower_than / 1_000).max(1)),
            seconds: Some(LONGEST),
            ..DiagnoseRequest::default()
        };
        let begun = self.begin_diagnosis(&request);
        let mut state = self.monitor.0.lock();
        match begun {
            Ok(begun) => {
                self.diagnoses.note_evidence(begun.claim, &evidence);
                self.note_claim(begun.claim, &format!("begun by the monitor: {evidence}"));
                state.claims.retain(|claim| self.instrumentation.claims.has(*claim));
                state.claims.push(begun.claim);
                state.begun.note(&found.method, None, now, restraint);
            }
            Err(refusal) => {
                tracing::warn!("{} is not diagnosed, although {evidence}: {}", found.method, refusal.error);
                state.begun.note(&found.method, Some(&refusal.error), now, restraint);
            }
        }
    }

    /// Returns the method whose turn it is. Methods that another diagnosis has followed are explained by that.
    fn due_suspect(&self, generation: &Generation, restraint: Restraint, now: Instant) -> Option<Found> {
        let state = self.monitor.0.lock();
        let lengths = state.lengths.as_ref()?;
        let limits = Limits::of(&generation.setup.config.slow_calls, None, None);
        let is_usual_known = lengths.watched_for(now) >= LEARNING;
        let under_way = self.under_way(&state);
        let is_due = |found: &Found| {
            if found.slow.is_learnt && !is_usual_known || found.has_condition() {
                return false;
            }
            let about = self.diagnoses.about(&found.method, found.context.as_deref());
            let is_explained = about.is_some_and(|about| about.method != found.method || about.is_under_way);
            !is_explained && state.begun.why_not(&found.method, now, under_way, restraint).is_none()
        };
        self.slow_methods(lengths, &limits, generation).into_iter().find(is_due)
    }
}

impl Found {
    /// A claim records its calls only if a condition holds, only those of an immediate caller, also in tasks of the context, or has requests carry it: its context says that in words only.
    fn has_condition(&self) -> bool {
        let special = [" when ", DIRECTLY, ACROSS_THREADS, ACROSS_HOSTS];
        let is_special = |context: &String| special.iter().any(|words| context.contains(words));
        self.context.as_ref().is_some_and(is_special)
    }
}

/// Whether calls are watched without being asked for.
pub(super) fn is_wanted(config: &Config) -> bool {
    config.monitor.is_some() || !config.slow_calls.is_empty()
}

fn detail_rule(config: &SlowCallsConfig) -> Option<DetailRule> {
    let level = match config.detail? {
        Detail::Time => Level::Time,
        Detail::Full => Level::Full,
    };
    Some(DetailRule {
        level,
        after: config.detail_after.into(),
        calls: config.detail_calls.into(),
        time: config.detail_for,
        methods: config.detail_methods as usize,
    })
}

fn restraint(config: &MonitorConfig) -> Restraint {
    Restraint { per_hour: config.per_hour as usize, at_once: config.at_once as usize, again_after: config.again_after }
}

/// Why a method is suspected, for people.
fn evidence(found: &Found) -> String {
    let SlowCalls { calls, slow, slower_than, is_learnt, longest, .. } = found.slow;
    let origin = match (&found.stated_for, is_learnt) {
        (_, true) => "learnt from earlier calls".to_owned(),
        (Some(methods), _) => format!("stated for {methods}"),
        (None, _) => "stated".to_owned(),
    };
    let [limit, longest] = [slower_than, longest].map(trace::report::duration);
    let calls = if found.is_watched { String::new() } else { format!("{calls} ") };
    format!("{slow} of its {calls}calls in the last minute took longer than {limit} ({origin}), the longest {longest}")
}

fn suspect(found: &Found, diagnosed: Option<super::diagnosis::About>, not_diagnosed: Option<String>) -> Suspect {
    let SlowCalls { calls, slow, slower_than, is_learnt, median, longest, slow_time, number: _ } = found.slow;
    let millis = |nanos: u64| nanos as f64 / 1e6;
    let (diagnosis, sentence) = diagnosed.map_or((None, None), |about| (Some(about.claim), about.sentence));
    Suspect {
        method: found.method.clone(),
        context: found.context.clone(),
        conditional: found.has_condition(),
        category: found.category.clone(),
        calls: (!found.is_watched).then_some(calls),
        slow,
        slower_than_ms: millis(slower_than),
        learnt: is_learnt,
        stated_for: found.stated_for.clone(),
        median_ms: (!found.is_watched).then(|| millis(median)),
        longest_ms: millis(longest),
        slow_total_ms: millis(slow_time),
        diagnosis,
        sentence,
        not_diagnosed,
    }
}
