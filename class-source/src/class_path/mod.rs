//! An ordered list of jars and directories, searched like a class path: the first container that has a class wins.
//!
//! Executable jars bring their own: `BOOT-INF/classes` and `WEB-INF/classes` are roots of their own, and the jars in
//! `BOOT-INF/lib` and `WEB-INF/lib` follow the jar that holds them. Of a multi-release jar [`ClassPath::find`] sees
//! the base entries; [`ClassPath::for_each`] visits the others too and says which release they are for.

mod archive;
mod directory;
mod entry_name;

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};
use archive::Archive;
use directory::Directory;

/// Jars and directories, opened.
#[derive(Debug)]
pub struct ClassPath {
    containers: Vec<Container>,
}

#[derive(Debug)]
enum Container {
    Archive(Archive),
    Directory(Directory),
}

/// A class that [`ClassPath::for_each`] visits.
#[derive(Debug)]
pub struct ClassEntry<'a> {
    /// The jar or directory; for a jar inside a jar `outer.jar!/BOOT-INF/lib/inner.jar`.
    pub container: &'a str,
    /// The name of the entry below the container.
    pub path: &'a str,
    /// The release of a versioned entry (`META-INF/versions/N`), `None` for a base entry.
    pub release: Option<u16>,
    /// The class file.
    pub bytes: &'a [u8],
}

impl ClassPath {
    /// Opens every container: the index of each jar is read now, its classes when asked for.
    pub fn open(containers: &[PathBuf]) -> Result<ClassPath, Error> {
        let mut opened = Vec::new();
        for path in containers {
            if path.is_dir() {
                opened.push(Container::Directory(Directory::new(path)));
            } else {
                open_archive(path, &mut opened)?;
            }
        }
        Ok(ClassPath { containers: opened })
    }

    /// The bytes of the class with this internal name, from the first container that has it.
    pub fn find(&self, internal_name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, Error> {
        let Ok(name) = std::str::from_utf8(internal_name.as_ref()) else { return Ok(None) };
        for container in &self.containers {
            let found = match container {
                Container::Archive(archive) => archive.find(name)?,
                Container::Directory(directory) => directory.find(name)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the label of the first container that has the class with this internal name, as [`ClassPath::containers`] gives it.
    pub fn container_of(&self, internal_name: impl AsRef<[u8]>) -> Option<&str> {
        let name = std::str::from_utf8(internal_name.as_ref()).ok()?;
        self.containers.iter().find_map(|container| match container {
            Container::Archive(archive) => archive.has(name).then(|| archive.label()),
            Container::Directory(directory) => directory.has(name).then(|| directory.label()),
        })
    }

    /// Returns the `module-info.class` of the container with this label.
    pub fn module_descriptor(&self, container: &str) -> Result<Option<Vec<u8>>, Error> {
        for candidate in &self.containers {
            match candidate {
                Container::Archive(archive) if archive.label() == container => return archive.module_descriptor(),
                Container::Directory(directory) if directory.label() == container => {
                    return directory.find("module-info");
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Visits every class of every container, those that another one hides included. An error of `visit` ends it.
    pub fn for_each<E: From<Error>>(&self, mut visit: impl FnMut(&ClassEntry<'_>) -> Result<(), E>) -> Result<(), E> {
        (0..self.containers.len()).try_for_each(|number| self.for_each_of(number, &mut visit))
    }

    /// Visits every class of the container with this number: its position in [`ClassPath::containers`].
    pub fn for_each_of<E: From<Error>>(
        &self,
        number: usize,
        mut visit: impl FnMut(&ClassEntry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.containers.get(number) {
            Some(Container::Archive(archive)) => archive.for_each(&mut visit),
            Some(Container::Directory(directory)) => directory.for_each(&mut visit),
            None => Ok(()),
        }
    }

    /// The containers in the order of the search, nested jars included.
    pub fn containers(&self) -> impl Iterator<Item = &str> {
        self.containers.iter().map(|container| match container {
            Container::Archive(archive) => archive.label(),
            Container::Directory(directory) => directory.label(),
        })
    }
}

fn open_archive(path: &Path, opened: &mut Vec<Container>) -> Result<(), Error> {
    if !path.is_file() {
        let missing = std::fs::metadata(path).err().map_or(ErrorKind::NotAClassContainer, ErrorKind::Io);
        return Err(Error::new(path, missing));
    }
    let archive = Archive::open(path)?;
    let nested = archive.nested()?;
    opened.push(Container::Archive(archive));
    opened.extend(nested.into_iter().map(Container::Archive));
    Ok(())
}
