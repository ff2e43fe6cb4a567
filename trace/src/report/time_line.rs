//! The time line as data of the page.

use serde::Serialize;

use crate::analysis::{LongCall, TimeLine};

/// Lanes on the page.
const MOST_LANES: usize = 60;

/// Columns instead of rows, as for the call tree. Times in nanoseconds.
#[derive(Serialize)]
pub(super) struct TimeLineData<'a> {
    column: u64,
    lanes: Vec<LaneData<'a>>,
    lane: Vec<usize>,
    frame: Vec<usize>,
    depth: Vec<usize>,
    start: Vec<u64>,
    length: Vec<u64>,
}

#[derive(Serialize)]
struct LaneData<'a> {
    name: &'a str,
    total: u64,
    /// Percent of each column; more than 100 for virtual threads that ran at the same time.
    busy: Vec<u64>,
}

impl<'a> TimeLineData<'a> {
    pub(super) fn of(time_line: &'a TimeLine) -> TimeLineData<'a> {
        let column = time_line.column_nanos();
        let (lanes, calls) = time_line.lanes(MOST_LANES);
        let percent = |busy: &u64| (busy.saturating_mul(100) / column).max(u64::from(*busy > 0));
        let lanes = lanes.into_iter().map(|lane| LaneData {
            name: &lane.name,
            total: lane.total,
            busy: lane.busy.iter().map(percent).collect(),
        });
        let all = |figure: fn(&LongCall) -> u64| calls.iter().map(figure).collect();
        let positions = |figure: fn(&LongCall) -> usize| calls.iter().map(figure).collect();
        TimeLineData {
            column,
            lanes: lanes.collect(),
            lane: positions(|call| call.lane),
            frame: positions(|call| call.frame.index()),
            depth: positions(|call| call.depth),
            start: all(|call| call.start),
            length: all(|call| call.length),
        }
    }
}
