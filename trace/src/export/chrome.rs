//! Trace Event Format: a JSON object with `traceEvents`, which chrome://tracing and <https://ui.perfetto.dev> open.
//!
//! Format: "Trace Event Format" of the Chromium project,
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>. Each call is a complete event (`X`);
//! `ts` and `dur` are microseconds with three decimals, `ts` since the start of the recording; `cat` is `exact`, or
//! `estimated` for calls of level watch; `args` are the values that were recorded with the call. Events need no order in the
//! file; ours go from the end of the recording to its start, a caller before what it called. A task that another thread handed
//! over has a flow (`s`, `f`), an arrow from the call that handed it over to its first call.

use std::fmt;
use std::io::{self, Write};

use rustc_hash::FxHashSet;

use super::process::Process;
use super::{json_string, thread_name};
use crate::analysis::{Arrow, RecordedParts, Slice, SliceVisitor, TaskCalls, TaskLinks};
use crate::reader::Thread;
use crate::{Analysis, AnalysisOptions, TraceReader, arguments};

/// Writes all calls as one JSON object, each as soon as it is read: memory is that of [`Analysis::with_slices`].
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn chrome(reader: &mut TraceReader, options: AnalysisOptions, out: &mut impl Write) -> io::Result<Analysis> {
    let process = Process::of(reader);
    let links = TaskLinks::read(reader);
    write_head(out, &process)?;
    let mut events = Events {
        out,
        result: Ok(()),
        origin: reader.start_epoch_nanos(),
        pid: process.pid,
        parts: RecordedParts::read(reader, options),
        heads: Vec::new(),
        threads: FxHashSet::default(),
        tasks: TaskCalls::new(&links),
    };
    let analysis = Analysis::with_slices(reader, options, &mut events);
    let Events { out, result, origin, pid, tasks, .. } = events;
    result?;
    for arrow in tasks.arrows() {
        write_arrow(out, &arrow, origin, pid)?;
    }
    write_tail(out, &analysis)?;
    Ok(analysis)
}

fn write_head(out: &mut impl Write, process: &Process) -> io::Result<()> {
    let Process { pid, name } = process;
    let name = json_string(name);
    write!(
        out,
        "{{\"traceEvents\":[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":0,\"args\":{{\"name\":{name}}}}}"
    )
}

fn write_tail(out: &mut impl Write, analysis: &Analysis) -> io::Result<()> {
    let other = serde_json::json!({
        "exporter": concat!("instr ", env!("CARGO_PKG_VERSION")),
        "start_epoch_nanos": analysis.recording.start_epoch_nanos.to_string(),
        "jvm": analysis.recording.jvm,
        "lost": analysis.lost,
        "warnings": analysis.warnings,
    });
    writeln!(out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{other}}}")
}

/// Both ends bind to the calls around them.
fn write_arrow(out: &mut impl Write, arrow: &Arrow, origin: u64, pid: u64) -> io::Result<()> {
    let Arrow { id, at, from, to } = arrow;
    let (begin, end) = (Microseconds(at.saturating_sub(origin)), Microseconds(to.start.saturating_sub(origin)));
    let (giver, taker) = (from.thread, to.thread);
    let head = format!("{{\"name\":\"task\",\"cat\":\"task\",\"id\":{id},\"pid\":{pid}");
    write!(out, ",\n{head},\"ph\":\"s\",\"tid\":{giver},\"ts\":{begin}}}")?;
    write!(out, ",\n{head},\"ph\":\"f\",\"bp\":\"e\",\"tid\":{taker},\"ts\":{end}}}")
}

struct Events<'w, 'l, W> {
    out: &'w mut W,
    /// The first failure; nothing is written after it.
    result: io::Result<()>,
    /// Start of the recording, in nanoseconds since 1970.
    origin: u64,
    pid: u64,
    parts: RecordedParts,
    /// By method: what all its events begin with.
    heads: Vec<String>,
    /// Threads whose names have been written.
    threads: FxHashSet<u64>,
    tasks: TaskCalls<'l>,
}

impl<W: Write> Events<'_, '_, W> {
    fn write_thread(&mut self, thread: &Thread) -> io::Result<()> {
        let (pid, tid, name) = (self.pid, thread.id, json_string(&thread_name(thread)));
        write!(
            self.out,
            ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{name}}}}}"
        )
    }

    fn write_slice(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let index = slice.frame_id.index();
        if index >= self.heads.len() {
            self.heads.resize(index + 1, String::new());
        }
        let Some(head) = self.heads.get_mut(index) else { return Ok(()) };
        if head.is_empty() {
            let name = json_string(&slice.frame.name_marked_with(self.parts.of(slice.frame)));
            *head = format!(",\n{{\"name\":{name},\"ph\":\"X\",\"pid\":{},\"tid\":", self.pid);
        }
        let ts = Microseconds(slice.start.saturating_sub(self.origin));
        let dur = Microseconds(slice.end.saturating_sub(slice.start));
        let category = if slice.exact { "exact" } else { "estimated" };
        write!(self.out, "{head}{},\"cat\":\"{category}\",\"ts\":{ts},\"dur\":{dur}", slice.thread)?;
        if let Some(text) = slice.arguments {
            let values: serde_json::Map<String, serde_json::Value> =
                arguments::pairs(text).map(|(name, value)| (name.to_owned(), value.into())).collect();
            write!(self.out, ",\"args\":{}", serde_json::Value::from(values))?;
        }
        self.out.write_all(b"}")
    }
}

impl<W: Write> SliceVisitor for Events<'_, '_, W> {
    fn thread(&mut self, thread: &Thread) {
        if self.result.is_ok() && self.threads.insert(thread.id) {
            self.result = self.write_thread(thread);
        }
    }

    fn slice(&mut self, slice: &Slice<'_>) {
        if self.result.is_ok() {
            self.tasks.see(slice);
            self.result = self.write_slice(slice);
        }
    }

    fn goes_on(&self) -> bool {
        self.result.is_ok()
    }
}

/// Nanoseconds, shown as microseconds with all three decimals: nothing is rounded.
struct Microseconds(u64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}
