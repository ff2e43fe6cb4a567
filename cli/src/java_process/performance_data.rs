//! What HotSpot publishes about itself in `/tmp/hsperfdata_USER/PID`, the file that `jps` and `jstat` read.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Process;

/// The file has 32 KB unless the JVM is started with `-XX:PerfDataMemorySize`.
const MOST_BYTES: u64 = 4 << 20;
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN: u8 = 1;

/// The texts among the published values.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PerformanceData(BTreeMap<String, String>);

impl PerformanceData {
    /// Reads the file of a JVM; nothing if it has none (`-XX:-UsePerfData`), or if the user may not read it.
    pub(crate) fn of(process: &Process) -> Option<PerformanceData> {
        let user = process.user()?;
        let inner = process.inner_pid().to_string();
        let files = process.temporary_directories().into_iter().flat_map(|tmp| files_in(&tmp, user, &inner));
        files.filter_map(|file| read(&file, user)).find_map(|bytes| parse(&bytes))
    }

    /// Returns the value with this name, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Everybody can write into the directory for temporary files: only what belongs to the JVM's user counts.
fn belongs_to(found: &Metadata, user: u32) -> bool {
    found.uid() == user && !found.is_symlink()
}

fn files_in(tmp: &Path, user: u32, name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(tmp).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("hsperfdata_")
            && entry.path().symlink_metadata().is_ok_and(|found| belongs_to(&found, user))
    });
    folders.map(|folder| folder.path().join(name)).collect()
}

fn read(file: &Path, user: u32) -> Option<Vec<u8>> {
    let found = file.symlink_metadata().ok()?;
    if !found.is_file() || !belongs_to(&found, user) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads version 2 of the format: a head, then entries with name and value each. The JVM may write at the same time, so what is damaged ends the
/// list.
fn parse(bytes: &[u8]) -> Option<PerformanceData> {
    let byte = |at: usize| bytes.get(at).copied();
    if bytes.get(..4)? != MAGIC || byte(4)? != LITTLE_ENDIAN || byte(5)? != 2 {
        return None;
    }
    let number = |at: usize| {
        let four = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(four.try_into().ok()?) as usize)
    };
    let (mut entry, entries) = (number(24)?, number(28)?);
    let mut values = BTreeMap::new();
    for _ in 0..entries {
        let mut read_entry = || {
            let length = number(entry).filter(|length| *length > 0)?;
            let (name, elements) = (number(entry + 4)?, number(entry + 8)?);
            if byte(entry + 12)? == b'B' && elements > 0 {
                let from = entry + number(entry + 16)?;
                let value = bytes.get(from..from.checked_add(elements)?)?;
                values.insert(text(bytes.get(entry + name..entry + length)?), text(value));
            }
            Some(entry + length)
        };
        match read_entry() {
            Some(next) => entry = next,
            None => break,
        }
    }
    Some(PerformanceData(values))
}

/// Returns the text up to its end, which is a zero.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a JVM with these values; numbers are entries without elements.
    fn file(values: &[(&str, Option<&str>)]) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &[LITTLE_ENDIAN, 2, 0, 1], &[0; 16], &32_u32.to_le_bytes()].concat();
        bytes.extend(u32::try_from(values.len()).unwrap().to_le_bytes());
        for (name, value) in values {
            let value_at = 20 + name.len() + 1;
            let capacity = value.map_or(8, |value| value.len() + 3);
            let numbers = [value_at + capacity, 20, value.map_or(0, |_| capacity)];
            numbers.iter().for_each(|number| bytes.extend(u32::try_from(*number).unwrap().to_le_bytes()));
            bytes.extend([if value.is_some() { b'B' } else { b'J' }, 0, 0, 0]);
            bytes.extend(u32::try_from(value_at).unwrap().to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.push(0);
            let mut content = value.unwrap_or_default().as_bytes().to_vec();
            content.resize(capacity, 0);
            bytes.extend(content);
        }
        bytes
    }

    #[test]
    fn texts_are_read_and_numbers_are_left_out() {
        let bytes =
            file(&[("java.threads", None), ("sun.rt.javaCommand", Some("a.B c")), ("java.rt.vmArgs", Some(""))]);
        let data = parse(&bytes).unwrap();
        assert_eq!(data.get("sun.rt.javaCommand"), Some("a.B c"));
        assert_eq!((data.get("java.threads"), data.get("java.rt.vmArgs")), (None, None));
    }

    #[test]
    fn damage_ends_the_list() {
        let bytes = file(&[("a", Some("1")), ("b", Some("2"))]);
        for length in 0..bytes.len() {
            let data = parse(&bytes[..length]);
            assert!(data.is_none_or(|data| data.get("b").is_none()), "{length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] = 0xff;
            let _ = parse(&damaged);
        }
        assert_eq!(parse(b"\xca\xfe\xba\xbe0000000000000000000000000000"), None);
    }
}
