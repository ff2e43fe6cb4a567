//! How long the calls of a diagnosis took: a counter for each eighth of a power of two.

use super::DiagnosisNumber;
use super::memory::{self, LENGTHS};

/// Returns the counters that have counted anything: the shortest length that each represents, and the number of its calls.
pub(super) fn counted(diagnosis: DiagnosisNumber) -> Vec<(u64, u64)> {
    let counts = memory::lengths(diagnosis).into_iter().enumerate();
    counts.filter(|(_, count)| *count > 0).map(|(at, count)| (shortest(at), count)).collect()
}

/// The shortest time that a counter represents.
fn shortest(counter: usize) -> u64 {
    let (power, eighth) = (counter.min(LENGTHS - 1) / 8, counter as u64 % 8);
    if power < 3 { 0 } else { (8 + eighth) << (power - 3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_represents_lengths_that_differ_by_an_eighth() {
        // As java.instr.Sites computes it.
        let counter = |time: u64| {
            let power = 63 - (time | 8).leading_zeros() as usize;
            power << 3 | (time >> (power - 3)) as usize & 7
        };
        for time in [8, 9, 15, 16, 1_000, 123_456_789, u64::MAX >> 1] {
            let shortest = shortest(counter(time));
            assert!(shortest <= time && time as f64 <= shortest as f64 * 1.126, "{time}: {shortest}");
        }
    }
}
