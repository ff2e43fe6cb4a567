//! A method handle that calls a function of the agent from compiled code as the JIT calls its own leaf functions: no
//! transition into native code, no safepoint. It is what `Linker.Option.critical` (JDK 22) gives, taken from below the public
//! interface because that costs 80 ms of start-up, and does not exist in JDK 17. What a JDK lacks is an error here; the probes
//! then use another clock.
//!
//! The function must be short, take nothing, return a `long`, and know nothing of the JVM.

use std::ffi::CStr;

use jvmti_bindings::sys::jni;

use crate::jvm::error::JavaError;
use crate::jvm::jni::{Jni, Local, jni_call};
use crate::jvm::runtime_classes::define_class::GlobalClass;

const NO_SUCH_WAY: &str = "looking for a way to call native code directly";
const LONG_OF_LONG: &CStr = c"(Ljava/lang/Class;Ljava/lang/Class;)Ljava/lang/invoke/MethodType;";

/// `(long address) -> long`. `clock` is `java.instr.Clock`.
pub(super) fn method_handle<'jni>(
    jni: &'jni Jni<'jni>,
    java_version: u32,
    clock: GlobalClass,
) -> Result<Local<'jni>, JavaError> {
    let calls = Calls { jni };
    let kind = calls.method_type()?;
    if java_version < 21 { calls.of_17(&kind, clock) } else { calls.since_21(&kind) }
}

/// JNI calls that fail with an error instead of a pending exception.
struct Calls<'jni> {
    jni: &'jni Jni<'jni>,
}

/// The kinds of `VMStorage`, and where things are in registers (`jdk.internal.foreign.abi.x64`).
const INTEGER: i8 = 0;
const PLACEHOLDER: i8 = 4;
const ALL_64_BITS: i16 = 15;
const RAX: i32 = 0;
const R10: i32 = 10;
const R11: i32 = 11;
const STACK_ALIGNMENT: i32 = 16;

impl<'jni> Calls<'jni> {
    fn found(&self, object: jni::jobject) -> Result<Local<'jni>, JavaError> {
        // SAFETY: null or a new local reference of this thread.
        let object = unsafe { self.jni.own(object) };
        // With an exception pending the object, if any, is not to be used.
        if self.jni.exception_pending() {
            return Err(self.jni.failure(NO_SUCH_WAY));
        }
        object.ok_or_else(|| self.jni.failure(NO_SUCH_WAY))
    }

    fn class(&self, name: &CStr) -> Result<Local<'jni>, JavaError> {
        // SAFETY: valid environment, NUL-terminated name.
        self.found(unsafe { jni_call!(self.jni, FindClass, name.as_ptr()) })
    }

    fn static_method(&self, class: jni::jclass, name: &CStr, kind: &CStr) -> Result<jni::jmethodID, JavaError> {
        // SAFETY: valid environment, live class, NUL-terminated names.
        let method = unsafe { jni_call!(self.jni, GetStaticMethodID, class, name.as_ptr(), kind.as_ptr()) };
        if method.is_null() { Err(self.jni.failure(NO_SUCH_WAY)) } else { Ok(method) }
    }

    /// Calls a static method that returns an object; the arguments must be those of its descriptor.
    fn call(
        &self,
        class: jni::jclass,
        name: &CStr,
        kind: &CStr,
        arguments: &[jni::jvalue],
    ) -> Result<Local<'jni>, JavaError> {
        let method = self.static_method(class, name, kind)?;
        // SAFETY: valid environment; the caller passes what the descriptor asks for.
        self.found(unsafe { jni_call!(self.jni, CallStaticObjectMethodA, class, method, arguments.as_ptr()) })
    }

    /// The same for a method that returns a `long`.
    fn call_long(
        &self,
        class: jni::jclass,
        name: &CStr,
        kind: &CStr,
        arguments: &[jni::jvalue],
    ) -> Result<i64, JavaError> {
        let method = self.static_method(class, name, kind)?;
        // SAFETY: as above.
        let value = unsafe { jni_call!(self.jni, CallStaticLongMethodA, class, method, arguments.as_ptr()) };
        if self.jni.exception_pending() { Err(self.jni.failure(NO_SUCH_WAY)) } else { Ok(value) }
    }

    fn create(&self, class: &Local<'_>, kind: &CStr, arguments: &[jni::jvalue]) -> Result<Local<'jni>, JavaError> {
        // SAFETY: valid environment, live class, NUL-terminated names; the caller passes what the descriptor asks for.
        unsafe {
            let method = jni_call!(self.jni, GetMethodID, class.raw(), c"<init>".as_ptr(), kind.as_ptr());
            if method.is_null() {
                return Err(self.jni.failure(NO_SUCH_WAY));
            }
            self.found(jni_call!(self.jni, NewObjectA, class.raw(), method, arguments.as_ptr()))
        }
    }

    /// An array of objects.
    fn array(&self, of: &Local<'_>, elements: &[&Local<'_>]) -> Result<Local<'jni>, JavaError> {
        let length = jni::jsize::try_from(elements.len()).unwrap_or(0);
        // SAFETY: valid environment, live class.
        let array =
            self.found(unsafe { jni_call!(self.jni, NewObjectArray, length, of.raw(), std::ptr::null_mut()) })?;
        for (index, element) in (0..length).zip(elements) {
            // SAFETY: valid environment, live array of that length and element of its type.
            unsafe { jni_call!(self.jni, SetObjectArrayElement, array.raw(), index, element.raw()) };
        }
        Ok(array)
    }

    /// An array of longs with one element or none.
    fn longs(&self, element: Option<i64>) -> Result<Local<'jni>, JavaError> {
        let length = jni::jsize::from(element.is_some());
        // SAFETY: valid environment.
        let array = self.found(unsafe { jni_call!(self.jni, NewLongArray, length) })?;
        if let Some(element) = element {
            // SAFETY: valid environment, a live array of one long.
            unsafe { jni_call!(self.jni, SetLongArrayRegion, array.raw(), 0, 1, &raw const element) };
        }
        Ok(array)
    }

    /// `(long)long`: the address is an argument.
    fn method_type(&self) -> Result<Local<'jni>, JavaError> {
        let boxed = self.class(c"java/lang/Long")?;
        // SAFETY: valid environment, live class, NUL-terminated names; Long.TYPE is a static Class.
        let long = self.found(unsafe {
            let field =
                jni_call!(self.jni, GetStaticFieldID, boxed.raw(), c"TYPE".as_ptr(), c"Ljava/lang/Class;".as_ptr());
            if field.is_null() {
                return Err(self.jni.failure(NO_SUCH_WAY));
            }
            jni_call!(self.jni, GetStaticObjectField, boxed.raw(), field)
        })?;
        let class = self.class(c"java/lang/invoke/MethodType")?;
        self.call(class.raw(), c"methodType", LONG_OF_LONG, &[object(&long), object(&long)])
    }

    /// JDK 17 has the entry point in `jdk.internal.invoke`; C2 takes the address as a constant, all other JDKs need another way.
    fn of_17(&self, kind: &Local<'_>, clock: GlobalClass) -> Result<Local<'jni>, JavaError> {
        let entry = self.class(c"jdk/internal/invoke/NativeEntryPoint")?;
        let rax = self.call_long(entry.raw(), c"vmStorageToVMReg", c"(II)J", &[int(i32::from(INTEGER)), int(RAX)])?;
        let (arguments, results) = (self.longs(None)?, self.longs(Some(rax))?);
        // SAFETY: valid environment, NUL-terminated text.
        let name = self.found(unsafe { jni_call!(self.jni, NewStringUTF, c"instr_ticks".as_ptr()) })?;
        let entry_point = self.create(
            &entry,
            c"(I[J[JZLjava/lang/invoke/MethodType;Ljava/lang/String;)V",
            &[int(0), object(&arguments), object(&results), boolean(false), object(kind), object(&name)],
        )?;
        let otherwise = self.call(clock.raw(), c"otherwise", c"()Ljava/lang/invoke/MethodHandle;", &[])?;
        let handle = self.class(c"java/lang/invoke/NativeMethodHandle")?;
        self.call(
            handle.raw(),
            c"make",
            c"(Ljdk/internal/invoke/NativeEntryPoint;Ljava/lang/invoke/MethodHandle;)Ljava/lang/invoke/MethodHandle;",
            &[object(&entry_point), object(&otherwise)],
        )
    }

    /// Since JDK 21 a stub makes the call, for interpreted code, too.
    fn since_21(&self, kind: &Local<'_>) -> Result<Local<'jni>, JavaError> {
        let storage = self.class(c"jdk/internal/foreign/abi/VMStorage")?;
        let register = |index| self.create(&storage, c"(BSI)V", &[byte(INTEGER), short(ALL_64_BITS), int(index)]);
        let (rax, r10, r11) = (register(RAX)?, register(R10)?, register(R11)?);
        let target = self.create(&storage, c"(BSI)V", &[byte(PLACEHOLDER), short(8), int(0)])?;
        let convention = self.convention(&storage, [&rax, &r10, &r11, &target])?;
        let entry = self.class(c"jdk/internal/foreign/abi/NativeEntryPoint")?;
        let (arguments, results) = (self.array(&storage, &[&target])?, self.array(&storage, &[&rax])?);
        let stub = self.call_long(
            entry.raw(),
            c"makeDowncallStub",
            c"(Ljava/lang/invoke/MethodType;Ljdk/internal/foreign/abi/ABIDescriptor;[Ljdk/internal/foreign/abi/VMStorage;[Ljdk/internal/foreign/abi/VMStorage;ZIZ)J",
            &[object(kind), object(&convention), object(&arguments), object(&results), boolean(false), int(0), boolean(false)],
        )?;
        if stub == 0 {
            return Err(self.jni.failure(NO_SUCH_WAY));
        }
        let entry_point =
            self.create(&entry, c"(Ljava/lang/invoke/MethodType;J)V", &[object(kind), jni::jvalue { j: stub }])?;
        let handle = self.class(c"java/lang/invoke/NativeMethodHandle")?;
        let make = c"(Ljdk/internal/foreign/abi/NativeEntryPoint;)Ljava/lang/invoke/MethodHandle;";
        self.call(handle.raw(), c"make", make, &[object(&entry_point)])
    }

    /// Of the calling convention only what a function without parameters needs: the register of the result and two that are
    /// free.
    fn convention(
        &self,
        storage: &Local<'_>,
        [rax, r10, r11, target]: [&Local<'_>; 4],
    ) -> Result<Local<'jni>, JavaError> {
        let row = self.class(c"[Ljdk/internal/foreign/abi/VMStorage;")?;
        let none = self.array(storage, &[])?;
        let result = self.array(storage, &[rax])?;
        let inputs = self.array(&row, &[&none, &none])?;
        let outputs = self.array(&row, &[&result, &none, &none])?;
        let volatiles = self.array(&row, &[&none, &none])?;
        let class = self.class(c"jdk/internal/foreign/abi/ABIDescriptor")?;
        self.create(
            &class,
            c"(Ljdk/internal/foreign/abi/Architecture;[[Ljdk/internal/foreign/abi/VMStorage;[[Ljdk/internal/foreign/abi/VMStorage;[[Ljdk/internal/foreign/abi/VMStorage;IILjdk/internal/foreign/abi/VMStorage;Ljdk/internal/foreign/abi/VMStorage;Ljdk/internal/foreign/abi/VMStorage;Ljdk/internal/foreign/abi/VMStorage;Ljdk/internal/foreign/abi/VMStorage;)V",
            &[
                jni::jvalue { l: std::ptr::null_mut() },
                object(&inputs),
                object(&outputs),
                object(&volatiles),
                int(STACK_ALIGNMENT),
                int(0),
                object(r10),
                object(r11),
                object(target),
                jni::jvalue { l: std::ptr::null_mut() },
                jni::jvalue { l: std::ptr::null_mut() },
            ],
        )
    }
}

fn object(of: &Local<'_>) -> jni::jvalue {
    jni::jvalue { l: of.raw() }
}

fn int(value: i32) -> jni::jvalue {
    jni::jvalue { i: value }
}

fn short(value: i16) -> jni::jvalue {
    jni::jvalue { s: value }
}

fn byte(value: i8) -> jni::jvalue {
    jni::jvalue { b: value }
}

fn boolean(value: bool) -> jni::jvalue {
    jni::jvalue { z: u8::from(value) }
}
