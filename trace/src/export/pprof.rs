//! The format of `go tool pprof` and of many viewers: `profile.proto`, compressed with gzip.
//!
//! Format: <https://github.com/google/pprof/blob/main/proto/profile.proto>. A sample for each call path, with two values:
//! calls, and nanoseconds in the method itself; the tool adds up what lies below. Of samples of allocations: samples, and bytes
//! that the method itself allocates.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use prost::Message;
use rustc_hash::FxHashMap;

use crate::analysis::{AllocationProfile, CallTree, Frame, Node, NodeId};
use crate::{Analysis, AnalysisOptions, TraceReader};

/// Samples that are encoded at once.
const BATCH: usize = 1_024;

/// Writes the call tree. Memory is that of [`Analysis::of_reader`].
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn pprof(reader: &mut TraceReader, options: AnalysisOptions, out: &mut impl Write) -> io::Result<Analysis> {
    let analysis = Analysis::of_reader(reader, options);
    let values = [("calls", "count"), ("time", "nanoseconds")];
    let paths = Paths { tree: &analysis.tree, frames: &analysis.frames, values, counts_below: false };
    write_compressed(&analysis, &paths, out)?;
    Ok(analysis)
}

/// Writes who allocates how much. Memory is that of [`Analysis::of_reader`].
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn pprof_allocations(
    reader: &mut TraceReader,
    options: AnalysisOptions,
    out: &mut impl Write,
) -> io::Result<Analysis> {
    let analysis = Analysis::of_reader(reader, options);
    let nothing = AllocationProfile::default();
    let stacks = &analysis.allocations.as_ref().unwrap_or(&nothing).stacks;
    let values = [("samples", "count"), ("alloc_space", "bytes")];
    let paths = Paths { tree: &stacks.tree, frames: &stacks.frames, values, counts_below: true };
    write_compressed(&analysis, &paths, out)?;
    Ok(analysis)
}

/// Call paths, and what the two figures of each are: how many, and how much.
struct Paths<'a> {
    tree: &'a CallTree,
    frames: &'a [Frame],
    values: [(&'static str, &'static str); 2],
    /// The number of a node has in it those of the nodes below.
    counts_below: bool,
}

impl Paths<'_> {
    /// How many belong to the node alone.
    fn count(&self, node: &Node) -> u64 {
        let below = node.children.iter().filter_map(|id| self.tree.node(*id));
        let below = below.filter(|_| self.counts_below).map(|child| child.calls);
        below.fold(node.calls, u64::saturating_sub)
    }
}

fn write_compressed(analysis: &Analysis, paths: &Paths<'_>, out: &mut impl Write) -> io::Result<()> {
    // No time and no name in the head: the same recording gives the same bytes.
    let mut compressed = GzBuilder::new().write(out, Compression::default());
    write_profile(analysis, paths, &mut compressed)?;
    compressed.finish()?;
    Ok(())
}

fn write_profile(analysis: &Analysis, paths: &Paths<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    // Position and path of nodes, with an explicit stack: paths may be deep.
    let mut waiting = vec![(NodeId::ROOT, 0)];
    let mut path: Vec<u64> = Vec::new();
    while let Some((id, depth)) = waiting.pop() {
        let Some(node) = paths.tree.node(id) else { continue };
        path.truncate(depth);
        if let Some(frame) = node.frame {
            path.push(frame.index() as u64 + 1);
            batch.extend(sample(paths.count(node), node.own, &path));
        }
        waiting.extend(node.children.iter().rev().map(|child| (*child, path.len())));
        if batch.len() >= BATCH {
            write_samples(out, &mut batch)?;
        }
    }
    write_samples(out, &mut batch)?;
    out.write_all(&head(analysis, paths).encode_to_vec())
}

fn sample(count: u64, own: u64, path: &[u64]) -> Option<Sample> {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let is_something = count > 0 || own > 0;
    is_something.then(|| Sample {
        // The innermost first.
        location_id: path.iter().rev().copied().collect(),
        value: vec![number(count), number(own)],
    })
}

/// Messages may be written in parts: readers join their repeated fields.
fn write_samples(out: &mut impl Write, batch: &mut Vec<Sample>) -> io::Result<()> {
    let part = Profile { sample: std::mem::take(batch), ..Profile::default() };
    out.write_all(&part.encode_to_vec())
}

/// All but the samples.
fn head(analysis: &Analysis, paths: &Paths<'_>) -> Profile {
    let mut strings = Strings::default();
    let mut value_type = |name, unit| ValueType { r#type: strings.index(name), unit: strings.index(unit) };
    let types = paths.values.map(|(name, unit)| value_type(name, unit)).into();
    let mut functions = Vec::with_capacity(paths.frames.len());
    let mut locations = Vec::with_capacity(paths.frames.len());
    for (frame, id) in paths.frames.iter().zip(1..) {
        let system_name = strings.index(&format!("{}{}", frame.full_name(), frame.descriptor));
        let name = strings.index(&frame.marked_name());
        functions.push(Function { id, name, system_name, filename: strings.index(&frame.class) });
        locations.push(Location { id, line: vec![Line { function_id: id }] });
    }
    let default_sample_type = strings.index(paths.values[1].0);
    let recording = &analysis.recording;
    let comment = analysis.warnings.iter().map(|warning| strings.index(warning)).collect();
    Profile {
        sample_type: types,
        location: locations,
        function: functions,
        time_nanos: i64::try_from(recording.start_epoch_nanos).unwrap_or(0),
        duration_nanos: i64::try_from(recording.duration_nanos).unwrap_or(0),
        comment,
        default_sample_type,
        string_table: strings.texts,
        sample: Vec::new(),
    }
}

/// The string table; its first entry must be empty.
struct Strings {
    indices: FxHashMap<String, i64>,
    texts: Vec<String>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { indices: FxHashMap::from_iter([(String::new(), 0)]), texts: vec![String::new()] }
    }
}

impl Strings {
    fn index(&mut self, text: &str) -> i64 {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        let index = self.texts.len() as i64;
        self.indices.insert(text.to_owned(), index);
        self.texts.push(text.to_owned());
        index
    }
}

// The messages, as far as they are written.

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}
