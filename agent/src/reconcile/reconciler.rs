//! One thread and one queue for all changes of loaded classes: one change at a time, in the order in which they were asked for.
//!
//! The thread exists while there is work. Insertion into a class whose code runs in a frame that does not return would have HotSpot
//! interpret that frame for as long as it lasts ([`standing_frames`]): such classes wait, and are looked at again and again.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use control::Retransforms;
use parking_lot::{Condvar, Mutex};
use rustc_hash::{FxHashMap, FxHashSet};

use super::batches::Batches;
use super::claimed_before::claim_present;
use super::loaded_before::{self, Differing, Replan};
use super::retransforming::{self, Retransforming};
use super::{restoring, standing_frames};
use crate::classes::hierarchy::{ClassId, class_id};
use crate::desired::RequestedProbes;
use crate::desired::generation::Generation;
use crate::jvm::{JavaVm, Jni, Jvmti, LoadedClass, LoadedClasses, block_signals};
use crate::transform::instrumentation::Instrumentation;

/// Internal names of classes.
type Names = FxHashSet<Arc<[u8]>>;

/// Classes that wait are looked at again after this time, and then after twice the time before, up to the longest.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LONGEST_LOOK: Duration = Duration::from_secs(60);
/// After this time another class may have a frame that does not return, and people wait for what has been inserted.
const ROUND: Duration = Duration::from_secs(1);

/// What is to be done to loaded classes.
#[derive(Debug)]
pub(crate) enum Change {
    /// Those that a rule may want get what it wants.
    InsertIntoLoaded {
        /// The application does not run yet: no batch can stop it, and no frame would be disturbed.
        jvm_starts: bool,
    },
    /// All of which something else is wanted than before get that.
    Replan { before: Arc<Generation> },
    /// Those in which a claim takes methods get its probes.
    Claim {
        /// The number of the claim.
        claim: u32,
        probes: Box<RequestedProbes>,
        /// The governor has removed probes of these methods, which are inserted again.
        with_removed: bool,
    },
    /// The classes of these names get probes that they do not have.
    Insert(Names),
    /// The classes of these names lose probes.
    Remove(Names),
    /// All that were rewritten get their own bodies back, as far as the JVM can do that safely.
    Restore,
}

/// The result of a change.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Classes that stay as they are: none of a name is retransformed if the JVM cannot retransform one of them.
    pub(crate) refused: Names,
    /// Classes that were retransformed; of classes with the same name all.
    pub(crate) changed: Names,
    /// How many classes were to be restored and keep their probes, switched off.
    pub(crate) kept: usize,
    /// The longest time for which the application was stopped.
    pub(crate) longest_stop: Duration,
    /// What classes have got since is noted with this pass, or with a later one.
    pub(crate) pass: u32,
}

#[derive(Debug)]
struct Request {
    instrumentation: Arc<Instrumentation>,
    change: Change,
    answer: SyncSender<Outcome>,
}

/// The thread that changes loaded classes, and its queue.
#[derive(Debug)]
pub(crate) struct Reconciler {
    vm: JavaVm,
    jvmti: Jvmti,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The JVM ends, and waits for this thread.
    jvm_ends: AtomicBool,
    /// What batches took up to now; used by the thread alone.
    batches: Mutex<Batches>,
    state: Mutex<State>,
    /// There is a request, or the thread has ended.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Request>,
    is_running: bool,
    waiting: Option<Waiting>,
}

/// Classes with standing frames.
#[derive(Debug, Clone)]
struct Waiting {
    instrumentation: Weak<Instrumentation>,
    /// With the reason.
    classes: FxHashMap<ClassId, String>,
    look_at: Instant,
    pause: Duration,
}

impl Reconciler {
    /// The reconciler of this JVM; its thread starts with the first change.
    pub(crate) fn new(vm: JavaVm, jvmti: Jvmti) -> Reconciler {
        Reconciler { vm, jvmti, shared: Arc::default() }
    }

    /// Carries out a change after those that were asked for before, and waits for that. `None` if the JVM attaches no more threads.
    pub(crate) fn carry_out(&self, instrumentation: &Arc<Instrumentation>, change: Change) -> Option<Outcome> {
        let (answer, outcome) = sync_channel(1);
        let request = Request { instrumentation: Arc::clone(instrumentation), change, answer };
        {
            let mut state = self.shared.state.lock();
            state.queue.push_back(request);
            self.run(&mut state);
        }
        self.shared.changed.notify_all();
        outcome.recv().ok()
    }

    /// Makes sure that there is a thread; without one nothing of the queue can be done.
    fn run(&self, state: &mut State) {
        if state.is_running {
            return;
        }
        let (vm, jvmti, shared) = (self.vm, self.jvmti, Arc::clone(&self.shared));
        let work = move || {
            block_signals();
            let work = || vm.with_attached_daemon(c"instr-reconcile", |jni| shared.work_off(jvmti, jni));
            let problem = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Some(())) => return,
                Ok(None) => "the JVM attaches no more threads",
                Err(_) => "internal error",
            };
            // Others wait for their requests, and the end of the JVM waits for this thread.
            tracing::error!("loaded classes stay as they are: {problem}");
            shared.state.lock().give_up();
            shared.changed.notify_all();
        };
        match std::thread::Builder::new().name("instr-reconcile".to_owned()).spawn(work) {
            Ok(_) => state.is_running = true,
            Err(error) => {
                tracing::error!(%error, "loaded classes stay as they are: there is no thread that changes them");
                state.give_up();
            }
        }
    }

    /// The JVM is about to end: nothing is retransformed any more, not even to restore it.
    pub(crate) fn jvm_ends(&self) {
        self.shared.jvm_ends.store(true, Ordering::Release);
    }

    /// Forgets classes that wait, and returns when nothing is being changed any more.
    pub(crate) fn come_to_rest(&self) {
        let mut state = self.shared.state.lock();
        state.waiting = None;
        self.shared.changed.notify_all();
        while state.is_running {
            self.shared.changed.wait(&mut state);
        }
    }

    /// Of the classes that wait only those wait on that `is_wanted` takes (internal names).
    pub(crate) fn let_wait(&self, is_wanted: impl Fn(&[u8]) -> bool) {
        if let Some(waiting) = &mut self.shared.state.lock().waiting {
            waiting.classes.retain(|(name, _), _| is_wanted(name));
        }
    }

    /// Returns why classes wait, of which `is_meant` takes the internal names.
    pub(crate) fn waiting(&self, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
        let state = self.shared.state.lock();
        let waiting = state.waiting.iter().flat_map(|waiting| &waiting.classes);
        let meant = waiting.filter(|((name, _), _)| is_meant(&String::from_utf8_lossy(name)));
        let mut reasons: Vec<String> = meant.map(|(_, reason)| reason.clone()).collect();
        reasons.sort_unstable();
        reasons
    }

    /// Returns the classes that wait, with the reasons.
    pub(crate) fn waiting_classes(&self) -> FxHashMap<ClassId, String> {
        let state = self.shared.state.lock();
        state.waiting.as_ref().map(|waiting| waiting.classes.clone()).unwrap_or_default()
    }

    /// Returns what was retransformed up to now, and which classes wait.
    pub(crate) fn counts(&self) -> Retransforms {
        Retransforms { waiting: self.waiting(|_| true), ..retransforming::counts() }
    }
}

impl State {
    fn give_up(&mut self) {
        self.queue.clear();
        self.waiting = None;
        self.is_running = false;
    }
}

impl Shared {
    /// Carries out requests until there is nothing left to do.
    fn work_off(&self, jvmti: Jvmti, jni: &Jni<'_>) {
        let mut batches = self.batches.lock();
        loop {
            let mut state = self.state.lock();
            if let Some(request) = state.queue.pop_front() {
                drop(state);
                let carry_out = || self.carry_out(jvmti, jni, &request, &mut batches);
                // Other requests are carried out all the same.
                let done = catch_unwind(AssertUnwindSafe(carry_out)).unwrap_or_else(|_| {
                    tracing::error!("loaded classes stay as they are: internal error");
                    Outcome { refused: request.change.names(), ..Outcome::default() }
                });
                // The requester may be gone.
                let _ = request.answer.send(done);
            } else if let Some(waiting) = &state.waiting {
                let look_at = waiting.look_at;
                if Instant::now() < look_at {
                    let _ = self.changed.wait_until(&mut state, look_at);
                    continue;
                }
                drop(state);
                self.look_again(jvmti, jni, &mut batches);
            } else {
                state.is_running = false;
                self.changed.notify_all();
                return;
            }
        }
    }

    fn carry_out(&self, jvmti: Jvmti, jni: &Jni<'_>, request: &Request, batches: &mut Batches) -> Outcome {
        let instrumentation = &request.instrumentation;
        batches.forget_longest();
        batches.keep_within(Duration::from_millis(instrumentation.config.control.stop_ms.into()));
        if matches!(request.change, Change::Restore) {
            self.state.lock().waiting = None;
            let goes_on = || !self.jvm_ends.load(Ordering::Acquire);
            let kept = restoring::restore(jvmti, jni, instrumentation, (batches, &goes_on));
            return Outcome { kept, ..Outcome::default() };
        }
        let loaded = match LoadedClasses::all(jvmti, jni) {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::error!(%error, "the loaded classes cannot be listed; they stay as they are");
                return Outcome { refused: request.change.names(), ..Outcome::default() };
            }
        };
        let loaded = loaded.as_slice();
        let mut retransforming = Retransforming::new(jvmti, instrumentation, request.change.reason());
        match &request.change {
            Change::InsertIntoLoaded { jvm_starts } => {
                let wanted = loaded_before::wanted(jvmti, jni, instrumentation, loaded);
                let ready = retransforming.ready_among(jni, &wanted);
                if *jvm_starts {
                    retransforming.retransform(jni, &ready, None);
                } else {
                    self.insert(jni, &mut retransforming, ready, batches);
                }
            }
            Change::Replan { before } => {
                let now = instrumentation.generation();
                let mut replan = Replan::new(jvmti, jni, (instrumentation, &now), before);
                self.replan(jni, &mut retransforming, &replan.differing(loaded), batches);
                // Classes that were on their way past the hook when the rules were replaced.
                if let Ok(more) = LoadedClasses::all(jvmti, jni) {
                    self.replan(jni, &mut retransforming, &replan.differing(more.as_slice()), batches);
                }
                retransforming.forget_lost_probes();
            }
            Change::Claim { claim, probes, with_removed } => {
                let all = loaded_before::claimed_names(jvmti, loaded, probes);
                let is_otherwise = probes.context().is_some() || probes.reaches_across_threads();
                let names = match *with_removed || is_otherwise {
                    true => all.clone(),
                    false => claim_present((jvmti, jni, instrumentation), loaded, all.clone(), (*claim, &**probes)),
                };
                let ready = loaded_before::ready_of_names(jni, &mut retransforming, loaded, &names);
                self.insert(jni, &mut retransforming, ready, batches);
                // Classes that were on their way past the hook when the claim was made.
                if let Ok(more) = LoadedClasses::all(jvmti, jni) {
                    let mut late = loaded_before::claimed_names(jvmti, more.as_slice(), probes);
                    late.retain(|name| names.contains(name) || !all.contains(name));
                    let ready = loaded_before::ready_of_names(jni, &mut retransforming, more.as_slice(), &late);
                    self.insert(jni, &mut retransforming, ready, batches);
                }
            }
            Change::Insert(names) => {
                let ready = loaded_before::ready_of_names(jni, &mut retransforming, loaded, names);
                self.insert(jni, &mut retransforming, ready, batches);
            }
            Change::Remove(names) => {
                let ready = loaded_before::ready_of_names(jni, &mut retransforming, loaded, names);
                retransforming.retransform(jni, &ready, Some((batches, &|| true)));
                if let Ok(more) = LoadedClasses::all(jvmti, jni) {
                    let ready = loaded_before::ready_of_names(jni, &mut retransforming, more.as_slice(), names);
                    retransforming.retransform(jni, &ready, Some((batches, &|| true)));
                }
            }
            Change::Restore => {}
        }
        self.wait_no_longer(&retransforming);
        let pass = retransforming.pass();
        Outcome {
            changed: retransforming.changed(),
            refused: retransforming.refused,
            kept: 0,
            pass,
            longest_stop: batches.longest(),
        }
    }

    fn replan(
        &self,
        jni: &Jni<'_>,
        retransforming: &mut Retransforming<'_>,
        differing: &Differing<'_>,
        batches: &mut Batches,
    ) {
        retransforming.disarm(jni, &differing.unwanted);
        let wanted = retransforming.ready_among(jni, &differing.wanted);
        self.insert(jni, retransforming, wanted, batches);
        let unwanted = retransforming.ready_among(jni, &differing.unwanted);
        retransforming.retransform(jni, &unwanted, Some((batches, &|| true)));
    }

    /// Retransforms classes that get probes, except those that wait for a frame. The probes begin to record together; if the batches take long, frames are
    /// looked for again and again, and probes armed.
    fn insert(
        &self,
        jni: &Jni<'_>,
        retransforming: &mut Retransforming<'_>,
        classes: Vec<LoadedClass<'_>>,
        batches: &mut Batches,
    ) {
        let (mut left, mut is_first) = (retransforming.insertable_among(jni, classes), true);
        while !left.is_empty() && !retransforming.instrumentation.is_leaving() {
            retransforming.instrumentation.live.hold();
            left = self.without_standing(jni, retransforming, left, is_first);
            is_first = false;
            let looked = Instant::now();
            let done = retransforming.retransform(jni, &left, Some((batches, &|| looked.elapsed() < ROUND)));
            left.drain(..done);
            retransforming.instrumentation.arm();
        }
    }

    /// Returns the classes that can be changed now; the others wait. A thread that mostly sleeps is looked at the first time only, which takes longer.
    fn without_standing<'jni>(
        &self,
        jni: &Jni<'_>,
        retransforming: &Retransforming<'_>,
        classes: Vec<LoadedClass<'jni>>,
        is_first: bool,
    ) -> Vec<LoadedClass<'jni>> {
        let jvmti = retransforming.jvmti;
        let mut ids: FxHashSet<ClassId> = FxHashSet::default();
        if is_first {
            ids.extend(classes.iter().filter_map(|class| class_id(jvmti, jni, *class)));
        }
        let standing = standing_frames::find(jvmti, jni, &|class| ids.contains(class));
        let mut waiting = FxHashMap::default();
        let mut ready = Vec::with_capacity(classes.len());
        for class in classes {
            let id = if standing.is_empty() { None } else { class_id(jvmti, jni, class) };
            match id.and_then(|id| standing.get(&id).map(|frame| (id, frame.reason()))) {
                Some((id, reason)) => _ = waiting.insert(id, reason),
                None => ready.push(class),
            }
        }
        self.note_waiting(retransforming.instrumentation, waiting);
        ready
    }

    fn note_waiting(&self, instrumentation: &Arc<Instrumentation>, classes: FxHashMap<ClassId, String>) {
        if classes.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        let before = state.waiting.take().map(|waiting| waiting.classes).unwrap_or_default();
        for (_, reason) in classes.iter().filter(|(class, _)| !before.contains_key(*class)) {
            tracing::info!("{reason}");
            instrumentation.live.note(reason);
            instrumentation.events.note("waits", reason);
        }
        let mut all = before;
        all.extend(classes);
        state.waiting = Some(Waiting {
            instrumentation: Arc::downgrade(instrumentation),
            classes: all,
            look_at: Instant::now() + FIRST_LOOK,
            pause: FIRST_LOOK,
        });
    }

    /// Classes that were retransformed have what is wanted of them.
    fn wait_no_longer(&self, retransforming: &Retransforming<'_>) {
        if let Some(waiting) = &mut self.state.lock().waiting {
            waiting.classes.retain(|class, _| !retransforming.done().contains(class));
        }
    }

    /// Changes classes that have waited and need not any more.
    fn look_again(&self, jvmti: Jvmti, jni: &Jni<'_>, batches: &mut Batches) {
        let Some(waiting) = self.state.lock().waiting.clone() else { return };
        let Some(instrumentation) = waiting.instrumentation.upgrade().filter(|session| !session.is_leaving()) else {
            self.state.lock().waiting = None;
            return;
        };
        let standing = standing_frames::find(jvmti, jni, &|class| waiting.classes.contains_key(class));
        let is_ready = |class: &ClassId| !standing.contains_key(class);
        let mut ready: FxHashSet<ClassId> = waiting.classes.keys().filter(|class| is_ready(class)).cloned().collect();
        if !ready.is_empty() {
            match LoadedClasses::all(jvmti, jni) {
                Ok(loaded) => self.change_ready(jvmti, jni, (&instrumentation, &ready), loaded.as_slice(), batches),
                Err(error) => {
                    tracing::debug!(%error, "the loaded classes cannot be listed: classes wait for longer");
                    ready.clear();
                }
            }
        }
        let mut state = self.state.lock();
        // A session that ended meanwhile wants no class to wait, and others may want less than before.
        let Some(mut left) = state.waiting.take().filter(|_| !instrumentation.is_leaving()) else { return };
        left.classes.retain(|class, _| !ready.contains(class));
        left.pause = (left.pause * 2).min(LONGEST_LOOK);
        left.look_at = Instant::now() + left.pause;
        state.waiting = Some(left).filter(|left| !left.classes.is_empty());
    }

    /// Changes those of the loaded classes that are `ready`.
    fn change_ready(
        &self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        (instrumentation, ready): (&Arc<Instrumentation>, &FxHashSet<ClassId>),
        loaded: &[LoadedClass<'_>],
        batches: &mut Batches,
    ) {
        let is_meant =
            |class: &LoadedClass<'_>| class_id(jvmti, jni, *class).is_some_and(|class| ready.contains(&class));
        let meant: Vec<LoadedClass<'_>> = loaded.iter().copied().filter(is_meant).collect();
        let mut retransforming = Retransforming::new(jvmti, instrumentation, "frames returned");
        let can_be_changed = retransforming.ready_among(jni, &meant);
        instrumentation.live.hold();
        retransforming.retransform(jni, &can_be_changed, Some((batches, &|| true)));
        instrumentation.arm();
        retransforming.forget_lost_probes();
    }
}

impl Change {
    /// Returns why classes are retransformed, as recordings have it.
    fn reason(&self) -> &'static str {
        match self {
            Change::InsertIntoLoaded { jvm_starts: true } => "start",
            Change::InsertIntoLoaded { jvm_starts: false } => "attach",
            Change::Replan { .. } => "reload",
            Change::Claim { .. } => "claim",
            Change::Insert(_) => "probes inserted",
            Change::Remove(_) => "probes removed",
            Change::Restore => "detach",
        }
    }

    /// Returns the names of the classes that are meant, if it is about names.
    pub(crate) fn names(&self) -> Names {
        match self {
            Change::Insert(names) | Change::Remove(names) => names.clone(),
            Change::InsertIntoLoaded { .. } | Change::Replan { .. } | Change::Claim { .. } | Change::Restore => {
                Names::default()
            }
        }
    }
}
