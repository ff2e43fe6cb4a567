//! What was seen, by method, and the shares and margins that follow.

use std::cmp::Ordering;
use std::sync::Arc;

use control::{CodeKind, HotSpot, PackageShare, WithoutMethod};
use rustc_hash::FxHashMap;

/// Quantile of the normal distribution that leaves one case of twenty outside.
const QUANTILE: f64 = 1.96;
/// Packages in a list.
const MOST_PACKAGES: usize = 10;
/// Methods that are counted by themselves; the others are counted together.
const MOST_METHODS: usize = 100_000;
const TOO_MANY: &str = "too many methods";

/// A method to count for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CountedMethod {
    /// `package.Class.method(Types)`
    pub(super) text: Arc<str>,
    /// The package, in source form.
    pub(super) package: Arc<str>,
}

/// Something that was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// What it stands for: intervals of processor time, threads, bytes, calls.
    pub(super) weight: f64,
    /// How many samples it is.
    pub(super) samples: u64,
    /// What the thread was executing.
    pub(super) kind: Option<CodeKind>,
    /// Whether the thread was waiting.
    pub(super) waits: bool,
}

#[derive(Debug, Default)]
struct Counted {
    weight: f64,
    samples: u64,
    waiting: f64,
    by_kind: FxHashMap<CodeKind, f64>,
}

/// All that was seen.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    by_method: FxHashMap<CountedMethod, Counted>,
    without_method: FxHashMap<&'static str, f64>,
    samples: u64,
    weight: f64,
    squares: f64,
}

/// What is listed of a tally.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed {
    /// Methods with this share ...
    pub(crate) share: f64,
    /// ... or so many, if none has it.
    pub(crate) top: usize,
    /// Whether shares have margins.
    pub(crate) margins: bool,
    /// Whether the part is said in which threads waited.
    pub(crate) waiting: bool,
}

impl Tally {
    /// Counts for a method.
    pub(super) fn add(&mut self, method: &CountedMethod, seen: Seen) {
        if self.by_method.len() >= MOST_METHODS && !self.by_method.contains_key(method) {
            self.add_without_method(TOO_MANY, seen);
            return;
        }
        self.count(seen);
        let counted = match self.by_method.get_mut(method) {
            Some(counted) => counted,
            None => self.by_method.entry(method.clone()).or_default(),
        };
        counted.weight += seen.weight;
        counted.samples += seen.samples;
        counted.waiting += if seen.waits { seen.weight } else { 0.0 };
        if let Some(kind) = seen.kind {
            *counted.by_kind.entry(kind).or_default() += seen.weight;
        }
    }

    /// Counts what belongs to no method, and why.
    pub(super) fn add_without_method(&mut self, reason: &'static str, seen: Seen) {
        self.count(seen);
        *self.without_method.entry(reason).or_default() += seen.weight;
    }

    fn count(&mut self, seen: Seen) {
        self.samples += seen.samples;
        self.weight += seen.weight;
        self.squares += seen.weight * seen.weight;
    }

    /// All samples.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// The hot methods, the largest share first; of equal ones by name.
    pub(crate) fn hot(&self, listed: Listed) -> Vec<HotSpot> {
        let mut all: Vec<(&CountedMethod, &Counted)> = self.by_method.iter().collect();
        all.sort_by(|(method, counted), (other, than)| {
            descending(counted.weight, than.weight).then_with(|| method.text.cmp(&other.text))
        });
        let hot = all.iter().take_while(|(_, counted)| self.share(counted.weight) >= listed.share).count();
        all.truncate(if hot == 0 { listed.top } else { hot });
        all.into_iter().map(|(method, counted)| self.spot(method, counted, listed)).collect()
    }

    fn spot(&self, method: &CountedMethod, counted: &Counted, listed: Listed) -> HotSpot {
        let share = self.share(counted.weight);
        let kinds = counted.by_kind.iter();
        let most = kinds.max_by(|(kind, weight), (other, than)| weight.total_cmp(than).then(other.cmp(kind)));
        HotSpot {
            method: method.text.to_string(),
            kind: most.map(|(kind, _)| *kind),
            share,
            margin: listed.margins.then(|| margin(share, self.weight * self.weight / self.squares)),
            waiting: listed.waiting.then(|| counted.waiting / counted.weight),
            samples: counted.samples,
        }
    }

    /// The packages with the largest shares.
    pub(crate) fn packages(&self) -> Vec<PackageShare> {
        let mut by_package: FxHashMap<&str, f64> = FxHashMap::default();
        for (method, counted) in &self.by_method {
            *by_package.entry(&method.package).or_default() += counted.weight;
        }
        let mut packages: Vec<PackageShare> = by_package
            .into_iter()
            .map(|(package, weight)| PackageShare { package: package.to_owned(), share: self.share(weight) })
            .collect();
        packages.sort_by(|of, than| descending(of.share, than.share).then_with(|| of.package.cmp(&than.package)));
        packages.truncate(MOST_PACKAGES);
        packages
    }

    /// Why samples have no method.
    pub(crate) fn without_method(&self) -> Vec<WithoutMethod> {
        let shares = self.without_method.iter();
        let mut reasons: Vec<WithoutMethod> = shares
            .map(|(reason, weight)| WithoutMethod { reason: (*reason).to_owned(), share: self.share(*weight) })
            .collect();
        reasons.sort_by(|of, than| descending(of.share, than.share).then_with(|| of.reason.cmp(&than.reason)));
        reasons
    }

    fn share(&self, weight: f64) -> f64 {
        if self.weight > 0.0 { weight / self.weight } else { 0.0 }
    }
}

fn descending(of: f64, than: f64) -> Ordering {
    than.total_cmp(&of)
}

/// Half of Wilson's interval: by how much a share of so many independent samples is off in one of twenty cases. Other than the textbook's formula it does not
/// say that a share of 0 or 1 is exact.
fn margin(share: f64, samples: f64) -> f64 {
    let square = QUANTILE * QUANTILE;
    let spread = share * (1.0 - share) / samples + square / (4.0 * samples * samples);
    QUANTILE * spread.sqrt() / (1.0 + square / samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: Listed = Listed { share: 0.05, top: 2, margins: true, waiting: false };

    fn method(name: &str) -> CountedMethod {
        CountedMethod { text: format!("{name}()").into(), package: name.split('.').next().unwrap().into() }
    }

    fn seen(weight: f64) -> Seen {
        Seen { weight, samples: 1, kind: Some(CodeKind::Jit), waits: false }
    }

    fn of(weights: &[(&str, f64)]) -> Tally {
        let mut tally = Tally::default();
        weights.iter().for_each(|(name, weight)| tally.add(&method(name), seen(*weight)));
        tally
    }

    fn names(hot: &[HotSpot]) -> Vec<&str> {
        hot.iter().map(|spot| spot.method.as_str()).collect()
    }

    #[test]
    fn methods_with_the_share_are_hot_or_else_the_first_ones_by_name() {
        let tally = of(&[("a.X.x", 50.0), ("b.Y.y", 46.0), ("a.Z.z", 4.0)]);
        assert_eq!(names(&tally.hot(LISTED)), ["a.X.x()", "b.Y.y()"]);
        let packages = tally.packages();
        assert_eq!(packages.iter().map(|of| of.package.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!((packages[0].share - 0.54).abs() < 1e-9, "{packages:?}");
        let even: Vec<(String, f64)> = (0..30).rev().map(|at| (format!("p.C{at:02}.m"), 1.0)).collect();
        let even: Vec<(&str, f64)> = even.iter().map(|(name, weight)| (name.as_str(), *weight)).collect();
        assert_eq!(names(&of(&even).hot(LISTED)), ["p.C00.m()", "p.C01.m()"], "ties are stable");
    }

    #[test]
    fn what_has_no_method_is_part_of_the_whole() {
        let mut tally = of(&[("a.X.x", 1.0)]);
        tally.add_without_method("gone", seen(3.0));
        assert!((tally.hot(LISTED)[0].share - 0.25).abs() < 1e-9);
        assert_eq!(tally.without_method(), [WithoutMethod { reason: "gone".to_owned(), share: 0.75 }]);
        assert_eq!(tally.samples(), 2);
        assert!(Tally::default().hot(LISTED).is_empty(), "no samples, no shares");
    }

    #[test]
    fn the_kind_is_what_was_seen_most() {
        let mut tally = of(&[("a.X.x", 1.0)]);
        tally.add(&method("a.X.x"), Seen { kind: Some(CodeKind::Interpreted), waits: true, ..seen(3.0) });
        let spot = &tally.hot(Listed { waiting: true, ..LISTED })[0];
        assert_eq!((spot.kind, spot.waiting, spot.samples), (Some(CodeKind::Interpreted), Some(0.75), 2));
    }

    #[test]
    fn margins_hold_as_often_as_they_say() {
        // Shares that were drawn: 100 runs of 400 samples with a true share of 0.3.
        let mut state = 7_u64;
        let mut drawn = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let held = (0..1_000).filter(|_| {
            let share = (0..400).filter(|_| drawn() < 0.3).count() as f64 / 400.0;
            (share - 0.3).abs() <= margin(share, 400.0)
        });
        let held = held.count();
        assert!((930..=970).contains(&held), "{held} of 1000");
        assert!(margin(1.0, 100.0) > 0.01, "all samples alike are no certainty");
        // A sample that stands for many is one sample.
        assert!(of(&[("a.X.x", 90.0), ("b.Y.y", 1.0)]).hot(LISTED)[0].margin.unwrap() > 0.3);
    }
}
