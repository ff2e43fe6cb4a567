//! What attributes say about a class and its members beyond their descriptors: inner classes, record components,
//! parameter names, bootstrap methods.

use super::structure::{Structure, structure};
use super::table::Table;
use crate::attribute::Attributes;
use crate::{ByteReader, ByteWriter, ConstantPool, Result};

structure! {
    /// A row of `InnerClasses` (JVMS 4.7.6).
    pub struct InnerClass {
        /// Class: the member class.
        pub inner: u16,
        /// Class: the class it is a member of; 0 for local and anonymous classes.
        pub outer: u16,
        /// Utf8: its simple name; 0 for anonymous classes.
        pub name: u16,
        /// Its flags in the source.
        pub access_flags: u16,
    }
}

structure! {
    /// `EnclosingMethod` (JVMS 4.7.7): where a local or anonymous class is declared.
    pub struct EnclosingMethod {
        /// Class: the innermost class around it.
        pub class: u16,
        /// NameAndType: the method around it; 0 if there is none.
        pub method: u16,
    }
}

structure! {
    /// A row of `BootstrapMethods` (JVMS 4.7.23).
    pub struct BootstrapMethod<'a> {
        /// MethodHandle: the method to call.
        pub method: u16,
        /// Loadable constants: its static arguments.
        pub arguments: Table<'a, u16>,
    }
}

structure! {
    /// A row of `MethodParameters` (JVMS 4.7.24).
    pub struct MethodParameter {
        /// Utf8: its name; 0 without one.
        pub name: u16,
        /// Final, synthetic, mandated.
        pub access_flags: u16,
    }
}

structure! {
    /// A component of `Record` (JVMS 4.7.30).
    pub struct RecordComponent<'a> {
        /// Utf8: its name.
        pub name: u16,
        /// Utf8: its field descriptor.
        pub descriptor: u16,
        /// Its signature and annotations.
        pub attributes: AttributeTable<'a>,
    }
}

/// A whole attribute table inside another attribute, count included, not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeTable<'a> {
    bytes: &'a [u8],
    /// Of `bytes` in the file.
    offset: usize,
}

impl<'a> AttributeTable<'a> {
    /// The attributes; `pool` must be that of the class.
    pub fn iter<'p>(&self, pool: &'p ConstantPool<'a>) -> Attributes<'p, 'a> {
        Attributes::within(self.bytes, self.offset, pool)
    }
}

impl<'a> Structure<'a> for AttributeTable<'a> {
    fn read(reader: &mut ByteReader<'a>, _: u8) -> Result<AttributeTable<'a>> {
        let mut whole = *reader;
        let (start, offset) = (reader.position(), reader.offset());
        for _ in 0..reader.u2()? {
            reader.skip(2)?;
            let length = reader.u4()?;
            reader.skip(length as usize)?;
        }
        Ok(AttributeTable { bytes: whole.take(reader.position() - start)?, offset })
    }

    fn write(&self, out: &mut ByteWriter) {
        out.bytes(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a, T: Structure<'a>>(bytes: &'a [u8]) -> T {
        let mut reader = ByteReader::new(bytes, 0, "test");
        let structure = T::read(&mut reader, 0).unwrap();
        reader.expect_end().unwrap();
        let mut out = ByteWriter::new();
        structure.write(&mut out);
        assert_eq!(out.as_slice(), bytes);
        structure
    }

    #[test]
    fn fields_stand_in_the_order_of_the_jvms() {
        let inner = InnerClass { inner: 1, outer: 2, name: 3, access_flags: 4 };
        assert_eq!(read::<InnerClass>(&[0, 1, 0, 2, 0, 3, 0, 4]), inner);
        assert_eq!(read::<EnclosingMethod>(&[0, 1, 0, 2]), EnclosingMethod { class: 1, method: 2 });
        assert_eq!(read::<MethodParameter>(&[0, 1, 0x10, 0]), MethodParameter { name: 1, access_flags: 0x1000 });
        let bootstrap: BootstrapMethod<'_> = read(&[0, 7, 0, 2, 0, 8, 0, 9]);
        assert_eq!((bootstrap.method, bootstrap.arguments.iter().collect()), (7, vec![8, 9]));
    }

    #[test]
    fn record_components_keep_their_attributes() {
        // Two components; the first with one attribute of three bytes.
        let bytes = [0, 2, 0, 1, 0, 2, 0, 1, 0, 9, 0, 0, 0, 3, 7, 7, 7, 0, 3, 0, 4, 0, 0];
        let components: Table<'_, RecordComponent<'_>> = read(&bytes);
        let names: Vec<_> = components.iter().map(|component| (component.name, component.descriptor)).collect();
        assert_eq!(names, [(1, 2), (3, 4)]);
        let lengths: Vec<_> = components.iter().map(|component| component.attributes.bytes.len()).collect();
        assert_eq!(lengths, [11, 2]);
    }
}
