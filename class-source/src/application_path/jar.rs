//! The classes of a jar: read once, kept as hashes and places, because a class path holds ten thousands of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder, ZipVerification,
    crc32,
};
use rustc_hash::FxHashMap;

use super::hash_of;
use super::manifest::is_multi_release;

/// No class file is larger: what claims to be is not read.
const LARGEST_ENTRY: u64 = 64 << 20;

const VERSIONS: &[u8] = b"META-INF/versions/";
/// The first release for which variants count.
const FIRST_VERSIONED: u16 = 9;

/// Where an entry stands in its jar.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    place: ZipArchiveEntryWayfinder,
    is_deflated: bool,
}

/// Memory for reading entries: setting it up takes longer than reading a class.
#[derive(Debug)]
pub(super) struct Inflater {
    state: Decompress,
    compressed: Vec<u8>,
}

impl Default for Inflater {
    fn default() -> Self {
        Inflater { state: Decompress::new(false), compressed: Vec::new() }
    }
}

/// The file of a jar, open as long as the JVM has it open.
#[derive(Debug)]
pub(super) struct JarFile(ZipArchive<FileReader>);

/// The directory of a jar.
#[derive(Debug)]
pub(super) struct Jar {
    pub(super) file: JarFile,
    /// By the hash of the internal name.
    pub(super) classes: FxHashMap<u64, Entry>,
    pub(super) manifest: Vec<u8>,
    /// `META-INF/INDEX.LIST`, which tells loaders before Java 18 where else to look.
    pub(super) index: Option<Vec<u8>>,
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
        let archive = ZipArchive::from_file(File::open(path)?, &mut buffer).map_err(io::Error::other)?;
        let (mut classes, mut variants, mut manifest) = (FxHashMap::default(), Vec::new(), None);
        let (mut count, mut index) = (0, None);
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(io::Error::other)? {
            count += 1;
            let is_deflated = entry.compression_method() == CompressionMethod::DEFLATE;
            let place = Entry { place: entry.wayfinder(), is_deflated };
            let path = entry.file_path();
            let name: &[u8] = path.as_ref();
            if let Some(class) = name.strip_suffix(b".class") {
                match class.strip_prefix(VERSIONS) {
                    Some(versioned) => variants.extend(variant(versioned, place)),
                    // Of two entries with one name the loader sees the later.
                    None => drop(classes.insert(hash_of(class), place)),
                }
            } else if name.eq_ignore_ascii_case(b"META-INF/MANIFEST.MF") {
                if manifest.replace(place).is_some() {
                    return Err(io::Error::other("two manifests"));
                }
            } else if name == b"META-INF/INDEX.LIST" {
                index = Some(place);
            }
        }
        if count != archive.entries_hint() {
            return Err(io::Error::other("the directory has another number of entries than it says"));
        }
        let file = JarFile(archive);
        let manifest = manifest.map(|manifest| file.read(&manifest, inflater)).transpose()?.unwrap_or_default();
        let index = index.map(|index| file.read(&index, inflater)).transpose()?;
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

fn variant(versioned: &[u8], entry: Entry) -> Option<Variant> {
    let slash = versioned.iter().position(|byte| *byte == b'/')?;
    let (number, class) = versioned.split_at_checked(slash)?;
    let number = std::str::from_utf8(number).ok().filter(|number| !number.starts_with(['0', '+']))?;
    Some(Variant { release: number.parse().ok()?, name: hash_of(class.get(1..)?), entry })
}

impl JarFile {
    /// The content of an entry. The jar may have changed meanwhile: sizes and checksum must be right.
    pub(super) fn read(&self, entry: &Entry, inflater: &mut Inflater) -> io::Result<Vec<u8>> {
        let (size, compressed_size) = (entry.place.uncompressed_size_hint(), entry.place.compressed_size_hint());
        if size.max(compressed_size) > LARGEST_ENTRY {
            return Err(io::Error::other("an entry of an absurd size"));
        }
        let found = self.0.get_entry(entry.place).map_err(io::Error::other)?;
        let input = &mut inflater.compressed;
        input.clear();
        let mut reader = found.reader();
        let promised = reader.claim_verifier();
        reader.by_ref().take(LARGEST_ENTRY).read_to_end(input)?;
        let bytes = if entry.is_deflated { inflate(&mut inflater.state, input, size)? } else { input.clone() };
        let read = ZipVerification { crc: crc32(&bytes), uncompressed_size: bytes.len() as u64 };
        promised.valid(read).map_err(io::Error::other)?;
        Ok(bytes)
    }
}

fn inflate(state: &mut Decompress, input: &[u8], size: u64) -> io::Result<Vec<u8>> {
    // The size is bounded above; an entry that holds more than it says does not end here.
    let mut bytes = Vec::with_capacity(size as usize);
    state.reset(false);
    match state.decompress_vec(input, &mut bytes, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Ok(bytes),
        Ok(Status::Ok | Status::BufError) => Err(io::Error::other("an entry that ends too early or too late")),
        Err(error) => Err(error.into()),
    }
}
