//! Walks that nobody asks for (`[walk]`): one after the other, in the background.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{Refusal, WalkRequest};
use settings::WalkConfig;

use super::run::Options;
use crate::jvm::block_signals;
use crate::session::Session;

/// What a program does in its first seconds is rarely what it does later.
const FIRST: Duration = Duration::from_secs(30);
/// The thread of a walk uses at most one part in this many of the time from its beginning to that of the next one.
const MOST_OF_TIME: u32 = 200;

/// When the next walk begins; `None` as long as `[walk]` is not stated.
#[derive(Debug, Default)]
pub(super) struct Due(Option<Instant>);

impl Due {
    /// Whether a walk begins now. If so, the next one begins later.
    fn is_now(&mut self, config: Option<&WalkConfig>, now: Instant) -> bool {
        let (Some(config), due) = (config, &mut self.0) else {
            self.0 = None;
            return false;
        };
        let is_now = due.is_some_and(|due| due <= now);
        if is_now || due.is_none() {
            *due = Some(now + if is_now { config.every } else { FIRST.min(config.every) });
        }
        is_now
    }

    /// The walk that began then has used so much processor time.
    fn note_cost(&mut self, began: Instant, used: Duration) {
        if let Some(due) = &mut self.0 {
            *due = (*due).max(began + used * MOST_OF_TIME);
        }
    }
}

impl Session {
    /// Called by the drainer every few milliseconds.
    pub(in crate::session) fn walk_by_itself(self: &Arc<Self>) {
        let generation = self.instrumentation.generation();
        let began = Instant::now();
        let is_now = |due: &mut Due| due.is_now(generation.setup.config.walk.as_ref(), began);
        // The drainer must not block; its next round comes soon.
        if !self.walks.due.try_lock().is_some_and(|mut due| is_now(&mut due)) {
            return;
        }
        let Some(Ok(options)) = generation.setup.config.walk.as_ref().map(options) else { return };
        let session = Arc::clone(self);
        let walk = move || {
            block_signals();
            match session.walk(options, None, &|| true) {
                Ok(used) => session.walks.due.lock().note_cost(began, used),
                Err(refusal) => tracing::info!("no walk is made now: {refusal}"),
            }
        };
        match std::thread::Builder::new().name("instr-walks".to_owned()).spawn(walk) {
            Ok(thread) => self.running.lock().await_at_the_end(thread),
            Err(error) => tracing::warn!(%error, "no walk is made now: there is no thread for it"),
        }
    }
}

/// What the table states, and the rest as `instr walk` has it.
fn options(config: &WalkConfig) -> Result<Options, Refusal> {
    let request = WalkRequest {
        top: Some(config.top as usize),
        seconds: Some(config.sampling.as_secs().max(1)),
        levels: Some(config.levels as usize),
        hooks: Some(config.hooks as usize),
        ..WalkRequest::default()
    };
    let mut options = super::options(&request)?;
    options.through = config.through.iter().map(|class| class.get_ref().clone()).collect();
    options.policy.boundary = config.boundary.iter().map(|class| class.get_ref().clone()).collect();
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_begin_at_intervals_and_later_if_they_cost_much() {
        let config = WalkConfig { every: Duration::from_secs(60), ..WalkConfig::default() };
        let (mut due, start) = (Due::default(), Instant::now());
        let begins = |due: &mut Due, second: u64| due.is_now(Some(&config), start + Duration::from_secs(second));
        assert_eq!(
            [0, 29, 30, 31, 89, 90].map(|second| begins(&mut due, second)),
            [false, false, true, false, false, true]
        );
        due.note_cost(start + Duration::from_secs(90), Duration::from_millis(100));
        assert!(!begins(&mut due, 149) && begins(&mut due, 150), "20 s are less than the interval");
        due.note_cost(start + Duration::from_secs(150), Duration::from_secs(1));
        assert!(!begins(&mut due, 349) && begins(&mut due, 350), "half a percent of 200 s");
        assert!(!due.is_now(None, start + Duration::from_secs(900)), "the table was removed");
        assert!(!begins(&mut due, 900) && begins(&mut due, 930), "it begins anew");
    }
}
