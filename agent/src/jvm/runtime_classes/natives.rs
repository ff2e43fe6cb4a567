//! The native methods of `java.instr.Ring`, `java.instr.Live`, `java.instr.Watch`, `java.instr.Sections`, `java.instr.Contexts` and
//! `java.instr.Full`.

use std::ffi::c_void;
use std::sync::OnceLock;

use jvmti_bindings::sys::jni;

use super::define_class::GlobalClass;
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::environment::Jvmti;
use crate::jvm::error::JavaError;
use crate::jvm::events::event_guard::{self, Event};
use crate::jvm::jni::{Jni, jni_call};
use crate::jvm::process::operating_system::thread_cpu_nanos;
use crate::jvm::threads::thread_facts::{ThreadFacts, current_thread_facts};

/// The native side of `java.instr.Ring`.
pub(crate) trait RecorderNatives: Sync {
    /// Address of the byte that says the level of probe 0 (`java.instr.Live`); never 0.
    fn levels(&self) -> i64;
    /// Address of the words of the levels; never 0.
    fn words(&self) -> i64;
    /// Address of the counters of probes at level watch; 0 if there are none.
    fn counts(&self) -> i64;
    /// Address of the table of headers.
    fn table(&self) -> i64;
    /// The calling carrier thread, with this Java id, wants its ring: returns the address of the header.
    fn open(&'static self, carrier: u64) -> i64;
    /// The ring at this address needs a new segment.
    fn next(&self, header: i64);
    /// Address of a header without a segment, for threads that cannot have a ring. Java code reads the address
    /// without a test, so it is never 0.
    fn without_memory(&self) -> i64;
    /// The number under which sections of this name, in UTF-8, are recorded; 0 if there are no more numbers.
    fn section(&self, name: &[u8]) -> u32;
}

static RECORDER: OnceLock<&'static dyn RecorderNatives> = OnceLock::new();

/// The classes whose native methods a recorder answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecorderClasses {
    pub(crate) ring: GlobalClass,
    pub(crate) live: GlobalClass,
    pub(crate) watch: GlobalClass,
    pub(crate) sections: GlobalClass,
}

/// Binds the native methods. The first recorder stays for the life of the JVM.
pub(crate) fn register_recorder_natives(
    jni: &Jni<'_>,
    classes: RecorderClasses,
    recorder: &'static dyn RecorderNatives,
) -> Result<(), JavaError> {
    RECORDER.get_or_init(|| recorder);
    let method = |name: &'static std::ffi::CStr, signature: &'static std::ffi::CStr, function: *const c_void| {
        jni::JNINativeMethod { name: name.as_ptr(), signature: signature.as_ptr(), fnPtr: function.cast_mut() }
    };
    let methods = [
        method(c"table", c"()J", table as *const c_void),
        method(c"open", c"(J)J", open as *const c_void),
        method(c"next", c"(J)V", next as *const c_void),
    ];
    register(jni, classes.ring, &methods)?;
    let methods =
        [method(c"levels", c"()J", levels as *const c_void), method(c"words", c"()J", words as *const c_void)];
    register(jni, classes.live, &methods)?;
    register(jni, classes.watch, &[method(c"counts", c"()J", counts as *const c_void)])?;
    register(jni, classes.sections, &[method(c"register", c"(JI)I", register_section as *const c_void)])
}

/// The functions must have the signatures that are registered.
fn register(jni: &Jni<'_>, class: GlobalClass, methods: &[jni::JNINativeMethod]) -> Result<(), JavaError> {
    let count = jni::jint::try_from(methods.len()).unwrap_or(0);
    // SAFETY: valid environment, live class, as many methods as are counted; the agent's library is never unloaded.
    let result = unsafe { jni_call!(jni, RegisterNatives, class.raw(), methods.as_ptr(), count) };
    if result == jni::JNI_OK { Ok(()) } else { Err(jni.failure("binding the runtime's native methods")) }
}

extern "system" fn levels(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    RECORDER.get().map_or(0, |recorder| recorder.levels())
}

extern "system" fn words(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    RECORDER.get().map_or(0, |recorder| recorder.words())
}

extern "system" fn counts(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    RECORDER.get().map_or(0, |recorder| recorder.counts())
}

extern "system" fn table(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    RECORDER.get().map_or(0, |recorder| recorder.table())
}

extern "system" fn open(_env: *mut jni::JNIEnv, _class: jni::jclass, carrier: jni::jlong) -> jni::jlong {
    let Some(recorder) = RECORDER.get() else { return 0 };
    event_guard::run(Event::Native, || Some(recorder.open(carrier as u64))).unwrap_or_else(|| recorder.without_memory())
}

extern "system" fn next(_env: *mut jni::JNIEnv, _class: jni::jclass, header: jni::jlong) {
    event_guard::run(Event::Native, || {
        if let Some(recorder) = RECORDER.get() {
            recorder.next(header);
        }
    });
}

extern "system" fn register_section(
    _env: *mut jni::JNIEnv,
    _class: jni::jclass,
    name: jni::jlong,
    bytes: jni::jint,
) -> jni::jint {
    let length = usize::try_from(bytes).unwrap_or(0);
    if name == 0 {
        return 0;
    }
    // SAFETY: `java.instr.Sections` has just written that number of bytes there, and frees them when this has returned.
    let name = unsafe { std::slice::from_raw_parts(name as *const u8, length) };
    let number = event_guard::run(Event::Native, || Some(RECORDER.get()?.section(name))).unwrap_or(0);
    jni::jint::try_from(number).unwrap_or(0)
}

/// The addresses that `java.instr.Contexts`, `Places`, `PlaceTable`, `Sites` and `Handover` ask for, in the order of their native methods.
static TABLES: [OnceLock<i64>; 11] = [const { OnceLock::new() }; 11];

/// Receives what a slow call of a diagnosis has executed at a cell: the text in modified UTF-8 (`None`: unknown), how often, for how long.
type Executed = fn(diagnosis: u8, cell: u32, text: Option<&[u8]>, executed: (u64, u64));

static EXECUTED: OnceLock<Executed> = OnceLock::new();

/// Called when a slow call of a diagnosis ends, with its frame, the time, and a function that looks up its thread.
type SlowCallEnds = fn(frame: usize, now: u64, thread: &dyn Fn() -> ThreadFacts);

static SLOW_CALL: OnceLock<(Jvmti, SlowCallEnds)> = OnceLock::new();

/// Walks the stack of the present thread; returns the address of a place with what it amounts to, or 0.
type Walk = fn(Jvmti, &Jni<'_>) -> i64;

static WALK: OnceLock<(Jvmti, Walk)> = OnceLock::new();

/// Binds the native method by which `java.instr.Places` has the stack walked.
pub(crate) fn register_stack_walk(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    places: GlobalClass,
    walk: Walk,
) -> Result<(), JavaError> {
    WALK.get_or_init(|| (jvmti, walk));
    let method = jni::JNINativeMethod {
        name: c"walked".as_ptr(),
        signature: c"()J".as_ptr(),
        fnPtr: (walked as *const c_void).cast_mut(),
    };
    register(jni, places, &[method])
}

extern "system" fn walked(env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    let walked = event_guard::run(Event::Native, || {
        // SAFETY: the JVM hands over the environment of this thread; it does not leave this function.
        let (jni, (jvmti, walk)) = (unsafe { Jni::from_raw(env) }?, WALK.get()?);
        Some(walk(*jvmti, &jni))
    });
    walked.unwrap_or(0)
}

/// The classes that know which methods of contexts are executing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextClasses {
    pub(crate) contexts: GlobalClass,
    pub(crate) places: GlobalClass,
    pub(crate) place_table: GlobalClass,
}

/// Classes with the addresses that their native methods return: those of contexts, `java.instr.Sites` and `java.instr.Handover`.
type Tables = ((ContextClasses, [i64; 5]), (GlobalClass, [i64; 5]), (GlobalClass, i64));

/// Binds the native methods of these classes.
pub(crate) fn register_table_natives(
    (jvmti, jni): (Jvmti, &Jni<'_>),
    ((classes, of_contexts), (sites, of_sites), (handover, of_handover)): Tables,
    executed: Executed,
    slow_call_ends: SlowCallEnds,
) -> Result<(), JavaError> {
    EXECUTED.get_or_init(|| executed);
    SLOW_CALL.get_or_init(|| (jvmti, slow_call_ends));
    let tables = of_contexts.into_iter().chain(of_sites).chain([of_handover]);
    TABLES.iter().zip(tables).for_each(|(place, table)| _ = place.set(table));
    let method = |name: &'static std::ffi::CStr, function: *const c_void| jni::JNINativeMethod {
        name: name.as_ptr(),
        signature: c"()J".as_ptr(),
        fnPtr: function.cast_mut(),
    };
    let methods = [
        method(c"places", shared_table::<0> as *const c_void),
        method(c"withoutPlace", shared_table::<3> as *const c_void),
    ];
    register(jni, classes.place_table, &methods)?;
    let methods =
        [method(c"anchors", shared_table::<1> as *const c_void), method(c"steps", shared_table::<2> as *const c_void)];
    register(jni, classes.contexts, &methods)?;
    register(jni, classes.places, &[method(c"chosen", shared_table::<4> as *const c_void)])?;
    register(jni, handover, &[method(c"table", shared_table::<10> as *const c_void)])?;
    let methods = [
        method(c"methods", shared_table::<5> as *const c_void),
        method(c"diagnoses", shared_table::<6> as *const c_void),
        method(c"watched", shared_table::<7> as *const c_void),
        method(c"sums", shared_table::<8> as *const c_void),
        method(c"frames", shared_table::<9> as *const c_void),
        jni::JNINativeMethod {
            name: c"executed".as_ptr(),
            signature: c"(IILjava/lang/String;IJ)V".as_ptr(),
            fnPtr: (note_executed as *const c_void).cast_mut(),
        },
        jni::JNINativeMethod {
            name: c"slowCall".as_ptr(),
            signature: c"(IJ)V".as_ptr(),
            fnPtr: (slow_call as *const c_void).cast_mut(),
        },
    ];
    register(jni, sites, &methods)
}

extern "system" fn note_executed(
    env: *mut jni::JNIEnv,
    _class: jni::jclass,
    diagnosis: jni::jint,
    cell: jni::jint,
    text: jni::jstring,
    calls: jni::jint,
    time: jni::jlong,
) {
    event_guard::run(Event::Native, || {
        // SAFETY: the JVM hands over the environment of this thread; it does not leave this function.
        let (Some(jni), Some(executed)) = (unsafe { Jni::from_raw(env) }, EXECUTED.get()) else { return };
        // SAFETY: the method's descriptor says that this is a string, or null.
        let text = unsafe { jni.string_bytes(text) };
        let (Ok(diagnosis), Ok(cell)) = (u8::try_from(diagnosis), u32::try_from(cell)) else { return };
        let executed_for = (u64::try_from(calls).unwrap_or(0), u64::try_from(time).unwrap_or(0));
        executed(diagnosis, cell, text.as_deref(), executed_for);
    });
}

extern "system" fn slow_call(env: *mut jni::JNIEnv, _class: jni::jclass, frame: jni::jint, now: jni::jlong) {
    event_guard::run(Event::Native, || {
        // SAFETY: the JVM hands over the environment of this thread; it does not leave this function.
        let (Some(jni), Some((jvmti, ends))) = (unsafe { Jni::from_raw(env) }, SLOW_CALL.get()) else { return };
        let Ok(frame) = usize::try_from(frame) else { return };
        ends(frame, now as u64, &|| current_thread_facts(*jvmti, &jni));
    });
}

extern "system" fn shared_table<const TABLE: usize>(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    TABLES.get(TABLE).and_then(OnceLock::get).copied().unwrap_or(0)
}

/// Receives the internal names of types that were thrown.
type Thrown = fn(&[u8]);

static THROWN: OnceLock<(Jvmti, Thrown)> = OnceLock::new();

/// Binds the native methods of `java.instr.Full`.
pub(crate) fn register_full_natives(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    full: GlobalClass,
    thrown: Thrown,
) -> Result<(), JavaError> {
    THROWN.get_or_init(|| (jvmti, thrown));
    let method = |name: &'static std::ffi::CStr, signature: &'static std::ffi::CStr, function: *const c_void| {
        jni::JNINativeMethod { name: name.as_ptr(), signature: signature.as_ptr(), fnPtr: function.cast_mut() }
    };
    let methods = [
        method(c"cpuTime", c"()J", cpu_time as *const c_void),
        method(c"threw", c"(Ljava/lang/Class;)V", threw as *const c_void),
    ];
    register(jni, full, &methods)
}

/// Cannot panic, hence without a fence.
extern "system" fn cpu_time(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    thread_cpu_nanos()
}

extern "system" fn threw(_env: *mut jni::JNIEnv, _class: jni::jclass, thrown: jni::jclass) {
    event_guard::run(Event::Native, || {
        let Some((jvmti, tell)) = THROWN.get() else { return };
        // SAFETY: the JVM hands a reference to a class over that is valid until this function returns.
        let class = unsafe { LoadedClass::from_raw(thrown) };
        if let Some(name) = class.and_then(|class| class.any_internal_name(*jvmti)) {
            tell(&name);
        }
    });
}
