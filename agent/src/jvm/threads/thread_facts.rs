//! Threads of the JVM: who they are, how much processor time they have used, and what they execute.

use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use jvmti_bindings::sys::{jni, jvmti};

use crate::jvm::classes::method_facts::MethodId;
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::{Jni, ObjectRef, jni_call};

/// Who a thread is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ThreadFacts {
    /// Java's id; 0 if it cannot be read.
    pub(crate) java_id: u64,
    /// Its name at the time of asking.
    pub(crate) name: String,
}

/// Fields of `java.lang.Thread`.
#[derive(Debug, Clone, Copy)]
struct ThreadFields {
    id: jni::jfieldID,
    /// Address of the JVM's own structure of the thread.
    native: jni::jfieldID,
}

// SAFETY: field ids are valid in every thread while the class lives, and java.lang.Thread always does.
unsafe impl Send for ThreadFields {}
// SAFETY: as above.
unsafe impl Sync for ThreadFields {}

static FIELDS: OnceLock<Option<ThreadFields>> = OnceLock::new();

impl ThreadFields {
    fn of_jvm(jni: &Jni<'_>) -> Option<ThreadFields> {
        *FIELDS.get_or_init(|| {
            // SAFETY: valid environment, NUL-terminated names; a field that does not exist gives null and an exception.
            unsafe {
                let class = jni.own(jni_call!(jni, FindClass, c"java/lang/Thread".as_ptr()));
                let Some(class) = class else {
                    jni.forget_exception();
                    return None;
                };
                let id = jni_call!(jni, GetFieldID, class.raw(), c"tid".as_ptr(), c"J".as_ptr());
                jni.forget_exception();
                let native = jni_call!(jni, GetFieldID, class.raw(), c"eetop".as_ptr(), c"J".as_ptr());
                jni.forget_exception();
                (!id.is_null() && !native.is_null()).then_some(ThreadFields { id, native })
            }
        })
    }
}

/// Whether [`ThreadFacts`] are available and threads can be distinguished.
pub(crate) fn threads_have_ids(jni: &Jni<'_>) -> bool {
    ThreadFields::of_jvm(jni).is_some()
}

/// Java's id of a thread, without running Java code.
pub(crate) fn java_thread_id(jni: &Jni<'_>, thread: ObjectRef<'_>) -> Option<u64> {
    let fields = ThreadFields::of_jvm(jni)?;
    // SAFETY: valid environment; a live java.lang.Thread, whose field this is.
    u64::try_from(unsafe { jni_call!(jni, GetLongField, thread.raw(), fields.id) }).ok()
}

/// The first release of the JDK with virtual threads.
const VIRTUAL_SINCE: u32 = 21;

/// Whether it is a virtual thread, in a JVM of this release.
pub(crate) fn is_virtual_thread(java_version: u32, jni: &Jni<'_>, thread: ObjectRef<'_>) -> bool {
    // SAFETY: valid environment, live thread; JVMs of these releases have the function.
    java_version >= VIRTUAL_SINCE && unsafe { jni_call!(jni, IsVirtualThread, thread.raw()) } != 0
}

/// Runs `body` with the current thread.
fn with_current_thread<R>(jvmti: Jvmti, jni: &Jni<'_>, body: impl FnOnce(ObjectRef<'_>) -> Option<R>) -> Option<R> {
    let mut current: jni::jthread = null_mut();
    // SAFETY: valid environment, out-parameter on our stack.
    unsafe { jvmti_call!(jvmti, GetCurrentThread, &mut current) }.ok()?;
    // SAFETY: JVMTI gave a new local reference or null.
    let current = unsafe { jni.own(current) }?;
    // SAFETY: `current` lives until `body` has returned.
    body(unsafe { ObjectRef::from_raw(current.raw()) }?)
}

/// Java's id of the current thread.
pub(crate) fn current_java_thread_id(jvmti: Jvmti, jni: &Jni<'_>) -> Option<u64> {
    with_current_thread(jvmti, jni, |thread| java_thread_id(jni, thread))
}

/// Who the current thread is.
pub(crate) fn current_thread_facts(jvmti: Jvmti, jni: &Jni<'_>) -> ThreadFacts {
    with_current_thread(jvmti, jni, |thread| Some(thread_facts(jvmti, jni, thread))).unwrap_or_default()
}

/// Who this thread is.
pub(crate) fn thread_facts(jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>) -> ThreadFacts {
    let java_id = java_thread_id(jni, thread).unwrap_or(0);
    // SAFETY: all-zero is a valid structure of pointers and numbers.
    let mut info: jvmti::jvmtiThreadInfo = unsafe { std::mem::zeroed() };
    // SAFETY: valid environment, live thread, out-parameter on our stack.
    if unsafe { jvmti_call!(jvmti, GetThreadInfo, thread.raw(), &mut info) }.is_err() {
        return ThreadFacts { java_id, name: String::new() };
    }
    // SAFETY: JVMTI gave new local references (or null) and a string, all ours.
    let name = unsafe {
        drop((jni.own(info.thread_group), jni.own(info.context_class_loader)));
        jvmti.take_string(info.name)
    };
    ThreadFacts { java_id, name: trace::text_of_modified_utf8(&name.unwrap_or_default()) }
}

/// All live platform threads that the JVM shows; their references are freed when this is dropped.
#[derive(Debug)]
pub(crate) struct AllThreads<'jni> {
    jni: &'jni Jni<'jni>,
    threads: Vec<ObjectRef<'jni>>,
}

impl<'jni> AllThreads<'jni> {
    /// Asks the JVM.
    pub(crate) fn of_jvm(jvmti: Jvmti, jni: &'jni Jni<'jni>) -> Result<AllThreads<'jni>, JvmtiError> {
        let mut count = 0;
        let mut array: *mut jni::jthread = null_mut();
        // SAFETY: valid environment, out-parameters on our stack.
        unsafe { jvmti_call!(jvmti, GetAllThreads, &mut count, &mut array) }?;
        let mut threads = Vec::new();
        if let Some(array) = NonNull::new(array) {
            // SAFETY: JVMTI gave `count` new local references that are ours, in an array that is given back once.
            unsafe {
                let raw = std::slice::from_raw_parts(array.as_ptr(), usize::try_from(count).unwrap_or(0));
                threads.extend(raw.iter().filter_map(|thread| ObjectRef::from_raw(*thread)));
                jvmti.deallocate(array.as_ptr().cast());
            }
        }
        Ok(AllThreads { jni, threads })
    }

    /// The threads.
    pub(crate) fn as_slice(&self) -> &[ObjectRef<'jni>] {
        &self.threads
    }
}

impl Drop for AllThreads<'_> {
    fn drop(&mut self) {
        for thread in self.threads.drain(..) {
            // SAFETY: local references of this thread, made by `of_jvm`; no copy outlives the borrow of `self`.
            unsafe { jni_call!(self.jni, DeleteLocalRef, thread.raw()) };
        }
    }
}

/// The JVM's own structure of a thread: a number that identifies the thread while it is alive.
fn native_thread(jni: &Jni<'_>, thread: ObjectRef<'_>) -> Option<u64> {
    let fields = ThreadFields::of_jvm(jni)?;
    // SAFETY: valid environment; a live java.lang.Thread, whose field this is.
    let address = unsafe { jni_call!(jni, GetLongField, thread.raw(), fields.native) };
    u64::try_from(address).ok().filter(|address| *address != 0)
}

/// Facts of all live platform threads by the addresses of their JNI environments. An environment lies inside the JVM's
/// structure of its thread, at a distance that is the same for all: the current thread shows it.
pub(crate) fn threads_by_environment(jvmti: Jvmti, jni: &Jni<'_>) -> Vec<(u64, ThreadFacts)> {
    let own = with_current_thread(jvmti, jni, |thread| native_thread(jni, thread));
    let Some(own) = own else { return Vec::new() };
    let distance = (jni.raw() as u64).wrapping_sub(own);
    let Ok(threads) = AllThreads::of_jvm(jvmti, jni) else { return Vec::new() };
    let with_address = |thread: &ObjectRef<'_>| {
        let environment = native_thread(jni, *thread)?.wrapping_add(distance);
        Some((environment, thread_facts(jvmti, jni, *thread)))
    };
    threads.as_slice().iter().filter_map(with_address).collect()
}

/// Adds what the sampler needs to the agent's capabilities, as far as this JVM has it.
pub(crate) fn ask_for_sampling(jvmti: Jvmti) -> Result<(), JvmtiError> {
    let mut potential = jvmti::jvmtiCapabilities::default();
    // SAFETY: valid environment, out-parameter on our stack.
    unsafe { jvmti_call!(jvmti, GetPotentialCapabilities, &mut potential) }?;
    let mut wanted = jvmti::jvmtiCapabilities::default();
    wanted.set_can_get_line_numbers(potential.can_get_line_numbers());
    wanted.set_can_generate_compiled_method_load_events(potential.can_generate_compiled_method_load_events());
    wanted.set_can_get_thread_cpu_time(potential.can_get_thread_cpu_time());
    // SAFETY: valid environment, the structure lives through the call.
    unsafe { jvmti_call!(jvmti, AddCapabilities, &wanted) }
}

/// Processor time of a thread in nanoseconds.
pub(crate) fn thread_cpu_nanos(jvmti: Jvmti, thread: ObjectRef<'_>) -> Option<u64> {
    let mut nanos = 0;
    // SAFETY: valid environment, live thread, out-parameter on our stack.
    unsafe { jvmti_call!(jvmti, GetThreadCpuTime, thread.raw(), &mut nanos) }.ok()?;
    u64::try_from(nanos).ok()
}

/// A stack as JVMTI gives it: methods with offsets in their bytecode (`None` in native ones), the innermost first.
pub(crate) type WalkedStack = Vec<(Option<MethodId>, Option<u32>)>;

/// The stacks of threads, in their order; each has at most `depth` frames.
pub(crate) fn walk_stacks(
    jvmti: Jvmti,
    threads: &[ObjectRef<'_>],
    depth: usize,
) -> Result<Vec<WalkedStack>, JvmtiError> {
    Ok(walk_stacks_with_states(jvmti, threads, depth)?.into_iter().map(|(_, stack)| stack).collect())
}

/// The same, and whether each thread was runnable: it waited for no monitor, no event and no time.
pub(crate) fn walk_stacks_with_states(
    jvmti: Jvmti,
    threads: &[ObjectRef<'_>],
    depth: usize,
) -> Result<Vec<(bool, WalkedStack)>, JvmtiError> {
    let all = stacks_in_states(jvmti, threads, depth)?.into_iter();
    Ok(all.map(|(state, stack)| (state == ThreadState::Runnable, stack)).collect())
}

/// What a thread does, as far as JVMTI says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadState {
    /// It runs, or could; also in native code that waits in the kernel.
    Runnable,
    /// It waits to enter a monitor.
    Blocked,
    /// It waits for something else.
    Waiting,
}

/// The state and the stack of one thread: no other thread is stopped for it.
pub(crate) fn state_and_stack(
    jvmti: Jvmti,
    thread: ObjectRef<'_>,
    depth: usize,
) -> Result<(ThreadState, WalkedStack), JvmtiError> {
    let found = stacks_in_states(jvmti, &[thread], depth)?.pop();
    Ok(found.unwrap_or((ThreadState::Waiting, Vec::new())))
}

/// The states of threads and their stacks, in their order; each has at most `depth` frames.
pub(crate) fn stacks_in_states(
    jvmti: Jvmti,
    threads: &[ObjectRef<'_>],
    depth: usize,
) -> Result<Vec<(ThreadState, WalkedStack)>, JvmtiError> {
    let raw: Vec<jni::jthread> = threads.iter().map(|thread| thread.raw()).collect();
    let number = |size: usize| jni::jint::try_from(size).unwrap_or(jni::jint::MAX);
    let mut infos: *mut jvmti::jvmtiStackInfo = null_mut();
    // SAFETY: valid environment, as many live threads as it is given, out-parameter on our stack.
    unsafe {
        jvmti_call!(jvmti, GetThreadListStackTraces, number(raw.len()), raw.as_ptr(), number(depth), &mut infos)
    }?;
    let Some(infos) = NonNull::new(infos) else { return Ok(Vec::new()) };
    let state = |entry: &jvmti::jvmtiStackInfo| match entry.state {
        state if state & jvmti::JVMTI_THREAD_STATE_RUNNABLE != 0 => ThreadState::Runnable,
        state if state & jvmti::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER != 0 => ThreadState::Blocked,
        _ => ThreadState::Waiting,
    };
    // SAFETY: JVMTI gave one entry a thread with as many frames as it says, all in one piece of memory that is given
    // back once, after everything was copied.
    unsafe {
        let entries = std::slice::from_raw_parts(infos.as_ptr(), raw.len());
        let stacks = entries.iter().map(|entry| (state(entry), walked_stack(entry))).collect();
        jvmti.deallocate(infos.as_ptr().cast());
        Ok(stacks)
    }
}

/// # Safety
/// The entry must be one that JVMTI has filled.
unsafe fn walked_stack(entry: &jvmti::jvmtiStackInfo) -> WalkedStack {
    let count = usize::try_from(entry.frame_count).unwrap_or(0);
    if entry.frame_buffer.is_null() || count == 0 {
        return Vec::new();
    }
    // SAFETY: JVMTI has returned this number of frames (caller).
    let frames = unsafe { std::slice::from_raw_parts(entry.frame_buffer, count) };
    frames.iter().map(|frame| (MethodId::from_raw(frame.method), u32::try_from(frame.location).ok())).collect()
}
