//! What is asked about one class: is it written as it was read, and does every method take a template?

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use classfile::{ByteWriter, ClassFile, class_writer};
use instrument_core::capture::{ArgumentKey, Capture, DEFAULT_VALUE_LENGTH, Render};
use instrument_core::engine::both_walkers::instrument_by_both;
use instrument_core::level::{Level, Mode};
use instrument_core::template::{TemplateId, TemplateLibrary};
use instrument_core::{Engine, EngineOptions, MethodPlan, NotWrapped, Outcome, Workspace};

use crate::lowering;
use crate::tally::Tally;

/// With every value of a call that there is.
const WITH_VALUES: &str = "level watch, all values";

/// The ways of instrumenting everything: name, level, and with a wrapper or in the method itself.
const WAYS: [(&str, Level, Mode); 5] = [
    (WITH_VALUES, Level::Watch, Mode::Inline),
    ("level time", Level::Time, Mode::Inline),
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
    /// Where instrumented classes are written to, if anywhere.
    into: Option<PathBuf>,
}

impl ClassCheck {
    pub(crate) fn new(library: &Arc<TemplateLibrary>) -> Result<ClassCheck> {
        let find = |(way, level, _): &(&str, Level, Mode)| match *way {
            WITH_VALUES => library.find_capturing("timed", *level),
            _ => library.find("timed", *level),
        };
        let templates: Option<Vec<_>> = WAYS.iter().map(find).collect();
        let templates = templates.context("the template `timed` lacks a level")?;
        let engine = Engine::new(Arc::clone(library), EngineOptions::default());
        let (workspace, written, tally) = (Workspace::default(), ByteWriter::new(), Tally::default());
        let arguments = vec![ArgumentKey::Receiver, ArgumentKey::All];
        let capture = Capture { arguments, result: true, length: DEFAULT_VALUE_LENGTH, render: Render::Identity };
        Ok(ClassCheck { engine, workspace, templates, written, capture, tally, into: None })
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
        (way, level, mode): (&'static str, Level, Mode),
        template: TemplateId,
        methods: &[usize],
    ) {
        let mut plan = Vec::new();
        let figures = self.tally.ways.entry(way).or_default();
        for &method_index in methods {
            let Some(method) = class.methods().get(method_index) else { continue };
            let never = NotWrapped::of(class, method);
            let captured = (way == WITH_VALUES).then(|| self.capture.in_method(class, method));
            match (mode, never) {
                (Mode::Inline, _) => plan.push(MethodPlan::inline(method_index, vec![template]).capturing(captured)),
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
                self.readable_again(name, &rewritten.bytes);
                if (level, mode) == (Level::Time, Mode::Inline) {
                    self.keep(name, &rewritten.bytes);
                }
            }
            Outcome::Unchanged { refused } => {
                figures.bytes_out += class.bytes().len() as u64;
                figures.refuse(&refused);
            }
        }
    }

    fn keep(&mut self, name: &str, bytes: &[u8]) {
        let Some(into) = &self.into else { return };
        let file = into.join(format!("{name}.class"));
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
