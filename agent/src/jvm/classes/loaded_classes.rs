//! Classes that are loaded already: finding them, asking what they are, having them rewritten.

use std::ffi::c_char;
use std::ptr::null_mut;

use jvmti_bindings::sys::{jni, jvmti};

use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::{Jni, ObjectRef, jni_call};

/// HotSpot accepts no larger announcement (`MaxJNILocalCapacity`).
const MOST_REFERENCES: jni::jint = 65_536;

/// All classes that the JVM has loaded at one moment; their references are freed when this is dropped.
#[derive(Debug)]
pub(crate) struct LoadedClasses<'jni> {
    jni: &'jni Jni<'jni>,
    classes: Vec<LoadedClass<'jni>>,
}

/// One loaded class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadedClass<'jni> {
    class: ObjectRef<'jni>,
}

impl<'jni> LoadedClasses<'jni> {
    /// Asks the JVM.
    pub(crate) fn all(jvmti: Jvmti, jni: &'jni Jni<'jni>) -> Result<LoadedClasses<'jni>, JvmtiError> {
        // SAFETY: valid environment. Says that many references follow, which -Xcheck:jni wants to know; a failure changes nothing.
        unsafe { jni_call!(jni, EnsureLocalCapacity, MOST_REFERENCES) };
        let mut count = 0;
        let mut array: *mut jni::jclass = null_mut();
        // SAFETY: valid environment, out-parameters on our stack.
        unsafe { jvmti_call!(jvmti, GetLoadedClasses, &mut count, &mut array) }?;
        // SAFETY: JVMTI gave an array of `count` new local references that are ours.
        let classes = unsafe { take_class_array(jvmti, array, count) };
        Ok(LoadedClasses { jni, classes })
    }

    /// Asks the JVM for those that a loader finds by name without loading them: its own, and those of other loaders that it was asked for.
    pub(in crate::jvm) fn initiated_by(
        jvmti: Jvmti,
        jni: &'jni Jni<'jni>,
        loader: ObjectRef<'_>,
    ) -> Result<LoadedClasses<'jni>, JvmtiError> {
        let mut count = 0;
        let mut array: *mut jni::jclass = null_mut();
        // SAFETY: valid environment, live loader, out-parameters on our stack.
        unsafe { jvmti_call!(jvmti, GetClassLoaderClasses, loader.raw(), &mut count, &mut array) }?;
        // SAFETY: JVMTI gave an array of `count` new local references that are ours.
        let classes = unsafe { take_class_array(jvmti, array, count) };
        Ok(LoadedClasses { jni, classes })
    }

    /// The classes, in the JVM's order.
    pub(crate) fn as_slice(&self) -> &[LoadedClass<'jni>] {
        &self.classes
    }
}

impl Drop for LoadedClasses<'_> {
    fn drop(&mut self) {
        for class in self.classes.drain(..) {
            // SAFETY: local references of this thread (not Send), made by `all`; no copy outlives the borrow of `self`.
            unsafe { jni_call!(self.jni, DeleteLocalRef, class.class.raw()) };
        }
    }
}

/// # Safety
/// `array` must be null or an array of `count` class references allocated by JVMTI; it is freed here.
unsafe fn take_class_array<'jni>(jvmti: Jvmti, array: *mut jni::jclass, count: jni::jint) -> Vec<LoadedClass<'jni>> {
    if array.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller says so; the slice is not used after the array is freed.
    let raw = unsafe { std::slice::from_raw_parts(array, usize::try_from(count).unwrap_or(0)) };
    // SAFETY: local references live until they are deleted by the one who asked for them.
    let classes = raw.iter().filter_map(|class| unsafe { LoadedClass::from_raw(*class) }).collect();
    // SAFETY: JVMTI allocated the array.
    unsafe { jvmti.deallocate(array.cast()) };
    classes
}

impl<'jni> LoadedClass<'jni> {
    /// # Safety
    /// `class` must be null or a class reference that lives as long as the chosen lifetime.
    pub(in crate::jvm) unsafe fn from_raw(class: jni::jclass) -> Option<LoadedClass<'jni>> {
        // SAFETY: passed on to the caller.
        unsafe { ObjectRef::from_raw(class) }.map(|class| LoadedClass { class })
    }

    pub(in crate::jvm) fn raw(self) -> jni::jclass {
        self.class.raw()
    }

    /// Internal name (`java/lang/String`); `None` for arrays, primitives and hidden classes, which nobody can rewrite.
    pub(crate) fn internal_name(self, jvmti: Jvmti) -> Option<Vec<u8>> {
        let name = self.name_in_signature(jvmti)?;
        // The signature of a hidden class has a dot: `La/b/C.0x1234;`.
        if name.contains(&b'.') { None } else { Some(name) }
    }

    /// Internal name of any class but arrays and primitives; that of a hidden class ends with `+` and a number.
    pub(crate) fn any_internal_name(self, jvmti: Jvmti) -> Option<Vec<u8>> {
        let mut name = self.name_in_signature(jvmti)?;
        name.iter_mut().filter(|byte| **byte == b'.').for_each(|byte| *byte = b'+');
        Some(name)
    }

    /// The name of any class as constant pools write it: `a/b/C`, or the descriptor of an array: `[I`.
    pub(crate) fn pool_name(self, jvmti: Jvmti) -> Option<Vec<u8>> {
        let signature = self.signature(jvmti)?;
        let name = signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";")).map(<[u8]>::to_vec);
        let mut name = name.unwrap_or(signature);
        name.iter_mut().filter(|byte| **byte == b'.').for_each(|byte| *byte = b'+');
        Some(name)
    }

    fn name_in_signature(self, jvmti: Jvmti) -> Option<Vec<u8>> {
        Some(self.signature(jvmti)?.strip_prefix(b"L")?.strip_suffix(b";")?.to_vec())
    }

    fn signature(self, jvmti: Jvmti) -> Option<Vec<u8>> {
        let mut signature: *mut c_char = null_mut();
        // SAFETY: valid environment, live class; the generic signature is not asked for.
        unsafe { jvmti_call!(jvmti, GetClassSignature, self.class.raw(), &mut signature, null_mut()) }.ok()?;
        // SAFETY: JVMTI allocated the string for us.
        unsafe { jvmti.take_string(signature) }
    }

    /// Whether the boot loader defined it.
    pub(crate) fn is_boot(self, jvmti: Jvmti, jni: &Jni<'_>) -> bool {
        self.with_loader(jvmti, jni, |loader| loader.is_none())
    }

    /// Runs `body` with the defining loader, `None` being the boot loader.
    pub(crate) fn with_loader<R>(
        self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        body: impl FnOnce(Option<ObjectRef<'_>>) -> R,
    ) -> R {
        let mut loader: jni::jobject = null_mut();
        // SAFETY: valid environment, live class, out-parameter on our stack.
        let result = unsafe { jvmti_call!(jvmti, GetClassLoader, self.class.raw(), &mut loader) };
        // SAFETY: JVMTI gave a new local reference or null.
        let owned = unsafe { jni.own(if result.is_ok() { loader } else { null_mut() }) };
        // SAFETY: `owned` outlives the call of `body`.
        body(owned.as_ref().and_then(|loader| unsafe { ObjectRef::from_raw(loader.raw()) }))
    }

    /// Whether the JVM allows to rewrite it.
    pub(crate) fn is_modifiable(self, jvmti: Jvmti) -> bool {
        let mut modifiable = 0;
        // SAFETY: valid environment, live class, out-parameter on our stack.
        let result = unsafe { jvmti_call!(jvmti, IsModifiableClass, self.class.raw(), &mut modifiable) };
        result.is_ok() && modifiable != 0
    }

    /// Whether the class is linked: its methods are verified, its super types known to the JVM.
    pub(crate) fn is_prepared(self, jvmti: Jvmti) -> bool {
        let mut status = 0;
        // SAFETY: valid environment, live class, out-parameter on our stack.
        let result = unsafe { jvmti_call!(jvmti, GetClassStatus, self.class.raw(), &mut status) };
        result.is_ok() && status & jvmti::JVMTI_CLASS_STATUS_PREPARED != 0
    }

    /// Whether objects may be of this very class: it is neither an interface nor abstract.
    pub(crate) fn is_concrete(self, jvmti: Jvmti) -> bool {
        const ABSTRACT_OR_INTERFACE: jni::jint = 0x0600;
        let mut flags = 0;
        // SAFETY: valid environment, live class, out-parameter on our stack.
        let result = unsafe { jvmti_call!(jvmti, GetClassModifiers, self.class.raw(), &mut flags) };
        result.is_ok() && flags & ABSTRACT_OR_INTERFACE == 0
    }

    /// Whether the class is initialised: its static code has run.
    pub(crate) fn is_initialised(self, jvmti: Jvmti) -> bool {
        let mut status = 0;
        // SAFETY: valid environment, live class, out-parameter on our stack.
        let result = unsafe { jvmti_call!(jvmti, GetClassStatus, self.class.raw(), &mut status) };
        result.is_ok() && status & jvmti::JVMTI_CLASS_STATUS_INITIALIZED != 0
    }

    /// Runs `body` with the super class and the direct interfaces of a prepared class.
    pub(crate) fn with_super_types<R>(
        self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        body: impl FnOnce(Option<LoadedClass<'_>>, &[LoadedClass<'_>]) -> R,
    ) -> R {
        let mut count = 0;
        let mut array: *mut jni::jclass = null_mut();
        // SAFETY: valid environment, live class, out-parameters on our stack.
        let result = unsafe { jvmti_call!(jvmti, GetImplementedInterfaces, self.class.raw(), &mut count, &mut array) };
        if result.is_err() {
            return body(None, &[]);
        }
        // SAFETY: JVMTI gave an array of `count` new local references that are ours.
        let interfaces = LoadedClasses { jni, classes: unsafe { take_class_array(jvmti, array, count) } };
        // SAFETY: valid environment, live class; gives a new local reference or null.
        let super_class = unsafe { jni.own(jni_call!(jni, GetSuperclass, self.class.raw())) };
        // SAFETY: the local reference outlives the use of the class.
        let super_class = super_class.as_ref().and_then(|class| unsafe { LoadedClass::from_raw(class.raw()) });
        body(super_class, interfaces.as_slice())
    }

    /// Looks at the class and at its super types, at this many at most, until something is found.
    pub(crate) fn find_in_types<R>(
        self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        most: &mut usize,
        look: &mut dyn FnMut(LoadedClass<'_>) -> Option<R>,
    ) -> Option<R> {
        *most = most.checked_sub(1)?;
        if let Some(found) = look(self) {
            return Some(found);
        }
        self.with_super_types(jvmti, jni, |super_class, interfaces| {
            let mut types = interfaces.iter().copied().chain(super_class);
            types.find_map(|of| of.find_in_types(jvmti, jni, most, look))
        })
    }

    /// Returns the constant pool as in a class file; `None` if the JVM does not give it, for instance because the class is not linked.
    pub(crate) fn constant_pool(self, jvmti: Jvmti) -> Option<ConstantPool> {
        self.constant_pool_up_to(jvmti, usize::MAX)?.ok()
    }

    /// The same, if it is not longer than `most` bytes.
    pub(crate) fn constant_pool_up_to(self, jvmti: Jvmti, most: usize) -> Option<Result<ConstantPool, TooLong>> {
        let copy = |count: i32, bytes: &[u8]| {
            if bytes.len() > most {
                return Some(Err(TooLong));
            }
            Some(Ok(ConstantPool { count: u16::try_from(count).ok()?, bytes: bytes.to_vec() }))
        };
        self.with_constants(jvmti, copy)?
    }

    /// Looks at the constants, and at how many there are, in the copy that the JVM makes for that.
    pub(crate) fn with_constants<R>(self, jvmti: Jvmti, look: impl FnOnce(i32, &[u8]) -> R) -> Option<R> {
        let (mut count, mut length, mut bytes) = (0, 0, null_mut());
        // SAFETY: valid environment, live class, out-parameters on our stack.
        unsafe { jvmti_call!(jvmti, GetConstantPool, self.class.raw(), &mut count, &mut length, &mut bytes) }.ok()?;
        if bytes.is_null() {
            return None;
        }
        let length = usize::try_from(length).unwrap_or(0);
        // SAFETY: JVMTI gave `length` bytes, which nobody changes, and which are given back once, after the look.
        let seen = look(count, unsafe { std::slice::from_raw_parts(bytes, length) });
        // SAFETY: as above.
        unsafe { jvmti.deallocate(bytes) };
        Some(seen)
    }
}

/// The constants of a class (JVMS 4.1).
#[derive(Debug)]
pub(crate) struct ConstantPool {
    /// `constant_pool_count`: the index after the last constant.
    pub(crate) count: u16,
    pub(crate) bytes: Vec<u8>,
}

/// There are more bytes than were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl ConstantPool {
    /// Returns the beginning of a class file with these constants.
    pub(crate) fn beginning_of_file(&self) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.bytes.len() + 14);
        file.extend([0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 0]);
        file.extend(self.count.max(1).to_be_bytes());
        file.extend(&self.bytes);
        // In place of what follows the constants in a file.
        file.extend([0; 4]);
        file
    }
}

/// Has the JVM present the classes to the class hook again: `RetransformClasses` (JVMTI), all of them or none. Called by
/// `reconcile/retransforming.rs` only (a house rule).
pub(crate) fn retransform(jvmti: Jvmti, classes: &[LoadedClass<'_>]) -> Result<(), JvmtiError> {
    let raw: Vec<jni::jclass> = classes.iter().map(|class| class.class.raw()).collect();
    let count = jni::jint::try_from(raw.len()).unwrap_or(jni::jint::MAX);
    // SAFETY: valid environment, `count` live class references.
    unsafe { jvmti_call!(jvmti, RetransformClasses, count, raw.as_ptr()) }
}
