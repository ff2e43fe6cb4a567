//! What samples of running threads say: ticks by method, by line, by thread and by call path. Every tick is counted once in
//! each of these views, so that each adds up to all ticks.

use rustc_hash::FxHashMap;

use super::frames::Frames;
use super::tree::{CallTree, NodeId};
use super::{Frame, FrameId, overloads};
use crate::reader::{Chunk, Method, StackTrace, Thread};

/// Stands above stacks whose outer frames are missing.
const TRUNCATED: &str = "[outer frames missing]";
/// Stands for stacks that a damaged file does not have.
const UNKNOWN: &str = "[unknown stack]";

/// The samples of a recording, added up. All figures are ticks; of samples of allocations they are bytes, and calls are samples.
#[derive(Debug, Clone, Default)]
pub struct SampleProfile {
    /// All ticks, those without a stack included.
    pub ticks: u64,
    /// Ticks whose stack had more frames than were recorded.
    pub truncated: u64,
    /// Ticks at which the stack could not be read, by reason, the most frequent first.
    pub failed: Vec<(String, u64)>,
    /// The methods; a [`FrameId`] is a position in this list. `own` are ticks in the method itself, `total` also those in
    /// what it called. Ticks without a stack have a frame of their own, named after the place if it is known, else after the reason.
    pub frames: Vec<Frame>,
    /// Ticks by call path.
    pub tree: CallTree,
    /// Ticks by line of the innermost method (0 = unknown line), the most first.
    pub lines: Vec<LineRow>,
    /// Ticks by thread, the busiest first. All virtual threads together are one row.
    pub threads: Vec<SampledThread>,
    /// What took the samples, if the recording says so.
    pub engine: String,
    /// In which respect the samples are not what one might think.
    pub bias: String,
    /// Processor time between two samples of a thread, in nanoseconds, if the recording says so.
    pub interval_nanos: Option<u64>,
}

/// Ticks in one line of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRow {
    /// The method.
    pub frame: FrameId,
    /// Line of the source, 0 if unknown.
    pub line: u32,
    /// Ticks.
    pub ticks: u64,
}

/// Ticks of a thread.
#[derive(Debug, Clone, Default)]
pub struct SampledThread {
    /// Name.
    pub name: String,
    /// Java id, 0 if unknown and for the virtual threads.
    pub id: u64,
    /// Whether this is the row of all virtual threads.
    pub is_virtual: bool,
    /// Ticks.
    pub ticks: u64,
    /// Ticks by the node at which the stack ends, in the order of the nodes.
    pub own: Vec<(NodeId, u64)>,
}

impl SampleProfile {
    /// The figures of a method.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id.index())
    }

    /// Ids of the methods, the one with the most ticks of its own first.
    #[must_use]
    pub fn frames_by_own_ticks(&self) -> Vec<FrameId> {
        let mut ids: Vec<FrameId> = (0..self.frames.len() as u32).map(FrameId).collect();
        ids.sort_by_key(|id| (std::cmp::Reverse(self.frame(*id).map(|frame| (frame.own, frame.total))), *id));
        ids
    }

    /// Ticks at which the stack could not be read.
    #[must_use]
    pub fn failed_ticks(&self) -> u64 {
        self.failed.iter().map(|(_, ticks)| ticks).sum()
    }
}

/// Samples that are alike, and the ticks or bytes that they stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount {
    pub(super) samples: u64,
    pub(super) stands_for: u64,
}

/// The ticks of one chunk that are alike.
#[derive(Debug, Default)]
pub(super) struct ChunkSamples {
    /// By keys of thread and stack.
    stacks: FxHashMap<(u64, u64), u64>,
    /// By key of the thread, reason and place.
    failed: FxHashMap<(u64, String, String), u64>,
}

impl ChunkSamples {
    pub(super) fn add(&mut self, thread: u64, stack: u64) {
        *self.stacks.entry((thread, stack)).or_default() += 1;
    }

    pub(super) fn add_failed(&mut self, thread: u64, reason: &str, place: &str) {
        *self.failed.entry((thread, reason.to_owned(), place.to_owned())).or_default() += 1;
    }
}

/// Adds up the samples of all chunks.
#[derive(Debug, Default)]
pub(super) struct SampleTotals {
    profile: SampleProfile,
    frames: Frames,
    failed: FxHashMap<String, u64>,
    lines: FxHashMap<(FrameId, u32), u64>,
    threads: FxHashMap<(bool, u64), ThreadTicks>,
}

#[derive(Debug, Default)]
struct ThreadTicks {
    name: String,
    own: FxHashMap<NodeId, u64>,
}

impl SampleTotals {
    /// A setting that the recording notes.
    pub(super) fn setting(&mut self, key: &str, value: &str) {
        match key {
            "sampler.engine" => value.clone_into(&mut self.profile.engine),
            "sampler.bias" => value.clone_into(&mut self.profile.bias),
            "sampler.interval-ns" => self.profile.interval_nanos = value.parse().ok(),
            _ => {}
        }
    }

    pub(super) fn chunk_done(&mut self, chunk: &Chunk, samples: ChunkSamples) {
        // In the order of the keys, so that the same file gives the same report.
        let mut stacks: Vec<_> = samples.stacks.into_iter().collect();
        stacks.sort_unstable();
        for ((thread, stack), ticks) in stacks {
            self.add(chunk, (thread, stack), Amount { samples: ticks, stands_for: ticks });
        }
        let mut failed: Vec<_> = samples.failed.into_iter().collect();
        failed.sort_unstable();
        for ((thread, reason, place), ticks) in failed {
            let frame = if place.is_empty() { format!("[no stack: {reason}]") } else { format!("[no stack] {place}") };
            let frame = self.pseudo_frame(&frame);
            let leaf = self.add_frame(NodeId::ROOT, frame, Amount { samples: ticks, stands_for: ticks });
            *self.lines.entry((frame, 0)).or_default() += ticks;
            *self.failed.entry(reason).or_default() += ticks;
            self.add_to_thread(chunk.thread(thread), leaf, ticks);
        }
    }

    /// Adds samples with the same thread and stack, given by their keys.
    pub(super) fn add(&mut self, chunk: &Chunk, (thread, stack): (u64, u64), amount: Amount) {
        let leaf = self.add_stack(chunk, chunk.stack(stack), amount);
        self.add_to_thread(chunk.thread(thread), leaf, amount.stands_for);
    }

    fn add_stack(&mut self, chunk: &Chunk, stack: Option<&StackTrace>, amount: Amount) -> NodeId {
        let mut node = NodeId::ROOT;
        if stack.is_some_and(|stack| stack.truncated) {
            self.profile.truncated = self.profile.truncated.saturating_add(amount.stands_for);
            let frame = self.pseudo_frame(TRUNCATED);
            node = self.add_frame(node, frame, amount);
        }
        let frames = stack.map(|stack| &*stack.frames).unwrap_or_default();
        let mut innermost = None;
        for frame in frames.iter().rev() {
            let id = self.frames.id((chunk.method(frame.method), ""));
            node = self.add_frame(node, id, amount);
            innermost = Some((id, frame.line));
        }
        let innermost = innermost.unwrap_or_else(|| {
            let frame = self.pseudo_frame(UNKNOWN);
            node = self.add_frame(node, frame, amount);
            (frame, 0)
        });
        let line = self.lines.entry(innermost).or_default();
        *line = amount.stands_for.saturating_add(*line);
        node
    }

    fn pseudo_frame(&mut self, name: &str) -> FrameId {
        self.frames.id((Some(Method { name, ..Method::of_class("") }), ""))
    }

    fn add_frame(&mut self, parent: NodeId, frame: FrameId, amount: Amount) -> NodeId {
        let (node, is_outermost) = self.profile.tree.add_samples(parent, frame, amount.samples, amount.stands_for);
        if let (true, Some(frame)) = (is_outermost, self.frames.get_mut(frame)) {
            frame.total = frame.total.saturating_add(amount.stands_for);
            frame.calls += amount.samples;
        }
        node
    }

    fn add_to_thread(&mut self, thread: Option<&Thread>, leaf: NodeId, ticks: u64) {
        self.profile.ticks = self.profile.ticks.saturating_add(ticks);
        let is_virtual = thread.is_some_and(|thread| thread.is_virtual);
        let id = thread.filter(|_| !is_virtual).map_or(0, |thread| thread.id);
        let known = self.threads.entry((is_virtual, id)).or_default();
        // The file is read backward, so the first name that is read is the last one.
        if known.name.is_empty() {
            known.name = match thread {
                Some(_) if is_virtual => "virtual threads".to_owned(),
                Some(thread) => thread.name.clone(),
                None => "(no thread)".to_owned(),
            };
        }
        let own = known.own.entry(leaf).or_default();
        *own = own.saturating_add(ticks);
    }

    /// All samples, or `None` if there are none.
    pub(super) fn finish(self) -> Option<SampleProfile> {
        let mut profile = self.profile;
        if profile.ticks == 0 {
            return None;
        }
        profile.tree.complete();
        profile.frames = self.frames.frames;
        overloads::mark(&mut profile.frames);
        for node in profile.tree.nodes() {
            if let Some(frame) = node.frame.and_then(|id| profile.frames.get_mut(id.index())) {
                frame.own = frame.own.saturating_add(node.own);
            }
        }
        profile.failed = self.failed.into_iter().collect();
        profile.failed.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let line = |((frame, line), ticks)| LineRow { frame, line, ticks };
        profile.lines = self.lines.into_iter().map(line).collect();
        profile.lines.sort_by_key(|row| (std::cmp::Reverse(row.ticks), row.frame, row.line));
        profile.threads = self.threads.into_iter().map(|((is_virtual, id), ticks)| ticks.row(is_virtual, id)).collect();
        profile.threads.sort_by_key(|row| (std::cmp::Reverse(row.ticks), row.id));
        Some(profile)
    }
}

impl ThreadTicks {
    fn row(self, is_virtual: bool, id: u64) -> SampledThread {
        let mut own: Vec<_> = self.own.into_iter().collect();
        own.sort_unstable();
        let ticks = own.iter().fold(0, |sum: u64, (_, ticks)| sum.saturating_add(*ticks));
        SampledThread { name: self.name, id, is_virtual, ticks, own }
    }
}
