//! The methods that took the most time, each once: a live probe records under several numbers, one for each level that
//! measures in another way, and two templates of one category may have been inserted into one method by two loads of its class.

use std::cmp::Reverse;

use control::{Hot, Recent};
use instrument_core::level::Level;
use instrument_core::template::TemplateLibrary;
use metrics::Durations;
use parking_lot::Mutex;
use records::SharedLengths;
use records::probe_registry::{ProbeDescription, ProbeRegistry};
use rustc_hash::{FxHashMap, FxHashSet};
use trace::WatchedLengths;

use crate::desired::live_selection::category_of;
use crate::probes::live_control::{LiveControl, REMOVED};
use crate::recorder::{CallRates, Calls, Looker, RecentCalls};

fn recent(durations: &Durations) -> Recent {
    let percentile = |percent| (durations.percentile(percent) * 1e9).round() as u64;
    Recent { p50: percentile(50.0), p99: percentile(99.0), max: durations.max() }
}

/// The calls of a method by all its probes of one category.
#[derive(Debug)]
struct MethodCalls<'a> {
    /// The lowest number of its probes.
    probe: u32,
    category: &'a str,
    /// Its level, if that cannot change. Different ones are shown apart.
    fixed: Option<Level>,
    sum: ProbeCalls<'a>,
}

/// The calls of one probe, those of all its numbers together.
#[derive(Debug, Clone, Default)]
struct ProbeCalls<'a> {
    calls: u64,
    estimated_calls: u64,
    nanos: u64,
    /// Some calls were within others of the same number.
    is_recursive: bool,
    /// The lengths of some calls at level watch are unknown.
    has_unknown_lengths: bool,
    /// Of the number with the most calls since the last look: times of different levels do not mix.
    recent: Option<&'a Durations>,
}

impl<'a> ProbeCalls<'a> {
    fn add(&mut self, other: &ProbeCalls<'a>) {
        self.calls += other.calls;
        self.estimated_calls += other.estimated_calls;
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.is_recursive |= other.is_recursive;
        self.has_unknown_lengths |= other.has_unknown_lengths;
        let count = |durations: Option<&Durations>| durations.map_or(0, Durations::count);
        if count(other.recent) > count(self.recent) {
            self.recent = other.recent;
        }
    }
}

/// The sources of the figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HotSources<'a> {
    pub(crate) probes: &'a ProbeRegistry,
    /// Calls up to now, if they are counted.
    pub(crate) rates: Option<&'a Mutex<CallRates>>,
    pub(crate) lengths: &'a SharedLengths,
    pub(crate) live: &'a LiveControl,
    pub(crate) templates: &'a TemplateLibrary,
    /// Probes that were removed.
    pub(crate) removed: &'a FxHashSet<u32>,
}

/// The `most` methods that took the most time, all threads together. With `durations`, how long calls took since the last
/// time that this was asked for. Unless the recording `goes_on`, no method has a level any more.
pub(crate) fn methods(sources: &HotSources<'_>, most: usize, durations: bool, goes_on: bool) -> Vec<Hot> {
    let Some(rates) = sources.rates else { return Vec::new() };
    let (calls, recent) = {
        let mut rates = rates.lock();
        (rates.snapshot(), if durations { rates.look(Looker::Clients) } else { FxHashMap::default() })
    };
    let lengths = sources.lengths.lock().clone();
    let recent = known_lengths(sources.probes, recent, &lengths);
    let by_probe = by_probe(sources.probes, &calls, &recent, &lengths);
    let category = |template: &str| category_of(template, sources.templates);
    let row = |method: MethodCalls<'_>| {
        let MethodCalls { probe, category, fixed, sum } = method;
        let ProbeDescription { method, descriptor, context, .. } = sources.probes.describe(probe)?;
        let level = match fixed {
            _ if !goes_on => Level::Off.name(),
            _ if sources.removed.contains(&probe) => REMOVED,
            fixed => fixed.unwrap_or_else(|| sources.live.level(probe)).name(),
        };
        let ProbeCalls { calls, estimated_calls, nanos: lengths, is_recursive, has_unknown_lengths, recent } = sum;
        let (recent, mean_is_known) = (recent.map(self::recent), !has_unknown_lengths);
        let (category, recorded) = (category.to_owned(), sources.live.recorded_time(probe, fixed));
        Some(Hot {
            probe,
            method,
            context: (!context.is_empty()).then(|| context.to_string()),
            category,
            level: level.to_owned(),
            recorded,
            descriptor,
            calls,
            estimated_calls,
            nanos: (!is_recursive).then_some(lengths),
            lengths,
            mean_is_known,
            recent,
        })
    };
    largest(sources.probes, by_probe, &category, most).into_iter().filter_map(row).collect()
}

/// Returns the `most` methods with the most time, the first having the most.
fn largest<'a>(
    probes: &ProbeRegistry,
    by_probe: FxHashMap<u32, ProbeCalls<'a>>,
    category: &dyn Fn(&str) -> &'a str,
    most: usize,
) -> Vec<MethodCalls<'a>> {
    let known = probes.known(by_probe.keys().copied());
    let mut methods = FxHashMap::default();
    for (known, (probe, calls)) in known.iter().zip(&by_probe) {
        let Some(known) = known else { continue };
        let (category, fixed) = (category(known.template()), known.fixed_level());
        let none = MethodCalls { probe: *probe, category, fixed, sum: ProbeCalls::default() };
        let method = methods.entry((known.method(), known.context(), category, fixed)).or_insert(none);
        method.probe = method.probe.min(*probe);
        method.sum.add(calls);
    }
    let mut rows: Vec<MethodCalls<'a>> = methods.into_values().collect();
    rows.sort_unstable_by_key(|method| (Reverse(method.sum.nanos), method.probe));
    rows.truncate(most);
    rows
}

/// The durations since the last look, by number; of calls at level watch only where these say how long the calls took.
fn known_lengths(
    probes: &ProbeRegistry,
    recent: FxHashMap<usize, RecentCalls>,
    lengths: &WatchedLengths,
) -> FxHashMap<usize, Durations> {
    let known = |(number, RecentCalls { durations, blurred }): (usize, RecentCalls)| {
        let (_, level) = probes.own_number(u32::try_from(number).ok()?)?;
        if level != Level::Watch {
            return Some((number, durations));
        }
        let clear = durations.without(&blurred);
        (clear.count() > 0 && lengths.counts(clear.min())).then_some((number, clear))
    };
    recent.into_iter().filter_map(known).collect()
}

/// Returns how many calls each probe has recorded, by its own number.
pub(crate) fn recorded_calls(probes: &ProbeRegistry, rates: &Mutex<CallRates>) -> FxHashMap<u32, u64> {
    let mut recorded = FxHashMap::default();
    for (number, calls) in (0u32..).zip(&rates.lock().snapshot()).filter(|(_, calls)| calls.count > 0) {
        if let Some((own, _)) = probes.own_number(number) {
            *recorded.entry(own).or_insert(0) += calls.count;
        }
    }
    recorded
}

/// Calls by the own number of each probe.
fn by_probe<'a>(
    probes: &ProbeRegistry,
    calls: &[Calls],
    recent: &'a FxHashMap<usize, Durations>,
    lengths: &WatchedLengths,
) -> FxHashMap<u32, ProbeCalls<'a>> {
    let mut by_probe: FxHashMap<u32, ProbeCalls<'a>> = FxHashMap::default();
    for (number, calls) in (0u32..).zip(calls).filter(|(_, calls)| calls.count > 0) {
        let Some((own, level)) = probes.own_number(number) else { continue };
        let is_known = calls.shortest.is_some_and(|shortest| lengths.counts(shortest));
        let of_number = ProbeCalls {
            calls: calls.count,
            estimated_calls: if level == Level::Watch { calls.count } else { 0 },
            nanos: calls.nanos,
            is_recursive: calls.is_recursive,
            has_unknown_lengths: level == Level::Watch && !is_known,
            recent: recent.get(&(number as usize)),
        };
        by_probe.entry(own).or_default().add(&of_number);
    }
    by_probe
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::probe_registry::ProbeRequest;

    #[test]
    fn probes_of_one_method_are_merged_before_the_largest_are_chosen() {
        let probes = ProbeRegistry::default();
        let request = |name: &'static [u8], template| ProbeRequest {
            name,
            descriptor: b"()V",
            access_flags: 1,
            template,
            level: Level::Time,
            live: false,
            context: "",
        };
        let requests =
            [request(b"two", "timed"), request(b"two", "timed-args"), request(b"one", "timed"), request(b"two", "sql")];
        assert_eq!(probes.numbers((b"p/C", 0), &requests), Some(vec![1, 2, 3, 4]));
        let calls = |nanos| ProbeCalls { calls: 1, nanos, ..ProbeCalls::default() };
        let by_probe = [(1, calls(60)), (2, calls(70)), (3, calls(100)), (4, calls(90))].into_iter().collect();
        let category = |template: &str| if template == "sql" { "database" } else { "catch-all" };
        let rows = largest(&probes, by_probe, &category, 2);
        let rows: Vec<_> = rows.iter().map(|row| (row.probe, row.category, row.sum.nanos, row.sum.calls)).collect();
        assert_eq!(rows, [(1, "catch-all", 130, 2), (3, "catch-all", 100, 1)]);
    }

    #[test]
    fn the_numbers_of_a_live_probe_count_as_one_method() {
        let request = |name, live| ProbeRequest {
            name,
            descriptor: b"()V",
            access_flags: 1,
            template: "timed",
            level: Level::Time,
            live,
            context: "",
        };
        let probes = ProbeRegistry::default();
        let numbers = probes.numbers((b"p/C", 1), &[request(b"a", true), request(b"b", false)]);
        assert_eq!(numbers, Some(vec![1, 5]));
        let counted = |count, nanos| Calls { count, nanos, shortest: Some(nanos / count.max(1)), is_recursive: false };
        // By number: exact times, ticks, full and bursts of `a`, then `b`.
        let calls = [counted(0, 0), counted(7, 70), counted(2, 2_000), counted(0, 0), counted(1, 5), counted(3, 9)];
        let durations = |times: &[u64]| {
            let mut durations = Durations::default();
            times.iter().for_each(|nanos| durations.record(*nanos));
            durations
        };
        let recent = [(1, durations(&[10, 11, 12])), (2, durations(&[1_000]))].into_iter().collect();
        let found = by_probe(&probes, &calls, &recent, &WatchedLengths::default());
        let figures = |own: u32| found.get(&own).map(|sum| (sum.calls, sum.estimated_calls, sum.nanos));
        assert_eq!((figures(1), figures(5), found.len()), (Some((10, 2, 2_075)), Some((3, 0, 9)), 2));
        assert!(found[&1].has_unknown_lengths && !found[&5].has_unknown_lengths, "ticks of which nothing is known");
        assert_eq!(found[&1].recent.map(Durations::max), Some(12), "of most of the calls, not a mixture");
    }
}
