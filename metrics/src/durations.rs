//! Distribution of durations as OpenTelemetry counts it: an exponential histogram of scale 4 over seconds.
//!
//! Bucket `i` holds what is above 2^(i/16) s and not above 2^((i+1)/16) s, so a percentile taken from the middle of a bucket is
//! right to 2.2 %. A duration finds its bucket without a logarithm: the power of two comes from the leading zeros, the step
//! within it from a search in sixteen thresholds that are the same for every power of two.

use std::sync::LazyLock;

/// `scale` of OpenTelemetry's exponential histogram: 2^4 buckets for each power of two.
pub(crate) const SCALE: i32 = 4;
const STEPS: usize = 1 << SCALE;
/// The bucket of one nanosecond is -479; positions in memory begin with 0.
const LOWEST_BUCKET: i32 = -480;

/// Where, between one power of two nanoseconds (2^63 here) and the next, new buckets begin.
static THRESHOLDS: LazyLock<[u64; STEPS]> = LazyLock::new(|| {
    let steps = STEPS as f64;
    let behind_a_bucket = (steps * 1e9_f64.log2()).fract();
    std::array::from_fn(|step| (((step as f64 + behind_a_bucket) / steps).exp2() * 2.0_f64.powi(63)) as u64)
});

/// Durations of one method. Memory grows with the powers of two in use (128 bytes each), not with the number of calls.
#[derive(Debug, Clone, Default)]
pub struct Durations {
    rows: Vec<Option<Box<[u64; STEPS]>>>,
    zeros: u64,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Durations {
    /// Adds a duration in nanoseconds.
    pub fn record(&mut self, nanos: u64) {
        self.min = if self.count == 0 { nanos } else { self.min.min(nanos) };
        self.max = self.max.max(nanos);
        self.count += 1;
        self.sum = self.sum.saturating_add(nanos);
        if nanos == 0 {
            self.zeros += 1;
            return;
        }
        let place = place(nanos);
        let row = place / STEPS;
        if row >= self.rows.len() {
            self.rows.resize(row + 1, None);
        }
        if let Some(slot) = self.rows.get_mut(row) {
            let steps = slot.get_or_insert_with(|| Box::new([0; STEPS]));
            if let Some(bucket) = steps.get_mut(place % STEPS) {
                *bucket += 1;
            }
        }
    }

    /// These durations without some of them. If the shortest or the longest is left out, the new one is as exact as the buckets.
    pub fn without(&self, others: &Durations) -> Durations {
        let mut rest = self.clone();
        if others.count == 0 {
            return rest;
        }
        for (row, left_out) in rest.rows.iter_mut().zip(&others.rows) {
            let (Some(steps), Some(left_out)) = (row, left_out) else { continue };
            for (count, left_out) in steps.iter_mut().zip(left_out.iter()) {
                *count = count.saturating_sub(*left_out);
            }
        }
        rest.count = self.count.saturating_sub(others.count);
        rest.zeros = self.zeros.saturating_sub(others.zeros);
        rest.sum = self.sum.saturating_sub(others.sum);
        let [least, most] = [0.0, 100.0].map(|percent| (rest.percentile(percent) * 1e9).round() as u64);
        rest.min = if others.min == self.min { least } else { self.min };
        rest.max = if others.max == self.max { most } else { self.max };
        rest
    }

    /// Adds all of these durations.
    pub fn add(&mut self, others: &Durations) {
        if others.count == 0 {
            return;
        }
        self.min = if self.count == 0 { others.min } else { self.min.min(others.min) };
        self.max = self.max.max(others.max);
        self.count += others.count;
        self.zeros += others.zeros;
        self.sum = self.sum.saturating_add(others.sum);
        if self.rows.len() < others.rows.len() {
            self.rows.resize(others.rows.len(), None);
        }
        for (row, others) in self.rows.iter_mut().zip(&others.rows) {
            let Some(others) = others else { continue };
            let steps = row.get_or_insert_with(|| Box::new([0; STEPS]));
            steps.iter_mut().zip(others.iter()).for_each(|(count, others)| *count += others);
        }
    }

    /// Lets these durations weigh half as much as those that are added later.
    pub fn halve(&mut self) {
        let halved = |count: &mut u64| {
            *count /= 2;
            *count
        };
        let counted: u64 = self.rows.iter_mut().flatten().flat_map(|steps| steps.iter_mut()).map(halved).sum();
        self.zeros /= 2;
        self.count = counted + self.zeros;
        self.sum /= 2;
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Of these, durations of 0 ns, which no bucket holds.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// All durations together, in nanoseconds.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The shortest, in nanoseconds; 0 without any.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// The longest, in nanoseconds; 0 without any.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The number of the first bucket in use, and the counts from there to the last one in use.
    pub fn buckets(&self) -> (i32, Vec<u64>) {
        let counts = self.rows.iter().flat_map(|row| match row {
            Some(steps) => **steps,
            None => [0; STEPS],
        });
        let mut counts: Vec<u64> = counts.collect();
        let last = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        counts.truncate(last);
        let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
        (LOWEST_BUCKET + i32::try_from(first).unwrap_or(0), counts.split_off(first))
    }

    /// How many durations had which length, by the middle of each bucket in nanoseconds, ascending: right to 2.2 %. Durations of 0 ns are left out.
    pub fn by_length(&self) -> impl Iterator<Item = (u64, u64)> {
        let (first, counts) = self.buckets();
        let nanos = |bucket| (middle(bucket) * 1e9) as u64;
        (first..).zip(counts).filter(|(_, count)| *count > 0).map(move |(bucket, count)| (nanos(bucket), count))
    }

    /// The duration in seconds that `percent` percent of all do not exceed; 0 without any.
    pub fn percentile(&self, percent: f64) -> f64 {
        let wanted = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = self.zeros;
        if seen >= wanted {
            return 0.0;
        }
        let (first, counts) = self.buckets();
        for (bucket, count) in (first..).zip(counts) {
            seen += count;
            if seen >= wanted {
                return middle(bucket).clamp(self.min as f64 / 1e9, self.max as f64 / 1e9);
            }
        }
        0.0
    }
}

/// The middle of a bucket, in seconds.
fn middle(bucket: i32) -> f64 {
    ((f64::from(bucket) + 0.5) / STEPS as f64).exp2()
}

/// Position of the bucket, counted from [`LOWEST_BUCKET`].
fn place(nanos: u64) -> usize {
    let zeros = nanos.leading_zeros();
    let mantissa = nanos << zeros;
    let step = THRESHOLDS.partition_point(|threshold| mantissa > *threshold);
    STEPS * (63 - zeros) as usize + 1 + step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_in_the_bucket_that_opentelemetry_defines() {
        let mut nanos = 1_u64;
        while nanos < 1 << 62 {
            for value in [nanos, nanos + nanos / 3, nanos + nanos / 2 + 1] {
                let bucket = LOWEST_BUCKET + i32::try_from(place(value)).unwrap();
                let by_logarithm = (16.0 * (value as f64 / 1e9).log2()).ceil() as i32 - 1;
                assert_eq!(bucket, by_logarithm, "{value} ns");
            }
            nanos += nanos / 8 + 1;
        }
    }

    #[test]
    fn percentiles_of_a_known_row_are_right_to_the_promised_precision() {
        let mut durations = Durations::default();
        (1..=100_000).for_each(|value| durations.record(value * 1_000));
        for (percent, expected) in [(50.0, 0.05), (90.0, 0.09), (99.0, 0.099)] {
            let error = (durations.percentile(percent) - expected).abs() / expected;
            assert!(error < 0.0225, "{percent}: {error}");
        }
        assert_eq!((durations.count(), durations.min(), durations.max()), (100_000, 1_000, 100_000_000));
        assert_eq!(durations.sum(), 5_000_050_000_000);
        let (_, counts) = durations.buckets();
        assert_eq!(counts.iter().sum::<u64>(), 100_000);
        assert!(counts.first() > Some(&0) && counts.last() > Some(&0));
    }

    #[test]
    fn durations_are_taken_out_again() {
        let (mut all, mut others) = (Durations::default(), Durations::default());
        [0, 8_000_000, 9_000_000, 70_000_000].into_iter().for_each(|nanos| all.record(nanos));
        [0, 70_000_000].into_iter().for_each(|nanos| others.record(nanos));
        let rest = all.without(&others);
        assert_eq!((rest.count(), rest.zeros(), rest.sum()), (2, 0, 17_000_000));
        assert!(rest.min().abs_diff(8_000_000) < 200_000 && rest.max().abs_diff(9_000_000) < 200_000, "{rest:?}");
    }

    #[test]
    fn durations_are_added_and_weigh_less_with_time() {
        let (mut all, mut others) = (Durations::default(), Durations::default());
        all.record(9_000_000);
        [0, 8_000_000, 70_000_000_000].into_iter().for_each(|nanos| others.record(nanos));
        all.add(&others);
        all.add(&Durations::default());
        assert_eq!((all.count(), all.zeros(), all.min(), all.max()), (4, 1, 0, 70_000_000_000));
        assert_eq!(all.sum(), 70_017_000_000);
        assert_eq!(all.buckets().1.iter().sum::<u64>(), 3);
        all.add(&all.clone());
        all.halve();
        assert_eq!((all.count(), all.zeros(), all.buckets().1.iter().sum::<u64>()), (4, 1, 3));
        assert!((all.percentile(100.0) - 70.0).abs() < 2.0);
        let lengths: Vec<_> = others.by_length().map(|(nanos, count)| (nanos / 100_000, count)).collect();
        assert!(matches!(lengths[..], [(78..=82, 1), (684_000..=716_000, 1)]), "{lengths:?}");
    }

    #[test]
    fn nothing_and_zeros_have_no_bucket() {
        let mut durations = Durations::default();
        assert_eq!((durations.percentile(50.0), durations.buckets().1.len()), (0.0, 0));
        durations.record(0);
        assert_eq!((durations.percentile(99.0), durations.zeros, durations.count()), (0.0, 1, 1));
        durations.record(u64::MAX);
        assert!(durations.percentile(100.0) > 1e10);
    }
}
