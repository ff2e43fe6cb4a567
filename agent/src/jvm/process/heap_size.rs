//! How large the Java heap is, as `java.lang.Runtime` reports it: native methods of the JVM, no Java code runs.

use std::ffi::CStr;
use std::ptr::null;

use jvmti_bindings::sys::jni;

use crate::jvm::error::JavaError;
use crate::jvm::jni::{Jni, jni_call};

/// Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapSize {
    /// Occupied, garbage included.
    pub(crate) used: u64,
    /// Asked of the operating system.
    pub(crate) committed: u64,
    /// The most that it may become.
    pub(crate) limit: u64,
}

/// The sizes now.
pub(crate) fn heap_size(jni: &Jni<'_>) -> Result<HeapSize, JavaError> {
    // SAFETY: valid environment, NUL-terminated names; java.lang.Runtime has this static method without parameters.
    let (class, runtime) = unsafe {
        let Some(class) = jni.own(jni_call!(jni, FindClass, c"java/lang/Runtime".as_ptr())) else {
            return Err(jni.failure("finding java.lang.Runtime"));
        };
        let name = c"getRuntime".as_ptr();
        let method = jni_call!(jni, GetStaticMethodID, class.raw(), name, c"()Ljava/lang/Runtime;".as_ptr());
        if method.is_null() {
            return Err(jni.failure("finding Runtime.getRuntime"));
        }
        let runtime = jni.own(jni_call!(jni, CallStaticObjectMethodA, class.raw(), method, null::<jni::jvalue>()));
        let Some(runtime) = runtime else { return Err(jni.failure("Runtime.getRuntime")) };
        (class, runtime)
    };
    let ask = |name: &CStr| {
        // SAFETY: valid environment, live references; each caller names a method without parameters that returns a long.
        let size = unsafe {
            let method = jni_call!(jni, GetMethodID, class.raw(), name.as_ptr(), c"()J".as_ptr());
            if method.is_null() {
                return Err(jni.failure("finding a method of java.lang.Runtime"));
            }
            jni_call!(jni, CallLongMethodA, runtime.raw(), method, null::<jni::jvalue>())
        };
        if jni.exception_pending() {
            Err(jni.failure("java.lang.Runtime"))
        } else {
            Ok(u64::try_from(size).unwrap_or(0))
        }
    };
    // The committed size first: it may grow meanwhile, and used is what is left of it.
    let committed = ask(c"totalMemory")?;
    Ok(HeapSize { used: committed.saturating_sub(ask(c"freeMemory")?), committed, limit: ask(c"maxMemory")? })
}
