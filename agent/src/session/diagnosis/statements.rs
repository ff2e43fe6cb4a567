//! Statements of databases at which a descent ends: probes in classes of JDBC report which text was executed, and the result names it.

use std::sync::Arc;

use control::NodeKind;
use instrument_core::internal_name::to_source;
use instrument_core::level::Level;
use rustc_hash::FxHashSet;

use super::measuring::STATEMENT;
use super::run::{Run, Statements};
use crate::call_sites::{self, MethodKey};
use crate::classes::hierarchy::ClassId;
use crate::descent::{End, Fate, GoesOn, NodeAt, short};
use crate::desired::RequestedProbes;
use crate::jvm::Jni;
use crate::reconcile::Outcome;

/// The most classes of JDBC that are changed for one diagnosis.
const MOST_CLASSES: usize = 256;
/// Notices name at most this many of the classes that cannot be changed.
const MOST_REFUSED: usize = 3;
const UNKNOWN: &str = "texts of statements that were prepared before the diagnosis are not known";

impl Run {
    /// Notes that the descent ends at this statement. Asked before any change: it looks at all loaded classes.
    pub(super) fn note_statement(&mut self, call: NodeAt) {
        if self.options.depth == 0 || self.statements.calls.contains(&call) {
            return;
        }
        self.statements.calls.push(call);
        let executed: Vec<MethodKey> = match self.stacks.goes_on(&self.tree, call) {
            GoesOn::Through(ways) => ways.iter().filter_map(|way| Some(way.first()?.method.key.clone())).collect(),
            GoesOn::Unknown | GoesOn::Ends(_) => Vec::new(),
        };
        executed.iter().for_each(|method| self.expect_statement(Some(method)));
        self.expect_statement(None);
        let is_new = self.want_text(call);
        self.statements.has_new_calls |= is_new;
    }

    /// Has texts noted of what this call executes from now on. Returns whether they were not before.
    pub(super) fn want_text(&mut self, call: NodeAt) -> bool {
        let cell = self.tree.get(call).and_then(|node| node.cell);
        let Some(cell) = cell.filter(|cell| self.statements.cells.insert(*cell)) else { return false };
        call_sites::of_process().want_texts(self.number, cell);
        true
    }

    /// Requests SQL texts with the next change of classes: a statement is executed, by this method if a stack has shown it. Where none has, whichever
    /// statements are known to be executed are enough.
    pub(super) fn expect_statement(&mut self, executed: Option<&MethodKey>) {
        let Statements { to_insert, inserted, .. } = &self.statements;
        if self.options.depth == 0 || (executed.is_none() && !(to_insert.is_empty() && inserted.is_empty())) {
            return;
        }
        let executed = executed.map(|method| (method.class.to_vec().into_boxed_slice(), method.loader));
        if executed.as_ref().is_some_and(|class| to_insert.contains(class) || inserted.contains(class)) {
            return;
        }
        let classes = self.session.jdbc_classes(executed.as_ref());
        let Statements { to_insert, inserted, .. } = &mut self.statements;
        to_insert.extend(classes.into_iter().filter(|class| !inserted.contains(class)));
    }

    /// Returns the classes of JDBC that are to be changed so that they report texts, if a statement needs that and they have not been yet.
    pub(super) fn classes_for_texts(&mut self) -> FxHashSet<Arc<[u8]>> {
        let mut names = FxHashSet::default();
        let mut classes: Vec<ClassId> = self.statements.to_insert.drain().collect();
        classes.sort();
        self.statements.inserted.extend(classes.iter().cloned());
        if classes.len() > MOST_CLASSES {
            classes.truncate(MOST_CLASSES);
            self.notices.push(format!(
                "more than {MOST_CLASSES} classes of JDBC are loaded: texts of statements of the others are not known"
            ));
        }
        let generation = self.session.instrumentation.generation();
        for (name, loader) in classes {
            let probes = RequestedProbes::parse(&format!("{}.*", to_source(&name)), "timed", Level::Time);
            let rules =
                probes.and_then(|probes| probes.rules(generation.templates(), &generation.setup.config.exclude));
            let Ok(rules) = rules else { continue };
            let name: Arc<[u8]> = name.into();
            call_sites::of_process().add_statements(self.number, (Arc::clone(&name), loader), Arc::new(rules));
            names.insert(name);
        }
        names
    }

    /// Returns whether any of these classes reports SQL texts now, and adds a notice for each that cannot.
    pub(super) fn note_text_classes(&mut self, classes: &FxHashSet<Arc<[u8]>>, outcome: &Outcome) -> bool {
        for name in outcome.refused.iter().filter(|name| classes.contains(*name)).take(MOST_REFUSED) {
            self.notices
                .push(format!("{} cannot be changed: the texts of its statements are not known", to_source(name)));
        }
        outcome.changed.iter().any(|name| classes.contains(name))
    }

    /// Names what the statements have executed, as far as that is known by now.
    pub(super) fn name_statements(&mut self) {
        for call in self.statements.calls.clone() {
            let cell = self.tree.get(call).and_then(|node| node.cell);
            let longest = cell.and_then(|cell| call_sites::of_process().longest_text(self.number, cell));
            let Some(longest) = longest else { continue };
            let reason = match longest.text {
                Some(text) => format!("{STATEMENT}: {text}"),
                None => {
                    if !self.notices.iter().any(|notice| notice == UNKNOWN) {
                        self.notices.push(UNKNOWN.to_owned());
                    }
                    STATEMENT.to_owned()
                }
            };
            self.tree.decide(call, Fate::End(End { kind: NodeKind::Waiting, reason }));
        }
    }

    /// Adds a notice about a statement for which no text was reported, if there is one; called at the end.
    pub(super) fn note_silent_statements(&mut self) {
        let is_silent = |call: &&NodeAt| {
            let cell = self.tree.get(**call).and_then(|node| node.cell);
            cell.is_some_and(|cell| call_sites::of_process().longest_text(self.number, cell).is_none())
        };
        let silent = self.statements.calls.iter().find(is_silent).and_then(|call| self.tree.get(*call));
        if let Some(silent) = silent {
            let text = format!(
                "the text of the statement executed by {} is not known: none of the classes of JDBC that were changed for it has reported one",
                short(&silent.text)
            );
            self.notices.push(text);
        }
    }

    /// Has Java forget what it has remembered of statements.
    pub(super) fn forget_texts(&self, jni: &Jni<'_>) {
        let runtime = self.session.running.lock().runtime;
        if let Some(runtime) = runtime.filter(|_| !self.statements.inserted.is_empty()) {
            call_sites::of_process().end_texts(self.number);
            runtime.forget_statement_texts(jni);
        }
    }
}
