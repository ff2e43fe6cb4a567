//! `instr diagnose`: which branch makes slow calls of a method slow.

pub(crate) mod suspects;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::Request;
use trace::DiagnosisOrder;
use trace::report::DiagnosisJson;

use super::probe;
use crate::diagnosis::{Manner, follow, microseconds, show};

/// For so long a method with slow calls is looked for, in seconds.
const PATIENCE: u64 = 60;

/// Find the branch that makes slow calls of a method slow: from level to level, slow calls are compared with fast ones, and what takes the time is
/// followed down to where it is spent. Of a method without slow calls, the largest share of the time is followed. All probes are removed at the end, also after Ctrl-C.
///
/// Exit codes: 0 with a result, 1 after an error, 2 if the command line is wrong, 3 if it ended without a result, 130 after Ctrl-C.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// The method as `package.Class.method`, or `'package.Class.method(int, String)'` if it is overloaded. Default: the first of
    /// `instr suspects`.
    method: Option<String>,
    /// Only calls while these methods are executing on the thread, in this order, the outermost first: 'a.B.c > d.E.f'.
    #[arg(long = "in", value_name = "METHODS")]
    within: Option<String>,
    /// Only calls for which this holds: 'http.path=/pay'.
    #[arg(long, value_name = "EXPRESSION")]
    when: Option<String>,
    /// Calls that take longer are slow: `500ms`, `0.5s`, `800us`. Default: as `[[slow-calls]]` says, or else learnt from the calls; if there are no slow
    /// ones, all calls count.
    #[arg(long, value_name = "TIME", value_parser = microseconds)]
    slower_than: Option<u64>,
    /// Go on in tasks that are handed to executors, where a call waits for one: they are measured on the threads that run them.
    #[arg(long)]
    across_threads: bool,
    /// Go on in this JVM if the answer is that calls wait for an HTTP request that it answers; may be given several times. Needs `baggage-to` in [conditions] of the
    /// first JVM and `baggage-from` in that of the other one.
    #[arg(long, value_name = "PID", conflicts_with_all = ["keep", "report_only"])]
    with: Vec<u32>,
    /// How many levels below the method are looked into. Default: 40: frameworks have many.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=64))]
    depth: Option<u64>,
    /// Only of class loaders of this name or class, with `*`. Default: all that have the class.
    #[arg(long)]
    loader: Option<String>,
    /// Insert nothing below the method: its own calls are measured, and what it may call is listed.
    #[arg(long)]
    report_only: bool,
    /// The diagnosis goes on when this command has ended.
    #[arg(long)]
    keep: bool,
    /// End it after this time, whatever is known: seconds, or `30s`, `10m`, `2h`. Default: 10 minutes. JVMs of `--with` get what is left, but at least
    /// 5 seconds.
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    time: Option<u64>,
    /// Show once how far a diagnosis has come that was started with `--keep`, by the number of its claim.
    #[arg(long, value_name = "CLAIM", conflicts_with_all = [
        "method", "within", "when", "slower_than", "across_threads", "with", "depth", "loader", "report_only", "keep", "time"
    ])]
    show: Option<u32>,
    /// What is listed first of the methods that a method calls: `share`, those that explain most; `calls`, those that it calls most often, with how often
    /// for each call of the diagnosed method. With `--depth 1`: what a dispatcher calls most.
    #[arg(long, value_name = "WORD", default_value = "share", value_parser = PossibleValuesParser::new(["share", "calls"]).map(order))]
    order: DiagnosisOrder,
    /// With `--json`: how many methods the context (`within`) has at most that is proposed for a node, to record its calls with `instr probe --in`: the nearest
    /// ones that were executing, the outermost first. Default: 3. The longer, the fewer calls are recorded in it.
    #[arg(long = "within", value_name = "METHODS", requires = "json", value_parser = clap::value_parser!(u64).range(1..=16))]
    nearest: Option<u64>,
    /// Print one JSON object at the end.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let nearest = arguments.nearest.map(|count| count as usize).unwrap_or(DiagnosisJson::default().nearest);
    let listed = DiagnosisJson { order: arguments.order, nearest };
    if let Some(claim) = arguments.show {
        return show(arguments.pid, claim, arguments.json, listed);
    }
    let manner = Manner { keep: arguments.keep, json: arguments.json, listed };
    let meant = match &arguments.method {
        Some(method) => {
            Meant { method: method.clone(), within: arguments.within.clone(), slower_than_us: arguments.slower_than }
        }
        None => suspected(arguments)?,
    };
    follow(arguments.pid, &request(arguments, meant), manner, &arguments.with)
}

fn order(word: String) -> DiagnosisOrder {
    if word == "calls" { DiagnosisOrder::Calls } else { DiagnosisOrder::Share }
}

/// What is diagnosed.
struct Meant {
    method: String,
    within: Option<String>,
    slower_than_us: Option<u64>,
}

/// The first of `instr suspects`.
fn suspected(arguments: &Arguments) -> Result<Meant> {
    eprintln!("looking for a method with slow calls");
    let patience = Duration::from_secs(arguments.time.unwrap_or(PATIENCE));
    let Some(found) = suspects::first(arguments.pid, arguments.slower_than, patience)? else {
        bail!(
            "no method that records its calls had slow ones within {} s: name the method, or see what `instr suspects {}` says",
            patience.as_secs(),
            arguments.pid
        );
    };
    eprintln!("{}: {}", found.method, suspects::evidence(&found));
    let learnt = (found.slower_than_ms * 1e3).max(1.0) as u64;
    Ok(Meant { method: found.method, within: arguments.within.clone().or(found.context), slower_than_us: Some(learnt) })
}

fn request(arguments: &Arguments, meant: Meant) -> Request {
    Request::Diagnose {
        method: meant.method,
        loader: arguments.loader.clone(),
        within: meant.within,
        when: arguments.when.clone(),
        slower_than_us: meant.slower_than_us,
        across_threads: arguments.across_threads,
        depth: arguments.depth.and_then(|depth| usize::try_from(depth).ok()),
        report_only: arguments.report_only,
        seconds: arguments.time,
        while_connected: !arguments.keep,
    }
}

/// Reads `60`, or what `instr probe` takes.
fn seconds(text: &str) -> Result<u64, String> {
    let is_bare = text.ends_with(|c: char| c.is_ascii_digit());
    if is_bare { probe::seconds(&format!("{text}s")) } else { probe::seconds(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_unit_is_in_seconds() {
        let read: Vec<_> = ["60", "30s", "10m", "0", "5x", ""].map(seconds).into_iter().map(Result::ok).collect();
        assert_eq!(read, [Some(60), Some(30), Some(600), None, None, None]);
    }
}
