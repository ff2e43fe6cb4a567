//! The contexts of this process: sequences of methods inside which conditional probes record.
//!
//! A context has a step for each of its methods, a bit in the words of each thread (`memory.rs`). An anchor in a method sets the bits of the steps that the method
//! makes. Anchors are inserted inert; a context is armed by stores into the table of anchors, and disarmed by such stores at once. Its steps
//! become those of another context only when no thread can have their bits. Or nothing is noted, and stacks are walked (`stack.rs`).

mod baggage;
mod immediate_caller;
mod memory;
mod stack;
mod steps;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use control::ContextFigures;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use settings::ContextPlace;

use crate::conditions::{self, StepCondition};
use crate::jvm::{Jni, Jvmti, OwnStack};
use memory::{HeldPlace, WORDS};
use stack::NamedMethod;
use steps::{FreeSteps, bit_of, word_of};

pub(crate) use baggage::BaggageEntry;
pub(crate) use immediate_caller::ImmediateCaller;
pub(crate) use memory::{LooksAtTasks, know_hand_overs_from};

/// An anchor that never has a step.
pub(crate) const INERT_ANCHOR: u32 = 4;
/// Anchors 0 and 1 of each word are for warming up, and for nothing.
const FIRST_ANCHOR: usize = 2;

/// A sequence of methods, and the steps for them.
#[derive(Debug)]
pub(crate) struct Context {
    text: Arc<str>,
    steps: Vec<u8>,
    /// The conditions of steps; none for the others.
    conditions: Vec<(u8, Arc<StepCondition>)>,
    /// Set if only calls are meant that the last method makes itself.
    caller: Option<Arc<ImmediateCaller>>,
    /// Tasks that are handed over inside it are inside it on the thread that runs them.
    reaches_across_threads: bool,
    /// Set if requests that are sent inside it say so to other hosts.
    baggage: Option<BaggageEntry>,
}

/// Which calls a context means, beside those inside its methods on one thread.
#[derive(Debug, Default)]
pub(crate) struct Kind {
    /// Set if only calls are meant that the last method makes itself.
    pub(crate) caller: Option<ImmediateCaller>,
    /// Tasks that are handed over inside it are inside it on the thread that runs them.
    pub(crate) reaches_across_threads: bool,
    /// Set if requests that are sent inside it say so to other hosts.
    pub(crate) baggage: Option<BaggageEntry>,
}

impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        (&self.text, &self.steps) == (&other.text, &other.steps)
    }
}

impl Context {
    /// Returns the context as it was asked for: `a.B.c > d.E.f`.
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the step of each method.
    pub(crate) fn steps(&self) -> &[u8] {
        &self.steps
    }

    /// Returns the condition of a step.
    pub(crate) fn condition(&self, step: u8) -> Option<&Arc<StepCondition>> {
        self.conditions.iter().find(|(of, _)| *of == step).map(|(_, condition)| condition)
    }
}

/// A step of a context for which a method stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnchorStep {
    pub(crate) context: Arc<Context>,
    pub(crate) step: u8,
}

impl AnchorStep {
    /// Returns in how many words some steps without conditions are: a method has an anchor for each.
    pub(crate) fn words(steps: &[AnchorStep]) -> usize {
        let unconditional = steps.iter().filter(|of| of.condition().is_none());
        unconditional.map(|of| word_of(of.step)).collect::<BTreeSet<_>>().len()
    }

    /// Returns the condition, if there is one: then the step has an anchor of its own.
    pub(crate) fn condition(&self) -> Option<&Arc<StepCondition>> {
        self.context.condition(self.step)
    }
}

/// The anchors of a method.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MethodAnchors {
    /// Those without conditions.
    pub(crate) plain: Vec<u32>,
    /// Those whose condition must hold.
    pub(crate) conditional: Vec<u32>,
    /// Those around the probes of the method itself.
    pub(crate) own: Vec<u32>,
}

/// All contexts of this process.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    state: Mutex<State>,
    /// By the last step of their context, for probes that ask for it.
    callers: RwLock<FxHashMap<u8, Arc<ImmediateCaller>>>,
    /// Contexts that reach other hosts and are armed, the newest last.
    senders: RwLock<Vec<Arc<Context>>>,
}

#[derive(Debug, Default)]
struct State {
    open: FxHashMap<Arc<str>, Open>,
    free: FreeSteps,
    /// Steps of contexts that are armed, first steps of contexts, and those that tasks take along, by word.
    armed: [u64; WORDS],
    first: [u64; WORDS],
    carried: [u64; WORDS],
    look_at_tasks: [u32; 2],
    /// The anchor for each mask of steps of a word. It is the same whenever the steps are the same.
    anchors: FxHashMap<(usize, u64), usize>,
    next_anchor: [usize; WORDS],
    /// The names of the classes with anchors for each step.
    classes: FxHashMap<u8, FxHashSet<Arc<[u8]>>>,
    /// The steps of each method, for the stack walk.
    methods: FxHashMap<Arc<NamedMethod>, Vec<u8>>,
    /// Contexts that were closed together, whose anchors are still in classes.
    closed: Vec<Arc<Context>>,
    /// Steps that nobody wants any more.
    retired: Vec<Retired>,
}

/// Steps that nobody wants any more, and the threads that may have their bits.
#[derive(Debug)]
struct Retired {
    steps: Vec<u8>,
    held: Vec<HeldPlace>,
    since: Instant,
    /// Whether an anchor or a task may have cleared bits that it restores later: then it does not help that a thread has none of them.
    clears: bool,
}

/// A thread that was setting a bit when its step was retired has done so by then: a few instructions.
const SETTLED: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Open {
    context: Arc<Context>,
    /// How many claims want it.
    users: usize,
    /// The probes that record inside it.
    probes: Vec<u32>,
}

/// The contexts of this process.
pub(crate) fn of_process() -> &'static Contexts {
    static CONTEXTS: OnceLock<Contexts> = OnceLock::new();
    CONTEXTS.get_or_init(Contexts::default)
}

static PLACE: OnceLock<ContextPlace> = OnceLock::new();

/// Chooses where it is kept what threads are executing, unless an earlier session has; returns what is chosen.
pub(crate) fn choose_place(place: ContextPlace) -> ContextPlace {
    *PLACE.get_or_init(|| place)
}

/// Returns where it is kept what threads are executing.
pub(crate) fn place() -> ContextPlace {
    PLACE.get().copied().unwrap_or(ContextPlace::OffHeap)
}

/// Walks the stack of the present thread; returns the address of a place with the words that it amounts to, 0 if that is not to be had.
pub(crate) fn walk(jvmti: Jvmti, jni: &Jni<'_>) -> i64 {
    let Some(executing) = stack::executing(jvmti, jni) else { return 0 };
    let words = of_process().state.lock().words_of(&executing);
    memory::walked(words)
}

impl Contexts {
    /// Gets the tables ready, and returns what the native methods of the Java runtime return: the addresses of places, anchors, steps, and calls without
    /// a place, and where is kept what threads are executing.
    pub(crate) fn addresses() -> [i64; 5] {
        let [places, anchors, steps, without_place] = memory::addresses();
        [places, anchors, steps, without_place, place() as i64]
    }

    /// Returns the address of what tasks take along, for the native method of `java.instr.Handover`.
    pub(crate) fn carried_address() -> i64 {
        memory::carried_address()
    }

    /// A diagnosis begins to go on in tasks, or a caller finder to ask who hands them over; or it has ended.
    pub(crate) fn look_at_tasks(&self, who: LooksAtTasks, begins: bool) {
        let state = &mut *self.state.lock();
        if let Some(count) = state.look_at_tasks.get_mut(who as usize) {
            *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        }
        state.publish_wanted();
    }

    /// Whether tasks take contexts along that begin now.
    pub(crate) fn reach_across_threads(&self) -> bool {
        memory::wanted() > 0
    }

    /// Whether tasks run with what they have taken along: what ends that is in the methods that run them.
    pub(crate) fn are_carried(&self) -> bool {
        memory::running() > 0
    }

    /// Returns the context of this text, for one claim more; it is not armed. Some of its methods have conditions. The text says of which kind it is.
    pub(crate) fn open(
        &self,
        text: &str,
        methods: usize,
        conditions: Vec<(usize, StepCondition)>,
        kind: Kind,
    ) -> Result<Arc<Context>, String> {
        let state = &mut *self.state.lock();
        if let Some(open) = state.open.get_mut(text) {
            open.users += 1;
            return Ok(Arc::clone(&open.context));
        }
        state.reuse_retired();
        let steps = state.free.take(methods).ok_or_else(|| state.no_room(methods))?;
        if let Some(first) = steps.first()
            && let Some(word) = state.first.get_mut(word_of(*first))
        {
            *word |= bit_of(*first);
        }
        let with_step = |(at, condition): (usize, StepCondition)| Some((steps.get(at).copied()?, Arc::new(condition)));
        let conditions = conditions.into_iter().filter_map(with_step).collect();
        memory::begin_epoch(&steps);
        let Kind { caller, reaches_across_threads, baggage } = kind;
        let caller = caller.map(Arc::new);
        if let Some((caller, last)) = caller.as_ref().zip(steps.last()) {
            self.callers.write().insert(*last, Arc::clone(caller));
        }
        let text = Arc::from(text);
        let context = Arc::new(Context { text, steps, conditions, caller, reaches_across_threads, baggage });
        let open = Open { context: Arc::clone(&context), users: 1, probes: Vec::new() };
        state.open.insert(Arc::clone(&context.text), open);
        Ok(context)
    }

    /// From now on threads that execute the methods are inside the context.
    pub(crate) fn arm(&self, context: &Arc<Context>) {
        let state = &mut *self.state.lock();
        // The session may have ended since it was made.
        if state.open.get(&context.text).is_some_and(|open| open.context == *context) {
            self.begin_sending(context);
            state.set_armed(context, true);
        }
    }

    /// Takes the context from one claim. Returns whether it was the last one: then no thread is inside the context from now on, and the steps are to be
    /// retired.
    pub(crate) fn close(&self, context: &Context) -> bool {
        let state = &mut *self.state.lock();
        let Some(open) = state.open.get_mut(&context.text) else { return false };
        open.users -= 1;
        if open.users > 0 {
            return false;
        }
        open.probes.iter().for_each(|probe| memory::set_last_step(*probe, 0, false));
        state.open.remove(&context.text);
        state.methods.values_mut().for_each(|steps| steps.retain(|step| !context.steps.contains(step)));
        state.methods.retain(|_, steps| !steps.is_empty());
        state.set_armed(context, false);
        self.end_sending(context);
        context.conditions.iter().for_each(|(_, condition)| conditions::remove(condition));
        if context.caller.is_some() {
            context.steps.last().map(|last| self.callers.write().remove(last));
        }
        true
    }

    /// Takes the context from a claim of which nothing was inserted. Classes that are loaded meanwhile may have got anchors.
    pub(crate) fn give_up(&self, context: &Context) {
        if self.close(context) {
            let is_clean = self.take_classes(context).is_empty();
            self.retire(context, is_clean);
        }
    }

    /// Closes all contexts: nothing is recorded any more.
    pub(crate) fn close_all(&self) {
        let all: Vec<_> = self.state.lock().open.values().map(|open| (Arc::clone(&open.context), open.users)).collect();
        for (context, users) in all {
            let is_closed = (0..users).any(|_| self.close(&context));
            // Not if the claim ended meanwhile: who ended it retires the steps.
            self.state.lock().closed.extend(is_closed.then_some(context));
        }
        // A diagnosis that the end of the session has ended says so itself, or never.
        let state = &mut *self.state.lock();
        state.look_at_tasks = [0; 2];
        state.publish_wanted();
    }

    /// Retires the steps of the contexts that were closed together, when the classes have been restored, or not all of them.
    pub(crate) fn retire_closed(&self, is_clean: bool) {
        let closed = std::mem::take(&mut self.state.lock().closed);
        closed.iter().for_each(|context| self.retire(context, is_clean));
    }

    /// Notes that no class has anchors for the steps of a closed context any more, or that some still do (`is_clean` is false): then nobody gets these
    /// steps again.
    pub(crate) fn retire(&self, context: &Context, is_clean: bool) {
        let state = &mut *self.state.lock();
        context.steps.iter().for_each(|step| _ = state.classes.remove(step));
        if is_clean {
            let (steps, held) = (context.steps.clone(), memory::held_places());
            let has_own = || context.conditions.iter().any(|(_, condition)| condition.is_own);
            let clears = context.reaches_across_threads || has_own();
            state.retired.push(Retired { steps, held, since: Instant::now(), clears });
            state.reuse_retired();
        }
    }

    /// Returns the names of classes with anchors for the steps of a context that were noted since the last time.
    pub(crate) fn take_classes(&self, context: &Context) -> FxHashSet<Arc<[u8]>> {
        let state = &mut *self.state.lock();
        context.steps.iter().filter_map(|step| state.classes.remove(step)).flatten().collect()
    }

    /// Returns the anchors of a method (class, name, descriptor) that makes these steps, one for each word and for each step with a condition. Steps of contexts
    /// that have ended meanwhile are left out.
    pub(crate) fn anchors(&self, method: [&[u8]; 3], steps: &[AnchorStep]) -> MethodAnchors {
        let [class, name, descriptor] = method;
        let state = &mut *self.state.lock();
        let mut of_method = Vec::new();
        let mut masks = [0_u64; WORDS];
        let mut anchors = MethodAnchors::default();
        for of @ AnchorStep { context, step } in steps {
            if !state.open.get(&context.text).is_some_and(|open| Arc::ptr_eq(&open.context, context)) {
                continue;
            }
            state.classes.entry(*step).or_default().insert(class.into());
            of_method.push(*step);
            let Some(condition) = of.condition() else {
                if let Some(mask) = masks.get_mut(word_of(*step)) {
                    *mask |= bit_of(*step);
                }
                continue;
            };
            let Some(anchor) = state.anchor(word_of(*step), bit_of(*step)) else { continue };
            conditions::set(anchor, condition);
            if condition.is_own { &mut anchors.own } else { &mut anchors.conditional }.push(anchor);
        }
        if !of_method.is_empty() {
            state.methods.insert(Arc::new(NamedMethod::new(class, name, descriptor)), of_method);
        }
        let masks = masks.into_iter().enumerate().filter(|(_, mask)| *mask != 0);
        anchors.plain = masks.filter_map(|(word, mask)| state.anchor(word, mask)).collect();
        anchors
    }

    /// Whether a class has anchors for the method of a context at this position.
    pub(crate) fn is_anchored(&self, context: &Context, method: usize) -> bool {
        let state = self.state.lock();
        context.steps.get(method).is_some_and(|step| state.classes.contains_key(step))
    }

    /// A conditional probe of this number records inside the context.
    pub(crate) fn begin_probe(&self, probe: u32, context: &Context) {
        let state = &mut *self.state.lock();
        // A class that passed the hook with a claim that has ended since.
        let Some(open) = state.open.get_mut(&context.text).filter(|open| *open.context == *context) else { return };
        if !open.probes.contains(&probe) {
            open.probes.push(probe);
        }
        memory::set_last_step(probe, context.steps.last().copied().unwrap_or(0), context.caller.is_some());
    }

    /// Whether the method whose probe asks was called by the last method of the context with this last step.
    pub(crate) fn is_called_directly(&self, stack: OwnStack<'_>, last_step: u8) -> bool {
        let caller = self.callers.read().get(&last_step).cloned();
        caller.is_some_and(|caller| caller.is_caller_on(stack))
    }

    /// Returns how much of the tables is in use; `None` if there was no context yet.
    pub(crate) fn figures(&self) -> Option<ContextFigures> {
        let state = &mut *self.state.lock();
        if state.anchors.is_empty() && state.open.is_empty() {
            return None;
        }
        state.reuse_retired();
        let (threads, without_place) = memory::counts();
        Some(ContextFigures { contexts: state.open.len(), free_steps: state.free.count(), threads, without_place })
    }
}

/// Returns the word of some steps, and their bits.
fn mask_of(steps: &[u8]) -> (usize, u64) {
    (steps.first().map_or(0, |step| word_of(*step)), steps.iter().fold(0, |mask, step| mask | bit_of(*step)))
}

impl State {
    /// Returns the anchor for these steps of a word; `None` if there are no more anchors.
    fn anchor(&mut self, word: usize, mask: u64) -> Option<u32> {
        let anchor = match self.anchors.get(&(word, mask)) {
            Some(anchor) => *anchor,
            None => {
                let next = self.next_anchor.get_mut(word)?;
                let anchor = (FIRST_ANCHOR + *next) * WORDS + word;
                if anchor >= memory::anchors() {
                    return None;
                }
                *next += 1;
                self.anchors.insert((word, mask), anchor);
                anchor
            }
        };
        self.store(word, mask, anchor);
        u32::try_from(anchor).ok()
    }

    fn store(&self, word: usize, mask: u64, anchor: usize) {
        let of_word = |masks: &[u64; WORDS]| masks.get(word).copied().unwrap_or(0);
        memory::set_anchor(anchor, mask & of_word(&self.armed), mask & of_word(&self.first));
    }

    fn set_armed(&mut self, context: &Context, is_armed: bool) {
        let (word, mask) = mask_of(&context.steps);
        let (Some(armed), Some(first)) = (self.armed.get_mut(word), self.first.get_mut(word)) else { return };
        if is_armed {
            *armed |= mask;
        } else {
            *armed &= !mask;
            *first &= !mask;
        }
        if let Some(carried) = self.carried.get_mut(word).filter(|_| context.reaches_across_threads) {
            *carried = if is_armed { *carried | mask } else { *carried & !mask };
            memory::set_carried(word, *carried);
            self.publish_wanted();
        }
        for ((of_word, of_mask), anchor) in &self.anchors {
            if *of_word == word && of_mask & mask != 0 {
                self.store(word, *of_mask, *anchor);
            }
        }
    }

    /// Returns the bits that anchors would have set on a thread that is executing these methods, the outermost first.
    fn words_of(&self, executing: &[Arc<NamedMethod>]) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for steps in executing.iter().filter_map(|method| self.methods.get(method)) {
            let before = words;
            for step in steps {
                let (at, bit) = (word_of(*step), bit_of(*step));
                if let (Some(word), Some(before), Some(armed), Some(first)) =
                    (words.get_mut(at), before.get(at), self.armed.get(at), self.first.get(at))
                {
                    *word |= (before << 1 | first) & bit & armed;
                }
            }
        }
        words
    }

    /// Has tasks take something along, or not.
    fn publish_wanted(&self) {
        let steps: u32 = self.carried.iter().map(|word| word.count_ones()).sum();
        memory::set_wanted(steps, self.look_at_tasks);
    }

    /// Frees steps of which no thread can have bits any more: it has left all anchors since, or has none of the bits.
    fn reuse_retired(&mut self) {
        let State { retired, free, .. } = self;
        retired.retain_mut(|Retired { steps, held, since, clears }| {
            let (word, mask) = mask_of(steps);
            let is_settled = since.elapsed() >= SETTLED;
            held.retain(|place| place.is_held() && (!is_settled || *clears || place.has_bits(word, mask)));
            if held.is_empty() {
                free.give_back(steps);
            }
            !held.is_empty()
        });
    }

    fn no_room(&self, methods: usize) -> String {
        let retired: usize = self.retired.iter().map(|retired| retired.steps.len()).sum();
        format!(
            "there is no room for a context of {methods} methods, which must be in one of {WORDS} words: {} contexts are in use, {} methods more have room in all words together, {retired} wait for \
             threads that are inside a context that has ended. End claims with contexts (`instr claims`, `instr remove`)",
            self.open.len(),
            self.free.count()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::java_constants;

    #[test]
    fn java_code_and_the_configuration_agree_on_places() {
        let java = include_str!("../../../java-runtime/src/main/java/java/instr/Places.java");
        for (name, place) in [
            ("OFF_HEAP", ContextPlace::OffHeap),
            ("THREAD_LOCAL", ContextPlace::ThreadLocal),
            ("STACK", ContextPlace::Stack),
        ] {
            assert_eq!(java_constants::constant(java, name), place as i64, "{name}");
        }
    }

    fn steps(context: &Arc<Context>) -> Vec<AnchorStep> {
        context.steps().iter().map(|step| AnchorStep { context: Arc::clone(context), step: *step }).collect()
    }

    #[test]
    fn a_context_that_has_ended_gets_no_anchors_and_leaves_its_steps_to_others() {
        let contexts = Contexts::default();
        let context = contexts.open("a.B.c > d.E.f", 2, Vec::new(), Kind::default()).unwrap();
        assert!(
            Arc::ptr_eq(&context, &contexts.open("a.B.c > d.E.f", 2, Vec::new(), Kind::default()).unwrap()),
            "the same text is the same context"
        );
        assert_eq!(contexts.anchors([b"a/B", b"c", b"()V"], &steps(&context)).plain.len(), 1, "one word");
        assert!(contexts.is_anchored(&context, 0) && contexts.is_anchored(&context, 1));
        assert!(!contexts.close(&context) && contexts.close(&context), "two claims want it");
        assert!(
            contexts.anchors([b"a/B", b"c", b"()V"], &steps(&context)) == MethodAnchors::default(),
            "a class that was on its way"
        );
        assert_eq!(contexts.take_classes(&context), FxHashSet::from_iter([Arc::from(&b"a/B"[..])]));
        contexts.retire(&context, true);
        assert_eq!(contexts.open("x.Y.z > u.V.w", 2, Vec::new(), Kind::default()).unwrap().steps(), context.steps());
    }

    #[test]
    fn steps_whose_anchors_stay_in_classes_are_not_given_again() {
        let contexts = Contexts::default();
        let context = contexts.open("a.B.c", 1, Vec::new(), Kind::default()).unwrap();
        contexts.anchors([b"a/B", b"c", b"()V"], &steps(&context));
        contexts.close_all();
        assert!(!contexts.close(&context), "it is closed once");
        contexts.retire_closed(false);
        assert_ne!(contexts.open("d.E.f", 1, Vec::new(), Kind::default()).unwrap().steps(), context.steps());
    }

    /// By the rule of decision 055: the last bit is set if and only if the methods that are executing contain the sequence.
    #[test]
    fn a_stack_amounts_to_the_bits_that_its_anchors_would_have_set() {
        let contexts = Contexts::default();
        let context = contexts.open("a.A.m > b.B.m > a.A.m", 3, Vec::new(), Kind::default()).unwrap();
        let step = |at: usize| AnchorStep { context: Arc::clone(&context), step: context.steps()[at] };
        contexts.anchors([b"a/A", b"m", b"()V"], &[step(0), step(2)]);
        contexts.anchors([b"b/B", b"m", b"()V"], &[step(1)]);
        let is_inside = |stack: &[&str]| {
            let executing = stack.iter().map(|class| Arc::new(NamedMethod::new(class.as_bytes(), b"m", b"()V")));
            let words = contexts.state.lock().words_of(&executing.collect::<Vec<_>>());
            words[word_of(context.steps()[2])] & bit_of(context.steps()[2]) != 0
        };
        assert!(!is_inside(&["a/A", "b/B", "a/A"]), "not armed yet");
        contexts.arm(&context);
        assert!(
            is_inside(&["a/A", "b/B", "a/A"]) && is_inside(&["x/X", "a/A", "a/A", "x/X", "b/B", "b/B", "a/A", "x/X"])
        );
        assert!(!is_inside(&["a/A", "a/A", "b/B"]) && !is_inside(&["b/B", "a/A"]) && !is_inside(&[]));
        assert!(contexts.close(&context) && !is_inside(&["a/A", "b/B", "a/A"]), "its steps may be another's");
    }

    #[test]
    fn a_request_that_fails_leaves_nothing() {
        let contexts = Contexts::default();
        let free = contexts.figures();
        let context = contexts.open("a.B.c > d.E.f", 2, Vec::new(), Kind::default()).unwrap();
        contexts.give_up(&context);
        assert_eq!(contexts.figures(), free);
        let all: Vec<_> =
            (0..12).map(|at| contexts.open(&format!("a.B.c{at}"), 16, Vec::new(), Kind::default()).unwrap()).collect();
        let reason = contexts.open("too.Much.here", 16, Vec::new(), Kind::default()).unwrap_err();
        assert!(
            reason.contains("no room for a context of 16 methods") && reason.contains("12 contexts are in use"),
            "{reason}"
        );
        assert!(contexts.open("short.One.here", 3, Vec::new(), Kind::default()).is_ok(), "between the others");
        assert_eq!(all.len(), 12);
    }
}
