//! What a session inserts into classes, and what it keeps about them for that.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use instrument_core::level::{Level, Mode};
use instrument_core::selection::{Chosen, CompiledRule};
use instrument_core::template::{Purpose, TemplateId};
use parking_lot::RwLock;
use records::probe_registry::{self, LIVE_NUMBERS, ProbeRegistry};
use records::{LoaderId, SharedLengths};
use rustc_hash::FxHashSet;
use settings::Config;

use crate::classes::known_calls::KnownCalls;
use crate::classes::known_facts::KnownFacts;
use crate::classes::rewritten_classes::RewrittenClasses;
use crate::classes::wrapped_classes::WrappedClasses;
use crate::config::setup::Setup;
use crate::contexts;
use crate::desired::generation::Generation;
use crate::desired::withdrawn_probes::WithdrawnProbes;
use crate::desired::{ClaimIds, ClaimedProbe, Claims, ConditionalProbe, WantingRules};
use crate::files::file_names::FileNames;
use crate::jvm::{JavaVm, Jvmti};
use crate::probes::live_control::{DecidedClaims, LevelChange, LiveControl, REMOVED};
use crate::probes::probe_switch::ProbeSwitch;
use crate::recorder::jvm_event_recording::JvmEventRecording;
use crate::recorder::{BurstWindows, InnerCalls, WatchedCalls};
use crate::statistics::Statistics;
use crate::transform::class_dump::ClassDump;
use crate::transform::class_origin;
use crate::transform::late_decisions::LateDecisions;

/// The JVM in which a session begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) vm: JavaVm,
    pub(crate) jvmti: Jvmti,
}

/// What is inserted into classes, from the start of a session to its end.
#[derive(Debug)]
pub(crate) struct Instrumentation {
    /// The configuration, of which a reload replaces the rules only.
    pub(crate) config: Config,
    /// Rules and templates, as they were read last.
    generation: RwLock<Arc<Generation>>,
    /// Numbers of probes.
    pub(crate) probes: &'static ProbeRegistry,
    /// Classes that were given wrappers, in this session or an earlier one.
    pub(crate) wrapped: &'static WrappedClasses,
    /// Set when the session is about to end: classes get no probes any more.
    leaving: AtomicBool,
    /// What was found in classes.
    pub(crate) facts: KnownFacts,
    /// What methods may call, of those that somebody asked about.
    pub(crate) calls: KnownCalls,
    /// Classes whose decision needs super types that were unknown.
    pub(crate) late: LateDecisions,
    /// What can be changed while the program runs.
    pub(crate) live: LiveControl,
    /// Methods that are called too often for a probe, where probes of level watch are governed.
    pub(crate) withdrawn: Option<WithdrawnProbes>,
    /// Which calls within others of their category are not counted again.
    pub(crate) inner_calls: Arc<InnerCalls>,
    /// Where rewritten classes are written to, for people.
    pub(crate) dump: ClassDump,
    /// Probes that persons asked for.
    pub(crate) claims: Claims,
    /// Numbers of all claims.
    pub(crate) claim_ids: Arc<ClaimIds>,
    /// Which rules want the probes.
    pub(crate) wanting_rules: WantingRules,
    /// Counters.
    pub(crate) statistics: Statistics,
    /// Feature release of the JDK.
    pub(crate) java_version: u32,
    /// Classes that were handed back changed.
    pub(crate) rewritten: RewrittenClasses,
    /// Switches all probes off and on.
    pub(crate) switch: ProbeSwitch,
    /// What of the JVM is recorded besides calls.
    pub(crate) events: JvmEventRecording,
}

impl Instrumentation {
    /// What a session with this configuration inserts; nothing has been inserted yet.
    pub(crate) fn new(
        beginning: &Beginning,
        setup: Setup,
        wrapped: &'static WrappedClasses,
        file_names: &FileNames,
        lengths: &SharedLengths,
    ) -> Instrumentation {
        let java_home = beginning.jvmti.system_property(c"java.home").unwrap_or_default();
        let probes = probe_registry::of_process();
        let counted = Arc::new(WatchedCalls::of_process());
        let withdrawn = setup.watch_budget().map(|percent| WithdrawnProbes::new(probes, percent, Arc::clone(&counted)));
        let claim_ids = Arc::new(ClaimIds::default());
        Instrumentation {
            probes,
            wrapped,
            leaving: AtomicBool::new(false),
            facts: KnownFacts::default(),
            calls: KnownCalls::default(),
            late: LateDecisions::default(),
            live: LiveControl::new(probes, Arc::clone(&claim_ids)),
            inner_calls: Arc::default(),
            dump: ClassDump::into_directory(setup.config.agent.dump.as_ref().map(|pattern| file_names.path(pattern))),
            claims: Claims::default(),
            claim_ids,
            wanting_rules: WantingRules::default(),
            statistics: Statistics::default(),
            java_version: beginning.jvmti.java_version(),
            rewritten: RewrittenClasses::default(),
            switch: ProbeSwitch::new(
                beginning.vm,
                setup.config.watch.clone(),
                withdrawn.is_some().then_some(counted),
                BurstWindows::new(&setup.config.control),
                Arc::clone(lengths),
            ),
            events: JvmEventRecording::new(&setup.config.trace, setup.config.sampler.is_some()),
            withdrawn,
            config: setup.config.clone(),
            generation: RwLock::new(Arc::new(Generation::first(PathBuf::from(java_home), setup))),
        }
    }

    /// Rules and templates, as they were read last.
    pub(crate) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&self.generation.read())
    }

    /// From now on classes get what this generation wants.
    pub(crate) fn replace_generation(&self, generation: Generation) {
        *self.generation.write() = Arc::new(generation);
    }

    /// A method got a live probe of this number; persons may have asked for that.
    pub(crate) fn begin_live(
        &self,
        generation: &Generation,
        probe: u32,
        chosen: &Chosen,
        claimed: Option<ClaimedProbe>,
    ) {
        let rule = generation.rule_of(chosen);
        self.note_rule(probe, LIVE_NUMBERS, (rule, claimed.as_ref()));
        let allows_governor = rule.is_none_or(CompiledRule::is_governed);
        let is_governed = allows_governor && claimed.is_none();
        let claims = DecidedClaims { claimed, newest: generation.newest_claim() };
        self.live.note_capture(probe, chosen.capture.is_some());
        if let Some(change) = self.live.begin(probe, chosen, allows_governor, claims) {
            self.record_change(&change);
        }
        // Where levels are set by people, level watch must work from the first moment on.
        self.tick_for(if self.config.wants_live() { Level::Watch } else { chosen.level });
        // Without its probe a method has no template at all, and another one may be at another level.
        let for_rules = |id: &&TemplateId| {
            generation.templates().get(**id).is_some_and(|template| template.purpose == Purpose::Rules)
        };
        let others = chosen.templates.iter().filter(for_rules).count() > 1;
        if let Some(withdrawn) = self.withdrawn.as_ref().filter(|_| !is_governed || others) {
            withdrawn.spare(probe);
        }
    }

    /// A method got a live probe of this number that records inside a context only.
    pub(crate) fn begin_conditional(&self, generation: &Generation, probe: u32, conditional: &ConditionalProbe) {
        let ConditionalProbe { template, context, claims } = conditional;
        contexts::of_process().begin_probe(probe, context);
        let wanting = claims.iter().map(|(claim, level)| (*claim, *level, true)).collect();
        let claimed = ClaimedProbe::new(None, wanting);
        let level = conditional.level().unwrap_or(Level::Off);
        let (templates, mode) = (Arc::from([*template]), Mode::Inline);
        // No rule has this number.
        let chosen = Chosen { rule: usize::MAX, templates, level, mode, capture: None };
        self.begin_live(generation, probe, &chosen, Some(claimed));
    }

    /// A new claim of a person is about the method of a live probe: number, level, and whether it wants this probe.
    pub(crate) fn claim_live(&self, probe: u32, claim: (u32, Level, bool)) {
        if let Some(change) = self.live.add_claim(probe, claim) {
            self.record_change(&change);
        }
        if let Some(withdrawn) = &self.withdrawn {
            withdrawn.spare(probe);
        }
    }

    /// Has the probes record that were held back.
    pub(crate) fn arm(&self) {
        self.live.arm().iter().for_each(|change| self.record_change(change));
    }

    /// Records a change of one probe's level.
    pub(crate) fn record_change(&self, LevelChange { probe, owner, reason, from, to }: &LevelChange) {
        self.tick_for(*to);
        self.events.claim(Some(*probe), (*owner, reason), [from.map_or(REMOVED, Level::name), to.name()]);
    }

    /// A method got a probe of this number, whose level stays.
    pub(crate) fn begin_fixed(
        &self,
        generation: &Generation,
        probe: u32,
        chosen: &Chosen,
        claimed: Option<ClaimedProbe>,
    ) {
        let rule = generation.rule_of(chosen);
        self.note_rule(probe, 1, (rule, claimed.as_ref()));
        let is_governed = claimed.is_none() && rule.is_none_or(CompiledRule::is_governed);
        let claims = DecidedClaims { claimed, newest: generation.newest_claim() };
        self.live.note_capture(probe, chosen.capture.is_some());
        if let Some(change) = self.live.begin_fixed(probe, chosen.level, claims) {
            self.record_change(&change);
        }
        if let Some(withdrawn) = self.withdrawn.as_ref().filter(|_| !is_governed) {
            withdrawn.spare(probe);
        }
    }

    fn note_rule(&self, probe: u32, numbers: u32, (rule, claimed): (Option<&CompiledRule>, Option<&ClaimedProbe>)) {
        let is_wanted_by_rules = claimed.is_none_or(ClaimedProbe::is_wanted_by_rules);
        self.wanting_rules.note(probe, rule.filter(|_| is_wanted_by_rules).map(CompiledRule::name));
        if rule.is_some_and(CompiledRule::counts_outermost) {
            self.inner_calls.count_outermost_only(probe, numbers);
        }
    }

    /// Some probe is at this level from now on.
    pub(crate) fn tick_for(&self, level: Level) {
        if matches!(level, Level::Watch | Level::Burst) {
            self.need_ticker();
        }
    }

    /// Some class got a probe of level watch: there must be a tick.
    pub(crate) fn need_ticker(&self) {
        self.switch.need_ticks(&self.events);
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.generation().types.forget(gone);
        self.probes.note_unloaded(gone);
        self.rewritten.forget(gone);
        self.facts.forget(gone);
        self.calls.forget(gone);
        self.wrapped.forget(gone);
        class_origin::forget(gone);
    }

    /// From now on classes are given no probes.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    /// Whether that has been said.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }
}
