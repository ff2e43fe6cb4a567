//! The only caller of `RetransformClasses` (JVMTI): in batches whose length the application can bear, and around what the JVM rejects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::Retransforms;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::batches::Batches;
use super::stop_time;
use crate::classes::hierarchy::{ClassId, TypeIndex, class_id};
use crate::classes::safe_retransforms::SAFE_RETRANSFORMS;
use crate::jvm::{self, Jni, Jvmti, JvmtiError, LoadedClass};
use crate::recorder::jvm_event_recording::JvmEventRecording;
use crate::statistics::{RefusedMethod, Statistics};
use crate::transform;
use crate::transform::instrumentation::Instrumentation;

/// Counts of the process. A class that is retransformed again counts again.
static COUNTS: Mutex<Retransforms> =
    Mutex::new(Retransforms { batches: 0, classes: 0, rejected: 0, longest_stop_ms: 0.0, waiting: Vec::new() });

/// Returns what was retransformed up to now.
pub(super) fn counts() -> Retransforms {
    COUNTS.lock().clone()
}

/// Where each batch is recorded, and why its classes are retransformed. `None` if nothing is recorded any more.
pub(super) type Recorded<'a> = Option<(&'a JvmEventRecording, &'static str)>;

/// Retransforms these classes in one batch, without a limit of the time for which the application is stopped.
pub(super) fn at_once<'jni>(
    (jvmti, recorded): (Jvmti, Recorded<'_>),
    classes: &[LoadedClass<'jni>],
    rejected: &mut dyn FnMut(LoadedClass<'jni>, JvmtiError),
) {
    divided(classes, &mut |batch| batch_of(jvmti, batch, recorded).map(drop), &is_about_one_class, rejected);
}

/// Retransforms these classes one batch after the other, while `goes_on`, and returns how many were presented to the JVM.
pub(super) fn in_batches<'jni>(
    (jvmti, recorded): (Jvmti, Recorded<'_>),
    (batches, goes_on): (&mut Batches, &dyn Fn() -> bool),
    classes: &[LoadedClass<'jni>],
    rejected: &mut dyn FnMut(LoadedClass<'jni>, JvmtiError),
) -> usize {
    let mut left = classes;
    while !left.is_empty() && goes_on() {
        let (batch, others) = left.split_at(batches.size().min(left.len()));
        left = others;
        std::thread::sleep(batches.wait());
        let mut was_rejected = false;
        let mut retransform = |part: &[LoadedClass<'jni>]| {
            let took = batch_of(jvmti, part, recorded);
            match took {
                Ok(time) => batches.took(part.len(), time),
                Err(_) => was_rejected = true,
            }
            took.map(drop)
        };
        divided(batch, &mut retransform, &is_about_one_class, rejected);
        if was_rejected {
            batches.rejected();
        }
    }
    classes.len() - left.len()
}

/// Presents one batch to the JVM, and returns for how long the application was stopped meanwhile: all safepoints of that time together, or, where the
/// JVM does not publish their time, the whole time without that in the hook.
fn batch_of(jvmti: Jvmti, classes: &[LoadedClass<'_>], recorded: Recorded<'_>) -> Result<Duration, JvmtiError> {
    let (start, in_hook, stopped) = (Instant::now(), transform::time_in_hook(), stop_time::total());
    let result = jvm::retransform(jvmti, classes);
    // The hook runs on this thread, before the JVM stops the others.
    let took = start.elapsed();
    let outside_hook = took.saturating_sub(transform::time_in_hook().saturating_sub(in_hook));
    let at_safepoints =
        stopped.and_then(|before| stop_time::total()?.checked_sub(before)).filter(|stopped| !stopped.is_zero());
    let time = at_safepoints.map_or(outside_hook, |stopped| stopped.min(outside_hook));
    if let Some((events, reason)) = recorded {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (duration_nanos, stopped_nanos) = (nanos(took), nanos(time));
        let (classes, is_rejected) = (classes.len() as u64, result.is_err());
        events.retransform(trace::Retransform { reason, classes, is_rejected, duration_nanos, stopped_nanos });
    }
    let mut counts = COUNTS.lock();
    counts.batches += 1;
    match result {
        Ok(()) => {
            counts.classes += classes.len() as u64;
            counts.longest_stop_ms = counts.longest_stop_ms.max(time.as_secs_f64() * 1e3);
        }
        Err(_) => counts.rejected += 1,
    }
    result.map(|()| time)
}

/// Carries out a batch; if that fails, each half of it, until the culprits are found. `rejected` gets these, the rest is done.
fn divided<T: Copy, E: Copy>(
    batch: &[T],
    carry_out: &mut dyn FnMut(&[T]) -> Result<(), E>,
    could_be_less: &dyn Fn(E) -> bool,
    rejected: &mut dyn FnMut(T, E),
) {
    if batch.is_empty() {
        return;
    }
    let Err(error) = carry_out(batch) else { return };
    if batch.len() == 1 || !could_be_less(error) {
        batch.iter().for_each(|one| rejected(*one, error));
        return;
    }
    let (first, second) = batch.split_at(batch.len() / 2);
    divided(first, carry_out, could_be_less, rejected);
    divided(second, carry_out, could_be_less, rejected);
}

fn is_about_one_class(error: JvmtiError) -> bool {
    error.is_about_one_class()
}

/// Whether loaders may be asked for files of classes that the JVM has damaged.
#[derive(Debug, Clone, Copy)]
pub(super) enum MayRead {
    ClassFiles,
    /// A class is being linked, which others may wait for: no time for Java code of a loader.
    Nothing,
}

/// What was retransformed of classes that are to be, and what was not. Each that is refused is counted.
pub(super) struct Retransforming<'a> {
    pub(super) jvmti: Jvmti,
    pub(super) instrumentation: &'a Arc<Instrumentation>,
    /// Internal names of classes that are not retransformed.
    pub(super) refused: FxHashSet<Arc<[u8]>>,
    /// Classes that were.
    done: FxHashSet<ClassId>,
    /// What these have got is noted with this pass, or with a later one.
    pass: u32,
    /// Why, as recordings have it.
    reason: &'static str,
}

impl<'a> Retransforming<'a> {
    /// Nothing has been done yet.
    pub(super) fn new(
        jvmti: Jvmti,
        instrumentation: &'a Arc<Instrumentation>,
        reason: &'static str,
    ) -> Retransforming<'a> {
        let pass = instrumentation.live.next_pass();
        Retransforming {
            jvmti,
            instrumentation,
            refused: FxHashSet::default(),
            done: FxHashSet::default(),
            pass,
            reason,
        }
    }

    /// Whether this class was retransformed.
    pub(super) fn is_done(&self, jni: &Jni<'_>, class: LoadedClass<'_>) -> bool {
        class_id(self.jvmti, jni, class).is_some_and(|class| self.done.contains(&class))
    }

    /// Returns the classes that were retransformed.
    pub(super) fn done(&self) -> &FxHashSet<ClassId> {
        &self.done
    }

    /// What classes have got since is noted with this pass, or with a later one.
    pub(super) fn pass(&self) -> u32 {
        self.pass
    }

    /// Returns the names of which all classes were retransformed.
    pub(super) fn changed(&self) -> FxHashSet<Arc<[u8]>> {
        let names = self.done.iter().map(|(name, _)| &**name).filter(|name| !self.refused.contains(*name));
        names.map(Arc::from).collect()
    }

    /// Forgets the probes that no class has any more now that these were retransformed: that of another loader may have them still.
    pub(super) fn forget_lost_probes(&self) {
        let Instrumentation { rewritten, live, probes, .. } = &**self.instrumentation;
        let names: FxHashSet<&[u8]> = self.done.iter().map(|(name, _)| &**name).collect();
        let mut lost = FxHashSet::default();
        for name in names {
            let earliest = rewritten.earliest_pass(name);
            let is_lost =
                |probe: &u32| live.last_pass(*probe).is_some_and(|last| earliest.is_none_or(|pass| last < pass));
            lost.extend(probes.of_class(name).into_iter().map(|(probe, _)| probe).filter(is_lost));
        }
        live.lose(&lost);
    }

    /// Switches off the probes of classes of which nothing is wanted any more: to restore them takes a while.
    pub(super) fn disarm(&self, jni: &Jni<'_>, unwanted: &[LoadedClass<'_>]) {
        let classes: FxHashSet<ClassId> =
            unwanted.iter().filter_map(|class| class_id(self.jvmti, jni, *class)).collect();
        let live = &self.instrumentation.live;
        let probes = self.probes_of(live.not_given_since(self.pass), &self.names_of_all(&classes));
        live.disarm(&probes).iter().for_each(|change| self.instrumentation.record_change(change));
    }

    /// Returns the names of which all classes that have probes are among these.
    fn names_of_all<'c>(&self, classes: &'c FxHashSet<ClassId>) -> FxHashSet<&'c [u8]> {
        let is_among = |name: &[u8], loader| classes.contains(&(Box::from(name), loader));
        let all_are = |name: &[u8]| {
            let loaders = self.instrumentation.rewritten.loaders_of(name);
            loaders.into_iter().all(|loader| is_among(name, loader))
        };
        classes.iter().map(|(name, _)| &**name).filter(|name| all_are(name)).collect()
    }

    /// Returns those of the probes that classes of these names have.
    fn probes_of(&self, probes: Vec<u32>, names: &FxHashSet<&[u8]>) -> FxHashSet<u32> {
        let class = |probe: &u32| self.instrumentation.probes.method(*probe).map(|method| method.class);
        probes.into_iter().filter(|probe| class(probe).is_some_and(|class| names.contains(&*class))).collect()
    }

    /// Takes back what the class hook has noted of classes that the JVM rejects: they stay as they were before.
    fn undo(&self, rejected: &FxHashSet<ClassId>, before: &FxHashMap<ClassId, u32>) {
        let Instrumentation { rewritten, live, .. } = &**self.instrumentation;
        for class in rejected {
            match before.get(class) {
                Some(pass) => rewritten.set_pass(class, *pass),
                None => rewritten.note_unchanged(&class.0, class.1),
            }
        }
        let mut names: FxHashSet<&[u8]> = rejected.iter().map(|(name, _)| &**name).collect();
        self.done.iter().for_each(|(name, _)| _ = names.remove(&**name));
        live.lose(&self.probes_of(live.new_since(self.pass), &names));
    }

    fn refuse(&mut self, class: LoadedClass<'_>, key: &str, reason: String) {
        let name = class.internal_name(self.jvmti).unwrap_or_default();
        let class = String::from_utf8_lossy(&name).into_owned();
        self.instrumentation.statistics.refuse(key, RefusedMethod { class, method: String::new(), reason });
        self.refused.insert(name.into());
    }

    /// Returns the classes that can be retransformed now. One that is not linked yet is, when it is linked; one that the JVM cannot retransform
    /// safely is refused.
    pub(super) fn ready_among<'jni>(&mut self, jni: &Jni<'_>, classes: &[LoadedClass<'jni>]) -> Vec<LoadedClass<'jni>> {
        let (jvmti, instrumentation) = (self.jvmti, self.instrumentation);
        let is_linked = |class: &LoadedClass<'_>| {
            let name = class.internal_name(jvmti);
            name.is_some_and(|name| !instrumentation.late.waits_for_linking(jvmti, jni, *class, &name))
        };
        let linked: Vec<LoadedClass<'_>> = classes.iter().copied().filter(is_linked).collect();
        self.safe_among(jni, &linked, MayRead::ClassFiles)
    }

    /// Returns the classes into which probes may be inserted: not those that grow with each retransformation. To remove probes from these is possible once
    /// more.
    pub(super) fn insertable_among<'jni>(
        &mut self,
        jni: &Jni<'_>,
        classes: Vec<LoadedClass<'jni>>,
    ) -> Vec<LoadedClass<'jni>> {
        let mut insertable = Vec::with_capacity(classes.len());
        for class in classes {
            let id = class_id(self.jvmti, jni, class);
            match id.and_then(|id| self.instrumentation.rewritten.retransformed_too_often(&id)) {
                Some(times) => {
                    let reason = format!(
                        "HotSpot has added constants to the class in each of {times} retransformations and never removes them (JDK-8308762, mended in \
                         later updates of the JDK): it gets no other probes"
                    );
                    self.refuse(class, "constant-pool-grows", reason);
                }
                None => insertable.push(class),
            }
        }
        insertable
    }

    /// Returns the classes that the JVM can retransform safely.
    pub(super) fn safe_among<'jni>(
        &mut self,
        jni: &Jni<'_>,
        classes: &[LoadedClass<'jni>],
        may_read: MayRead,
    ) -> Vec<LoadedClass<'jni>> {
        let mut safe = Vec::with_capacity(classes.len());
        let generation = self.instrumentation.generation();
        let types: Option<&TypeIndex> = matches!(may_read, MayRead::ClassFiles).then_some(&generation.types);
        // To look into thousands of classes takes seconds.
        for class in classes.iter().take_while(|_| !self.instrumentation.is_leaving()) {
            match SAFE_RETRANSFORMS.hazard(self.jvmti, jni, *class, types) {
                Some(hazard) => self.refuse(*class, hazard.key, hazard.reason.to_owned()),
                None => safe.push(*class),
            }
        }
        safe
    }

    /// Retransforms the classes, which are safe: in batches while `goes_on` if the application runs, else at once. Returns how many were presented to
    /// the JVM.
    pub(super) fn retransform(
        &mut self,
        jni: &Jni<'_>,
        classes: &[LoadedClass<'_>],
        batches: Option<(&mut Batches, &dyn Fn() -> bool)>,
    ) -> usize {
        let (jvmti, instrumentation) = (self.jvmti, self.instrumentation);
        let recorded = (jvmti, Some((&instrumentation.events, self.reason)));
        let ids: Vec<Option<ClassId>> = classes.iter().map(|class| class_id(jvmti, jni, *class)).collect();
        let pass_of = |class: &ClassId| Some((class.clone(), instrumentation.rewritten.pass_of(class)?));
        let before: FxHashMap<ClassId, u32> = ids.iter().flatten().filter_map(pass_of).collect();
        let mut rejected_classes = FxHashSet::default();
        let mut rejected = |class: LoadedClass<'_>, error: JvmtiError| {
            self.refuse(class, "retransform-rejected", format!("the JVM rejects the rewritten class: {error}"));
            rejected_classes.extend(class_id(jvmti, jni, class));
        };
        let presented = match batches {
            // A detach, or the end of the JVM, does not wait for classes that would only be restored.
            Some((batches, goes_on)) => {
                let goes_on = || goes_on() && !instrumentation.is_leaving();
                in_batches(recorded, (batches, &goes_on), classes, &mut rejected)
            }
            None => {
                at_once(recorded, classes, &mut rejected);
                classes.len()
            }
        };
        Statistics::add(&instrumentation.statistics.classes_retransformed, presented);
        for (class, id) in classes.iter().zip(ids).take(presented) {
            let Some(id) = id.filter(|id| !rejected_classes.contains(id)) else { continue };
            instrumentation.rewritten.note_retransformed(&id, || Some(class.constant_pool(jvmti)?.bytes.len()));
            self.done.insert(id);
        }
        if !rejected_classes.is_empty() {
            self.undo(&rejected_classes, &before);
        }
        presented
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_is_rejected_is_halved_until_the_culprits_are_found() {
        let (mut calls, mut done, mut rejected) = (Vec::new(), Vec::new(), Vec::new());
        let classes: Vec<u32> = (0..16).collect();
        let mut carry_out = |batch: &[u32]| {
            calls.push(batch.len());
            if batch.contains(&5) || batch.contains(&12) {
                return Err("unsupported");
            }
            done.extend_from_slice(batch);
            Ok(())
        };
        divided(&classes, &mut carry_out, &|_| true, &mut |class, error| rejected.push((class, error)));
        assert_eq!(rejected, [(5, "unsupported"), (12, "unsupported")]);
        assert_eq!(done.len(), 14);
        assert_eq!(calls, [16, 8, 4, 4, 2, 1, 1, 2, 8, 4, 4, 2, 1, 1, 2]);
    }

    #[test]
    fn an_error_that_is_not_about_a_class_rejects_all_at_once() {
        let (mut calls, mut rejected) = (0, 0);
        let mut carry_out = |_: &[u32]| {
            calls += 1;
            Err("wrong phase")
        };
        divided(&[1, 2, 3, 4], &mut carry_out, &|_| false, &mut |_, _| rejected += 1);
        assert_eq!((calls, rejected), (1, 4));
    }
}
