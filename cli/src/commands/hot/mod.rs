//! `instr hot`: which methods use most of the processor, the time, the memory.

pub(crate) mod callers;
pub(crate) mod walk;

use std::io::{Write, stdout};

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use control::{Hello, HotBy, HotSpot, HotSpots, JvmThreads, LONGEST_HOT_SECONDS, Request, USUAL_HOT_SECONDS};
use instrument_core::words::Words;
use serde::Serialize;
use serde::de::DeserializeOwned;
use trace::report::counted;

use crate::running_agent::ask;

/// Show which methods are hot: those that use most processor time, time or memory themselves, without the methods that they call. Changes no class.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Hot by what.
    #[arg(long, default_value = "cpu", value_parser = PossibleValuesParser::new(words()).try_map(|text| word(&text)))]
    by: HotBy,
    /// For how long to look.
    #[arg(long, value_name = "N", default_value_t = USUAL_HOT_SECONDS, value_parser = clap::value_parser!(u64).range(1..=LONGEST_HOT_SECONDS))]
    seconds: u64,
    /// Methods with this share are listed.
    #[arg(long, value_name = "PERCENT", default_value_t = control::HOT_PERCENT, value_parser = clap::value_parser!(u32).range(0..=100))]
    share: u32,
    /// If none has that share, so many are listed.
    #[arg(long, value_name = "N", default_value_t = control::HOT_TOP as u64, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    top: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn words() -> impl IntoIterator<Item = PossibleValue> {
    let of_samples = |by: &HotBy| !matches!(by, HotBy::Cycles | HotBy::Instructions);
    HotBy::WORDS
        .iter()
        .filter(move |(by, ..)| of_samples(by))
        .map(|(_, word, about)| PossibleValue::new(*word).help(about.trim()))
}

/// What the calls that a hook counts can be measured by.
const METRICS: [&str; 5] = ["wall", "cpu", "allocated", "cycles", "instructions"];

fn word(text: &str) -> Result<HotBy, String> {
    let found = HotBy::WORDS.iter().find(|(_, word, _)| *word == text);
    found.map(|(by, _, _)| *by).ok_or_else(|| format!("`{text}` is none of them"))
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let request = Request::Hot {
        by: Some(arguments.by),
        seconds: Some(arguments.seconds),
        share_percent: Some(arguments.share),
        top: usize::try_from(arguments.top).ok(),
    };
    print_answer(arguments.pid, &request, (arguments.seconds, arguments.json), listed)
}

/// Says how long it takes, once an agent has answered, and prints what it finds: as JSON, or as this text.
pub(super) fn print_answer<T: DeserializeOwned + Serialize>(
    pid: u32,
    request: &Request,
    (seconds, json): (u64, bool),
    listed: impl FnOnce(&T) -> String,
) -> Result<()> {
    let _: Hello = ask(pid, &Request::Hello)?;
    eprintln!("looking for {seconds} s");
    // Read in both cases: a refusal is an error.
    let found: T = ask(pid, request)?;
    let text = if json { serde_json::to_string(&found)? + "\n" } else { listed(&found) };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn listed(found: &HotSpots) -> String {
    let mut text = format!("hot by {}: {} in {:.1} s ({})\n", what(found.by), seen(found), found.seconds, found.source);
    if !found.hot.is_empty() {
        text += "   share          kind         method\n";
    }
    found.hot.iter().for_each(|spot| text += &line(spot));
    let packages = found.packages.iter().filter(|package| package.share >= 0.01).take(5);
    let packages: Vec<String> = packages.map(|of| format!("{} {}", name(&of.package), percent(of.share))).collect();
    if !packages.is_empty() {
        text += &format!("packages: {}\n", packages.join(", "));
    }
    for without in found.without_method.iter().filter(|without| without.share >= 0.001) {
        text += &format!("# {} of the samples without a method: {}\n", percent(without.share), without.reason);
    }
    text += &jvm_threads(&found.jvm_threads);
    text + &remarks(&found.notices, &found.source, found.bias.as_ref().filter(|_| found.samples > 0))
}

/// Threads of the JVM that used less than this are not worth a word.
const LEAST_MILLIS: f64 = 50.0;

fn jvm_threads(threads: &[JvmThreads]) -> String {
    let used = threads.iter().filter(|of| of.cpu_ms >= LEAST_MILLIS);
    let used: Vec<String> = used.map(|of| format!("{} threads {:.1} s", of.threads, of.cpu_ms / 1e3)).collect();
    if used.is_empty() { String::new() } else { format!("# beside these: {} of processor time\n", used.join(", ")) }
}

/// What one should know about figures, and about what took the samples.
pub(super) fn remarks(notices: &[String], source: &str, bias: Option<&String>) -> String {
    let mut text: String = notices.iter().map(|notice| format!("# {notice}\n")).collect();
    if let Some(bias) = bias {
        text += &format!("# {source}: {bias}\n");
    }
    text
}

fn line(spot: &HotSpot) -> String {
    let margin = margin(spot.margin);
    let kind = spot.kind.map_or("", |kind| kind.name());
    let waiting = match spot.waiting {
        Some(waiting) if waiting >= 0.995 => "  waiting".to_owned(),
        Some(waiting) if waiting >= 0.005 => format!("  {} waiting", percent(waiting)),
        _ => String::new(),
    };
    let lines: Vec<String> = spot.lines.iter().map(|of| format!("{} {}", of.line, percent(of.share))).collect();
    let lines = if lines.is_empty() { String::new() } else { format!("  lines {}", lines.join(", ")) };
    format!("{:>8}  {margin:<6} {kind:<11}  {}{lines}{waiting}\n", percent(spot.share), spot.method)
}

/// `±1.2` points.
pub(super) fn margin(margin: Option<f64>) -> String {
    margin.map_or_else(String::new, |margin| format!("±{:.1}", margin * 100.0))
}

pub(super) fn what(by: HotBy) -> &'static str {
    match by {
        HotBy::Cpu => "processor time",
        HotBy::Wall => "time",
        HotBy::Allocated => "allocated bytes",
        HotBy::Locks => "waiting for monitors",
        HotBy::Calls => "calls",
        HotBy::Cycles => "cycles",
        HotBy::Instructions => "instructions",
    }
}

fn seen(found: &HotSpots) -> String {
    match found.by {
        HotBy::Calls => counted(found.samples, "call"),
        _ => counted(found.samples, "sample"),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn name(package: &str) -> &str {
    if package.is_empty() { "(no package)" } else { package }
}

#[cfg(test)]
mod tests {
    use control::{CodeKind, LineShare, PackageShare, WithoutMethod};

    use super::*;

    fn found() -> HotSpots {
        let spot = |method: &str, share, kind, margin, waiting| HotSpot {
            method: method.to_owned(),
            kind,
            share,
            margin,
            waiting,
            samples: 7,
            lines: Vec::new(),
        };
        HotSpots {
            by: HotBy::Cpu,
            seconds: 10.02,
            samples: 1_873,
            source: "async".to_owned(),
            bias: Some("at any instruction".to_owned()),
            hot: vec![
                HotSpot {
                    lines: vec![LineShare { line: 42, share: 0.613 }, LineShare { line: 7, share: 0.2 }],
                    ..spot("a.B.c(int)", 0.4123, Some(CodeKind::Jit), Some(0.0221), None)
                },
                spot("d()", 0.06, None, None, Some(0.25)),
            ],
            packages: vec![
                PackageShare { package: "a".to_owned(), share: 0.9 },
                PackageShare { package: String::new(), share: 0.06 },
                PackageShare { package: "tiny".to_owned(), share: 0.001 },
            ],
            without_method: vec![WithoutMethod { reason: "no Java frame".to_owned(), share: 0.04, calls_share: None }],
            jvm_threads: [("compiler", 1_840.0), ("collector", 62.0), ("VM", 4.0)]
                .map(|(threads, cpu_ms)| JvmThreads { threads: threads.to_owned(), cpu_ms })
                .into(),
            notices: Vec::new(),
        }
    }

    #[test]
    fn each_method_has_a_line_with_what_is_known() {
        let expected = "hot by processor time: 1,873 samples in 10.0 s (async)\n   \
            share          kind         method\n  \
            41.2 %  ±2.2   jit          a.B.c(int)  lines 42 61.3 %, 7 20.0 %\n   \
            6.0 %                      d()  25.0 % waiting\n\
            packages: a 90.0 %, (no package) 6.0 %\n\
            # 4.0 % of the samples without a method: no Java frame\n\
            # beside these: compiler threads 1.8 s, collector threads 0.1 s of processor time\n\
            # async: at any instruction\n";
        assert_eq!(listed(&found()), expected);
    }

    #[test]
    fn what_is_to_be_known_is_said() {
        let nothing = HotSpots { samples: 0, hot: Vec::new(), notices: vec!["no thread".to_owned()], ..found() };
        assert!(listed(&nothing).ends_with("# no thread\n"), "a source that saw nothing has no bias");
    }
}
