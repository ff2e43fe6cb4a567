//! Defining the runtime's classes from memory, in the boot loader.

use std::ffi::CStr;
use std::ptr::null_mut;

use jvmti_bindings::sys::jni;

use crate::jvm::error::JavaError;
use crate::jvm::jni::{Jni, jni_call};

/// A class kept alive by a global reference that is never freed: the runtime's classes live as long as the JVM.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GlobalClass {
    class: jni::jclass,
}

// SAFETY: a JNI global reference may be used in every thread.
unsafe impl Send for GlobalClass {}
// SAFETY: as above.
unsafe impl Sync for GlobalClass {}

impl GlobalClass {
    pub(in crate::jvm) fn raw(self) -> jni::jclass {
        self.class
    }
}

/// Defines a class in the boot loader.
pub(crate) fn define_boot_class(jni: &Jni<'_>, name: &CStr, bytes: &[u8]) -> Result<GlobalClass, JavaError> {
    let length = jni::jsize::try_from(bytes.len()).unwrap_or(0);
    // SAFETY: valid environment; name and bytes live through the call; a null loader is the boot loader.
    let class =
        unsafe { jni.own(jni_call!(jni, DefineClass, name.as_ptr(), null_mut(), bytes.as_ptr().cast(), length)) };
    let Some(class) = class else { return Err(jni.failure("defining a class of the runtime")) };
    // SAFETY: valid environment, live local reference.
    let class = unsafe { jni_call!(jni, NewGlobalRef, class.raw()) };
    if class.is_null() { Err(jni.failure("keeping a class of the runtime")) } else { Ok(GlobalClass { class }) }
}
