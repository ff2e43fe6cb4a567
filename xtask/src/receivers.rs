//! `cargo xtask receivers`: the agent's metrics and spans, as a real OpenTelemetry Collector and a real OpenMetrics parser
//! read them. Not part of `test`: the Collector is built from the Go module proxy, the parser is installed from PyPI.

use std::path::Path;

use anyhow::{Result, bail};

use crate::process::{answers, cargo, command, execute, maven};
use crate::{prerequisites, project};

/// Builds what is missing, runs a program with known figures under the agent, and compares.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("`receivers` takes no arguments, but got `{argument}`");
    }
    let java = prerequisites::check()?;
    let go = ["go", "/usr/local/go/bin/go"].into_iter().any(|go| answers(command(go).arg("version")));
    if !go {
        bail!("there is no `go`: the Collector is built with it (1.25 or newer; PATH and /usr/local/go are looked at)");
    }
    execute(cargo().args(["build", "--release", "--package", "agent"]))?;
    let targets = "integration-tests/test-targets";
    execute(maven(java.path()).args(["--quiet", "--projects", targets, "--also-make", "package", "-DskipTests"]))?;
    let place = project::root().join("integration-tests/collector/check.py");
    let mut check = command("python3");
    check.arg(place).arg("--java").arg(java.path()).arg("--agent").arg(project::agent());
    check.arg("--classes").arg(project::root().join(Path::new(targets)).join("target/classes"));
    check.arg("--work").arg(project::target().join("collector"));
    execute(&mut check)
}
