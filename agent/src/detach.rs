//! Leaving a running JVM: probes off at once, every body restored, trace and statistics written. Where a method had got a
//! wrapper, what is left is one that only passes the call on: the JVM lets nobody take a method away.

use std::sync::Arc;

use crate::hierarchy::class_id;
use crate::jvm::{self, Event, Jni, Jvmti, LoadedClass, LoadedClasses};
use crate::late_restores::{self, LATE_RESTORES};
use crate::message;
use crate::safe_retransforms::SAFE_RETRANSFORMS;
use crate::session::{Agent, Session};

/// Classes restored at once. Each batch stops the application for some milliseconds.
const BATCH: usize = 100;

/// Ends the present session. The agent stays in memory and can be attached again with another configuration.
pub(crate) fn detach(agent: &Agent, jni: &Jni<'_>) {
    let Some(session) = agent.session() else { return };
    agent.stop_probes(jni);
    session.instrumentation.leave();
    // The hook leaves classes as they are by now, but puts names of parameters back that the JVM loses. It is off if the recording was
    // stopped before.
    if let Err(error) = agent.jvmti.set_event(Event::ClassFileLoad, true) {
        tracing::error!(%error, "the class hook cannot be switched on, names of parameters may be lost");
    }
    restore(agent.jvmti, jni, &session);
    // A class with wrappers must keep them whenever it is retransformed, so the hook stays on for those.
    if session.instrumentation.wrapped.is_empty()
        && let Err(error) = agent.jvmti.set_event(Event::ClassFileLoad, false)
    {
        tracing::error!(%error, "the class hook cannot be switched off");
    }
    session.instrumentation.events.listen(agent.jvmti, false);
    session.instrumentation.types.close(jni);
    agent.end_session("the agent was detached");
}

fn restore(jvmti: Jvmti, jni: &Jni<'_>, session: &Arc<Session>) {
    let noted = session.instrumentation.rewritten.take();
    // The event first, then the list: a class that is linked from now on is restored by the event.
    if let Err(error) = jvmti.set_event(Event::ClassPrepare, true) {
        tracing::error!(%error, "classes that are being loaded keep their probes, switched off");
    }
    LATE_RESTORES.add(noted.on_their_way.into_iter());
    LATE_RESTORES.follow(jni, noted.loaders);
    let loaded = match LoadedClasses::all(jvmti, jni) {
        Ok(loaded) => loaded,
        Err(error) => {
            message::say(&format!("{error}; the probes stay in place, switched off"));
            return;
        }
    };
    let is_ours =
        |class: &LoadedClass<'_>| class.internal_name(jvmti).is_some_and(|name| noted.names.contains_key(&*name));
    let ours = loaded.as_slice().iter().copied().filter(is_ours);
    let linked: Vec<LoadedClass<'_>> = ours.filter(|class| !waits(jvmti, jni, *class)).collect();
    let waiting = LATE_RESTORES.forget_gone(jni);
    tracing::debug!("{waiting} classes are restored when they are linked");
    if waiting == 0 {
        late_restores::stop_listening(jvmti);
    }
    let (safe, unsafe_to_touch): (Vec<_>, Vec<_>) =
        linked.into_iter().partition(|class| SAFE_RETRANSFORMS.hazard(jvmti, jni, *class, None).is_none());
    let mut left = unsafe_to_touch.len();
    for batch in safe.chunks(BATCH) {
        jvm::retransform(jvmti, batch, &mut |_, error| {
            tracing::warn!(%error, "a class cannot be restored");
            left += 1;
        });
    }
    if left > 0 {
        let classes = trace::report::counted(left as u64, "class");
        message::say(&format!("probes stay in {classes}, switched off: this JVM cannot restore these safely"));
    }
}

/// Whether the class has to wait until it is linked: retransforming it while another thread does that could corrupt it (JDK-8277444).
fn waits(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) -> bool {
    let Some(id) = class_id(jvmti, jni, class) else { return false };
    if !class.is_prepared(jvmti) {
        LATE_RESTORES.add(std::iter::once(id.clone()));
        // It may have been linked before it was noted.
        if !class.is_prepared(jvmti) {
            return true;
        }
    }
    LATE_RESTORES.take(&id);
    false
}
