//! Who listens to the JVM, and what every callback does before it calls: the LIVE phase is checked, panics are fenced.

use std::cell::OnceCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use jvmti_bindings::sys::{jni, jvmti};
use records::LoaderId;

use super::event_guard::{self, Event};
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::classes::method_facts::MethodId;
use crate::jvm::environment::{Jvmti, Phase};
use crate::jvm::jni::{Jni, ObjectRef};

/// A class as the class file hook presents it.
#[derive(Debug)]
pub(crate) struct ClassFile<'callback> {
    /// The agent's environment.
    pub(crate) jvmti: Jvmti,
    /// JNI of the loading thread, in the LIVE phase.
    pub(crate) jni: &'callback Jni<'callback>,
    /// Internal name; `None` if the class was defined without one.
    pub(crate) name: Option<&'callback [u8]>,
    /// Defining loader; `None` for the boot loader.
    pub(crate) loader: Option<ObjectRef<'callback>>,
    /// Where its code is from and what it may do; `None` for classes of the boot loader.
    pub(crate) protection_domain: Option<ObjectRef<'callback>>,
    /// The class file.
    pub(crate) bytes: &'callback [u8],
    /// What the JVM says is being redefined; see [`ClassFile::is_loaded`].
    pub(in crate::jvm) redefined: Option<LoadedClass<'callback>>,
    pub(in crate::jvm) loader_id: OnceCell<LoaderId>,
}

impl ClassFile<'_> {
    /// Returns the identity of the defining loader. The JVM is asked once, and only if the answer is needed.
    pub(crate) fn loader_id(&self) -> LoaderId {
        *self.loader_id.get_or_init(|| self.jvmti.loader_id(self.loader))
    }

    /// The same class in another form.
    pub(crate) fn with_bytes<'other>(&'other self, bytes: &'other [u8]) -> ClassFile<'other> {
        ClassFile { bytes, loader_id: self.loader_id.clone(), ..*self }
    }

    /// Whether the class is surely about to be defined.
    pub(crate) fn is_new(&self) -> bool {
        self.redefined.is_none()
    }

    /// Whether the class exists already and only gets new bodies. While the JVM retransforms a class, it also presents others in
    /// passing that it loads for the first time and says the same of them, so the name must agree.
    pub(crate) fn is_loaded(&self) -> bool {
        self.redefined.is_some_and(|class| match (class.internal_name(self.jvmti), self.name) {
            (Some(redefined), Some(presented)) => redefined == presented,
            _ => false,
        })
    }
}

/// A piece of machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodePlace {
    /// Where it begins.
    pub(crate) address: u64,
    /// Bytes.
    pub(crate) length: u64,
}

/// Who listens to the JVM.
pub(crate) trait JvmEvents: Sync {
    /// The JVM is up, no application code has run.
    fn vm_init(&self, jvmti: Jvmti, jni: &Jni<'_>);
    /// The JVM shuts down; the last moment for JNI.
    fn vm_death(&self, jvmti: Jvmti, jni: &Jni<'_>);
    /// A class is loaded or retransformed; `Some` replaces its bytes.
    fn class_file(&self, class: &ClassFile<'_>) -> Option<Vec<u8>>;
    /// A class has been linked.
    fn class_prepared(&self, jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>);
    /// The current thread is about to run its first Java code.
    fn thread_started(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>);
    /// The current thread has run its last Java code. `thread` is absent outside the LIVE phase.
    fn thread_ended(&self, thread: Option<(&Jni<'_>, ObjectRef<'_>)>);
    /// The application is stopped for the garbage collector, or resumed. The thread is one of the JVM's own, which must
    /// wait for nothing: no lock, no JNI, no JVMTI.
    fn garbage_collection(&self, starts: bool);
    /// A method has been compiled.
    fn method_compiled(&self, jvmti: Jvmti, method: MethodId, place: CodePlace);
    /// The compiled code at this address is gone.
    fn compiled_code_unloaded(&self, address: u64);
    /// The JVM has made machine code for itself.
    fn code_generated(&self, name: &[u8], place: CodePlace);
    /// The current thread has allocated an object; the JVM picks some of them.
    fn object_allocated(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>, class: LoadedClass<'_>, size: u64);
    /// The class loader of this identity is gone. The application may be stopped now: no JNI, no JVMTI.
    fn loader_freed(&self, loader: LoaderId);
}

static LISTENER: OnceLock<&'static dyn JvmEvents> = OnceLock::new();

/// Between VMInit and VMDeath there is no need to ask the JVM for its phase at each class, which takes longer than most answers.
static SURELY_LIVE: AtomicBool = AtomicBool::new(false);

/// Sets who listens; the first call counts.
pub(in crate::jvm) fn set_listener(listener: &'static dyn JvmEvents) {
    LISTENER.get_or_init(|| listener);
}

/// Whether the JVM is known to be up.
pub(in crate::jvm) fn is_surely_live() -> bool {
    SURELY_LIVE.load(Ordering::Acquire)
}

pub(in crate::jvm) fn set_surely_live(is_live: bool) {
    SURELY_LIVE.store(is_live, Ordering::Release);
}

/// Who listens.
pub(in crate::jvm) fn listener() -> Option<&'static dyn JvmEvents> {
    LISTENER.get().copied()
}

/// Runs a callback without JNI environment; nothing happens outside the LIVE phase.
pub(in crate::jvm) fn while_live(event: Event, body: impl FnOnce(&'static dyn JvmEvents)) {
    event_guard::run(event, || {
        if let Some(listener) = listener().filter(|_| is_surely_live()) {
            body(listener);
        }
    });
}

/// Gives a callback its safe arguments; nothing happens outside the LIVE phase, where JNI must not be touched.
pub(in crate::jvm) fn in_live_phase<R: Default>(
    event: Event,
    env: *mut jvmti::jvmtiEnv,
    jni_env: *mut jni::JNIEnv,
    body: impl FnOnce(&'static dyn JvmEvents, Jvmti, &Jni<'_>) -> R,
) -> R {
    event_guard::run(event, || {
        let Some(listener) = LISTENER.get() else { return R::default() };
        // SAFETY: the JVM passes the environment for which the callback was installed.
        let Some(jvmti) = (unsafe { Jvmti::from_raw(env) }) else { return R::default() };
        if !is_surely_live() && jvmti.phase() != Phase::Live {
            return R::default();
        }
        // SAFETY: in the LIVE phase the JVM passes the JNI environment of the current thread; it does not leave `body`.
        let Some(jni) = (unsafe { Jni::from_raw(jni_env) }) else { return R::default() };
        body(*listener, jvmti, &jni)
    })
}
