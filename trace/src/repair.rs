//! Cuts the remains of a crash after the last whole chunk: most JFR tools refuse a file with a torn tail.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::chunk_header::{ChunkHeader, HEADER_LENGTH};

/// What [`repair`] has found and done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repaired {
    /// Whole chunks that the file holds now.
    pub chunks: u64,
    /// Bytes after them that were cut off; 0 = the file was sound and was not touched.
    pub cut_bytes: u64,
}

/// Cuts the file after its last whole chunk.
///
/// # Errors
/// When the file cannot be read or shortened, or when it is no JFR recording at all (it is then left as it is).
pub fn repair(path: &Path) -> io::Result<Repaired> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    if !begins_like_a_recording(&mut file)? {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a JFR recording"));
    }
    cut_torn_tail(&mut file)
}

/// The same for a recording that is open.
pub(crate) fn cut_torn_tail(file: &mut File) -> io::Result<Repaired> {
    let length = file.metadata()?.len();
    let chunks = whole_chunks(file, length)?;
    let sound = chunks.last().map_or(0, |chunk| chunk.offset + chunk.header.size);
    if sound < length {
        file.set_len(sound)?;
        file.seek(SeekFrom::Start(sound))?;
    }
    Ok(Repaired { chunks: chunks.len() as u64, cut_bytes: length - sound })
}

/// Where a whole chunk lies in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkPlace {
    pub(crate) offset: u64,
    pub(crate) header: ChunkHeader,
}

/// The whole chunks at the start of a file, up to the first that is not whole.
pub(crate) fn whole_chunks(file: &mut File, length: u64) -> io::Result<Vec<ChunkPlace>> {
    let mut chunks = Vec::new();
    let mut offset = 0;
    while length - offset >= HEADER_LENGTH as u64 {
        let mut bytes = [0; HEADER_LENGTH];
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut bytes)?;
        let Some(header) = ChunkHeader::decode(&bytes).filter(|header| header.is_whole(length - offset)) else {
            break;
        };
        chunks.push(ChunkPlace { offset, header });
        offset += header.size;
    }
    Ok(chunks)
}

/// Whether the file begins like a recording, as far as it goes: its first chunk may be torn, or it may be empty.
pub(crate) fn begins_like_a_recording(file: &mut File) -> io::Result<bool> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(4).read_to_end(&mut start)?;
    Ok(b"FLR\0".starts_with(&start))
}
