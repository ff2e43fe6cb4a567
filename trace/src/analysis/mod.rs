//! From a recording to figures: call tree, methods, threads, statements, requests, peers.
//!
//! Memory is bounded by the number of distinct call paths (of a million of them at most), methods and threads, not by the
//! number of calls: the file is read chunk by chunk, from its end to its start.

mod allocations;
mod blocks;
mod builder;
mod bursts;
mod call_arguments;
mod call_details;
mod claims;
mod compared_tree;
mod comparison;
mod confidence;
mod decoding;
mod details;
mod diagnoses;
mod frames;
mod groups;
mod histogram;
mod input_output;
mod lengths;
mod likely_times;
mod nesting;
mod overloads;
mod pending;
mod probe_time;
mod relations;
mod retransforms;
mod samples;
mod slices;
mod task_calls;
mod task_links;
mod threads;
mod time_line;
mod transaction_tree;
mod transactions;
mod tree;
mod walks;

use std::path::{Path, PathBuf};

pub use allocations::{AllocationProfile, AllocationRow};
pub use call_arguments::SlowCall;
pub use call_details::CallDetail;
pub use claims::RecordedPart;
pub(crate) use claims::RecordedParts;
pub use compared_tree::{ComparedMethod, ComparedNode, ComparedTree, PathFigures};
pub use comparison::{Comparison, Figures, Measure, MethodChange};
pub use details::DetailRow;
pub use frames::{Frame, FrameId};
pub use groups::{GroupRow, Grouping, StackRow, groups, package_of, stacks};
pub use histogram::Histogram;
pub use input_output::InputOutputRow;
pub use lengths::CallTimes;
pub(crate) use overloads::Overloads;
pub use overloads::parameter_types;
pub use probe_time::ProbeTime;
pub use relations::Relation;
pub use samples::{LineRow, SampleProfile, SampledThread};
pub use slices::{Slice, SliceVisitor};
pub(crate) use task_calls::{Arrow, CallPlace, Givers, Standing, TaskCalls};
pub use task_links::{Context, HandOver, LinkId, TaskLinks, TaskRecord};
pub use threads::ThreadRow;
pub use time_line::{Lane, LongCall, TimeLine};
pub use transaction_tree::TransactionNode;
pub use transactions::Transactions;
pub use tree::{CallTree, Node, NodeId};

use crate::reader::{ReadError, TraceReader};
use crate::{Diagnosis, Walk};
use builder::Builder;
use decoding::decode_backward;
use slices::Unseen;

/// How to analyse.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnalysisOptions {
    /// Leave out calls that ended before the application had started up (as the recording's marker says).
    pub after_start_up: bool,
    /// Keep the calls of each method also by blocks of time, for the margins of a [`Comparison`].
    pub in_blocks: bool,
}

/// What is known about the recording itself.
#[derive(Debug, Clone, Default)]
pub struct RecordingInfo {
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub file_bytes: u64,
    /// Whole chunks in it.
    pub chunks: usize,
    /// Start of the recording, in nanoseconds since 1970.
    pub start_epoch_nanos: u64,
    /// Its duration, in nanoseconds.
    pub duration_nanos: u64,
    /// Whether it was ended properly; otherwise the process still runs, was killed, or could not write any more.
    pub is_finished: bool,
    /// Why it ended, as far as it says so.
    pub end_reason: String,
    /// Process id.
    pub pid: u64,
    /// Name and version of the JVM.
    pub jvm: String,
    /// Options of the JVM.
    pub jvm_options: String,
    /// Main class or jar with its arguments.
    pub command_line: String,
    /// Settings that the recording notes.
    pub configuration: Vec<(String, String)>,
    /// End of the start-up, in nanoseconds since the start of the recording.
    pub start_up_nanos: Option<u64>,
    /// When the file had the size that it may have, in nanoseconds since the start: later calls are counted as lost.
    pub full_after_nanos: Option<u64>,
    /// What happened on the way: nanoseconds since the start, a short word, a message.
    pub notes: Vec<(u64, String, String)>,
}

/// The figures of a recording.
#[derive(Debug, Clone, Default)]
pub struct Analysis {
    /// About the recording itself.
    pub recording: RecordingInfo,
    /// Calls that were analysed.
    pub calls: u64,
    /// All events of the file, calls included.
    pub events: u64,
    /// Records that were lost on the way to the file.
    pub lost: u64,
    /// The methods; a [`FrameId`] is a position in this list.
    pub frames: Vec<Frame>,
    /// At level watch, the shortest recorded length that says how long a call took ([`crate::WatchedLengths`]); `None` if none
    /// does.
    pub shortest_length: Option<u64>,
    /// The time of probes that was subtracted from own times and totals, if the recording has the prices of probes and calls with exact
    /// times.
    pub probe_time: Option<ProbeTime>,
    /// Who called whom.
    pub tree: CallTree,
    /// The threads, the busiest first.
    pub threads: Vec<ThreadRow>,
    /// What samples of running threads say, if the recording has some.
    pub samples: Option<SampleProfile>,
    /// What samples of allocations say, if the recording has some.
    pub allocations: Option<AllocationProfile>,
    /// The longest calls that were recorded with values, the longest first.
    pub slowest_calls: Vec<SlowCall>,
    /// Statements of databases, the one with the most time first.
    pub statements: Vec<DetailRow>,
    /// HTTP requests, the one with the most time first.
    pub http_requests: Vec<DetailRow>,
    /// Peers of sockets, the one with the most time first.
    pub sockets: Vec<DetailRow>,
    /// Methods that execute statements, handle requests or move bytes, the one with the most time first.
    pub input_output: Vec<InputOutputRow>,
    /// Diagnoses that ended while it was recorded, in this order.
    pub diagnoses: Vec<Diagnosis>,
    /// Walks from hot methods up to their callers that ended while it was recorded, in this order.
    pub walks: Vec<Walk>,
    /// What the reader should know about the quality of the figures.
    pub warnings: Vec<String>,
}

impl Analysis {
    /// Analyses a file.
    ///
    /// # Errors
    /// When the file cannot be read or is no recording. A damaged part is left out with a warning.
    pub fn of_file(path: &Path, options: AnalysisOptions) -> Result<Analysis, ReadError> {
        Ok(Analysis::of_reader(&mut TraceReader::open(path)?, options))
    }

    /// Analyses a recording that has been opened. A damaged part is left out with a warning.
    pub fn of_reader(reader: &mut TraceReader, options: AnalysisOptions) -> Analysis {
        Analysis::with_slices(reader, options, &mut Unseen)
    }

    /// Analyses a recording, and shows each call to `visitor` on the way. A damaged part is left out with a warning.
    pub fn with_slices(
        reader: &mut TraceReader,
        options: AnalysisOptions,
        visitor: &mut impl SliceVisitor,
    ) -> Analysis {
        let mut builder = Builder::new(reader);
        if options.after_start_up {
            builder.find_start_up(reader);
        }
        if options.in_blocks {
            builder.keep_blocks(reader);
        }
        let mut left = reader.file_bytes();
        decode_backward(reader, builder.begin(), |index, chunk| {
            builder.add_chunk(chunk, index, visitor);
            left = left.saturating_sub(reader.chunk_bytes(index));
            reader.tell_progress(reader.file_bytes() - left);
            visitor.goes_on()
        });
        builder.finish(reader)
    }

    /// Whether some calls were counted at level watch: there were at least as many, and their times are estimates.
    #[must_use]
    pub fn is_estimated(&self) -> bool {
        self.frames.iter().any(Frame::is_estimated)
    }

    /// Returns the time of all outermost calls of all threads as it was recorded, with the time of probes.
    #[must_use]
    pub fn recorded_total(&self) -> u64 {
        self.tree.total().saturating_add(self.probe_time.as_ref().map_or(0, |time| time.nanos))
    }

    /// The figures of a method.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id.index())
    }

    /// Ids of the methods, the one with the most own time first.
    #[must_use]
    pub fn frames_by_own_time(&self) -> Vec<FrameId> {
        self.frames_by(Measure::Own)
    }

    /// Ids of the methods, the one with the most of what is asked for first.
    #[must_use]
    pub fn frames_by(&self, measure: Measure) -> Vec<FrameId> {
        let mut ids: Vec<FrameId> = (0..self.frames.len() as u32).map(FrameId).collect();
        ids.retain(|id| self.frame(*id).is_some_and(|frame| frame.calls > 0));
        ids.sort_by_key(|id| {
            let frame = self.frame(*id);
            let value = |frame: &Frame| match measure {
                Measure::Own => (frame.own, frame.total, frame.calls),
                Measure::Total => (frame.total, frame.own, frame.calls),
                Measure::Average => (frame.times.average().unwrap_or(0), frame.own, frame.calls),
                Measure::Calls => (frame.calls, frame.own, frame.total),
            };
            (std::cmp::Reverse(frame.map(value)), *id)
        });
        ids
    }
}
