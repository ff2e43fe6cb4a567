//! The 68 bytes that begin every chunk of a JFR file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a chunk header.
pub(crate) const HEADER_LENGTH: usize = 68;

const MAGIC: [u8; 4] = *b"FLR\0";
const MAJOR_VERSION: u16 = 2;
const MINOR_VERSION: u16 = 1;
const FLAG_COMPRESSED_INTEGERS: u8 = 1;
const FLAG_LAST_CHUNK: u8 = 2;

/// Whether a file is a JFR recording, of this agent or of anything else, judged by how it begins: it may be torn.
///
/// # Errors
/// When the file cannot be read.
pub fn is_recording(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == MAGIC)
}

/// What a chunk header says. Offsets count from the start of the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ChunkHeader {
    pub(crate) size: u64,
    pub(crate) checkpoint_offset: u64,
    pub(crate) metadata_offset: u64,
    pub(crate) start_epoch_nanos: u64,
    pub(crate) duration_nanos: u64,
    pub(crate) start_ticks: u64,
    pub(crate) ticks_per_second: u64,
    /// 0 = finished, everything else = still being written.
    pub(crate) state: u8,
    pub(crate) compressed: bool,
    pub(crate) is_last: bool,
}

impl ChunkHeader {
    pub(crate) fn encode(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = Vec::with_capacity(HEADER_LENGTH);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&MAJOR_VERSION.to_be_bytes());
        bytes.extend_from_slice(&MINOR_VERSION.to_be_bytes());
        let numbers = [
            self.size,
            self.checkpoint_offset,
            self.metadata_offset,
            self.start_epoch_nanos,
            self.duration_nanos,
            self.start_ticks,
            self.ticks_per_second,
        ];
        for number in numbers {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        let flags = u8::from(self.compressed) * FLAG_COMPRESSED_INTEGERS + u8::from(self.is_last) * FLAG_LAST_CHUNK;
        bytes.extend_from_slice(&[self.state, 0, 0, flags]);
        bytes.try_into().unwrap_or([0; HEADER_LENGTH])
    }

    /// Reads a header; `None` when the bytes are not the start of a JFR chunk of major version 2.
    pub(crate) fn decode(bytes: &[u8]) -> Option<ChunkHeader> {
        let bytes: &[u8; HEADER_LENGTH] = bytes.first_chunk()?;
        let number = |at: usize| Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk::<8>()?));
        let is_ours = bytes.starts_with(&MAGIC) && bytes.get(4..6)? == MAJOR_VERSION.to_be_bytes();
        let flags = *bytes.get(67)?;
        is_ours.then_some(ChunkHeader {
            size: number(8)?,
            checkpoint_offset: number(16)?,
            metadata_offset: number(24)?,
            start_epoch_nanos: number(32)?,
            duration_nanos: number(40)?,
            start_ticks: number(48)?,
            ticks_per_second: number(56)?,
            state: *bytes.get(64)?,
            compressed: flags & FLAG_COMPRESSED_INTEGERS != 0,
            is_last: flags & FLAG_LAST_CHUNK != 0,
        })
    }

    /// Whether a chunk with this header, `available` bytes before the end of the file, is whole and finished.
    pub(crate) fn is_whole(&self, available: u64) -> bool {
        let inside = |offset: u64| (HEADER_LENGTH as u64..self.size).contains(&offset);
        self.state == 0 && self.size <= available && inside(self.checkpoint_offset) && inside(self.metadata_offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ChunkHeader {
        ChunkHeader {
            size: 1000,
            checkpoint_offset: 900,
            metadata_offset: 68,
            start_epoch_nanos: 1 << 60,
            duration_nanos: 3,
            start_ticks: 4,
            ticks_per_second: 1_000_000_000,
            state: 0,
            compressed: true,
            is_last: true,
        }
    }

    #[test]
    fn a_header_is_read_as_written() {
        assert_eq!(ChunkHeader::decode(&header().encode()), Some(header()));
    }

    #[test]
    fn other_bytes_are_not_a_header() {
        let mut bytes = header().encode();
        bytes[5] = 1;
        assert_eq!(ChunkHeader::decode(&bytes), None, "major version 1 has another layout");
        assert_eq!(ChunkHeader::decode(&[0; HEADER_LENGTH]), None);
        assert_eq!(ChunkHeader::decode(&header().encode()[..67]), None);
    }

    #[test]
    fn only_a_finished_chunk_that_is_all_there_is_whole() {
        assert!(header().is_whole(1000));
        assert!(!header().is_whole(999));
        assert!(!ChunkHeader { state: 1, ..header() }.is_whole(2000));
        assert!(!ChunkHeader { metadata_offset: 0, ..header() }.is_whole(2000));
        assert!(!ChunkHeader { size: 0, ..header() }.is_whole(2000));
    }
}
