//! Hot by calls: those that probes have recorded meanwhile.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use records::probe_registry::ProbeRegistry;
use rustc_hash::FxHashMap;

use super::Detector;
use super::counted_method::CountedMethod;
use super::seen::Seen;
use super::tally::Tally;
use crate::call_sites::method_text;
use crate::jvm::Jni;
use crate::probes::hottest::recorded_calls;
use crate::recorder::CallRates;

/// Counts are kept anyway: they are looked at only so often that the end is noticed soon.
const PAUSE: Duration = Duration::from_millis(200);
const BIAS: &str = "only methods with probes; of several probes of a method, the one that recorded most; at level watch, calls are seen now and then";

/// Compares the counts of all probes.
pub(crate) struct RecordedCalls {
    probes: &'static ProbeRegistry,
    rates: Arc<Mutex<CallRates>>,
    /// By the number of the probe.
    before: FxHashMap<u32, u64>,
}

impl RecordedCalls {
    /// Calls from now on.
    pub(crate) fn new(probes: &'static ProbeRegistry, rates: Arc<Mutex<CallRates>>) -> RecordedCalls {
        let before = recorded_calls(probes, &rates);
        RecordedCalls { probes, rates, before }
    }
}

impl Detector for RecordedCalls {
    fn look(&mut self, _: &Jni<'_>, tally: &mut Tally) {
        let now = recorded_calls(self.probes, &self.rates);
        let since = |(number, calls): (&u32, &u64)| {
            let new = calls.saturating_sub(self.before.get(number).copied().unwrap_or(0));
            (new > 0).then_some((*number, new))
        };
        let called: Vec<(u32, u64)> = now.iter().filter_map(since).collect();
        let known = self.probes.known(called.iter().map(|(number, _)| *number));
        // Of several probes of a method, as of two templates, each records all calls, or fewer.
        let mut by_method: FxHashMap<_, u64> = FxHashMap::default();
        for (known, (_, calls)) in known.iter().zip(called) {
            let Some(known) = known else { continue };
            let of_method = by_method.entry(known.method()).or_default();
            *of_method = calls.max(*of_method);
        }
        for ((class, name, descriptor), calls) in by_method {
            let method = CountedMethod {
                text: method_text(class, name, descriptor).into(),
                class: class.into(),
                ..CountedMethod::default()
            };
            tally.add(&method, Seen { weight: calls as f64, samples: calls, kind: None, line: 0, waits: false });
        }
        self.before = now;
    }

    fn pause(&mut self) -> Duration {
        PAUSE
    }

    fn millis(&self, _: Duration) -> f64 {
        0.0
    }

    fn source(&self) -> (&'static str, Option<&'static str>) {
        ("records", Some(BIAS))
    }
}
