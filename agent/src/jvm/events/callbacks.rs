//! JVMTI events: the callbacks, and switching them on and off.

use std::cell::OnceCell;
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

use jvmti_bindings::sys::{jni, jvmti};

use super::code_events;
use super::event_guard::{self, Event};
use super::event_listener::{
    ClassFile, JvmEvents, in_live_phase, is_surely_live, listener, set_listener, set_surely_live,
};
use super::name_gate::{LARGE_FILE, NAME_GATE};
use super::object_events;
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::environment::{Jvmti, Phase, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::{Jni, ObjectRef};

/// Connects the listener; no event is delivered until it is switched on.
pub(crate) fn install(jvmti: Jvmti, listener: &'static dyn JvmEvents) -> Result<(), JvmtiError> {
    set_listener(listener);
    // An agent that is attached gets no VMInit.
    set_surely_live(jvmti.phase() == Phase::Live);
    let mut callbacks = jvmti::jvmtiEventCallbacks::default();
    callbacks.VMInit = Some(vm_init);
    callbacks.VMDeath = Some(vm_death);
    callbacks.ClassFileLoadHook = Some(class_file_load_hook);
    callbacks.ClassPrepare = Some(class_prepare);
    callbacks.ClassLoad = Some(class_load);
    callbacks.ThreadStart = Some(thread_start);
    callbacks.ThreadEnd = Some(thread_end);
    callbacks.GarbageCollectionStart = Some(garbage_collection_start);
    callbacks.GarbageCollectionFinish = Some(garbage_collection_finish);
    code_events::connect(&mut callbacks);
    object_events::connect(&mut callbacks);
    let size = jni::jint::try_from(size_of::<jvmti::jvmtiEventCallbacks>()).unwrap_or(0);
    // SAFETY: valid environment; the JVM copies at most `size` bytes, and the functions live as long as the library.
    unsafe { jvmti_call!(jvmti, SetEventCallbacks, &callbacks, size) }
}

impl Jvmti {
    /// Switches an event on or off for all threads. Events that are not JVMTI's own are ignored.
    pub(crate) fn set_event(self, event: Event, enabled: bool) -> Result<(), JvmtiError> {
        let number = match event {
            Event::VmInit => jvmti::JVMTI_EVENT_VM_INIT,
            Event::VmDeath => jvmti::JVMTI_EVENT_VM_DEATH,
            Event::ClassFileLoad => jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
            Event::ClassPrepare => jvmti::JVMTI_EVENT_CLASS_PREPARE,
            Event::ClassLoad => jvmti::JVMTI_EVENT_CLASS_LOAD,
            Event::CompiledMethodLoad => jvmti::JVMTI_EVENT_COMPILED_METHOD_LOAD,
            Event::CompiledMethodUnload => jvmti::JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
            Event::DynamicCodeGenerated => jvmti::JVMTI_EVENT_DYNAMIC_CODE_GENERATED,
            Event::SampledObjectAlloc => jvmti::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
            Event::ObjectFree => jvmti::JVMTI_EVENT_OBJECT_FREE,
            Event::ThreadStart => jvmti::JVMTI_EVENT_THREAD_START,
            Event::ThreadEnd => jvmti::JVMTI_EVENT_THREAD_END,
            Event::GcStart => jvmti::JVMTI_EVENT_GARBAGE_COLLECTION_START,
            Event::GcFinish => jvmti::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            Event::Entry | Event::Native => return Ok(()),
        };
        let mode = if enabled { jvmti::JVMTI_ENABLE } else { jvmti::JVMTI_DISABLE };
        // SAFETY: valid environment; a null thread means all threads.
        unsafe { jvmti_call!(self, SetEventNotificationMode, mode, number, null_mut()) }
    }
}

unsafe extern "system" fn vm_init(env: *mut jvmti::jvmtiEnv, jni_env: *mut jni::JNIEnv, _thread: jni::jthread) {
    set_surely_live(true);
    in_live_phase(Event::VmInit, env, jni_env, |listener, jvmti, jni| listener.vm_init(jvmti, jni));
}

unsafe extern "system" fn vm_death(env: *mut jvmti::jvmtiEnv, jni_env: *mut jni::JNIEnv) {
    set_surely_live(false);
    in_live_phase(Event::VmDeath, env, jni_env, |listener, jvmti, jni| listener.vm_death(jvmti, jni));
}

unsafe extern "system" fn class_prepare(
    env: *mut jvmti::jvmtiEnv,
    jni_env: *mut jni::JNIEnv,
    _thread: jni::jthread,
    class: jni::jclass,
) {
    in_live_phase(Event::ClassPrepare, env, jni_env, |listener, jvmti, jni| {
        // SAFETY: the JVM's reference lives through the callback.
        if let Some(class) = unsafe { LoadedClass::from_raw(class) } {
            listener.class_prepared(jvmti, jni, class);
        }
    });
}

unsafe extern "system" fn class_load(
    _env: *mut jvmti::jvmtiEnv,
    _jni_env: *mut jni::JNIEnv,
    _thread: jni::jthread,
    _class: jni::jclass,
) {
}

unsafe extern "system" fn thread_start(env: *mut jvmti::jvmtiEnv, jni_env: *mut jni::JNIEnv, thread: jni::jthread) {
    in_live_phase(Event::ThreadStart, env, jni_env, |listener, jvmti, jni| {
        // SAFETY: the JVM's reference lives through the callback.
        if let Some(thread) = unsafe { ObjectRef::from_raw(thread) } {
            listener.thread_started(jvmti, jni, thread);
        }
    });
}

unsafe extern "system" fn thread_end(_env: *mut jvmti::jvmtiEnv, jni_env: *mut jni::JNIEnv, thread: jni::jthread) {
    event_guard::run(Event::ThreadEnd, || {
        let Some(listener) = listener() else { return };
        let is_live = is_surely_live();
        // SAFETY: in the LIVE phase the JVM passes the environment of the current thread, and a reference that lives through the
        // callback.
        let (jni, thread) = unsafe { (Jni::from_raw(jni_env), ObjectRef::from_raw(thread)) };
        listener.thread_ended(jni.as_ref().zip(thread).filter(|_| is_live));
    });
}

unsafe extern "system" fn garbage_collection_start(_env: *mut jvmti::jvmtiEnv) {
    garbage_collection(Event::GcStart, true);
}

unsafe extern "system" fn garbage_collection_finish(_env: *mut jvmti::jvmtiEnv) {
    garbage_collection(Event::GcFinish, false);
}

fn garbage_collection(event: Event, starts: bool) {
    event_guard::run(event, || {
        if let Some(listener) = listener() {
            listener.garbage_collection(starts);
        }
    });
}

unsafe extern "system" fn class_file_load_hook(
    env: *mut jvmti::jvmtiEnv,
    jni_env: *mut jni::JNIEnv,
    class_being_redefined: jni::jclass,
    loader: jni::jobject,
    name: *const c_char,
    protection_domain: jni::jobject,
    length: jni::jint,
    data: *const u8,
    new_length: *mut jni::jint,
    new_data: *mut *mut u8,
) {
    // Without a fence, because nothing here can panic, and in any phase, because nothing is asked of the JVM.
    let may_be_turned_away = class_being_redefined.is_null() && usize::try_from(length).is_ok_and(|of| of < LARGE_FILE);
    // SAFETY: null or a NUL-terminated string that lives through the callback.
    if may_be_turned_away && unsafe { NAME_GATE.turns_away_name(name) } {
        return;
    }
    let rewritten = in_live_phase(Event::ClassFileLoad, env, jni_env, |listener, jvmti, jni| {
        let length = usize::try_from(length).ok()?;
        if data.is_null() {
            return None;
        }
        let class = ClassFile {
            jvmti,
            jni,
            // SAFETY: null or a NUL-terminated string that lives through the callback.
            name: (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes()),
            // SAFETY: null or a reference that lives through the callback.
            loader: unsafe { ObjectRef::from_raw(loader) },
            // SAFETY: null or a reference that lives through the callback.
            protection_domain: unsafe { ObjectRef::from_raw(protection_domain) },
            // SAFETY: the JVM passes `length` bytes that do not change during the callback.
            bytes: unsafe { std::slice::from_raw_parts(data, length) },
            // SAFETY: null or a reference that lives through the callback.
            redefined: unsafe { LoadedClass::from_raw(class_being_redefined) },
            loader_id: OnceCell::new(),
        };
        listener.class_file(&class).map(|bytes| (jvmti, bytes))
    });
    if let Some((jvmti, bytes)) = rewritten {
        // SAFETY: the JVM passes valid out-parameters for the new class.
        unsafe { hand_over(jvmti, &bytes, new_length, new_data) };
    }
}

/// Passes a rewritten class to the JVM in memory of the JVM, which frees it. Without memory the class stays as it is.
///
/// # Safety
/// The pointers must be the out-parameters of the class file hook.
unsafe fn hand_over(jvmti: Jvmti, bytes: &[u8], new_length: *mut jni::jint, new_data: *mut *mut u8) {
    let (Ok(length), Ok(size)) = (jni::jint::try_from(bytes.len()), jni::jlong::try_from(bytes.len())) else { return };
    let mut memory: *mut u8 = null_mut();
    // SAFETY: valid environment, out-parameter on our stack.
    if unsafe { jvmti_call!(jvmti, Allocate, size, &mut memory) }.is_err() || memory.is_null() {
        return;
    }
    // SAFETY: the memory is new and has `size` bytes; the out-parameters are valid (caller).
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        *new_length = length;
        *new_data = memory;
    }
}
