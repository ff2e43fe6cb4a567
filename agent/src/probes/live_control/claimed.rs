//! Live probes that claims are about: their levels, and what is left when a claim ends.

use control::{ClaimRow, WantedLevel};
use instrument_core::level::Level;
use rustc_hash::FxHashSet;
use trace::report::counted;

use super::{LevelChange, LiveControl, Ruled, State};

impl State {
    /// Forgets claims on levels of which no probe is left: others have been made about these since.
    pub(super) fn drop_empty_level_claims(&mut self) {
        let used: FxHashSet<u32> = self.set_by_person.values().copied().collect();
        self.level_claims.retain(|claim, _| used.contains(claim));
    }
}

impl LiveControl {
    /// Forgets probes that their classes have lost with a reload: their numbers are given again if a method is wanted again.
    pub(crate) fn lose(&self, lost: &FxHashSet<u32>) {
        let mut state = self.state.lock();
        let state = &mut *state;
        for probe in lost {
            if state.ruled.remove(probe).is_some() || state.fixed.remove(probe).is_some() {
                state.set_by_person.remove(probe);
                state.warned.remove(probe);
                if let Some(governor) = &mut state.governor {
                    governor.forget(*probe);
                }
            }
        }
        self.levels.forget(lost.iter().copied());
    }

    /// Switches those of the probes off at once that a person's claim decides about, and returns them.
    pub(crate) fn disarm_claimed(&self, probes: &[u32]) -> FxHashSet<u32> {
        let state = self.state.lock();
        let by_person = |probe: &&u32| state.ruled.get(probe).is_some_and(|ruled| ruled.wanted.by_person);
        let disarmed: FxHashSet<u32> = probes.iter().filter(by_person).copied().collect();
        disarmed.iter().for_each(|probe| self.levels.set(*probe, Level::Off));
        disarmed
    }

    /// Returns those of the probes that a person's claim still decides about.
    pub(crate) fn still_claimed(&self, probes: &FxHashSet<u32>) -> FxHashSet<u32> {
        let state = self.state.lock();
        let by_person = |probe: &&u32| state.ruled.get(probe).is_some_and(|ruled| ruled.wanted.by_person);
        probes.iter().filter(by_person).copied().collect()
    }

    /// Returns the live probes of methods that `takes` takes (`package.Class.method`), each once.
    pub(crate) fn probes_of(&self, takes: impl Fn(&str) -> bool) -> Vec<u32> {
        let described = self.described().into_iter();
        described.filter(|probe| probe.live && takes(&probe.method)).map(|probe| probe.number).collect()
    }

    /// Ends the claim with this number, if it is one on levels: hands its probes back, and returns how many these are, and
    /// the changes to be recorded.
    pub(crate) fn remove_level_claim(&self, claim: u32) -> Option<(usize, Vec<LevelChange>)> {
        let mut state = self.state.lock();
        state.level_claims.remove(&claim)?;
        let probes: Vec<u32> =
            state.set_by_person.iter().filter(|(_, by)| **by == claim).map(|(probe, _)| *probe).collect();
        let hand_back = |probe: &u32| self.set_one(&mut state, *probe, WantedLevel::Auto, claim);
        let changes = probes.iter().filter_map(hand_back).collect();
        Some((probes.len(), changes))
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

    /// Those of the probes that the governor may take away.
    pub(crate) fn removable_among(&self, probes: &[u32]) -> Vec<u32> {
        let state = self.state.lock();
        let is_removable = |ruled: &Ruled| ruled.wanted.is_governed && ruled.is_only_template;
        probes.iter().filter(|probe| state.ruled.get(probe).is_some_and(is_removable)).copied().collect()
    }
}
