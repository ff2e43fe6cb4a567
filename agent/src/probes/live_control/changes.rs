//! The results of checks by the governor and of requests.

use control::Changed;
use instrument_core::level::Level;

/// A change of one probe's level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LevelChange {
    pub(crate) probe: u32,
    /// Who wanted it: `rule`, `user`, `governor` or `monitor`.
    pub(crate) owner: &'static str,
    pub(crate) reason: String,
    /// `None` if the method has got the probe only now.
    pub(crate) from: Option<Level>,
    pub(crate) to: Level,
}

/// The result of a check by the governor.
#[derive(Debug, Default)]
pub(crate) struct Governing {
    pub(crate) changes: Vec<LevelChange>,
    /// Something that users should know.
    pub(crate) warning: Option<String>,
}

/// What a request to set levels did.
#[derive(Debug)]
pub(crate) struct LevelsSet {
    /// What the client is answered.
    pub(crate) answer: Changed,
    /// The changes to be recorded.
    pub(crate) changes: Vec<LevelChange>,
    /// The live probes that were meant.
    pub(crate) probes: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use control::WantedLevel;
    use instrument_core::level::{Level, Mode};
    use instrument_core::selection::Chosen;
    use records::probe_registry::{ProbeRegistry, ProbeRequest};
    use rustc_hash::FxHashSet;

    use crate::desired::live_selection::LiveSelection;
    use crate::probes::live_control::{DecidedClaims, LiveControl};

    fn request(live: bool) -> ProbeRequest<'static> {
        let level = if live { Level::Time } else { Level::Watch };
        ProbeRequest { name: b"a", descriptor: b"()V", access_flags: 1, template: "timed", level, live, context: "" }
    }

    #[test]
    fn a_request_for_ten_thousand_methods_has_a_short_answer() {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'p.**'\nlevel = 'time'\n", "c.toml").unwrap();
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let control = LiveControl::new(probes, Arc::default());
        let templates = Arc::from(setup.rules.rules()[0].templates());
        let chosen = Chosen { rule: 0, templates, level: Level::Time, mode: Mode::Inline, capture: None };
        for class in 0..10_000 {
            let numbers = probes.numbers((format!("p/C{class}").as_bytes(), 1), &[request(class % 2 == 0)]).unwrap();
            match class % 2 {
                0 => drop(control.begin(numbers[0], &chosen, true, DecidedClaims::default())),
                _ => drop(control.begin_fixed(numbers[0], Level::Watch, DecidedClaims::default())),
            }
        }
        let all = LiveSelection::parse("p.**").unwrap();
        let done = control.set(&all, WantedLevel::Exact(Level::Off), &setup, &FxHashSet::default());
        assert_eq!((done.answer.changed, done.answer.fixed[0].methods), (5_000, 5_000));
        assert!(serde_json::to_string(&done.answer).unwrap().len() < 1_000, "counts, not names");
    }
}
