//! `instr top`: the hottest methods of a running JVM, again and again.

use std::collections::HashMap;
use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::running_agent::{Hot, Status, ask};

/// Watch the hottest methods of a running JVM; Ctrl-C ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Seconds between two looks.
    #[arg(long, default_value_t = 1.0)]
    interval: f64,
    /// End after so many looks.
    #[arg(long)]
    looks: Option<u32>,
    /// Methods shown.
    #[arg(long, default_value_t = 20)]
    methods: usize,
}

/// Calls and time of a method within one interval.
#[derive(Debug, PartialEq)]
struct Row<'a> {
    method: &'a str,
    category: &'a str,
    level: &'a str,
    calls: u64,
    nanos: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let interval = Duration::from_secs_f64(arguments.interval.clamp(0.1, 3600.0));
    let request = json!({"ask": "status"});
    let mut before: Status = ask(arguments.pid, &request)?;
    let mut at = Instant::now();
    for look in 0.. {
        if arguments.looks.is_some_and(|looks| look >= looks) {
            break;
        }
        std::thread::sleep(interval);
        let now: Status = ask(arguments.pid, &request)?;
        let table = table(&before, &now, at.elapsed(), arguments.methods);
        at = Instant::now();
        let mut out = stdout().lock();
        if out.is_terminal() {
            // Home, and clear what is below.
            write!(out, "\x1b[H\x1b[J")?;
        }
        writeln!(out, "{table}")?;
        before = now;
    }
    Ok(())
}

fn rows<'a>(before: &[Hot], now: &'a [Hot]) -> Vec<Row<'a>> {
    // By number: a method can stand there several times, with exact times and with those of other levels.
    let earlier: HashMap<u32, (u64, u64)> = before.iter().map(|hot| (hot.probe, (hot.calls, hot.nanos))).collect();
    let row = |hot: &'a Hot| {
        let (calls, nanos) = earlier.get(&hot.probe).copied().unwrap_or_default();
        let (calls, nanos) = (hot.calls.saturating_sub(calls), hot.nanos.saturating_sub(nanos));
        Row { method: &hot.method, category: &hot.category, level: &hot.level, calls, nanos }
    };
    let mut rows: Vec<Row<'a>> = now.iter().map(row).filter(|row| row.calls > 0).collect();
    rows.sort_by(|a, b| b.nanos.cmp(&a.nanos).then_with(|| a.method.cmp(b.method)));
    rows
}

fn table(before: &Status, now: &Status, elapsed: Duration, most: usize) -> String {
    let seconds = elapsed.as_secs_f64();
    let records = now.records.saturating_sub(before.records);
    let mut lines = vec![format!(
        "process {}: {:.0} records a second, {} lost{}",
        now.pid,
        records as f64 / seconds,
        now.lost.saturating_sub(before.lost),
        now.governor.as_ref().map_or(String::new(), |governor| format!(
            ", {:.1} of {} % for exact times",
            governor.percent, governor.budget_percent
        )),
    )];
    lines.push(format!(
        "{:>12} {:>10} {:>12} {:<6} {:<11} method",
        "calls/s", "ms/s", "average us", "level", "category"
    ));
    for row in rows(&before.hottest, &now.hottest).into_iter().take(most) {
        let Row { method, category, level, calls, nanos } = row;
        let (calls, nanos) = (calls as f64, nanos as f64);
        let (rate, busy, average) = (calls / seconds, nanos / 1e6 / seconds, nanos / 1e3 / calls);
        lines.push(format!("{rate:>12.0} {busy:>10.1} {average:>12.2} {level:<6} {category:<11} {method}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hot(probe: u32, method: &str, level: &str, calls: u64, nanos: u64) -> Hot {
        Hot {
            probe,
            method: method.to_owned(),
            category: "catch-all".to_owned(),
            level: level.to_owned(),
            calls,
            nanos,
        }
    }

    #[test]
    fn what_happened_between_two_looks_is_sorted_by_time() {
        let before = [hot(1, "a.B.quiet", "time", 5, 100), hot(5, "a.B.busy", "time", 10, 1000)];
        let now = [
            hot(1, "a.B.quiet", "time", 5, 100),
            hot(6, "a.B.busy", "watch", 1, 700),
            hot(5, "a.B.busy", "off", 12, 1500),
            hot(9, "a.B.new", "time", 1, 600),
        ];
        let rows: Vec<(&str, &str, u64, u64)> =
            rows(&before, &now).iter().map(|row| (row.method, row.level, row.calls, row.nanos)).collect();
        let expected = [("a.B.busy", "watch", 1, 700), ("a.B.new", "time", 1, 600), ("a.B.busy", "off", 2, 500)];
        assert_eq!(rows, expected);
    }
}
