//! The outline of a class file (JVMS 4.1): everything located, nothing decoded.

use crate::attribute::Attributes;
use crate::code::Code;
use crate::{ByteReader, ConstantPool, Error, ErrorKind, ModifiedUtf8, PoolTables, Result};

/// A class file: names, members and the places of their attributes. Method bodies are not looked at.
///
/// ```
/// let object = include_bytes!("../tests/classes/Empty.class");
/// let class = classfile::ClassFile::parse(object).unwrap();
/// assert_eq!(class.this_class().to_string(), "Empty");
/// assert_eq!(class.methods().len(), 1); // the default constructor
/// ```
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    minor_version: u16,
    major_version: u16,
    constant_pool: ConstantPool<'a>,
    access_flags: u16,
    this_class: ModifiedUtf8<'a>,
    super_class: Option<ModifiedUtf8<'a>>,
    interfaces: Vec<ModifiedUtf8<'a>>,
    fields: Vec<Member<'a>>,
    methods: Vec<Member<'a>>,
    methods_offset: usize,
    attributes_offset: usize,
}

/// A field or a method.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Flags of JVMS tables 4.5-A and 4.6-A.
    pub access_flags: u16,
    /// Simple name.
    pub name: ModifiedUtf8<'a>,
    /// Field or method descriptor.
    pub descriptor: ModifiedUtf8<'a>,
    /// Offset in the file of the member's first byte.
    pub offset: usize,
    /// Offset in the file of its `attributes_count`.
    pub attributes_offset: usize,
    /// Offset in the file after its last attribute.
    pub end: usize,
}

impl<'a> ClassFile<'a> {
    /// Reads the outline. The whole file must be one class: bytes after it are an error.
    pub fn parse(bytes: &'a [u8]) -> Result<ClassFile<'a>> {
        ClassFile::parse_reusing(bytes, PoolTables::default())
    }

    /// Like [`ClassFile::parse`], with memory for the tables of the constant pool that an earlier class gave back
    /// ([`ClassFile::into_pool_tables`]).
    pub fn parse_reusing(bytes: &'a [u8], pool_tables: PoolTables) -> Result<ClassFile<'a>> {
        let mut reader = ByteReader::new(bytes, 0, "ClassFile");
        if reader.u4()? != 0xCAFE_BABE {
            return Err(Error::new(ErrorKind::BadMagic, 0, "ClassFile"));
        }
        let minor_version = reader.u2()?;
        let major_version = reader.u2()?;
        let constant_pool = ConstantPool::locate(bytes, &mut reader, pool_tables)?;
        reader.set_context("ClassFile");
        let access_flags = reader.u2()?;
        let this_class = constant_pool.class_name(reader.u2()?)?;
        let super_class = match reader.u2()? {
            0 => None,
            index => Some(constant_pool.class_name(index)?),
        };
        reader.set_context("interfaces");
        let count = usize::from(reader.u2()?);
        let mut interfaces = Vec::with_capacity(count.min(reader.remaining() / 2));
        for _ in 0..count {
            interfaces.push(constant_pool.class_name(reader.u2()?)?);
        }
        let fields = read_members(&mut reader, &constant_pool, "field_info")?;
        let methods_offset = reader.offset();
        let methods = read_members(&mut reader, &constant_pool, "method_info")?;
        let attributes_offset = reader.offset();
        skip_attributes(&mut reader)?;
        reader.set_context("ClassFile");
        reader.expect_end()?;
        Ok(ClassFile {
            bytes,
            minor_version,
            major_version,
            constant_pool,
            access_flags,
            this_class,
            super_class,
            interfaces,
            fields,
            methods,
            methods_offset,
            attributes_offset,
        })
    }

    /// The file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `minor_version`
    pub fn minor_version(&self) -> u16 {
        self.minor_version
    }

    /// `major_version`: 45 is JDK 1.1, 69 is JDK 25. Nothing here depends on knowing it.
    pub fn major_version(&self) -> u16 {
        self.major_version
    }

    /// Flags of JVMS table 4.1-B.
    pub fn access_flags(&self) -> u16 {
        self.access_flags
    }

    /// Internal name of the class.
    pub fn this_class(&self) -> ModifiedUtf8<'a> {
        self.this_class
    }

    /// Internal name of the super class; `None` only for `java/lang/Object` and module descriptors.
    pub fn super_class(&self) -> Option<ModifiedUtf8<'a>> {
        self.super_class
    }

    /// Internal names of the direct super interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = ModifiedUtf8<'a>> + Clone + '_ {
        self.interfaces.iter().copied()
    }

    /// The constant pool.
    pub fn constant_pool(&self) -> &ConstantPool<'a> {
        &self.constant_pool
    }

    /// The fields in order.
    pub fn fields(&self) -> &[Member<'a>] {
        &self.fields
    }

    /// The methods in order.
    pub fn methods(&self) -> &[Member<'a>] {
        &self.methods
    }

    /// Offset in the file of `methods_count`.
    pub fn methods_offset(&self) -> usize {
        self.methods_offset
    }

    /// Offset in the file of the class's own `attributes_count`.
    pub fn attributes_offset(&self) -> usize {
        self.attributes_offset
    }

    /// The attributes of the class itself.
    pub fn attributes(&self) -> Attributes<'_, 'a> {
        Attributes::at(self.bytes, self.attributes_offset, &self.constant_pool)
    }

    /// Gives back the memory of the constant pool's tables, for [`ClassFile::parse_reusing`].
    pub fn into_pool_tables(self) -> PoolTables {
        self.constant_pool.into_tables()
    }
}

impl<'a> Member<'a> {
    /// The member's attributes; `class` must be the class that declares it.
    pub fn attributes<'p>(&self, class: &'p ClassFile<'a>) -> Attributes<'p, 'a> {
        Attributes::at(class.bytes, self.attributes_offset, &class.constant_pool)
    }

    /// The member's `Code` attribute, if it has one; `class` must be the class that declares it.
    pub fn code(&self, class: &ClassFile<'a>) -> Result<Option<Code<'a>>> {
        match self.attributes(class).find(b"Code")? {
            Some(attribute) => Code::parse(attribute).map(Some),
            None => Ok(None),
        }
    }

    /// True if all bits of `flags` are set.
    pub fn has(&self, flags: u16) -> bool {
        self.access_flags & flags == flags
    }
}

fn read_members<'a>(
    reader: &mut ByteReader<'a>,
    pool: &ConstantPool<'a>,
    context: &'static str,
) -> Result<Vec<Member<'a>>> {
    reader.set_context(context);
    let count = usize::from(reader.u2()?);
    // A member takes at least 8 bytes, so a lying count cannot make us allocate much.
    let mut members = Vec::with_capacity(count.min(reader.remaining() / 8));
    for _ in 0..count {
        let offset = reader.offset();
        let access_flags = reader.u2()?;
        let name = pool.utf8(reader.u2()?)?;
        let descriptor = pool.utf8(reader.u2()?)?;
        let attributes_offset = reader.offset();
        skip_attributes(reader)?;
        members.push(Member { access_flags, name, descriptor, offset, attributes_offset, end: reader.offset() });
    }
    Ok(members)
}

fn skip_attributes(reader: &mut ByteReader<'_>) -> Result<()> {
    let count = reader.u2()?;
    for _ in 0..count {
        reader.skip(2)?;
        let length = reader.u4()?;
        reader.skip(length as usize)?;
    }
    Ok(())
}
