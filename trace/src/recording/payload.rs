//! Field values of events and constants.

use crate::varint;

const STRING_NULL: u8 = 0;
const STRING_EMPTY: u8 = 1;
const STRING_IN_POOL: u8 = 2;
const STRING_UTF8: u8 = 3;
/// The number that JFR shows as `N/A`.
const UNKNOWN: u64 = i64::MIN as u64;

/// Appends a string in place.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    if text.is_empty() {
        out.push(STRING_EMPTY);
        return;
    }
    out.push(STRING_UTF8);
    varint::push(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a string, or the mark for an unknown one.
pub(super) fn push_optional_text(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => push_text(out, text),
        None => out.push(STRING_NULL),
    }
}

/// Appends the key of a string in the string pool.
pub(super) fn push_pooled_text(out: &mut Vec<u8>, key: u64) {
    out.push(STRING_IN_POOL);
    varint::push(out, key);
}

/// Appends a boolean.
pub(super) fn push_flag(out: &mut Vec<u8>, flag: bool) {
    out.push(u8::from(flag));
}

/// The longest start of `text` of at most `limit` bytes.
pub(super) fn cut_text(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or(text)
}

/// Appends the start of a text, or the mark for an unknown one.
pub(super) fn push_cut_text(payload: &mut Vec<u8>, text: Option<&str>, limit: usize) {
    push_optional_text(payload, text.map(|text| cut_text(text, limit)));
}

/// Appends a number, or the mark for an unknown one.
pub(super) fn push_number(payload: &mut Vec<u8>, number: Option<u64>) {
    varint::push(payload, number.map_or(UNKNOWN, |number| number.min(i64::MAX as u64)));
}

/// Appends a `double`. JFR does not compress these: the first byte is the most significant one.
pub(super) fn push_fraction(payload: &mut Vec<u8>, fraction: Option<f64>) {
    payload.extend(fraction.unwrap_or(f64::NAN).to_be_bytes());
}
