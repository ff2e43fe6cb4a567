//! Where HotSpot publishes what it knows about itself: `/tmp/hsperfdata_USER/PID`, the file that `jps` and `jstat` read.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use performance_data::PerformanceData;

use super::Process;

/// The file has 32 KB unless the JVM is started with `-XX:PerfDataMemorySize`.
const MOST_BYTES: u64 = 4 << 20;

/// Reads the file of a JVM; nothing if it has none (`-XX:-UsePerfData`), or if the user may not read it.
pub(crate) fn of(process: &Process) -> Option<PerformanceData> {
    let user = process.user()?;
    let inner = process.inner_pid().to_string();
    let files = process.temporary_directories().into_iter().flat_map(|tmp| files_in(&tmp, user, &inner));
    files.filter_map(|file| read(&file, user)).find_map(|bytes| PerformanceData::parse(&bytes))
}

/// Everybody can write into the directory for temporary files: only what belongs to the JVM's user counts.
fn belongs_to(found: &Metadata, user: u32) -> bool {
    found.uid() == user && !found.is_symlink()
}

fn files_in(tmp: &Path, user: u32, name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(tmp).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("hsperfdata_")
            && entry.path().symlink_metadata().is_ok_and(|found| belongs_to(&found, user))
    });
    folders.map(|folder| folder.path().join(name)).collect()
}

fn read(file: &Path, user: u32) -> Option<Vec<u8>> {
    let found = file.symlink_metadata().ok()?;
    if !found.is_file() || !belongs_to(&found, user) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
