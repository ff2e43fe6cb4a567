//! The time line as data of the page.

use std::collections::BTreeMap;

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
    /// By position of the call: the values that were recorded with it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    arguments: BTreeMap<usize, String>,
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
        let arguments = calls.iter().enumerate();
        TimeLineData {
            column,
            lanes: lanes.collect(),
            lane: positions(|call| call.lane),
            frame: positions(|call| call.frame.index()),
            depth: positions(|call| call.depth),
            start: all(|call| call.start),
            length: all(|call| call.length),
            arguments: arguments
                .filter_map(|(position, call)| Some((position, call.arguments.as_deref()?.to_owned())))
                .collect(),
        }
    }
}
