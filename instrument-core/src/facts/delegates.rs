//! Lambdas, method references and objects that a method creates for others to call, and whether they reach a sink (decision 051).
//!
//! What is followed: a value from its creation to the argument of a call, on the operand stack or through one local variable, as long as nothing jumps to
//! a place in between.

use classfile::attributes::{BootstrapMethod, Structure, Table};
use classfile::descriptor::MethodDescriptor;
use classfile::instruction::{Instruction, Instructions};
use classfile::opcode::{self, Flow, Form};
use classfile::{ClassFile, Code, MemberRef};
use rustc_hash::{FxHashMap, FxHashSet};

use super::delegate_sinks::{is_sink, method_of_type};

/// What is created, with what is called later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Created<'a> {
    /// A lambda or a method reference: this method is called.
    Function(MemberRef<'a>),
    /// An object of this class.
    Object(&'a [u8]),
}

/// Name and descriptor of the method of a functional type.
type FunctionalMethod = (&'static [u8], &'static [u8]);

/// A creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Creation<'a> {
    pub(super) created: Created<'a>,
    /// The sink that it reaches, and the functional method of the parameter, if that is known.
    pub(super) sink: Option<(MemberRef<'a>, Option<FunctionalMethod>)>,
}

/// Kinds of method handles of calls: `invokeVirtual` to `invokeInterface`.
const CALLS: std::ops::RangeInclusive<u8> = 5..=9;

/// The bootstrap methods of a class.
#[derive(Debug)]
pub(super) struct Bootstraps<'a> {
    rows: Vec<BootstrapMethod<'a>>,
}

impl<'a> Bootstraps<'a> {
    pub(super) fn of(class: &ClassFile<'a>) -> Bootstraps<'a> {
        let attribute = class.attributes().find(b"BootstrapMethods").ok().flatten();
        let rows = attribute.and_then(|attribute| Table::read(&mut attribute.reader("BootstrapMethods"), 0).ok());
        Bootstraps { rows: rows.into_iter().flat_map(|rows: Table<'a, _>| rows).collect() }
    }

    /// The method that a lambda or a method reference calls; `None` for other dynamic calls.
    pub(super) fn function(&self, class: &ClassFile<'a>, constant: u16) -> Option<MemberRef<'a>> {
        self.function_handle(class, constant).map(|(_, method)| method)
    }

    /// The same with the kind of its method handle.
    pub(super) fn function_handle(&self, class: &ClassFile<'a>, constant: u16) -> Option<(u8, MemberRef<'a>)> {
        let pool = class.constant_pool();
        let row = self.row(class, constant)?;
        if self.factory(class, constant)?.owner.0 != b"java/lang/invoke/LambdaMetafactory" {
            return None;
        }
        // The types of the functional interface, the method, the types of this call.
        let (kind, method) = pool.method_handle(row.arguments.iter().nth(1)?).ok()?;
        let method = CALLS.contains(&kind).then(|| pool.member_ref(method).ok()).flatten()?;
        Some((kind, method))
    }

    /// The bootstrap method of a dynamic call.
    pub(super) fn factory(&self, class: &ClassFile<'a>, constant: u16) -> Option<MemberRef<'a>> {
        let pool = class.constant_pool();
        let (_, factory) = pool.method_handle(self.row(class, constant)?.method).ok()?;
        pool.member_ref(factory).ok()
    }

    fn row(&self, class: &ClassFile<'a>, constant: u16) -> Option<&BootstrapMethod<'a>> {
        let (row, ..) = class.constant_pool().dynamic(constant).ok()?;
        self.rows.get(usize::from(row))
    }
}

/// Returns what a body creates.
pub(super) fn creations<'a>(class: &ClassFile<'a>, code: &Code<'a>, bootstraps: &Bootstraps<'a>) -> Vec<Creation<'a>> {
    let mut walk = Walk {
        class,
        bootstraps,
        family: outermost(class.this_class().0),
        creations: Vec::new(),
        stack: Vec::new(),
        locals: FxHashMap::default(),
    };
    let joins = joins(code);
    for instruction in Instructions::new(code.bytecode) {
        let Ok(instruction) = instruction else { break };
        if joins.contains(&instruction.offset) {
            walk.forget();
        }
        if walk.step(&instruction).is_none() {
            walk.forget();
        }
    }
    walk.creations
}

/// Where more than one way may lead.
fn joins(code: &Code<'_>) -> FxHashSet<u32> {
    let mut joins = FxHashSet::default();
    joins.extend(code.exception_table.rows().map(|row| u32::from(row.handler)));
    for instruction in Instructions::new(code.bytecode).flatten() {
        joins.extend(instruction.branch_target().and_then(|target| u32::try_from(target).ok()));
        if let Some(switch) = instruction.switch() {
            let distances = switch.cases().map(|(_, distance)| distance).chain([switch.default]);
            joins.extend(distances.filter_map(|distance| instruction.offset.checked_add_signed(distance)));
        }
    }
    joins
}

/// The name of a class up to its first `$`.
fn outermost(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == b'$').next().unwrap_or(name)
}

/// Whether a class is nested in the same outermost class as this one.
pub(super) fn is_nested_beside(name: &[u8], this: &[u8]) -> bool {
    let family = outermost(this);
    name.len() > family.len() && name != this && outermost(name) == family
}

/// The index of a creation, for each word of the stack.
type Word = Option<usize>;

struct Walk<'w, 'a> {
    class: &'w ClassFile<'a>,
    bootstraps: &'w Bootstraps<'a>,
    family: &'a [u8],
    creations: Vec<Creation<'a>>,
    /// What is known of the top of the operand stack.
    stack: Vec<Word>,
    locals: FxHashMap<u16, usize>,
}

impl<'a> Walk<'_, 'a> {
    fn forget(&mut self) {
        self.stack.clear();
        self.locals.clear();
    }

    fn pop(&mut self, words: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(words));
    }

    fn push(&mut self, words: usize) {
        self.stack.extend(std::iter::repeat_n(None, words));
    }

    fn create(&mut self, created: Created<'a>) {
        self.stack.push(Some(self.creations.len()));
        self.creations.push(Creation { created, sink: None });
    }

    /// `None` if nothing is known after the instruction.
    fn step(&mut self, instruction: &Instruction<'a>) -> Option<()> {
        let info = opcode::info(instruction.opcode)?;
        match instruction.opcode {
            opcode::ALOAD => self.load(u16::from(instruction.u1(0))),
            opcode::ALOAD_0..=opcode::ALOAD_3 => self.load(u16::from(instruction.opcode - opcode::ALOAD_0)),
            opcode::ASTORE => self.store(u16::from(instruction.u1(0))),
            opcode::ASTORE_0..=opcode::ASTORE_3 => self.store(u16::from(instruction.opcode - opcode::ASTORE_0)),
            opcode::DUP => {
                let top = self.stack.last().copied().flatten();
                self.stack.push(top);
            }
            opcode::CHECKCAST => {}
            opcode::NEW => self.new_object(instruction.u2(0)),
            opcode::GETSTATIC => self.get_static(instruction.u2(0))?,
            opcode::PUTSTATIC | opcode::GETFIELD | opcode::PUTFIELD => self.field(instruction)?,
            opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE => self.call(instruction)?,
            opcode::INVOKEDYNAMIC => self.dynamic(instruction.u2(0))?,
            _ => {
                let (Ok(pops), Ok(pushes)) = (usize::try_from(info.pops), usize::try_from(info.pushes)) else {
                    return None;
                };
                if matches!(info.form, Form::Wide) {
                    return None;
                }
                if let Some(last) = instruction.last_local().filter(|_| info.pops > 0 || info.pushes == 0) {
                    self.locals.retain(|slot, _| u32::from(*slot) != last && u32::from(*slot) + 1 != last);
                }
                self.pop(pops);
                self.push(pushes);
            }
        }
        matches!(info.flow, Flow::Next | Flow::Conditional).then_some(())
    }

    fn load(&mut self, slot: u16) {
        let held = self.locals.get(&slot).copied();
        self.stack.push(held);
    }

    fn store(&mut self, slot: u16) {
        match self.stack.pop().flatten() {
            Some(creation) => _ = self.locals.insert(slot, creation),
            None => _ = self.locals.remove(&slot),
        }
    }

    fn new_object(&mut self, constant: u16) {
        match self.class.constant_pool().class_name(constant) {
            Ok(name) => self.create(Created::Object(name.0)),
            Err(_) => self.push(1),
        }
    }

    /// The only object of a nested class, as Kotlin and Scala hold it in a static field of that class.
    fn get_static(&mut self, constant: u16) -> Option<()> {
        let field = self.class.constant_pool().member_ref(constant).ok()?;
        let is_own = matches!(field.descriptor.0, [b'L', name @ .., b';'] if name == field.owner.0);
        if is_own && outermost(field.owner.0) == self.family && field.owner.0 != self.family {
            self.create(Created::Object(field.owner.0));
        } else {
            self.push(field_words(field.descriptor.0));
        }
        Some(())
    }

    fn field(&mut self, instruction: &Instruction<'a>) -> Option<()> {
        let field = self.class.constant_pool().member_ref(instruction.u2(0)).ok()?;
        let words = field_words(field.descriptor.0);
        match instruction.opcode {
            opcode::PUTSTATIC => self.pop(words),
            opcode::PUTFIELD => self.pop(words + 1),
            _ => {
                self.pop(1);
                self.push(words);
            }
        }
        Some(())
    }

    fn call(&mut self, instruction: &Instruction<'a>) -> Option<()> {
        let callee = self.class.constant_pool().member_ref(instruction.u2(0)).ok()?;
        let descriptor = MethodDescriptor::parse(callee.descriptor.0).ok()?;
        let words = usize::from(descriptor.parameter_words());
        if is_sink(callee.owner.0, callee.name.0) {
            self.reach(callee, &descriptor, words);
        }
        self.pop(words + usize::from(instruction.opcode != opcode::INVOKESTATIC));
        self.push(descriptor.return_type().map_or(0, |result| usize::from(result.kind().words())));
        Some(())
    }

    /// Notes the creations among the arguments of a sink.
    fn reach(&mut self, sink: MemberRef<'a>, descriptor: &MethodDescriptor<'a>, words: usize) {
        let mut at = words;
        for parameter in descriptor.parameters() {
            let place = self.stack.len().checked_sub(at);
            at -= usize::from(parameter.kind().words());
            let value = place.and_then(|place| self.stack.get(place)).copied().flatten();
            let Some(creation) = value.and_then(|value| self.creations.get_mut(value)) else { continue };
            let method = parameter.class_name().and_then(method_of_type);
            if method.is_some() || matches!(creation.created, Created::Function(_)) {
                creation.sink = Some((sink, method));
            }
        }
    }

    fn dynamic(&mut self, constant: u16) -> Option<()> {
        let (_, _, descriptor) = self.class.constant_pool().dynamic(constant).ok()?;
        let descriptor = MethodDescriptor::parse(descriptor.0).ok()?;
        self.pop(usize::from(descriptor.parameter_words()));
        match self.bootstraps.function(self.class, constant) {
            Some(method) => self.create(Created::Function(method)),
            None => self.push(descriptor.return_type().map_or(0, |result| usize::from(result.kind().words()))),
        }
        Some(())
    }
}

fn field_words(descriptor: &[u8]) -> usize {
    if matches!(descriptor, b"J" | b"D") { 2 } else { 1 }
}
