//! What the JVM reports about objects: samples of those that are allocated, and the end of those that carry a tag.

use std::ptr::null_mut;

use jvmti_bindings::sys::{jni, jvmti};

use super::event_guard::{self, Event};
use super::event_listener::{in_live_phase, listener};
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::classes::method_facts::MethodId;
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::ObjectRef;
use crate::jvm::threads::thread_facts::WalkedStack;

/// Connects the callbacks.
pub(in crate::jvm) fn connect(callbacks: &mut jvmti::jvmtiEventCallbacks) {
    callbacks.SampledObjectAlloc = Some(sampled_object_alloc);
    callbacks.ObjectFree = Some(object_free);
}

unsafe extern "system" fn sampled_object_alloc(
    env: *mut jvmti::jvmtiEnv,
    jni_env: *mut jni::JNIEnv,
    thread: jni::jthread,
    _object: jni::jobject,
    class: jni::jclass,
    size: jni::jlong,
) {
    in_live_phase(Event::SampledObjectAlloc, env, jni_env, |listener, jvmti, jni| {
        // SAFETY: the JVM's references live through the callback.
        let (thread, class) = unsafe { (ObjectRef::from_raw(thread), LoadedClass::from_raw(class)) };
        if let (Some(thread), Some(class), Ok(size)) = (thread, class, u64::try_from(size)) {
            listener.object_allocated(jvmti, jni, thread, class, size);
        }
    });
}

unsafe extern "system" fn object_free(_env: *mut jvmti::jvmtiEnv, tag: jni::jlong) {
    event_guard::run(Event::ObjectFree, || {
        if let Some(listener) = listener() {
            listener.loader_freed(u64::try_from(tag).unwrap_or(0));
        }
    });
}

impl Jvmti {
    /// Sets how many bytes a thread allocates, on the average, between two samples.
    pub(crate) fn set_allocation_interval(self, bytes: u32) -> Result<(), JvmtiError> {
        let bytes = jni::jint::try_from(bytes).unwrap_or(jni::jint::MAX);
        // SAFETY: valid environment.
        unsafe { jvmti_call!(self, SetHeapSamplingInterval, bytes) }
    }

    /// Returns the stack of the current thread, at most this number of frames, the innermost first.
    pub(crate) fn current_stack(self, depth: usize) -> Result<WalkedStack, JvmtiError> {
        // SAFETY: all-zero is a valid structure of numbers and a null pointer.
        let empty: jvmti::jvmtiFrameInfo = unsafe { std::mem::zeroed() };
        let mut frames = vec![empty; depth];
        let mut count = 0;
        let most = jni::jint::try_from(depth).unwrap_or(jni::jint::MAX);
        // SAFETY: valid environment; null is the current thread; there is room for `most` frames.
        unsafe { jvmti_call!(self, GetStackTrace, null_mut(), 0, most, frames.as_mut_ptr(), &mut count) }?;
        frames.truncate(usize::try_from(count).unwrap_or(0));
        Ok(frames.iter().map(|frame| (MethodId::from_raw(frame.method), u32::try_from(frame.location).ok())).collect())
    }
}
