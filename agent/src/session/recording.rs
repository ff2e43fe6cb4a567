//! The recording of a session: its begin, its end, and the threads that work for it. It may end before the session does.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use control::{Changed, Sending, Stopped, WantedLevel};
use instrument_core::level::Level;
use instrument_core::rules::patterns::ThreadNames;
use instrument_core::selection::Figures;
use metrics::{Host, Metrics};
use rustc_hash::FxHashSet;
use settings::TraceMode;
use trace::{PAUSED, RECORDING};

use super::{Session, SessionWatcher};
use crate::call_sites;
use crate::classes::unloaded_classes::KeptAboutClasses;
use crate::contexts;
use crate::control::{self as control_service, ControlSocket, Controlled};
use crate::desired::live_selection::LiveSelection;
use crate::desired::withdrawn_probes::{ChangeKind, Changes, WithdrawnProbes};
use crate::files::trace_file::{self, Created};
use crate::health::{HealthWatch, Reactions};
use crate::jvm::{self, Event, Jni, NAME_GATE, NanoClock, block_signals, process_cpu_time};
use crate::jvm_figures::JvmFigures;
use crate::log::message;
use crate::probes::live_control::{Governing, LevelChange, LevelsSet, REMOVED};
use crate::probes::probe_switch::PausedBy;
use crate::probes::runtime_classes::RuntimeClasses;
use crate::reconcile::Change;
use crate::recorder::{CallsMade, Drainer, RecordCounts, RecordSinks, Rings, ThreadSelection, TraceParts, TraceSink};
use crate::sampler::{AllocationSampler, SampleCounts, Sampler, Surroundings};
use crate::statistics::{End, Statistics};

/// How a recording has ended, perhaps while the session continues.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) reason: String,
    pub(super) records: RecordCounts,
    pub(super) samples: Option<SampleCounts>,
}

/// The threads of a session.
#[derive(Debug, Default)]
pub(super) struct Running {
    pub(super) clock: Option<NanoClock>,
    pub(super) drainer: Option<Drainer>,
    pub(super) metrics: Option<Metrics>,
    pub(super) sampler: Option<Sampler>,
    pub(super) control: Option<ControlSocket>,
    pub(super) health: Option<HealthWatch>,
    /// The thread that ends the recording because the file is full.
    pub(super) stopper: Option<JoinHandle<()>>,
    /// The thread that ends claims.
    pub(super) claims: Option<JoinHandle<()>>,
    /// Methods that hand tasks over are to be restored when the tasks have ended that run.
    pub(super) restores_handover: bool,
    /// Java remembers what is prepared, for conditions.
    pub(super) remembers_statements: bool,
    /// The thread that takes probes away.
    pub(super) governor: Option<JoinHandle<()>>,
    /// The thread that inserts probes into delegates in loaded classes.
    pub(super) delegates: Option<JoinHandle<()>>,
    /// The threads of diagnoses, and of the monitor that begins some.
    analyses: Vec<JoinHandle<()>>,
    pub(super) runtime: Option<RuntimeClasses>,
    /// The trace file, if it could be created.
    pub(super) trace_file: Option<PathBuf>,
    /// Why it could not: a sentence whose subject is the file.
    pub(super) no_trace_file: Option<String>,
}

impl Running {
    /// The recording does not end before this thread has.
    pub(super) fn await_at_the_end(&mut self, analysis: JoinHandle<()>) {
        self.analyses.retain(|thread| !thread.is_finished());
        self.analyses.push(analysis);
    }
}

impl Session {
    pub(super) fn start_recording(
        self: &Arc<Self>,
        jni: &Jni<'_>,
        rings: &'static Rings,
        runtime: &RuntimeClasses,
    ) -> Result<NanoClock, String> {
        let clock = NanoClock::calibrate(jni).map_err(|error| error.to_string())?;
        let path = trace_file::path(&self.instrumentation.config.trace, &self.file_names);
        let Created { mut recording, path, trouble: no_trace_file } =
            trace_file::create(path, self.jvmti, clock, &self.instrumentation.config);
        if let Some(recording) = &mut recording {
            let session = Arc::downgrade(self);
            recording.take_modules_from(Box::new(move |class| {
                session.upgrade()?.instrumentation.generation().types.jdk_module(class)
            }));
            if let Some(prices) = *self.prices.lock() {
                prices.write(recording, clock.now() as u64);
            }
            recording.phase(clock.now() as u64, "initialisation", "the agent starts");
        }
        let has_file = recording.is_some() && self.instrumentation.config.trace.mode == TraceMode::Stream;
        let trace_file = has_file.then(|| path.clone());
        let config = &self.instrumentation.config.metrics;
        let host: Arc<dyn Host> = Arc::new(JvmFigures {
            vm: self.vm,
            clock,
            probes: self.instrumentation.probes,
            health: Arc::clone(&self.health),
            stalled_after: config.stalled_after,
        });
        let name = trace_file::program_name(self.jvmti);
        let metrics = Metrics::start(config, &host, &name, self.instrumentation.live.times(), &self.lengths);
        let threads = ThreadSelection::new(ThreadNames::of(&self.instrumentation.config.trace.threads));
        let parts = TraceParts {
            recording,
            path,
            probes: self.instrumentation.probes,
            samples: Arc::clone(&self.samples),
            allocations: Arc::clone(&self.allocated),
            rates: self.rates.clone(),
            dumps: Arc::clone(&self.dumps),
            lengths: Arc::clone(&self.lengths),
            config: &self.instrumentation.config.trace,
        };
        let metrics_sink = metrics.as_ref().map(Metrics::sink);
        let sink = RecordSinks::new(
            TraceSink::new(parts),
            metrics_sink,
            threads,
            self.tree.clone(),
            (Arc::clone(&self.instrumentation.inner_calls), Arc::clone(&self.walks.calls)),
        );
        // Stored before anything can fail: undoing the start ends what is there.
        let mut running = self.running.lock();
        *running = Running {
            clock: Some(clock),
            metrics,
            runtime: Some(*runtime),
            trace_file,
            no_trace_file,
            ..Running::default()
        };
        let watcher = SessionWatcher::new(self);
        let drainer = Drainer::start(rings, clock, self.instrumentation.events.queue(clock), sink, watcher);
        running.drainer = Some(drainer.map_err(|error| format!("no thread for the recorder: {error}"))?);
        Ok(clock)
    }

    /// Takes samples if the configuration asks for them.
    pub(super) fn start_sampler(&self, jni: &Jni<'_>) {
        let Some(config) = &self.instrumentation.config.sampler else { return };
        let Some(clock) = self.running.lock().clock else { return };
        let (vm, jvmti, java_version) = (self.vm, self.jvmti, self.instrumentation.java_version);
        let surroundings = Surroundings { vm, jvmti, clock, java_version };
        let listen = || self.instrumentation.late.keep_listening(jvmti);
        match Sampler::start(surroundings, jni, config, Arc::clone(&self.samples), listen) {
            Ok(sampler) => {
                sampler.doubt().into_iter().for_each(message::say);
                self.running.lock().sampler = Some(sampler);
            }
            Err(problem) => message::say(&format!("no samples: {problem}")),
        }
    }

    /// Takes samples of allocations if the configuration asks for them.
    pub(super) fn start_allocation_samples(&self) {
        let Some(config) = &self.instrumentation.config.allocation else { return };
        let Some(clock) = self.running.lock().clock else { return };
        let listen = |sampler| *self.allocations.write() = Some(sampler);
        if let Err(problem) = AllocationSampler::start(self.jvmti, clock, config, Arc::clone(&self.allocated), listen) {
            message::say(&format!("no samples of allocations: {problem}"));
        }
    }

    /// Looks at the heap if that may stop the probes, or if somebody wants figures of it.
    pub(super) fn start_health(self: &Arc<Self>, jni: &Jni<'_>) {
        let limits = self.instrumentation.generation().setup.breaker();
        if limits.is_some() || self.instrumentation.config.metrics.is_wanted() {
            let heap = jvm::heap_size(jni).map_or(u64::MAX, |heap| heap.limit);
            let watch =
                HealthWatch::start(HealthReactions(Arc::downgrade(self)), Arc::clone(&self.health), limits, heap);
            self.running.lock().health = watch;
        }
    }

    pub(super) fn start_control(self: &Arc<Self>) {
        if self.instrumentation.config.control.socket {
            let controlled: Weak<dyn Controlled> = Arc::<Session>::downgrade(self);
            match control_service::open(controlled) {
                Ok(socket) => self.running.lock().control = Some(socket),
                Err(error) => tracing::info!(%error, "`instr status` and `instr level` cannot reach this process"),
            }
        }
    }

    /// The trace file, while there is one.
    pub(super) fn trace_file(&self) -> Option<PathBuf> {
        self.running.lock().trace_file.clone()
    }

    /// Why there is no trace file although there should be one: a sentence whose subject is the file.
    pub(super) fn no_trace_file(&self) -> Option<String> {
        self.running.lock().no_trace_file.clone()
    }

    /// Returns the state of sending to an OpenTelemetry receiver, while there is one.
    pub(super) fn sending(&self) -> Option<Sending> {
        self.running.lock().metrics.as_ref().and_then(Metrics::sending)
    }

    /// Why the recording has ended, if it has.
    pub(super) fn status_ended(&self) -> Option<String> {
        // The lock is held while the recording is completed. A status must not wait for that.
        self.ended.try_read().map_or_else(
            || Some("it is being completed".to_owned()),
            |ended| ended.as_ref().map(|ended| ended.reason.clone()),
        )
    }

    /// Ends the recording while the application keeps running: the probes do nothing any more, the file is complete.
    pub(super) fn stop_recording(&self, reason: &str) -> Result<Stopped, String> {
        let stopped = self.vm.with_attached_daemon(c"instr-stop", |jni| {
            // Held until all is written: another request waits, and is then refused with the reason.
            let mut ended = self.ended.write();
            if let Some(ended) = &*ended {
                return Err(format!("the recording has ended already: {}", ended.reason));
            }
            self.silence(jni);
            let now = self.end_threads(reason);
            let (records, lost) = (now.records.records, now.records.lost);
            *ended = Some(now);
            let trace_file = self.running.lock().trace_file.clone();
            let trace_file_bytes =
                trace_file.as_ref().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
            Ok(Stopped { reason: reason.to_owned(), trace_file, trace_file_bytes, records, lost })
        });
        stopped.unwrap_or_else(|| Err("the JVM takes no more threads".to_owned()))
    }

    /// Called by the drainer, which cannot wait for its own end.
    pub(super) fn stop_because_full(self: &Arc<Self>) {
        let mut running = self.running.lock();
        if running.stopper.is_some() || running.drainer.is_none() || self.instrumentation.is_leaving() {
            return;
        }
        let session = Arc::clone(self);
        let stop = move || {
            block_signals();
            if let Err(reason) = session.stop_recording("the trace file is full") {
                tracing::info!(reason, "the recording is not ended because the file is full");
            }
        };
        match std::thread::Builder::new().name("instr-stop".to_owned()).spawn(stop) {
            Ok(thread) => running.stopper = Some(thread),
            Err(error) => tracing::error!(%error, "no thread for ending the recording: calls are counted as lost"),
        }
    }

    /// Removes probes that cost too much, and inserts others again. Called by the drainer, to which the JVM is unknown.
    pub(super) fn withdraw_probes(self: &Arc<Self>) {
        let Some(withdrawn) = self.instrumentation.withdrawn.as_ref().filter(|_| !self.instrumentation.is_leaving())
        else {
            return;
        };
        let Some(decisions) = withdrawn.decide(process_cpu_time()) else { return };
        let session = Arc::clone(self);
        let change = move || {
            block_signals();
            let Some(withdrawn) = &session.instrumentation.withdrawn else { return };
            let guard = withdrawn.one_change_at_a_time();
            let changes = withdrawn.note(&decisions);
            let refused = session.change_classes(Change::Remove(changes.classes()));
            session.report_changes(&withdrawn.settle(changes, &refused));
            drop(guard);
            withdrawn.carried_out();
        };
        match std::thread::Builder::new().name("instr-governor".to_owned()).spawn(change) {
            Ok(thread) => self.running.lock().governor = Some(thread),
            Err(error) => {
                tracing::error!(%error, "probes that cost too much stay: there is no thread for removing them");
                withdrawn.carried_out();
            }
        }
    }

    /// Has loaded classes changed whose methods turned out to be delegates of others. Called by the drainer, which cannot wait for that.
    pub(super) fn change_marked_classes(self: &Arc<Self>) {
        if self.instrumentation.is_leaving() {
            return;
        }
        let mut running = self.running.lock();
        if running.delegates.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let generation = self.instrumentation.generation();
        let names = generation.delegates.take_unseen();
        if names.is_empty() {
            return;
        }
        let session = Arc::clone(self);
        let change = move || {
            block_signals();
            let _one_at_a_time = session.reloading.lock();
            // Other rules have marks of their own.
            if Arc::ptr_eq(&generation.delegates, &session.instrumentation.generation().delegates) {
                session.change_classes(Change::Insert(names));
            }
        };
        match std::thread::Builder::new().name("instr-delegates".to_owned()).spawn(change) {
            Ok(thread) => running.delegates = Some(thread),
            Err(error) => {
                tracing::error!(%error, "delegates in loaded classes get no probes: there is no thread for inserting them");
            }
        }
    }

    /// Changes loaded classes, and returns the names of those that stay as they are.
    pub(super) fn change_classes(&self, change: Change) -> FxHashSet<Arc<[u8]>> {
        let all = change.names();
        let outcome = self.reconciler.carry_out(&self.instrumentation, change);
        outcome.map_or(all, |outcome| outcome.refused)
    }

    pub(super) fn report_changes(&self, changes: &Changes) {
        for line in &changes.unchanged {
            tracing::warn!("{line}");
            self.instrumentation.live.note(line);
            self.instrumentation.events.note("governor", line);
        }
        for change in &changes.of_probes {
            let (line, probe) = (change.line(), change.probe);
            tracing::info!("{line}");
            self.instrumentation.live.note(&line);
            self.instrumentation.events.note("governor", &line);
            let level = self.instrumentation.live.recorded_level(probe);
            match change.kind {
                ChangeKind::Removed(_) => {
                    self.instrumentation.live.forget(&[probe]);
                    self.instrumentation.live.note_removal(probe, true);
                    self.instrumentation.events.claim(Some(probe), ("governor", "called too often"), [level, REMOVED]);
                }
                ChangeKind::Restored(owner) => {
                    self.instrumentation.live.note_removal(probe, false);
                    self.instrumentation.events.claim(
                        Some(probe),
                        (owner, "the probe is inserted again"),
                        [REMOVED, level],
                    );
                }
            }
        }
    }

    /// A person sets the level of live probes; methods that have lost theirs get it back, unless the level is off.
    pub(super) fn set_levels(&self, selection: &LiveSelection, wanted: WantedLevel) -> Changed {
        // A method without a probe cannot be handed back to a level; the governor decides when it gets its probe again.
        let removed = || self.instrumentation.withdrawn.as_ref().map(WithdrawnProbes::numbers).unwrap_or_default();
        let without = if wanted == WantedLevel::Auto { removed() } else { FxHashSet::default() };
        let LevelsSet { answer, changes, probes } =
            self.instrumentation.live.set(selection, wanted, &self.instrumentation.generation().setup, &without);
        self.record_changes(&changes);
        let Some(withdrawn) = self.instrumentation.withdrawn.as_ref().filter(|_| !self.instrumentation.is_leaving())
        else {
            return answer;
        };
        let WantedLevel::Exact(level) = wanted else {
            withdrawn.govern_again(&self.instrumentation.live.removable_among(&probes));
            return answer;
        };
        let _guard = withdrawn.one_change_at_a_time();
        let changes = withdrawn.give_back(&probes, level != Level::Off);
        let classes = changes.classes();
        if !classes.is_empty() {
            let refused = self.change_classes(Change::Insert(classes));
            self.report_changes(&withdrawn.settle(changes, &refused));
            // Their level was set, but their classes were not retransformed.
            let still_removed = withdrawn.numbers();
            for probe in probes.iter().filter(|probe| still_removed.contains(probe)) {
                self.instrumentation.live.note_removal(*probe, true);
                self.instrumentation.events.claim(
                    Some(*probe),
                    ("governor", "the JVM cannot insert the probe again"),
                    [level.name(), REMOVED],
                );
            }
        }
        answer
    }

    /// Has the governor of levels look. Called by the drainer.
    pub(super) fn govern(&self, made: CallsMade) {
        let Governing { changes, warning } = self.instrumentation.live.govern(made, process_cpu_time());
        self.record_changes(&changes);
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
            self.instrumentation.events.note("governor", &warning);
        }
    }

    /// Switches all probes on or off, as far as nobody else wants them off. Returns whether that was a change.
    pub(super) fn switch_probes(&self, by: PausedBy, on: bool) -> bool {
        let was_on = self.instrumentation.switch.paused_by().is_empty();
        let changed = if on { self.instrumentation.switch.resume(by) } else { self.instrumentation.switch.pause(by) };
        let is_on = self.instrumentation.switch.paused_by().is_empty();
        if was_on != is_on {
            self.instrumentation.live.times().switch(is_on);
            let owner = match by {
                PausedBy::Request => ("user", "instr pause and resume"),
                PausedBy::Breaker => ("breaker", "the JVM is short of heap, or was"),
            };
            let levels = if is_on { [PAUSED, RECORDING] } else { [RECORDING, PAUSED] };
            self.instrumentation.events.claim(None, owner, levels);
        }
        changed
    }

    pub(super) fn record_changes(&self, changes: &[LevelChange]) {
        changes.iter().for_each(|change| self.instrumentation.record_change(change));
    }

    /// Switches off whatever would be recorded.
    fn silence(&self, jni: &Jni<'_>) {
        self.instrumentation.switch.close();
        let runtime = self.running.lock().runtime;
        if let Some(runtime) = runtime {
            runtime.stop(jni);
        }
        self.instrumentation.leave();
        self.instrumentation.claims.clear();
        self.remember_statements();
        contexts::of_process().close_all();
        call_sites::of_process().end_all();
        self.instrumentation.live.clear_level_claims();
        self.instrumentation.events.listen(self.jvmti, false);
        // A class with wrappers must keep them whenever it is retransformed, so the hook stays on for those.
        if self.instrumentation.wrapped.is_empty()
            && let Err(error) = self.jvmti.set_event(Event::ClassFileLoad, false)
        {
            tracing::error!(%error, "the class hook cannot be switched off");
        }
    }

    /// Stops the threads of the recording, completes the trace file.
    fn end_threads(&self, reason: &str) -> Ended {
        // It ends soon, as the session is leaving.
        drop(self.looking_for_hot_spots.lock());
        if self.allocations.read().is_some() {
            AllocationSampler::stop(self.jvmti);
        }
        // Before the drainer, which writes their results.
        self.await_end_of_walk();
        let analyses = std::mem::take(&mut self.running.lock().analyses);
        join(analyses);
        let (health, sampler, drainer, metrics) = {
            let mut running = self.running.lock();
            (running.health.take(), running.sampler.take(), running.drainer.take(), running.metrics.take())
        };
        if let Some(health) = health {
            health.stop();
        }
        self.instrumentation.switch.end(&self.instrumentation.events);
        // Those that were loaded while it was made.
        self.instrumentation.events.native_libraries();
        let samples = sampler.map(Sampler::stop);
        let records = drainer.map(|drainer| drainer.stop(reason)).unwrap_or_default();
        // After the drainer, which starts them.
        let threads = {
            let mut running = self.running.lock();
            let others = [running.governor.take(), running.claims.take(), running.delegates.take()];
            others.into_iter().flatten().chain(running.analyses.drain(..)).collect::<Vec<_>>()
        };
        join(threads);
        // After the drainer: what it found last is published, too.
        if let Some(metrics) = metrics {
            metrics.stop();
        }
        Ended { reason: reason.to_owned(), records, samples }
    }

    /// The session ends: completes the trace file unless that was done before, writes the statistics.
    pub(super) fn end(&self, reason: &str) {
        let turned_away = NAME_GATE.reopen();
        Statistics::add(&self.instrumentation.statistics.classes_seen, usize::try_from(turned_away).unwrap_or(0));
        self.instrumentation.leave();
        let (control, stopper) = {
            let mut running = self.running.lock();
            (running.control.take(), running.stopper.take())
        };
        drop(control);
        if stopper.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("ending the recording failed");
        }
        let mut ended = self.ended.write();
        let ended = ended.get_or_insert_with(|| self.end_threads(reason));
        self.reconciler.come_to_rest();
        let trace_file = self.running.lock().trace_file.take();
        let trace_file = trace_file.as_deref().map(|path| path.to_string_lossy());
        self.write_statistics(ended, trace_file.as_deref());
    }

    fn write_statistics(&self, ended: &Ended, trace_file: Option<&str>) {
        let agent = &self.instrumentation.config.agent;
        let generation = self.instrumentation.generation();
        let rules = generation.rules();
        generation.doubts.tell(rules.rules(), true);
        let warnings = [
            generation.setup.warnings.clone(),
            generation.doubts.lines(rules.rules()),
            generation.reach.lines(rules, Figures::Omitted, &|_| None),
        ]
        .concat();
        let samples = ended.samples.as_ref();
        let end = End {
            analysis: self.instrumentation.facts.counts(),
            records: ended.records,
            samples,
            trace_file,
            wrapped_classes: self.instrumentation.wrapped.count(),
            kept: Some(KeptAboutClasses::count(
                self.instrumentation.probes,
                &generation.types,
                &self.instrumentation.rewritten,
            )),
            discard: agent.discard,
            warnings: &warnings,
        };
        let Some(path) = agent.stats.as_ref().map(|pattern| self.file_names.path(pattern)) else { return };
        match self.instrumentation.statistics.write(&path, &end) {
            Ok(None) => {}
            Ok(Some(earlier)) => {
                message::say(&format!("{} was there already, it is kept as {}", path.display(), earlier.display()));
            }
            Err(error) => message::say(&format!("cannot write the statistics file {}: {error}", path.display())),
        }
    }
}

/// Waits for threads that insert or remove probes.
fn join(threads: Vec<JoinHandle<()>>) {
    if threads.into_iter().filter_map(|thread| thread.join().err()).count() > 0 {
        tracing::error!("inserting or removing probes failed");
    }
}

/// What a session does when the health of the JVM changes.
#[derive(Debug)]
struct HealthReactions(Weak<Session>);

impl Reactions for HealthReactions {
    fn switch_probes(&self, on: bool) {
        if let Some(session) = self.0.upgrade() {
            session.switch_probes(PausedBy::Breaker, on);
        }
    }

    fn note(&self, kind: &'static str, text: &str) {
        if let Some(session) = self.0.upgrade() {
            session.instrumentation.live.note(text);
            session.instrumentation.events.note(kind, text);
        }
    }
}
