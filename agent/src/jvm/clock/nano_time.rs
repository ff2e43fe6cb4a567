//! The clock of the probes for native threads, in nanoseconds of `System.nanoTime()`.

use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni;

use super::processor_clock::scale_in_use;
use crate::jvm::error::JavaError;
use crate::jvm::jni::{Jni, jni_call};

/// Readings at the beginning, of which the quickest counts: the others were interrupted, and by milliseconds on a busy machine.
const READINGS: usize = 8;

/// The same clock as that of the probes, whether they read Java's or count ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NanoClock {
    java: i64,
    native: Instant,
}

impl NanoClock {
    /// Reads Java's clock and the system's, which are the same but for their origin, at one moment.
    pub(crate) fn calibrate(jni: &Jni<'_>) -> Result<NanoClock, JavaError> {
        // The first call resolves and may compile.
        let (mut clock, mut quickest) =
            (NanoClock { java: java_nano_time(jni)?, native: Instant::now() }, Duration::MAX);
        for _ in 0..READINGS {
            let before = Instant::now();
            let java = java_nano_time(jni)?;
            let took = before.elapsed();
            if took < quickest {
                (clock, quickest) = (NanoClock { java, native: before + took / 2 }, took);
            }
        }
        Ok(clock)
    }

    /// A clock that reads `nanos` now.
    #[cfg(test)]
    pub(crate) fn reading(nanos: i64) -> NanoClock {
        NanoClock { java: nanos, native: Instant::now() }
    }

    /// What `System.nanoTime()` said, and when.
    pub(crate) fn origin(&self) -> (i64, Instant) {
        (self.java, self.native)
    }

    /// The present moment.
    pub(crate) fn now(&self) -> i64 {
        match scale_in_use() {
            Some(scale) => scale.nanos(scale.now()) as i64,
            None => self.java.wrapping_add(i64::try_from(self.native.elapsed().as_nanos()).unwrap_or(i64::MAX)),
        }
    }

    /// What a probe reads, or read, at this moment.
    pub(crate) fn as_probes_read(&self, nanos: i64) -> i64 {
        scale_in_use().map_or(nanos, |scale| scale.ticks(nanos as u64) as i64)
    }
}

/// What a probe read, in nanoseconds.
pub(crate) fn probe_nanos(read: u64) -> u64 {
    scale_in_use().map_or(read, |scale| scale.nanos(read))
}

/// The length of something between two readings of probes, in nanoseconds.
pub(crate) fn probe_length_nanos(length: u64) -> u64 {
    scale_in_use().map_or(length, |scale| {
        let now = scale.now();
        scale.nanos(now.wrapping_add(length)).saturating_sub(scale.nanos(now))
    })
}

/// The same the other way round: by how much two readings of probes differ that are so far apart.
pub(crate) fn nanos_as_probe_length(nanos: u64) -> u64 {
    scale_in_use().map_or(nanos, |scale| {
        let now = scale.nanos(scale.now());
        scale.ticks(now.wrapping_add(nanos)).saturating_sub(scale.ticks(now))
    })
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
