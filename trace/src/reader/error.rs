//! Why a file could not be read.

use std::fmt;
use std::io;

/// Why a recording, or a chunk of it, could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened or read.
    Io(io::Error),
    /// The file does not begin like a JFR recording of version 2.
    NotARecording,
    /// There is nothing in the file.
    Empty,
    /// The file is the torn beginning of a recording: it holds no whole chunk.
    NoWholeChunk,
    /// A chunk holds something that is not possible.
    Malformed {
        /// What was found.
        problem: &'static str,
        /// Where, in bytes from the start of the chunk.
        offset: usize,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => write!(f, "cannot read the file: {error}"),
            ReadError::NotARecording => f.write_str("the file is not a JFR recording"),
            ReadError::Empty => f.write_str("the file is empty"),
            ReadError::NoWholeChunk => f.write_str("the file ends before its first chunk is complete"),
            ReadError::Malformed { problem, offset } => write!(f, "{problem} (at byte {offset} of the chunk)"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::Io(error)
    }
}
