//! Which threads have a timer: every platform thread that Java runs on, from its first Java code to its last.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::OWN_THREADS;
use crate::jvm::{self, Event, Jni, Jvmti, LoadedClass, LoadedClasses, SampleBuffer, ThreadFacts, ThreadSlot, signal};

/// Records of a buffer: what the threads on all processors leave behind between two visits of the collector, many times over.
const RECORDS: usize = 1_024;

/// Timers run and classes are given method ids.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Events that tell the lines of compiled code, and whose code lies where.
const CODE_EVENTS: [Event; 3] = [Event::CompiledMethodLoad, Event::CompiledMethodUnload, Event::DynamicCodeGenerated];
static TIMERS: OnceLock<Mutex<Timers>> = OnceLock::new();
/// Buffers by depth: they are never freed.
static BUFFERS: Mutex<Vec<&'static SampleBuffer>> = Mutex::new(Vec::new());

/// A thread with a timer.
#[derive(Debug, Clone, Copy)]
struct Timed {
    number: usize,
    slot: &'static ThreadSlot,
    registration: u64,
}

#[derive(Debug, Default)]
struct Timers {
    interval: Duration,
    by_os_thread: FxHashMap<i32, Timed>,
    free: Vec<usize>,
    slots: usize,
    registrations: u64,
    /// Who a registration is, as far as known.
    known: FxHashMap<u64, Who>,
    ended: Vec<u64>,
    /// Registrations that turned out to be none of Java's, or ended before anybody knew.
    hidden: FxHashSet<u64>,
    /// Threads that the kernel gave no timer.
    without_timer: u64,
}

/// Who a registration is.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) facts: ThreadFacts,
    pub(super) os_thread: u64,
}

fn timers() -> &'static Mutex<Timers> {
    TIMERS.get_or_init(Mutex::default)
}

/// Gives every class method ids and every thread a timer. The events of classes and of threads must be on.
pub(super) fn start(jvmti: Jvmti, jni: &Jni<'_>, interval: Duration, depth: usize) -> Result<(), jvm::JvmtiError> {
    ACTIVE.store(true, Ordering::SeqCst);
    {
        let mut timers = timers().lock();
        timers.interval = interval;
        timers.hidden.clear();
    }
    let started = give_ids_and_timers(jvmti, jni, depth);
    if started.is_err() {
        stop(jvmti);
    }
    started
}

fn give_ids_and_timers(jvmti: Jvmti, jni: &Jni<'_>, depth: usize) -> Result<(), jvm::JvmtiError> {
    jvmti.set_event(Event::ClassLoad, true)?;
    for event in CODE_EVENTS {
        if let Err(error) = jvmti.set_event(event, true) {
            tracing::info!(%error, ?event, "lines in compiled code may be those of the nearest call");
        }
    }
    for class in LoadedClasses::all(jvmti, jni)?.as_slice().iter().filter(|class| class.is_prepared(jvmti)) {
        class_prepared(jvmti, *class);
    }
    signal::switch_on(buffer(depth));
    let mut timers = timers().lock();
    for os_thread in os_threads() {
        if !timers.by_os_thread.contains_key(&os_thread) {
            timers.add(os_thread, None, None);
        }
    }
    Ok(())
}

/// The buffer for stacks of this depth.
pub(super) fn buffer(depth: usize) -> &'static SampleBuffer {
    let mut buffers = BUFFERS.lock();
    if let Some(known) = buffers.iter().find(|buffer| buffer.depth() == depth) {
        return known;
    }
    let new: &'static SampleBuffer = Box::leak(Box::new(SampleBuffer::new(RECORDS, depth)));
    buffers.push(new);
    new
}

/// Ids of all threads of this process.
fn os_threads() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Takes all timers away and ignores the signals that are under way.
pub(super) fn stop(jvmti: Jvmti) {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    for event in [Event::ClassLoad].into_iter().chain(CODE_EVENTS) {
        if let Err(error) = jvmti.set_event(event, false) {
            tracing::error!(%error, ?event, "cannot be switched off");
        }
    }
    let mut timers = timers().lock();
    let timed: Vec<i32> = timers.by_os_thread.keys().copied().collect();
    timed.into_iter().for_each(|os_thread| timers.remove(os_thread));
    drop(timers);
    signal::switch_off();
}

/// A class was linked.
pub(crate) fn class_prepared(jvmti: Jvmti, class: LoadedClass<'_>) {
    if ACTIVE.load(Ordering::Relaxed)
        && let Err(error) = jvm::make_method_ids(jvmti, class)
    {
        tracing::debug!(%error, "methods of a class have no ids");
    }
}

/// Whether threads that begin must be told.
pub(crate) fn wants_threads() -> bool {
    are_running()
}

/// Whether timers run.
pub(super) fn are_running() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// The current thread begins.
pub(crate) fn thread_started(jni: &Jni<'_>, facts: &ThreadFacts) {
    if !wants_threads() || facts.name.starts_with(OWN_THREADS) {
        return;
    }
    let mut timers = timers().lock();
    if ACTIVE.load(Ordering::SeqCst) {
        timers.remove(current_os_thread());
        timers.add(current_os_thread(), Some(jni), Some(facts.clone()));
    }
}

/// The current thread ends.
pub(crate) fn thread_ended() {
    if wants_threads() {
        timers().lock().remove(current_os_thread());
    }
}

fn current_os_thread() -> i32 {
    i32::try_from(jvm::current_thread_id()).unwrap_or(0)
}

impl Timers {
    fn add(&mut self, os_thread: i32, jni: Option<&Jni<'_>>, facts: Option<ThreadFacts>) {
        let number = self.free.pop().unwrap_or(self.slots);
        let Some(slot) = signal::slot(number) else {
            self.without_timer += 1;
            return;
        };
        self.slots = self.slots.max(number + 1);
        self.registrations += 1;
        let registration = self.registrations;
        if let Err(error) = slot.start(number, os_thread, jni, registration, self.interval) {
            tracing::debug!(%error, os_thread, "no timer for a thread");
            self.without_timer += 1;
            self.free.push(number);
            return;
        }
        self.by_os_thread.insert(os_thread, Timed { number, slot, registration });
        if let Some(facts) = facts {
            self.known.insert(registration, Who { facts, os_thread: u64::try_from(os_thread).unwrap_or(0) });
        }
    }

    fn remove(&mut self, os_thread: i32) {
        if let Some(Timed { number, slot, registration }) = self.by_os_thread.remove(&os_thread) {
            slot.stop();
            self.free.push(number);
            self.ended.push(registration);
            if !self.known.contains_key(&registration) {
                self.hidden.insert(registration);
            }
        }
    }

    fn name_unknown(&mut self, by_environment: &[(u64, ThreadFacts)]) {
        let mut hidden = Vec::new();
        for (os_thread, timed) in &self.by_os_thread {
            if self.known.contains_key(&timed.registration) {
                continue;
            }
            let Some(environment) = timed.slot.environment() else { continue };
            match by_environment.iter().find(|(known, _)| *known == environment) {
                Some((_, facts)) if !facts.name.starts_with(OWN_THREADS) => {
                    let os_thread = u64::try_from(*os_thread).unwrap_or(0);
                    self.known.insert(timed.registration, Who { facts: facts.clone(), os_thread });
                }
                // A compiler thread, or one of ours.
                _ => hidden.push(*os_thread),
            }
        }
        hidden.into_iter().for_each(|os_thread| self.remove(os_thread));
    }
}

/// Takes the timers of threads that are none of Java's away.
pub(super) fn drop_foreign() {
    let mut timers = timers().lock();
    let is_foreign = |(os_thread, timed): (&i32, &Timed)| timed.slot.is_foreign().then_some(*os_thread);
    let foreign: Vec<i32> = timers.by_os_thread.iter().filter_map(is_foreign).collect();
    foreign.into_iter().for_each(|os_thread| timers.remove(os_thread));
}

/// Who a registration is; threads that were there before the sampler are found out about first.
pub(super) fn who(jvmti: Jvmti, jni: &Jni<'_>, registration: u64) -> Option<Who> {
    let timers_now = timers().lock();
    if let Some(known) = timers_now.known.get(&registration) {
        return Some(known.clone());
    }
    if timers_now.hidden.contains(&registration) {
        return None;
    }
    drop(timers_now);
    let by_environment = jvm::threads_by_environment(jvmti, jni);
    let mut timers = timers().lock();
    timers.name_unknown(&by_environment);
    timers.known.get(&registration).cloned()
}

/// Registrations that have ended and whose samples have all been taken if the buffer was drained after this.
pub(super) fn take_ended() -> Vec<u64> {
    std::mem::take(&mut timers().lock().ended)
}

/// Nobody will ask about these any more.
pub(super) fn forget(ended: &[u64]) {
    let mut timers = timers().lock();
    for registration in ended {
        timers.known.remove(registration);
    }
}

/// Threads without timer since the last time.
pub(super) fn take_without_timer() -> u64 {
    std::mem::take(&mut timers().lock().without_timer)
}
