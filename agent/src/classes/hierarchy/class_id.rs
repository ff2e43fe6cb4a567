//! The identity of a class: its name and its loader.

use records::LoaderId;

use crate::jvm::{Jni, Jvmti, LoadedClass};

/// A class by its name and the loader that defines it.
pub(crate) type ClassId = (Box<[u8]>, LoaderId);

/// Returns the identity of a loaded class; `None` for those that nobody can rewrite.
pub(crate) fn class_id(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) -> Option<ClassId> {
    let name = class.internal_name(jvmti)?;
    Some((name.into(), class.with_loader(jvmti, jni, |loader| jvmti.loader_id(loader))))
}
