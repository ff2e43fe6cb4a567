//! Lengths of calls on the command line.

use std::time::Duration;

use instrument_core::rules::config::{HOW_TO_WRITE_TIMES, parse_time};

/// Longer than any call that somebody waits for.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Reads `800us`, `500 ms`, `0.5s`: microseconds.
pub(crate) fn microseconds(text: &str) -> Result<u64, String> {
    let time = parse_time(text).ok_or_else(|| HOW_TO_WRITE_TIMES.to_owned())?;
    if (Duration::from_micros(1)..=LONGEST).contains(&time) {
        Ok(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    } else {
        Err("a slow call takes a microsecond at least and a day at most".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_within_bounds() {
        assert_eq!(["500ms", "0.5 s", "1us"].map(microseconds), [500_000, 500_000, 1].map(Ok));
        assert_eq!(microseconds("500"), Err(HOW_TO_WRITE_TIMES.to_owned()));
        for beyond in ["0s", "0.1us", "9999999999s"] {
            assert!(microseconds(beyond).unwrap_err().contains("a microsecond at least"), "{beyond}");
        }
    }
}
