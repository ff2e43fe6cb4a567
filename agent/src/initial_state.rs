//! What is there when a recording begins: the threads that live and the classes that are loaded; then the mark that all has been told.

use std::time::Instant;

use instrument_core::config::JvmEvents;

use crate::jvm::{AllThreads, Jni, Jvmti, LoadedClasses, thread_facts};
use crate::jvm_event_recording::JvmEventRecording;
use crate::recorder::JvmEvent;

/// Tells the recording about everything that is there, of the kinds that it wants. A thread that starts or a class that is loaded
/// meanwhile may be told twice, but not be left out, if the events for changes are on already.
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
    if let Some(queue) = events.of(JvmEvents::Classes) {
        match LoadedClasses::all(jvmti, jni) {
            Ok(loaded) => {
                let names = loaded.as_slice().iter().filter_map(|class| class.internal_name(jvmti));
                names.for_each(|name| queue.add(JvmEvent::LoadedClass(name)));
            }
            Err(error) => tracing::error!(%error, "the loaded classes cannot be listed"),
        }
    }
    events.state_complete();
    tracing::debug!(took = ?begin.elapsed(), "the state at the beginning is known");
}
