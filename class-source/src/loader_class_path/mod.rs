//! A class path as a loader of the JVM follows it: which class file it would find, without asking it.
//!
//! What the application's loader and `java.net.URLClassLoader` do and where that is known (`jdk.internal.loader.URLClassPath`,
//! `java.util.jar.JarFile`, JDK 11 to 25): the first container with an entry of that name wins; what a jar names as `Class-Path` is searched
//! right after it; of a jar that says `Multi-Release: true` the newest variant for this release counts; of two entries with one
//! name the later; what is not there or cannot be opened is left out. Where this reader is not sure to see the same as the
//! loader, it answers nothing for that container and for all after it.

mod inflater;
mod jar;
mod manifest;
mod unchanged;

use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

pub use inflater::Beginning;
use inflater::Inflater;
use jar::{Entry, Jar, JarFile};

/// The first release whose loader pays no heed to `META-INF/INDEX.LIST`.
const FIRST_WITHOUT_INDEX: u16 = 18;

/// So many threads that read at once leave their memory for the next one.
const MOST_INFLATERS: usize = 8;

/// The containers of a class path in the order of the search, with an index over all classes of the jars.
#[derive(Debug)]
pub struct LoaderClassPath {
    containers: Vec<Container>,
    /// By the hash of a class's name: the first jar with it, and its place there. A name that is asked for can only
    /// collide with another by accident; the class file itself has its name.
    classes: FxHashMap<u64, Place>,
    inflaters: Mutex<Vec<Inflater>>,
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

/// An element of a class path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathElement {
    /// Of the boot loader: a jar or a directory, without a look at the manifest.
    Boot(PathBuf),
    /// Of `java.class.path`: a jar or a directory.
    Plain(PathBuf),
    /// A jar.
    Jar(PathBuf),
    /// A directory.
    Directory(PathBuf),
    /// Something that only the loader can read.
    Other,
}

/// The JVM in which the loader works.
#[derive(Clone, Copy, Debug)]
pub struct LoaderTraits {
    /// Feature release of the JDK.
    pub release: u16,
    /// The loader has opened nothing before. A jar that was changed later than this is left to the loader, which may have an earlier file
    /// open.
    pub opened_after: SystemTime,
    /// Whether what is missing now may have been there when the loader looked, as with the jars of plug-ins that are added and removed.
    pub jars_may_vanish: bool,
}

/// What is found under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<R> {
    /// This was seen in the class file.
    Class(R),
    /// The loader finds no such class.
    Absent,
    /// Only the loader knows.
    Unsure,
}

impl LoaderClassPath {
    /// Opens the jars and directories of a class path. What cannot be read is no error: [`find`](Self::find) then answers less.
    pub fn open(elements: Vec<PathElement>, traits: LoaderTraits) -> LoaderClassPath {
        let mut opened =
            LoaderClassPath { containers: Vec::new(), classes: FxHashMap::default(), inflaters: Mutex::default() };
        let mut inflater = Inflater::default();
        let mut pending = elements;
        pending.reverse();
        let mut seen = FxHashSet::default();
        while let Some(element) = pending.pop() {
            match element.path() {
                Some(path) if !seen.insert(path.to_path_buf()) => {}
                _ => opened.add(&element, traits, &mut pending, &mut inflater),
            }
        }
        opened
    }

    fn add(
        &mut self,
        element: &PathElement,
        traits: LoaderTraits,
        pending: &mut Vec<PathElement>,
        inflater: &mut Inflater,
    ) {
        // The JVM and this reader need not agree how other names are written as bytes.
        let text = element.path().and_then(Path::to_str).filter(|text| text.is_ascii());
        let Some(path) = text.map(|text| Path::new(if text.is_empty() { "." } else { text })) else {
            return self.unsure();
        };
        let is_directory = match element {
            PathElement::Boot(_) | PathElement::Plain(_) => path.is_dir(),
            PathElement::Directory(_) => true,
            PathElement::Jar(_) | PathElement::Other => false,
        };
        if is_directory {
            return self.containers.push(Container::Directory(path.to_path_buf()));
        }
        let is_boot = matches!(element, PathElement::Boot(_));
        match Jar::open(path, if is_boot { 0 } else { traits.release }, inflater) {
            Ok(_) if !unchanged::is_unchanged_since(path, traits.opened_after) => self.unsure(),
            Ok(jar) => self.add_jar(path, jar, is_boot, traits.release, pending),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if traits.jars_may_vanish && !unchanged::was_absent_at(path, traits.opened_after) {
                    self.unsure();
                }
            }
            Err(_) => self.unsure(),
        }
    }

    fn add_jar(&mut self, path: &Path, jar: Jar, is_boot: bool, release: u16, pending: &mut Vec<PathElement>) {
        let heeds_index = release < FIRST_WITHOUT_INDEX && !is_boot;
        let index = jar.index.as_ref().filter(|_| heeds_index);
        if index.is_some_and(|index| !manifest::index_is_idle(path, index, &jar.manifest)) {
            return self.unsure();
        }
        let named = if is_boot { Some(Vec::new()) } else { manifest::class_path(path, &jar.manifest) };
        let container = self.containers.len() as u32;
        self.classes.reserve(jar.classes.len());
        for (name, entry) in jar.classes.into_iter().rev() {
            self.classes.entry(name).or_insert(Place { container, entry });
        }
        self.containers.push(Container::Jar(jar.file));
        match named {
            Some(named) => pending.extend(named.into_iter().rev()),
            None => self.unsure(),
        }
    }

    fn unsure(&mut self) {
        self.containers.push(Container::Unsure);
    }

    /// Shows `look` longer and longer beginnings of the class file that the loader would find, until it has seen enough.
    pub fn find<R>(&self, internal_name: &[u8], mut look: impl FnMut(Beginning<'_>) -> Option<R>) -> Found<R> {
        let sure = |seen: Option<R>| seen.map_or(Found::Unsure, Found::Class);
        let place = self.classes.get(&hash_of(internal_name)).copied();
        let first_jar = place.map_or(self.containers.len(), |place| place.container as usize);
        for container in self.containers.iter().take(first_jar) {
            match container {
                Container::Jar(_) => {}
                Container::Unsure => return Found::Unsure,
                Container::Directory(root) => match read_in_directory(root, internal_name) {
                    Ok(Some(bytes)) => return sure(look(Beginning { bytes: &bytes, is_whole: true })),
                    Ok(None) => {}
                    Err(_) => return Found::Unsure,
                },
            }
        }
        match (self.containers.get(first_jar), place) {
            (Some(Container::Jar(file)), Some(_)) if !file.is_in_place() => Found::Unsure,
            (Some(Container::Jar(file)), Some(place)) => {
                let mut inflater = self.inflaters().pop().unwrap_or_default();
                let seen = file.read(&place.entry, &mut inflater, look);
                let mut inflaters = self.inflaters();
                if inflaters.len() < MOST_INFLATERS {
                    inflaters.push(inflater);
                }
                sure(seen.ok().flatten())
            }
            _ => Found::Absent,
        }
    }

    fn inflaters(&self) -> std::sync::MutexGuard<'_, Vec<Inflater>> {
        self.inflaters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many classes the index of the jars holds.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// How many jars are held open.
    pub fn jar_count(&self) -> usize {
        self.containers.iter().filter(|container| matches!(container, Container::Jar(_))).count()
    }
}

impl PathElement {
    fn path(&self) -> Option<&Path> {
        match self {
            PathElement::Boot(path)
            | PathElement::Plain(path)
            | PathElement::Jar(path)
            | PathElement::Directory(path) => Some(path),
            PathElement::Other => None,
        }
    }
}

fn hash_of(internal_name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(internal_name);
    hasher.finish()
}

/// The file of a class in a directory; `None` for names that are not written as plain files.
fn file_name(internal_name: &[u8]) -> Option<PathBuf> {
    let relative = std::str::from_utf8(internal_name).ok().filter(|name| name.is_ascii())?;
    Some(PathBuf::from(format!("{relative}.class")))
}

fn read_in_directory(root: &Path, internal_name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let relative = file_name(internal_name).ok_or(io::ErrorKind::InvalidInput)?;
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
