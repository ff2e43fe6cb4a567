//! From which length on calls are slow, if nobody has said so: learnt from the lengths of the calls themselves.

/// So few calls say nothing.
const LEAST_CALLS: u64 = 20;
/// A slow call takes longer than the median call by this factor, ...
const LEAST_FACTOR: f64 = 1.5;
/// ... and by so many times the distance between the median and the length that three quarters do not exceed.
const DEVIATIONS: f64 = 4.0;

/// Returns from which length on calls are slow, by the lengths of calls (the shortest that a counter stands for, and how many had it; ascending). `None` as
/// long as there are too few.
pub(super) fn learnt(lengths: &[(u64, u64)]) -> Option<u64> {
    let all: u64 = lengths.iter().map(|(_, count)| count).sum();
    if all < LEAST_CALLS {
        return None;
    }
    let (median, upper) = (at_part(lengths, all / 2), at_part(lengths, all - all / 4));
    let by_deviation = median as f64 + DEVIATIONS * upper.saturating_sub(median) as f64;
    Some(by_deviation.max(median as f64 * LEAST_FACTOR) as u64)
}

/// The length that this number of calls do not exceed.
fn at_part(lengths: &[(u64, u64)], part: u64) -> u64 {
    let mut counted = 0;
    let found = lengths.iter().find(|(_, count)| {
        counted += count;
        counted >= part
    });
    found.map_or(0, |(length, _)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_slow_calls_among_many_equal_ones_are_slow() {
        let lengths = [(1_000, 5), (1_125, 85), (10_000, 10)];
        let slow = learnt(&lengths).unwrap();
        assert!(slow > 1_125 && slow < 10_000, "{slow}");
    }

    #[test]
    fn lengths_that_differ_anyway_need_more_to_be_slow() {
        let lengths: Vec<(u64, u64)> = (1..=100).map(|at| (at * 10, 1)).collect();
        assert!(learnt(&lengths).unwrap() > 1_000, "none of them is out of the ordinary");
        assert_eq!(learnt(&lengths[..19]), None);
        assert_eq!(learnt(&[]), None);
    }
}
