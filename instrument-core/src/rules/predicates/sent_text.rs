//! Values within texts that a client has sent: query strings and the header `baggage`.

use super::Unreadable;
use super::evaluate::check_length;

/// UTF-16 units of the longest text that is searched.
pub const LONGEST_SENT: usize = 16_384;

/// Returns the first parameter of this name in a query string, decoded; "" if it has no value. `Err` if the query string is too long to be searched.
pub fn query_parameter(query: &str, name: &str) -> Result<Option<String>, Unreadable> {
    check_length(query, LONGEST_SENT, "the query string")?;
    let mut parameters = query.split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
    let found = parameters.find(|(key, _)| decoded(key, true) == name);
    Ok(found.map(|(_, value)| decoded(value, true)))
}

/// Returns the entry of this key in a header `baggage` of W3C, decoded, without its properties. `Err` if the header is too long to be searched.
pub fn baggage_entry(header: &str, key: &str) -> Result<Option<String>, Unreadable> {
    check_length(header, LONGEST_SENT, "the header baggage")?;
    let mut entries = header.split(',').filter_map(|entry| entry.split(';').next()?.split_once('='));
    let found = entries.find(|(name, _)| name.trim() == key);
    Ok(found.map(|(_, value)| decoded(value.trim(), false)))
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
        let of = |name: &str| query_parameter(query, name).unwrap();
        assert_eq!((of("a").as_deref(), of("kind").as_deref()), (Some("1"), Some("slow one!")));
        assert_eq!((of("käse").as_deref(), of("flag").as_deref()), (Some("%zz%4"), Some("")));
        assert_eq!((of("b"), query_parameter("", "a")), (None, Ok(None)));
        let longest = format!("{}&a=1", "ä".repeat(LONGEST_SENT - 4));
        assert_eq!(query_parameter(&longest, "a"), Ok(Some("1".to_owned())));
        let reason = "the query string is longer than 16384 characters".to_owned();
        assert_eq!(query_parameter(&format!("a=1&{longest}"), "a"), Err(Unreadable(reason)));
    }

    #[test]
    fn entries_of_baggage_are_found() {
        let header = "userId=al%20ice;x=1 , tenant = gold+1;y,broken, is=\"q\"";
        let of = |key: &str| baggage_entry(header, key).unwrap();
        assert_eq!((of("userId").as_deref(), of("tenant").as_deref()), (Some("al ice"), Some("gold+1")));
        assert_eq!((of("broken"), of("x"), of("is").as_deref()), (None, None, Some("\"q\"")));
        let reason = "the header baggage is longer than 16384 characters".to_owned();
        assert_eq!(baggage_entry(&"a=1,".repeat(5_000), "b"), Err(Unreadable(reason)));
    }
}
