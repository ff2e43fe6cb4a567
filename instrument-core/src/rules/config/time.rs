//! Times as people write them, in files and on command lines: `500 ms`, `0.5s`, `2 min`.

use core::time::Duration;

/// How times are written, for messages.
pub const HOW_TO_WRITE_TIMES: &str = "write a number with its unit: `800 us`, `500 ms`, `0.5s`, `2 min` or `1 h`";
/// The same as a regular expression.
pub(super) const PATTERN: &str = r"^ *[0-9]+(\.[0-9]+)? *(us|ms|s|m|min|h) *$";

/// Reads a time; `None` if it is none.
#[must_use]
pub fn parse_time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (number, unit) = text.split_at_checked(text.find(|letter: char| !is_of_number(letter))?)?;
    let micros: f64 = match unit.trim_start() {
        "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" | "min" => 60e6,
        "h" => 3_600e6,
        _ => return None,
    };
    let is_number = number.starts_with(|first: char| first.is_ascii_digit()) && !number.ends_with('.');
    let number: f64 = number.parse().ok().filter(|_| is_number)?;
    Duration::try_from_secs_f64((number * micros).round() / 1e6).ok()
}

/// Writes a time so that it can be read again.
pub(super) fn written_time(time: &Duration) -> String {
    match time.as_micros() {
        minutes if minutes >= 60_000_000 && minutes.is_multiple_of(60_000_000) => {
            format!("{} min", minutes / 60_000_000)
        }
        seconds if seconds >= 1_000_000 && seconds.is_multiple_of(1_000_000) => format!("{} s", seconds / 1_000_000),
        micros if micros.is_multiple_of(1_000) => format!("{} ms", micros / 1_000),
        micros => format!("{micros} us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_may_have_a_fraction() {
        let micros = |text: &str| parse_time(text).map(|time| time.as_micros());
        let read = ["10 ms", " 2s ", "3 min", "10m", "1 h", "800us", "800 µs", "0.5s", "1.5 ms", "0.1 us"].map(micros);
        let expected = [10_000, 2_000_000, 180_000_000, 600_000_000, 3_600_000_000, 800, 800, 500_000, 1_500, 0];
        assert_eq!(read, expected.map(Some));
        let huge = format!("{} min", u64::MAX);
        for wrong in
            ["10", "ms", "", "-1 ms", "+5s", "1e3ms", "1.2.3s", ".5s", "5.s", "infs", "NaNs", "10 d", "10 ms 5", &huge]
        {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_written_time_is_read_as_the_same() {
        for micros in [0, 1, 999, 1_000, 1_500, 999_000, 1_000_000, 1_001_000, 60_000_000, 61_000_000, 86_400_000_000] {
            let time = Duration::from_micros(micros);
            assert_eq!(parse_time(&written_time(&time)), Some(time), "{}", written_time(&time));
        }
    }
}
