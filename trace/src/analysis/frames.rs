//! The methods of a trace with the figures of all their calls.

use rustc_hash::FxHashMap;

use super::blocks::{Block, Blocks};
use super::lengths::{Lengths, Recorded};
use super::tree::Subtracted;
use super::{Histogram, RecordedPart};
use crate::reader::Method;
use crate::{IN_BURSTS, WatchedLengths};

/// Stands in the call tree for the paths that have no nodes of their own.
pub(super) const LEFT_OUT: &str = "(paths left out)";

/// A method of an [`Analysis`](super::Analysis), with the template that measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub(crate) u32);

impl FrameId {
    /// Position in [`Analysis::frames`](super::Analysis::frames).
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The figures of a method. All times in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Name of the class with dots.
    pub class: String,
    /// Name of the class's module; empty if the recording does not say it.
    pub module: String,
    /// Name of the method.
    pub method: String,
    /// Descriptor of the method.
    pub descriptor: String,
    /// Template that measured it.
    pub template: String,
    /// Calls; at level watch only those that a tick has seen.
    pub calls: u64,
    /// Of these: calls whose times are estimates (level watch).
    pub estimated_calls: u64,
    /// Time in the method and all that it called. A call inside another call of the same method counts once.
    pub total: u64,
    /// Time in the method itself, without measured methods that it called.
    pub own: u64,
    /// In 19 cases of 20 the true `total` is not farther off than this; 0 where times are exact.
    pub total_margin: u64,
    /// The same of `own`.
    pub own_margin: u64,
    /// Sum of the times of all calls, recursive ones included; divided by `calls` it is the average call where times are exact.
    pub sum: u64,
    /// Distribution of the recorded times of calls. At level watch these are not the times that single calls took.
    pub durations: Histogram,
    /// What was subtracted from the recorded `own` and `total` because it was the time of probes.
    pub(super) probes: Subtracted,
    /// The calls by blocks of time, if that was asked for.
    pub(super) blocks: Option<Box<Blocks>>,
    /// The part of the time to which the number of calls applies, if the level was changed meanwhile.
    pub part: Option<RecordedPart>,
    pub(super) lengths: Lengths,
}

impl Frame {
    /// Mean time of a call; `None` if the recording does not carry it (level watch, see [`crate::WatchedLengths`]).
    #[must_use]
    pub fn average(&self) -> Option<u64> {
        self.lengths.average(self.recorded())
    }

    /// Number and sum of the calls that make up the average.
    pub(super) fn averaged(&self) -> Option<(u64, u64)> {
        self.lengths.count_and_sum(self.recorded())
    }

    /// The time that `percent` percent of the calls do not exceed; `None` as for [`average`](Self::average).
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.lengths.percentile(self.recorded(), percent)
    }

    /// Longest call; `None` if the recording does not carry it. At level watch it may be known where the average is not.
    #[must_use]
    pub fn longest(&self) -> Option<u64> {
        self.lengths.maximum(self.recorded())
    }

    fn recorded(&self) -> Recorded<'_> {
        Recorded { durations: &self.durations, sum: self.sum, estimated_calls: self.estimated_calls }
    }

    /// Decides which figures of single calls are carried, after all calls have been added.
    pub(super) fn judge_lengths(&mut self, ticks: &WatchedLengths) {
        let recorded = Recorded { durations: &self.durations, sum: self.sum, estimated_calls: self.estimated_calls };
        self.lengths.judge(recorded, ticks);
    }

    /// Whether times are estimates: some calls were measured by ticks.
    #[must_use]
    pub fn is_estimated(&self) -> bool {
        self.estimated_calls > 0
    }

    /// Whether only calls that began in a window of level burst were recorded.
    #[must_use]
    pub fn is_in_bursts(&self) -> bool {
        self.template.ends_with(IN_BURSTS)
    }

    /// Class and method: `com.acme.Handler.handle`.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.class.is_empty() { self.method.clone() } else { format!("{}.{}", self.class, self.method) }
    }

    /// The full name, followed by whether figures are of bursts only: those are another thing than figures of all calls.
    #[must_use]
    pub fn reported_name(&self) -> String {
        format!("{}{}", self.full_name(), if self.is_in_bursts() { IN_BURSTS } else { "" })
    }

    /// The full name, and after it the part of the time to which the number of calls applies.
    #[must_use]
    pub fn marked_name(&self) -> String {
        let part = self.part.as_ref().map_or(String::new(), |part| format!(" [{}]", part.text));
        format!("{}{part}", self.reported_name())
    }

    pub(super) fn add(&mut self, duration: u64, exact: bool, is_outermost: bool) {
        self.calls += 1;
        self.estimated_calls += u64::from(!exact);
        self.sum = self.sum.saturating_add(duration);
        if is_outermost {
            self.total = self.total.saturating_add(duration);
        }
        self.durations.record(duration);
    }

    /// The calls of a block of time.
    pub(super) fn block_mut(&mut self, block: usize) -> Option<&mut Block> {
        self.blocks.get_or_insert_default().get_mut(block)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    class: String,
    method: String,
    descriptor: String,
    template: String,
}

/// Gives equal methods of all chunks the same id.
#[derive(Debug, Default)]
pub(super) struct Frames {
    ids: FxHashMap<Identity, FrameId>,
    pub(super) frames: Vec<Frame>,
}

impl Frames {
    /// The id of a method; a call whose method the chunk does not name counts for a method named `?`.
    pub(super) fn id(&mut self, (method, template): (Option<Method<'_>>, &str)) -> FrameId {
        let Method { class, module, name, descriptor } =
            method.unwrap_or(Method { name: "?", ..Method::of_class("?") });
        let identity = Identity {
            class: class.replace('/', "."),
            method: name.to_owned(),
            descriptor: descriptor.to_owned(),
            template: template.to_owned(),
        };
        let next = FrameId(self.frames.len() as u32);
        *self.ids.entry(identity).or_insert_with_key(|identity| {
            self.frames.push(Frame {
                class: identity.class.clone(),
                module: module.to_owned(),
                method: identity.method.clone(),
                descriptor: identity.descriptor.clone(),
                template: identity.template.clone(),
                ..Frame::default()
            });
            next
        })
    }

    /// The id of [`LEFT_OUT`].
    pub(super) fn left_out(&mut self) -> FrameId {
        self.id((Some(Method { name: LEFT_OUT, ..Method::of_class("") }), ""))
    }

    pub(super) fn get_mut(&mut self, id: FrameId) -> Option<&mut Frame> {
        self.frames.get_mut(id.index())
    }
}
