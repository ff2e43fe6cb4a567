//! `cargo xtask bench startup|events|percall|scaling|records|programs|transform|instructions|unwanted|memory|watch|whole|contexts|sites|diagnose|walk|walk_cost|walk_loop|callers|hot`: builds what is measured, then leaves the measuring to the scripts in bench/.

use anyhow::{Context, Result, bail};
use class_source::JavaHome;

use crate::process::{cargo, command, execute, maven};
use crate::{prerequisites, project};

const BENCHMARKS: &str = "startup, events, percall, scaling, records, programs, transform, instructions, insertion, unwanted, memory, watch, whole, contexts, sites, diagnose, walk, walk_cost, walk_loop, callers and hot";

/// Everything after the name of the benchmark is passed on to its script.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (what, rest) = arguments.split_first().with_context(|| format!("bench what? {BENCHMARKS}"))?;
    let java = prerequisites::check()?;
    let script = project::root().join("bench").join(format!("{what}.py"));
    let mut measure = command("python3");
    measure.arg(script).arg("--java").arg(java.path());
    match what.as_str() {
        "startup" | "events" | "percall" | "memory" => {
            execute(cargo().args(["build", "--release", "--package", "agent", "--package", "cli"]))?;
            execute(&mut measured_program(what, &java))?;
            measure.arg("--agent").arg(project::agent());
        }
        "scaling" | "records" | "programs" | "whole" | "contexts" | "sites" | "diagnose" | "walk_cost"
        | "walk_loop" | "callers" | "hot" => {
            execute(cargo().args(["build", "--release", "--package", "agent", "--package", "cli"]))?;
            measure.arg("--agent").arg(project::agent());
        }
        "transform" | "instructions" => {
            execute(cargo().args(["build", "--release", "--package", "cli", "--example", "throughput"]))?;
            measure.arg("--program").arg(project::target().join("release/examples/throughput"));
        }
        "insertion" => {
            execute(cargo().args(["build", "--release", "--package", "cli", "--example", "insert_and_repair"]))?;
            measure.arg("--program").arg(project::target().join("release/examples/insert_and_repair"));
        }
        "unwanted" => {
            execute(cargo().args(["build", "--release", "--package", "agent"]))?;
            execute(cargo().args(["build", "--release", "--package", "cli", "--example", "unwanted"]))?;
            measure.arg("--agent").arg(project::agent());
            measure.arg("--program").arg(project::target().join("release/examples/unwanted"));
        }
        "watch" => {
            execute(cargo().args(["build", "--release", "--package", "agent"]))?;
            execute(cargo().args(["build", "--release", "--package", "trace", "--example", "watch_against_exact"]))?;
            execute(&mut measured_program(what, &java))?;
            measure.arg("--agent").arg(project::agent());
            measure.arg("--reader").arg(project::target().join("release/examples/watch_against_exact"));
        }
        // The script compiles an agent of its own.
        "walk" => {}
        other => bail!("there is no benchmark `{other}`; there are {BENCHMARKS}"),
    }
    execute(measure.args(rest))
}

/// Maven's build of what the benchmark runs.
fn measured_program(what: &str, java: &JavaHome) -> std::process::Command {
    let mut package = maven(java.path());
    if !matches!(what, "percall" | "watch") {
        package.args([
            "--quiet",
            "--projects",
            "integration-tests/sample-webapp",
            "--also-make",
            "package",
            "-DskipTests",
        ]);
    } else {
        package.args(["--quiet", "--file", &format!("bench/{what}/pom.xml"), "package"]);
    }
    package
}
