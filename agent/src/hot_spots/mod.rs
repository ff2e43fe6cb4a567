//! What is hot, and who calls a method: samples, or calls, are counted for a while, when somebody asks (docs/hot-spots.md). But for the hook of a caller finder
//! (`counted_calls`), no class is changed, and a trace file gets the same samples as without.
//!
//! A [`Detector`] says what it has seen since it was last asked; the [`Tally`] counts that by method, as its [`Attribution`] says, and makes
//! shares of it.

mod attribution;
mod counted_calls;
mod counted_method;
mod hand_overs;
mod jvm_threads;
mod margin;
mod meter;
mod queued_samples;
mod recorded_calls;
mod sampled_stacks;
mod seen;
mod tally;
mod thread_samples;

use std::time::{Duration, Instant};

pub(crate) use attribution::{Attribution, BEGINS, CalledMethod, TASK_BEGINS};
pub(crate) use counted_calls::{CountedCalls, FoundCallers};
pub(crate) use hand_overs::HandOvers;
pub(crate) use jvm_threads::JvmThreadTimes;
pub(crate) use margin::{margin, margin_of_sums};
pub(crate) use meter::Meter;
pub(crate) use queued_samples::{ProcessorSamples, QueuedSamples};
pub(crate) use recorded_calls::RecordedCalls;
pub(crate) use sampled_stacks::{SampledCaller, SampledStacks};
pub(crate) use tally::{Listed, Tally};
pub(crate) use thread_samples::{States, ThreadSamples};

use crate::jvm::Jni;

/// Sees what is hot.
pub(crate) trait Detector {
    /// Adds what it has seen since the last time.
    fn look(&mut self, jni: &Jni<'_>, tally: &mut Tally);

    /// How long to wait before it looks again.
    fn pause(&mut self) -> Duration;

    /// What takes the samples, for programs, and in which respect they are not what one might think, for people.
    fn source(&self) -> (&'static str, Option<&'static str>);

    /// What has happened meanwhile, for people.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// The milliseconds that a weight of 1 represents, after this time.
    fn millis(&self, watched: Duration) -> f64;

    /// Whether shares can be off by more than chance: then they have no margins.
    fn is_biased(&self) -> bool {
        false
    }
}

/// Has a detector look until the time is over, or as long as it `goes_on`. Returns how long that was.
pub(crate) fn watch(
    detector: &mut dyn Detector,
    jni: &Jni<'_>,
    tally: &mut Tally,
    (time, goes_on): (Duration, &dyn Fn() -> bool),
) -> Duration {
    let begin = Instant::now();
    while begin.elapsed() < time && goes_on() {
        detector.look(jni, tally);
        std::thread::sleep(detector.pause().min(time.saturating_sub(begin.elapsed())));
    }
    detector.look(jni, tally);
    begin.elapsed()
}

/// Between two looks whether it goes on.
const TURN: Duration = Duration::from_millis(50);

/// Waits so long, or as long as it goes on.
pub(crate) fn wait(time: Duration, goes_on: &dyn Fn() -> bool) {
    let begin = Instant::now();
    while begin.elapsed() < time && goes_on() {
        std::thread::sleep(TURN.min(time.saturating_sub(begin.elapsed())));
    }
}
