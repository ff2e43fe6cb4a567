//! What was seen, by method, and the shares and margins that follow.

use std::cmp::Ordering;
use std::sync::Arc;

use control::{Caller, CodeKind, HotSpot, LineShare, PackageShare, WithoutMethod};
use instrument_core::internal_name::{package_of, to_source};
use rustc_hash::FxHashMap;

use super::attribution::{Attributed, Attribution};
use super::counted_method::CountedMethod;
use super::margin::margin_of_sums;
use super::sampled_stacks::SampledStacks;
use super::seen::Seen;

/// Packages in a list.
const MOST_PACKAGES: usize = 10;
/// Methods that are counted by themselves; the others are counted together.
const MOST_METHODS: usize = 100_000;
/// Lines of a method that are counted by themselves, ...
const MOST_LINES: usize = 256;
/// ... and those that are listed: with this part of it, at most so many.
const LISTED_LINES: usize = 3;
const LEAST_OF_LINE: f64 = 0.1;
const TOO_MANY: &str = "too many methods";
const NO_FRAME: &str = "no Java frame";

#[derive(Debug, Default)]
struct Counted {
    weight: f64,
    squares: f64,
    samples: u64,
    waiting: f64,
    by_kind: FxHashMap<CodeKind, f64>,
    /// Of a method that was executing itself: its lines.
    by_line: FxHashMap<u32, f64>,
    /// Of callers: what was passed through.
    by_way: FxHashMap<Option<Arc<str>>, f64>,
}

/// All that was seen.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    attribution: Attribution,
    /// All stacks, if they are kept.
    stacks: Option<SampledStacks>,
    by_method: FxHashMap<CountedMethod, Counted>,
    /// Samples that are not attributed: of other methods than the one whose callers are counted.
    elsewhere: u64,
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
    /// Nothing was seen yet; stacks will count like this.
    pub(crate) fn new(attribution: Attribution) -> Tally {
        Tally { attribution, ..Tally::default() }
    }

    /// The same; whole stacks are kept, too.
    pub(crate) fn with_stacks(self) -> Tally {
        Tally { stacks: Some(SampledStacks::default()), ..self }
    }

    /// Whether only whole stacks say something.
    pub(crate) fn needs_stacks(&self) -> bool {
        self.stacks.is_some() || self.attribution.needs_stacks()
    }

    /// Returns the stacks, if they are kept.
    pub(crate) fn stacks(&self) -> Option<&SampledStacks> {
        self.stacks.as_ref()
    }

    /// Counts a stack, the innermost method first; without methods it has no frames of Java. Outer frames are missing if it is `truncated`.
    pub(super) fn add_stack(&mut self, stack: &[&CountedMethod], truncated: bool, seen: Seen) {
        if let Some(stacks) = &mut self.stacks {
            stacks.add(stack, truncated, seen);
        }
        match self.attribution.of(stack, truncated) {
            Attributed::Method(method, via) => self.add_for(method, via, seen),
            Attributed::Reason(reason) => self.add_without_method(reason, seen),
            Attributed::Elsewhere => self.elsewhere += seen.samples,
            Attributed::NoFrame => self.add_failed(NO_FRAME, seen),
        }
    }

    /// Counts a sample that has no stack.
    pub(super) fn add_failed(&mut self, reason: &'static str, seen: Seen) {
        if self.attribution.needs_stacks() {
            self.elsewhere += seen.samples;
        } else {
            self.add_without_method(reason, seen);
        }
    }

    /// Counts a sample that has no stack, but a place.
    pub(super) fn add_failed_in(&mut self, place: &CountedMethod, seen: Seen) {
        if self.attribution.needs_stacks() {
            self.elsewhere += seen.samples;
        } else {
            self.add(place, seen);
        }
    }

    /// Counts for a method.
    pub(super) fn add(&mut self, method: &CountedMethod, seen: Seen) {
        self.add_for(method, None, seen);
    }

    fn add_for(&mut self, method: &CountedMethod, via: Option<&CountedMethod>, seen: Seen) {
        if self.by_method.len() >= MOST_METHODS && !self.by_method.contains_key(method) {
            self.add_without_method(TOO_MANY, seen);
            return;
        }
        self.count(seen);
        // The line is that of the innermost method, which is not the one that is counted if callers are.
        let line = Some(seen.line).filter(|line| *line > 0 && !self.attribution.needs_stacks());
        let counted = match self.by_method.get_mut(method) {
            Some(counted) => counted,
            None => self.by_method.entry(method.clone()).or_default(),
        };
        *counted.by_way.entry(via.map(|via| Arc::clone(&via.text))).or_default() += seen.weight;
        if let Some(line) = line.filter(|line| counted.by_line.len() < MOST_LINES || counted.by_line.contains_key(line))
        {
            *counted.by_line.entry(line).or_default() += seen.weight;
        }
        counted.weight += seen.weight;
        counted.squares += seen.weight * seen.weight;
        counted.samples += seen.samples;
        counted.waiting += if seen.waits { seen.weight } else { 0.0 };
        if let Some(kind) = seen.kind {
            *counted.by_kind.entry(kind).or_default() += seen.weight;
        }
    }

    /// Counts what belongs to no method, and why.
    fn add_without_method(&mut self, reason: &'static str, seen: Seen) {
        self.count(seen);
        *self.without_method.entry(reason).or_default() += seen.weight;
    }

    fn count(&mut self, seen: Seen) {
        self.samples += seen.samples;
        self.weight += seen.weight;
        self.squares += seen.weight * seen.weight;
    }

    /// All samples that count.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// Those, and the others.
    pub(crate) fn all_samples(&self) -> u64 {
        self.samples + self.elsewhere
    }

    /// The largest first; of equal ones by name.
    fn sorted(&self) -> Vec<(&CountedMethod, &Counted)> {
        let mut all: Vec<(&CountedMethod, &Counted)> = self.by_method.iter().collect();
        all.sort_by(|(method, counted), (other, than)| {
            descending(counted.weight, than.weight).then_with(|| method.text.cmp(&other.text))
        });
        all
    }

    /// The callers with the largest shares, at most this number. A weight of 1 represents `millis`.
    pub(crate) fn callers(&self, most: usize, margins: bool, millis: f64) -> Vec<Caller> {
        let caller = |(method, counted): (&CountedMethod, &Counted)| Caller {
            method: method.text.to_string(),
            via: heaviest(&counted.by_way).flatten().map(|via| via.to_string()),
            calls: None,
            calls_share: None,
            calls_margin: None,
            amount: None,
            time_ms: counted.weight * millis,
            time_share: self.share(counted.weight),
            margin: margins.then(|| self.margin(counted)),
        };
        self.sorted().into_iter().take(most).map(caller).collect()
    }

    /// The hot methods, the largest share first; of equal ones by name.
    pub(crate) fn hot(&self, listed: Listed) -> Vec<HotSpot> {
        let mut all = self.sorted();
        let hot = all.iter().take_while(|(_, counted)| self.share(counted.weight) >= listed.share).count();
        all.truncate(if hot == 0 { listed.top } else { hot });
        all.into_iter().map(|(method, counted)| self.spot(method, counted, listed)).collect()
    }

    fn spot(&self, method: &CountedMethod, counted: &Counted, listed: Listed) -> HotSpot {
        let share = self.share(counted.weight);
        HotSpot {
            method: method.text.to_string(),
            kind: heaviest(&counted.by_kind),
            share,
            margin: listed.margins.then(|| self.margin(counted)),
            waiting: listed.waiting.then(|| counted.waiting / counted.weight),
            samples: counted.samples,
            // Where samples are biased, lines are those of the nearest call, or of a safepoint.
            lines: if listed.margins { counted.hot_lines() } else { Vec::new() },
        }
    }

    fn margin(&self, counted: &Counted) -> f64 {
        margin_of_sums(((counted.weight, counted.squares), (self.weight, self.squares)))
    }

    /// The packages with the largest shares.
    pub(crate) fn packages(&self) -> Vec<PackageShare> {
        let mut by_package: FxHashMap<&[u8], f64> = FxHashMap::default();
        for (method, counted) in self.by_method.iter().filter(|(method, _)| !method.class.is_empty()) {
            *by_package.entry(package_of(&method.class)).or_default() += counted.weight;
        }
        let mut packages: Vec<PackageShare> = by_package
            .into_iter()
            .map(|(package, weight)| PackageShare { package: to_source(package), share: self.share(weight) })
            .collect();
        packages.sort_by(|of, than| descending(of.share, than.share).then_with(|| of.package.cmp(&than.package)));
        packages.truncate(MOST_PACKAGES);
        packages
    }

    /// Why samples have no method.
    pub(crate) fn without_method(&self) -> Vec<WithoutMethod> {
        let shares = self.without_method.iter();
        let mut reasons: Vec<WithoutMethod> = shares
            .map(|(reason, weight)| WithoutMethod {
                reason: (*reason).to_owned(),
                share: self.share(*weight),
                calls_share: None,
            })
            .collect();
        reasons.sort_by(|of, than| descending(of.share, than.share).then_with(|| of.reason.cmp(&than.reason)));
        reasons
    }

    fn share(&self, weight: f64) -> f64 {
        if self.weight > 0.0 { weight / self.weight } else { 0.0 }
    }
}

impl Counted {
    /// The lines with the largest parts of what was seen of the method.
    fn hot_lines(&self) -> Vec<LineShare> {
        let share = |(line, weight): (&u32, &f64)| LineShare { line: *line, share: weight / self.weight };
        let mut lines: Vec<LineShare> = self.by_line.iter().map(share).filter(|of| of.share >= LEAST_OF_LINE).collect();
        lines.sort_by(|of, than| descending(of.share, than.share).then(of.line.cmp(&than.line)));
        lines.truncate(LISTED_LINES);
        lines
    }
}

/// What most of the weight belongs to; of equal ones the smaller.
fn heaviest<T: Clone + Ord>(weights: &FxHashMap<T, f64>) -> Option<T> {
    let most = weights.iter().max_by(|(of, weight), (other, than)| weight.total_cmp(than).then(other.cmp(of)));
    most.map(|(of, _)| of.clone())
}

fn descending(of: f64, than: f64) -> Ordering {
    than.total_cmp(&of)
}

#[cfg(test)]
mod tests {
    use super::super::margin::margin;
    use super::*;

    const LISTED: Listed = Listed { share: 0.05, top: 2, margins: true, waiting: false };

    fn method(name: &str) -> CountedMethod {
        let (class, _) = name.rsplit_once('.').unwrap();
        let class = class.replace('.', "/").into_bytes();
        CountedMethod { text: format!("{name}()").into(), class: class.into(), ..CountedMethod::of_text(name) }
    }

    fn seen(weight: f64) -> Seen {
        Seen { weight, samples: 1, kind: Some(CodeKind::Jit), line: 0, waits: false }
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
        assert_eq!(
            tally.without_method(),
            [WithoutMethod { reason: "gone".to_owned(), share: 0.75, calls_share: None }]
        );
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
    fn lines_are_those_of_the_method_itself() {
        let mut tally = of(&[("a.X.x", 1.0)]);
        for (line, weight) in [(12, 3.0), (14, 5.0), (13, 0.9)] {
            tally.add(&method("a.X.x"), Seen { line, ..seen(weight) });
        }
        let lines: Vec<(u32, f64)> = tally.hot(LISTED)[0].lines.iter().map(|of| (of.line, of.share * 9.9)).collect();
        assert_eq!(lines.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [14, 12], "with a tenth or more");
        assert!((lines[0].1 - 5.0).abs() < 1e-9 && (lines[1].1 - 3.0).abs() < 1e-9, "{lines:?}");
        let mut many = Tally::default();
        (1..=1_000).for_each(|line| many.add(&method("a.X.x"), Seen { line, ..seen(1.0) }));
        assert_eq!(many.by_method.values().map(|of| of.by_line.len()).max(), Some(MOST_LINES));
    }

    /// How many of 1,000 runs had the true share within the margin: of so many samples, each with this probability one of the method and with these weights.
    fn held(truth: f64, samples: usize, (of_method, of_others): (f64, f64)) -> usize {
        let mut state = 7_u64;
        let mut drawn = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let expected = truth * of_method / (truth * of_method + (1.0 - truth) * of_others);
        let mut holds = || {
            let mut tally = of(&[]);
            for _ in 0..samples {
                let is_of_method = drawn() < truth;
                let name = if is_of_method { "a.X.x" } else { "b.Y.y" };
                tally.add(&method(name), seen(if is_of_method { of_method } else { of_others }));
            }
            let hot = tally.hot(Listed { share: 0.0, ..LISTED });
            let Some(spot) = hot.iter().find(|spot| spot.method == "a.X.x()") else { return false };
            (spot.share - expected).abs() <= spot.margin.unwrap()
        };
        (0..1_000).filter(|_| holds()).count()
    }

    #[test]
    fn margins_hold_as_often_as_they_say() {
        for (truth, weights) in [(0.3, (1.0, 1.0)), (0.05, (1.0, 1.0)), (0.05, (100.0, 1.0)), (0.5, (1.0, 10.0))] {
            let held = held(truth, 400, weights);
            assert!(held >= 925, "{held} of 1000 for {truth} and {weights:?}");
            assert!(held <= 985 || weights.0 != weights.1, "wider than it says: {held} of 1000 for {truth}");
        }
        assert!(margin(1.0, 100.0) > 0.01, "all samples alike are no certainty");
        assert!(of(&[("a.X.x", 90.0), ("b.Y.y", 1.0)]).hot(LISTED)[0].margin.unwrap() > 0.3, "a sample is one sample");
    }
}
