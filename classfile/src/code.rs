//! The `Code` attribute (JVMS 4.7.3).

use crate::attribute::{Attribute, Attributes};
use crate::{ClassFile, ConstantPool, ErrorKind, Result};

/// A method body in place.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    /// Operand stack words needed.
    pub max_stack: u16,
    /// Local variable slots needed (long and double take two).
    pub max_locals: u16,
    /// The instructions.
    pub bytecode: &'a [u8],
    /// Offset of `bytecode` in the file.
    pub bytecode_offset: usize,
    /// Exception handlers in search order.
    pub exception_table: ExceptionTable<'a>,
    attribute: Attribute<'a>,
    attributes_position: usize,
}

/// One exception handler (JVMS 4.7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionRow {
    /// First covered code offset.
    pub start: u16,
    /// First code offset not covered any more; may equal the code length.
    pub end: u16,
    /// Where the handler begins.
    pub handler: u16,
    /// Constant-pool index of the caught class; 0 catches everything.
    pub catch_type: u16,
}

impl ExceptionRow {
    /// Returns the row that has this form in the file.
    #[inline]
    pub fn of([a, b, c, d, e, f, g, h]: [u8; 8]) -> ExceptionRow {
        let [start, end, handler, catch_type] = [[a, b], [c, d], [e, f], [g, h]].map(u16::from_be_bytes);
        ExceptionRow { start, end, handler, catch_type }
    }

    /// Returns the form of the row in the file.
    #[inline]
    pub fn bytes(&self) -> [u8; 8] {
        let [[a, b], [c, d], [e, f], [g, h]] =
            [self.start, self.end, self.handler, self.catch_type].map(u16::to_be_bytes);
        [a, b, c, d, e, f, g, h]
    }
}

/// The exception table, read row by row.
#[derive(Clone, Copy, Debug)]
pub struct ExceptionTable<'a> {
    rows: &'a [u8],
}

impl<'a> ExceptionTable<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len() / 8
    }

    /// True without any handler.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows in search order.
    pub fn rows(&self) -> impl Iterator<Item = ExceptionRow> + 'a {
        self.rows.as_chunks::<8>().0.iter().map(|row| ExceptionRow::of(*row))
    }
}

impl<'a> Code<'a> {
    /// Reads a `Code` attribute; its instructions are not looked at.
    pub fn parse(attribute: Attribute<'a>) -> Result<Code<'a>> {
        let mut reader = attribute.reader("Code");
        let max_stack = reader.u2()?;
        let max_locals = reader.u2()?;
        let length = reader.u4()? as usize;
        let bytecode_offset = reader.offset();
        if length == 0 || length > usize::from(u16::MAX) {
            return Err(reader.error(ErrorKind::BadValue));
        }
        let bytecode = reader.take(length)?;
        let rows = usize::from(reader.u2()?) * 8;
        let exception_table = ExceptionTable { rows: reader.take(rows)? };
        let attributes_position = reader.position();
        Ok(Code { max_stack, max_locals, bytecode, bytecode_offset, exception_table, attribute, attributes_position })
    }

    /// The attributes of the code: debug tables, frames, type annotations.
    pub fn attributes<'p>(&self, class: &'p ClassFile<'a>) -> Attributes<'p, 'a> {
        self.attributes_in(class.constant_pool())
    }

    /// Like [`Code::attributes`], given the constant pool.
    pub fn attributes_in<'p>(&self, pool: &'p ConstantPool<'a>) -> Attributes<'p, 'a> {
        let bytes = self.attribute.content.get(self.attributes_position..).unwrap_or_default();
        Attributes::within(bytes, self.attribute.offset + self.attributes_position, pool)
    }

    /// The attribute itself.
    pub fn attribute(&self) -> Attribute<'a> {
        self.attribute
    }
}
