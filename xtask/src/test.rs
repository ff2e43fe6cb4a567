//! `cargo xtask test`: everything that has to pass, step after step. A failed step does not hide the later ones.
//!
//! What needs the release build runs beside what needs the debug build, up to the Java tests, which keep all processors busy by
//! themselves.

use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use class_source::JavaHome;

use crate::process::{cargo, execute, execute_seeing, maven};
use crate::tally::Tally;
use crate::{corpus, dependencies, jdks, page, prerequisites, project};

/// Runs every step, then says how each went.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`test` takes no argument, but got `{unknown}`");
    }
    let java = prerequisites::check()?;
    let mut report = Report::default();
    report.step("toolchain", |_| prerequisites::toolchain_components());
    jdks::fetch_missing();
    let released = Beside::start(checks_of_the_release);
    report.step("format", |_| execute(cargo().args(["fmt", "--all", "--check"])));
    report.step("lints", |_| {
        execute(cargo().args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
    });
    report.step("licences", |_| dependencies::licences());
    report.step("advisories", |_| dependencies::advisories());
    report.step("build of tests", |_| execute(cargo().args(["test", "--workspace", "--no-run", "--quiet"])));
    report.step("Rust tests", |tally| {
        execute_seeing(cargo().args(["test", "--workspace", "--no-fail-fast"]), |line| tally.see(line))
    });
    report.append(released.join());
    report.step("Java tests", |tally| java_tests(&java, tally));
    report.finish()
}

/// Linking what is released keeps one core busy at most, and so do the steps that run it.
fn checks_of_the_release() -> Report {
    let mut report = Report::default();
    report.step("release build", |_| release_build());
    report.step("corpus sample", |_| corpus::sample());
    report.step("page", |_| page::sample());
    report
}

/// `cargo xtask soak`: the tests that are long because of their volume; `test` has a small version of each.
pub(crate) fn soak(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`soak` takes no argument, but got `{unknown}`");
    }
    let java = prerequisites::check()?;
    jdks::fetch_missing();
    let mut report = Report::default();
    report.step("release build", |_| release_build());
    report.step("soak tests", |tally| {
        let mut maven = verify(&java);
        execute_seeing(maven.arg("--activate-profiles").arg("soak"), |line| tally.see(line))
    });
    report.finish()
}

fn release_build() -> Result<()> {
    execute(cargo().args(["build", "--release", "--quiet", "--package", "agent", "--package", "cli"]))
}

fn java_tests(java: &JavaHome, tally: &mut Tally) -> Result<()> {
    execute_seeing(&mut verify(java), |line| tally.see(line))
}

/// Maven's `verify` starts JVMs of every version found, with the agent that the release build made.
fn verify(java: &JavaHome) -> Command {
    let homes = jdks::one_of_each();
    let list: Vec<_> = homes.iter().map(|home| home.path().display().to_string()).collect();
    let versions: Vec<_> = homes.iter().map(JavaHome::version).collect();
    println!("JVMs under test: {}", versions.join(", "));
    let mut maven = maven(java.path());
    maven.arg("verify").arg(format!("-Dinstr.agent={}", project::agent().display()));
    maven.arg(format!("-Dinstr.jdks={}", list.join(",")));
    maven
}

/// Steps that run beside others.
struct Beside(JoinHandle<Report>);

impl Beside {
    fn start(steps: fn() -> Report) -> Beside {
        Beside(std::thread::spawn(steps))
    }

    /// Waits for the last of them.
    fn join(self) -> Report {
        self.0.join().unwrap_or_else(|_| {
            let mut report = Report::default();
            report.step("release", |_| bail!("the thread of these steps has panicked"));
            report
        })
    }
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

    /// Adds the steps of another report, which have run already.
    fn append(&mut self, other: Report) {
        self.steps.extend(other.steps);
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
