//! Classes and class loaders that are recognised without being kept alive.

use std::ffi::c_void;
use std::ptr::NonNull;

use jvmti_bindings::sys::jni;
use parking_lot::Mutex;

use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// A reference to a class or a class loader that does not keep it.
#[derive(Debug)]
pub(crate) struct WeakClass(NonNull<c_void>);

// SAFETY: a JNI weak global reference may be used in every thread.
unsafe impl Send for WeakClass {}
// SAFETY: as above.
unsafe impl Sync for WeakClass {}

/// References that nobody uses any more; they are freed by the next thread that makes one, as that needs a JNI environment.
static UNUSED: Mutex<Vec<WeakClass>> = Mutex::new(Vec::new());

impl WeakClass {
    pub(super) fn of(jni: &Jni<'_>, class: ObjectRef<'_>) -> Option<WeakClass> {
        let unused = std::mem::take(&mut *UNUSED.lock());
        for reference in unused {
            let reference = std::mem::ManuallyDrop::new(reference);
            // SAFETY: valid environment; the reference is a weak one that is used no more.
            unsafe { jni_call!(jni, DeleteWeakGlobalRef, reference.0.as_ptr()) };
        }
        // SAFETY: valid environment, live reference; null if there is no memory.
        let reference = NonNull::new(unsafe { jni_call!(jni, NewWeakGlobalRef, class.raw()) }).map(WeakClass);
        jni.forget_exception();
        reference
    }

    /// Returns the class; `None` if it was unloaded.
    pub(super) fn get<'jni>(&self, jni: &'jni Jni<'_>) -> Option<Local<'jni>> {
        // SAFETY: valid environment, weak reference that was not freed; a new local reference or null.
        unsafe { jni.own(jni_call!(jni, NewLocalRef, self.0.as_ptr())) }
    }

    /// Whether it is this class; one that was unloaded is none.
    pub(super) fn is(&self, jni: &Jni<'_>, class: ObjectRef<'_>) -> bool {
        // SAFETY: valid environment, live reference; a weak one whose class is gone equals null alone.
        unsafe { jni_call!(jni, IsSameObject, self.0.as_ptr(), class.raw()) != 0 }
    }
}

impl Drop for WeakClass {
    fn drop(&mut self) {
        UNUSED.lock().push(WeakClass(self.0));
    }
}

/// Returns the class of an object.
pub(super) fn class_of<'jni>(jni: &'jni Jni<'_>, object: ObjectRef<'_>) -> Option<Local<'jni>> {
    // SAFETY: valid environment, live object; gives a new local reference.
    unsafe {
        let class: jni::jclass = jni_call!(jni, GetObjectClass, object.raw());
        jni.own(class)
    }
}
