//! Walks in a recording (`instr.WalkEnd` and the events before it): they are put together again, as far as they are there.

use std::collections::BTreeMap;

use crate::reader::WalkPart;
use crate::{HookCount, HotSpot, Walk, WalkCaller, WalkLevel, WithoutCaller};

/// Walks that are kept, and parts of all of them together. The last ones are: a recording is read from its end.
const MOST: usize = 200;
const MOST_PARTS: usize = 100_000;

/// The walks of a recording.
#[derive(Debug, Default)]
pub(super) struct Walks {
    /// By time and number.
    found: BTreeMap<(u64, u64), Parts>,
    /// The numbers of probes, by walk and time.
    gauges: BTreeMap<(u64, u64), u64>,
    parts: usize,
    is_any_left_out: bool,
}

/// What has been read of a walk.
#[derive(Debug, Default)]
struct Parts {
    /// How it ended, and how many hot methods and rows it has.
    end: Option<(Walk, u64, u64)>,
    hot: BTreeMap<u64, HotSpot>,
    rows: BTreeMap<u64, Row>,
}

/// A method whose callers were looked for.
#[derive(Debug, Default)]
struct Row {
    /// The level, and how many edges it has.
    level: Option<(WalkLevel, u64)>,
    callers: BTreeMap<u64, WalkCaller>,
    without_caller: BTreeMap<u64, WithoutCaller>,
}

impl Walks {
    /// Adds an event of a walk.
    pub(super) fn see(&mut self, (at, walk): (u64, u64), part: WalkPart) {
        if self.parts >= MOST_PARTS && !matches!(part, WalkPart::End { .. }) {
            self.is_any_left_out = true;
            return;
        }
        if let WalkPart::Probes(now) = part {
            self.parts += 1;
            self.gauges.insert((walk, at), now);
            return;
        }
        if self.found.len() >= MOST && !self.found.contains_key(&(at, walk)) {
            self.is_any_left_out = true;
            return;
        }
        self.parts += 1;
        let found = self.found.entry((at, walk)).or_default();
        match part {
            WalkPart::HotSpot(number, spot) => _ = found.hot.insert(number, spot),
            WalkPart::Level { row, level, edges } => found.rows.entry(row).or_default().level = Some((level, edges)),
            WalkPart::Caller(row, number, caller) => {
                found.rows.entry(row).or_default().callers.insert(number, caller);
            }
            WalkPart::WithoutCaller(row, number, without) => {
                found.rows.entry(row).or_default().without_caller.insert(number, without);
            }
            WalkPart::End { walk, hot_spots, levels } => found.end = Some((walk, hot_spots, levels)),
            WalkPart::Probes(_) => {}
        }
    }

    /// Returns the walks in the order in which they ended, and a warning if not all could be kept. `start` is that of the recording.
    pub(super) fn finish(mut self, start: u64) -> (Vec<Walk>, Option<String>) {
        let mut walks = Vec::new();
        for ((at, number), parts) in std::mem::take(&mut self.found) {
            // Up to its end: a later process may have had a walk of the same number in the same file.
            let later = self.gauges.split_off(&(number, at.saturating_add(1)));
            let own = self.gauges.split_off(&(number, 0));
            self.gauges.extend(later);
            let gauge = own.into_iter().map(|((_, at), now)| HookCount { after_nanos: at.saturating_sub(start), now });
            let gauge = gauge.collect();
            walks.push(Walk { ended_after_nanos: Some(at.saturating_sub(start)), gauge, ..parts.complete(number) });
        }
        let warning = format!("only the last {} walks are shown, with {} parts", walks.len(), self.parts);
        (walks, self.is_any_left_out.then_some(warning))
    }
}

impl Parts {
    fn complete(self, number: u64) -> Walk {
        let (mut walk, hot_spots, levels) = self.end.unwrap_or_else(|| {
            let notice = "its end is missing in this recording, only a part of its levels is there".to_owned();
            (Walk { number, notices: vec![notice], ..Walk::default() }, 0, 0)
        });
        let mut missing = hot_spots.saturating_sub(self.hot.len() as u64);
        missing = missing.saturating_add(levels.saturating_sub(self.rows.len() as u64));
        walk.hot = self.hot.into_values().collect();
        for Row { level, callers, without_caller } in self.rows.into_values() {
            let read = (callers.len() + without_caller.len()) as u64;
            // Its callers say nothing without the method that they call.
            let Some((level, edges)) = level else {
                missing = missing.saturating_add(read.max(1));
                continue;
            };
            missing = missing.saturating_add(edges.saturating_sub(read));
            let (callers, without_caller) = (callers.into_values().collect(), without_caller.into_values().collect());
            walk.levels.push(WalkLevel { callers, without_caller, ..level });
        }
        if missing > 0 {
            walk.notices.push(format!("{missing} of its methods and callers are missing in this recording"));
        }
        walk
    }
}

#[cfg(test)]
mod tests;
