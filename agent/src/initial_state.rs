//! What is there when a recording begins: the threads that live and the classes that are loaded; then the mark that all has been told.

use instrument_core::config::JvmEvents;

use crate::jvm::{Jni, Jvmti, LoadedClasses};
use crate::recorder::{JvmEvent, JvmEventQueue};

/// Tells the recording about everything of these kinds that is there. A thread that starts or a class that is loaded meanwhile may be
/// told twice, but not be left out, if the events for changes are on already.
pub(crate) fn record(jvmti: Jvmti, jni: &Jni<'_>, kinds: &[JvmEvents], events: &JvmEventQueue) {
    if kinds.contains(&JvmEvents::Threads) {
        match jvmti.live_threads(jni) {
            Ok(threads) => threads.into_iter().for_each(|thread| events.add(JvmEvent::LiveThread(thread))),
            Err(error) => tracing::error!(%error, "the live threads cannot be listed"),
        }
    }
    if kinds.contains(&JvmEvents::Classes) {
        match LoadedClasses::all(jvmti, jni) {
            Ok(loaded) => {
                let names = loaded.as_slice().iter().filter_map(|class| class.internal_name(jvmti));
                names.for_each(|name| events.add(JvmEvent::LoadedClass(name)));
            }
            Err(error) => tracing::error!(%error, "the loaded classes cannot be listed"),
        }
    }
    events.add(JvmEvent::StateComplete);
}
