//! Paths with numbers and hashes folded, so that requests to the same resource have the same name.

/// Letters of a segment from which on a mixture of letters and digits is taken for a generated key.
const GENERATED_KEY: usize = 20;
/// Hexadecimal digits from which on a segment is taken for a hash.
const HASH: usize = 8;

/// Returns the name of a request: its method, and the route that the framework knows, or else the folded path.
#[must_use]
pub fn request_name(http_method: &str, route: &str, path: &str) -> String {
    if route.is_empty() { format!("{http_method} {}", folded_path(path)) } else { format!("{http_method} {route}") }
}

/// Returns the path with its numbers, UUIDs and hashes replaced: `/members/17` is `/members/{n}`. What follows `;` in a segment, such as
/// the identity of a session, is left out.
#[must_use]
pub fn folded_path(path: &str) -> String {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let segments: Vec<&str> = path.split('/').map(folded_segment).collect();
    segments.join("/")
}

fn folded_segment(segment: &str) -> &str {
    let segment = segment.split_once(';').map_or(segment, |(segment, _)| segment);
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return segment;
    }
    if digits == segment.len() {
        return "{n}";
    }
    if is_uuid(segment) {
        return "{uuid}";
    }
    if segment.len() >= HASH && segment.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return "{hash}";
    }
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=' | b'~');
    if segment.len() >= GENERATED_KEY && digits >= 4 && segment.bytes().all(is_key) { "{key}" } else { segment }
}

fn is_uuid(segment: &str) -> bool {
    let lengths = segment.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && segment.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_uuids_and_hashes_are_folded_and_words_stay() {
        for (path, folded) in [
            ("/members/17", "/members/{n}"),
            ("/members/17/loans/3/", "/members/{n}/loans/{n}/"),
            ("/a/6f9619ff-8b86-d011-b42d-00cf4fc964ff", "/a/{uuid}"),
            ("/img/d41d8cd98f00b204e9800998ecf8427e", "/img/{hash}"),
            ("/t/AAbb-11cc22dd_33ee44ff55", "/t/{key}"),
            ("/total.jsp;jsessionid=0A1B2C3D", "/total.jsp"),
            ("/find?id=7", "/find"),
            ("/api/v1/decade/facade", "/api/v1/decade/facade"),
            ("/books/isbn-1", "/books/isbn-1"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(folded_path(path), folded, "{path}");
        }
        assert_eq!(request_name("GET", "/books/{isbn}", "/books/isbn-1"), "GET /books/{isbn}");
        assert_eq!(request_name("GET", "", "/members/18"), "GET /members/{n}");
    }
}
