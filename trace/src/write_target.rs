//! Where a configured file name leads. Symbolic links are followed by the kernel's own rule, and a stream of the process stays a stream.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// As many symbolic links as the kernel follows.
const MOST_LINKS: u32 = 40;
/// Of a directory like `/tmp`: every user may create files, and nobody may rename those of others.
const STICKY_AND_WORLD_WRITABLE: u32 = 0o1002;

/// What a configured file name leads to.
#[derive(Debug)]
pub(crate) enum WriteTarget {
    /// A file, or the place of a file that is yet to be created. The path is no symbolic link.
    File(PathBuf),
    /// A device or a named pipe, which is opened as it is.
    Special(PathBuf),
    /// An open stream, as `/dev/stderr` names it. If it was redirected to a file, others write to that file as well.
    Stream(File),
}

impl WriteTarget {
    /// Returns what a name leads to through symbolic links.
    ///
    /// # Errors
    /// When a link cannot be read or must not be followed, links form a circle, or a stream is closed.
    pub(crate) fn of(path: &Path) -> io::Result<WriteTarget> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            if let Some(stream) = open_stream(&path)? {
                return Ok(WriteTarget::Stream(stream));
            }
            let Ok(found) = fs::symlink_metadata(&path) else { return Ok(WriteTarget::File(path)) };
            if !found.is_symlink() {
                return Ok(if found.is_file() { WriteTarget::File(path) } else { WriteTarget::Special(path) });
            }
            check_link(&path, &found)?;
            let target = fs::read_link(&path)?;
            path = folder_of(&path).join(target);
        }
        Err(io::Error::other("too many symbolic links"))
    }
}

/// Returns the stream that a name under `/proc/.../fd` stands for. The standard streams are duplicated, so that the place at which the next
/// bytes are written is shared with the application.
fn open_stream(path: &Path) -> io::Result<Option<File>> {
    let Ok(folder) = folder_of(path).canonicalize() else { return Ok(None) };
    if !folder.starts_with("/proc") || !folder.ends_with("fd") {
        return Ok(None);
    }
    let is_own = Path::new("/proc/self").canonicalize().is_ok_and(|own| folder.starts_with(own));
    let stream = match path.file_name().and_then(|name| name.to_str()) {
        Some("1") if is_own => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        Some("2") if is_own => File::from(io::stderr().as_fd().try_clone_to_owned()?),
        _ => File::options().read(true).append(true).open(path)?,
    };
    Ok(Some(stream))
}

/// Fails for a link that the kernel does not follow where `fs.protected_symlinks` is set: another user may have created it in order to have
/// a file of this user replaced.
fn check_link(path: &Path, link: &Metadata) -> io::Result<()> {
    let folder = folder_of(path);
    let found = fs::metadata(&folder)?;
    let user = rustix::process::geteuid().as_raw();
    if may_follow(link.uid(), (found.mode(), found.uid()), user) {
        return Ok(());
    }
    let text = format!(
        "{} is a symbolic link that another user (number {}) created in {}, where every user may create files; it is not followed, because \
         it may lead to a file that must not be replaced. Remove the link, or name a file in a directory that only you may write to",
        path.display(),
        link.uid(),
        folder.display(),
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Whether the kernel lets a user follow a link of this owner in a directory with this mode and owner.
fn may_follow(link_owner: u32, (folder_mode, folder_owner): (u32, u32), user: u32) -> bool {
    folder_mode & STICKY_AND_WORLD_WRITABLE != STICKY_AND_WORLD_WRITABLE
        || link_owner == user
        || link_owner == folder_owner
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_by_the_kernels_rule() {
        let (victim, attacker, root) = (1000, 1001, 0);
        assert!(!may_follow(attacker, (0o41777, root), victim), "somebody else's link in /tmp");
        assert!(may_follow(victim, (0o41777, root), victim), "the user's own");
        assert!(may_follow(root, (0o41777, root), victim), "that of the directory's owner");
        assert!(
            may_follow(attacker, (0o40777, root), victim),
            "without the sticky bit everybody may rename every file"
        );
        assert!(may_follow(attacker, (0o41755, attacker), victim), "only its owner may write to the directory");
    }
}
