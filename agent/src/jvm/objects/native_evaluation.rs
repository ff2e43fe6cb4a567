//! The native method of `java.instr.Conditions`.

use std::ffi::c_void;
use std::sync::OnceLock;

use jvmti_bindings::sys::jni;

use super::anchored_call::AnchoredCall;
use super::plain_values::{self, Arguments};
use super::{arrays, statements};
use crate::jvm::environment::Jvmti;
use crate::jvm::error::JavaError;
use crate::jvm::events::event_guard::{self, Event};
use crate::jvm::jni::{Jni, ObjectRef, jni_call};
use crate::jvm::runtime_classes::define_class::GlobalClass;

/// Whether the condition of the anchor holds.
type Evaluate = fn(AnchoredCall<'_>) -> bool;

static EVALUATE: OnceLock<(Jvmti, Evaluate)> = OnceLock::new();

/// Binds the native method; `statement_texts` is the class that remembers what prepared statements execute.
pub(crate) fn register_condition_natives(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    (class, statement_texts): (GlobalClass, GlobalClass),
    evaluation: Evaluate,
) -> Result<(), JavaError> {
    EVALUATE.get_or_init(|| (jvmti, evaluation));
    statements::prepare(statement_texts);
    if !plain_values::prepare(jni) || !arrays::prepare(jni) {
        return Err(jni.failure("finding the classes of plain values"));
    }
    let method = jni::JNINativeMethod {
        name: c"evaluate".as_ptr(),
        signature: c"(ILjava/lang/Object;[Ljava/lang/Object;)Z".as_ptr(),
        fnPtr: (evaluate as *const c_void).cast_mut(),
    };
    // SAFETY: valid environment, live class, one method with this signature; the agent's library is never unloaded.
    let result = unsafe { jni_call!(jni, RegisterNatives, class.raw(), &raw const method, 1) };
    if result == jni::JNI_OK { Ok(()) } else { Err(jni.failure("binding the native method of conditions")) }
}

extern "system" fn evaluate(
    env: *mut jni::JNIEnv,
    _class: jni::jclass,
    anchor: jni::jint,
    receiver: jni::jobject,
    arguments: jni::jobjectArray,
) -> jni::jboolean {
    let holds = event_guard::run(Event::Native, || {
        let Some((jvmti, evaluation)) = EVALUATE.get() else { return false };
        // SAFETY: the JVM passes the environment of this thread, which it calls in the live phase.
        let Some(jni) = (unsafe { Jni::from_raw(env) }) else { return false };
        // SAFETY: the JVM passes null or references that are valid until this function returns; the second is an array of objects.
        let (receiver, arguments) = unsafe { (ObjectRef::from_raw(receiver), Arguments::from_raw(arguments)) };
        let Ok(anchor) = u32::try_from(anchor) else { return false };
        arguments
            .is_some_and(|arguments| evaluation(AnchoredCall { jvmti: *jvmti, jni: &jni, anchor, receiver, arguments }))
    });
    jni::jboolean::from(holds)
}
