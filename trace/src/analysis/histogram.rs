//! Distribution of durations: buckets whose width grows with the value, so that every percentile is right to 1.6 %.

/// Buckets per power of two.
const STEPS: u64 = 32;
const STEP_BITS: u32 = 5;

/// Counts durations. Memory grows with the powers of two in use (256 bytes each), not with the number of values.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    octaves: Vec<Option<Box<[u64; STEPS as usize]>>>,
    count: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    /// Adds a duration.
    pub fn record(&mut self, nanos: u64) {
        let (octave, step) = place(nanos);
        if octave >= self.octaves.len() {
            self.octaves.resize(octave + 1, None);
        }
        if let Some(slot) = self.octaves.get_mut(octave) {
            let steps = slot.get_or_insert_with(|| Box::new([0; STEPS as usize]));
            if let Some(bucket) = steps.get_mut(step) {
                *bucket += 1;
            }
        }
        self.min = if self.count == 0 { nanos } else { self.min.min(nanos) };
        self.count += 1;
        self.max = self.max.max(nanos);
    }

    /// Adds all durations of another one.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if self.octaves.len() < other.octaves.len() {
            self.octaves.resize(other.octaves.len(), None);
        }
        for (slot, theirs) in self.octaves.iter_mut().zip(&other.octaves) {
            let Some(theirs) = theirs else { continue };
            let steps = slot.get_or_insert_with(|| Box::new([0; STEPS as usize]));
            steps.iter_mut().zip(theirs.iter()).for_each(|(step, more)| *step += more);
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// Number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Number of durations that are not longer, as exact as the buckets are.
    #[must_use]
    pub fn count_up_to(&self, nanos: u64) -> u64 {
        let (last_octave, last_step) = place(nanos);
        let octaves = self.octaves.iter().take(last_octave + 1).enumerate();
        let octaves = octaves.filter_map(|(octave, steps)| Some((octave, steps.as_ref()?)));
        octaves
            .map(|(octave, steps)| {
                let most = if octave == last_octave { last_step + 1 } else { STEPS as usize };
                steps.iter().take(most).sum::<u64>()
            })
            .sum()
    }

    /// Whether one of the durations is this one, as exact as the buckets are.
    #[must_use]
    pub fn holds(&self, nanos: u64) -> bool {
        let (octave, step) = place(nanos);
        let steps = self.octaves.get(octave).and_then(Option::as_ref);
        steps.and_then(|steps| steps.get(step)).is_some_and(|count| *count > 0)
    }

    /// The shortest duration; 0 when there are none.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.min
    }

    /// These durations without some of them. If the shortest or the longest is left out, the new one is as exact as the buckets.
    pub(super) fn without(&self, others: &Histogram) -> Histogram {
        let mut rest = self.clone();
        rest.count = self.count.saturating_sub(others.count);
        for (octave, left_out) in rest.octaves.iter_mut().zip(&others.octaves) {
            let (Some(steps), Some(left_out)) = (octave, left_out) else { continue };
            for (count, left_out) in steps.iter_mut().zip(left_out.iter()) {
                *count = count.saturating_sub(*left_out);
            }
        }
        let (least, most) = (rest.percentile(0.0), rest.percentile(100.0));
        rest.min = if others.min == self.min { least } else { self.min };
        rest.max = if others.max == self.max { most } else { self.max };
        rest
    }

    /// The longest duration; 0 when there are none.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The duration that `percent` percent of all durations do not exceed; 0 when there are none.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> u64 {
        let wanted = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (octave, steps) in self.octaves.iter().enumerate() {
            let Some(steps) = steps else { continue };
            for (step, count) in steps.iter().enumerate() {
                seen += count;
                if seen >= wanted {
                    return middle(octave as u32, step as u64).clamp(self.min, self.max);
                }
            }
        }
        0
    }
}

/// Values below `STEPS` have a bucket each (octave 0); octave n >= 1 holds those with n + `STEP_BITS` bits.
fn place(nanos: u64) -> (usize, usize) {
    let bits = 64 - nanos.leading_zeros();
    let octave = bits.saturating_sub(STEP_BITS);
    if octave == 0 {
        return (0, nanos as usize);
    }
    (octave as usize, ((nanos >> (octave - 1)) - STEPS) as usize)
}

fn middle(octave: u32, step: u64) -> u64 {
    if octave == 0 {
        return step;
    }
    let width = 1 << (octave - 1);
    (STEPS + step) * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn percentiles_of_a_known_row_are_right_to_the_promised_precision() {
        let mut histogram = Histogram::default();
        (1..=100_000).for_each(|value| histogram.record(value * 1_000));
        for (percent, expected) in [(50.0, 50_000_000.0), (95.0, 95_000_000.0), (99.0, 99_000_000.0)] {
            let error = (histogram.percentile(percent) as f64 - expected).abs() / expected;
            assert!(error < 0.016, "{percent}: {error}");
        }
        assert_eq!(histogram.count(), 100_000);
    }

    #[test]
    fn durations_up_to_a_limit_are_counted() {
        let mut histogram = Histogram::default();
        [5, 1_000, 900_000, 1_000_000, 3_000_000].into_iter().for_each(|value| histogram.record(value));
        let counts = [4, 5, 950_000, 1_500_000, u64::MAX].map(|limit| histogram.count_up_to(limit));
        assert_eq!(counts, [0, 1, 3, 4, 5]);
        assert_eq!(Histogram::default().count_up_to(7), 0);
        assert!(histogram.holds(5) && !histogram.holds(4) && !Histogram::default().holds(5));
    }

    #[test]
    fn durations_are_taken_out_again() {
        let (mut all, mut others) = (Histogram::default(), Histogram::default());
        [5, 1_000, 900_000, 7_000_000].into_iter().for_each(|value| all.record(value));
        [1_000, 7_000_000].into_iter().for_each(|value| others.record(value));
        let rest = all.without(&others);
        assert_eq!((rest.count(), rest.min(), rest.percentile(1.0)), (2, 5, 5));
        assert!(rest.max().abs_diff(900_000) < 15_000, "{}", rest.max());
        assert_eq!((all.without(&all).count(), all.without(&all).max()), (0, 0));
    }

    #[test]
    fn small_values_are_exact_and_large_ones_have_a_place() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50.0), 0);
        for value in [0, 1, 31, 32, 33, 100, 1_000_000_007] {
            histogram = Histogram::default();
            histogram.record(value);
            assert_eq!(histogram.percentile(50.0), value);
        }
        histogram = Histogram::default();
        [33, u64::MAX, u64::MAX].into_iter().for_each(|value| histogram.record(value));
        assert!(histogram.percentile(100.0) > u64::MAX / 64 * 62);
        assert_eq!(histogram.percentile(0.0), 33, "not below the smallest");
    }
}
