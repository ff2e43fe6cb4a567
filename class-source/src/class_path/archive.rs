//! A jar, from a file or from inside another jar.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zip::ZipArchive;

use super::ClassEntry;
use super::entry_name::{class_name, is_library};
use crate::error::{Error, ErrorKind};

trait Input: Read + Seek + Send {}
impl<T: Read + Seek + Send> Input for T {}

/// The limit for one entry; class files and nested jars are far below, only a hostile archive is not.
const LARGEST_ENTRY: u64 = 1 << 30;

pub(super) struct Archive {
    label: String,
    /// Internal class name -> entry, base entries only.
    base_classes: HashMap<Box<str>, usize>,
    zip: Mutex<ZipArchive<Box<dyn Input>>>,
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Archive, Error> {
        let file = File::open(path).map_err(|error| Error::new(path, ErrorKind::Io(error)))?;
        Archive::read(path.display().to_string(), Box::new(BufReader::new(file)))
    }

    fn read(label: String, input: Box<dyn Input>) -> Result<Archive, Error> {
        let zip = ZipArchive::new(input).map_err(|error| Error::new(&label, ErrorKind::Archive(error)))?;
        let mut base_classes = HashMap::new();
        for entry in 0..zip.len() {
            // An entry whose name is not UTF-8 cannot be asked for by a class name.
            let Some(Ok(name)) = zip.name_for_index(entry) else { continue };
            if let Some(class) = class_name(&name).filter(|class| class.release.is_none()) {
                base_classes.entry(class.internal_name.into()).or_insert(entry);
            }
        }
        Ok(Archive { label, base_classes, zip: Mutex::new(zip) })
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// The libraries inside this jar, by name: the order of a launcher's class path is that of the entries.
    pub(super) fn nested(&self) -> Result<Vec<Archive>, Error> {
        let mut libraries = Vec::new();
        for (entry, name) in self.entry_names().into_iter().filter(|(_, name)| is_library(name)) {
            let bytes = self.content(entry)?;
            libraries.push(Archive::read(format!("{}!/{name}", self.label), Box::new(Cursor::new(bytes)))?);
        }
        Ok(libraries)
    }

    pub(super) fn find(&self, internal_name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.base_classes.get(internal_name).map(|&entry| self.content(entry)).transpose()
    }

    pub(super) fn has(&self, internal_name: &str) -> bool {
        self.base_classes.contains_key(internal_name)
    }

    /// The descriptor of the module; that of a multi-release jar may be in one of its versions only.
    pub(super) fn module_descriptor(&self) -> Result<Option<Vec<u8>>, Error> {
        if let Some(descriptor) = self.find("module-info")? {
            return Ok(Some(descriptor));
        }
        let is_descriptor = |name: &str| class_name(name).is_some_and(|class| class.internal_name == "module-info");
        let entry = self.entry_names().into_iter().find(|(_, name)| is_descriptor(name));
        entry.map(|(entry, _)| self.content(entry)).transpose()
    }

    pub(super) fn for_each<E: From<Error>>(
        &self,
        visit: &mut impl FnMut(&ClassEntry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (entry, path) in self.entry_names() {
            if let Some(class) = class_name(&path) {
                let bytes = self.content(entry)?;
                visit(&ClassEntry { container: &self.label, path: &path, release: class.release, bytes: &bytes })?;
            }
        }
        Ok(())
    }

    fn entry_names(&self) -> Vec<(usize, String)> {
        let zip = self.zip();
        let name = |entry| zip.name_for_index(entry).and_then(Result::ok).map(|name| (entry, name.into_owned()));
        (0..zip.len()).filter_map(name).collect()
    }

    fn content(&self, entry: usize) -> Result<Vec<u8>, Error> {
        let mut zip = self.zip();
        let file = zip.by_index(entry).map_err(|error| Error::new(&self.label, ErrorKind::Archive(error)))?;
        if file.size() > LARGEST_ENTRY {
            return Err(Error::new(&self.label, ErrorKind::Corrupt("an entry of an absurd size")));
        }
        // The size is only what the jar claims, so it bounds the reservation as well.
        let mut bytes = Vec::with_capacity(file.size().min(1 << 20) as usize);
        let read = file.take(LARGEST_ENTRY).read_to_end(&mut bytes);
        read.map_err(|error| Error::new(&self.label, ErrorKind::Io(error)))?;
        Ok(bytes)
    }

    fn zip(&self) -> MutexGuard<'_, ZipArchive<Box<dyn Input>>> {
        // A panic while reading leaves at worst a wrong position, and each read seeks first.
        self.zip.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("label", &self.label).field("classes", &self.base_classes.len()).finish()
    }
}
