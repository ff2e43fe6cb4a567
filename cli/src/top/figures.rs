//! What happened in a JVM between two looks at it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::time::Duration;

use crate::running_agent::{Hot, Recent, Status};

/// Calls and time of a method between two looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) method: String,
    pub(crate) level: String,
    pub(crate) calls: u64,
    /// Calls a second.
    pub(crate) rate: f64,
    /// Nanoseconds in this method and what it called, a second; more than a second if several threads are in it.
    pub(crate) busy: f64,
    /// Mean nanoseconds of a call.
    pub(crate) mean: f64,
    pub(crate) recent: Option<Recent>,
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
            Column::Time => b.busy.total_cmp(&a.busy),
            Column::Mean => b.mean.total_cmp(&a.mean),
            Column::Median => recent(b, |r| r.p50).cmp(&recent(a, |r| r.p50)),
            Column::P99 => recent(b, |r| r.p99).cmp(&recent(a, |r| r.p99)),
            Column::Max => recent(b, |r| r.max).cmp(&recent(a, |r| r.max)),
            Column::Level => a.level.cmp(&b.level),
            Column::Method => Ordering::Equal,
        };
        order.then_with(|| a.method.cmp(&b.method)).then_with(|| a.level.cmp(&b.level))
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
    let mut earlier: HashMap<(&str, &str), (u64, u64)> = HashMap::new();
    for hot in before {
        earlier.insert((&hot.method, kind(hot)), (hot.calls, hot.nanos));
    }
    let row = |hot: &Hot| {
        let (calls, nanos) = earlier.get(&(hot.method.as_str(), kind(hot))).copied().unwrap_or_default();
        let (calls, nanos) = (hot.calls.saturating_sub(calls), hot.nanos.saturating_sub(nanos));
        Row {
            method: hot.method.clone(),
            level: hot.level.clone(),
            calls,
            rate: calls as f64 / seconds,
            busy: nanos as f64 / seconds,
            mean: if calls > 0 { nanos as f64 / calls as f64 } else { 0.0 },
            recent: hot.recent,
        }
    };
    let mut rows: Vec<Row> = now.iter().map(row).collect();
    rows.sort_by(|a, b| Column::Time.compare(a, b));
    rows
}

/// A method can stand there twice, with its exact times and with those seen by ticks.
fn kind(hot: &Hot) -> &str {
    if hot.level == "watch" { "watch" } else { "exact" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hot(method: &str, level: &str, calls: u64, nanos: u64) -> Hot {
        Hot { method: method.to_owned(), level: level.to_owned(), calls, nanos, recent: None }
    }

    #[test]
    fn what_happened_between_two_looks_is_sorted_by_time() {
        let before = [hot("a.B.quiet", "time", 5, 100), hot("a.B.busy", "time", 10, 1000)];
        let now = [
            hot("a.B.quiet", "time", 5, 100),
            hot("a.B.busy", "watch", 1, 700),
            hot("a.B.busy", "off", 12, 1500),
            hot("a.B.new", "time", 1, 600),
        ];
        let rows = rows(&before, &now, 2.0);
        let figures: Vec<_> =
            rows.iter().map(|row| (row.method.as_str(), row.level.as_str(), row.calls, row.busy)).collect();
        let expected = [
            ("a.B.busy", "watch", 1, 350.0),
            ("a.B.new", "time", 1, 300.0),
            ("a.B.busy", "off", 2, 250.0),
            ("a.B.quiet", "time", 0, 0.0),
        ];
        assert_eq!(figures, expected);
    }

    #[test]
    fn each_column_puts_its_largest_first_and_names_from_a_to_z() {
        let row = |method: &str, calls, nanos, p99| Row {
            recent: Some(Recent { p50: 1, p99, max: p99 }),
            ..rows(&[], &[hot(method, "time", calls, nanos)], 1.0).remove(0)
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
