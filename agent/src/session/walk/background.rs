//! Background walks (`[walk]`): one after the other, without a request.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use control::{Refusal, Walk, WalkRequest};
use parking_lot::Mutex;
use settings::WalkConfig;

use super::run::Options;
use crate::jvm::block_signals;
use crate::session::Session;

/// What a program does in its first seconds is rarely what it does later.
const FIRST: Duration = Duration::from_secs(30);
/// The thread of a walk uses at most one part in this many of the time from its beginning to that of the next one.
const MOST_OF_TIME: u32 = 200;
/// A person waits so long for a background walk to end.
const LONGEST_WAY: Duration = Duration::from_secs(5);

/// When background walks begin.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Since when `[walk]` is stated, or the last walk was refused.
    since: Option<Instant>,
    /// When the last walk began, and the processor time that its thread has used.
    last: Option<(Instant, Duration)>,
}

impl Due {
    /// Whether a walk begins now.
    fn is_now(&mut self, config: Option<&WalkConfig>, now: Instant) -> bool {
        let Some(config) = config else {
            *self = Due::default();
            return false;
        };
        let since = *self.since.get_or_insert(now);
        let due = match self.last {
            None => since + FIRST.min(config.every),
            Some((began, used)) => began + config.every.max(used * MOST_OF_TIME),
        };
        if now >= due {
            self.last = Some((now, Duration::ZERO));
        }
        now >= due
    }

    /// The last walk has used so much processor time.
    fn note_cost(&mut self, used: Duration) {
        if let Some((_, cost)) = &mut self.last {
            *cost = used;
        }
    }

    /// The last walk was refused, or had to make way for a person: the next one begins soon.
    fn note_refusal(&mut self, now: Instant) {
        (self.since, self.last) = (Some(now), None);
    }
}

impl Session {
    /// Called by the drainer every few milliseconds.
    pub(in crate::session) fn walk_in_background(self: &Arc<Self>) {
        let generation = self.instrumentation.generation();
        let is_now = |due: &mut Due| due.is_now(generation.setup.config.walk.as_ref(), Instant::now());
        // The drainer must not block; its next round comes soon.
        if !self.walks.due.try_lock().is_some_and(|mut due| is_now(&mut due)) {
            return;
        }
        let Some(Ok(options)) = generation.setup.config.walk.as_ref().map(options) else { return };
        let session = Arc::clone(self);
        let walk = move || {
            block_signals();
            session.make_one_walk(options);
        };
        // Nobody waits for the thread: the end of the recording waits for the walk.
        if let Err(error) = std::thread::Builder::new().name("instr-walks".to_owned()).spawn(walk) {
            tracing::warn!(%error, "no walk is made now: there is no thread for it");
        }
    }

    fn make_one_walk(&self, options: Options) {
        let walks = &self.walks;
        walks.makes_way.store(false, Ordering::Release);
        // The last result is shown until there is a new one.
        let found: Arc<Mutex<Option<Walk>>> = Arc::default();
        walks.is_background.store(true, Ordering::Release);
        let result = self.walk((options, None), &found, &|| !walks.makes_way.load(Ordering::Acquire));
        walks.is_background.store(false, Ordering::Release);
        match result {
            Ok(used) => walks.due.lock().note_cost(used),
            Err(refusal) => {
                tracing::info!("no walk is made now: {refusal}");
                walks.due.lock().note_refusal(Instant::now());
                return;
            }
        }
        if walks.makes_way.load(Ordering::Acquire) {
            walks.due.lock().note_refusal(Instant::now());
        } else if let Some(found) = found.lock().take() {
            *walks.state.lock() = Some(found);
        }
    }

    /// Ends a background walk that is under way: a person wants to look.
    pub(in crate::session) fn end_background_walk(&self) {
        if self.walks.is_background.load(Ordering::Acquire) {
            self.walks.makes_way.store(true, Ordering::Release);
            drop(self.walks.walking.try_lock_for(LONGEST_WAY));
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
        budget: Some(config.budget),
        across_threads: config.across_threads,
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
        let minutely = WalkConfig { every: Duration::from_secs(60), ..WalkConfig::default() };
        let (mut due, start) = (Due::default(), Instant::now());
        let at = |second: u64| start + Duration::from_secs(second);
        let begins = |due: &mut Due, second: u64| due.is_now(Some(&minutely), at(second));
        let seconds = [0, 29, 30, 31, 89, 90];
        assert_eq!(seconds.map(|second| begins(&mut due, second)), [false, false, true, false, false, true]);
        due.note_cost(Duration::from_millis(100));
        assert!(!begins(&mut due, 149) && begins(&mut due, 150), "20 s are less than the interval");
        due.note_cost(Duration::from_secs(1));
        assert!(!begins(&mut due, 349) && begins(&mut due, 350), "half a percent of 200 s");
        let often = WalkConfig { every: Duration::from_secs(10), ..WalkConfig::default() };
        assert!(!due.is_now(Some(&often), at(359)) && due.is_now(Some(&often), at(360)), "a reload counts at once");
        due.note_refusal(at(361));
        assert!(!begins(&mut due, 390) && begins(&mut due, 391), "one that was refused is made up for");
        assert!(!due.is_now(None, at(900)), "the table was removed");
        assert!(!begins(&mut due, 900) && begins(&mut due, 930), "it begins anew");
    }
}
