//! Probes that are removed: where a method is called so often that even a probe of level watch is dear, its class is retransformed
//! without it, and the JIT compiles the method as if there had never been one.
//!
//! A probe costs half a nanosecond, where the JIT would have made the whole call disappear in its caller. That is a fifth of a program
//! that consists of such calls. Little is lost: from then on their time counts with their callers. Each removal is reported, in
//! `instr status` and in the recording. Live probes at level watch are removed in the same way; setting their level inserts them again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use control::ClaimRow;
use parking_lot::{Mutex, MutexGuard, RwLock};
use records::probe_registry::{ProbeRegistry, ProbedMethod};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::desired::compiler_time::CompilerTime;
use crate::desired::governor::{Decision, Governor, Interval, Manner, ProbeCalls};
use crate::desired::probe_prices::WATCH_NANOS;
use crate::recorder::{Seen, WatchedCalls};

/// What a call costs that counts itself: so much fewer there are while they are counted.
const NANOS_PER_COUNT: f64 = 15.0;
/// So much of the time may have gone into counting; what is above is not believed.
const MOST_IN_COUNTING: f64 = 0.8;
/// Before that a program has not found its pace.
const FIRST: Duration = Duration::from_secs(2);
/// So much of what the JIT has done up to now must probes have cost before they go: it does a part of it again after each change.
const DONE_AGAIN: f64 = 0.05;
/// A JIT that takes more of the CPU time than that is at work: the program has not found its pace, and a change would make it
/// take longer (measured with a Spring Boot application, docs/performance.md).
const JIT_AT_WORK: f64 = 0.1;
/// Not oftener than that: looking at all counters and all threads takes a millisecond, and on a busy machine windows are long.
const AT_LEAST: Duration = Duration::from_secs(1);
/// So many samples of calls there must be, or chance decides.
const ENOUGH: u32 = 15;

/// Name and descriptor of a method.
pub(crate) type Signature = (Box<[u8]>, Box<[u8]>);

/// A method without its probe, and the probe's number.
#[derive(Debug)]
struct Withdrawn {
    signature: Signature,
    probe: u32,
}

/// The probes of a session that were removed, and who decides that.
#[derive(Debug)]
pub(crate) struct WithdrawnProbes {
    began: Instant,
    counted: Arc<WatchedCalls>,
    probes: &'static ProbeRegistry,
    deciding: Mutex<Deciding>,
    compiler: Mutex<CompilerTime>,
    /// By class.
    methods: RwLock<FxHashMap<Arc<[u8]>, Vec<Withdrawn>>>,
    /// Probes that the governor never removes: their rule or a person forbids it, or they cannot be removed.
    spared: Mutex<FxHashSet<u32>>,
    /// Locked while classes are retransformed: changes are made and reported one after the other.
    changing: Mutex<()>,
    /// Classes are being retransformed.
    is_busy: AtomicBool,
}

#[derive(Debug)]
struct Deciding {
    governor: Governor,
    at: Duration,
    cpu: Duration,
    compiled: Duration,
    /// What probes have cost since the last change that a change would have saved.
    paid: Duration,
    /// What they took of the CPU time when they were counted last; `None` if the samples differed too much.
    percent: Option<f64>,
}

/// Probes that are removed or inserted again.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) of_probes: Vec<ProbeChange>,
    /// One line for each probe that stays as it is, although it should be changed.
    pub(crate) unchanged: Vec<String>,
}

/// One probe that is removed or inserted again.
#[derive(Debug)]
pub(crate) struct ProbeChange {
    pub(crate) probe: u32,
    /// Internal name of the class, which must be retransformed.
    class: Arc<[u8]>,
    method: String,
    pub(crate) kind: ChangeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The probe is removed, because calls cost that much.
    Removed(String),
    /// The probe is inserted again by the user or the governor.
    Restored(&'static str),
}

impl Changes {
    /// Returns the internal names of the classes that must be retransformed.
    pub(crate) fn classes(&self) -> FxHashSet<Arc<[u8]>> {
        self.of_probes.iter().map(|change| Arc::clone(&change.class)).collect()
    }
}

impl ProbeChange {
    /// Returns the change in words.
    pub(crate) fn line(&self) -> String {
        let method = &self.method;
        match &self.kind {
            ChangeKind::Removed(cost) => format!("{method} lost its probe: {cost}; its time counts with its callers"),
            ChangeKind::Restored("user") => format!("{method} has its probe again, by request"),
            ChangeKind::Restored(_) => format!("{method} has its probe again: it is quiet"),
        }
    }

    /// Returns in words that the JVM did not retransform the class.
    fn refused_line(&self) -> String {
        let method = &self.method;
        match &self.kind {
            ChangeKind::Removed(cost) => kept_line(
                method,
                cost,
                "its class cannot be retransformed (`refused` in the statistics has the reason)",
            ),
            ChangeKind::Restored(_) => {
                format!("{method} does not get its probe again: its class cannot be retransformed")
            }
        }
    }
}

fn kept_line(method: &str, cost: &str, why: &str) -> String {
    format!("{method} keeps its probe, although {cost}: {why}; [exclude] in the configuration leaves the method out")
}

impl WithdrawnProbes {
    /// Probes may take so many percent of the CPU time.
    pub(crate) fn new(
        probes: &'static ProbeRegistry,
        budget_percent: u32,
        counted: Arc<WatchedCalls>,
    ) -> WithdrawnProbes {
        let governor = Governor::new(budget_percent, Manner::OF_PROBES);
        WithdrawnProbes {
            began: Instant::now(),
            counted,
            probes,
            deciding: Mutex::new(Deciding {
                governor,
                at: Duration::ZERO,
                cpu: Duration::ZERO,
                compiled: Duration::ZERO,
                paid: Duration::ZERO,
                percent: Some(0.0),
            }),
            compiler: Mutex::default(),
            methods: RwLock::default(),
            spared: Mutex::default(),
            changing: Mutex::default(),
            is_busy: AtomicBool::new(false),
        }
    }

    /// The rule of this probe keeps the governor away.
    pub(crate) fn spare(&self, probe: u32) {
        self.spared.lock().insert(probe);
    }

    /// Waits until no change is being made; until the guard is dropped nobody else makes one.
    pub(crate) fn one_change_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }

    /// A person has set the level of these probes: from now on the governor keeps away, and removed ones are inserted again if they are
    /// `wanted`. The changes must be carried out, and then [`WithdrawnProbes::settle`].
    pub(crate) fn give_back(&self, probes: &[u32], wanted: bool) -> Changes {
        self.spared.lock().extend(probes);
        let mut changes = Changes::default();
        if !wanted {
            return changes;
        }
        changes.of_probes.extend(probes.iter().filter_map(|probe| self.note_restored(*probe, "user")));
        let mut deciding = self.deciding.lock();
        probes.iter().for_each(|probe| deciding.governor.forget(*probe));
        changes
    }

    /// These probes are governed again. Those that are removed stay so.
    pub(crate) fn govern_again(&self, probes: &[u32]) {
        let mut spared = self.spared.lock();
        spared.retain(|probe| !probes.contains(probe));
    }

    /// What calls of probes at level watch took of the CPU time when they were counted last; `None` if that was too uncertain.
    pub(crate) fn percent(&self) -> Option<f64> {
        self.deciding.lock().percent
    }

    /// Returns the claims of the governor: methods that have no probe because of it.
    pub(crate) fn claim_rows(&self) -> Vec<ClaimRow> {
        let methods = self.methods.read();
        let row = |withdrawn: &Withdrawn| {
            let name = self.name(withdrawn.probe);
            let (class, method) = name.rsplit_once('.').unwrap_or((&name, ""));
            ClaimRow {
                owner: "governor".to_owned(),
                role: "suppress".to_owned(),
                class: class.to_owned(),
                method: method.to_owned(),
                state: "active".to_owned(),
                reason: "called too often; `instr level` inserts the probe again".to_owned(),
                ..ClaimRow::default()
            }
        };
        let mut rows: Vec<ClaimRow> = methods.values().flatten().map(row).collect();
        rows.sort_by(|a, b| (&a.class, &a.method).cmp(&(&b.class, &b.method)));
        rows
    }

    /// Returns the probes that are removed at present.
    pub(crate) fn numbers(&self) -> FxHashSet<u32> {
        self.methods.read().values().flatten().map(|withdrawn| withdrawn.probe).collect()
    }

    /// Looks at the calls since the last time, if enough are known. The decisions must be noted and carried out, and then
    /// [`WithdrawnProbes::carried_out`].
    pub(crate) fn decide(&self, cpu: Duration) -> Option<Vec<Decision>> {
        let at = self.began.elapsed();
        self.counted.collect(self.probes.highest());
        if at < FIRST || at < self.deciding.lock().at + AT_LEAST {
            return None;
        }
        let seen = self.counted.take(ENOUGH)?;
        self.decide_at(at, cpu, &seen, || self.compiler.lock().read())
    }

    /// `compiled` is what the JIT has taken up to now.
    ///
    /// A change throws compiled code away. It is made when the JIT has come to rest, and when keeping the probes has cost a part of
    /// what it has done: a program that runs for a moment is not worth it.
    fn decide_at(
        &self,
        at: Duration,
        cpu: Duration,
        seen: &Seen,
        compiled: impl FnOnce() -> Duration,
    ) -> Option<Vec<Decision>> {
        let mut deciding = self.deciding.lock();
        let length = at.saturating_sub(std::mem::replace(&mut deciding.at, at)).saturating_sub(seen.stood_still);
        let used = cpu.saturating_sub(std::mem::replace(&mut deciding.cpu, cpu));
        // Code that is compiled anew is slow at first: that is no time to count calls.
        if self.is_busy.load(Ordering::Acquire) {
            return None;
        }
        let calls = self.calls(seen, length, used);
        let interval = Interval { at, length, cpu: used, calls: &calls };
        deciding.percent = seen.is_certain.then(|| interval.percent());
        let excess = deciding.governor.excess(&interval);
        deciding.paid += excess;
        let compiled = compiled();
        let jit = compiled.saturating_sub(std::mem::replace(&mut deciding.compiled, compiled));
        let price = compiled.mul_f64(DONE_AGAIN);
        let calls: u64 = seen.calls.iter().map(|(_, calls)| calls).sum();
        tracing::debug!(calls, counted = ?seen.counted, ?length, ?used, ?jit, ?excess, paid = ?deciding.paid, ?price, "what probes of level watch take");
        if deciding.paid < price || jit > used.mul_f64(JIT_AT_WORK) {
            return None;
        }
        let decisions = deciding.governor.decide(&interval);
        if decisions.is_empty() {
            return None;
        }
        deciding.paid = Duration::ZERO;
        self.is_busy.store(true, Ordering::Release);
        Some(decisions)
    }

    /// All changes that were decided have been carried out, or cannot be.
    pub(crate) fn carried_out(&self) {
        // What was counted before says nothing about what is now.
        self.counted.forget(self.probes.highest());
        self.is_busy.store(false, Ordering::Release);
    }

    /// The calls of an interval in which the process used so much CPU time, and could have spent on counting itself no more than that.
    fn calls(&self, seen: &Seen, length: Duration, used: Duration) -> Vec<ProbeCalls> {
        let (spared, removed) = (self.spared.lock(), self.numbers());
        let counted: u64 = seen.calls_in(length).map(|(_, calls)| calls).sum();
        let in_counting = counted as f64 * NANOS_PER_COUNT / (used.as_nanos() as f64).max(1.0);
        let slower = 1.0 - in_counting.min(MOST_IN_COUNTING);
        let believed = (MOST_IN_COUNTING / in_counting.max(f64::EPSILON)).min(1.0);
        let governed = seen.calls_in(length).filter(|(probe, _)| !spared.contains(probe) && !removed.contains(probe));
        let corrected = |(probe, calls)| {
            let calls = (calls as f64 * believed / slower) as u64;
            ProbeCalls { probe, calls, nanos: calls as f64 * WATCH_NANOS }
        };
        governed.map(corrected).collect()
    }

    /// Notes decisions for the class hook. The changes must be carried out, and then [`WithdrawnProbes::settle`].
    pub(crate) fn note(&self, decisions: &[Decision]) -> Changes {
        let mut changes = Changes::default();
        for decision in decisions {
            let (probe, cost) = match *decision {
                Decision::Promote { probe } => {
                    changes.of_probes.extend(self.note_restored(probe, "governor"));
                    continue;
                }
                Decision::Demote { probe, calls_per_second, percent } => {
                    let millions = calls_per_second / 1e6;
                    let cost = format!("at least {millions:.1} million calls a second took at least {percent:.1} %");
                    (probe, cost + " of the CPU time")
                }
            };
            if self.spared.lock().contains(&probe) {
                continue;
            }
            let Some(ProbedMethod { class, name, descriptor }) = self.probes.method(probe) else {
                self.keep(probe);
                changes.unchanged.push(kept_line(&self.name(probe), &cost, "classes with several names share it"));
                continue;
            };
            self.add(&class, Withdrawn { signature: (name, descriptor), probe });
            changes.of_probes.push(ProbeChange {
                probe,
                class,
                method: self.name(probe),
                kind: ChangeKind::Removed(cost),
            });
        }
        changes
    }

    /// Ends changes of which the JVM has not made those of the classes in `refused`, and returns what is to be reported. The governor keeps
    /// away from probes of such classes.
    pub(crate) fn settle(&self, changes: Changes, refused: &FxHashSet<Arc<[u8]>>) -> Changes {
        let Changes { of_probes, mut unchanged } = changes;
        let (refused, of_probes): (Vec<_>, Vec<_>) =
            of_probes.into_iter().partition(|change| refused.contains(&change.class));
        for change in refused {
            unchanged.push(change.refused_line());
            self.keep(change.probe);
            match change.kind {
                ChangeKind::Removed(_) => drop(self.take(change.probe)),
                ChangeKind::Restored(_) => {
                    if let Some(ProbedMethod { class, name, descriptor }) = self.probes.method(change.probe) {
                        self.add(&class, Withdrawn { signature: (name, descriptor), probe: change.probe });
                    }
                }
            }
        }
        Changes { of_probes, unchanged }
    }

    /// Keeps the governor away from a probe that cannot be changed.
    fn keep(&self, probe: u32) {
        self.spared.lock().insert(probe);
        self.deciding.lock().governor.forget(probe);
    }

    fn name(&self, probe: u32) -> String {
        self.probes.describe(probe).map_or_else(String::new, |probe| probe.method)
    }

    /// Notes that a removed probe is inserted again; `None` if it is not removed.
    fn note_restored(&self, probe: u32, owner: &'static str) -> Option<ProbeChange> {
        let class = self.take(probe)?;
        Some(ProbeChange { probe, class, method: self.name(probe), kind: ChangeKind::Restored(owner) })
    }

    fn add(&self, class: &Arc<[u8]>, withdrawn: Withdrawn) {
        self.methods.write().entry(Arc::clone(class)).or_default().push(withdrawn);
    }

    /// Forgets that a probe is removed, and returns its class; `None` if it is not removed.
    fn take(&self, probe: u32) -> Option<Arc<[u8]>> {
        let class = self.probes.method(probe)?.class;
        let mut methods = self.methods.write();
        let of_class = methods.get_mut(&class)?;
        let before = of_class.len();
        of_class.retain(|withdrawn| withdrawn.probe != probe);
        let was_removed = of_class.len() < before;
        if of_class.is_empty() {
            methods.remove(&class);
        }
        was_removed.then_some(class)
    }

    /// Returns the methods of this class that are to have no probe.
    pub(crate) fn methods_of(&self, class: &[u8]) -> Vec<Signature> {
        let methods = self.methods.read();
        methods.get(class).into_iter().flatten().map(|withdrawn| withdrawn.signature.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use instrument_core::level::Level;

    use super::*;
    use records::probe_registry::ProbeRequest;

    const SECOND: Duration = Duration::from_secs(1);

    /// Three methods of a class.
    fn withdrawn() -> WithdrawnProbes {
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let request = |name: &'static str| ProbeRequest {
            name: name.as_bytes(),
            descriptor: b"()V",
            access_flags: 1,
            template: "timed",
            level: Level::Watch,
            live: false,
            context: "",
        };
        probes.numbers((b"p/C", 1), &["a", "b", "c"].map(request));
        WithdrawnProbes::new(probes, 3, Arc::new(WatchedCalls::over(&[])))
    }

    /// So many calls of each in a millisecond.
    fn seen(calls: &[(u32, u64)]) -> Seen {
        Seen { calls: calls.to_vec(), counted: Duration::from_millis(1), is_certain: true, stood_still: Duration::ZERO }
    }

    /// What is decided at the end of this second if the JIT is at rest.
    fn decide(withdrawn: &WithdrawnProbes, second: u32, calls: &[(u32, u64)]) -> Option<Vec<Decision>> {
        withdrawn.decide_at(SECOND * second, SECOND * second, &seen(calls), || Duration::ZERO)
    }

    fn lines(changes: &Changes) -> Vec<String> {
        changes.of_probes.iter().map(ProbeChange::line).collect()
    }

    fn refused(classes: &[&[u8]]) -> FxHashSet<Arc<[u8]>> {
        classes.iter().map(|class| Arc::from(*class)).collect()
    }

    #[test]
    fn what_is_called_most_goes() {
        let withdrawn = withdrawn();
        let decisions = decide(&withdrawn, 1, &[(1, 30_000), (2, 1_000), (3, 100)]).unwrap();
        let changes = withdrawn.note(&decisions);
        assert!(!withdrawn.methods_of(b"p/C").is_empty());
        assert!(changes.classes().contains(b"p/C".as_slice()), "{changes:?}");
        let changes = withdrawn.settle(changes, &refused(&[]));
        let lines = lines(&changes);
        assert!(lines.len() == 1 && lines[0].starts_with("p.C.a lost its probe: "), "{lines:?}");
    }

    /// Such as records with type annotations (JDK-8376185).
    #[test]
    fn a_probe_of_a_class_that_cannot_be_retransformed_is_not_reported_as_removed_and_not_chosen_again() {
        let withdrawn = withdrawn();
        let changes = withdrawn.note(&decide(&withdrawn, 1, &[(1, 30_000)]).unwrap());
        let changes = withdrawn.settle(changes, &refused(&[b"p/C", b"p/Other"]));
        withdrawn.carried_out();
        assert!(changes.of_probes.is_empty(), "{changes:?}");
        assert!(
            changes.unchanged.len() == 1 && changes.unchanged[0].starts_with("p.C.a keeps its probe, although "),
            "{changes:?}"
        );
        assert!(withdrawn.numbers().is_empty() && withdrawn.methods_of(b"p/C").is_empty());
        assert_eq!(decide(&withdrawn, 2, &[(1, 30_000)]), None, "it would be refused again");
        assert_eq!(decide(&withdrawn, 400, &[]), None, "nothing can be inserted again");
        assert!(decide(&withdrawn, 401, &[(1, 30_000), (2, 40_000)]).is_some(), "others go");
    }

    #[test]
    fn a_probe_that_many_classes_share_stays_and_is_reported_once() {
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let request = ProbeRequest {
            name: b"run",
            descriptor: b"()V",
            access_flags: 1,
            template: "timed",
            level: Level::Watch,
            live: false,
            context: "",
        };
        let mut shared = 0;
        for loader in 1..=600 {
            shared = probes.numbers((format!("p/Script{loader}").as_bytes(), loader), &[request]).unwrap()[0];
            probes.note_unloaded(&FxHashSet::from_iter([loader]));
        }
        assert_eq!(probes.method(shared), None);
        let withdrawn = WithdrawnProbes::new(probes, 3, Arc::new(WatchedCalls::over(&[])));
        let decisions = decide(&withdrawn, 1, &[(shared, 30_000), (1, 40_000)]).unwrap();
        let changes = withdrawn.note(&decisions);
        assert!(changes.unchanged.len() == 1 && changes.unchanged[0].starts_with("p.Script*.run keeps its probe"));
        let changed: Vec<u32> = changes.of_probes.iter().map(|change| change.probe).collect();
        assert_eq!(changed, [1]);
        withdrawn.settle(changes, &refused(&[]));
        withdrawn.carried_out();
        assert_eq!(decide(&withdrawn, 2, &[(shared, 30_000)]), None);
    }

    #[test]
    fn without_a_thread_that_removes_probes_the_governor_tries_again() {
        let withdrawn = withdrawn();
        assert!(decide(&withdrawn, 1, &[(1, 30_000)]).is_some());
        withdrawn.carried_out();
        assert!(withdrawn.numbers().is_empty() && withdrawn.methods_of(b"p/C").is_empty(), "nothing was removed");
        assert!(decide(&withdrawn, 2, &[(1, 30_000)]).is_some());
    }

    #[test]
    fn calls_of_a_removed_probe_do_not_have_it_removed_again() {
        let withdrawn = withdrawn();
        let decisions = decide(&withdrawn, 1, &[(1, 30_000)]).unwrap();
        withdrawn.settle(withdrawn.note(&decisions), &refused(&[]));
        withdrawn.carried_out();
        assert_eq!(decide(&withdrawn, 2, &[(1, 30_000)]), None);
    }

    #[test]
    fn what_counting_takes_is_added_again() {
        // 40 million calls in a second, which took 600 ms: without them there would have been two and a half times as many.
        let calls = withdrawn().calls(&seen(&[(1, 40_000)]), SECOND, SECOND);
        assert_eq!(calls, [ProbeCalls { probe: 1, calls: 100_000_000, nanos: 120_000_000.0 }]);
        // 100 million cannot have counted themselves in 10 ms.
        assert!(withdrawn().calls(&seen(&[(1, 100_000)]), SECOND, SECOND / 100)[0].nanos <= 4e6);
    }

    #[test]
    fn a_share_that_samples_do_not_agree_on_is_not_shown() {
        let withdrawn = withdrawn();
        let uncertain = Seen { is_certain: false, ..seen(&[(1, 1_000)]) };
        withdrawn.decide_at(SECOND, SECOND, &uncertain, || Duration::ZERO);
        assert_eq!(withdrawn.percent(), None);
    }

    #[test]
    fn a_process_that_was_stopped_called_nothing_meanwhile() {
        let decide = |stood_still| {
            let seen = Seen { stood_still, ..seen(&[(1, 8_000)]) };
            withdrawn().decide_at(SECOND * 10, SECOND, &seen, || Duration::ZERO)
        };
        // 8 million calls a second take 1 % of it.
        assert!(decide(SECOND * 9).is_none());
        assert!(decide(Duration::ZERO).is_some());
    }

    #[test]
    fn nothing_is_decided_while_classes_are_changed() {
        let withdrawn = withdrawn();
        assert!(withdrawn.decide_at(SECOND, SECOND, &seen(&[(1, 30_000)]), || Duration::ZERO).is_some());
        assert!(withdrawn.decide_at(SECOND * 2, SECOND * 2, &seen(&[(2, 30_000)]), || Duration::ZERO).is_none());
        withdrawn.carried_out();
        assert!(withdrawn.decide_at(SECOND * 3, SECOND * 3, &seen(&[(2, 30_000)]), || Duration::ZERO).is_some());
    }

    #[test]
    fn code_is_thrown_away_when_the_probes_have_cost_as_much() {
        let withdrawn = withdrawn();
        let compiled = || Duration::from_millis(3200);
        let [first, second, third] = [1, 2, 3].map(|second| {
            // 65 of 1000 ms, of which 7.5 would be left.
            withdrawn.decide_at(SECOND * second, SECOND * second, &seen(&[(1, 30_000)]), compiled).is_some()
        });
        assert_eq!(
            [first, second, third],
            [false, false, true],
            "a twentieth of 3.2 s, and not in the second in which they were used"
        );
    }

    #[test]
    fn what_a_person_asks_for_is_inserted_again_and_stays() {
        let withdrawn = withdrawn();
        let changes = withdrawn.note(&decide(&withdrawn, 1, &[(1, 30_000), (2, 40_000)]).unwrap());
        let removed: Vec<u32> = changes.of_probes.iter().map(|change| change.probe).collect();
        assert_eq!(removed, [2, 1]);
        withdrawn.carried_out();
        assert!(withdrawn.give_back(&[1, 3], false).of_probes.is_empty() && withdrawn.numbers().len() == 2);
        let refused_at_first = withdrawn.settle(withdrawn.give_back(&[1], true), &refused(&[b"p/C"]));
        assert_eq!((refused_at_first.unchanged.len(), withdrawn.numbers().len()), (1, 2));
        let changes = withdrawn.settle(withdrawn.give_back(&[1, 3], true), &refused(&[]));
        assert!(changes.classes().contains(b"p/C".as_slice()), "{changes:?}");
        assert_eq!(lines(&changes), ["p.C.a has its probe again, by request"]);
        assert_eq!(withdrawn.numbers().into_iter().collect::<Vec<_>>(), [2]);
        assert!(withdrawn.give_back(&[1], true).of_probes.is_empty(), "it is there");
        assert_eq!(decide(&withdrawn, 2, &[(1, 30_000)]), None, "spared");
    }

    #[test]
    fn spared_probes_stay() {
        let withdrawn = withdrawn();
        withdrawn.spare(1);
        assert!(withdrawn.decide_at(SECOND, SECOND, &seen(&[(1, 30_000)]), || Duration::ZERO).is_none());
    }
}
