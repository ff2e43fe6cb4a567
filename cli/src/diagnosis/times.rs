//! Lengths of calls as people write them.

const HELP: &str = "write a number and a unit: 800us, 500ms, 0.5s or 2s";
/// Longer than any call that somebody waits for.
const LONGEST: f64 = 86_400e6;

/// Reads `800us`, `500ms`, `0.5s`: microseconds.
pub(crate) fn microseconds(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return Err(HELP.to_owned()),
    };
    let micros = number.parse::<f64>().map_err(|_| HELP.to_owned())? * factor;
    if (1.0..=LONGEST).contains(&micros) {
        Ok(micros.round() as u64)
    } else {
        Err("a slow call takes a microsecond at least and a day at most".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_unit_and_may_have_a_fraction() {
        let read: Vec<_> = ["500ms", "0.5s", "2s", "800us", "800µs", ".5s", "1.5ms"]
            .map(microseconds)
            .into_iter()
            .map(Result::ok)
            .collect();
        assert_eq!(read, [500_000, 500_000, 2_000_000, 800, 800, 500_000, 1_500].map(Some));
    }

    #[test]
    fn what_is_no_length_is_refused_with_what_is_right() {
        for wrong in ["500", "", "ms", "1e3ms", "-5ms", "1.2.3s", "5 ms", "5m", "infs", "NaNs", "+5s"] {
            assert_eq!(microseconds(wrong), Err(HELP.to_owned()), "{wrong}");
        }
        for beyond in ["0s", "0.1us", "9999999999s"] {
            assert!(microseconds(beyond).unwrap_err().contains("a microsecond at least"), "{beyond}");
        }
    }
}
