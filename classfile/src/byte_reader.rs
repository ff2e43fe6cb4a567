//! A window on bytes that always knows its place in the whole file.

use crate::{Error, ErrorKind, Result};

/// Reads big-endian values from a slice; every error carries the offset in the file.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    position: usize,
    base: usize,
    context: &'static str,
}

impl<'a> ByteReader<'a> {
    /// A reader over `bytes`, which start at `base` in the file; `context` names the structure in errors.
    pub fn new(bytes: &'a [u8], base: usize, context: &'static str) -> ByteReader<'a> {
        ByteReader { bytes, position: 0, base, context }
    }

    /// Names the structure that is read next, for errors.
    pub fn set_context(&mut self, context: &'static str) {
        self.context = context;
    }

    /// Offset in the file of the next byte.
    pub fn offset(&self) -> usize {
        self.base + self.position
    }

    /// Offset of the next byte in this window.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// True when everything has been read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// An error at the present place.
    #[cold]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.offset(), self.context)
    }

    /// The next `length` bytes.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        match self.bytes.get(self.position..).and_then(|rest| rest.get(..length)) {
            Some(taken) => {
                self.position += length;
                Ok(taken)
            }
            None => Err(self.error(ErrorKind::Truncated)),
        }
    }

    /// Steps over `length` bytes.
    #[inline]
    pub fn skip(&mut self, length: usize) -> Result<()> {
        self.take(length).map(|_| ())
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes.get(self.position..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(chunk) => {
                self.position += N;
                Ok(*chunk)
            }
            None => Err(self.error(ErrorKind::Truncated)),
        }
    }

    /// An unsigned byte (`u1`).
    #[inline]
    pub fn u1(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// An unsigned 16-bit value (`u2`).
    #[inline]
    pub fn u2(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// An unsigned 32-bit value (`u4`).
    #[inline]
    pub fn u4(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A signed 32-bit value.
    #[inline]
    pub fn i4(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// An error unless everything has been read.
    pub fn expect_end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.error(ErrorKind::TrailingBytes)) }
    }
}
