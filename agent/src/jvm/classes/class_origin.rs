//! Where a class is from: module, class loader, code source. Everything is read from fields and the JVM's own tables: no Java code runs.

use std::ffi::CString;
use std::ptr::null_mut;

use jvmti_bindings::sys::jni;
use records::LoaderId;

use super::loaded_classes::LoadedClass;
use super::object_fields::{UrlParts, object_field, string_field};
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// The name of the named module in which the classes of this package and loader are; `package` is in internal form.
pub(crate) fn module_name(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    loader: Option<ObjectRef<'_>>,
    package: &[u8],
) -> Option<String> {
    let package = CString::new(package).ok()?;
    let loader = loader.map_or(null_mut(), ObjectRef::raw);
    let mut module: jni::jobject = null_mut();
    // SAFETY: valid environment, null or a live loader, NUL-terminated modified UTF-8, out-parameter on our stack.
    unsafe { jvmti_call!(jvmti, GetNamedModule, loader, package.as_ptr(), &mut module) }.ok()?;
    // SAFETY: JVMTI gave a new local reference or null.
    let module = unsafe { jni.own(module) }?;
    text(string_field(jni, module.as_object(), c"name")?)
}

/// The name that the loader was given and the name of its class in source form.
pub(crate) fn loader_names(jvmti: Jvmti, jni: &Jni<'_>, loader: ObjectRef<'_>) -> (Option<String>, Option<String>) {
    // SAFETY: valid environment, live reference; gives a new local reference.
    let Some(class) = (unsafe { jni.own(jni_call!(jni, GetObjectClass, loader.raw())) }) else { return (None, None) };
    let class_name = name_of(jvmti, &class).map(|name| instrument_core::internal_name::to_source(&name));
    (given_name(jvmti, jni, loader, class), class_name)
}

/// The field `name` of `java.lang.ClassLoader`: a subclass may have one of its own.
fn given_name<'jni>(jvmti: Jvmti, jni: &'jni Jni<'_>, loader: ObjectRef<'_>, mut class: Local<'jni>) -> Option<String> {
    if jni.exception_pending() {
        return None;
    }
    while name_of(jvmti, &class)? != b"java/lang/ClassLoader" {
        // SAFETY: valid environment, live class; gives a new local reference or null.
        class = unsafe { jni.own(jni_call!(jni, GetSuperclass, class.raw())) }?;
    }
    // SAFETY: valid environment, live initialised class, NUL-terminated texts.
    let field = unsafe { jni_call!(jni, GetFieldID, class.raw(), c"name".as_ptr(), c"Ljava/lang/String;".as_ptr()) };
    jni.forget_exception();
    if field.is_null() {
        return None;
    }
    // SAFETY: the loader is of that class, which has this field, a reference; gives a new local reference or null.
    let name = unsafe { jni.own(jni_call!(jni, GetObjectField, loader.raw(), field)) }?;
    // SAFETY: the descriptor of the field says that it is a string.
    text(unsafe { jni.string_bytes(name.raw()) }?)
}

/// More are not followed: no application has as many, and a loader could claim to be its own parent.
const MOST_PARENTS: usize = 64;

/// The identities of the parents of a loader, the nearest first, without the boot loader.
pub(crate) fn parent_loaders(jvmti: Jvmti, jni: &Jni<'_>, loader: ObjectRef<'_>) -> Vec<LoaderId> {
    let mut parents = Vec::new();
    let mut next = parent_of(jni, loader);
    while let Some(parent) = next.take_if(|_| parents.len() < MOST_PARENTS) {
        parents.push(jvmti.loader_id(Some(parent.as_object())));
        next = parent_of(jni, parent.as_object());
    }
    parents
}

fn parent_of<'jni>(jni: &'jni Jni<'_>, loader: ObjectRef<'_>) -> Option<Local<'jni>> {
    object_field(jni, loader, c"parent", c"Ljava/lang/ClassLoader;").ok().flatten()
}

fn name_of(jvmti: Jvmti, class: &Local<'_>) -> Option<Vec<u8>> {
    // SAFETY: the reference to the class outlives this use of it.
    unsafe { LoadedClass::from_raw(class.raw()) }?.any_internal_name(jvmti)
}

/// The location of the code source of a protection domain.
pub(crate) fn code_location(jni: &Jni<'_>, domain: ObjectRef<'_>) -> Option<UrlParts> {
    let source = object_field(jni, domain, c"codesource", c"Ljava/security/CodeSource;").ok()??;
    let location = object_field(jni, source.as_object(), c"location", c"Ljava/net/URL;").ok()??;
    let part = |name| string_field(jni, location.as_object(), name);
    Some(UrlParts { protocol: part(c"protocol")?, host: part(c"host")?, file: part(c"file")? })
}

fn text(modified_utf8: Vec<u8>) -> Option<String> {
    (!modified_utf8.is_empty()).then(|| classfile::ModifiedUtf8(&modified_utf8).to_string())
}
