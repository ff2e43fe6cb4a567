//! Levels of probes while a walk measures: of its own ones, and of those that others have.

use instrument_core::level::Level;

use super::{LiveControl, State};

/// What a walk can do with a probe that a method has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PresentProbe {
    /// It records all calls: there is nothing to do.
    RecordsAll,
    /// It has this level, and may be raised from it for moments.
    AtLevel(Level),
    /// It has this level, which cannot change.
    Fixed(Level),
}

impl PresentProbe {
    /// Returns its level, if it does not record all calls.
    pub(crate) fn level(self) -> Option<Level> {
        match self {
            PresentProbe::RecordsAll => None,
            PresentProbe::AtLevel(level) | PresentProbe::Fixed(level) => Some(level),
        }
    }
}

impl State {
    /// Whether calls of a probe are recorded because walks want them, and nobody else.
    pub(super) fn records_for_walks_alone(&self, probe: u32) -> bool {
        let claimed = self.claimed.get(&probe).filter(|_| !self.set_by_person.contains_key(&probe));
        claimed.is_some_and(|claimed| claimed.is_every_call_wanted_only_by(&self.claims_of_walks))
    }
}

impl LiveControl {
    /// Returns what a walk can do with a probe, whose level is `fixed` or live. `Err`: why nothing.
    pub(crate) fn present_probe(&self, probe: u32, fixed: Option<Level>) -> Result<PresentProbe, String> {
        let state = self.state.lock();
        let level = fixed.unwrap_or_else(|| self.levels.get(probe));
        if matches!(level, Level::Time | Level::Full) {
            return Ok(PresentProbe::RecordsAll);
        }
        let left_alone = |why: &str| Err(format!("it has a probe at level {level}, {why}"));
        if state.capturing.contains(&probe) {
            return left_alone("which records arguments or results");
        }
        match state.ruled.get(&probe) {
            None => Ok(PresentProbe::Fixed(level)),
            Some(_) if state.set_by_person.contains_key(&probe) => left_alone("which `instr level` has set"),
            Some(_) if state.ceilings.contains_key(&probe) => {
                left_alone("to which the governor has lowered it, because it is called often (docs/governor.md)")
            }
            Some(ruled) if ruled.level != level => left_alone(&format!("while {} is wanted of it", ruled.level)),
            Some(_) => Ok(PresentProbe::AtLevel(level)),
        }
    }

    /// Notes whether a probe records arguments or results, too.
    pub(crate) fn note_capture(&self, probe: u32, captures: bool) {
        let capturing = &mut self.state.lock().capturing;
        if captures {
            capturing.insert(probe)
        } else {
            capturing.remove(&probe)
        };
    }

    /// Sets the level that a walk wants of a probe by its claim, unless that has ended. At level time calls are recorded as long as some are left of the limit,
    /// if nobody else wants all of them.
    pub(crate) fn set_for_walk(&self, probe: u32, claim: u32, level: Level) {
        let state = &mut *self.state.lock();
        if state.claimed.get(&probe).is_some_and(|claimed| claimed.is_wanted_by(claim)) {
            state.claims_of_walks.insert(claim);
            self.add(state, probe, (claim, level, true), ("walk", "instr walk"));
        }
    }

    /// Whether a probe records for a walk alone at present.
    pub(crate) fn records_for_walk(&self, probe: u32) -> bool {
        self.levels.is_limited(probe)
    }

    /// Whether a probe records all calls for somebody else at present.
    pub(crate) fn records_for_others(&self, probe: u32) -> bool {
        matches!(self.levels.get(probe), Level::Time | Level::Full) && !self.levels.is_limited(probe)
    }

    /// Whether a walk decides about a probe by this claim: it has not ended, and no person has set the level.
    pub(crate) fn is_decided_by_walk(&self, probe: u32, claim: u32) -> bool {
        let state = self.state.lock();
        let is_wanted = state.claimed.get(&probe).is_some_and(|claimed| claimed.is_wanted_by(claim));
        is_wanted && !state.set_by_person.contains_key(&probe)
    }

    /// Has classes lose these probes, which may have taken the place of probes with a fixed level that their rules want still; not those that other claims are about.
    pub(crate) fn make_way(&self, probes: impl Iterator<Item = u32>) {
        let state = &mut *self.state.lock();
        let is_free = |probe: &u32| state.ruled.contains_key(probe) && !state.claimed.contains_key(probe);
        state.unwanted.extend(probes.filter(is_free));
    }

    /// All probes of walks together record this number of calls from now on.
    pub(crate) fn limit_calls_of_walk(&self, calls: u64) {
        self.levels.limit_calls(calls);
    }

    /// Returns how many of these are left.
    pub(crate) fn calls_left_to_walk(&self) -> u64 {
        self.levels.calls_left()
    }
}

#[cfg(test)]
mod tests {
    use control::WantedLevel;
    use instrument_core::level::Mode;
    use instrument_core::selection::Chosen;
    use records::probe_registry::ProbeRegistry;
    use std::sync::Arc;

    use super::*;
    use crate::desired::ClaimedProbe;
    use crate::probes::live_control::DecidedClaims;

    /// The table of levels is one for all tests: each has numbers of its own.
    fn control_with(probe: u32, level: Level, claimed: Option<ClaimedProbe>) -> LiveControl {
        let control = LiveControl::new(Box::leak(Box::<ProbeRegistry>::default()), Arc::default());
        begin(&control, probe, level, claimed, 9);
        control
    }

    /// A class gets the probe, decided when claims up to a number were known.
    fn begin(control: &LiveControl, probe: u32, level: Level, claimed: Option<ClaimedProbe>, newest: u32) {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'p.**'\n", "c.toml").unwrap();
        let templates = Arc::from(setup.rules.rules()[0].templates());
        let chosen = Chosen { rule: 0, templates, level, mode: Mode::Inline, capture: None };
        control.begin(probe, &chosen, true, DecidedClaims { claimed, newest });
    }

    #[test]
    fn a_probe_of_a_walk_has_a_limit_unless_others_want_it_too() {
        let probe = 41_071;
        let of_walk = ClaimedProbe::new(None, vec![(10, Level::Off, true)]);
        let control = control_with(probe, Level::Off, Some(of_walk));
        let is_limited = || (control.level(probe), control.levels.is_limited(probe));
        control.set_for_walk(probe, 10, Level::Time);
        assert_eq!(is_limited(), (Level::Time, true));
        assert_eq!(control.add_claim(probe, (12, Level::Watch, true)).map(|change| change.to), None);
        assert_eq!(is_limited(), (Level::Time, true), "watch is not every call");
        let change = control.add_claim(probe, (11, Level::Time, true)).unwrap();
        assert_eq!((change.from, change.to), (Some(Level::Off), Level::Time), "to others, it was off before");
        assert_eq!((is_limited(), control.records_for_others(probe)), ((Level::Time, false), true));
        control.set_for_walk(probe, 10, Level::Off);
        assert_eq!(is_limited(), (Level::Time, false), "the other claim has it still");
        control.set_for_walk(probe, 10, Level::Time);
        assert_eq!(is_limited(), (Level::Time, false));
        [11, 12].iter().for_each(|claim| drop(control.end_claim(*claim)));
        assert_eq!(is_limited(), (Level::Time, true));
    }

    #[test]
    fn a_probe_of_a_rule_is_raised_and_put_back() {
        let probe = 41_081;
        let control = control_with(probe, Level::Watch, None);
        assert_eq!(control.present_probe(probe, None), Ok(PresentProbe::AtLevel(Level::Watch)));
        control.set_for_walk(probe, 10, Level::Time);
        assert_eq!(control.level(probe), Level::Watch, "it has no claim on it");
        control.add_claim(probe, (10, Level::Watch, true));
        control.set_for_walk(probe, 10, Level::Time);
        assert!(control.records_for_walk(probe));
        control.set_for_walk(probe, 10, Level::Watch);
        assert_eq!(control.level(probe), Level::Watch);
        let recorded = control.recorded_time(probe, None).unwrap();
        assert_eq!((recorded.every_call, recorded.changes), (0, 0), "`instr top` knows nothing of it");
        control.set_for_walk(probe, 10, Level::Time);
        let decided = ClaimedProbe::new(Some((Level::Watch, true)), vec![(10, Level::Watch, true)]);
        begin(&control, probe, Level::Watch, Some(decided), 10);
        assert!(control.records_for_walk(probe), "its class was changed meanwhile");
        let change = control.set_one(&mut control.state.lock(), probe, WantedLevel::Exact(Level::Off), 3).unwrap();
        assert_eq!((change.from, change.to), (Some(Level::Watch), Level::Off));
        assert!(!control.is_decided_by_walk(probe, 10));
        control.set_one(&mut control.state.lock(), probe, WantedLevel::Auto, 3);
        control.set_for_walk(probe, 10, Level::Time);
        assert_eq!(control.end_claim(10).handed_back, [probe], "as when its client is gone in a window");
        assert_eq!(control.level(probe), Level::Watch);
    }

    #[test]
    fn a_probe_that_records_all_calls_is_read_and_one_that_others_have_lowered_is_left_alone() {
        let probe = 41_091;
        let control = control_with(probe, Level::Time, None);
        assert_eq!(control.present_probe(probe, None), Ok(PresentProbe::RecordsAll));
        control.note_capture(probe, true);
        control.levels.set(probe, Level::Watch);
        assert!(control.present_probe(probe, None).unwrap_err().contains("arguments or results"));
        control.note_capture(probe, false);
        assert_eq!(
            control.present_probe(probe, None).unwrap_err(),
            "it has a probe at level watch, while time is wanted of it"
        );
        control.set_one(&mut control.state.lock(), probe, WantedLevel::Exact(Level::Watch), 3);
        assert!(control.present_probe(probe, None).unwrap_err().contains("`instr level` has set"));
        assert_eq!(control.present_probe(probe, Some(Level::Full)), Ok(PresentProbe::RecordsAll));
        assert_eq!(control.present_probe(probe + 9, Some(Level::Watch)), Ok(PresentProbe::Fixed(Level::Watch)));
    }
}
