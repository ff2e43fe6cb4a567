//! A method body before it is lifted: the parts of its `Code` attribute.

use classfile::instruction::Instructions;
use classfile::{Attribute, Code, ConstantPool, ExceptionRow};
use smallvec::SmallVec;

/// What a table inside `Code` is, as far as the merge must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    StackMap,
    LineNumbers,
    /// `LocalVariableTable` and `LocalVariableTypeTable` have one shape.
    LocalVariables,
    TypeAnnotations,
    /// Holds code offsets in a form that is not kept up: left out of the output.
    Dropped,
    /// Holds no code offsets as far as anybody knows: copied.
    Other,
}

impl TableKind {
    pub(crate) fn of(name: &[u8]) -> TableKind {
        match name {
            b"StackMapTable" => TableKind::StackMap,
            b"LineNumberTable" => TableKind::LineNumbers,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => TableKind::LocalVariables,
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => TableKind::TypeAnnotations,
            b"StackMap" | b"CharacterRangeTable" => TableKind::Dropped,
            _ => TableKind::Other,
        }
    }
}

/// One attribute of `Code`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    pub(crate) kind: TableKind,
    pub(crate) name_index: u16,
    pub(crate) content: &'a [u8],
    /// Offset in the file, for errors.
    pub(crate) offset: usize,
}

/// One row of a `LocalVariableTable` or a `LocalVariableTypeTable`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub(crate) start: u16,
    pub(crate) length: u16,
    pub(crate) name: u16,
    pub(crate) descriptor: u16,
    pub(crate) slot: u16,
}

impl Variable {
    pub(crate) fn of([a, b, c, d, e, f, g, h, i, j]: [u8; 10]) -> Variable {
        let [start, length, name, descriptor, slot] = [[a, b], [c, d], [e, f], [g, h], [i, j]].map(u16::from_be_bytes);
        Variable { start, length, name, descriptor, slot }
    }
}

/// The parts of a body.
#[derive(Debug)]
pub(crate) struct BodyInput<'a> {
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) bytecode: &'a [u8],
    pub(crate) rows: SmallVec<[ExceptionRow; 4]>,
    pub(crate) tables: SmallVec<[Table<'a>; 6]>,
}

impl<'a> BodyInput<'a> {
    pub(crate) fn of_code(code: &Code<'a>, pool: &ConstantPool<'a>) -> classfile::Result<BodyInput<'a>> {
        let mut tables = SmallVec::new();
        let mut attributes = code.attributes_in(pool);
        for attribute in &mut attributes {
            tables.push(Table::of(&attribute?));
        }
        attributes.expect_end()?;
        Ok(BodyInput {
            max_stack: code.max_stack,
            max_locals: code.max_locals,
            bytecode: code.bytecode,
            rows: code.exception_table.rows().collect(),
            tables,
        })
    }

    /// True for code that would need frames (JVMS 4.10.1) and has none: up to version 50 it is verified by type inference, from
    /// 51 on by nobody. HotSpot up to 17 keeps no frames of classes that it does not verify, such as those of the JDK itself
    /// that are in no archive, so this is what they look like when they are retransformed.
    pub(crate) fn lacks_frames(&self) -> bool {
        let mut instructions = Instructions::new(self.bytecode).flatten();
        let mut jumps = || instructions.any(|step| step.branch_target().is_some() || step.switch().is_some());
        self.table(TableKind::StackMap).is_none() && (!self.rows.is_empty() || jumps())
    }

    pub(crate) fn table(&self, kind: TableKind) -> Option<&Table<'a>> {
        self.tables.iter().find(|table| table.kind == kind)
    }
}

impl<'a> Table<'a> {
    fn of(attribute: &Attribute<'a>) -> Table<'a> {
        Table {
            kind: TableKind::of(attribute.name.as_bytes()),
            name_index: attribute.name_index,
            content: attribute.content,
            offset: attribute.offset,
        }
    }
}
