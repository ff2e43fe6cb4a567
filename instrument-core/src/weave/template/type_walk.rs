//! Types and stack depth in a template's own code: a straight walk that starts anew at each of javac's frames.
//!
//! It is needed for two things: the types of the locals that live across the sentinel, and the stack depth at each
//! operation. Templates are checked by javac and by the JVM; this is no verifier.

use classfile::descriptor::{FieldType, Kind, MethodDescriptor};
use classfile::opcode;

use super::symbol::Symbol;
use super::{Operation, OperationKind, TemplateFrame, TemplateType};

/// What is known at one operation.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) locals: Vec<TemplateType>,
    stack: Vec<TemplateType>,
    /// Operation of each `new` met so far and the symbol of its class.
    news: Vec<(usize, usize)>,
}

/// Finds the symbol of a class name, adding it if need be.
pub(super) fn class_symbol(symbols: &mut Vec<Symbol>, name: &[u8]) -> usize {
    let wanted = Symbol::Class(name.to_vec());
    symbols.iter().position(|symbol| *symbol == wanted).unwrap_or_else(|| {
        symbols.push(wanted);
        symbols.len() - 1
    })
}

/// Walks the operations, notes the stack depth before each, and gives the state at the sentinel.
pub(super) fn walk(
    operations: &mut [Operation],
    frames: &[TemplateFrame],
    symbols: &mut Vec<Symbol>,
    sentinel: usize,
) -> Result<State, (usize, String)> {
    let mut state = Some(State::default());
    let mut at_sentinel = State::default();
    let mut news = Vec::new();
    for (index, operation) in operations.iter_mut().enumerate() {
        if let Some(frame) = frames.iter().find(|frame| frame.operation == index) {
            let news = state.take().map_or_else(|| std::mem::take(&mut news), |state| state.news);
            state = Some(State { locals: expand(&frame.locals), stack: frame.stack.clone(), news });
        }
        let Some(current) = &mut state else {
            return Err((index, "unreachable code in the template".to_owned()));
        };
        operation.depth = current.stack.iter().map(|entry| words(*entry)).sum();
        if index == sentinel {
            at_sentinel = current.clone();
        }
        current.step(index, &operation.kind, symbols).map_err(|message| (index, message))?;
        if ends(&operation.kind) {
            news = state.take().map(|state| state.news).unwrap_or_default();
        }
    }
    Ok(at_sentinel)
}

/// Frames list a long or double once; the walk keeps a slot for each half.
fn expand(locals: &[TemplateType]) -> Vec<TemplateType> {
    let mut expanded = Vec::new();
    for &local in locals {
        expanded.push(local);
        if words(local) == 2 {
            expanded.push(TemplateType::Top);
        }
    }
    expanded
}

pub(super) fn words(entry: TemplateType) -> u16 {
    if matches!(entry, TemplateType::Long | TemplateType::Double) { 2 } else { 1 }
}

fn ends(kind: &OperationKind) -> bool {
    match kind {
        OperationKind::Return | OperationKind::Switch { .. } => true,
        OperationKind::Branch { opcode, .. } => *opcode == opcode::GOTO,
        OperationKind::Plain(bytes) => bytes.first() == Some(&opcode::ATHROW),
        _ => false,
    }
}

type Step = Result<(), String>;

impl State {
    fn push(&mut self, entry: TemplateType) {
        self.stack.push(entry);
    }

    fn pop(&mut self) -> Result<TemplateType, String> {
        self.stack.pop().ok_or_else(|| "operand stack underflow".to_owned())
    }

    fn pop_many(&mut self, count: usize) -> Step {
        for _ in 0..count {
            self.pop()?;
        }
        Ok(())
    }

    fn push_field_type(&mut self, field_type: FieldType<'_>, symbols: &mut Vec<Symbol>) {
        let entry = match field_type.kind() {
            Kind::Int => TemplateType::Integer,
            Kind::Long => TemplateType::Long,
            Kind::Float => TemplateType::Float,
            Kind::Double => TemplateType::Double,
            Kind::Reference => {
                TemplateType::Object(class_symbol(symbols, field_type.class_name().unwrap_or(b"java/lang/Object")))
            }
        };
        self.push(entry);
    }

    fn push_class(&mut self, name: &[u8], symbols: &mut Vec<Symbol>) {
        self.push(TemplateType::Object(class_symbol(symbols, name)));
    }

    fn step(&mut self, index: usize, kind: &OperationKind, symbols: &mut Vec<Symbol>) -> Step {
        match kind {
            OperationKind::Plain(bytes) => self.plain(bytes.as_slice(), symbols),
            OperationKind::Local { opcode, slot } => self.local(*opcode, usize::from(*slot)),
            OperationKind::Increment { .. } | OperationKind::Return | OperationKind::Folded => Ok(()),
            OperationKind::Constant { opcode, symbol, suffix, .. } => {
                let constant = symbols.get(*symbol).cloned();
                self.constant(index, *opcode, constant, suffix[0], symbols)
            }
            OperationKind::Branch { opcode, .. } => {
                // All branches take words of one type only: ints or references.
                self.pop_many(opcode::info(*opcode).map_or(0, |info| info.pops.max(0) as usize))
            }
            OperationKind::Switch { .. } => self.pop_many(1),
            OperationKind::Intrinsic(super::Intrinsic::ProbeId) => {
                self.push(TemplateType::Integer);
                Ok(())
            }
            OperationKind::Intrinsic(super::Intrinsic::Scope) => match self.stack.last() {
                Some(TemplateType::Long) => Ok(()),
                _ => Err("Target.scope without a long".to_owned()),
            },
            OperationKind::Intrinsic(intrinsic) => {
                if let Some(name) = intrinsic.pushed_class() {
                    self.push_class(name, symbols);
                }
                Ok(())
            }
        }
    }

    fn local(&mut self, opcode: u8, slot: usize) -> Step {
        match opcode {
            opcode::ILOAD => self.push(TemplateType::Integer),
            opcode::LLOAD => self.push(TemplateType::Long),
            opcode::FLOAD => self.push(TemplateType::Float),
            opcode::DLOAD => self.push(TemplateType::Double),
            opcode::ALOAD => {
                let local = self.locals.get(slot).copied();
                self.push(local.ok_or_else(|| "load of an unset local".to_owned())?);
            }
            _ => {
                let value = self.pop()?;
                let end = slot + usize::from(words(value));
                if self.locals.len() < end {
                    self.locals.resize(end, TemplateType::Top);
                }
                // The second half of what is stored, and the first half of what it overwrites, are nothing any more.
                if let Some(places) = self.locals.get_mut(slot..end) {
                    places.fill(TemplateType::Top);
                }
                if let Some(place) = self.locals.get_mut(slot) {
                    *place = value;
                }
                let before = slot.checked_sub(1).and_then(|before| self.locals.get_mut(before));
                if let Some(before) = before.filter(|before| words(**before) == 2) {
                    *before = TemplateType::Top;
                }
            }
        }
        Ok(())
    }

    fn constant(
        &mut self,
        index: usize,
        opcode: u8,
        symbol: Option<Symbol>,
        suffix: u8,
        symbols: &mut Vec<Symbol>,
    ) -> Step {
        match (opcode, symbol.ok_or_else(|| "unknown constant".to_owned())?) {
            (opcode::NEW, Symbol::Class(name)) => {
                self.news.push((index, class_symbol(symbols, &name)));
                self.push(TemplateType::Uninitialized(index));
            }
            (opcode::ANEWARRAY, Symbol::Class(name)) => {
                self.pop()?;
                self.push_class(&array_of(&name), symbols);
            }
            (opcode::CHECKCAST, Symbol::Class(name)) => {
                self.pop()?;
                self.push_class(&name, symbols);
            }
            (opcode::INSTANCEOF, _) => {
                self.pop()?;
                self.push(TemplateType::Integer);
            }
            (opcode::MULTIANEWARRAY, Symbol::Class(name)) => {
                self.pop_many(usize::from(suffix))?;
                self.push_class(&name, symbols);
            }
            (opcode::LDC | opcode::LDC2_W, constant) => self.loaded(constant, symbols),
            (opcode::GETSTATIC..=opcode::PUTFIELD, Symbol::Member(member)) => {
                self.field(opcode, &member.descriptor, symbols)?;
            }
            (_, Symbol::Member(member)) => self.call(opcode, &member.name, &member.descriptor, symbols)?,
            (_, Symbol::Dynamic(dynamic)) => self.call(opcode::INVOKESTATIC, b"", &dynamic.descriptor, symbols)?,
            _ => return Err("instruction with a constant of the wrong kind".to_owned()),
        }
        Ok(())
    }

    fn loaded(&mut self, constant: Symbol, symbols: &mut Vec<Symbol>) {
        use super::symbol::WordKind::{Floating, Integral};
        match constant {
            Symbol::Word(Integral, _) => self.push(TemplateType::Integer),
            Symbol::Word(Floating, _) => self.push(TemplateType::Float),
            Symbol::DoubleWord(Integral, _) => self.push(TemplateType::Long),
            Symbol::DoubleWord(Floating, _) => self.push(TemplateType::Double),
            Symbol::String(_) => self.push_class(b"java/lang/String", symbols),
            Symbol::Class(_) => self.push_class(b"java/lang/Class", symbols),
            Symbol::MethodType(_) => self.push_class(b"java/lang/invoke/MethodType", symbols),
            Symbol::MethodHandle(..) => self.push_class(b"java/lang/invoke/MethodHandle", symbols),
            Symbol::Dynamic(dynamic) => {
                if let Some((field_type, _)) = FieldType::take(&dynamic.descriptor) {
                    self.push_field_type(field_type, symbols);
                }
            }
            Symbol::Member(_) => {}
        }
    }

    fn field(&mut self, opcode: u8, descriptor: &[u8], symbols: &mut Vec<Symbol>) -> Step {
        let (field_type, _) = FieldType::take(descriptor).ok_or_else(|| "bad field descriptor".to_owned())?;
        match opcode {
            opcode::GETSTATIC => self.push_field_type(field_type, symbols),
            opcode::PUTSTATIC => self.pop_many(1)?,
            opcode::GETFIELD => {
                self.pop()?;
                self.push_field_type(field_type, symbols);
            }
            _ => self.pop_many(2)?,
        }
        Ok(())
    }

    fn call(&mut self, opcode: u8, name: &[u8], descriptor: &[u8], symbols: &mut Vec<Symbol>) -> Step {
        let descriptor = MethodDescriptor::parse(descriptor).map_err(|error| error.to_string())?;
        self.pop_many(descriptor.parameters().count())?;
        if opcode != opcode::INVOKESTATIC {
            let receiver = self.pop()?;
            if let (TemplateType::Uninitialized(_), b"<init>") = (receiver, name) {
                self.initialise(receiver, symbols);
            }
        }
        if let Some(result) = descriptor.return_type() {
            self.push_field_type(result, symbols);
        }
        Ok(())
    }

    /// After its constructor returned, every copy of the new object has its type.
    fn initialise(&mut self, receiver: TemplateType, symbols: &mut Vec<Symbol>) {
        let TemplateType::Uninitialized(new) = receiver else { return };
        let class = self.news.iter().find(|(operation, _)| *operation == new).map(|(_, class)| *class);
        let object = TemplateType::Object(class.unwrap_or_else(|| class_symbol(symbols, b"java/lang/Object")));
        for entry in self.stack.iter_mut().chain(self.locals.iter_mut()) {
            if *entry == receiver {
                *entry = object;
            }
        }
    }

    fn plain(&mut self, bytes: &[u8], symbols: &mut Vec<Symbol>) -> Step {
        let opcode = bytes.first().copied().unwrap_or(opcode::NOP);
        match opcode {
            opcode::ACONST_NULL => self.push(TemplateType::Null),
            opcode::AALOAD => {
                self.pop()?;
                let array = self.pop()?;
                self.element(array, symbols);
            }
            opcode::POP..=opcode::SWAP => return self.shuffle(opcode),
            opcode::NEWARRAY => {
                self.pop()?;
                self.push_class(primitive_array(bytes.get(1).copied().unwrap_or(10)), symbols);
            }
            opcode::ARRAYLENGTH => {
                self.pop()?;
                self.push(TemplateType::Integer);
            }
            opcode::MONITORENTER | opcode::MONITOREXIT | opcode::ATHROW => {
                self.pop()?;
            }
            _ => return self.arithmetic(opcode),
        }
        Ok(())
    }

    fn element(&mut self, array: TemplateType, symbols: &mut Vec<Symbol>) {
        let name = match array {
            TemplateType::Object(symbol) => match symbols.get(symbol) {
                Some(Symbol::Class(name)) => name.clone(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let element = name.strip_prefix(b"[").and_then(|element| FieldType(element).class_name());
        let element = element.unwrap_or(b"java/lang/Object").to_vec();
        self.push_class(&element, symbols);
    }

    /// Everything else only computes with primitive values; the result's type is in the mnemonic.
    fn arithmetic(&mut self, opcode: u8) -> Step {
        let info = opcode::info(opcode).ok_or_else(|| "unknown instruction".to_owned())?;
        let mut left = u16::from(info.pops.max(0).unsigned_abs());
        while left > 0 {
            left = left.saturating_sub(words(self.pop()?));
        }
        let name = info.name.as_bytes();
        let result = match (info.pushes, name) {
            (0, _) => return Ok(()),
            (_, [_, b'2', to, ..]) => *to,
            (_, b"bipush" | b"sipush") => b'i',
            (_, [b'l' | b'f' | b'd', b'c', b'm', b'p', ..]) => b'i',
            (_, [b'b' | b'c' | b's', b'a', b'l', ..]) => b'i',
            (_, [first, ..]) => *first,
            (_, []) => b'i',
        };
        self.push(match result {
            b'l' => TemplateType::Long,
            b'f' => TemplateType::Float,
            b'd' => TemplateType::Double,
            _ => TemplateType::Integer,
        });
        Ok(())
    }

    /// The stack instructions, on words: a long or double is two halves that move together.
    fn shuffle(&mut self, opcode: u8) -> Step {
        let (taken, order): (usize, &[usize]) = match opcode {
            opcode::POP => (1, &[]),
            opcode::POP2 => (2, &[]),
            opcode::DUP => (1, &[0, 0]),
            opcode::DUP_X1 => (2, &[1, 0, 1]),
            opcode::DUP_X2 => (3, &[2, 0, 1, 2]),
            opcode::DUP2 => (2, &[0, 1, 0, 1]),
            opcode::DUP2_X1 => (3, &[1, 2, 0, 1, 2]),
            opcode::DUP2_X2 => (4, &[2, 3, 0, 1, 2, 3]),
            _ => (2, &[1, 0]),
        };
        let mut halves = Vec::new();
        while halves.len() < taken {
            let entry = self.pop()?;
            halves.insert(0, Some(entry));
            if words(entry) == 2 {
                halves.insert(1, None);
            }
        }
        self.stack.extend(order.iter().filter_map(|&half| halves.get(half).copied().flatten()));
        Ok(())
    }
}

fn array_of(class: &[u8]) -> Vec<u8> {
    if class.first() == Some(&b'[') { [b"[", class].concat() } else { [b"[L", class, b";"].concat() }
}

fn primitive_array(code: u8) -> &'static [u8] {
    match code {
        4 => b"[Z",
        5 => b"[C",
        6 => b"[F",
        7 => b"[D",
        8 => b"[B",
        9 => b"[S",
        11 => b"[J",
        _ => b"[I",
    }
}
