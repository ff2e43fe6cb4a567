//! Appends to a constant pool: the input's entries stay as they are, so every index in untouched code stays valid.

use crate::{ByteWriter, ConstantPool, ModifiedUtf8, Tag, entry_key};

/// The pool would need more than 65,535 places (JVMS 4.1, `constant_pool_count`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolFull;

impl std::fmt::Display for PoolFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("constant pool would exceed 65,535 entries")
    }
}

impl std::error::Error for PoolFull {}

/// New entries after those of a class. Entries that the class has already, or that were appended before, are found again
/// instead of written twice (probe-id constants excepted: each gets a place of its own).
#[derive(Debug, Default)]
pub struct ConstantPoolWriter {
    appended: ByteWriter,
    /// Offset in `appended` of each appended entry, [`OWN`] added if nobody else may use it; wide entries have two places.
    places: Vec<u32>,
    /// The key of each appended entry.
    keys: Vec<u32>,
    /// Entries of the class; the appended ones follow.
    existing: u32,
    count: u32,
    found: Found,
    limit: u32,
}

/// Marks an entry that is never found again.
const OWN: u32 = 1 << 31;

/// Entries that were asked for, by the upper bits of their key: many methods of a class ask for the same ones. 0 for none.
#[derive(Debug)]
struct Found([u16; 1 << Found::BITS]);

impl Found {
    const BITS: u32 = 7;

    fn place(&mut self, key: u32) -> Option<&mut u16> {
        self.0.get_mut((key >> (32 - Found::BITS)) as usize)
    }
}

impl Default for Found {
    fn default() -> Found {
        Found([0; 1 << Found::BITS])
    }
}

impl ConstantPoolWriter {
    /// A writer without a class; call [`ConstantPoolWriter::begin`] first.
    pub fn new() -> ConstantPoolWriter {
        ConstantPoolWriter { limit: 0xFFFF, ..ConstantPoolWriter::default() }
    }

    /// Starts anew after the entries of `pool`; memory is kept.
    pub fn begin(&mut self, pool: &ConstantPool<'_>) {
        self.appended.clear();
        self.places.clear();
        self.keys.clear();
        self.found = Found::default();
        self.existing = u32::from(pool.count());
        self.count = self.existing;
    }

    /// `constant_pool_count` with the appended entries.
    pub fn count(&self) -> u16 {
        self.count.min(0xFFFF) as u16
    }

    /// The appended entries.
    pub fn appended(&self) -> &[u8] {
        self.appended.as_slice()
    }

    /// A mark to which [`ConstantPoolWriter::rewind`] can go back.
    pub fn mark(&self) -> (u32, usize) {
        (self.count, self.appended.len())
    }

    /// Forgets entries appended after `mark`.
    pub fn rewind(&mut self, mark: (u32, usize)) {
        let (count, length) = mark;
        if count < self.count {
            self.count = count;
            self.appended.truncate(length);
            self.places.truncate((count - self.existing) as usize);
            self.keys.truncate(self.places.len());
            self.found = Found::default();
        }
    }

    fn place(&mut self, wide: bool) -> Result<u16, PoolFull> {
        let index = self.count;
        let width = if wide { 2 } else { 1 };
        if index + width > self.limit {
            return Err(PoolFull);
        }
        self.count = index + width;
        let offset = self.appended.len() as u32;
        self.places.extend(std::iter::repeat_n(offset, width as usize));
        Ok(index as u16)
    }

    fn is(&self, pool: &ConstantPool<'_>, index: u16, tag: Tag, content: &[u8]) -> bool {
        if u32::from(index) < self.existing {
            return pool.content(index, tag) == Ok(content);
        }
        let place = u32::from(index) - self.existing;
        entry_at(self.appended.as_slice(), &self.places, place) == Some((tag, content))
    }

    /// The entry of this kind and content, appended if there is none; `only_appended` if the class itself cannot have it.
    fn intern(
        &mut self,
        pool: &ConstantPool<'_>,
        tag: Tag,
        content: &[u8],
        only_appended: bool,
    ) -> Result<u16, PoolFull> {
        let key = entry_key::of_content(tag as u8, content);
        let known = self.found.place(key).copied().unwrap_or(0);
        if known != 0 && self.is(pool, known, tag, content) {
            return Ok(known);
        }
        let of_class = if only_appended { None } else { pool.find(key, tag, content) };
        let index = match of_class.or_else(|| self.find_appended(pool, key, tag, content)) {
            Some(index) => index,
            None => self.append(tag, content)?,
        };
        if let Some(place) = self.found.place(key) {
            *place = index;
        }
        Ok(index)
    }

    fn find_appended(&self, pool: &ConstantPool<'_>, key: u32, tag: Tag, content: &[u8]) -> Option<u16> {
        let places = entry_key::places(&self.keys, key);
        let mut indexes = places.filter_map(|place| u16::try_from(self.existing as usize + place).ok());
        indexes.find(|index| self.is(pool, *index, tag, content))
    }

    fn append(&mut self, tag: Tag, content: &[u8]) -> Result<u16, PoolFull> {
        let index = self.place(tag.is_wide())?;
        self.appended.u1(tag as u8);
        if tag == Tag::Utf8 {
            self.appended.u2(content.len().min(0xFFFF) as u16);
        }
        self.appended.bytes(content);
        self.keys.resize(self.places.len(), entry_key::of_content(tag as u8, content));
        Ok(index)
    }

    /// A `CONSTANT_Utf8`; at most 65,535 bytes.
    pub fn utf8(&mut self, pool: &ConstantPool<'_>, text: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        if text.0.len() > 0xFFFF {
            return Err(PoolFull);
        }
        self.intern(pool, Tag::Utf8, text.0, false)
    }

    /// True if an entry made of these was appended if it exists: none of the class's own refers to an appended one.
    fn is_new(&self, parts: &[u16]) -> bool {
        parts.iter().any(|part| u32::from(*part) >= self.existing)
    }

    fn named(&mut self, pool: &ConstantPool<'_>, tag: Tag, name: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        let name = self.utf8(pool, name)?;
        self.intern(pool, tag, &name.to_be_bytes(), self.is_new(&[name]))
    }

    /// A `CONSTANT_Class`.
    pub fn class(&mut self, pool: &ConstantPool<'_>, name: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        self.named(pool, Tag::Class, name)
    }

    /// A `CONSTANT_String`.
    pub fn string(&mut self, pool: &ConstantPool<'_>, text: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        self.named(pool, Tag::String, text)
    }

    /// A `CONSTANT_MethodType`.
    pub fn method_type(&mut self, pool: &ConstantPool<'_>, descriptor: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        self.named(pool, Tag::MethodType, descriptor)
    }

    /// A `CONSTANT_Integer` or `CONSTANT_Float` by its bits.
    pub fn word(&mut self, pool: &ConstantPool<'_>, tag: Tag, bits: u32) -> Result<u16, PoolFull> {
        self.intern(pool, tag, &bits.to_be_bytes(), false)
    }

    /// A `CONSTANT_Long` or `CONSTANT_Double` by its bits.
    pub fn double_word(&mut self, pool: &ConstantPool<'_>, tag: Tag, bits: u64) -> Result<u16, PoolFull> {
        self.intern(pool, tag, &bits.to_be_bytes(), false)
    }

    /// A `CONSTANT_Integer` of its own, whose value is written later: the index and the offset of the value in
    /// [`ConstantPoolWriter::appended`].
    pub fn append_unique_integer(&mut self, value: u32) -> Result<(u16, usize), PoolFull> {
        let index = self.count;
        if index + 1 > self.limit {
            return Err(PoolFull);
        }
        self.count = index + 1;
        let offset = self.appended.len();
        let [a, b, c, d] = value.to_be_bytes();
        self.appended.bytes(&[Tag::Integer as u8, a, b, c, d]);
        self.places.push(offset as u32 | OWN);
        // Nobody looks for it, so any key will do.
        self.keys.push(0);
        Ok((index as u16, offset + 1))
    }

    /// A `CONSTANT_NameAndType`.
    pub fn name_and_type(
        &mut self,
        pool: &ConstantPool<'_>,
        name: ModifiedUtf8<'_>,
        descriptor: ModifiedUtf8<'_>,
    ) -> Result<u16, PoolFull> {
        let name = self.utf8(pool, name)?;
        let descriptor = self.utf8(pool, descriptor)?;
        self.pair(pool, Tag::NameAndType, name, descriptor)
    }

    /// An entry made of two 16-bit values, e.g. a member reference by the indexes of its parts.
    pub fn pair(&mut self, pool: &ConstantPool<'_>, tag: Tag, first: u16, second: u16) -> Result<u16, PoolFull> {
        let [a, b] = first.to_be_bytes();
        let [c, d] = second.to_be_bytes();
        // The first part of a dynamic constant is no place in the pool.
        let is_dynamic = matches!(tag, Tag::Dynamic | Tag::InvokeDynamic);
        let is_new = if is_dynamic { self.is_new(&[second]) } else { self.is_new(&[first, second]) };
        self.intern(pool, tag, &[a, b, c, d], is_new)
    }

    /// A field, method or interface-method reference.
    pub fn member(
        &mut self,
        pool: &ConstantPool<'_>,
        tag: Tag,
        owner: ModifiedUtf8<'_>,
        name: ModifiedUtf8<'_>,
        descriptor: ModifiedUtf8<'_>,
    ) -> Result<u16, PoolFull> {
        let owner = self.class(pool, owner)?;
        let name_and_type = self.name_and_type(pool, name, descriptor)?;
        self.pair(pool, tag, owner, name_and_type)
    }

    /// A `CONSTANT_MethodHandle`.
    pub fn method_handle(&mut self, pool: &ConstantPool<'_>, kind: u8, member: u16) -> Result<u16, PoolFull> {
        let [a, b] = member.to_be_bytes();
        let is_new = self.is_new(&[member]);
        self.intern(pool, Tag::MethodHandle, &[kind, a, b], is_new)
    }
}

/// Kind and content of an appended entry that may be found, counted from the first one.
fn entry_at<'b>(appended: &'b [u8], places: &[u32], number: u32) -> Option<(Tag, &'b [u8])> {
    let place = places.get(number as usize).filter(|place| **place & OWN == 0)?;
    let (&byte, rest) = appended.get(*place as usize..)?.split_first()?;
    let tag = Tag::from_byte(byte)?;
    let (skip, length) = match tag.payload_length() {
        Some(length) => (0, length),
        None => (2, usize::from(u16::from_be_bytes(*rest.first_chunk::<2>()?))),
    };
    Some((tag, rest.get(skip..skip + length)?))
}
