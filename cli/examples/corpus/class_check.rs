//! What is asked about one class: is it written as it was read, and does every method take a template?

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use classfile::instruction::Instructions;
use classfile::{ByteWriter, ClassFile, Member, class_writer, opcode};
use instrument_core::capture::{ArgumentKey, Capture, DEFAULT_VALUE_LENGTH, Render};
use instrument_core::engine::both_walkers::instrument_by_both;
use instrument_core::level::{Level, Mode};
use instrument_core::template::{TemplateId, TemplateLibrary};
use instrument_core::{CallSite, Engine, EngineOptions, MethodPlan, NotWrapped, Outcome, Rewritten, Workspace};

use crate::lowering;
use crate::tally::{Tally, WayFigures};

/// With every value of a call that there is.
const WITH_VALUES: &str = "level watch, all values";

/// With a site at every call in the method's own code.
pub(crate) const WITH_SITES: &str = "call sites";
/// The way of which the classes are kept, unless another one is asked for.
pub(crate) const USUAL: &str = "level time";

/// The ways of instrumenting everything: name, level, and with a wrapper or in the method itself.
const WAYS: [(&str, Level, Mode); 6] = [
    (WITH_SITES, Level::Time, Mode::Inline),
    (WITH_VALUES, Level::Watch, Mode::Inline),
    (USUAL, Level::Time, Mode::Inline),
    ("level watch", Level::Watch, Mode::Inline),
    ("level off", Level::Off, Mode::Inline),
    ("wrappers, level time", Level::Time, Mode::Wrapper),
];

/// Checks class after class.
pub(crate) struct ClassCheck {
    engine: Engine,
    workspace: Workspace,
    /// The catch-all for each way.
    templates: Vec<TemplateId>,
    written: ByteWriter,
    /// Every value.
    capture: Capture,
    pub(crate) tally: Tally,
    /// Where instrumented classes are written to, if anywhere, and instrumented in which way.
    into: Option<PathBuf>,
    kept: &'static str,
}

impl ClassCheck {
    pub(crate) fn new(library: &Arc<TemplateLibrary>, kept: &'static str) -> Result<ClassCheck> {
        let find = |(way, level, _): &(&str, Level, Mode)| match *way {
            WITH_VALUES => library.find_capturing("timed", *level),
            WITH_SITES => library.call_sites(),
            _ => library.find("timed", *level),
        };
        let templates: Option<Vec<_>> = WAYS.iter().map(find).collect();
        let templates = templates.context("a template is missing, or `timed` lacks a level")?;
        let engine = Engine::new(Arc::clone(library), EngineOptions::default());
        let (workspace, written, tally) = (Workspace::default(), ByteWriter::new(), Tally::default());
        let arguments = vec![ArgumentKey::Receiver, ArgumentKey::All];
        let capture = Capture { arguments, result: true, length: DEFAULT_VALUE_LENGTH, render: Render::Identity };
        Ok(ClassCheck { engine, workspace, templates, written, capture, tally, into: None, kept })
    }

    pub(crate) fn class(&mut self, name: &str, bytes: &[u8]) {
        self.tally.classes += 1;
        self.tally.bytes_in += bytes.len() as u64;
        let class = match ClassFile::parse(bytes) {
            Ok(class) => class,
            Err(error) => return self.tally.problem("cannot be read", format!("{name}: {error}")),
        };
        self.written_as_read(name, &class);
        lowering::check(&mut self.workspace, name, &class, &mut self.tally);
        self.instrument_everything(name, &class);
    }

    fn written_as_read(&mut self, name: &str, class: &ClassFile<'_>) {
        self.written.clear();
        match class_writer::write(class, &mut self.written) {
            Ok(_) if self.written.as_slice() == class.bytes() => {}
            Ok(_) => self.tally.problem("written otherwise than read", name.to_owned()),
            Err(error) => self.tally.problem("cannot be written", format!("{name}: {error}")),
        }
    }

    fn instrument_everything(&mut self, name: &str, class: &ClassFile<'_>) {
        let mut with_code = Vec::new();
        for (method_index, method) in class.methods().iter().enumerate() {
            self.tally.methods += 1;
            match method.code(class) {
                Ok(Some(_)) => with_code.push(method_index),
                Ok(None) => {}
                Err(error) => self.tally.problem("code cannot be read", format!("{name}: {error}")),
            }
        }
        self.tally.methods_with_code += with_code.len() as u64;
        for (way, template) in WAYS.into_iter().zip(self.templates.clone()) {
            self.instrument(name, class, way, template, &with_code);
        }
    }

    fn instrument(
        &mut self,
        name: &str,
        class: &ClassFile<'_>,
        (way, _, mode): (&'static str, Level, Mode),
        template: TemplateId,
        methods: &[usize],
    ) {
        let mut plan = Vec::new();
        let figures = self.tally.ways.entry(way).or_default();
        for &method_index in methods {
            let Some(method) = class.methods().get(method_index) else { continue };
            let never = NotWrapped::of(class, method);
            let sites = if way == WITH_SITES { every_call(class, method) } else { Vec::new() };
            let captured = (way == WITH_VALUES).then(|| self.capture.in_method(class, method));
            match (mode, never) {
                (Mode::Inline, _) => {
                    let planned = MethodPlan::inline(method_index, vec![template]).capturing(captured);
                    plan.push(planned.with_sites(sites));
                }
                (Mode::Wrapper, None) => plan.push(MethodPlan::wrapper(method_index, vec![template])),
                (Mode::Wrapper, Some(reason)) => *figures.excepted.entry(reason.key()).or_default() += 1,
            }
        }
        let both = match mode {
            Mode::Inline => instrument_by_both(&self.engine, &mut self.workspace, class, &plan),
            Mode::Wrapper => Ok(self.engine.instrument(&mut self.workspace, class, &plan)),
        };
        let outcome = match both {
            Ok(outcome) => outcome,
            Err(difference) => return self.tally.problem("the two walkers differ", format!("{name}: {difference}")),
        };
        let figures = self.tally.ways.entry(way).or_default();
        match outcome {
            Outcome::Rewritten(rewritten) => {
                figures.instrumented += rewritten.methods.len() as u64;
                figures.bytes_out += rewritten.bytes.len() as u64;
                figures.refuse(&rewritten.refused);
                count_sites(&plan, &rewritten, figures);
                self.readable_again(name, &rewritten.bytes);
                if way == self.kept {
                    self.keep(name, &rewritten.bytes);
                }
            }
            Outcome::Unchanged { refused } => {
                figures.bytes_out += class.bytes().len() as u64;
                figures.refuse(&refused);
                if way == self.kept {
                    // The classes of a package must all have the signature of its jar, or none.
                    self.keep(name, class.bytes());
                }
            }
        }
    }

    pub(crate) fn keep(&mut self, name: &str, bytes: &[u8]) {
        // Its constructor registers objects for finalisation, in whatever is called from there as well.
        let Some(into) = self.into.as_ref().filter(|_| name != "java/lang/Object") else { return };
        let file = into.join(format!("{}.class", name.trim_end_matches(".class")));
        let written = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, bytes));
        if let Err(error) = written {
            self.tally.problem("cannot be kept", format!("{}: {error}", file.display()));
        }
    }

    /// The place of the next classes, below where instrumented ones are kept.
    pub(crate) fn keep_below(&mut self, into: Option<PathBuf>) {
        self.into = into;
    }

    fn readable_again(&mut self, name: &str, bytes: &[u8]) {
        self.written.clear();
        let again = ClassFile::parse(bytes).and_then(|class| class_writer::write(&class, &mut self.written));
        match again {
            Ok(_) if self.written.as_slice() == bytes => {}
            Ok(_) => self.tally.problem("instrumented, and then written otherwise than read", name.to_owned()),
            Err(error) => self.tally.problem("instrumented, and then unreadable", format!("{name}: {error}")),
        }
    }
}

/// A site at each call in the method's own code.
fn every_call(class: &ClassFile<'_>, method: &Member<'_>) -> Vec<CallSite> {
    let code = method.code(class).ok().flatten();
    let instructions = code.iter().flat_map(|code| Instructions::new(code.bytecode)).flatten();
    let calls = instructions.filter(|step| (opcode::INVOKEVIRTUAL..=opcode::INVOKEDYNAMIC).contains(&step.opcode));
    let site = |(step, number): (classfile::instruction::Instruction<'_>, u16)| {
        Some(CallSite { offset: u16::try_from(step.offset).ok()?, number })
    };
    calls.zip(0..).filter_map(site).collect()
}

/// Counts the sites of a class.
fn count_sites(plan: &[MethodPlan], rewritten: &Rewritten, figures: &mut WayFigures) {
    for done in &rewritten.methods {
        let planned = plan.iter().find(|planned| planned.method_index == done.method_index);
        let sites = planned.map_or(0, |planned| planned.sites.len());
        figures.sites += (sites - done.refused_sites.len()) as u64;
        for refused in &done.refused_sites {
            *figures.refused_sites.entry(refused.reason.key()).or_default() += 1;
        }
    }
}
