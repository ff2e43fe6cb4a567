//! Java threads: which they are and what they are called.

use std::ptr::null_mut;
use std::sync::OnceLock;

use jvmti_bindings::sys::{jni, jvmti};

use super::environment::{Jvmti, jvmti_call};
use super::error::JvmtiError;
use super::jni::{Jni, ObjectRef, jni_call};

/// A Java thread.
#[derive(Debug)]
pub(crate) struct ThreadIdentity {
    /// `Thread.getId()`.
    pub(crate) id: u64,
    /// Its name, in modified UTF-8.
    pub(crate) name: Vec<u8>,
}

/// The field ID of `Thread.tid`, which is valid as long as the class is loaded: for ever.
static THREAD_ID: OnceLock<Option<usize>> = OnceLock::new();

/// `Thread.getId()` of a thread, without running Java code.
pub(crate) fn java_thread_id(jni: &Jni<'_>, thread: ObjectRef<'_>) -> Option<u64> {
    let field = (*THREAD_ID.get_or_init(|| thread_id_field(jni)))?;
    // SAFETY: valid environment, live reference to a thread, and a field ID of java.lang.Thread for a long.
    let id = unsafe { jni_call!(jni, GetLongField, thread.raw(), field as jni::jfieldID) };
    u64::try_from(id).ok()
}

fn thread_id_field(jni: &Jni<'_>) -> Option<usize> {
    // SAFETY: valid environment, NUL-terminated names.
    let field = unsafe {
        let class = jni.own(jni_call!(jni, FindClass, c"java/lang/Thread".as_ptr()));
        class.map(|class| jni_call!(jni, GetFieldID, class.raw(), c"tid".as_ptr(), c"J".as_ptr()))
    };
    // A JDK without such a field has thrown.
    jni.forget_exception();
    field.map(|field| field as usize).filter(|field| *field != 0)
}

impl Jvmti {
    /// `Thread.getId()` of the current thread.
    pub(crate) fn current_java_thread_id(self, jni: &Jni<'_>) -> Option<u64> {
        let mut thread = null_mut();
        // SAFETY: valid environment, out-parameter on our stack.
        unsafe { jvmti_call!(self, GetCurrentThread, &mut thread) }.ok()?;
        // SAFETY: JVMTI gave a new local reference or null.
        let owned = unsafe { jni.own(thread) }?;
        // SAFETY: `owned` outlives this use of it.
        java_thread_id(jni, unsafe { ObjectRef::from_raw(owned.raw()) }?)
    }

    /// Id and name of a thread.
    pub(crate) fn thread_identity(self, jni: &Jni<'_>, thread: ObjectRef<'_>) -> Option<ThreadIdentity> {
        let id = java_thread_id(jni, thread)?;
        let mut info = jvmti::jvmtiThreadInfo {
            name: null_mut(),
            priority: 0,
            is_daemon: 0,
            thread_group: null_mut(),
            context_class_loader: null_mut(),
        };
        // SAFETY: valid environment, live thread, out-parameter on our stack.
        unsafe { jvmti_call!(self, GetThreadInfo, thread.raw(), &mut info) }.ok()?;
        // SAFETY: JVMTI gave two new local references or null, and a string that it allocated.
        let (_, _, name) = unsafe {
            (jni.own(info.thread_group), jni.own(info.context_class_loader), self.take_string(info.name.cast()))
        };
        Some(ThreadIdentity { id, name: name.unwrap_or_default() })
    }

    /// All live platform threads.
    pub(crate) fn live_threads(self, jni: &Jni<'_>) -> Result<Vec<ThreadIdentity>, JvmtiError> {
        let (mut count, mut array) = (0, null_mut());
        // SAFETY: valid environment, out-parameters on our stack.
        unsafe { jvmti_call!(self, GetAllThreads, &mut count, &mut array) }?;
        let mut threads = Vec::new();
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: JVMTI gave an array of `count` new local references that are ours.
            let owned = unsafe { jni.own(*array.add(at)) };
            // SAFETY: `owned` outlives this use of it.
            let thread = owned.as_ref().and_then(|thread| unsafe { ObjectRef::from_raw(thread.raw()) });
            threads.extend(thread.and_then(|thread| self.thread_identity(jni, thread)));
        }
        // SAFETY: JVMTI allocated the array.
        unsafe { self.deallocate(array.cast()) };
        Ok(threads)
    }
}
