//! What the JVM reports about machine code: compiled methods and what it has made for itself.

use std::ffi::{CStr, c_char, c_void};

use jvmti_bindings::sys::{jni, jvmti};

use super::event_guard::Event;
use super::event_listener::{CodePlace, while_live};
use crate::jvm::classes::method_facts::MethodId;
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;

/// Connects the callbacks.
pub(in crate::jvm) fn connect(callbacks: &mut jvmti::jvmtiEventCallbacks) {
    callbacks.CompiledMethodLoad = Some(compiled_method_load);
    callbacks.CompiledMethodUnload = Some(compiled_method_unload);
    callbacks.DynamicCodeGenerated = Some(dynamic_code_generated);
}

unsafe extern "system" fn compiled_method_load(
    env: *mut jvmti::jvmtiEnv,
    method: jni::jmethodID,
    code_size: jni::jint,
    code: *const c_void,
    _map_length: jni::jint,
    _map: *const jvmti::jvmtiAddrLocationMap,
    _compile_info: *const c_void,
) {
    while_live(Event::CompiledMethodLoad, |listener| {
        // SAFETY: the JVM passes the environment for which the callback was installed.
        if let (Some(jvmti), Some(method)) = (unsafe { Jvmti::from_raw(env) }, MethodId::from_raw(method)) {
            listener.method_compiled(jvmti, method, place(code, code_size));
        }
    });
}

unsafe extern "system" fn compiled_method_unload(
    _env: *mut jvmti::jvmtiEnv,
    _method: jni::jmethodID,
    code: *const c_void,
) {
    // The method may be gone, too: only the address says what this is about.
    while_live(Event::CompiledMethodUnload, |listener| listener.compiled_code_unloaded(code as u64));
}

unsafe extern "system" fn dynamic_code_generated(
    _env: *mut jvmti::jvmtiEnv,
    name: *const c_char,
    code: *const c_void,
    length: jni::jint,
) {
    while_live(Event::DynamicCodeGenerated, |listener| {
        if !name.is_null() {
            // SAFETY: a NUL-terminated string that lives through the callback.
            let name = unsafe { CStr::from_ptr(name) };
            listener.code_generated(name.to_bytes(), place(code, length));
        }
    });
}

fn place(code: *const c_void, length: jni::jint) -> CodePlace {
    CodePlace { address: code as u64, length: u64::try_from(length).unwrap_or(0) }
}

impl Jvmti {
    /// Has the JVM post events on this thread for all code that exists, of the kinds that are enabled.
    pub(crate) fn tell_code(self) -> Result<(), JvmtiError> {
        // SAFETY: valid environment; both events can be generated.
        unsafe {
            jvmti_call!(self, GenerateEvents, jvmti::JVMTI_EVENT_DYNAMIC_CODE_GENERATED)?;
            jvmti_call!(self, GenerateEvents, jvmti::JVMTI_EVENT_COMPILED_METHOD_LOAD)
        }
    }
}
