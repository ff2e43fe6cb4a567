//! Each single call with its place among the others, for what needs more than sums.

use super::{CallDetail, Frame, FrameId, NodeId};
use crate::reader::Thread;

/// A call. Slices of a thread nest: each lies inside that of its caller and overlaps no other. Times that do not (level
/// watch rounds them to ticks) are moved; those of exact calls only if there is no other way.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    /// Id of the thread, see [`SliceVisitor::thread`].
    pub thread: u64,
    /// The method: its position in [`Analysis::frames`](super::Analysis::frames).
    pub frame_id: FrameId,
    /// The method; only its names are complete yet.
    pub frame: &'a Frame,
    /// The node of the call tree that counts this call.
    pub node: NodeId,
    /// The node of the caller; [`NodeId::ROOT`] if it is not measured.
    pub parent: NodeId,
    /// Number of calls around this one.
    pub depth: usize,
    /// Start, in nanoseconds since 1970.
    pub start: u64,
    /// End, in nanoseconds since 1970.
    pub end: u64,
    /// As measured, in nanoseconds; `end - start` unless the slice had to be made to fit.
    pub duration: u64,
    /// False when the times are estimates.
    pub exact: bool,
    /// The values that were recorded with it, see [`crate::arguments`].
    pub arguments: Option<&'a str>,
    /// The request, statement or transfer of this call, if [`SliceVisitor::SEES_DETAILS`].
    pub detail: Option<&'a CallDetail>,
}

#[cfg(test)]
impl<'a> Slice<'a> {
    /// Returns an outermost, exact call of 0 ns.
    pub(crate) fn example(frame: &'a Frame) -> Slice<'a> {
        Slice {
            thread: 1,
            frame_id: FrameId(0),
            frame,
            node: NodeId::ROOT,
            parent: NodeId::ROOT,
            depth: 0,
            start: 0,
            end: 0,
            duration: 0,
            exact: true,
            arguments: None,
            detail: None,
        }
    }
}

/// Sees the calls of a recording **from its end to its start**: of each thread a caller before what it called, and of two
/// calls the later one first.
pub trait SliceVisitor {
    /// Whether start and end of slices are looked at; estimates are then made better where that is possible.
    const SEES_TIMES: bool = true;

    /// Whether requests, statements and transfers of slices are looked at.
    const SEES_DETAILS: bool = false;

    /// A thread, before its calls; perhaps again and again, and the first name is the last it had.
    fn thread(&mut self, thread: &Thread);

    /// A call.
    fn slice(&mut self, slice: &Slice<'_>);

    /// False when no more calls are wanted. Some may follow nevertheless.
    fn goes_on(&self) -> bool {
        true
    }
}

/// Nobody wants to see the calls.
#[derive(Debug)]
pub(super) struct Unseen;

impl SliceVisitor for Unseen {
    const SEES_TIMES: bool = false;

    #[inline]
    fn thread(&mut self, _thread: &Thread) {}

    #[inline]
    fn slice(&mut self, _slice: &Slice<'_>) {}
}
