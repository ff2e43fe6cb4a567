//! Claims on probes whose level another person's claim decides.

use std::collections::BTreeMap;

use instrument_core::level::Level;
use trace::report::count;

use super::{LiveControl, State};

impl State {
    /// Returns the claim that decides about the level of a probe, and this level. What `instr level` has set takes precedence.
    fn deciding_claim(&self, probe: u32) -> Option<(u32, Level)> {
        let set = self.set_by_person.get(&probe).and_then(|by| Some((*by, self.level_claims.get(by)?.1)));
        set.or_else(|| self.claimed.get(&probe)?.deciding_claim())
    }
}

impl LiveControl {
    /// Returns how many probes of a claim have another level than the claim wants, and which claims decide about them; `None` if none has.
    pub(crate) fn overruled(&self, claim: u32, wanted: Level) -> Option<String> {
        let state = self.state.lock();
        let mut by_others: BTreeMap<(u32, Level), u64> = BTreeMap::new();
        let of_claim = state.claimed.iter().filter(|(_, claimed)| claimed.is_wanted_by(claim));
        for by in of_claim.filter_map(|(probe, _)| state.deciding_claim(*probe)) {
            if by.0 != claim && by.1 != wanted {
                *by_others.entry(by).or_default() += 1;
            }
        }
        let text = |((by, level), methods): (&(u32, Level), &u64)| {
            let methods =
                if *methods == 1 { "1 method is".to_owned() } else { format!("{} methods are", count(*methods)) };
            format!("{methods} at level {level} because of claim {by}")
        };
        let texts: Vec<String> = by_others.iter().map(text).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }
}
