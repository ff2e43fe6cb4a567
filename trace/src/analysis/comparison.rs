//! Two recordings method by method: what became slower, faster, new, gone, and which differences are mere chance.

use std::collections::BTreeMap;

use super::{Analysis, Frame};

/// Of differences that are mere chance, 95 % are within so many standard errors.
const CONFIDENCE: f64 = 1.96;

/// What is compared. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// Time in the method itself.
    #[default]
    Own,
    /// Time in the method and all that it called.
    Total,
    /// Mean time of a call.
    Average,
    /// Number of calls.
    Calls,
}

/// The figures of a method in one recording, all its templates together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Calls; at level watch only those that a tick has seen.
    pub calls: u64,
    /// Of these: calls whose times are estimates.
    pub estimated_calls: u64,
    /// Nanoseconds in the method and all that it called.
    pub total: u64,
    /// Nanoseconds in the method itself.
    pub own: u64,
    /// Nanoseconds of all calls, recursive ones included.
    pub sum: u64,
    /// Sum of the squared distances of the calls' times from their mean.
    spread: f64,
}

impl Figures {
    fn add(&mut self, frame: &Frame) {
        self.calls += frame.calls;
        self.estimated_calls += frame.estimated_calls;
        self.total = self.total.saturating_add(frame.total);
        self.own = self.own.saturating_add(frame.own);
        self.sum = self.sum.saturating_add(frame.sum);
        self.spread += frame.durations.spread();
    }

    /// The figure that is compared.
    #[must_use]
    pub fn value(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Own => self.own,
            Measure::Total => self.total,
            Measure::Average => self.sum.checked_div(self.calls).unwrap_or(0),
            Measure::Calls => self.calls,
        }
    }

    /// Standard error of the figure: how far it would differ if the same program ran again. The calls of a program are
    /// taken for a sample of all that it might do; at level watch, which calls a tick sees is chance, too.
    #[must_use]
    pub fn standard_error(&self, measure: Measure) -> f64 {
        let calls = self.calls.max(1) as f64;
        let mean = self.sum as f64 / calls;
        let variance = self.spread / calls;
        let seen_by_chance = self.estimated_calls as f64 / calls;
        let of_sum = (calls * (variance + seen_by_chance * mean * mean)).sqrt();
        let part = |time: u64| if self.sum > 0 { of_sum * time as f64 / self.sum as f64 } else { 0.0 };
        match measure {
            Measure::Own => part(self.own),
            Measure::Total => part(self.total),
            Measure::Average => (variance / calls).sqrt(),
            Measure::Calls => (self.estimated_calls as f64).sqrt(),
        }
    }
}

/// A method in both recordings.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodChange {
    /// Class and method: `com.acme.Handler.handle`.
    pub name: String,
    /// Descriptor of the method.
    pub descriptor: String,
    /// In the first recording; `None`: the method is new.
    pub before: Option<Figures>,
    /// In the second recording; `None`: the method is gone.
    pub after: Option<Figures>,
}

impl MethodChange {
    fn values(&self, measure: Measure) -> (u64, u64) {
        let value = |figures: &Option<Figures>| figures.map_or(0, |figures| figures.value(measure));
        (value(&self.before), value(&self.after))
    }

    /// How much more it is in the second recording.
    #[must_use]
    pub fn difference(&self, measure: Measure) -> i128 {
        let (before, after) = self.values(measure);
        i128::from(after) - i128::from(before)
    }

    /// The same in percent of the first recording; `None` for what is new.
    #[must_use]
    pub fn percent(&self, measure: Measure) -> Option<f64> {
        let (before, _) = self.values(measure);
        (before > 0).then(|| self.difference(measure) as f64 * 100.0 / before as f64)
    }

    /// The difference, in percent of the first recording, that chance alone exceeds in one case of twenty.
    #[must_use]
    pub fn noise_percent(&self, measure: Measure) -> Option<f64> {
        let (before, after) = (self.before?, self.after?);
        let error = before.standard_error(measure).hypot(after.standard_error(measure));
        let value = before.value(measure);
        (value > 0).then(|| CONFIDENCE * error * 100.0 / value as f64)
    }

    /// Whether chance may explain the difference.
    #[must_use]
    pub fn is_noise(&self, measure: Measure) -> bool {
        match (self.percent(measure), self.noise_percent(measure)) {
            (Some(percent), Some(noise)) => percent.abs() <= noise,
            _ => false,
        }
    }

    /// Whether some times are estimates.
    #[must_use]
    pub fn is_estimated(&self) -> bool {
        [self.before, self.after].iter().flatten().any(|figures| figures.estimated_calls > 0)
    }
}

/// Two recordings, the first taken for what was before.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// All methods of both, by name.
    pub methods: Vec<MethodChange>,
    /// Time of the outermost calls in each, in nanoseconds.
    pub total: [u64; 2],
    /// Calls in each.
    pub calls: [u64; 2],
    /// Length of each, in nanoseconds.
    pub durations: [u64; 2],
    /// Warnings of each.
    pub warnings: [Vec<String>; 2],
}

impl Comparison {
    /// Compares `before` with `after`.
    #[must_use]
    pub fn of(before: &Analysis, after: &Analysis) -> Comparison {
        let mut methods: BTreeMap<(String, &str), [Option<Figures>; 2]> = BTreeMap::new();
        for (side, analysis) in [before, after].into_iter().enumerate() {
            for frame in analysis.frames.iter().filter(|frame| frame.calls > 0) {
                let both = methods.entry((frame.reported_name(), &frame.descriptor)).or_default();
                if let Some(figures) = both.get_mut(side) {
                    figures.get_or_insert_default().add(frame);
                }
            }
        }
        let change = |((name, descriptor), [before, after]): ((String, &str), [Option<Figures>; 2])| MethodChange {
            name,
            descriptor: descriptor.to_owned(),
            before,
            after,
        };
        let both = [before, after];
        Comparison {
            methods: methods.into_iter().map(change).collect(),
            total: both.map(|analysis| analysis.tree.total()),
            calls: both.map(|analysis| analysis.calls),
            durations: both.map(|analysis| analysis.recording.duration_nanos),
            warnings: both.map(|analysis| analysis.warnings.clone()),
        }
    }

    /// The methods, the one with the largest difference first.
    #[must_use]
    pub fn by_difference(&self, measure: Measure) -> Vec<&MethodChange> {
        let mut methods: Vec<&MethodChange> = self.methods.iter().collect();
        methods.sort_by_key(|method| std::cmp::Reverse(method.difference(measure).unsigned_abs()));
        methods
    }

    /// Methods of both recordings that got worse by more than `percent`, even without what chance may have made of it.
    /// Those with less than `smallest_share` percent of the time of both recordings do not matter.
    #[must_use]
    pub fn worse_by(&self, measure: Measure, percent: f64, smallest_share: f64) -> Vec<&MethodChange> {
        let [before, after] = self.total;
        let matters = |figures: &Option<Figures>, whole: u64| {
            figures.is_some_and(|figures| figures.total as f64 * 100.0 >= whole as f64 * smallest_share)
        };
        let is_worse = |method: &&MethodChange| {
            let noise = method.noise_percent(measure).unwrap_or(0.0);
            method.percent(measure).is_some_and(|change| change - noise > percent)
                && method.after.is_some()
                && (matters(&method.before, before) || matters(&method.after, after))
        };
        self.by_difference(measure).into_iter().filter(is_worse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analysis(calls: &[(&str, u64, bool)]) -> Analysis {
        let mut analysis = Analysis::default();
        for (name, duration, exact) in calls {
            let position = analysis.frames.iter().position(|frame| frame.method == *name).unwrap_or_else(|| {
                analysis.frames.push(Frame { method: (*name).to_owned(), ..Frame::default() });
                analysis.frames.len() - 1
            });
            let frame = &mut analysis.frames[position];
            frame.add(*duration, *exact, true);
            frame.own += duration;
        }
        analysis
    }

    #[test]
    fn new_gone_and_changed_methods_the_largest_difference_first() {
        let before = analysis(&[("same", 100, true), ("gone", 50, true), ("slower", 1_000, true)]);
        let after = analysis(&[("same", 100, true), ("new", 70, true), ("slower", 1_500, true)]);
        let comparison = Comparison::of(&before, &after);
        let rows: Vec<_> = comparison
            .by_difference(Measure::Own)
            .into_iter()
            .map(|method| (method.name.as_str(), method.difference(Measure::Own), method.percent(Measure::Own)))
            .collect();
        let expected =
            [("slower", 500, Some(50.0)), ("new", 70, None), ("gone", -50, Some(-100.0)), ("same", 0, Some(0.0))];
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_scatters_is_noise_and_what_does_not_is_a_change() {
        let steady = |time| (0..100).map(move |_| ("m", time, true)).collect::<Vec<_>>();
        let change = Comparison::of(&analysis(&steady(1_000)), &analysis(&steady(1_100)));
        assert!(!change.methods[0].is_noise(Measure::Average));
        assert_eq!(change.worse_by(Measure::Average, 9.0, 0.0).len(), 1);
        assert!(change.worse_by(Measure::Average, 11.0, 0.0).is_empty());

        let scattered = |add| (0..100).map(move |index: u64| ("m", index * 100 + add, true)).collect::<Vec<_>>();
        let chance = Comparison::of(&analysis(&scattered(0)), &analysis(&scattered(300)));
        assert!(chance.methods[0].is_noise(Measure::Average));
        assert!(chance.worse_by(Measure::Average, 1.0, 0.0).is_empty());
    }

    #[test]
    fn of_estimates_the_number_that_a_tick_has_seen_is_chance_too() {
        let watched = |count| (0..count).map(|_| ("m", 1_000_000, false)).collect::<Vec<_>>();
        let few = Comparison::of(&analysis(&watched(16)), &analysis(&watched(20)));
        assert!(few.methods[0].is_noise(Measure::Total));
        let many = Comparison::of(&analysis(&watched(1_600)), &analysis(&watched(2_000)));
        assert!(!many.methods[0].is_noise(Measure::Total));
    }
}
