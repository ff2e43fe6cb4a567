//! Attributes (JVMS 4.7), located and named, not decoded.

use crate::{ByteReader, ConstantPool, ModifiedUtf8, Result};

/// One attribute.
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: ModifiedUtf8<'a>,
    /// Index of the name in the constant pool.
    pub name_index: u16,
    /// Its bytes after `attribute_length`.
    pub content: &'a [u8],
    /// Offset of `content` in the file.
    pub offset: usize,
}

impl<'a> Attribute<'a> {
    /// A reader over the content.
    pub fn reader(&self, context: &'static str) -> ByteReader<'a> {
        ByteReader::new(self.content, self.offset, context)
    }
}

/// Iterates over an attribute table.
#[derive(Clone, Debug)]
pub struct Attributes<'p, 'a> {
    reader: ByteReader<'a>,
    /// `None` until the count has been read.
    left: Option<u16>,
    pool: &'p ConstantPool<'a>,
}

impl<'p, 'a> Attributes<'p, 'a> {
    /// The table whose `attributes_count` is at `offset` of `file`.
    pub fn at(file: &'a [u8], offset: usize, pool: &'p ConstantPool<'a>) -> Attributes<'p, 'a> {
        let reader = ByteReader::new(file.get(offset..).unwrap_or_default(), offset, "attributes");
        Attributes { reader, left: None, pool }
    }

    /// The table that begins with its count at the start of `bytes`, which begin at `offset` of the file.
    pub fn within(bytes: &'a [u8], offset: usize, pool: &'p ConstantPool<'a>) -> Attributes<'p, 'a> {
        Attributes { reader: ByteReader::new(bytes, offset, "attributes"), left: None, pool }
    }

    /// The first attribute of this name.
    pub fn find(mut self, name: &[u8]) -> Result<Option<Attribute<'a>>> {
        self.try_find_map(|attribute| (attribute.name.0 == name).then_some(attribute))
    }

    /// Fails if bytes follow the attributes; to be asked when all have been read.
    pub fn expect_end(&self) -> Result<()> {
        self.reader.expect_end()
    }

    fn try_find_map<T>(&mut self, wanted: impl Fn(Attribute<'a>) -> Option<T>) -> Result<Option<T>> {
        for attribute in self {
            if let Some(found) = wanted(attribute?) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    #[inline]
    fn read(&mut self) -> Result<Option<Attribute<'a>>> {
        let left = match self.left {
            Some(left) => left,
            None => self.reader.u2()?,
        };
        self.left = Some(left.saturating_sub(1));
        if left == 0 {
            return Ok(None);
        }
        let [name_high, name_low, length @ ..] = self.reader.array::<6>()?;
        let name_index = u16::from_be_bytes([name_high, name_low]);
        let name = self.pool.utf8(name_index)?;
        let length = u32::from_be_bytes(length) as usize;
        let offset = self.reader.offset();
        Ok(Some(Attribute { name, name_index, content: self.reader.take(length)?, offset }))
    }
}

impl<'a> Iterator for Attributes<'_, 'a> {
    type Item = Result<Attribute<'a>>;

    fn next(&mut self) -> Option<Result<Attribute<'a>>> {
        let item = self.read().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.left = Some(0);
        }
        item
    }
}
