//! Values within texts that a client has sent: query strings and the header `baggage`.

/// Bytes of such a text that are looked at.
const LONGEST: usize = 16_384;

/// Returns the first parameter of this name in a query string, decoded; "" if it has no value.
pub fn query_parameter(query: &str, name: &str) -> Option<String> {
    let mut parameters = beginning(query).split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
    let (_, value) = parameters.find(|(key, _)| decoded(key, true) == name)?;
    Some(decoded(value, true))
}

/// Returns the entry of this key in a header `baggage` of W3C, decoded, without its properties.
pub fn baggage_entry(header: &str, key: &str) -> Option<String> {
    let mut entries = beginning(header).split(',').filter_map(|entry| entry.split(';').next()?.split_once('='));
    let (_, value) = entries.find(|(name, _)| name.trim() == key)?;
    Some(decoded(value.trim(), false))
}

fn beginning(text: &str) -> &str {
    let end = (0..=LONGEST.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Bytes that are written as `%41` in place; other text stays as it is.
fn decoded(text: &str, plus_is_space: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let escaped = others.get(..2).filter(|_| *first == b'%').and_then(|digits| {
            let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
            std::str::from_utf8(digits).ok().filter(|_| is_hex).and_then(|digits| u8::from_str_radix(digits, 16).ok())
        });
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = others.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(if plus_is_space && *first == b'+' { b' ' } else { *first });
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_and_decoded() {
        let query = "a=1&kind=slow+one%21&kind=2&k%C3%A4se=%zz%4&flag&=x";
        let of = |name: &str| query_parameter(query, name);
        assert_eq!((of("a").as_deref(), of("kind").as_deref()), (Some("1"), Some("slow one!")));
        assert_eq!((of("käse").as_deref(), of("flag").as_deref()), (Some("%zz%4"), Some("")));
        assert_eq!((of("b"), query_parameter("", "a")), (None, None));
        assert_eq!(query_parameter(&format!("{}&a=1", "ä".repeat(20_000)), "a"), None, "too far away");
    }

    #[test]
    fn entries_of_baggage_are_found() {
        let header = "userId=al%20ice;x=1 , tenant = gold+1;y,broken, is=\"q\"";
        let of = |key: &str| baggage_entry(header, key);
        assert_eq!((of("userId").as_deref(), of("tenant").as_deref()), (Some("al ice"), Some("gold+1")));
        assert_eq!((of("broken"), of("x"), of("is").as_deref()), (None, None, Some("\"q\"")));
    }
}
