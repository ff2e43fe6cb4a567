//! Remembering an object without keeping it alive.

use std::ptr::NonNull;

use crate::jvm::jni::{Jni, ObjectRef, jni_call};

/// A weak global reference. Whoever made it gives it back with [`delete`](Self::delete); forgotten ones cost the JVM a word each.
#[derive(Debug)]
pub(crate) struct WeakObject {
    reference: NonNull<std::ffi::c_void>,
}

// SAFETY: global references of either kind belong to no thread (JNI specification, "Global and Local References").
unsafe impl Send for WeakObject {}
// SAFETY: as above; it is never changed.
unsafe impl Sync for WeakObject {}

impl WeakObject {
    /// `None` if the JVM is out of memory.
    pub(crate) fn new(jni: &Jni<'_>, object: ObjectRef<'_>) -> Option<WeakObject> {
        // SAFETY: valid environment, live reference.
        let reference = unsafe { jni_call!(jni, NewWeakGlobalRef, object.raw()) };
        jni.forget_exception();
        NonNull::new(reference).map(|reference| WeakObject { reference })
    }

    /// Whether it is this object.
    pub(crate) fn is(&self, jni: &Jni<'_>, object: ObjectRef<'_>) -> bool {
        // SAFETY: valid environment, live references.
        unsafe { jni_call!(jni, IsSameObject, self.reference.as_ptr(), object.raw()) != 0 }
    }

    /// Gives the reference back.
    pub(crate) fn delete(self, jni: &Jni<'_>) {
        // SAFETY: valid environment; the reference is ours and, as `self` ends here, used no more.
        unsafe { jni_call!(jni, DeleteWeakGlobalRef, self.reference.as_ptr()) };
    }
}
