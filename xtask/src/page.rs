//! `cargo xtask page [TRACE [OTHER]]`: the HTML report of a large recording, and the page of its differences from another one,
//! in a headless Chromium that clicks through them.
//!
//! Node.js and npm must be there; npm installs the browser into the target directory. `CHROMIUM=/usr/bin/chromium` takes
//! another one. Not a part of `cargo xtask test`, because of the download.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::process::{answers, cargo, command, execute};
use crate::project;

/// Seconds that the page may take to open.
const MOST_SECONDS: &str = "3";
const MEGABYTES: &str = "1000";
/// What the large one is compared with does not have all of its paths.
const OTHER_MEGABYTES: &str = "100";

/// Makes the recording if none is named, reports on it, and clicks through the page.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments.len() > 2 {
        bail!("`page` takes two recordings at most");
    }
    if !answers(command("npm").arg("--version")) {
        bail!("npm is missing; on Debian: apt-get install npm");
    }
    let folder = project::target().join("page");
    fs::create_dir_all(&folder)?;
    for file in ["package.json", "package-lock.json", "browser.mjs", "click.mjs", "click_diff.mjs", "relations.mjs"] {
        let from = project::root().join("integration-tests/page").join(file);
        fs::copy(&from, folder.join(file)).with_context(|| format!("copying {}", from.display()))?;
    }
    let model = project::root().join("trace/src/report/html/model.js");
    execute(command("node").arg(folder.join("relations.mjs")).arg(model))?;
    execute(command("npm").args(["ci", "--no-audit", "--no-fund", "--prefix"]).arg(&folder))?;
    execute(cargo().args(["build", "--release", "--package", "cli"]))?;
    let recording = match arguments.first() {
        Some(recording) => std::path::absolute(recording)?,
        None => generated(&folder, "large.jfr", MEGABYTES)?,
    };
    let page = folder.join("report.html");
    execute(command(project::cli()).args(["report", "--rows", "3", "--html"]).arg(&page).arg(&recording))?;
    execute(command("node").arg(folder.join("click.mjs")).arg(&page).arg(MOST_SECONDS))?;
    let other = match arguments.get(1) {
        Some(other) => std::path::absolute(other)?,
        None => generated(&folder, "other.jfr", OTHER_MEGABYTES)?,
    };
    let page = folder.join("diff.html");
    execute(command(project::cli()).args(["diff", "--rows", "3", "--html"]).arg(&page).args([other, recording]))?;
    execute(command("node").arg(folder.join("click_diff.mjs")).arg(&page).arg(MOST_SECONDS))
}

fn generated(folder: &std::path::Path, name: &str, megabytes: &str) -> Result<PathBuf> {
    let recording = folder.join(name);
    if !recording.exists() {
        let write = ["run", "--release", "--package", "trace", "--example", "large_recording", "--"];
        execute(cargo().args(write).arg(&recording).arg(megabytes))?;
    }
    Ok(recording)
}
