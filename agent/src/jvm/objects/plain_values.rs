//! Strings, boxed numbers and enum constants: read from their fields, so that none of the application's code runs.

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::OnceLock;

use instrument_core::rules::predicates::LONGEST_VALUE;
use jvmti_bindings::sys::jni;

use super::weak_class::class_of;
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::environment::Jvmti;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// UTF-16 units of most strings that are read: one more than is compared shows that there is more.
const MOST_UNITS: usize = LONGEST_VALUE + 1;

/// A value that is no object with parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PlainValue {
    /// A string, a character, or the name of an enum constant.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Real(f64),
    /// `true` or `false`.
    Boolean(bool),
}

/// A value that was read of an object.
#[derive(Debug)]
pub(crate) enum ReadValue<'jni> {
    Plain(PlainValue),
    Object(Local<'jni>),
    Null,
}

/// The classes of the JDK whose objects are plain values; they are never unloaded.
struct PlainClasses {
    string: jni::jclass,
    enumeration: jni::jclass,
    name: jni::jfieldID,
    /// Class, field `value` and the kind of that.
    boxes: Vec<(jni::jclass, jni::jfieldID, u8)>,
}

// SAFETY: global references and field ids may be used in every thread.
unsafe impl Send for PlainClasses {}
// SAFETY: as above.
unsafe impl Sync for PlainClasses {}

static CLASSES: OnceLock<Option<PlainClasses>> = OnceLock::new();

const BOXES: [(&CStr, &CStr); 8] = [
    (c"java/lang/Integer", c"I"),
    (c"java/lang/Long", c"J"),
    (c"java/lang/Boolean", c"Z"),
    (c"java/lang/Double", c"D"),
    (c"java/lang/Short", c"S"),
    (c"java/lang/Byte", c"B"),
    (c"java/lang/Float", c"F"),
    (c"java/lang/Character", c"C"),
];

/// Finds the classes; a JVM without one of them has no plain values.
pub(super) fn prepare(jni: &Jni<'_>) -> bool {
    CLASSES.get_or_init(|| PlainClasses::find(jni)).is_some()
}

impl PlainClasses {
    fn find(jni: &Jni<'_>) -> Option<PlainClasses> {
        let class = |name: &CStr| class_for_ever(jni, name);
        let field = |class: jni::jclass, name: &CStr, descriptor: &CStr| {
            // SAFETY: valid environment, live class, NUL-terminated texts.
            let field = unsafe { jni_call!(jni, GetFieldID, class, name.as_ptr(), descriptor.as_ptr()) };
            (!field.is_null()).then_some(field)
        };
        let found = || {
            let enumeration = class(c"java/lang/Enum")?;
            let boxed = |(name, descriptor): &(&CStr, &CStr)| {
                let class = class(name)?;
                Some((class, field(class, c"value", descriptor)?, descriptor.to_bytes().first().copied()?))
            };
            Some(PlainClasses {
                string: class(c"java/lang/String")?,
                enumeration,
                name: field(enumeration, c"name", c"Ljava/lang/String;")?,
                boxes: BOXES.iter().map(boxed).collect::<Option<_>>()?,
            })
        };
        let found = found();
        jni.forget_exception();
        found
    }
}

/// Returns a class of the JDK that is never unloaded. An exception stays pending if there is none.
pub(super) fn class_for_ever(jni: &Jni<'_>, name: &CStr) -> Option<jni::jclass> {
    // SAFETY: valid environment, NUL-terminated name; a new local reference or null, and a global one made of it that is never freed.
    let class = unsafe {
        let local = jni.own(jni_call!(jni, FindClass, name.as_ptr()))?;
        jni_call!(jni, NewGlobalRef, local.raw())
    };
    (!class.is_null()).then_some(class)
}

/// Returns what an object is.
pub(super) fn read<'jni>(jni: &Jni<'_>, object: Option<Local<'jni>>) -> ReadValue<'jni> {
    let Some(object) = object else { return ReadValue::Null };
    match plain_value(jni, object.as_object()) {
        Some(plain) => ReadValue::Plain(plain),
        None => ReadValue::Object(object),
    }
}

/// Returns the plain value that an object is; `None` if it is another one.
pub(crate) fn plain_value(jni: &Jni<'_>, object: ObjectRef<'_>) -> Option<PlainValue> {
    let known = CLASSES.get()?.as_ref()?;
    let class = class_of(jni, object)?;
    // SAFETY: valid environment, live references.
    let is = |other: jni::jclass| unsafe { jni_call!(jni, IsSameObject, class.raw(), other) != 0 };
    if is(known.string) {
        // SAFETY: the object is a string.
        return Some(PlainValue::Text(unsafe { text(jni, object.raw()) }));
    }
    if let Some((_, field, kind)) = known.boxes.iter().find(|(class, ..)| is(*class)) {
        // SAFETY: the object is of the class whose field this is.
        return unsafe { primitive_field(jni, object, *field, *kind) };
    }
    // SAFETY: valid environment, live references; the field is one of the class Enum, and a string.
    unsafe {
        if jni_call!(jni, IsInstanceOf, object.raw(), known.enumeration) == 0 {
            return None;
        }
        let name = jni.own(jni_call!(jni, GetObjectField, object.raw(), known.name))?;
        Some(PlainValue::Text(text(jni, name.raw())))
    }
}

/// The value of a primitive field; `None` for other kinds.
///
/// # Safety
/// The object must have the field, which must be of this kind.
pub(super) unsafe fn primitive_field(
    jni: &Jni<'_>,
    object: ObjectRef<'_>,
    field: jni::jfieldID,
    kind: u8,
) -> Option<PlainValue> {
    let object = object.raw();
    // SAFETY: valid environment; the caller vouches for object and field.
    unsafe {
        Some(match kind {
            b'I' => PlainValue::Whole(jni_call!(jni, GetIntField, object, field).into()),
            b'J' => PlainValue::Whole(jni_call!(jni, GetLongField, object, field)),
            b'S' => PlainValue::Whole(jni_call!(jni, GetShortField, object, field).into()),
            b'B' => PlainValue::Whole(jni_call!(jni, GetByteField, object, field).into()),
            b'D' => PlainValue::Real(jni_call!(jni, GetDoubleField, object, field)),
            b'F' => PlainValue::Real(jni_call!(jni, GetFloatField, object, field).into()),
            b'Z' => PlainValue::Boolean(jni_call!(jni, GetBooleanField, object, field) != 0),
            b'C' => character(jni_call!(jni, GetCharField, object, field)),
            _ => return None,
        })
    }
}

pub(super) fn character(unit: u16) -> PlainValue {
    PlainValue::Text(String::from_utf16_lossy(&[unit]))
}

/// A string; of one that is longer than [`LONGEST_VALUE`] the beginning, which is longer as well.
///
/// # Safety
/// `string` must be a live reference to a `java.lang.String`.
pub(super) unsafe fn text(jni: &Jni<'_>, string: jni::jstring) -> String {
    // SAFETY: passed on to the caller.
    unsafe { beginning(jni, string, &mut [0; MOST_UNITS]) }
}

/// The same with another bound.
///
/// # Safety
/// `string` must be a live reference to a `java.lang.String`.
pub(super) unsafe fn text_up_to(jni: &Jni<'_>, string: jni::jstring, longest: usize) -> String {
    // SAFETY: valid environment and string.
    let length = usize::try_from(unsafe { jni_call!(jni, GetStringLength, string) }).unwrap_or(0);
    // SAFETY: passed on to the caller.
    unsafe { beginning(jni, string, &mut vec![0; length.min(longest + 1)]) }
}

/// # Safety
/// `string` must be a live reference to a `java.lang.String`.
unsafe fn beginning(jni: &Jni<'_>, string: jni::jstring, units: &mut [u16]) -> String {
    let room = jni::jsize::try_from(units.len()).unwrap_or(0);
    // SAFETY: valid environment and string; the buffer has room for what is asked for, which is within the string.
    let length = unsafe {
        let length = jni_call!(jni, GetStringLength, string).min(room);
        jni_call!(jni, GetStringRegion, string, 0, length, units.as_mut_ptr());
        length
    };
    String::from_utf16_lossy(usize::try_from(length).ok().and_then(|length| units.get(..length)).unwrap_or_default())
}

/// Makes a string; `None` without memory.
pub(super) fn new_string<'jni>(jni: &'jni Jni<'_>, text: &str) -> Option<Local<'jni>> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let length = jni::jsize::try_from(units.len()).ok()?;
    // SAFETY: valid environment, `length` units that live through the call; a new local reference or null.
    let string = unsafe { jni.own(jni_call!(jni, NewString, units.as_ptr(), length)) };
    jni.forget_exception();
    string
}

/// Clears a pending exception and returns the name of its class; none of its code runs.
pub(super) fn take_thrown(jvmti: Jvmti, jni: &Jni<'_>) -> Option<String> {
    if !jni.exception_pending() {
        return None;
    }
    // SAFETY: valid environment; ExceptionOccurred gives a new local reference, ExceptionClear is allowed at any time.
    let thrown = unsafe {
        let thrown = jni.own(jni_call!(jni, ExceptionOccurred));
        jni_call!(jni, ExceptionClear);
        thrown
    };
    let name = thrown.and_then(|thrown| class_name(jvmti, jni, thrown.as_object()));
    Some(name.unwrap_or_else(|| "an exception".to_owned()))
}

/// Returns the name of an object's class, `a.b.C`.
pub(crate) fn class_name(jvmti: Jvmti, jni: &Jni<'_>, object: ObjectRef<'_>) -> Option<String> {
    let class = class_of(jni, object)?;
    // SAFETY: the class is used as long as the reference lives.
    let name = unsafe { LoadedClass::from_raw(class.raw()) }?.pool_name(jvmti)?;
    Some(String::from_utf8_lossy(&name).replace('/', "."))
}

/// The arguments of a call, boxed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a>(ObjectRef<'a>);

impl<'a> Arguments<'a> {
    /// # Safety
    /// `array` must be null or an `Object[]` that stays valid for the chosen lifetime.
    pub(super) unsafe fn from_raw(array: jni::jobjectArray) -> Option<Arguments<'a>> {
        // SAFETY: passed on to the caller.
        unsafe { ObjectRef::from_raw(array) }.map(Arguments)
    }

    /// Returns how many there are.
    pub(crate) fn count(self, jni: &Jni<'_>) -> usize {
        // SAFETY: valid environment, live array.
        usize::try_from(unsafe { jni_call!(jni, GetArrayLength, self.0.raw()) }).unwrap_or(0)
    }

    /// Returns an argument; `None` if it is null or there is none of this number.
    pub(crate) fn get<'jni>(self, jni: &'jni Jni<'_>, index: usize) -> Option<Local<'jni>> {
        let index = jni::jsize::try_from(index).ok().filter(|_| index < self.count(jni))?;
        // SAFETY: valid environment, live array that has the index; a new local reference or null.
        unsafe { jni.own(jni_call!(jni, GetObjectArrayElement, self.0.raw(), index)) }
    }
}

/// Without arguments a call by `Call...MethodA` has none.
pub(super) const NO_ARGUMENTS: *const jni::jvalue = null_mut::<jni::jvalue>().cast_const();
