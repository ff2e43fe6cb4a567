//! The constant pool (JVMS 4.4), read in place.

use crate::{ByteReader, Error, ErrorKind, ModifiedUtf8, Result, entry_key};

/// Tags of constant-pool entries (JVMS table 4.4-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are those of the JVMS")]
pub enum Tag {
    Utf8 = 1,
    Integer = 3,
    Float = 4,
    Long = 5,
    Double = 6,
    Class = 7,
    String = 8,
    Fieldref = 9,
    Methodref = 10,
    InterfaceMethodref = 11,
    NameAndType = 12,
    MethodHandle = 15,
    MethodType = 16,
    Dynamic = 17,
    InvokeDynamic = 18,
    Module = 19,
    Package = 20,
}

impl Tag {
    /// The tag of this byte, if the JVMS knows it.
    #[inline]
    pub const fn from_byte(byte: u8) -> Option<Tag> {
        Some(match byte {
            1 => Tag::Utf8,
            3 => Tag::Integer,
            4 => Tag::Float,
            5 => Tag::Long,
            6 => Tag::Double,
            7 => Tag::Class,
            8 => Tag::String,
            9 => Tag::Fieldref,
            10 => Tag::Methodref,
            11 => Tag::InterfaceMethodref,
            12 => Tag::NameAndType,
            15 => Tag::MethodHandle,
            16 => Tag::MethodType,
            17 => Tag::Dynamic,
            18 => Tag::InvokeDynamic,
            19 => Tag::Module,
            20 => Tag::Package,
            _ => return None,
        })
    }

    /// Bytes of an entry after its tag; `None` for Utf8, whose length is in the entry.
    #[inline]
    pub const fn payload_length(self) -> Option<usize> {
        Some(match self {
            Tag::Utf8 => return None,
            Tag::Class | Tag::String | Tag::MethodType | Tag::Module | Tag::Package => 2,
            Tag::MethodHandle => 3,
            Tag::Integer
            | Tag::Float
            | Tag::Fieldref
            | Tag::Methodref
            | Tag::InterfaceMethodref
            | Tag::NameAndType
            | Tag::Dynamic
            | Tag::InvokeDynamic => 4,
            Tag::Long | Tag::Double => 8,
        })
    }

    /// True for the two kinds that take two places.
    #[inline]
    pub fn is_wide(self) -> bool {
        matches!(self, Tag::Long | Tag::Double)
    }
}

/// Which of the three member references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberKind {
    /// `CONSTANT_Fieldref`
    Field,
    /// `CONSTANT_Methodref`
    Method,
    /// `CONSTANT_InterfaceMethodref`
    InterfaceMethod,
}

/// A field or method as the constant pool names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberRef<'a> {
    /// Field, method or interface method.
    pub kind: MemberKind,
    /// Internal name of the class that is searched first (an array descriptor is possible).
    pub owner: ModifiedUtf8<'a>,
    /// Simple name.
    pub name: ModifiedUtf8<'a>,
    /// Descriptor.
    pub descriptor: ModifiedUtf8<'a>,
}

const CONTEXT: &str = "constant_pool";

/// What is known of an entry by its tag.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryForm {
    /// Bytes with the tag; of Utf8 without its text.
    pub(crate) length: u8,
    /// Bytes after the tag; none of Utf8.
    content: u8,
    /// All bits for Utf8, whose length is in the entry.
    pub(crate) text: u16,
    /// What is no tag, takes two places, or refers to an entry from between its bytes.
    pub(crate) is_odd: bool,
    /// Which of the four bytes after the tag are two indexes of other entries.
    references: u32,
}

pub(crate) static ENTRY_FORMS: [EntryForm; 256] = entry_forms();

const NO_ENTRY: EntryForm = EntryForm { length: 0, content: 0, text: 0, is_odd: true, references: 0 };

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler: an index out of bounds does not compile")]
const fn entry_forms() -> [EntryForm; 256] {
    let mut forms = [NO_ENTRY; 256];
    let mut byte = 0u8;
    while byte < 21 {
        if let Some(tag) = Tag::from_byte(byte) {
            let is_odd = matches!(tag, Tag::Long | Tag::Double | Tag::MethodHandle);
            forms[byte as usize] = EntryForm { references: references(tag), is_odd, ..NO_ENTRY };
            match tag.payload_length() {
                Some(length) => {
                    forms[byte as usize].length = 1 + length as u8;
                    forms[byte as usize].content = length as u8;
                }
                None => {
                    forms[byte as usize].length = 3;
                    forms[byte as usize].text = 0xFFFF;
                }
            }
        }
        byte += 1;
    }
    forms
}

const fn references(tag: Tag) -> u32 {
    match tag {
        Tag::Class | Tag::String | Tag::MethodType | Tag::Module | Tag::Package => 0xFFFF_0000,
        Tag::Fieldref | Tag::Methodref | Tag::InterfaceMethodref | Tag::NameAndType => 0xFFFF_FFFF,
        // The other index is one of bootstrap methods.
        Tag::Dynamic | Tag::InvokeDynamic => 0x0000_FFFF,
        // The index in a method handle is between its bytes and is checked separately.
        Tag::MethodHandle | Tag::Utf8 | Tag::Integer | Tag::Float | Tag::Long | Tag::Double => 0,
    }
}

/// Memory of the tables of a pool, to be used again for the next class.
#[derive(Debug, Default)]
pub struct PoolTables {
    offsets: Vec<u32>,
    keys: Vec<u32>,
}

/// The constant pool of a class: the file's bytes and where each entry begins.
#[derive(Clone, Debug)]
pub struct ConstantPool<'a> {
    file: &'a [u8],
    /// Offset in the file of the tag of each entry; 0 for the unusable places.
    offsets: Vec<u32>,
    /// The key of each entry (`entry_key.rs`); 0 for the unusable places.
    keys: Vec<u32>,
    /// Offset in the file after the last entry.
    end: usize,
    /// The highest index that an entry refers to.
    highest_reference: u16,
}

impl<'a> ConstantPool<'a> {
    /// Reads the pool of a class file of which only the beginning need be there, up to four bytes after the pool.
    pub fn of_beginning(file: &'a [u8]) -> Result<ConstantPool<'a>> {
        let mut reader = ByteReader::new(file, 0, CONTEXT);
        reader.skip(8)?;
        ConstantPool::locate(file, &mut reader, PoolTables::default())
    }

    /// Reads `constant_pool_count` at offset 8 of the file and locates all entries.
    pub(crate) fn locate(file: &'a [u8], reader: &mut ByteReader<'a>, tables: PoolTables) -> Result<ConstantPool<'a>> {
        reader.set_context(CONTEXT);
        let count = usize::from(reader.u2()?);
        let PoolTables { mut offsets, mut keys } = tables;
        for table in [&mut offsets, &mut keys] {
            table.clear();
            table.resize(count.max(1), 0);
        }
        let mut offset = reader.offset();
        let mut highest = 0;
        let mut places = offsets.iter_mut().zip(&mut keys).skip(1);
        while let Some((place, key)) = places.next() {
            let truncated = || Error::new(ErrorKind::Truncated, offset.min(file.len()), CONTEXT);
            let rest = file.get(offset..).ok_or_else(truncated)?;
            // Behind the last entry of a whole class there is more than this.
            let &[byte, a, b, c, d] = rest.first_chunk::<5>().ok_or_else(truncated)?;
            let form = ENTRY_FORMS.get(usize::from(byte)).copied().unwrap_or(NO_ENTRY);
            let text = usize::from(u16::from_be_bytes([a, b]) & form.text);
            let end = offset + usize::from(form.length) + text;
            // The file's first ten bytes precede every entry.
            let last = file.get(end - 4..end).and_then(|last| last.first_chunk::<4>()).ok_or_else(truncated)?;
            // A class file is shorter than 4 GiB: its attribute lengths are u4 and JVMs take int lengths.
            *place = offset as u32;
            *key = entry_key::of_entry(byte, usize::from(form.content) + text, u32::from_be_bytes(*last));
            let references = u32::from_be_bytes([a, b, c, d]) & form.references;
            highest = highest.max(references >> 16).max(references & 0xFFFF);
            if form.is_odd {
                match Tag::from_byte(byte) {
                    Some(Tag::MethodHandle) => highest = highest.max(u32::from(u16::from_be_bytes([b, c]))),
                    // The second place of a long or double stays unused; it must lie below the count.
                    Some(_) => match places.next() {
                        Some(_) => {}
                        None => return Err(Error::new(ErrorKind::BadValue, end, CONTEXT)),
                    },
                    None => return Err(Error::new(ErrorKind::UnknownConstantTag(byte), offset, CONTEXT)),
                }
            }
            offset = end;
        }
        reader.skip(offset - reader.offset())?;
        if count == 0 {
            return Err(reader.error(ErrorKind::BadValue));
        }
        Ok(ConstantPool { file, offsets, keys, end: reader.offset(), highest_reference: highest as u16 })
    }

    /// `constant_pool_count`: one more than the highest index.
    pub fn count(&self) -> u16 {
        // It was read from a u2.
        self.offsets.len() as u16
    }

    /// Offset in the file after the last entry.
    pub fn end_offset(&self) -> usize {
        self.end
    }

    /// Gives the memory of the tables back for the next class.
    pub fn into_tables(self) -> PoolTables {
        PoolTables { offsets: self.offsets, keys: self.keys }
    }

    /// The highest index that an entry refers to; 0 if none does.
    pub fn highest_reference(&self) -> u16 {
        self.highest_reference
    }

    /// The entry of this kind and content, the first if there are several.
    pub(crate) fn find(&self, key: u32, tag: Tag, content: &[u8]) -> Option<u16> {
        let places = entry_key::places(&self.keys, key).filter_map(|place| u16::try_from(place).ok());
        places.into_iter().find(|place| self.content(*place, tag) == Ok(content))
    }

    #[cold]
    fn bad_index(&self, index: u16, context: &'static str) -> Error {
        Error::new(ErrorKind::BadConstantIndex(index), 8, context)
    }

    /// Offset in the file of the entry's tag.
    #[inline]
    pub fn offset_of(&self, index: u16) -> Result<usize> {
        match self.offsets.get(usize::from(index)) {
            Some(&offset) if offset != 0 => Ok(offset as usize),
            _ => Err(self.bad_index(index, CONTEXT)),
        }
    }

    /// Kind of an entry.
    #[inline]
    pub fn tag(&self, index: u16) -> Result<Tag> {
        let offset = self.offset_of(index)?;
        self.file.get(offset).and_then(|&byte| Tag::from_byte(byte)).ok_or_else(|| self.bad_index(index, CONTEXT))
    }

    /// Bytes after the tag of an entry that must be of kind `tag`.
    #[inline]
    fn payload(&self, index: u16, tag: Tag) -> Result<&'a [u8]> {
        let offset = self.offset_of(index)?;
        let bytes = self.file.get(offset..).unwrap_or_default();
        match bytes.split_first() {
            Some((&byte, rest)) if byte == tag as u8 => Ok(rest),
            _ => Err(Error::new(ErrorKind::WrongConstantKind(index), offset, CONTEXT)),
        }
    }

    fn u2_at(&self, payload: &[u8], at: usize) -> Result<u16> {
        match payload.get(at..).and_then(|rest| rest.first_chunk::<2>()) {
            Some(chunk) => Ok(u16::from_be_bytes(*chunk)),
            None => Err(Error::new(ErrorKind::Truncated, self.end, CONTEXT)),
        }
    }

    /// A `CONSTANT_Utf8`.
    #[inline]
    pub fn utf8(&self, index: u16) -> Result<ModifiedUtf8<'a>> {
        let payload = self.payload(index, Tag::Utf8)?;
        let length = usize::from(self.u2_at(payload, 0)?);
        match payload.get(2..).and_then(|rest| rest.get(..length)) {
            Some(bytes) => Ok(ModifiedUtf8(bytes)),
            None => Err(Error::new(ErrorKind::Truncated, self.end, CONTEXT)),
        }
    }

    /// Bytes of an entry after its tag (and, for Utf8, its length).
    pub fn content(&self, index: u16, tag: Tag) -> Result<&'a [u8]> {
        match tag.payload_length() {
            None => self.utf8(index).map(ModifiedUtf8::as_bytes),
            Some(length) => {
                let payload = self.payload(index, tag)?;
                payload.get(..length).ok_or(Error::new(ErrorKind::Truncated, self.end, CONTEXT))
            }
        }
    }

    fn named(&self, index: u16, tag: Tag) -> Result<ModifiedUtf8<'a>> {
        let payload = self.payload(index, tag)?;
        self.utf8(self.u2_at(payload, 0)?)
    }

    /// Internal name (or array descriptor) of a `CONSTANT_Class`.
    #[inline]
    pub fn class_name(&self, index: u16) -> Result<ModifiedUtf8<'a>> {
        self.named(index, Tag::Class)
    }

    /// Text of a `CONSTANT_String`.
    pub fn string(&self, index: u16) -> Result<ModifiedUtf8<'a>> {
        self.named(index, Tag::String)
    }

    /// Descriptor of a `CONSTANT_MethodType`.
    pub fn method_type(&self, index: u16) -> Result<ModifiedUtf8<'a>> {
        self.named(index, Tag::MethodType)
    }

    /// Name of a `CONSTANT_Module`.
    pub fn module_name(&self, index: u16) -> Result<ModifiedUtf8<'a>> {
        self.named(index, Tag::Module)
    }

    /// Internal name of a `CONSTANT_Package`.
    pub fn package_name(&self, index: u16) -> Result<ModifiedUtf8<'a>> {
        self.named(index, Tag::Package)
    }

    fn bits32(&self, index: u16, tag: Tag) -> Result<u32> {
        let payload = self.payload(index, tag)?;
        let chunk = payload.first_chunk::<4>().ok_or(Error::new(ErrorKind::Truncated, self.end, CONTEXT))?;
        Ok(u32::from_be_bytes(*chunk))
    }

    fn bits64(&self, index: u16, tag: Tag) -> Result<u64> {
        let payload = self.payload(index, tag)?;
        let chunk = payload.first_chunk::<8>().ok_or(Error::new(ErrorKind::Truncated, self.end, CONTEXT))?;
        Ok(u64::from_be_bytes(*chunk))
    }

    /// Value of a `CONSTANT_Integer`.
    pub fn integer(&self, index: u16) -> Result<i32> {
        self.bits32(index, Tag::Integer).map(|bits| bits as i32)
    }

    /// Bits of a `CONSTANT_Float`.
    pub fn float_bits(&self, index: u16) -> Result<u32> {
        self.bits32(index, Tag::Float)
    }

    /// Value of a `CONSTANT_Long`.
    pub fn long(&self, index: u16) -> Result<i64> {
        self.bits64(index, Tag::Long).map(|bits| bits as i64)
    }

    /// Bits of a `CONSTANT_Double`.
    pub fn double_bits(&self, index: u16) -> Result<u64> {
        self.bits64(index, Tag::Double)
    }

    /// Name and descriptor of a `CONSTANT_NameAndType`.
    pub fn name_and_type(&self, index: u16) -> Result<(ModifiedUtf8<'a>, ModifiedUtf8<'a>)> {
        let payload = self.payload(index, Tag::NameAndType)?;
        Ok((self.utf8(self.u2_at(payload, 0)?)?, self.utf8(self.u2_at(payload, 2)?)?))
    }

    /// A field, method or interface-method reference.
    pub fn member_ref(&self, index: u16) -> Result<MemberRef<'a>> {
        let (kind, tag) = match self.tag(index)? {
            Tag::Fieldref => (MemberKind::Field, Tag::Fieldref),
            Tag::Methodref => (MemberKind::Method, Tag::Methodref),
            Tag::InterfaceMethodref => (MemberKind::InterfaceMethod, Tag::InterfaceMethodref),
            _ => return Err(Error::new(ErrorKind::WrongConstantKind(index), self.offset_of(index)?, CONTEXT)),
        };
        let payload = self.payload(index, tag)?;
        let owner = self.class_name(self.u2_at(payload, 0)?)?;
        let (name, descriptor) = self.name_and_type(self.u2_at(payload, 2)?)?;
        Ok(MemberRef { kind, owner, name, descriptor })
    }

    /// Index of the descriptor of a field, method or interface method, or of a dynamically computed constant or call site.
    #[inline]
    pub fn descriptor_index_of(&self, index: u16) -> Result<u16> {
        let offset = self.offset_of(index)?;
        let &[tag, _, _, high, low] = self
            .file
            .get(offset..)
            .and_then(|entry| entry.first_chunk::<5>())
            .ok_or(Error::new(ErrorKind::Truncated, offset, CONTEXT))?;
        if !matches!(tag, 9..=11 | 17 | 18) {
            return Err(Error::new(ErrorKind::WrongConstantKind(index), offset, CONTEXT));
        }
        let payload = self.payload(u16::from_be_bytes([high, low]), Tag::NameAndType)?;
        self.u2_at(payload, 2)
    }

    /// Kind (1 to 9, JVMS table 4.4.8-A) and index of the member of a `CONSTANT_MethodHandle`.
    pub fn method_handle(&self, index: u16) -> Result<(u8, u16)> {
        let payload = self.payload(index, Tag::MethodHandle)?;
        let kind = *payload.first().ok_or(Error::new(ErrorKind::Truncated, self.end, CONTEXT))?;
        Ok((kind, self.u2_at(payload, 1)?))
    }

    /// Index into `BootstrapMethods` and the name and descriptor of a `CONSTANT_Dynamic` or `CONSTANT_InvokeDynamic`.
    pub fn dynamic(&self, index: u16) -> Result<(u16, ModifiedUtf8<'a>, ModifiedUtf8<'a>)> {
        let tag = match self.tag(index)? {
            tag @ (Tag::Dynamic | Tag::InvokeDynamic) => tag,
            _ => return Err(Error::new(ErrorKind::WrongConstantKind(index), self.offset_of(index)?, CONTEXT)),
        };
        let payload = self.payload(index, tag)?;
        let (name, descriptor) = self.name_and_type(self.u2_at(payload, 2)?)?;
        Ok((self.u2_at(payload, 0)?, name, descriptor))
    }

    /// Calls `visit` with index, tag and the bytes after the tag (for Utf8: after its length) of all entries, in order.
    #[inline]
    pub fn visit_contents(&self, mut visit: impl FnMut(u16, u8, &'a [u8])) {
        let last = self.offsets.last().copied().unwrap_or(0);
        let pairs = self.offsets.windows(2).filter_map(|pair| pair.first_chunk::<2>()).copied();
        for (index, [begin, next]) in (0..=u16::MAX).zip(pairs.chain(std::iter::once([last, self.end as u32]))) {
            // Only the second place of a long or double has no offset: where it follows, the entry has nine bytes.
            let end = if next == 0 { begin + 9 } else { next };
            let Some(entry) = self.file.get(begin as usize..end as usize) else { continue };
            match entry {
                _ if begin == 0 => {}
                [1, _, _, content @ ..] => visit(index, 1, content),
                [tag, content @ ..] => visit(index, *tag, content),
                [] => {}
            }
        }
    }

    /// Indexes of all entries, with their kind, in order.
    pub fn entries(&self) -> impl Iterator<Item = (u16, Tag)> + '_ {
        (1..self.count()).filter_map(|index| self.tag(index).ok().map(|tag| (index, tag)))
    }
}
