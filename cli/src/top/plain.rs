//! One table a look, one below the other: for files, pipes and terminals that can do nothing else.

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use anyhow::Result;
use trace::report::duration;

use super::background::{end_of, look};
use super::figures::{Interval, Row};
use crate::running_agent::standstill;

/// Prints a table after each interval, `looks` times at most, or until the JVM ends.
pub(crate) fn print_tables(pid: u32, interval: Duration, looks: Option<u32>, methods: usize) -> Result<()> {
    let mut before = look(pid)?;
    let mut at = Instant::now();
    for _ in 0..looks.unwrap_or(u32::MAX) {
        std::thread::sleep(interval);
        let now = match look(pid) {
            Ok(now) => now,
            Err(error) => {
                let Some(text) = end_of(pid, &before) else { return Err(error) };
                eprintln!("{text}");
                return Ok(());
            }
        };
        let elapsed = at.elapsed();
        at = Instant::now();
        let between = Interval::between(&before, now, elapsed);
        writeln!(stdout(), "{}", table(&between, methods))?;
        before = between.status;
    }
    Ok(())
}

fn table(interval: &Interval, most: usize) -> String {
    let status = &interval.status;
    let governor = status.governor.as_ref().map_or(String::new(), |governor| {
        format!(", {:.1} of {} % for probes", governor.all_percent(), governor.budget_percent)
    });
    let (rate, lost) = (interval.rate, interval.lost);
    let still = standstill(status).map_or(String::new(), |text| format!(", {text}"));
    let pid = status.pid;
    let mut lines = vec![format!("process {pid}: {rate:.0} records a second, {lost} lost{governor}{still}")];
    let titles = ["calls/s", "time/s", "mean", "p50", "p99", "max"].map(|title| format!("{title:>9}"));
    lines.push(format!("{} level  method", titles.join(" ")));
    lines.extend(interval.rows.iter().filter(|row| row.calls > 0).take(most).map(line));
    lines.join("\n") + "\n"
}

fn line(row: &Row) -> String {
    let recent = row.recent.map(|recent| [recent.p50, recent.p99, recent.max].map(duration)).unwrap_or_default();
    let [p50, p99, max] = recent;
    let busy = duration(row.busy as u64);
    let mean = row.mean.map_or(String::new(), |mean| duration(mean as u64));
    let rate = if row.rate < 10.0 { format!("{:.1}", row.rate) } else { format!("{:.0}", row.rate) };
    let (level, method) = (&row.level, row.name());
    format!("{rate:>9} {busy:>9} {mean:>9} {p50:>9} {p99:>9} {max:>9} {level:<6} {method}")
}
