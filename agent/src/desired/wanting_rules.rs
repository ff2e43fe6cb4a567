//! Which rule wanted a probe when its class was decided last: by name, as rules have other positions after a reload. A reload that only renames a
//! rule decides about no class again, so the new names are noted here.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

/// The rules by the numbers of their probes.
#[derive(Debug, Default)]
pub(crate) struct WantingRules {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Each name once.
    names: FxHashSet<Arc<str>>,
    by_probe: FxHashMap<u32, Arc<str>>,
}

impl WantingRules {
    /// Notes the rule that wants a probe; `None` if only a person does.
    pub(crate) fn note(&self, probe: u32, rule: Option<&str>) {
        let mut known = self.known.lock();
        let Some(rule) = rule else {
            known.by_probe.remove(&probe);
            return;
        };
        let name = known.names.get(rule).map_or_else(|| Arc::from(rule), Arc::clone);
        known.names.insert(Arc::clone(&name));
        known.by_probe.insert(probe, name);
    }

    /// Replaces names of rules by those that the same rules have now.
    pub(crate) fn rename(&self, renamed: &BTreeMap<String, String>) {
        let mut known = self.known.lock();
        if renamed.is_empty() {
            return;
        }
        let Known { names, by_probe } = &mut *known;
        names.extend(renamed.values().map(|name| Arc::from(name.as_str())));
        for name in by_probe.values_mut() {
            let now = renamed.get(&**name).and_then(|now| names.get(now.as_str()));
            if let Some(now) = now {
                *name = Arc::clone(now);
            }
        }
    }

    /// Returns the name of the rule that wants this probe.
    pub(crate) fn of(&self, probe: u32) -> Option<Arc<str>> {
        self.known.lock().by_probe.get(&probe).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_rule_counts_and_a_probe_that_only_a_person_wants_has_none() {
        let rules = WantingRules::default();
        rules.note(1, Some("orders"));
        rules.note(2, Some("orders"));
        rules.note(2, Some("bills"));
        assert_eq!(
            [1, 2, 3].map(|probe| rules.of(probe).as_deref().map(str::to_owned)),
            [Some("orders".to_owned()), Some("bills".to_owned()), None]
        );
        rules.note(1, None);
        assert_eq!(rules.of(1), None);
    }

    #[test]
    fn renamed_rules_have_their_new_names_at_once() {
        let rules = WantingRules::default();
        rules.note(1, Some("orders"));
        rules.note(2, Some("bills"));
        rules.note(3, Some("others"));
        let swapped = [("orders", "bills"), ("bills", "orders")].map(|(was, is)| (was.to_owned(), is.to_owned()));
        rules.rename(&BTreeMap::from(swapped));
        assert_eq!([1, 2, 3].map(|probe| rules.of(probe).unwrap().to_string()), ["bills", "orders", "others"]);
    }
}
