//! Texts of the statements that slow calls have executed: which classes have the probes that report them, and how long each text took.

use std::sync::Arc;

use instrument_core::selection::RuleSet;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use trace::conventions::statement_without_values;

use super::memory::{self, DIAGNOSES};
use super::{Cell, DiagnosisNumber, Sum};
use crate::classes::hierarchy::LoaderId;

/// Texts of a diagnosis.
const MOST_TEXTS: usize = 64;
/// Characters of a text.
const MOST_CHARACTERS: usize = 1_000;

/// A class with probes that report the texts of its statements.
#[derive(Debug)]
struct StatementClass {
    loader: LoaderId,
    diagnosis: DiagnosisNumber,
    rules: Arc<RuleSet>,
    /// The class has met the class hook meanwhile.
    met_hook: bool,
}

/// The classes with probes that report the texts of their statements, by their internal names.
#[derive(Debug, Default)]
pub(super) struct StatementClasses(FxHashMap<Arc<[u8]>, Vec<StatementClass>>);

impl StatementClasses {
    pub(super) fn add(&mut self, diagnosis: DiagnosisNumber, class: Arc<[u8]>, loader: LoaderId, rules: Arc<RuleSet>) {
        self.0.entry(class).or_default().push(StatementClass { loader, diagnosis, rules, met_hook: false });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, class: &[u8]) -> bool {
        self.0.contains_key(class)
    }

    /// Returns what takes the methods of a class.
    pub(super) fn rules_of(&self, class: &[u8], loader: LoaderId) -> Option<Arc<RuleSet>> {
        self.0.get(class)?.iter().find(|of| of.loader == loader).map(|of| Arc::clone(&of.rules))
    }

    /// A class is in the class hook.
    pub(super) fn note_hook(&mut self, class: &[u8], loader: LoaderId) {
        let of_class = self.0.get_mut(class).into_iter().flatten();
        of_class.filter(|of| of.loader == loader).for_each(|of| of.met_hook = true);
    }

    /// Forgets those of a diagnosis; returns the names of those that have met the class hook.
    pub(super) fn end(&mut self, diagnosis: DiagnosisNumber) -> FxHashSet<Arc<[u8]>> {
        let mut ended = FxHashSet::default();
        self.0.retain(|name, classes| {
            if classes.iter().any(|of| of.diagnosis == diagnosis && of.met_hook) {
                ended.insert(Arc::clone(name));
            }
            classes.retain(|of| of.diagnosis != diagnosis);
            !classes.is_empty()
        });
        ended
    }
}

/// A text that statements at a cell have executed in slow calls, without the values in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecutedText {
    cell: Cell,
    /// `None` if it is unknown.
    pub(crate) text: Option<String>,
    pub(crate) executed: Sum,
}

/// The texts of one diagnosis.
#[derive(Debug, Default)]
struct Texts(Vec<ExecutedText>);

impl Texts {
    fn add(&mut self, cell: Cell, text: Option<String>, executed: Sum) {
        if let Some(known) = self.0.iter_mut().find(|of| of.cell == cell && of.text == text) {
            known.executed.calls += executed.calls;
            known.executed.time += executed.time;
            return;
        }
        if self.0.len() >= MOST_TEXTS {
            let shortest = self.0.iter().enumerate().min_by_key(|(_, of)| of.executed.time);
            match shortest.map(|(at, of)| (at, of.executed.time)) {
                Some((at, time)) if time < executed.time => _ = self.0.swap_remove(at),
                _ => return,
            }
        }
        self.0.push(ExecutedText { cell, text, executed });
    }

    fn longest(&self, cell: Cell) -> Option<ExecutedText> {
        self.0.iter().filter(|of| of.cell == cell).max_by_key(|of| of.executed.time).cloned()
    }
}

static TEXTS: [Mutex<Texts>; DIAGNOSES] = [const { Mutex::new(Texts(Vec::new())) }; DIAGNOSES];

fn texts_of(diagnosis: DiagnosisNumber) -> Option<&'static Mutex<Texts>> {
    TEXTS.get(usize::from(diagnosis))
}

/// Begins to gather texts at a cell.
pub(super) fn want(diagnosis: DiagnosisNumber, cell: Cell) {
    memory::want_texts_at(diagnosis, cell);
    memory::set_wants_texts(diagnosis, true);
}

/// Ends the gathering, and forgets what was gathered.
pub(super) fn end(diagnosis: DiagnosisNumber) {
    memory::set_wants_texts(diagnosis, false);
    if let Some(texts) = texts_of(diagnosis) {
        texts.lock().0 = Vec::new();
    }
}

/// Notes what a slow call has executed at a cell (`java.instr.Sites.executed`); a text that is `None` is unknown.
pub(super) fn note(diagnosis: DiagnosisNumber, cell: Cell, text: Option<&str>, executed: Sum) {
    let text = text.map(|text| statement_without_values(text, MOST_CHARACTERS)).filter(|text| !text.is_empty());
    if let Some(texts) = texts_of(diagnosis) {
        texts.lock().add(cell, text, executed);
    }
}

/// Returns the text that took longest at a cell.
pub(super) fn longest(diagnosis: DiagnosisNumber, cell: Cell) -> Option<ExecutedText> {
    texts_of(diagnosis)?.lock().longest(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(time: u64) -> Sum {
        Sum { calls: 1, time }
    }

    #[test]
    fn equal_texts_are_one_and_the_longest_of_a_cell_counts() {
        // The last number is used by no other test.
        let number = 7;
        note(number, 3, Some("select * from t where a = 1"), sum(10));
        note(number, 3, Some("select *  from t where a = 'x'"), sum(10));
        note(number, 3, None, sum(15));
        note(number, 4, Some("delete from t"), sum(100));
        let found = longest(number, 3).unwrap();
        assert_eq!(found.text.as_deref(), Some("select * from t where a = ?"));
        assert_eq!(found.executed, Sum { calls: 2, time: 20 });
        end(number);
        assert_eq!(longest(number, 3), None);
    }

    #[test]
    fn of_too_many_texts_the_shortest_is_forgotten() {
        let mut texts = Texts::default();
        (1..=MOST_TEXTS as u64).for_each(|at| texts.add(1, Some(format!("t{at}")), sum(at * 10)));
        texts.add(1, Some("short".to_owned()), sum(5));
        texts.add(1, Some("long".to_owned()), sum(5_000));
        assert_eq!(texts.0.len(), MOST_TEXTS);
        assert_eq!(texts.longest(1).and_then(|of| of.text).as_deref(), Some("long"));
        assert!(texts.0.iter().all(|of| of.text.as_deref() != Some("short") && of.text.as_deref() != Some("t1")));
    }
}
