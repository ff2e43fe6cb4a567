//! The engine: a class and a plan in, a rewritten class out.

mod assembly;
mod bootstrap_rows;
pub mod both_walkers;
mod copied_references;
mod own_check;
pub mod roundtrip;

use std::sync::Arc;

use classfile::descriptor::MethodDescriptor;
use classfile::stack_map::VerificationType;
use classfile::{ByteWriter, ClassFile, ConstantPool, ConstantPoolWriter, ErrorKind, Member, opcode};

use crate::level::Mode;
use crate::weave::body::definition_checks;
use crate::weave::body::input::{BodyInput, TableKind};
use crate::weave::body::meeting_references::{self, Holder};
use crate::weave::body::super_call::starts_uninitialised;
use crate::weave::call_sites::{self, CallSite, SiteRefusal};
use crate::weave::captured::CapturedValues;
use crate::weave::merge::emit::{TargetMethod, return_opcode};
use crate::weave::merge::node_merge::{MergeMemory, MergedBody, NodeMerge};
use crate::weave::merge::single_pass::{Bailout, SinglePassMemory, SinglePassMerge};
use crate::weave::offset_map::OffsetMap;
use crate::weave::options::EngineOptions;
use crate::weave::outcome::{MethodPlan, Outcome, ProbeSlot, Refused, Rewritten, RewrittenMethod};
use crate::weave::refusal::Refusal;
use crate::weave::template::symbol::{BootstrapRows, PlacedSymbols, SymbolSink};
use crate::weave::template::{Template, TemplateId, TemplateLibrary};
use crate::weave::verify::Checker;
use crate::weave::wrapper::{self, AddedMethods, CallBody};
use own_check::Checked;

/// Merges templates into methods. Immutable; one engine serves all threads, each with a [`Workspace`] of its own.
#[derive(Clone, Debug)]
pub struct Engine {
    library: Arc<TemplateLibrary>,
    options: EngineOptions,
    /// False only where the two walkers are compared.
    has_single_pass: bool,
    checked: Checked,
}

/// Memory that is used again from class to class.
#[derive(Debug)]
pub struct Workspace {
    pool: ConstantPoolWriter,
    bootstrap: BootstrapRows,
    /// By template.
    placed: Vec<PlacedSymbols>,
    memory: MergeMemory,
    single_pass: SinglePassMemory,
    checker: Checker,
    /// Locals that the descriptor of the method that is checked implies.
    implied: Vec<VerificationType>,
    methods: ByteWriter,
    /// Behind the methods of the class.
    added: AddedMethods,
    probes: Vec<ProbeSlot>,
    /// Memory for the rewritten class.
    written: Vec<u8>,
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace {
            pool: ConstantPoolWriter::new(),
            bootstrap: BootstrapRows::default(),
            placed: Vec::new(),
            memory: MergeMemory::default(),
            single_pass: SinglePassMemory::default(),
            checker: Checker::default(),
            implied: Vec::new(),
            methods: ByteWriter::new(),
            added: AddedMethods::default(),
            probes: Vec::new(),
            written: Vec::new(),
        }
    }
}

impl Workspace {
    /// A workspace without memory yet.
    pub fn new() -> Workspace {
        Workspace::default()
    }

    /// Takes the memory of a rewritten class back that is not needed any more, for the next one.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        self.written = bytes;
    }

    /// Returns how many merged methods the engine's own check has seen.
    #[doc(hidden)]
    pub fn checked_methods(&self) -> u64 {
        self.checker.count
    }
}

impl Engine {
    /// An engine with these templates.
    pub fn new(library: Arc<TemplateLibrary>, options: EngineOptions) -> Engine {
        Engine { library, options, has_single_pass: true, checked: Checked::default() }
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
        if let Err(reason) = fit_for_rewriting(class) {
            return refuse_all(plan, &reason);
        }
        if let Ok(outcome) = self.methods(workspace, class, plan) {
            return outcome;
        }
        workspace.begin(class);
        workspace.memory.is_inferred = true;
        let again = self.methods(workspace, class, plan);
        again.unwrap_or_else(|FramesInDoubt| refuse_all(plan, &Refusal::SelfCheck("frames in doubt without frames")))
    }

    fn methods(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        plan: &[MethodPlan],
    ) -> Result<Outcome, FramesInDoubt> {
        let mut rewritten = Vec::with_capacity(plan.len());
        let mut refused = Vec::new();
        let file = class.bytes();
        // Everything between two rewritten methods is copied in one piece.
        let mut copied = class.methods_offset();
        for planned in plan {
            let Some(method) = class.methods().get(planned.method_index) else {
                refused.push(Refused { method_index: planned.method_index, reason: NO_SUCH_METHOD });
                continue;
            };
            // A plan that is not in ascending order is one that nothing can be copied for.
            let Some(before) = file.get(copied..method.attributes_offset) else {
                return Ok(refuse_all(plan, &Refusal::SelfCheck("methods out of order")));
            };
            let marks = workspace.mark();
            workspace.methods.bytes(before);
            match self.rewrite(workspace, class, method, planned) {
                Ok(done) => {
                    copied = method.end;
                    rewritten.push(done);
                }
                Err(NotDone::InDoubt) => return Err(FramesInDoubt),
                // Constants that other methods append could give it a meaning, here or where it is copied unread.
                Err(NotDone::Refused(Refusal::Malformed(error)))
                    if matches!(error.kind, ErrorKind::BadConstantIndex(_)) =>
                {
                    return Ok(refuse_all(plan, &error.into()));
                }
                Err(NotDone::Refused(reason)) => {
                    workspace.rewind(marks);
                    refused.push(Refused { method_index: planned.method_index, reason });
                }
            }
        }
        if rewritten.is_empty() {
            return Ok(Outcome::Unchanged { refused });
        }
        let Some(rest) = file.get(copied..class.attributes_offset()) else {
            return Ok(refuse_all(plan, &Refusal::SelfCheck("class without attributes")));
        };
        workspace.methods.bytes(rest);
        workspace.added.append_to(&mut workspace.methods, class);
        Ok(match workspace.assemble(class, &rewritten) {
            Ok(bytes) => {
                let probes = workspace.probes.clone();
                Outcome::Rewritten(Rewritten { bytes, probes, methods: rewritten, refused })
            }
            Err(reason) => refuse_all(plan, &reason),
        })
    }

    /// Tries what there is, cheapest for the program first: the templates in the method's own body, then in a wrapper; the other
    /// way round where the verifier might ask too much of a body with a template in it. (There is no smaller form of a template
    /// to try in between: the built-in `timed` is two calls, and what it adds besides is the way out for exceptions, 19 bytes in
    /// all.)
    fn rewrite(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        planned: &MethodPlan,
    ) -> Result<RewrittenMethod, NotDone> {
        if planned.mode == Mode::Wrapper {
            return Ok(self.wrap(workspace, class, method, planned)?);
        }
        let marks = workspace.mark();
        let target = target_method(class, method)?;
        match self.merge_in_single_pass(workspace, class, method, &target, planned) {
            Ok(done) if self.checked.includes(class, method) => {
                workspace.check_written(class, &target, marks.methods, true)?;
                return Ok(done);
            }
            Ok(done) => return Ok(done),
            Err(Bailout) => workspace.rewind(marks),
        }
        let code = method.code(class)?.ok_or(Refusal::NoCode)?;
        let input = BodyInput::of_code(&code, class.constant_pool())?;
        let (descriptor, pool) = (&target.descriptor, class.constant_pool());
        let returns = descriptor.return_type().map_or(opcode::RETURN, |result| return_opcode(result.kind()));
        definition_checks::check_body(&input, descriptor, target.is_static(), returns, pool)?;
        let is_fifty = class.major_version() == 50 && !workspace.memory.is_inferred;
        if is_fifty && input.lacks_frames() {
            return Err(NotDone::InDoubt);
        }
        if planned.wrapper_allowed
            && workspace.memory.is_inferred
            && may_load_more_when_verified(&target, &input, pool)?
        {
            return match self.wrap(workspace, class, method, planned) {
                Err(_) => Err(Refusal::MayLoadClasses.into()),
                done => Ok(done?),
            };
        }
        let done = self.inline(workspace, class, method, &target, planned, &input);
        if is_fifty && input.table(TableKind::StackMap).is_some() && done.as_ref().is_err_and(blames_frames) {
            return Err(NotDone::InDoubt);
        }
        match done {
            Err(reason) if planned.wrapper_allowed && reason.asks_for_a_wrapper() => {
                workspace.rewind(marks);
                Ok(self.wrap(workspace, class, method, planned).map_err(|_| reason)?)
            }
            done => Ok(done?),
        }
    }

    /// Merges in a single pass, if options, template, class and method allow it.
    fn merge_in_single_pass(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        target: &TargetMethod<'_>,
        planned: &MethodPlan,
    ) -> Result<RewrittenMethod, Bailout> {
        let [id] = *planned.templates else { return Err(Bailout) };
        if !planned.sites.is_empty() {
            return Err(Bailout);
        }
        let template = self.library.get(id).ok_or(Bailout)?;
        let form = template
            .single_pass
            .filter(|_| self.has_single_pass && self.options == EngineOptions::default())
            .ok_or(Bailout)?;
        if workspace.memory.is_inferred {
            return Err(Bailout);
        }
        let probe_constant = workspace.probe(class, planned.method_index, template, id).map_err(|_| Bailout)?;
        let sink = symbol_sink(class, id, &mut workspace.pool, &mut workspace.bootstrap, &mut workspace.placed)?;
        let (effects, out) = (&mut workspace.memory.effects, &mut workspace.methods);
        let merge = SinglePassMerge { class, method, target, id, template, form, sink, effects, probe_constant, out };
        let lengths = merge.run(&mut workspace.single_pass)?;
        Ok(RewrittenMethod {
            method_index: planned.method_index,
            length_before: lengths.before,
            length_after: lengths.after,
            passes: 1,
            offset_map: OffsetMap::default(),
            renamed: None,
            refused_sites: Vec::new(),
        })
    }

    /// Merges with the call sites of the plan; without them if the method cannot take them.
    fn inline(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        target: &TargetMethod<'_>,
        planned: &MethodPlan,
        input: &BodyInput<'_>,
    ) -> Result<RewrittenMethod, Refusal> {
        let innermost = planned.templates.last().and_then(|id| self.library.get(*id));
        let mut reason = SiteRefusal::NoScope;
        if !planned.sites.is_empty() && innermost.is_some_and(Template::declares_scope) {
            let marks = workspace.mark();
            match self.inline_with(workspace, class, method, target, (planned, &planned.sites), input) {
                Ok(done) => return Ok(done),
                Err(refusal) => reason = SiteRefusal::Method(refusal),
            }
            workspace.rewind(marks);
        }
        let done = self.inline_with(workspace, class, method, target, (planned, &[]), input)?;
        Ok(RewrittenMethod { refused_sites: call_sites::refuse_all(&planned.sites, &reason), ..done })
    }

    fn inline_with(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        target: &TargetMethod<'_>,
        (planned, sites): (&MethodPlan, &[CallSite]),
        input: &BodyInput<'_>,
    ) -> Result<RewrittenMethod, Refusal> {
        let merged = self.merge(workspace, class, method, target, (planned, sites), input)?;
        let mut merged = merged.ok_or(Refusal::UnknownTemplate)?;
        workspace.write_checked(class, method, target, &merged)?;
        Ok(RewrittenMethod {
            method_index: planned.method_index,
            length_before: input.bytecode.len() as u32,
            length_after: merged.code.len() as u32,
            passes: merged.passes,
            refused_sites: std::mem::take(&mut merged.refused_sites),
            offset_map: workspace.memory.recycle(merged),
            renamed: None,
        })
    }

    /// Merges the templates with a body that only calls the original, which is appended after the other methods under a new name.
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
        let merged = self.merge(workspace, class, method, &target, (planned, &[]), &input)?;
        let merged = merged.unwrap_or_else(|| MergedBody::unchanged(&input));
        workspace.write_checked(class, method, &target, &merged)?;
        workspace.added.original(class, method, &renamed, &mut workspace.pool)?;
        Ok(RewrittenMethod {
            method_index: planned.method_index,
            length_before: code.bytecode.len() as u32,
            length_after: merged.code.len() as u32,
            passes: merged.passes,
            offset_map: OffsetMap::default(),
            renamed: Some(renamed),
            refused_sites: call_sites::refuse_all(&planned.sites, &SiteRefusal::Wrapped),
        })
    }

    /// Puts the templates around a body, innermost first: each result is the target of the next template outwards.
    fn merge(
        &self,
        workspace: &mut Workspace,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        target: &TargetMethod<'_>,
        (planned, sites): (&MethodPlan, &[CallSite]),
        input: &BodyInput<'_>,
    ) -> Result<Option<MergedBody>, Refusal> {
        let mut merged: Option<MergedBody> = None;
        let captured = planned.captured.as_deref();
        for &id in planned.templates.iter().rev() {
            let template = self.library.get(id).ok_or(Refusal::UnknownTemplate)?;
            let probe_constant = workspace.probe(class, planned.method_index, template, id)?;
            let (of_method, of_template) = ((class, method, target), (id, template, captured));
            let next = match &merged {
                None => workspace.merge_nodes(of_method, of_template, (input, sites), probe_constant)?,
                Some(inner) => {
                    workspace.merge_nodes(of_method, of_template, (&inner.as_input()?, &[]), probe_constant)?
                }
            };
            merged = Some(workspace.memory.join(merged, next));
        }
        Ok(merged)
    }
}

/// The plan names a method that the class does not have.
const NO_SUCH_METHOD: Refusal = Refusal::SelfCheck("method outside the class");

/// Fails if the class as a whole must stay as it is.
fn fit_for_rewriting(class: &ClassFile<'_>) -> Result<(), Refusal> {
    if (class.major_version(), class.minor_version()) < (45, 3) {
        return Err(Refusal::ShortCodeHead);
    }
    definition_checks::check_pool(class.constant_pool())?;
    Ok(())
}

/// The class stays as it is.
fn refuse_all(plan: &[MethodPlan], reason: &Refusal) -> Outcome {
    let all = plan.iter().map(|planned| planned.method_index);
    Outcome::Unchanged { refused: all.map(|method_index| Refused { method_index, reason: reason.clone() }).collect() }
}

/// Where the constants of a template go.
fn symbol_sink<'s, 'a>(
    class: &'s ClassFile<'a>,
    id: TemplateId,
    writer: &'s mut ConstantPoolWriter,
    bootstrap: &'s mut BootstrapRows,
    placed: &'s mut Vec<PlacedSymbols>,
) -> Result<SymbolSink<'s, 'a>, Bailout> {
    let number = id.0 as usize;
    if placed.len() <= number {
        placed.resize_with(number + 1, PlacedSymbols::default);
    }
    let placed = placed.get_mut(number).ok_or(Bailout)?;
    Ok(SymbolSink { pool: class.constant_pool(), writer, bootstrap, placed })
}

fn target_method<'a>(class: &ClassFile<'a>, method: &Member<'a>) -> Result<TargetMethod<'a>, Refusal> {
    Ok(TargetMethod {
        class_name: class.this_class(),
        name: method.name,
        descriptor_text: method.descriptor,
        descriptor: MethodDescriptor::parse(method.descriptor.as_bytes())?,
        access_flags: method.access_flags,
        is_constructor: starts_uninitialised(class, method),
    })
}

/// Whether the verifier, which infers types, could load classes for the body with a template in it that it does not load for the
/// body alone.
fn may_load_more_when_verified<'a>(
    target: &TargetMethod<'a>,
    body: &BodyInput<'_>,
    pool: &ConstantPool<'a>,
) -> classfile::Result<bool> {
    let holder = Holder {
        class: target.class_name,
        descriptor: &target.descriptor,
        is_static: target.is_static(),
        is_constructor: target.is_constructor,
    };
    meeting_references::merges_distinct_references(body.bytecode, &body.rows, &holder, pool)
}

/// Whether wrong frames may be the reason: the JVM verifies a class of version 50 without them if they are wrong. It does not if it
/// cannot read them.
fn blames_frames(reason: &Refusal) -> bool {
    match reason {
        Refusal::Malformed(error) => !definition_checks::is_unreadable(error),
        Refusal::SelfCheck(_) => true,
        _ => false,
    }
}

/// In a class of version 50 the frames of a method are wrong or missing: the JVM verifies all of its methods by type inference.
struct FramesInDoubt;

/// Why a method was not rewritten.
enum NotDone {
    Refused(Refusal),
    InDoubt,
}

impl<R: Into<Refusal>> From<R> for NotDone {
    fn from(reason: R) -> NotDone {
        NotDone::Refused(reason.into())
    }
}

/// A state of the workspace to go back to.
#[derive(Clone, Copy, Debug)]
struct Marks {
    methods: usize,
    added: (usize, u16),
    pool: (u32, usize),
    probes: usize,
    bootstrap: usize,
}

impl Workspace {
    fn mark(&self) -> Marks {
        Marks {
            methods: self.methods.len(),
            added: self.added.mark(),
            pool: self.pool.mark(),
            probes: self.probes.len(),
            bootstrap: self.bootstrap.appended.len(),
        }
    }

    /// Forgets what was written and appended since `marks` were taken.
    fn rewind(&mut self, marks: Marks) {
        self.methods.truncate(marks.methods);
        self.added.rewind(marks.added);
        self.pool.rewind(marks.pool);
        self.probes.truncate(marks.probes);
        self.bootstrap.appended.truncate(marks.bootstrap);
        // They may name constants that are gone now.
        self.placed.iter_mut().for_each(PlacedSymbols::clear);
        self.single_pass.forget_constants();
    }

    fn begin(&mut self, class: &ClassFile<'_>) {
        self.pool.begin(class.constant_pool());
        self.memory.effects.begin(class.constant_pool());
        self.memory.is_inferred = class.major_version() < 50;
        self.single_pass.begin(class.constant_pool());
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
        let (constant, offset) = self.pool.append_unique_integer(self.probes.len() as u32)?;
        let offset = class.constant_pool().end_offset() + offset;
        self.probes.push(ProbeSlot { method_index, template: id, offset });
        Ok(Some(constant))
    }

    fn merge_nodes<'m, 'a>(
        &mut self,
        (class, method, target): (&'m ClassFile<'a>, &'m Member<'a>, &'m TargetMethod<'a>),
        (id, template, captured): (TemplateId, &'m Template, Option<&'m CapturedValues>),
        (body, sites): (&'m BodyInput<'_>, &'m [CallSite]),
        probe_constant: Option<u16>,
    ) -> Result<MergedBody, Refusal> {
        if target.is_constructor && template.needs.receiver != crate::weave::template::Use::Nowhere {
            return Err(Refusal::ReceiverInConstructor);
        }
        let sink = symbol_sink(class, id, &mut self.pool, &mut self.bootstrap, &mut self.placed);
        let sink = sink.map_err(|_| Refusal::UnknownTemplate)?;
        NodeMerge { class, method, target, template, captured, body, sites, sink, probe_constant }.run(&mut self.memory)
    }

    /// Writes a method that was merged by way of nodes, and checks what was written.
    fn write_checked(
        &mut self,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        target: &TargetMethod<'_>,
        merged: &MergedBody,
    ) -> Result<(), Refusal> {
        let start = self.methods.len();
        self.write_method(class, method, merged)?;
        self.check_written(class, target, start, merged.has_frames)
    }
}
