//! Samples by JVMTI: whoever has used an interval of processor time since its last sample is asked for its stack.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::OWN_THREADS;
use crate::jvm::{
    AllThreads, Jni, Jvmti, JvmtiError, MethodId, ObjectRef, ThreadFacts, thread_cpu_nanos, thread_facts, walk_stacks,
};

/// A sample of a thread.
pub(super) struct ShareSample {
    pub(super) thread: ThreadFacts,
    pub(super) ticks: u32,
    pub(super) frames: Vec<(Option<MethodId>, Option<u32>)>,
}

/// Processor time of the threads, in ticks and what is left of it.
#[derive(Debug, Default)]
pub(super) struct CpuShares {
    threads: FxHashMap<u64, Share>,
    round: u64,
    last_round: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    counted_nanos: u64,
    round: u64,
}

impl CpuShares {
    /// Stacks (of at most `depth` frames) of all threads that have used an interval since they were last seen here.
    pub(super) fn samples(
        &mut self,
        (jvmti, jni): (Jvmti, &Jni<'_>),
        interval: Duration,
        depth: usize,
    ) -> Result<Vec<ShareSample>, JvmtiError> {
        self.round += 1;
        let elapsed = self.last_round.replace(Instant::now()).map_or(Duration::ZERO, |last| last.elapsed());
        let threads = AllThreads::of_jvm(jvmti, jni)?;
        let mut due: Vec<(ObjectRef<'_>, ThreadFacts, u32)> = Vec::new();
        for thread in threads.as_slice() {
            let facts = thread_facts(jvmti, jni, *thread);
            if facts.name.starts_with(OWN_THREADS) {
                continue;
            }
            let used = thread_cpu_nanos(jvmti, *thread).unwrap_or(0);
            let ticks = self.ticks(facts.java_id, used, (interval, elapsed));
            if ticks > 0 {
                due.push((*thread, facts, ticks));
            }
        }
        let round = self.round;
        self.threads.retain(|_, share| share.round == round);
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<ObjectRef<'_>> = due.iter().map(|(thread, _, _)| *thread).collect();
        let stacks = match walk_stacks(jvmti, &asked, depth) {
            // JDK 11 then gives none at all; the others are asked one by one.
            Err(error) if error.is_thread_that_ended() => {
                let alone = |thread| walk_stacks(jvmti, std::slice::from_ref(thread), depth).ok()?.pop();
                asked.iter().map(|thread| alone(thread).unwrap_or_default()).collect()
            }
            stacks => stacks?,
        };
        let samples = due.into_iter().zip(stacks);
        Ok(samples.map(|((_, thread, ticks), frames)| ShareSample { thread, ticks, frames }).collect())
    }

    /// Whole intervals that the thread has used and that were not counted yet. A thread that is new here cannot have used more
    /// than the time since the last round: what goes beyond belongs to something else that ran on the same thread before.
    fn ticks(&mut self, thread: u64, used_nanos: u64, (interval, elapsed): (Duration, Duration)) -> u32 {
        let [interval, elapsed] = [interval, elapsed].map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let interval = interval.max(1);
        let begin = used_nanos.saturating_sub(elapsed);
        let share = self.threads.entry(thread).or_insert(Share { counted_nanos: begin, round: 0 });
        share.round = self.round;
        let ticks = used_nanos.saturating_sub(share.counted_nanos) / interval;
        share.counted_nanos += ticks * interval;
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_add_up_to_the_time_used() {
        let time = |elapsed| (Duration::from_nanos(10), Duration::from_nanos(elapsed));
        let mut shares = CpuShares::default();
        assert_eq!(shares.ticks(1, 1_000, time(0)), 0, "used before sampling began");
        assert_eq!([1_009, 1_010, 1_045, 1_049].map(|used| shares.ticks(1, used, time(40))), [0, 1, 3, 0]);
        assert_eq!(shares.ticks(1, 1_050, time(40)), 1);
        assert_eq!(shares.ticks(2, 35, time(40)), 3, "a thread that has begun since");
        assert_eq!(shares.ticks(3, 9_000, time(40)), 4, "a second life of a thread that had worked before");
    }
}
