//! The class path of an application as the JVM's own loader follows it: which class file it would find, told without asking it.
//!
//! What the loader does and where that is known (`jdk.internal.loader.URLClassPath`, `java.util.jar.JarFile`, JDK 11 to 25): the first
//! container with an entry of that name wins; what a jar names as `Class-Path` stands right behind it; of a jar that says
//! `Multi-Release: true` the newest variant for this release counts; of two entries with one name the later; what is not there or
//! cannot be opened is left out. Where this reader is not sure to see the same as the loader, it answers nothing for that
//! container and for all behind it.

mod jar;
mod manifest;

use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use jar::{Entry, Inflater, Jar, JarFile};

/// The first release whose loader pays no heed to `META-INF/INDEX.LIST`.
const FIRST_WITHOUT_INDEX: u16 = 18;

/// The containers of a class path in the order of the search, with an index over all classes of the jars.
#[derive(Debug)]
pub struct ApplicationClassPath {
    containers: Vec<Container>,
    /// By the hash of a class's name: the first jar with it, and where it stands there. A name that is asked for can only
    /// collide with another by accident; whoever gets the class file sees its name in it.
    classes: FxHashMap<u64, Place>,
    inflater: Mutex<Inflater>,
}

#[derive(Debug)]
enum Container {
    Jar(JarFile),
    Directory(PathBuf),
    /// Only the loader knows what it finds there.
    Unsure,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    container: u32,
    entry: Entry,
}

/// An element of the path that is still to be opened.
struct Element {
    path: PathBuf,
    /// Elements of the boot loader's path are taken as they are, without a look at the manifest.
    plain: bool,
    /// What a manifest names is a directory exactly if it ends with a slash.
    is_directory: Option<bool>,
}

impl ApplicationClassPath {
    /// Opens the jars and directories of a class path (`java.class.path`), behind those that were appended to the boot loader's, for
    /// a JVM of this feature release. What cannot be read is no error: [`find`](Self::find) then answers less.
    pub fn open(appended_to_boot: &[PathBuf], class_path: &[PathBuf], release: u16) -> ApplicationClassPath {
        let element = |plain| move |path: &PathBuf| Element { path: path.clone(), plain, is_directory: None };
        let mut pending: Vec<Element> =
            appended_to_boot.iter().map(element(true)).chain(class_path.iter().map(element(false))).rev().collect();
        let (containers, classes) = (Vec::new(), FxHashMap::default());
        let mut opened = ApplicationClassPath { containers, classes, inflater: Mutex::default() };
        let mut seen = FxHashSet::default();
        while let Some(element) = pending.pop() {
            if seen.insert(element.path.clone()) {
                opened.add(element, release, &mut pending);
            }
        }
        opened
    }

    fn add(&mut self, element: Element, release: u16, pending: &mut Vec<Element>) {
        // The JVM and this reader need not agree how other names are written as bytes.
        let Some(text) = element.path.to_str().filter(|text| text.is_ascii()) else { return self.unsure() };
        let path = if text.is_empty() { Path::new(".") } else { &element.path };
        if element.is_directory.unwrap_or_else(|| path.is_dir()) {
            return self.containers.push(Container::Directory(path.to_path_buf()));
        }
        let inflater = self.inflater.get_mut().unwrap_or_else(PoisonError::into_inner);
        match Jar::open(path, if element.plain { 0 } else { release }, inflater) {
            Ok(jar) => {
                let heeds_index = release < FIRST_WITHOUT_INDEX && !element.plain;
                let index = jar.index.as_ref().filter(|_| heeds_index);
                if index.is_some_and(|index| !manifest::index_is_idle(path, index, &jar.manifest)) {
                    return self.unsure();
                }
                let named = if element.plain { Some(Vec::new()) } else { manifest::class_path(path, &jar.manifest) };
                self.add_jar(jar);
                match named {
                    Some(named) => pending.extend(named.into_iter().rev().map(|(path, is_directory)| Element {
                        path,
                        plain: false,
                        is_directory: Some(is_directory),
                    })),
                    None => self.unsure(),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.unsure(),
        }
    }

    fn add_jar(&mut self, jar: Jar) {
        let container = self.containers.len() as u32;
        for (name, entry) in jar.classes {
            self.classes.entry(name).or_insert(Place { container, entry });
        }
        self.containers.push(Container::Jar(jar.file));
    }

    fn unsure(&mut self) {
        self.containers.push(Container::Unsure);
    }

    /// The class file that the loader would find. `None` if there is none, or if only the loader can tell.
    pub fn find(&self, internal_name: &[u8]) -> Option<Vec<u8>> {
        let place = self.classes.get(&hash_of(internal_name)).copied();
        let first_jar = place.map_or(self.containers.len(), |place| place.container as usize);
        for container in self.containers.iter().take(first_jar) {
            match container {
                Container::Jar(_) => {}
                Container::Unsure => return None,
                Container::Directory(root) => match read_in_directory(root, internal_name) {
                    Ok(Some(bytes)) => return Some(bytes),
                    Ok(None) => {}
                    Err(_) => return None,
                },
            }
        }
        match self.containers.get(first_jar)? {
            Container::Jar(file) => {
                let mut inflater = self.inflater.lock().unwrap_or_else(PoisonError::into_inner);
                file.read(&place?.entry, &mut inflater).ok()
            }
            Container::Directory(_) | Container::Unsure => None,
        }
    }

    /// How many classes the index of the jars holds.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }
}

fn hash_of(internal_name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(internal_name);
    hasher.finish()
}

fn read_in_directory(root: &Path, internal_name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let relative = std::str::from_utf8(internal_name).ok().filter(|name| name.is_ascii());
    let relative = PathBuf::from(format!("{}.class", relative.ok_or(io::ErrorKind::InvalidInput)?));
    // A name with `..` or a leading `/` would lead out of the directory; no class is called so.
    if !relative.components().all(|component| matches!(component, Component::Normal(_))) {
        return Ok(None);
    }
    match fs::read(root.join(relative)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
