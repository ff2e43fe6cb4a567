//! From which length on calls are slow, if nobody has said so: learnt from the lengths of the calls themselves.

/// So few calls say nothing.
const LEAST_CALLS: u64 = 20;
/// A slow call takes a multiple of the median: at least this, ...
const LEAST_FACTOR: f64 = 1.5;
/// ... at most this, ...
const MOST_FACTOR: f64 = 10.0;
/// ... and in between as far above the median, three times over, as the lower quartile is below: it does not depend on how many calls are slow, as long as most are not.
const POWER: i32 = 3;

/// Returns from which length on calls are slow, by the lengths of calls (the shortest that a counter stands for, and how many had it; ascending). `None` as
/// long as there are too few.
pub(crate) fn learnt(lengths: &[(u64, u64)]) -> Option<u64> {
    let all: u64 = lengths.iter().map(|(_, count)| count).sum();
    if all < LEAST_CALLS {
        return None;
    }
    let [lower, median] = [all / 4, all / 2].map(|part| at_part(lengths, part).max(1) as f64);
    let factor = (median / lower).powi(POWER).clamp(LEAST_FACTOR, MOST_FACTOR);
    Some((median * factor) as u64)
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
    fn many_slow_calls_are_slow_as_well() {
        let lengths = [(3_000, 30), (3_200, 30), (3_400, 5), (30_000, 35)];
        let slow = learnt(&lengths).unwrap();
        assert!(slow > 3_400 && slow < 30_000, "{slow}");
        // Where some calls do nothing, the others are no exception.
        assert_eq!(learnt(&[(1, 40), (1_000, 60)]), Some(10_000));
    }

    #[test]
    fn lengths_that_differ_anyway_need_more_to_be_slow() {
        let lengths: Vec<(u64, u64)> = (1..=100).map(|at| (at * 10, 1)).collect();
        assert!(learnt(&lengths).unwrap() > 1_000, "none of them is out of the ordinary");
        assert_eq!(learnt(&lengths[..19]), None);
        assert_eq!(learnt(&[]), None);
    }
}
