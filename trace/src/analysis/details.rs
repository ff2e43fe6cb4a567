//! Tables of statements, HTTP requests and socket peers.

use rustc_hash::FxHashMap;

use super::Histogram;
use crate::reader::Call;

/// Distinct texts that a table keeps apart; the rest is one row.
const LARGEST_TABLE: usize = 10_000;
const OTHER: &str = "(other)";

/// All calls with the same statement, request or peer. Times in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct DetailRow {
    /// The statement, the request ("GET /path"), or the peer.
    pub text: String,
    /// Number of calls.
    pub calls: u64,
    /// Of these: calls whose times are estimates (level watch); shorter ones were not recorded.
    pub estimated_calls: u64,
    /// Sum of their times.
    pub total: u64,
    /// The longest.
    pub max: u64,
    /// Distribution of their times.
    pub durations: Histogram,
    /// Bytes moved (sockets).
    pub bytes: u64,
    /// Requests with a status from 400 to 499.
    pub client_errors: u64,
    /// Requests with a status of 500 and above.
    pub server_errors: u64,
}

impl DetailRow {
    /// Mean time of a call.
    #[must_use]
    pub fn average(&self) -> u64 {
        self.total.checked_div(self.calls).unwrap_or(0)
    }
}

/// A table under construction.
#[derive(Debug, Default)]
pub(super) struct DetailTable {
    rows: FxHashMap<String, DetailRow>,
}

impl DetailTable {
    /// Adds a call to the row of `text`, which is returned for the figures that only some tables have.
    pub(super) fn add(&mut self, text: &str, &Call { duration, exact, .. }: &Call) -> &mut DetailRow {
        let text = if self.rows.len() < LARGEST_TABLE || self.rows.contains_key(text) { text } else { OTHER };
        if !self.rows.contains_key(text) {
            self.rows.insert(text.to_owned(), DetailRow { text: text.to_owned(), ..DetailRow::default() });
        }
        let row = self.rows.entry(text.to_owned()).or_default();
        row.calls += 1;
        row.estimated_calls += u64::from(!exact);
        row.total = row.total.saturating_add(duration);
        row.max = row.max.max(duration);
        row.durations.record(duration);
        row
    }

    /// All rows, the one with the most time first.
    pub(super) fn finish(self) -> Vec<DetailRow> {
        let mut rows: Vec<_> = self.rows.into_values().collect();
        rows.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.text.cmp(&b.text)));
        rows
    }
}
