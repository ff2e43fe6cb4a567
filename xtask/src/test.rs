//! `cargo xtask test`: everything that has to pass, step after step. A failed step does not hide the later ones.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use class_source::JavaHome;

use crate::process::{cargo, execute, execute_seeing, maven};
use crate::tally::Tally;
use crate::{corpus, dependencies, jdks, prerequisites, project};

/// Runs every step, then says how each went.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`test` takes no argument, but got `{unknown}`");
    }
    let java = prerequisites::check()?;
    let mut report = Report::default();
    report.step("toolchain", |_| prerequisites::toolchain_components());
    report.step("format", |_| execute(cargo().args(["fmt", "--all", "--check"])));
    report.step("lints", |_| {
        execute(cargo().args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
    });
    report.step("licences", |_| dependencies::licences());
    report.step("advisories", |_| dependencies::advisories());
    jdks::fetch_missing();
    report.step("release build", |_| {
        execute(cargo().args(["build", "--release", "--package", "agent", "--package", "cli"]))
    });
    report.step("Rust tests", |tally| {
        execute_seeing(cargo().args(["test", "--workspace", "--no-fail-fast"]), |line| tally.see(line))
    });
    report.step("corpus sample", |_| corpus::sample());
    report.step("Java tests", |tally| java_tests(&java, tally));
    report.finish()
}

/// Maven's `verify` starts JVMs of every version found, with the agent that the release build made.
fn java_tests(java: &JavaHome, tally: &mut Tally) -> Result<()> {
    let homes = jdks::one_of_each();
    let list: Vec<_> = homes.iter().map(|home| home.path().display().to_string()).collect();
    let versions: Vec<_> = homes.iter().map(JavaHome::version).collect();
    println!("JVMs under test: {}", versions.join(", "));
    let mut maven = maven(java.path());
    maven.arg("verify").arg(format!("-Dinstr.agent={}", project::agent().display()));
    maven.arg(format!("-Dinstr.jdks={}", list.join(",")));
    execute_seeing(&mut maven, |line| tally.see(line))
}

#[derive(Default)]
struct Report {
    steps: Vec<Step>,
}

struct Step {
    name: &'static str,
    outcome: Result<()>,
    tally: Tally,
    took: Duration,
}

impl Report {
    fn step(&mut self, name: &'static str, work: impl FnOnce(&mut Tally) -> Result<()>) {
        println!("\n=== {name}");
        let start = Instant::now();
        let mut tally = Tally::default();
        let outcome = work(&mut tally);
        if let Err(error) = &outcome {
            println!("FAILED: {name}: {error:#}");
        }
        self.steps.push(Step { name, outcome, tally, took: start.elapsed() });
    }

    fn finish(self) -> Result<()> {
        let mut sum = Tally::default();
        println!("\n=== result");
        for step in &self.steps {
            let word = if step.outcome.is_ok() { "ok" } else { "FAILED" };
            println!("{:<14} {word:<7} {:>5} s{}", step.name, step.took.as_secs(), counts(step.tally));
            sum += step.tally;
            // A step without tests of its own counts as one.
            match &step.outcome {
                Ok(()) if step.tally == Tally::default() => sum.passed += 1,
                Err(_) if step.tally.failed == 0 => sum.failed += 1,
                _ => {}
            }
        }
        println!("{} passed, {} failed", sum.passed, sum.failed);
        if sum.failed > 0 {
            bail!("not everything passed");
        }
        Ok(())
    }
}

fn counts(tally: Tally) -> String {
    if tally == Tally::default() {
        return String::new();
    }
    format!("   {} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped)
}
