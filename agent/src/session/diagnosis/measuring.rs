//! Methods are measured: inserted with their classes, given their place in the tree, taken aside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use control::NodeKind;
use instrument_core::facts::call_sites::Target;
use instrument_core::internal_name::to_source;
use instrument_core::level::Level;
use rustc_hash::FxHashSet;

use super::run::{PATIENCE, Run};
use crate::call_sites::{self, Cell, FoundCall, MethodKey, Place, method_text};
use crate::descent::{End, Fate, FrameMethod, GoesOn, NodeAt, NodeOf, Step, end_by_name, level_by_level, thinned};
use crate::desired::{Claim, RequestedProbes};
use crate::reconcile::{Change, Outcome};

/// Why the descent ends at a statement of JDBC, as long as its text is unknown.
pub(super) const STATEMENT: &str = "statement";

/// What a call waits for if it may wait for a task that another thread runs.
const FOR_TASKS: [&str; 5] = ["result of another thread", "latch", "barrier", "queue", "end of a thread"];

/// Of methods that run at a call, where each leads to.
type Way = Vec<Step>;

/// A call of which bytecode shows the next method waits for stacks that show more for so long, ...
const BRIEF_PATIENCE: Duration = Duration::from_millis(500);
/// ... if slow calls are long enough that some are seen in each.
const LONG_ENOUGH: Duration = Duration::from_millis(10);

/// How the descent goes on at a call.
enum Next {
    /// These methods are measured.
    Ways(Vec<Way>),
    End(End),
    /// By the bytecode alone: no stack shows what runs.
    ByBytecode(Result<Vec<Way>, End>),
}

/// A call whose methods are to be measured.
pub(super) struct ToMeasure {
    call: NodeAt,
    ways: Vec<Way>,
}

impl Run {
    /// Inserts what measures the root, and the anchors of its context. Its class may have to wait.
    pub(super) fn insert_root(&mut self, claim: &Claim) -> Result<(), String> {
        let key = self.root.0.clone();
        self.add(&key)?;
        let session = Arc::clone(&self.session);
        session.put_claims_in_force();
        let class: FxHashSet<Arc<[u8]>> = std::iter::once(Arc::clone(&key.class)).collect();
        let is_claim = claim.context.is_some() || claim.probes.reaches_across_threads();
        let change = match is_claim {
            true => Change::Claim { claim: claim.id, probes: Box::new(claim.probes.clone()), with_removed: false },
            false => Change::Insert(class),
        };
        let outcome =
            self.carry_out(change).ok_or("loaded classes cannot be changed: the JVM attaches no more threads")?;
        if let Some(reason) = self.why_refused(&outcome, &key) {
            return Err(reason);
        }
        match self.found(&key) {
            Some(Err(reason)) => Err(format!("{} cannot be measured: {reason}", self.root.1)),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// Gives the root its place once its class has been changed. Returns whether it has one.
    pub(super) fn place_root(&mut self, step: u8) -> Result<bool, String> {
        let (key, text) = self.root.clone();
        let Some(found) = self.found(&key) else { return Ok(false) };
        let calls = found.map_err(|reason| format!("{text} cannot be measured: {reason}"))?;
        let number = self.number_of(&key).ok_or("internal error")?;
        let cell = call_sites::of_process().place(self.number, number, Place::Root { step })?;
        self.tree.add_method(None, (key, text), (cell, &calls), &text_of);
        Ok(true)
    }

    /// Decides how calls at these nodes go on: those that end there are decided, the others are to be measured.
    pub(super) fn go_on(&mut self, calls: Vec<NodeAt>) -> Vec<ToMeasure> {
        let mut to_measure = Vec::new();
        for call in calls {
            let next = self.next(call);
            match self.go_on_in_tasks(call, next) {
                Next::ByBytecode(found) if self.awaits_stacks(call, found.is_ok()) => continue,
                Next::Ways(ways) | Next::ByBytecode(Ok(ways)) => to_measure.push(self.thinned(call, ways)),
                Next::ByBytecode(Err(end)) | Next::End(end) => self.end_at(call, end),
            }
            self.awaited.remove(&call);
        }
        to_measure
    }

    /// Bytecode leads no further than to the next method, or to none where stacks cross reflection or a chain of interceptors. They show more, if they come in
    /// time. None come where slow calls are too short for that.
    fn awaits_stacks(&mut self, call: NodeAt, goes_on: bool) -> bool {
        let (is_expected, patience) = if goes_on {
            (self.slower_than.is_some_and(|time| time >= LONG_ENOUGH), BRIEF_PATIENCE)
        } else {
            (self.stacks.seen() > 0 || self.tree.tasks_at() == Some(call), PATIENCE)
        };
        is_expected && Instant::now() < *self.awaited.entry(call).or_insert_with(|| Instant::now() + patience)
    }

    fn end_at(&mut self, call: NodeAt, end: End) {
        if end.reason == STATEMENT {
            self.note_statement(call);
        }
        self.tree.decide(call, Fate::End(end));
    }

    /// The same for calls at which methods are measured, but others run. Each is looked at once more only.
    pub(super) fn go_on_otherwise(&mut self, calls: Vec<NodeAt>) -> Vec<ToMeasure> {
        let mut to_measure = Vec::new();
        for call in calls {
            let is_first = self.looked_again.insert(call);
            let wait = self.tree.wait_for_tasks(call).cloned();
            let unseen = || match &wait {
                Some(wait) => not_begun(wait),
                None => end(NodeKind::CallSite, "what runs there was not seen"),
            };
            let ways = match if is_first { self.next(call) } else { Next::End(unseen()) } {
                Next::Ways(ways) | Next::ByBytecode(Ok(ways)) => Ok(self.thinned(call, ways).ways),
                Next::ByBytecode(Err(end)) | Next::End(end) => Err(end),
            };
            let measured: Vec<MethodKey> = self.tree.children(call).filter_map(|at| self.key_of(at)).collect();
            let is_new = |way: &Way| way.first().is_some_and(|step| !measured.contains(&step.method.key));
            match ways.map(|ways| ways.into_iter().filter(is_new).collect::<Vec<Way>>()) {
                Ok(ways) if !ways.is_empty() => to_measure.push(ToMeasure { call, ways }),
                Ok(_) => self.tree.decide(call, Fate::End(unseen())),
                Err(end) => self.tree.decide(call, Fate::End(end)),
            }
        }
        to_measure
    }

    /// The same for calls whose passed-over methods explain too much: these are measured level by level.
    pub(super) fn go_on_level_by_level(&mut self, calls: Vec<NodeAt>) -> Vec<ToMeasure> {
        let mut to_measure = Vec::new();
        for call in calls {
            if let (true, Next::Ways(ways)) = (self.looked_again.insert(call), self.next(call)) {
                let had_tasks = self.tree.tasks_at().is_some();
                self.tree.replace_below(call);
                if had_tasks && self.tree.tasks_at().is_none() {
                    call_sites::of_process().measure_tasks_at(self.number, 0);
                }
                let ways = ways.into_iter().map(|way| level_by_level(self.as_far_as_statements(way))).collect();
                to_measure.push(ToMeasure { call, ways });
            }
        }
        to_measure
    }

    fn thinned(&mut self, call: NodeAt, ways: Vec<Way>) -> ToMeasure {
        let ways: Vec<Way> = ways.into_iter().map(|way| self.as_far_as_statements(way)).collect();
        ToMeasure { call, ways: ways.into_iter().map(|way| thinned(way, &self.root.0.class)).collect() }
    }

    /// How a driver executes a statement is not followed.
    fn as_far_as_statements(&mut self, mut way: Way) -> Way {
        let statement = way.iter().enumerate().find_map(|(at, step)| {
            let key = &step.callee.as_ref()?.key;
            self.executes_statement(&key.class, &key.name, key.loader).then(|| (at, key.clone()))
        });
        if let Some((at, executed)) = statement {
            way.truncate(at + 1);
            self.expect_statement(Some(&executed));
        }
        way
    }

    fn key_of(&self, at: NodeAt) -> Option<MethodKey> {
        self.tree.get(at)?.of.method().cloned()
    }

    /// If a call waits for another thread, the descent goes on in the tasks that other threads run for it: of one call of the tree, as a task is measured for one.
    fn go_on_in_tasks(&mut self, at: NodeAt, next: Next) -> Next {
        let wait = match next {
            Next::End(end) | Next::ByBytecode(Err(end)) if end.kind == NodeKind::Waiting => end,
            other => return other,
        };
        let may_hand_over = self.options.across_threads && FOR_TASKS.contains(&wait.reason.as_str());
        let cell = self.tree.get(at).and_then(|node| node.cell);
        let (Some(cell), true, None) = (cell, may_hand_over, self.tree.tasks_at()) else { return Next::End(wait) };
        self.tree.go_on_in_tasks(at, wait.clone());
        call_sites::of_process().measure_tasks_at(self.number, cell);
        Next::ByBytecode(Err(wait))
    }

    fn next(&self, at: NodeAt) -> Next {
        let Some(node) = self.tree.get(at) else { return Next::End(end(NodeKind::CallSite, "unknown")) };
        let NodeOf::Call(found) = &node.of else { return Next::End(end(NodeKind::Method, "unknown")) };
        let Some(caller) = self.caller(at) else { return Next::End(end(NodeKind::CallSite, "unknown")) };
        if self.is_statement(&caller, found) {
            return Next::End(end(NodeKind::Waiting, STATEMENT));
        }
        let seen = self.stacks.goes_on(&self.tree, at);
        if let GoesOn::Ends(end) = seen {
            return Next::End(end);
        }
        if self.options.depth == 0 {
            let nothing = || end(NodeKind::CallSite, "nothing was to be inserted below");
            return Next::End(self.by_name(found).unwrap_or_else(nothing));
        }
        if self.tree.level(at) >= self.options.depth {
            return Next::End(end(
                NodeKind::CallSite,
                &format!("the limit of levels is reached: {}", self.options.depth),
            ));
        }
        let is_new = |way: &Way| way.first().is_some_and(|step| !self.is_above(at, &step.method.key));
        if let (Some(wait), GoesOn::Unknown) = (self.tree.wait_for_tasks(at), &seen) {
            return Next::ByBytecode(Err(wait.clone()));
        }
        let (ways, is_seen) = match seen {
            GoesOn::Through(ways) => (Ok(ways), true),
            GoesOn::Unknown | GoesOn::Ends(_) => (self.ways_by_bytecode(&caller, found), false),
        };
        match ways.map(|ways| ways.into_iter().filter(is_new).collect::<Vec<Way>>()) {
            Ok(ways) if ways.is_empty() => Next::ByBytecode(Err(recursion())),
            Ok(ways) if is_seen => Next::Ways(ways),
            Err(end) if end.kind != NodeKind::CallSite => Next::End(end),
            found => Next::ByBytecode(found),
        }
    }

    /// What the call may run by the bytecode alone: no stack shows it.
    fn ways_by_bytecode(&self, caller: &MethodKey, found: &FoundCall) -> Result<Vec<Way>, End> {
        if let Some(end) = self.by_name(found) {
            return Err(end);
        }
        let methods = self.session.methods_of_call(caller, &found.call);
        let methods = methods.map_err(|reason| end(NodeKind::CallSite, &format!("not followed: {reason}")))?;
        let obstacle = methods.first().and_then(|method| method.obstacle.clone());
        let ways: Vec<Way> = methods
            .into_iter()
            .filter(|method| method.obstacle.is_none())
            .map(|method| {
                let (key, text) = (method.key, method.text);
                let method = FrameMethod { key, text, is_native: false, is_synchronized: false, is_fixed: false };
                vec![Step::last(Arc::new(method))]
            })
            .collect();
        if ways.is_empty() {
            let reason = obstacle.unwrap_or_else(|| "unknown".to_owned());
            let kind = if reason.contains("native") { NodeKind::Native } else { NodeKind::CallSite };
            return Err(end(kind, &format!("not instrumentable: {reason}")));
        }
        Ok(ways)
    }

    fn by_name(&self, found: &FoundCall) -> Option<End> {
        match &found.call.target {
            Target::Method(named) => end_by_name(&named.owner, &named.name, false),
            _ => None,
        }
    }

    fn is_statement(&self, caller: &MethodKey, found: &FoundCall) -> bool {
        let Target::Method(named) = &found.call.target else { return false };
        self.executes_statement(&named.owner, &named.name, caller.loader)
    }

    fn executes_statement(&self, class: &[u8], method: &[u8], loader: u64) -> bool {
        method.starts_with(b"execute") && self.session.is_statement(class, loader)
    }

    fn ends_in_statement(&self, call: NodeAt) -> bool {
        let Some(NodeOf::Call(found)) = self.tree.get(call).map(|node| &node.of) else { return false };
        self.caller(call).is_some_and(|caller| self.is_statement(&caller, found))
    }

    /// The measured method whose body has the call.
    fn caller(&self, call: NodeAt) -> Option<MethodKey> {
        self.key_of(self.tree.get(call)?.parent?)
    }

    fn is_above(&self, at: NodeAt, key: &MethodKey) -> bool {
        self.tree.above(at).any(|above| self.tree.get(above).and_then(|node| node.of.method()) == Some(key))
    }

    /// Measures the methods of these calls, and instruments JDBC classes if SQL texts are needed, all in one change. Returns whether anything new is measured.
    pub(super) fn measure(&mut self, all: &[ToMeasure]) -> bool {
        let mut classes = FxHashSet::default();
        for step in all.iter().flat_map(|to| &to.ways).flatten() {
            match self.add(&step.method.key) {
                Ok(true) => _ = classes.insert(Arc::clone(&step.method.key.class)),
                Ok(false) => {}
                Err(reason) => _ = self.not_added.insert(step.method.key.clone(), reason),
            }
        }
        let of_texts = self.classes_for_texts();
        classes.extend(of_texts.iter().cloned());
        let outcome =
            if classes.is_empty() { Some(Outcome::default()) } else { self.carry_out(Change::Insert(classes)) };
        let Some(outcome) = outcome else { return false };
        let mut is_any = self.note_text_classes(&of_texts, &outcome);
        for ToMeasure { call, ways } in all {
            let mut reasons = Vec::new();
            for way in ways {
                match self.place_way(&outcome, *call, way) {
                    Ok(()) => is_any = true,
                    Err(reason) => reasons.push(reason),
                }
            }
            if reasons.len() == ways.len() {
                let reason = reasons.pop().unwrap_or_else(|| "unknown".to_owned());
                self.tree.decide(*call, Fate::End(end(NodeKind::CallSite, &format!("not instrumentable: {reason}"))));
            } else {
                self.notices.append(&mut reasons);
            }
        }
        is_any
    }

    /// Gives the methods of a way their places, each below the call by which the one before leads to it.
    fn place_way(&mut self, outcome: &Outcome, call: NodeAt, way: &Way) -> Result<(), String> {
        let mut below = call;
        for (at, step) in way.iter().enumerate() {
            let placed = self.place(outcome, below, &step.method.key);
            let node = match placed {
                Ok(node) => {
                    self.tree.note_via(node, step.passed.iter().map(|method| method.text.clone()).collect());
                    node
                }
                // What is above it is measured, and says what to do.
                Err(_) if at > 0 => return Ok(()),
                Err(reason) => return Err(reason),
            };
            let next = step.callee.as_ref().and_then(|callee| self.tree.call_of(node, &callee.key, step.offset));
            match next {
                // How a driver executes a statement is not followed.
                Some(next) if self.ends_in_statement(next) => {
                    self.want_text(next);
                    return Ok(());
                }
                Some(next) if self.tree.level(next) < self.options.depth => below = next,
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn place(&mut self, outcome: &Outcome, below: NodeAt, key: &MethodKey) -> Result<NodeAt, String> {
        let cell = self.tree.get(below).and_then(|node| node.cell).ok_or("its call is not measured")?;
        if self.is_above(below, key) {
            return Err("it is measured above".to_owned());
        }
        if let Some(reason) = self.not_added.get(key) {
            return Err(reason.clone());
        }
        let calls = match self.found(key) {
            Some(found) => found.map_err(|reason| reason.to_string())?,
            None => {
                let waiting = self.session.reconciler.waiting(|class| class.as_bytes() == &*key.class);
                let refused = self.why_refused(outcome, key);
                return Err(refused
                    .or_else(|| waiting.into_iter().next())
                    .unwrap_or_else(|| "its class was not changed".to_owned()));
            }
        };
        let number = self.number_of(key).ok_or("it is not measured")?;
        let own: Cell = call_sites::of_process().place(self.number, number, Place::Within(cell))?;
        Ok(self.tree.add_method(Some(below), (key.clone(), key.text()), (own, &calls), &text_of))
    }

    /// Adds a method; returns whether it was not there before.
    fn add(&mut self, key: &MethodKey) -> Result<bool, String> {
        if self.number_of(key).is_some() {
            return Ok(false);
        }
        let (class, name) = (to_source(&key.class), classfile::ModifiedUtf8(&key.name).to_string());
        let generation = self.session.instrumentation.generation();
        let rules = RequestedProbes::parse(&format!("{class}.{name}"), "timed", Level::Time)?
            .rules(generation.templates(), &generation.setup.config.exclude)?;
        let number = call_sites::of_process().add(self.number, key, &Arc::new(rules))?;
        self.numbers.insert(key.clone(), number);
        Ok(true)
    }

    fn number_of(&self, key: &MethodKey) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    fn found(&self, key: &MethodKey) -> Option<call_sites::FoundCalls> {
        call_sites::of_process().found(self.number_of(key)?)
    }

    pub(super) fn carry_out(&mut self, change: Change) -> Option<Outcome> {
        let outcome = self.session.reconciler.carry_out(&self.session.instrumentation, change)?;
        self.classes.extend(outcome.changed.iter().cloned());
        self.cost.retransforms += outcome.changed.len() as u64;
        self.cost.classes = self.classes.len() as u64;
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        self.cost.longest_stop_ms = self.cost.longest_stop_ms.max(millis(outcome.longest_stop));
        Some(outcome)
    }

    pub(super) fn why_refused(&self, outcome: &Outcome, key: &MethodKey) -> Option<String> {
        let is_refused = outcome.refused.contains(&key.class);
        let reasons = self.session.instrumentation.statistics.refused_classes();
        let name = to_source(&key.class);
        is_refused.then(|| reasons.get(&name).cloned().unwrap_or_else(|| format!("{name} cannot be changed")))
    }
}

/// Tasks explain less than half of the wait for them.
fn not_begun(wait: &End) -> End {
    End {
        reason: format!(
            "{}: most of the time no task ran that was followed, or none had ended before the call did",
            wait.reason
        ),
        kind: wait.kind,
    }
}

fn recursion() -> End {
    end(NodeKind::Method, "recursion: what it calls is measured above")
}

fn end(kind: NodeKind, reason: &str) -> End {
    End { kind, reason: reason.to_owned() }
}

/// Names what a call calls.
fn text_of(found: &FoundCall) -> String {
    match &found.call.target {
        Target::Method(named) | Target::Function(_, named) => method_text(&named.owner, &named.name, &named.descriptor),
        Target::Bootstrap(named) => format!("dynamic call by {}", method_text(&named.owner, &named.name, b"()V")),
        Target::Unknown(name, descriptor) => format!("dynamic call {}", method_text(b"?", name, descriptor)),
    }
}
