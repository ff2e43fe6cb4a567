//! The agent of this process and its present session: the time between start (or attach) and end (or detach).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::SystemTime;

use instrument_core::config::JvmEvents as EventKind;
use instrument_core::level::Level;
use instrument_core::selection::{Chosen, CompiledRule, Untouchable};
use instrument_core::{Engine, EngineOptions};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashSet;

use crate::class_dump::ClassDump;
use crate::control::{ControlSocket, Status};
use crate::health::{Health, HealthWatch};
use crate::hierarchy::TypeIndex;
use crate::jvm::{
    self, ClassFile, Event, JavaVm, Jni, JvmEvents, Jvmti, LoadedClass, NAME_GATE, NanoClock, ObjectRef,
    process_cpu_time,
};
use crate::jvm_event_recording::JvmEventRecording;
use crate::late_decisions::LateDecisions;
use crate::live_control::LiveControl;
use crate::metrics::{FullCalls, Metrics, Origin};
use crate::probe_registry::ProbeRegistry;
use crate::probe_switch::ProbeSwitch;
use crate::recorder::{self, CallRates, Drainer, RecordCounts, RecordSinks, Rings, TraceSink, Watcher};
use crate::runtime_classes::RuntimeClasses;
use crate::sampler::{self, SampleCounts, SampleQueue, Sampler, Surroundings};
use crate::setup::Setup;
use crate::statistics::{End, Statistics};
use crate::wrapped_classes::WrappedClasses;
use crate::{class_load_hook, initial_state, live_levels, loaded_before, message, probe_registry, trace_file};

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
    /// Calls up to now, if somebody may ask.
    pub(crate) rates: Option<Arc<Mutex<CallRates>>>,
    /// What the drainer has seen up to now.
    pub(crate) records: Mutex<RecordCounts>,
    /// Where rewritten classes are written to, for people.
    pub(crate) dump: ClassDump,
    /// Counters.
    pub(crate) statistics: Statistics,
    /// Feature release of the JDK.
    pub(crate) java_version: u32,
    /// Names of the classes that were handed back changed.
    rewritten: Mutex<FxHashSet<Box<[u8]>>>,
    running: Mutex<Running>,
    /// Switches all probes off and on.
    pub(crate) switch: ProbeSwitch,
    /// How the JVM is.
    pub(crate) health: Arc<Mutex<Health>>,
    /// What of the JVM is recorded besides calls.
    pub(crate) events: JvmEventRecording,
    samples: Arc<SampleQueue>,
    vm: JavaVm,
    jvmti: Jvmti,
}

/// The threads of a session.
#[derive(Debug, Default)]
struct Running {
    clock: Option<NanoClock>,
    drainer: Option<Drainer>,
    metrics: Option<Metrics>,
    sampler: Option<Sampler>,
    control: Option<ControlSocket>,
    health: Option<HealthWatch>,
    /// The trace file, if it could be created.
    trace_file: Option<PathBuf>,
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
        *self.session.write() = Some(Arc::new(Session::new(self, setup)));
        for event in [Event::VmInit, Event::VmDeath] {
            self.jvmti.set_event(event, true).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Starts a session in a running JVM.
    pub(crate) fn start_now(&self, jni: &Jni<'_>, setup: Setup) -> Result<(), String> {
        let session = Arc::new(Session::new(self, setup));
        *self.session.write() = Some(Arc::clone(&session));
        let started = self.start(jni, &session);
        if started.is_err() {
            self.session.write().take();
        }
        started
    }

    /// Ends the session; the hook and the probes must be off.
    pub(crate) fn end_session(&self) {
        // The lock is free again before threads are waited for: those that end ask for the session, too.
        let ended = self.session.write().take();
        if let Some(session) = ended {
            session.end();
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

    /// The JVM is up: runtime classes, recorder, hook, and the classes that came before.
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
        runtime.start_clock(jni)?;
        if session.setup.has_live_probes() {
            if !live_levels::of_process().is_complete() {
                return Err("no memory for the levels of live probes".to_owned());
            }
            runtime.warm_up(jni)?;
        }
        let clock = session.start_recording(jni, rings)?;
        let metrics = &session.setup.config.metrics;
        let counts_full = metrics.is_wanted() && session.setup.uses_level(Level::Full);
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
        Ok(())
    }
}

impl JvmEvents for Agent {
    fn vm_init(&self, jvmti: Jvmti, jni: &Jni<'_>) {
        let Some(session) = self.session() else { return };
        if let Err(reason) = self.start(jni, &session) {
            message::say(&format!("{reason}; the application runs un-instrumented"));
            let _ = jvmti.set_event(Event::ClassFileLoad, false);
            self.session.write().take();
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
        self.end_session();
    }

    fn class_file(&self, class: &ClassFile<'_>) -> Option<Vec<u8>> {
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

    fn class_prepared(&self, jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) {
        sampler::class_prepared(jvmti, class);
        if let Some(session) = self.session() {
            session.late.class_prepared(jvmti, jni, &session, class);
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
        // Not by way of the session: its lock may be held by a thread that stands still now.
        recorder::note_pause(starts);
    }
}

/// Keeps a session's figures up to date and lets the governor look at them.
struct SessionWatcher(Weak<Session>);

impl Watcher for SessionWatcher {
    fn look(&mut self, counts: RecordCounts) {
        let Some(session) = self.0.upgrade() else { return };
        *session.records.lock() = counts;
        if session.live.is_due()
            && let Some(rates) = &session.rates
        {
            let calls = rates.lock().snapshot();
            session.live.govern(calls, process_cpu_time());
        }
    }
}

impl Session {
    fn new(agent: &Agent, setup: Setup) -> Session {
        let java_home = agent.jvmti.system_property(c"java.home").unwrap_or_default();
        let types = TypeIndex::new(PathBuf::from(java_home), agent.started);
        let probes = probe_registry::of_process();
        let (control, budget) = (&setup.config.control, setup.budget());
        let rates = (control.socket || budget.is_some()).then(Arc::default);
        Session {
            engine: Engine::new(Arc::clone(&setup.templates), EngineOptions::default()),
            probes,
            live: LiveControl::new(probes, budget),
            rates,
            records: Mutex::new(RecordCounts::default()),
            wrapped: WRAPPED.get_or_init(WrappedClasses::default),
            leaving: AtomicBool::new(false),
            types,
            untouchable: OnceLock::new(),
            dump: ClassDump::into_directory(setup.config.agent.dump.as_deref()),
            java_version: agent.jvmti.java_version(),
            rewritten: Mutex::new(FxHashSet::default()),
            late: LateDecisions::default(),
            statistics: Statistics::default(),
            running: Mutex::new(Running::default()),
            health: Arc::default(),
            switch: ProbeSwitch::new(agent.vm, setup.config.watch.tick_us),
            events: JvmEventRecording::new(&setup.config.trace, setup.config.sampler.enabled),
            samples: Arc::default(),
            vm: agent.vm,
            jvmti: agent.jvmti,
            setup,
        }
    }

    fn start_recording(self: &Arc<Self>, jni: &Jni<'_>, rings: &'static Rings) -> Result<NanoClock, String> {
        let clock = NanoClock::calibrate(jni).map_err(|error| error.to_string())?;
        let path = trace_file::path(self.setup.config.trace.file.as_deref());
        let wanted = self.setup.config.trace.write;
        let mut recording = wanted.then(|| trace_file::create(&path, self.jvmti, clock, &self.setup.config)).flatten();
        if let Some(recording) = &mut recording {
            let session = Arc::downgrade(self);
            recording.take_modules_from(Box::new(move |class| session.upgrade()?.types.jdk_module(class)));
        }
        let trace_file = recording.is_some().then(|| path.clone());
        let origin = Origin { vm: self.vm, clock, probes: self.probes };
        let (name, health) = (trace_file::program_name(self.jvmti), Arc::clone(&self.health));
        let metrics = Metrics::start(&self.setup.config.metrics, origin, &name, health);
        let sink = TraceSink::new(recording, path, self.probes, Arc::clone(&self.samples), self.rates.clone());
        let sink = RecordSinks::new(sink, metrics.as_ref().map(Metrics::sink));
        let drainer =
            Drainer::start(rings, clock, self.events.queue(clock), sink, SessionWatcher(Arc::downgrade(self)))
                .map_err(|error| format!("no thread for the recorder: {error}"))?;
        let drainer = Some(drainer);
        *self.running.lock() = Running { clock: Some(clock), drainer, metrics, trace_file, ..Running::default() };
        Ok(clock)
    }

    /// Turns away classes whose names tell that no rule wants them, if the rules go by names and nobody else wants to hear of classes.
    fn close_gate(&self) {
        let rules = &self.setup.rules;
        let by_name = !rules.needs_hierarchy() && !self.events.has(EventKind::Classes);
        NAME_GATE.let_in(if by_name { rules.beginnings() } else { None });
    }

    /// Takes samples if the configuration asks for them.
    fn start_sampler(&self, jni: &Jni<'_>) {
        let config = &self.setup.config.sampler;
        let Some(clock) = self.running.lock().clock.filter(|_| config.enabled) else { return };
        let (vm, jvmti, java_version) = (self.vm, self.jvmti, self.java_version);
        let surroundings = Surroundings { vm, jvmti, clock, java_version };
        let listen = || self.late.keep_listening(jvmti);
        self.running.lock().sampler = Sampler::start(surroundings, jni, config, Arc::clone(&self.samples), listen);
    }

    /// Looks at the heap if that may stop the probes, or if somebody wants figures of it.
    fn start_health(self: &Arc<Self>, jni: &Jni<'_>) {
        let limits = self.setup.breaker();
        if limits.is_some() || self.setup.config.metrics.is_wanted() {
            let heap = jvm::heap_size(jni).map_or(u64::MAX, |heap| heap.limit);
            let watch = HealthWatch::start(Arc::downgrade(self), Arc::clone(&self.health), limits, heap);
            self.running.lock().health = watch;
        }
    }

    fn start_control(self: &Arc<Self>) {
        if self.setup.config.control.socket {
            match ControlSocket::open(Arc::downgrade(self)) {
                Ok(socket) => self.running.lock().control = Some(socket),
                Err(error) => tracing::info!(%error, "`instr status` and `instr level` cannot reach this process"),
            }
        }
    }

    /// A method got a live probe of this number.
    pub(crate) fn begin_live(&self, probe: u32, chosen: &Chosen) {
        let is_governed = self.setup.rules.rules().get(chosen.rule).is_none_or(CompiledRule::is_governed);
        self.live.begin(probe, chosen, is_governed);
    }

    /// What people are told who ask while the program runs.
    pub(crate) fn status(&self, methods: usize, durations: bool) -> Status {
        let trace_file = self.running.lock().trace_file.clone();
        Status::of(self, trace_file, methods, durations)
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

    /// From now on classes are given no probes.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// A class of this name was handed back changed.
    pub(crate) fn note_rewritten(&self, name: &[u8]) {
        let mut rewritten = self.rewritten.lock();
        if !rewritten.contains(name) {
            rewritten.insert(name.into());
        }
    }

    /// Names of the classes that may hold probes.
    pub(crate) fn rewritten_classes(&self) -> FxHashSet<Box<[u8]>> {
        std::mem::take(&mut *self.rewritten.lock())
    }

    /// Stops the threads, completes the trace file, writes the statistics.
    fn end(&self) {
        let turned_away = NAME_GATE.reopen();
        Statistics::add(&self.statistics.classes_seen, usize::try_from(turned_away).unwrap_or(0));
        let running = std::mem::take(&mut *self.running.lock());
        drop(running.control);
        if let Some(health) = running.health {
            health.stop();
        }
        self.switch.end(&self.events);
        let samples = running.sampler.map(Sampler::stop);
        let records = running.drainer.map(Drainer::stop).unwrap_or_default();
        // After the drainer: what it found last is published, too.
        if let Some(metrics) = running.metrics {
            metrics.stop();
        }
        let trace_file = running.trace_file.as_deref().map(|path| path.to_string_lossy());
        self.write_statistics(records, samples.as_ref(), trace_file.as_deref());
    }

    fn write_statistics(&self, records: RecordCounts, samples: Option<&SampleCounts>, trace_file: Option<&str>) {
        let agent = &self.setup.config.agent;
        let end = End { records, samples, trace_file, discard: agent.discard, warnings: &self.setup.warnings };
        let Some(path) = agent.stats.as_deref().map(trace_file::with_process_id) else { return };
        if let Err(error) = self.statistics.write(path.as_ref(), &end) {
            message::say(&format!("cannot write the statistics file {path}: {error}"));
        }
    }
}
