//! Inflates an entry of a jar only as far as it is read: what is needed of a class file is in its first three quarters.

use std::io;

use flate2::{Decompress, FlushDecompress, Status};

/// How much of an entry is inflated, one time after the other, in eighths of its packed bytes.
const SHOWN: [usize; 3] = [6, 7, 8];

/// More than the longest output of one code of an entry.
const SPARE: usize = 512;

/// The beginning of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'b> {
    /// The first bytes.
    pub bytes: &'b [u8],
    /// Whether nothing follows.
    pub is_whole: bool,
}

/// Memory for reading entries: setting it up takes longer than reading a class.
#[derive(Debug)]
pub(super) struct Inflater {
    state: Decompress,
    packed: Vec<u8>,
    bytes: Vec<u8>,
}

impl Default for Inflater {
    fn default() -> Self {
        Inflater { state: Decompress::new(false), packed: Vec::new(), bytes: Vec::new() }
    }
}

impl Inflater {
    /// Reads so many bytes of an entry; an end before that is an error.
    pub(super) fn fill(&mut self, length: usize, read_at: impl Fn(&mut [u8]) -> io::Result<usize>) -> io::Result<()> {
        self.packed.resize(length, 0);
        match read_at(&mut self.packed)? {
            read if read == length => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Shows what was read.
    pub(super) fn stored<R>(&self, size: usize, mut look: impl FnMut(Beginning<'_>) -> Option<R>) -> Option<R> {
        look(Beginning { bytes: self.packed.get(..size)?, is_whole: true })
    }

    /// Inflates what was read, which should become `size` bytes, and shows more and more of it.
    pub(super) fn inflate<R>(
        &mut self,
        size: usize,
        mut look: impl FnMut(Beginning<'_>) -> Option<R>,
    ) -> io::Result<Option<R>> {
        let Inflater { state, packed, bytes } = self;
        state.reset(false);
        // With some room to spare the inflater need not check for the end before each byte.
        let room = size + SPARE;
        if bytes.len() < room {
            bytes.resize(room, 0);
        }
        let (mut read, mut written) = (0, 0);
        for eighths in SHOWN {
            let packed = packed.get(read..packed.len() * eighths / 8).unwrap_or_default();
            let room = bytes.get_mut(written..room).unwrap_or_default();
            let status = state.decompress(packed, room, FlushDecompress::None)?;
            // Neither is more than the lengths of the slices.
            (read, written) = (state.total_in() as usize, state.total_out() as usize);
            let is_whole = status == Status::StreamEnd;
            if written > size || (is_whole && written < size) {
                return Err(io::Error::other("an entry of another size than it says"));
            }
            let seen = look(Beginning { bytes: bytes.get(..written).unwrap_or_default(), is_whole });
            if seen.is_some() || is_whole {
                return Ok(seen);
            }
        }
        Err(io::Error::other("an entry that ends too early"))
    }
}
