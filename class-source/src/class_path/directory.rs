//! A directory of class files.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::ClassEntry;
use crate::error::{Error, ErrorKind};

#[derive(Debug)]
pub(super) struct Directory {
    label: String,
    root: PathBuf,
}

impl Directory {
    pub(super) fn new(root: &Path) -> Directory {
        Directory { label: root.display().to_string(), root: root.to_path_buf() }
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn has(&self, internal_name: &str) -> bool {
        self.path_of(internal_name).is_some_and(|path| path.is_file())
    }

    /// `None` if no class has this name: one with `..` or a leading `/` would lead out of the directory.
    fn path_of(&self, internal_name: &str) -> Option<PathBuf> {
        let relative = PathBuf::from(format!("{internal_name}.class"));
        let is_inside = relative.components().all(|component| matches!(component, Component::Normal(_)));
        is_inside.then(|| self.root.join(relative))
    }

    pub(super) fn find(&self, internal_name: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(path) = self.path_of(internal_name) else { return Ok(None) };
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(Error::new(path, ErrorKind::Io(error))),
        }
    }

    pub(super) fn for_each<E: From<Error>>(
        &self,
        visit: &mut impl FnMut(&ClassEntry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pending = vec![self.root.clone()];
        while let Some(directory) = pending.pop() {
            for path in sorted_entries(&directory)? {
                // Links to directories are not followed: they may lead back up.
                if path.is_dir() && !path.is_symlink() {
                    pending.push(path);
                } else if path.extension().is_some_and(|extension| extension == "class") {
                    let bytes = fs::read(&path).map_err(|error| Error::new(&path, ErrorKind::Io(error)))?;
                    let relative = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy();
                    visit(&ClassEntry { container: &self.label, path: &relative, release: None, bytes: &bytes })?;
                }
            }
        }
        Ok(())
    }
}

fn sorted_entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let fail = |error| Error::new(directory, ErrorKind::Io(error));
    let entries = fs::read_dir(directory).map_err(fail)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>().map_err(fail)?;
    paths.sort();
    Ok(paths)
}
