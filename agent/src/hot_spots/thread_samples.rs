//! Hot by time, or by waiting for monitors: what threads execute or wait in, a few of all threads at random moments.

use std::time::Duration;

use control::CodeKind;
use rustc_hash::FxHashMap;

use super::Detector;
use super::queued_samples::counted_method;
use super::tally::{CountedMethod, Seen, Tally};
use crate::jvm::{
    AllThreads, Jni, Jvmti, MethodId, ObjectRef, ThreadState, WalkedStack, stacks_in_states, thread_facts,
};
use crate::random::Random;

/// Between two looks, on the average.
const PAUSE: Duration = Duration::from_millis(20);
/// Threads that are asked in one look: more would stop the application longer.
const MOST_THREADS: usize = 16;
/// Methods whose names are kept.
const MOST_NAMES: usize = 50_000;
/// Threads of the agent itself.
const OWN_THREADS: &str = "instr-";
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
    random: Random,
    names: FxHashMap<MethodId, CountedMethod>,
}

impl ThreadSamples {
    /// Threads in these states.
    pub(crate) fn new(jvmti: Jvmti, states: States) -> ThreadSamples {
        ThreadSamples { jvmti, states, random: Random::default(), names: FxHashMap::default() }
    }

    /// Threads that are chosen this time, and how many each of them stands for.
    fn chosen<'a>(&mut self, jni: &Jni<'_>, threads: &AllThreads<'a>) -> (Vec<ObjectRef<'a>>, f64) {
        let mut all = threads.as_slice().to_vec();
        let count = all.len().min(MOST_THREADS);
        self.random.choose(&mut all, count);
        let stands_for = all.len() as f64 / count.max(1) as f64;
        all.truncate(count);
        all.retain(|thread| !thread_facts(self.jvmti, jni, *thread).name.starts_with(OWN_THREADS));
        (all, stands_for)
    }

    fn add(&mut self, jni: &Jni<'_>, (state, stack): (ThreadState, WalkedStack), weight: f64, tally: &mut Tally) {
        if self.states == States::Blocked && state != ThreadState::Blocked {
            return;
        }
        let seen = |kind| Seen { weight, samples: 1, kind, waits: state != ThreadState::Runnable };
        match stack.first() {
            Some((Some(id), offset)) => {
                let native = offset.is_none().then_some(CodeKind::Native);
                match self.name(jni, *id) {
                    Some(method) => tally.add(&method, seen(native)),
                    None => tally.add_without_method("class unloaded", seen(native)),
                }
            }
            Some((None, _)) => tally.add_without_method("method without id", seen(None)),
            // Threads of the JVM that Java does not run on.
            None => {}
        }
    }

    fn name(&mut self, jni: &Jni<'_>, id: MethodId) -> Option<CountedMethod> {
        if let Some(known) = self.names.get(&id) {
            return Some(known.clone());
        }
        let method = counted_method(&id.facts_without_lines(self.jvmti, jni)?);
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
        let (chosen, stands_for) = self.chosen(jni, &threads);
        // An error means that one of them has ended meanwhile: the next look is soon.
        for stack in stacks_in_states(self.jvmti, &chosen, 1).unwrap_or_default() {
            self.add(jni, stack, stands_for, tally);
        }
    }

    fn pause(&mut self) -> Duration {
        PAUSE.mul_f64(0.5 + self.random.part())
    }

    fn source(&self) -> (&'static str, Option<&'static str>) {
        ("jvmti", Some(BIAS))
    }
}
