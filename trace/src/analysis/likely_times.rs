//! What the calls of a chunk say about each other, where some are estimates: which calls of level watch are around which, and better times
//! for them.
//!
//! Level watch rounds start and end down to a tick. Drawn like that, a call would end before what it has called, and
//! begin before what was over by then; exact calls beside it would have to give way.

use super::nesting::{CallRecord, Order};
use crate::{EndedCall, NestingEvidence};

/// Calls of one tick that may be doubtful.
const MOST_DOUBTFUL: usize = 1_000;

/// What is known about a call from those before it in the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Likely {
    /// Start and end. Exact times stay. An estimated end is not before the end of any call before it in the file, an estimated start not
    /// before the end of the last call that began earlier: nothing but its callees lies between.
    pub(super) times: (u64, u64),
    /// Position of the first record within the call; `None` if an earlier chunk may have some.
    pub(super) first: Option<usize>,
    /// Time of calls that were made either within it or just before it, and nothing says which.
    pub(super) doubtful: u64,
}

impl Likely {
    /// Returns what the record says by itself.
    pub(super) fn as_recorded(record: &CallRecord) -> Likely {
        Likely { times: (record.start, record.end()), first: None, doubtful: 0 }
    }
}

/// Returns what is known about each call of a platform thread, in the order of the file, which is that of the true ends.
pub(super) fn likely_times(records: &[CallRecord], order: Order<'_>) -> Vec<Likely> {
    let evidence = order.evidence;
    let mut all: Vec<Likely> = Vec::with_capacity(records.len());
    walk(
        records,
        |inner, outer| evidence.is_inside(inner, outer),
        |over, call, likely| {
            let doubtful = if call.is_exact() { 0 } else { doubtful_time(over, call, evidence) };
            if let Some(last) = over.last().filter(|last| !order.is_known && may_have_ended_after(last, call))
                && let Some(watched) = all.get_mut(last.position)
            {
                watched.doubtful = watched.doubtful.saturating_add(call.end - call.start);
            }
            all.push(Likely { doubtful, ..likely });
        },
    );
    all
}

/// Notes which calls are certainly within or before which. The records of a virtual thread are not quite in the order of the ends.
pub(super) fn learn(records: &[CallRecord], is_virtual: bool, evidence: &mut NestingEvidence) {
    let is_inside = |inner: &EndedCall, outer: &EndedCall| {
        if !is_virtual || inner.end <= outer.end {
            evidence.learn(inner, outer);
        }
        evidence.is_inside(inner, outer)
    };
    walk(records, is_inside, |_, _, _| ());
}

/// A call that the next one may contain or follow.
struct Over {
    call: EndedCall,
    position: usize,
    likely_end: u64,
}

fn walk(
    records: &[CallRecord],
    mut is_inside: impl FnMut(&EndedCall, &EndedCall) -> bool,
    mut each: impl FnMut(&[Over], &EndedCall, Likely),
) {
    let mut latest_end = 0;
    let mut over: Vec<Over> = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let call = record.ended();
        latest_end = call.end.max(latest_end);
        let within = over.iter().rev().take_while(|earlier| is_inside(&earlier.call, &call)).count();
        let outside = over.len() - within;
        let before = outside.checked_sub(1).and_then(|last| over.get(last));
        let first = before.map(|before| before.position + 1);
        let start = record.start.max(before.map_or(0, |before| before.likely_end)).min(latest_end);
        let times = if record.exact { (record.start, record.end()) } else { (start, latest_end) };
        each(&over, &call, Likely { times, first, doubtful: 0 });
        over.truncate(outside);
        over.push(Over { call, position, likely_end: latest_end });
    }
}

/// Returns whether the last watched call may have ended only after this exact one, which started during the tick after its recorded end.
fn may_have_ended_after(watched: &Over, call: &EndedCall) -> bool {
    let tick = watched.call.entered_before - watched.call.start;
    call.is_exact() && !watched.call.is_exact() && call.start < watched.call.end.saturating_add(tick)
}

/// Returns the time of exact calls that were made either within a call or just before it.
fn doubtful_time(over: &[Over], call: &EndedCall, evidence: &NestingEvidence) -> u64 {
    let since = over.iter().rev().take_while(|earlier| earlier.call.start >= call.start).take(MOST_DOUBTFUL);
    let doubtful = since.filter(|earlier| evidence.is_doubtful(&earlier.call, call));
    doubtful.map(|earlier| earlier.call.end.saturating_sub(earlier.call.start)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::FrameId;

    fn records<const N: usize>(calls: [(u64, u64, bool); N]) -> [CallRecord; N] {
        calls.map(|(start, end, exact)| {
            let record = CallRecord::new(start, end - start, FrameId(u32::from(exact)), exact);
            CallRecord { entered_before: if exact { start } else { start + 1_000 }, ..record }
        })
    }

    #[test]
    fn an_estimated_call_covers_its_callees_and_begins_after_what_was_over() {
        let calls = records([(6_500, 7_800, true), (8_100, 8_700, true), (7_000, 8_000, false), (9_000, 9_500, true)]);
        let expected = [(6_500, 7_800), (8_100, 8_700), (7_800, 8_700), (9_000, 9_500)];
        let likely = likely_times(&calls, Order { evidence: &NestingEvidence::default(), is_known: true });
        assert_eq!(likely.iter().map(|likely| likely.times).collect::<Vec<_>>(), expected);
        assert_eq!(likely[2], Likely { times: (7_800, 8_700), first: Some(1), doubtful: 0 });
    }

    #[test]
    fn what_fits_into_the_first_tick_stays_outside_and_is_counted_as_doubtful() {
        let calls = records([(7_100, 7_200, true), (7_300, 7_600, true), (7_900, 8_100, true), (7_000, 9_000, false)]);
        let likely = likely_times(&calls, Order { evidence: &NestingEvidence::default(), is_known: true });
        assert_eq!(likely[3], Likely { times: (7_600, 9_000), first: Some(2), doubtful: 400 });
    }
}
