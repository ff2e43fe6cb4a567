//! The native methods of `java.instr.Recorder` and `java.instr.Full`.

use std::ffi::c_void;
use std::sync::OnceLock;

use jvmti_bindings::sys::jni;

use super::define_class::GlobalClass;
use super::error::JavaError;
use super::event_guard::{self, Event};
use super::jni::{Jni, jni_call};
use super::operating_system::thread_cpu_nanos;

/// The native side of `java.instr.Recorder`.
pub(crate) trait RecorderNatives: Sync {
    /// The calling carrier thread wants its ring: returns the address of the header.
    fn open(&self) -> i64;
    /// The ring at this address needs a new segment.
    fn next(&self, header: i64);
    /// Address of a header without memory behind it, for threads that cannot have a ring. Java code reads the address
    /// without a test, so it is never 0.
    fn without_memory(&self) -> i64;
}

static RECORDER: OnceLock<&'static dyn RecorderNatives> = OnceLock::new();

/// Binds the native methods. The first recorder stays for the life of the JVM.
pub(crate) fn register_recorder_natives(
    jni: &Jni<'_>,
    class: GlobalClass,
    recorder: &'static dyn RecorderNatives,
) -> Result<(), JavaError> {
    RECORDER.get_or_init(|| recorder);
    let method = |name: &'static std::ffi::CStr, signature: &'static std::ffi::CStr, function: *const c_void| {
        jni::JNINativeMethod { name: name.as_ptr(), signature: signature.as_ptr(), fnPtr: function.cast_mut() }
    };
    let methods = [
        method(c"open", c"(JLjava/lang/String;Z)J", open as *const c_void),
        method(c"next", c"(J)V", next as *const c_void),
    ];
    // SAFETY: valid environment, live class; the functions have the signatures that are registered, and the agent's library
    // is never unloaded.
    let result = unsafe { jni_call!(jni, RegisterNatives, class.raw(), methods.as_ptr(), 2) };
    if result == jni::JNI_OK { Ok(()) } else { Err(jni.failure("binding the runtime's native methods")) }
}

/// The parameters (Java thread id, name, whether virtual) are for the reader of a thread dump; the ring itself says which
/// thread its records belong to.
extern "system" fn open(
    _env: *mut jni::JNIEnv,
    _class: jni::jclass,
    _thread_id: jni::jlong,
    _name: jni::jstring,
    _is_virtual: jni::jboolean,
) -> jni::jlong {
    let Some(recorder) = RECORDER.get() else { return 0 };
    event_guard::run(Event::Native, || Some(recorder.open())).unwrap_or_else(|| recorder.without_memory())
}

extern "system" fn next(_env: *mut jni::JNIEnv, _class: jni::jclass, header: jni::jlong) {
    event_guard::run(Event::Native, || {
        if let Some(recorder) = RECORDER.get() {
            recorder.next(header);
        }
    });
}

/// Binds the native method of `java.instr.Full`.
pub(crate) fn register_full_natives(jni: &Jni<'_>, class: GlobalClass) -> Result<(), JavaError> {
    let function = cpu_time as *const c_void;
    let method =
        jni::JNINativeMethod { name: c"cpuTime".as_ptr(), signature: c"()J".as_ptr(), fnPtr: function.cast_mut() };
    // SAFETY: as for the recorder.
    let result = unsafe { jni_call!(jni, RegisterNatives, class.raw(), &raw const method, 1) };
    if result == jni::JNI_OK { Ok(()) } else { Err(jni.failure("binding the runtime's native methods")) }
}

/// Cannot panic, hence without a fence.
extern "system" fn cpu_time(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    thread_cpu_nanos()
}
