//! `instr probe`, `instr claims` and `instr remove`: probes by request, for a while.

use std::time::Duration;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::{ClaimList, ClaimRow, Probed, Removed, Request};
use instrument_core::level::Level;
use trace::report::counted;

use crate::running_agent::ask;

/// Insert probes into methods of a running JVM for a while, whether a rule takes them or not. Ends after 10 minutes and 1,000 calls, unless
/// `--for` or `--calls` says otherwise.
#[derive(Debug, clap::Args)]
pub(crate) struct ProbeArguments {
    /// Process id of the JVM.
    pid: u32,
    /// Methods: `package.Class.method`, `*` inside a package or name, `**` across packages.
    methods: String,
    /// How long the probes stay: `30s`, `10m`, `2h`.
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    time: Option<u64>,
    /// The probes are removed after this number of recorded calls.
    #[arg(long)]
    calls: Option<u64>,
    /// Their level.
    #[arg(long, default_value = "time", value_parser = PossibleValuesParser::new(LEVELS).map(level))]
    level: Level,
    /// Their template.
    #[arg(long, default_value = "timed")]
    template: String,
    /// Most methods that the pattern may match.
    #[arg(long)]
    most: Option<usize>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// List who wants which probes of a running JVM: the rules, persons, the governor.
#[derive(Debug, clap::Args)]
pub(crate) struct ClaimsArguments {
    /// Process id of the JVM.
    pid: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// End a claim: its probes are removed, unless somebody else wants them.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArguments {
    /// Process id of the JVM.
    pid: u32,
    /// The number of the claim, as `instr claims` lists it.
    id: u32,
}

pub(crate) fn probe(arguments: &ProbeArguments) -> Result<()> {
    let ProbeArguments { pid, methods, time, calls, level, template, most, json } = arguments;
    let request = Request::Probe {
        methods: methods.clone(),
        level: Some(*level),
        template: Some(template.clone()),
        seconds: *time,
        calls: *calls,
        most: *most,
    };
    let probed: Probed = ask(*pid, &request)?;
    if *json {
        println!("{}", serde_json::to_string(&probed)?);
    } else {
        print!("{}", probed_text(*pid, methods, &probed));
    }
    Ok(())
}

pub(crate) fn claims(arguments: &ClaimsArguments) -> Result<()> {
    let list: ClaimList = ask(arguments.pid, &Request::Claims)?;
    if arguments.json {
        println!("{}", serde_json::to_string(&list)?);
    } else {
        print!("{}", table(&list.claims));
    }
    Ok(())
}

pub(crate) fn remove(arguments: &RemoveArguments) -> Result<()> {
    let removed: Removed = ask(arguments.pid, &Request::Remove { claim: arguments.id })?;
    println!("claim {} has ended; {} less", removed.claim, counted(removed.methods as u64, "probe"));
    Ok(())
}

const LEVELS: [&str; 5] = ["off", "watch", "burst", "time", "full"];

fn level(name: String) -> Level {
    Level::ALL.into_iter().find(|level| level.name() == name).unwrap_or(Level::Time)
}

/// Reads `30s`, `10m`, `2h`.
fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err("write a number and s, m or h, such as 30s or 10m".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "write a number and s, m or h, such as 30s or 10m".to_owned())?;
    let seconds = number.checked_mul(factor).filter(|seconds| *seconds > 0);
    seconds
        .filter(|seconds| Duration::from_secs(*seconds) <= Duration::from_secs(366 * 86_400))
        .ok_or_else(|| "a claim lasts a second at least and a year at most".to_owned())
}

fn probed_text(pid: u32, methods: &str, probed: &Probed) -> String {
    let Probed { claim, methods: probes, classes, waiting } = probed;
    let mut lines = vec![match (classes, probes) {
        (0, _) => format!(
            "claim {claim}: no loaded class is named by {methods}; a class that is loaded later gets its probes (a name of a class that is wrong \
             waits for ever: `instr remove {pid} {claim}` ends the claim)"
        ),
        (_, 0) => format!(
            "claim {claim}: no method of {} can have a probe: there is none of this name, or it is abstract, native, or left out by [exclude]",
            classes_text(*classes)
        ),
        _ => format!(
            "claim {claim}: {} in {}; `instr remove {pid} {claim}` ends it",
            counted(*probes as u64, "probe"),
            classes_text(*classes)
        ),
    }];
    lines.extend(waiting.iter().map(|reason| format!("waits: {reason}")));
    lines.push(String::new());
    lines.join("\n")
}

fn classes_text(classes: usize) -> String {
    if classes == 1 { "1 class".to_owned() } else { format!("{classes} classes") }
}

/// A line for each claim.
fn table(claims: &[ClaimRow]) -> String {
    let mut lines = vec![format!(
        "{:>4}  {:<9} {:<9} {:<6} {:<8} {:<50} reason",
        "id", "owner", "role", "level", "state", "methods"
    )];
    for ClaimRow { id, owner, role, class, method, level, state, reason, hits, expires } in claims {
        let id = id.map_or_else(String::new, |id| id.to_string());
        let level = level.as_deref().unwrap_or("");
        let methods = format!("{class}.{method}");
        let hits = hits.map_or_else(String::new, |hits| format!("; {}", counted(hits, "call")));
        let expires = expires.as_ref().map_or_else(String::new, |expires| format!("; ends {expires}"));
        lines
            .push(format!("{id:>4}  {owner:<9} {role:<9} {level:<6} {state:<8} {methods:<50} {reason}{hits}{expires}"));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        let read: Vec<_> = ["30s", "10m", "2h", "0s", "10", "", "m", "1é", "99999999h"]
            .map(seconds)
            .into_iter()
            .map(Result::ok)
            .collect();
        assert_eq!(read, [Some(30), Some(600), Some(7_200), None, None, None, None, None, None]);
    }

    #[test]
    fn a_request_that_hit_nothing_says_why() {
        let text =
            |classes, methods| probed_text(7, "a.B.c", &Probed { claim: 3, methods, classes, waiting: Vec::new() });
        assert!(text(0, 0).starts_with("claim 3: no loaded class is named by a.B.c; a class that is loaded later"));
        assert!(text(1, 0).starts_with("claim 3: no method of 1 class can have a probe: "));
        assert_eq!(text(2, 5), "claim 3: 5 probes in 2 classes; `instr remove 7 3` ends it\n");
    }
}
