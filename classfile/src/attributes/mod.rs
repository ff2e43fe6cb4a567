//! The content of every attribute through Java 25, read in place and written back.
//!
//! [`AttributeContent::parse`] decodes an attribute whose [`crate::Attribute`] says where it is; tables inside are
//! [`Table`]s that decode their items when iterated, so nothing is allocated. Indexes into the constant pool stay plain
//! numbers: the documentation of each field says the kind of entry (`Utf8`, `Class`, ...), nothing here looks it up.
//!
//! ```
//! use classfile::attribute_kind::Location;
//! use classfile::attributes::AttributeContent;
//!
//! let class = classfile::ClassFile::parse(include_bytes!("../../tests/classes/Everything.class"))?;
//! let attribute = class.attributes().find(b"SourceFile")?.expect("javac writes one");
//! match AttributeContent::parse(&attribute, Location::Class, &class)? {
//!     AttributeContent::SourceFile(name) => assert_eq!(class.constant_pool().utf8(name)?, "Everything.java"),
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), classfile::Error>(())
//! ```

mod annotation;
pub(crate) mod code;
mod content;
mod debug_table;
mod declaration;
mod module;
mod named_constants;
mod stack_map_frame;
mod structure;
mod table;
mod type_annotation;

pub use annotation::{Annotation, AnnotationElement, ElementValue, annotations};
pub use content::AttributeContent;
pub use debug_table::{CharacterRange, LineNumber, LocalVariable};
pub use declaration::{AttributeTable, BootstrapMethod, EnclosingMethod, InnerClass, MethodParameter, RecordComponent};
pub use module::{Module, ModuleHash, ModuleHashes, ProvidedService, RequiredModule, SharedPackage};
pub use stack_map_frame::{FullFrame, StackMapFrame};
pub use structure::{MAX_DEPTH, Marker, Structure};
pub use table::{Items, Table, TableTooLong};
pub use type_annotation::{LocalVariableRange, Target, TargetPlace, TypeAnnotation, TypePathStep};
