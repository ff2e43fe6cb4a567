//! Numbers for people: durations, counts, sizes, shares, dates.

/// A duration with three digits: `1.23 ms`.
#[must_use]
pub fn duration(nanos: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    if nanos < 1_000 {
        return format!("{nanos} ns");
    }
    for (unit, size) in UNITS.into_iter().skip(1) {
        let value = nanos as f64 / size as f64;
        // What would be rounded to 1000 belongs to the next unit.
        if value < 999.5 {
            return format!("{} {unit}", three_digits(value));
        }
    }
    format!("{} s", count((nanos as f64 / 1e9).round() as u64))
}

fn three_digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A count with separators: `1,234,567`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things: `1 class`, `1,234 classes`.
#[must_use]
pub fn counted(number: u64, thing: &str) -> String {
    let ending = match number {
        1 => "",
        _ if thing.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", count(number))
}

/// A size: `1.23 MB`.
#[must_use]
pub fn bytes(number: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
    if number < 1_000 {
        return format!("{number} B");
    }
    let value = number as f64;
    let fitting = UNITS.into_iter().find(|(_, size)| value / size < 999.5).unwrap_or(("TB", 1e12));
    format!("{} {}", three_digits(value / fitting.1), fitting.0)
}

/// A share in percent: `12.3`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}", part as f64 * 100.0 / whole as f64)
}

/// A moment as UTC: `2025-11-21 09:03:12 UTC`.
#[must_use]
pub fn date(epoch_nanos: u64) -> String {
    let seconds = epoch_nanos / 1_000_000_000;
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    // Days are counted in eras of 400 years that begin on the first of March, so that the leap day is the last of a year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// How far a difference may be off, in percent: beyond ten times the whole the number itself says nothing.
#[must_use]
pub fn margin(percent: f64) -> String {
    if percent > 1000.0 { ">1000 %".to_owned() } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_beyond_ten_times_the_whole_are_no_figures() {
        assert_eq!([0.04, 12.0, 1000.0, 94_327_144.1].map(margin), ["0.0 %", "12.0 %", "1000.0 %", ">1000 %"]);
    }

    #[test]
    fn durations_keep_three_digits_and_change_the_unit_when_rounding_says_so() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (9_999, "10.0 µs"),
            (99_960, "100 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (12_345_678, "12.3 ms"),
            (999_900_000, "1.00 s"),
            (61_000_000_000, "61.0 s"),
            (12_345_000_000_000, "12,345 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(duration(nanos), text);
        }
    }

    #[test]
    fn counts_sizes_and_shares() {
        assert_eq!((count(0), count(999), count(1_000)), ("0".to_owned(), "999".to_owned(), "1,000".to_owned()));
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!([0, 1, 2_000].map(|number| counted(number, "class")), ["0 classes", "1 class", "2,000 classes"]);
        assert_eq!([1, 3].map(|number| counted(number, "method")), ["1 method", "3 methods"]);
        assert_eq!((bytes(999), bytes(1_500), bytes(8_000_000)), ("999 B".into(), "1.50 kB".into(), "8.00 MB".into()));
        assert_eq!((percent(1, 8), percent(1, 0)), ("12.5".to_owned(), "-".to_owned()));
    }

    #[test]
    fn dates_around_leap_days() {
        let day = 86_400_000_000_000;
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000 + day), "2000-03-01 00:00:00 UTC");
        assert_eq!(date(1_700_000_000_000_000_000), "2023-11-14 22:13:20 UTC");
        assert_eq!(date(1_735_689_599_000_000_000), "2024-12-31 23:59:59 UTC");
    }
}
