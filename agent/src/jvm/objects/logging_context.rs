//! The mapped diagnostic context of SLF4J, as the method sees it that is called.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni;
use parking_lot::Mutex;

use super::anchored_call::with_anchored_method;
use super::bounded_table::BoundedTable;
use super::plain_values::{self, new_string, take_thrown};
use super::weak_class::WeakClass;
use crate::jvm::classes::loaded_classes::{LoadedClass, LoadedClasses};
use crate::jvm::classes::method_facts::MethodId;
use crate::jvm::environment::Jvmti;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// A loader that did not find the class is asked again after this time: each time it searches its class path, and makes an exception.
const BETWEEN_TRIES: Duration = Duration::from_secs(10);
/// Loaders that are looked at, each the parent of the one before.
const MOST_PARENTS: usize = 64;

/// The class that has the logging context.
pub(crate) const LOGGING_CONTEXT: &str = "org.slf4j.MDC";

/// What a class loader has answered; `None` is the boot loader.
#[derive(Debug)]
struct OfLoader {
    loader: Option<WeakClass>,
    found: Result<LoggingContext, Failure>,
}

#[derive(Debug)]
struct LoggingContext {
    class: WeakClass,
    /// Its method `get`, which is not looked for before the class is initialised.
    get: OnceLock<MethodId>,
}

// SAFETY: method ids may be used in every thread, as weak references.
unsafe impl Sync for LoggingContext {}

#[derive(Debug)]
struct Failure {
    reason: String,
    tried: Mutex<Instant>,
}

static OF_LOADERS: BoundedTable<Arc<OfLoader>> = BoundedTable::new();

/// Returns the value of a key; `None` if there is none. `Err` with the reason, for instance where there is no SLF4J.
pub(crate) fn logging_context(jvmti: Jvmti, jni: &Jni<'_>, key: &str) -> Result<Option<String>, String> {
    let found = with_anchored_method(jvmti, jni, |_, class| {
        class.with_loader(jvmti, jni, |loader| read(jvmti, jni, loader, key))
    });
    found.unwrap_or_else(|| Err("no memory".to_owned()))
}

fn read(jvmti: Jvmti, jni: &Jni<'_>, loader: Option<ObjectRef<'_>>, key: &str) -> Result<Option<String>, String> {
    let thrown = || take_thrown(jvmti, jni).unwrap_or_else(|| "no memory".to_owned());
    let known = of_loader(jvmti, jni, loader)?;
    let found = known.found.as_ref().map_err(|failure| failure.reason.clone())?;
    let context = found.class.get(jni).ok_or_else(|| format!("{LOGGING_CONTEXT} was unloaded"))?;
    // SAFETY: the class is used as long as the reference lives.
    let is_initialised =
        unsafe { LoadedClass::from_raw(context.raw()) }.is_some_and(|class| class.is_initialised(jvmti));
    if !is_initialised {
        // Then nobody has put anything into it.
        return Ok(None);
    }
    let get = match found.get.get() {
        Some(get) => *get,
        None => {
            let descriptor = c"(Ljava/lang/String;)Ljava/lang/String;";
            // SAFETY: valid environment, live initialised class, NUL-terminated texts.
            let get = unsafe { jni_call!(jni, GetStaticMethodID, context.raw(), c"get".as_ptr(), descriptor.as_ptr()) };
            let get = MethodId::from_raw(get).ok_or_else(|| format!("{LOGGING_CONTEXT} has no `get`: {}", thrown()))?;
            *found.get.get_or_init(|| get)
        }
    };
    let key = new_string(jni, key).ok_or_else(thrown)?;
    let argument = jni::jvalue { l: key.raw() };
    // SAFETY: valid environment, live initialised class; the method is one of it, static, has a string as argument and result.
    unsafe {
        let text = jni.own(jni_call!(jni, CallStaticObjectMethodA, context.raw(), get.raw(), &raw const argument));
        if let Some(thrown) = take_thrown(jvmti, jni) {
            return Err(format!("{LOGGING_CONTEXT}.get has thrown {thrown}"));
        }
        Ok(text.map(|text| plain_values::text(jni, text.raw())))
    }
}

/// Returns what is known of a loader, which is asked for the class if it was not asked before, or did not find it some time ago.
fn of_loader(jvmti: Jvmti, jni: &Jni<'_>, loader: Option<ObjectRef<'_>>) -> Result<Arc<OfLoader>, String> {
    let is_it = |known: &Arc<OfLoader>| match (&known.loader, loader) {
        (Some(known), Some(loader)) => known.is(jni, loader),
        (None, None) => true,
        _ => false,
    };
    let is_valid = |known: &Arc<OfLoader>| match &known.found {
        Ok(context) => context.class.get(jni).is_some(),
        Err(failure) => !failure.may_retry(),
    };
    if let Some(known) = OF_LOADERS.find(is_it).filter(is_valid) {
        return Ok(known);
    }
    let found = match find_class(jni, loader, LOGGING_CONTEXT) {
        Some(class) => {
            let class = WeakClass::of(jni, class.as_object()).ok_or("no memory")?;
            Ok(LoggingContext { class, get: OnceLock::new() })
        }
        None => {
            let thrown = take_thrown(jvmti, jni).unwrap_or_else(|| "no memory".to_owned());
            let reason = format!("the class loader of the method does not find {LOGGING_CONTEXT}: {thrown}");
            Err(Failure { reason, tried: Mutex::new(Instant::now()) })
        }
    };
    let loader = loader.map(|loader| WeakClass::of(jni, loader).ok_or("no memory")).transpose()?;
    let known = Arc::new(OfLoader { loader, found });
    OF_LOADERS.put(Arc::clone(&known), is_it);
    Ok(known)
}

impl Failure {
    /// Whether the thread that calls this is to try again.
    fn may_retry(&self) -> bool {
        let mut tried = self.tried.lock();
        let is_long_ago = tried.elapsed() >= BETWEEN_TRIES;
        if is_long_ago {
            *tried = Instant::now();
        }
        is_long_ago
    }
}

/// Returns whether the loader of a class has one of these classes, or has it of another loader: of one of its parents, or because it was asked for it.
/// None of the application's code runs.
pub(crate) fn has_logging_context(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    class: LoadedClass<'_>,
    contexts: &[LoadedClass<'_>],
) -> bool {
    // SAFETY: valid environment, live references or null.
    let is_same = |one: jni::jobject, other: jni::jobject| unsafe { jni_call!(jni, IsSameObject, one, other) != 0 };
    let raw = |loader: Option<ObjectRef<'_>>| loader.map_or(std::ptr::null_mut(), ObjectRef::raw);
    let is_defined_by = |loader: Option<ObjectRef<'_>>| {
        contexts.iter().any(|context| context.with_loader(jvmti, jni, |of| is_same(raw(of), raw(loader))))
    };
    !contexts.is_empty()
        && class.with_loader(jvmti, jni, |loader| {
            has_in_parents(jni, loader, &is_defined_by, MOST_PARENTS)
                || loader.is_some_and(|loader| {
                    // A loader that does not ask its parents, as those of OSGi.
                    LoadedClasses::initiated_by(jvmti, jni, loader).map_or(true, |initiated| {
                        let is_context = |of: &LoadedClass<'_>| contexts.iter().any(|one| is_same(one.raw(), of.raw()));
                        initiated.as_slice().iter().any(is_context)
                    })
                })
        })
}

fn has_in_parents(
    jni: &Jni<'_>,
    loader: Option<ObjectRef<'_>>,
    is_it: &dyn Fn(Option<ObjectRef<'_>>) -> bool,
    depth: usize,
) -> bool {
    if is_it(loader) {
        return true;
    }
    let Some(loader) = loader.filter(|_| depth > 0) else { return false };
    // SAFETY: valid environment, live loader, NUL-terminated texts; the field is one of `ClassLoader`; new local references or null.
    let parent = unsafe {
        let Some(class) = jni.own(jni_call!(jni, FindClass, c"java/lang/ClassLoader".as_ptr())) else {
            jni.forget_exception();
            return false;
        };
        let descriptor = c"Ljava/lang/ClassLoader;";
        let field = jni_call!(jni, GetFieldID, class.raw(), c"parent".as_ptr(), descriptor.as_ptr());
        if field.is_null() {
            jni.forget_exception();
            return false;
        }
        jni.own(jni_call!(jni, GetObjectField, loader.raw(), field))
    };
    has_in_parents(jni, parent.as_ref().map(Local::as_object), is_it, depth - 1)
}

/// Returns the class that a loader knows by this name, without initialising it; `None` with a pending exception.
fn find_class<'jni>(jni: &'jni Jni<'_>, loader: Option<ObjectRef<'_>>, name: &str) -> Option<Local<'jni>> {
    let name = new_string(jni, name)?;
    // SAFETY: valid environment, NUL-terminated texts, live references; the method is static and has these arguments.
    unsafe {
        let class = jni.own(jni_call!(jni, FindClass, c"java/lang/Class".as_ptr()))?;
        let descriptor = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        let method = jni_call!(jni, GetStaticMethodID, class.raw(), c"forName".as_ptr(), descriptor.as_ptr());
        if method.is_null() {
            return None;
        }
        let loader = loader.map_or(std::ptr::null_mut(), ObjectRef::raw);
        let arguments = [jni::jvalue { l: name.raw() }, jni::jvalue { z: 0 }, jni::jvalue { l: loader }];
        jni.own(jni_call!(jni, CallStaticObjectMethodA, class.raw(), method, arguments.as_ptr()))
    }
}
