//! Names of parameters that rules ask for and that no method has: told once the application has had time to load its classes, in
//! `instr status` whenever somebody asks, and with the figures at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use classfile::ClassFile;
use instrument_core::selection::MissingParameters;
use instrument_core::selection::{ClassDecision, CompiledRule};
use parking_lot::Mutex;

use crate::log::message;

/// Before that another class may have the parameter.
const TIME_TO_LOAD: Duration = Duration::from_secs(30);

/// The doubts of a session.
#[derive(Debug)]
pub(crate) struct ParameterDoubts {
    began: Instant,
    missing: Mutex<MissingParameters>,
    told: AtomicBool,
}

impl ParameterDoubts {
    /// Nothing is known yet.
    pub(crate) fn new() -> ParameterDoubts {
        ParameterDoubts { began: Instant::now(), missing: Mutex::default(), told: AtomicBool::new(false) }
    }

    /// Looks at the methods of a class that rules take.
    pub(crate) fn note(&self, file: &ClassFile<'_>, decision: &ClassDecision) {
        for (index, chosen) in decision.chosen() {
            if let (Some(capture), Some(method)) = (&chosen.capture, file.methods().get(index)) {
                self.missing.lock().note(chosen.rule, capture, file, method);
            }
        }
    }

    /// A line for each.
    pub(crate) fn lines(&self, rules: &[CompiledRule]) -> Vec<String> {
        self.missing.lock().lines(rules)
    }

    /// Tells them, once and if it is time.
    pub(crate) fn tell(&self, rules: &[CompiledRule], is_last: bool) {
        if (is_last || self.began.elapsed() >= TIME_TO_LOAD) && !self.told.swap(true, Ordering::Relaxed) {
            self.lines(rules).iter().for_each(|line| message::say(&format!("warning: {line}")));
        }
    }
}
