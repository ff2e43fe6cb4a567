//! The thread of a diagnosis: looks at slow calls and at what was measured, follows what explains the slowness level by level, and ends when all of it has been
//! measured together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{DiagnosisCost, DiagnosisState, NodeKind};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::CountedCalls;

use super::Session;
use super::slow_calls::{Asking, SlowCalls};
use super::without_limit::{Basis, basis, why_all_calls};
use crate::call_sites::{self, Cell, CellSums, DiagnosisNumber, MethodKey};
use crate::classes::hierarchy::ClassId;
use crate::contexts;
use crate::descent::{End, Fate, GoesOn, NodeAt, NodeOf, Stacks, Subject, Tree, result_of, short};
use crate::jvm::{Jni, nanos_as_probe_length, probe_length_nanos, thread_cpu_time};
use crate::monitor::learnt;

/// Between two looks at slow calls at least.
const TURN: Duration = Duration::from_millis(2);
/// Between two looks at what was measured.
const LOOK: Duration = Duration::from_millis(50);
/// Clients look twice a second.
const BETWEEN_PUBLICATIONS: Duration = Duration::from_millis(250);
/// The slow calls that the descent waits for, and the fast ones to compare them with.
pub(super) const LEAST_CALLS: u64 = 3;
/// The slow calls that it waits for once fewer have led astray.
const MORE_CALLS: u64 = 10;
/// Without fast calls after this time, this number of slow ones is enough.
const LEAST_WITHOUT_FAST: u64 = 6;
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Final figures are those of this number of slow calls, if they come within this time.
const ENOUGH_CALLS: u64 = 20;
const ENOUGH_TIME: Duration = Duration::from_secs(2);
const NONE_HAS_BEGUN: &str = "no call has begun since the diagnosis did: one that was executing before is not measured";

/// How far a diagnosis goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Levels below the root.
    pub(super) depth: usize,
    /// `None`: learnt.
    pub(super) slower_than: Option<Duration>,
    /// Whether it goes on in tasks that other threads run.
    pub(super) across_threads: bool,
}

/// A diagnosis under way.
pub(super) struct Run {
    pub(super) session: Arc<Session>,
    claim: u32,
    pub(super) number: DiagnosisNumber,
    pub(super) shared: Arc<Mutex<control::Diagnosis>>,
    /// Which calls of the root are meant, as it was asked for; all if `None`.
    under: Option<String>,
    pub(super) options: Options,
    /// The method that is diagnosed, and how people write it.
    pub(super) root: (MethodKey, String),
    pub(super) tree: Tree,
    pub(super) stacks: Stacks,
    slow_calls: SlowCalls,
    pub(super) numbers: FxHashMap<MethodKey, u32>,
    /// Methods that cannot be measured, with the reason.
    pub(super) not_added: FxHashMap<MethodKey, String>,
    /// Calls of which other methods than those measured there have been looked for.
    pub(super) looked_again: FxHashSet<NodeAt>,
    /// Calls that wait for stacks to show what runs there, and until when.
    pub(super) awaited: FxHashMap<NodeAt, Instant>,
    pub(super) statements: Statements,
    pub(super) classes: FxHashSet<Arc<[u8]>>,
    pub(super) cost: DiagnosisCost,
    pub(super) notices: Vec<String>,
    /// Why the class of the root has not been changed yet, if it was seen waiting.
    waited_for: Option<String>,
    state: DiagnosisState,
    /// Calls of the root in earlier rounds, and those of them that were slow.
    before: (u64, u64),
    /// Calls that take longer are slow, unless all count.
    pub(super) slower_than: Option<Duration>,
    pub(super) basis: Basis,
    /// When what is measured now began to be.
    pub(super) round: Instant,
    looked: Instant,
    published: Instant,
    /// The slow calls that the descent waits for.
    least_calls: u64,
    cpu_before: Duration,
    /// Fast calls were compared with slow ones.
    is_compared: bool,
}

/// Statements of databases at which the descent has ended.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub(super) calls: Vec<NodeAt>,
    /// The cells at which texts are noted.
    pub(super) cells: FxHashSet<Cell>,
    /// Calls up to now were measured without noting the texts of some of `calls`.
    pub(super) has_new_calls: bool,
    /// The classes that are to tell texts, until they have been changed.
    pub(super) to_insert: FxHashSet<ClassId>,
    /// Those that have been.
    pub(super) inserted: FxHashSet<ClassId>,
}

/// How a diagnosis ends.
enum Ending {
    Done,
    /// Somebody, or a limit, has ended the claim, or the session ends.
    Ended,
    Failed(String),
}

impl Run {
    pub(super) fn new(
        session: Arc<Session>,
        (claim, number): (u32, DiagnosisNumber),
        (shared, under): (Arc<Mutex<control::Diagnosis>>, Option<String>),
        options: Options,
        root: (MethodKey, String),
    ) -> Run {
        let now = Instant::now();
        Run {
            session,
            claim,
            number,
            shared,
            under,
            options,
            root,
            tree: Tree::default(),
            stacks: Stacks::default(),
            slow_calls: SlowCalls::default(),
            numbers: FxHashMap::default(),
            not_added: FxHashMap::default(),
            looked_again: FxHashSet::default(),
            awaited: FxHashMap::default(),
            statements: Statements::default(),
            classes: FxHashSet::default(),
            cost: DiagnosisCost { classes: 0, retransforms: 0, longest_stop_ms: 0.0, cpu_ms: 0.0 },
            notices: Vec::new(),
            waited_for: None,
            state: DiagnosisState::Inserting,
            before: (0, 0),
            slower_than: options.slower_than,
            basis: if options.slower_than.is_some() { Basis::Limit } else { Basis::Unsettled },
            round: now,
            looked: now,
            published: now,
            least_calls: LEAST_CALLS,
            cpu_before: Duration::ZERO,
            is_compared: true,
        }
    }

    /// Runs until the question is answered or the claim ends; then everything is removed.
    pub(super) fn run(mut self) {
        let vm = self.session.vm;
        let ending = vm.with_attached_daemon(c"instr-diagnose", |jni| {
            let ending = self.go(jni);
            self.forget_texts(jni);
            ending
        });
        let ending = ending.unwrap_or_else(|| Ending::Failed("the JVM attaches no more threads".to_owned()));
        let (state, reason) = match ending {
            Ending::Done => (DiagnosisState::Done, None),
            Ending::Ended => (DiagnosisState::Ended, Some(self.why_ended())),
            Ending::Failed(reason) => (DiagnosisState::Ended, Some(reason)),
        };
        self.record_slow_calls();
        self.publish();
        let waits_for_calls = self.state != DiagnosisState::Inserting && self.under.is_none();
        let none = waits_for_calls && self.shared.lock().calls == 0;
        let last = self.waited_for.take().into_iter().chain(none.then(|| NONE_HAS_BEGUN.to_owned()));
        self.shared.lock().notices.extend(last);
        let said = reason.clone().unwrap_or_else(|| "the question is answered".to_owned());
        // Nothing is removed twice: who ended the claim has removed what it had inserted.
        if self.session.instrumentation.claims.has(self.claim)
            && let Err(reason) = self.session.remove_claim(self.claim, &said)
        {
            tracing::debug!("{reason}");
        }
        self.state = state;
        self.shared.lock().reason = reason;
        self.publish();
        let ended = self.shared.lock().clone();
        self.session.record_diagnosis(&ended);
    }

    fn go(&mut self, jni: &Jni<'_>) -> Ending {
        self.cpu_before = thread_cpu_time();
        while self.goes_on() {
            match self.turn(jni) {
                Ok(true) => return Ending::Done,
                Ok(false) => std::thread::sleep(TURN),
                Err(reason) => return Ending::Failed(reason),
            }
        }
        Ending::Ended
    }

    fn goes_on(&self) -> bool {
        let instrumentation = &self.session.instrumentation;
        let is_wanted = !instrumentation.is_leaving() && instrumentation.claims.has(self.claim);
        is_wanted && self.session.why_paused().is_none()
    }

    fn why_ended(&self) -> String {
        if self.session.instrumentation.is_leaving() {
            return "the recording has ended".to_owned();
        }
        if let Some(reason) = self.session.why_paused() {
            return reason.to_owned();
        }
        let ended = self.session.diagnoses.why_ended(self.claim);
        ended.unwrap_or_else(|| "it was ended".to_owned())
    }

    /// Looks once. Returns whether the question is answered.
    fn turn(&mut self, jni: &Jni<'_>) -> Result<bool, String> {
        if self.state == DiagnosisState::Inserting {
            return self.begin();
        }
        self.look_at_slow_calls(jni);
        if self.looked.elapsed() < LOOK {
            return Ok(false);
        }
        self.looked = Instant::now();
        self.record_slow_calls();
        if self.slower_than.is_none() && !self.learn() {
            self.publish();
            return Ok(false);
        }
        let is_done = self.look_at_figures();
        if is_done || self.published.elapsed() >= BETWEEN_PUBLICATIONS {
            self.publish();
        }
        Ok(is_done)
    }

    /// Begins to measure as soon as the root's class has been changed.
    fn begin(&mut self) -> Result<bool, String> {
        let step = {
            let claims = self.session.instrumentation.claims.all();
            let claim = claims.into_iter().find(|claim| claim.id == self.claim);
            let context = claim.and_then(|claim| claim.context);
            context.and_then(|context| context.steps().last().copied()).unwrap_or(0)
        };
        if !self.place_root(step)? {
            std::thread::sleep(LOOK);
            let class = Arc::clone(&self.root.0.class);
            let waits = self.session.reconciler.waiting(|name| name.as_bytes() == &*class).into_iter().next();
            let shared = &mut *self.shared.lock();
            // The end of the claim has a reason of its own, which is noted after it.
            if self.session.instrumentation.claims.has(self.claim) {
                shared.reason.clone_from(&waits);
            }
            self.waited_for = waits.or(self.waited_for.take());
            return Ok(false);
        }
        self.shared.lock().reason = None;
        self.waited_for = None;
        if let Some(slower_than) = self.slower_than {
            call_sites::of_process().set_slower_than(self.number, length(slower_than));
        }
        self.begin_round(true);
        self.state = DiagnosisState::Waiting;
        Ok(false)
    }

    fn begin_round(&mut self, forget_lengths: bool) {
        if self.state != DiagnosisState::Inserting {
            self.before = self.counted();
        }
        call_sites::of_process().begin_round(self.number, forget_lengths);
        self.round = Instant::now();
    }

    /// Settles which calls count, if no limit was stated. Returns whether what was measured in this round can be followed.
    fn settle_basis(&mut self, root: &CellSums) -> bool {
        if self.basis != Basis::Unsettled {
            return true;
        }
        self.basis = basis(root, self.round.elapsed());
        if self.basis == Basis::AllCalls {
            self.notices.push(why_all_calls(root, self.slower_than.unwrap_or_default()));
            call_sites::of_process().set_slower_than(self.number, 0);
            // Those that were slow by what was learnt.
            call_sites::forget_slow_calls(self.number);
            self.stacks = Stacks::default();
            self.begin_round(false);
            // Of the calls up to now some did not count.
            self.before = (0, 0);
            (self.is_compared, self.least_calls) = (false, ENOUGH_CALLS);
        }
        self.basis == Basis::Limit
    }

    /// Learns from which length on calls are slow; returns whether that is known.
    fn learn(&mut self) -> bool {
        let root = self.sums(0);
        if self.leave_out_the_shortest(&root) {
            // The calls up to now were as long as measuring their own calls made them.
            self.begin_round(true);
            return false;
        }
        let Some(time) = learnt(&call_sites::of_process().lengths(self.number)) else { return false };
        self.slower_than = Some(Duration::from_nanos(probe_length_nanos(time)));
        call_sites::of_process().set_slower_than(self.number, time);
        self.begin_round(false);
        // Which of the calls up to now were slow was not known.
        self.before = (0, 0);
        true
    }

    /// How many calls of the root have been measured, and how many of them were slow.
    fn counted(&self) -> (u64, u64) {
        let CellSums { slow, fast } = self.sums(0);
        (self.before.0 + slow.calls + fast.calls, self.before.1 + slow.calls)
    }

    fn look_at_slow_calls(&mut self, jni: &Jni<'_>) {
        let Some(slower_than) = self.slower_than else { return };
        let Some(runtime) = self.session.running.lock().runtime else { return };
        let clock = self.session.running.lock().clock;
        let Some(now) = clock.map(|clock| clock.as_probes_read(clock.now()) as u64) else { return };
        let asking = Asking { jvmti: self.session.jvmti, jni, runtime: &runtime, number: self.number };
        let limit = if self.basis == Basis::AllCalls { 0 } else { length(slower_than) };
        for stack in self.slow_calls.look(asking, &self.tree, (now, limit, slower_than)) {
            self.stacks.add(stack);
        }
    }

    /// Takes figures if there are enough of them, and follows what they say. Returns whether all is known and measured together.
    fn look_at_figures(&mut self) -> bool {
        let root = self.sums(0);
        if self.leave_out_the_shortest(&root) {
            // What was measured up to now contains what measuring them took.
            self.begin_round(false);
            return false;
        }
        if !self.settle_basis(&root) || !self.is_enough(&root) {
            return false;
        }
        self.is_compared = root.fast.calls > 0;
        let number = self.number;
        self.tree.take(|cell| call_sites::of_process().sums(number, cell));
        let is_any = self.descend();
        self.name_statements();
        self.name_waiting_own_code();
        if is_any {
            self.state = DiagnosisState::Descending;
            self.begin_round(false);
            return false;
        }
        if !self.awaited.is_empty() {
            return false;
        }
        self.state = DiagnosisState::Measuring;
        let is_done = root.slow.calls >= ENOUGH_CALLS || self.round.elapsed() >= ENOUGH_TIME;
        if is_done && self.look_again_at_what_is_unexplained() {
            return false;
        }
        if is_done {
            self.note_silent_statements();
        }
        is_done
    }

    /// The first slow calls may have been slow for another reason than most. Returns whether calls are measured again that had been left aside.
    fn look_again_at_what_is_unexplained(&mut self) -> bool {
        let reopened = self.tree.reopen();
        let open = |at: NodeAt| self.tree.get(at).filter(|node| node.fate == Fate::Open).and_then(|node| node.cell);
        let calls = reopened.iter().flat_map(|method| self.tree.children(*method));
        let cells: Vec<Cell> = calls.filter_map(open).collect();
        if reopened.is_empty() || !self.goes_on() {
            return false;
        }
        cells.iter().for_each(|cell| call_sites::of_process().watch(self.number, *cell, true));
        self.least_calls = MORE_CALLS;
        self.state = DiagnosisState::Descending;
        self.begin_round(false);
        true
    }

    /// Waiting for the monitor of a `synchronized` block is in no call: stacks of own code show it.
    fn name_waiting_own_code(&mut self) {
        for at in 0..self.tree.nodes().len() {
            let is_own = self.tree.get(at).is_some_and(|node| node.of == NodeOf::OwnCode);
            if is_own && self.stacks.is_blocked_in_own_code(&self.tree, at) {
                self.tree.decide(at, Fate::End(End { kind: NodeKind::Waiting, reason: "lock".to_owned() }));
            }
        }
    }

    fn is_enough(&self, root: &CellSums) -> bool {
        let are_few = root.slow.calls < self.least_calls && self.round.elapsed() < PATIENCE;
        if root.slow.calls < LEAST_CALLS || are_few {
            return false;
        }
        // Without fast calls in one round there are none in the next one either.
        let waits_for_calls = self.round.elapsed() >= PATIENCE || !self.is_compared;
        root.fast.calls >= LEAST_CALLS || root.slow.calls >= LEAST_WITHOUT_FAST && waits_for_calls
    }

    /// Follows what explains the methods about which nothing was decided. Returns whether more is measured from now on.
    fn descend(&mut self) -> bool {
        let mut is_any = self.look_again_where_others_run();
        let awaited = self.awaited_no_longer();
        is_any |= self.go_on_and_measure(awaited);
        loop {
            let undecided = self.tree.undecided();
            // Methods that have just been added have no figures yet.
            let known: Vec<usize> =
                undecided.into_iter().filter(|at| self.tree.get(*at).is_some_and(|node| node.has_figures())).collect();
            if known.is_empty() || !self.goes_on() {
                return is_any;
            }
            for method in known {
                let chosen = self.tree.follow(method);
                self.leave_aside(method);
                is_any |= self.go_on_and_measure(chosen);
            }
        }
    }

    /// Returns the calls of which stacks show by now what runs there, and those that have waited long enough.
    fn awaited_no_longer(&self) -> Vec<NodeAt> {
        let is_known = |call: NodeAt| self.stacks.goes_on(&self.tree, call) != GoesOn::Unknown;
        let is_over = |(call, until): &(&NodeAt, &Instant)| Instant::now() >= **until || is_known(**call);
        self.awaited.iter().filter(is_over).map(|(call, _)| *call).collect()
    }

    fn go_on_and_measure(&mut self, calls: Vec<NodeAt>) -> bool {
        let to_measure = self.go_on(calls);
        let session = Arc::clone(&self.session);
        let _one_at_a_time = session.reloading.lock();
        let is_any = self.goes_on() && self.measure(&to_measure);
        std::mem::take(&mut self.statements.has_new_calls) || is_any
    }

    /// Where other methods run than those that were measured there, stacks may show them by now. If not, the descent ends there.
    fn look_again_where_others_run(&mut self) -> bool {
        let (missed, passed) = (self.tree.missed(), self.tree.passed_too_much());
        if missed.is_empty() && passed.is_empty() || !self.goes_on() {
            return false;
        }
        let mut to_measure = self.go_on_otherwise(missed);
        to_measure.append(&mut self.go_on_level_by_level(passed));
        let session = Arc::clone(&self.session);
        let _one_at_a_time = session.reloading.lock();
        self.goes_on() && self.measure(&to_measure)
    }

    fn leave_aside(&self, method: usize) {
        // The number may be that of another one by now.
        if !self.goes_on() {
            return;
        }
        let aside = self.tree.children(method).filter_map(|at| self.tree.get(at));
        let aside = aside.filter(|node| node.fate == Fate::LeftAside).filter_map(|node| node.cell);
        aside.for_each(|cell: Cell| call_sites::of_process().watch(self.number, cell, false));
    }

    pub(super) fn sums(&self, cell: Cell) -> CellSums {
        call_sites::of_process().sums(self.number, cell)
    }

    /// Says why no call has been measured, as far as the context of the diagnosis explains that.
    fn why_never_inside(&self, calls: u64) -> Option<String> {
        if calls > 0 || self.round.elapsed() < PATIENCE {
            return None;
        }
        let claim = self.session.instrumentation.claims.all().into_iter().find(|claim| claim.id == self.claim)?;
        let context = claim.context?;
        let mut anchors = claim.probes.within.iter().enumerate();
        let missing = anchors.find(|(at, _)| !contexts::of_process().is_anchored(&context, *at));
        if let Some((_, method)) = missing {
            return Some(format!(
                "no loaded class has a method {}.{} with bytecode that can be changed (not abstract, not native): no call counts until there is one",
                method.class, method.method
            ));
        }
        let conditions = context.steps().iter().filter_map(|step| context.condition(*step));
        let figures = conditions.map(|condition| condition.figures()).find(|figures| figures.held == 0);
        Some(match figures {
            Some(figures) if figures.evaluated > 0 => {
                let reason = figures.last_failure.map(|reason| format!(": {reason}")).unwrap_or_default();
                let evaluated = trace::report::counted(figures.evaluated, "time");
                format!("the condition was evaluated {evaluated} and never held{reason}")
            }
            _ => format!("no call was inside {}", context.text()),
        })
    }

    /// Updates what clients see.
    fn publish(&mut self) {
        self.published = Instant::now();
        self.cost.cpu_ms = thread_cpu_time().saturating_sub(self.cpu_before).as_secs_f64() * 1e3;
        let method = short(&self.root.1);
        let under = self.under.clone();
        let calls = match self.basis {
            Basis::AllCalls => CountedCalls::All,
            _ if self.is_compared => CountedCalls::SlowAndFast,
            _ => CountedCalls::SlowOnly,
        };
        let subject = Subject { method: &method, context: under.as_deref(), calls };
        let result = result_of(&self.tree, &self.stacks, &probe_length_nanos, subject);
        let (calls, slow) = self.counted();
        let never_inside = self.why_never_inside(calls);
        // The figures of a diagnosis that has ended are those of its last look.
        let goes_on = !self.state.is_final() && self.goes_on();
        let mut shared = self.shared.lock();
        shared.state = self.state;
        let has_limit = self.basis != Basis::AllCalls;
        let limit = self.slower_than.map(|time| if has_limit { time.as_secs_f64() * 1e3 } else { 0.0 });
        shared.slower_than_ms = limit;
        shared.learnt = self.options.slower_than.is_none() && has_limit;
        if goes_on {
            (shared.calls, shared.slow) = (calls, slow);
            let without = call_sites::of_process().without_frame(self.number);
            let another_ones = call_sites::of_process().another_ones(self.number);
            shared.notices.clone_from(&self.notices);
            shared.notices.extend(never_inside);
            let left_out = call_sites::slow_calls_left_out(self.number);
            if left_out > 0 {
                shared.notices.push(format!(
                    "{} counted, but not recorded one by one: there were too many in a second",
                    trace::report::counted(left_out, "slow call")
                ));
            }
            if another_ones > 0 {
                shared.notices.push(format!(
                    "{another_ones} calls do not count: another diagnosis measures them, or a part of them"
                ));
            }
            if without > 0 {
                shared
                    .notices
                    .push(format!("{without} calls were not measured: too many threads are inside such calls"));
            }
        }
        (shared.nodes, shared.explained, shared.sentence) = (result.nodes, result.explained, result.sentence);
        shared.parts = result.parts.map(Into::into);
        shared.stacks = self.stacks.seen();
        shared.cost = self.cost.clone();
    }
}

/// How far two readings of probes are apart.
fn length(time: Duration) -> u64 {
    nanos_as_probe_length(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX >> 1))
}
