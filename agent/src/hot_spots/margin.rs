//! By how much a share may be off.

/// Quantile of the normal distribution that leaves one case of twenty outside.
const QUANTILE: f64 = 1.96;

/// By how much a share of so many independent samples is off in one of twenty cases: the farther end of Wilson's interval. Other than the textbook's formula it
/// does not say that a share of 0 or 1 is exact.
pub(crate) fn margin(share: f64, samples: f64) -> f64 {
    let square = QUANTILE * QUANTILE;
    let spread = share * (1.0 - share) / samples + square / (4.0 * samples * samples);
    let half = QUANTILE * spread.sqrt() / (1.0 + square / samples);
    let middle = (share + square / (2.0 * samples)) / (1.0 + square / samples);
    half + (middle - share).abs()
}
