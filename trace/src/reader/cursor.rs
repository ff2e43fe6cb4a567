//! Reads the values of a chunk one after the other.

use std::borrow::Cow;

use super::ReadError;
use crate::varint;

/// A string value as it is encoded in the chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Text<'c> {
    #[default]
    Null,
    Inline(Cow<'c, str>),
    /// A key of the string pool.
    Pooled(u64),
}

/// A position in a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'c> {
    bytes: &'c [u8],
    position: usize,
}

impl<'c> Cursor<'c> {
    /// Returns a cursor over `bytes` (a chunk, or its start) at `position`.
    pub(super) fn new(bytes: &'c [u8], position: usize) -> Cursor<'c> {
        Cursor { bytes, position }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn error(&self, problem: &'static str) -> ReadError {
        ReadError::Malformed { problem, offset: self.position }
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, ReadError> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let Some((value, length)) = varint::decode(rest) else { return Err(self.error("an integer is cut")) };
        self.position += length;
        Ok(value)
    }

    /// A count of things that take at least one byte each.
    pub(super) fn count(&mut self) -> Result<u64, ReadError> {
        let count = self.varint()?;
        if count > self.bytes.len() as u64 {
            return Err(self.error("a count is larger than the chunk"));
        }
        Ok(count)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, ReadError> {
        let Some(byte) = self.bytes.get(self.position) else { return Err(self.error("a value is cut")) };
        self.position += 1;
        Ok(*byte)
    }

    pub(super) fn take(&mut self, length: u64) -> Result<&'c [u8], ReadError> {
        let end = usize::try_from(length).ok().and_then(|length| self.position.checked_add(length));
        let Some(taken) = end.and_then(|end| self.bytes.get(self.position..end)) else {
            return Err(self.error("a value is cut"));
        };
        self.position += taken.len();
        Ok(taken)
    }

    pub(super) fn text(&mut self) -> Result<Text<'c>, ReadError> {
        Ok(match self.byte()? {
            0 => Text::Null,
            1 => Text::Inline(Cow::Borrowed("")),
            2 => Text::Pooled(self.varint()?),
            3 => {
                let length = self.varint()?;
                Text::Inline(String::from_utf8_lossy(self.take(length)?))
            }
            4 => {
                let count = self.count()?;
                let units = (0..count).map(|_| Ok(self.varint()? as u16)).collect::<Result<Vec<_>, ReadError>>()?;
                Text::Inline(Cow::Owned(String::from_utf16_lossy(&units)))
            }
            5 => {
                let length = self.varint()?;
                Text::Inline(Cow::Owned(self.take(length)?.iter().copied().map(char::from).collect()))
            }
            _ => return Err(self.error("a string has an unknown kind")),
        })
    }

    pub(super) fn skip_text(&mut self) -> Result<(), ReadError> {
        match self.byte()? {
            0 | 1 => {}
            2 => drop(self.varint()?),
            3 | 5 => {
                let length = self.varint()?;
                self.take(length)?;
            }
            4 => {
                for _ in 0..self.count()? {
                    self.varint()?;
                }
            }
            _ => return Err(self.error("a string has an unknown kind")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_every_kind_are_read_and_skipped_alike() {
        let cases: [(&[u8], Text<'_>); 6] = [
            (&[0], Text::Null),
            (&[1], Text::Inline("".into())),
            (&[2, 0x81, 0x01], Text::Pooled(129)),
            (&[3, 3, b'a', 0xc3, 0xa4], Text::Inline("aä".into())),
            (&[4, 2, b'x', 0xac, 0x41], Text::Inline("x\u{20ac}".into())),
            (&[5, 2, b'x', 0xe4], Text::Inline("xä".into())),
        ];
        for (bytes, expected) in cases {
            let mut cursor = Cursor::new(bytes, 0);
            assert_eq!(cursor.text().unwrap(), expected);
            assert_eq!(cursor.position(), bytes.len());
            let mut skipping = Cursor::new(bytes, 0);
            skipping.skip_text().unwrap();
            assert_eq!(skipping.position(), bytes.len());
        }
    }

    #[test]
    fn a_length_beyond_the_chunk_is_an_error() {
        for bytes in [
            &[3u8, 200, 1, b'a'][..],
            &[4, 0xff, 0xff, 0x7f],
            &[6],
            &[],
            &[3, 255, 255, 255, 255, 255, 255, 255, 255, 255],
        ] {
            assert!(Cursor::new(bytes, 0).text().is_err(), "{bytes:?}");
            assert!(Cursor::new(bytes, 0).skip_text().is_err(), "{bytes:?}");
        }
    }
}
