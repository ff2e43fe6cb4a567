//! The sampler's thread: gives samples their names and passes them on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use control::CodeKind;
use rustc_hash::FxHashSet;

use super::cpu_shares::CpuShares;
use super::innermost_place::{InnermostPlace, Places};
use super::method_names::MethodNames;
use super::sample_queue::{QueuedItem, QueuedStack, SampleQueue};
use super::{Engine, Surroundings, code_map, thread_timers};
use crate::jvm::{CodeRegion, CodeRegions, Jni, JvmtiError, Sample, ThreadFacts, VmStructs, signal};

/// Pause between two visits to the buffer.
const PAUSE: Duration = Duration::from_millis(50);
/// So many threads are known to have been told; then all are told again.
const MOST_TOLD: usize = 10_000;
/// The code of AsyncGetCallTrace where its walk began at the caller.
const UNKNOWN_PLACE_IN_JAVA: i32 = -5;
/// How often it is asked whether the signal still comes to us.
const CHECK: Duration = Duration::from_secs(1);

/// Figures of one sampler.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct SampleCounts {
    /// What took the samples.
    engine: &'static str,
    /// Samples, with a stack or without, weighed by the intervals they stand for.
    samples: u64,
    /// Of these, stacks that go on.
    truncated: u64,
    /// Of these, samples without a stack, by reason.
    failed: BTreeMap<&'static str, u64>,
    /// Threads that were not sampled, because the kernel gave them no timer.
    threads_without_timer: u64,
}

/// The thread's state.
#[derive(Debug)]
pub(super) struct Collector {
    surroundings: Surroundings,
    engine: Engine,
    interval: Duration,
    depth: usize,
    /// Absent in JVMs that do not say where their code is.
    code: Option<CodeRegions>,
    queue: Arc<SampleQueue>,
    methods: MethodNames,
    places: Places,
    told_threads: FxHashSet<u64>,
    counts: SampleCounts,
}

impl Collector {
    pub(super) fn new(
        surroundings: Surroundings,
        engine: Engine,
        interval: Duration,
        depth: usize,
        queue: Arc<SampleQueue>,
    ) -> Collector {
        Collector {
            surroundings,
            engine,
            interval,
            depth,
            code: VmStructs::find().and_then(CodeRegions::find),
            queue,
            methods: MethodNames::default(),
            places: Places::default(),
            told_threads: FxHashSet::default(),
            counts: SampleCounts { engine: engine.name(), ..SampleCounts::default() },
        }
    }

    /// Works until it is told to stop.
    pub(super) fn run(mut self, jni: &Jni<'_>, stop: &AtomicBool) -> SampleCounts {
        match self.engine {
            Engine::Async => self.visit_buffer(jni, stop),
            Engine::Jvmti => self.ask_jvmti(jni, stop),
        }
        tracing::info!(counts = ?self.counts, "samples were taken");
        self.counts
    }

    fn visit_buffer(&mut self, jni: &Jni<'_>, stop: &AtomicBool) {
        code_map::list_present(self.surroundings.jvmti);
        let buffer = thread_timers::buffer(self.depth);
        // Both count the same clock from different moments.
        let to_java = (self.surroundings.clock.now() as u64).wrapping_sub(signal::monotonic_nanos());
        let mut checked = Instant::now();
        loop {
            let last = stop.load(Ordering::Acquire);
            let ended = thread_timers::take_ended();
            let begin = signal::monotonic_nanos();
            buffer.drain(&mut |sample| self.take_signal(jni, &sample, to_java));
            let lost = buffer.take_lost_ticks();
            if lost > 0 {
                self.fail(0, self.surroundings.clock.now() as u64, lost, "buffer full", None);
            }
            thread_timers::drop_foreign();
            thread_timers::forget(&ended);
            code_map::forget_before(begin);
            self.counts.threads_without_timer += thread_timers::take_without_timer();
            if last {
                break;
            }
            if checked.elapsed() >= CHECK {
                checked = Instant::now();
                if !signal::has_signal() {
                    self.give_up();
                    break;
                }
            }
            std::thread::park_timeout(PAUSE);
        }
        code_map::clear();
    }

    /// Somebody has taken SIGPROF away: another profiler, which must not get the signals of our timers.
    fn give_up(&mut self) {
        thread_timers::stop(self.surroundings.jvmti);
        let text = "another profiler has taken SIGPROF over: no more samples from here on".to_owned();
        crate::log::message::say(&text);
        self.queue.push(QueuedItem::Note { at: self.surroundings.clock.now() as u64, text });
    }

    fn take_signal(&mut self, jni: &Jni<'_>, sample: &Sample<'_>, to_java: u64) {
        let jvmti = self.surroundings.jvmti;
        // Not found: a thread of the JVM's own, like a compiler.
        let Some(who) = thread_timers::who(jvmti, jni, sample.thread) else { return };
        self.tell_thread(&who.facts, who.os_thread);
        let at = sample.nanos.wrapping_add(to_java);
        let is_whole = sample.stack.is_ok_and(|stack| !stack.from_caller);
        let place = if is_whole { None } else { self.places.at((jvmti, jni), sample.counter, sample.nanos) };
        match (sample.stack, place) {
            // Only a stub is known to work for its caller: compiled code may have been about to make a frame of its own.
            (Ok(stack), place) if stack.from_caller && !matches!(place, Some(InnermostPlace::Native(_))) => {
                self.fail(who.facts.java_id, at, u64::from(sample.ticks), reason(UNKNOWN_PLACE_IN_JAVA), place);
            }
            (Ok(stack), place) => {
                let names = (jvmti, jni);
                let frames = stack.iter().map(|frame| self.methods.frame(names, &self.queue, frame)).collect();
                let region = self.code.filter(|_| sample.counter != 0).map(|code| kind(code.region(sample.counter)));
                // Without a frame of its own, a stub works for its caller.
                let code = if place.is_some() { Some(CodeKind::Native) } else { region };
                let stack = QueuedStack { frames, truncated: stack.truncated };
                self.pass(who.facts.java_id, at, sample.ticks, code, stack);
            }
            (Err(code), place) => self.fail(who.facts.java_id, at, u64::from(sample.ticks), reason(code), place),
        }
    }

    fn ask_jvmti(&mut self, jni: &Jni<'_>, stop: &AtomicBool) {
        let mut shares = CpuShares::default();
        let mut failed = false;
        while !stop.load(Ordering::Acquire) {
            if let Err(error) = self.take_shares(jni, &mut shares) {
                // One message, not one each interval.
                if !std::mem::replace(&mut failed, true) {
                    tracing::warn!(%error, "samples are missing");
                }
            }
            std::thread::park_timeout(self.interval);
        }
    }

    fn take_shares(&mut self, jni: &Jni<'_>, shares: &mut CpuShares) -> Result<(), JvmtiError> {
        let jvmti = self.surroundings.jvmti;
        // One frame more than is wanted says that the stack goes on.
        for sample in shares.samples((jvmti, jni), self.interval, self.depth + 1)? {
            let at = self.surroundings.clock.now() as u64;
            self.tell_thread(&sample.thread, 0);
            if sample.frames.is_empty() {
                self.fail(sample.thread.java_id, at, u64::from(sample.ticks), "no Java frame", None);
                continue;
            }
            let truncated = sample.frames.len() > self.depth;
            let frames = sample.frames.into_iter().take(self.depth);
            let frames = frames.map(|frame| self.methods.frame((jvmti, jni), &self.queue, frame)).collect();
            self.pass(sample.thread.java_id, at, sample.ticks, None, QueuedStack { frames, truncated });
        }
        Ok(())
    }

    fn tell_thread(&mut self, facts: &ThreadFacts, os_thread: u64) {
        if self.told_threads.len() >= MOST_TOLD && !self.told_threads.contains(&facts.java_id) {
            self.told_threads.clear();
        }
        if self.told_threads.insert(facts.java_id) {
            let (id, name) = (facts.java_id, facts.name.clone());
            self.queue.push(QueuedItem::Thread { id, name, os_thread, is_virtual: false });
        }
    }

    fn pass(&mut self, thread: u64, at: u64, ticks: u32, code: Option<CodeKind>, stack: QueuedStack) {
        self.counts.samples += u64::from(ticks);
        self.counts.truncated += if stack.truncated { u64::from(ticks) } else { 0 };
        let item = QueuedItem::Stack { thread, at, ticks, code, stack };
        if !self.queue.push(item) {
            *self.counts.failed.entry("queue full").or_default() += u64::from(ticks);
        }
    }

    fn fail(&mut self, thread: u64, at: u64, ticks: u64, reason: &'static str, place: Option<InnermostPlace>) {
        self.counts.samples += ticks;
        *self.counts.failed.entry(reason).or_default() += ticks;
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        self.queue.push(QueuedItem::Failed { thread, at, ticks, reason, place });
    }
}

/// Stubs, which are few, count as compiled.
fn kind(region: CodeRegion) -> CodeKind {
    match region {
        CodeRegion::Compiled => CodeKind::Jit,
        CodeRegion::Interpreter => CodeKind::Interpreted,
        CodeRegion::Library => CodeKind::Native,
    }
}

/// What a code of AsyncGetCallTrace says.
fn reason(code: i32) -> &'static str {
    match code {
        0 => "no Java frame",
        -1 => "class events off",
        -2 => "collector at work",
        -3 => "unknown place outside Java",
        -4 => "unreadable stack outside Java",
        -5 => "unknown place in Java",
        -6 => "unreadable stack in Java",
        -7 => "unknown thread state",
        -8 => "thread ending",
        -9 => "deoptimising",
        -10 => "at a safepoint",
        _ => "other",
    }
}
