//! Cost of saying no: `unwanted --jdk HOME [JAR | DIRECTORY]...`
//!
//! Asks rules that want none of them about all classes of `java.base` and of the jars, with the functions that the agent's class
//! hook calls: by name alone, and by name, outline and super types. Everything is in memory and warm, super types are known. What the
//! whole hook takes in a JVM is measured by `bench/unwanted.py`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its user")]

#[path = "../corpus/embedded.rs"]
mod embedded;

#[path = "../throughput/classes_in_memory.rs"]
mod classes_in_memory;

use std::collections::HashMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use classes_in_memory::{add_jars, add_java_base};
use classfile::ClassFile;
use instrument_core::selection::{ClassContext, Hierarchy, NoFactsYet, RuleSet, Supertypes, UnknownOrigin};

/// A name takes less time than reading the clock.
const CALLS_OF_A_NAME: u32 = 64;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut classes = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jdk" => add_java_base(&arguments.next().context("--jdk needs a directory")?, &mut classes)?,
            option if option.starts_with('-') => bail!("`{option}` is not known"),
            path => add_jars(path, &mut classes)?,
        }
    }
    measure(&classes)
}

/// Knows all classes that are measured.
struct Known(HashMap<Vec<u8>, Arc<Supertypes>>);

impl Hierarchy for Known {
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.0.get(internal_name).cloned()
    }
}

fn measure(classes: &[Vec<u8>]) -> Result<()> {
    let mut known = HashMap::new();
    for bytes in classes {
        let class = ClassFile::parse(bytes)?;
        known.insert(class.this_class().as_bytes().to_vec(), Arc::new(Supertypes::of(&class)));
    }
    let (names, known): (Vec<_>, _) = (known.keys().cloned().collect(), Known(known));
    println!("| {} classes | median ns | mean ns | p99 ns |\n|---|---|---|---|", names.len());
    for (what, patterns) in [("1 pattern", 1), ("60 patterns", 60)] {
        let class =
            |number| format!("[[rule]]\nclass = \"com.acme{number}.app.**\"\nlevel = \"time\"\ntemplate = \"timed\"\n");
        let rules = rules(&(0..patterns).map(class).collect::<String>())?;
        report(&format!("name, {what}"), names.iter().map(|name| nanoseconds_of_name(&rules, name)).collect());
    }
    let report_decisions = |what: &str, text: &str| -> Result<()> {
        let rules = rules(text)?;
        report(
            what,
            classes.iter().map(|bytes| nanoseconds_of_decision(&rules, bytes, &known)).collect::<Result<_>>()?,
        );
        Ok(())
    };
    let rest = "level = \"time\"\ntemplate = \"timed\"\n";
    report("outline and super types read", classes.iter().map(|bytes| nanoseconds_of_reading(bytes)).collect());
    report_decisions(
        "decided by `extends`",
        &format!("[[rule]]\nextends = [\"com.acme.Plugin\", \"com.acme.Bean\"]\n{rest}"),
    )?;
    report_decisions("decided by `annotated`", &format!("[[rule]]\nannotated = \"com.acme.Monitored\"\n{rest}"))
}

fn rules(text: &str) -> Result<RuleSet> {
    let (config, _) = settings::parse(text, "unwanted.toml").map_err(|problems| anyhow!("{problems:?}"))?;
    RuleSet::compile(config.rule_tables(), &embedded::library()?, &[]).map_err(|problems| anyhow!("{problems:?}"))
}

fn nanoseconds_of_name(rules: &RuleSet, name: &[u8]) -> u64 {
    let start = Instant::now();
    for _ in 0..CALLS_OF_A_NAME {
        black_box(rules.wants_name(black_box(name)));
    }
    start.elapsed().as_nanos() as u64 / u64::from(CALLS_OF_A_NAME)
}

fn nanoseconds_of_reading(bytes: &[u8]) -> u64 {
    let start = Instant::now();
    let supertypes = ClassFile::parse(bytes).map(|class| Supertypes::of(&class));
    let elapsed = start.elapsed();
    black_box(&supertypes);
    elapsed.as_nanos() as u64
}

fn nanoseconds_of_decision(rules: &RuleSet, bytes: &[u8], known: &Known) -> Result<u64> {
    let context = ClassContext {
        hierarchy: known,
        origin: &UnknownOrigin,
        facts: &NoFactsYet,
        never: &|_, _, _| false,
        delegates: &[],
        reach: None,
    };
    let start = Instant::now();
    let class = ClassFile::parse(bytes)?;
    let decision = rules.decide(&class, &context);
    let elapsed = start.elapsed();
    if decision.chosen().next().is_some() {
        bail!("{} is wanted", class.this_class());
    }
    Ok(elapsed.as_nanos() as u64)
}

fn report(what: &str, mut nanoseconds: Vec<u64>) {
    nanoseconds.sort_unstable();
    let at = |share: f64| {
        let last = nanoseconds.len().saturating_sub(1) as f64;
        nanoseconds.get((share * last).round() as usize).copied().unwrap_or_default()
    };
    let mean = nanoseconds.iter().sum::<u64>() / nanoseconds.len().max(1) as u64;
    println!("| {what} | {} | {mean} | {} |", at(0.5), at(0.99));
}
