//! Hot by processor time or by allocated bytes: the samples that are taken for the trace file, or would be.

use std::sync::Arc;
use std::time::Duration;

use control::CodeKind;
use instrument_core::internal_name::{package_of, to_source};
use rustc_hash::FxHashMap;

use super::Detector;
use super::tally::{CountedMethod, Seen, Tally};
use crate::call_sites::method_text;
use crate::jvm::{Jni, MethodFacts};
use crate::sampler::{Engine, QueuedFrame, QueuedItem, SampleQueue};

/// Between two looks; the queue has room for more.
const PAUSE: Duration = Duration::from_millis(50);
const BIAS_OF_ALLOCATIONS: &str = "objects that the JVM picks, one for so many bytes on the average; large objects are picked more often and count for less";

/// Reads a queue of samples.
pub(crate) struct QueuedSamples {
    queue: Arc<SampleQueue>,
    /// Whether the queue has another reader.
    is_shared: bool,
    methods: FxHashMap<u32, CountedMethod>,
    /// `None`: of allocations.
    engine: Option<Engine>,
}

impl QueuedSamples {
    /// Reads a queue that nobody else reads.
    pub(crate) fn of_own(queue: Arc<SampleQueue>, engine: Option<Engine>) -> QueuedSamples {
        QueuedSamples { queue, is_shared: false, methods: FxHashMap::default(), engine }
    }

    /// Reads along with somebody else, from now on.
    pub(crate) fn of_shared(queue: Arc<SampleQueue>, engine: Option<Engine>) -> QueuedSamples {
        queue.begin_copies();
        let mut samples = QueuedSamples::of_own(queue, engine);
        samples.is_shared = true;
        samples
    }

    fn add(&mut self, item: QueuedItem, tally: &mut Tally) {
        let seen = |weight: u64, samples, kind| Seen { weight: weight as f64, samples, kind, waits: false };
        match item {
            QueuedItem::Method { number, facts } => {
                self.methods.insert(number, counted_method(&facts));
            }
            QueuedItem::Stack { ticks, code, stack, .. } => {
                let kind = stack.frames.first().map_or(code, |frame| kind_of(frame, code));
                self.add_stack(&stack.frames, seen(u64::from(ticks), u64::from(ticks), kind), tally);
            }
            QueuedItem::Allocation { weight, stack, .. } => self.add_stack(&stack.frames, seen(weight, 1, None), tally),
            QueuedItem::Failed { ticks, reason, .. } => {
                tally.add_without_method(reason, seen(u64::from(ticks), u64::from(ticks), None));
            }
            QueuedItem::Engine { .. }
            | QueuedItem::Thread { .. }
            | QueuedItem::AllocationInterval { .. }
            | QueuedItem::Note { .. } => {}
        }
    }

    fn add_stack(&self, frames: &[QueuedFrame], seen: Seen, tally: &mut Tally) {
        match frames.first().map(|frame| self.methods.get(&frame.method)) {
            Some(Some(method)) => tally.add(method, seen),
            // Told before this reader began; it has been told again since.
            Some(None) => {}
            None => tally.add_without_method("no Java frame", seen),
        }
    }
}

impl Detector for QueuedSamples {
    fn look(&mut self, _: &Jni<'_>, tally: &mut Tally) {
        let items = if self.is_shared { self.queue.take_copies() } else { self.queue.take() };
        items.into_iter().for_each(|item| self.add(item, tally));
    }

    fn pause(&mut self) -> Duration {
        PAUSE
    }

    fn source(&self) -> (&'static str, Option<&'static str>) {
        match self.engine {
            Some(engine) => (engine.name(), Some(engine.bias())),
            None => ("allocation", Some(BIAS_OF_ALLOCATIONS)),
        }
    }

    fn is_biased(&self) -> bool {
        self.engine == Some(Engine::Jvmti)
    }
}

impl Drop for QueuedSamples {
    fn drop(&mut self) {
        if self.is_shared {
            self.queue.end_copies();
        }
    }
}

/// The method without its lines.
pub(super) fn counted_method(facts: &MethodFacts) -> CountedMethod {
    CountedMethod {
        text: method_text(&facts.class, &facts.name, &facts.descriptor).into(),
        package: to_source(package_of(&facts.class)).into(),
    }
}

/// Native methods are native code, whatever stub the thread was in.
fn kind_of(frame: &QueuedFrame, code: Option<CodeKind>) -> Option<CodeKind> {
    if frame.offset.is_none() { Some(CodeKind::Native) } else { code }
}
