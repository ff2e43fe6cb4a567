//! By how much a share may be off.

/// Quantile of the normal distribution that leaves one case of twenty outside.
pub(super) const QUANTILE: f64 = 1.96;

/// By how much a share of so many independent samples is off in one of twenty cases: the farther end of Wilson's interval. Other than the textbook's formula it
/// does not say that a share of 0 or 1 is exact.
pub(crate) fn margin(share: f64, samples: f64) -> f64 {
    let square = QUANTILE * QUANTILE;
    let spread = share * (1.0 - share) / samples + square / (4.0 * samples * samples);
    let half = QUANTILE * spread.sqrt() / (1.0 + square / samples);
    let middle = (share + square / (2.0 * samples)) / (1.0 + square / samples);
    half + (middle - share).abs()
}

/// The same for a share of a sum, each a weight and the sum of its squares: the samples of one method may weigh more than the others. Of few samples that says too
/// much.
pub(crate) fn margin_of_sums(((weight, squares), (all, all_squares)): ((f64, f64), (f64, f64))) -> f64 {
    let share = weight / all;
    let others = all_squares - squares;
    let variance = ((1.0 - share).powi(2) * squares + share * share * others) / (all * all);
    let alike = all * all / all_squares;
    let samples = if variance > 0.0 { (share * (1.0 - share) / variance).min(alike) } else { alike };
    margin(share, samples)
}
