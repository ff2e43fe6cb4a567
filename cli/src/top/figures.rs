//! What happened in a JVM between two looks at it.

use control::{Hot, Recent, RecordedTime, Status};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use trace::parameter_types;
use trace::report::{count, duration};

/// Calls and time of a method between two looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) method: String,
    /// Category of its template.
    pub(crate) category: String,
    pub(crate) level: String,
    /// Types of its parameters, if there is another method of this name: `int, String`.
    parameters: Option<String>,
    pub(crate) calls: u64,
    /// Whether times of these calls are estimates.
    pub(crate) estimated: bool,
    /// Calls a second.
    pub(crate) rate: f64,
    /// Nanoseconds in this method and what it called, a second; more than a second if several threads are in it. `None` if it calls
    /// itself: the sum of its lengths has the same time once for each call around it.
    pub(crate) busy: Option<f64>,
    /// The sum of the lengths of its calls, a second, by which rows are sorted.
    lengths: f64,
    /// Mean nanoseconds of a call, if there was one and level watch carries it.
    pub(crate) mean: Option<f64>,
    pub(crate) recent: Option<Recent>,
    /// The part of the time to which the number of calls applies, if the level was changed in between: `first 0.4 s`.
    part: Option<String>,
    /// The context inside which its calls are recorded only.
    context: Option<String>,
}

/// Two looks, and what lies between them.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    /// The later look.
    pub(crate) status: Status,
    /// Records a second.
    pub(crate) rate: f64,
    /// Records lost in between.
    pub(crate) lost: u64,
    /// The methods that have been called since the recording began, the one with the most time in between first.
    pub(crate) rows: Vec<Row>,
}

/// By what rows are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Calls,
    Time,
    Mean,
    Median,
    P99,
    Max,
    Level,
    Method,
}

impl Row {
    /// The method, with its parameters if it is overloaded, the context inside which it is recorded only, the category of its template unless that is the usual one, and the part of the
    /// time to which the number of calls applies.
    pub(crate) fn name(&self) -> String {
        let parameters = self.parameters.as_ref().map_or_else(String::new, |parameters| format!("({parameters})"));
        let category = match self.category.as_str() {
            "" | "catch-all" => String::new(),
            category => format!(" [{category}]"),
        };
        let part = self.part.as_ref().map_or_else(String::new, |part| format!(" [{part}]"));
        let context = self.context.as_ref().map_or_else(String::new, |context| format!(" inside {context}"));
        format!("{}{parameters}{context}{category}{part}", self.method)
    }

    /// Returns the figure of a column. At level watch only the calls that met a tick are recorded: there were at least as many, and their
    /// times are estimates.
    pub(crate) fn cell(&self, column: Column) -> String {
        let [at_least, about] = if self.estimated { ["≥", "~"] } else { ["", ""] };
        let time = |nanos: f64| format!("{about}{}", duration(nanos.round() as u64));
        let recent = |value: fn(&Recent) -> u64| {
            self.recent.as_ref().map_or(String::new(), |recent| format!("{about}{}", duration(value(recent))))
        };
        match column {
            Column::Calls if self.calls == 0 => "0".to_owned(),
            Column::Calls if self.rate < 9.95 => format!("{at_least}{:.1}", self.rate),
            Column::Calls => format!("{at_least}{}", count(self.rate.round() as u64)),
            Column::Time => self.busy.filter(|_| self.calls > 0).map_or(String::new(), time),
            Column::Mean => self.mean.map_or(String::new(), time),
            Column::Median => recent(|recent| recent.p50),
            Column::P99 => recent(|recent| recent.p99),
            Column::Max => recent(|recent| recent.max),
            Column::Level => self.level.clone(),
            Column::Method => self.name(),
        }
    }
}

impl Column {
    /// All, from left to right.
    pub(crate) const ALL: [Column; 8] = [
        Column::Calls,
        Column::Time,
        Column::Mean,
        Column::Median,
        Column::P99,
        Column::Max,
        Column::Level,
        Column::Method,
    ];

    /// The order of this column: the largest number first, or letters from A to Z.
    pub(crate) fn compare(self, a: &Row, b: &Row) -> Ordering {
        let recent = |row: &Row, value: fn(&Recent) -> u64| row.recent.as_ref().map(value);
        let order = match self {
            Column::Calls => b.rate.total_cmp(&a.rate),
            Column::Time => b.lengths.total_cmp(&a.lengths),
            Column::Mean => b.mean.unwrap_or(-1.0).total_cmp(&a.mean.unwrap_or(-1.0)),
            Column::Median => recent(b, |r| r.p50).cmp(&recent(a, |r| r.p50)),
            Column::P99 => recent(b, |r| r.p99).cmp(&recent(a, |r| r.p99)),
            Column::Max => recent(b, |r| r.max).cmp(&recent(a, |r| r.max)),
            Column::Level => a.level.cmp(&b.level),
            Column::Method => Ordering::Equal,
        };
        let named = order.then_with(|| a.method.cmp(&b.method)).then_with(|| a.parameters.cmp(&b.parameters));
        named.then_with(|| a.level.cmp(&b.level))
    }
}

impl Interval {
    pub(crate) fn between(before: &Status, now: Status, elapsed: Duration) -> Interval {
        let seconds = elapsed.as_secs_f64().max(1e-3);
        Interval {
            rate: now.records.saturating_sub(before.records) as f64 / seconds,
            lost: now.lost.saturating_sub(before.lost),
            rows: rows(&before.hottest, &now.hottest, seconds),
            status: now,
        }
    }
}

fn rows(before: &[Hot], now: &[Hot], seconds: f64) -> Vec<Row> {
    let earlier: HashMap<u32, &Hot> = before.iter().map(|hot| (hot.probe, hot)).collect();
    let mut overloads: HashMap<&str, HashSet<&str>> = HashMap::new();
    for hot in now {
        overloads.entry(&hot.method).or_default().insert(&hot.descriptor);
    }
    let row = |hot: &Hot| {
        let since =
            |value: fn(&Hot) -> u64| value(hot).saturating_sub(earlier.get(&hot.probe).map_or(0, |hot| value(hot)));
        let (calls, lengths) = (since(|hot| hot.calls), since(|hot| hot.nanos.unwrap_or(hot.lengths)) as f64);
        let is_overloaded = overloads.get(hot.method.as_str()).is_some_and(|descriptors| descriptors.len() > 1);
        Row {
            method: hot.method.clone(),
            category: hot.category.clone(),
            level: hot.level.clone(),
            parameters: is_overloaded.then(|| parameter_types(&hot.descriptor)),
            calls,
            estimated: since(|hot| hot.estimated_calls) > 0,
            rate: calls as f64 / seconds,
            busy: hot.nanos.map(|_| lengths / seconds),
            lengths: lengths / seconds,
            mean: (calls > 0 && hot.mean_is_known).then(|| lengths / calls as f64),
            recent: hot.recent,
            context: hot.context.clone(),
            part: part(earlier.get(&hot.probe).and_then(|hot| hot.recorded), hot),
        }
    };
    let mut rows: Vec<Row> = now.iter().map(row).collect();
    rows.sort_by(|a, b| Column::Time.compare(a, b));
    rows
}

/// Returns the part of the time between two looks in which every call was recorded; if there was none, in which calls were estimated.
/// `None` if the level was not changed in between, or nothing at all was recorded.
fn part(before: Option<RecordedTime>, hot: &Hot) -> Option<String> {
    let (before, now) = (before.unwrap_or_default(), hot.recorded?);
    let since = |value: fn(&RecordedTime) -> u64| value(&now).saturating_sub(value(&before));
    let (every_call, estimates) = (since(|time| time.every_call), since(|time| time.estimates));
    let (whole, changes) = (since(|time| time.whole).max(1), since(|time| time.changes));
    let covered = if every_call > 0 { every_call } else { estimates };
    if changes == 0 || covered == 0 || covered >= whole {
        return None;
    }
    let level = hot.level.as_str();
    let goes_on = if every_call > 0 { matches!(level, "time" | "full") } else { level == "watch" };
    let seconds = covered as f64 / 1e9;
    Some(match changes {
        1 if goes_on => format!("last {seconds:.1} s"),
        1 => format!("first {seconds:.1} s"),
        _ => format!("{:.0} % of the time", 100.0 * covered as f64 / whole as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hot(probe: u32, method: &str, level: &str, calls: u64, nanos: u64) -> Hot {
        let category = if probe == 9 { "database" } else { "catch-all" }.to_owned();
        let (method, level) = (method.to_owned(), level.to_owned());
        Hot {
            context: None,
            probe,
            category,
            method,
            level,
            descriptor: "()V".to_owned(),
            calls,
            estimated_calls: 0,
            nanos: Some(nanos),
            lengths: nanos,
            mean_is_known: true,
            recorded: None,
            recent: None,
        }
    }

    #[test]
    fn what_happened_between_two_looks_is_sorted_by_time() {
        let before = [hot(1, "a.B.quiet", "time", 5, 100), hot(5, "a.B.busy", "time", 10, 1000)];
        let watched = Hot { estimated_calls: 2, ..hot(5, "a.B.busy", "watch", 12, 1500) };
        let now = [hot(1, "a.B.quiet", "time", 5, 100), watched, hot(9, "a.B.new", "time", 1, 600)];
        let rows = rows(&before, &now, 2.0);
        let figures: Vec<_> = rows
            .iter()
            .map(|row| (row.name(), row.level.as_str(), row.calls, row.busy.unwrap(), row.estimated))
            .collect();
        let expected = [
            ("a.B.new [database]", "time", 1, 300.0, false),
            ("a.B.busy", "watch", 2, 250.0, true),
            ("a.B.quiet", "time", 0, 0.0, false),
        ]
        .map(|(name, level, calls, busy, estimated)| (name.to_owned(), level, calls, busy, estimated));
        assert_eq!(figures, expected);
    }

    #[test]
    fn a_method_whose_level_was_changed_between_two_looks_is_marked_with_the_part_of_the_time() {
        let name = |level: &str, before: [u64; 4], now: [u64; 4]| {
            let look = |level, [every_call, estimates, whole, changes]: [u64; 4]| {
                let nanos = |tenths| tenths * 100_000_000;
                let (every_call, estimates, whole) = (nanos(every_call), nanos(estimates), nanos(whole));
                let recorded = Some(RecordedTime { every_call, estimates, whole, changes });
                Hot { recorded, ..hot(1, "a.B.c", level, before[2] + whole, 100) }
            };
            rows(&[look("time", before)], &[look(level, now)], 1.0).remove(0).name()
        };
        assert_eq!(name("time", [10, 0, 10, 0], [20, 0, 20, 0]), "a.B.c");
        assert_eq!(name("watch", [10, 0, 10, 0], [14, 6, 20, 1]), "a.B.c [first 0.4 s]");
        assert_eq!(name("full", [0, 10, 10, 3], [3, 17, 20, 4]), "a.B.c [last 0.3 s]");
        assert_eq!(name("full", [10, 0, 10, 3], [20, 0, 20, 4]), "a.B.c", "both levels record every call");
        assert_eq!(name("removed", [0, 10, 10, 3], [0, 15, 20, 4]), "a.B.c [first 0.5 s]");
        assert_eq!(name("time", [10, 0, 10, 0], [14, 6, 20, 2]), "a.B.c [40 % of the time]");
        assert_eq!(name("watch", [10, 5, 15, 1], [10, 15, 25, 1]), "a.B.c", "changed before the first look");
    }

    #[test]
    fn figures_of_level_watch_are_marked() {
        let figures = |estimated_calls| {
            let hot = Hot { estimated_calls, ..hot(1, "a.B.c", "watch", 40, 2_000_000) };
            let row = rows(&[], &[hot], 2.0).remove(0);
            [Column::Calls, Column::Time, Column::Mean].map(|column| row.cell(column))
        };
        assert_eq!(figures(0), ["20", "1.00 ms", "50.0 µs"]);
        assert_eq!(figures(1), ["≥20", "~1.00 ms", "~50.0 µs"], "short calls between two ticks are not counted");
    }

    #[test]
    fn a_method_that_calls_itself_has_no_time_a_second_and_keeps_its_place() {
        let recursive = Hot { nanos: None, ..hot(1, "a.B.c", "time", 10, 5_000_000_000) };
        let rows = rows(&[], &[hot(2, "a.B.d", "time", 1, 1_000_000_000), recursive], 1.0);
        let figures: Vec<_> = rows.iter().map(|row| (row.cell(Column::Time), row.cell(Column::Mean))).collect();
        let expected = [("", "500 ms"), ("1.00 s", "1.00 s")];
        assert_eq!(figures, expected.map(|(time, mean)| (time.to_owned(), mean.to_owned())));
    }

    #[test]
    fn methods_of_one_name_are_shown_with_their_parameters() {
        let descriptor = "(ILjava/lang/String;[J)V".to_owned();
        let other = Hot { descriptor, ..hot(2, "a.B.busy", "time", 1, 5) };
        let rows = rows(&[], &[hot(1, "a.B.busy", "time", 1, 10), other, hot(3, "a.B.alone", "time", 1, 1)], 1.0);
        let names: Vec<_> = rows.iter().map(Row::name).collect();
        assert_eq!(names, ["a.B.busy()", "a.B.busy(int, String, long[])", "a.B.alone"]);
    }

    #[test]
    fn each_column_puts_its_largest_first_and_names_from_a_to_z() {
        let row = |method: &str, calls, nanos, p99| Row {
            recent: Some(Recent { p50: 1, p99, max: p99 }),
            ..rows(&[], &[hot(1, method, "time", calls, nanos)], 1.0).remove(0)
        };
        let rows = [row("b", 10, 100, 5), row("a", 1, 50, 90), row("c", 5, 400, 7)];
        let first = |column: Column| {
            let mut sorted = rows.to_vec();
            sorted.sort_by(|a, b| column.compare(a, b));
            sorted[0].method.clone()
        };
        let columns = [Column::Calls, Column::Time, Column::Mean, Column::P99, Column::Method];
        assert_eq!(columns.map(first), ["b", "c", "c", "a", "a"]);
    }
}
