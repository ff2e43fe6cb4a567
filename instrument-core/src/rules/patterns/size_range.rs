//! A rule's `size`: how many bytes of bytecode a method may have.

use std::ops::RangeInclusive;

use super::pattern_error::PatternError;

/// A method has at most this many bytes of bytecode (JVMS 4.7.3).
const LARGEST: u32 = 65_535;
const HELP: &str = "write `>=200`, `>200`, `<=50`, `<50`, or a range with both ends in it: `50-200`";

/// Sizes of methods, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeRange {
    text: String,
    bytes: RangeInclusive<u32>,
}

impl SizeRange {
    /// How it is written, as a regular expression.
    pub const FORM: &str = "^ *([<>]=? *[0-9]+|[0-9]+ *- *[0-9]+) *$";

    /// Reads e.g. `>=200` or `50-200`.
    pub fn parse(text: &str) -> Result<SizeRange, PatternError> {
        let bad = |message: String| PatternError::new(0..text.len(), message).suggest(HELP);
        let bytes = match read(text.trim()) {
            None => return Err(bad(format!("`{text}` is not a size in bytes"))),
            Some(bytes) => bytes,
        };
        if bytes.is_empty() {
            return Err(bad(format!("no method has this size: they have 1 to {LARGEST} bytes of bytecode")));
        }
        Ok(SizeRange { text: text.trim().to_owned(), bytes })
    }

    /// The range as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a method of this size is meant.
    pub fn contains(&self, bytes: usize) -> bool {
        u32::try_from(bytes).is_ok_and(|bytes| self.bytes.contains(&bytes))
    }
}

fn read(text: &str) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    if let Some(least) = text.strip_prefix(">=") {
        return Some(number(least)?..=LARGEST);
    }
    if let Some(most) = text.strip_prefix("<=") {
        return Some(1..=number(most)?);
    }
    if let Some(smaller) = text.strip_prefix('>') {
        return Some(number(smaller)?.checked_add(1)?..=LARGEST);
    }
    if let Some(larger) = text.strip_prefix('<') {
        let larger = number(larger)?;
        #[expect(clippy::reversed_empty_ranges, reason = "nothing is smaller than the smallest")]
        return Some(larger.checked_sub(1).map_or(1..=0, |most| 1..=most));
    }
    let (least, most) = text.split_once('-')?;
    Some(number(least)?..=number(most)?.min(LARGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_range_are_in_it() {
        let has = |text: &str, sizes: &[usize]| -> Vec<bool> {
            let range = SizeRange::parse(text).unwrap();
            sizes.iter().map(|size| range.contains(*size)).collect()
        };
        assert_eq!(has(">=200", &[199, 200, 65_535]), [false, true, true]);
        assert_eq!(has("> 200", &[200, 201]), [false, true]);
        assert_eq!(has("<=50", &[1, 50, 51]), [true, true, false]);
        assert_eq!(has("<50", &[49, 50]), [true, false]);
        assert_eq!(has(" 50 - 200 ", &[49, 50, 200, 201]), [false, true, true, false]);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "200", ">=", "=200", "200-50", "<1", "<0", ">65535", ">=70000", "a-b", "5..9", ">=-1"] {
            assert!(SizeRange::parse(text).is_err(), "{text}");
        }
    }
}
