//! Levels that are raised because calls were slow (`detail` in `[[slow-calls]]`): the monitor's claims. They are changed where all levels are, in `probes/live_control`.

use std::time::Instant;

use metrics::Durations;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{LEARNING, Limits, State};
use crate::desired::Kept;
use crate::desired::generation::Generation;
use crate::monitor::{DetailChange, DetailRule, Details, SeenCalls, SlowFrom};
use crate::session::Session;

/// Probes that have slow calls, and what the configuration says of each.
#[derive(Debug, Default)]
pub(super) struct RaisedLevels {
    details: Details,
    /// Of the generation of this number: from which length on calls of a probe are slow, and when its level is raised.
    generation: u32,
    rules: FxHashMap<u32, Option<(SlowFrom, DetailRule)>>,
}

impl Session {
    /// Raises and lowers levels as the calls since the last look say; by their numbers.
    pub(super) fn look_at_details(
        &self,
        state: &mut State,
        lately: &FxHashMap<usize, Durations>,
        generation: &Generation,
        now: Instant,
    ) {
        let limits = Limits::of(&generation.setup.config.slow_calls, None, None);
        if !limits.has_details() && !state.raised.details.is_any_raised() {
            return;
        }
        if state.raised.generation != generation.number {
            state.raised.generation = generation.number;
            state.raised.rules.clear();
        }
        let seen = self.seen_calls(state, lately, (&limits, generation), now);
        let (live, probes) = (&self.instrumentation.live, self.instrumentation.probes);
        let has_rule =
            |probe: u32| probes.describe(probe).is_some_and(|of| limits.detail_of(&of, generation).is_some());
        let due = state.raised.details.look(&seen, now, |probe| live.is_raised(probe), has_rule);
        if due.is_empty() {
            return;
        }
        // Before levels are locked.
        let claims = self.instrumentation.claims.all().into_iter();
        let configured: FxHashSet<u32> =
            claims.filter(|claim| claim.kept == Kept::InConfiguration).map(|claim| claim.id).collect();
        let mut changes = Vec::new();
        for change in due {
            match change {
                DetailChange::Raise { probe, level, reason } => {
                    match live.raise(probe, (level, &reason), &|claim| configured.contains(&claim)) {
                        Ok(change) => changes.extend(change),
                        Err(why) => {
                            tracing::debug!("the level of probe {probe} is not raised, although {reason}: {why}");
                            state.raised.details.forget(probe);
                        }
                    }
                }
                DetailChange::Lower { probe, reason } => changes.extend(live.lower(probe, &reason)),
            }
        }
        self.record_changes(&changes);
    }

    /// Hands all raised probes back: calls are watched no more.
    pub(super) fn end_details(&self, state: &mut State) {
        let probes = state.raised.details.end();
        let reason = "slow calls are watched no more";
        let changes: Vec<_> =
            probes.into_iter().filter_map(|probe| self.instrumentation.live.lower(probe, reason)).collect();
        self.record_changes(&changes);
    }

    /// Adds up the calls of each probe, whatever the level at which they were recorded.
    fn seen_calls(
        &self,
        state: &mut State,
        lately: &FxHashMap<usize, Durations>,
        (limits, generation): (&Limits, &Generation),
        now: Instant,
    ) -> Vec<SeenCalls> {
        let probes = self.instrumentation.probes;
        let State { lengths, raised, .. } = state;
        let lengths = lengths.as_ref();
        let is_usual_known = lengths.is_some_and(|lengths| lengths.watched_for(now) >= LEARNING);
        let mut seen: FxHashMap<u32, SeenCalls> = FxHashMap::default();
        for (number, durations) in lately {
            let Some((probe, _)) = u32::try_from(*number).ok().and_then(|number| probes.own_number(number)) else {
                continue;
            };
            let find_rule = || limits.detail_of(&probes.describe(probe)?, generation);
            let Some((from, rule)) = *raised.rules.entry(probe).or_insert_with(find_rule) else { continue };
            // Learnt from the calls at level time: they have the probe's own number.
            let learnt = || lengths.filter(|_| is_usual_known)?.learnt_limit(probe);
            let slower_than = raised.details.slower_than(probe).or_else(|| match from {
                SlowFrom::Stated(nanos) => Some(nanos),
                SlowFrom::Learnt => learnt(),
            });
            let Some(slower_than) = slower_than else { continue };
            let slow_ones = durations.by_length().filter(|(length, _)| *length >= slower_than);
            let slow: u64 = slow_ones.map(|(_, count)| count).sum();
            let none = SeenCalls { probe, calls: 0, slow: 0, slower_than, rule };
            let of_probe = seen.entry(probe).or_insert(none);
            of_probe.calls += durations.count();
            of_probe.slow += slow;
        }
        seen.into_values().collect()
    }
}
