//! Goes through a recording from its last chunk to its first and adds up.

use super::allocations::{AllocationTotals, ChunkAllocations};
use super::blocks::BlockClock;
use super::bursts::BurstWindows;
use super::call_arguments::SlowestCalls;
use super::claims::{Claims, Span};
use super::confidence::Ticks;
use super::decoding::DecodedChunk;
use super::details::DetailTable;
use super::diagnoses::Diagnoses;
use super::frames::{Frame, LEFT_OUT};
use super::input_output::InputOutput;
use super::nesting::CallRecord;
use super::nesting::Nesting;
use super::probe_time::ProbeTime;
use super::retransforms::Retransforms;
use super::samples::{ChunkSamples, SampleTotals};
use super::slices::SliceVisitor;
use super::threads::ThreadRows;
use super::walks::Walks;
use super::{Analysis, FrameId, RecordingInfo, overloads};
use crate::conventions::request_name;
use crate::reader::{Call, Event, ReadError, TraceReader};
use crate::{TICK_LIMIT, WatchedLengths};

/// Notes beyond this number are only counted.
const MOST_NOTES: usize = 1_000;
const NO_END: &str = "the recording has no end: the process still runs, was killed, or could not write to the file any more (a full disk; the \
     agent reports that on standard error); calls after the last part that was written are missing and not among the lost ones";
/// The time of a call that is missing is part of the own time of its caller.
const TOO_LOW: &str = "counts and times are too low, own times of callers too high";

/// An analysis under construction.
#[derive(Debug, Default)]
pub(super) struct Builder {
    analysis: Analysis,
    nesting: Nesting,
    rows: ThreadRows,
    statements: DetailTable,
    http_requests: DetailTable,
    sockets: DetailTable,
    input_output: InputOutput,
    call_arguments: SlowestCalls,
    samples: SampleTotals,
    bursts: BurstWindows,
    claims: Claims,
    retransforms: Retransforms,
    diagnoses: Diagnoses,
    walks: Walks,
    ticks: WatchedLengths,
    /// Start of the chunk that is being added; of late ticks before it nothing is known yet.
    chunk_start: u64,
    allocations: AllocationTotals,
    chunk_allocations: ChunkAllocations,
    start_up: Option<u64>,
    /// Calls that end before this moment are left out.
    begin: u64,
    notes_left_out: u64,
}

impl Builder {
    pub(super) fn new(reader: &TraceReader) -> Builder {
        let mut builder = Builder::default();
        builder.analysis.warnings.extend_from_slice(reader.warnings());
        builder.nesting.kept_from = reader.start_epoch_nanos();
        builder
    }

    fn warn(&mut self, warning: String) {
        self.analysis.warnings.push(warning);
    }

    /// Looks for the mark of the end of the start-up; calls before it are left out from now on.
    pub(super) fn find_start_up(&mut self, reader: &TraceReader) {
        for index in 0..reader.chunk_count() {
            let Ok(chunk) = reader.chunk(index) else { continue };
            let marker = chunk.events().flatten().find_map(|event| match event {
                Event::StartUpDone { at } => Some(at),
                _ => None,
            });
            if let Some(at) = marker {
                self.begin = at;
                self.nesting.kept_from = self.nesting.kept_from.max(at);
                return;
            }
        }
        self.warn("the recording has no mark of the end of the start-up: all calls are shown".to_owned());
    }

    /// Calls that end before this moment are left out.
    pub(super) fn begin(&self) -> u64 {
        self.begin
    }

    /// Calls are also kept by blocks of time.
    pub(super) fn keep_blocks(&mut self, reader: &TraceReader) {
        let start = reader.start_epoch_nanos();
        let end = start.saturating_add(reader.duration_nanos());
        self.nesting.blocks = BlockClock::between(start.max(self.begin), end);
    }

    /// Adds a chunk, as far as it can be read.
    pub(super) fn add_chunk(
        &mut self,
        chunk: Result<DecodedChunk, ReadError>,
        index: usize,
        visitor: &mut impl SliceVisitor,
    ) {
        match chunk {
            Ok(chunk) => self.add_events(chunk, index, visitor),
            Err(error) => self.warn(format!("chunk {index} was left out: {error}")),
        }
    }

    fn add_events<V: SliceVisitor>(&mut self, decoded: DecodedChunk, index: usize, visitor: &mut V) {
        let mut samples = ChunkSamples::default();
        self.chunk_start = if index == 0 { 0 } else { decoded.chunk.start_epoch_nanos() };
        decoded.late_ticks.iter().for_each(|(start, nanos)| self.ticks.add_earlier_late(*start, *nanos));
        self.analysis.events += decoded.early;
        self.input_output.next_chunk();
        self.nesting.details.next_chunk();
        for event in decoded.other_events() {
            match event {
                Ok(event) if self.is_early(&event) => self.analysis.events += 1,
                Ok(event) => {
                    self.analysis.events += 1;
                    self.input_output.see(&decoded.chunk, &event);
                    if let Event::CallArguments { call, arguments } = &event {
                        if !self.is_blurred(call) {
                            self.call_arguments.see(&decoded.chunk, call, arguments);
                        }
                        if V::SEES_TIMES {
                            self.nesting.arguments.add(&decoded.chunk, call, arguments.to_string());
                        }
                    }
                    if V::SEES_DETAILS {
                        self.nesting.details.see(&decoded.chunk, &event);
                    }
                    self.claims.see(&decoded.chunk, &event);
                    if let Event::Loss { thread, lost } = event {
                        self.rows.lose(decoded.chunk.thread(thread), lost);
                    }
                    self.add_event(event, &mut samples);
                }
                Err(error) => self.warn(format!("the rest of chunk {index} was left out: {error}")),
            }
        }
        self.samples.chunk_done(&decoded.chunk, samples);
        self.allocations.chunk_done(&decoded.chunk, std::mem::take(&mut self.chunk_allocations));
        let DecodedChunk { chunk, methods, mut threads, .. } = decoded;
        let name = |(method, template)| (chunk.method(method), chunk.template(template).unwrap_or_default());
        let full: Vec<bool> = methods.iter().map(|(_, template)| chunk.is_at_full(*template)).collect();
        let frames: Vec<FrameId> = methods.into_iter().map(name).map(|name| self.nesting.frames.id(name)).collect();
        // Before the first chunk there is nothing that could still come.
        let start = if index == 0 { 0 } else { chunk.start_epoch_nanos() };
        for (thread, records) in &mut threads {
            self.analysis.calls += records.len() as u64;
            self.analysis.events += records.len() as u64;
            for record in &mut *records {
                record.full = full.get(record.frame.index()).copied().unwrap_or(false);
                record.frame = frames.get(record.frame.index()).copied().unwrap_or(record.frame);
                if !record.exact {
                    record.blurred = self.blurs(record.start, record.duration);
                    record.entered_before = self.entered_before(record);
                }
            }
            self.nesting.learn(records, thread.is_virtual);
        }
        for (thread, records) in threads {
            visitor.thread(&thread);
            if thread.is_virtual {
                self.nesting.add_virtual(thread.id, &records);
            } else {
                let totals = self.rows.platform(&thread);
                self.nesting.add_platform(thread.id, &records, totals, visitor);
            }
        }
        self.nesting.chunk_done(start, &mut self.rows.virtual_threads, visitor);
    }

    fn is_blurred(&self, call: &Call) -> bool {
        !call.exact && self.blurs(call.start, call.duration)
    }

    /// Whether late ticks make this length of level watch useless.
    fn blurs(&self, start: u64, duration: u64) -> bool {
        self.ticks.is_blurred(start, duration) || (start < self.chunk_start && self.ticks.may_be_blurred(duration))
    }

    /// Returns when this call of level watch had begun.
    fn entered_before(&self, record: &CallRecord) -> u64 {
        if record.start < self.chunk_start {
            self.ticks.may_have_entered_before(record.start, record.end())
        } else {
            self.ticks.entered_before(record.start, record.end())
        }
    }

    fn tick_setting(&mut self, key: &str, value: &str) {
        let Ok(nanos) = value.parse() else { return };
        match key {
            TICK_LIMIT => self.ticks.raise_limit(nanos),
            "watch.tick-max-ns" => self.ticks.raise_longest(nanos),
            _ => {}
        }
    }

    /// Whether the event is of a call before the part that is wanted.
    fn is_early(&self, event: &Event<'_>) -> bool {
        match event {
            Event::Statement { call, .. }
            | Event::HttpRequest { call, .. }
            | Event::SocketTransfer { call, .. }
            | Event::CallArguments { call, .. } => call.start.saturating_add(call.duration) < self.begin,
            Event::Sample { at, .. } | Event::FailedSample { at, .. } | Event::AllocationSample { at, .. } => {
                *at < self.begin
            }
            _ => false,
        }
    }

    fn add_event(&mut self, event: Event<'_>, samples: &mut ChunkSamples) {
        match event {
            Event::Sample { thread, stack, .. } => samples.add(thread, stack),
            Event::AllocationSample { thread, stack, class, weight, .. } => {
                let (samples, bytes) = self.chunk_allocations.entry((thread, stack, class)).or_default();
                *samples += 1;
                *bytes = weight.saturating_add(*bytes);
            }
            Event::FailedSample { thread, reason, place, .. } => samples.add_failed(thread, &reason, &place),
            Event::Statement { call, statement } => {
                let blurred = self.is_blurred(&call);
                self.statements.add(&statement, &call, blurred);
            }
            Event::HttpRequest { call, http_method, path, route, status } => {
                let blurred = self.is_blurred(&call);
                let row = self.http_requests.add(&request_name(&http_method, &route, &path), &call, blurred);
                row.client_errors += u64::from((400..500).contains(&status));
                row.server_errors += u64::from(status >= 500);
            }
            Event::SocketTransfer { call, peer, bytes } => {
                let blurred = self.is_blurred(&call);
                let row = self.sockets.add(&peer, &call, blurred);
                row.bytes = row.bytes.saturating_add(bytes);
            }
            Event::Loss { lost, .. } => self.analysis.lost = self.analysis.lost.saturating_add(lost),
            Event::StartUpDone { at } => self.start_up = Some(at),
            Event::BurstWindow { start, duration } => self.bursts.add(start, duration),
            Event::Retransform { classes, is_rejected, stopped, reason, .. } => {
                self.retransforms.add(&reason, (classes, is_rejected), stopped);
            }
            event @ (Event::Diagnosis { .. } | Event::DiagnosisNode { .. } | Event::SlowCall { .. }) => {
                self.diagnoses.see(event);
            }
            Event::Walk { at, walk, part } => self.walks.see((at, walk), *part),
            Event::Configuration { key, value } => {
                self.samples.setting(&key, &value);
                self.tick_setting(&key, &value);
                self.analysis.recording.configuration.push((key.into_owned(), value.into_owned()));
            }
            Event::Note { at, kind, message } => {
                if self.analysis.recording.notes.len() < MOST_NOTES {
                    self.analysis.recording.notes.push((at, kind.into_owned(), message.into_owned()));
                } else {
                    self.notes_left_out += 1;
                }
            }
            Event::Jvm { pid, name, version, options, command_line } => {
                let recording = &mut self.analysis.recording;
                recording.pid = pid;
                recording.jvm = format!("{name} {version}").trim().to_owned();
                recording.jvm_options = options.into_owned();
                recording.command_line = command_line.into_owned();
            }
            Event::Phase { phase, reason, .. } => {
                if phase == "end" {
                    self.analysis.recording.end_reason = reason.into_owned();
                }
            }
            Event::CompiledCode { .. }
            | Event::CompiledCodeUnload { .. }
            | Event::GeneratedCode { .. }
            | Event::NativeLibrary { .. }
            | Event::LateTick { .. }
            | Event::MethodCall(_)
            | Event::CallArguments { .. }
            | Event::Claim { .. }
            | Event::Task { .. }
            | Event::Other => {}
        }
    }

    /// Completes the analysis.
    pub(super) fn finish(mut self, reader: &TraceReader) -> Analysis {
        self.nesting.tree.complete();
        let mut analysis = self.analysis;
        analysis.tree = self.nesting.tree;
        analysis.frames = self.nesting.frames.frames;
        overloads::mark(&mut analysis.frames);
        analysis.probe_time = ProbeTime::subtract(&analysis.recording, &mut analysis.tree, &mut analysis.frames);
        let left_out = analysis.tree.left_out();
        // The own time of paths that were left out has gone to their methods already.
        for node in analysis.tree.nodes().iter().filter(|node| left_out.is_none() || node.frame != left_out) {
            if let Some(frame) = node.frame.and_then(|id| analysis.frames.get_mut(id.index())) {
                frame.own = frame.own.saturating_add(node.own);
                frame.own_is_estimated |= node.own_is_estimated;
            }
        }
        let ticks = Ticks::of(&analysis.recording.configuration, analysis.recording.duration_nanos, &analysis.frames);
        ticks.set_margins(&mut analysis.frames, &analysis.tree);
        for frame in &mut analysis.frames {
            frame.own_is_estimated |= frame.is_estimated();
            frame.own_margin = frame.own_margin.saturating_add(frame.doubtful).saturating_add(frame.cut.min(frame.own));
        }
        analysis.warnings.extend(cut_warning(self.nesting.cut_calls, &analysis.frames));
        analysis.frames.iter_mut().for_each(|frame| frame.times.judge(&self.ticks));
        analysis.shortest_length = self.ticks.shortest();
        analysis.warnings.extend(ticks.warning(&analysis.frames));
        let span = Span::of(reader, self.begin);
        analysis.warnings.extend(self.claims.mark(span, &mut analysis.frames));
        analysis.threads = self.rows.finish();
        analysis.slowest_calls = self.call_arguments.finish(&self.ticks);
        analysis.statements = self.statements.finish(&self.ticks);
        analysis.http_requests = self.http_requests.finish(&self.ticks);
        analysis.sockets = self.sockets.finish(&self.ticks);
        analysis.input_output = self.input_output.finish();
        analysis.samples = self.samples.finish();
        analysis.allocations = self.allocations.finish();

        let (diagnoses, left_out) = self.diagnoses.finish(reader.start_epoch_nanos());
        analysis.diagnoses = diagnoses;
        analysis.warnings.extend(left_out);
        let (walks, left_out) = self.walks.finish(reader.start_epoch_nanos());
        analysis.walks = walks;
        analysis.warnings.extend(left_out);

        describe(&mut analysis.recording, reader, self.start_up);
        add_warnings(&mut analysis, self.notes_left_out);
        analysis.warnings.extend(self.bursts.warning(&analysis.frames));
        analysis.warnings.extend(self.retransforms.warning());
        analysis
    }
}

/// Returns what to know about calls that had begun before all that they called was recorded.
fn cut_warning(calls: u64, frames: &[Frame]) -> Option<String> {
    let worst = frames.iter().filter(|frame| frame.cut > 0).max_by_key(|frame| frame.cut.min(frame.own))?;
    Some(format!(
        "{calls} of the calls began before the first part that is reported: what they called until then is missing, and its time is part of their own \
         times (~; most of it of {})",
        worst.full_name()
    ))
}

fn describe(recording: &mut RecordingInfo, reader: &TraceReader, start_up: Option<u64>) {
    let start = reader.start_epoch_nanos();
    recording.path = reader.path().to_owned();
    recording.file_bytes = reader.file_bytes();
    recording.chunks = reader.chunk_count();
    recording.start_epoch_nanos = start;
    recording.duration_nanos = reader.duration_nanos();
    recording.is_finished = reader.is_finished();
    recording.start_up_nanos = start_up.map(|at| at.saturating_sub(start));
    recording.notes.iter_mut().for_each(|(at, _, _)| *at = at.saturating_sub(start));
    recording.notes.sort();
    recording.full_after_nanos =
        recording.notes.iter().find(|(_, kind, _)| kind == crate::FILE_FULL).map(|(at, _, _)| *at);
}

fn add_warnings(analysis: &mut Analysis, notes_left_out: u64) {
    if !analysis.recording.is_finished {
        analysis.warnings.push(NO_END.to_owned());
    }
    // Only a recording of our own promises the mark.
    let is_ours = analysis.recording.configuration.iter().any(|(key, _)| key == "agent.version");
    if is_ours && analysis.recording.start_up_nanos.is_none() {
        analysis.warnings.push("no start-up mark: what was there at the beginning may be missing".to_owned());
    }
    let dropped = analysis.recording.notes.iter().filter(|(_, kind, _)| kind == "dropped");
    let dropped: Vec<String> = dropped.map(|(_, _, message)| format!("{message}: {TOO_LOW}")).collect();
    analysis.warnings.extend(dropped);
    if let Some(full_after) = analysis.recording.full_after_nanos {
        let [full_after, whole] = [full_after, analysis.recording.duration_nanos].map(|nanos| nanos as f64 / 1e9);
        analysis.warnings.push(format!(
            "the file was full after {full_after:.1} of {whole:.1} s (max-file-mb in [trace]): all figures are those of these {full_after:.1} s"
        ));
    }
    if analysis.lost > 0 {
        let lost = analysis.lost;
        analysis.warnings.push(format!("{lost} records were lost: {TOO_LOW}, and callers may be missing"));
    }
    if analysis.tree.left_out().is_some() {
        let shown = analysis.tree.nodes().len();
        analysis.warnings.push(format!(
            "there are more call paths than the {shown} of the tree: rare ones are summed up as {LEFT_OUT}, the figures of \
             methods are complete"
        ));
    }
    if notes_left_out > 0 {
        analysis.warnings.push(format!("{notes_left_out} notes are not shown"));
    }
}
