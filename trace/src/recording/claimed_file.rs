//! The file of a recording, claimed by one process: no recording is ever lost because another one has the same name.
//!
//! A claimed file is locked by the kernel until it is closed, so the lock of a killed process is released, too. If another
//! process has locked the file, the recording is written to a name of its own; if the file holds an earlier recording that
//! nobody writes, that one is renamed first.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::kept_files::{keep_earlier, with_suffix};
use crate::repair::{begins_like_a_recording, cut_torn_tail};
use crate::write_target::WriteTarget;

/// Others may rename or lock the file between two steps; more often than this means that something is wrong.
const ATTEMPTS: u32 = 100;

/// A file that only this process writes. See the [module](self).
#[derive(Debug)]
pub struct ClaimedFile {
    file: File,
    path: PathBuf,
    earlier: Option<PathBuf>,
    is_shared: bool,
}

impl ClaimedFile {
    /// Claims the file for one recording, or another name beside it if another process writes the file.
    ///
    /// An earlier recording under this name is renamed, after its torn tail (left by a crash) was cut. Files that are not
    /// recordings are never touched. Devices, pipes and open streams are written to as they are. A symbolic link stays: the file is the
    /// one that it names.
    ///
    /// # Errors
    /// When no file can be created, an earlier one cannot be kept, or a symbolic link must not be followed.
    pub fn claim(path: &Path) -> io::Result<ClaimedFile> {
        let named = path;
        let path = &match WriteTarget::of(named)? {
            WriteTarget::File(path) | WriteTarget::Special(path) => path,
            WriteTarget::Stream(file) => return ClaimedFile::of_stream(file, named),
        };
        let mut earlier = None;
        for _ in 0..ATTEMPTS {
            let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
            if !file.metadata()?.is_file() {
                return Ok(ClaimedFile { file, path: named.to_owned(), earlier: None, is_shared: true });
            }
            let lock = Lock::take(&file)?;
            if lock == Lock::HeldByOther {
                return ClaimedFile::claim_beside(path, earlier);
            }
            if !is_at(&file, path) {
                // Renamed by another process since it was opened.
                continue;
            }
            if !begins_like_a_recording(&mut file)? {
                let problem = "the file is there already and is no recording, so it is not overwritten";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
            }
            if lock == Lock::Held {
                cut_torn_tail(&mut file)?;
            }
            if file.metadata()?.len() == 0 {
                return Ok(ClaimedFile { file, path: named.to_owned(), earlier, is_shared: false });
            }
            earlier = keep_earlier(path)?.or(earlier);
        }
        Err(io::Error::other("other processes keep taking the file"))
    }

    /// Where the recording is written to; not the requested path if another process writes that one.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the earlier recording of this name is now.
    #[must_use]
    pub fn earlier(&self) -> Option<&Path> {
        self.earlier.as_deref()
    }

    /// Returns the file and whether others may write to it, too, so that nothing in it may be cut off.
    pub(super) fn into_file(self) -> (File, bool) {
        (self.file, self.is_shared)
    }

    /// Takes a stream that was redirected to a file only if nothing was written to it yet.
    fn of_stream(file: File, named: &Path) -> io::Result<ClaimedFile> {
        let found = file.metadata()?;
        if found.is_file() && found.len() > 0 {
            let problem =
                "this stream was redirected to a file that is not empty, so no recording is written to it; name a file";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
        }
        Ok(ClaimedFile { file, path: named.to_owned(), earlier: None, is_shared: true })
    }

    /// A new file `NAME-<pid>.jfr`, or `NAME-<pid>-2.jfr` and so on.
    fn claim_beside(path: &Path, earlier: Option<PathBuf>) -> io::Result<ClaimedFile> {
        let pid = std::process::id();
        for number in 1..=ATTEMPTS {
            let suffix = if number == 1 { format!("-{pid}") } else { format!("-{pid}-{number}") };
            let path = with_suffix(path, &suffix);
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) if Lock::take(&file)? == Lock::HeldByOther => {}
                Ok(file) => return Ok(ClaimedFile { file, path, earlier, is_shared: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "another process writes it, and no name beside it is free"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lock {
    Held,
    HeldByOther,
    /// The file system has no locks.
    Unsupported,
}

impl Lock {
    fn take(file: &File) -> io::Result<Lock> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock::Held),
            Err(Errno::WOULDBLOCK) => Ok(Lock::HeldByOther),
            Err(Errno::NOTSUP | Errno::NOLCK | Errno::NOSYS | Errno::INVAL) => Ok(Lock::Unsupported),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether this is the file that the path names now.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(opened), Ok(named)) => identity(opened) == identity(named),
        _ => false,
    }
}
