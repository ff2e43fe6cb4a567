//! Goes through a recording from its last chunk to its first and adds up.

use rustc_hash::FxHashMap;

use super::details::DetailTable;
use super::nesting::{CallRecord, Nesting};
use super::samples::{ChunkSamples, SampleTotals};
use super::slices::SliceVisitor;
use super::threads::ThreadRows;
use super::{Analysis, RecordingInfo};
use crate::reader::{Call, Chunk, Event, ReadError, Thread, TraceReader};

/// Notes beyond this number are only counted.
const MOST_NOTES: usize = 1_000;

/// An analysis under construction.
#[derive(Debug, Default)]
pub(super) struct Builder {
    analysis: Analysis,
    nesting: Nesting,
    rows: ThreadRows,
    statements: DetailTable,
    http_requests: DetailTable,
    sockets: DetailTable,
    samples: SampleTotals,
    start_up: Option<u64>,
    /// Calls that end before this moment are left out.
    begin: u64,
    notes_left_out: u64,
}

/// The calls of a chunk, apart by threads. A thread that was renamed has several keys but stays one.
#[derive(Debug, Default)]
struct CallsByThread {
    by_key: FxHashMap<u64, usize>,
    by_id: FxHashMap<u64, usize>,
    threads: Vec<(Thread, Vec<CallRecord>)>,
}

impl CallsByThread {
    fn add(&mut self, chunk: &Chunk, key: u64, record: CallRecord) {
        let index = match self.by_key.get(&key) {
            Some(index) => *index,
            None => self.add_key(chunk, key),
        };
        if let Some((_, records)) = self.threads.get_mut(index) {
            records.push(record);
        }
    }

    fn add_key(&mut self, chunk: &Chunk, key: u64) -> usize {
        let unknown = || Thread { name: "(no thread)".to_owned(), ..Thread::default() };
        let thread = chunk.thread(key).cloned().unwrap_or_else(unknown);
        let index = *self.by_id.entry(thread.id).or_insert(self.threads.len());
        match self.threads.get_mut(index) {
            Some((known, _)) => known.name = thread.name,
            None => self.threads.push((thread, Vec::new())),
        }
        self.by_key.insert(key, index);
        index
    }
}

impl Builder {
    pub(super) fn new(reader: &TraceReader) -> Builder {
        let mut builder = Builder::default();
        builder.analysis.warnings.extend_from_slice(reader.warnings());
        builder
    }

    fn warn(&mut self, warning: String) {
        self.analysis.warnings.push(warning);
    }

    /// Looks for the mark of the end of the start-up; calls before it are left out from now on.
    pub(super) fn find_start_up(&mut self, reader: &mut TraceReader) {
        for index in 0..reader.chunk_count() {
            let Ok(chunk) = reader.chunk(index) else { continue };
            let marker = chunk.events().flatten().find_map(|event| match event {
                Event::StartUpDone { at } => Some(at),
                _ => None,
            });
            if let Some(at) = marker {
                self.begin = at;
                return;
            }
        }
        self.warn("the recording has no mark of the end of the start-up: all calls are shown".to_owned());
    }

    /// Adds a chunk, as far as it can be read.
    pub(super) fn add_chunk(&mut self, chunk: Result<Chunk, ReadError>, index: usize, visitor: &mut impl SliceVisitor) {
        match chunk {
            Ok(chunk) => self.add_events(&chunk, index, visitor),
            Err(error) => self.warn(format!("chunk {index} was left out: {error}")),
        }
    }

    fn add_events(&mut self, chunk: &Chunk, index: usize, visitor: &mut impl SliceVisitor) {
        let mut frame_ids = FxHashMap::default();
        let mut calls = CallsByThread::default();
        let mut samples = ChunkSamples::default();
        for event in chunk.events() {
            match event {
                Ok(event) if self.is_early(&event) => self.analysis.events += 1,
                Ok(Event::MethodCall(call)) => {
                    self.analysis.events += 1;
                    let frame = *frame_ids.entry((call.method, call.template)).or_insert_with(|| {
                        let template = chunk.template(call.template).unwrap_or_default();
                        self.nesting.frames.id(chunk.method(call.method), template)
                    });
                    let Call { start, duration, exact, .. } = call;
                    calls.add(chunk, call.thread, CallRecord { start, duration, frame, exact });
                }
                Ok(event) => {
                    self.analysis.events += 1;
                    self.add_event(event, &mut samples);
                }
                Err(error) => self.warn(format!("the rest of chunk {index} was left out: {error}")),
            }
        }
        self.samples.chunk_done(chunk, samples);
        // Before the first chunk there is nothing that could still come.
        let start = if index == 0 { 0 } else { chunk.start_epoch_nanos() };
        for (thread, records) in calls.threads {
            self.analysis.calls += records.len() as u64;
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

    /// Whether the event is of a call before the part that is wanted.
    fn is_early(&self, event: &Event<'_>) -> bool {
        match event {
            Event::MethodCall(call)
            | Event::Statement { call, .. }
            | Event::HttpRequest { call, .. }
            | Event::SocketTransfer { call, .. } => call.start.saturating_add(call.duration) < self.begin,
            Event::Sample { at, .. } | Event::FailedSample { at, .. } => *at < self.begin,
            _ => false,
        }
    }

    fn add_event(&mut self, event: Event<'_>, samples: &mut ChunkSamples) {
        match event {
            Event::Sample { thread, stack, .. } => samples.add(thread, stack),
            Event::FailedSample { thread, reason, .. } => samples.add_failed(thread, &reason),
            Event::Statement { call, statement } => drop(self.statements.add(&statement, call.duration)),
            Event::HttpRequest { call, http_method, path, status } => {
                let row = self.http_requests.add(&format!("{http_method} {path}"), call.duration);
                row.client_errors += u64::from((400..500).contains(&status));
                row.server_errors += u64::from(status >= 500);
            }
            Event::SocketTransfer { call, peer, bytes } => {
                let row = self.sockets.add(&peer, call.duration);
                row.bytes = row.bytes.saturating_add(bytes);
            }
            Event::Loss { lost, .. } => self.analysis.lost = self.analysis.lost.saturating_add(lost),
            Event::StartUpDone { at } => self.start_up = Some(at),
            Event::Configuration { key, value } => {
                self.samples.setting(&key, &value);
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
            Event::MethodCall(_) | Event::Other => {}
        }
    }

    /// Completes the analysis.
    pub(super) fn finish(mut self, reader: &TraceReader) -> Analysis {
        self.nesting.tree.complete();
        let mut analysis = self.analysis;
        analysis.tree = self.nesting.tree;
        analysis.frames = self.nesting.frames.frames;
        for node in analysis.tree.nodes() {
            if let Some(frame) = node.frame.and_then(|id| analysis.frames.get_mut(id.index())) {
                frame.own = frame.own.saturating_add(node.own);
            }
        }
        analysis.threads = self.rows.finish();
        analysis.statements = self.statements.finish();
        analysis.http_requests = self.http_requests.finish();
        analysis.sockets = self.sockets.finish();
        analysis.samples = self.samples.finish();

        describe(&mut analysis.recording, reader, self.start_up);
        add_warnings(&mut analysis, self.notes_left_out);
        analysis
    }
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
}

fn add_warnings(analysis: &mut Analysis, notes_left_out: u64) {
    if !analysis.recording.is_finished {
        analysis.warnings.push("the recording was not ended: the process was killed, or it still runs".to_owned());
    }
    if analysis.lost > 0 {
        let lost = analysis.lost;
        analysis
            .warnings
            .push(format!("{lost} records were lost: counts and times are too low, callers may be missing"));
    }
    if notes_left_out > 0 {
        analysis.warnings.push(format!("{notes_left_out} notes are not shown"));
    }
}
