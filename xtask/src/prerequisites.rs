//! What has to be on the machine, said at the start and with the names of the Debian packages.

use anyhow::{Context, Result, bail};
use class_source::JavaHome;

use crate::jdks;
use crate::process::{answers, cargo, command, execute};

/// The JDK that builds: at least 17 and with a compiler.
pub(crate) fn check() -> Result<JavaHome> {
    let mut missing = Vec::new();
    let java = jdks::for_building();
    if java.is_none() {
        missing.push("openjdk-17-jdk");
    }
    if !answers(command("mvn").arg("--version")) {
        missing.push("maven");
    }
    if !answers(command("cc").arg("--version")) {
        missing.push("gcc");
    }
    if !missing.is_empty() {
        bail!("programs are missing; on Debian: apt-get install {}", missing.join(" "));
    }
    java.context("no JDK")
}

/// rustfmt and clippy are components of the toolchain that a minimal installation lacks.
pub(crate) fn toolchain_components() -> Result<()> {
    let there = |tool: &str| answers(cargo().args([tool, "--version"]));
    if there("fmt") && there("clippy") {
        return Ok(());
    }
    execute(command("rustup").args(["component", "add", "rustfmt", "clippy"]))
        .context("the toolchain has no rustfmt or no clippy")
}
