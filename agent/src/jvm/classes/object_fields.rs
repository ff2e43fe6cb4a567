//! Fields of objects, read without running Java code, for what they say about class loaders and code sources.

use std::ffi::CStr;

use jvmti_bindings::sys::jni::jfieldID;

use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// A URL, as far as it says where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlParts {
    /// Such as `file`.
    pub(crate) protocol: Vec<u8>,
    /// Empty for this machine.
    pub(crate) host: Vec<u8>,
    /// Path and query, not decoded.
    pub(crate) file: Vec<u8>,
}

const STRING: &CStr = c"Ljava/lang/String;";

/// A string, empty if it is null.
pub(in crate::jvm) fn string_field(jni: &Jni<'_>, object: ObjectRef<'_>, name: &std::ffi::CStr) -> Option<Vec<u8>> {
    match object_field(jni, object, name, STRING).ok()? {
        // SAFETY: the descriptor says that it is a string.
        Some(text) => unsafe { jni.string_bytes(text.raw()) },
        None => Some(Vec::new()),
    }
}

/// There is no such field.
pub(in crate::jvm) struct NoField;

pub(in crate::jvm) fn object_field<'jni>(
    jni: &'jni Jni<'_>,
    object: ObjectRef<'_>,
    name: &CStr,
    descriptor: &CStr,
) -> Result<Option<Local<'jni>>, NoField> {
    // SAFETY: it was found in the class of the object; all callers name descriptors of references.
    unsafe { object_in(jni, object, field(jni, object, name, descriptor)) }
}

/// The content of a field.
///
/// # Safety
/// The object must have the field, and it must be a reference.
unsafe fn object_in<'jni>(
    jni: &'jni Jni<'_>,
    object: ObjectRef<'_>,
    field: Option<jfieldID>,
) -> Result<Option<Local<'jni>>, NoField> {
    let field = field.ok_or(NoField)?;
    // SAFETY: valid environment, live object of a class with this field, which is a reference; gives a new local reference or null.
    Ok(unsafe { jni.own(jni_call!(jni, GetObjectField, object.raw(), field)) })
}

/// A field of the object's class or of one of its super classes.
fn field(jni: &Jni<'_>, object: ObjectRef<'_>, name: &CStr, descriptor: &CStr) -> Option<jfieldID> {
    // Not while the thread is on its way to throw: its exception would be lost.
    if jni.exception_pending() {
        return None;
    }
    // SAFETY: valid environment, live object, NUL-terminated texts. The class is initialised, because there is an object of it.
    let field = unsafe {
        let class = jni.own(jni_call!(jni, GetObjectClass, object.raw()))?;
        jni_call!(jni, GetFieldID, class.raw(), name.as_ptr(), descriptor.as_ptr())
    };
    jni.forget_exception();
    (!field.is_null()).then_some(field)
}
