//! Appends to a constant pool: the input's entries stay as they are, so every index in untouched code stays valid.

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
#[derive(Debug, Default)]
pub struct ConstantPoolWriter {
    appended: ByteWriter,
    /// Offset in `appended` of each appended entry, [`OWN`] added if nobody else may use it; wide entries have two places.
    places: Vec<u32>,
    /// Entries of the class; the appended ones follow.
    existing: u32,
    count: u32,
    index: EntryIndex,
    indexed: Indexed,
    limit: u32,
}

/// Marks an entry that is never found again.
const OWN: u32 = 1 << 31;

/// Which entries of the class the index knows. Most classes are never asked for more than names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Indexed {
    #[default]
    Nothing,
    /// `CONSTANT_Utf8` and `CONSTANT_Class`, and what was appended.
    Names,
    Everything,
}

impl ConstantPoolWriter {
    /// A writer without a class; call [`ConstantPoolWriter::begin`] first.
    pub fn new() -> ConstantPoolWriter {
        ConstantPoolWriter { limit: 0xFFFF, ..ConstantPoolWriter::default() }
    }

    /// Starts anew behind the entries of `pool`; memory is kept.
    pub fn begin(&mut self, pool: &ConstantPool<'_>) {
        self.appended.clear();
        self.places.clear();
        self.indexed = Indexed::Nothing;
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
            // Taking entries out of the index would break its chains; it is built again when it is asked next.
            self.indexed = Indexed::Nothing;
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

    /// Indexes what the class has as far as it is asked for.
    fn build_index(&mut self, pool: &ConstantPool<'_>, wanted: Indexed) {
        let is_name = |tag: u8| tag == Tag::Utf8 as u8 || tag == Tag::Class as u8;
        let index = &mut self.index;
        if self.indexed == Indexed::Nothing {
            index.begin(self.count as usize);
            pool.visit_contents(|place, tag, content| {
                if is_name(tag) {
                    index.insert(hash(tag, content), place);
                }
            });
            for place in self.existing..self.count {
                let entry = entry_at(self.appended.as_slice(), &self.places, place - self.existing);
                if let Some((tag, content)) = entry {
                    index.insert(hash(tag as u8, content), place as u16);
                }
            }
        }
        if wanted == Indexed::Everything {
            pool.visit_contents(|place, tag, content| {
                if !is_name(tag) {
                    index.insert(hash(tag, content), place);
                }
            });
        }
        self.indexed = wanted;
    }

    fn is(&self, pool: &ConstantPool<'_>, index: u16, tag: Tag, content: &[u8]) -> bool {
        if u32::from(index) < self.existing {
            return pool.content(index, tag) == Ok(content);
        }
        let place = u32::from(index) - self.existing;
        entry_at(self.appended.as_slice(), &self.places, place) == Some((tag, content))
    }

    fn intern(&mut self, pool: &ConstantPool<'_>, tag: Tag, content: &[u8], wanted: Indexed) -> Result<u16, PoolFull> {
        if self.indexed < wanted {
            self.build_index(pool, wanted);
        }
        let hash = hash(tag as u8, content);
        if let Some(index) = self.index.find(hash, |index| self.is(pool, index, tag, content)) {
            return Ok(index);
        }
        let index = self.append(tag, content)?;
        self.index.insert(hash, index);
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
        self.intern(pool, Tag::Utf8, text.0, Indexed::Names)
    }

    /// What must be indexed to find an entry made of these: none of the class's own refers to an appended one.
    fn made_of(&self, parts: &[u16]) -> Indexed {
        let all_existed = parts.iter().all(|part| u32::from(*part) < self.existing);
        if all_existed { Indexed::Everything } else { Indexed::Names }
    }

    fn named(&mut self, pool: &ConstantPool<'_>, tag: Tag, name: ModifiedUtf8<'_>) -> Result<u16, PoolFull> {
        let name = self.utf8(pool, name)?;
        let wanted = if tag == Tag::Class { Indexed::Names } else { self.made_of(&[name]) };
        self.intern(pool, tag, &name.to_be_bytes(), wanted)
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
        self.intern(pool, tag, &bits.to_be_bytes(), Indexed::Everything)
    }

    /// A `CONSTANT_Long` or `CONSTANT_Double` by its bits.
    pub fn double_word(&mut self, pool: &ConstantPool<'_>, tag: Tag, bits: u64) -> Result<u16, PoolFull> {
        self.intern(pool, tag, &bits.to_be_bytes(), Indexed::Everything)
    }

    /// A `CONSTANT_Integer` of its own, whose value is written later: the index and the offset of the value in
    /// [`ConstantPoolWriter::appended`].
    pub fn own_integer(&mut self, value: u32) -> Result<(u16, usize), PoolFull> {
        let index = self.append(Tag::Integer, &value.to_be_bytes())?;
        if let Some(place) = self.places.last_mut() {
            *place |= OWN;
        }
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
        // The first part of a dynamic constant is no place in the pool.
        let is_dynamic = matches!(tag, Tag::Dynamic | Tag::InvokeDynamic);
        let wanted = if is_dynamic { self.made_of(&[second]) } else { self.made_of(&[first, second]) };
        self.intern(pool, tag, &[a, b, c, d], wanted)
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
        let wanted = self.made_of(&[member]);
        self.intern(pool, Tag::MethodHandle, &[kind, a, b], wanted)
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

/// Of kind, length, beginning and end of an entry. Hashing long names whole would cost more than comparing those that agree
/// in all of these.
#[inline]
fn hash(tag: u8, content: &[u8]) -> u32 {
    let ends = match (content.first_chunk::<4>(), content.last_chunk::<4>()) {
        (Some(first), Some(last)) => u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)),
        _ => content.iter().fold(0, |ends, &byte| ends << 8 | u64::from(byte)),
    };
    let state = (content.len() as u64) << 8 | u64::from(tag);
    ((ends ^ state.rotate_left(20)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// A hash table with chains from the hash of an entry to its index, emptied for each class without giving its memory back.
#[derive(Debug, Default)]
struct EntryIndex {
    /// By the upper bits of the hash: the last entry put there; 0 for none.
    heads: Vec<u16>,
    /// By entry: the one put to the same place before it.
    before: Vec<u16>,
    shift: u32,
}

impl EntryIndex {
    /// Empties the table; it is made for `entries` entries but takes more.
    fn begin(&mut self, entries: usize) {
        let size = (entries + 32).next_power_of_two();
        self.shift = 32 - size.trailing_zeros();
        self.heads.clear();
        self.heads.resize(size, 0);
        self.before.resize(self.before.len().max(entries + 32), 0);
    }

    #[inline]
    fn find(&self, hash: u32, is_wanted: impl Fn(u16) -> bool) -> Option<u16> {
        let mut index = self.heads.get((hash >> self.shift) as usize).copied()?;
        while index != 0 && !is_wanted(index) {
            index = self.before.get(usize::from(index)).copied()?;
        }
        (index != 0).then_some(index)
    }

    #[inline]
    fn insert(&mut self, hash: u32, index: u16) {
        if self.before.len() <= usize::from(index) {
            self.before.resize(usize::from(index) + 32, 0);
        }
        let head = self.heads.get_mut((hash >> self.shift) as usize);
        if let (Some(head), Some(before)) = (head, self.before.get_mut(usize::from(index))) {
            *before = *head;
            *head = index;
        }
    }
}
