//! The classes of a jar: read once, kept as hashes and places, because a class path holds ten thousands of them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord,
};

use super::hash_of;
use super::inflater::{Beginning, Inflater};
use super::manifest::is_multi_release;
use super::unchanged::FileIdentity;

/// No class file is larger: what claims to be is not read.
const LARGEST_ENTRY: u64 = 64 << 20;

const VERSIONS: &[u8] = b"META-INF/versions/";
/// The first release for which variants count.
const FIRST_VERSIONED: u16 = 9;

/// Where an entry is in its jar.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    place: ZipArchiveEntryWayfinder,
    is_deflated: bool,
}

/// The file of a jar, open as long as the JVM has it open.
#[derive(Debug)]
pub(super) struct JarFile {
    archive: ZipArchive<FileReader>,
    path: PathBuf,
    identity: FileIdentity,
}

/// The directory of a jar.
#[derive(Debug)]
pub(super) struct Jar {
    pub(super) file: JarFile,
    /// Hashes of the internal names; of two with one name the later counts.
    pub(super) classes: Vec<(u64, Entry)>,
    pub(super) manifest: Vec<u8>,
    /// `META-INF/INDEX.LIST`, which names further jars to loaders before Java 18.
    pub(super) index: Option<Vec<u8>>,
}

/// What the directory of a jar holds, as far as it matters.
#[derive(Default)]
struct Directory {
    classes: Vec<(u64, Entry)>,
    variants: Vec<Variant>,
    manifest: Option<Entry>,
    index: Option<Entry>,
    count: u64,
}

/// The variant of a class for a release and later ones.
struct Variant {
    release: u16,
    name: u64,
    entry: Entry,
}

impl Jar {
    /// Reads the directory; variants of classes count up to `release`.
    pub(super) fn open(path: &Path, release: u16, inflater: &mut Inflater) -> io::Result<Jar> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let file = File::open(path)?;
        let identity = FileIdentity::of(&file.metadata()?);
        let archive = ZipArchive::from_file(file, &mut buffer).map_err(io::Error::other)?;
        let mut directory = Directory::default();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(io::Error::other)? {
            directory.add(&entry)?;
        }
        if directory.count != archive.entries_hint() {
            return Err(io::Error::other("the directory has another number of entries than it says"));
        }
        let file = JarFile { archive, path: path.to_path_buf(), identity };
        let Directory { mut classes, mut variants, manifest, index, .. } = directory;
        let manifest = manifest.map(|manifest| file.read_whole(&manifest, inflater)).transpose()?.unwrap_or_default();
        let index = index.map(|index| file.read_whole(&index, inflater)).transpose()?;
        if is_multi_release(&manifest) {
            // There should be none for earlier releases. Loaders do not agree whether those count.
            if variants.iter().any(|variant| variant.release < FIRST_VERSIONED) {
                return Err(io::Error::other("variants for a release that has none"));
            }
            variants.sort_by_key(|variant| variant.release);
            let usable = variants.into_iter().filter(|variant| variant.release <= release);
            classes.extend(usable.map(|variant| (variant.name, variant.entry)));
        }
        Ok(Jar { file, classes, manifest, index })
    }
}

impl Directory {
    fn add(&mut self, entry: &ZipFileHeaderRecord<'_>) -> io::Result<()> {
        self.count += 1;
        let is_deflated = entry.compression_method() == CompressionMethod::DEFLATE;
        let place = Entry { place: entry.wayfinder(), is_deflated };
        let path = entry.file_path();
        let name: &[u8] = path.as_ref();
        if let Some(class) = name.strip_suffix(b".class") {
            match class.strip_prefix(VERSIONS) {
                Some(versioned) => self.variants.extend(variant(versioned, place)),
                None => self.classes.push((hash_of(class), place)),
            }
        } else if name.eq_ignore_ascii_case(b"META-INF/MANIFEST.MF") {
            if self.manifest.replace(place).is_some() {
                return Err(io::Error::other("two manifests"));
            }
        } else if name == b"META-INF/INDEX.LIST" {
            self.index = Some(place);
        }
        Ok(())
    }
}

fn variant(versioned: &[u8], entry: Entry) -> Option<Variant> {
    let slash = versioned.iter().position(|byte| *byte == b'/')?;
    let (number, class) = versioned.split_at_checked(slash)?;
    let number = std::str::from_utf8(number).ok().filter(|number| !number.starts_with(['0', '+']))?;
    Some(Variant { release: number.parse().ok()?, name: hash_of(class.get(1..)?), entry })
}

impl JarFile {
    /// Whether it is still the same file. If it was replaced, a loader goes on reading the one that it opened first.
    pub(super) fn is_in_place(&self) -> bool {
        self.identity.is_at(&self.path)
    }

    /// Shows `look` longer and longer beginnings of an entry until it has seen enough. There is no look at the checksum, which
    /// applies to the whole jar: a loader does not look at it either.
    pub(super) fn read<R>(
        &self,
        entry: &Entry,
        inflater: &mut Inflater,
        look: impl FnMut(Beginning<'_>) -> Option<R>,
    ) -> io::Result<Option<R>> {
        let (size, packed) = (entry.place.uncompressed_size_hint(), entry.place.compressed_size_hint());
        if size.max(packed) > LARGEST_ENTRY {
            return Err(io::Error::other("an entry of an absurd size"));
        }
        let found = self.archive.get_entry(entry.place).map_err(io::Error::other)?;
        let (start, end) = found.compressed_data_range();
        // Both lengths are bounded above.
        let (size, packed) = (size as usize, end.saturating_sub(start).min(LARGEST_ENTRY) as usize);
        let read = |buffer: &mut [u8]| rawzip::ReaderAt::read_at(self.archive.get_ref(), buffer, start);
        inflater.fill(packed, read)?;
        if entry.is_deflated { inflater.inflate(size, look) } else { Ok(inflater.stored(size, look)) }
    }

    fn read_whole(&self, entry: &Entry, inflater: &mut Inflater) -> io::Result<Vec<u8>> {
        let whole = self.read(entry, inflater, |text| text.is_whole.then(|| text.bytes.to_vec()))?;
        whole.ok_or_else(|| io::Error::other("an entry that ends too early"))
    }
}
