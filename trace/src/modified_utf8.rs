//! Names of class files (modified UTF-8) as text.

/// Turns the modified UTF-8 of a class file into text: encoded NULs and surrogate pairs become the characters they
/// stand for. What has no Unicode text is escaped: a lone surrogate as `\u{d800}`, a stray byte as `\xff`.
#[must_use]
pub fn text_of_modified_utf8(bytes: &[u8]) -> String {
    // The usual case by far: no NUL, nothing outside the basic plane, so both encodings agree.
    if let Ok(text) = str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((unit, length)) = code_unit(rest) {
        rest = rest.get(length..).unwrap_or_default();
        match unit {
            Unit::Stray(byte) => text.push_str(&format!("\\x{byte:02x}")),
            Unit::Code(high @ 0xd800..=0xdbff) => match code_unit(rest) {
                Some((Unit::Code(low @ 0xdc00..=0xdfff), length)) => {
                    rest = rest.get(length..).unwrap_or_default();
                    let scalar = 0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    text.extend(char::from_u32(scalar));
                }
                _ => text.push_str(&format!("\\u{{{high:x}}}")),
            },
            Unit::Code(code) => match char::from_u32(u32::from(code)) {
                Some(character) => text.push(character),
                None => text.push_str(&format!("\\u{{{code:x}}}")),
            },
        }
    }
    text
}

enum Unit {
    Code(u16),
    Stray(u8),
}

/// The UTF-16 code unit (or stray byte) at the start, and how many bytes it takes.
fn code_unit(bytes: &[u8]) -> Option<(Unit, usize)> {
    let bits = |byte: u8| u16::from(byte & 0x3f);
    Some(match *bytes {
        [] => return None,
        [one @ 0..=0x7f, ..] => (Unit::Code(u16::from(one)), 1),
        [first @ 0xc0..=0xdf, second @ 0x80..=0xbf, ..] => (Unit::Code(u16::from(first & 0x1f) << 6 | bits(second)), 2),
        [first @ 0xe0..=0xef, second @ 0x80..=0xbf, third @ 0x80..=0xbf, ..] => {
            (Unit::Code(u16::from(first & 0x0f) << 12 | bits(second) << 6 | bits(third)), 3)
        }
        [stray, ..] => (Unit::Stray(stray), 1),
    })
}

#[cfg(test)]
mod tests {
    use super::text_of_modified_utf8;

    #[test]
    fn names_with_an_encoded_nul_or_a_surrogate_pair_become_proper_text() {
        assert_eq!(text_of_modified_utf8(b"a\xc0\x80b"), "a\0b");
        assert_eq!(text_of_modified_utf8(b"<\xed\xa0\xbd\xed\xb8\x80>"), "<\u{1f600}>");
        assert_eq!(text_of_modified_utf8("größe_名".as_bytes()), "größe_名");
    }

    #[test]
    fn what_has_no_text_is_escaped_and_never_lost() {
        assert_eq!(text_of_modified_utf8(b"x\xed\xa0\xbdy"), "x\\u{d83d}y");
        assert_eq!(text_of_modified_utf8(b"x\xed\xb8\x80"), "x\\u{de00}");
        assert_eq!(text_of_modified_utf8(b"\xff\xc3"), "\\xff\\xc3");
        assert_eq!(text_of_modified_utf8(b""), "");
    }
}
