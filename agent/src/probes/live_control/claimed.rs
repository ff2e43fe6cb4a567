//! Live probes that claims are about: their levels, and what is left when a claim ends.

use control::{ClaimRow, WantedLevel};
use instrument_core::level::Level;
use records::probe_registry::LIVE_NUMBERS;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::report::counted;

use super::{LevelChange, LiveControl, Ruled, State};
use crate::desired::ClaimedProbe;

impl State {
    /// Forgets claims on levels of which no probe is left: others have been made about these since.
    pub(super) fn drop_empty_level_claims(&mut self) {
        let used: FxHashSet<u32> = self.set_by_person.values().copied().collect();
        self.level_claims.retain(|claim, _| used.contains(claim));
    }

    /// Notes what claims want of a probe.
    pub(super) fn note_claims(&mut self, probe: u32, claimed: Option<ClaimedProbe>) {
        match claimed {
            Some(claimed) => _ = self.claimed.insert(probe, claimed),
            None => _ = self.claimed.remove(&probe),
        }
    }
}

/// What the end of a claim on probes leaves.
#[derive(Debug, Default)]
pub(crate) struct EndedClaim {
    /// Probes that nobody wants any more.
    pub(crate) unwanted: FxHashSet<u32>,
    /// Probes that rules want and no claim any more.
    pub(crate) handed_back: Vec<u32>,
    /// The changes to be recorded.
    pub(crate) changes: Vec<LevelChange>,
}

impl LiveControl {
    /// Forgets probes that their classes have lost with a reload: their numbers are given again if a method is wanted again.
    pub(crate) fn lose(&self, lost: &FxHashSet<u32>) {
        let mut state = self.state.lock();
        let state = &mut *state;
        for probe in lost {
            if state.ruled.remove(probe).is_some() || state.fixed.remove(probe).is_some() {
                state.set_by_person.remove(probe);
                state.claimed.remove(probe);
                state.warned.remove(probe);
                if let Some(governor) = &mut state.governor {
                    governor.forget(*probe);
                }
            }
        }
        self.levels.forget(lost.iter().copied());
    }

    /// Takes a claim on probes away. What others want of its probes is in force at once; what nobody wants any more is switched off, and stays
    /// until its class is retransformed.
    pub(crate) fn end_claim(&self, claim: u32) -> EndedClaim {
        let mut state = self.state.lock();
        let mut ended = EndedClaim::default();
        let mut concerned = Vec::new();
        for (probe, claimed) in &mut state.claimed {
            if claimed.end(claim) {
                concerned.push((*probe, claimed.level(), claimed.is_by_person()));
            }
        }
        for (probe, level, is_by_person) in concerned {
            if level.is_none() {
                ended.unwanted.insert(probe);
                state.set_by_person.remove(&probe);
            }
            if !is_by_person {
                state.claimed.remove(&probe);
                ended.handed_back.extend(level.map(|_| probe));
            }
            ended.changes.extend(self.set_wanted(&mut state, probe, level.unwrap_or(Level::Off), is_by_person));
        }
        ended
    }

    /// Sets what is wanted of a live probe now that a claim has ended.
    fn set_wanted(&self, state: &mut State, probe: u32, level: Level, is_by_person: bool) -> Option<LevelChange> {
        let ruled = state.ruled.get_mut(&probe)?;
        ruled.level = level;
        ruled.wanted.by_person = is_by_person;
        // What `instr level` has set goes before.
        if state.set_by_person.contains_key(&probe) {
            return None;
        }
        if let Some(governor) = &mut state.governor {
            governor.forget(probe);
        }
        self.change(state, probe, ("user", "a claim has ended".to_owned()), level)
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
                hits: None,
                expires: None,
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
