//! Whether a file is the one that the JVM opened, perhaps long ago: a jar that was replaced meanwhile is another file to us, while the JVM
//! goes on with the one it has.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Whether there was this file under this path already, with this content, before that moment. Links are looked at, directories are not:
/// they change with every file in them.
pub(super) fn is_unchanged_since(path: &Path, moment: SystemTime) -> bool {
    let Ok(target) = fs::metadata(path) else { return false };
    let is_old_link = |part: &Path| match fs::symlink_metadata(part) {
        Ok(found) => !found.is_symlink() || is_older(&found, moment),
        // The empty path in front of a relative one.
        Err(_) => part.as_os_str().is_empty(),
    };
    is_older(&target, moment) && path.ancestors().all(is_old_link)
}

/// Whether there was surely nothing under this path at that moment, as there is nothing now: the directory has not lost a file since.
pub(super) fn was_absent_at(path: &Path, moment: SystemTime) -> bool {
    let directory = path
        .ancestors()
        .skip(1)
        .find_map(|part| fs::metadata(if part.as_os_str().is_empty() { Path::new(".") } else { part }).ok());
    directory.is_some_and(|directory| is_older(&directory, moment))
}

/// Tells a file from one that took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl FileIdentity {
    pub(super) fn of(file: &Metadata) -> FileIdentity {
        let modified = (file.mtime(), file.mtime_nsec());
        FileIdentity { device: file.dev(), inode: file.ino(), size: file.len(), modified }
    }

    /// Whether this path still leads to this file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| FileIdentity::of(&found) == *self)
    }
}

/// By the time of the last change of any kind, which nobody can set back.
fn is_older(file: &Metadata, moment: SystemTime) -> bool {
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(file.ctime()), u32::try_from(file.ctime_nsec())) else {
        return false;
    };
    moment.duration_since(UNIX_EPOCH).is_ok_and(|moment| Duration::new(seconds, nanos) < moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        SystemTime::now()
    }

    #[test]
    fn a_file_that_is_replaced_or_reached_by_a_new_link_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (jar, other, link) = (folder.path().join("a.jar"), folder.path().join("b.jar"), folder.path().join("lib"));
        let start = now() - Duration::from_secs(60);
        fs::write(&jar, b"one").unwrap();
        fs::write(&other, b"two").unwrap();
        assert!(!is_unchanged_since(&jar, start) && is_unchanged_since(&jar, now() + Duration::from_secs(1)));
        // Of the same age as before, but a moment ago under another name.
        let old = now() - Duration::from_secs(100);
        fs::File::options().write(true).open(&other).unwrap().set_modified(old).unwrap();
        fs::rename(&other, &jar).unwrap();
        assert!(!is_unchanged_since(&jar, start));
        // The file itself is old: it belongs to the system.
        let system = Path::new("/etc/passwd");
        let age = fs::metadata(system).unwrap().ctime();
        let later = UNIX_EPOCH + Duration::from_secs(age.unsigned_abs() + 1);
        assert!(is_unchanged_since(system, later));
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        if later < start {
            assert!(!is_unchanged_since(&link.join("passwd"), start), "the link is new");
        }
        assert!(!is_unchanged_since(&folder.path().join("absent"), now() + Duration::from_secs(1)));
    }

    #[test]
    fn what_is_missing_may_have_been_there_if_its_directory_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("no/such/a.jar");
        assert!(!was_absent_at(&absent, now() - Duration::from_secs(60)));
        assert!(was_absent_at(&absent, now() + Duration::from_secs(1)));
    }
}
