//! Leaving a running JVM: probes off at once, every body restored, trace and statistics written. Where a method had got a
//! wrapper, what is left is one that only passes the call on: the JVM lets nobody take a method away.

use std::sync::Arc;

use crate::hotspot_hazards;
use crate::jvm::{self, Event, Jni, Jvmti, LoadedClass, LoadedClasses};
use crate::message;
use crate::session::{Agent, Session};

/// Classes restored at once. Each batch stops the application for some milliseconds.
const BATCH: usize = 100;

/// Ends the present session. The agent stays in memory and can be attached again with another configuration.
pub(crate) fn detach(agent: &Agent, jni: &Jni<'_>) {
    let Some(session) = agent.session() else { return };
    agent.stop_probes(jni);
    session.leave();
    // A class with wrappers must keep them whenever it is retransformed, so the hook stays on for those.
    let hook = session.wrapped.is_empty().then_some(Event::ClassFileLoad);
    for event in hook.into_iter().chain([Event::ClassPrepare]) {
        if let Err(error) = agent.jvmti.set_event(event, false) {
            tracing::error!(%error, ?event, "cannot be switched off");
        }
    }
    restore(agent.jvmti, jni, &session);
    session.events.listen(agent.jvmti, false);
    session.types.close(jni);
    agent.end_session("the agent was detached");
}

fn restore(jvmti: Jvmti, jni: &Jni<'_>, session: &Arc<Session>) {
    let rewritten = session.rewritten_classes();
    let loaded = match LoadedClasses::all(jvmti, jni) {
        Ok(loaded) => loaded,
        Err(error) => {
            message::say(&format!("{error}; the probes stay in place, switched off"));
            return;
        }
    };
    let is_ours = |class: &LoadedClass<'_>| class.internal_name(jvmti).is_some_and(|name| rewritten.contains(&*name));
    let ours: Vec<LoadedClass<'_>> = loaded.as_slice().iter().copied().filter(is_ours).collect();
    let (safe, unsafe_to_touch): (Vec<_>, Vec<_>) =
        ours.into_iter().partition(|class| hotspot_hazards::of_class(jvmti, session.java_version, *class).is_none());
    let mut left = unsafe_to_touch.len();
    for batch in safe.chunks(BATCH) {
        jvm::retransform(jvmti, batch, &mut |_, error| {
            tracing::warn!(%error, "a class cannot be restored");
            left += 1;
        });
    }
    if left > 0 {
        message::say(&format!("{left} classes keep their probes, switched off: this JVM cannot restore them safely"));
    }
}
