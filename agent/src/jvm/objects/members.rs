//! Fields and getters of the application's classes.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use super::plain_values::{self, NO_ARGUMENTS, PlainValue, ReadValue, character, primitive_field, take_thrown};
use super::weak_class::{WeakClass, class_of};
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::classes::method_facts::{MethodId, MethodNames};
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// The JVM's id of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldId(NonNull<c_void>);

// SAFETY: a jfieldID is a number to everybody but the JVM, and valid in every thread.
unsafe impl Send for FieldId {}
// SAFETY: as above.
unsafe impl Sync for FieldId {}

/// The names of a field.
#[derive(Debug, Clone)]
pub(crate) struct FieldNames {
    pub(crate) name: Vec<u8>,
    pub(crate) descriptor: Vec<u8>,
    pub(crate) access_flags: u16,
}

/// Returns the fields that a linked class declares.
pub(crate) fn fields_with_ids(jvmti: Jvmti, class: LoadedClass<'_>) -> Vec<(FieldId, FieldNames)> {
    let (mut count, mut fields) = (0, null_mut());
    // SAFETY: valid environment, live class, out-parameters on our stack.
    if unsafe { jvmti_call!(jvmti, GetClassFields, class.raw(), &mut count, &mut fields) }.is_err() {
        return Vec::new();
    }
    let Some(array) = NonNull::new(fields) else { return Vec::new() };
    // SAFETY: JVMTI gave `count` ids, which are copied; the array is given back once.
    let ids: Vec<FieldId> = unsafe {
        let raw = std::slice::from_raw_parts(array.as_ptr(), usize::try_from(count).unwrap_or(0));
        let ids = raw.iter().filter_map(|id| NonNull::new(*id).map(FieldId)).collect();
        jvmti.deallocate(array.as_ptr().cast());
        ids
    };
    let names = |id: &FieldId| {
        let (mut name, mut descriptor, mut flags) = (null_mut(), null_mut(), 0);
        let field = id.0.as_ptr();
        // SAFETY: valid environment, class and id of one of its fields, out-parameters on our stack; generics are not asked for.
        unsafe { jvmti_call!(jvmti, GetFieldName, class.raw(), field, &mut name, &mut descriptor, null_mut()) }.ok()?;
        // SAFETY: JVMTI allocated both strings for us.
        let (name, descriptor) = unsafe { (jvmti.take_string(name), jvmti.take_string(descriptor)) };
        // SAFETY: as above.
        unsafe { jvmti_call!(jvmti, GetFieldModifiers, class.raw(), field, &mut flags) }.ok()?;
        let access_flags = u16::try_from(flags & 0xffff).unwrap_or(0);
        Some((*id, FieldNames { name: name?, descriptor: descriptor?, access_flags }))
    };
    ids.iter().filter_map(names).collect()
}

/// A field or getter of the objects of one class.
#[derive(Debug)]
pub(crate) struct Member {
    class: WeakClass,
    /// The first letter of the descriptor of its type.
    kind: u8,
    access: Access,
}

#[derive(Debug)]
enum Access {
    Field(FieldId),
    Getter(MethodId),
}

// SAFETY: ids and weak references may be used in every thread.
unsafe impl Sync for Member {}

impl Member {
    /// A field that `declared_by`, the class or a super class of it, has.
    pub(crate) fn field(jni: &Jni<'_>, class: ObjectClass<'_>, (id, names): (FieldId, &FieldNames)) -> Option<Member> {
        let kind = names.descriptor.first().copied()?;
        Some(Member { class: WeakClass::of(jni, class.0)?, kind, access: Access::Field(id) })
    }

    /// A method without arguments that the class has or inherits.
    pub(crate) fn getter(
        jni: &Jni<'_>,
        class: ObjectClass<'_>,
        (id, names): (MethodId, &MethodNames),
    ) -> Option<Member> {
        let kind = names.descriptor.strip_prefix(b"()")?.first().copied().filter(|kind| *kind != b'V')?;
        Some(Member { class: WeakClass::of(jni, class.0)?, kind, access: Access::Getter(id) })
    }

    /// Whether it is one of objects of this class.
    pub(crate) fn is_of(&self, jni: &Jni<'_>, class: ObjectClass<'_>) -> bool {
        self.class.is(jni, class.0)
    }

    /// Returns its value in an object; `Err` with the class of what the getter has thrown, or if the object is of another class.
    pub(crate) fn read<'jni>(
        &self,
        jvmti: Jvmti,
        jni: &'jni Jni<'_>,
        object: ObjectRef<'_>,
    ) -> Result<ReadValue<'jni>, String> {
        let class = class_of(jni, object).filter(|class| self.class.is(jni, class.as_object()));
        if class.is_none() {
            return Err("an object of another class".to_owned());
        }
        match self.access {
            // SAFETY: the object is of the class in which the field was found, and the kind is the field's.
            Access::Field(id) => Ok(unsafe { self.read_field(jni, object, id) }),
            // SAFETY: the object is of the class in which the method was found; it has no arguments, and the kind is that of its result.
            Access::Getter(id) => unsafe { self.call(jvmti, jni, object, id) },
        }
    }

    /// # Safety
    /// The object must have the field.
    unsafe fn read_field<'jni>(&self, jni: &'jni Jni<'_>, object: ObjectRef<'_>, id: FieldId) -> ReadValue<'jni> {
        let id = id.0.as_ptr();
        if matches!(self.kind, b'L' | b'[') {
            // SAFETY: valid environment; the field is a reference; gives a new local reference or null.
            return plain_values::read(jni, unsafe { jni.own(jni_call!(jni, GetObjectField, object.raw(), id)) });
        }
        // SAFETY: passed on to the caller.
        unsafe { primitive_field(jni, object, id, self.kind) }.map_or(ReadValue::Null, ReadValue::Plain)
    }

    /// # Safety
    /// The object must have the method, which must have no arguments.
    unsafe fn call<'jni>(
        &self,
        jvmti: Jvmti,
        jni: &'jni Jni<'_>,
        object: ObjectRef<'_>,
        id: MethodId,
    ) -> Result<ReadValue<'jni>, String> {
        let (object, id) = (object.raw(), id.raw());
        let plain = |value: PlainValue| ReadValue::Plain(value);
        // SAFETY: valid environment; the caller vouches for object and method, whose result is of this kind.
        let value = unsafe {
            match self.kind {
                b'L' | b'[' => {
                    let result = jni_call!(jni, CallObjectMethodA, object, id, NO_ARGUMENTS);
                    let result: Option<Local<'jni>> = jni.own(result);
                    if let Some(thrown) = take_thrown(jvmti, jni) {
                        return Err(thrown);
                    }
                    return Ok(plain_values::read(jni, result));
                }
                b'I' => plain(PlainValue::Whole(jni_call!(jni, CallIntMethodA, object, id, NO_ARGUMENTS).into())),
                b'J' => plain(PlainValue::Whole(jni_call!(jni, CallLongMethodA, object, id, NO_ARGUMENTS))),
                b'S' => plain(PlainValue::Whole(jni_call!(jni, CallShortMethodA, object, id, NO_ARGUMENTS).into())),
                b'B' => plain(PlainValue::Whole(jni_call!(jni, CallByteMethodA, object, id, NO_ARGUMENTS).into())),
                b'D' => plain(PlainValue::Real(jni_call!(jni, CallDoubleMethodA, object, id, NO_ARGUMENTS))),
                b'F' => plain(PlainValue::Real(jni_call!(jni, CallFloatMethodA, object, id, NO_ARGUMENTS).into())),
                b'Z' => plain(PlainValue::Boolean(jni_call!(jni, CallBooleanMethodA, object, id, NO_ARGUMENTS) != 0)),
                b'C' => plain(character(jni_call!(jni, CallCharMethodA, object, id, NO_ARGUMENTS))),
                _ => ReadValue::Null,
            }
        };
        take_thrown(jvmti, jni).map_or(Ok(value), Err)
    }
}

/// The class of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectClass<'a>(ObjectRef<'a>);

impl<'a> ObjectClass<'a> {
    /// Returns the class as one whose fields and methods can be asked for.
    pub(crate) fn as_loaded(self) -> Option<LoadedClass<'a>> {
        // SAFETY: the reference lives as long as `self` says.
        unsafe { LoadedClass::from_raw(self.0.raw()) }
    }

    /// Returns a reference that does not keep the class; `None` without memory.
    pub(crate) fn weak(self, jni: &Jni<'_>) -> Option<WeakClass> {
        WeakClass::of(jni, self.0)
    }

    /// Whether it is this class.
    pub(crate) fn is(self, jni: &Jni<'_>, class: &WeakClass) -> bool {
        class.is(jni, self.0)
    }
}

/// Runs `body` with the class of an object.
pub(crate) fn with_class_of<R>(
    jni: &Jni<'_>,
    object: ObjectRef<'_>,
    body: impl FnOnce(ObjectClass<'_>) -> Option<R>,
) -> Option<R> {
    let class = class_of(jni, object)?;
    body(ObjectClass(class.as_object()))
}
