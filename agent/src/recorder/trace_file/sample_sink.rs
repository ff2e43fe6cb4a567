//! From the sampler's queue to the trace file.

use std::sync::Arc;
use std::time::Duration;

use trace::{MethodInfo, Recording, SampleFrame, SampledMethod, SamplerSettings};

use crate::jvm::MethodFacts;
use crate::sampler::{Engine, QueuedFrame, QueuedItem, SampleQueue};

/// `ACC_NATIVE`
const NATIVE: u16 = 0x0100;
/// Most intervals that a sample represents; more are what a stopped machine looks like.
const MOST_TICKS: u32 = 10_000;

/// Writes what waits in the queue.
#[derive(Debug)]
pub(super) struct SampleSink {
    queue: Arc<SampleQueue>,
    /// By number of the queue.
    methods: Vec<Method>,
}

#[derive(Debug, Clone, Copy)]
struct Method {
    key: SampledMethod,
    is_native: bool,
}

impl SampleSink {
    pub(super) fn new(queue: Arc<SampleQueue>) -> SampleSink {
        SampleSink { queue, methods: Vec::new() }
    }

    /// What waits, in its order.
    pub(super) fn take(&self) -> Vec<QueuedItem> {
        self.queue.take()
    }

    pub(super) fn write(&mut self, recording: &mut Recording, item: QueuedItem) {
        match item {
            QueuedItem::Engine { at, engine, interval } => write_engine(recording, at, engine, interval),
            QueuedItem::Method { facts, .. } => self.define(recording, &facts),
            QueuedItem::Thread { id, name, os_thread, is_virtual } => {
                recording.define_thread(id, &name, os_thread, is_virtual);
            }
            QueuedItem::Stack { thread, at, ticks, stack, .. } => {
                recording.set_thread(thread);
                let frames: Vec<_> = stack.frames.iter().filter_map(|frame| self.frame(*frame)).collect();
                (0..ticks.min(MOST_TICKS)).for_each(|_| recording.sample(at, &frames, stack.truncated));
            }
            QueuedItem::Failed { thread, at, ticks, reason, place } => {
                recording.set_thread(thread);
                let place = place.map_or_else(|| "".into(), |place| place.text());
                (0..ticks.min(MOST_TICKS)).for_each(|_| recording.failed_sample(at, reason, &place));
            }
            QueuedItem::AllocationInterval { at, bytes } => recording.allocation_sampler_started(at, bytes),
            QueuedItem::Allocation { thread, at, class, size, weight, stack } => {
                recording.set_thread(thread);
                let frames: Vec<_> = stack.frames.iter().filter_map(|frame| self.frame(*frame)).collect();
                recording.allocation_sample(at, (&class, size, weight), &frames, stack.truncated);
            }
            QueuedItem::Note { at, text } => recording.note(at, "sampler", &text),
        }
    }

    fn define(&mut self, recording: &mut Recording, facts: &MethodFacts) {
        let key = recording.sampled_method(method_info(facts));
        self.methods.push(Method { key, is_native: facts.access_flags & NATIVE != 0 });
    }

    fn frame(&self, frame: QueuedFrame) -> Option<SampleFrame> {
        let method = self.methods.get(frame.method as usize)?;
        let is_native = method.is_native || frame.offset.is_none();
        let bytecode_index = frame.offset.unwrap_or(0);
        Some(SampleFrame { method: method.key, line: frame.line, bytecode_index, is_native })
    }
}

/// A method that nobody measures, as the recording names it.
pub(super) fn method_info(facts: &MethodFacts) -> MethodInfo<'_> {
    MethodInfo {
        class: &facts.class,
        name: &facts.name,
        descriptor: &facts.descriptor,
        access_flags: facts.access_flags,
        exact: false,
        template: "",
    }
}

fn write_engine(recording: &mut Recording, at: u64, engine: Engine, interval: Duration) {
    let interval_nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    recording.sampler_started(at, SamplerSettings { engine: engine.name(), interval_nanos, bias: engine.bias() });
}

/// Samples that an item represents.
pub(super) fn ticks_of(item: &QueuedItem) -> u64 {
    match item {
        QueuedItem::Stack { ticks, .. } | QueuedItem::Failed { ticks, .. } => u64::from(*ticks),
        QueuedItem::Allocation { .. } => 1,
        _ => 0,
    }
}
