//! What is reported of a trace file that is full or cannot be written: once on stderr, in the recording, and in the status as long as it is
//! so.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use settings::{TraceConfig, WhenFull};

use crate::log::message;

/// Messages about a file that cannot be written, and that can again.
const MOST_MESSAGES: u32 = 5;

/// Why calls are not written to the file, and since when: the time since the recording began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileTrouble {
    /// The file has the size that it may have.
    Full(Duration),
    /// The file system does not take what is written.
    Fails(Duration, ErrorKind),
}

impl FileTrouble {
    /// Returns a sentence whose subject is the file.
    pub(crate) fn text(self) -> String {
        match self {
            FileTrouble::Full(since) => format!(
                "is full since second {:.1} (max-file-mb in [trace]): later calls are counted as lost",
                since.as_secs_f64()
            ),
            FileTrouble::Fails(since, error) => format!(
                "cannot be written since second {:.1} ({error}): calls are dropped and counted as lost",
                since.as_secs_f64()
            ),
        }
    }
}

/// The file of a recording, for messages about it.
#[derive(Debug)]
pub(super) struct FileReports {
    path: PathBuf,
    began: Instant,
    /// How often the file could not be written after it could.
    failures: u32,
    max_file_mb: u32,
    when_full: WhenFull,
}

impl FileReports {
    /// Reports of a recording that begins.
    pub(super) fn new(path: PathBuf, config: &TraceConfig) -> FileReports {
        let (max_file_mb, when_full) = (config.max_file_mb, config.when_full);
        FileReports { path, began: Instant::now(), failures: 0, max_file_mb, when_full }
    }

    /// Reports that the file is full, and returns the text of the recording's note.
    pub(super) fn full(&self) -> (FileTrouble, String) {
        let (file, limit) = (self.path.display(), self.max_file_mb);
        let then = match self.when_full {
            WhenFull::Count => "later calls are counted as lost",
            WhenFull::Stop => "the recording ends",
        };
        message::say(&format!("{file} is full (max-file-mb = {limit} in [trace]): {then}"));
        let note = format!("the file has reached max-file-mb ({limit} MB): {then}");
        (FileTrouble::Full(self.began.elapsed()), note)
    }

    /// Reports that the file could not be written, unless that has happened again and again.
    pub(super) fn fails(&mut self, error: &Error) -> FileTrouble {
        self.failures += 1;
        if self.failures <= MOST_MESSAGES {
            let file = self.path.display();
            message::say(&format!("cannot write {file}: {error}; calls are dropped and counted as lost"));
        }
        FileTrouble::Fails(self.began.elapsed(), error.kind())
    }

    /// Reports that the file was written again, and that this number of calls was dropped.
    pub(super) fn written_again(&self, since: Duration, dropped: u64) {
        if self.failures <= MOST_MESSAGES {
            let (file, seconds) = (self.path.display(), self.began.elapsed().saturating_sub(since).as_secs_f64());
            message::say(&format!(
                "{file} is written again after {seconds:.1} s; {dropped} calls of this recording are lost because they could not be written"
            ));
        }
    }
}
