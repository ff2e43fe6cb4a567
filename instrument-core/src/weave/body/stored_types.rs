//! Of which class the references are that code stores in locals, as far as one look at the instruction before says so.
//!
//! Compilers store what the last instruction pushed: the result of a call, a field, a constant, a new object. Where a jump or
//! an exception arrives at the store itself, other values may, too.

use classfile::descriptor::{FieldType, MethodDescriptor};
use classfile::instruction::{Instruction, Instructions};
use classfile::{ConstantPool, ExceptionRow, Tag, opcode};

/// What a local may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held<'a> {
    Null,
    /// Internal name, or the descriptor of an array.
    Class(&'a [u8]),
    Unknown,
}

impl Held<'_> {
    /// Whether a verifier that brings both together would look them up: not where one is null or `Object`, or both are the same.
    pub(crate) fn asks_for_classes(self, other: Self) -> bool {
        let needs_none = |held| matches!(held, Held::Null | Held::Class(b"java/lang/Object"));
        let same = self == other && self != Held::Unknown;
        !(same || needs_none(self) || needs_none(other))
    }
}

/// What is stored where.
pub(crate) struct StoredTypes<'s, 'a> {
    pool: &'s ConstantPool<'a>,
    rows: &'s [ExceptionRow],
    /// Where jumps lead, ascending.
    targets: Vec<i64>,
}

impl<'s, 'a> StoredTypes<'s, 'a> {
    pub(crate) fn new(
        bytecode: &[u8],
        rows: &'s [ExceptionRow],
        pool: &'s ConstantPool<'a>,
    ) -> classfile::Result<StoredTypes<'s, 'a>> {
        let mut targets = Vec::new();
        for instruction in Instructions::new(bytecode) {
            let instruction = instruction?;
            targets.extend(instruction.branch_target());
            if let Some(switch) = instruction.switch() {
                let distances = std::iter::once(switch.default).chain(switch.cases().map(|(_, distance)| distance));
                targets.extend(distances.map(|distance| i64::from(switch.offset) + i64::from(distance)));
            }
        }
        targets.sort_unstable();
        targets.dedup();
        Ok(StoredTypes { pool, rows, targets })
    }

    /// What the instruction `store` puts into its local, given the two before it, the nearer one first.
    pub(crate) fn of(&self, store: &Instruction<'_>, before: [Option<Instruction<'_>>; 2]) -> Held<'a> {
        if self.targets.binary_search(&i64::from(store.offset)).is_ok() {
            return Held::Unknown;
        }
        if self.rows.iter().any(|row| u32::from(row.handler) == store.offset) {
            return self.caught(store.offset);
        }
        let is_target = |at: u32| self.targets.binary_search(&i64::from(at)).is_ok();
        match before {
            [Some(copy), Some(pushed)] if copy.opcode == opcode::DUP && !is_target(copy.offset) => self.pushed(&pushed),
            [Some(pushed), _] => self.pushed(&pushed),
            _ => Held::Unknown,
        }
    }

    /// What arrives at a handler.
    fn caught(&self, handler: u32) -> Held<'a> {
        let rows = self.rows.iter().filter(|row| u32::from(row.handler) == handler);
        let mut classes = rows.map(|row| match row.catch_type {
            0 => Held::Class(b"java/lang/Throwable"),
            class => self.class(class),
        });
        let first = classes.next().unwrap_or(Held::Unknown);
        if classes.all(|other| other == first) { first } else { Held::Unknown }
    }

    fn class(&self, index: u16) -> Held<'a> {
        self.pool.class_name(index).map_or(Held::Unknown, |name| Held::Class(name.as_bytes()))
    }

    fn pushed(&self, instruction: &Instruction<'_>) -> Held<'a> {
        let index = instruction.u2(0);
        match instruction.opcode {
            opcode::ACONST_NULL => Held::Null,
            opcode::LDC => self.constant(instruction.u1(0).into()),
            opcode::LDC_W => self.constant(index),
            opcode::CHECKCAST => self.class(index),
            opcode::GETSTATIC | opcode::GETFIELD => self.field(index).unwrap_or(Held::Unknown),
            opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE => self.call(index).unwrap_or(Held::Unknown),
            _ => Held::Unknown,
        }
    }

    fn constant(&self, index: u16) -> Held<'a> {
        match self.pool.tag(index) {
            Ok(Tag::String) => Held::Class(b"java/lang/String"),
            Ok(Tag::Class) => Held::Class(b"java/lang/Class"),
            _ => Held::Unknown,
        }
    }

    fn field(&self, index: u16) -> Option<Held<'a>> {
        let descriptor = self.pool.member_ref(index).ok()?.descriptor;
        FieldType::take(descriptor.as_bytes())?.0.class_name().map(Held::Class)
    }

    fn call(&self, index: u16) -> Option<Held<'a>> {
        let called = self.pool.member_ref(index).ok()?;
        if called.name == "<init>" {
            // The new object, which was copied before its constructor was called.
            return Some(Held::Class(called.owner.as_bytes()));
        }
        let descriptor = MethodDescriptor::parse(called.descriptor.as_bytes()).ok()?;
        descriptor.return_type()?.class_name().map(Held::Class)
    }
}
