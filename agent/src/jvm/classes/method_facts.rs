//! Methods by their JNI ids: making the ids, and looking up the method of one.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use jvmti_bindings::sys::{jni, jvmti};

use super::loaded_classes::LoadedClass;
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::Jni;

/// The JVM's id of a method. It may outlive its class: the JVM then says that it is invalid, and never gives it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MethodId(NonNull<c_void>);

// SAFETY: a jmethodID is a number to everybody but the JVM, and valid in every thread.
unsafe impl Send for MethodId {}
// SAFETY: as above.
unsafe impl Sync for MethodId {}

/// The method of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MethodFacts {
    /// Internal name of the class; that of a hidden class ends with `+` and a number.
    pub(crate) class: Vec<u8>,
    /// Name of the method.
    pub(crate) name: Vec<u8>,
    /// Its descriptor.
    pub(crate) descriptor: Vec<u8>,
    /// Its access flags.
    pub(crate) access_flags: u16,
    /// Whether the JVM lets its class be changed: not that of a lambda, which is hidden, or anonymous on JDK 11.
    pub(crate) is_modifiable: bool,
    /// Where lines begin in the bytecode: (offset, line).
    pub(crate) lines: Vec<(u32, u32)>,
}

const SYNTHETIC: u16 = 0x1000;
/// Code of the JDK through which reflection and method handles call.
const REFLECTION: [&[u8]; 4] =
    [b"java/lang/invoke/", b"jdk/internal/reflect/", b"java/lang/reflect/Method", b"java/lang/reflect/Constructor"];

impl MethodFacts {
    /// Whether it calls for another one: reflection, a method handle, what the compiler, the JDK's lambdas or the wrapper mode have made.
    pub(crate) fn is_go_between(&self) -> bool {
        let is_reflection = || REFLECTION.iter().any(|prefix| self.class.starts_with(prefix));
        !self.is_modifiable || self.access_flags & SYNTHETIC != 0 || is_reflection()
    }
}

/// The names of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MethodNames {
    /// Its name.
    pub(crate) name: Vec<u8>,
    /// Its descriptor.
    pub(crate) descriptor: Vec<u8>,
    /// Its access flags.
    pub(crate) access_flags: u16,
}

impl MethodId {
    pub(in crate::jvm) fn from_raw(method: *mut c_void) -> Option<MethodId> {
        NonNull::new(method).map(MethodId)
    }

    pub(in crate::jvm) fn raw(self) -> jni::jmethodID {
        self.0.as_ptr()
    }

    /// An id that no JVM gave; it must not reach one.
    #[cfg(test)]
    pub(crate) fn of_number(number: usize) -> MethodId {
        MethodId(NonNull::without_provenance(std::num::NonZeroUsize::MIN.saturating_add(number)))
    }

    /// Asks the JVM; `None` if the class was unloaded.
    pub(crate) fn facts(self, jvmti: Jvmti, jni: &Jni<'_>) -> Option<MethodFacts> {
        let facts = self.facts_without_lines(jvmti, jni)?;
        Some(MethodFacts { lines: self.lines(jvmti).unwrap_or_default(), ..facts })
    }

    /// Runs `body` with the class that declares the method; `None` if it was unloaded.
    pub(crate) fn with_class<R>(
        self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        body: impl FnOnce(LoadedClass<'_>) -> Option<R>,
    ) -> Option<R> {
        let mut class: jni::jclass = null_mut();
        // SAFETY: valid environment, out-parameter on our stack. HotSpot checks the id, also one of an unloaded class.
        unsafe { jvmti_call!(jvmti, GetMethodDeclaringClass, self.0.as_ptr(), &mut class) }.ok()?;
        // SAFETY: JVMTI gave a new local reference, which keeps the class until `body` has returned.
        let class = unsafe { jni.own(class) }?;
        // SAFETY: the reference lives as long as `class`.
        body(unsafe { LoadedClass::from_raw(class.raw()) }?)
    }

    /// The bytecode of the method, whose class the caller keeps; needs [`Wish::Bytecodes`](crate::jvm::Wish::Bytecodes).
    pub(crate) fn bytecode(self, jvmti: Jvmti) -> Option<Vec<u8>> {
        let (mut length, mut bytes) = (0, null_mut());
        // SAFETY: valid environment and id (its class is kept), out-parameters on our stack.
        unsafe { jvmti_call!(jvmti, GetBytecodes, self.0.as_ptr(), &mut length, &mut bytes) }.ok()?;
        if bytes.is_null() {
            return None;
        }
        // SAFETY: JVMTI gave `length` bytes, which are copied and given back once.
        unsafe {
            let copy = std::slice::from_raw_parts(bytes, usize::try_from(length).unwrap_or(0)).to_vec();
            jvmti.deallocate(bytes);
            Some(copy)
        }
    }

    /// The same as [`MethodId::facts`], without lines.
    pub(crate) fn facts_without_lines(self, jvmti: Jvmti, jni: &Jni<'_>) -> Option<MethodFacts> {
        let id: jni::jmethodID = self.0.as_ptr();
        let mut class: jni::jclass = null_mut();
        // SAFETY: valid environment, out-parameter on our stack. HotSpot checks the id, also one of an unloaded class: the memory
        // of ids is kept, or ids are numbers.
        unsafe { jvmti_call!(jvmti, GetMethodDeclaringClass, id, &mut class) }.ok()?;
        // SAFETY: JVMTI gave a new local reference, which keeps the class until the end of this function.
        let owned = unsafe { jni.own(class) }?;
        // SAFETY: the reference lives as long as `owned`.
        let class = unsafe { LoadedClass::from_raw(owned.raw()) }?;
        let (class, is_modifiable) = (class.any_internal_name(jvmti)?, class.is_modifiable(jvmti));
        let MethodNames { name, descriptor, access_flags } = self.names(jvmti)?;
        Some(MethodFacts { class, name, descriptor, access_flags, is_modifiable, lines: Vec::new() })
    }

    /// The names, as long as the caller keeps the class.
    pub(crate) fn names(self, jvmti: Jvmti) -> Option<MethodNames> {
        let id: jni::jmethodID = self.0.as_ptr();
        let (mut name, mut descriptor, mut flags) = (null_mut(), null_mut(), 0);
        // SAFETY: valid environment and id (its class is kept), out-parameters on our stack; generics are not asked for.
        unsafe { jvmti_call!(jvmti, GetMethodName, id, &mut name, &mut descriptor, null_mut()) }.ok()?;
        // SAFETY: JVMTI allocated both strings for us.
        let (name, descriptor) = unsafe { (jvmti.take_string(name), jvmti.take_string(descriptor)) };
        // SAFETY: as above. Without an answer there are no flags.
        let _ = unsafe { jvmti_call!(jvmti, GetMethodModifiers, id, &mut flags) };
        let access_flags = u16::try_from(flags & 0xffff).unwrap_or(0);
        Some(MethodNames { name: name?, descriptor: descriptor?, access_flags })
    }

    /// Where lines begin in the bytecode, by offset: (offset, line). The caller keeps the class.
    pub(crate) fn lines(self, jvmti: Jvmti) -> Option<Vec<(u32, u32)>> {
        let mut count = 0;
        let mut table: *mut jvmti::jvmtiLineNumberEntry = null_mut();
        // SAFETY: valid environment and id (the caller keeps its class), out-parameters on our stack.
        unsafe { jvmti_call!(jvmti, GetLineNumberTable, self.0.as_ptr(), &mut count, &mut table) }.ok()?;
        let table = NonNull::new(table)?;
        // SAFETY: JVMTI gave `count` entries, which are copied and given back once.
        let mut lines: Vec<(u32, u32)> = unsafe {
            let entries = std::slice::from_raw_parts(table.as_ptr(), usize::try_from(count).unwrap_or(0));
            let number = |value: i64| u32::try_from(value).unwrap_or(0);
            let lines = entries.iter().map(|entry| (number(entry.start_location), number(entry.line_number.into())));
            let lines = lines.collect();
            jvmti.deallocate(table.as_ptr().cast());
            lines
        };
        lines.sort_unstable();
        Some(lines)
    }
}

/// The methods of a linked class; of one that is not linked the JVM reports none.
pub(crate) fn methods_of(jvmti: Jvmti, class: LoadedClass<'_>) -> Vec<MethodNames> {
    methods_with_ids(jvmti, class).into_iter().map(|(_, names)| names).collect()
}

/// The same with their ids.
pub(crate) fn methods_with_ids(jvmti: Jvmti, class: LoadedClass<'_>) -> Vec<(MethodId, MethodNames)> {
    let (mut count, mut methods) = (0, null_mut());
    // SAFETY: valid environment, live class, out-parameters on our stack.
    if unsafe { jvmti_call!(jvmti, GetClassMethods, class.raw(), &mut count, &mut methods) }.is_err() {
        return Vec::new();
    }
    let Some(array) = NonNull::new(methods) else { return Vec::new() };
    // SAFETY: JVMTI gave `count` ids, which are copied; the array is given back once.
    let ids: Vec<MethodId> = unsafe {
        let raw = std::slice::from_raw_parts(array.as_ptr(), usize::try_from(count).unwrap_or(0));
        let ids = raw.iter().filter_map(|id| MethodId::from_raw(*id)).collect();
        jvmti.deallocate(array.as_ptr().cast());
        ids
    };
    ids.into_iter().filter_map(|id| Some((id, id.names(jvmti)?))).collect()
}

/// Has the JVM make ids for all methods of a linked class: AsyncGetCallTrace cannot make them.
pub(crate) fn make_method_ids(jvmti: Jvmti, class: LoadedClass<'_>) -> Result<(), JvmtiError> {
    let (mut count, mut methods) = (0, null_mut());
    // SAFETY: valid environment, live class, out-parameters on our stack.
    unsafe { jvmti_call!(jvmti, GetClassMethods, class.raw(), &mut count, &mut methods) }?;
    // SAFETY: JVMTI allocated the array.
    unsafe { jvmti.deallocate(methods.cast()) };
    Ok(())
}
