//! The file of a recording: whole chunks, appended in one write each.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// So much of the end of the file may stay in the page cache.
const KEPT_IN_CACHE: u64 = 64 << 20;

/// A file that ends with a whole chunk whenever it can.
#[derive(Debug)]
pub(super) struct ChunkFile {
    file: File,
    /// Length of the whole chunks.
    length: u64,
    /// Up to here the operating system was advised to release its cached pages.
    released: u64,
    /// A failed write has left a piece of a chunk that could not be cut off yet.
    is_torn: bool,
    /// Others may write to the file, too, so nothing can be cut off.
    is_shared: bool,
}

impl ChunkFile {
    /// Appends to an open file that is empty. Only what this process has written is cut off after a failure, and nothing if others may
    /// write to the file, too.
    pub(super) fn new(file: File, is_shared: bool) -> ChunkFile {
        ChunkFile { file, length: 0, released: 0, is_torn: false, is_shared }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends a chunk. If that fails, the file is cut back to the chunks before, so that a later chunk can follow
    /// them (a full disk may get room again).
    pub(super) fn append(&mut self, chunk: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.cut()?;
        }
        match self.file.write_all(chunk) {
            Ok(()) => {
                self.length += chunk.len() as u64;
                self.release_cache();
                Ok(())
            }
            Err(error) => {
                self.is_torn = true;
                // The reason of the failed write is the one to tell; cutting is tried again before the next write.
                let _ = self.cut();
                Err(error)
            }
        }
    }

    /// Of a long recording only the newest part stays in the page cache: nobody reads the rest soon, and the application's
    /// own files should not be driven out. It also keeps writing cheap, as the same pages are used again and again.
    ///
    /// The advice makes the kernel write the pages out; they can be given back once that is done, so it is given twice: for the
    /// chunk just written, and for what was written a while ago.
    #[cfg(target_os = "linux")]
    fn release_cache(&mut self) {
        use rustix::fs::{Advice, fadvise};
        use std::num::NonZeroU64;

        let dont_need = |from: u64, to: u64| {
            // Advice only: a file system that cannot follow it loses nothing.
            let _ = fadvise(&self.file, from, NonZeroU64::new(to - from), Advice::DontNeed);
        };
        let Some(old) = self.length.checked_sub(KEPT_IN_CACHE).filter(|old| *old > self.released) else { return };
        let written = old - self.released;
        dont_need(self.length - written, self.length);
        dont_need(self.released, old);
        self.released = old;
    }

    #[cfg(not(target_os = "linux"))]
    fn release_cache(&mut self) {}

    fn cut(&mut self) -> io::Result<()> {
        if self.is_shared {
            return Err(io::Error::other("an earlier write failed, and what others have written cannot be cut off"));
        }
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        self.is_torn = false;
        Ok(())
    }
}
