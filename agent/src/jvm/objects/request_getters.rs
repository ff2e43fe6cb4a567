//! What conditions read of an HTTP request: by getters that do not touch its body.

use std::ffi::CStr;
use std::sync::Arc;

use instrument_core::rules::predicates::{LONGEST_SENT, LONGEST_VALUE};
use jvmti_bindings::sys::jni;

use super::bounded_table::BoundedTable;
use super::plain_values::{self, NO_ARGUMENTS, new_string, take_thrown};
use super::weak_class::{WeakClass, class_of};
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::classes::method_facts::MethodId;
use crate::jvm::environment::Jvmti;
use crate::jvm::jni::{Jni, ObjectRef, jni_call};

const REQUESTS: [&[u8]; 2] = [b"jakarta/servlet/http/HttpServletRequest", b"javax/servlet/http/HttpServletRequest"];
/// Super types of a class that are looked at.
const MOST_TYPES: usize = 128;

/// A getter of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestGetter<'n> {
    Path,
    Method,
    Query,
    RemoteAddress,
    Header(&'n str),
    /// The header `baggage`, which may be longer than other texts.
    Baggage,
}

/// The getters of one interface, in the order of [`NAMES`].
#[derive(Debug, Clone, Copy)]
struct Getters([MethodId; 5]);

const NAMES: [(&CStr, &CStr); 5] = [
    (c"getRequestURI", c"()Ljava/lang/String;"),
    (c"getMethod", c"()Ljava/lang/String;"),
    (c"getQueryString", c"()Ljava/lang/String;"),
    (c"getRemoteAddr", c"()Ljava/lang/String;"),
    (c"getHeader", c"(Ljava/lang/String;)Ljava/lang/String;"),
];

// SAFETY: method ids may be used in every thread.
unsafe impl Sync for Getters {}

/// Which classes are those of requests.
static KNOWN: BoundedTable<Arc<(WeakClass, Option<Getters>)>> = BoundedTable::new();

/// Returns what a getter of a request returns; `None` if the object is no request, `Err` with the class of what was thrown.
pub(crate) fn request_text(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    object: ObjectRef<'_>,
    getter: RequestGetter<'_>,
) -> Option<Result<Option<String>, String>> {
    let getters = getters_of(jvmti, jni, object)?;
    let [path, method, query, address, header] = getters.0;
    let (id, name) = match getter {
        RequestGetter::Path => (path, None),
        RequestGetter::Method => (method, None),
        RequestGetter::Query => (query, None),
        RequestGetter::RemoteAddress => (address, None),
        RequestGetter::Header(name) => (header, Some(name)),
        RequestGetter::Baggage => (header, Some("baggage")),
    };
    let name = match name {
        Some(name) => match new_string(jni, name) {
            Some(name) => Some(name),
            None => return Some(Err("no memory".to_owned())),
        },
        None => None,
    };
    let argument = name.as_ref().map(|name| jni::jvalue { l: name.raw() });
    let arguments = argument.as_ref().map_or(NO_ARGUMENTS, std::ptr::from_ref);
    // SAFETY: valid environment; the object has the interface whose method this is, with these arguments; the result is a string, null, or null with an exception.
    let text = unsafe { jni.own(jni_call!(jni, CallObjectMethodA, object.raw(), id.raw(), arguments)) };
    if let Some(thrown) = take_thrown(jvmti, jni) {
        return Some(Err(thrown));
    }
    let most = match getter {
        RequestGetter::Query | RequestGetter::Baggage => LONGEST_SENT,
        _ => LONGEST_VALUE,
    };
    // SAFETY: the method's descriptor says that it is a string.
    Some(Ok(text.map(|text| unsafe { plain_values::text_up_to(jni, text.raw(), most) })))
}

fn getters_of(jvmti: Jvmti, jni: &Jni<'_>, object: ObjectRef<'_>) -> Option<Getters> {
    let class = class_of(jni, object)?;
    let is_it = |known: &Arc<(WeakClass, Option<Getters>)>| known.0.is(jni, class.as_object());
    if let Some(known) = KNOWN.find(is_it) {
        return known.1;
    }
    // SAFETY: the class is used as long as the reference lives.
    let loaded = unsafe { LoadedClass::from_raw(class.raw()) }?;
    let is_request =
        |class: &LoadedClass<'_>| class.internal_name(jvmti).is_some_and(|name| REQUESTS.contains(&&*name));
    let getters = loaded.find_in_types(jvmti, jni, &mut { MOST_TYPES }, &mut |class| {
        is_request(&class).then(|| Getters::of(jni, class))
    });
    let getters = getters.flatten();
    KNOWN.put(Arc::new((WeakClass::of(jni, class.as_object())?, getters)), is_it);
    getters
}

impl Getters {
    fn of(jni: &Jni<'_>, interface: LoadedClass<'_>) -> Option<Getters> {
        let id = |(name, descriptor): (&CStr, &CStr)| {
            // SAFETY: valid environment, live class, NUL-terminated texts; an object of the class exists, so it is initialised if it must be.
            let id = unsafe { jni_call!(jni, GetMethodID, interface.raw(), name.as_ptr(), descriptor.as_ptr()) };
            jni.forget_exception();
            MethodId::from_raw(id)
        };
        let [path, method, query, address, header] = NAMES.map(id);
        Some(Getters([path?, method?, query?, address?, header?]))
    }
}
