//! Signals that end this command: the first one lets it say what was found, a second one ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Shells report a program that a signal ended with this number and that of the signal.
const BY_SIGNAL: u8 = 128;

/// Waiting for an agent ends after this time, to see whether there was a signal.
pub(super) const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

pub(crate) struct Interruption {
    /// The exit code; 0 as long as there was no signal.
    code: Arc<AtomicUsize>,
}

impl Interruption {
    pub(crate) fn listen() -> Result<Interruption> {
        let (code, is_second) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for (signal, number) in [(SIGHUP, 1), (SIGINT, 2), (SIGTERM, 15)] {
            let status = BY_SIGNAL + number;
            flag::register_conditional_shutdown(signal, i32::from(status), Arc::clone(&is_second))
                .and_then(|_| flag::register(signal, Arc::clone(&is_second)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&code), usize::from(status)))
                .context("cannot listen to signals")?;
        }
        Ok(Interruption { code })
    }

    /// Returns the exit code if there was a signal.
    pub(crate) fn code(&self) -> Option<u8> {
        u8::try_from(self.code.load(Ordering::Relaxed)).ok().filter(|code| *code > 0)
    }
}
