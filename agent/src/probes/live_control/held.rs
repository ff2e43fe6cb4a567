//! Which probes classes hold, and which they have lost.

use rustc_hash::FxHashSet;

use super::LiveControl;

impl LiveControl {
    /// Loaded classes are about to be retransformed. Returns the number of that pass: what classes get from now on is noted with it, or with a higher one.
    pub(crate) fn next_pass(&self) -> u32 {
        let mut state = self.state.lock();
        state.pass += 1;
        state.pass
    }

    /// Returns the probes that classes of this session hold.
    pub(crate) fn numbers(&self) -> FxHashSet<u32> {
        let state = self.state.lock();
        state.ruled.keys().chain(state.fixed.keys()).copied().collect()
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

    /// Returns the probes that no class got in this pass or later.
    pub(crate) fn not_given_since(&self, pass: u32) -> Vec<u32> {
        let state = self.state.lock();
        let live = state.ruled.iter().map(|(probe, ruled)| (*probe, ruled.pass));
        let all = live.chain(state.fixed.iter().map(|(probe, (_, pass))| (*probe, *pass)));
        all.filter(|(_, last)| *last < pass).map(|(probe, _)| probe).collect()
    }

    /// Forgets probes that their classes have lost with a reload: their numbers are given again if a method is wanted again.
    pub(crate) fn lose(&self, lost: &FxHashSet<u32>) {
        let mut state = self.state.lock();
        let state = &mut *state;
        for probe in lost {
            if state.ruled.remove(probe).is_some() || state.fixed.remove(probe).is_some() {
                state.set_by_person.remove(probe);
                state.claimed.remove(probe);
                state.warned.remove(probe);
                state.note_ceiling(*probe, None);
                if let Some(governor) = &mut state.governor {
                    governor.forget(*probe);
                }
            }
        }
        self.levels.forget(lost.iter().copied());
    }
}
