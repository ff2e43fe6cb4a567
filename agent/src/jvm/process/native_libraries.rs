//! Which files with machine code lie in the process's memory, and their build ids: by these their symbols are found on any machine.
//!
//! The ids are read from memory, as the file may have been replaced since it was loaded; by way of `/proc/self/mem`, which answers with an
//! error if a library is unloaded meanwhile.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// More program headers and longer notes no library has.
const MOST_HEADERS: u16 = 256;
const LONGEST_NOTES: u64 = 1 << 16;

const LOAD: u32 = 1;
const NOTE: u32 = 4;
const GNU_BUILD_ID: u32 = 3;

/// A library, or the program itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NativeLibrary {
    /// Path of the file.
    pub(crate) name: String,
    /// In hexadecimal digits; empty if it has none or it cannot be read.
    pub(crate) build_id: String,
    /// Where its first byte lies.
    pub(crate) address: u64,
    /// Bytes up to the end of the last one.
    pub(crate) length: u64,
}

impl NativeLibrary {
    /// All that are loaded now.
    pub(crate) fn all_loaded() -> io::Result<Vec<NativeLibrary>> {
        let mut libraries = mapped(&fs::read_to_string("/proc/self/maps")?);
        if let Ok(memory) = File::open("/proc/self/mem") {
            for library in &mut libraries {
                library.build_id = build_id(&memory, library.address).unwrap_or_default();
            }
        }
        Ok(libraries)
    }

    /// Its address and its length.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.address, self.length)
    }
}

/// Files of which a part can be executed, without their build ids. `maps` is the text of `/proc/self/maps`.
fn mapped(maps: &str) -> Vec<NativeLibrary> {
    let mut found: Vec<(NativeLibrary, bool)> = Vec::new();
    for (place, flags, offset, name) in maps.lines().filter_map(line) {
        let end = |library: &NativeLibrary| library.address + library.length;
        match found.last_mut() {
            Some((library, is_code)) if library.name == name && offset != 0 && place.0 >= end(library) => {
                library.length = place.1 - library.address;
                *is_code |= flags.contains('x');
            }
            _ if offset == 0 => {
                let library = NativeLibrary {
                    name: name.to_owned(),
                    build_id: String::new(),
                    address: place.0,
                    length: place.1 - place.0,
                };
                found.push((library, flags.contains('x')));
            }
            _ => {}
        }
    }
    found.into_iter().filter(|(_, is_code)| *is_code).map(|(library, _)| library).collect()
}

/// `7f0a-7f0c r-xp 00002000 fe:00 1234    /usr/lib/libz.so`: where it lies, what may be done with it, from where in the file.
fn line(line: &str) -> Option<((u64, u64), &str, u64, &str)> {
    let (numbers, name) = line.split_at_checked(line.find('/')?)?;
    let mut words = numbers.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let flags = words.next()?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end, offset) = (hexadecimal(start)?, hexadecimal(end)?, hexadecimal(words.next()?)?);
    (start < end).then_some(((start, end), flags, offset, name))
}

/// The build id of the ELF file whose first byte lies there.
fn build_id(memory: &impl FileExt, address: u64) -> Option<String> {
    let header: [u8; 64] = read(memory, address)?;
    // 64 bits, the lower byte first, as all machines that the agent is built for.
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (headers, size, count) = (u64_at(&header, 32)?, u16_at(&header, 54)?, u16_at(&header, 56)?);
    let mut notes = Vec::new();
    let mut first_loaded = None;
    for index in 0..count.min(MOST_HEADERS) {
        let at = address.checked_add(headers)?.checked_add(u64::from(index) * u64::from(size))?;
        let program_header: [u8; 56] = read(memory, at)?;
        let (kind, in_memory, length) =
            (u32_at(&program_header, 0)?, u64_at(&program_header, 16)?, u64_at(&program_header, 32)?);
        match kind {
            LOAD if u64_at(&program_header, 8)? == 0 => first_loaded = Some(in_memory),
            NOTE if length <= LONGEST_NOTES => notes.push((in_memory, length, u64_at(&program_header, 48)?)),
            _ => {}
        }
    }
    // How far from where the linker had put it.
    let moved = address.wrapping_sub(first_loaded?);
    notes.into_iter().find_map(|(at, length, alignment)| {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        memory.read_exact_at(&mut bytes, at.wrapping_add(moved)).ok()?;
        build_id_of_notes(&bytes, if alignment == 8 { 8 } else { 4 })
    })
}

/// Notes: three numbers of four bytes (length of the owner's name, length of the content, type), name and content, each filled up.
fn build_id_of_notes(mut notes: &[u8], alignment: usize) -> Option<String> {
    loop {
        let (name_length, length) = (u32_at(notes, 0)? as usize, u32_at(notes, 4)? as usize);
        let content = 12_usize.checked_add(name_length.checked_next_multiple_of(alignment.min(4))?)?;
        let content = content.checked_next_multiple_of(alignment)?;
        let bytes = notes.get(content..content.checked_add(length)?)?;
        if u32_at(notes, 8)? == GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = notes.get(content.checked_add(length.checked_next_multiple_of(alignment)?)?..)?;
    }
}

fn read<const LENGTH: usize>(memory: &impl FileExt, at: u64) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    memory.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_library_lies_from_its_first_page_to_its_last() {
        let maps = "\
            7f0000000000-7f0000001000 r--p 00000000 fe:00 11                         /usr/lib/libz.so.1.3\n\
            7f0000001000-7f0000003000 r-xp 00001000 fe:00 11                         /usr/lib/libz.so.1.3\n\
            7f0000003000-7f0000004000 rw-p 00003000 fe:00 11                         /usr/lib/libz.so.1.3\n\
            7f0000004000-7f0000009000 rw-p 00000000 00:00 0 \n\
            7f0000010000-7f0000020000 r--s 00000000 fe:00 12                         /usr/lib/locale/locale archive\n\
            7f0000020000-7f0000030000 r-xp 00000000 fe:00 13                         /tmp/with a blank.so (deleted)\n\
            7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n";
        let found = mapped(maps);
        let told: Vec<_> =
            found.iter().map(|library| (library.name.as_str(), library.address, library.length)).collect();
        let expected = [
            ("/usr/lib/libz.so.1.3", 0x7f00_0000_0000, 0x4000),
            ("/tmp/with a blank.so (deleted)", 0x7f00_0002_0000, 0x1_0000),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn notes_that_end_too_early_have_no_build_id() {
        let mut notes = [4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, b'G', b'N', b'U', 0, 7, 7, 0, 0].to_vec();
        notes.extend([4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, b'G', b'N', b'U', 0, 0xab, 0x01, 0xff]);
        assert_eq!(build_id_of_notes(&notes, 4).as_deref(), Some("ab01ff"));
        for length in 0..notes.len() {
            assert_eq!(build_id_of_notes(&notes[..length], 4), None, "{length}");
        }
    }

    /// The C library of this process, as binutils read its file.
    #[test]
    fn build_ids_are_those_of_the_files() {
        let libraries = NativeLibrary::all_loaded().unwrap();
        let library = libraries.iter().find(|library| library.name.contains("/libc.so")).unwrap();
        let readelf = Command::new("readelf").args(["--notes", &library.name]).output().unwrap();
        let text = String::from_utf8(readelf.stdout).unwrap();
        assert!(!library.build_id.is_empty() && text.contains(&library.build_id), "{library:?}: {text}");
    }
}
