//! The probes of one change begin to record together, although the batches in which classes get them are some time apart.

use std::time::Duration;

use instrument_core::level::Level;

use super::{LevelChange, LiveControl, State};

/// A live probe that a method got, or of which something else is wanted, since probes are held back.
#[derive(Debug)]
pub(super) struct Unarmed {
    probe: u32,
    is_new: bool,
}

/// In this time after its beginning a session gives loaded classes what the rules want.
const START: Duration = Duration::from_secs(1);

impl State {
    /// Returns the change to be recorded of a probe of a fixed level that a loaded class has got just now; `None` if the class is being loaded: then no call
    /// was made before.
    pub(super) fn begin_in_loaded(&self, probe: u32, level: Level, at: Duration) -> Option<LevelChange> {
        let (thread, _) = self.unarmed.as_ref().filter(|_| at >= START)?;
        let (owner, reason) = ("rule", "reloaded".to_owned());
        (*thread == std::thread::current().id()).then_some(LevelChange { probe, owner, reason, from: None, to: level })
    }

    /// Holds a probe back until all are armed, if that is done on this thread; other threads load classes meanwhile, whose probes record at once.
    pub(super) fn hold_back(&mut self, probe: u32, is_new: bool) -> bool {
        let Some((thread, unarmed)) = &mut self.unarmed else { return false };
        let is_held = *thread == std::thread::current().id();
        if is_held {
            unarmed.push(Unarmed { probe, is_new });
        }
        is_held
    }
}

impl LiveControl {
    /// From now on the probes that methods get on this thread are held back.
    pub(crate) fn hold(&self) {
        let mut state = self.state.lock();
        // Some are left if a change was broken off.
        let unarmed = state.unarmed.take().map(|(_, unarmed)| unarmed).unwrap_or_default();
        state.unarmed = Some((std::thread::current().id(), unarmed));
    }

    /// Has the probes record that were held back, and returns the changes to be recorded: new ones all at once, then those whose level changes. No more
    /// are held back.
    pub(crate) fn arm(&self) -> Vec<LevelChange> {
        let now = self.began.elapsed();
        let mut state = self.state.lock();
        let Some((_, unarmed)) = state.unarmed.take() else { return Vec::new() };
        let (new, other): (Vec<Unarmed>, Vec<Unarmed>) = unarmed.into_iter().partition(|unarmed| unarmed.is_new);
        self.levels.arm(new.iter().map(|unarmed| unarmed.probe));
        let mut changes = Vec::new();
        for Unarmed { probe, .. } in new {
            let Some(ruled) = state.ruled.get_mut(&probe) else { continue };
            ruled.begin = now;
            self.times.begin_again(probe, ruled.level);
            // A method without a probe was recorded at no level before; at the start of a session that means nothing.
            if ruled.wanted.by_person || now >= START {
                let (owner, reason) = ruled.wanted.owner();
                changes.push(LevelChange { probe, owner, reason, from: None, to: ruled.level });
            }
        }
        changes.extend(other.iter().filter_map(|other| self.change_to_wanted(&mut state, other.probe)));
        changes
    }

    /// Sets the level that is wanted of a live probe; what `instr level` has set takes precedence.
    pub(super) fn change_to_wanted(&self, state: &mut State, probe: u32) -> Option<LevelChange> {
        let ruled = state.ruled.get(&probe).copied()?;
        if state.set_by_person.contains_key(&probe) {
            return None;
        }
        if let Some(governor) = &mut state.governor {
            governor.forget(probe);
        }
        self.change(state, probe, ruled.wanted.owner(), ruled.level)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use instrument_core::level::Mode;
    use instrument_core::selection::Chosen;
    use records::probe_registry;

    use super::*;
    use crate::probes::live_control::DecidedClaims;

    fn changes(age: Duration, is_loaded: bool) -> Vec<(u32, bool)> {
        let registry = probe_registry::of_process();
        let control = LiveControl { began: Instant::now() - age, ..LiveControl::new(registry, Arc::default()) };
        let chosen = Chosen { rule: 0, templates: Arc::new([]), level: Level::Time, mode: Mode::Inline, capture: None };
        if is_loaded {
            control.hold();
        }
        let live = control.begin(41_200, &chosen, true, DecidedClaims::default());
        let fixed = control.begin_fixed(41_210, Level::Watch, DecidedClaims::default());
        let changes = live.into_iter().chain(fixed).chain(control.arm());
        changes.map(|change| (change.probe, change.from.is_none())).collect()
    }

    /// Calls were made before, and not recorded: reports must not take the figures for those of all the time.
    #[test]
    fn a_probe_that_a_loaded_class_gets_later_is_recorded_as_a_change() {
        assert_eq!(changes(Duration::from_secs(5), true), [(41_210, true), (41_200, true)]);
        assert_eq!(changes(Duration::ZERO, true), [], "at the start");
        assert_eq!(changes(Duration::from_secs(5), false), [], "a class that is being loaded");
    }
}
