//! `cargo xtask bench startup|percall`: builds what is measured, then leaves the measuring to the scripts in bench/.

use anyhow::{Result, bail};

use crate::process::{cargo, command, execute, maven};
use crate::{prerequisites, project};

/// Everything behind the name of the benchmark is passed on to its script.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some((what, rest)) = arguments.split_first() else { bail!("bench what? startup or percall") };
    if !matches!(what.as_str(), "startup" | "percall") {
        bail!("there is no benchmark `{what}`; there are startup and percall");
    }
    let java = prerequisites::check()?;
    execute(cargo().args(["build", "--release", "--package", "agent", "--package", "cli"]))?;
    let module = if what == "startup" { "integration-tests/sample-webapp/pom.xml" } else { "bench/percall/pom.xml" };
    let mut package = maven(java.path());
    if what == "startup" {
        package.args([
            "--quiet",
            "--projects",
            "integration-tests/sample-webapp",
            "--also-make",
            "package",
            "-DskipTests",
        ]);
    } else {
        package.args(["--quiet", "--file", module, "package"]);
    }
    execute(&mut package)?;
    let script = project::root().join("bench").join(format!("{what}.py"));
    let mut measure = command("python3");
    measure.arg(script).arg("--agent").arg(project::agent()).arg("--java").arg(java.path()).args(rest);
    execute(&mut measure)
}
