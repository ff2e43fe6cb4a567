//! `System.nanoTime()` for native threads.

use std::time::Instant;

use jvmti_bindings::sys::jni;

use super::error::JavaError;
use super::jni::{Jni, jni_call};

/// Java's clock, read without Java: both sides count the same monotonic clock, only the origin has to be learnt once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NanoClock {
    java: i64,
    native: Instant,
}

impl NanoClock {
    /// Reads both clocks at one moment.
    pub(crate) fn calibrate(jni: &Jni<'_>) -> Result<NanoClock, JavaError> {
        // The first call resolves and may compile; the second one is close to the native reading.
        java_nano_time(jni)?;
        let before = Instant::now();
        let java = java_nano_time(jni)?;
        Ok(NanoClock { java, native: before + before.elapsed() / 2 })
    }

    /// What `System.nanoTime()` would say now.
    pub(crate) fn now(&self) -> i64 {
        self.java.wrapping_add(i64::try_from(self.native.elapsed().as_nanos()).unwrap_or(i64::MAX))
    }
}

fn java_nano_time(jni: &Jni<'_>) -> Result<i64, JavaError> {
    // SAFETY: valid environment, NUL-terminated names; java.lang.System has this static method, which returns a long.
    let value = unsafe {
        let system = jni.own(jni_call!(jni, FindClass, c"java/lang/System".as_ptr()));
        let Some(system) = system else { return Err(jni.failure("finding java.lang.System")) };
        let method = jni_call!(jni, GetStaticMethodID, system.raw(), c"nanoTime".as_ptr(), c"()J".as_ptr());
        if method.is_null() {
            return Err(jni.failure("finding System.nanoTime"));
        }
        jni_call!(jni, CallStaticLongMethodA, system.raw(), method, std::ptr::null::<jni::jvalue>())
    };
    if jni.exception_pending() { Err(jni.failure("System.nanoTime")) } else { Ok(value) }
}
