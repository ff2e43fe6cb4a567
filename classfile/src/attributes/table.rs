//! Tables: a count and so many structures, read in place.

use std::fmt;
use std::marker::PhantomData;

use super::structure::Structure;
use crate::{ByteReader, ByteWriter, Result};

/// A table of structures `T` preceded by their number, a `Count`. Reading it looks at every item once and
/// allocates nothing; [`Table::iter`] decodes them again, one by one.
///
/// ```
/// use classfile::attributes::{LineNumber, Structure, Table};
/// use classfile::{ByteReader, ByteWriter};
///
/// let mut out = ByteWriter::new();
/// Table::<LineNumber>::write_items(&mut out, &[LineNumber { start: 0, line: 12 }])?;
/// let table = Table::<LineNumber>::read(&mut ByteReader::new(out.as_slice(), 0, "LineNumberTable"), 0)?;
/// assert_eq!(table.iter().map(|row| row.line).collect::<Vec<_>>(), [12]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table<'a, T, Count = u16> {
    count: Count,
    items: &'a [u8],
    /// Of `items` in the file.
    offset: usize,
    item: PhantomData<fn() -> T>,
}

/// More items than the count of a table can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableTooLong;

impl fmt::Display for TableTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more items than the table of a class file can hold")
    }
}

impl std::error::Error for TableTooLong {}

impl<'a, T: Structure<'a>, Count: Copy + Into<u16>> Table<'a, T, Count> {
    /// Reads `count` items; the count itself is elsewhere.
    pub(super) fn read_counted(reader: &mut ByteReader<'a>, count: Count, depth: u8) -> Result<Self> {
        let mut items = *reader;
        let (start, offset) = (reader.position(), reader.offset());
        for _ in 0..count.into() {
            T::read(reader, depth)?;
        }
        let items = items.take(reader.position() - start)?;
        Ok(Table { count, items, offset, item: PhantomData })
    }

    /// The items in order.
    pub fn iter(&self) -> Items<'a, T> {
        Items { reader: ByteReader::new(self.items, self.offset, "table"), left: self.len(), item: PhantomData }
    }

    /// Number of items.
    pub fn len(&self) -> u16 {
        self.count.into()
    }

    /// True without any item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the items without their count.
    pub(super) fn write_uncounted(&self, out: &mut ByteWriter) {
        for item in self.iter() {
            item.write(out);
        }
    }
}

impl<'a, T: Structure<'a>, Count: Structure<'a> + TryFrom<usize>> Table<'a, T, Count> {
    /// Writes a table made anew.
    pub fn write_items(out: &mut ByteWriter, items: &[T]) -> std::result::Result<(), TableTooLong> {
        Count::try_from(items.len()).map_err(|_| TableTooLong)?.write(out);
        for item in items {
            item.write(out);
        }
        Ok(())
    }
}

impl<'a, T: Structure<'a>, Count: Structure<'a> + Copy + Into<u16>> Structure<'a> for Table<'a, T, Count> {
    fn read(reader: &mut ByteReader<'a>, depth: u8) -> Result<Self> {
        let count = Count::read(reader, depth)?;
        Table::read_counted(reader, count, depth)
    }

    fn write(&self, out: &mut ByteWriter) {
        self.count.write(out);
        self.write_uncounted(out);
    }
}

/// The items of a [`Table`].
pub struct Items<'a, T> {
    reader: ByteReader<'a>,
    left: u16,
    item: PhantomData<fn() -> T>,
}

impl<'a, T: Structure<'a>> Iterator for Items<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // All items were read when the table was, at a depth at least as great, so this does not fail.
        T::read(&mut self.reader, 0).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(usize::from(self.left)))
    }
}

impl<'a, T: Structure<'a>, Count: Copy + Into<u16>> IntoIterator for Table<'a, T, Count> {
    type Item = T;
    type IntoIter = Items<'a, T>;

    fn into_iter(self) -> Items<'a, T> {
        self.iter()
    }
}

// Written by hand because derived ones would ask the same of `T`, of which no table holds a value.
impl<T, Count: Copy> Clone for Table<'_, T, Count> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, Count: Copy> Copy for Table<'_, T, Count> {}

impl<T, Count: PartialEq> PartialEq for Table<'_, T, Count> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.items == other.items
    }
}

impl<T, Count: Eq> Eq for Table<'_, T, Count> {}

impl<'a, T: Structure<'a> + fmt::Debug, Count: Copy + Into<u16>> fmt::Debug for Table<'a, T, Count> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T> Clone for Items<'_, T> {
    fn clone(&self) -> Self {
        Items { reader: self.reader, left: self.left, item: PhantomData }
    }
}

impl<T> fmt::Debug for Items<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("left", &self.left).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lying_count_is_an_error_at_the_place() {
        let mut reader = ByteReader::new(&[0, 3, 0, 1, 0, 2], 100, "test");
        let error = Table::<u16>::read(&mut reader, 0).unwrap_err();
        assert_eq!(error.offset, 106);
    }

    #[test]
    fn small_counts_refuse_long_tables() {
        let mut out = ByteWriter::new();
        assert_eq!(Table::<u16, u8>::write_items(&mut out, &[7; 256]), Err(TableTooLong));
        assert!(out.is_empty());
        Table::<u16, u8>::write_items(&mut out, &[7; 255]).unwrap();
        assert_eq!(out.len(), 1 + 2 * 255);
    }

    #[test]
    fn tables_of_tables_end_where_they_should() {
        let bytes = [0, 2, 0, 1, 0, 5, 0, 0, 0xAA];
        let mut reader = ByteReader::new(&bytes, 0, "test");
        let table = Table::<Table<'_, u16>>::read(&mut reader, 0).unwrap();
        assert_eq!(reader.remaining(), 1);
        assert_eq!(table.iter().map(|inner| inner.iter().collect()).collect::<Vec<Vec<_>>>(), [vec![5], vec![]]);
        assert_eq!(format!("{table:?}"), "[[5], []]");
    }
}
