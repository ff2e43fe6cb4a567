//! What only Java code of the application and the JDK knows of classes: the bytes that a class loader finds, the protection domain of a class.

use std::ptr::null;

use jvmti_bindings::sys::jni;

use super::loaded_classes::LoadedClass;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// `loader.getResourceAsStream(name + ".class")`, read to its end. Nothing is loaded or initialised by it except what the
/// loader itself needs; Java code runs, so class hooks can nest. `None` if there is no such resource or anything throws.
pub(crate) fn read_class_resource(jni: &Jni<'_>, loader: ObjectRef<'_>, internal_name: &[u8]) -> Option<Vec<u8>> {
    read_class_resource_up_to(jni, loader, internal_name, usize::MAX)
}

/// The same; `None` also if it has more than `most` bytes, of which no more than that are read.
pub(crate) fn read_class_resource_up_to(
    jni: &Jni<'_>,
    loader: ObjectRef<'_>,
    internal_name: &[u8],
    most: usize,
) -> Option<Vec<u8>> {
    if jni.exception_pending() {
        return None;
    }
    let bytes = read(jni, loader, internal_name, most).filter(|bytes| bytes.len() <= most);
    // Whatever the loader threw concerns only this lookup.
    jni.forget_exception();
    bytes
}

/// Runs `body` with the protection domain of a class, if it has one.
pub(crate) fn with_protection_domain<R>(
    jni: &Jni<'_>,
    class: LoadedClass<'_>,
    body: impl FnOnce(Option<ObjectRef<'_>>) -> R,
) -> R {
    if jni.exception_pending() {
        return body(None);
    }
    // SAFETY: a class object is a java.lang.Class, which has this method with this descriptor; it takes nothing.
    let domain = unsafe { call(jni, class.raw(), c"getProtectionDomain", c"()Ljava/security/ProtectionDomain;", &[]) };
    jni.forget_exception();
    // SAFETY: `domain` outlives the call of `body`.
    body(domain.as_ref().and_then(|domain| unsafe { ObjectRef::from_raw(domain.raw()) }))
}

fn read(jni: &Jni<'_>, loader: ObjectRef<'_>, internal_name: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut path = internal_name.to_vec();
    path.extend_from_slice(b".class\0");
    let path = std::ffi::CStr::from_bytes_with_nul(&path).ok()?;
    // SAFETY: valid environment, NUL-terminated modified UTF-8 (it is read from a class file).
    let path = unsafe { jni.own(jni_call!(jni, NewStringUTF, path.as_ptr())) }?;
    // SAFETY: `loader` is a java.lang.ClassLoader, which has this method with this descriptor; the argument is a string.
    let stream = unsafe {
        call(
            jni,
            loader.raw(),
            c"getResourceAsStream",
            c"(Ljava/lang/String;)Ljava/io/InputStream;",
            &[jni::jvalue { l: path.raw() }],
        )
    }?;
    // One more shows that there is more.
    let limit = jni::jint::try_from(most.saturating_add(1)).unwrap_or(jni::jint::MAX);
    // SAFETY: `stream` is a java.io.InputStream, which has this method since JDK 11.
    let array = unsafe { call(jni, stream.raw(), c"readNBytes", c"(I)[B", &[jni::jvalue { i: limit }]) };
    // A failed read must not hinder the close.
    jni.forget_exception();
    // SAFETY: as above; `close` returns nothing, which `call_void` respects.
    unsafe { call_void(jni, stream.raw(), c"close") };
    // SAFETY: the descriptor says that the result is a byte[].
    array.map(|array| unsafe { jni.byte_array(array.raw()) })
}

/// # Safety
/// `object` must be live and of a class that has this method with this descriptor, which returns a reference.
unsafe fn call<'jni>(
    jni: &'jni Jni<'_>,
    object: jni::jobject,
    name: &std::ffi::CStr,
    descriptor: &std::ffi::CStr,
    arguments: &[jni::jvalue],
) -> Option<Local<'jni>> {
    // SAFETY: valid environment, live object, NUL-terminated names; arguments match the descriptor (caller).
    let result = unsafe {
        let class = jni.own(jni_call!(jni, GetObjectClass, object))?;
        let method = jni_call!(jni, GetMethodID, class.raw(), name.as_ptr(), descriptor.as_ptr());
        if method.is_null() {
            return None;
        }
        let arguments = if arguments.is_empty() { null() } else { arguments.as_ptr() };
        jni.own(jni_call!(jni, CallObjectMethodA, object, method, arguments))
    };
    if jni.exception_pending() { None } else { result }
}

/// # Safety
/// `object` must be live and of a class that has this method with the descriptor `()V`.
unsafe fn call_void(jni: &Jni<'_>, object: jni::jobject, name: &std::ffi::CStr) {
    // SAFETY: valid environment, live object, NUL-terminated names.
    unsafe {
        let Some(class) = jni.own(jni_call!(jni, GetObjectClass, object)) else { return };
        let method = jni_call!(jni, GetMethodID, class.raw(), name.as_ptr(), c"()V".as_ptr());
        if !method.is_null() {
            jni_call!(jni, CallVoidMethodA, object, method, null());
        }
    }
    jni.forget_exception();
}
