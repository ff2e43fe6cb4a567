//! Tables of statements, HTTP requests and socket peers.

use rustc_hash::FxHashMap;

use super::lengths::CallTimes;
use crate::WatchedLengths;
use crate::reader::Call;

/// Distinct texts that are kept apart while a recording is read.
const MOST_TEXTS: usize = 10_000;
/// Rows of a table: those with the most time, and one with the sum of all others.
pub(crate) const MOST_ROWS: usize = 200;
/// The row of what was read after [`MOST_TEXTS`].
const OTHER: &str = "\0";

/// All calls with the same statement, request or peer. Times in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct DetailRow {
    /// The statement, the request ("GET /members/{id}"), or the peer; the last row may be the sum of others.
    pub text: String,
    /// Number of calls.
    pub calls: u64,
    /// The recorded times of these calls.
    pub times: CallTimes,
    /// Bytes moved (sockets).
    pub bytes: u64,
    /// Requests with a status from 400 to 499.
    pub client_errors: u64,
    /// Requests with a status of 500 and above.
    pub server_errors: u64,
}

impl DetailRow {
    fn add(&mut self, other: &DetailRow) {
        self.calls += other.calls;
        self.times.merge(&other.times);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.client_errors += other.client_errors;
        self.server_errors += other.server_errors;
    }
}

/// A table under construction.
#[derive(Debug, Default)]
pub(super) struct DetailTable {
    rows: FxHashMap<String, DetailRow>,
}

impl DetailTable {
    /// Adds a call to the row of `text`, which is returned for the figures that only some tables have.
    pub(super) fn add(&mut self, text: &str, &Call { duration, exact, .. }: &Call, blurred: bool) -> &mut DetailRow {
        let text = if self.rows.len() < MOST_TEXTS || self.rows.contains_key(text) { text } else { OTHER };
        if !self.rows.contains_key(text) {
            self.rows.insert(text.to_owned(), DetailRow { text: text.to_owned(), ..DetailRow::default() });
        }
        let row = self.rows.entry(text.to_owned()).or_default();
        row.calls += 1;
        row.times.add(duration, exact);
        if blurred {
            row.times.blur(duration);
        }
        row
    }

    /// At most [`MOST_ROWS`] rows, the one with the most time first. The last one has the sum of all that are not shown, if there are more.
    pub(super) fn finish(mut self, ticks: &WatchedLengths) -> Vec<DetailRow> {
        let unnamed = self.rows.remove(OTHER);
        let mut rows: Vec<_> = self.rows.into_values().collect();
        rows.sort_by(|a, b| b.times.sum.cmp(&a.times.sum).then_with(|| a.text.cmp(&b.text)));
        if rows.len() > MOST_ROWS || unnamed.is_some() {
            let others = rows.split_off(rows.len().min(MOST_ROWS - 1));
            let more_than = if unnamed.is_some() { "more than " } else { "" };
            let mut sum =
                DetailRow { text: format!("(sum of {more_than}{} others)", others.len()), ..DetailRow::default() };
            others.iter().chain(&unnamed).for_each(|row| sum.add(row));
            rows.push(sum);
        }
        rows.iter_mut().for_each(|row| row.times.judge(ticks));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(duration: u64) -> Call {
        Call { thread: 1, method: 1, template: 1, start: 0, duration, exact: true }
    }

    #[test]
    fn what_has_no_row_of_its_own_is_summed_in_the_last_one() {
        for (texts, sum) in
            [(200, None), (201, Some("(sum of 2 others)")), (12_000, Some("(sum of more than 9801 others)"))]
        {
            let mut table = DetailTable::default();
            for number in 0..texts {
                table.add(&format!("GET /{number}"), &call(1_000 + number), false).server_errors += 1;
            }
            let rows = table.finish(&WatchedLengths::default());
            assert_eq!(rows.len(), MOST_ROWS);
            assert_eq!(rows.iter().map(|row| row.calls).sum::<u64>(), texts);
            assert_eq!(rows.iter().map(|row| row.times.durations.count()).sum::<u64>(), texts);
            assert_eq!(rows.iter().map(|row| row.server_errors).sum::<u64>(), texts);
            let last = rows.last().unwrap();
            assert_eq!((last.calls > 1).then_some(last.text.as_str()), sum);
        }
    }
}
