//! Better times for estimated calls, as far as the calls around them tell.
//!
//! Level watch rounds start and end down to a tick. Drawn like that, a call would end before what it has called, and
//! begin before what was over by then; exact calls beside it would have to give way.

use super::nesting::CallRecord;

/// Start and end of each call of a platform thread, in the order of the file, which is that of the true ends. Exact
/// times stay. An estimated end is not before the end of any call before it in the file, an estimated start not before
/// the end of the last call that began earlier: nothing but its callees lies between.
pub(super) fn likely_times(records: &[CallRecord]) -> Vec<(u64, u64)> {
    let mut times = Vec::with_capacity(records.len());
    let mut latest_end = 0;
    // The calls that the next one may contain or follow, with their likely ends.
    let mut over: Vec<(&CallRecord, u64)> = Vec::new();
    for record in records {
        latest_end = record.end().max(latest_end);
        while over.pop_if(|(earlier, _)| earlier.is_inside_from(record.start)).is_some() {}
        let last_over = over.last().map_or(0, |(_, end)| *end);
        over.push((record, latest_end));
        times.push(if record.exact {
            (record.start, record.end())
        } else {
            (record.start.max(last_over).min(latest_end), latest_end)
        });
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::FrameId;

    #[test]
    fn an_estimated_call_covers_its_callees_and_begins_behind_what_was_over() {
        let calls = [(6_500, 7_800, true), (8_100, 8_700, true), (7_000, 8_000, false), (9_000, 9_500, true)];
        let record = |(start, end, exact)| CallRecord::new(start, end - start, FrameId(0), exact);
        let expected = [(6_500, 7_800), (8_100, 8_700), (7_800, 8_700), (9_000, 9_500)];
        assert_eq!(likely_times(&calls.map(record)), expected);
    }
}
