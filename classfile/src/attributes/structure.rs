//! Structures that read themselves from a class file and write themselves back.

use crate::{ByteReader, ByteWriter, ErrorKind, ModifiedUtf8, Result};

/// Deepest nesting of annotations and arrays inside annotation values. No compiler nests nearly as deep; without a limit a few
/// thousand bytes could exhaust the stack of the thread that loads a class.
pub const MAX_DEPTH: u8 = 32;

/// A structure of the class-file format.
pub trait Structure<'a>: Sized {
    /// Reads the structure. `depth` counts the annotation values around it ([`MAX_DEPTH`]).
    fn read(reader: &mut ByteReader<'a>, depth: u8) -> Result<Self>;

    /// Writes the structure as it was read.
    fn write(&self, out: &mut ByteWriter);
}

/// Depth of a structure inside another that may nest; an error when it gets too deep.
pub(super) fn deeper(reader: &ByteReader<'_>, depth: u8) -> Result<u8> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(reader.error(ErrorKind::NestedTooDeep)) }
}

impl Structure<'_> for u8 {
    fn read(reader: &mut ByteReader<'_>, _: u8) -> Result<u8> {
        reader.u1()
    }

    fn write(&self, out: &mut ByteWriter) {
        out.u1(*self);
    }
}

impl Structure<'_> for u16 {
    fn read(reader: &mut ByteReader<'_>, _: u8) -> Result<u16> {
        reader.u2()
    }

    fn write(&self, out: &mut ByteWriter) {
        out.u2(*self);
    }
}

impl Structure<'_> for u32 {
    fn read(reader: &mut ByteReader<'_>, _: u8) -> Result<u32> {
        reader.u4()
    }

    fn write(&self, out: &mut ByteWriter) {
        out.u4(*self);
    }
}

/// Text that takes all the bytes left (`SourceDebugExtension`).
impl<'a> Structure<'a> for ModifiedUtf8<'a> {
    fn read(reader: &mut ByteReader<'a>, _: u8) -> Result<ModifiedUtf8<'a>> {
        reader.take(reader.remaining()).map(ModifiedUtf8)
    }

    fn write(&self, out: &mut ByteWriter) {
        out.bytes(self.0);
    }
}

/// The content of an attribute that only marks (`Deprecated`, `Synthetic`): nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker;

impl Structure<'_> for Marker {
    fn read(_: &mut ByteReader<'_>, _: u8) -> Result<Marker> {
        Ok(Marker)
    }

    fn write(&self, _: &mut ByteWriter) {}
}

/// Declares a structure whose fields follow one another in the class file in this order: reader and writer follow
/// from the declaration, so they cannot disagree.
macro_rules! structure {
    ($(#[$about:meta])* pub struct $name:ident<$file:lifetime> {
        $($(#[$field_about:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<$file> {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl<$file> Structure<$file> for $name<$file> {
            fn read(reader: &mut ByteReader<$file>, depth: u8) -> Result<Self> {
                Ok($name { $($field: <$type>::read(reader, depth)?,)* })
            }

            fn write(&self, out: &mut ByteWriter) {
                $(self.$field.write(out);)*
            }
        }
    };
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$field_about:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl Structure<'_> for $name {
            fn read(reader: &mut ByteReader<'_>, depth: u8) -> Result<Self> {
                Ok($name { $($field: <$type>::read(reader, depth)?,)* })
            }

            fn write(&self, out: &mut ByteWriter) {
                $(self.$field.write(out);)*
            }
        }
    };
}

pub(super) use structure;
