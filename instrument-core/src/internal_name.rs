//! Names as the user writes them (Unicode, dots) and as class files hold them (modified UTF-8, slashes).

use classfile::ModifiedUtf8;

/// The internal form of a name in source form: dots become slashes, characters become modified UTF-8.
pub fn to_internal(name: &str) -> Vec<u8> {
    let mut internal = Vec::with_capacity(name.len());
    let mut units = [0; 2];
    for character in name.chars() {
        match character {
            '.' => internal.push(b'/'),
            '\0' => internal.extend([0xC0, 0x80]),
            // Beyond the basic plane a class file holds the two surrogates, three bytes each.
            wide if wide > '\u{FFFF}' => {
                for unit in wide.encode_utf16(&mut units) {
                    let [high, low] = unit.to_be_bytes();
                    internal.extend([0xE0 | high >> 4, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]);
                }
            }
            plain => internal.extend(plain.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    internal
}

/// The source form of an internal name, for people.
pub fn to_source(internal: &[u8]) -> String {
    ModifiedUtf8(internal).to_string().replace('/', ".")
}

/// The package of a class of this internal name, without a slash at its end; empty for the unnamed one.
pub fn package_of(internal: &[u8]) -> &[u8] {
    let slash = internal.iter().rposition(|byte| *byte == b'/');
    slash.and_then(|end| internal.get(..end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_through_modified_utf_8() {
        for name in ["com.acme.Shop$Cart", "caf\u{e9}.\u{4e2d}", "a.\u{1F600}b", "Main"] {
            assert_eq!(to_source(&to_internal(name)), name);
        }
        assert_eq!(to_internal("a.\u{1F600}"), b"a/\xED\xA0\xBD\xED\xB8\x80");
        assert_eq!(to_internal("\0"), [0xC0, 0x80]);
    }
}
