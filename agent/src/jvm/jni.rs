//! JNI on the current thread: references, exceptions, strings, arrays.

use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};

use jvmti_bindings::sys::jni;

use super::error::JavaError;

/// Calls a function of the JNI table; the caller vouches for the arguments. Only usable inside `unsafe`.
macro_rules! jni_call {
    ($jni:expr, $function:ident $(, $argument:expr)* $(,)?) => {{
        let env = $jni.raw();
        ((**env).$function)(env $(, $argument)*)
    }};
}
pub(super) use jni_call;

/// The JNI environment of the current thread, for the length of one callback. Neither `Send` nor `Sync`.
#[derive(Debug)]
pub(crate) struct Jni<'callback> {
    env: NonNull<jni::JNIEnv>,
    scope: PhantomData<&'callback mut *mut ()>,
}

/// A reference to a Java object that somebody else keeps alive for `'callback`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectRef<'callback> {
    object: NonNull<std::ffi::c_void>,
    scope: PhantomData<&'callback *mut ()>,
}

impl ObjectRef<'_> {
    /// # Safety
    /// `object` must be null or a JNI reference that stays valid for the chosen lifetime.
    pub(super) unsafe fn from_raw(object: jni::jobject) -> Option<Self> {
        NonNull::new(object).map(|object| ObjectRef { object, scope: PhantomData })
    }

    pub(super) fn raw(self) -> jni::jobject {
        self.object.as_ptr()
    }
}

/// A local reference of our own: freed when dropped.
#[derive(Debug)]
pub(crate) struct Local<'jni> {
    jni: &'jni Jni<'jni>,
    object: NonNull<std::ffi::c_void>,
}

impl Local<'_> {
    pub(super) fn raw(&self) -> jni::jobject {
        self.object.as_ptr()
    }

    /// Gives the reference to the JVM, as the result of a native method.
    pub(super) fn into_raw(self) -> jni::jobject {
        let object = self.object.as_ptr();
        std::mem::forget(self);
        object
    }

    /// The object, as long as this reference to it lives.
    pub(crate) fn as_object(&self) -> ObjectRef<'_> {
        ObjectRef { object: self.object, scope: PhantomData }
    }
}

impl Drop for Local<'_> {
    fn drop(&mut self) {
        // SAFETY: the reference was made on this thread (Local is not Send) and is used no more. Allowed with a pending exception.
        unsafe { jni_call!(self.jni, DeleteLocalRef, self.object.as_ptr()) };
    }
}

impl<'callback> Jni<'callback> {
    /// # Safety
    /// `env` must be null or the JNI environment of the current thread, in the LIVE phase, and the result must not be kept
    /// longer than the callback that received it.
    pub(super) unsafe fn from_raw(env: *mut jni::JNIEnv) -> Option<Jni<'callback>> {
        NonNull::new(env).map(|env| Jni { env, scope: PhantomData })
    }

    pub(super) fn raw(&self) -> *mut jni::JNIEnv {
        self.env.as_ptr()
    }

    /// Whether the thread is on its way to throw; almost no JNI function may be called then.
    pub(crate) fn exception_pending(&self) -> bool {
        // SAFETY: valid environment of this thread.
        unsafe { jni_call!(self, ExceptionCheck) != 0 }
    }

    /// Clears a pending exception, if there is one.
    pub(super) fn forget_exception(&self) {
        if self.exception_pending() {
            // SAFETY: valid environment of this thread.
            unsafe { jni_call!(self, ExceptionClear) };
        }
    }

    /// Wraps a new local reference, `None` if it is null.
    ///
    /// # Safety
    /// `object` must be null or a local reference of this thread that nobody else frees.
    pub(super) unsafe fn own<'jni>(&'jni self, object: jni::jobject) -> Option<Local<'jni>>
    where
        'callback: 'jni,
    {
        NonNull::new(object).map(|object| Local { jni: self, object })
    }

    /// Turns what the last call left behind into an error, clearing the Java exception.
    pub(super) fn failure(&self, action: &'static str) -> JavaError {
        // SAFETY: valid environment; ExceptionOccurred gives a new local reference or null.
        let exception = unsafe { self.own(jni_call!(self, ExceptionOccurred)) };
        // SAFETY: valid environment; allowed at any time.
        unsafe { jni_call!(self, ExceptionClear) };
        JavaError { action, exception: exception.and_then(|exception| self.describe(&exception)) }
    }

    /// `toString()` of an object; `None` if that fails too.
    fn describe(&self, object: &Local<'_>) -> Option<String> {
        // SAFETY: valid environment, live reference, NUL-terminated names; java.lang.Object has this method with this descriptor.
        let text = unsafe {
            let class = self.own(jni_call!(self, GetObjectClass, object.raw()))?;
            let method =
                jni_call!(self, GetMethodID, class.raw(), c"toString".as_ptr(), c"()Ljava/lang/String;".as_ptr());
            if method.is_null() {
                self.forget_exception();
                return None;
            }
            self.own(jni_call!(self, CallObjectMethodA, object.raw(), method, std::ptr::null()))
        };
        self.forget_exception();
        // SAFETY: the reference is a java.lang.String, because the method's descriptor says so.
        unsafe { self.string_bytes(text?.raw()) }.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The modified UTF-8 bytes of a string.
    ///
    /// # Safety
    /// `string` must be null or a live reference to a `java.lang.String`.
    pub(super) unsafe fn string_bytes(&self, string: jni::jstring) -> Option<Vec<u8>> {
        if string.is_null() {
            return None;
        }
        // SAFETY: valid environment and string; null for the copy flag is allowed.
        let characters = unsafe { jni_call!(self, GetStringUTFChars, string, null_mut()) };
        if characters.is_null() {
            // SAFETY: valid environment; null means that an OutOfMemoryError is pending.
            unsafe { jni_call!(self, ExceptionClear) };
            return None;
        }
        // SAFETY: JNI gave a NUL-terminated string, which is released once, after the copy.
        unsafe {
            let bytes = std::ffi::CStr::from_ptr(characters).to_bytes().to_vec();
            jni_call!(self, ReleaseStringUTFChars, string, characters);
            Some(bytes)
        }
    }

    /// The content of a `byte[]`.
    ///
    /// # Safety
    /// `array` must be a live reference to a `byte[]`.
    pub(super) unsafe fn byte_array(&self, array: jni::jbyteArray) -> Vec<u8> {
        // SAFETY: valid environment and array (caller).
        let length = unsafe { jni_call!(self, GetArrayLength, array) };
        let mut bytes = vec![0_u8; usize::try_from(length).unwrap_or(0)];
        // SAFETY: the buffer has exactly the array's length, and arrays do not change their length.
        unsafe { jni_call!(self, GetByteArrayRegion, array, 0, length, bytes.as_mut_ptr().cast()) };
        bytes
    }
}
