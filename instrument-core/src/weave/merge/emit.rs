//! Writes a template's instructions into the list: locals shifted, constants re-based, intrinsics replaced.

use classfile::descriptor::{FieldType, Kind, MethodDescriptor};
use classfile::{ModifiedUtf8, Tag, access, opcode};

use super::slots::{SlotPlan, parameter};
use crate::weave::body::node::{NodeId, NodeKind, NodeList, Position, SynthesizedSwitch};
use crate::weave::body::stack_depth::StackEffects;
use crate::weave::captured::{CapturedValue, CapturedValues};
use crate::weave::refusal::Refusal;
use crate::weave::template::symbol::{Symbol, SymbolSink};
use crate::weave::template::{Intrinsic, Operation, OperationKind, Template};

/// The method that is instrumented, as the template may ask for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetMethod<'a> {
    pub(crate) class_name: ModifiedUtf8<'a>,
    pub(crate) name: ModifiedUtf8<'a>,
    pub(crate) descriptor_text: ModifiedUtf8<'a>,
    pub(crate) descriptor: MethodDescriptor<'a>,
    pub(crate) access_flags: u16,
    pub(crate) is_constructor: bool,
}

impl TargetMethod<'_> {
    pub(crate) fn is_static(&self) -> bool {
        self.access_flags & access::STATIC != 0
    }
}

/// A template refers to an operation that it does not have.
const NO_OPERATION: Refusal = Refusal::SelfCheck("operation outside the template");

/// Emits one template into one method.
pub(crate) struct Emitter<'e, 's, 'a> {
    pub(crate) template: &'e Template,
    pub(crate) captured: Option<&'e CapturedValues>,
    pub(crate) method: &'e TargetMethod<'a>,
    pub(crate) slots: &'e SlotPlan<'a>,
    pub(crate) sink: &'e mut SymbolSink<'s, 'a>,
    pub(crate) list: &'e mut NodeList,
    /// Where each operation begins; filled while emitting.
    pub(crate) positions: &'e mut Vec<Position>,
    pub(crate) effects: &'e mut StackEffects,
    /// Index of the constant that holds the probe's number, once asked for.
    pub(crate) probe_constant: Option<u16>,
    /// Jumps whose target is still an operation's index.
    pub(crate) pending: Vec<NodeId>,
    /// Words of the target's operand stack that stay below the epilog's.
    pub(crate) kept: u16,
    pub(crate) max_stack: u16,
}

impl Emitter<'_, '_, '_> {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.list.push_bytes(bytes);
    }

    fn need_stack(&mut self, words: u16) {
        self.max_stack = self.max_stack.max(words);
    }

    /// What must happen before the template's own code: empty values set, receiver and arguments copied.
    pub(crate) fn preparation(&mut self) -> Result<(), Refusal> {
        for slot in [self.slots.thrown, self.slots.boxed_result].into_iter().flatten() {
            self.bytes(&[opcode::ACONST_NULL]);
            self.local(opcode::ASTORE, slot);
            self.need_stack(1);
        }
        if let Some(copy) = self.slots.receiver_copy {
            self.local(opcode::ALOAD, 0);
            self.local(opcode::ASTORE, copy);
            self.need_stack(1);
        }
        let arguments = self.slots.arguments.iter();
        let copies: Vec<_> = arguments.filter_map(|argument| Some((*argument, argument.copy?))).collect();
        for (argument, copy) in copies {
            let kind = argument.field_type.kind();
            self.local(load_opcode(kind), argument.parameter);
            self.local(store_opcode(kind), copy);
            self.need_stack(kind.words());
        }
        if let Some(copy) = self.slots.all_arguments_copy {
            self.all_arguments(0)?;
            self.local(opcode::ASTORE, copy);
        }
        Ok(())
    }

    /// Boxes the saved result for `Target.result()`.
    pub(crate) fn box_result(&mut self) -> Result<(), Refusal> {
        if let (Some((slot, field_type)), Some(boxed)) = (self.slots.result, self.slots.boxed_result) {
            self.local(load_opcode(field_type.kind()), slot);
            self.need_stack(field_type.kind().words());
            self.boxed(field_type)?;
            self.local(opcode::ASTORE, boxed);
        }
        Ok(())
    }

    /// Emits the operations of a range, the sentinel excluded.
    pub(crate) fn operations(&mut self, range: std::ops::Range<usize>) -> Result<(), Refusal> {
        let template = self.template;
        for index in range {
            let operation = template.operations.get(index).ok_or(NO_OPERATION)?;
            *self.positions.get_mut(index).ok_or(NO_OPERATION)? = self.list.end();
            let catches = template.handlers.iter().any(|row| row.handler == index && row.covers(template.sentinel));
            if let (true, Some(slot)) = (catches, self.slots.thrown) {
                self.bytes(&[opcode::DUP]);
                self.local(opcode::ASTORE, slot);
                self.need_stack(operation.depth + 1);
            }
            self.operation(index, operation)?;
        }
        Ok(())
    }

    fn operation(&mut self, index: usize, operation: &Operation) -> Result<(), Refusal> {
        let kept = if operation.normal && index > self.template.sentinel { self.kept } else { 0 };
        let depth = operation.depth + kept;
        self.need_stack(depth);
        match &operation.kind {
            OperationKind::Plain(bytes) => self.bytes(bytes),
            OperationKind::Local { opcode, slot } => self.local(*opcode, self.shifted(*slot)?),
            OperationKind::Increment { slot, by } => self.increment(self.shifted(*slot)?, *by),
            OperationKind::Constant { opcode, symbol, suffix, suffix_length } => {
                let placed = self.sink.symbol(&self.template.symbols, *symbol)?;
                let (constant, is_new) = placed.ok_or(Refusal::SelfCheck("template constant"))?;
                let descriptor = self.template.symbols.get(*symbol).filter(|_| is_new).and_then(Symbol::descriptor);
                if let Some(descriptor) = descriptor {
                    self.effects.note(constant, ModifiedUtf8(descriptor));
                }
                let suffix =
                    suffix.get(..usize::from(*suffix_length)).ok_or(Refusal::SelfCheck("operand of the template"))?;
                self.constant(*opcode, constant, suffix);
            }
            OperationKind::Branch { opcode, target } => {
                let target = Position { node: NodeId(0), within: *target as u32 };
                let node = self.list.push_made(match *opcode {
                    opcode::GOTO => NodeKind::Goto { target, wide: false },
                    opcode => NodeKind::Conditional { opcode, target, island: None },
                });
                self.pending.push(node);
            }
            OperationKind::Switch { default, cases, low } => {
                let place = |target: usize| Position { node: NodeId(0), within: target as u32 };
                let cases = cases.iter().map(|(key, target)| (*key, place(*target))).collect();
                let index = self.list.synthesized_switches.len() as u32;
                self.list.synthesized_switches.push(SynthesizedSwitch { default: place(*default), cases, low: *low });
                self.list.push_made(NodeKind::SynthesizedSwitch { index });
            }
            OperationKind::Return => self.method_return(),
            OperationKind::Intrinsic(intrinsic) => self.intrinsic(index, *intrinsic, depth)?,
            OperationKind::Folded => {}
        }
        Ok(())
    }

    /// Turns operation indexes in jumps into positions, once all operations are emitted.
    pub(crate) fn resolve_jumps(&mut self) -> Result<(), Refusal> {
        let positions = &*self.positions;
        let resolve = |place: Position| positions.get(place.within as usize).copied().ok_or(NO_OPERATION);
        for id in &self.pending {
            match &mut self.list.get_mut(*id)?.kind {
                NodeKind::Goto { target, .. } | NodeKind::Conditional { target, .. } => *target = resolve(*target)?,
                _ => return Err(Refusal::SelfCheck("template jump")),
            }
        }
        for switch in &mut self.list.synthesized_switches {
            switch.default = resolve(switch.default)?;
            for (_, target) in &mut switch.cases {
                *target = resolve(*target)?;
            }
        }
        Ok(())
    }

    fn shifted(&self, slot: u16) -> Result<u16, Refusal> {
        self.slots.template.checked_add(slot).ok_or(Refusal::TooManyLocals)
    }

    fn method_return(&mut self) {
        let Some(result) = self.method.descriptor.return_type() else {
            self.bytes(&[opcode::RETURN]);
            return;
        };
        if let Some((slot, _)) = self.slots.result {
            self.local(load_opcode(result.kind()), slot);
            self.need_stack(result.kind().words());
        }
        self.bytes(&[return_opcode(result.kind())]);
    }

    /// A load or store in its shortest form.
    pub(crate) fn local(&mut self, opcode: u8, slot: u16) {
        write_local(self.list, opcode, slot);
    }

    fn increment(&mut self, slot: u16, by: i16) {
        let (bytes, length) = increment_bytes(slot, by);
        self.bytes(bytes.get(..length).unwrap_or_default());
    }

    fn constant(&mut self, opcode: u8, constant: u16, suffix: &[u8]) {
        let [high, low] = constant.to_be_bytes();
        match (opcode, high) {
            (opcode::LDC, 0) => self.bytes(&[opcode::LDC, low]),
            (opcode::LDC, _) => self.bytes(&[opcode::LDC_W, high, low]),
            _ => {
                self.bytes(&[opcode, high, low]);
                self.bytes(suffix);
            }
        }
    }

    fn intrinsic(&mut self, index: usize, intrinsic: Intrinsic, depth: u16) -> Result<(), Refusal> {
        if intrinsic == Intrinsic::Scope {
            // Its value is on the stack and stays there.
            return Ok(());
        }
        self.need_stack(depth + 1);
        let in_prolog = index < self.template.sentinel;
        match intrinsic {
            Intrinsic::Proceed | Intrinsic::Scope => {}
            Intrinsic::ProbeId => {
                let constant = self.probe_constant.ok_or(Refusal::SelfCheck("probe number"))?;
                self.constant(opcode::LDC, constant, &[]);
            }
            Intrinsic::ClassName => {
                let dotted: Vec<u8> = self.method.class_name.as_bytes().iter().map(dot).collect();
                self.string(ModifiedUtf8(&dotted))?;
            }
            Intrinsic::MethodName => self.string(self.method.name)?,
            Intrinsic::MethodDescriptor => self.string(self.method.descriptor_text)?,
            Intrinsic::QualifiedName => {
                let class = self.method.class_name.as_bytes().iter().map(dot);
                let text: Vec<u8> = class.chain([b'.']).chain(self.method.name.as_bytes().iter().copied()).collect();
                self.string(ModifiedUtf8(&text))?;
            }
            Intrinsic::Receiver if self.method.is_static() => self.bytes(&[opcode::ACONST_NULL]),
            Intrinsic::Receiver => self.receiver(in_prolog)?,
            Intrinsic::Argument(index) => self.argument(index, in_prolog, depth)?,
            Intrinsic::AllArguments => match self.slots.all_arguments_copy {
                Some(slot) => self.local(opcode::ALOAD, slot),
                None => self.all_arguments(depth)?,
            },
            Intrinsic::Result => self.load_or_null(self.slots.boxed_result),
            Intrinsic::Thrown => self.load_or_null(self.slots.thrown),
            Intrinsic::Captured => self.captured(index, depth)?,
            Intrinsic::CaptureForm => match self.captured.filter(|captured| !captured.values.is_empty()) {
                Some(captured) => self.string(ModifiedUtf8(captured.form.as_bytes()))?,
                None => self.bytes(&[opcode::ACONST_NULL]),
            },
        }
        Ok(())
    }

    fn load_or_null(&mut self, slot: Option<u16>) {
        match slot {
            Some(slot) => self.local(opcode::ALOAD, slot),
            None => self.bytes(&[opcode::ACONST_NULL]),
        }
    }

    fn string(&mut self, text: ModifiedUtf8<'_>) -> Result<(), Refusal> {
        let constant = self.sink.writer.string(self.sink.pool, text)?;
        self.constant(opcode::LDC, constant, &[]);
        Ok(())
    }

    fn receiver(&mut self, in_prolog: bool) -> Result<(), Refusal> {
        let slot = if in_prolog { Some(0) } else { self.slots.receiver_copy };
        self.local(opcode::ALOAD, slot.ok_or(Refusal::SelfCheck("receiver"))?);
        Ok(())
    }

    /// `new Object[] {values...}` of what the rule chooses, boxed only here; null if that is nothing. The result is null where
    /// there is none.
    fn captured(&mut self, index: usize, depth: u16) -> Result<(), Refusal> {
        let Some(captured) = self.captured.filter(|captured| !captured.values.is_empty()) else {
            self.bytes(&[opcode::ACONST_NULL]);
            return Ok(());
        };
        let in_prolog = index < self.template.sentinel;
        let operation = self.template.operations.get(index);
        let result = self
            .slots
            .result
            .filter(|_| !in_prolog && operation.is_some_and(|operation| operation.normal && !operation.exceptional));
        self.push_int(captured.values.len() as u16);
        let object = self.sink.writer.class(self.sink.pool, ModifiedUtf8(b"java/lang/Object"))?;
        self.constant(opcode::ANEWARRAY, object, &[]);
        for (at, value) in captured.values.iter().enumerate() {
            self.bytes(&[opcode::DUP]);
            self.push_int(at as u16);
            self.need_stack(depth + 4);
            match (value, result) {
                (CapturedValue::Receiver, _) => self.receiver(in_prolog)?,
                (CapturedValue::Argument(index), _) => self.argument(*index, in_prolog, depth + 3)?,
                (CapturedValue::Result, None) => self.bytes(&[opcode::ACONST_NULL]),
                (CapturedValue::Result, Some((slot, field_type))) => {
                    self.local(load_opcode(field_type.kind()), slot);
                    self.need_stack(depth + 3 + field_type.kind().words());
                    self.boxed(field_type)?;
                }
            }
            self.bytes(&[opcode::AASTORE]);
        }
        Ok(())
    }

    fn argument(&mut self, index: u16, in_prolog: bool, depth: u16) -> Result<(), Refusal> {
        let argument = self.slots.arguments.iter().find(|argument| argument.index == index).copied();
        let argument = argument.ok_or(Refusal::SelfCheck("argument"))?;
        let slot = if in_prolog { argument.parameter } else { argument.copy.ok_or(Refusal::SelfCheck("argument"))? };
        self.local(load_opcode(argument.field_type.kind()), slot);
        self.need_stack(depth + argument.field_type.kind().words());
        self.boxed(argument.field_type)
    }

    /// `new Object[] {arguments...}` from the parameter slots.
    fn all_arguments(&mut self, depth: u16) -> Result<(), Refusal> {
        let descriptor = self.method.descriptor;
        let count = descriptor.parameters().count() as u16;
        self.push_int(count);
        let object = self.sink.writer.class(self.sink.pool, ModifiedUtf8(b"java/lang/Object"))?;
        self.constant(opcode::ANEWARRAY, object, &[]);
        for index in 0..count {
            let place = parameter(&descriptor, index, self.method.is_static());
            let (slot, field_type) = place.ok_or(Refusal::SelfCheck("argument"))?;
            self.bytes(&[opcode::DUP]);
            self.push_int(index);
            self.local(load_opcode(field_type.kind()), slot);
            self.need_stack(depth + 3 + field_type.kind().words());
            self.boxed(field_type)?;
            self.bytes(&[opcode::AASTORE]);
        }
        self.need_stack(depth + 1);
        Ok(())
    }

    fn push_int(&mut self, value: u16) {
        match value {
            0..=5 => self.bytes(&[opcode::ICONST_0 + value as u8]),
            6..=127 => self.bytes(&[opcode::BIPUSH, value as u8]),
            _ => {
                let [high, low] = value.to_be_bytes();
                self.bytes(&[opcode::SIPUSH, high, low]);
            }
        }
    }

    /// Boxes the value on the stack as `Integer.valueOf` and its like do; references stay.
    fn boxed(&mut self, field_type: FieldType<'_>) -> Result<(), Refusal> {
        let (class, descriptor): (&[u8], &[u8]) = match field_type.0 {
            b"Z" => (b"java/lang/Boolean", b"(Z)Ljava/lang/Boolean;"),
            b"B" => (b"java/lang/Byte", b"(B)Ljava/lang/Byte;"),
            b"C" => (b"java/lang/Character", b"(C)Ljava/lang/Character;"),
            b"S" => (b"java/lang/Short", b"(S)Ljava/lang/Short;"),
            b"I" => (b"java/lang/Integer", b"(I)Ljava/lang/Integer;"),
            b"J" => (b"java/lang/Long", b"(J)Ljava/lang/Long;"),
            b"F" => (b"java/lang/Float", b"(F)Ljava/lang/Float;"),
            b"D" => (b"java/lang/Double", b"(D)Ljava/lang/Double;"),
            _ => return Ok(()),
        };
        let [class, name, descriptor] = [class, b"valueOf", descriptor].map(ModifiedUtf8);
        let method = self.sink.writer.member(self.sink.pool, Tag::Methodref, class, name, descriptor)?;
        self.effects.note(method, descriptor);
        self.constant(opcode::INVOKESTATIC, method, &[]);
        Ok(())
    }
}

fn dot(byte: &u8) -> u8 {
    if *byte == b'/' { b'.' } else { *byte }
}

/// Offset of a kind in the families of opcodes that are ordered int, long, float, double, reference.
fn family(kind: Kind) -> u8 {
    match kind {
        Kind::Int => 0,
        Kind::Long => 1,
        Kind::Float => 2,
        Kind::Double => 3,
        Kind::Reference => 4,
    }
}

pub(crate) fn load_opcode(kind: Kind) -> u8 {
    opcode::ILOAD + family(kind)
}

pub(crate) fn store_opcode(kind: Kind) -> u8 {
    opcode::ISTORE + family(kind)
}

pub(crate) fn return_opcode(kind: Kind) -> u8 {
    opcode::IRETURN + family(kind)
}

/// Appends a load or store (given by the form with a one-byte slot) in its shortest form (S4.23).
pub(crate) fn write_local(list: &mut NodeList, opcode: u8, slot: u16) {
    let (bytes, length) = local_bytes(opcode, slot);
    list.push_bytes(bytes.get(..length).unwrap_or_default());
}

/// The shortest form of a load or store.
pub(crate) fn local_bytes(opcode: u8, slot: u16) -> ([u8; 4], usize) {
    let (base, short) =
        if opcode <= opcode::ALOAD { (opcode::ILOAD, opcode::ILOAD_0) } else { (opcode::ISTORE, opcode::ISTORE_0) };
    let [high, low] = slot.to_be_bytes();
    match slot {
        0..=3 => ([short + (opcode - base) * 4 + low, 0, 0, 0], 1),
        4..=255 => ([opcode, low, 0, 0], 2),
        _ => ([opcode::WIDE, opcode, high, low], 4),
    }
}

/// The shortest form of `iinc`.
pub(crate) fn increment_bytes(slot: u16, by: i16) -> ([u8; 6], usize) {
    let ([a, b], [c, d]) = (slot.to_be_bytes(), by.to_be_bytes());
    if a == 0 && i8::try_from(by).is_ok() {
        ([opcode::IINC, b, d, 0, 0, 0], 3)
    } else {
        ([opcode::WIDE, opcode::IINC, a, b, c, d], 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_stores_take_the_shortest_form() {
        for (opcode, first) in
            [(opcode::ILOAD, opcode::ILOAD_0), (opcode::ALOAD, opcode::ALOAD_0), (opcode::LSTORE, opcode::LSTORE_0)]
        {
            assert_eq!(local_bytes(opcode, 3), ([first + 3, 0, 0, 0], 1));
            assert_eq!(local_bytes(opcode, 4), ([opcode, 4, 0, 0], 2));
            assert_eq!(local_bytes(opcode, 255), ([opcode, 255, 0, 0], 2));
            assert_eq!(local_bytes(opcode, 256), ([opcode::WIDE, opcode, 1, 0], 4));
        }
    }
}
