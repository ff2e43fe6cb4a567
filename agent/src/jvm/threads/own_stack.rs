//! The stack of the current thread, as a native method of `java.instr.Contexts` asks about it.

use std::ffi::c_void;
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
            let methods = self.methods(first);
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

    fn methods(self, first: usize) -> Vec<MethodId> {
        let mut frames = [jvmti::jvmtiFrameInfo { method: null_mut(), location: 0 }; AT_A_TIME];
        let (first, most) = (jni::jint::try_from(first).unwrap_or(0), jni::jint::try_from(AT_A_TIME).unwrap_or(0));
        let mut count = 0;
        // SAFETY: valid environment; no thread means the current one; `most` entries and the out-parameter are on our stack.
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
