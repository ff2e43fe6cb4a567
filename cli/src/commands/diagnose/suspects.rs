//! `instr suspects`: which methods that record their calls have slow ones.

use std::io::{Write, stderr, stdout};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use control::{Request, Suspect, SuspectList};
use trace::report::{counted, duration};

use crate::commands::probe;
use crate::diagnosis::microseconds;
use crate::running_agent::ask;

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
const SECONDS: u64 = 10;

/// List the methods that have slow calls, by the records of their probes in the last minute: those first whose slow calls took most time. Inserts nothing.
/// `instr diagnose` finds out what makes them slow.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Only methods as `package.Class.method` with `*` and `**`, or `category:NAME`.
    #[arg(long)]
    methods: Option<String>,
    /// Calls that take longer are slow: `500ms`, `0.5s`, `800us`. Default: as `[[slow-calls]]` says, or else learnt from earlier calls of each method.
    #[arg(long, value_name = "TIME", value_parser = microseconds)]
    slower_than: Option<u64>,
    /// Watch calls for this time at least: `10s`, `1m`. Default: 10 seconds. With `[monitor]` in the configuration calls are always watched.
    #[arg(long = "for", value_name = "SECONDS", value_parser = probe::seconds)]
    time: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let request = Request::Suspects { methods: arguments.methods.clone(), slower_than_us: arguments.slower_than };
    let found = watched(arguments.pid, &request, Duration::from_secs(arguments.time.unwrap_or(SECONDS)))?;
    let text = if arguments.json { serde_json::to_string(&found)? + "\n" } else { listed(&found) };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Asks until calls have been watched for this time.
fn watched(pid: u32, request: &Request, time: Duration) -> Result<SuspectList> {
    let (begin, mut is_announced) = (Instant::now(), false);
    loop {
        let found: SuspectList = ask(pid, request)?;
        let is_enough = found.watched_seconds >= time.as_secs_f64() || begin.elapsed() >= time + BETWEEN_LOOKS * 2;
        if is_enough {
            return Ok(found);
        }
        if !std::mem::replace(&mut is_announced, true) {
            writeln!(stderr(), "watching calls for {} s", time.as_secs())?;
        }
        sleep(BETWEEN_LOOKS);
    }
}

/// Waits until a method has slow calls; `None` if none has within this time. Fails as soon as it is known that no method records its calls.
pub(crate) fn first(pid: u32, slower_than_us: Option<u64>, time: Duration) -> Result<Option<Suspect>> {
    let request = Request::Suspects { methods: None, slower_than_us };
    let begin = Instant::now();
    loop {
        let found: SuspectList = ask(pid, &request)?;
        // What has been seen in the first seconds may be the end of a long wait.
        let is_watched = found.watched_seconds >= SECONDS as f64;
        let mut plain = found.suspects.into_iter().filter(|suspect| !is_conditional(suspect));
        if let Some(first) = plain.next().filter(|_| is_watched) {
            return Ok(Some(first));
        }
        if begin.elapsed() >= time {
            return Ok(None);
        }
        if found.methods == 0 && begin.elapsed().as_secs() >= SECONDS {
            bail!(
                "no method has recorded a call within {SECONDS} s, so none can be suspected: name the method that is slow, or have methods record their calls by a rule or `instr probe`"
            );
        }
        sleep(BETWEEN_LOOKS);
    }
}

/// Says why a method is suspected.
pub(crate) fn evidence(suspect: &Suspect) -> String {
    let calls = suspect.calls.map_or_else(|| "calls".to_owned(), |calls| counted(calls, "call"));
    format!(
        "{} of its {calls} took longer than {} ({}) in the last minute, the longest {}",
        suspect.slow,
        millis(suspect.slower_than_ms),
        origin(suspect),
        millis(suspect.longest_ms)
    )
}

fn listed(found: &SuspectList) -> String {
    let mut text = String::new();
    for suspect in &found.suspects {
        let context = suspect.context.as_ref().map(|context| format!(" in {context}")).unwrap_or_default();
        text += &format!("{}{context}\n    {}\n", suspect.method, evidence(suspect));
        let median = suspect.median_ms.map(|median| format!("; the median is {}", millis(median))).unwrap_or_default();
        text += &format!("    slow calls together: {}{median}\n", millis(suspect.slow_total_ms));
        match (&suspect.diagnosis, &suspect.sentence, &suspect.not_diagnosed) {
            (Some(claim), Some(sentence), _) => text += &format!("    diagnosis {claim}: {sentence}\n"),
            (Some(claim), None, _) => text += &format!("    diagnosis {claim} follows it and has no result yet\n"),
            (None, _, Some(reason)) => text += &format!("    not diagnosed by the monitor: {reason}\n"),
            (None, _, None) => {}
        }
    }
    let methods = counted(found.methods as u64, "method");
    let watched = format!("{:.0} s", found.watched_seconds.min(60.0));
    let said = match (found.methods, found.suspects.len()) {
        (0, _) => "no method has recorded a call: a rule or `instr probe` makes methods record theirs".to_owned(),
        (_, 0) => format!("none of {methods} had slow calls in {watched}"),
        (_, count) => format!("{} of {methods} that were called in {watched}", counted(count as u64, "suspect")),
    };
    text += &format!("# {said}\n");
    if found.unknown > 0 {
        let methods = counted(found.unknown as u64, "method");
        text += &format!(
            "# {methods} at level watch left out: state what is slow (`--slower-than`, `[[slow-calls]]`), or use level time\n"
        );
    }
    text
}

fn origin(suspect: &Suspect) -> String {
    match (&suspect.stated_for, suspect.learnt) {
        (_, true) => "learnt from its calls".to_owned(),
        (Some(methods), false) => format!("stated for {methods}"),
        (None, false) => "stated".to_owned(),
    }
}

fn millis(millis: f64) -> String {
    duration((millis * 1e6) as u64)
}

/// Older agents say it in the context only.
fn is_conditional(suspect: &Suspect) -> bool {
    suspect.conditional || suspect.context.as_ref().is_some_and(|context| context.contains(" when "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect() -> Suspect {
        Suspect {
            method: "a.B.c(int)".to_owned(),
            context: None,
            conditional: false,
            category: "catch-all".to_owned(),
            calls: Some(40),
            slow: 4,
            slower_than_ms: 200.0,
            learnt: false,
            stated_for: Some("category:database".to_owned()),
            median_ms: Some(2.0),
            longest_ms: 812.0,
            slow_total_ms: 1_900.0,
            diagnosis: None,
            sentence: None,
            not_diagnosed: None,
        }
    }

    #[test]
    fn each_suspect_has_its_evidence_and_what_is_known_of_it() {
        let mut found =
            SuspectList { watched_seconds: 12.4, methods: 3, unknown: 0, suspects: vec![suspect()], diagnoses: true };
        let text = listed(&found);
        assert!(
            text.contains("4 of its 40 calls took longer than 200 ms (stated for category:database)")
                && text.contains("the longest 812 ms")
                && text.contains("1 suspect of 3 methods that were called in 12 s"),
            "{text}"
        );
        found.suspects[0].diagnosis = Some(7);
        found.suspects[0].sentence = Some("all of it is x".to_owned());
        assert!(listed(&found).contains("diagnosis 7: all of it is x"));
    }

    #[test]
    fn nothing_found_says_whether_there_was_anything_to_find() {
        let found = |methods| SuspectList {
            watched_seconds: 10.0,
            methods,
            unknown: methods / 5,
            suspects: Vec::new(),
            diagnoses: false,
        };
        let text = listed(&found(5));
        assert!(text.starts_with("# none of 5 methods had slow calls in 10 s\n# 1 method at level watch"), "{text}");
        assert!(listed(&found(0)).contains("a rule or `instr probe`"));
    }
}
