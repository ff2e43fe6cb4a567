//! Which loader an object is, and what it follows, read from its fields: no Java code runs for it, and nothing is waited for.

use super::environment::Jvmti;
use super::jni::{Jni, Local, ObjectRef, jni_call};
use super::loaded_classes::LoadedClass;

/// Loaders of which it is known what they do. A subclass may do something else, so the class must be exactly this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoaderKind {
    /// The JVM's own loader of the class path: the JVM makes one object of that class, and nobody else can.
    Application,
    /// The JVM's own loader of those modules of the JDK that the boot loader does not have.
    Platform,
    /// `java.net.URLClassLoader`: first its parent, then its own jars and directories.
    Urls,
    /// All others.
    Other,
}

/// One element of a loader's class path, as far as its URL says where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlParts {
    /// Such as `file`.
    pub(crate) protocol: Vec<u8>,
    /// Empty for this machine.
    pub(crate) host: Vec<u8>,
    /// Path and query, not decoded.
    pub(crate) file: Vec<u8>,
}

const URL_CLASS_PATH: &std::ffi::CStr = c"Ljdk/internal/loader/URLClassPath;";
const STRING: &std::ffi::CStr = c"Ljava/lang/String;";

/// What kind of loader this is.
pub(crate) fn loader_kind(jvmti: Jvmti, jni: &Jni<'_>, loader: ObjectRef<'_>) -> LoaderKind {
    // SAFETY: valid environment, live reference; gives a new local reference.
    let Some(class) = (unsafe { jni.own(jni_call!(jni, GetObjectClass, loader.raw())) }) else {
        return LoaderKind::Other;
    };
    // SAFETY: the reference to the class outlives this use of it.
    let Some(class) = (unsafe { LoadedClass::from_raw(class.raw()) }) else { return LoaderKind::Other };
    let kind = match class.internal_name(jvmti).as_deref() {
        Some(b"jdk/internal/loader/ClassLoaders$AppClassLoader") => LoaderKind::Application,
        Some(b"jdk/internal/loader/ClassLoaders$PlatformClassLoader") => LoaderKind::Platform,
        Some(b"java/net/URLClassLoader") => LoaderKind::Urls,
        _ => return LoaderKind::Other,
    };
    if class.is_boot(jvmti, jni) { kind } else { LoaderKind::Other }
}

/// Runs `body` with the parent of a loader, `None` being the boot loader. No answer if this JDK keeps it elsewhere.
pub(crate) fn with_parent<R>(
    jni: &Jni<'_>,
    loader: ObjectRef<'_>,
    body: impl FnOnce(Option<ObjectRef<'_>>) -> R,
) -> Option<R> {
    let parent = object_field(jni, loader, c"parent", c"Ljava/lang/ClassLoader;").ok()?;
    Some(body(parent.as_ref().map(Local::as_object)))
}

/// How many elements the class path of such a loader has: more are added at its end, none is taken away.
pub(crate) fn class_path_length(jni: &Jni<'_>, loader: ObjectRef<'_>) -> Option<usize> {
    let list = url_list(jni, loader)?;
    list_length(jni, list.as_object())
}

/// The elements of the class path of such a loader.
pub(crate) fn class_path_urls(jni: &Jni<'_>, loader: ObjectRef<'_>) -> Option<Vec<UrlParts>> {
    let list = url_list(jni, loader)?;
    let length = list_length(jni, list.as_object())?;
    let array = object_field(jni, list.as_object(), c"elementData", c"[Ljava/lang/Object;").ok()??;
    // SAFETY: valid environment; the descriptor says that it is an array.
    let capacity = unsafe { jni_call!(jni, GetArrayLength, array.raw()) };
    if usize::try_from(capacity).ok()? < length {
        return None;
    }
    (0..i32::try_from(length).ok()?)
        .map(|at| {
            // SAFETY: valid environment; an array of objects that is longer than this.
            let url = unsafe { jni.own(jni_call!(jni, GetObjectArrayElement, array.raw(), at)) }?;
            let text = |name| string_field(jni, url.as_object(), name);
            Some(UrlParts { protocol: text(c"protocol")?, host: text(c"host")?, file: text(c"file")? })
        })
        .collect()
}

fn url_list<'jni>(jni: &'jni Jni<'_>, loader: ObjectRef<'_>) -> Option<Local<'jni>> {
    let path = object_field(jni, loader, c"ucp", URL_CLASS_PATH).ok()??;
    object_field(jni, path.as_object(), c"path", c"Ljava/util/ArrayList;").ok()?
}

fn list_length(jni: &Jni<'_>, list: ObjectRef<'_>) -> Option<usize> {
    let field = field(jni, list, c"size", c"I")?;
    // SAFETY: valid environment, live object of a class with this field, which is an int.
    usize::try_from(unsafe { jni_call!(jni, GetIntField, list.raw(), field) }).ok()
}

/// A string, empty if it is null.
fn string_field(jni: &Jni<'_>, object: ObjectRef<'_>, name: &std::ffi::CStr) -> Option<Vec<u8>> {
    match object_field(jni, object, name, STRING).ok()? {
        // SAFETY: the descriptor says that it is a string.
        Some(text) => unsafe { jni.string_bytes(text.raw()) },
        None => Some(Vec::new()),
    }
}

/// There is no such field.
struct NoField;

fn object_field<'jni>(
    jni: &'jni Jni<'_>,
    object: ObjectRef<'_>,
    name: &std::ffi::CStr,
    descriptor: &std::ffi::CStr,
) -> Result<Option<Local<'jni>>, NoField> {
    let field = field(jni, object, name, descriptor).ok_or(NoField)?;
    // SAFETY: valid environment, live object of a class with this field, which is a reference; gives a new local reference or null.
    Ok(unsafe { jni.own(jni_call!(jni, GetObjectField, object.raw(), field)) })
}

/// A field of the object's class or of one of its super classes.
fn field(
    jni: &Jni<'_>,
    object: ObjectRef<'_>,
    name: &std::ffi::CStr,
    descriptor: &std::ffi::CStr,
) -> Option<jvmti_bindings::sys::jni::jfieldID> {
    // Not while the thread is on its way to throw: its exception would be lost.
    if jni.exception_pending() {
        return None;
    }
    // SAFETY: valid environment, live object, NUL-terminated texts. The class is initialised, because there is an object of it.
    let field = unsafe {
        let class = jni.own(jni_call!(jni, GetObjectClass, object.raw()))?;
        jni_call!(jni, GetFieldID, class.raw(), name.as_ptr(), descriptor.as_ptr())
    };
    jni.forget_exception();
    (!field.is_null()).then_some(field)
}
