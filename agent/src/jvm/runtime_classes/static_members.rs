//! Static methods and fields of the runtime's classes.

use std::ffi::CStr;
use std::ptr::null;

use jvmti_bindings::sys::jni;

use super::define_class::GlobalClass;
use crate::jvm::error::JavaError;
use crate::jvm::jni::{Jni, ObjectRef, jni_call};

/// Calls a static method without parameters and result.
pub(crate) fn call_static_void(jni: &Jni<'_>, class: GlobalClass, name: &CStr) -> Result<(), JavaError> {
    // SAFETY: valid environment, live class, NUL-terminated names; the descriptor fits the call made with it.
    unsafe {
        let method = jni_call!(jni, GetStaticMethodID, class.raw(), name.as_ptr(), c"()V".as_ptr());
        if method.is_null() {
            return Err(jni.failure("finding a method of the runtime"));
        }
        jni_call!(jni, CallStaticVoidMethodA, class.raw(), method, null());
    }
    if jni.exception_pending() { Err(jni.failure("calling the runtime")) } else { Ok(()) }
}

/// Calls a static method whose only parameter is a class, and that has no result.
pub(crate) fn call_static_void_with_class(
    jni: &Jni<'_>,
    class: GlobalClass,
    name: &CStr,
    argument: GlobalClass,
) -> Result<(), JavaError> {
    let arguments = [jni::jvalue { l: argument.raw() }];
    // SAFETY: valid environment, live classes, NUL-terminated names; the descriptor fits the call made with it and its one argument.
    unsafe {
        let method = jni_call!(jni, GetStaticMethodID, class.raw(), name.as_ptr(), c"(Ljava/lang/Class;)V".as_ptr());
        if method.is_null() {
            return Err(jni.failure("finding a method of the runtime"));
        }
        jni_call!(jni, CallStaticVoidMethodA, class.raw(), method, arguments.as_ptr());
    }
    if jni.exception_pending() { Err(jni.failure("calling the runtime")) } else { Ok(()) }
}

/// Looks at an element of a static array of threads; `None` if it is null, or there is no such array.
pub(crate) fn with_static_thread<R>(
    jni: &Jni<'_>,
    class: GlobalClass,
    name: &CStr,
    index: usize,
    look: impl FnOnce(ObjectRef<'_>) -> R,
) -> Option<R> {
    let field = StaticField::find(jni, class, name, c"[Ljava/lang/Thread;").ok()?;
    let index = jni::jsize::try_from(index).ok()?;
    // SAFETY: valid environment, live class, a static field of it that is an array of objects; the index is checked against its length. Gives new local
    // references, freed below.
    let element = unsafe {
        let array = jni.own(jni_call!(jni, GetStaticObjectField, field.class.raw(), field.field))?;
        if index >= jni_call!(jni, GetArrayLength, array.raw()) {
            return None;
        }
        jni.own(jni_call!(jni, GetObjectArrayElement, array.raw(), index))?
    };
    Some(look(element.as_object()))
}

/// A `static double` that native code writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StaticDoubleField(StaticField);

/// A `static long` that native code writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StaticLongField(StaticField);

#[derive(Debug, Clone, Copy)]
struct StaticField {
    class: GlobalClass,
    field: jni::jfieldID,
}

// SAFETY: field ids are valid in every thread while the class lives, and the class is kept by its global reference.
unsafe impl Send for StaticField {}
// SAFETY: as above.
unsafe impl Sync for StaticField {}

impl StaticField {
    /// Initialises the class. The descriptor must be that of the calls made with it.
    fn find(jni: &Jni<'_>, class: GlobalClass, name: &CStr, descriptor: &CStr) -> Result<StaticField, JavaError> {
        // SAFETY: valid environment, live class, NUL-terminated names.
        let field = unsafe { jni_call!(jni, GetStaticFieldID, class.raw(), name.as_ptr(), descriptor.as_ptr()) };
        if field.is_null() {
            Err(jni.failure("finding a field of the runtime"))
        } else {
            Ok(StaticField { class, field })
        }
    }
}

impl StaticLongField {
    /// Finds the field; initialises the class.
    pub(crate) fn find(jni: &Jni<'_>, class: GlobalClass, name: &CStr) -> Result<StaticLongField, JavaError> {
        StaticField::find(jni, class, name, c"J").map(StaticLongField)
    }

    /// Writes the field.
    pub(crate) fn set(self, jni: &Jni<'_>, value: i64) {
        // SAFETY: valid environment; the field is a static long of this class.
        unsafe { jni_call!(jni, SetStaticLongField, self.0.class.raw(), self.0.field, value) };
    }
}

impl StaticDoubleField {
    /// Finds the field; initialises the class.
    pub(crate) fn find(jni: &Jni<'_>, class: GlobalClass, name: &CStr) -> Result<StaticDoubleField, JavaError> {
        StaticField::find(jni, class, name, c"D").map(StaticDoubleField)
    }

    /// Writes the field.
    pub(crate) fn set(self, jni: &Jni<'_>, value: f64) {
        // SAFETY: valid environment; the field is a static double of this class.
        unsafe { jni_call!(jni, SetStaticDoubleField, self.0.class.raw(), self.0.field, value) };
    }
}
