//! Keeps panics inside the agent: a panic that crossed into the JVM would abort the application.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

/// The ways in which the JVM calls the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// `Agent_OnLoad`, `Agent_OnAttach`, `Agent_OnUnload`.
    Entry,
    /// The JVM is up.
    VmInit,
    /// The JVM shuts down.
    VmDeath,
    /// Bytes of a class, at load or retransform.
    ClassFileLoad,
    /// A class was linked.
    ClassPrepare,
    /// A class was loaded. Nothing is done then, but AsyncGetCallTrace wants it to be listened to.
    ClassLoad,
    /// A method was compiled. While it is listened to, compiled code knows the lines of all its parts, which the sampler needs.
    CompiledMethodLoad,
    /// Compiled code is gone.
    CompiledMethodUnload,
    /// The JVM has made code for itself.
    DynamicCodeGenerated,
    /// An object was allocated.
    SampledObjectAlloc,
    /// An object with a tag is gone.
    ObjectFree,
    /// A platform thread begins.
    ThreadStart,
    /// A platform thread ends.
    ThreadEnd,
    /// The garbage collector stops the application.
    GcStart,
    /// The garbage collector lets it go on.
    GcFinish,
    /// A native method of the Java runtime.
    Native,
}

impl Event {
    const COUNT: usize = 16;

    fn index(self) -> usize {
        match self {
            Event::Entry => 0,
            Event::VmInit => 1,
            Event::VmDeath => 2,
            Event::ClassFileLoad => 3,
            Event::ClassPrepare => 4,
            Event::Native => 5,
            Event::ThreadEnd => 6,
            Event::ThreadStart => 7,
            Event::ClassLoad => 8,
            Event::CompiledMethodLoad => 9,
            Event::GcStart => 10,
            Event::GcFinish => 11,
            Event::CompiledMethodUnload => 12,
            Event::DynamicCodeGenerated => 13,
            Event::SampledObjectAlloc => 14,
            Event::ObjectFree => 15,
        }
    }
}

/// The number of panics after which an event is not delivered any more.
const TOLERATED: u32 = 64;

static FAILURES: [AtomicU32; Event::COUNT] = [const { AtomicU32::new(0) }; Event::COUNT];

/// Runs the body of a callback. A panic is counted and gives the default value, which means "change nothing";
/// an event that failed too often is switched off.
pub(crate) fn run<R: Default>(event: Event, body: impl FnOnce() -> R) -> R {
    let failures = FAILURES.get(event.index());
    if failures.is_some_and(|count| count.load(Ordering::Relaxed) >= TOLERATED) {
        return R::default();
    }
    // The state that callbacks use is atomics and locks that do not poison, so a half-done update cannot break later calls.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        if let Some(count) = failures {
            let so_far = count.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::error!(?event, so_far, "internal error in the agent; the application is not affected");
        }
        R::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_the_default_and_too_many_switch_the_event_off() {
        assert_eq!(run(Event::ClassPrepare, || 7), 7);
        for _ in 0..TOLERATED {
            assert_eq!(run::<u32>(Event::ClassPrepare, || panic!("on purpose")), 0);
        }
        assert_eq!(run(Event::ClassPrepare, || 7), 0, "switched off");
        assert_eq!(run(Event::VmDeath, || 7), 7, "other events go on");
    }
}
