//! What the agent does with a class, off-line: decide, merge, number the probes, and count what happened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use classfile::ClassFile;
use instrument_core::ahead;
use instrument_core::capture::CapturedValues;
use instrument_core::internal_name::to_source;
use instrument_core::selection::{
    Chosen, ClassContext, DelegateMark, Figures, MethodDecision, MissingParameters, Never, NoFactsYet, RuleReach,
};
use instrument_core::{
    Engine, EngineOptions, Insertion, MethodPlan, Outcome, Refusal, Refused, Rewritten, Templates, Workspace,
};

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::cpu_clock::CpuClock;
use crate::delegates;
use crate::file_origin::FileOrigin;
use crate::probe_table::{Probe, ProbeTable};
use crate::progress::Counting;

/// Instruments class after class with one configuration.
pub(crate) struct Instrumentation<'a> {
    configuration: &'a Configuration,
    classes: &'a Classes,
    never: Box<Never<'a>>,
    /// Methods that methods of other classes hand to somebody who calls them.
    delegates: Vec<DelegateMark>,
    /// Where the classes are from.
    pub(crate) origin: FileOrigin,
    /// Tell about each method.
    pub(crate) verbose: bool,
    engine: Engine,
    workspace: Workspace,
    pub(crate) probes: ProbeTable,
    pub(crate) totals: Totals,
    /// What rules ask for and no method has.
    missing: MissingParameters,
    /// How far each rule got.
    reach: RuleReach,
}

/// What happened to all classes so far.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) classes: u64,
    pub(crate) classes_rewritten: u64,
    pub(crate) methods: u64,
    pub(crate) methods_instrumented: u64,
    /// Classes that a rule takes and that hold probes already: they stay as they are.
    pub(crate) instrumented_before: u64,
    /// Reason -> methods that were chosen but could not be instrumented.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Reason -> methods that were not chosen.
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    /// CPU time of reading, deciding, merging and writing classes; files and compression are not in it.
    pub(crate) cpu: Duration,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

impl<'a> Instrumentation<'a> {
    pub(crate) fn new(
        configuration: &'a Configuration,
        classes: &'a Classes,
        options: EngineOptions,
    ) -> Instrumentation<'a> {
        let engine = Engine::new(Arc::clone(&configuration.library), options);
        let (workspace, probes, totals) = (Workspace::default(), ProbeTable::default(), Totals::default());
        let never: Box<Never<'_>> = Box::new(configuration.never(classes));
        // A jar that cannot be read is reported by what reads it next.
        let delegates = delegates::find(configuration, classes, &*never).unwrap_or_default();
        let missing = MissingParameters::default();
        let origin = FileOrigin::unknown();
        let verbose = false;
        let reach = RuleReach::new(&configuration.rules);
        Instrumentation {
            configuration,
            classes,
            never,
            delegates,
            origin,
            verbose,
            engine,
            workspace,
            probes,
            totals,
            missing,
            reach,
        }
    }

    /// Whether methods of other classes hand methods of this class to somebody who calls them.
    pub(crate) fn has_delegates(&self, class: &[u8]) -> bool {
        self.delegates.iter().any(|mark| *mark.class == *class)
    }

    /// Returns what the rules ask about a class besides its bytes.
    pub(crate) fn context(&self) -> ClassContext<'_> {
        ClassContext {
            hierarchy: self.classes,
            origin: &self.origin,
            facts: &NoFactsYet,
            never: &*self.never,
            delegates: &self.delegates,
            reach: Some(&self.reach),
        }
    }

    /// The new bytes of each class, `None` for one that stays as it is.
    pub(crate) fn rewrite_all<'b>(&mut self, classes: impl IntoIterator<Item = &'b [u8]>) -> Vec<Option<Vec<u8>>> {
        let clock = CpuClock::start();
        let mut progress = Counting::start();
        let mut rewrite = |bytes| {
            if !self.verbose {
                progress.done(self.totals.classes, "classes instrumented or looked at");
            }
            self.rewrite(bytes)
        };
        let rewritten = classes.into_iter().map(&mut rewrite).collect();
        progress.end();
        self.totals.cpu += clock.elapsed();
        rewritten
    }

    fn rewrite(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.totals.classes += 1;
        self.totals.bytes_in += bytes.len() as u64;
        let rewritten = self.rewritten(bytes);
        self.totals.bytes_out += rewritten.as_ref().map_or(bytes.len(), Vec::len) as u64;
        self.totals.classes_rewritten += u64::from(rewritten.is_some());
        rewritten
    }

    fn rewritten(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let Ok(class) = ClassFile::parse(bytes) else {
            self.refuse("unreadable-class");
            return None;
        };
        self.totals.methods += class.methods().len() as u64;
        if ahead::holds_probes(&class) {
            self.totals.instrumented_before += u64::from(!self.plan(&class).is_empty());
            return None;
        }
        let (plan, outcome) = self.examine(&class);
        if self.verbose {
            self.tell(&class, &plan, &outcome);
        }
        match outcome {
            Outcome::Rewritten(rewritten) => self.accept(&class, &rewritten),
            Outcome::Unchanged { refused } => {
                self.count_refused(&refused);
                None
            }
        }
    }

    /// The plan for a class and what the engine makes of it; nothing is counted, and probes have no numbers yet.
    pub(crate) fn examine(&mut self, class: &ClassFile<'_>) -> (Vec<MethodPlan>, Outcome) {
        let plan = self.plan(class);
        if plan.is_empty() {
            return (plan, Outcome::Unchanged { refused: Vec::new() });
        }
        let outcome = self.engine.instrument(&mut self.workspace, class, &plan);
        (plan, outcome)
    }

    /// One line for each method that was to be instrumented, on standard error.
    fn tell(&self, class: &ClassFile<'_>, plan: &[MethodPlan], outcome: &Outcome) {
        let (done, refused) = match outcome {
            Outcome::Rewritten(rewritten) => (rewritten.methods.as_slice(), rewritten.refused.as_slice()),
            Outcome::Unchanged { refused } => (&[][..], refused.as_slice()),
        };
        let library = self.engine.library();
        for (index, method) in class.methods().iter().enumerate() {
            let planned = plan.iter().find(|planned| planned.method_index == index);
            let rewritten = done.iter().find(|done| done.method_index == index);
            if let (Some(plan), Some(done)) = (planned, rewritten) {
                eprintln!("{}", Insertion { class, method, plan, done, library });
            }
            if let Some(refused) = refused.iter().find(|refused| refused.method_index == index) {
                let class = to_source(class.this_class().as_bytes());
                eprintln!("{class}.{}{}: refused: {}", method.name, method.descriptor, refused.reason);
            }
        }
    }

    /// A line for each parameter that rules ask for and that no method up to now has, and for each rule that has taken no method.
    pub(crate) fn missing(&self) -> Vec<String> {
        let rules = &self.configuration.rules;
        let nearest = |name: &str| self.classes.nearest(name).ok().flatten();
        [self.missing.lines(rules.rules()), self.reach.lines(rules, Figures::Exact, &nearest)].concat()
    }

    fn plan(&mut self, class: &ClassFile<'_>) -> Vec<MethodPlan> {
        let decision = self.configuration.rules.decide(class, &self.context());
        for method in &decision.methods {
            if let MethodDecision::Skipped(reason) = method {
                *self.totals.skipped.entry(reason.key()).or_default() += 1;
            }
        }
        for (index, chosen) in decision.chosen() {
            if let (Some(capture), Some(method)) = (&chosen.capture, class.methods().get(index)) {
                self.missing.note(chosen.rule, capture, class, method);
            }
        }
        let plan = |(method_index, chosen): (usize, &Chosen)| MethodPlan {
            method_index,
            templates: Templates::from(&chosen.templates),
            mode: chosen.mode,
            // Whoever loads the class loads it as it is written here.
            wrapper_allowed: true,
            captured: captured(class, method_index, chosen),
            sites: Vec::new(),
        };
        decision.chosen().map(plan).collect()
    }

    /// Returns the class with its mark and lists its probes; `None` if it has no room for the mark.
    fn accept(&mut self, class: &ClassFile<'_>, rewritten: &Rewritten) -> Option<Vec<u8>> {
        self.count_refused(&rewritten.refused);
        let Some(bytes) = ahead::marked(rewritten, class, &self.configuration.library) else {
            rewritten.methods.iter().for_each(|_| self.refuse(Refusal::PoolFull.key()));
            return None;
        };
        self.totals.methods_instrumented += rewritten.methods.len() as u64;
        for slot in &rewritten.probes {
            let Some(method) = class.methods().get(slot.method_index) else { continue };
            let template = self.configuration.library.get(slot.template);
            self.probes.add(|id| Probe {
                id,
                class: class.this_class().to_string(),
                method: method.name.to_string(),
                descriptor: method.descriptor.to_string(),
                template: template.map(|template| template.name.clone()).unwrap_or_default(),
            });
        }
        Some(bytes)
    }

    fn count_refused(&mut self, refused: &[Refused]) {
        for refused in refused {
            self.refuse(refused.reason.key());
        }
    }

    fn refuse(&mut self, reason: &str) {
        *self.totals.refused.entry(reason.to_owned()).or_default() += 1;
    }
}

/// Returns the values of the method's calls that the rule chose.
fn captured(class: &ClassFile<'_>, method_index: usize, chosen: &Chosen) -> Option<Box<CapturedValues>> {
    let method = class.methods().get(method_index)?;
    Some(Box::new(chosen.capture.as_ref()?.in_method(class, method)))
}
