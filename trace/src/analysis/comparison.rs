//! Recordings of two builds method by method: what became slower, faster, new, gone, and which differences may be chance.

use std::collections::BTreeMap;

use super::blocks::{Block, Blocks, student};
use super::tree::Subtracted;
use super::{Analysis, Frame, Overloads, ProbeTime, RecordedPart};

const NO_CALLS: &str = "no calls were recorded, so there is nothing to compare: check the rules of its configuration, and that it is a \
     recording of the agent";

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

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 4] = [Measure::Own, Measure::Total, Measure::Average, Measure::Calls];
}

/// The figures of a method, all its templates together; of several recordings, the means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Calls; at level watch only those that a tick has seen.
    pub calls: u64,
    /// Of these: calls whose times are estimates.
    pub estimated_calls: u64,
    /// Nanoseconds in the method and all that it called.
    pub total: u64,
    /// Nanoseconds in the method itself.
    pub own: u64,
    /// Whether `own` is an estimate, perhaps only because times of callees are.
    pub own_is_estimated: bool,
    /// Mean time of a call; `None` if a recording does not carry it, see [`Frame::average`].
    pub average: Option<u64>,
}

impl Figures {
    /// The figure that is compared; 0 if it is unknown.
    #[must_use]
    pub fn value(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Own => self.own,
            Measure::Total => self.total,
            Measure::Average => self.average.unwrap_or(0),
            Measure::Calls => self.calls,
        }
    }
}

/// What one recording holds of a method.
#[derive(Debug, Clone, Default)]
struct Recorded {
    calls: u64,
    estimated_calls: u64,
    total: u64,
    own: u64,
    own_is_estimated: bool,
    /// Calls and nanoseconds that make up the time per call.
    averaged: (u64, u64),
    /// The time per call is unknown.
    has_unknown_lengths: bool,
    blocks: Option<Blocks>,
    /// What was subtracted from own and total time because it was the time of probes; blocks contain it.
    probes: Subtracted,
    part: Option<RecordedPart>,
}

impl Recorded {
    fn add(&mut self, frame: &Frame) {
        self.part = smallest(self.part.iter().chain(&frame.part));
        self.calls += frame.calls;
        self.estimated_calls += frame.times.estimated_calls;
        self.total = self.total.saturating_add(frame.total);
        self.own = self.own.saturating_add(frame.own);
        self.own_is_estimated |= frame.own_is_estimated;
        self.probes.own = self.probes.own.saturating_add(frame.probes.own);
        self.probes.total = self.probes.total.saturating_add(frame.probes.total);
        match frame.times.count_and_sum() {
            Some((calls, sum)) => self.averaged = (self.averaged.0 + calls, self.averaged.1.saturating_add(sum)),
            None => self.has_unknown_lengths = true,
        }
        if let Some(blocks) = &frame.blocks {
            self.blocks.get_or_insert_default().add(blocks);
        }
    }

    /// The figure that is compared; `None` for an average without calls, or an unknown one.
    fn value(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Own => Some(self.own as f64),
            Measure::Total => Some(self.total as f64),
            Measure::Average => {
                let (calls, sum) = self.averaged;
                (calls > 0 && !self.has_unknown_lengths).then(|| sum as f64 / calls as f64)
            }
            Measure::Calls => Some(self.calls as f64),
        }
    }

    /// How far the figure may be off, going by the blocks of the recording. Own and total time are taken for what they are
    /// with this number of calls.
    fn margin(&self, measure: Measure) -> Option<f64> {
        if self.calls == 0 {
            return Some(0.0);
        }
        let blocks = self.blocks.as_ref()?;
        let part = match measure {
            Measure::Own => blocks.margin_per_call(|block: &Block| block.own as f64),
            Measure::Total => blocks.margin_per_call(|block: &Block| block.total as f64),
            Measure::Average => blocks.margin_per_call(|block: &Block| block.sum as f64),
            Measure::Calls => blocks.margin_of_calls(),
        }?;
        let probes = match measure {
            Measure::Own => self.probes.own,
            Measure::Total => self.probes.total,
            Measure::Average | Measure::Calls => 0,
        };
        Some(part * (self.value(measure)? + probes as f64))
    }
}

/// The recordings of one side.
#[derive(Debug, Default)]
struct Side(Vec<Recorded>);

impl Side {
    /// The means; `None` if no recording has calls.
    fn figures(&self) -> Option<Figures> {
        let sum = |value: fn(&Recorded) -> u64| self.0.iter().map(value).fold(0, u64::saturating_add);
        let calls = sum(|recorded| recorded.calls);
        let number = self.0.len() as u64;
        let mean = |sum: u64| (sum.saturating_add(number / 2)).checked_div(number).unwrap_or(0);
        (calls > 0).then(|| Figures {
            calls: mean(calls).max(1),
            estimated_calls: mean(sum(|recorded| recorded.estimated_calls)),
            total: mean(sum(|recorded| recorded.total)),
            own: mean(sum(|recorded| recorded.own)),
            own_is_estimated: self.0.iter().any(|recorded| recorded.own_is_estimated),
            average: sum(|recorded| recorded.averaged.1)
                .checked_div(sum(|recorded| recorded.averaged.0))
                .filter(|_| self.0.iter().all(|recorded| !recorded.has_unknown_lengths)),
        })
    }

    fn values(&self, measure: Measure) -> Vec<f64> {
        self.0.iter().filter_map(|recorded| recorded.value(measure)).collect()
    }

    /// How far the mean may be off, going by the blocks of each recording.
    fn margin(&self, measure: Measure) -> Option<f64> {
        let margins: Option<Vec<f64>> = self.0.iter().map(|recorded| recorded.margin(measure)).collect();
        let squares: f64 = margins?.iter().map(|margin| margin * margin).sum();
        Some(squares.sqrt() / self.0.len().max(1) as f64)
    }
}

/// Returns the part that covers the least of the time.
fn smallest<'a>(parts: impl Iterator<Item = &'a RecordedPart>) -> Option<RecordedPart> {
    parts.min_by(|a, b| a.percent.total_cmp(&b.percent)).cloned()
}

/// How far the difference of two sides may be off. The larger counts: what blocks of time within the recordings say, or the
/// recordings of a side among each other.
fn margin(before: &Side, after: &Side, measure: Measure) -> Option<f64> {
    let within = match measure {
        Measure::Own | Measure::Total => margin_of_time(before, after, measure),
        Measure::Average | Measure::Calls => Some(before.margin(measure)?.hypot(after.margin(measure)?)),
    };
    let between = margin_between_recordings(&before.values(measure), &after.values(measure));
    match (within, between) {
        (Some(within), Some(between)) => Some(within.max(between)),
        (within, between) => between.or(within),
    }
}

/// Times differ because calls take longer, or because there are more of them. If the number of calls is not certain, it may explain
/// what it makes of the difference, and no more: a program that always does the same has the same number of calls each time.
fn margin_of_time(before: &Side, after: &Side, measure: Measure) -> Option<f64> {
    let of_calls = before.margin(measure)?.hypot(after.margin(measure)?);
    let mean = |side: &Side, measure: Measure| {
        let values = side.values(measure);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let [fewer, more] = [before, after].map(|side| mean(side, Measure::Calls));
    let difference = (more - fewer).abs();
    let uncertain = match (before.margin(Measure::Calls), after.margin(Measure::Calls)) {
        (Some(before), Some(after)) => difference.min(before.hypot(after)),
        _ => difference,
    };
    let time_of_a_call = (mean(before, measure) + mean(after, measure)) / (fewer + more).max(1.0);
    Some(of_calls.hypot(uncertain * time_of_a_call))
}

/// Recordings of the same side differ by chance, and those of both sides by about as much.
fn margin_between_recordings(before: &[f64], after: &[f64]) -> Option<f64> {
    let degrees_of_freedom = (before.len() + after.len()).checked_sub(2).filter(|degrees| *degrees > 0)?;
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>()
    };
    let variance = (squares(before) + squares(after)) / degrees_of_freedom as f64;
    let of_means = variance * (1.0 / before.len() as f64 + 1.0 / after.len() as f64);
    Some(student(degrees_of_freedom) * of_means.sqrt())
}

/// A method on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodChange {
    /// Class and method: `com.acme.Handler.handle`.
    pub name: String,
    /// Descriptor of the method.
    pub descriptor: String,
    /// The types of its parameters, if the class has another recorded method of this name.
    parameters: Option<String>,
    /// Before; `None`: the method is new.
    pub before: Option<Figures>,
    /// After; `None`: the method is gone.
    pub after: Option<Figures>,
    /// How far the difference may be off, by [`Measure::ALL`]; `None` if that cannot be said.
    margins: [Option<f64>; 4],
    /// Before and after: the part of the time to which the figures apply, if the level was changed; of several recordings the smallest.
    pub parts: [Option<RecordedPart>; 2],
}

impl MethodChange {
    fn of((name, descriptor): (String, &str), [before, after]: [Side; 2]) -> MethodChange {
        let margins = Measure::ALL.map(|measure| margin(&before, &after, measure));
        let parts = [&before, &after].map(|side| smallest(side.0.iter().filter_map(|recorded| recorded.part.as_ref())));
        let [before, after] = [before, after].map(|side| side.figures());
        MethodChange { name, descriptor: descriptor.to_owned(), parameters: None, before, after, margins, parts }
    }

    /// Returns the name; of an overloaded method with the types of its parameters.
    #[must_use]
    pub fn distinct_name(&self) -> String {
        let parameters = self.parameters.as_ref().map_or_else(String::new, |parameters| format!("({parameters})"));
        format!("{}{parameters}", self.name)
    }

    /// Returns the distinct name, and after it the parts of the time to which the figures apply.
    #[must_use]
    pub fn marked_name(&self) -> String {
        let sides = ["before", "after"].into_iter().zip(&self.parts);
        let parts: Vec<_> = sides.filter_map(|(side, part)| Some(format!("{side}: {}", part.as_ref()?.text))).collect();
        if parts.is_empty() { self.distinct_name() } else { format!("{} [{}]", self.distinct_name(), parts.join("; ")) }
    }

    /// Whether the figures of both sides apply to all of the time, as far as this measure is concerned: times that are estimated for the
    /// rest do.
    fn is_whole(&self, measure: Measure) -> bool {
        let is_whole = |part: &RecordedPart| match measure {
            Measure::Own | Measure::Total => part.rest_is_estimated,
            Measure::Average => true,
            Measure::Calls => false,
        };
        self.parts.iter().flatten().all(is_whole)
    }

    /// Whether it is about times per call, of which one is unknown.
    fn is_unknown(&self, measure: Measure) -> bool {
        let is_unknown = |figures: &Option<Figures>| figures.is_some_and(|figures| figures.average.is_none());
        measure == Measure::Average && (is_unknown(&self.before) || is_unknown(&self.after))
    }

    /// Both figures; zeros if one is unknown.
    fn values(&self, measure: Measure) -> (u64, u64) {
        if self.is_unknown(measure) {
            return (0, 0);
        }
        let value = |figures: &Option<Figures>| figures.map_or(0, |figures| figures.value(measure));
        (value(&self.before), value(&self.after))
    }

    /// How much more it is after than before.
    #[must_use]
    pub fn difference(&self, measure: Measure) -> i128 {
        let (before, after) = self.values(measure);
        i128::from(after) - i128::from(before)
    }

    /// The same in percent of what it was before; `None` for what is new.
    #[must_use]
    pub fn percent(&self, measure: Measure) -> Option<f64> {
        let (before, _) = self.values(measure);
        (before > 0).then(|| self.difference(measure) as f64 * 100.0 / before as f64)
    }

    /// The difference, in percent of what it was before, that chance alone exceeds in one case of twenty; `None` if the method is
    /// new or gone, was called too rarely to say, or the figures apply to a part of the time only.
    #[must_use]
    pub fn noise_percent(&self, measure: Measure) -> Option<f64> {
        let (before, _) = (self.before?, self.after?);
        if !self.is_whole(measure) {
            return None;
        }
        let index = Measure::ALL.iter().position(|other| *other == measure)?;
        let margin = self.margins.get(index).copied().flatten()?;
        let value = before.value(measure);
        (value > 0).then(|| margin * 100.0 / value as f64)
    }

    /// Whether chance may explain the difference; `None` if that cannot be said.
    #[must_use]
    pub fn is_noise(&self, measure: Measure) -> Option<bool> {
        match (self.before, self.after) {
            (Some(_), Some(_)) if self.is_unknown(measure) || !self.is_whole(measure) => None,
            (Some(_), Some(_)) if self.difference(measure) == 0 => Some(true),
            (Some(_), Some(_)) => Some(self.percent(measure)?.abs() <= self.noise_percent(measure)?),
            _ => Some(false),
        }
    }

    /// Whether the figures of a method of both sides show neither that it got worse by more than `percent` nor that it did not.
    fn is_unjudged_above(&self, measure: Measure, percent: f64) -> bool {
        let Some(change) = self.percent(measure) else {
            return self.is_unknown(measure) || self.difference(measure) > 0;
        };
        let excludes_chance = |noise: f64| noise <= percent || change - noise > percent;
        change > percent && !self.noise_percent(measure).is_some_and(excludes_chance)
    }

    /// Whether a method that does not seem to have got worse by more than `percent` may have: chance could hide as much.
    fn may_hide(&self, measure: Measure, percent: f64) -> bool {
        let hides = self.noise_percent(measure).is_none_or(|noise| noise > percent);
        hides && self.percent(measure).is_some_and(|change| change <= percent)
    }

    /// Whether the figures of a side apply to a part of the time only.
    #[must_use]
    pub fn is_in_part(&self) -> bool {
        self.parts.iter().any(Option::is_some)
    }

    /// Whether some times are estimates.
    #[must_use]
    pub fn is_estimated(&self) -> bool {
        [self.before, self.after]
            .iter()
            .flatten()
            .any(|figures| figures.estimated_calls > 0 || figures.own_is_estimated)
    }
}

/// Recordings of two sides, the first taken for what was before. Figures are means of the recordings of a side.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// All methods of both, by name.
    pub methods: Vec<MethodChange>,
    /// Number of recordings on each side.
    pub recordings: [usize; 2],
    /// Time of the outermost calls of each, in nanoseconds.
    pub total: [u64; 2],
    /// Calls of each.
    pub calls: [u64; 2],
    /// Length of each, in nanoseconds.
    pub durations: [u64; 2],
    /// Warnings of each.
    pub warnings: [Vec<String>; 2],
}

impl Comparison {
    /// Compares `before` with `after`. Margins need analyses with [`in_blocks`](super::AnalysisOptions::in_blocks).
    #[must_use]
    pub fn of(before: &Analysis, after: &Analysis) -> Comparison {
        Comparison::of_several(std::slice::from_ref(before), std::slice::from_ref(after))
    }

    /// Compares the mean of several recordings before with that of several after: how much runs of a program differ only shows
    /// there.
    #[must_use]
    pub fn of_several(before: &[Analysis], after: &[Analysis]) -> Comparison {
        let both = [before, after];
        let none = || both.map(|side| Side(vec![Recorded::default(); side.len()]));
        let mut methods: BTreeMap<(String, &str), [Side; 2]> = BTreeMap::new();
        for (side, analyses) in both.into_iter().enumerate() {
            for (recording, analysis) in analyses.iter().enumerate() {
                for frame in analysis.frames.iter().filter(|frame| frame.calls > 0) {
                    let sides = methods.entry((frame.reported_name(), &frame.descriptor)).or_insert_with(none);
                    if let Some(recorded) = sides.get_mut(side).and_then(|side| side.0.get_mut(recording)) {
                        recorded.add(frame);
                    }
                }
            }
        }
        let mean = |value: fn(&Analysis) -> u64| {
            both.map(|side| {
                let sum = side.iter().map(value).fold(0, u64::saturating_add);
                sum.checked_div(side.len() as u64).unwrap_or(0)
            })
        };
        let mut methods: Vec<_> = methods.into_iter().map(|(name, sides)| MethodChange::of(name, sides)).collect();
        mark_overloads(&mut methods);
        Comparison {
            recordings: both.map(<[Analysis]>::len),
            total: mean(|analysis| analysis.tree.total()),
            calls: mean(|analysis| analysis.calls),
            durations: mean(|analysis| analysis.recording.duration_nanos),
            warnings: both.map(warnings),
            methods,
        }
    }

    /// Returns why no method of one side is compared with the same of the other; `None` if at least one is.
    #[must_use]
    pub fn compares_nothing(&self) -> Option<&'static str> {
        match self.calls {
            [0, 0] => Some("no calls were recorded on either side"),
            [0, _] => Some("no calls were recorded before"),
            [_, 0] => Some("no calls were recorded after"),
            _ if self.methods.iter().any(|method| method.before.is_some() && method.after.is_some()) => None,
            _ => Some("no method was called on both sides"),
        }
    }

    /// Whether the margins include how much runs of the program differ from each other.
    #[must_use]
    pub fn sees_runs(&self) -> bool {
        self.recordings.iter().any(|recordings| *recordings > 1)
    }

    /// The methods, the one with the largest difference first.
    #[must_use]
    pub fn by_difference(&self, measure: Measure) -> Vec<&MethodChange> {
        let mut methods: Vec<&MethodChange> = self.methods.iter().collect();
        methods.sort_by_key(|method| std::cmp::Reverse(method.difference(measure).unsigned_abs()));
        methods
    }

    /// Methods of both sides that got worse by more than `percent`, even without what chance may have made of it; none of
    /// which nobody can say what that is. Those with less than `smallest_share` percent of the time of both sides do not matter.
    #[must_use]
    pub fn worse_by(&self, measure: Measure, percent: f64, smallest_share: f64) -> Vec<&MethodChange> {
        let is_worse = |method: &&MethodChange| {
            let certain = method.percent(measure).zip(method.noise_percent(measure));
            certain.is_some_and(|(change, noise)| change - noise > percent) && self.matters(method, smallest_share)
        };
        self.by_difference(measure).into_iter().filter(is_worse).collect()
    }

    /// Returns the methods of both sides of which the recordings cannot show whether they got worse by more than `percent`: they seem
    /// to, but what chance makes of it is unknown or more than `percent`, too; or the figures themselves are unknown.
    #[must_use]
    pub fn unjudged_above(&self, measure: Measure, percent: f64, smallest_share: f64) -> Vec<&MethodChange> {
        let is_unjudged = |method: &&MethodChange| {
            let is_on_both_sides = method.before.is_some() && method.after.is_some();
            is_on_both_sides && method.is_unjudged_above(measure, percent) && self.matters(method, smallest_share)
        };
        self.by_difference(measure).into_iter().filter(is_unjudged).collect()
    }

    /// Returns the number of methods of both sides that do not seem to have got worse by more than `percent`, but of which the
    /// recordings could not show it.
    #[must_use]
    pub fn too_little_data_for(&self, measure: Measure, percent: f64, smallest_share: f64) -> usize {
        let on_both_sides = self.methods.iter().filter(|method| method.before.is_some() && method.after.is_some());
        let is_hidden =
            |method: &&MethodChange| method.may_hide(measure, percent) && self.matters(method, smallest_share);
        on_both_sides.filter(is_hidden).count()
    }

    fn matters(&self, method: &MethodChange, smallest_share: f64) -> bool {
        let mut sides = [method.before, method.after].into_iter().zip(self.total);
        sides.any(|(figures, whole)| {
            figures.is_some_and(|figures| figures.total as f64 * 100.0 >= whole as f64 * smallest_share)
        })
    }
}

fn mark_overloads(methods: &mut [MethodChange]) {
    let overloads = Overloads::among(methods.iter().map(|method| ("", &*method.name, &*method.descriptor)));
    let parameters: Vec<_> =
        methods.iter().map(|method| overloads.parameters("", &method.name, &method.descriptor)).collect();
    for (method, parameters) in methods.iter_mut().zip(parameters) {
        method.parameters = parameters;
    }
}

/// The warnings of the recordings of a side, with the name of the file if there are several.
fn warnings(side: &[Analysis]) -> Vec<String> {
    let line = |analysis: &Analysis, warning: &String| match side {
        [_] => warning.clone(),
        _ => format!("{}: {warning}", analysis.recording.path.display()),
    };
    let of_one = |analysis: &Analysis| {
        let advice = analysis.probe_time.as_ref().and_then(ProbeTime::advice);
        let no_calls = (analysis.calls == 0).then(|| NO_CALLS.to_owned());
        let warnings = no_calls.iter().chain(&advice).chain(&analysis.warnings).map(|warning| line(analysis, warning));
        warnings.collect::<Vec<_>>()
    };
    side.iter().flat_map(of_one).collect()
}

#[cfg(test)]
mod tests;
