//! What each thread did when: how busy it was in each part of the recording, and the longest calls of all.
//!
//! Memory is bounded whatever the recording: columns for each thread, and a fixed number of calls. A call is never longer
//! than that around it, so the longest calls come with all their callers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::{FrameId, Slice, SliceVisitor};
use crate::TraceReader;
use crate::reader::Thread;

/// Columns of a lane.
const COLUMNS: usize = 480;
/// Calls that are kept.
const MOST_CALLS: usize = 4_000;
/// Calls with more around them are not kept.
const DEEPEST: usize = 32;

/// A thread, or all virtual threads together.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// Name; the last one if it was renamed.
    pub name: String,
    /// Nanoseconds inside of outermost calls, for each column.
    pub busy: Vec<u64>,
    /// Sum of `busy`.
    pub total: u64,
}

/// One of the longest calls. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongCall {
    /// Position of its lane in [`TimeLine::lanes`].
    pub lane: usize,
    /// The method.
    pub frame: FrameId,
    /// Number of calls around it.
    pub depth: usize,
    /// Start, since the start of the recording.
    pub start: u64,
    /// Length.
    pub length: u64,
    /// The values that were recorded with it, see [`crate::arguments`].
    pub arguments: Option<Box<str>>,
}

/// Ordered by length; of calls of the same length the outer one is the longer.
type Kept = (u64, Reverse<usize>, Reverse<u64>, u64, FrameId, Option<Box<str>>);

/// Collects the time line as a [`SliceVisitor`].
#[derive(Debug)]
pub struct TimeLine {
    origin: u64,
    column: u64,
    lanes: FxHashMap<u64, Lane>,
    virtual_threads: Lane,
    longest: BinaryHeap<Reverse<Kept>>,
}

impl TimeLine {
    /// The time line of a recording, still empty.
    #[must_use]
    pub fn of(reader: &TraceReader) -> TimeLine {
        TimeLine {
            origin: reader.start_epoch_nanos(),
            column: reader.duration_nanos().div_ceil(COLUMNS as u64).max(1),
            lanes: FxHashMap::default(),
            virtual_threads: Lane { name: "virtual threads".to_owned(), ..Lane::default() },
            longest: BinaryHeap::new(),
        }
    }

    /// Nanoseconds that a column covers.
    #[must_use]
    pub fn column_nanos(&self) -> u64 {
        self.column
    }

    /// The lanes, the busiest first, `most` at most; and the longest calls in them, by start.
    #[must_use]
    pub fn lanes(&self, most: usize) -> (Vec<&Lane>, Vec<LongCall>) {
        let mut lanes: Vec<(Option<u64>, &Lane)> = self.lanes.iter().map(|(id, lane)| (Some(*id), lane)).collect();
        lanes.push((None, &self.virtual_threads));
        lanes.retain(|(_, lane)| lane.total > 0);
        lanes.sort_by_key(|(id, lane)| (Reverse(lane.total), *id));
        lanes.truncate(most);
        let positions: FxHashMap<Option<u64>, usize> =
            lanes.iter().enumerate().map(|(position, (id, _))| (*id, position)).collect();
        let call = |Reverse((length, Reverse(depth), Reverse(start), thread, frame, arguments)): &Reverse<Kept>| {
            let id = self.lanes.contains_key(thread).then_some(*thread);
            let lane = *positions.get(&id)?;
            let arguments = arguments.clone();
            Some(LongCall { lane, frame: *frame, depth: *depth, start: *start, length: *length, arguments })
        };
        let mut calls: Vec<LongCall> = self.longest.iter().filter_map(call).collect();
        calls.sort_by_key(|call| (call.lane, call.start, call.depth, call.frame));
        (lanes.into_iter().map(|(_, lane)| lane).collect(), calls)
    }

    fn is_short(&self, length: u64, depth: usize) -> bool {
        let shortest = self.longest.peek().filter(|_| self.longest.len() >= MOST_CALLS);
        depth >= DEEPEST || shortest.is_some_and(|Reverse((shortest, ..))| length <= *shortest)
    }
}

impl SliceVisitor for TimeLine {
    fn thread(&mut self, thread: &Thread) {
        if !thread.is_virtual {
            let lane = || Lane { name: crate::export::thread_name(thread).into_owned(), ..Lane::default() };
            self.lanes.entry(thread.id).or_insert_with(lane);
        }
    }

    fn slice(&mut self, slice: &Slice<'_>) {
        let (start, end) = (slice.start.saturating_sub(self.origin), slice.end.saturating_sub(self.origin));
        let is_platform = self.lanes.contains_key(&slice.thread);
        if slice.depth == 0 {
            let lane = self.lanes.get_mut(&slice.thread).unwrap_or(&mut self.virtual_threads);
            lane.add(start, end, self.column);
        }
        let length = end - start;
        // Virtual threads share a lane: what their calls called would lie on top of each other.
        if self.is_short(length, slice.depth) || (!is_platform && slice.depth > 0) {
            return;
        }
        if self.longest.len() >= MOST_CALLS {
            self.longest.pop();
        }
        let values = slice.arguments.map(Box::from);
        self.longest.push(Reverse((
            length,
            Reverse(slice.depth),
            Reverse(start),
            slice.thread,
            slice.frame_id,
            values,
        )));
    }
}

impl Lane {
    fn add(&mut self, start: u64, end: u64, column: u64) {
        self.busy.resize(COLUMNS, 0);
        self.total = self.total.saturating_add(end - start);
        let last = COLUMNS as u64 - 1;
        let (first, last) = ((start / column).min(last), (end / column).min(last));
        let columns = self.busy.iter_mut().zip(0..).skip(first as usize).take((last - first) as usize + 1);
        for (busy, index) in columns {
            let from = start.max(index * column);
            let to = if index == COLUMNS as u64 - 1 { end } else { end.min((index + 1) * column) };
            *busy += to.saturating_sub(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_spread_over_the_columns_that_it_lies_in() {
        let mut lane = Lane::default();
        lane.add(5, 5, 10);
        lane.add(8, 31, 10);
        lane.add(COLUMNS as u64 * 10 - 1, COLUMNS as u64 * 10 + 7, 10);
        assert_eq!(lane.busy[..5], [2, 10, 10, 1, 0]);
        assert_eq!(lane.busy[COLUMNS - 1], 8, "what is after the end belongs to the last column");
        assert_eq!(lane.total, lane.busy.iter().sum::<u64>());
    }
}
