//! Classes whose code runs in a frame that does not return: main loops and loops of workers.
//!
//! HotSpot compiles nothing for old versions of methods. A frame that runs when its class is retransformed goes on in the interpreter until
//! it returns: a loop that never ends becomes ten times slower for ever (measured on JDK 17 and 25). Frames that wait, or only call, lose nothing
//! that can be felt: what counts is the processor time in the bytecode of the frame itself.
//!
//! JVMTI does not tell a frame that stays from one that is called again and again, so two things are looked at. A frame stays if it is seen in
//! all samples while every frame below it is at the same instruction; and none of those may be in a loop that could call it again, unless
//! the loop is the JDK's: pools of threads call tasks in a loop, and a task that lasts is a worker. A loop of the application around another
//! loop of the application is therefore not recognised; nor are virtual threads, which JVMTI does not list.

use std::time::{Duration, Instant};

use classfile::instruction::Instructions;
use rustc_hash::FxHashMap;

use crate::hierarchy::{ClassId, class_id};
use crate::jvm::{
    AllThreads, Jni, Jvmti, LoadedClass, MethodFacts, MethodId, ObjectRef, WalkedStack, Wish, ask_for,
    thread_cpu_nanos, thread_facts, walk_stacks,
};

/// A frame that uses less of a processor loses nothing that can be felt.
const LEAST_SHARE: f64 = 0.01;
/// For so long the processor time of all threads is looked at first.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// Samples of the threads that used some, and how far they are apart.
const SAMPLES: usize = 20;
const APART: Duration = Duration::from_millis(10);
/// Deeper stacks are left out: their outermost frames are not seen.
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
        format!(
            "{class} waits for its probes: {method} runs in a loop in thread {thread} ({percent:.0} % of a processor), and HotSpot would \
             interpret it from then on; start the application with the agent, or wait until the method returns"
        )
    }
}

/// Returns the classes of frames that do not return and use at least a hundredth of a processor. Takes 50 ms if no thread is busy, else
/// a quarter of a second.
pub(super) fn find(jvmti: Jvmti, jni: &Jni<'_>) -> FxHashMap<ClassId, StandingFrame> {
    let mut found = FxHashMap::default();
    if !ask_for(jvmti, Wish::StandingFrames) {
        tracing::debug!("this JVM does not say which frames run: none is looked for");
        return found;
    }
    let Ok(threads) = AllThreads::of_jvm(jvmti, jni) else { return found };
    let busy = busy_threads(jvmti, threads.as_slice());
    if busy.is_empty() {
        return found;
    }
    let (stacks, shares) = sample(jvmti, &busy);
    for ((thread, stacks), share) in busy.iter().zip(&stacks).zip(shares) {
        let is_repeated = |method: MethodId, at: u32| is_in_own_loop(jvmti, jni, method, at);
        for (method, part) in standing(stacks, &is_repeated) {
            let share = share * part;
            if share < LEAST_SHARE {
                continue;
            }
            let Some(class) = method.with_class(jvmti, jni, |class| class_id(jvmti, jni, class)) else { continue };
            let name = method.facts_without_lines(jvmti, jni).map_or_else(String::new, |facts| name(&facts));
            let thread = thread_facts(jvmti, jni, *thread).name;
            found.insert(class, StandingFrame { method: name, thread, percent: share * 100.0 });
        }
    }
    found
}

fn name(method: &MethodFacts) -> String {
    let class = trace::text_of_modified_utf8(&method.class).replace('/', ".");
    format!("{class}.{}", trace::text_of_modified_utf8(&method.name))
}

/// Returns the threads that use processor time.
fn busy_threads<'jni>(jvmti: Jvmti, threads: &[ObjectRef<'jni>]) -> Vec<ObjectRef<'jni>> {
    let times = || threads.iter().map(|thread| thread_cpu_nanos(jvmti, *thread)).collect::<Vec<_>>();
    let (start, before) = (Instant::now(), times());
    std::thread::sleep(FIRST_LOOK);
    let least = start.elapsed().as_nanos() as f64 * LEAST_SHARE;
    let used = before.iter().zip(times()).map(|(before, after)| Some(after?.saturating_sub((*before)?)));
    threads
        .iter()
        .zip(used)
        .filter(|(_, used)| used.is_some_and(|used| used as f64 >= least))
        .map(|(t, _)| *t)
        .collect()
}

/// Returns the stacks of each of the threads, and which part of a processor it used meanwhile.
fn sample(jvmti: Jvmti, threads: &[ObjectRef<'_>]) -> (Vec<Vec<WalkedStack>>, Vec<f64>) {
    let times = || threads.iter().map(|thread| thread_cpu_nanos(jvmti, *thread)).collect::<Vec<_>>();
    let mut stacks = vec![Vec::with_capacity(SAMPLES); threads.len()];
    let (start, before) = (Instant::now(), times());
    for _ in 0..SAMPLES {
        if let Ok(now) = walk_stacks(jvmti, threads, DEEPEST) {
            stacks.iter_mut().zip(now).for_each(|(all, stack)| all.push(stack));
        }
        std::thread::sleep(APART);
    }
    let length = start.elapsed().as_nanos() as f64;
    let share = |(before, after): (&Option<u64>, Option<u64>)| match (before, after) {
        (Some(before), Some(after)) => after.saturating_sub(*before) as f64 / length,
        // The thread has ended.
        _ => 0.0,
    };
    let shares = before.iter().zip(times()).map(share).collect();
    (stacks, shares)
}

/// Returns the methods whose frames were there in all of these samples of one thread, and in which part of the samples each was on top.
/// `is_repeated` says whether a frame at this instruction may call the next one again.
fn standing(stacks: &[WalkedStack], is_repeated: &dyn Fn(MethodId, u32) -> bool) -> Vec<(MethodId, f64)> {
    let Some(first) = stacks.first() else { return Vec::new() };
    let mut found = Vec::new();
    // The outermost frame is the last one of a stack.
    for depth in 0..first.len() {
        let frame = |stack: &WalkedStack| stack.len().checked_sub(depth + 1).and_then(|at| stack.get(at).copied());
        let Some((method, _)) = frame(first) else { break };
        if !stacks.iter().all(|stack| frame(stack).is_some_and(|(other, _)| other == method)) {
            break;
        }
        let on_top = stacks.iter().filter(|stack| stack.len() == depth + 1).count();
        if let Some(method) = method.filter(|_| on_top > 0) {
            found.push((method, on_top as f64 / stacks.len() as f64));
        }
        // What this frame calls is the same call only if it is at the same instruction each time, and not in a loop.
        let mut places = stacks.iter().filter(|stack| stack.len() > depth + 1).filter_map(frame).map(|(_, at)| at);
        let place = places.next();
        let same = on_top == 0 && place.is_some_and(|place| places.all(|other| other == place));
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
        let stacks: Vec<WalkedStack> = stacks.iter().map(|frames| stack(frames)).collect();
        let is_repeated =
            |of: MethodId, at: u32| repeats.iter().any(|(number, place)| (method(*number), *place) == (of, at));
        standing(&stacks, &is_repeated)
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
    fn a_loop_is_a_jump_back_over_the_instruction() {
        // 0: iconst_0, 1: istore_1, 2: iinc 1 1, 5: goto 2, 8: return
        let bytecode = [0x03, 0x3c, 0x84, 1, 1, 0xa7, 0xff, 0xfd, 0xb1];
        let in_loop: Vec<u32> = (0..9).filter(|at| is_in_loop(&bytecode, *at)).collect();
        assert_eq!(in_loop, [2, 3, 4, 5]);
    }
}
