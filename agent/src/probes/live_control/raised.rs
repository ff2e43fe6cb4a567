//! Probes at a higher level than is wanted of them, because their calls were slow: the monitor's claims on levels.

use control::ClaimRow;
use instrument_core::level::Level;

use super::{LevelChange, LiveControl};
use crate::desired::rank;

/// As the owner of a change.
pub(super) const MONITOR: &str = "monitor";

impl LiveControl {
    /// Raises the level of a live probe until [`LiveControl::lower`], or until somebody else changes it. `Err`: why it stays as it is. What a person wants goes before, but for claims of
    /// which `may_overrule` is true.
    pub(crate) fn raise(
        &self,
        probe: u32,
        (level, reason): (Level, &str),
        may_overrule: &dyn Fn(u32) -> bool,
    ) -> Result<Option<LevelChange>, String> {
        let mut state = self.state.lock();
        let ruled = state.ruled.get(&probe).copied().ok_or("its probe has a fixed level")?;
        if state.set_by_person.contains_key(&probe) {
            return Err("its level was set by request".to_owned());
        }
        let by_claim = state.claimed.get(&probe).and_then(|claimed| claimed.deciding_claim());
        if let Some((claim, _)) = by_claim.filter(|(claim, _)| !may_overrule(*claim)) {
            return Err(format!("claim {claim} decides about its level"));
        }
        if state.ceilings.contains_key(&probe) {
            return Err("the governor has lowered it".to_owned());
        }
        if state.unwanted.contains(&probe) || ruled.level == Level::Off || rank(ruled.level) >= rank(level) {
            return Err(format!("level {} is wanted of it", ruled.level));
        }
        let change = self.change(&mut state, probe, (MONITOR, reason.to_owned()), level);
        state.raised.insert(probe, (level, reason.to_owned()));
        state.note(self.began.elapsed(), format!("{} raised to {level}: {reason}", self.name(probe)));
        Ok(change)
    }

    /// Hands a raised probe back; `None` if it is not raised any more.
    pub(crate) fn lower(&self, probe: u32, reason: &str) -> Option<LevelChange> {
        let mut state = self.state.lock();
        state.raised.remove(&probe)?;
        let to = state.ruled.get(&probe)?.level;
        state.note(self.began.elapsed(), format!("{} set back to {to}: {reason}", self.name(probe)));
        self.change(&mut state, probe, (MONITOR, reason.to_owned()), to)
    }

    /// Whether a probe has the level to which it was raised.
    pub(crate) fn is_raised(&self, probe: u32) -> bool {
        self.state.lock().raised.contains_key(&probe)
    }

    /// Returns the monitor's claims on levels.
    pub(crate) fn raised(&self) -> Vec<ClaimRow> {
        let state = self.state.lock();
        let row = |(probe, (level, reason)): (&u32, &(Level, String))| {
            let described = self.probes.describe(*probe);
            let (name, context) = described.map_or_else(Default::default, |of| (of.method, of.context));
            let (class, method) = name.rsplit_once('.').unwrap_or((&name, ""));
            let inside = if context.is_empty() { String::new() } else { format!(", inside {context}") };
            ClaimRow {
                owner: MONITOR.to_owned(),
                role: "detail".to_owned(),
                class: class.to_owned(),
                method: method.to_owned(),
                level: Some(level.name().to_owned()),
                state: "active".to_owned(),
                reason: format!("{reason}{inside}"),
                ..ClaimRow::default()
            }
        };
        let mut rows: Vec<ClaimRow> = state.raised.iter().map(row).collect();
        rows.sort_by(|a, b| (&a.class, &a.method, &a.reason).cmp(&(&b.class, &b.method, &b.reason)));
        rows
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use instrument_core::level::Mode;
    use instrument_core::selection::Chosen;
    use records::probe_registry::ProbeRegistry;

    use super::*;
    use crate::desired::ClaimedProbe;
    use crate::probes::live_control::DecidedClaims;

    /// The table of levels is one for all tests: each has numbers of its own.
    fn control_with(probe: u32, level: Level, claimed: Option<ClaimedProbe>) -> LiveControl {
        let control = LiveControl::new(Box::leak(Box::<ProbeRegistry>::default()), Arc::default());
        let chosen = Chosen { rule: 0, templates: Arc::new([]), level, mode: Mode::Inline, capture: None };
        control.begin(probe, &chosen, true, DecidedClaims { claimed, newest: 9 });
        control
    }

    fn raise(control: &LiveControl, probe: u32) -> Result<Option<LevelChange>, String> {
        control.raise(probe, (Level::Full, "slow"), &|claim| claim == 5)
    }

    #[test]
    fn a_probe_is_raised_and_handed_back() {
        let probe = 42_001;
        let control = control_with(probe, Level::Time, None);
        let change = raise(&control, probe).unwrap().unwrap();
        assert_eq!((change.owner, change.from, change.to), (MONITOR, Some(Level::Time), Level::Full));
        assert_eq!((control.level(probe), control.raised().len()), (Level::Full, 1));
        assert_eq!((&*control.raised()[0].owner, &*control.raised()[0].role), ("monitor", "detail"));
        let change = control.lower(probe, "quiet").unwrap();
        assert_eq!((change.from, change.to, control.raised().len()), (Some(Level::Full), Level::Time, 0));
        assert_eq!(control.lower(probe, "quiet"), None);
        assert!(raise(&control_with(42_011, Level::Full, None), 42_011).is_err(), "it records all there is");
        assert!(raise(&control, 42_021).unwrap_err().contains("fixed"));
    }

    #[test]
    fn what_a_person_wants_goes_before() {
        let probe = 42_031;
        let control = control_with(probe, Level::Time, None);
        raise(&control, probe).unwrap();
        control.add_claim(probe, (7, Level::Watch, true));
        assert_eq!((control.level(probe), control.is_raised(probe)), (Level::Watch, false));
        assert!(raise(&control, probe).unwrap_err().contains("claim 7"));
        let by_configuration = ClaimedProbe::new(None, vec![(5, Level::Time, true)]);
        let control = control_with(42_041, Level::Time, Some(by_configuration));
        assert!(raise(&control, 42_041).is_ok(), "a [[context]] is of the configuration, as this is");
    }
}
