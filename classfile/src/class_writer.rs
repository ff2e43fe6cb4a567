//! Writes a class from its decoded parts: the proof that the reader loses and misreads nothing.
//!
//! Instrumented classes are not made this way (there, everything untouched is copied). This writer decodes everything that
//! the crate understands, down to single instructions and annotation values, and encodes it again; for every valid class
//! the result is the input, byte for byte.

use crate::attribute_kind::Location;
use crate::attributes::{AttributeContent, RecordComponent, Structure, Table, code};
use crate::{Attribute, Attributes, ByteReader, ByteWriter, ClassFile, Code, ConstantPool, Member, Result, Tag};

/// Appends `class` to `out`, everything decoded and encoded anew. The first thing that cannot be decoded is the error.
/// Gives the number of attributes that a JVM ignores in their place ([`AttributeContent::Unknown`]): they were copied.
///
/// ```
/// let bytes = include_bytes!("../tests/classes/Empty.class");
/// let mut out = classfile::ByteWriter::new();
/// let copied = classfile::class_writer::write(&classfile::ClassFile::parse(bytes)?, &mut out)?;
/// assert_eq!(out.as_slice(), bytes);
/// assert_eq!(copied, 0);
/// # Ok::<(), classfile::Error>(())
/// ```
pub fn write(class: &ClassFile<'_>, out: &mut ByteWriter) -> Result<usize> {
    let mut writer = ClassWriter { class, out, copied: 0 };
    writer.class()?;
    Ok(writer.copied)
}

struct ClassWriter<'c, 'a> {
    class: &'c ClassFile<'a>,
    out: &'c mut ByteWriter,
    copied: usize,
}

impl<'a> ClassWriter<'_, 'a> {
    fn class(&mut self) -> Result<()> {
        let class = self.class;
        self.out.u4(0xCAFE_BABE);
        self.out.u2(class.minor_version());
        self.out.u2(class.major_version());
        self.pool(class.constant_pool())?;
        self.header()?;
        self.members(class.fields(), Location::Field)?;
        self.members(class.methods(), Location::Method)?;
        self.attributes(class.attributes(), Location::Class)
    }

    fn pool(&mut self, pool: &ConstantPool<'a>) -> Result<()> {
        self.out.u2(pool.count());
        for (index, tag) in pool.entries() {
            self.out.u1(tag as u8);
            write_constant(pool, index, tag, self.out)?;
        }
        Ok(())
    }

    /// Flags, class, super class, interfaces: the outline keeps their names, so the indexes are read again.
    fn header(&mut self) -> Result<()> {
        let offset = self.class.constant_pool().end_offset();
        let mut reader = self.reader_at(offset, "ClassFile");
        reader.skip(2)?;
        self.out.u2(self.class.access_flags());
        self.out.u2(reader.u2()?);
        self.out.u2(reader.u2()?);
        Table::<u16>::read(&mut reader, 0)?.write(self.out);
        Ok(())
    }

    fn reader_at(&self, offset: usize, context: &'static str) -> ByteReader<'a> {
        ByteReader::new(self.class.bytes().get(offset..).unwrap_or_default(), offset, context)
    }

    fn members(&mut self, members: &[Member<'a>], location: Location) -> Result<()> {
        // They were counted by a u2.
        self.out.u2(members.len() as u16);
        for member in members {
            let mut reader = self.reader_at(member.offset, "member");
            reader.skip(2)?;
            self.out.u2(member.access_flags);
            self.out.u2(reader.u2()?);
            self.out.u2(reader.u2()?);
            self.attributes(member.attributes(self.class), location)?;
        }
        Ok(())
    }

    fn attributes(&mut self, attributes: Attributes<'_, 'a>, location: Location) -> Result<()> {
        let count_position = self.out.len();
        self.out.u2(0);
        let mut count = 0;
        for attribute in attributes {
            self.attribute(&attribute?, location)?;
            count += 1;
        }
        self.out.patch_u2(count_position, count);
        Ok(())
    }

    fn attribute(&mut self, attribute: &Attribute<'a>, location: Location) -> Result<()> {
        self.out.u2(attribute.name_index);
        let length_position = self.out.len();
        self.out.u4(0);
        let start = self.out.len();
        match AttributeContent::parse(attribute, location, self.class)? {
            AttributeContent::Code(code) => self.code(&code)?,
            AttributeContent::Record(components) => self.record(components)?,
            content => {
                self.copied += usize::from(matches!(content, AttributeContent::Unknown(_)));
                content.write(self.out);
            }
        }
        // As long as what was read; its length was a u4.
        self.out.patch_u4(length_position, (self.out.len() - start) as u32);
        Ok(())
    }

    fn code(&mut self, code: &Code<'a>) -> Result<()> {
        code::write_body(code, self.out)?;
        self.attributes(code.attributes(self.class), Location::Code)
    }

    fn record(&mut self, components: Table<'a, RecordComponent<'a>>) -> Result<()> {
        self.out.u2(components.len());
        for component in components {
            self.out.u2(component.name);
            self.out.u2(component.descriptor);
            let attributes = component.attributes.iter(self.class.constant_pool());
            self.attributes(attributes, Location::RecordComponent)?;
        }
        Ok(())
    }
}

fn write_constant(pool: &ConstantPool<'_>, index: u16, tag: Tag, out: &mut ByteWriter) -> Result<()> {
    // What an entry names is looked up, so that a dangling one is an error; its indexes are known only to the entry.
    match tag {
        Tag::Utf8 => out.u2(pool.utf8(index)?.0.len() as u16),
        Tag::Integer => return pool.integer(index).map(|value| out.i4(value)),
        Tag::Float => return pool.float_bits(index).map(|bits| out.u4(bits)),
        Tag::Long => return pool.long(index).map(|value| out.bytes(&value.to_be_bytes())),
        Tag::Double => return pool.double_bits(index).map(|bits| out.bytes(&bits.to_be_bytes())),
        Tag::Class => drop(pool.class_name(index)?),
        Tag::String => drop(pool.string(index)?),
        Tag::Fieldref | Tag::Methodref | Tag::InterfaceMethodref => drop(pool.member_ref(index)?),
        Tag::NameAndType => drop(pool.name_and_type(index)?),
        Tag::MethodHandle => drop(pool.member_ref(pool.method_handle(index)?.1)?),
        Tag::MethodType => drop(pool.method_type(index)?),
        Tag::Dynamic | Tag::InvokeDynamic => drop(pool.dynamic(index)?),
        Tag::Module => drop(pool.module_name(index)?),
        Tag::Package => drop(pool.package_name(index)?),
    }
    out.bytes(pool.content(index, tag)?);
    Ok(())
}
