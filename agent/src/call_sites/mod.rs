//! Methods whose own calls are measured, for diagnoses: numbers, what the class hook found in their bodies, and figures by cell.
//!
//! A diagnosis has cells: one for each method that is measured, at each place of the tree where it is, followed by one for each method that it calls.
//! `java.instr.Sites` measures in cells (`memory.rs`). A method is inserted inert; a store gives it its place.

mod cell_sums;
mod lengths;
mod memory;
mod slow_calls;
mod statements;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use classfile::ModifiedUtf8;
use instrument_core::facts::call_sites::Call;
use instrument_core::internal_name::to_source;
use instrument_core::selection::RuleSet;
use instrument_core::selection::signature::signature_of;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::classes::hierarchy::LoaderId;
use memory::{CELLS, DIAGNOSES, METHODS, MOST_PLACES};

pub(crate) use cell_sums::{CellSums, Sum};
pub(crate) use memory::OpenCall;
pub(crate) use slow_calls::{SlowCall, forget_slow_calls, note_slow_call, slow_calls_left_out, take_slow_calls};
pub(crate) use statements::ExecutedText;
use statements::StatementClasses;

/// A method of a loaded class.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MethodKey {
    /// Internal name.
    pub(crate) class: Arc<[u8]>,
    pub(crate) loader: LoaderId,
    pub(crate) name: Arc<[u8]>,
    pub(crate) descriptor: Arc<[u8]>,
}

impl MethodKey {
    /// Returns the method as people write it: `package.Class.method(Types)`.
    pub(crate) fn text(&self) -> String {
        method_text(&self.class, &self.name, &self.descriptor)
    }
}

/// Returns a method as people write it: `package.Class.method(Types)`.
pub(crate) fn method_text(class: &[u8], name: &[u8], descriptor: &[u8]) -> String {
    let signature = signature_of(ModifiedUtf8(name), ModifiedUtf8(descriptor));
    let without_result = signature.rfind(')').and_then(|end| signature.get(..=end));
    format!("{}.{}", to_source(class), without_result.unwrap_or(&signature))
}

/// What the class hook found in the body of a method.
pub(crate) type FoundCalls = Result<Arc<[FoundCall]>, Arc<str>>;

/// Calls of one method in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundCall {
    pub(crate) call: Call,
    /// Why none of them is measured.
    pub(crate) refused: Option<Arc<str>>,
}

/// The number of a diagnosis of this process that is under way, from 1.
pub(crate) type DiagnosisNumber = u8;
/// No diagnosis: a place that is free.
const NOBODY: DiagnosisNumber = 0;
/// A cell of a diagnosis; 0 is its root.
pub(crate) type Cell = u32;

/// A method that is to be measured, for the class hook.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredMethod {
    pub(crate) number: u32,
    pub(crate) key: MethodKey,
    /// What takes it, or has a reason not to.
    pub(crate) rules: Arc<RuleSet>,
}

/// All measured methods of this process.
#[derive(Debug, Default)]
pub(crate) struct CallSites {
    state: Mutex<State>,
    /// Whether any method is to be measured: every class that is loaded asks.
    is_any: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// By their numbers; number 0 is none.
    methods: Vec<Option<Measured>>,
    by_class: FxHashMap<Arc<[u8]>, Vec<u32>>,
    statements: StatementClasses,
    diagnoses: [Option<Diagnosis>; DIAGNOSES],
    /// The number that was given last.
    last: usize,
    rounds: u64,
}

#[derive(Debug)]
struct Measured {
    key: MethodKey,
    rules: Arc<RuleSet>,
    /// The diagnoses for which it is measured; none if they have ended, but its class still has its number.
    owners: Vec<DiagnosisNumber>,
    /// What the hook found; `None` while the class has not passed it.
    found: Option<FoundCalls>,
    /// Whose the places are.
    places: [DiagnosisNumber; MOST_PLACES],
    /// It has had a place: if its class has other calls later, they are not measured.
    was_placed: bool,
    /// Its class has met the class hook meanwhile: it has the number, or will have it in a moment.
    met_hook: bool,
    /// Its class could not be restored, and has its number for ever.
    stays: bool,
}

impl Measured {
    fn clear(&mut self, number: u32, is_meant: impl Fn(DiagnosisNumber) -> bool) {
        for (at, owner) in self.places.iter_mut().enumerate().filter(|(_, owner)| **owner != NOBODY) {
            if is_meant(*owner) {
                memory::clear_place(number, at);
                *owner = NOBODY;
            }
        }
        self.publish_places(number);
    }

    /// Has Java look at the places up to the last one in use.
    fn publish_places(&self, number: u32) {
        let last = self.places.iter().rposition(|owner| *owner != NOBODY);
        memory::set_places(number, last.map_or(0, |last| last + 1));
    }
}

#[derive(Debug, Default)]
struct Diagnosis {
    next_cell: Cell,
}

/// The measured methods of this process.
pub(crate) fn of_process() -> &'static CallSites {
    static CALL_SITES: OnceLock<CallSites> = OnceLock::new();
    CALL_SITES.get_or_init(CallSites::default)
}

/// Calls that end while sums are being forgotten have added to them by then.
const SETTLED: Duration = Duration::from_millis(2);

impl CallSites {
    /// Gets the tables ready, and returns their addresses in the order of the native methods of `java.instr.Sites`.
    pub(crate) fn addresses() -> [i64; 5] {
        memory::addresses()
    }

    /// Begins a diagnosis; its root is cell 0. Nothing is measured yet.
    pub(crate) fn begin(&self) -> Result<DiagnosisNumber, String> {
        let state = &mut *self.state.lock();
        if !memory::is_there() {
            return Err("there is no memory for a diagnosis".to_owned());
        }
        // In turn: the thread of one that has just ended may still use its number.
        let in_turn = (1..DIAGNOSES).map(|ahead| (state.last + ahead - 1) % (DIAGNOSES - 1) + 1);
        let free = in_turn.into_iter().find(|number| state.diagnoses.get(*number).is_some_and(Option::is_none));
        state.last = free.unwrap_or(state.last);
        let place = free.and_then(|number| Some((number, state.diagnoses.get_mut(number)?)));
        let (number, place) = place.ok_or_else(|| {
            format!("{} diagnoses are under way already: end one (`instr claims`, `instr remove`)", DIAGNOSES - 1)
        })?;
        *place = Some(Diagnosis::default());
        let first_round = state.rounds + 1;
        let number = u8::try_from(number).map_err(|_| "internal error".to_owned())?;
        memory::set_slower_than(number, u64::MAX >> 1);
        memory::set_first_round(number, first_round);
        memory::forget_sums(number, true);
        memory::set_tasks_at(number, 0);
        statements::end(number);
        forget_slow_calls(number);
        Ok(number)
    }

    /// Adds a method, to be measured once its class has passed the hook, and if these rules take it. Returns its number.
    pub(crate) fn add(&self, diagnosis: DiagnosisNumber, key: &MethodKey, rules: &Arc<RuleSet>) -> Result<u32, String> {
        let state = &mut *self.state.lock();
        if !state.is_under_way(diagnosis) {
            return Err("its diagnosis has ended".to_owned());
        }
        if let Some(number) = state.of_key(key) {
            if let Some(measured) = state.methods.get_mut(number as usize).and_then(Option::as_mut)
                && !measured.owners.contains(&diagnosis)
            {
                measured.owners.push(diagnosis);
            }
            return Ok(number);
        }
        if state.methods.is_empty() {
            state.methods.push(None);
        }
        let free = state.methods.iter().skip(1).position(Option::is_none).map(|at| at + 1);
        let number = free.unwrap_or(state.methods.len());
        if number >= METHODS {
            return Err(format!("{} methods are measured at present", METHODS - 1));
        }
        let measured = Measured {
            key: key.clone(),
            rules: Arc::clone(rules),
            owners: vec![diagnosis],
            found: None,
            places: [NOBODY; MOST_PLACES],
            was_placed: false,
            met_hook: false,
            stays: false,
        };
        match state.methods.get_mut(number) {
            Some(place) => *place = Some(measured),
            None => state.methods.push(Some(measured)),
        }
        let number = u32::try_from(number).unwrap_or(0);
        memory::set_places(number, 0);
        state.by_class.entry(Arc::clone(&key.class)).or_default().push(number);
        self.is_any.store(true, Ordering::Release);
        Ok(number)
    }

    /// Notes that classes of these names (without names: all) have been restored, but for the kept ones, whose methods keep their numbers for ever. Others may
    /// be restored just now, because another diagnosis has ended.
    pub(crate) fn free_ended(&self, restored: Option<&FxHashSet<Arc<[u8]>>>, kept: &FxHashSet<Arc<[u8]>>) {
        for place in &mut self.state.lock().methods {
            if let Some(measured) = place.as_mut().filter(|measured| measured.owners.is_empty()) {
                measured.stays |= kept.contains(&measured.key.class);
            }
            place.take_if(|Measured { key, owners, met_hook, stays, .. }| {
                let is_restored = !*met_hook || restored.is_none_or(|restored| restored.contains(&key.class));
                owners.is_empty() && !*stays && is_restored
            });
        }
    }

    /// Ends all diagnoses: nothing is measured any more.
    pub(crate) fn end_all(&self) {
        (1..DIAGNOSES).filter_map(|number| u8::try_from(number).ok()).for_each(|number| _ = self.end(number));
    }

    /// Whether any class has measured methods.
    pub(crate) fn are_wanted(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    /// Whether a class of this name has measured methods.
    pub(crate) fn wants_name(&self, class: &[u8]) -> bool {
        if !self.are_wanted() {
            return false;
        }
        let state = self.state.lock();
        state.by_class.contains_key(class) || state.statements.has(class)
    }

    /// A class is in the class hook, which is going to ask for its measured methods. From now on it counts as changed, whatever the hook makes of it.
    pub(crate) fn note_hook(&self, class: &[u8], loader: LoaderId) {
        if !self.are_wanted() {
            return;
        }
        let State { by_class, methods, statements, .. } = &mut *self.state.lock();
        for number in by_class.get(class).into_iter().flatten() {
            if let Some(Some(measured)) = methods.get_mut(*number as usize) {
                measured.met_hook |= measured.key.loader == loader;
            }
        }
        statements.note_hook(class, loader);
    }

    /// Returns the measured methods of a class.
    pub(crate) fn of_class(&self, class: &[u8], loader: LoaderId) -> Vec<MeasuredMethod> {
        if !self.are_wanted() {
            return Vec::new();
        }
        let state = self.state.lock();
        let numbers = state.by_class.get(class).into_iter().flatten();
        let method = |number: &u32| {
            let measured = state.method(*number)?;
            let Measured { key, rules, .. } = measured;
            let (key, rules) = (key.clone(), Arc::clone(rules));
            (key.loader == loader).then_some(MeasuredMethod { number: *number, key, rules })
        };
        numbers.filter_map(method).collect()
    }

    /// From now on the statements of a class tell their texts to a diagnosis, once it has passed the hook and if these rules take its methods.
    pub(crate) fn add_statements(
        &self,
        diagnosis: DiagnosisNumber,
        (class, loader): (Arc<[u8]>, LoaderId),
        rules: Arc<RuleSet>,
    ) {
        let state = &mut *self.state.lock();
        if !state.is_under_way(diagnosis) {
            return;
        }
        state.statements.add(diagnosis, class, loader, rules);
        self.is_any.store(true, Ordering::Release);
    }

    /// Returns what takes the methods of a class whose statements tell their texts.
    pub(crate) fn statement_rules(&self, class: &[u8], loader: LoaderId) -> Option<Arc<RuleSet>> {
        if self.are_wanted() { self.state.lock().statements.rules_of(class, loader) } else { None }
    }

    /// From now on the texts of statements at a cell are noted.
    pub(crate) fn want_texts(&self, diagnosis: DiagnosisNumber, cell: Cell) {
        statements::want(diagnosis, cell);
    }

    /// From now on no texts are noted; what is known stays.
    pub(crate) fn end_texts(&self, diagnosis: DiagnosisNumber) {
        memory::set_wants_texts(diagnosis, false);
    }

    /// Notes what a slow call has executed at a cell; a text that is `None` is unknown.
    pub(crate) fn note_executed(diagnosis: DiagnosisNumber, cell: Cell, text: Option<&str>, executed: Sum) {
        statements::note(diagnosis, cell, text, executed);
    }

    /// Returns the text that statements at a cell have executed longest.
    pub(crate) fn longest_text(&self, diagnosis: DiagnosisNumber, cell: Cell) -> Option<ExecutedText> {
        statements::longest(diagnosis, cell)
    }

    /// Notes what the hook found in the body of a method. Cells have the order of the first time: if the class has other calls now, it is not measured any
    /// more.
    pub(crate) fn note(&self, number: u32, found: FoundCalls) {
        let state = &mut *self.state.lock();
        let Some(measured) = state.methods.get_mut(number as usize).and_then(Option::as_mut) else { return };
        match (&measured.found, &found) {
            (Some(Ok(known)), Ok(now)) if known != now => {
                measured.clear(number, |_| true);
                measured.found = Some(Err("its class was changed while it was measured".into()));
            }
            (Some(Ok(_)), Err(_)) if measured.was_placed => {
                measured.clear(number, |_| true);
                measured.found = Some(found);
            }
            (Some(Err(_)), Ok(_)) if measured.was_placed => {}
            _ => measured.found = Some(found),
        }
    }

    /// Returns what the hook found in the body of a method.
    pub(crate) fn found(&self, number: u32) -> Option<FoundCalls> {
        self.state.lock().method(number)?.found.clone()
    }

    /// Gives a method a place in the tree of a diagnosis and has it measured there: within calls at a cell, or as the root inside a context of
    /// which this is the last step (0: everywhere). Returns its cell.
    pub(crate) fn place(&self, of: DiagnosisNumber, number: u32, place: Place) -> Result<Cell, String> {
        let state = &mut *self.state.lock();
        let measured = state.methods.get_mut(number as usize).and_then(Option::as_mut).ok_or("it is not measured")?;
        let calls = match &measured.found {
            Some(Ok(calls)) => calls.len(),
            Some(Err(reason)) => return Err(reason.to_string()),
            None => return Err("its class has not been changed yet".to_owned()),
        };
        let diagnosis = state.diagnoses.get_mut(usize::from(of)).and_then(Option::as_mut);
        let diagnosis = diagnosis.filter(|_| measured.owners.contains(&of)).ok_or("its diagnosis has ended")?;
        // All roots, one for each class loader, have the same cell, but each its own calls.
        let (around, cell, next) = match place {
            Place::Root { step } => (Err(step), 0, calls as Cell + 1),
            Place::Within(around) => {
                let cell = diagnosis.next_cell.max(1);
                (Ok(around), cell, cell + calls as Cell + 1)
            }
        };
        if next as usize > CELLS {
            return Err(format!("the diagnosis measures {CELLS} calls already"));
        }
        let free = measured.places.iter_mut().enumerate().find(|(_, owner)| **owner == NOBODY);
        let (at, owner) = free.ok_or_else(|| format!("it is called at {MOST_PLACES} places of the tree already"))?;
        *owner = of;
        measured.was_placed = true;
        diagnosis.next_cell = diagnosis.next_cell.max(next);
        (cell..next).for_each(|cell| memory::set_watched(of, cell, true));
        memory::set_place(number, at, of, around, cell);
        measured.publish_places(number);
        Ok(cell)
    }

    /// From now on tasks take along in which measured call they were handed over.
    pub(crate) fn want_tasks(&self, diagnosis: DiagnosisNumber) {
        memory::set_wants_tasks(diagnosis, true);
    }

    /// From now on tasks that other threads run are measured below this cell, at which the call waits for them.
    pub(crate) fn measure_tasks_at(&self, diagnosis: DiagnosisNumber, cell: Cell) {
        memory::set_tasks_at(diagnosis, cell);
    }

    /// Says whether calls at a cell are measured, which the diagnosis need not be if they explain nothing.
    pub(crate) fn watch(&self, diagnosis: DiagnosisNumber, cell: Cell, is_watched: bool) {
        memory::set_watched(diagnosis, cell, is_watched);
    }

    /// Calls of the root that take as long as this, as probes read time, are slow from now on.
    pub(crate) fn set_slower_than(&self, diagnosis: DiagnosisNumber, time: u64) {
        memory::set_slower_than(diagnosis, time);
    }

    /// Forgets all sums: only calls that begin from now on count.
    pub(crate) fn begin_round(&self, diagnosis: DiagnosisNumber, forget_lengths: bool) {
        let round = {
            let mut state = self.state.lock();
            state.rounds += 1;
            state.rounds
        };
        memory::set_round(diagnosis, 0);
        std::thread::sleep(SETTLED);
        memory::forget_sums(diagnosis, forget_lengths);
        memory::set_round(diagnosis, round);
    }

    /// Returns what was measured in a cell.
    pub(crate) fn sums(&self, diagnosis: DiagnosisNumber, cell: Cell) -> CellSums {
        let [slow_calls, slow_time, fast_calls, fast_time] = memory::sums(diagnosis, cell);
        CellSums { slow: Sum { calls: slow_calls, time: slow_time }, fast: Sum { calls: fast_calls, time: fast_time } }
    }

    /// Returns the lengths of the root's calls up to now: the shortest that each counter stands for, as probes read time, and how many had it.
    pub(crate) fn lengths(&self, diagnosis: DiagnosisNumber) -> Vec<(u64, u64)> {
        lengths::counted(diagnosis)
    }

    /// Returns how many calls were not measured, because too many threads are in such calls.
    pub(crate) fn without_frame(&self, diagnosis: DiagnosisNumber) -> u64 {
        memory::without_frame(diagnosis)
    }

    /// Returns how many calls were not measured, because another diagnosis measures them or what they call.
    pub(crate) fn another_ones(&self, diagnosis: DiagnosisNumber) -> u64 {
        memory::another_ones(diagnosis)
    }

    /// Returns the calls of the root that have not ended.
    pub(crate) fn open_calls(&self, diagnosis: DiagnosisNumber) -> Vec<OpenCall> {
        memory::open_calls(diagnosis)
    }

    /// Returns the call that a frame has now.
    pub(crate) fn open_call(&self, diagnosis: DiagnosisNumber, frame: usize) -> Option<OpenCall> {
        memory::open_call(diagnosis, frame)
    }

    /// Returns how many methods are measured for a diagnosis.
    pub(crate) fn count(&self, diagnosis: DiagnosisNumber) -> usize {
        let state = self.state.lock();
        state.methods.iter().flatten().filter(|measured| measured.owners.contains(&diagnosis)).count()
    }

    /// Ends a diagnosis: nothing is measured for it any more. Returns the names of the classes with methods that nobody measures any more, which are to be retransformed; until
    /// [`CallSites::free_ended`] their bytecode has numbers that nobody else gets. A class that has not met the hook is unchanged, and may be one that waits because a loop of it runs.
    pub(crate) fn end(&self, diagnosis: DiagnosisNumber) -> FxHashSet<Arc<[u8]>> {
        let state = &mut *self.state.lock();
        memory::set_round(diagnosis, 0);
        memory::set_wants_tasks(diagnosis, false);
        memory::set_tasks_at(diagnosis, 0);
        statements::end(diagnosis);
        let mut classes = state.statements.end(diagnosis);
        for (number, place) in state.methods.iter_mut().enumerate() {
            let Some(measured) = place.as_mut().filter(|measured| measured.owners.contains(&diagnosis)) else {
                continue;
            };
            measured.clear(u32::try_from(number).unwrap_or(0), |owner| owner == diagnosis);
            measured.owners.retain(|owner| *owner != diagnosis);
            if measured.owners.is_empty() && measured.met_hook {
                classes.insert(Arc::clone(&measured.key.class));
            }
        }
        let State { by_class, methods, statements, .. } = state;
        by_class.retain(|_, numbers| {
            let is_wanted = |of: &Option<Measured>| of.as_ref().is_some_and(|of| !of.owners.is_empty());
            numbers.retain(|number| methods.get(*number as usize).is_some_and(is_wanted));
            !numbers.is_empty()
        });
        self.is_any.store(!by_class.is_empty() || !statements.is_empty(), Ordering::Release);
        if let Some(place) = state.diagnoses.get_mut(usize::from(diagnosis)) {
            *place = None;
        }
        classes
    }
}

/// Where a method is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// As the root, inside a context of which this is the last step; 0: everywhere.
    Root { step: u8 },
    /// Within calls at this cell.
    Within(Cell),
}

impl State {
    fn is_under_way(&self, diagnosis: DiagnosisNumber) -> bool {
        self.diagnoses.get(usize::from(diagnosis)).is_some_and(Option::is_some)
    }

    fn method(&self, number: u32) -> Option<&Measured> {
        self.methods.get(number as usize)?.as_ref()
    }

    fn of_key(&self, key: &MethodKey) -> Option<u32> {
        let mut numbers = self.by_class.get(&key.class)?.iter().copied();
        numbers.find(|number| self.method(*number).is_some_and(|of| of.key == *key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(class: &str, loader: LoaderId) -> MethodKey {
        let [class, name, descriptor] = [class, "m", "()V"].map(|text| Arc::from(text.as_bytes()));
        MethodKey { class, loader, name, descriptor }
    }

    fn rules() -> Arc<RuleSet> {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'a.B'\n", "c.toml").unwrap();
        Arc::new(setup.rules)
    }

    fn calls(names: &[&str]) -> FoundCalls {
        let call = |name: &&str| FoundCall {
            call: Call {
                kind: instrument_core::facts::call_sites::CallKind::Static,
                target: instrument_core::facts::call_sites::Target::Unknown(name.as_bytes().into(), b"()V"[..].into()),
                offsets: vec![0],
                lines: vec![],
            },
            refused: None,
        };
        Ok(names.iter().map(call).collect())
    }

    /// The tables are those of the process, so this is one test.
    #[test]
    fn methods_get_cells_one_after_the_other_and_may_belong_to_several_diagnoses() {
        CallSites::addresses();
        let sites = CallSites::default();
        let rules = rules();
        let (first, second) = (sites.begin().unwrap(), sites.begin().unwrap());
        let root = sites.add(first, &key("a/A", 1), &rules).unwrap();
        assert_eq!(sites.add(first, &key("a/A", 1), &rules), Ok(root));
        assert_eq!(sites.add(second, &key("a/A", 1), &rules), Ok(root), "it has one number in its bytecode");
        assert!(sites.add(second, &key("a/A", 2), &rules).is_ok(), "another loader's");
        sites.note_hook(b"a/A", 1);
        assert_eq!(sites.of_class(b"a/A", 1).len(), 1);
        assert!(sites.place(first, root, Place::Root { step: 0 }).is_err(), "its class has not passed the hook");
        sites.note(root, calls(&["x", "y"]));
        assert_eq!(sites.place(first, root, Place::Root { step: 0 }), Ok(0));
        let inner = sites.add(first, &key("a/B", 1), &rules).unwrap();
        sites.note_hook(b"a/B", 1);
        sites.note(inner, calls(&["z"]));
        assert_eq!(sites.place(first, inner, Place::Within(1)), Ok(3), "after the root and its two calls");
        assert_eq!(sites.place(first, inner, Place::Within(2)), Ok(5), "called from two places, it is two nodes");
        sites.note(inner, calls(&["other"]));
        assert!(sites.place(first, inner, Place::Within(2)).is_err(), "its cells would mean something else");
        assert_eq!(sites.place(second, root, Place::Within(4)), Ok(1), "cells are those of a diagnosis");
        let ended = sites.end(first);
        let restored: Vec<_> = ended.into_iter().collect();
        assert_eq!(restored, [Arc::from(b"a/B".as_slice())], "the root is the second one's, too");
        assert!(sites.place(first, root, Place::Within(2)).is_err());
        assert_eq!(sites.place(second, root, Place::Within(5)), Ok(4));
        let third = sites.begin().unwrap();
        assert!(third != first, "the thread of the first one may still use its number");
        let other = sites.add(third, &key("a/C", 1), &rules).unwrap();
        assert!(other != root && other != inner, "their classes have these numbers in their bytecode");
        let names = |names: &[&str]| names.iter().map(|name| Arc::from(name.as_bytes())).collect::<FxHashSet<_>>();
        sites.free_ended(Some(&names(&["a/A"])), &names(&[]));
        assert_ne!(sites.add(third, &key("a/D", 1), &rules), Ok(inner), "another diagnosis restores its class");
        sites.free_ended(None, &names(&["a/A"]));
        assert_eq!(sites.add(third, &key("a/E", 1), &rules), Ok(inner), "its class was restored, the root's was not");
        assert!(sites.end(third).is_empty(), "their classes have not met the hook, so they are unchanged");
        assert!(sites.wants_name(b"a/A") && !sites.wants_name(b"a/B"));
        assert_eq!(sites.end(second).len(), 1);
        assert!(!sites.wants_name(b"a/A"));
    }
}
