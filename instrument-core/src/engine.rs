//! The engine: a class and a plan in, a rewritten class out.

use std::sync::Arc;

use classfile::descriptor::MethodDescriptor;
use classfile::{ByteWriter, ClassFile, ConstantPoolWriter, Member, ModifiedUtf8};

use crate::body::input::{BodyInput, TableKind};
use crate::level::Mode;
use crate::merge::constructor;
use crate::merge::emit::TargetMethod;
use crate::merge::splice::{MergeMemory, MergedBody, Splice};
use crate::offset_map::OffsetMap;
use crate::options::EngineOptions;
use crate::outcome::{MethodPlan, Outcome, ProbeSlot, Refused, Rewritten, RewrittenMethod};
use crate::refusal::Refusal;
use crate::template::symbol::{BootstrapRows, PlacedSymbols, SymbolSink};
use crate::template::{Template, TemplateId, TemplateLibrary};
use crate::verify::{Body, Checker};
use crate::wrapper::{self, AddedMethods, CallBody};

/// Merges templates into methods. Immutable; one engine serves all threads, each with a [`Workspace`] of its own.
#[derive(Clone, Debug)]
pub struct Engine {
    library: Arc<TemplateLibrary>,
    options: EngineOptions,
}

/// Memory that is used again from class to class.
#[derive(Debug)]
pub struct Workspace {
    pool: ConstantPoolWriter,
    bootstrap: BootstrapRows,
    /// By template.
    placed: Vec<PlacedSymbols>,
    memory: MergeMemory,
    checker: Checker,
    methods: ByteWriter,
    /// Behind the methods of the class.
    added: AddedMethods,
    probes: Vec<ProbeSlot>,
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace {
            pool: ConstantPoolWriter::new(),
            bootstrap: BootstrapRows::default(),
            placed: Vec::new(),
            memory: MergeMemory::default(),
            checker: Checker::default(),
            methods: ByteWriter::new(),
            added: AddedMethods::default(),
            probes: Vec::new(),
        }
    }
}

impl Workspace {
    /// A workspace without memory yet.
    pub fn new() -> Workspace {
        Workspace::default()
    }
}

impl Engine {
    /// An engine with these templates.
    pub fn new(library: Arc<TemplateLibrary>, options: EngineOptions) -> Engine {
        Engine { library, options }
    }

    /// The templates.
    pub fn library(&self) -> &TemplateLibrary {
        &self.library
    }

    /// Rewrites the planned methods of a class. A method that cannot be rewritten stays as it is, with the reason; the others
    /// are rewritten all the same. `plan` names each method at most once, in ascending order.
    pub fn instrument(&self, workspace: &mut Workspace, class: &ClassFile<'_>, plan: &[MethodPlan]) -> Outcome {
        workspace.begin(class);
        workspace.memory.options = self.options;
        let mut rewritten = Vec::new();
        let mut refused = Vec::new();
        let file = class.bytes();
        // Everything between two rewritten methods is copied in one piece.
        let mut copied = class.methods_offset();
        for planned in plan {
            let Some(method) = class.methods().get(planned.method_index) else { continue };
            let (start, length, added) =
                (copied.max(class.methods_offset()), workspace.methods.len(), workspace.added.mark());
            let marks = (workspace.pool.mark(), workspace.probes.len(), workspace.bootstrap.appended.len());
            workspace.methods.bytes(file.get(start..method.attributes_offset).unwrap_or_default());
            match self.rewrite(workspace, class, method, planned) {
                Ok(done) => {
                    copied = method.end;
                    rewritten.push(done);
                }
                Err(reason) => {
                    workspace.methods.truncate(length);
                    workspace.added.rewind(added);
                    workspace.pool.rewind(marks.0);
                    workspace.probes.truncate(marks.1);
                    workspace.bootstrap.appended.truncate(marks.2);
                    workspace.placed.iter_mut().for_each(PlacedSymbols::clear);
                    refused.push(Refused { method_index: planned.method_index, reason });
                }
            }
        }
        if rewritten.is_empty() {
            return Outcome::Unchanged { refused };
        }
        workspace.methods.bytes(file.get(copied..class.attributes_offset()).unwrap_or_default());
        workspace.added.append_to(&mut workspace.methods, class);
        match workspace.assemble(class) {
            Ok(bytes) => {
                let probes = workspace.probes.clone();
                Outcome::Rewritten(Rewritten { bytes, probes, methods: rewritten, refused })
            }
            Err(reason) => {
                let all = plan.iter().map(|planned| planned.method_index);
                Outcome::Unchanged {
                    refused: all.map(|method_index| Refused { method_index, reason: reason.clone() }).collect(),
                }
            }
        }
    }

    fn rewrite(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        planned: &MethodPlan,
    ) -> Result<RewrittenMethod, Refusal> {
        match planned.mode {
            Mode::Inline => self.inline(workspace, class, method, planned),
            Mode::Wrapper => self.wrap(workspace, class, method, planned),
        }
    }

    fn inline(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        planned: &MethodPlan,
    ) -> Result<RewrittenMethod, Refusal> {
        let code = method.code(class)?.ok_or(Refusal::NoCode)?;
        let target = target_method(class, method)?;
        let input = BodyInput::of_code(&code, class.constant_pool())?;
        let merged = self.merge(workspace, class, method, &target, planned, &input)?;
        let merged = merged.ok_or(Refusal::UnknownTemplate)?;
        workspace.check(class, &merged)?;
        workspace.write_method(class, method, &merged)?;
        Ok(RewrittenMethod {
            method_index: planned.method_index,
            length_before: code.bytecode.len() as u32,
            length_after: merged.code.len() as u32,
            passes: merged.passes,
            offset_map: if self.options.offset_maps { merged.offset_map } else { OffsetMap::default() },
            renamed: None,
        })
    }

    /// The templates go around a body that only calls the original, which moves behind the other methods under a new name.
    fn wrap(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        planned: &MethodPlan,
    ) -> Result<RewrittenMethod, Refusal> {
        wrapper::check(class, method)?;
        let code = method.code(class)?.ok_or(Refusal::NoCode)?;
        let target = target_method(class, method)?;
        let renamed = wrapper::name_of_original(class, method);
        let (pool, input_pool) = (&mut workspace.pool, class.constant_pool());
        let mut call = CallBody::new(class, method, &target.descriptor, &renamed, pool)?;
        workspace.memory.effects.note(call.constant(), method.descriptor);
        let input = call.as_input(&code, input_pool)?;
        let merged = self.merge(workspace, class, method, &target, planned, &input)?;
        let merged = merged.unwrap_or_else(|| MergedBody::unchanged(&input));
        workspace.check(class, &merged)?;
        workspace.write_method(class, method, &merged)?;
        workspace.added.original(class, method, &renamed, &mut workspace.pool)?;
        Ok(RewrittenMethod {
            method_index: planned.method_index,
            length_before: code.bytecode.len() as u32,
            length_after: merged.code.len() as u32,
            passes: merged.passes,
            offset_map: OffsetMap::default(),
            renamed: Some(renamed),
        })
    }

    /// Puts the templates around a body, innermost first: each result is the target of the next template outwards.
    fn merge(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        target: &TargetMethod<'_>,
        planned: &MethodPlan,
        input: &BodyInput<'_>,
    ) -> Result<Option<MergedBody>, Refusal> {
        let mut merged: Option<MergedBody> = None;
        for &id in planned.templates.iter().rev() {
            let template = self.library.get(id).ok_or(Refusal::UnknownTemplate)?;
            let probe_constant = workspace.probe(class, planned.method_index, template, id)?;
            let next = match &merged {
                None => workspace.splice(class, method, target, (id, template), input, probe_constant)?,
                Some(inner) => {
                    let body = inner.as_input();
                    workspace.splice(class, method, target, (id, template), &body, probe_constant)?
                }
            };
            merged = Some(join(merged, next));
        }
        Ok(merged)
    }
}

fn target_method<'a>(class: &ClassFile<'a>, method: &Member<'a>) -> Result<TargetMethod<'a>, Refusal> {
    Ok(TargetMethod {
        class_name: class.this_class(),
        name: method.name,
        descriptor_text: method.descriptor,
        descriptor: MethodDescriptor::parse(method.descriptor.as_bytes())?,
        access_flags: method.access_flags,
        is_constructor: constructor::starts_uninitialised(class, method),
    })
}

/// The outer merge's offset map speaks of the inner one's output: go through both.
fn join(inner: Option<MergedBody>, mut outer: MergedBody) -> MergedBody {
    if let Some(inner) = inner {
        outer.offset_map = inner.offset_map.then(&outer.offset_map);
        outer.passes = outer.passes.max(inner.passes);
    }
    outer
}

impl Workspace {
    fn begin(&mut self, class: &ClassFile<'_>) {
        self.pool.begin(class.constant_pool());
        self.memory.effects.begin(class.constant_pool());
        self.placed.iter_mut().for_each(PlacedSymbols::clear);
        self.methods.clear();
        self.added.clear();
        self.probes.clear();
        let rows = class.attributes().find(b"BootstrapMethods").ok().flatten();
        self.bootstrap.begin(rows.map_or(&[], |rows| rows.content));
    }

    fn probe(
        &mut self,
        class: &ClassFile<'_>,
        method_index: usize,
        template: &Template,
        id: TemplateId,
    ) -> Result<Option<u16>, Refusal> {
        if template.minimum_version > class.major_version() {
            return Err(Refusal::ClassVersion { needed: template.minimum_version, found: class.major_version() });
        }
        if !template.needs.probe_id {
            return Ok(None);
        }
        let (constant, offset) = self.pool.own_integer(self.probes.len() as u32)?;
        let offset = class.constant_pool().end_offset() + offset;
        self.probes.push(ProbeSlot { method_index, template: id, offset });
        Ok(Some(constant))
    }

    fn splice<'m, 'a>(
        &mut self,
        class: &'m ClassFile<'a>,
        method: &'m Member<'a>,
        target: &'m TargetMethod<'a>,
        (id, template): (TemplateId, &'m Template),
        body: &'m BodyInput<'m>,
        probe_constant: Option<u16>,
    ) -> Result<MergedBody, Refusal> {
        if target.is_constructor && template.needs.receiver != crate::template::Use::Nowhere {
            return Err(Refusal::ReceiverInConstructor);
        }
        let number = id.0 as usize;
        if self.placed.len() <= number {
            self.placed.resize_with(number + 1, PlacedSymbols::default);
        }
        let placed = self.placed.get_mut(number).ok_or(Refusal::UnknownTemplate)?;
        let (pool, writer, bootstrap) = (class.constant_pool(), &mut self.pool, &mut self.bootstrap);
        let sink = SymbolSink { pool, writer, bootstrap, placed };
        Splice { class, method, target, template, body, sink, probe_constant }.run(&mut self.memory)
    }

    fn check(&mut self, class: &ClassFile<'_>, merged: &MergedBody) -> Result<(), Refusal> {
        let table = merged.tables.iter().find(|table| table.kind == TableKind::StackMap);
        let frames = table.map(|table| table.content.as_slice());
        let body = Body {
            code: &merged.code,
            rows: &merged.rows,
            max_locals: merged.max_locals,
            frames,
            implied: self.memory.implied_locals(),
            frames_required: class.major_version() >= 51,
            constants: self.pool.count(),
        };
        self.checker.check(&body).map_err(Refusal::SelfCheck)
    }

    /// Writes the method's attributes, `Code` in its merged form.
    fn write_method(&mut self, class: &ClassFile<'_>, method: &Member<'_>, merged: &MergedBody) -> Result<(), Refusal> {
        let file = class.bytes();
        let out = &mut self.methods;
        out.bytes(file.get(method.attributes_offset..method.attributes_offset + 2).unwrap_or_default());
        for attribute in method.attributes(class) {
            let attribute = attribute?;
            out.u2(attribute.name_index);
            if attribute.name != "Code" {
                out.u4(attribute.content.len() as u32);
                out.bytes(attribute.content);
                continue;
            }
            let length_position = out.len();
            out.u4(0);
            write_code(out, merged);
            out.patch_u4(length_position, (out.len() - length_position - 4) as u32);
        }
        Ok(())
    }

    /// Header, pool with what was appended, fields, methods, class attributes.
    fn assemble(&mut self, class: &ClassFile<'_>) -> Result<Vec<u8>, Refusal> {
        let file = class.bytes();
        if !self.bootstrap.appended.is_empty() {
            // The attribute's name must be in the pool before the pool is written.
            self.pool.utf8(class.constant_pool(), ModifiedUtf8(b"BootstrapMethods"))?;
        }
        let capacity = file.len() + self.pool.appended().len() + self.methods.len();
        let mut out = ByteWriter::from_vec(Vec::with_capacity(capacity));
        let pool_end = class.constant_pool().end_offset();
        out.bytes(file.get(..8).unwrap_or_default());
        out.u2(self.pool.count());
        out.bytes(file.get(10..pool_end).unwrap_or_default());
        out.bytes(self.pool.appended());
        out.bytes(file.get(pool_end..class.methods_offset()).unwrap_or_default());
        out.bytes(self.methods.as_slice());
        self.class_attributes(class, &mut out)?;
        Ok(out.into_vec())
    }
}

fn write_code(out: &mut ByteWriter, merged: &MergedBody) {
    out.u2(merged.max_stack);
    out.u2(merged.max_locals);
    out.u4(merged.code.len() as u32);
    out.bytes(&merged.code);
    out.u2(merged.rows.len() as u16);
    for row in &merged.rows {
        [row.start, row.end, row.handler, row.catch_type].into_iter().for_each(|value| out.u2(value));
    }
    out.u2(merged.tables.len() as u16);
    for table in &merged.tables {
        out.u2(table.name_index);
        out.u4(table.content.len() as u32);
        out.bytes(&table.content);
    }
}

impl Workspace {
    /// Copies the class's attributes; `BootstrapMethods` gets the appended rows.
    fn class_attributes(&mut self, class: &ClassFile<'_>, out: &mut ByteWriter) -> Result<(), Refusal> {
        let rest = class.bytes().get(class.attributes_offset()..).unwrap_or_default();
        if self.bootstrap.appended.is_empty() {
            out.bytes(rest);
            return Ok(());
        }
        let count_position = out.len();
        let mut count = 0u16;
        out.u2(0);
        let mut existing: &[u8] = &[];
        for attribute in class.attributes() {
            let attribute = attribute?;
            if attribute.name == "BootstrapMethods" {
                existing = attribute.content.get(2..).unwrap_or_default();
                continue;
            }
            out.u2(attribute.name_index);
            out.u4(attribute.content.len() as u32);
            out.bytes(attribute.content);
            count += 1;
        }
        out.u2(self.pool.utf8(class.constant_pool(), ModifiedUtf8(b"BootstrapMethods"))?);
        let length_position = out.len();
        out.u4(0);
        out.u2(self.bootstrap.existing + self.bootstrap.appended.len() as u16);
        out.bytes(existing);
        for row in &self.bootstrap.appended {
            out.u2(row.handle);
            out.u2(row.arguments.len() as u16);
            row.arguments.iter().for_each(|argument| out.u2(*argument));
        }
        out.patch_u4(length_position, (out.len() - length_position - 4) as u32);
        out.patch_u2(count_position, count + 1);
        Ok(())
    }
}
