//! Samples of running threads, as `jdk.ExecutionSample`: the name under which every tool looks for them.

use super::payload::push_text;
use super::stacks::{RUNNABLE, SampleFrame};
use super::{MethodInfo, Recording};
use crate::schema::id;
use crate::varint;

/// A method of sampled stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampledMethod(pub(super) u32);

/// What readers of samples must know about their origin.
#[derive(Debug, Clone, Copy)]
pub struct SamplerSettings<'a> {
    /// What takes the samples.
    pub engine: &'a str,
    /// Processor time of a thread between two of its samples, in nanoseconds.
    pub interval_nanos: u64,
    /// In which respect the samples are not what one might think, for people.
    pub bias: &'a str,
}

impl Recording {
    /// Notes how samples are taken. `at_nanos` is a time of `System.nanoTime()`.
    pub fn sampler_started(&mut self, at_nanos: u64, settings: SamplerSettings<'_>) {
        let period = period(settings.interval_nanos);
        for (name, value) in [("enabled", "true"), ("period", &period)] {
            self.event(id::ACTIVE_SETTING, self.chunk.last_tick(), |_, payload| {
                varint::push(payload, u64::from(id::EXECUTION_SAMPLE));
                push_text(payload, name);
                push_text(payload, value);
            });
        }
        self.configuration(at_nanos, "sampler.engine", settings.engine);
        self.configuration(at_nanos, "sampler.interval-ns", &settings.interval_nanos.to_string());
        self.configuration(at_nanos, "sampler.bias", settings.bias);
    }

    /// The method of a frame; the same names give the same method, whatever loader its class has.
    pub fn sampled_method(&mut self, method: MethodInfo<'_>) -> SampledMethod {
        let parts = self.constants.parts(method.class, method.name, method.descriptor, method.access_flags);
        SampledMethod(self.constants.sampled_key(parts))
    }

    /// Records what the current thread executed at a moment: its stack, the innermost frame first. `truncated` says that
    /// outer frames are missing.
    pub fn sample(&mut self, at_nanos: u64, frames: &[SampleFrame], truncated: bool) {
        // Room is made before any constant is used: those of a chunk that was written meanwhile would be missing.
        self.make_room();
        self.statistics.samples += 1;
        let (at, _) = self.ticks(at_nanos, 0);
        self.event(id::EXECUTION_SAMPLE, at, |recording, payload| {
            recording.push_current_thread(payload);
            recording.stacks.use_names();
            let stack = recording.stacks.use_stack(frames, truncated, &mut recording.constants);
            varint::push(payload, stack);
            varint::push(payload, RUNNABLE);
        });
    }

    /// Records that the current thread has allocated an object of this class (internal name) and size, which represents
    /// `weight` bytes of allocations: its stack, the innermost frame first.
    pub fn allocation_sample(
        &mut self,
        at_nanos: u64,
        (class, size, weight): (&[u8], u64, u64),
        frames: &[SampleFrame],
        truncated: bool,
    ) {
        let at = self.moment(at_nanos);
        self.statistics.samples += 1;
        self.event(id::ALLOCATION_SAMPLE, at, |recording, payload| {
            recording.push_current_thread(payload);
            recording.stacks.use_names();
            varint::push(payload, recording.stacks.use_stack(frames, truncated, &mut recording.constants));
            varint::push(payload, u64::from(recording.constants.use_class_named(class)));
            varint::push(payload, weight);
            varint::push(payload, size);
        });
    }

    /// Notes how allocations are sampled. `interval_bytes` is the mean number of bytes between two samples of a thread.
    pub fn allocation_sampler_started(&mut self, at_nanos: u64, interval_bytes: u64) {
        for (name, value) in [("enabled", "true".to_owned()), ("throttle", format!("{interval_bytes} B"))] {
            self.event(id::ACTIVE_SETTING, self.chunk.last_tick(), |_, payload| {
                varint::push(payload, u64::from(id::ALLOCATION_SAMPLE));
                push_text(payload, name);
                push_text(payload, &value);
            });
        }
        self.configuration(at_nanos, "allocation.interval-bytes", &interval_bytes.to_string());
    }

    /// Records that the current thread was running at a moment, but its stack could not be read; `place` is what it was executing, empty if that is not known.
    pub fn failed_sample(&mut self, at_nanos: u64, reason: &str, place: &str) {
        self.make_room();
        self.statistics.samples += 1;
        let (at, _) = self.ticks(at_nanos, 0);
        self.event(id::FAILED_SAMPLE, at, |recording, payload| {
            recording.push_current_thread(payload);
            recording.push_text_of_pool(payload, reason);
            recording.push_text_of_pool(payload, place);
        });
    }
}

/// An interval as the JVM writes it in settings.
fn period(nanos: u64) -> String {
    if nanos.is_multiple_of(1_000_000) { format!("{} ms", nanos / 1_000_000) } else { format!("{} us", nanos / 1_000) }
}
