//! Recognising the loader of the application's class path.

use super::environment::Jvmti;
use super::jni::{Jni, ObjectRef, jni_call};
use super::loaded_classes::LoadedClass;

/// Whether this is the JVM's own loader of the class path: the JVM makes one object of that class, and nobody else can.
pub(crate) fn is_application_loader(jvmti: Jvmti, jni: &Jni<'_>, loader: ObjectRef<'_>) -> bool {
    // SAFETY: valid environment, live reference; gives a new local reference.
    let Some(class) = (unsafe { jni.own(jni_call!(jni, GetObjectClass, loader.raw())) }) else { return false };
    // SAFETY: the reference to the class outlives this use of it.
    let Some(class) = (unsafe { LoadedClass::from_raw(class.raw()) }) else { return false };
    let is_named_so =
        class.internal_name(jvmti).is_some_and(|name| name == b"jdk/internal/loader/ClassLoaders$AppClassLoader");
    is_named_so && class.is_boot(jvmti, jni)
}
