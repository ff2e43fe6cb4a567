//! Samples of allocations: the JVM picks an object whenever a thread has allocated about so many bytes, and tells the thread that
//! allocates it. Naming is done there and then, while its frames keep their classes alive.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use settings::AllocationConfig;

use super::method_names::MethodNames;
use super::sample_queue::{QueuedItem, QueuedStack, SampleQueue};
use crate::jvm::{self, Event, Jni, Jvmti, LoadedClass, NanoClock, ObjectRef, Wish};

/// So many threads are known to have been told; then all are told again. Virtual threads may come by the million.
const MOST_TOLD: usize = 10_000;

/// Takes samples while it lives.
#[derive(Debug)]
pub(crate) struct AllocationSampler {
    clock: NanoClock,
    queue: Arc<SampleQueue>,
    interval_bytes: u32,
    depth: usize,
    java_version: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    methods: MethodNames,
    told_threads: FxHashSet<u64>,
}

impl AllocationSampler {
    /// Begins to take samples, which are given to the sampler that `listen` gets. An error says why that cannot be done; the application is
    /// not affected.
    pub(crate) fn start(
        jvmti: Jvmti,
        clock: NanoClock,
        config: &AllocationConfig,
        queue: Arc<SampleQueue>,
        listen: impl FnOnce(AllocationSampler),
    ) -> Result<(), String> {
        if !jvm::ask_for(jvmti, Wish::Allocations) {
            return Err("this JVM does not give them, or to another agent already".to_owned());
        }
        let interval_bytes = config.interval_kb.saturating_mul(1024);
        queue.push(QueuedItem::AllocationInterval { at: clock.now() as u64, bytes: u64::from(interval_bytes) });
        let state = Mutex::new(State::default());
        let (depth, java_version) = (config.depth as usize, jvmti.java_version());
        listen(AllocationSampler { clock, queue, interval_bytes, depth, java_version, state });
        let started = jvmti
            .set_allocation_interval(interval_bytes)
            .and_then(|()| jvmti.set_event(Event::SampledObjectAlloc, true));
        started.map_err(|error| error.to_string())
    }

    /// Takes no more samples; another agent can have them now.
    pub(crate) fn stop(jvmti: Jvmti) {
        if let Err(error) = jvmti.set_event(Event::SampledObjectAlloc, false) {
            tracing::error!(%error, "samples of allocations cannot be switched off");
        }
        jvm::give_back(jvmti, Wish::Allocations);
    }

    /// The current thread has allocated an object that the JVM has picked.
    pub(crate) fn take(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>, class: LoadedClass<'_>, size: u64) {
        let at = self.clock.now() as u64;
        // One frame more than is wanted says that the stack goes on.
        let Ok(mut walked) = jvmti.current_stack(self.depth + 1) else { return };
        let Some(class) = class.pool_name(jvmti) else { return };
        let truncated = walked.len() > self.depth;
        walked.truncate(self.depth);
        let id = jvm::java_thread_id(jni, thread).unwrap_or(0);
        let mut state = self.state.lock();
        if state.told_threads.insert(id) {
            self.tell_thread(jvmti, jni, thread);
        }
        if state.told_threads.len() > MOST_TOLD {
            state.told_threads.clear();
        }
        let frame = |frame| state.methods.frame((jvmti, jni), &self.queue, frame);
        let stack = QueuedStack { frames: walked.into_iter().map(frame).collect(), truncated };
        let weight = weight(size, self.interval_bytes);
        // With the lock held: what a frame refers to stands before it in the queue.
        self.queue.push(QueuedItem::Allocation { thread: id, at, class, size, weight, stack });
    }

    fn tell_thread(&self, jvmti: Jvmti, jni: &Jni<'_>, thread: ObjectRef<'_>) {
        let facts = jvm::thread_facts(jvmti, jni, thread);
        let is_virtual = jvm::is_virtual_thread(self.java_version, jni, thread);
        self.queue.push(QueuedItem::Thread { id: facts.java_id, name: facts.name, os_thread: 0, is_virtual });
    }
}

/// Bytes that a sample stands for: the JVM picks an object of this size with the probability `1 - e^(-size / interval)`.
fn weight(size: u64, interval_bytes: u32) -> u64 {
    if interval_bytes == 0 {
        return size;
    }
    let size = size as f64;
    let probability = -(-size / f64::from(interval_bytes)).exp_m1();
    if probability > 0.0 { (size / probability).round() as u64 } else { u64::from(interval_bytes) }
}

#[cfg(test)]
mod tests {
    use super::weight;

    #[test]
    fn small_objects_stand_for_an_interval_and_large_ones_for_themselves() {
        assert_eq!(weight(16, 524_288), 524_296);
        assert_eq!(weight(100_000_000, 524_288), 100_000_000);
        assert_eq!(weight(24, 0), 24);
        assert_eq!(weight(0, 1024), 1024);
    }
}
