//! What is there when a recording begins: the threads that live, the classes that are loaded with their methods, compiled code; then
//! the mark that separates this from later events.

use std::time::Instant;

use settings::JvmEvents;

use crate::jvm::{self, AllThreads, Jni, Jvmti, LoadedClass, LoadedClasses, thread_facts};
use crate::recorder::jvm_event_recording::JvmEventRecording;
use crate::recorder::{JvmEvent, JvmEventQueue};

/// Records the initial state, of the kinds of events that are wanted. A thread that starts or a class that is loaded meanwhile may be
/// recorded twice, but is not left out, if the events for changes are on already.
pub(crate) fn record(jvmti: Jvmti, jni: &Jni<'_>, events: &JvmEventRecording) {
    let begin = Instant::now();
    if let Some(queue) = events.of(JvmEvents::Threads) {
        match AllThreads::of_jvm(jvmti, jni) {
            Ok(threads) => {
                let facts = threads.as_slice().iter().map(|thread| thread_facts(jvmti, jni, *thread));
                facts.for_each(|facts| queue.add(JvmEvent::LiveThread(facts)));
            }
            Err(error) => tracing::error!(%error, "the live threads cannot be listed"),
        }
    }
    let [classes, methods] = [JvmEvents::Classes, JvmEvents::Methods].map(|kind| events.of(kind));
    if classes.or(methods).is_some() {
        match LoadedClasses::all(jvmti, jni) {
            Ok(loaded) => {
                loaded.as_slice().iter().for_each(|class| record_class(jvmti, jni, *class, [classes, methods]))
            }
            Err(error) => tracing::error!(%error, "the loaded classes cannot be listed"),
        }
    }
    if events.of(JvmEvents::Jit).is_some()
        && let Err(error) = jvmti.tell_code()
    {
        tracing::warn!(%error, "code that was compiled before is not recorded");
    }
    events.native_libraries();
    events.state_complete();
    tracing::debug!(took = ?begin.elapsed(), "the state at the beginning is known");
}

/// Arrays, primitive types and hidden classes are left out.
fn record_class(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>, queues: [Option<&JvmEventQueue>; 2]) {
    let Some(name) = class.internal_name(jvmti) else { return };
    let [classes, methods] = queues;
    let loader = classes.map_or(0, |_| class.with_loader(jvmti, jni, |loader| jvmti.loader_id(loader)));
    if let Some(queue) = classes {
        queue.add(JvmEvent::LoadedClass(name.clone(), loader));
    }
    if let Some(queue) = methods {
        let methods = jvm::methods_of(jvmti, class);
        if !methods.is_empty() {
            queue.add(JvmEvent::LoadedMethods(name, loader, methods));
        }
    }
}
