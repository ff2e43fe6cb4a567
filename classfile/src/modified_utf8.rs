//! Names and strings of class files: modified UTF-8 (JVMS 4.4.7).

use std::fmt::{self, Write};

/// A name exactly as it is in the class file. It is compared and hashed as bytes, never through a lossy conversion:
/// a legal name may hold lone surrogates or an encoded NUL, which no Rust string can hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModifiedUtf8<'a>(pub &'a [u8]);

impl<'a> ModifiedUtf8<'a> {
    /// The bytes in the file.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The name as a Rust string if it is plain UTF-8 without encoded NUL or surrogates (nearly always).
    pub fn to_str(self) -> Option<&'a str> {
        // C0 80 (NUL) is no valid UTF-8 and surrogates (ED A0..BF) are none either, so this is exact.
        std::str::from_utf8(self.0).ok()
    }

    /// Code units of the name; `Err` holds a byte that begins no legal sequence.
    pub fn code_units(self) -> impl Iterator<Item = Result<u16, u8>> + 'a {
        CodeUnits { rest: self.0 }
    }
}

struct CodeUnits<'a> {
    rest: &'a [u8],
}

impl Iterator for CodeUnits<'_> {
    type Item = Result<u16, u8>;

    fn next(&mut self) -> Option<Result<u16, u8>> {
        let continuation = |byte: u8| byte & 0xC0 == 0x80;
        let (unit, length) = match *self.rest {
            [] => return None,
            [a, ..] if a < 0x80 => (Ok(u16::from(a)), 1),
            [a, b, ..] if a & 0xE0 == 0xC0 && continuation(b) => {
                (Ok(u16::from(a & 0x1F) << 6 | u16::from(b & 0x3F)), 2)
            }
            [a, b, c, ..] if a & 0xF0 == 0xE0 && continuation(b) && continuation(c) => {
                (Ok(u16::from(a & 0x0F) << 12 | u16::from(b & 0x3F) << 6 | u16::from(c & 0x3F)), 3)
            }
            [a, ..] => (Err(a), 1),
        };
        self.rest = self.rest.get(length..).unwrap_or_default();
        Some(unit)
    }
}

impl fmt::Display for ModifiedUtf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(plain) = self.to_str() {
            return f.write_str(plain);
        }
        let mut bad = Vec::new();
        let units: Vec<u16> = self
            .code_units()
            .map(|unit| {
                unit.unwrap_or_else(|byte| {
                    bad.push(byte);
                    0xFFFF
                })
            })
            .collect();
        let mut bad = bad.into_iter();
        for character in char::decode_utf16(units) {
            match character {
                Ok('\u{FFFF}') => match bad.next() {
                    Some(byte) => write!(f, "\\x{byte:02x}")?,
                    None => f.write_char('\u{FFFF}')?,
                },
                Ok('\0') => f.write_str("\\u0000")?,
                Ok(character) => f.write_char(character)?,
                Err(lone) => write!(f, "\\u{:04x}", lone.unpaired_surrogate())?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ModifiedUtf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl PartialEq<str> for ModifiedUtf8<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for ModifiedUtf8<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_every_name_without_loss() {
        assert_eq!(ModifiedUtf8(b"java/lang/Object").to_string(), "java/lang/Object");
        assert_eq!(ModifiedUtf8("caf\u{e9}".as_bytes()).to_string(), "caf\u{e9}");
        assert_eq!(ModifiedUtf8(b"a\xC0\x80b").to_string(), "a\\u0000b");
        assert_eq!(ModifiedUtf8(b"\xED\xA0\xBD\xED\xB8\x80").to_string(), "\u{1F600}");
        assert_eq!(ModifiedUtf8(b"\xED\xA0\xBDx").to_string(), "\\ud83dx");
        assert_eq!(ModifiedUtf8(b"x\xFFy").to_string(), "x\\xffy");
    }
}
