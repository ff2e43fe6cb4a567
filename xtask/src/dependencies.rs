//! Checks of what the build takes from elsewhere, by cargo-deny: licences, sources, and known vulnerabilities.

use anyhow::Result;

use crate::process::{answers, cargo, execute};

const CARGO_DENY_VERSION: &str = "0.20.2";

/// Checks licences and sources. They are in the packages themselves, so no network is needed.
pub(crate) fn licences() -> Result<()> {
    if let Err(error) = install() {
        println!("SKIPPED: licences: cargo-deny is not installed and could not be: {error:#}");
        return Ok(());
    }
    execute(cargo().args(["deny", "--workspace", "check", "licenses", "bans", "sources"]))
}

/// Checks the versions in Cargo.lock against the RustSec database, a git repository that not every network reaches.
pub(crate) fn advisories() -> Result<()> {
    if let Err(error) = install() {
        println!("SKIPPED: advisories: cargo-deny is not installed and could not be: {error:#}");
        return Ok(());
    }
    if !answers(cargo().args(["deny", "fetch", "db"])) {
        println!("SKIPPED: advisories: the RustSec database cannot be fetched here (`cargo deny fetch db` says why)");
        return Ok(());
    }
    execute(cargo().args(["deny", "--workspace", "check", "--disable-fetch", "advisories"]))
}

fn install() -> Result<()> {
    if answers(cargo().args(["deny", "--version"])) {
        return Ok(());
    }
    execute(cargo().args(["install", "cargo-deny", "--locked", "--version", CARGO_DENY_VERSION]))
}
