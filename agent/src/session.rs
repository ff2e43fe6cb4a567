//! The agent of this process and its present session: the time between start (or attach) and end (or detach).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::SystemTime;

use instrument_core::level::Level;
use instrument_core::selection::{Chosen, CompiledRule, Untouchable};
use instrument_core::{Engine, EngineOptions};
use parking_lot::{Mutex, RwLock};
use settings::{JvmEvents as EventKind, ProbeClock, WhenFull};

use records::{LoaderId, SharedLengths, probe_registry};
use rustc_hash::FxHashSet;

use crate::class_dump::ClassDump;
use crate::file_names::FileNames;
use crate::health::Health;
use crate::hierarchy::TypeIndex;
use crate::jvm::counter::CounterWatch;
use crate::jvm::{
    self, ClassFile, CodePlace, Event, JavaVm, Jni, JvmEvents, Jvmti, LoadedClass, MethodId, NAME_GATE, ObjectRef,
    process_cpu_time,
};
use crate::jvm_event_recording::JvmEventRecording;
use crate::jvm_figures::FullCalls;
use crate::late_decisions::LateDecisions;
use crate::late_restores::{self, LATE_RESTORES};
use crate::live_control::LiveControl;
use crate::parameter_doubts::ParameterDoubts;
use crate::probe_prices::ProbePrices;
use crate::probe_switch::ProbeSwitch;
use crate::recorder::{
    self, BurstWindows, CallRates, DumpDesk, InnerCalls, LiveTree, RecordCounts, Rings, WatchedCalls, Watcher,
};
use crate::rewritten_classes::RewrittenClasses;
use crate::runtime_classes::RuntimeClasses;
use crate::safe_retransforms::SAFE_RETRANSFORMS;
use crate::sampler::{self, AllocationSampler, SampleQueue};
use crate::setup::Setup;
use crate::statistics::Statistics;
use crate::withdrawn_probes::WithdrawnProbes;
use crate::wrapped_classes::WrappedClasses;
use crate::{class_load_hook, initial_state, loaded_before, message};
use records::probe_registry::{LIVE_NUMBERS, ProbeRegistry};

mod answers;
mod recording;

use recording::{Ended, Running};

/// The agent: connected to the JVM for good.
#[derive(Debug)]
pub(crate) struct Agent {
    vm: JavaVm,
    pub(crate) jvmti: Jvmti,
    /// The JVM was started then, or later.
    started: SystemTime,
    runtime: OnceLock<RuntimeClasses>,
    rings: OnceLock<&'static Rings>,
    session: RwLock<Option<Arc<Session>>>,
}

static WRAPPED: OnceLock<WrappedClasses> = OnceLock::new();

/// What lives from start to end.
#[derive(Debug)]
pub(crate) struct Session {
    /// Configuration, templates and rules.
    pub(crate) setup: Setup,
    /// The engine with these templates.
    pub(crate) engine: Engine,
    /// Numbers of probes.
    pub(crate) probes: &'static ProbeRegistry,
    /// Classes that were given wrappers, in this session or an earlier one.
    pub(crate) wrapped: &'static WrappedClasses,
    /// Set when the session is about to end: classes get no probes any more.
    leaving: AtomicBool,
    /// Known super types.
    pub(crate) types: TypeIndex,
    /// Methods that are never instrumented, computed when a class of the JDK is first decided.
    untouchable: OnceLock<Untouchable>,
    /// Classes whose decision needs super types that were unknown.
    pub(crate) late: LateDecisions,
    /// What can be changed while the program runs.
    pub(crate) live: LiveControl,
    /// Methods that are called too often for a probe, where probes of level watch are governed.
    pub(crate) withdrawn: Option<WithdrawnProbes>,
    /// What one call costs, measured when the recording begins.
    pub(crate) prices: OnceLock<ProbePrices>,
    /// Calls up to now, if somebody may ask.
    pub(crate) rates: Option<Arc<Mutex<CallRates>>>,
    /// Which calls within others of their category are not counted again.
    pub(crate) inner_calls: Arc<InnerCalls>,
    /// Which lengths of calls at level watch count.
    pub(crate) lengths: SharedLengths,
    /// The call tree up to now, if somebody may ask.
    pub(crate) tree: Option<Arc<Mutex<LiveTree>>>,
    /// What the drainer has seen up to now.
    pub(crate) records: Mutex<RecordCounts>,
    /// Names of the files it writes.
    pub(crate) file_names: FileNames,
    /// Where rewritten classes are written to, for people.
    pub(crate) dump: ClassDump,
    /// Counters.
    pub(crate) statistics: Statistics,
    /// Feature release of the JDK.
    pub(crate) java_version: u32,
    /// What rules ask for and no method has.
    pub(crate) doubts: ParameterDoubts,
    /// Classes that were handed back changed.
    pub(crate) rewritten: RewrittenClasses,
    running: Mutex<Running>,
    /// Switches all probes off and on.
    pub(crate) switch: ProbeSwitch,
    /// How the JVM is.
    pub(crate) health: Arc<Mutex<Health>>,
    /// What of the JVM is recorded besides calls.
    pub(crate) events: JvmEventRecording,
    /// Where dumps of a recording in memory are asked for.
    pub(crate) dumps: Arc<DumpDesk>,
    samples: Arc<SampleQueue>,
    allocated: Arc<SampleQueue>,
    allocations: OnceLock<AllocationSampler>,
    ended: Mutex<Option<Ended>>,
    vm: JavaVm,
    jvmti: Jvmti,
}

impl Agent {
    /// An agent without a session.
    pub(crate) fn new(vm: JavaVm, jvmti: Jvmti, started: SystemTime) -> Agent {
        Agent { vm, jvmti, started, runtime: OnceLock::new(), rings: OnceLock::new(), session: RwLock::new(None) }
    }

    /// Whether there is a session.
    pub(crate) fn is_active(&self) -> bool {
        self.session.read().is_some()
    }

    /// The present session.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.session.read().clone()
    }

    /// Takes a session whose start has to wait until the JVM is up.
    pub(crate) fn start_with_jvm(&self, setup: Setup) -> Result<(), String> {
        for event in [Event::VmInit, Event::VmDeath] {
            self.jvmti.set_event(event, true).map_err(|error| error.to_string())?;
        }
        *self.session.write() = Some(Arc::new(Session::new(self, setup)));
        Ok(())
    }

    /// Starts a session in a running JVM.
    pub(crate) fn start_now(&self, jni: &Jni<'_>, setup: Setup) -> Result<(), String> {
        let session = Arc::new(Session::new(self, setup));
        *self.session.write() = Some(Arc::clone(&session));
        let started = self.start(jni, &session);
        if started.is_err() {
            self.abandon(jni);
        }
        started
    }

    /// Takes back what a start has done that failed on its way.
    fn abandon(&self, jni: &Jni<'_>) {
        self.stop_probes(jni);
        let _ = self.jvmti.set_event(Event::ClassFileLoad, false);
        if let Some(session) = self.session() {
            session.events.listen(self.jvmti, false);
        }
        self.end_session("the agent could not start");
    }

    /// Ends the session for this reason; the hook and the probes must be off.
    pub(crate) fn end_session(&self, reason: &str) {
        // The lock is free again before threads are waited for: those that end ask for the session, too.
        let ended = self.session.write().take();
        if let Some(session) = ended {
            session.end(reason);
        }
    }

    /// Switches all probes off.
    pub(crate) fn stop_probes(&self, jni: &Jni<'_>) {
        if let Some(session) = self.session() {
            session.switch.close();
        }
        if let Some(runtime) = self.runtime.get() {
            runtime.stop(jni);
        }
    }

    /// Starts a session in a JVM that is up: runtime classes, recorder, hook, and the classes that were loaded before.
    fn start(&self, jni: &Jni<'_>, session: &Arc<Session>) -> Result<(), String> {
        let rings =
            *self.rings.get_or_init(|| Rings::of_process(session.setup.config.trace.buffer_mb as usize * (1 << 20)));
        let runtime = match self.runtime.get() {
            Some(runtime) => *runtime,
            None => {
                let defined = RuntimeClasses::define(self.jvmti, jni, rings, session.setup.counts_ticks())?;
                *self.runtime.get_or_init(|| defined)
            }
        };
        runtime.start_clock(jni, session.setup.config.trace.clock == ProbeClock::System)?;
        if session.setup.has_live_probes() {
            runtime.warm_up(jni)?;
        }
        let metrics = &session.setup.config.metrics;
        let counts_full =
            metrics.is_wanted() && (session.setup.uses_level(Level::Full) || session.setup.has_live_probes());
        session.measure_prices(counts_full);
        let clock = session.start_recording(jni, rings, &runtime)?;
        if counts_full {
            FullCalls::of_process().map_or(Ok(()), |calls| runtime.start_full(jni, calls, metrics.cpu_time))?;
        }
        session.switch.begin(jni, runtime, clock, counts_full)?;
        session.start_control();
        session.start_health(jni);
        session.close_gate();
        // The hook is never switched on before: that would cost an AOT cache, and with it the start-up time.
        for event in [Event::VmDeath, Event::ThreadEnd, Event::ClassFileLoad] {
            self.jvmti.set_event(event, true).map_err(|error| error.to_string())?;
        }
        session.events.listen(self.jvmti, true);
        initial_state::record(self.jvmti, jni, &session.events);
        loaded_before::instrument(self.jvmti, jni, session);
        session.start_sampler(jni);
        session.start_allocation_samples();
        Ok(())
    }

    /// Returns the new bytes of a class that is loaded or retransformed; `None` leaves it as it is.
    fn rewritten(&self, class: &ClassFile<'_>) -> Option<Vec<u8>> {
        let present = match &*self.session.read() {
            Some(session) if session.is_leaving() => None,
            // Most classes end here, before the session is shared once more.
            Some(session)
                if class_load_hook::ends_at_its_name(session, class) && !session.events.has(EventKind::Classes) =>
            {
                return None;
            }
            session => session.clone(),
        };
        match present {
            Some(session) => {
                session.events.class_file(class);
                class_load_hook::class_file(&session, class)
            }
            None => WRAPPED.get()?.without_templates(class),
        }
    }
}

impl JvmEvents for Agent {
    fn vm_init(&self, _jvmti: Jvmti, jni: &Jni<'_>) {
        let Some(session) = self.session() else { return };
        if let Err(reason) = self.start(jni, &session) {
            message::say(&format!("{reason}; the application goes on without this agent"));
            self.abandon(jni);
        }
    }

    fn vm_death(&self, jvmti: Jvmti, jni: &Jni<'_>) {
        if !self.is_active() {
            return;
        }
        self.stop_probes(jni);
        for event in [Event::ClassFileLoad, Event::ClassPrepare] {
            let _ = jvmti.set_event(event, false);
        }
        if let Some(session) = self.session() {
            session.events.listen(jvmti, false);
        }
        self.end_session("the JVM ends");
    }

    fn class_file(&self, class: &ClassFile<'_>) -> Option<Vec<u8>> {
        let Some(bytes) = SAFE_RETRANSFORMS.put_back(class) else { return self.rewritten(class) };
        self.rewritten(&class.with_bytes(&bytes)).or(Some(bytes))
    }

    fn class_prepared(&self, jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) {
        sampler::class_prepared(jvmti, class);
        LATE_RESTORES.class_prepared(jvmti, jni, class);
        if let Some(session) = self.session() {
            session.late.class_prepared(jvmti, jni, &session, class);
        } else if !LATE_RESTORES.are_waiting() {
            // Locked: a session that begins may need the event.
            let session = self.session.read();
            if session.is_none() {
                late_restores::stop_listening(jvmti);
            }
        }
    }

    fn thread_started(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>) {
        let session = self.session().filter(|session| session.events.has(EventKind::Threads));
        if session.is_none() && !sampler::wants_threads() {
            return;
        }
        let facts = jvm::thread_facts(jvmti, jni, thread);
        sampler::thread_started(jni, &facts);
        if let Some(session) = session {
            session.events.thread_started(facts);
        }
    }

    fn thread_ended(&self, thread: Option<(&Jni<'_>, ObjectRef<'_>)>) {
        sampler::thread_ended();
        if let Some(rings) = self.rings.get() {
            rings.thread_ended();
        }
        if let (Some(session), Some((jni, thread))) = (self.session(), thread) {
            session.events.thread_ended(jni, thread);
        }
    }

    fn garbage_collection(&self, starts: bool) {
        // Not by way of the session: a thread that is stopped now may hold its lock.
        recorder::note_pause(starts);
    }

    fn method_compiled(&self, jvmti: Jvmti, method: MethodId, place: CodePlace) {
        if let Some(session) = self.session() {
            self.vm.with_current_thread(|jni| session.events.method_compiled(jvmti, jni, method, place));
        }
    }

    fn compiled_code_unloaded(&self, address: u64) {
        if let Some(session) = self.session() {
            session.events.compiled_code_unloaded(address);
        }
    }

    fn code_generated(&self, name: &[u8], place: CodePlace) {
        if let Some(session) = self.session() {
            session.events.code_generated(name, place);
        }
    }

    fn object_allocated(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>, class: LoadedClass<'_>, size: u64) {
        let session = self.session();
        if let Some(sampler) = session.as_ref().and_then(|session| session.allocations.get()) {
            sampler.take(jvmti, jni, thread, class, size);
        }
    }

    fn loader_freed(&self, number: u64) {
        // As above.
        recorder::note_freed_loader(number);
    }
}

/// Keeps a session's figures up to date and lets the governor look at them.
struct SessionWatcher {
    session: Weak<Session>,
    counter: CounterWatch,
}

impl SessionWatcher {
    fn new(session: &Arc<Session>) -> SessionWatcher {
        SessionWatcher { session: Arc::downgrade(session), counter: CounterWatch::default() }
    }
}

impl Watcher for SessionWatcher {
    fn look(&mut self, counts: RecordCounts) {
        let Some(session) = self.session.upgrade() else { return };
        *session.records.lock() = counts;
        if let Some(doubt) = self.counter.check() {
            tracing::warn!("{doubt}");
            session.events.note("clock", &doubt);
        }
        if counts.full && session.setup.config.trace.when_full == WhenFull::Stop {
            session.stop_because_full();
        }
        if session.live.is_due()
            && let Some(rates) = &session.rates
        {
            let made = rates.lock().made();
            session.govern(made);
        }
        session.withdraw_probes();
        session.doubts.tell(session.setup.rules.rules(), false);
    }
}

impl Session {
    fn new(agent: &Agent, setup: Setup) -> Session {
        let java_home = agent.jvmti.system_property(c"java.home").unwrap_or_default();
        let types = TypeIndex::new(PathBuf::from(java_home), agent.started, &setup.rules);
        let probes = probe_registry::of_process();
        let (control, budget) = (&setup.config.control, setup.budget());
        let counted = Arc::new(WatchedCalls::of_process());
        let withdrawn = setup.watch_budget().map(|percent| WithdrawnProbes::new(probes, percent, Arc::clone(&counted)));
        let file_names = FileNames::of_now();
        let lengths = SharedLengths::default();
        let rates =
            (control.socket || budget.is_some()).then(|| Arc::new(Mutex::new(CallRates::new(Arc::clone(&lengths)))));
        Session {
            engine: Engine::new(Arc::clone(&setup.templates), EngineOptions::default()),
            probes,
            live: LiveControl::new(probes, budget),
            prices: OnceLock::new(),
            rates,
            lengths: Arc::clone(&lengths),
            tree: control.call_tree.then(Arc::default),
            records: Mutex::new(RecordCounts::default()),
            wrapped: WRAPPED.get_or_init(WrappedClasses::default),
            leaving: AtomicBool::new(false),
            types,
            untouchable: OnceLock::new(),
            dump: ClassDump::into_directory(setup.config.agent.dump.as_ref().map(|pattern| file_names.path(pattern))),
            file_names,
            java_version: agent.jvmti.java_version(),
            doubts: ParameterDoubts::new(),
            rewritten: RewrittenClasses::default(),
            late: LateDecisions::default(),
            statistics: Statistics::default(),
            running: Mutex::new(Running::default()),
            health: Arc::default(),
            switch: ProbeSwitch::new(
                agent.vm,
                setup.config.watch.clone(),
                withdrawn.is_some().then(|| Arc::clone(&counted)),
                BurstWindows::new(&setup.config.control),
                lengths,
            ),
            withdrawn,
            events: JvmEventRecording::new(&setup.config.trace, setup.config.sampler.is_some()),
            dumps: Arc::default(),
            samples: Arc::default(),
            allocated: Arc::default(),
            allocations: OnceLock::new(),
            ended: Mutex::new(None),
            inner_calls: Arc::default(),
            vm: agent.vm,
            jvmti: agent.jvmti,
            setup,
        }
    }

    /// Turns away classes whose names tell that no rule wants them, if the rules go by names and nobody else wants to hear of classes.
    fn close_gate(&self) {
        let rules = &self.setup.rules;
        let by_name = !rules.needs_hierarchy() && !self.events.has(EventKind::Classes);
        NAME_GATE.let_in(if by_name { rules.beginnings() } else { None });
    }

    /// Measures what calls cost, if there are probes that read a clock. The clock must be ready.
    fn measure_prices(&self, counts_full: bool) {
        if self.setup.reads_clock() {
            let cpu_times = self.setup.config.metrics.cpu_time;
            let prices = self.prices.get_or_init(|| ProbePrices::measure(counts_full, cpu_times));
            self.live.start(*prices, process_cpu_time());
        }
    }

    /// A method got a live probe of this number.
    pub(crate) fn begin_live(&self, probe: u32, chosen: &Chosen) {
        self.note_category(probe, LIVE_NUMBERS, chosen);
        let is_governed = self.setup.rules.rules().get(chosen.rule).is_none_or(CompiledRule::is_governed);
        self.live.begin(probe, chosen, is_governed);
        // Where levels are set by people, level watch must work from the first moment on.
        self.tick_for(if self.setup.wants_live() { Level::Watch } else { chosen.level });
        // Without its probe a method has no template at all, and another one may be at another level.
        if let Some(withdrawn) = self.withdrawn.as_ref().filter(|_| !is_governed || chosen.templates.len() > 1) {
            withdrawn.spare(probe);
        }
    }

    /// A method got a probe of this number, whose level stays.
    pub(crate) fn begin_fixed(&self, probe: u32, chosen: &Chosen) {
        self.note_category(probe, 1, chosen);
        self.live.begin_fixed(probe);
        let is_governed = self.setup.rules.rules().get(chosen.rule).is_none_or(CompiledRule::is_governed);
        if let Some(withdrawn) = self.withdrawn.as_ref().filter(|_| !is_governed) {
            withdrawn.spare(probe);
        }
    }

    fn note_category(&self, probe: u32, numbers: u32, chosen: &Chosen) {
        if self.setup.rules.rules().get(chosen.rule).is_some_and(CompiledRule::counts_outermost) {
            self.inner_calls.count_outermost_only(probe, numbers);
        }
    }

    /// Some probe is at this level from now on.
    fn tick_for(&self, level: Level) {
        if matches!(level, Level::Watch | Level::Burst) {
            self.need_ticker();
        }
    }

    /// Some class got a probe of level watch: there must be a tick.
    pub(crate) fn need_ticker(&self) {
        self.switch.need_ticks(&self.events);
    }

    /// Whether a method that the rules want must be left alone all the same.
    pub(crate) fn is_untouchable(&self, class: &[u8], method: &[u8], descriptor: &[u8]) -> bool {
        if !Untouchable::concerns(class) {
            return false;
        }
        let untouchable = self.untouchable.get_or_init(|| self.setup.untouchable(&|name| self.types.jdk_class(name)));
        untouchable.contains(class, method, descriptor)
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.types.forget(gone);
        self.probes.note_unloaded(gone);
        self.rewritten.forget(gone);
        self.wrapped.forget(gone);
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
