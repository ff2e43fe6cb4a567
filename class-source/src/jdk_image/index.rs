//! The index at the start of a run-time image: header, perfect-hash table, locations, strings.
//!
//! ```text
//! header      magic, version, flags, resource count, table length, size of locations, size of strings   (7 x u32)
//! redirect    table length x i32   > 0: seed of a second hash   < 0: -1 - slot   0: no such name
//! offsets     table length x u32   slot -> place of its attributes among the locations
//! locations   attributes: kind << 3 | (bytes - 1), then the value, big-endian; kind 0 ends a location
//! strings     modified UTF-8, each ended by a zero byte
//! ```
//! Numbers are in the byte order of the machine that made the image; the magic number says which.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::error::ErrorKind;

const MAGIC: u32 = 0xCAFE_DADA;
const HEADER_SIZE: usize = 28;
const HASH_MULTIPLIER: u32 = 0x0100_0193;
/// The largest JDK's index is below 4 MB.
const LARGEST_INDEX: u64 = 256 << 20;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ByteOrder {
    Little,
    Big,
}

/// The index of an image, held in memory.
#[derive(Debug)]
pub(super) struct Index {
    byte_order: ByteOrder,
    table_length: u32,
    redirect: Vec<u8>,
    offsets: Vec<u8>,
    locations: Vec<u8>,
    strings: Vec<u8>,
    size: u64,
}

/// Where a resource lies and what it is called; the names are offsets into the strings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location {
    pub(super) module: u32,
    pub(super) parent: u32,
    pub(super) base: u32,
    pub(super) extension: u32,
    /// From the end of the index.
    pub(super) offset: u64,
    /// 0 if the resource is stored as it is.
    pub(super) compressed: u64,
    pub(super) uncompressed: u64,
}

impl Index {
    pub(super) fn read(file: &File) -> Result<Index, ErrorKind> {
        let mut header = [0; HEADER_SIZE];
        read_at(file, &mut header, 0)?;
        let byte_order = match first_u32(&header, 0)? {
            bytes if u32::from_le_bytes(bytes) == MAGIC => ByteOrder::Little,
            bytes if u32::from_be_bytes(bytes) == MAGIC => ByteOrder::Big,
            _ => return Err(ErrorKind::NotAnImage),
        };
        let field = |number: usize| byte_order.u32_at(&header, number * 4);
        let version = field(1)?;
        let (major, minor) = ((version >> 16) as u16, version as u16);
        if major != 1 || minor > 1 {
            return Err(ErrorKind::UnsupportedImageVersion { major, minor });
        }
        let table_length = field(4)?;
        let table = u64::from(table_length) * 4;
        let sizes = [table, table, u64::from(field(5)?), u64::from(field(6)?)];
        let size = HEADER_SIZE as u64 + sizes.iter().sum::<u64>();
        let file_size = file.metadata().map_err(ErrorKind::Io)?.len();
        if size > file_size.min(LARGEST_INDEX) {
            return Err(ErrorKind::Corrupt("the index is larger than the file"));
        }
        let mut start = HEADER_SIZE as u64;
        let [redirect, offsets, locations, strings] = sizes.map(|size| {
            let mut part = vec![0; size as usize];
            let result = read_at(file, &mut part, start);
            start += size;
            result.map(|()| part)
        });
        Ok(Index {
            byte_order,
            table_length,
            redirect: redirect?,
            offsets: offsets?,
            locations: locations?,
            strings: strings?,
            size,
        })
    }

    /// Bytes of the index, which is where the resources start.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The resource with this full name, `/module/parent/base.extension`.
    pub(super) fn find(&self, full_name: &[u8]) -> Result<Option<Location>, ErrorKind> {
        if self.table_length == 0 {
            return Ok(None);
        }
        let slot = hash(full_name, HASH_MULTIPLIER) % self.table_length;
        let redirection = self.u32_at(&self.redirect, slot as usize * 4)?.cast_signed();
        let slot = match redirection {
            0 => return Ok(None),
            seed if seed > 0 => hash(full_name, seed.cast_unsigned()) % self.table_length,
            direct => (-1 - direct).cast_unsigned(),
        };
        let location = self.location(slot as usize)?;
        // Every name hashes to some slot, so only a comparison shows whether it is there.
        Ok(self.is_called(&location, full_name)?.then_some(location))
    }

    /// The location in a slot of the table; `None` after the last one.
    pub(super) fn location_at(&self, slot: usize) -> Option<Result<Location, ErrorKind>> {
        (slot < self.table_length as usize).then(|| self.location(slot))
    }

    /// The string at this offset, without its end mark.
    pub(super) fn string(&self, offset: u32) -> Result<&[u8], ErrorKind> {
        let rest = self.strings.get(offset as usize..).ok_or(ErrorKind::Corrupt("the offset of a string"))?;
        let length =
            rest.iter().position(|&byte| byte == 0).ok_or(ErrorKind::Corrupt("a string without an end mark"))?;
        rest.get(..length).ok_or(ErrorKind::Corrupt("a string"))
    }

    /// The number at `offset` of `bytes`, in the image's byte order.
    pub(super) fn u32_at(&self, bytes: &[u8], offset: usize) -> Result<u32, ErrorKind> {
        self.byte_order.u32_at(bytes, offset)
    }

    /// The long number at `offset` of `bytes`, in the image's byte order.
    pub(super) fn u64_at(&self, bytes: &[u8], offset: usize) -> Result<u64, ErrorKind> {
        let (first, second) = (self.u32_at(bytes, offset)?, self.u32_at(bytes, offset + 4)?);
        let (high, low) = if self.byte_order == ByteOrder::Big { (first, second) } else { (second, first) };
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn location(&self, slot: usize) -> Result<Location, ErrorKind> {
        let start = self.u32_at(&self.offsets, slot * 4)? as usize;
        let mut attributes =
            self.locations.get(start..).ok_or(ErrorKind::Corrupt("the place of a location"))?.iter().copied();
        let mut location = Location::default();
        loop {
            let head = attributes.next().ok_or(ErrorKind::Corrupt("a location without an end"))?;
            if head >> 3 == 0 {
                return Ok(location);
            }
            let mut value = 0_u64;
            for _ in 0..=(head & 7) {
                let byte = attributes.next().ok_or(ErrorKind::Corrupt("an attribute of a location"))?;
                value = value << 8 | u64::from(byte);
            }
            match head >> 3 {
                1 => location.module = value as u32,
                2 => location.parent = value as u32,
                3 => location.base = value as u32,
                4 => location.extension = value as u32,
                5 => location.offset = value,
                6 => location.compressed = value,
                7 => location.uncompressed = value,
                // Later JDKs may add attributes; their lengths are known, so they can be passed over.
                _ => {}
            }
        }
    }

    fn is_called(&self, location: &Location, full_name: &[u8]) -> Result<bool, ErrorKind> {
        let parts =
            [(b"/", location.module), (b"/", location.parent), (b"/", location.base), (b".", location.extension)];
        let mut rest = full_name;
        for (number, (separator, offset)) in parts.into_iter().enumerate() {
            let part = self.string(offset)?;
            if part.is_empty() {
                continue;
            }
            // A name without a module starts with its parent, and a name with neither with its base: no separator.
            let needs_separator = number == 0 || rest.len() < full_name.len();
            let Some(after) = (if needs_separator { rest.strip_prefix(separator) } else { Some(rest) }) else {
                return Ok(false);
            };
            let Some(after) = after.strip_prefix(part) else { return Ok(false) };
            rest = after;
        }
        Ok(rest.is_empty())
    }
}

impl ByteOrder {
    fn u32_at(self, bytes: &[u8], offset: usize) -> Result<u32, ErrorKind> {
        let bytes = first_u32(bytes, offset)?;
        Ok(if self == ByteOrder::Big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

fn first_u32(bytes: &[u8], offset: usize) -> Result<[u8; 4], ErrorKind> {
    bytes
        .get(offset..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .ok_or(ErrorKind::Corrupt("a number that is cut off"))
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), ErrorKind> {
    file.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => ErrorKind::Corrupt("the file is shorter than its header says"),
        _ => ErrorKind::Io(error),
    })
}

fn hash(name: &[u8], seed: u32) -> u32 {
    let mixed = name.iter().fold(seed, |hash, &byte| hash.wrapping_mul(HASH_MULTIPLIER) ^ u32::from(byte));
    mixed & 0x7FFF_FFFF
}
