//! The agent of this process and its present session: the time between start (or attach) and end (or detach).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use instrument_core::config::JvmEvents as EventKind;
use instrument_core::selection::Untouchable;
use instrument_core::{Engine, EngineOptions};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashSet;

use crate::class_dump::ClassDump;
use crate::hierarchy::TypeIndex;
use crate::jvm::{self, ClassFile, Event, JavaVm, Jni, JvmEvents, Jvmti, LoadedClass, NanoClock, ObjectRef};
use crate::late_decisions::LateDecisions;
use crate::probe_registry::ProbeRegistry;
use crate::recorder::{self, Drainer, JvmEvent, JvmEventQueue, RecordCounts, Rings, Ticker, TraceSink};
use crate::runtime_classes::RuntimeClasses;
use crate::setup::Setup;
use crate::statistics::{End, Statistics};
use crate::wrapped_classes::WrappedClasses;
use crate::{class_load_hook, initial_state, loaded_before, message, trace_file};

/// The agent: connected to the JVM for good.
#[derive(Debug)]
pub(crate) struct Agent {
    vm: JavaVm,
    pub(crate) jvmti: Jvmti,
    runtime: OnceLock<RuntimeClasses>,
    rings: OnceLock<&'static Rings>,
    session: RwLock<Option<Arc<Session>>>,
}

static PROBES: OnceLock<ProbeRegistry> = OnceLock::new();
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
    /// Where rewritten classes are written to, for people.
    pub(crate) dump: ClassDump,
    /// Counters.
    pub(crate) statistics: Statistics,
    /// Feature release of the JDK.
    pub(crate) java_version: u32,
    /// Names of the classes that were handed back changed.
    rewritten: Mutex<FxHashSet<Box<[u8]>>>,
    running: Mutex<Running>,
    /// What the JVM tells besides classes and calls, if it is recorded.
    events: OnceLock<Arc<JvmEventQueue>>,
    vm: JavaVm,
    jvmti: Jvmti,
}

/// The threads of a session.
#[derive(Debug, Default)]
struct Running {
    clock: Option<NanoClock>,
    drainer: Option<Drainer>,
    ticker: Option<Ticker>,
    tick: Option<crate::jvm::StaticLongField>,
    /// The trace file, if it could be created.
    trace_file: Option<PathBuf>,
}

impl Agent {
    /// An agent without a session.
    pub(crate) fn new(vm: JavaVm, jvmti: Jvmti) -> Agent {
        Agent { vm, jvmti, runtime: OnceLock::new(), rings: OnceLock::new(), session: RwLock::new(None) }
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
        if let Some(session) = self.session.write().take() {
            session.end();
        }
    }

    /// Switches all probes off.
    pub(crate) fn stop_probes(&self, jni: &Jni<'_>) {
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
                let defined = RuntimeClasses::define(self.jvmti, jni, rings)?;
                *self.runtime.get_or_init(|| defined)
            }
        };
        session.start_recording(jni, rings, &runtime)?;
        runtime.start(jni)?;
        // The hook is never switched on before: that would cost an AOT cache, and with it the start-up time.
        for event in [Event::VmDeath, Event::ThreadEnd, Event::ClassFileLoad] {
            self.jvmti.set_event(event, true).map_err(|error| error.to_string())?;
        }
        self.record_jvm_events(session, true);
        if let Some(events) = session.events.get() {
            initial_state::record(self.jvmti, jni, &session.setup.config.trace.events, events);
        }
        loaded_before::instrument(self.jvmti, jni, session);
        Ok(())
    }

    /// Switches on or off what a session records besides calls.
    pub(crate) fn record_jvm_events(&self, session: &Session, enabled: bool) {
        let kinds = [
            (EventKind::Threads, [Event::ThreadStart].as_slice()),
            (EventKind::Gc, [Event::GcStart, Event::GcFinish].as_slice()),
        ];
        let wanted = kinds.into_iter().filter(|(kind, _)| session.records(*kind));
        for event in wanted.flat_map(|(_, events)| events) {
            if let Err(error) = self.jvmti.set_event(*event, enabled) {
                tracing::warn!(%error, ?event, "not recorded");
            }
        }
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
            self.record_jvm_events(&session, false);
        }
        self.end_session();
    }

    fn class_file(&self, class: &ClassFile<'_>) -> Option<Vec<u8>> {
        let present = match &*self.session.read() {
            Some(session) if session.is_leaving() => None,
            // Most classes end here, before the session is shared once more.
            Some(session)
                if class_load_hook::ends_at_its_name(session, class) && !session.records(EventKind::Classes) =>
            {
                return None;
            }
            session => session.clone(),
        };
        match present {
            Some(session) => {
                session.tell_class(class);
                class_load_hook::class_file(&session, class)
            }
            None => WRAPPED.get()?.without_templates(class),
        }
    }

    fn class_prepared(&self, jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) {
        if let Some(session) = self.session() {
            session.late.class_prepared(jvmti, jni, &session, class);
        }
    }

    fn thread_started(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>) {
        let Some(session) = self.session() else { return };
        if let (Some(events), Some(thread)) = (session.events.get(), jvmti.thread_identity(jni, thread)) {
            events.add(JvmEvent::ThreadStarted(thread, jvm::current_thread_id()));
        }
    }

    fn thread_ended(&self, thread: Option<(&Jni<'_>, ObjectRef<'_>)>) {
        if let Some(rings) = self.rings.get() {
            rings.thread_ended();
        }
        let Some(session) = self.session().filter(|session| session.records(EventKind::Threads)) else { return };
        let thread = thread.and_then(|(jni, thread)| jvm::java_thread_id(jni, thread));
        if let (Some(events), Some(thread)) = (session.events.get(), thread) {
            events.add(JvmEvent::ThreadEnded(thread));
        }
    }

    fn garbage_collection(&self, starts: bool) {
        // Not by way of the session: its lock may be held by a thread that stands still now.
        recorder::note_pause(starts);
    }
}

impl Session {
    fn new(agent: &Agent, setup: Setup) -> Session {
        let java_home = agent.jvmti.system_property(c"java.home").unwrap_or_default();
        let types = TypeIndex::new(PathBuf::from(java_home));
        Session {
            engine: Engine::new(Arc::clone(&setup.templates), EngineOptions::default()),
            probes: PROBES.get_or_init(ProbeRegistry::default),
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
            events: OnceLock::new(),
            vm: agent.vm,
            jvmti: agent.jvmti,
            setup,
        }
    }

    /// Whether events of this kind are recorded.
    fn records(&self, kind: EventKind) -> bool {
        self.setup.config.trace.events.contains(&kind)
    }

    /// Tells the recording that a class is defined, if it wants to know.
    fn tell_class(&self, class: &ClassFile<'_>) {
        if !self.records(EventKind::Classes) || class.is_loaded() {
            return;
        }
        if let (Some(events), Some(name)) = (self.events.get(), class.name) {
            let thread = class.jvmti.current_java_thread_id(class.jni).unwrap_or(0);
            events.add(JvmEvent::ClassDefined(name.to_vec(), thread));
        }
    }

    fn start_recording(&self, jni: &Jni<'_>, rings: &'static Rings, runtime: &RuntimeClasses) -> Result<(), String> {
        let clock = NanoClock::calibrate(jni).map_err(|error| error.to_string())?;
        let path = trace_file::path(self.setup.config.trace.file.as_deref());
        let recording = trace_file::create(&path, self.jvmti, clock, &self.setup.config);
        let trace_file = recording.is_some().then(|| path.clone());
        let sink = TraceSink::new(recording, path, self.probes);
        let events = Arc::clone(self.events.get_or_init(|| Arc::new(JvmEventQueue::new(clock))));
        let drainer = Drainer::start(rings, clock, events, sink)
            .map_err(|error| format!("no thread for the recorder: {error}"))?;
        let (clock, drainer, tick) = (Some(clock), Some(drainer), Some(runtime.tick));
        *self.running.lock() = Running { clock, drainer, ticker: None, tick, trace_file };
        Ok(())
    }

    /// Some class got a probe of level watch: there must be a tick.
    pub(crate) fn need_ticker(&self) {
        let mut running = self.running.lock();
        if running.ticker.is_some() {
            return;
        }
        if let (Some(clock), Some(tick)) = (running.clock, running.tick) {
            match Ticker::start(self.vm, clock, tick) {
                Ok(ticker) => running.ticker = Some(ticker),
                Err(error) => tracing::error!(%error, "no thread for the ticker; level watch records nothing"),
            }
        }
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
        let running = std::mem::take(&mut *self.running.lock());
        if let Some(ticker) = running.ticker {
            ticker.stop();
        }
        let records = running.drainer.map(Drainer::stop).unwrap_or_default();
        self.write_statistics(records, running.trace_file.as_deref().map(|path| path.to_string_lossy()).as_deref());
    }

    fn write_statistics(&self, records: RecordCounts, trace_file: Option<&str>) {
        let agent = &self.setup.config.agent;
        let end = End { records, trace_file, discard: agent.discard, warnings: &self.setup.warnings };
        let Some(path) = agent.stats.as_deref().map(trace_file::with_process_id) else { return };
        if let Err(error) = self.statistics.write(path.as_ref(), &end) {
            message::say(&format!("cannot write the statistics file {path}: {error}"));
        }
    }
}
