//! One table a look, one below the other: for files, pipes and terminals that can do nothing else.

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::background::{end_of, look};
use super::figures::{Column, Interval, Row};
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
    let (rate, lost) = (interval.rate, lost(interval));
    let still = standstill(status).map_or(String::new(), |text| format!(", {text}"));
    let pid = status.pid;
    let mut lines = vec![format!("process {pid}: {rate:.0} records a second, {lost}{governor}{still}")];
    lines.extend(status.trace_file_trouble.iter().map(|trouble| format!("the trace file {trouble}")));
    let titles = ["calls/s", "time/s", "mean", "p50", "p99", "max"].map(|title| format!("{title:>9}"));
    lines.push(format!("{} level  method", titles.join(" ")));
    let shown: Vec<&Row> = interval.rows.iter().filter(|row| row.calls > 0).take(most).collect();
    lines.extend(shown.iter().map(|row| line(row)));
    if shown.iter().any(|row| row.estimated) {
        lines
            .push("level watch: ≥ only calls that met a tick are counted, ~ times are estimates from ticks".to_owned());
    }
    lines.join("\n") + "\n"
}

/// Returns how many records were lost, in words that `instr status` does not contradict.
fn lost(interval: &Interval) -> String {
    match interval.status.lost {
        0 => "nothing lost".to_owned(),
        all => format!("{all} lost, {} since the last look", interval.lost),
    }
}

fn line(row: &Row) -> String {
    let figures = [Column::Calls, Column::Time, Column::Mean, Column::Median, Column::P99, Column::Max]
        .map(|column| format!("{:>9}", row.cell(column)));
    format!("{} {:<6} {}", figures.join(" "), row.level, row.name())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn interval(lost: [u64; 2], trouble: Option<&str>) -> Interval {
        let look = |calls: u64, lost: u64| -> Value {
            json!({
                "agent_version": "0.1.0", "pid": 7, "trace_file": "/t.jfr", "trace_file_bytes": 1, "classes_rewritten": 1,
                "methods_instrumented": 1, "records": calls, "lost": lost, "trace_file_trouble": trouble,
                "live": [], "bursts": null, "governor": null, "decisions": [],
                "hottest": [{"probe": 1, "method": "a.B.c", "category": "", "level": "watch", "calls": calls,
                    "estimated_calls": calls, "nanos": calls * 1_000_000, "lengths": calls * 1_000_000}],
            })
        };
        let [before, now] = [look(0, lost[0]), look(40, lost[1])].map(|look| serde_json::from_value(look).unwrap());
        Interval::between(&before, now, Duration::from_secs(2))
    }

    #[test]
    fn a_table_marks_figures_of_level_watch_and_says_since_when_records_were_lost() {
        let text = table(&interval([3, 10], Some("is full since second 3.2: later calls are lost")), 5);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains(" 10 lost, 7 since the last look"), "`instr status` shows the first figure: {text}");
        assert_eq!(lines[1], "the trace file is full since second 3.2: later calls are lost");
        assert!(lines[3].starts_with("      ≥20  ~20.0 ms "), "{text}");
        assert!(lines[4].starts_with("level watch: ≥ only calls that met a tick are counted"), "{text}");
        assert!(table(&interval([0, 0], None), 5).starts_with("process 7: 20 records a second, nothing lost\n"));
    }
}
