//! From ring records to the trace file.

use std::path::PathBuf;
use std::sync::Arc;

use instrument_core::level::Level;
use parking_lot::Mutex;
use records::probe_registry::{Definitions, ProbeRegistry};
use records::{Detail, RecordSink, RecordThread, RequestFields, SharedLengths, StatementFields};
use settings::{JvmEvents, TraceConfig};
use trace::{MethodInfo, Recording, TaskStep};

use super::file_trouble::{FileReports, FileTrouble};
use super::sample_sink::{SampleSink, method_info, ticks_of};
use super::template_name::template_name;
use super::thread_switches::ThreadSwitches;
use super::trace_dumps::{DumpDesk, Took, TraceDumps};
use crate::recorder::calls::call_rates::CallRates;
use crate::recorder::jvm_events::jvm_event_queue::{JvmEvent, Pause};
use crate::sampler::{QueuedItem, SampleQueue};

/// Figures of one recording.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordCounts {
    /// Calls that reached the drainer and, if there is a file, could be written.
    pub(crate) records: u64,
    /// Calls for which no segment was free or no place in the file, or that ended in the future because the processor's counter jumped.
    pub(crate) lost: u64,
    /// Calls of threads that the configuration leaves out.
    pub(crate) other_threads: u64,
    /// Requests of which a getter has thrown, so that path, status or route may be missing.
    pub(crate) incomplete_requests: u64,
    /// Segments that held something else than records.
    pub(crate) malformed: u64,
    /// Why calls are not written to the file at present.
    pub(crate) trouble: Option<FileTrouble>,
}

impl RecordCounts {
    /// Whether the file has the size that it may have.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self.trouble, Some(FileTrouble::Full(_)))
    }
}

/// What a [`TraceSink`] is made of.
#[derive(Debug)]
pub(crate) struct TraceParts<'a> {
    /// Where everything is written; without it records are only counted.
    pub(crate) recording: Option<Recording>,
    /// The file.
    pub(crate) path: PathBuf,
    pub(crate) probes: &'static ProbeRegistry,
    /// Samples of threads.
    pub(crate) samples: Arc<SampleQueue>,
    /// Samples of allocations.
    pub(crate) allocations: Arc<SampleQueue>,
    /// For those who ask while the program runs.
    pub(crate) rates: Option<Arc<Mutex<CallRates>>>,
    /// Where dumps are asked for.
    pub(crate) dumps: Arc<DumpDesk>,
    /// What is known about the ticks of level watch.
    pub(crate) lengths: SharedLengths,
    pub(crate) config: &'a TraceConfig,
}

/// Writes records into a recording and counts them. Without a recording they are only counted.
#[derive(Debug)]
pub(crate) struct TraceSink {
    recording: Option<Recording>,
    counts: RecordCounts,
    probes: &'static ProbeRegistry,
    definitions: Definitions,
    samples: SampleSink,
    allocations: SampleSink,
    dumps: TraceDumps,
    lengths: SharedLengths,
    /// Only if somebody wants to know.
    switches: Option<ThreadSwitches>,
    /// The least duration of a call that has the ring dumped.
    slow_nanos: Option<u64>,
    /// For those who ask while the program runs.
    rates: Option<Arc<Mutex<CallRates>>>,
    os_thread: u64,
    unwritten: bool,
    reports: FileReports,
    /// The end of the latest call that was recorded.
    latest_nanos: u64,
    /// Calls that could not be written to the file, as far as they count as lost.
    dropped: u64,
    /// Calls lost since the file is full; written into the file when it is completed.
    lost_unwritten: u64,
}

impl TraceSink {
    /// A sink for a recording.
    pub(crate) fn new(parts: TraceParts<'_>) -> TraceSink {
        let TraceParts { recording, path, probes, samples, allocations, rates, dumps, lengths, config } = parts;
        let dumps = TraceDumps::new(dumps, path.clone(), config);
        TraceSink {
            recording,
            counts: RecordCounts::default(),
            probes,
            definitions: Definitions::default(),
            samples: SampleSink::new(samples),
            allocations: SampleSink::new(allocations),
            slow_nanos: dumps.slow_nanos(),
            dumps,
            lengths,
            switches: config.events.contains(&JvmEvents::Switches).then(ThreadSwitches::default),
            rates,
            os_thread: 0,
            unwritten: false,
            reports: FileReports::new(path, config),
            latest_nanos: 0,
            dropped: 0,
            lost_unwritten: 0,
        }
    }

    /// The following records are those of a ring that this operating system thread writes.
    pub(crate) fn ring(&mut self, os_thread: u64) {
        self.os_thread = os_thread;
    }

    /// Notes losses of a ring, whose last records belonged to `thread`.
    pub(crate) fn lost(&mut self, thread: u64, at_nanos: u64, count: u64) {
        if let Some(rates) = &self.rates {
            rates.lock().add_lost(count);
        }
        // A file that is full stays as it is.
        if !self.has_room(count) {
            return;
        }
        self.counts.lost += count;
        if let Some(recording) = &mut self.recording {
            recording.set_thread(thread);
            recording.lost(at_nanos, count);
            self.unwritten = true;
        }
    }

    /// Counts calls of a thread whose records are left out.
    pub(crate) fn left_out(&self, calls: &[[u64; 2]]) {
        if let Some(rates) = &self.rates {
            rates.lock().add_left_out(calls);
        }
    }

    /// Counts one such call.
    pub(crate) fn left_out_call(&self, probe: u32) {
        if let Some(rates) = &self.rates {
            rates.lock().add_left_out_call(probe as usize);
        }
    }

    /// A thread has ended and all its records have been taken.
    pub(crate) fn thread_gone(&mut self, thread: u64) {
        if let Some(recording) = &mut self.recording {
            recording.thread_gone(thread);
        }
    }

    /// Learns the name of a thread that has just started, if that is what the JVM reported.
    pub(in crate::recorder) fn introduce(&mut self, event: &JvmEvent) {
        if let (Some(recording), JvmEvent::ThreadStarted(thread, os_thread), false) =
            (&mut self.recording, event, self.counts.is_full())
        {
            recording.define_thread(thread.java_id, &thread.name, *os_thread, false);
        }
    }

    /// Notes segments that could not be read to their end.
    pub(crate) fn malformed(&mut self, count: u64) {
        self.counts.malformed += count;
    }

    /// Writes what the JVM reported, as long as the file has room. What people must know of the recording itself always has: it is little.
    pub(in crate::recorder) fn jvm_event(&mut self, at: u64, event: JvmEvent) {
        if !event.is_always_written() && !self.has_room(0) {
            return;
        }
        if let JvmEvent::Claim { probe: Some(_), .. } = event {
            self.define_methods();
        }
        let Some(recording) = &mut self.recording else { return };
        self.unwritten = true;
        match event {
            JvmEvent::Claim { probe, owner, reason, from, to } => {
                recording.claim(at, probe, &trace::Claim { owner, reason: &reason, from, to });
            }
            JvmEvent::LiveThread(thread) => {
                recording.define_thread(thread.java_id, &thread.name, 0, false);
                recording.live_thread(thread.java_id, at);
            }
            JvmEvent::LoadedClass(class, loader) => recording.loaded_class(&class, loader, at),
            JvmEvent::LoadedMethods(class, loader, methods) => {
                let names = methods.iter().map(|method| (&*method.name, &*method.descriptor, method.access_flags));
                recording.loaded_methods((&class, loader), names, at);
            }
            JvmEvent::StateComplete => {
                recording.start_up_done(at);
                recording.phase(at, "profiling", "what was there is told");
            }
            JvmEvent::ThreadStarted(thread, os_thread) => {
                recording.define_thread(thread.java_id, &thread.name, os_thread, false);
                recording.thread_started(thread.java_id, at);
            }
            JvmEvent::ThreadEnded(thread) => recording.thread_ended(thread, at),
            JvmEvent::ThreadSwitches(thread, counts) => recording.thread_switches(thread, counts, at),
            JvmEvent::ClassDefined(class, loader, thread) => recording.class_defined(&class, loader, thread, at),
            JvmEvent::Compiled(facts, place) => {
                recording.compiled_code(method_info(&facts), (place.address, place.length), at);
            }
            JvmEvent::CodeUnloaded(address) => recording.compiled_code_unloaded(address, at),
            JvmEvent::CodeGenerated(name, place) => recording.generated_code(&name, (place.address, place.length), at),
            JvmEvent::NativeLibrary(file) => recording.native_library(&file.name, &file.build_id, file.place(), at),
            JvmEvent::BurstWindow { start, nanos } => recording.burst_window(start, nanos),
            JvmEvent::Retransform(done) => recording.retransform(at.saturating_sub(done.duration_nanos), done),
            JvmEvent::Diagnosis(diagnosis) => recording.diagnosis(at, &diagnosis),
            JvmEvent::SlowCall { start, call } => recording.slow_call(start, &call),
            JvmEvent::Walk(walk) => recording.walk(at, &walk),
            JvmEvent::HookGauge { walk, now, most } => recording.hook_gauge(at, walk, now, most),
            JvmEvent::LateTick { start, nanos } => recording.late_tick(start, nanos),
            JvmEvent::Note(kind, message) => recording.note(at, kind, &message),
            JvmEvent::Setting(key, value) => recording.configuration(at, key, &value),
        }
    }

    /// Writes that a class loader is gone, as long as the file has room.
    pub(in crate::recorder) fn loader_freed(&mut self, at: u64, loader: u64) {
        if self.has_room(0)
            && let Some(recording) = &mut self.recording
        {
            recording.loader_unloaded(loader, at);
            self.unwritten = true;
        }
    }

    /// Writes a pause of the garbage collector, as long as the file has room.
    pub(in crate::recorder) fn pause(&mut self, pause: Pause) {
        if !self.has_room(0) {
            return;
        }
        if let Some(recording) = &mut self.recording {
            let number = u32::try_from(pause.number).unwrap_or(u32::MAX);
            let duration = u64::try_from(pause.end.wrapping_sub(pause.start)).unwrap_or(0);
            recording.garbage_collection(number, pause.start as u64, duration);
            self.unwritten = true;
        }
    }

    /// Writes how often these threads have left their processors, if that is wanted; each is given by its Java id and the
    /// operating system's number.
    pub(in crate::recorder) fn look_at_switches(&mut self, threads: &dyn Fn() -> Vec<(u64, u64)>, at: u64) {
        if !self.has_room(0) {
            return;
        }
        if let (Some(recording), Some(switches)) = (&mut self.recording, &mut self.switches) {
            switches.look(&threads(), |thread, counts| recording.thread_switches(thread, counts, at));
            self.unwritten = true;
        }
    }

    /// Notes that events of the JVM were lost.
    pub(in crate::recorder) fn lost_jvm_events(&mut self, at: u64, count: u64) {
        if count == 0 || !self.has_room(0) {
            return;
        }
        if let Some(recording) = &mut self.recording {
            recording.note(at, "jvm-events-lost", &format!("{count} events of the JVM were lost"));
            self.unwritten = true;
        }
    }

    /// Writes the samples taken since the last time; returns whether there were any.
    pub(crate) fn take_samples(&mut self) -> bool {
        let (samples, allocations) = (self.samples.take(), self.allocations.take());
        let found = !samples.is_empty() || !allocations.is_empty();
        let samples = samples.into_iter().map(|item| (false, item));
        for (is_allocation, item) in samples.chain(allocations.into_iter().map(|item| (true, item))) {
            // Methods go by numbers, so none may be left out.
            if !self.has_room(ticks_of(&item)) && !matches!(item, QueuedItem::Method { .. } | QueuedItem::Note { .. }) {
                continue;
            }
            if let Some(recording) = &mut self.recording {
                let sink = if is_allocation { &mut self.allocations } else { &mut self.samples };
                sink.write(recording, item);
                self.unwritten = true;
            }
        }
        found
    }

    /// A round of the drainer begins.
    pub(crate) fn round_begins(&mut self) {
        self.dumps.round_begins();
    }

    /// Writes a dump of a recording in memory for those who asked for it before this round.
    pub(crate) fn serve_dumps(&mut self, at_nanos: u64) {
        self.define_methods();
        if let Some(recording) = &mut self.recording {
            self.dumps.serve(recording, at_nanos);
            self.slow_nanos = self.dumps.slow_nanos();
        }
    }

    /// Looks for a call that is so slow that the ring is dumped.
    fn look_for_slow(&mut self, calls: &[[u64; 2]]) {
        let Some(limit) = self.slow_nanos else { return };
        for [start, word] in calls {
            if word >> 24 >= limit {
                self.slow_call((word & 0x00ff_ffff) as u32, *start, word >> 24);
            }
        }
    }

    /// At level watch a short call is recorded with the length of a whole tick, which is long if the process was held up.
    #[cold]
    fn slow_call(&mut self, probe: u32, start: u64, nanos: u64) {
        let Some(probe) = self.probes.describe(probe) else { return };
        let took = if probe.level == Level::Watch {
            Took::AtLeast(self.lengths.lock().least(start, nanos))
        } else {
            Took::Exactly(nanos)
        };
        self.dumps.slow_call(&probe.method, took);
        self.slow_nanos = self.dumps.slow_nanos();
    }

    fn look_at(&mut self, probe: u32, start: u64, nanos: u64) {
        if self.slow_nanos.is_some_and(|limit| nanos >= limit) {
            self.slow_call(probe, start, nanos);
        }
    }

    /// Figures up to now.
    pub(crate) fn counts(&self) -> RecordCounts {
        self.counts
    }

    /// Appends what has been recorded to the file, if there is something.
    pub(crate) fn flush(&mut self) {
        if !std::mem::take(&mut self.unwritten) {
            return;
        }
        let Some(recording) = &mut self.recording else { return };
        let result = recording.flush_chunk();
        let dropped = recording.statistics().dropped_calls;
        self.note_dropped(dropped);
        self.report(&result);
    }

    /// Notes that this number of calls could not be written up to now.
    fn note_dropped(&mut self, dropped: u64) {
        let new = dropped.saturating_sub(std::mem::replace(&mut self.dropped, dropped));
        self.counts.records = self.counts.records.saturating_sub(new);
        self.counts.lost += new;
    }

    /// Completes the file; the recording ends for this reason.
    pub(crate) fn finish(&mut self, at_nanos: u64, reason: &str) {
        self.define_methods();
        if let Some(recording) = &mut self.recording {
            self.dumps.finish(recording, at_nanos, reason);
            recording.phase(at_nanos, "end", reason);
        }
        if let (Some(recording), true) = (&mut self.recording, self.lost_unwritten > 0) {
            recording.set_thread(0);
            recording.lost(0, self.lost_unwritten);
        }
        let Some(recording) = self.recording.take() else { return };
        let (statistics, result) = recording.end();
        self.note_dropped(statistics.dropped_calls);
        self.report(&result);
    }

    /// False if the file is full: the calls are counted as lost then.
    fn has_room(&mut self, calls: u64) -> bool {
        if !self.counts.is_full() && self.recording.as_ref().is_some_and(Recording::is_full) {
            self.report_full();
        }
        let is_full = self.counts.is_full();
        if is_full {
            self.counts.lost += calls;
            self.lost_unwritten += calls;
        }
        !is_full
    }

    fn report_full(&mut self) {
        let (trouble, note) = self.reports.full();
        self.counts.trouble = Some(trouble);
        if let Some(recording) = &mut self.recording {
            recording.note(self.latest_nanos, trace::FILE_FULL, &note);
            self.unwritten = true;
        }
    }

    fn set_thread_of_rates(&self, thread: u64) {
        if let Some(rates) = &self.rates {
            rates.lock().set_thread(thread);
        }
    }

    fn count_rate(&self, probe: u32, start: u64, nanos: u64) {
        if let Some(rates) = &self.rates {
            rates.lock().add_call(probe as usize, start, nanos);
        }
    }

    /// Reports when writing begins to fail, and when it succeeds again: not every two seconds.
    fn report(&mut self, result: &std::io::Result<()>) {
        match (result, self.counts.trouble) {
            (Err(error), None) => self.counts.trouble = Some(self.reports.fails(error)),
            (Ok(()), Some(FileTrouble::Fails(since, _))) => {
                self.counts.trouble = None;
                self.reports.written_again(since, self.dropped);
            }
            _ => {}
        }
    }

    /// Writes the definitions of probes that were made since the last time. Called after records became visible and
    /// before they are written: a probe is registered before its class runs.
    fn define_methods(&mut self) {
        let Some(recording) = &mut self.recording else { return };
        self.probes.new_definitions(&mut self.definitions, |probe| {
            let template = template_name(&probe);
            recording.define_method(
                probe.id,
                MethodInfo {
                    class: probe.class,
                    name: probe.name,
                    descriptor: probe.descriptor,
                    access_flags: probe.access_flags,
                    exact: probe.level != Level::Watch,
                    template: &template,
                },
            );
        });
    }
}

impl RecordSink for TraceSink {
    fn thread(&mut self, thread: RecordThread) {
        self.define_methods();
        self.set_thread_of_rates(thread.id);
        // A full file has no chunk after which a thread that has ended could be forgotten.
        if let (Some(recording), false) = (&mut self.recording, self.counts.is_full()) {
            if thread.is_virtual {
                recording.define_thread(thread.id, "", 0, true);
            }
            recording.set_thread(thread.id);
        }
    }

    fn thread_name(&mut self, thread: u64, name: &[u8]) {
        self.set_thread_of_rates(thread);
        if let (Some(recording), false) = (&mut self.recording, self.counts.is_full()) {
            recording.define_thread(thread, &String::from_utf8_lossy(name), self.os_thread, false);
            recording.set_thread(thread);
        }
    }

    fn calls(&mut self, calls: &[[u64; 2]]) {
        if let Some(rates) = &self.rates {
            rates.lock().add(calls);
        }
        if !self.has_room(calls.len() as u64) {
            return;
        }
        self.counts.records += calls.len() as u64;
        if let Some([start, word]) = calls.last() {
            self.latest_nanos = self.latest_nanos.max(start.saturating_add(word >> 24));
        }
        if let Some(recording) = &mut self.recording {
            recording.calls(calls);
            self.unwritten = true;
            self.look_for_slow(calls);
        }
    }

    fn long_call(&mut self, probe: u32, start: u64, duration: u64) {
        self.count_rate(probe, start, duration);
        if !self.has_room(1) {
            return;
        }
        self.counts.records += 1;
        self.latest_nanos = self.latest_nanos.max(start.saturating_add(duration));
        if let Some(recording) = &mut self.recording {
            recording.call(probe, start, duration);
            self.unwritten = true;
            self.look_at(probe, start, duration);
        }
    }

    fn detail(&mut self, detail: Detail<'_>) {
        self.count_rate(detail.probe, detail.start, detail.duration);
        if !self.has_room(1) {
            return;
        }
        self.counts.records += 1;
        self.latest_nanos = self.latest_nanos.max(detail.start.saturating_add(detail.duration));
        let Some(recording) = &mut self.recording else { return };
        self.unwritten = true;
        let Detail { kind, probe, start, duration, number, text } = detail;
        let text = String::from_utf8_lossy(text);
        match kind {
            b'J' => recording.statement(probe, start, duration, StatementFields::of(&text).text),
            b'A' => recording.call_with_arguments(probe, start, duration, &text),
            b'S' => recording.socket_transfer(probe, start, duration, &text, u64::from(number)),
            b'H' => {
                let request = RequestFields::of(&text, number);
                self.counts.incomplete_requests += u64::from(!request.is_complete);
                recording.http_request(probe, start, duration, &request.recorded());
            }
            _ => recording.call(probe, start, duration),
        }
        self.look_at(probe, start, duration);
    }

    fn values_of_call(&mut self, detail: Detail<'_>) {
        let Detail { probe, start, duration, text, .. } = detail;
        if !self.has_room(0) {
            return;
        }
        if let Some(recording) = &mut self.recording {
            recording.arguments_of_call(probe, start, duration, &String::from_utf8_lossy(text));
            self.unwritten = true;
        }
    }

    fn task(&mut self, step: TaskStep, task: u32, at: u64) {
        if !self.has_room(0) {
            return;
        }
        if let Some(recording) = &mut self.recording {
            recording.task(step, task, at);
            self.unwritten = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use trace::{ProcessInfo, RecordingOptions, RingOptions};

    use super::*;
    use records::probe_registry::ProbeRequest;

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn a_call_at_level_watch_is_slow_if_it_surely_took_as_long() {
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let request = |level| ProbeRequest {
            name: b"c",
            descriptor: b"()V",
            access_flags: 1,
            template: "timed",
            level,
            live: false,
            context: "",
        };
        let numbers = probes.numbers((b"a/B", 1), &[request(Level::Watch), request(Level::Time)]);
        let Some([watched, timed]) = numbers.as_deref() else { panic!("{numbers:?}") };
        let text = "[trace]\nmode = 'ring'\ndump-when-call-ms = 100\n[[rule]]\nclass = 'a.B'";
        let (config, _) = settings::parse(text, "instr.toml").unwrap();
        let lengths = SharedLengths::default();
        lengths.lock().raise_limit(MILLISECOND);
        lengths.lock().add_late(1_000 * MILLISECOND, 200 * MILLISECOND);
        let asks = |probe: u32, start: u64, length: u64| {
            let options = RecordingOptions::new(0, 0, ProcessInfo::default());
            let ring = RingOptions { keep_nanos: None, keep_bytes: 1 << 20 };
            let mut sink = TraceSink::new(TraceParts {
                recording: Some(Recording::in_memory(options, ring)),
                path: PathBuf::from("trace.jfr"),
                probes,
                samples: Arc::default(),
                allocations: Arc::default(),
                rates: None,
                dumps: Arc::default(),
                lengths: Arc::clone(&lengths),
                config: &config.trace,
            });
            sink.define_methods();
            sink.calls(&[[start * MILLISECOND, (length * MILLISECOND) << 24 | u64::from(probe)]]);
            sink.slow_nanos.is_none()
        };
        assert!(!asks(*watched, 1_000, 200), "a short call while the process was held up for 200 ms");
        assert!(!asks(*watched, 10, 100), "it took 99 ms at least");
        assert!(asks(*watched, 10, 102) && asks(*watched, 1_000, 300));
        assert!(asks(*timed, 1_000, 200));
    }
}
