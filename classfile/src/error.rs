//! What can be wrong with a class file, and where.

use std::fmt;

/// The kinds of damage that the reader distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before the structure does.
    Truncated,
    /// The file does not start with `0xCAFEBABE`.
    BadMagic,
    /// A constant-pool tag that JVMS 4.4 does not know.
    UnknownConstantTag(u8),
    /// A constant-pool index that is zero, past the end or in the second half of a long or double.
    BadConstantIndex(u16),
    /// A constant of another kind than the place needs.
    WrongConstantKind(u16),
    /// A descriptor that does not follow JVMS 4.3.
    BadDescriptor,
    /// An opcode that JVMS 6.5 does not define.
    UnknownOpcode(u8),
    /// A code offset outside the method or not at an instruction.
    BadCodeOffset(u32),
    /// A stack map frame that does not follow JVMS 4.7.4.
    BadFrame,
    /// Bytes left over after the structure.
    TrailingBytes,
    /// A value that the format does not allow here.
    BadValue,
    /// Annotation values inside one another, deeper than [`crate::attributes::MAX_DEPTH`].
    NestedTooDeep,
}

/// An error of the reader: what, where in the file, and while reading what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset in bytes from the start of what was being read (the file, for everything reached from [`crate::ClassFile`]).
    pub offset: usize,
    /// The structure that was being read, as the JVMS names it.
    pub context: &'static str,
}

impl Error {
    /// An error of this kind at this place.
    #[cold]
    pub fn new(kind: ErrorKind, offset: usize, context: &'static str) -> Error {
        Error { kind, offset, context }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Truncated => write!(f, "class file ends inside {}", self.context),
            ErrorKind::BadMagic => write!(f, "not a class file: magic number is not 0xCAFEBABE"),
            ErrorKind::UnknownConstantTag(tag) => write!(f, "unknown constant-pool tag {tag}"),
            ErrorKind::BadConstantIndex(index) => {
                write!(f, "{} names constant {index}, which does not exist", self.context)
            }
            ErrorKind::WrongConstantKind(index) => {
                write!(f, "{} names constant {index}, which is of another kind", self.context)
            }
            ErrorKind::BadDescriptor => write!(f, "malformed descriptor in {}", self.context),
            ErrorKind::UnknownOpcode(opcode) => write!(f, "unknown opcode 0x{opcode:02x}"),
            ErrorKind::BadCodeOffset(offset) => {
                write!(f, "{} names code offset {offset}, no instruction", self.context)
            }
            ErrorKind::BadFrame => write!(f, "malformed stack map frame"),
            ErrorKind::TrailingBytes => write!(f, "unexpected bytes after {}", self.context),
            ErrorKind::BadValue => write!(f, "value not allowed in {}", self.context),
            ErrorKind::NestedTooDeep => write!(f, "annotation values nested too deep in {}", self.context),
        }?;
        write!(f, " (at offset 0x{:x})", self.offset)
    }
}

impl std::error::Error for Error {}
