//! The calls of a method in blocks of equal time, and how far a mean of them may be off.
//!
//! Calls that follow each other are alike: code warms up, caches fill, the machine is busy for a while. So a million calls
//! may say no more about a program than ten, and the scatter of single calls says little about how sure their mean is. Blocks of
//! time that differ from each other show such a drift. As it may be slower than a block, blocks are also put together to
//! longer ones, and what scatters most counts.

/// Blocks of a recording.
const BLOCKS: usize = 20;
/// Fewer and longer blocks than this are not made of shorter ones: the estimate itself would be chance.
const FEWEST_LONG_BLOCKS: usize = 5;

/// Quantiles of Student's t distribution, by degrees of freedom from 1: 95 % of all values are within.
const STUDENT: [f64; 30] = [
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09,
    2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
];
const NORMAL: f64 = 1.96;

/// Returns how many standard errors 95 % of all chance differences are within, if the error is estimated from few values.
pub(super) fn student(degrees_of_freedom: usize) -> f64 {
    degrees_of_freedom.checked_sub(1).map_or(f64::INFINITY, |index| STUDENT.get(index).copied().unwrap_or(NORMAL))
}

/// Finds the block of a moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BlockClock {
    begin: u64,
    /// Nanoseconds of a block; 0 if nothing is put into blocks.
    length: u64,
}

impl BlockClock {
    /// Blocks from `begin` to `end`, in nanoseconds since 1970.
    pub(super) fn between(begin: u64, end: u64) -> BlockClock {
        BlockClock { begin, length: end.saturating_sub(begin).div_ceil(BLOCKS as u64).max(1) }
    }

    pub(super) fn block(self, at: u64) -> Option<usize> {
        let block = at.saturating_sub(self.begin).checked_div(self.length)?;
        Some((block as usize).min(BLOCKS - 1))
    }
}

/// The calls of a method that ended in one block. Times in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block {
    pub(super) calls: u64,
    /// Of all calls, recursive ones included.
    pub(super) sum: u64,
    /// Of calls that are inside no other call of the method.
    pub(super) total: u64,
    /// Without measured callees. Estimates of these may be larger than that of their caller.
    pub(super) own: i64,
}

/// The calls of a method by the blocks in which they ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks([Block; BLOCKS]);

impl Blocks {
    pub(super) fn get_mut(&mut self, block: usize) -> Option<&mut Block> {
        self.0.get_mut(block)
    }

    /// Adds the calls of the same method that another template measured.
    pub(super) fn add(&mut self, other: &Blocks) {
        for (block, other) in self.0.iter_mut().zip(&other.0) {
            block.calls += other.calls;
            block.sum = block.sum.saturating_add(other.sum);
            block.total = block.total.saturating_add(other.total);
            block.own = block.own.saturating_add(other.own);
        }
    }

    /// Returns how far the mean of `value` for each call may be off, as a part of it; `None` if that cannot be said.
    pub(super) fn margin_per_call(&self, value: impl Fn(&Block) -> f64) -> Option<f64> {
        let with_calls = self.0.iter().filter(|block| block.calls > 0);
        margin(&with_calls.map(|block| (block.calls as f64, value(block))).collect::<Vec<_>>())
    }

    /// Returns how far the number of calls may be off, as a part of it, while the method is called at all; `None` if that
    /// cannot be said.
    pub(super) fn margin_of_calls(&self) -> Option<f64> {
        let first = self.0.iter().position(|block| block.calls > 0)?;
        let last = self.0.iter().rposition(|block| block.calls > 0)?;
        let window = self.0.get(first..=last).unwrap_or_default();
        margin(&window.iter().map(|block| (1.0, block.calls as f64)).collect::<Vec<_>>())
    }
}

/// Returns the largest margin of single blocks, of pairs of neighbours and of fours.
fn margin(blocks: &[(f64, f64)]) -> Option<f64> {
    let mut largest: Option<f64> = None;
    let mut groups = blocks.len();
    while groups >= 2 && (groups == blocks.len() || groups >= FEWEST_LONG_BLOCKS) {
        let of_groups = margin_of_groups(&in_groups(blocks, groups))?;
        largest = Some(largest.map_or(of_groups, |largest| largest.max(of_groups)));
        groups /= 2;
    }
    largest
}

/// Neighbours put together, so that there are `groups` of about the same size.
fn in_groups(blocks: &[(f64, f64)], groups: usize) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); groups];
    for (index, (weight, value)) in blocks.iter().enumerate() {
        if let Some((weights, values)) = sums.get_mut(index * groups / blocks.len().max(1)) {
            *weights += weight;
            *values += value;
        }
    }
    sums
}

/// Returns the margin of the sum of all values over the sum of all weights, as a part of it. Each group in turn is left out
/// (jackknife), which also shows the influence of a group with most of the calls.
fn margin_of_groups(groups: &[(f64, f64)]) -> Option<f64> {
    let (weight, value) = groups.iter().fold((0.0, 0.0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
    if weight <= 0.0 || value <= 0.0 {
        return None;
    }
    let whole = value / weight;
    let without = groups.iter().filter(|group| group.0 < weight).map(|group| (value - group.1) / (weight - group.0));
    let squares: f64 = without.map(|mean| (mean / whole - 1.0).powi(2)).sum();
    let count = groups.len() as f64;
    Some(student(groups.len() - 1) * (squares * (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(rows: &[(u64, u64)]) -> Blocks {
        let mut blocks = Blocks::default();
        for (block, (calls, sum)) in rows.iter().enumerate() {
            blocks.0[block] = Block { calls: *calls, sum: *sum, total: *sum, own: *sum as i64 };
        }
        blocks
    }

    fn per_call(rows: &[(u64, u64)]) -> Option<f64> {
        blocks(rows).margin_per_call(|block| block.sum as f64)
    }

    #[test]
    fn moments_fall_into_blocks_of_equal_length() {
        let clock = BlockClock::between(1_000, 3_000);
        assert_eq!([0, 1_000, 1_099, 1_100, 2_999, 9_999].map(|at| clock.block(at)), [0, 0, 0, 1, 19, 19].map(Some));
        assert_eq!(BlockClock::default().block(5), None);
    }

    #[test]
    fn what_never_differs_has_no_margin_and_what_is_seen_once_none_that_is_known() {
        assert_eq!(per_call(&[(3, 30); 20]), Some(0.0));
        assert_eq!(per_call(&[(0, 0), (1, 10), (9, 90)]), Some(0.0), "phases of a program are no scatter");
        assert_eq!(per_call(&[(0, 0), (1_000, 30)]), None);
        assert_eq!(blocks(&[(1_000, 30)]).margin_of_calls(), None);
    }

    /// Ten blocks of 1 and 3 in turn: the mean is 2, the standard error 1.054 / sqrt(10), Student's factor for nine 2.26.
    #[test]
    fn the_margin_is_that_of_a_mean_of_few_values() {
        let rows = std::array::from_fn::<_, 10, _>(|block| (1, if block % 2 == 0 { 1 } else { 3 }));
        let expected = 2.26 * 1.054 / 10.0_f64.sqrt() / 2.0;
        let found = per_call(&rows).unwrap();
        assert!((found - expected).abs() < 0.001, "{found} {expected}");
    }

    #[test]
    fn a_drift_that_lasts_longer_than_a_block_is_seen() {
        let quick = std::array::from_fn::<_, 20, _>(|block| (10, if block % 2 == 0 { 100 } else { 130 }));
        let slow = std::array::from_fn::<_, 20, _>(|block| (10, if block < 10 { 100 } else { 130 }));
        assert!(per_call(&slow).unwrap() > 1.8 * per_call(&quick).unwrap());
    }

    #[test]
    fn a_block_with_nearly_all_calls_is_no_evidence_of_steadiness() {
        let rows = [(10_000, 100_000), (5, 100), (5, 100)];
        assert!(per_call(&rows).unwrap() > 1.0);
    }
}
