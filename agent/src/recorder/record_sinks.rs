//! Where drained records go: into the trace file, and, if somebody wants them, into the figures and spans that are published
//! while the program runs. Each gets every record; a full trace file stops neither of the others.

use std::sync::Arc;

use parking_lot::Mutex;
use trace::TaskStep;

use metrics::MetricsSink;
use records::{Detail, RecordSink, RecordThread};

use super::thread_selection::ThreadSelection;
use crate::recorder::calls::inner_calls::InnerCalls;
use crate::recorder::calls::live_tree::LiveTree;
use crate::recorder::calls::nested_calls::NestedCalls;
use crate::recorder::jvm_events::jvm_event_queue::{JvmEvent, Pause};
use crate::recorder::trace_file::trace_sink::{RecordCounts, TraceSink};

/// All sinks of one recording.
#[derive(Debug)]
pub(crate) struct RecordSinks {
    trace: TraceSink,
    metrics: Option<MetricsSink>,
    threads: ThreadSelection,
    tree: Option<Arc<Mutex<LiveTree>>>,
    inner_calls: Arc<InnerCalls>,
    nested: Arc<NestedCalls>,
}

impl RecordSinks {
    /// The trace file and, perhaps, metrics and a call tree; all get the calls of these threads.
    pub(crate) fn new(
        trace: TraceSink,
        metrics: Option<MetricsSink>,
        threads: ThreadSelection,
        tree: Option<Arc<Mutex<LiveTree>>>,
        (inner_calls, nested): (Arc<InnerCalls>, Arc<NestedCalls>),
    ) -> RecordSinks {
        RecordSinks { trace, metrics, threads, tree, inner_calls, nested }
    }

    /// The following records are those of a ring that this operating system thread writes.
    pub(crate) fn ring(&mut self, os_thread: u64) {
        self.trace.ring(os_thread);
    }

    /// Notes losses of a ring, whose last records belonged to `thread`.
    pub(crate) fn lost(&mut self, thread: u64, at_nanos: u64, count: u64) {
        self.trace.lost(thread, at_nanos, count);
        if let Some(metrics) = &self.metrics {
            metrics.lost(count);
        }
    }

    /// A thread has ended and all its records have been taken.
    pub(crate) fn thread_gone(&mut self, thread: u64) {
        self.trace.thread_gone(thread);
        self.threads.gone(thread);
        if let Some(metrics) = &mut self.metrics {
            metrics.thread_gone(thread);
        }
        if let Some(tree) = &self.tree {
            tree.lock().thread_gone(thread);
        }
        self.nested.thread_gone(thread);
    }

    /// All rings have been read once, from this moment on.
    pub(crate) fn round_done(&mut self, began_nanos: u64) {
        if let Some(tree) = &self.tree {
            tree.lock().round_done(began_nanos);
        }
        self.nested.round_done(began_nanos);
    }

    /// Learns the names of threads that have just started, before anything is said about them.
    pub(crate) fn introduce(&mut self, told: &[(i64, JvmEvent)]) {
        told.iter().for_each(|(_, event)| self.trace.introduce(event));
    }

    /// Notes segments that could not be read to their end.
    pub(crate) fn malformed(&mut self, count: u64) {
        self.trace.malformed(count);
    }

    /// Writes the samples taken since the last time; returns whether there were any.
    pub(crate) fn take_samples(&mut self) -> bool {
        self.trace.take_samples()
    }

    /// Writes what the JVM reported, each with its time.
    pub(crate) fn jvm_events(&mut self, told: Vec<(i64, JvmEvent)>) {
        told.into_iter().for_each(|(at, event)| self.trace.jvm_event(at as u64, event));
    }

    /// Writes that a class loader is gone.
    pub(crate) fn loader_freed(&mut self, at_nanos: u64, loader: u64) {
        self.trace.loader_freed(at_nanos, loader);
    }

    /// Writes a pause of the garbage collector.
    pub(crate) fn pause(&mut self, pause: Pause) {
        self.trace.pause(pause);
    }

    /// Writes how often these threads have left their processors, if that is wanted.
    pub(crate) fn look_at_switches(&mut self, threads: &dyn Fn() -> Vec<(u64, u64)>, at_nanos: u64) {
        self.trace.look_at_switches(threads, at_nanos);
    }

    /// Notes that events of the JVM were lost.
    pub(crate) fn lost_jvm_events(&mut self, at_nanos: u64, count: u64) {
        self.trace.lost_jvm_events(at_nanos, count);
    }

    /// Figures up to now.
    pub(crate) fn counts(&self) -> RecordCounts {
        RecordCounts { other_threads: self.threads.left_out(), ..self.trace.counts() }
    }

    /// Appends what has been recorded to the file, if there is something.
    pub(crate) fn flush(&mut self) {
        self.trace.flush();
    }

    /// A round of the drainer begins.
    pub(crate) fn round_begins(&mut self) {
        self.trace.round_begins();
    }

    /// Writes a dump of a recording in memory for those who asked for it before this round.
    pub(crate) fn serve_dumps(&mut self, at_nanos: u64) {
        self.trace.serve_dumps(at_nanos);
    }

    /// Completes the file; the recording ends for this reason.
    pub(crate) fn finish(&mut self, at_nanos: u64, reason: &str) {
        self.trace.finish(at_nanos, reason);
    }
}

impl RecordSink for RecordSinks {
    fn thread(&mut self, thread: RecordThread) {
        self.threads.thread(thread);
        if let Some(tree) = &self.tree {
            tree.lock().thread(thread);
        }
        self.nested.thread(thread);
        self.trace.thread(thread);
        if let Some(metrics) = &mut self.metrics {
            metrics.thread(thread);
        }
    }

    fn thread_name(&mut self, thread: u64, name: &[u8]) {
        self.threads.named(thread, name);
        self.trace.thread_name(thread, name);
        if let Some(metrics) = &mut self.metrics {
            metrics.thread_name(thread, name);
        }
    }

    fn calls(&mut self, calls: &[[u64; 2]]) {
        self.nested.calls(calls);
        let calls = &*self.nested.for_others(calls);
        if !self.threads.keeps(calls.len()) {
            self.trace.left_out(calls);
            return;
        }
        if let Some(tree) = &self.tree {
            let mut tree = tree.lock();
            calls.iter().for_each(|[start, word]| tree.call((word & 0x00ff_ffff) as u32, *start, word >> 24));
        }
        self.trace.calls(calls);
        if let Some(metrics) = &mut self.metrics {
            metrics.calls(calls);
        }
    }

    fn long_call(&mut self, probe: u32, start: u64, duration: u64) {
        self.nested.call(probe, start, duration);
        if self.nested.is_own(probe, start) {
            return;
        }
        if !self.threads.keeps(1) {
            self.trace.left_out_call(probe);
            return;
        }
        if let Some(tree) = &self.tree {
            tree.lock().call(probe, start, duration);
        }
        self.trace.long_call(probe, start, duration);
        if let Some(metrics) = &mut self.metrics {
            metrics.long_call(probe, start, duration);
        }
    }

    fn detail(&mut self, detail: Detail<'_>) {
        let Some(detail) = self.inner_calls.counted(detail) else {
            return detail.as_call(self);
        };
        self.nested.call(detail.probe, detail.start, detail.duration);
        if self.nested.is_own(detail.probe, detail.start) {
            return;
        }
        if !self.threads.keeps(1) {
            self.trace.left_out_call(detail.probe);
            return;
        }
        if let Some(tree) = &self.tree {
            tree.lock().call(detail.probe, detail.start, detail.duration);
        }
        self.trace.detail(detail);
        if let Some(metrics) = &mut self.metrics {
            metrics.detail(detail);
        }
    }

    fn values_of_call(&mut self, detail: Detail<'_>) {
        if !self.threads.keeps(0) {
            return;
        }
        self.trace.values_of_call(detail);
        if let Some(metrics) = &mut self.metrics {
            metrics.values_of_call(detail);
        }
    }

    fn task(&mut self, step: TaskStep, task: u32, at: u64) {
        if !self.threads.keeps(0) {
            return;
        }
        self.trace.task(step, task, at);
        if let Some(metrics) = &mut self.metrics {
            metrics.task(step, task, at);
        }
    }
}
