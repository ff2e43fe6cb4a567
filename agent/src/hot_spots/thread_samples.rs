//! Hot by time, or by waiting for monitors: what threads execute or wait in, a few of all threads at random moments.

use std::time::Duration;

use control::CodeKind;
use rustc_hash::FxHashMap;

use super::Detector;
use super::counted_method::CountedMethod;
use super::seen::Seen;
use super::tally::Tally;
use crate::jvm::{
    AllThreads, Jni, Jvmti, MethodId, ObjectRef, ThreadState, WalkedStack, stacks_in_states, state_and_stack,
    thread_facts,
};
use crate::random::Random;
use crate::sampler::OWN_THREADS;

/// Between two looks, on the average.
const PAUSE: Duration = Duration::from_millis(20);
/// Threads that are asked in one look: more would stop the application longer.
const MOST_THREADS: usize = 16;
/// Methods whose names are kept.
const MOST_NAMES: usize = 50_000;
const BIAS: &str = "stacks are seen only at safepoints: what runs counts for its neighbours, what waits is exact; virtual threads count while they run, for their carriers";

/// Which threads count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum States {
    /// All.
    All,
    /// Those that wait to enter a monitor.
    Blocked,
}

/// Asks threads for their stacks.
pub(crate) struct ThreadSamples {
    jvmti: Jvmti,
    states: States,
    depth: usize,
    random: Random,
    names: FxHashMap<MethodId, CountedMethod>,
    looks: u64,
}

impl ThreadSamples {
    /// Threads in these states, with so many frames.
    pub(crate) fn new(jvmti: Jvmti, states: States, depth: usize) -> ThreadSamples {
        ThreadSamples { jvmti, states, depth, random: Random::default(), names: FxHashMap::default(), looks: 0 }
    }

    /// The threads that are sampled this time, and the number of threads that each represents.
    fn chosen<'a>(&mut self, jni: &Jni<'_>, threads: &AllThreads<'a>) -> (Vec<ObjectRef<'a>>, f64) {
        let mut all = threads.as_slice().to_vec();
        let count = all.len().min(MOST_THREADS);
        self.random.choose(&mut all, count);
        let represented = all.len() as f64 / count.max(1) as f64;
        all.truncate(count);
        all.retain(|thread| !thread_facts(self.jvmti, jni, *thread).name.starts_with(OWN_THREADS));
        (all, represented)
    }

    fn add(&mut self, jni: &Jni<'_>, (state, stack): (ThreadState, WalkedStack), weight: f64, tally: &mut Tally) {
        if self.states == States::Blocked && state != ThreadState::Blocked {
            return;
        }
        // Threads of the JVM that Java does not run on have no frames.
        let Some((_, offset)) = stack.first() else { return };
        let kind = offset.is_none().then_some(CodeKind::Native);
        let seen = Seen { weight, samples: 1, kind, line: 0, waits: state != ThreadState::Runnable };
        let truncated = stack.len() > self.depth;
        let names = stack.iter().take(self.depth).map(|(id, _)| self.name(jni, (*id)?));
        match names.collect::<Option<Vec<_>>>() {
            Some(methods) => tally.add_stack(&methods.iter().collect::<Vec<_>>(), truncated, seen),
            None => tally.add_failed("class unloaded", seen),
        }
    }

    fn name(&mut self, jni: &Jni<'_>, id: MethodId) -> Option<CountedMethod> {
        if let Some(known) = self.names.get(&id) {
            return Some(known.clone());
        }
        let method = CountedMethod::of(&id.facts_without_lines(self.jvmti, jni)?);
        if self.names.len() >= MOST_NAMES {
            self.names.clear();
        }
        self.names.insert(id, method.clone());
        Some(method)
    }
}

impl Detector for ThreadSamples {
    fn look(&mut self, jni: &Jni<'_>, tally: &mut Tally) {
        let Ok(threads) = AllThreads::of_jvm(self.jvmti, jni) else { return };
        let (chosen, represented) = self.chosen(jni, &threads);
        let stacks = stacks_in_states(self.jvmti, &chosen, self.depth + 1).or_else(|error| {
            // JDK 11 then gives none at all; the others are asked one by one.
            let alone = |thread: &ObjectRef<'_>| state_and_stack(self.jvmti, *thread, self.depth + 1).ok();
            if error.is_thread_that_ended() { Ok(chosen.iter().filter_map(alone).collect()) } else { Err(error) }
        });
        let Ok(stacks) = stacks else { return };
        self.looks += 1;
        for stack in stacks {
            self.add(jni, stack, represented, tally);
        }
    }

    fn pause(&mut self) -> Duration {
        PAUSE.mul_f64(0.5 + self.random.part())
    }

    fn millis(&self, watched: Duration) -> f64 {
        watched.as_secs_f64() * 1e3 / self.looks.max(1) as f64
    }

    /// Safepoints aside, a thread that waits for long is seen again and again: such samples are not independent.
    fn is_biased(&self) -> bool {
        true
    }

    fn source(&self) -> (&'static str, Option<&'static str>) {
        ("jvmti", Some(BIAS))
    }
}
