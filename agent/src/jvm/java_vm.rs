//! The Java virtual machine as seen by JNI's invocation interface.

use std::ffi::{CStr, c_void};
use std::ptr::{NonNull, null_mut};

use jvmti_bindings::sys::{jni, jvmti};

use super::environment::Jvmti;
use super::jni::Jni;

/// Handle of the JVM of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JavaVm {
    vm: NonNull<jni::JavaVM>,
}

// SAFETY: a JavaVM pointer is valid in every thread (JNI specification, "The Invocation API").
unsafe impl Send for JavaVm {}
// SAFETY: as above.
unsafe impl Sync for JavaVm {}

impl JavaVm {
    /// # Safety
    /// `vm` must be the JVM that called the agent's entry point.
    pub(crate) unsafe fn from_raw(vm: *mut jni::JavaVM) -> Option<JavaVm> {
        NonNull::new(vm).map(|vm| JavaVm { vm })
    }

    pub(super) fn raw(self) -> *mut jni::JavaVM {
        self.vm.as_ptr()
    }

    /// Creates the agent's JVMTI environment.
    pub(crate) fn jvmti(self) -> Option<Jvmti> {
        let mut env: *mut c_void = null_mut();
        // SAFETY: the JVM is alive while its agents are loaded; the out-parameter is on our stack.
        let result = unsafe { ((**self.vm.as_ptr()).GetEnv)(self.vm.as_ptr(), &mut env, jvmti::JVMTI_VERSION_11) };
        // SAFETY: on JNI_OK the JVM has written a JVMTI environment; the agent never disposes it.
        if result == jni::JNI_OK { unsafe { Jvmti::from_raw(env.cast()) } } else { None }
    }

    /// Runs `body` with the JNI environment of this thread, if the thread is known to the JVM.
    pub(crate) fn with_current_thread<R>(self, body: impl FnOnce(&Jni<'_>) -> R) -> Option<R> {
        let mut env: *mut c_void = null_mut();
        // SAFETY: valid JVM, out-parameter on our stack.
        let result = unsafe { ((**self.vm.as_ptr()).GetEnv)(self.vm.as_ptr(), &mut env, jni::JNI_VERSION_1_8) };
        if result != jni::JNI_OK {
            return None;
        }
        // SAFETY: JNI_OK says that this is the environment of the current thread; it does not leave `body`.
        unsafe { Jni::from_raw(env.cast()) }.map(|jni| body(&jni))
    }

    fn is_attached(self) -> bool {
        self.with_current_thread(|_| ()).is_some()
    }

    /// Attaches this thread as a daemon called `name`, runs `body` and detaches it again. A thread that is attached already stays so: whoever attached it still
    /// uses its environment.
    pub(crate) fn with_attached_daemon<R>(self, name: &CStr, body: impl FnOnce(&Jni<'_>) -> R) -> Option<R> {
        if self.is_attached() {
            return self.with_current_thread(body);
        }
        let mut env: *mut c_void = null_mut();
        let mut arguments =
            jni::JavaVMAttachArgs { version: jni::JNI_VERSION_1_8, name: name.as_ptr().cast_mut(), group: null_mut() };
        // SAFETY: valid JVM; name and arguments live through the call, which does not write to them.
        let result = unsafe {
            let arguments = std::ptr::from_mut(&mut arguments).cast();
            ((**self.vm.as_ptr()).AttachCurrentThreadAsDaemon)(self.vm.as_ptr(), &mut env, arguments)
        };
        if result != jni::JNI_OK {
            return None;
        }
        // SAFETY: JNI_OK says that this is the environment of the current thread; it does not leave `body`.
        let value = unsafe { Jni::from_raw(env.cast()) }.map(|jni| body(&jni));
        // SAFETY: this thread was attached above and holds no reference any more.
        unsafe { ((**self.vm.as_ptr()).DetachCurrentThread)(self.vm.as_ptr()) };
        value
    }
}
