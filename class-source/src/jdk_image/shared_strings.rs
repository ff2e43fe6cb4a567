//! Class files whose strings jlink moved into the string table of the image (plug-in `compact-cp`).
//!
//! The class file is stored as it is, except for Utf8 constants, which may be one of
//! ```text
//! 23  string: number of a string
//! 25  descriptor: number of a string in which every class name after an `L` is left out, then the length of a list
//!     of pairs (package, simple name), one for each `L`
//! ```
//! A number is 1-4 bytes: the top bit says "short form", the next two how many bytes, the rest is the value; without
//! the top bit it is four bytes.

use super::index::Index;
use crate::error::ErrorKind;

const CUT_OFF: ErrorKind = ErrorKind::Corrupt("a class with shared strings is cut off");
const TAG_UTF8: u8 = 1;
const TAG_SHARED_STRING: u8 = 23;
const TAG_SHARED_DESCRIPTOR: u8 = 25;

pub(super) fn unpack(packed: &[u8], unpacked_size: usize, index: &Index) -> Result<Vec<u8>, ErrorKind> {
    let mut input = Input { rest: packed };
    let mut output = Vec::with_capacity(unpacked_size);
    // Magic, minor and major version, count of the constant pool.
    output.extend_from_slice(input.take(8)?);
    let count_bytes = input.take(2)?;
    output.extend_from_slice(count_bytes);
    let count = count_bytes.iter().fold(0_usize, |count, &byte| count << 8 | usize::from(byte));
    let mut entry = 1;
    while entry < count {
        let tag = input.byte()?;
        copy_constant(tag, &mut input, &mut output, index)?;
        // Long and Double take two entries.
        entry += if matches!(tag, 5 | 6) { 2 } else { 1 };
    }
    output.extend_from_slice(input.rest);
    if output.len() == unpacked_size { Ok(output) } else { Err(CUT_OFF) }
}

fn copy_constant(tag: u8, input: &mut Input<'_>, output: &mut Vec<u8>, index: &Index) -> Result<(), ErrorKind> {
    match tag {
        TAG_SHARED_STRING => put_utf8(index.string(input.number()?)?, output),
        TAG_SHARED_DESCRIPTOR => {
            let descriptor = descriptor(input, index)?;
            put_utf8(&descriptor, output)
        }
        TAG_UTF8 => {
            let length = input.take(2)?;
            let size = length.iter().fold(0_usize, |size, &byte| size << 8 | usize::from(byte));
            output.push(tag);
            output.extend_from_slice(length);
            output.extend_from_slice(input.take(size)?);
            Ok(())
        }
        _ => {
            output.push(tag);
            output.extend_from_slice(input.take(constant_size(tag)?)?);
            Ok(())
        }
    }
}

fn put_utf8(text: &[u8], output: &mut Vec<u8>) -> Result<(), ErrorKind> {
    let length = u16::try_from(text.len()).map_err(|_| ErrorKind::Corrupt("a shared string that is too long"))?;
    output.push(TAG_UTF8);
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(text);
    Ok(())
}

fn descriptor(input: &mut Input<'_>, index: &Index) -> Result<Vec<u8>, ErrorKind> {
    let pattern = index.string(input.number()?)?;
    let size = input.number()?;
    let mut names = Input { rest: input.take(size as usize)? };
    if names.rest.is_empty() {
        return Ok(pattern.to_vec());
    }
    let mut descriptor = Vec::with_capacity(pattern.len() * 4);
    for &byte in pattern {
        descriptor.push(byte);
        if byte == b'L' {
            let package = index.string(names.number()?)?;
            if !package.is_empty() {
                descriptor.extend_from_slice(package);
                descriptor.push(b'/');
            }
            descriptor.extend_from_slice(index.string(names.number()?)?);
        }
    }
    Ok(descriptor)
}

/// Bytes after the tag of a constant that is not Utf8.
fn constant_size(tag: u8) -> Result<usize, ErrorKind> {
    match tag {
        7 | 8 | 16 | 19 | 20 => Ok(2),
        15 => Ok(3),
        3 | 4 | 9..=12 | 17 | 18 => Ok(4),
        5 | 6 => Ok(8),
        _ => Err(ErrorKind::Corrupt("an unknown constant in a class with shared strings")),
    }
}

struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], ErrorKind> {
        let (taken, rest) = self.rest.split_at_checked(size).ok_or(CUT_OFF)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, ErrorKind> {
        let (&byte, rest) = self.rest.split_first().ok_or(CUT_OFF)?;
        self.rest = rest;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u32, ErrorKind> {
        let head = self.byte()?;
        let (first, further) = if head & 0x80 == 0 {
            (u32::from(head), 3)
        } else {
            (u32::from(head & 0x1F), usize::from(head >> 5 & 3).saturating_sub(1))
        };
        Ok(self.take(further)?.iter().fold(first, |number, &byte| number << 8 | u32::from(byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_short_and_a_long_form() {
        let number = |bytes: &[u8]| Input { rest: bytes }.number().unwrap();
        assert_eq!(number(&[0xA5]), 5);
        assert_eq!(number(&[0xC1, 0x02]), 0x102);
        assert_eq!(number(&[0xE1, 0x02, 0x03]), 0x1_0203);
        assert_eq!(number(&[0x01, 0x02, 0x03, 0x04]), 0x0102_0304);
        assert!(Input { rest: &[0xC1] }.number().is_err());
    }
}
