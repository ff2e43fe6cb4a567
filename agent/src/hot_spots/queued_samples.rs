//! Hot by processor time or by allocated bytes: the samples that are taken for the trace file, or would be.

use std::sync::Arc;
use std::time::Duration;

use control::CodeKind;
use rustc_hash::FxHashMap;

use super::Detector;
use super::counted_method::CountedMethod;
use super::seen::Seen;
use super::tally::Tally;
use crate::jvm::Jni;
use crate::sampler::{Engine, InnermostPlace, QueuedFrame, QueuedItem, QueuedStack, SampleQueue};

/// Between two looks; the queue has room for more.
const PAUSE: Duration = Duration::from_millis(50);
const BIAS_OF_LATE_SAMPLES: &str = "each thread by its own processor time, at any instruction, but in code that was compiled before, a method that the JIT has inlined may count for its caller \
    (`-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints`, or `[sampler]` when the JVM starts, avoids most of that, not that of loops); threads of the JVM itself (compiler, collector) are left out, virtual threads \
    count for their carriers";
const BIAS_OF_ALLOCATIONS: &str = "objects that the JVM picks, one for so many bytes on the average; large objects are picked more often and count for less";

/// Reads a queue of samples.
pub(crate) struct QueuedSamples {
    queue: Arc<SampleQueue>,
    /// Whether the queue has another reader.
    is_shared: bool,
    methods: FxHashMap<u32, CountedMethod>,
    notes: Vec<String>,
    /// `None`: of allocations.
    of_processor: Option<ProcessorSamples>,
}

/// How samples of running threads are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessorSamples {
    pub(crate) engine: Engine,
    /// Whether compiled code says where inlined methods are: HotSpot notes that only while a sampler is at work, or with `-XX:+DebugNonSafepoints`.
    pub(crate) knows_inlined: bool,
    /// Processor time that each represents.
    pub(crate) interval: Duration,
}

impl QueuedSamples {
    /// Reads a queue that nobody else reads.
    pub(crate) fn of_own(queue: Arc<SampleQueue>, of_processor: Option<ProcessorSamples>) -> QueuedSamples {
        QueuedSamples { queue, is_shared: false, methods: FxHashMap::default(), notes: Vec::new(), of_processor }
    }

    /// Reads along with somebody else, from now on.
    pub(crate) fn of_shared(queue: Arc<SampleQueue>, of_processor: Option<ProcessorSamples>) -> QueuedSamples {
        queue.begin_copies();
        let mut samples = QueuedSamples::of_own(queue, of_processor);
        samples.is_shared = true;
        samples
    }

    fn add(&mut self, item: QueuedItem, tally: &mut Tally) {
        let seen = |weight: u64, kind| Seen { weight: weight as f64, samples: 1, kind, line: 0, waits: false };
        match item {
            QueuedItem::Method { number, facts, unnamed } => {
                let method = CountedMethod::of(&facts);
                // What has no name may be a caller as well as a go-between: it is not passed through.
                let is_go_between = method.is_go_between && unnamed.is_none();
                self.methods.insert(number, CountedMethod { unnamed, is_go_between, ..method });
            }
            QueuedItem::Note { text, .. } => self.notes.push(text),
            QueuedItem::Stack { ticks, code, stack, .. } => {
                let kind = stack.frames.first().map_or(code, |frame| kind_of(frame, code));
                self.add_stack(&stack, seen(u64::from(ticks), kind).at_line_of(&stack), tally);
            }
            QueuedItem::Allocation { weight, stack, .. } => {
                self.add_stack(&stack, seen(weight, None).at_line_of(&stack), tally);
            }
            QueuedItem::Failed { ticks, reason, place, .. } => match place {
                Some(place) => {
                    tally.add_failed_in(&CountedMethod::of_place(&place), seen(u64::from(ticks), kind_of_place(&place)))
                }
                None => tally.add_failed(reason, seen(u64::from(ticks), None)),
            },
            QueuedItem::Engine { .. } | QueuedItem::Thread { .. } | QueuedItem::AllocationInterval { .. } => {}
        }
    }

    fn add_stack(&self, stack: &QueuedStack, seen: Seen, tally: &mut Tally) {
        let methods = stack.frames.iter().map(|frame| self.methods.get(&frame.method));
        // A sample that was taken while this reader began may have methods whose definitions it has not read: it is left out, like those before it.
        if let Some(methods) = methods.collect::<Option<Vec<_>>>() {
            tally.add_stack(&methods, stack.truncated, seen);
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
        match self.of_processor {
            Some(ProcessorSamples { engine: Engine::Async, knows_inlined: false, .. }) => {
                (Engine::Async.name(), Some(BIAS_OF_LATE_SAMPLES))
            }
            Some(ProcessorSamples { engine, .. }) => (engine.name(), Some(engine.bias())),
            None => ("allocation", Some(BIAS_OF_ALLOCATIONS)),
        }
    }

    fn is_biased(&self) -> bool {
        self.of_processor.is_some_and(|of| of.engine == Engine::Jvmti || !of.knows_inlined)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn millis(&self, _: Duration) -> f64 {
        self.of_processor.map_or(0.0, |of| of.interval.as_secs_f64() * 1e3)
    }
}

impl Drop for QueuedSamples {
    fn drop(&mut self) {
        if self.is_shared {
            self.queue.end_copies();
        }
    }
}

impl Seen {
    /// The interpreter does not say where in its innermost method it is.
    fn at_line_of(self, stack: &QueuedStack) -> Seen {
        if self.kind == Some(CodeKind::Interpreted) {
            return self;
        }
        Seen { line: stack.frames.first().map_or(0, |frame| frame.line), ..self }
    }
}

fn kind_of_place(place: &InnermostPlace) -> Option<CodeKind> {
    Some(match place {
        InnermostPlace::Compiled(_) => CodeKind::Jit,
        InnermostPlace::Native(_) => CodeKind::Native,
    })
}

/// Native methods are native code, whatever stub the thread was in.
fn kind_of(frame: &QueuedFrame, code: Option<CodeKind>) -> Option<CodeKind> {
    if frame.offset.is_none() { Some(CodeKind::Native) } else { code }
}
