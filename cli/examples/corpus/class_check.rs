//! What is asked about one class: is it written as it was read, and does every method take a template?

use std::sync::Arc;

use anyhow::{Context, Result};
use classfile::{ByteWriter, ClassFile, class_writer};
use instrument_core::level::Level;
use instrument_core::template::{TemplateId, TemplateLibrary};
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Refused, Workspace};

use crate::lowering;
use crate::tally::Tally;

/// Checks class after class.
pub(crate) struct ClassCheck {
    engine: Engine,
    workspace: Workspace,
    template: TemplateId,
    written: ByteWriter,
    pub(crate) tally: Tally,
}

impl ClassCheck {
    pub(crate) fn new(library: &Arc<TemplateLibrary>) -> Result<ClassCheck> {
        let template = library.find("timed", Level::Time).context("there is no template `timed`")?;
        let engine = Engine::new(Arc::clone(library), EngineOptions::default());
        let (workspace, written, tally) = (Workspace::default(), ByteWriter::new(), Tally::default());
        Ok(ClassCheck { engine, workspace, template, written, tally })
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
        let mut plan = Vec::new();
        for (method_index, method) in class.methods().iter().enumerate() {
            self.tally.methods += 1;
            match method.code(class) {
                Ok(Some(_)) => plan.push(MethodPlan { method_index, templates: vec![self.template] }),
                Ok(None) => {}
                Err(error) => self.tally.problem("code cannot be read", format!("{name}: {error}")),
            }
        }
        self.tally.methods_with_code += plan.len() as u64;
        match self.engine.instrument(&mut self.workspace, class, &plan) {
            Outcome::Rewritten(rewritten) => {
                self.tally.instrumented += rewritten.methods.len() as u64;
                self.tally.bytes_out += rewritten.bytes.len() as u64;
                self.count_refused(&rewritten.refused);
                self.readable_again(name, &rewritten.bytes);
            }
            Outcome::Unchanged { refused } => {
                self.tally.bytes_out += class.bytes().len() as u64;
                self.count_refused(&refused);
            }
        }
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

    fn count_refused(&mut self, refused: &[Refused]) {
        for refused in refused {
            *self.tally.refused.entry(refused.reason.key()).or_default() += 1;
        }
    }
}
