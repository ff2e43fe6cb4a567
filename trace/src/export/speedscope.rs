//! The JSON format of <https://www.speedscope.app>: one evented profile for each thread.
//!
//! Format: <https://www.speedscope.app/file-format-schema.json>. Times are nanoseconds since the start of the recording,
//! so that threads can be compared; the thread with the most time is the first. The events of a profile must be in the order
//! of time, but a recording is read from its end: they are kept in a compact form until all are known.

use std::io::{self, Write};

use super::timeline::{Called, Mark, ThreadTimelines, Timeline};
use super::{json_string, thread_name};
use crate::analysis::{Frame, TaskLinks};
use crate::{Analysis, AnalysisOptions, TraceReader};

/// Writes all calls. Needs about as much memory as the recording is long, beyond that of [`Analysis::with_slices`].
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn speedscope(reader: &mut TraceReader, options: AnalysisOptions, out: &mut impl Write) -> io::Result<Analysis> {
    let no_links = TaskLinks::default();
    let mut threads = ThreadTimelines::new(&no_links);
    let analysis = Analysis::with_slices(reader, options, &mut threads);
    let methods = Methods::of(&analysis.frames);
    write_head(out, reader, &methods)?;
    let clock = Clock { origin: reader.start_epoch_nanos(), end: reader.duration_nanos() };
    for (index, (thread, timeline)) in threads.finish().0.into_iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write_profile(out, &thread_name(&thread), timeline, &clock, &methods)?;
    }
    writeln!(out, "\n]}}")?;
    Ok(analysis)
}

/// The frames of the file: methods, and those with estimated calls once more. Slices themselves cannot be marked.
struct Methods {
    names: Vec<String>,
    /// By method.
    estimated: Vec<usize>,
}

impl Methods {
    fn of(frames: &[Frame]) -> Methods {
        let mut names: Vec<String> = frames.iter().map(Frame::marked_name).collect();
        let mut estimated = Vec::with_capacity(frames.len());
        for frame in frames {
            estimated.push(names.len());
            if frame.is_estimated() {
                names.push(format!("{} [estimated]", frame.marked_name()));
            }
        }
        Methods { names, estimated }
    }

    fn index(&self, called: Called) -> usize {
        let method = called.frame.index();
        if called.exact { method } else { self.estimated.get(method).copied().unwrap_or(method) }
    }
}

fn write_head(out: &mut impl Write, reader: &TraceReader, methods: &Methods) -> io::Result<()> {
    let name = reader.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let exporter = concat!("instr ", env!("CARGO_PKG_VERSION"));
    writeln!(out, "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",")?;
    writeln!(out, "\"exporter\":\"{exporter}\",\"name\":{},\"activeProfileIndex\":0,", json_string(&name))?;
    write!(out, "\"shared\":{{\"frames\":[")?;
    for (index, name) in methods.names.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}\n{{\"name\":{}}}", json_string(name))?;
    }
    write!(out, "\n]}},\n\"profiles\":[")
}

/// Both in nanoseconds: start of the recording since 1970, and its end since then.
struct Clock {
    origin: u64,
    end: u64,
}

fn write_profile(
    out: &mut impl Write,
    name: &str,
    timeline: Timeline,
    clock: &Clock,
    methods: &Methods,
) -> io::Result<()> {
    write!(
        out,
        "{{\"type\":\"evented\",\"name\":{},\"unit\":\"nanoseconds\",\"startValue\":0,\"events\":[",
        json_string(name)
    )?;
    let mut comma = "";
    let mut end = clock.end;
    for mark in timeline.into_marks() {
        let (kind, at, called) = match mark {
            Mark::Begin(at, called, _) => ('O', at, called),
            Mark::End(at, called) => ('C', at, called),
        };
        let at = at.saturating_sub(clock.origin);
        write!(out, "{comma}\n{{\"type\":\"{kind}\",\"at\":{at},\"frame\":{}}}", methods.index(called))?;
        comma = ",";
        end = end.max(at);
    }
    write!(out, "\n],\"endValue\":{end}}}")
}
