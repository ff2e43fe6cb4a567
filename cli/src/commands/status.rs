//! `instr status`: what the agent in a running JVM has done and decided.

use anyhow::Result;
use control::{
    Bursts, Dumped, Failing, GovernorFigures, LiveCounts, Request, Retransforms, Sending, Status, WalkTotals,
};
use trace::report::counted;

use crate::running_agent::{ask, ask_text};

/// Show what the agent in a running JVM does: classes, records, levels, and what the governor decided.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let request = Request::Status { methods: None, durations: false };
    if arguments.json {
        println!("{}", ask_text(arguments.pid, &request)?.trim());
        return Ok(());
    }
    print!("{}", text(&ask(arguments.pid, &request)?));
    Ok(())
}

fn text(status: &Status) -> String {
    let none = if status.ring { "the newest part is in memory (mode = \"ring\")" } else { "none" };
    let file = status
        .trace_file
        .as_ref()
        .map_or(none.to_owned(), |file| format!("{} ({:.1} MB)", file.display(), status.trace_file_bytes as f64 / 1e6));
    let mut lines = vec![
        format!("process {}, instr {}", status.pid, status.agent_version),
        format!(
            // What a reload, a claim or a diagnosis has taken away again is not subtracted.
            "{} of {} instrumented so far",
            counted(status.methods_instrumented, "method"),
            counted(status.classes_rewritten, "class"),
        ),
        format!("{} records, {} lost; trace file: {file}", status.records, status.lost),
    ];
    lines.extend(status.trace_file_trouble.iter().map(|trouble| format!("the trace file {trouble}")));
    if status.classes_instrumented_ahead > 0 {
        lines.push(format!(
            "instrumented ahead of time by `instr pre`: {}, of which {} record",
            counted(status.classes_instrumented_ahead, "class"),
            counted(status.probes_instrumented_ahead, "probe")
        ));
    }
    lines.extend(status.ended.iter().map(|reason| format!("the recording has ended: {reason}")));
    lines.extend(status.dumps.iter().map(|dump| format!("dump {}", describe(dump))));
    lines.extend(status.live.iter().map(live));
    lines.extend(status.bursts.as_ref().map(bursts));
    if status.ended.is_some() {
        lines.push("no probe records any more".to_owned());
    } else if status.live.is_empty() {
        lines.push("no live probes: levels are fixed (`live = true` in [control] makes them changeable)".to_owned());
    }
    lines.extend(status.governor.as_ref().map(governor));
    if status.paused.iter().any(|reason| reason == "request") {
        lines.push("all probes are paused (`instr resume` switches them on again)".to_owned());
    }
    if let Some(reason) = &status.breaker {
        lines.push(format!("breaker open, nothing is recorded: {reason}"));
    }
    lines.extend(status.otlp.iter().flat_map(sending));
    lines.extend(retransforms(&status.retransforms));
    lines.extend(status.walks.as_ref().map(walks));
    lines.extend(status.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.extend(status.decisions.iter().map(|decision| format!("  {decision}")));
    lines.push(String::new());
    lines.join("\n")
}

/// `live probes, database: 3 off, 2 time`
fn live(counts: &LiveCounts) -> String {
    let levels = counts.levels.iter().map(|(level, count)| format!("{count} {level}"));
    format!("live probes, {}: {}", counts.category, levels.collect::<Vec<_>>().join(", "))
}

/// What probes cost, and how that was computed.
fn governor(governor: &GovernorFigures) -> String {
    let GovernorFigures { budget_percent, percent, kept_percent, watch_percent, nanos_per_call, nanos_per_full_call } =
        governor;
    let watch = watch_percent.map_or(String::new(), |percent| format!(", level watch {percent:.2} %"));
    let kept = if *kept_percent > 0.0 {
        format!(", probes whose level it does not change {kept_percent:.2} %")
    } else {
        String::new()
    };
    format!(
        "governor: probes take {percent:.2} % of the CPU time{watch}{kept}; the budget is {budget_percent} % (a call costs \
         {nanos_per_call:.0} ns at level time, {nanos_per_full_call:.0} ns at level full)"
    )
}

fn bursts(bursts: &Bursts) -> String {
    let Bursts { open_ms, period_ms, windows, open_nanos } = bursts;
    let open = *open_nanos as f64 / 1e6;
    format!("bursts: {open_ms} ms in {period_ms} ms; {windows} windows up to now, {open:.1} ms together")
}

/// What was done to loaded classes, and which wait.
fn retransforms(done: &Retransforms) -> Vec<String> {
    let Retransforms { batches, classes, rejected, longest_stop_ms, waiting } = done;
    let mut lines = Vec::new();
    if *batches > 0 {
        let rejected = if *rejected > 0 { format!(", {rejected} rejected") } else { String::new() };
        let batches = if *batches == 1 { "1 batch".to_owned() } else { format!("{batches} batches") };
        let classes = counted(*classes, "class");
        lines.push(format!(
            "retransformed: {classes} in {batches}{rejected}; the application was stopped for at most {longest_stop_ms:.1} ms"
        ));
    }
    lines.extend(waiting.iter().map(|reason| format!("waits: {reason}")));
    lines
}

/// What walks have cost.
fn walks(totals: &WalkTotals) -> String {
    let WalkTotals { walks, present, active, most, calls, late, changes, longest_stop_ms, cpu_ms } = totals;
    format!(
        "walks: {walks}; probes: {present} at present, {active} of them active, at most {most} at a time; {}, {} that began before; classes changed {}, \
         longest stop {longest_stop_ms:.1} ms; processor time of their threads: {cpu_ms:.1} ms",
        counted(*calls, "recorded call"),
        counted(*late, "call"),
        counted(*changes as u64, "time"),
    )
}

/// What was sent, and why no more is.
fn sending(sending: &Sending) -> Vec<String> {
    let Sending { url, metrics_sent, metrics_dropped, spans_sent, spans_dropped, failing } = sending;
    let mut lines = vec![format!(
        "otlp {url}: sent {metrics_sent} values and {spans_sent} spans, dropped {metrics_dropped} and {spans_dropped}"
    )];
    lines.extend(failing.as_ref().map(|Failing { reason, attempts, seconds }| {
        format!("otlp fails: {reason} ({attempts} attempts in {seconds:.0} s)")
    }));
    lines
}

/// A dump in one line.
pub(crate) fn describe(dump: &Dumped) -> String {
    let Dumped { file, bytes, seconds, reason } = dump;
    format!("{}: {seconds:.1} s, {:.1} MB ({reason})", file.display(), *bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_of_the_agent_becomes_a_text() {
        let answer = json!({
            "agent_version": "0.1.0", "pid": 7, "trace_file": "/tmp/t.jfr", "trace_file_bytes": 2_500_000,
            "classes_rewritten": 3, "methods_instrumented": 40, "records": 1000, "lost": 1,
            "live": [{"category": "database", "levels": {"burst": 1, "time": 37}}, {"category": "socket", "levels": {"off": 2}}],
            "bursts": {"open_ms": 1, "period_ms": 100, "windows": 12, "open_nanos": 12_000_000},
            "governor": {"budget_percent": 3, "percent": 1.234, "kept_percent": 12.5, "watch_percent": 0.5,
                "nanos_per_call": 55.4, "nanos_per_full_call": 1300.4},
            "otlp": {"url": "http://h:4318", "metrics_sent": 20, "metrics_dropped": 3, "spans_sent": 1, "spans_dropped": 0,
                "failing": {"reason": "it answers 401", "attempts": 12, "seconds": 69.7}},
            "warnings": ["rule 1 (c.toml:1): its only method has no parameter `al`; did you mean `all`?"],
            "decisions": ["1.0 s: a.B.c set to watch"], "hottest": [], "ended": "the trace file is full",
            "trace_file_trouble": "is full",
            "retransforms": {"batches": 2, "classes": 31, "rejected": 1, "longest_stop_ms": 3.26, "waiting": ["a.Main waits"]},
            "walks": {"walks": 2, "present": 3, "active": 1, "most": 5, "calls": 41022, "late": 1, "changes": 9, "longest_stop_ms": 3.64, "cpu_ms": 81.25},
            "dumps": [{"file": "t-1.jfr", "bytes": 1_500_000, "seconds": 10.0, "reason": "asked for by a user"}],
        });
        let expected = "process 7, instr 0.1.0\n\
            40 methods of 3 classes instrumented so far\n\
            1000 records, 1 lost; trace file: /tmp/t.jfr (2.5 MB)\n\
            the trace file is full\n\
            the recording has ended: the trace file is full\n\
            dump t-1.jfr: 10.0 s, 1.5 MB (asked for by a user)\n\
            live probes, database: 1 burst, 37 time\n\
            live probes, socket: 2 off\n\
            bursts: 1 ms in 100 ms; 12 windows up to now, 12.0 ms together\n\
             no probe records any more\n\
            governor: probes take 1.23 % of the CPU time, level watch 0.50 %, probes whose level it does not change 12.50 %; \
            the budget is 3 % (a call costs 55 ns at level time, 1300 ns at level full)\n\
            otlp http://h:4318: sent 20 values and 1 spans, dropped 3 and 0\n\
            otlp fails: it answers 401 (12 attempts in 70 s)\n\
            retransformed: 31 classes in 2 batches, 1 rejected; the application was stopped for at most 3.3 ms\n\
            waits: a.Main waits\n\
            walks: 2; probes: 3 at present, 1 of them active, at most 5 at a time; 41,022 recorded calls, 1 call that began before; classes changed 9 times, \
            longest stop 3.6 ms; processor time of their threads: 81.2 ms\n\
            warning: rule 1 (c.toml:1): its only method has no parameter `al`; did you mean `all`?\n\
            \x20 1.0 s: a.B.c set to watch\n";
        assert_eq!(text(&serde_json::from_value(answer.clone()).unwrap()), expected);
        let mut paused = answer;
        paused["paused"] = json!(["request", "breaker"]);
        paused["breaker"] = json!("the heap is full");
        let text = text(&serde_json::from_value(paused).unwrap());
        assert!(text.contains("\nall probes are paused (") && text.contains("nothing is recorded: the heap is full\n"));
    }
}
