//! Counts tests from the closing lines that cargo and Maven print.

use std::ops::AddAssign;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// Looks for a closing line of `cargo test`, Surefire or Failsafe, and adds what it says.
    pub(crate) fn see(&mut self, line: &str) {
        if let Some(tally) = of_cargo(line).or_else(|| of_maven(line)) {
            *self += tally;
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// `test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn of_cargo(line: &str) -> Option<Tally> {
    let figures = line.trim().strip_prefix("test result: ")?.split_once(". ")?.1;
    let figure = |name: &str| {
        let part = figures.split(';').find_map(|part| part.trim().strip_suffix(name))?;
        part.trim().parse::<u64>().ok()
    };
    Some(Tally { passed: figure("passed")?, failed: figure("failed")?, skipped: figure("ignored")? })
}

/// `[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0`; the lines of single classes go on after that.
fn of_maven(line: &str) -> Option<Tally> {
    let plain = without_colours(line);
    let figures = plain.split_once("Tests run: ")?.1;
    if figures.contains("Time elapsed") {
        return None;
    }
    let mut numbers = figures.split(", ").map(|part| part.rsplit(' ').next().unwrap_or("").parse::<u64>());
    let mut next = || numbers.next()?.ok();
    let (run, failures, errors, skipped) = (next()?, next()?, next()?, next()?);
    let failed = failures + errors;
    Some(Tally { passed: run.saturating_sub(failed + skipped), failed, skipped })
}

fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut in_sequence = false;
    for character in line.chars() {
        match (in_sequence, character) {
            (false, '\x1b') => in_sequence = true,
            (false, _) => plain.push(character),
            (true, letter) => in_sequence = !letter.is_ascii_alphabetic(),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped }
    }

    #[test]
    fn closing_lines_of_cargo_count() {
        let line = "test result: FAILED. 7 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(of_cargo(line), Some(tally(7, 2, 1)));
        assert_eq!(of_cargo("test tally::tests::x ... ok"), None);
    }

    #[test]
    fn closing_lines_of_maven_count_once() {
        assert_eq!(of_maven("[INFO] Tests run: 9, Failures: 1, Errors: 2, Skipped: 1"), Some(tally(5, 3, 1)));
        let coloured = "[\x1b[1;31mERROR\x1b[m] \x1b[1;31mTests run: 3, Failures: 1, Errors: 0, Skipped: 0\x1b[m";
        assert_eq!(of_maven(coloured), Some(tally(2, 1, 0)));
        let of_a_class = "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.B";
        assert_eq!(of_maven(of_a_class), None);
    }

    #[test]
    fn other_lines_change_nothing() {
        let mut sum = Tally::default();
        ["", "running 3 tests", "[INFO] BUILD SUCCESS", "Tests run: many"].iter().for_each(|line| sum.see(line));
        assert_eq!(sum, Tally::default());
    }
}
