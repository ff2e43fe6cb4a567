//! Which probes classes hold, and which they have lost.

use instrument_core::level::Level;
use instrument_core::selection::Chosen;
use rustc_hash::FxHashSet;

use super::{DecidedClaims, Fixed, LevelChange, LiveControl, Passes, Ruled, WantedBy};

impl LiveControl {
    /// A method got this live probe.
    pub(crate) fn begin(
        &self,
        probe: u32,
        chosen: &Chosen,
        allows_governor: bool,
        claims: DecidedClaims,
    ) -> Option<LevelChange> {
        let is_only_template = chosen.templates.len() == 1;
        let mut state = self.state.lock();
        let now = state.note_claims(probe, chosen.level, claims);
        let (level, wanted) = (now.level, WantedBy { allows_governor, by_person: now.by_person });
        let earlier = state.ruled.get(&probe).copied();
        let pass = Passes { first: earlier.map_or(state.pass, |earlier| earlier.pass.first), last: state.pass };
        let begin = earlier.map_or_else(|| self.began.elapsed(), |earlier| earlier.begin);
        state.ruled.insert(probe, Ruled { level, is_only_template, begin, pass, wanted });
        if earlier.is_none() && state.hold_back(probe, true) {
            self.levels.begin_unarmed(probe, level);
        } else {
            self.levels.begin(probe, level);
            if earlier.is_none() {
                self.times.begin_again(probe, level);
            }
        }
        // Something else is wanted since a reload, or since a claim was made or has ended.
        let is_other = |earlier: Ruled| earlier.level != level || earlier.wanted.by_person != wanted.by_person;
        if !earlier.is_some_and(is_other) || state.hold_back(probe, false) {
            return None;
        }
        self.change_to_wanted(&mut state, probe)
    }

    /// A method got this probe, whose level stays; returns the change to be recorded.
    pub(crate) fn begin_fixed(&self, probe: u32, level: Level, claims: DecidedClaims) -> Option<LevelChange> {
        let at = self.began.elapsed();
        let begin = u32::try_from(at.as_millis()).unwrap_or(u32::MAX);
        let mut state = self.state.lock();
        state.note_claims(probe, level, claims);
        let now = state.pass;
        if let Some(fixed) = state.fixed.get_mut(&probe) {
            fixed.pass.last = now;
            return None;
        }
        state.fixed.insert(probe, Fixed { begin, pass: Passes { first: now, last: now } });
        self.times.begin_again(probe, level);
        state.begin_in_loaded(probe, level, at)
    }

    /// Loaded classes are about to be retransformed. Returns the number of that pass: what classes get from now on is noted with it, or with a higher one.
    pub(crate) fn next_pass(&self) -> u32 {
        let mut state = self.state.lock();
        state.pass += 1;
        state.pass
    }

    /// Whether classes of this session hold the probe.
    pub(crate) fn holds(&self, probe: u32) -> bool {
        let state = self.state.lock();
        state.ruled.contains_key(&probe) || state.fixed.contains_key(&probe)
    }

    /// Whether a class has this probe, and its level can change.
    pub(crate) fn is_live(&self, probe: u32) -> bool {
        self.state.lock().ruled.contains_key(&probe)
    }

    /// Returns the present pass: the number of the last one that has begun.
    pub(crate) fn pass(&self) -> u32 {
        self.state.lock().pass
    }

    /// Returns the pass in which some class got a probe last; `None` if classes of this session do not hold it.
    pub(crate) fn last_pass(&self, probe: u32) -> Option<u32> {
        let state = self.state.lock();
        let live = state.ruled.get(&probe).map(|ruled| ruled.pass.last);
        live.into_iter().chain(state.fixed.get(&probe).map(|fixed| fixed.pass.last)).max()
    }

    /// Returns the probes that no class got in this pass or later.
    pub(crate) fn not_given_since(&self, pass: u32) -> Vec<u32> {
        let state = self.state.lock();
        let live = state.ruled.iter().map(|(probe, ruled)| (*probe, ruled.pass.last));
        let all = live.chain(state.fixed.iter().map(|(probe, fixed)| (*probe, fixed.pass.last)));
        all.filter(|(_, last)| *last < pass).map(|(probe, _)| probe).collect()
    }

    /// Returns the probes that no class had before this pass.
    pub(crate) fn new_since(&self, pass: u32) -> Vec<u32> {
        let state = self.state.lock();
        let live = state.ruled.iter().map(|(probe, ruled)| (*probe, ruled.pass));
        let all = live.chain(state.fixed.iter().map(|(probe, fixed)| (*probe, fixed.pass)));
        all.filter(|(_, passes)| passes.first >= pass).map(|(probe, _)| probe).collect()
    }

    /// Forgets probes that their classes have lost with a reload: their numbers are given again if a method is wanted again.
    pub(crate) fn lose(&self, lost: &FxHashSet<u32>) {
        let mut state = self.state.lock();
        let state = &mut *state;
        for probe in lost {
            if let Some(begin) = state.begin(*probe) {
                let fixed = self.probes.known(std::iter::once(*probe)).pop().flatten().and_then(|it| it.fixed_level());
                self.times.remove(*probe, begin, fixed.unwrap_or_else(|| self.levels.get(*probe)));
            }
            if state.ruled.remove(probe).is_some() || state.fixed.remove(probe).is_some() {
                state.set_by_person.remove(probe);
                state.claimed.remove(probe);
                state.warned.remove(probe);
                state.raised.remove(probe);
                state.note_ceiling(*probe, None);
                if let Some(governor) = &mut state.governor {
                    governor.forget(*probe);
                }
            }
        }
        state.drop_empty_level_claims();
        self.levels.forget(lost.iter().copied());
    }
}
