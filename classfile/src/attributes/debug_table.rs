//! Tables that map instructions to source code for debuggers (JVMS 4.7.12 to 4.7.14, `javac -Xjcov`).

use super::structure::{Structure, structure};
use crate::{ByteReader, ByteWriter, Result};

structure! {
    /// A row of `LineNumberTable`.
    pub struct LineNumber {
        /// First code offset of the line.
        pub start: u16,
        /// Line of the source file.
        pub line: u16,
    }
}

structure! {
    /// A row of `LocalVariableTable` or `LocalVariableTypeTable`.
    pub struct LocalVariable {
        /// First code offset where the variable has a value.
        pub start: u16,
        /// Bytes of code where it has one.
        pub length: u16,
        /// Utf8: its name.
        pub name: u16,
        /// Utf8: its descriptor; in a `LocalVariableTypeTable` its signature.
        pub descriptor: u16,
        /// Local slot.
        pub slot: u16,
    }
}

structure! {
    /// A row of `CharacterRangeTable`.
    pub struct CharacterRange {
        /// First code offset.
        pub start: u16,
        /// Last code offset, inclusive.
        pub end: u16,
        /// Start in the source: line << 10 | column.
        pub source_start: u32,
        /// End in the source: line << 10 | column.
        pub source_end: u32,
        /// Statement, block, assignment, flow controller, ...
        pub flags: u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a, T: Structure<'a>>(bytes: &'a [u8]) -> T {
        let mut reader = ByteReader::new(bytes, 0, "test");
        let row = T::read(&mut reader, 0).unwrap();
        reader.expect_end().unwrap();
        let mut out = ByteWriter::new();
        row.write(&mut out);
        assert_eq!(out.as_slice(), bytes);
        row
    }

    #[test]
    fn fields_stand_in_the_order_of_the_jvms() {
        assert_eq!(read::<LineNumber>(&[0, 1, 0, 2]), LineNumber { start: 1, line: 2 });
        let variable = LocalVariable { start: 1, length: 2, name: 3, descriptor: 4, slot: 5 };
        assert_eq!(read::<LocalVariable>(&[0, 1, 0, 2, 0, 3, 0, 4, 0, 5]), variable);
        let range = CharacterRange { start: 1, end: 2, source_start: 0xC02, source_end: 0xC09, flags: 8 };
        assert_eq!(read::<CharacterRange>(&[0, 1, 0, 2, 0, 0, 12, 2, 0, 0, 12, 9, 0, 8]), range);
    }
}
