//! Appends to a constant pool: the input's entries stay as they are, so every index in untouched code stays valid.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::{ByteWriter, ConstantPool, ModifiedUtf8, Tag};

/// The pool would need more than 65,535 places (JVMS 4.1, `constant_pool_count`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolFull;

impl std::fmt::Display for PoolFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("constant pool would exceed 65,535 entries")
    }
}

impl std::error::Error for PoolFull {}

/// New entries behind those of a class. Entries that the class has already, or that were appended before, are found again
/// instead of written twice (probe-id constants excepted: each gets a place of its own).
///
/// The input's entries are indexed lazily: only Utf8 entries are hashed at first use; compound entries are looked for when
/// their parts exist.
#[derive(Debug, Default)]
pub struct ConstantPoolWriter {
    appended: ByteWriter,
    count: u32,
    /// Hash of kind and content to index. Content is compared on a hit, so a collision costs a place, not correctness.
    index: FxHashMap<u64, u16>,
    indexed: bool,
    limit: u32,
}

impl ConstantPoolWriter {
    /// A writer without a class; call [`ConstantPoolWriter::begin`] first.
    pub fn new() -> ConstantPoolWriter {
        ConstantPoolWriter { limit: 0xFFFF, ..ConstantPoolWriter::default() }
    }

    /// Starts anew behind the entries of `pool`; memory is kept.
    pub fn begin(&mut self, pool: &ConstantPool<'_>) {
        self.appended.clear();
        self.index.clear();
        self.indexed = false;
        self.count = u32::from(pool.count());
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
            self.index.retain(|_, index| u32::from(*index) < count);
        }
    }

    fn place(&mut self, wide: bool) -> Result<u16, PoolFull> {
        let index = self.count;
        let next = index + if wide { 2 } else { 1 };
        if next > self.limit {
            return Err(PoolFull);
        }
        self.count = next;
        Ok(index as u16)
    }

    fn key(tag: Tag, content: &[u8]) -> u64 {
        let mut hasher = FxHasher::default();
        (tag as u8).hash(&mut hasher);
        content.hash(&mut hasher);
        hasher.finish()
    }

    /// Indexes what the class has, once, when the first entry is asked for.
    fn index_input(&mut self, pool: &ConstantPool<'_>) {
        if self.indexed {
            return;
        }
        self.indexed = true;
        // Growing step by step would hash everything several times.
        self.index.reserve(usize::from(pool.count()) + 64);
        for (index, tag) in pool.entries() {
            if let Some(content) = pool_content(pool, index, tag) {
                self.index.entry(Self::key(tag, content)).or_insert(index);
            }
        }
    }

    fn same(&self, pool: &ConstantPool<'_>, index: u16, tag: Tag, content: &[u8]) -> bool {
        if index < pool.count() {
            return pool_content(pool, index, tag) == Some(content);
        }
        // Appended entries are few; walk them.
        self.find_appended(pool, index).is_some_and(|(found, bytes)| found == tag && bytes == content)
    }

    fn find_appended(&self, pool: &ConstantPool<'_>, wanted: u16) -> Option<(Tag, &[u8])> {
        let mut bytes = self.appended.as_slice();
        let mut index = pool.count();
        while let Some((&byte, rest)) = bytes.split_first() {
            let tag = Tag::from_byte(byte)?;
            let (skip, length) = match tag.payload_length() {
                Some(length) => (0, length),
                None => (2, usize::from(u16::from_be_bytes(*rest.first_chunk::<2>()?))),
            };
            let content = rest.get(skip..skip + length)?;
            if index == wanted {
                return Some((tag, content));
            }
            bytes = rest.get(skip + length..)?;
            index = index.checked_add(if tag.is_wide() { 2 } else { 1 })?;
        }
        None
    }

    fn intern(&mut self, pool: &ConstantPool<'_>, tag: Tag, content: &[u8]) -> Result<u16, PoolFull> {
        self.index_input(pool);
        let key = Self::key(tag, content);
        if let Some(&index) = self.index.get(&key)
            && self.same(pool, index, tag, content)
        {
            return Ok(index);
        }
        let index = self.append(tag, content)?;
        self.index.insert(key, index);
        Ok(index)
    }

    fn append(&mut self, tag: Tag, content: &[u8]) -> Result<u16, PoolFull> {
        let index = self.place(tag.is_wide())?;
        self.appended.u1(tag as u8);
        if tag == Tag::Utf8 {
            self.appended.u2(content.len().min(0xFFFF) as u16);
        }
        self.appended.bytes(content);
        Ok(index)
    }

    /// A `CONSTANT_Utf8`; at most 65,535 bytes.
    pub fn utf8(&mut self, pool: &ConstantPool<'_>, text: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        if text.0.len() > 0xFFFF {
            return Err(PoolFull);
        }
        self.intern(pool, Tag::Utf8, text.0)
    }

    fn named(&mut self, pool: &ConstantPool<'_>, tag: Tag, name: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        let name = self.utf8(pool, name)?;
        self.intern(pool, tag, &name.to_be_bytes())
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
        self.intern(pool, tag, &bits.to_be_bytes())
    }

    /// A `CONSTANT_Long` or `CONSTANT_Double` by its bits.
    pub fn double_word(&mut self, pool: &ConstantPool<'_>, tag: Tag, bits: u64) -> Result<u16, PoolFull> {
        self.intern(pool, tag, &bits.to_be_bytes())
    }

    /// A `CONSTANT_Integer` of its own, whose value is written later: the index and the offset of the value in
    /// [`ConstantPoolWriter::appended`].
    pub fn own_integer(&mut self, value: u32) -> Result<(u16, usize), PoolFull> {
        let index = self.append(Tag::Integer, &value.to_be_bytes())?;
        Ok((index, self.appended.len() - 4))
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
        self.intern(pool, tag, &[a, b, c, d])
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
        self.intern(pool, Tag::MethodHandle, &[kind, a, b])
    }
}

/// Content of an entry as [`ConstantPoolWriter`] compares it: the bytes behind tag and, for Utf8, length.
fn pool_content<'a>(pool: &ConstantPool<'a>, index: u16, tag: Tag) -> Option<&'a [u8]> {
    pool.content(index, tag).ok()
}
