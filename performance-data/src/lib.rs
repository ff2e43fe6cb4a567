//! The format of what HotSpot publishes about itself in `/tmp/hsperfdata_USER/PID`, the file that `jps` and `jstat` read.

use std::collections::BTreeMap;

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN: u8 = 1;

/// The published values: texts and numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PerformanceData {
    texts: BTreeMap<String, String>,
    numbers: BTreeMap<String, u64>,
}

impl PerformanceData {
    /// Reads version 2 of the format: a head, then entries with name and value each. The JVM may write at the same time, so what is damaged ends
    /// the list. `None` if the bytes are something else.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<PerformanceData> {
        let byte = |at: usize| bytes.get(at).copied();
        if bytes.get(..4)? != MAGIC || byte(4)? != LITTLE_ENDIAN || byte(5)? != 2 {
            return None;
        }
        let number = |at: usize| {
            let four = bytes.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(four.try_into().ok()?) as usize)
        };
        let (mut entry, entries) = (number(24)?, number(28)?);
        let mut data = PerformanceData::default();
        for _ in 0..entries {
            let mut read_entry = || {
                let length = number(entry).filter(|length| *length > 0)?;
                let (name, elements) = (number(entry + 4)?, number(entry + 8)?);
                let from = entry + number(entry + 16)?;
                let name = || Some(text(bytes.get(entry + name..entry + length)?));
                match (byte(entry + 12)?, elements) {
                    (b'B', 1..) => {
                        let value = bytes.get(from..from.checked_add(elements)?)?;
                        data.texts.insert(name()?, text(value));
                    }
                    (b'J', 0) => {
                        let value = bytes.get(from..from.checked_add(8)?)?;
                        data.numbers.insert(name()?, u64::from_le_bytes(value.try_into().ok()?));
                    }
                    _ => {}
                }
                Some(entry + length)
            };
            match read_entry() {
                Some(next) => entry = next,
                None => break,
            }
        }
        Some(data)
    }

    /// Returns the text with this name, unless it is empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the number with this name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.numbers.get(name).copied()
    }
}

/// Returns the text up to its end, which is a zero.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a JVM with these values; those without a text are the number 7.
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
            let mut content = value.map_or(7_u64.to_le_bytes().to_vec(), |text| text.as_bytes().to_vec());
            content.resize(capacity, 0);
            bytes.extend(content);
        }
        bytes
    }

    #[test]
    fn texts_and_numbers_are_read() {
        let bytes =
            file(&[("java.threads", None), ("sun.rt.javaCommand", Some("a.B c")), ("java.rt.vmArgs", Some(""))]);
        let data = PerformanceData::parse(&bytes).unwrap();
        assert_eq!(data.text("sun.rt.javaCommand"), Some("a.B c"));
        assert_eq!((data.text("java.threads"), data.text("java.rt.vmArgs")), (None, None));
        assert_eq!((data.number("java.threads"), data.number("sun.rt.javaCommand")), (Some(7), None));
    }

    #[test]
    fn damage_ends_the_list() {
        let bytes = file(&[("a", Some("1")), ("b", Some("2"))]);
        for length in 0..bytes.len() {
            let data = PerformanceData::parse(&bytes[..length]);
            assert!(data.is_none_or(|data| data.text("b").is_none()), "{length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] = 0xff;
            let _ = PerformanceData::parse(&damaged);
        }
        assert_eq!(PerformanceData::parse(b"\xca\xfe\xba\xbe0000000000000000000000000000"), None);
    }
}
