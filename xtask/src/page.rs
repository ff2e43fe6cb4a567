//! `cargo xtask page [TRACE [OTHER]]`: the HTML report of a large recording, and the page of its differences from another one,
//! in a headless Chromium that clicks through them.
//!
//! Node.js and npm must be there; npm installs the browser into the target directory. `CHROMIUM=/usr/bin/chromium`
//! takes another one. `cargo xtask test` does the same with two small recordings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process::{answers, cargo, command, execute};
use crate::project;

/// Seconds that the page of a large recording may take to open.
const MOST_SECONDS: &str = "3";
const MEGABYTES: &str = "1000";
/// What the large one is compared with does not have all of its paths.
const OTHER_MEGABYTES: &str = "100";

/// How the recordings are made, and what the pages may take to open.
struct Check {
    /// Arguments of cargo that choose the build of the generator.
    build: &'static [&'static str],
    cli: PathBuf,
    most_seconds: &'static str,
}

/// Makes the recordings that are not named, reports on them, and clicks through the pages.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments.len() > 2 {
        bail!("`page` takes two recordings at most");
    }
    let folder = folder()?;
    install(&folder)?;
    execute(cargo().args(["build", "--release", "--package", "cli"]))?;
    let check = Check { build: &["--release"], cli: project::cli(), most_seconds: MOST_SECONDS };
    let recording = match arguments.first() {
        Some(recording) => std::path::absolute(recording)?,
        None => check.generated(&folder, "large.jfr", MEGABYTES)?,
    };
    let other = match arguments.get(1) {
        Some(other) => std::path::absolute(other)?,
        None => check.generated(&folder, "other.jfr", OTHER_MEGABYTES)?,
    };
    check.click(&folder, &recording, &other)
}

/// The same with small recordings, as a part of `cargo xtask test`; without Node.js or the browser it prints why it is skipped.
pub(crate) fn sample() -> Result<()> {
    let folder = folder()?;
    if let Err(error) = install(&folder) {
        println!("SKIPPED: page: no browser to click through a report with: {error:#}");
        return Ok(());
    }
    // On a busy machine a browser takes its time; how fast a page opens is the large one's question.
    let check = Check { build: &[], cli: project::cli(), most_seconds: "60" };
    let recording = check.generated(&folder, "small.jfr", "4")?;
    let other = check.generated(&folder, "smaller.jfr", "2")?;
    check.click(&folder, &recording, &other)
}

fn folder() -> Result<PathBuf> {
    let folder = project::target().join("page");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Puts the scripts and the browser into the folder.
fn install(folder: &Path) -> Result<()> {
    for program in ["node", "npm"] {
        if !answers(command(program).arg("--version")) {
            bail!("{program} is missing; on Debian: apt-get install nodejs npm");
        }
    }
    for file in ["package.json", "package-lock.json", "browser.mjs", "click.mjs", "click_diff.mjs", "relations.mjs"] {
        let from = project::root().join("integration-tests/page").join(file);
        fs::copy(&from, folder.join(file)).with_context(|| format!("copying {}", from.display()))?;
    }
    execute(command("npm").args(["ci", "--no-audit", "--no-fund", "--prefix"]).arg(folder))
}

impl Check {
    fn click(&self, folder: &Path, recording: &Path, other: &Path) -> Result<()> {
        let model = project::root().join("trace/src/report/html/model.js");
        execute(command("node").arg(folder.join("relations.mjs")).arg(model))?;
        let page = folder.join("report.html");
        execute(command(&self.cli).args(["report", "--rows", "3", "--html"]).arg(&page).arg(recording))?;
        execute(command("node").arg(folder.join("click.mjs")).arg(&page).arg(self.most_seconds))?;
        let page = folder.join("diff.html");
        execute(command(&self.cli).args(["diff", "--rows", "3", "--html"]).arg(&page).args([other, recording]))?;
        execute(command("node").arg(folder.join("click_diff.mjs")).arg(&page).arg(self.most_seconds))
    }

    fn generated(&self, folder: &Path, name: &str, megabytes: &str) -> Result<PathBuf> {
        let recording = folder.join(name);
        if !recording.exists() {
            let mut write = cargo();
            write.arg("run").args(self.build).args(["--package", "trace", "--example", "large_recording", "--"]);
            execute(write.arg(&recording).arg(megabytes))?;
        }
        Ok(recording)
    }
}
