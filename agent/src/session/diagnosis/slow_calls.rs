//! Stacks of calls that are slow right now: of these threads alone. Calls are looked at before they are known to be slow, as the branch that makes them slow
//! may be over by then; what was seen of calls that turn out to be fast is forgotten.

use std::sync::Arc;
use std::time::{Duration, Instant};

use classfile::access;
use rustc_hash::FxHashMap;

use crate::call_sites::{self, DiagnosisNumber, MethodKey, OpenCall};
use crate::classes::hierarchy::class_id;
use crate::descent::{Frame, FrameMethod, NodeOf, SlowStack, Tree};
use crate::jvm::{Jni, Jvmti, MethodId, ThreadState, state_and_stack};
use crate::probes::runtime_classes::RuntimeClasses;

/// Calls that are looked at in one turn.
const MOST: usize = 4;
/// Frames of a stack that are looked at.
const DEEPEST: usize = 512;
/// Stacks of a call that may become slow.
const MOST_OF_CALL: usize = 40;
/// How far two looks are apart: this part of the time after which calls are slow, within these limits.
const PART: u32 = 20;
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// A look takes at most this part of the time.
const LEAST_PAUSE_FACTOR: u32 = 20;
/// The first looks take longest, as methods are looked up that are known later: they must not leave the descent without stacks.
const LONGEST_AFTER_LOOK: Duration = Duration::from_millis(200);

/// A method with its lines.
#[derive(Debug, Clone)]
struct Known {
    method: Arc<FrameMethod>,
    lines: Arc<[(u32, u32)]>,
}

/// What has been seen of calls that have not ended.
#[derive(Debug, Default)]
pub(super) struct SlowCalls {
    /// By frame and start.
    pending: FxHashMap<(usize, u64), Vec<SlowStack>>,
    methods: FxHashMap<MethodId, Option<Known>>,
    /// The next look is not before.
    next: Option<Instant>,
    turn: usize,
}

/// The thread that asks, and what it asks about.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) jvmti: Jvmti,
    pub(super) jni: &'a Jni<'a>,
    pub(super) runtime: &'a RuntimeClasses,
    pub(super) number: DiagnosisNumber,
}

impl SlowCalls {
    /// Looks at a few calls, if it is time, and returns the stacks of those that are slow by now. `now` is the time as probes read it, and calls are slow
    /// after `slower_than`, in the same unit.
    pub(super) fn look(
        &mut self,
        asking: Asking<'_>,
        tree: &Tree,
        (now, slower_than, pause): (u64, u64, Duration),
    ) -> Vec<SlowStack> {
        if self.next.is_some_and(|next| Instant::now() < next) {
            return Vec::new();
        }
        let began = Instant::now();
        let open = call_sites::of_process().open_calls(asking.number);
        self.pending.retain(|(frame, start), _| open.iter().any(|call| (call.frame, call.start) == (*frame, *start)));
        let mut slow = Vec::new();
        self.turn = self.turn.wrapping_add(MOST);
        let first = if open.is_empty() { 0 } else { self.turn % open.len() };
        for call in open.iter().cycle().skip(first).take(open.len().min(MOST)) {
            let lasted = now.saturating_sub(call.start);
            // Most calls are fast, and end soon.
            if lasted < slower_than / 8 {
                continue;
            }
            let Some(stack) = self.stack_of(asking, tree, *call) else { continue };
            let of_call = self.pending.entry((call.frame, call.start)).or_default();
            if of_call.len() < MOST_OF_CALL || lasted >= slower_than {
                of_call.push(stack);
            }
            if lasted >= slower_than {
                slow.append(of_call);
            }
        }
        let pause = (pause / PART).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let after_look = (began.elapsed() * LEAST_PAUSE_FACTOR).min(LONGEST_AFTER_LOOK);
        self.next = Some(Instant::now() + pause.max(after_look));
        slow
    }

    /// Returns the stack of a call below the cell that is open; `None` if the call went on meanwhile.
    fn stack_of(&mut self, asking: Asking<'_>, tree: &Tree, call: OpenCall) -> Option<SlowStack> {
        let Asking { jvmti, jni, runtime, number } = asking;
        let (state, stack) =
            runtime.with_thread_of_frame(jni, call.frame, |thread| state_and_stack(jvmti, thread, DEEPEST))?.ok()?;
        // What is open now was open when the stack was taken only if it was open before, too.
        let after = call_sites::of_process().open_call(number, call.frame)?;
        if (after.start, after.cell) != (call.start, call.cell) {
            return None;
        }
        let frames: Vec<(Known, Option<u32>)> =
            stack.into_iter().rev().filter_map(|(method, at)| Some((self.known(jvmti, jni, method?)?, at))).collect();
        // From the outermost inwards: the frames of the measured methods above the cell.
        let mut place = None;
        for key in measured_above(tree, call.cell, call.task_at) {
            let from = place.map_or(0, |place| place + 1);
            place = Some(from + frames.get(from..)?.iter().position(|(known, _)| known.method.key == *key)?);
        }
        // Above all that is measured in a task are the methods of the executor.
        let place = if call.task_at.is_some() { place } else { Some(place?) };
        let frame = |(known, offset): &(Known, Option<u32>)| Frame {
            method: Arc::clone(&known.method),
            offset: *offset,
            line: offset.and_then(|offset| line_at(&known.lines, offset)),
        };
        let measured = place.and_then(|place| frames.get(place)).map(frame);
        let is_call =
            tree.of_cell(call.cell).and_then(|at| tree.get(at)).is_some_and(|of| matches!(of.of, NodeOf::Call(_)));
        let mut below: Vec<Frame> = frames.get(place.map_or(0, |place| place + 1)..)?.iter().map(frame).collect();
        // The clock and the tables of the probes are read in the method's own code.
        below.retain(|frame| !frame.method.key.class.starts_with(b"java/instr/"));
        let below = if is_call { below } else { Vec::new() };
        let (is_runnable, is_blocked) = (state == ThreadState::Runnable, state == ThreadState::Blocked);
        let (line, is_of_task) = (measured.and_then(|measured| measured.line), call.task_at.is_some());
        Some(SlowStack { cell: call.cell, line, below, is_runnable, is_blocked, is_of_task })
    }

    fn known(&mut self, jvmti: Jvmti, jni: &Jni<'_>, method: MethodId) -> Option<Known> {
        self.methods.entry(method).or_insert_with(|| known(jvmti, jni, method)).clone()
    }
}

fn known(jvmti: Jvmti, jni: &Jni<'_>, method: MethodId) -> Option<Known> {
    let facts = method.facts(jvmti, jni)?;
    let id = method.with_class(jvmti, jni, |class| class_id(jvmti, jni, class));
    let loader = id.map_or(0, |(_, loader)| loader);
    let key = MethodKey {
        class: facts.class.as_slice().into(),
        loader,
        name: facts.name.as_slice().into(),
        descriptor: facts.descriptor.as_slice().into(),
    };
    let (text, has) = (key.text(), |flag| facts.access_flags & flag != 0);
    let (is_native, is_synchronized) = (has(access::NATIVE), has(access::SYNCHRONIZED));
    let is_fixed = !facts.is_modifiable || has(access::BRIDGE);
    let method = FrameMethod { key, text, is_native, is_synchronized, is_fixed };
    Some(Known { method: Arc::new(method), lines: facts.lines.into() })
}

/// The measured methods from the root to a cell, which may be the last of them; in a task those below the call that waits for it.
fn measured_above(tree: &Tree, cell: call_sites::Cell, task_at: Option<call_sites::Cell>) -> Vec<&MethodKey> {
    let Some(at) = tree.of_cell(cell) else { return Vec::new() };
    let waits = task_at.and_then(|cell| tree.of_cell(cell));
    let method = |at: usize| tree.get(at)?.of.method();
    let mut methods: Vec<&MethodKey> = {
        let from_inside = std::iter::once(at).chain(tree.above(at));
        from_inside.take_while(|above| Some(*above) != waits).filter_map(method).collect()
    };
    methods.reverse();
    methods
}

fn line_at(lines: &[(u32, u32)], offset: u32) -> Option<u32> {
    let after = lines.partition_point(|(start, _)| *start <= offset);
    after.checked_sub(1).and_then(|index| lines.get(index)).map(|(_, line)| *line)
}
