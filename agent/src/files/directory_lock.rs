//! A lock of a directory, held by one process at a time.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// Others hold such a lock for the time of a few system calls.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the lock of a directory, which lasts as long as the value.
pub(crate) fn lock(directory: &Path) -> io::Result<File> {
    let file = File::open(directory)?;
    let since = Instant::now();
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if since.elapsed() > PATIENCE {
            return Err(error.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(file)
}
