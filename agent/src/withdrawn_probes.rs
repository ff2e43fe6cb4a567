//! Methods that are called so often that even a probe of level watch is dear lose it: their classes are retransformed without it, and
//! the JIT compiles them as if there had never been one.
//!
//! A probe costs half a nanosecond, where the JIT would have made the whole call disappear in its caller. That is a fifth of a program
//! that consists of such calls. What they tell is little: their time stands with their callers from then on. Each one is told, in
//! `instr status` and in the recording. Live probes at level watch go the same way; a person who sets their level has them back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use classfile::ClassFile;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::class_plan::ClassPlan;
use crate::compiler_time::CompilerTime;
use crate::governor::{Decision, Governor, Interval, Manner, ProbeCalls};
use crate::probe_prices::WATCH_NANOS;
use crate::probe_registry::{ProbeRegistry, ProbedMethod};
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
/// So long calls must have been counted, or chance decides.
const ENOUGH: Duration = Duration::from_millis(15);

/// Name and descriptor.
type Signature = (Box<[u8]>, Box<[u8]>);

/// A method without its probe, and the probe's number.
#[derive(Debug)]
struct Withdrawn {
    signature: Signature,
    probe: u32,
}

/// The probes of a session that were taken away, and who decides that.
#[derive(Debug)]
pub(crate) struct WithdrawnProbes {
    began: Instant,
    counted: Arc<WatchedCalls>,
    probes: &'static ProbeRegistry,
    deciding: Mutex<Deciding>,
    compiler: Mutex<CompilerTime>,
    /// By class.
    methods: RwLock<FxHashMap<Arc<[u8]>, Vec<Withdrawn>>>,
    /// Probes whose rule, or a person, keeps the governor away.
    spared: Mutex<FxHashSet<u32>>,
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
    /// What they took of the CPU time when they were counted last.
    percent: f64,
}

/// What is to be done, and how people are told.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Internal names of the classes that must be retransformed.
    pub(crate) classes: FxHashSet<Arc<[u8]>>,
    /// One line for each method.
    pub(crate) lines: Vec<String>,
    /// Probes that go.
    pub(crate) gone: Vec<u32>,
    /// Probes that are inserted again, and who wants that.
    pub(crate) back: Vec<(u32, &'static str)>,
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
                percent: 0.0,
            }),
            compiler: Mutex::default(),
            methods: RwLock::default(),
            spared: Mutex::default(),
            is_busy: AtomicBool::new(false),
        }
    }

    /// The rule of this probe keeps the governor away.
    pub(crate) fn spare(&self, probe: u32) {
        self.spared.lock().insert(probe);
    }

    /// A person has set the level of these probes: from now on the governor keeps away, and those that are gone come back if they are
    /// `wanted`. What comes of it must be carried out.
    pub(crate) fn give_back(&self, probes: &[u32], wanted: bool) -> Changes {
        // First: whoever decides at this moment leaves them alone, or has noted them already.
        self.spared.lock().extend(probes);
        let mut changes = Changes::default();
        if !wanted {
            return changes;
        }
        let mut methods = self.methods.write();
        for probe in probes {
            let Some(method) = self.probes.method(*probe) else { continue };
            let Some(of_class) = methods.get_mut(&method.class) else { continue };
            let before = of_class.len();
            of_class.retain(|withdrawn| withdrawn.probe != *probe);
            if of_class.len() < before {
                let text = self.probes.describe(*probe).map_or_else(String::new, |probe| probe.method);
                changes.lines.push(format!("{text} has its probe again, by request"));
                changes.classes.insert(method.class);
                changes.back.push((*probe, "user"));
            }
        }
        methods.retain(|_, of_class| !of_class.is_empty());
        drop(methods);
        let mut deciding = self.deciding.lock();
        probes.iter().for_each(|probe| deciding.governor.forget(*probe));
        changes
    }

    /// These probes are governed again. Those that are gone stay away.
    pub(crate) fn govern_again(&self, probes: &[u32]) {
        let mut spared = self.spared.lock();
        spared.retain(|probe| !probes.contains(probe));
    }

    /// What calls of probes at level watch took of the CPU time when they were counted last.
    pub(crate) fn percent(&self) -> f64 {
        self.deciding.lock().percent
    }

    /// The probes that are gone at present.
    pub(crate) fn numbers(&self) -> FxHashSet<u32> {
        self.methods.read().values().flatten().map(|withdrawn| withdrawn.probe).collect()
    }

    /// Looks at the calls since the last time, if enough are known. What comes of it must be carried out, and then
    /// [`WithdrawnProbes::carried_out`].
    pub(crate) fn decide(&self, cpu: Duration) -> Option<Changes> {
        let at = self.began.elapsed();
        if at < FIRST || at < self.deciding.lock().at + AT_LEAST {
            return None;
        }
        let seen = self.counted.take(ENOUGH, self.probes.highest())?;
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
    ) -> Option<Changes> {
        let mut deciding = self.deciding.lock();
        let length = at.saturating_sub(std::mem::replace(&mut deciding.at, at)).saturating_sub(seen.stood_still);
        let used = cpu.saturating_sub(std::mem::replace(&mut deciding.cpu, cpu));
        // Code that is compiled anew is slow at first: that is no time to count calls.
        if self.is_busy.load(Ordering::Acquire) {
            return None;
        }
        let calls = self.calls(seen, length, used);
        let interval = Interval { at, length, cpu: used, calls: &calls };
        deciding.percent = interval.percent();
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
        Some(self.note(&decisions))
    }

    /// All changes that were decided have been carried out.
    pub(crate) fn carried_out(&self) {
        // What was counted before says nothing about what is now.
        self.counted.forget(self.probes.highest());
        self.is_busy.store(false, Ordering::Release);
    }

    /// The calls of an interval in which the process used so much CPU time.
    fn calls(&self, seen: &Seen, length: Duration, used: Duration) -> Vec<ProbeCalls> {
        let spared = self.spared.lock();
        let counted: u64 = seen.calls_in(length).map(|(_, calls)| calls).sum();
        let in_counting = counted as f64 * NANOS_PER_COUNT / (used.as_nanos() as f64).max(1.0);
        let slower = 1.0 - in_counting.min(MOST_IN_COUNTING);
        let governed = seen.calls_in(length).filter(|(probe, _)| !spared.contains(probe));
        let corrected = |(probe, calls)| {
            let calls = (calls as f64 / slower) as u64;
            ProbeCalls { probe, calls, nanos: calls as f64 * WATCH_NANOS }
        };
        governed.map(corrected).collect()
    }

    fn note(&self, decisions: &[Decision]) -> Changes {
        let mut changes = Changes::default();
        let mut methods = self.methods.write();
        for decision in decisions {
            let (Decision::Demote { probe, .. } | Decision::Promote { probe }) = *decision;
            let Some(ProbedMethod { class, name, descriptor }) = self.probes.method(probe) else { continue };
            let text = self.probes.describe(probe).map_or_else(String::new, |probe| probe.method);
            let of_class = methods.entry(Arc::clone(&class)).or_default();
            of_class.retain(|withdrawn| withdrawn.probe != probe);
            changes.lines.push(match decision {
                Decision::Demote { .. } if self.spared.lock().contains(&probe) => continue,
                Decision::Demote { calls_per_second, percent, .. } => {
                    of_class.push(Withdrawn { signature: (name, descriptor), probe });
                    changes.gone.push(probe);
                    format!(
                        "{text} lost its probe: {:.1} million calls a second took {percent:.1} % of the CPU time; its time counts with its callers",
                        calls_per_second / 1e6
                    )
                }
                Decision::Promote { .. } => {
                    changes.back.push((probe, "governor"));
                    format!("{text} has its probe again: it is quiet")
                }
            });
            changes.classes.insert(class);
        }
        methods.retain(|_, of_class| !of_class.is_empty());
        changes
    }

    /// Takes the templates off the methods of this class that are to have no probe.
    pub(crate) fn strip(&self, file: &ClassFile<'_>, plan: &mut ClassPlan) {
        let methods = self.methods.read();
        let Some(withdrawn) = methods.get(file.this_class().as_bytes()) else { return };
        plan.strip(|method_index| {
            let signature =
                file.methods().get(method_index).map(|method| (method.name.as_bytes(), method.descriptor.as_bytes()));
            withdrawn
                .iter()
                .any(|Withdrawn { signature: (name, descriptor), .. }| Some((&**name, &**descriptor)) == signature)
        });
    }

    /// Whether a class of this name was retransformed for that, so that its methods are counted already.
    pub(crate) fn has_touched(&self, class: &[u8]) -> bool {
        self.methods.read().contains_key(class)
    }
}

#[cfg(test)]
mod tests {
    use instrument_core::level::Level;

    use super::*;
    use crate::probe_registry::ProbeRequest;

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
        };
        probes.numbers((b"p/C", 1), &["a", "b", "c"].map(request));
        WithdrawnProbes::new(probes, 3, Arc::new(WatchedCalls::over(&[])))
    }

    /// So many calls of each in a millisecond.
    fn seen(calls: &[(u32, u64)]) -> Seen {
        Seen { calls: calls.to_vec(), counted: Duration::from_millis(1), stood_still: Duration::ZERO }
    }

    #[test]
    fn what_is_called_most_goes() {
        let withdrawn = withdrawn();
        let changes = withdrawn
            .decide_at(SECOND, SECOND, &seen(&[(1, 30_000), (2, 1_000), (3, 100)]), || Duration::ZERO)
            .unwrap();
        assert!(changes.classes.contains(b"p/C".as_slice()), "{changes:?}");
        assert!(changes.lines.len() == 1 && changes.lines[0].starts_with("p.C.a lost its probe: "), "{changes:?}");
        assert!(withdrawn.has_touched(b"p/C"));
    }

    #[test]
    fn what_counting_takes_is_added_again() {
        // 40 million calls in a second, which took 600 ms: without them there would have been two and a half times as many.
        let calls = withdrawn().calls(&seen(&[(1, 40_000)]), SECOND, SECOND);
        assert_eq!(calls, [ProbeCalls { probe: 1, calls: 100_000_000, nanos: 120_000_000.0 }]);
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
    fn what_a_person_asks_for_comes_back_and_stays() {
        let withdrawn = withdrawn();
        let hot = |seconds| {
            withdrawn
                .decide_at(SECOND * seconds, SECOND * seconds, &seen(&[(1, 30_000), (2, 40_000)]), || Duration::ZERO)
        };
        let changes = hot(1).unwrap();
        assert_eq!(changes.gone, [2, 1]);
        withdrawn.carried_out();
        assert!(withdrawn.give_back(&[1, 3], false).classes.is_empty() && withdrawn.numbers().len() == 2);
        let changes = withdrawn.give_back(&[1, 3], true);
        assert!(changes.classes.contains(b"p/C".as_slice()), "{changes:?}");
        assert_eq!(changes.lines, ["p.C.a has its probe again, by request"]);
        assert_eq!(withdrawn.numbers().into_iter().collect::<Vec<_>>(), [2]);
        assert!(withdrawn.give_back(&[1], true).classes.is_empty(), "it is there");
        assert!(
            withdrawn.decide_at(SECOND * 2, SECOND * 2, &seen(&[(1, 30_000)]), || Duration::ZERO).is_none(),
            "spared"
        );
    }

    #[test]
    fn spared_probes_stay() {
        let withdrawn = withdrawn();
        withdrawn.spare(1);
        assert!(withdrawn.decide_at(SECOND, SECOND, &seen(&[(1, 30_000)]), || Duration::ZERO).is_none());
    }
}
