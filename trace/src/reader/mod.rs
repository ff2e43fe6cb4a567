//! Reads recordings for reports: our own, and the events of instr in any other JFR file.
//!
//! A file is read chunk by chunk, in any order; what follows the last whole chunk is left out with a warning.

mod code_map;
mod constants;
mod cursor;
mod diagnosis_events;
mod error;
mod event;
mod metadata;
mod plan;
mod stacks;
mod walk_events;

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use code_map::{CodeMap, CodeOwner};
pub use constants::{Method, Thread};
pub use error::ReadError;
pub use event::{Call, Event, Events};
pub use stacks::{StackFrame, StackTrace};
pub use walk_events::WalkPart;

use crate::AT_FULL;
use crate::chunk_header::ChunkHeader;
use crate::repair::{ChunkPlace, whole_chunks};
use constants::Constants;
use event::EventPlans;
use metadata::{Types, read_types};

/// A recording opened for reading.
#[derive(Debug)]
pub struct TraceReader {
    path: PathBuf,
    file: File,
    file_bytes: u64,
    chunks: Vec<ChunkPlace>,
    warnings: Vec<String>,
    progress: Progress,
}

impl TraceReader {
    /// Opens a file and finds its chunks, without reading them.
    ///
    /// # Errors
    /// When the file cannot be read, is no JFR recording, or holds no whole chunk.
    pub fn open(path: &Path) -> Result<TraceReader, ReadError> {
        let mut file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let chunks = whole_chunks(&mut file, file_bytes)?;
        let Some(last) = chunks.last() else {
            let mut start = Vec::new();
            file.seek(SeekFrom::Start(0))?;
            file.by_ref().take(4).read_to_end(&mut start)?;
            let is_torn = b"FLR\0".starts_with(&start);
            return Err(match (start.is_empty(), is_torn) {
                (true, _) => ReadError::Empty,
                (false, true) => ReadError::NoWholeChunk,
                (false, false) => ReadError::NotARecording,
            });
        };
        let mut warnings = Vec::new();
        let torn = file_bytes - (last.offset + last.header.size);
        if torn > 0 {
            warnings.push(format!("the last {torn} bytes are not a whole chunk and were left out"));
        }
        Ok(TraceReader { path: path.to_owned(), file, file_bytes, chunks, warnings, progress: Progress::default() })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Number of whole chunks.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// What is wrong with the file as a whole.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether the writer has ended the file properly.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.chunks.last().is_some_and(|chunk| chunk.header.is_last)
    }

    /// Start of the recording, in nanoseconds since 1970.
    #[must_use]
    pub fn start_epoch_nanos(&self) -> u64 {
        self.chunks.first().map_or(0, |chunk| chunk.header.start_epoch_nanos)
    }

    /// Time from the start of the first chunk to the end of the last, in nanoseconds.
    #[must_use]
    pub fn duration_nanos(&self) -> u64 {
        let end = self.chunks.iter().map(|chunk| {
            let header = &chunk.header;
            header.start_epoch_nanos.saturating_add(header.duration_nanos)
        });
        end.max().map_or(0, |end| end.saturating_sub(self.start_epoch_nanos()))
    }

    /// Reads a chunk, counted from 0. Several threads may do so at once.
    ///
    /// # Errors
    /// When the chunk cannot be read, or its metadata or constants make no sense.
    pub fn chunk(&self, index: usize) -> Result<Chunk, ReadError> {
        let Some(place) = self.chunks.get(index) else { return Err(ReadError::NoWholeChunk) };
        let mut bytes = vec![0; usize::try_from(place.header.size).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, place.offset)?;
        Chunk::new(bytes, place.header)
    }

    /// Length of a chunk, counted from 0, in bytes.
    #[must_use]
    pub fn chunk_bytes(&self, index: usize) -> u64 {
        self.chunks.get(index).map_or(0, |place| place.header.size)
    }

    /// Calls `progress` with the bytes that have been analysed and those of the whole file, again and again.
    pub fn on_progress(&mut self, progress: impl FnMut(u64, u64) + Send + 'static) {
        self.progress = Progress(Mutex::new(Some(Box::new(progress))));
    }

    /// Says that `done` bytes of the file have been analysed.
    pub(crate) fn tell_progress(&self, done: u64) {
        if let Some(progress) = self.progress.0.lock().ok().as_deref_mut().and_then(Option::as_mut) {
            progress(done, self.file_bytes);
        }
    }
}

type TellProgress = Box<dyn FnMut(u64, u64) + Send>;

/// Who wants to know how far the analysis is.
#[derive(Default)]
struct Progress(Mutex<Option<TellProgress>>);

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// A chunk in memory.
#[derive(Debug)]
pub struct Chunk {
    bytes: Vec<u8>,
    header: ChunkHeader,
    types: Types,
    event_plans: EventPlans,
    constants: Constants,
}

impl Chunk {
    fn new(bytes: Vec<u8>, header: ChunkHeader) -> Result<Chunk, ReadError> {
        if !header.compressed {
            return Err(ReadError::Malformed { problem: "the integers of the chunk are not compressed", offset: 0 });
        }
        let offset = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let types = read_types(&bytes, offset(header.metadata_offset))?;
        let constants = Constants::read(&bytes, &types, offset(header.checkpoint_offset))?;
        Ok(Chunk { event_plans: EventPlans::new(&types), bytes, header, types, constants })
    }

    /// The events, in the order of the file.
    #[must_use]
    pub fn events(&self) -> Events<'_> {
        Events::new(self)
    }

    /// The events from one on that [`Events::position`] has returned.
    pub(crate) fn events_from(&self, position: usize) -> Events<'_> {
        Events::at(self, position)
    }

    /// Start of the chunk, in nanoseconds since 1970. In our files all calls of earlier chunks had ended by then.
    #[must_use]
    pub fn start_epoch_nanos(&self) -> u64 {
        self.header.start_epoch_nanos
    }

    /// The thread with a key.
    #[must_use]
    pub fn thread(&self, key: u64) -> Option<&Thread> {
        self.constants.thread(key)
    }

    /// The method with a key.
    #[must_use]
    pub fn method(&self, key: u64) -> Option<Method<'_>> {
        self.constants.method(key)
    }

    /// The internal name (`a/b/C`) of the class with a key.
    #[must_use]
    pub fn class(&self, key: u64) -> Option<&str> {
        self.constants.class(key)
    }

    /// The sampled stack with a key.
    #[must_use]
    pub fn stack(&self, key: u64) -> Option<&StackTrace> {
        self.constants.stack(key)
    }

    /// The name of the template with a key.
    #[must_use]
    pub fn template(&self, key: u64) -> Option<&str> {
        let name = self.constants.template(key)?;
        Some(name.strip_suffix(AT_FULL).unwrap_or(name))
    }

    /// Whether the calls with this template were recorded at level full.
    #[must_use]
    pub fn is_at_full(&self, template: u64) -> bool {
        self.constants.template(template).is_some_and(|name| name.ends_with(AT_FULL))
    }

    #[inline]
    fn epoch_nanos(&self, ticks: u64) -> u64 {
        let header = &self.header;
        match ticks.checked_sub(header.start_ticks) {
            Some(since) => header.start_epoch_nanos.saturating_add(self.nanos(since)),
            None => header.start_epoch_nanos.saturating_sub(self.nanos(header.start_ticks - ticks)),
        }
    }

    #[inline]
    fn nanos(&self, ticks: u64) -> u64 {
        const NANOS: u64 = 1_000_000_000;
        match self.header.ticks_per_second {
            NANOS | 0 => ticks,
            frequency => {
                u64::try_from(u128::from(ticks) * u128::from(NANOS) / u128::from(frequency)).unwrap_or(u64::MAX)
            }
        }
    }
}
