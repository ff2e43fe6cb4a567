//! What of the JVM a session records besides calls: switched on and off here, and passed on to the recorder.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use settings::{JvmEvents, TraceConfig};

use crate::jvm::{
    self, ClassFile, CodePlace, Event, Jni, Jvmti, MethodId, NanoClock, NativeLibrary, ObjectRef, ThreadFacts, Wish,
};
use crate::recorder::{JvmEvent, JvmEventQueue};

/// The events of the JVM in the recording of one session.
#[derive(Debug)]
pub(crate) struct JvmEventRecording {
    kinds: Vec<JvmEvents>,
    /// Whether the sampler wants to know about threads, whatever is recorded.
    has_sampler: bool,
    queue: OnceLock<Arc<JvmEventQueue>>,
    /// Native libraries that have been reported.
    libraries: Mutex<FxHashSet<NativeLibrary>>,
}

impl JvmEventRecording {
    /// Of the kinds that the configuration asks for; without a trace file there are none.
    pub(crate) fn new(trace: &TraceConfig, has_sampler: bool) -> JvmEventRecording {
        let mut kinds = if trace.write { trace.events.clone() } else { Vec::new() };
        if kinds.contains(&JvmEvents::Methods) {
            kinds.push(JvmEvents::Classes);
        }
        JvmEventRecording { kinds, has_sampler, queue: OnceLock::new(), libraries: Mutex::default() }
    }

    /// Where the events wait for the drainer.
    pub(crate) fn queue(&self, clock: NanoClock) -> Arc<JvmEventQueue> {
        Arc::clone(self.queue.get_or_init(|| Arc::new(JvmEventQueue::new(clock))))
    }

    /// Whether events of this kind are recorded.
    pub(crate) fn has(&self, kind: JvmEvents) -> bool {
        self.kinds.contains(&kind)
    }

    /// Where events of this kind go, if they are recorded.
    pub(crate) fn of(&self, kind: JvmEvents) -> Option<&JvmEventQueue> {
        self.queue.get().map(Arc::as_ref).filter(|_| self.has(kind))
    }

    /// Something happened that users should know; `kind` is a short word to sort by.
    pub(crate) fn note(&self, kind: &'static str, message: &str) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::Note(kind, message.to_owned()));
        }
    }

    /// The level of a probe changes, or of all probes if there is none.
    pub(crate) fn claim(&self, probe: Option<u32>, (owner, reason): (&'static str, &str), levels: [&'static str; 2]) {
        let [from, to] = levels;
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::Claim { probe, owner, reason: reason.to_owned(), from, to });
        }
    }

    /// A diagnosis has ended.
    pub(crate) fn diagnosis(&self, diagnosis: trace::Diagnosis) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::Diagnosis(Box::new(diagnosis)));
        }
    }

    /// A slow call of a method that is diagnosed has ended; it began at `start`, by Java's clock.
    pub(crate) fn slow_call(&self, start: u64, call: trace::SlowCall) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::SlowCall { start, call: Box::new(call) });
        }
    }

    /// A walk has ended.
    pub(crate) fn walk(&self, walk: trace::Walk) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::Walk(Box::new(walk)));
        }
    }

    /// The number of probes of a walk has changed; `most` is the largest one up to now.
    pub(crate) fn hook_gauge(&self, walk: u64, now: usize, most: usize) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::HookGauge { walk, now: now as u64, most: most as u64 });
        }
    }

    /// Loaded classes were retransformed together, up to now.
    pub(crate) fn retransform(&self, done: trace::Retransform) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::Retransform(done));
        }
    }

    /// A fact about how was measured.
    pub(crate) fn setting(&self, key: &'static str, value: String) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::Setting(key, value));
        }
    }

    /// Notes that the whole initial state has been reported.
    pub(crate) fn state_complete(&self) {
        if let Some(queue) = self.queue.get() {
            queue.add(JvmEvent::StateComplete);
        }
    }

    /// Switches on or off the events that only some sessions need: to be recorded, and for the sampler.
    pub(crate) fn listen(&self, jvmti: Jvmti, enabled: bool) {
        let threads = self.needs_threads();
        let pauses = self.has(JvmEvents::Gc);
        let code = self.has(JvmEvents::Jit);
        let events = [
            // Also asked for by `listen_to_threads`.
            (Event::ThreadStart, threads || !enabled),
            (Event::GcStart, pauses),
            (Event::GcFinish, pauses),
            (Event::CompiledMethodLoad, code && (!enabled || jvm::ask_for(jvmti, Wish::CompiledMethods))),
            (Event::CompiledMethodUnload, code),
            (Event::DynamicCodeGenerated, code),
        ];
        for (event, _) in events.into_iter().filter(|(_, wanted)| *wanted) {
            if let Err(error) = jvmti.set_event(event, enabled) {
                tracing::warn!(%error, ?event, "cannot be switched");
            }
        }
    }

    fn needs_threads(&self) -> bool {
        self.has_sampler || self.has(JvmEvents::Threads)
    }

    /// Has the JVM report threads that begin for others than the recording, or only for the recording.
    pub(crate) fn listen_to_threads(&self, jvmti: Jvmti, for_others: bool) {
        if !self.needs_threads()
            && let Err(error) = jvmti.set_event(Event::ThreadStart, for_others)
        {
            tracing::warn!(%error, "threads that begin are not reported");
        }
    }

    /// A class is defined or changed.
    pub(crate) fn class_file(&self, class: &ClassFile<'_>) {
        let queue = self.of(JvmEvents::Classes).filter(|_| !class.is_loaded());
        if let (Some(queue), Some(name)) = (queue, class.name) {
            let thread = jvm::current_java_thread_id(class.jvmti, class.jni).unwrap_or(0);
            let loader = class.jvmti.loader_id(class.loader);
            queue.add(JvmEvent::ClassDefined(name.to_vec(), loader, thread));
        }
    }

    /// A method was compiled.
    pub(crate) fn method_compiled(&self, jvmti: Jvmti, jni: &Jni<'_>, method: MethodId, place: CodePlace) {
        // Without names its class is gone already.
        if let Some(queue) = self.of(JvmEvents::Jit)
            && let Some(facts) = method.facts_without_lines(jvmti, jni)
        {
            queue.add(JvmEvent::Compiled(facts, place));
        }
    }

    /// The compiled code at this address is gone.
    pub(crate) fn compiled_code_unloaded(&self, address: u64) {
        if let Some(queue) = self.of(JvmEvents::Jit) {
            queue.add(JvmEvent::CodeUnloaded(address));
        }
    }

    /// The JVM has made machine code for itself.
    pub(crate) fn code_generated(&self, name: &[u8], place: CodePlace) {
        if let Some(queue) = self.of(JvmEvents::Jit) {
            queue.add(JvmEvent::CodeGenerated(String::from_utf8_lossy(name).into_owned(), place));
        }
    }

    /// Reports the native libraries that are loaded and have not been reported.
    pub(crate) fn native_libraries(&self) {
        let Some(queue) = self.of(JvmEvents::Jit) else { return };
        match NativeLibrary::all_loaded() {
            Ok(loaded) => {
                let mut told = self.libraries.lock();
                let new = loaded.into_iter().filter(|library| told.insert(library.clone()));
                new.for_each(|library| queue.add(JvmEvent::NativeLibrary(library)));
            }
            Err(error) => tracing::warn!(%error, "native libraries are not told"),
        }
    }

    /// The current thread begins.
    pub(crate) fn thread_started(&self, facts: ThreadFacts) {
        if let Some(queue) = self.of(JvmEvents::Threads) {
            queue.add(JvmEvent::ThreadStarted(facts, jvm::current_thread_id()));
        }
    }

    /// The current thread has run its last Java code.
    pub(crate) fn thread_ended(&self, jni: &Jni<'_>, thread: ObjectRef<'_>) {
        let [switches, ends] = [JvmEvents::Switches, JvmEvents::Threads].map(|kind| self.of(kind));
        if switches.or(ends).is_none() {
            return;
        }
        let Some(id) = jvm::java_thread_id(jni, thread) else { return };
        if let Some((queue, counts)) = switches.and_then(|queue| Some((queue, jvm::own_switches()?))) {
            queue.add(JvmEvent::ThreadSwitches(id, counts));
        }
        if let Some(queue) = ends {
            queue.add(JvmEvent::ThreadEnded(id));
        }
    }
}
