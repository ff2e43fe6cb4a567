//! Classes whose code runs in a frame that does not return: main loops and loops of workers.
//!
//! HotSpot compiles nothing for old versions of methods. A frame that runs when its class is retransformed continues in the interpreter until
//! it returns: a loop that never ends becomes ten times slower for ever (measured on JDK 17 and 25). Frames that wait, or only call, lose nothing
//! that can be felt: what counts is how often a frame itself runs.
//!
//! JVMTI does not distinguish a frame that stays from one that is called again and again, so two things are checked. A frame stays if it is seen in
//! all samples while every frame below it is at the same instruction; and none of those may be in a loop that could call it again, unless
//! the loop is the JDK's: pools of threads call tasks in a loop, and a task that lasts is a worker. A loop of the application around another
//! loop of the application is therefore not recognised; nor are virtual threads, which JVMTI does not list.

use std::time::{Duration, Instant};

use classfile::instruction::Instructions;
use rustc_hash::FxHashMap;

use crate::classes::hierarchy::{ClassId, class_id};
use crate::jvm::{
    AllThreads, Jni, Jvmti, LoadedClass, MethodFacts, MethodId, ObjectRef, WalkedStack, Wish, ask_for,
    thread_cpu_nanos, thread_facts, walk_stacks_with_states,
};
use crate::random::Random;

/// A frame that is on top in fewer of the samples loses nothing that can be felt.
const LEAST_PART: f64 = 0.01;
/// First all threads are looked at a few times: which of them run?
const LOOKS: usize = 5;
/// Then the stacks of these are taken this often.
const SAMPLES: usize = 20;
const APART: Duration = Duration::from_millis(10);
/// Threads that use processor time in between, and mostly sleep, are sampled more often and for longer.
const MORE_SAMPLES: usize = 400;
const CLOSER: Duration = Duration::from_millis(2);
/// For this time at least it is watched whether a thread uses processor time.
const LEAST_TIME: Duration = Duration::from_millis(250);
/// What such a thread uses at least of a processor.
const LEAST_USED: f64 = 0.01;
/// What its frame is on top of these samples at least: less than what it uses, as what it calls is on top in others.
const LEAST_PART_OF_MORE: f64 = 0.005;
/// A smaller part may be chance, as a stop finds threads more often where a loop ends than elsewhere: then as many samples are taken again.
const SURE_PART_OF_MORE: f64 = 0.02;
/// Of deeper stacks the outermost frames are not seen.
const DEEPEST: usize = 1_024;

/// A frame that does not return.
#[derive(Debug, Clone)]
pub(super) struct StandingFrame {
    method: String,
    thread: String,
    percent: f64,
}

impl StandingFrame {
    /// Returns why the class waits.
    pub(super) fn reason(&self) -> String {
        let StandingFrame { method, thread, percent } = self;
        let class = method.rsplit_once('.').map_or(method.as_str(), |(class, _)| class);
        let part = if *percent < 1.0 { format!("{percent:.1}") } else { format!("{percent:.0}") };
        format!(
            "{class} waits for its probes: {method} runs in a loop in thread {thread} ({part} % of the time), and HotSpot would \
             interpret it from then on; start the application with a rule for it in the configuration of the agent, or wait \
             until the method returns"
        )
    }
}

/// Returns the classes of frames that do not return and run. Takes 50 ms if no thread runs, else a quarter of a second, and one more second if a thread
/// mostly waits and works now and then, and another one if that saw it run in few samples.
///
/// Whether a frame runs is seen by the state of its thread: on a machine that has too few processors, a thread that never waits may get no processor
/// time for as long. Processor time says only which of the threads that wait are worth a longer look.
///
/// The longer look stops the application hundreds of times: it is for threads with a frame of a class that `is_meant`, at an instruction in a loop.
pub(super) fn find(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    is_meant: &dyn Fn(&ClassId) -> bool,
) -> FxHashMap<ClassId, StandingFrame> {
    let mut found = FxHashMap::default();
    if !ask_for(jvmti, Wish::Bytecodes) {
        tracing::debug!("this JVM does not show bytecode: no frame is looked for that does not return");
        return found;
    }
    let Ok(threads) = AllThreads::of_jvm(jvmti, jni) else { return found };
    let used_before = used(jvmti, threads.as_slice());
    let (start, all) = (Instant::now(), threads.as_slice());
    let is_running = running_threads(jvmti, all);
    let pick =
        |is_picked: &dyn Fn(usize) -> bool| -> Vec<usize> { (0..all.len()).filter(|at| is_picked(*at)).collect() };
    let threads_at =
        |places: &[usize]| -> Vec<ObjectRef<'_>> { places.iter().filter_map(|at| all.get(*at).copied()).collect() };
    let running = pick(&|at| is_running.get(at) == Some(&true));
    let is_repeated = |method: MethodId, at: u32| is_in_own_loop(jvmti, jni, method, at);
    let mut add = |at: usize, samples: &[Sample], least: f64| {
        for (method, part) in standing(samples, &is_repeated).into_iter().filter(|(_, part)| *part >= least) {
            let Some(class) = method.with_class(jvmti, jni, |class| class_id(jvmti, jni, class)) else { continue };
            let method = method.facts_without_lines(jvmti, jni).map_or_else(String::new, |facts| name(&facts));
            let thread = all.get(at).map_or_else(String::new, |thread| thread_facts(jvmti, jni, *thread).name);
            found.insert(class, StandingFrame { method, thread, percent: part * 100.0 });
        }
    };
    let mut waiting = pick(&|at| is_running.get(at) == Some(&false));
    let mut few = Vec::new();
    for (at, samples) in running.iter().zip(sample(jvmti, &threads_at(&running), (SAMPLES, APART))) {
        let waited = samples.iter().filter(|(is_runnable, _)| !is_runnable).count();
        // Of a thread that mostly waits these samples are too few, if there can be more.
        if waited * 2 > samples.len() {
            waiting.push(*at);
            few.push((*at, samples));
        } else {
            add(*at, &samples, LEAST_PART);
        }
    }
    let mut has_loop = stacks(jvmti, &threads_at(&waiting), DEEPEST)
        .into_iter()
        .map(|(_, stack)| stack.into_iter().any(|(method, at)| is_in_meant_loop(jvmti, jni, (method, at), is_meant)));
    waiting.retain(|_| has_loop.next() == Some(true));
    few.into_iter().filter(|(at, _)| !waiting.contains(at)).for_each(|(at, samples)| add(at, &samples, LEAST_PART));
    if !waiting.is_empty() {
        std::thread::sleep(LEAST_TIME.saturating_sub(start.elapsed()));
        let least = start.elapsed().as_nanos() as f64 * LEAST_USED;
        let used = used(jvmti, all);
        waiting.retain(|at| {
            let (now, before) = (used.get(*at).copied().flatten(), used_before.get(*at).copied().flatten());
            now.zip(before).is_none_or(|(now, before)| now.saturating_sub(before) as f64 >= least)
        });
    }
    let mut more = sample(jvmti, &threads_at(&waiting), (MORE_SAMPLES, CLOSER));
    if more.iter().any(|samples| standing(samples, &is_repeated).iter().any(|(_, part)| *part < SURE_PART_OF_MORE)) {
        let again = sample(jvmti, &threads_at(&waiting), (MORE_SAMPLES, CLOSER));
        more.iter_mut().zip(again).for_each(|(samples, again)| samples.extend(again));
    }
    for (at, samples) in waiting.iter().zip(more) {
        add(*at, &samples, LEAST_PART_OF_MORE);
    }
    found
}

/// Returns the processor time of each thread up to now, in nanoseconds, as far as the JVM has it.
fn used(jvmti: Jvmti, threads: &[ObjectRef<'_>]) -> Vec<Option<u64>> {
    if !ask_for(jvmti, Wish::ThreadCpuTime) {
        return Vec::new();
    }
    threads.iter().map(|thread| thread_cpu_nanos(jvmti, *thread)).collect()
}

/// Returns which of the threads were seen running Java code.
fn running_threads(jvmti: Jvmti, threads: &[ObjectRef<'_>]) -> Vec<bool> {
    let mut runs = vec![false; threads.len()];
    for _ in 0..LOOKS {
        for (runs, (is_runnable, stack)) in runs.iter_mut().zip(stacks(jvmti, threads, 1)) {
            *runs |= is_runnable && stack.first().is_some_and(|(_, place)| place.is_some());
        }
        std::thread::sleep(APART);
    }
    runs
}

/// Returns this number of samples of each of the threads, at random moments that are this far apart on the average. At a fixed pace, a thread that is woken up by a timer was met at the same
/// point each time: of one that worked 5 % of the time, 400 samples in a row saw nothing.
fn sample(jvmti: Jvmti, threads: &[ObjectRef<'_>], (times, apart): (usize, Duration)) -> Vec<Vec<Sample>> {
    let mut samples = vec![Vec::with_capacity(times); threads.len()];
    if threads.is_empty() {
        return samples;
    }
    let mut random = Random::default();
    for _ in 0..times {
        samples.iter_mut().zip(stacks(jvmti, threads, DEEPEST)).for_each(|(all, sample)| all.push(sample));
        std::thread::sleep(apart.mul_f64(0.5 + random.part()));
    }
    samples
}

/// Whether the thread was runnable, and its stack.
type Sample = (bool, WalkedStack);

fn stacks(jvmti: Jvmti, threads: &[ObjectRef<'_>], depth: usize) -> Vec<Sample> {
    let stacks = walk_stacks_with_states(jvmti, threads, depth);
    stacks.inspect_err(|error| tracing::debug!(%error, "the stacks of threads cannot be read")).unwrap_or_default()
}

fn name(method: &MethodFacts) -> String {
    let class = trace::text_of_modified_utf8(&method.class).replace('/', ".");
    format!("{class}.{}", trace::text_of_modified_utf8(&method.name))
}

/// Returns the methods whose frames were there in all of these samples of one thread, and in which part of the samples each was on top.
/// `is_repeated` says whether a frame at this instruction may call the next one again.
fn standing(samples: &[Sample], is_repeated: &dyn Fn(MethodId, u32) -> bool) -> Vec<(MethodId, f64)> {
    let Some((_, first)) = samples.first() else { return Vec::new() };
    let mut found = Vec::new();
    // The outermost frame is the last one of a stack.
    for depth in 0..first.len() {
        let frame = |stack: &WalkedStack| stack.len().checked_sub(depth + 1).and_then(|at| stack.get(at).copied());
        let Some((method, _)) = frame(first) else { break };
        if !samples.iter().all(|(_, stack)| frame(stack).is_some_and(|(other, _)| other == method)) {
            break;
        }
        let on_top = |sample: &&Sample| sample.1.len() == depth + 1;
        let running = samples.iter().filter(|sample| on_top(sample) && sample.0).count();
        if let Some(method) = method.filter(|_| running > 0) {
            found.push((method, running as f64 / samples.len() as f64));
        }
        // What this frame calls is the same call only if it is at the same instruction each time, and not in a loop.
        let calls = samples.iter().filter(|sample| !on_top(sample));
        let mut places = calls.filter_map(|(_, stack)| frame(stack)).map(|(_, at)| at);
        let place = places.next();
        let same = !samples.iter().any(|sample| on_top(&sample))
            && place.is_some_and(|place| places.all(|other| other == place));
        let repeats = match (method, place.flatten()) {
            (Some(method), Some(place)) => is_repeated(method, place),
            _ => false,
        };
        if !same || repeats {
            break;
        }
    }
    found
}

/// Whether a frame is at an instruction in a loop of a method of a class that `is_meant`.
fn is_in_meant_loop(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    (method, at): (Option<MethodId>, Option<u32>),
    is_meant: &dyn Fn(&ClassId) -> bool,
) -> bool {
    let Some((method, at)) = method.zip(at) else { return false };
    let of_meant = |class: LoadedClass<'_>| class_id(jvmti, jni, class).filter(|class| is_meant(class));
    method.with_class(jvmti, jni, of_meant).is_some() && is_in_own_loop(jvmti, jni, method, at)
}

/// Whether the instruction is in a loop of a method that is not the JDK's.
fn is_in_own_loop(jvmti: Jvmti, jni: &Jni<'_>, method: MethodId, at: u32) -> bool {
    let in_loop = |class: LoadedClass<'_>| {
        if class.is_boot(jvmti, jni) {
            return None;
        }
        method.bytecode(jvmti).map(|bytecode| is_in_loop(&bytecode, at))
    };
    method.with_class(jvmti, jni, in_loop).unwrap_or(false)
}

/// Whether some jump leads from this instruction or a later one back to it or an earlier one.
fn is_in_loop(bytecode: &[u8], at: u32) -> bool {
    let mut instructions = Instructions::new(bytecode);
    instructions.any(|instruction| {
        let Ok(instruction) = instruction else { return false };
        instruction.offset >= at && instruction.branch_target().is_some_and(|target| target <= i64::from(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(number: usize) -> MethodId {
        MethodId::of_number(number)
    }

    /// Frames as (method, instruction), the outermost first.
    fn stack(frames: &[(usize, u32)]) -> WalkedStack {
        frames.iter().rev().map(|(number, at)| (Some(method(*number)), Some(*at))).collect()
    }

    fn found(stacks: &[&[(usize, u32)]], repeats: &[(usize, u32)]) -> Vec<(MethodId, f64)> {
        let samples: Vec<Sample> = stacks.iter().map(|frames| (true, stack(frames))).collect();
        let is_repeated =
            |of: MethodId, at: u32| repeats.iter().any(|(number, place)| (method(*number), *place) == (of, at));
        standing(&samples, &is_repeated)
    }

    #[test]
    fn a_loop_in_main_stands_whatever_it_calls() {
        let stacks: [&[(usize, u32)]; 4] = [&[(1, 8)], &[(1, 20), (2, 3)], &[(1, 9)], &[(1, 20), (2, 7)]];
        assert_eq!(found(&stacks, &[(1, 20), (1, 8), (1, 9)]), [(method(1), 0.5)]);
    }

    #[test]
    fn what_a_frame_calls_once_stands_and_what_a_loop_calls_does_not() {
        let stacks: [&[(usize, u32)]; 2] = [&[(1, 20), (2, 3)], &[(1, 20), (2, 7)]];
        assert_eq!(found(&stacks, &[]), [(method(2), 1.0)]);
        assert_eq!(found(&stacks, &[(1, 20)]), [], "method 1 may call method 2 again");
    }

    #[test]
    fn calls_from_two_places_are_two_calls() {
        assert_eq!(found(&[&[(1, 20), (2, 3)], &[(1, 24), (2, 3)]], &[]), []);
    }

    #[test]
    fn a_thread_that_did_something_else_meanwhile_has_no_such_frame() {
        assert_eq!(found(&[&[(1, 20), (2, 3)], &[(1, 20), (3, 3)]], &[]), []);
        assert_eq!(found(&[&[(1, 20)], &[]], &[]), []);
        assert_eq!(found(&[], &[]), []);
    }

    #[test]
    fn a_frame_that_waits_for_a_monitor_does_not_run() {
        let samples = [(true, stack(&[(1, 8)])), (false, stack(&[(1, 8)]))];
        assert_eq!(standing(&samples, &|_, _| false), [(method(1), 0.5)]);
        assert_eq!(standing(&samples[1..], &|_, _| false), []);
    }

    #[test]
    fn a_loop_is_a_jump_back_over_the_instruction() {
        // 0: iconst_0, 1: istore_1, 2: iinc 1 1, 5: goto 2, 8: return
        let bytecode = [0x03, 0x3c, 0x84, 1, 1, 0xa7, 0xff, 0xfd, 0xb1];
        let in_loop: Vec<u32> = (0..9).filter(|at| is_in_loop(&bytecode, *at)).collect();
        assert_eq!(in_loop, [2, 3, 4, 5]);
    }
}
