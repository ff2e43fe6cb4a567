//! Elements of arrays of the application.

use std::ffi::CStr;
use std::sync::OnceLock;

use jvmti_bindings::sys::jni;

use super::plain_values::{self, PlainValue, ReadValue, character, class_for_ever};
use crate::jvm::jni::{Jni, ObjectRef, jni_call};

/// The classes of arrays, with the kind of their elements; arrays of objects of any class are arrays of `Object`.
const ARRAYS: [(&CStr, u8); 9] = [
    (c"[Ljava/lang/Object;", b'L'),
    (c"[I", b'I'),
    (c"[J", b'J'),
    (c"[B", b'B'),
    (c"[D", b'D'),
    (c"[C", b'C'),
    (c"[Z", b'Z'),
    (c"[S", b'S'),
    (c"[F", b'F'),
];

struct ArrayClasses(Vec<(jni::jclass, u8)>);

// SAFETY: global references may be used in every thread.
unsafe impl Send for ArrayClasses {}
// SAFETY: as above.
unsafe impl Sync for ArrayClasses {}

static CLASSES: OnceLock<Option<ArrayClasses>> = OnceLock::new();

/// Finds the classes; a JVM without one of them has no arrays.
pub(super) fn prepare(jni: &Jni<'_>) -> bool {
    let find = |(name, kind): &(&CStr, u8)| Some((class_for_ever(jni, name)?, *kind));
    let all = || {
        let found = ARRAYS.iter().map(find).collect::<Option<Vec<_>>>();
        jni.forget_exception();
        found.map(ArrayClasses)
    };
    CLASSES.get_or_init(all).is_some()
}

/// An array of the application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array<'a> {
    object: ObjectRef<'a>,
    kind: u8,
    length: jni::jsize,
}

impl<'a> Array<'a> {
    /// Returns the array that an object is; `None` if it is none.
    pub(crate) fn of(jni: &Jni<'_>, object: ObjectRef<'a>) -> Option<Array<'a>> {
        let known = CLASSES.get()?.as_ref()?;
        // SAFETY: valid environment, live references.
        let is = |class: jni::jclass| unsafe { jni_call!(jni, IsInstanceOf, object.raw(), class) != 0 };
        let (_, kind) = known.0.iter().find(|(class, _)| is(*class))?;
        // SAFETY: valid environment, live array.
        let length = unsafe { jni_call!(jni, GetArrayLength, object.raw()) };
        Some(Array { object, kind: *kind, length })
    }

    pub(crate) fn length(self) -> u32 {
        u32::try_from(self.length).unwrap_or(0)
    }

    /// Returns an element; `None` if there is none of this index.
    pub(crate) fn element<'jni>(self, jni: &'jni Jni<'_>, index: u32) -> Option<ReadValue<'jni>> {
        let index = jni::jsize::try_from(index).ok().filter(|index| *index < self.length)?;
        let array = self.object.raw();
        macro_rules! primitive {
            ($get:ident, $none:expr) => {{
                let mut value = $none;
                // SAFETY: valid environment, live array of this kind that has the index; room for the one element.
                unsafe { jni_call!(jni, $get, array, index, 1, &raw mut value) };
                value
            }};
        }
        Some(ReadValue::Plain(match self.kind {
            b'I' => PlainValue::Whole(primitive!(GetIntArrayRegion, 0).into()),
            b'J' => PlainValue::Whole(primitive!(GetLongArrayRegion, 0)),
            b'B' => PlainValue::Whole(primitive!(GetByteArrayRegion, 0).into()),
            b'S' => PlainValue::Whole(primitive!(GetShortArrayRegion, 0).into()),
            b'D' => PlainValue::Real(primitive!(GetDoubleArrayRegion, 0.0)),
            b'F' => PlainValue::Real(primitive!(GetFloatArrayRegion, 0.0).into()),
            b'Z' => PlainValue::Boolean(primitive!(GetBooleanArrayRegion, 0) != 0),
            b'C' => character(primitive!(GetCharArrayRegion, 0)),
            _ => {
                // SAFETY: valid environment, live array of objects that has the index; a new local reference or null.
                let element = unsafe { jni.own(jni_call!(jni, GetObjectArrayElement, array, index)) };
                return Some(plain_values::read(jni, element));
            }
        }))
    }
}
