//! Collapsed (folded) stacks: a line for each call path, `frame;frame;frame weight`, from the outermost call to the
//! innermost. What flamegraph.pl, async-profiler's converter, speedscope and many others read.
//!
//! Format: Brendan Gregg's FlameGraph, <https://github.com/brendangregg/FlameGraph>. Weights are whole numbers, because
//! most readers take nothing else.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::thread_name;
use crate::analysis::{Node, NodeId, Slice, SliceVisitor};
use crate::reader::Thread;
use crate::{Analysis, AnalysisOptions, TraceReader};

/// What the number at the end of a line counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Weight {
    /// Time in the innermost method itself, in microseconds. What rounding takes from one line is added to the next, so
    /// that the sum of all lines is right to the microsecond.
    #[default]
    OwnTime,
    /// Number of calls.
    Calls,
}

/// How to write collapsed stacks.
#[derive(Debug, Clone, Copy, Default)]
pub struct CollapsedOptions {
    /// Which calls.
    pub analysis: AnalysisOptions,
    /// What is counted.
    pub weight: Weight,
    /// Begin each line with the thread, as `[name tid=id]`. All virtual threads together are one.
    pub threads: bool,
}

/// Writes a line for each call path with a weight, callees with more time first.
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn collapsed(reader: &mut TraceReader, options: &CollapsedOptions, out: &mut impl Write) -> io::Result<Analysis> {
    let mut threads = ByThread::default();
    let analysis = if options.threads {
        Analysis::with_slices(reader, options.analysis, &mut threads)
    } else {
        Analysis::of_reader(reader, options.analysis)
    };
    let mut lines = Lines { analysis: &analysis, weight: options.weight, rest: 0, out };
    if options.threads {
        for (name, times) in threads.rows() {
            lines.write_all(&clean(name), |id, _| times.get(&id).copied().unwrap_or_default())?;
        }
    } else {
        lines.write_all("", |_, node| Times { calls: node.calls, total: node.own, below: 0 })?;
    }
    Ok(analysis)
}

/// The figures of a node in one thread; times in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    calls: u64,
    total: u64,
    /// Time of the calls that the node's calls made.
    below: u64,
}

/// The call tree, apart by threads.
#[derive(Debug, Default)]
struct ByThread {
    /// Names of the platform threads by id.
    names: BTreeMap<u64, String>,
    /// Figures by thread, `None` = all virtual threads.
    times: BTreeMap<Option<u64>, BTreeMap<NodeId, Times>>,
}

impl ByThread {
    fn rows(&self) -> impl Iterator<Item = (&str, &BTreeMap<NodeId, Times>)> {
        self.times.iter().map(|(id, times)| {
            let name = id.and_then(|id| self.names.get(&id)).map_or("[virtual threads]", String::as_str);
            (name, times)
        })
    }
}

impl SliceVisitor for ByThread {
    const SEES_TIMES: bool = false;

    fn thread(&mut self, thread: &Thread) {
        if !thread.is_virtual {
            let name = || format!("[{} tid={}]", thread_name(thread), thread.id);
            self.names.entry(thread.id).or_insert_with(name);
        }
    }

    fn slice(&mut self, slice: &Slice<'_>) {
        let platform = self.names.contains_key(&slice.thread).then_some(slice.thread);
        let nodes = self.times.entry(platform).or_default();
        let times = nodes.entry(slice.node).or_default();
        times.calls += 1;
        times.total = times.total.saturating_add(slice.duration);
        if slice.parent != NodeId::ROOT {
            let caller = nodes.entry(slice.parent).or_default();
            caller.below = caller.below.saturating_add(slice.duration);
        }
    }
}

struct Lines<'a, W> {
    analysis: &'a Analysis,
    weight: Weight,
    /// Nanoseconds that did not make a whole microsecond yet.
    rest: u64,
    out: &'a mut W,
}

impl<W: Write> Lines<'_, W> {
    /// A line for each node with a weight, depth first, with an explicit stack: paths may be deep.
    fn write_all(&mut self, first: &str, times: impl Fn(NodeId, &Node) -> Times) -> io::Result<()> {
        let mut path = first.to_owned();
        let mut waiting = vec![(NodeId::ROOT, 0)];
        while let Some((id, length)) = waiting.pop() {
            let Some(node) = self.analysis.tree.node(id) else { continue };
            if let Some(frame) = node.frame.and_then(|frame| self.analysis.frame(frame)) {
                path.truncate(length);
                if !path.is_empty() {
                    path.push(';');
                }
                path.push_str(&clean(&frame.marked_name()));
                let weight = self.weigh(times(id, node));
                if weight > 0 {
                    writeln!(self.out, "{path} {weight}")?;
                }
            }
            waiting.extend(node.children.iter().rev().map(|child| (*child, path.len())));
        }
        Ok(())
    }

    fn weigh(&mut self, times: Times) -> u64 {
        if self.weight == Weight::Calls {
            return times.calls;
        }
        let nanos = times.total.saturating_sub(times.below).saturating_add(self.rest);
        self.rest = nanos % 1_000;
        nanos / 1_000
    }
}

/// A name without what separates frames and lines.
pub(super) fn clean(name: &str) -> String {
    name.replace(|letter: char| letter == ';' || letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}'), "_")
}
