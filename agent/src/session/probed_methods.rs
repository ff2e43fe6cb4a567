//! The methods that carry probes: what `instr methods` lists.

use std::collections::BTreeSet;

use control::{MethodRow, MethodsDone};
use instrument_core::level::Level;
use records::probe_registry::{ProbeDescription, SECTION};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Session;
use crate::desired::live_selection::{LiveSelection, category_of};
use crate::desired::withdrawn_probes::WithdrawnProbes;
use crate::probes::hottest;
use crate::transform::inspection::{ProbedMethod, ProbedMethods};

/// Most probes in an answer, unless the request states another number.
const MOST: usize = 1_000;

/// Who wants probes, as of one moment.
struct Claimants {
    /// Claims of persons by probe.
    claims: FxHashMap<u32, Vec<u32>>,
    removed: FxHashSet<u32>,
}

impl Session {
    /// Returns the probes that the request means, in the order of their methods, and how many there are.
    pub(super) fn method_rows(
        &self,
        selection: Option<&LiveSelection>,
        most: Option<usize>,
    ) -> (Vec<MethodRow>, MethodsDone) {
        let generation = self.instrumentation.generation();
        let templates = generation.templates();
        let mut meant = self.instrumentation.live.described();
        meant.retain(|probe| selection.is_none_or(|selection| selection.lists(probe, templates)));
        let key = |probe: &ProbeDescription| {
            (probe.method.clone(), probe.descriptor.clone(), probe.template.clone(), probe.context.clone())
        };
        meant.sort_by_cached_key(key);
        let (matching, most) = (meant.len(), most.unwrap_or(MOST));
        meant.truncate(most);
        let claimants = self.claimants();
        let row = |probe: &ProbeDescription| {
            let (class, method) = probe.method.rsplit_once('.').unwrap_or(("", &probe.method));
            let is_suppressed = claimants.removed.contains(&probe.number);
            MethodRow {
                class: class.to_owned(),
                method: method.to_owned(),
                descriptor: probe.descriptor.clone(),
                template: probe.template.to_string(),
                context: (!probe.context.is_empty()).then(|| probe.context.to_string()),
                category: category_of(&probe.template, templates).to_owned(),
                level: self.present_level(probe).name().to_owned(),
                live: probe.live,
                state: if is_suppressed { "suppressed" } else { "active" }.to_owned(),
                wanted_by: self.wanted_by(probe, &claimants).into_iter().collect(),
            }
        };
        let rows = meant.iter().map(row).collect();
        (rows, MethodsDone { done: true, matching, left_out: matching.saturating_sub(most) })
    }

    /// Returns the methods that carry probes now, by class.
    pub(super) fn probed_methods(&self) -> ProbedMethods {
        let claimants = self.claimants();
        let probes = self.instrumentation.probes;
        let recorded = self.rates.as_ref().map(|rates| hottest::recorded_calls(probes, rates));
        let mut probed = ProbedMethods::default();
        for probe in self.instrumentation.live.described() {
            let Some((class, method)) = probe.method.rsplit_once('.') else { continue };
            if claimants.removed.contains(&probe.number) {
                continue;
            }
            let of_class = probed.by_class.entry(class.to_owned()).or_default();
            let level = self.present_level(&probe);
            let first = || ProbedMethod { level, recorded: None, wanted_by: BTreeSet::new() };
            let of_method = of_class.entry((method.to_owned(), probe.descriptor.clone())).or_insert_with(first);
            if let Some(recorded) = &recorded {
                let of_probe = recorded.get(&probe.number).copied().unwrap_or(0);
                of_method.recorded = Some(of_method.recorded.unwrap_or(0).saturating_add(of_probe));
            }
            of_method.wanted_by.extend(self.wanted_by(&probe, &claimants));
        }
        probed
    }

    fn present_level(&self, probe: &ProbeDescription) -> Level {
        if probe.live { self.instrumentation.live.level(probe.number) } else { probe.level }
    }

    fn claimants(&self) -> Claimants {
        Claimants {
            claims: self.instrumentation.live.claims_by_probe(),
            removed: self.instrumentation.withdrawn.as_ref().map(WithdrawnProbes::numbers).unwrap_or_default(),
        }
    }

    fn wanted_by(&self, probe: &ProbeDescription, claimants: &Claimants) -> BTreeSet<String> {
        let rule = self.instrumentation.wanting_rules.of(probe.number).map(|rule| format!("rule {rule}"));
        let section = (*probe.template == *SECTION).then(|| "application".to_owned());
        let claims = claimants.claims.get(&probe.number).into_iter().flatten().map(|claim| format!("claim {claim}"));
        rule.into_iter().chain(section).chain(claims).collect()
    }
}
