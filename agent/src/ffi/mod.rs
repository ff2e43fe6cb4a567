//! The functions that the JVM looks up in `libinstr.so`. They call the agent, so they are no part of `jvm`, which knows nothing of it.
#![allow(unsafe_code, reason = "the border to the JVM's C interfaces; every block says why it is sound")]

use std::ffi::{CStr, c_char, c_void};

use jvmti_bindings::sys::jni;

use crate::entry;
use crate::jvm::JavaVm;
use crate::jvm::guard::{self, Event};

/// Called for `-agentpath:libinstr.so=OPTIONS`, before the JVM is initialised.
#[unsafe(no_mangle)]
extern "system" fn Agent_OnLoad(vm: *mut jni::JavaVM, options: *const c_char, _reserved: *mut c_void) -> jni::jint {
    start(vm, options, entry::on_load)
}

/// Called when the library is loaded into a running JVM (`jcmd PID JVMTI.agent_load libinstr.so OPTIONS`).
#[unsafe(no_mangle)]
extern "system" fn Agent_OnAttach(vm: *mut jni::JavaVM, options: *const c_char, _reserved: *mut c_void) -> jni::jint {
    start(vm, options, entry::on_attach)
}

/// Called when the JVM gives the library up, at its very end.
#[unsafe(no_mangle)]
extern "system" fn Agent_OnUnload(_vm: *mut jni::JavaVM) {
    guard::run(Event::Entry, entry::on_unload);
}

fn start(vm: *mut jni::JavaVM, options: *const c_char, body: fn(JavaVm, &[u8]) -> entry::Answer) -> jni::jint {
    let answer = guard::run(Event::Entry, || {
        // SAFETY: the JVM passes itself.
        let vm = unsafe { JavaVm::from_raw(vm) };
        // SAFETY: null or a NUL-terminated string that lives through the call.
        let options = if options.is_null() { &[] } else { unsafe { CStr::from_ptr(options) }.to_bytes() };
        vm.map_or(entry::Answer::Continue, |vm| body(vm, options))
    });
    match answer {
        entry::Answer::Continue => jni::JNI_OK,
        entry::Answer::Abort => jni::JNI_ERR,
        entry::Answer::AlreadyActive => jni::JNI_EEXIST,
    }
}
