//! The native method of `java.instr.Baggage`.

use std::ffi::c_void;
use std::sync::OnceLock;

use jvmti_bindings::sys::jni;

use super::plain_values::new_string;
use crate::jvm::error::JavaError;
use crate::jvm::events::event_guard::{self, Event};
use crate::jvm::jni::{Jni, Local, jni_call};
use crate::jvm::runtime_classes::define_class::GlobalClass;

/// Returns the header of a request to this host that has this one, if any, when a thread with these words of steps sends it; `None`: it stays as it is.
type Extend = fn(words: [u64; 4], host: &str, present: Option<&str>) -> Option<String>;

static EXTEND: OnceLock<Extend> = OnceLock::new();

/// Binds the native method.
pub(crate) fn register_baggage_native(jni: &Jni<'_>, baggage: GlobalClass, extend: Extend) -> Result<(), JavaError> {
    EXTEND.get_or_init(|| extend);
    let method = jni::JNINativeMethod {
        name: c"extend".as_ptr(),
        signature: c"(Ljava/lang/String;Ljava/lang/String;JJJJ)Ljava/lang/String;".as_ptr(),
        fnPtr: (extended as *const c_void).cast_mut(),
    };
    // SAFETY: valid environment, live class, one method with this signature; the agent's library is never unloaded.
    let result = unsafe { jni_call!(jni, RegisterNatives, baggage.raw(), &raw const method, 1) };
    if result == jni::JNI_OK { Ok(()) } else { Err(jni.failure("binding the native method of baggage")) }
}

extern "system" fn extended(
    env: *mut jni::JNIEnv,
    _class: jni::jclass,
    present: jni::jstring,
    host: jni::jstring,
    word0: jni::jlong,
    word1: jni::jlong,
    word2: jni::jlong,
    word3: jni::jlong,
) -> jni::jstring {
    let header = event_guard::run(Event::Native, || {
        // SAFETY: the JVM passes the environment of this thread, which it calls in the live phase.
        let (jni, extend) = (unsafe { Jni::from_raw(env) }?, EXTEND.get()?);
        // SAFETY: the method's descriptor says that both are strings, or null.
        let [present, host] = [present, host].map(|string| unsafe { jni.string_bytes(string) });
        // Texts that are not ASCII throughout are none that a header or an address has.
        let host = String::from_utf8(host?).ok()?;
        let present = present.map(String::from_utf8).transpose().ok()?;
        let words = [word0, word1, word2, word3].map(i64::cast_unsigned);
        let header = extend(words, &host, present.as_deref())?;
        new_string(&jni, &header).map(Local::into_raw)
    });
    header.unwrap_or(std::ptr::null_mut())
}
