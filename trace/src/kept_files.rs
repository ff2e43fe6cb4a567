//! Files are kept when a new one of the same name is about to be written: the old one is renamed, never replaced.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::write_target::WriteTarget;

/// Most earlier files of one name.
const MOST_EARLIER: u32 = 100_000;
/// Other processes may take the name at the same moment; more often than this means that something is wrong.
const ATTEMPTS: u32 = 100;

/// Writes a file whose content is complete as soon as the file has its name. An earlier file of this name is renamed; its new name is
/// returned. A symbolic link stays: the file is the one that it names. A device, a pipe or an open stream is written to as it is, and so
/// is an empty file that cannot be replaced, because its directory is read-only or the file is a mount point.
///
/// # Errors
/// When the file cannot be written, the earlier one cannot be kept, or a symbolic link must not be followed.
pub fn write_keeping_earlier(path: &Path, content: &[u8]) -> io::Result<Option<PathBuf>> {
    let path = &match WriteTarget::of(path)? {
        WriteTarget::File(path) => path,
        WriteTarget::Special(path) => return fs::write(path, content).map(|()| None),
        WriteTarget::Stream(mut stream) => return stream.write_all(content).map(|()| None),
    };
    match replace(path, content) {
        Err(error) if is_fixed(&error) => write_into_empty(path, content, error).map(|()| None),
        done => done,
    }
}

fn replace(path: &Path, content: &[u8]) -> io::Result<Option<PathBuf>> {
    let unfinished = &unfinished_name(path);
    let mut file = File::create_new(unfinished)?;
    let written = file.write_all(content).and_then(|()| publish(unfinished, path));
    written.inspect_err(|_| drop(fs::remove_file(unfinished)))
}

/// A name beside the path that nobody else uses: threads of this process get different numbers, because the clock may tell two of them the
/// same moment; processes in different containers may have the same number, but not at the same moment.
fn unfinished_name(path: &Path) -> PathBuf {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{nanos}-{number}.part", std::process::id()));
    PathBuf::from(name)
}

/// Whether no file can be created or renamed at this place, although the file that is there may be writable.
fn is_fixed(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

/// Writes into the file that is there if it is empty, so that nothing is lost; otherwise the file could not be replaced for this reason.
fn write_into_empty(path: &Path, content: &[u8], reason: io::Error) -> io::Result<()> {
    let Ok(mut file) = File::options().append(true).open(path) else { return Err(reason) };
    if file.metadata()?.len() > 0 {
        let text = format!(
            "{reason}. The file is not empty, so it is not overwritten. Empty it, or name a file in a directory that the JVM's user may \
             write to"
        );
        return Err(io::Error::new(reason.kind(), text));
    }
    file.write_all(content)
}

fn publish(unfinished: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let mut earlier = None;
    for _ in 0..ATTEMPTS {
        match rename_to_free(unfinished, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| earlier),
        }
        let is_empty = fs::metadata(path).is_ok_and(|found| found.len() == 0);
        let kept = if is_empty { remove_empty(path, unfinished)? } else { keep_earlier(path)? };
        earlier = kept.or(earlier);
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "other processes keep taking the name"))
}

/// Removes an empty file. Another process may put a complete file in its place at any moment; that one is kept like any earlier file.
fn remove_empty(path: &Path, unfinished: &Path) -> io::Result<Option<PathBuf>> {
    let mut aside = unfinished.as_os_str().to_owned();
    aside.push(".empty");
    let aside = Path::new(&aside);
    match rename_to_free(path, aside) {
        Ok(()) if fs::metadata(aside)?.len() > 0 => rename_to_number(aside, path),
        Ok(()) => fs::remove_file(aside).map(|()| None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Renames a file that is there to the next free of `NAME-1.EXT`, `NAME-2.EXT` and so on, and returns that name; `None` if there is no
/// file.
///
/// # Errors
/// When it cannot be renamed.
pub(crate) fn keep_earlier(path: &Path) -> io::Result<Option<PathBuf>> {
    rename_to_number(path, path)
}

/// Renames `file` to the next free number of `path`.
fn rename_to_number(file: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    for number in 1..=MOST_EARLIER {
        let kept = with_suffix(path, &format!("-{number}"));
        match rename_to_free(file, &kept) {
            Ok(()) => return Ok(Some(kept)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let text = format!("an earlier file of this name cannot be renamed to {}: {error}", kept.display());
                return Err(io::Error::new(error.kind(), text));
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many earlier files of this name"))
}

/// Renames a file unless the new name is taken, which is an error of kind `AlreadyExists`.
pub(crate) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system can do it in one step.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// The path with a suffix before the extension: `trace.jfr` and `-7` give `trace-7.jfr`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn earlier_files_are_numbered_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats.json");
        fs::write(&path, "").unwrap();
        for run in 0..4 {
            let kept = write_keeping_earlier(&path, format!("run {run}").as_bytes()).unwrap();
            let expected = (run > 0).then(|| folder.path().join(format!("stats-{run}.json")));
            assert_eq!(kept, expected, "an empty file holds nothing to keep");
        }
        let content = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(
            ["stats-1.json", "stats-2.json", "stats-3.json", "stats.json"].map(content),
            [0, 1, 2, 3].map(|run| format!("run {run}"))
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
        assert_eq!(write_keeping_earlier(Path::new("/dev/null"), b"figures").unwrap(), None);
        let (mut reader, writer) = std::io::pipe().unwrap();
        let pipe = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        assert_eq!(write_keeping_earlier(&pipe, b"figures").unwrap(), None);
        let mut figures = [0; 7];
        reader.read_exact(&mut figures).unwrap();
        assert_eq!(&figures, b"figures");
    }

    #[test]
    fn unfinished_files_never_have_the_same_name() {
        let names: std::collections::BTreeSet<_> =
            (0..10_000).map(|_| unfinished_name(Path::new("stats.json"))).collect();
        assert_eq!(names.len(), 10_000);
    }

    #[test]
    fn files_that_are_written_at_the_same_moment_are_all_kept() {
        for round in 0..40 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("stats.json");
            if round % 2 == 1 {
                fs::write(&path, "").unwrap();
            }
            let at_once = Barrier::new(8);
            std::thread::scope(|scope| {
                for number in 0..8 {
                    let (path, at_once) = (&path, &at_once);
                    scope.spawn(move || {
                        at_once.wait();
                        write_keeping_earlier(path, format!("{number}").as_bytes()).unwrap()
                    });
                }
            });
            let files = fs::read_dir(folder.path()).unwrap();
            let mut contents: Vec<_> = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
            contents.sort();
            assert_eq!(contents, ["0", "1", "2", "3", "4", "5", "6", "7"]);
        }
    }

    #[test]
    fn a_symbolic_link_stays_and_files_are_kept_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("disk")).unwrap();
        let link = folder.path().join("stats.json");
        symlink("disk/next", &link).unwrap();
        symlink("stats.json", folder.path().join("disk/next")).unwrap();
        for run in 0..3 {
            write_keeping_earlier(&link, format!("run {run}").as_bytes()).unwrap();
        }
        let content = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(["disk/stats-1.json", "disk/stats-2.json", "stats.json"].map(content), ["run 0", "run 1", "run 2"]);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        symlink("circle", folder.path().join("circle")).unwrap();
        assert!(write_keeping_earlier(&folder.path().join("circle"), b"x").is_err());
    }

    #[test]
    fn a_link_of_another_user_in_a_directory_for_everybody_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let (link, keys) = (folder.path().join("stats.json"), folder.path().join("authorized_keys"));
        fs::write(&keys, "keys").unwrap();
        symlink(&keys, &link).unwrap();
        // Only root can make the link one of another user. `write_target.rs` tests the rule itself.
        if lchown(&link, Some(12_345), None).is_ok() {
            let refused = write_keeping_earlier(&link, b"figures").unwrap_err().to_string();
            assert!(
                refused.contains("another user (number 12345)") && refused.contains("Remove the link"),
                "{refused}"
            );
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
            assert_eq!(fs::read_to_string(&keys).unwrap(), "keys");
            lchown(&link, Some(rustix::process::geteuid().as_raw()), None).unwrap();
        }
        write_keeping_earlier(&link, b"figures").unwrap();
        assert_eq!(fs::read_to_string(&keys).unwrap(), "figures");
    }

    #[test]
    fn the_file_of_an_open_stream_is_appended_to_and_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.log");
        let mut log = File::options().append(true).create(true).open(&path).unwrap();
        log.write_all(b"begins\n").unwrap();
        let link = folder.path().join("stats.json");
        symlink(format!("/dev/fd/{}", log.as_raw_fd()), &link).unwrap();
        assert_eq!(write_keeping_earlier(&link, b"figures\n").unwrap(), None);
        log.write_all(b"ends\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "begins\nfigures\nends\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn an_empty_file_that_cannot_be_replaced_is_written_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats.json");
        fs::write(&path, "").unwrap();
        let busy = || io::Error::from(io::ErrorKind::ResourceBusy);
        assert!(is_fixed(&busy()) && !is_fixed(&io::ErrorKind::StorageFull.into()));
        write_into_empty(&path, b"figures", busy()).unwrap();
        let refused = write_into_empty(&path, b"more", busy()).unwrap_err().to_string();
        assert!(refused.starts_with("resource busy. The file is not empty"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "figures");
        let missing = write_into_empty(&folder.path().join("missing"), b"x", busy()).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::ResourceBusy);
        // Root may write to any directory.
        fs::write(&path, "").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        assert_eq!(write_keeping_earlier(&path, b"figures").unwrap(), None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "figures");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_suffix_is_put_before_the_extension() {
        assert_eq!(with_suffix(Path::new("a/trace.jfr"), "-7"), Path::new("a/trace-7.jfr"));
        assert_eq!(with_suffix(Path::new("/v1.2/trace"), "-7"), Path::new("/v1.2/trace-7"));
    }
}
