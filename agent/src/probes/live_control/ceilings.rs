//! What the governor has lowered: ceilings for what rules want, listed as its claims.

use control::ClaimRow;
use instrument_core::level::Level;

use super::{GOVERNOR, LiveControl, State};

impl State {
    /// Notes that the governor has set a probe to this level, and why; `None` if it has handed it back.
    pub(super) fn note_ceiling(&mut self, probe: u32, ceiling: Option<(Level, String)>) {
        match ceiling {
            Some(ceiling) => _ = self.ceilings.insert(probe, ceiling),
            None => _ = self.ceilings.remove(&probe),
        }
    }
}

impl LiveControl {
    /// Returns the claims of the governor on levels: methods at a lower level than is wanted of them.
    pub(crate) fn ceilings(&self) -> Vec<ClaimRow> {
        let state = self.state.lock();
        let mut rows: Vec<ClaimRow> = Vec::new();
        for (probe, (level, reason)) in &state.ceilings {
            // Somebody else has set the level since, or nothing more is wanted.
            let is_lower = state.ruled.get(probe).is_some_and(|ruled| ruled.level != *level);
            if !is_lower || self.levels.get(*probe) != *level || state.set_by_person.contains_key(probe) {
                continue;
            }
            let name = self.name(*probe);
            let (class, method) = name.rsplit_once('.').unwrap_or((&name, ""));
            rows.push(ClaimRow {
                id: None,
                owner: GOVERNOR.to_owned(),
                role: "ceiling".to_owned(),
                class: class.to_owned(),
                method: method.to_owned(),
                level: Some(level.name().to_owned()),
                state: "active".to_owned(),
                reason: reason.clone(),
                ..ClaimRow::default()
            });
        }
        rows.sort_by(|a, b| (&a.class, &a.method).cmp(&(&b.class, &b.method)));
        rows
    }
}
