//! One thread and one queue for all changes of loaded classes: one change at a time, in the order in which they were asked for.
//!
//! The thread exists while there is work. Insertion into a class whose code runs in a frame that does not return would have HotSpot
//! interpret that frame for as long as it lasts ([`standing_frames`]): such classes wait, and are looked at again and again.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use control::Retransforms;
use parking_lot::{Condvar, Mutex};
use rustc_hash::{FxHashMap, FxHashSet};

use super::batches::Batches;
use super::loaded_before::{self, Differing, Replan};
use super::retransforming::{self, MayRead, Refused};
use super::{restoring, standing_frames};
use crate::classes::hierarchy::{ClassId, class_id};
use crate::desired::generation::Generation;
use crate::jvm::{JavaVm, Jni, Jvmti, LoadedClass, LoadedClasses, block_signals};
use crate::transform::instrumentation::Instrumentation;

/// Internal names of classes.
type Names = FxHashSet<Arc<[u8]>>;

/// Two batches that stop the application are at least this far apart.
const DISTANCE: Duration = Duration::from_millis(200);
/// Classes that wait are looked at again after this time, and then after twice the time before, up to the longest.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LONGEST_LOOK: Duration = Duration::from_secs(60);

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
    /// Those that a claim on probes may want are decided again: it was made, or has ended. The generation is one that has it.
    Claimed { generation: Arc<Generation>, claim: u32, is_made: bool },
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
    /// Classes that were presented to the class hook because something else is wanted of them.
    pub(crate) changed: Names,
    /// How many classes were to be restored and keep their probes, switched off.
    pub(crate) kept: usize,
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
            if vm.with_attached_daemon(c"instr-reconcile", |jni| shared.work_off(jvmti, jni)).is_none() {
                tracing::error!("loaded classes stay as they are: the JVM attaches no more threads");
                shared.state.lock().give_up();
                shared.changed.notify_all();
            }
        };
        match std::thread::Builder::new().name("instr-reconcile".to_owned()).spawn(work) {
            Ok(_) => state.is_running = true,
            Err(error) => {
                tracing::error!(%error, "loaded classes stay as they are: there is no thread that changes them");
                state.give_up();
            }
        }
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

    /// Returns what was retransformed up to now, and which classes wait.
    pub(crate) fn counts(&self) -> Retransforms {
        let state = self.shared.state.lock();
        let mut waiting: Vec<String> =
            state.waiting.iter().flat_map(|waiting| waiting.classes.values().cloned()).collect();
        waiting.sort_unstable();
        Retransforms { waiting, ..retransforming::counts() }
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
    /// Until there is nothing left to do.
    fn work_off(&self, jvmti: Jvmti, jni: &Jni<'_>) {
        let mut batches = Batches::new(DISTANCE);
        loop {
            let mut state = self.state.lock();
            if let Some(request) = state.queue.pop_front() {
                drop(state);
                let done = self.carry_out(jvmti, jni, &request, &mut batches);
                // Who has asked may be gone.
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
        batches.keep_within(Duration::from_millis(instrumentation.config.control.stop_ms.into()));
        if matches!(request.change, Change::Restore) {
            self.state.lock().waiting = None;
            return Outcome { kept: restoring::restore(jvmti, jni, instrumentation, batches), ..Outcome::default() };
        }
        let loaded = match LoadedClasses::all(jvmti, jni) {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::error!(%error, "the loaded classes cannot be listed; they stay as they are");
                return Outcome { refused: request.change.names(), ..Outcome::default() };
            }
        };
        let loaded = loaded.as_slice();
        let mut refused = Refused::new(jvmti, instrumentation);
        let mut changed = Names::default();
        match &request.change {
            Change::InsertIntoLoaded { jvm_starts } => {
                let wanted = loaded_before::wanted(jvmti, jni, instrumentation, loaded);
                let safe = refused.safe_among(jni, &wanted, MayRead::ClassFiles);
                if *jvm_starts {
                    refused.retransform(&safe, None);
                } else {
                    let ready = self.without_standing(jvmti, jni, instrumentation, safe);
                    refused.retransform(&ready, Some(batches));
                }
            }
            Change::Replan { before } => {
                let now = instrumentation.generation();
                let mut replan = Replan::new(jvmti, jni, (instrumentation, &now), before);
                let differing = replan.differing(loaded);
                self.replan(jni, &mut refused, differing, batches);
                // Classes that were on their way past the hook when the rules were replaced.
                if let Ok(more) = LoadedClasses::all(jvmti, jni) {
                    let differing = replan.differing(more.as_slice());
                    self.replan(jni, &mut refused, differing, batches);
                }
                changed = std::mem::take(&mut replan.names);
            }
            Change::Claimed { generation, claim, is_made } => {
                let claimed = generation.claimed.iter().find(|claimed| claimed.claim == *claim);
                changed = claimed
                    .map(|claimed| loaded_before::claimed_names(jvmti, loaded, &claimed.rules))
                    .unwrap_or_default();
                let safe = loaded_before::safe_of_names(jni, &mut refused, loaded, &changed);
                let ready = if *is_made { self.without_standing(jvmti, jni, instrumentation, safe) } else { safe };
                refused.retransform(&ready, Some(batches));
            }
            Change::Insert(names) => {
                let safe = loaded_before::safe_of_names(jni, &mut refused, loaded, names);
                let ready = self.without_standing(jvmti, jni, instrumentation, safe);
                refused.retransform(&ready, Some(batches));
            }
            Change::Remove(names) => {
                let safe = loaded_before::safe_of_names(jni, &mut refused, loaded, names);
                refused.retransform(&safe, Some(batches));
            }
            Change::Restore => {}
        }
        Outcome { refused: refused.names, changed, kept: 0 }
    }

    fn replan(&self, jni: &Jni<'_>, refused: &mut Refused<'_>, differing: Differing<'_>, batches: &mut Batches) {
        let (jvmti, instrumentation) = (refused.jvmti, Arc::clone(refused.instrumentation));
        let inserted = refused.safe_among(jni, &differing.inserted, MayRead::ClassFiles);
        let ready = self.without_standing(jvmti, jni, &instrumentation, inserted);
        let removed = refused.safe_among(jni, &differing.removed, MayRead::ClassFiles);
        refused.retransform(&[ready, removed].concat(), Some(batches));
    }

    /// Returns the classes that can be changed now; the others wait.
    fn without_standing<'jni>(
        &self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        instrumentation: &Arc<Instrumentation>,
        classes: Vec<LoadedClass<'jni>>,
    ) -> Vec<LoadedClass<'jni>> {
        if classes.is_empty() {
            return classes;
        }
        let standing = standing_frames::find(jvmti, jni);
        if standing.is_empty() {
            return classes;
        }
        let mut waiting = FxHashMap::default();
        let mut ready = Vec::with_capacity(classes.len());
        for class in classes {
            let id = class_id(jvmti, jni, class);
            match id.and_then(|id| standing.get(&id).map(|frame| (id, frame.reason()))) {
                Some((id, reason)) => _ = waiting.insert(id, reason),
                None => ready.push(class),
            }
        }
        self.note_waiting(instrumentation, waiting);
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

    /// Changes classes that have waited and need not any more.
    fn look_again(&self, jvmti: Jvmti, jni: &Jni<'_>, batches: &mut Batches) {
        let Some(mut waiting) = self.state.lock().waiting.clone() else { return };
        let Some(instrumentation) = waiting.instrumentation.upgrade().filter(|session| !session.is_leaving()) else {
            self.state.lock().waiting = None;
            return;
        };
        let standing = standing_frames::find(jvmti, jni);
        let is_ready = |class: &ClassId| !standing.contains_key(class);
        let ready: FxHashSet<ClassId> = waiting.classes.keys().filter(|class| is_ready(class)).cloned().collect();
        if !ready.is_empty()
            && let Ok(loaded) = LoadedClasses::all(jvmti, jni)
        {
            let is_meant =
                |class: &LoadedClass<'_>| class_id(jvmti, jni, *class).is_some_and(|class| ready.contains(&class));
            let meant: Vec<LoadedClass<'_>> = loaded.as_slice().iter().copied().filter(is_meant).collect();
            let mut refused = Refused::new(jvmti, &instrumentation);
            let safe = refused.safe_among(jni, &meant, MayRead::ClassFiles);
            refused.retransform(&safe, Some(batches));
            waiting.classes.retain(|class, _| !ready.contains(class));
        }
        waiting.pause = (waiting.pause * 2).min(LONGEST_LOOK);
        waiting.look_at = Instant::now() + waiting.pause;
        let mut state = self.state.lock();
        // Who has come to rest meanwhile wants no class to wait.
        state.waiting = Some(waiting).filter(|waiting| !waiting.classes.is_empty() && !instrumentation.is_leaving());
    }
}

impl Change {
    /// Returns the names of the classes that are meant, if it is about names.
    pub(crate) fn names(&self) -> Names {
        match self {
            Change::Insert(names) | Change::Remove(names) => names.clone(),
            Change::InsertIntoLoaded { .. } | Change::Replan { .. } | Change::Claimed { .. } | Change::Restore => {
                Names::default()
            }
        }
    }
}
