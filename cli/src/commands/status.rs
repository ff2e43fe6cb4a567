//! `instr status`: what the agent in a running JVM has done and decided.

use anyhow::Result;
use serde_json::json;

use crate::running_agent::{Dumped, Status, ask, ask_text};

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
    let request = json!({"ask": "status"});
    if arguments.json {
        println!("{}", ask_text(arguments.pid, &request)?.trim());
        return Ok(());
    }
    print!("{}", text(&ask(arguments.pid, &request)?));
    Ok(())
}

fn text(status: &Status) -> String {
    let [off, watch, time] = status.live;
    let none = if status.ring { "the newest part is in memory (mode = \"ring\")" } else { "none" };
    let file = status
        .trace_file
        .as_ref()
        .map_or(none.to_owned(), |file| format!("{} ({:.1} MB)", file.display(), status.trace_file_bytes as f64 / 1e6));
    let mut lines = vec![
        format!("process {}, instr {}", status.pid, status.agent_version),
        format!("{} methods of {} classes instrumented", status.methods_instrumented, status.classes_rewritten),
        format!("{} records, {} lost; trace file: {file}", status.records, status.lost),
    ];
    lines.extend(status.ended.iter().map(|reason| format!("the recording has ended: {reason}")));
    lines.extend(status.dumps.iter().map(|dump| format!("dump {}", describe(dump))));
    if off + watch + time > 0 {
        lines.push(format!("live probes: {time} at level time, {watch} at watch, {off} off"));
    } else {
        lines.push("no live probes: levels are fixed (`live = true` in [control] makes them changeable)".to_owned());
    }
    if let Some(governor) = &status.governor {
        lines.push(format!(
            "governor: exact times take {:.2} % of the CPU time, the budget is {} % ({:.0} ns a call)",
            governor.percent, governor.budget_percent, governor.nanos_per_call
        ));
    }
    if status.paused.iter().any(|reason| reason == "request") {
        lines.push("all probes are paused (`instr resume` switches them on again)".to_owned());
    }
    if let Some(reason) = &status.breaker {
        lines.push(format!("breaker open, nothing is recorded: {reason}"));
    }
    lines.extend(status.decisions.iter().map(|decision| format!("  {decision}")));
    lines.push(String::new());
    lines.join("\n")
}

/// A dump in one line.
pub(crate) fn describe(dump: &Dumped) -> String {
    let Dumped { file, bytes, seconds, reason } = dump;
    format!("{}: {seconds:.1} s, {:.1} MB ({reason})", file.display(), *bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_agent_becomes_a_text() {
        let answer = json!({
            "agent_version": "0.1.0", "pid": 7, "trace_file": "/tmp/t.jfr", "trace_file_bytes": 2_500_000,
            "classes_rewritten": 3, "methods_instrumented": 40, "records": 1000, "lost": 1, "live": [1, 2, 37],
            "governor": {"budget_percent": 3, "percent": 1.234, "nanos_per_call": 55.4},
            "decisions": ["1.0 s: a.B.c set to watch"], "hottest": [], "ended": "the trace file is full",
            "dumps": [{"file": "t-1.jfr", "bytes": 1_500_000, "seconds": 10.0, "reason": "asked for by a user"}],
        });
        let expected = "process 7, instr 0.1.0\n\
            40 methods of 3 classes instrumented\n\
            1000 records, 1 lost; trace file: /tmp/t.jfr (2.5 MB)\n\
            the recording has ended: the trace file is full\n\
            dump t-1.jfr: 10.0 s, 1.5 MB (asked for by a user)\n\
            live probes: 37 at level time, 2 at watch, 1 off\n\
            governor: exact times take 1.23 % of the CPU time, the budget is 3 % (55 ns a call)\n\
            \x20 1.0 s: a.B.c set to watch\n";
        assert_eq!(text(&serde_json::from_value(answer.clone()).unwrap()), expected);
        let mut paused = answer;
        paused["paused"] = json!(["request", "breaker"]);
        paused["breaker"] = json!("the heap is full");
        let text = text(&serde_json::from_value(paused).unwrap());
        assert!(text.contains("\nall probes are paused (") && text.contains("nothing is recorded: the heap is full\n"));
    }
}
