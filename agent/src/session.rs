//! The agent of this process and its present session: the time between start (or attach) and end (or detach).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use instrument_core::level::Level;
use parking_lot::{Mutex, RwLock};
use records::{EndedCalls, LoaderId, SharedLengths, probe_registry};
use rustc_hash::FxHashSet;
use settings::{JvmEvents as EventKind, ProbeClock, WhenFull};

use crate::call_sites;
use crate::classes::large_files::LARGE_FILES;
use crate::classes::safe_retransforms::SAFE_RETRANSFORMS;
use crate::classes::unloaded_classes;
use crate::classes::wrapped_classes::WrappedClasses;
use crate::config::setup::Setup;
use crate::contexts;
use crate::desired::probe_prices::ProbePrices;
use crate::files::file_names::FileNames;
use crate::health::Health;
use crate::jvm::counter::CounterWatch;
use crate::jvm::{
    self, ClassFile, CodePlace, Event, JavaVm, Jni, JvmEvents, Jvmti, LoadedClass, MethodId, NAME_GATE, ObjectRef,
    process_cpu_time,
};
use crate::jvm_figures::FullCalls;
use crate::probes::runtime_classes::RuntimeClasses;
use crate::reconcile::{self, Change, Outcome, Reconciler};
use crate::recorder::{self, CallRates, DumpDesk, LiveTree, RecordCounts, Rings, Watcher};
use crate::sampler::{self, AllocationSampler, SampleQueue};
use crate::statistics::Statistics;
use crate::transform::instrumentation::{Beginning, Instrumentation};
use crate::transform::late_restores::{self, LATE_RESTORES};
use crate::{log::message, transform};

mod answers;
mod callees;
mod claim_list;
mod claims;
mod conditions;
mod configured_contexts;
mod diagnosis;
mod ends_of_claims;
mod handover;
mod hot_spots;
mod initial_state;
mod loaded_inventory;
mod monitor;
mod pinned_claims;
mod probed_methods;
mod recording;
mod reload;
mod walk;

use diagnosis::Diagnoses;
use monitor::Monitor;
use recording::{Ended, Running};
use walk::Walks;

/// The agent: connected to the JVM for good.
#[derive(Debug)]
pub(crate) struct Agent {
    vm: JavaVm,
    pub(crate) jvmti: Jvmti,
    runtime: OnceLock<RuntimeClasses>,
    rings: OnceLock<&'static Rings>,
    session: RwLock<Option<Arc<Session>>>,
    /// Changes loaded classes.
    reconciler: Arc<Reconciler>,
}

static WRAPPED: OnceLock<WrappedClasses> = OnceLock::new();

/// What lives from start to end.
#[derive(Debug)]
pub(crate) struct Session {
    /// What is inserted into classes.
    pub(crate) instrumentation: Arc<Instrumentation>,
    /// Changes loaded classes.
    pub(crate) reconciler: Arc<Reconciler>,
    /// What one call costs, measured before there are probes whose price matters.
    pub(crate) prices: Mutex<Option<ProbePrices>>,
    /// Which kinds of probes the session is ready for.
    ready_for: Mutex<Kinds>,
    /// One reload at a time.
    reloading: Mutex<()>,
    /// One list of loaded classes at a time.
    inspecting: Mutex<()>,
    /// Calls up to now, if somebody may ask.
    pub(crate) rates: Option<Arc<Mutex<CallRates>>>,
    /// Which lengths of calls at level watch count.
    pub(crate) lengths: SharedLengths,
    /// The call tree up to now, if somebody may ask.
    pub(crate) tree: Option<Arc<Mutex<LiveTree>>>,
    /// The walk that is under way, or the last one.
    walks: Walks,
    /// What the drainer has seen up to now.
    pub(crate) records: Mutex<RecordCounts>,
    /// Names of the files it writes.
    pub(crate) file_names: FileNames,
    running: Mutex<Running>,
    /// What has been diagnosed, and is being.
    diagnoses: Diagnoses,
    /// Which methods have slow calls.
    monitor: Monitor,
    /// How the JVM is.
    pub(crate) health: Arc<Mutex<Health>>,
    /// Where dumps of a recording in memory are asked for.
    pub(crate) dumps: Arc<DumpDesk>,
    samples: Arc<SampleQueue>,
    allocated: Arc<SampleQueue>,
    allocations: RwLock<Option<AllocationSampler>>,
    /// Held while somebody looks: one at a time.
    looking_for_hot_spots: Mutex<()>,
    /// Set when all that the configuration asks for has been started.
    has_started: AtomicBool,
    /// Set if samples of running threads have been taken since the JVM started.
    sampled_from_the_start: AtomicBool,
    ended: RwLock<Option<Ended>>,
    vm: JavaVm,
    jvmti: Jvmti,
}

impl Agent {
    /// An agent without a session.
    pub(crate) fn new(vm: JavaVm, jvmti: Jvmti) -> Agent {
        Agent {
            vm,
            jvmti,
            runtime: OnceLock::new(),
            rings: OnceLock::new(),
            session: RwLock::new(None),
            reconciler: Arc::new(Reconciler::new(vm, jvmti)),
        }
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
        let started = self.start(jni, &session, false);
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
            session.instrumentation.events.listen(self.jvmti, false);
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

    /// Leaves a running JVM: probes off at once, every body restored, trace and statistics written. The agent stays in memory and can be attached
    /// again with another configuration.
    pub(crate) fn detach(&self, jni: &Jni<'_>) {
        let Some(session) = self.session() else { return };
        let instrumentation = &session.instrumentation;
        self.stop_probes(jni);
        instrumentation.leave();
        // The hook leaves classes as they are by now, but puts names of parameters back that the JVM loses. It is off if the recording was
        // stopped before.
        if let Err(error) = self.jvmti.set_event(Event::ClassFileLoad, true) {
            tracing::error!(%error, "the class hook cannot be switched on, names of parameters may be lost");
        }
        contexts::of_process().close_all();
        call_sites::of_process().end_all();
        session.await_carried_tasks();
        let restored = self.reconciler.carry_out(instrumentation, Change::Restore);
        let is_clean = matches!(restored, Some(Outcome { kept: 0, .. }));
        contexts::of_process().retire_closed(is_clean);
        if is_clean {
            call_sites::of_process().free_ended(None, &FxHashSet::default());
        }
        match restored {
            Some(Outcome { kept: 0, .. }) => {}
            Some(Outcome { kept, .. }) => {
                let classes = trace::report::counted(kept as u64, "class");
                message::say(&format!("probes stay in {classes}, switched off: this JVM cannot restore these safely"));
            }
            None => message::say("the probes stay in place, switched off: the JVM attaches no more threads"),
        }
        // A class with wrappers must keep them whenever it is retransformed, so the hook stays on for those.
        if instrumentation.wrapped.is_empty()
            && let Err(error) = self.jvmti.set_event(Event::ClassFileLoad, false)
        {
            tracing::error!(%error, "the class hook cannot be switched off");
        }
        instrumentation.events.listen(self.jvmti, false);
        self.end_session("the agent was detached");
    }

    /// Switches all probes off.
    pub(crate) fn stop_probes(&self, jni: &Jni<'_>) {
        if let Some(session) = self.session() {
            session.instrumentation.switch.close();
        }
        if let Some(runtime) = self.runtime.get() {
            runtime.stop(jni);
        }
    }

    /// Starts a session in a JVM that is up: runtime classes, recorder, hook, and the classes that were loaded before.
    fn start(&self, jni: &Jni<'_>, session: &Arc<Session>, jvm_starts: bool) -> Result<(), String> {
        let generation = session.instrumentation.generation();
        let setup = &generation.setup;
        let rings = *self
            .rings
            .get_or_init(|| Rings::of_process(session.instrumentation.config.trace.buffer_mb as usize * (1 << 20)));
        let place = session.instrumentation.config.context_state.place;
        if contexts::choose_place(place) != place {
            tracing::warn!("an earlier session has chosen `place` in [contexts], which stays until the JVM ends");
        }
        let runtime = match self.runtime.get() {
            Some(runtime) => *runtime,
            None => {
                let defined = RuntimeClasses::define(self.jvmti, jni, rings, setup.counts_ticks())?;
                *self.runtime.get_or_init(|| defined)
            }
        };
        runtime.start_clock(jni, session.instrumentation.config.trace.clock == ProbeClock::System)?;
        let pinned = session.pinned_claims();
        let has_contexts = !setup.config.contexts.is_empty() || pinned.iter().any(|claim| claim.within.is_some());
        let has_claims = has_contexts || !pinned.is_empty();
        let kinds = if has_claims { Kinds::of(setup).with_claims(setup) } else { Kinds::of(setup) };
        let kinds = kinds.and_contexts(has_contexts);
        // Only while the probes are off is nothing of it recorded, so also for the live probes that a client may ask for later.
        if kinds.live || session.instrumentation.config.control.socket {
            runtime.warm_up(jni)?;
        }
        session.make_ready_for(jni, runtime, kinds)?;
        let clock = session.start_recording(jni, rings, &runtime)?;
        session.instrumentation.switch.begin(jni, runtime, clock, kinds.full_is_counted)?;
        session.start_control();
        session.start_health(jni);
        session.take_up(&pinned);
        session.begin_contexts(setup)?;
        session.close_gate();
        // The hook is never switched on before: that would cost an AOT cache, and with it the start-up time.
        for event in [Event::VmDeath, Event::ThreadEnd, Event::ClassFileLoad] {
            self.jvmti.set_event(event, true).map_err(|error| error.to_string())?;
        }
        // Without it nothing that is kept about classes is ever forgotten.
        if let Err(error) = self.jvmti.set_event(Event::ObjectFree, true) {
            tracing::warn!(%error, "class loaders that are gone are not reported");
        }
        session.instrumentation.events.listen(self.jvmti, true);
        initial_state::record(self.jvmti, jni, &session.instrumentation.events);
        let insert = Change::InsertIntoLoaded { jvm_starts };
        // Without a thread for that the log says so, and classes that are loaded from now on get what is wanted all the same.
        let _ = self.reconciler.carry_out(&session.instrumentation, insert);
        session.start_sampler(jni);
        session.start_allocation_samples();
        let is_sampled = session.running.lock().sampler.is_some();
        session.sampled_from_the_start.store(jvm_starts && is_sampled, Ordering::Release);
        session.has_started.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the new bytes of a class that is loaded or retransformed; `None` leaves it as it is.
    fn rewritten(&self, class: &ClassFile<'_>) -> Option<Vec<u8>> {
        let present = match &*self.session.read() {
            Some(session) if session.instrumentation.is_leaving() => None,
            // Most classes end here, before the session is shared once more.
            Some(session)
                if transform::ends_at_its_name(&session.instrumentation, class)
                    && !session.instrumentation.events.has(EventKind::Classes) =>
            {
                return None;
            }
            session => session.clone(),
        };
        match present {
            Some(session) => {
                session.instrumentation.events.class_file(class);
                transform::class_file(&session.instrumentation, class)
            }
            None => WRAPPED.get()?.without_templates(class),
        }
    }
}

impl JvmEvents for Agent {
    fn vm_init(&self, _jvmti: Jvmti, jni: &Jni<'_>) {
        let Some(session) = self.session() else { return };
        if let Err(reason) = self.start(jni, &session, true) {
            message::say(&format!("{reason}; the application goes on without this agent"));
            self.abandon(jni);
        }
    }

    fn vm_death(&self, jvmti: Jvmti, jni: &Jni<'_>) {
        self.reconciler.jvm_ends();
        if !self.is_active() {
            return;
        }
        self.stop_probes(jni);
        for event in [Event::ClassFileLoad, Event::ClassPrepare] {
            let _ = jvmti.set_event(event, false);
        }
        if let Some(session) = self.session() {
            session.instrumentation.events.listen(jvmti, false);
        }
        self.end_session("the JVM ends");
    }

    fn class_file(&self, class: &ClassFile<'_>) -> Option<Vec<u8>> {
        LARGE_FILES.note(class);
        let Some(bytes) = SAFE_RETRANSFORMS.put_back(class) else { return self.rewritten(class) };
        self.rewritten(&class.with_bytes(&bytes)).or(Some(bytes))
    }

    fn class_prepared(&self, jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) {
        sampler::class_prepared(jvmti, class);
        reconcile::class_linked(jvmti, jni, class);
        if let Some(session) = self.session() {
            reconcile::class_prepared(&session.instrumentation, jvmti, jni, class);
        } else if !LATE_RESTORES.are_waiting() {
            // Locked: a session that begins may need the event.
            let session = self.session.read();
            if session.is_none() {
                late_restores::stop_listening(jvmti);
            }
        }
    }

    fn thread_started(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>) {
        if let Some(runtime) = self.runtime.get().filter(|_| contexts::of_process().reach_across_threads()) {
            runtime.thread_begins(jni);
        }
        let session = self.session().filter(|session| session.instrumentation.events.has(EventKind::Threads));
        if session.is_none() && !sampler::wants_threads() {
            return;
        }
        let facts = jvm::thread_facts(jvmti, jni, thread);
        sampler::thread_started(jni, &facts);
        if let Some(session) = session {
            session.instrumentation.events.thread_started(facts);
        }
    }

    fn thread_ended(&self, thread: Option<(&Jni<'_>, ObjectRef<'_>)>) {
        if let (Some(runtime), Some((jni, _)), true) =
            (self.runtime.get(), thread, contexts::of_process().are_carried())
        {
            runtime.thread_ends(jni);
        }
        sampler::thread_ended();
        if let Some(rings) = self.rings.get() {
            rings.thread_ended();
        }
        if let (Some(session), Some((jni, thread))) = (self.session(), thread) {
            session.instrumentation.events.thread_ended(jni, thread);
        }
    }

    fn garbage_collection(&self, starts: bool) {
        // Not by way of the session: a thread that is stopped now may hold its lock.
        recorder::note_pause(starts);
    }

    fn method_compiled(&self, jvmti: Jvmti, method: MethodId, place: CodePlace) {
        let is_for_samples = sampler::code_map::method_compiled(method, place);
        if let Some(session) = self.session().filter(|_| !is_for_samples) {
            self.vm
                .with_current_thread(|jni| session.instrumentation.events.method_compiled(jvmti, jni, method, place));
        }
    }

    fn compiled_code_unloaded(&self, address: u64) {
        sampler::code_map::code_unloaded(address);
        if let Some(session) = self.session() {
            session.instrumentation.events.compiled_code_unloaded(address);
        }
    }

    fn code_generated(&self, name: &[u8], place: CodePlace) {
        let is_for_samples = sampler::code_map::code_generated(name, place);
        if let Some(session) = self.session().filter(|_| !is_for_samples) {
            session.instrumentation.events.code_generated(name, place);
        }
    }

    fn object_allocated(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>, class: LoadedClass<'_>, size: u64) {
        let session = self.session();
        if let Some(session) = session
            && let Some(sampler) = &*session.allocations.read()
        {
            sampler.take(jvmti, jni, thread, class, size);
        }
    }

    fn loader_freed(&self, loader: LoaderId) {
        // As above.
        recorder::note_freed_loader(loader);
        unloaded_classes::note_freed(loader);
        LATE_RESTORES.loader_freed(loader);
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
            session.instrumentation.events.note("clock", &doubt);
        }
        if counts.is_full() && session.instrumentation.config.trace.when_full == WhenFull::Stop {
            session.stop_because_full();
        }
        if session.instrumentation.live.is_due()
            && let Some(rates) = &session.rates
        {
            let made = rates.lock().made();
            session.govern(made);
        }
        session.monitor_calls();
        session.walk_in_background();
        session.end_reached_claims();
        session.restore_handover_later();
        session.withdraw_probes();
        session.change_marked_classes();
        let generation = session.instrumentation.generation();
        generation.doubts.tell(generation.rules().rules(), false);
    }
}

impl Session {
    fn new(agent: &Agent, setup: Setup) -> Session {
        let file_names = FileNames::of_now();
        let lengths = SharedLengths::default();
        let (control, budget) = (&setup.config.control, setup.budget());
        let is_counted = control.socket || budget.is_some() || monitor::is_wanted(&setup.config);
        let rates = is_counted.then(|| Arc::new(Mutex::new(CallRates::new(Arc::clone(&lengths)))));
        let ended_calls = || EndedCalls::new(probe_registry::of_process(), Arc::clone(&lengths));
        let tree = control.call_tree.then(|| Arc::new(Mutex::new(LiveTree::new(ended_calls()))));
        let beginning = Beginning { vm: agent.vm, jvmti: agent.jvmti };
        let wrapped = WRAPPED.get_or_init(WrappedClasses::default);
        Session {
            instrumentation: Arc::new(Instrumentation::new(&beginning, setup, wrapped, &file_names, &lengths)),
            reconciler: Arc::clone(&agent.reconciler),
            prices: Mutex::default(),
            ready_for: Mutex::default(),
            reloading: Mutex::default(),
            inspecting: Mutex::default(),
            rates,
            lengths,
            tree,
            walks: Walks::default(),
            records: Mutex::new(RecordCounts::default()),
            file_names,
            running: Mutex::new(Running::default()),
            diagnoses: Diagnoses::default(),
            monitor: Monitor::default(),
            health: Arc::default(),
            dumps: Arc::default(),
            samples: Arc::default(),
            allocated: Arc::default(),
            allocations: RwLock::default(),
            looking_for_hot_spots: Mutex::default(),
            has_started: AtomicBool::new(false),
            sampled_from_the_start: AtomicBool::new(false),
            ended: RwLock::new(None),
            vm: agent.vm,
            jvmti: agent.jvmti,
        }
    }

    /// Has all classes pass the gate of names.
    fn open_gate(&self) {
        let turned_away = NAME_GATE.reopen();
        Statistics::add(&self.instrumentation.statistics.classes_seen, usize::try_from(turned_away).unwrap_or(0));
    }

    /// Has the gate of names reject classes that no rule wants, if the rules select by names and nothing else needs the events of classes.
    fn close_gate(&self) {
        let generation = self.instrumentation.generation();
        let rules = generation.rules();
        let by_name = generation.claimed.is_empty()
            && !call_sites::of_process().are_wanted()
            && !rules.needs_hierarchy()
            && !self.instrumentation.events.has(EventKind::Classes);
        NAME_GATE.let_in(if by_name { rules.beginnings() } else { None });
    }

    /// Does what probes of these kinds need before the first class has one. The clock must be ready.
    fn make_ready_for(&self, jni: &Jni<'_>, runtime: RuntimeClasses, kinds: Kinds) -> Result<(), String> {
        let mut ready_for = self.ready_for.lock();
        let full_is_new = kinds.full_is_counted && !ready_for.full_is_counted;
        if kinds.read_clock && (!ready_for.read_clock || full_is_new) {
            let cpu_times = self.instrumentation.config.metrics.cpu_time;
            let prices = ProbePrices::measure(kinds.full_is_counted, cpu_times);
            *self.prices.lock() = Some(prices);
            self.instrumentation.live.start(prices, kinds.budget_percent, process_cpu_time());
        }
        if full_is_new && let Some(calls) = FullCalls::of_process() {
            runtime.start_full(jni, calls, self.instrumentation.config.metrics.cpu_time)?;
        }
        if kinds.contexts && !ready_for.contexts {
            runtime.warm_up_contexts(jni)?;
        }
        *ready_for = ready_for.and(kinds);
        Ok(())
    }
}

/// Kinds of probes that rules may lead to.
#[derive(Debug, Clone, Copy, Default)]
struct Kinds {
    /// Their level can change.
    live: bool,
    /// They read a clock.
    read_clock: bool,
    /// They are at level full, and its figures are wanted.
    full_is_counted: bool,
    /// They record inside contexts only.
    contexts: bool,
    /// The governor's budget for these.
    budget_percent: Option<u32>,
}

impl Kinds {
    fn of(setup: &Setup) -> Kinds {
        let live = setup.has_live_probes();
        Kinds {
            live,
            read_clock: setup.reads_clock(),
            full_is_counted: setup.config.metrics.is_wanted() && (live || setup.uses_level(Level::Full)),
            contexts: false,
            budget_percent: setup.budget(),
        }
    }

    /// The same and those that claims on probes lead to, which are live.
    fn with_claims(self, setup: &Setup) -> Kinds {
        let full_is_counted = self.full_is_counted || setup.config.metrics.is_wanted();
        Kinds { live: true, read_clock: true, full_is_counted, ..self }
    }

    /// The same and those that record inside contexts only, if there are contexts.
    fn and_contexts(self, has_contexts: bool) -> Kinds {
        Kinds { contexts: self.contexts || has_contexts, ..self }
    }

    fn and(self, other: Kinds) -> Kinds {
        Kinds {
            live: self.live || other.live,
            read_clock: self.read_clock || other.read_clock,
            full_is_counted: self.full_is_counted || other.full_is_counted,
            contexts: self.contexts || other.contexts,
            budget_percent: self.budget_percent.or(other.budget_percent),
        }
    }
}
