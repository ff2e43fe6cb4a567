//! The file that keeps claims for the next start. Several processes may share it: each adds and removes its own claims under the lock of the directory,
//! and replaces the file as a whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use settings::{PinnedClaim, claims_text, parse_claims};

use super::directory_lock;
use crate::jvm::effective_user;

/// Larger files are not read: no person makes that many claims.
const LARGEST: u64 = 1 << 20;

/// The file with the claims of `instr probe --pin`.
#[derive(Debug)]
pub(crate) struct ClaimsFile {
    path: PathBuf,
    /// The user to whom it must belong.
    owner: u32,
}

impl ClaimsFile {
    /// The file at this path.
    pub(crate) fn new(path: &str) -> ClaimsFile {
        // As a whole: people read it in messages.
        let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        ClaimsFile { path, owner: effective_user() }
    }

    /// Its path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the claims in it, none if there is no file; or why it cannot be used.
    pub(crate) fn read(&self) -> Result<Vec<PinnedClaim>, String> {
        let Some(file) = self.open()? else { return Ok(Vec::new()) };
        let mut bytes = Vec::new();
        file.take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.wrong(&format!("cannot be read: {error}")))?;
        if bytes.len() as u64 > LARGEST {
            return Err(self.wrong(&format!("has more than {LARGEST} bytes: it is not one that instr wrote")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            self.wrong(&format!("is no text in UTF-8 (byte {} is not)", error.utf8_error().valid_up_to()))
        })?;
        parse_claims(&text, &self.path.to_string_lossy())
            .map_err(|problems| problems.iter().map(|problem| format!("{problem}\n")).collect())
    }

    /// Adds a claim unless one in the file wants the same.
    pub(crate) fn add(&self, claim: PinnedClaim) -> Result<(), String> {
        self.change(|claims| {
            let is_new = !claims.iter().any(|other| other.wants_the_same(&claim));
            claims.extend(is_new.then_some(claim));
            is_new
        })
    }

    /// Removes the claim that wants the same, if it is there.
    pub(crate) fn remove(&self, claim: &PinnedClaim) -> Result<(), String> {
        self.change(|claims| {
            let before = claims.len();
            claims.retain(|other| !other.wants_the_same(claim));
            claims.len() < before
        })
    }

    /// Opens the file if it is as it must be.
    fn open(&self) -> Result<Option<File>, String> {
        // A pipe would keep the start waiting.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) if self.path.is_symlink() => return Err(self.wrong("is a link: name the file itself in [claims]")),
            Err(error) => return Err(self.wrong(&format!("cannot be read: {error}"))),
        };
        let found = file.metadata().map_err(|error| self.wrong(&format!("cannot be read: {error}")))?;
        if !found.is_file() {
            return Err(self.wrong("is no ordinary file"));
        }
        if found.uid() != self.owner {
            let (user, owner) = (found.uid(), self.owner);
            return Err(self.wrong(&format!("belongs to user {user}, and the JVM runs as user {owner}: `chown` it")));
        }
        if found.mode() & 0o022 != 0 {
            let mode = found.mode() & 0o777;
            return Err(self.wrong(&format!("can be written by others (mode {mode:o}): `chmod go-w` it")));
        }
        Ok(Some(file))
    }

    /// Changes the claims in the file, if `change` returns that it did. A file that cannot be read stays as it is.
    fn change(&self, change: impl FnOnce(&mut Vec<PinnedClaim>) -> bool) -> Result<(), String> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let _lock = directory_lock::lock(directory)
            .map_err(|error| self.wrong(&format!("cannot be written, its directory cannot be locked: {error}")))?;
        let mut claims = self.read()?;
        if !change(&mut claims) {
            return Ok(());
        }
        let text = claims_text(&claims);
        // What could not be read at the next start is not written.
        parse_claims(&text, "the new claims file")
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<String>())?;
        self.replace(directory, &text).map_err(|error| self.wrong(&format!("cannot be written: {error}")))
    }

    fn replace(&self, directory: &Path, text: &str) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = directory.join(format!(".{name}.new"));
        // A remnant of a process that was killed: no other process writes while this one holds the lock.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let replaced = written.and_then(|()| std::fs::rename(&temporary, &self.path));
        if replaced.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        replaced
    }

    fn wrong(&self, what: &str) -> String {
        format!("the claims file {} {what}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn claim(methods: &str) -> PinnedClaim {
        PinnedClaim { methods: Some(methods.to_owned()), ..PinnedClaim::default() }
    }

    fn methods(file: &ClaimsFile) -> Vec<String> {
        file.read().unwrap().into_iter().filter_map(|claim| claim.methods).collect()
    }

    fn in_folder(folder: &Path) -> ClaimsFile {
        ClaimsFile::new(&folder.join("claims.toml").to_string_lossy())
    }

    #[test]
    fn claims_are_added_once_and_removed_and_nobody_else_reads_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(folder.path());
        assert_eq!(methods(&file), [""; 0]);
        for name in ["a.B.c", "a.B.d", "a.B.c"] {
            file.add(claim(name)).unwrap();
        }
        assert_eq!(methods(&file), ["a.B.c", "a.B.d"]);
        assert_eq!(file.path.metadata().unwrap().mode() & 0o777, 0o600);
        file.remove(&claim("a.B.c")).unwrap();
        file.remove(&claim("a.B.c")).unwrap();
        assert_eq!(methods(&file), ["a.B.d"]);
        // A remnant of a process that was killed while it wrote.
        std::fs::write(folder.path().join(".claims.toml.new"), "[[cl").unwrap();
        file.add(claim("a.B.e")).unwrap();
        assert_eq!(methods(&file), ["a.B.d", "a.B.e"]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn processes_that_share_the_file_lose_no_claim_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for process in 0..4 {
                let file = in_folder(folder.path());
                scope.spawn(move || (0..10).for_each(|n| file.add(claim(&format!("a.P{process}.m{n}"))).unwrap()));
            }
        });
        assert_eq!(methods(&in_folder(folder.path())).len(), 40);
    }

    /// Asserts that a file is refused with this reason, for reading and writing, and stays as it is.
    fn assert_refused(file: &ClaimsFile, reason: &str) {
        let before = std::fs::read(&file.path);
        let errors = [file.read().unwrap_err(), file.add(claim("a.B.c")).unwrap_err()];
        assert!(errors.iter().all(|error| error.contains(reason)), "{errors:?}");
        assert!(errors.iter().all(|error| error.contains("claims.toml")), "{errors:?}");
        assert_eq!(std::fs::read(&file.path).ok(), before.ok());
    }

    #[test]
    fn a_file_that_others_may_have_written_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(folder.path());
        let own = folder.path().join("own.toml");
        std::fs::write(&own, "[[claim]]\nmethods = 'a.B.x'\n").unwrap();
        symlink(&own, &file.path).unwrap();
        assert_refused(&file, "is a link: name the file itself in [claims]");
        std::fs::rename(&own, &file.path).unwrap();
        for (mode, reason) in [(0o620, "can be written by others (mode 620)"), (0o602, "mode 602")] {
            std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_refused(&file, reason);
        }
        std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(methods(&file), ["a.B.x"]);
        let of_another = ClaimsFile { owner: file.owner + 1, path: file.path.clone() };
        assert_refused(&of_another, "and the JVM runs as user");
        std::fs::remove_file(&file.path).unwrap();
        std::fs::create_dir(&file.path).unwrap();
        assert_refused(&file, "is no ordinary file");
    }

    #[test]
    fn a_file_that_is_none_of_ours_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = in_folder(folder.path());
        let cases = [
            (b"methods: a.B.c\n".to_vec(), "claims.toml:1:"),
            (b"[[claim]]\nmethods = 'a.B;.c'\n".to_vec(), "claims.toml:2:15"),
            (b"\xff\xfe".to_vec(), "is no text in UTF-8 (byte 0 is not)"),
            (vec![b'#'; LARGEST as usize + 1], "has more than 1048576 bytes"),
        ];
        for (content, reason) in cases {
            std::fs::write(&file.path, content).unwrap();
            std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert_refused(&file, reason);
        }
    }

    #[test]
    fn a_directory_that_cannot_be_written_or_is_missing_has_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let missing = in_folder(&folder.path().join("missing"));
        let error = missing.add(claim("a.B.c")).unwrap_err();
        assert!(error.contains("cannot be written") && error.contains("No such file"), "{error}");
        // /proc is read-only, also for root.
        let read_only = ClaimsFile::new("/proc/self/claims.toml");
        assert_eq!(read_only.read(), Ok(Vec::new()));
        let error = read_only.add(claim("a.B.c")).unwrap_err();
        assert!(error.starts_with("the claims file /proc/self/claims.toml cannot be written"), "{error}");
    }
}
