//! Samples of running threads and of allocations in the formats of other tools: collapsed stacks and speedscope's sampled
//! profiles.

use std::io::{self, Write};

use super::collapsed::clean;
use super::json_string;
use crate::analysis::{NodeId, SampleProfile, SampledThread};
use crate::{Analysis, AnalysisOptions, TraceReader};

/// Which samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampled {
    /// Those of running threads.
    RunningThreads,
    /// Those of allocations, whose weights are bytes.
    Allocations,
}

impl Sampled {
    fn of(self, analysis: &Analysis) -> Option<&SampleProfile> {
        match self {
            Sampled::RunningThreads => analysis.samples.as_ref(),
            Sampled::Allocations => analysis.allocations.as_ref().map(|profile| &profile.stacks),
        }
    }
}

/// Writes a line for each sampled stack: `frame;frame;frame samples` (or bytes), outermost first; with `threads` each begins
/// with the thread, as `[name tid=id]`.
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn collapsed_samples(
    reader: &mut TraceReader,
    options: AnalysisOptions,
    sampled: Sampled,
    threads: bool,
    out: &mut impl Write,
) -> io::Result<Analysis> {
    let analysis = Analysis::of_reader(reader, options);
    let Some(profile) = sampled.of(&analysis) else { return Ok(analysis) };
    let paths = Paths { profile };
    if threads {
        for thread in &profile.threads {
            let first = if thread.is_virtual {
                "[virtual threads]".to_owned()
            } else {
                format!("[{} tid={}]", clean(&thread.name), thread.id)
            };
            for (node, ticks) in &thread.own {
                writeln!(out, "{first};{} {ticks}", paths.line(*node))?;
            }
        }
    } else {
        for (index, node) in profile.tree.nodes().iter().enumerate().filter(|(_, node)| node.own > 0) {
            writeln!(out, "{} {}", paths.line(NodeId(index as u32)), node.own)?;
        }
    }
    Ok(analysis)
}

/// Writes a sampled profile for each thread, the busiest first. Weights are bytes of allocations; of running threads
/// nanoseconds if the recording says how far samples are apart, else samples.
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn speedscope_samples(
    reader: &mut TraceReader,
    options: AnalysisOptions,
    sampled: Sampled,
    out: &mut impl Write,
) -> io::Result<Analysis> {
    let analysis = Analysis::of_reader(reader, options);
    let nothing = SampleProfile::default();
    let profile = sampled.of(&analysis).unwrap_or(&nothing);
    let unit = match (sampled, profile.interval_nanos) {
        (Sampled::Allocations, _) => ("bytes", 1),
        (Sampled::RunningThreads, None) => ("none", 1),
        (Sampled::RunningThreads, Some(interval)) => ("nanoseconds", interval),
    };
    let name = reader.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let exporter = concat!("instr ", env!("CARGO_PKG_VERSION"));
    writeln!(out, "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",")?;
    writeln!(out, "\"exporter\":\"{exporter}\",\"name\":{},\"activeProfileIndex\":0,", json_string(&name))?;
    write!(out, "\"shared\":{{\"frames\":[")?;
    write_list(out, &profile.frames, |out, frame| write!(out, "{{\"name\":{}}}", json_string(&frame.distinct_name())))?;
    write!(out, "\n]}},\n\"profiles\":[")?;
    write_list(out, &profile.threads, |out, thread| write_thread(out, profile, unit, thread))?;
    writeln!(out, "\n]}}")?;
    Ok(analysis)
}

/// The figures of a thread, in a unit and how many of it a tick is.
fn write_thread(
    out: &mut impl Write,
    profile: &SampleProfile,
    (unit, weight): (&str, u64),
    thread: &SampledThread,
) -> io::Result<()> {
    let paths = Paths { profile };
    let end = thread.ticks.saturating_mul(weight);
    write!(out, "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{unit}\",", json_string(&thread.name))?;
    write!(out, "\"startValue\":0,\"endValue\":{end},\"samples\":[")?;
    write_list(out, &thread.own, |out, (node, _)| {
        let frames: Vec<String> = paths.frames(*node).iter().map(ToString::to_string).collect();
        write!(out, "[{}]", frames.join(","))
    })?;
    write!(out, "\n],\"weights\":[")?;
    write_list(out, &thread.own, |out, (_, ticks)| write!(out, "{}", ticks.saturating_mul(weight)))?;
    write!(out, "\n]}}")
}

fn write_list<W: Write, T>(
    out: &mut W,
    items: &[T],
    mut write: impl FnMut(&mut W, &T) -> io::Result<()>,
) -> io::Result<()> {
    for (index, item) in items.iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write(out, item)?;
    }
    Ok(())
}

struct Paths<'a> {
    profile: &'a SampleProfile,
}

impl Paths<'_> {
    /// Positions of the frames of a path, the outermost first.
    fn frames(&self, leaf: NodeId) -> Vec<usize> {
        let mut frames = Vec::new();
        let mut at = leaf;
        while let Some((node, frame)) = self.profile.tree.node(at).and_then(|node| Some((node, node.frame?))) {
            frames.push(frame.index());
            at = node.parent;
        }
        frames.reverse();
        frames
    }

    fn line(&self, leaf: NodeId) -> String {
        let name = |index: &usize| {
            self.profile.frames.get(*index).map_or_else(String::new, |frame| clean(&frame.distinct_name()))
        };
        self.frames(leaf).iter().map(name).collect::<Vec<_>>().join(";")
    }
}
