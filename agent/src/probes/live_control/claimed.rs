//! Live probes that claims are about: their levels, and what is left when a claim ends.

use control::{ClaimRow, WantedLevel};
use instrument_core::level::Level;
use records::probe_registry::LIVE_NUMBERS;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::report::counted;

use super::{LevelChange, LiveControl, REMEMBERED, Ruled, State};
use crate::desired::ClaimedProbe;

/// What claims wanted of the method of a probe when that was decided.
#[derive(Debug, Default)]
pub(crate) struct DecidedClaims {
    /// Who wanted the probe; `None` if no claim was about the method.
    pub(crate) claimed: Option<ClaimedProbe>,
    /// The newest of all claims on probes that were known then.
    pub(crate) newest: u32,
}

/// What is wanted of a probe now.
pub(super) struct Claimed {
    pub(super) level: Level,
    pub(super) by_person: bool,
}

impl State {
    /// Forgets claims on levels of which no probe is left: others have been made about these since.
    pub(super) fn drop_empty_level_claims(&mut self) {
        let used: FxHashSet<u32> = self.set_by_person.values().copied().collect();
        self.level_claims.retain(|claim, _| used.contains(claim));
    }

    /// Notes what claims want of a probe: what was decided, without claims that have ended since, and with those that were made since. `level` is that
    /// of the rules where no claim was known.
    pub(super) fn note_claims(&mut self, probe: u32, level: Level, claims: DecidedClaims) -> Claimed {
        let mut now = claims.claimed.unwrap_or_else(|| ClaimedProbe::new(Some((level, true)), Vec::new()));
        if let Some(before) = self.claimed.get(&probe) {
            now.add_newer(before, claims.newest);
            now.keep_levels(before, &self.claims_of_walks);
        }
        self.ended_claims.iter().for_each(|claim| _ = now.end(*claim));
        let (wanted, by_person) = (now.level(), now.is_by_person());
        match wanted {
            Some(_) => self.unwanted.remove(&probe),
            None => self.unwanted.insert(probe),
        };
        if by_person {
            self.claimed.insert(probe, now);
        } else {
            self.claimed.remove(&probe);
        }
        Claimed { level: wanted.unwrap_or(Level::Off), by_person }
    }

    fn note_end(&mut self, claim: u32) {
        if self.ended_claims.contains(&claim) {
            return;
        }
        if self.ended_claims.len() == REMEMBERED {
            self.ended_claims.pop_front();
        }
        self.ended_claims.push_back(claim);
    }
}

/// What the end of a claim on probes leaves.
#[derive(Debug, Default)]
pub(crate) struct EndedClaim {
    /// Probes that rules want and no claim any more.
    pub(crate) handed_back: Vec<u32>,
    /// The changes to be recorded.
    pub(crate) changes: Vec<LevelChange>,
}

impl LiveControl {
    /// Takes a claim on probes away. What others want of its probes is in force at once; what nobody wants any more is switched off, and stays
    /// until its class is retransformed.
    pub(crate) fn end_claim(&self, claim: u32) -> EndedClaim {
        let mut state = self.state.lock();
        state.note_end(claim);
        state.claims_of_walks.remove(&claim);
        let mut ended = EndedClaim::default();
        let mut concerned = Vec::new();
        for (probe, claimed) in &mut state.claimed {
            if claimed.end(claim) {
                concerned.push((*probe, claimed.level(), claimed.is_by_person()));
            }
        }
        for (probe, level, is_by_person) in concerned {
            if level.is_none() {
                state.unwanted.insert(probe);
                state.set_by_person.remove(&probe);
            }
            if !is_by_person {
                state.claimed.remove(&probe);
                ended.handed_back.extend(level.map(|_| probe));
            }
            let wanted = (level.unwrap_or(Level::Off), is_by_person);
            ended.changes.extend(self.set_wanted(&mut state, probe, wanted, ("user", "a claim has ended")));
        }
        state.drop_empty_level_claims();
        ended
    }

    /// Returns the probes that nobody wants and that classes may have, once.
    pub(crate) fn take_unwanted(&self) -> FxHashSet<u32> {
        std::mem::take(&mut self.state.lock().unwanted)
    }

    /// Sets what is wanted of a live probe from now on.
    fn set_wanted(
        &self,
        state: &mut State,
        probe: u32,
        (level, is_by_person): (Level, bool),
        (owner, reason): (&'static str, &str),
    ) -> Option<LevelChange> {
        let ruled = state.ruled.get_mut(&probe)?;
        ruled.level = level;
        ruled.wanted.by_person = is_by_person;
        // What `instr level` has set takes precedence.
        if state.set_by_person.contains_key(&probe) {
            return None;
        }
        if let Some(governor) = &mut state.governor {
            governor.forget(probe);
        }
        self.change(state, probe, (owner, reason.to_owned()), level)
    }

    /// Adds a claim to those on the method of a live probe: number, level, and whether it wants this probe. Returns the change to be recorded.
    pub(crate) fn add_claim(&self, probe: u32, claim: (u32, Level, bool)) -> Option<LevelChange> {
        self.add(&mut self.state.lock(), probe, claim, ("user", "instr probe"))
    }

    pub(super) fn add(
        &self,
        state: &mut State,
        probe: u32,
        claim: (u32, Level, bool),
        (owner, reason): (&'static str, &str),
    ) -> Option<LevelChange> {
        let of_rules = (state.ruled.get(&probe)?.level, true);
        let claimed = state.claimed.entry(probe).or_insert_with(|| ClaimedProbe::new(Some(of_rules), Vec::new()));
        claimed.add(claim);
        let level = claimed.level()?;
        self.set_wanted(state, probe, (level, true), (owner, reason))
    }

    /// Switches off probes that nobody wants any more, until their classes are retransformed, and returns the changes to be recorded. Probes of a fixed
    /// level record until then.
    pub(crate) fn disarm(&self, unwanted: &FxHashSet<u32>) -> Vec<LevelChange> {
        let mut state = self.state.lock();
        let live: Vec<u32> = unwanted.iter().filter(|probe| state.ruled.contains_key(probe)).copied().collect();
        let disarm = |probe| {
            state.set_by_person.remove(&probe);
            self.set_wanted(&mut state, probe, (Level::Off, false), ("rule", "no rule wants it since a reload"))
        };
        let changes = live.into_iter().filter_map(disarm).collect();
        state.drop_empty_level_claims();
        changes
    }

    /// Returns the probes that this claim wants and methods have.
    pub(crate) fn probes_of_claim(&self, claim: u32) -> Vec<u32> {
        let state = self.state.lock();
        let wanted = state.claimed.iter().filter(|(_, claimed)| claimed.is_wanted_by(claim));
        wanted.map(|(probe, _)| *probe).collect()
    }

    /// Returns the numbers under which calls of the probes of this claim are recorded.
    pub(crate) fn numbers_of_claim(&self, claim: u32) -> Vec<u32> {
        let state = self.state.lock();
        let wanted = state.claimed.iter().filter(|(_, claimed)| claimed.is_wanted_by(claim));
        let numbers = |probe: u32| probe..probe + if state.ruled.contains_key(&probe) { LIVE_NUMBERS } else { 1 };
        wanted.flat_map(|(probe, _)| numbers(*probe)).collect()
    }

    /// Returns the live probes of methods that `takes` takes (`package.Class.method`), each once.
    pub(crate) fn live_probes_of(&self, takes: impl Fn(&str) -> bool) -> Vec<u32> {
        let described = self.described().into_iter();
        described.filter(|probe| probe.live && takes(&probe.method)).map(|probe| probe.number).collect()
    }

    /// Ends the claim with this number, if it is one on levels: hands its probes back, except those in `without`, and returns these and
    /// the changes to be recorded.
    pub(crate) fn end_level_claim(&self, claim: u32, without: &FxHashSet<u32>) -> Option<(Vec<u32>, Vec<LevelChange>)> {
        let mut state = self.state.lock();
        state.level_claims.remove(&claim)?;
        let of_claim = state.set_by_person.iter().filter(|(_, by)| **by == claim).map(|(probe, _)| *probe);
        let (removed, probes): (Vec<u32>, Vec<u32>) = of_claim.partition(|probe| without.contains(probe));
        for probe in &removed {
            state.set_by_person.remove(probe);
        }
        let hand_back = |probe: &u32| self.set_one(&mut state, *probe, WantedLevel::Auto, claim);
        let changes = probes.iter().filter_map(hand_back).collect();
        Some((probes, changes))
    }

    /// Forgets all claims on levels: nothing is recorded any more.
    pub(crate) fn clear_level_claims(&self) {
        let mut state = self.state.lock();
        state.level_claims.clear();
        state.set_by_person.clear();
    }

    /// Returns the claims of persons on levels.
    pub(crate) fn level_claims(&self) -> Vec<ClaimRow> {
        let state = self.state.lock();
        let row = |(id, (methods, level)): (&u32, &(String, Level))| {
            let (class, method) = methods.rsplit_once('.').unwrap_or((methods, "*"));
            let probes = state.set_by_person.values().filter(|by| *by == id).count();
            ClaimRow {
                id: Some(*id),
                owner: "user".to_owned(),
                role: "level".to_owned(),
                class: class.to_owned(),
                method: method.to_owned(),
                level: Some(level.name().to_owned()),
                state: "active".to_owned(),
                reason: format!("instr level, {}", counted(probes as u64, "method")),
                ..ClaimRow::default()
            }
        };
        state.level_claims.iter().map(row).collect()
    }

    /// Returns the claims that want a probe or its level, by probe.
    pub(crate) fn claims_by_probe(&self) -> FxHashMap<u32, Vec<u32>> {
        let state = self.state.lock();
        let of_probes = state.claimed.iter().flat_map(|(probe, by)| by.wanting_claims().map(|claim| (*probe, claim)));
        let of_levels = state.set_by_person.iter().map(|(probe, claim)| (*probe, *claim));
        let mut claims: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        of_probes.chain(of_levels).for_each(|(probe, claim)| claims.entry(probe).or_default().push(claim));
        claims
    }

    /// Those of the probes that the governor may take away.
    pub(crate) fn removable_among(&self, probes: &[u32]) -> Vec<u32> {
        let state = self.state.lock();
        let is_removable = |ruled: &Ruled| ruled.wanted.is_governed() && ruled.is_only_template;
        probes.iter().filter(|probe| state.ruled.get(probe).is_some_and(is_removable)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use instrument_core::level::Mode;
    use instrument_core::selection::Chosen;
    use records::probe_registry::ProbeRegistry;

    use super::*;

    /// The table of levels is one for all tests: each has numbers of its own.
    fn control() -> LiveControl {
        LiveControl::new(Box::leak(Box::<ProbeRegistry>::default()), Arc::default())
    }

    fn chosen(level: Level) -> Chosen {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'p.**'\n", "c.toml").unwrap();
        let templates = Arc::from(setup.rules.rules()[0].templates());
        Chosen { rule: 0, templates, level, mode: Mode::Inline, capture: None }
    }

    /// Decided when claims up to number 9 were known.
    fn decided(claimed: Option<ClaimedProbe>) -> DecidedClaims {
        DecidedClaims { claimed, newest: 9 }
    }

    #[test]
    fn a_class_that_was_decided_before_a_claim_ended_gets_nothing_of_it() {
        let (control, probe) = (control(), 41_001);
        let claimed = ClaimedProbe::new(Some((Level::Watch, true)), vec![(7, Level::Full, true)]);
        assert!(control.end_claim(7).changes.is_empty(), "no class has its probe yet");
        control.begin(probe, &chosen(Level::Full), true, decided(Some(claimed)));
        assert_eq!(control.level(probe), Level::Watch, "what the rules want");
        assert!(control.probes_of_claim(7).is_empty() && control.claims_by_probe().is_empty());
        control.begin(
            probe,
            &chosen(Level::Full),
            true,
            decided(Some(ClaimedProbe::new(None, vec![(7, Level::Full, true)]))),
        );
        assert_eq!(control.level(probe), Level::Off, "nobody wants it");
        assert!(control.take_unwanted().contains(&probe) && control.take_unwanted().is_empty());
    }

    #[test]
    fn a_class_that_was_decided_before_a_claim_was_made_does_not_end_it() {
        let (control, probe) = (control(), 41_051);
        control.begin(probe, &chosen(Level::Watch), true, decided(None));
        control.add_claim(probe, (10, Level::Full, true));
        control.begin(probe, &chosen(Level::Watch), true, decided(None));
        assert_eq!((control.level(probe), control.probes_of_claim(10)), (Level::Full, vec![probe]));
        let later = DecidedClaims { claimed: None, newest: 10 };
        control.begin(probe, &chosen(Level::Watch), true, later);
        assert_eq!(
            (control.level(probe), control.probes_of_claim(10)),
            (Level::Watch, vec![]),
            "the claim is about it no more"
        );
    }

    #[test]
    fn a_method_that_gets_its_probe_again_has_the_time_of_both() {
        let (control, probe) = (control(), 41_061);
        control.begin(probe, &chosen(Level::Time), true, decided(None));
        control.lose(&FxHashSet::from_iter([probe]));
        let (lost, until_lost) = (Instant::now(), control.times().at(probe, Level::Time));
        while lost.elapsed().is_zero() {
            std::hint::spin_loop();
        }
        assert!(until_lost.is_some(), "its loss is noted");
        assert_eq!(control.times().at(probe, Level::Time), until_lost, "not while it was lost");
        control.begin(probe, &chosen(Level::Full), true, decided(None));
        assert_eq!(control.times().at(probe, Level::Time), until_lost);
        assert!(control.times().at(probe, Level::Full).is_some_and(|time| !time.is_zero()));
        assert_eq!(control.recorded_time(probe, None).unwrap().changes, 2, "lost and inserted again");
    }

    #[test]
    fn a_probe_is_lost_if_no_class_got_it_in_a_pass() {
        let (control, probe) = (control(), 41_011);
        let first = control.next_pass();
        control.begin(probe, &chosen(Level::Time), true, decided(None));
        assert!(control.not_given_since(first).is_empty());
        // Classes are retransformed for two changes at once, each with a number of its own.
        let (second, third) = (control.next_pass(), control.next_pass());
        assert_eq!(control.not_given_since(second), [probe]);
        control.begin(probe, &chosen(Level::Time), true, decided(None));
        assert!(control.not_given_since(third).is_empty());
    }

    #[test]
    fn probes_that_are_held_back_record_nothing_until_all_are_armed() {
        let (control, [first, second, elsewhere]) = (control(), [41_021, 41_031, 41_041]);
        control.begin(first, &chosen(Level::Watch), true, decided(None));
        control.hold();
        control.begin(second, &chosen(Level::Time), true, decided(None));
        std::thread::scope(|scope| {
            scope.spawn(|| drop(control.begin(elsewhere, &chosen(Level::Time), true, decided(None))));
        });
        control.begin(first, &chosen(Level::Full), true, decided(None));
        let levels = || [first, second, elsewhere].map(|probe| control.level(probe));
        assert_eq!(levels(), [Level::Watch, Level::Off, Level::Time], "other threads load classes meanwhile");
        let changes = control.arm();
        assert_eq!(levels(), [Level::Full, Level::Time, Level::Time]);
        let changes: Vec<(u32, Option<Level>, Level)> =
            changes.iter().map(|change| (change.probe, change.from, change.to)).collect();
        assert_eq!(changes, [(first, Some(Level::Watch), Level::Full)]);
        assert!(control.arm().is_empty(), "none is held back any more");
    }
}
