//! Java class files (JVMS chapter 4): a zero-copy reader over the input bytes and writers that append to it.
//!
//! Nothing here decides anything: bytes in, views and bytes out; no IO, clock, thread or global.
//! The reader never trusts a count or an index: hostile input gives an [`Error`] with the offset in the file.
//!
//! Last checked against: JVMS 25.

pub mod access;
mod attribute;
pub mod attribute_kind;
pub mod attributes;
mod byte_reader;
mod byte_writer;
mod class_file;
mod class_head;
pub mod class_writer;
mod code;
mod constant_pool;
mod constant_pool_writer;
pub mod descriptor;
mod entry_key;
mod error;
pub mod instruction;
mod modified_utf8;
pub mod opcode;
pub mod opcode_outline;
mod parameter_names;
pub mod stack_map;

pub use attribute::{Attribute, Attributes};
pub use byte_reader::ByteReader;
pub use byte_writer::ByteWriter;
pub use class_file::{ClassFile, Member};
pub use class_head::{ClassHead, HeadMemory};
pub use code::{Code, ExceptionRow, ExceptionTable};
pub use constant_pool::{ConstantPool, MemberKind, MemberRef, PoolTables, Tag};
pub use constant_pool_writer::{ConstantPoolWriter, PoolFull};
pub use error::{Error, ErrorKind};
pub use modified_utf8::ModifiedUtf8;
pub use parameter_names::ParameterNames;

/// Result of reading a class file.
pub type Result<T> = std::result::Result<T, Error>;
