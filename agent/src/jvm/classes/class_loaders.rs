//! Which loader an object is, and what it follows, read from its fields: no Java code runs for it, and nothing is waited for.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use jvmti_bindings::sys::jni::jfieldID;

use super::loaded_classes::LoadedClass;
use super::weak_object::WeakObject;
use crate::jvm::environment::Jvmti;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

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

const URL_CLASS_PATH: &CStr = c"Ljdk/internal/loader/URLClassPath;";
const STRING: &CStr = c"Ljava/lang/String;";

/// Asked for with each class that is looked up: finding a field by its name takes longer than the lookup.
static PARENT: KnownField = KnownField::new(c"parent", c"Ljava/lang/ClassLoader;");
/// One for the loader of the application, one for `java.net.URLClassLoader`, as they come.
static PATHS: [KnownField; 2] = [const { KnownField::new(c"ucp", URL_CLASS_PATH) }; 2];
static ELEMENTS: KnownField = KnownField::new(c"path", c"Ljava/util/ArrayList;");
static LENGTH: KnownField = KnownField::new(c"size", c"I");

/// A field that is remembered for the class of which it was asked first.
struct KnownField {
    name: &'static CStr,
    descriptor: &'static CStr,
    /// The class of the object, and the id, which is good as long as the class is there.
    found: OnceLock<(WeakObject, AtomicPtr<c_void>)>,
}

impl KnownField {
    const fn new(name: &'static CStr, descriptor: &'static CStr) -> KnownField {
        KnownField { name, descriptor, found: OnceLock::new() }
    }

    /// `None` also if it is known for another class.
    fn of(&self, jni: &Jni<'_>, object: ObjectRef<'_>) -> Option<jfieldID> {
        // Not while the thread is on its way to throw: its exception would be lost.
        if jni.exception_pending() {
            return None;
        }
        // SAFETY: valid environment, live object; gives a new local reference.
        let class = unsafe { jni.own(jni_call!(jni, GetObjectClass, object.raw())) }?;
        if let Some((known, id)) = self.found.get() {
            return known.is(jni, class.as_object()).then(|| id.load(Ordering::Relaxed));
        }
        let id = field(jni, object, self.name, self.descriptor)?;
        let found = (WeakObject::new(jni, class.as_object())?, AtomicPtr::new(id));
        if let Err((unused, _)) = self.found.set(found) {
            unused.delete(jni);
        }
        Some(id)
    }

    /// The same for an object of any class.
    fn of_any(&self, jni: &Jni<'_>, object: ObjectRef<'_>) -> Option<jfieldID> {
        self.of(jni, object).or_else(|| field(jni, object, self.name, self.descriptor))
    }
}

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
    // SAFETY: it was found in the class of the loader; the descriptor is that of a reference.
    let parent = unsafe { object_in(jni, loader, PARENT.of_any(jni, loader)) }.ok()?;
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
    let [first, second] = &PATHS;
    let field = first.of(jni, loader).or_else(|| second.of_any(jni, loader));
    // SAFETY: it was found in the class of the loader; the descriptor is that of a reference.
    let path = unsafe { object_in(jni, loader, field) }.ok()??;
    let path = path.as_object();
    // SAFETY: the same of the path.
    unsafe { object_in(jni, path, ELEMENTS.of_any(jni, path)) }.ok()?
}

fn list_length(jni: &Jni<'_>, list: ObjectRef<'_>) -> Option<usize> {
    let field = LENGTH.of_any(jni, list)?;
    // SAFETY: valid environment, live object of a class with this field, which is an int.
    usize::try_from(unsafe { jni_call!(jni, GetIntField, list.raw(), field) }).ok()
}

/// A string, empty if it is null.
pub(in crate::jvm) fn string_field(jni: &Jni<'_>, object: ObjectRef<'_>, name: &std::ffi::CStr) -> Option<Vec<u8>> {
    match object_field(jni, object, name, STRING).ok()? {
        // SAFETY: the descriptor says that it is a string.
        Some(text) => unsafe { jni.string_bytes(text.raw()) },
        None => Some(Vec::new()),
    }
}

/// There is no such field.
pub(in crate::jvm) struct NoField;

pub(in crate::jvm) fn object_field<'jni>(
    jni: &'jni Jni<'_>,
    object: ObjectRef<'_>,
    name: &CStr,
    descriptor: &CStr,
) -> Result<Option<Local<'jni>>, NoField> {
    // SAFETY: it was found in the class of the object; all callers name descriptors of references.
    unsafe { object_in(jni, object, field(jni, object, name, descriptor)) }
}

/// The content of a field.
///
/// # Safety
/// The object must have the field, and it must be a reference.
unsafe fn object_in<'jni>(
    jni: &'jni Jni<'_>,
    object: ObjectRef<'_>,
    field: Option<jfieldID>,
) -> Result<Option<Local<'jni>>, NoField> {
    let field = field.ok_or(NoField)?;
    // SAFETY: valid environment, live object of a class with this field, which is a reference; gives a new local reference or null.
    Ok(unsafe { jni.own(jni_call!(jni, GetObjectField, object.raw(), field)) })
}

/// A field of the object's class or of one of its super classes.
fn field(jni: &Jni<'_>, object: ObjectRef<'_>, name: &CStr, descriptor: &CStr) -> Option<jfieldID> {
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
