//! OTLP/JSON, one request a line, as the OpenTelemetry Collector's `otlpjsonfile` receiver reads it: a span for each call. Requests and
//! statements follow the semantic conventions ([`crate::conventions`]), as the spans that the agent sends do.
//!
//! Format: <https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/>. What an outermost call has called is one
//! trace, what tasks do that it handed over to other threads included: they stand below the call that did so. Ids are made from the recording, the thread and the number of the call in it: the same recording gives the same
//! ids, and those of two recordings differ.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use super::process::Process;
use super::{json_string, thread_name};
use crate::analysis::{
    CallDetail, Frame, Givers, RecordedPart, RecordedParts, Slice, SliceVisitor, Standing, TaskCalls, TaskLinks,
};
use crate::conventions::{
    AnsweredRequest, Attribute, AttributeValue, ExecutedStatement, RequestNames, STATUS_ERROR, SpanSemantics,
    argument_attributes, database_of_class,
};
use crate::reader::Thread;
use crate::{Analysis, AnalysisOptions, TraceReader};

/// Spans in a line.
const BATCH: usize = 512;
const SCOPE: &str = concat!("{\"name\":\"instr\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}");

/// Writes all calls, each as soon as it is read: memory is that of [`Analysis::with_slices`].
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn otlp(reader: &mut TraceReader, options: AnalysisOptions, out: &mut impl Write) -> io::Result<Analysis> {
    let process = Process::of(reader);
    let seed = mixed(reader.start_epoch_nanos() ^ mixed(process.pid));
    let links = TaskLinks::read(reader);
    let givers = givers(reader, options, &links);
    let mut spans = Spans {
        out,
        givers,
        tasks: TaskCalls::new(&links),
        result: Ok(()),
        resource: resource(&process),
        seed,
        in_line: 0,
        threads: FxHashMap::default(),
        parts: RecordedParts::read(reader, options),
        heads: Vec::new(),
        request_names: RequestNames::default(),
    };
    let analysis = Analysis::with_slices(reader, options, &mut spans);
    if spans.result.is_ok() {
        spans.result = spans.end_line();
    }
    spans.result?;
    Ok(analysis)
}

/// Calls of a task come by before the call that handed it over, so that is looked for first.
fn givers(reader: &mut TraceReader, options: AnalysisOptions, links: &TaskLinks) -> Givers {
    let mut calls = OnlyTasks(TaskCalls::new(links));
    if !links.is_empty() {
        Analysis::with_slices(reader, options, &mut calls);
    }
    calls.0.givers()
}

struct OnlyTasks<'l>(TaskCalls<'l>);

impl SliceVisitor for OnlyTasks<'_> {
    fn thread(&mut self, _thread: &Thread) {}

    fn slice(&mut self, slice: &Slice<'_>) {
        self.0.see(slice);
    }
}

fn resource(process: &Process) -> String {
    let name = json_string(&process.name);
    let pid = process.pid;
    format!(
        "{{\"attributes\":[{{\"key\":\"service.name\",\"value\":{{\"stringValue\":{name}}}}},{{\"key\":\"process.pid\",\"value\":{{\"intValue\":\"{pid}\"}}}}]}}"
    )
}

struct Spans<'w, 'l, W> {
    out: &'w mut W,
    givers: Givers,
    tasks: TaskCalls<'l>,
    /// The first failure; nothing is written after it.
    result: io::Result<()>,
    resource: String,
    seed: u64,
    in_line: usize,
    threads: FxHashMap<u64, OpenTrace>,
    parts: RecordedParts,
    /// By method: name and attributes.
    heads: Vec<Option<MethodText>>,
    request_names: RequestNames,
}

/// Where a thread is.
#[derive(Debug, Default)]
struct OpenTrace {
    /// Attributes that say which thread it is.
    attributes: String,
    /// Calls of the thread up to now.
    calls: u64,
    /// The trace and the id of the call seen last and of those around it, the outermost first.
    open: Vec<([u64; 2], u64)>,
}

/// A call by its thread and its number there.
type Call = (u64, u64);

#[derive(Debug)]
struct MethodText {
    name: String,
    attributes: String,
}

impl<W: Write> Spans<'_, '_, W> {
    fn write_slice(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let index = slice.frame_id.index();
        if index >= self.heads.len() {
            self.heads.resize_with(index + 1, || None);
        }
        self.out.write_all(if self.in_line > 0 { b"," } else { b"" })?;
        if self.in_line == 0 {
            let resource = &self.resource;
            write!(
                self.out,
                "{{\"resourceSpans\":[{{\"resource\":{resource},\"scopeSpans\":[{{\"scope\":{SCOPE},\"spans\":["
            )?;
        }
        let Some(thread) = self.threads.get_mut(&slice.thread) else { return Ok(()) };
        let Some(head) = self.heads.get_mut(index) else { return Ok(()) };
        let head = head.get_or_insert_with(|| MethodText::of(slice.frame, self.parts.of(slice.frame)));
        let giver = match self.tasks.see(slice) {
            Standing::Below(link) => self.givers.of(link),
            Standing::Outermost | Standing::Inside => None,
        };
        let ([high, low], span, parent) = thread.next(slice, self.seed, giver);
        write!(self.out, "{{\"traceId\":\"{high:016x}{low:016x}\",\"spanId\":\"{span:016x}\",")?;
        if let Some(parent) = parent {
            write!(self.out, "\"parentSpanId\":\"{parent:016x}\",")?;
        }
        let semantics = slice.detail.map(|detail| semantics(detail, slice.frame, &mut self.request_names));
        let SpanSemantics { kind, name, attributes: of_detail, is_error } = semantics.unwrap_or_default();
        let name = name.as_deref().map(json_string);
        let (name, kind) = (name.as_ref().unwrap_or(&head.name), kind.number());
        let (attributes, of_thread) = (&head.attributes, &thread.attributes);
        let Slice { start, end, .. } = slice;
        let estimated = if slice.exact { "" } else { ",{\"key\":\"instr.estimated\",\"value\":{\"boolValue\":true}}" };
        write!(
            self.out,
            "\"name\":{name},\"kind\":{kind},\"startTimeUnixNano\":\"{start}\",\"endTimeUnixNano\":\"{end}\",\"attributes\":[{attributes}{of_thread}{estimated}"
        )?;
        for attribute in of_detail.into_iter().chain(slice.arguments.into_iter().flat_map(argument_attributes)) {
            write_attribute(self.out, &attribute)?;
        }
        self.out.write_all(b"]")?;
        if is_error {
            write!(self.out, ",\"status\":{{\"code\":{STATUS_ERROR}}}")?;
        }
        self.out.write_all(b"}")?;
        self.in_line += 1;
        if self.in_line >= BATCH { self.end_line() } else { Ok(()) }
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.in_line == 0 {
            return Ok(());
        }
        self.in_line = 0;
        self.out.write_all(b"]}]}]}\n")
    }
}

/// What the recording knows of a request, a statement or a transfer.
fn semantics(detail: &CallDetail, frame: &Frame, names: &mut RequestNames) -> SpanSemantics {
    match detail {
        CallDetail::Statement(text) => {
            let database = database_of_class(&frame.class).unwrap_or_default();
            SpanSemantics::of_statement(&ExecutedStatement { text, database, error: "" })
        }
        CallDetail::Request { http_method, path, route, status } => {
            let status = *status;
            SpanSemantics::of_request(
                &AnsweredRequest { http_method, path, route, scheme: "", error: "", status },
                names,
            )
        }
        CallDetail::Transfer { peer, bytes } => SpanSemantics::of_transfer(peer, *bytes),
    }
}

fn write_attribute(out: &mut impl Write, (key, value): &Attribute) -> io::Result<()> {
    let key = json_string(key);
    match value {
        AttributeValue::Text(text) => {
            write!(out, ",{{\"key\":{key},\"value\":{{\"stringValue\":{}}}}}", json_string(text))
        }
        AttributeValue::Number(number) => write!(out, ",{{\"key\":{key},\"value\":{{\"intValue\":\"{number}\"}}}}"),
    }
}

impl OpenTrace {
    /// Returns the ids of the trace, of the call, and of its caller: `giver`, if that is on another thread, given by thread and number
    /// with the outermost call of its transaction.
    fn next(&mut self, slice: &Slice<'_>, seed: u64, giver: Option<(Call, Call)>) -> ([u64; 2], u64, Option<u64>) {
        self.calls += 1;
        let span = span_id(seed, (slice.thread, self.calls));
        self.open.truncate(slice.depth);
        let trace_of = |top: Call| [id(seed, top.0), span_id(seed, top)];
        let above = match giver {
            Some((call, top)) => Some((trace_of(top), span_id(seed, call))),
            None => self.open.last().copied(),
        };
        let trace = above.map_or_else(|| trace_of((slice.thread, self.calls)), |(trace, _)| trace);
        self.open.push((trace, span));
        (trace, span, above.map(|(_, span)| span))
    }
}

fn span_id(seed: u64, (thread, number): Call) -> u64 {
    id(seed ^ mixed(thread), number)
}

impl MethodText {
    /// Spans keep the name of the method; the part of the time in which all of its calls were recorded is an attribute.
    fn of(frame: &Frame, part: Option<&RecordedPart>) -> MethodText {
        let mut attributes = format!(
            "{{\"key\":\"code.function.name\",\"value\":{{\"stringValue\":{}}}}},{{\"key\":\"instr.template\",\"value\":{{\"stringValue\":{}}}}}",
            json_string(&frame.full_name()),
            json_string(&frame.template),
        );
        if let Some(part) = part {
            let text = json_string(&part.text);
            attributes.push_str(&format!(",{{\"key\":\"instr.recorded_part\",\"value\":{{\"stringValue\":{text}}}}}"));
        }
        MethodText { name: json_string(&frame.full_name()), attributes }
    }
}

impl<W: Write> SliceVisitor for Spans<'_, '_, W> {
    const SEES_DETAILS: bool = true;

    fn thread(&mut self, thread: &Thread) {
        self.threads.entry(thread.id).or_insert_with(|| {
            let (id, name) = (thread.id, json_string(&thread_name(thread)));
            let attributes = format!(
                ",{{\"key\":\"thread.id\",\"value\":{{\"intValue\":\"{id}\"}}}},{{\"key\":\"thread.name\",\"value\":{{\"stringValue\":{name}}}}}"
            );
            OpenTrace { attributes, ..OpenTrace::default() }
        });
    }

    fn slice(&mut self, slice: &Slice<'_>) {
        if self.result.is_ok() {
            self.result = self.write_slice(slice);
        }
    }

    fn goes_on(&self) -> bool {
        self.result.is_ok()
    }
}

/// An id, which must not be 0.
fn id(seed: u64, number: u64) -> u64 {
    mixed(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).max(1)
}

/// Spreads a number over all bits; different numbers stay different (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
