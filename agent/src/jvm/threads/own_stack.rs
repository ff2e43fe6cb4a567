//! The stack of the current thread, as native methods of `java.instr.Contexts` and `java.instr.CallerFinder` ask about it.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use jvmti_bindings::sys::{jni, jvmti};

use crate::jvm::classes::method_facts::{MethodFacts, MethodId};
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::{JavaError, JvmtiError};
use crate::jvm::events::event_guard::{self, Event};
use crate::jvm::jni::{Jni, jni_call};
use crate::jvm::runtime_classes::define_class::GlobalClass;

/// The native method and the method of the runtime that has called it.
const ABOVE_PROBE: usize = 2;
/// Frames that are read at a time: one more of the runtime, the probed method, its caller, and another one.
const AT_A_TIME: usize = 4;
/// More frames of reflection between a method and its caller there are not.
const DEEPEST: usize = 64;

/// The stack of the current thread, which executes a native method of the runtime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnStack<'a> {
    jvmti: Jvmti,
    jni: &'a Jni<'a>,
}

impl OwnStack<'_> {
    /// Returns the first answer about one of the methods that are executing, the innermost first, but for those that ask.
    pub(crate) fn find_map<R>(self, mut look: impl FnMut(MethodId) -> Option<R>) -> Option<R> {
        for first in (ABOVE_PROBE..DEEPEST).step_by(AT_A_TIME) {
            let methods = self.frames(first, AT_A_TIME);
            let is_last = methods.len() < AT_A_TIME;
            let found = methods.into_iter().find_map(&mut look);
            if found.is_some() || is_last {
                return found;
            }
        }
        None
    }

    /// Returns what the JVM says about a method on the stack.
    pub(crate) fn facts(self, method: MethodId) -> Option<MethodFacts> {
        method.facts_without_lines(self.jvmti, self.jni)
    }

    /// Returns the methods that are executing, the innermost first, but for those that ask: this number at most.
    pub(crate) fn methods(self, most: usize) -> Vec<MethodId> {
        self.frames(ABOVE_PROBE, most)
    }

    fn frames(self, first: usize, most: usize) -> Vec<MethodId> {
        let mut frames = vec![jvmti::jvmtiFrameInfo { method: null_mut(), location: 0 }; most];
        let (first, most) = (jni::jint::try_from(first).unwrap_or(0), jni::jint::try_from(most).unwrap_or(0));
        let mut count = 0;
        // SAFETY: valid environment; no thread means the current one; `most` entries and the out-parameter are ours.
        let result =
            unsafe { jvmti_call!(self.jvmti, GetStackTrace, null_mut(), first, most, frames.as_mut_ptr(), &mut count) };
        let count = if result.is_ok() { usize::try_from(count).unwrap_or(0) } else { 0 };
        frames.iter().take(count).filter_map(|frame| MethodId::from_raw(frame.method)).collect()
    }
}

/// Whether the method whose probe asks was called by the last method of the context with this last step.
type IsCalledDirectly = fn(OwnStack<'_>, u8) -> bool;

static IS_CALLED_DIRECTLY: OnceLock<(Jvmti, IsCalledDirectly)> = OnceLock::new();

/// Binds the native method.
pub(crate) fn register_caller_native(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    contexts: GlobalClass,
    asked: IsCalledDirectly,
) -> Result<(), JavaError> {
    IS_CALLED_DIRECTLY.get_or_init(|| (jvmti, asked));
    let method = jni::JNINativeMethod {
        name: c"isCalledDirectly".as_ptr(),
        signature: c"(I)Z".as_ptr(),
        fnPtr: (is_called_directly as *const c_void).cast_mut(),
    };
    // SAFETY: valid environment, live class, one method with this signature; the agent's library is never unloaded.
    let result = unsafe { jni_call!(jni, RegisterNatives, contexts.raw(), &raw const method, 1) };
    if result == jni::JNI_OK { Ok(()) } else { Err(jni.failure("binding the native method of contexts")) }
}

extern "system" fn is_called_directly(env: *mut jni::JNIEnv, _class: jni::jclass, step: jni::jint) -> jni::jboolean {
    let is_called = event_guard::run(Event::Native, || {
        let (Some((jvmti, asked)), Ok(step)) = (IS_CALLED_DIRECTLY.get(), u8::try_from(step)) else { return false };
        // SAFETY: the JVM passes the environment of this thread, which it calls in the live phase.
        let Some(jni) = (unsafe { Jni::from_raw(env) }) else { return false };
        asked(OwnStack { jvmti: *jvmti, jni: &jni }, step)
    });
    jni::jboolean::from(is_called)
}

/// What is done with the calls of hooks, and where a task is handed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookCallbacks {
    /// A call begins whose hook is on, which has this number; returns its row.
    pub(crate) entered: fn(u32, StackedCall, OwnStack<'_>) -> u32,
    /// It ends: number, thread, row, time and what the thread has allocated in its life, as above.
    pub(crate) ended: fn(u32, u64, u32, (u64, Option<u64>)),
    /// A task is handed over; returns the number of who does that, as Java code has it.
    pub(crate) hands_over: fn(OwnStack<'_>) -> i32,
}

/// A call that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackedCall {
    /// The id of its thread.
    pub(crate) thread: u64,
    /// By whom the task was handed over that the thread runs; 0 if that is not known.
    pub(crate) handed_over_by: u32,
    /// What the thread has allocated in its life; 0 if that is unknown, `None` for a virtual thread.
    pub(crate) allocated: Option<u64>,
}

static HOOKED_CALLS: OnceLock<(Jvmti, i64, HookCallbacks)> = OnceLock::new();

/// Binds the native methods of `java.instr.CallerFinder`; `table` is the address of its bytes.
pub(crate) fn register_caller_finder_natives(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    class: GlobalClass,
    (table, calls): (i64, HookCallbacks),
) -> Result<(), JavaError> {
    HOOKED_CALLS.get_or_init(|| (jvmti, table, calls));
    let method = |name: &'static CStr, signature: &'static CStr, function: *const c_void| jni::JNINativeMethod {
        name: name.as_ptr(),
        signature: signature.as_ptr(),
        fnPtr: function.cast_mut(),
    };
    let methods = [
        method(c"table", c"()J", bytes_of_hooks as *const c_void),
        method(c"entered", c"(IJIJ)I", call_entered as *const c_void),
        method(c"handsOver", c"()I", task_handed_over as *const c_void),
        method(c"ended", c"(IJIJJ)V", call_ended as *const c_void),
    ];
    let count = jni::jint::try_from(methods.len()).unwrap_or(0);
    // SAFETY: valid environment, live class, as many methods as are counted, with their signatures; the agent's library is never unloaded.
    let result = unsafe { jni_call!(jni, RegisterNatives, class.raw(), methods.as_ptr(), count) };
    if result == jni::JNI_OK { Ok(()) } else { Err(jni.failure("binding the native methods of caller finders")) }
}

extern "system" fn bytes_of_hooks(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    HOOKED_CALLS.get().map_or(0, |(_, table, _)| *table)
}

extern "system" fn call_entered(
    env: *mut jni::JNIEnv,
    _class: jni::jclass,
    hook: jni::jint,
    thread: jni::jlong,
    handed_over_by: jni::jint,
    allocated: jni::jlong,
) -> jni::jint {
    let row = event_guard::run(Event::Native, || {
        let (Some((jvmti, _, calls)), Ok(hook)) = (HOOKED_CALLS.get(), u32::try_from(hook)) else { return 0 };
        // SAFETY: the JVM passes the environment of this thread, which it calls in the live phase.
        let Some(jni) = (unsafe { Jni::from_raw(env) }) else { return 0 };
        let handed_over_by = u32::try_from(handed_over_by).unwrap_or(0);
        let call = StackedCall { thread: thread as u64, handed_over_by, allocated: u64::try_from(allocated).ok() };
        (calls.entered)(hook, call, OwnStack { jvmti: *jvmti, jni: &jni })
    });
    jni::jint::try_from(row).unwrap_or(0)
}

extern "system" fn task_handed_over(env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jint {
    event_guard::run(Event::Native, || {
        let Some((jvmti, _, calls)) = HOOKED_CALLS.get() else { return 0 };
        // SAFETY: the JVM passes the environment of this thread, which it calls in the live phase.
        let Some(jni) = (unsafe { Jni::from_raw(env) }) else { return 0 };
        (calls.hands_over)(OwnStack { jvmti: *jvmti, jni: &jni })
    })
}

extern "system" fn call_ended(
    _env: *mut jni::JNIEnv,
    _class: jni::jclass,
    hook: jni::jint,
    thread: jni::jlong,
    row: jni::jint,
    time: jni::jlong,
    allocated: jni::jlong,
) {
    event_guard::run(Event::Native, || {
        let (Some((.., calls)), Ok(hook), Ok(row)) = (HOOKED_CALLS.get(), u32::try_from(hook), u32::try_from(row))
        else {
            return;
        };
        (calls.ended)(hook, thread as u64, row, (u64::try_from(time).unwrap_or(0), u64::try_from(allocated).ok()));
    });
}
