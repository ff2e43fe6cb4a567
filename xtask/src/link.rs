//! `cargo xtask corpus --link`: does the JVM accept every instrumented class of the corpus?
//!
//! Every JDK links every class of the original jars and of the instrumented copies with `-Xverify:all`. A class that is
//! refused only when it is instrumented is a failure.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use class_source::JavaHome;

use crate::process::{cargo, command, execute, output};
use crate::{jdks, prerequisites, project};

const CONFIG: &str = "[filter]\nleaf = false\nmax-bytes = 0\n\n\
                      [[rule]]\nclass = \"**\"\ntemplate = \"timed\"\nlevel = \"time\"\n\
                      class-initialisers = true\nbridges = true\n";

/// Instruments the jars, then links originals and copies on every JDK.
pub(crate) fn run(jars: &[PathBuf]) -> Result<()> {
    let java = prerequisites::check()?;
    let directory = project::target().join("corpus-link");
    fs::create_dir_all(&directory)?;
    execute(cargo().args(["build", "--release", "--package", "cli"]))?;
    execute(
        command(java.path().join("bin/javac"))
            .args(["--release", "11", "-d"])
            .arg(&directory)
            .arg(project::root().join("bench/corpus/LinkEveryClass.java")),
    )?;
    let copies = instrument(jars, &directory, &java)?;
    let mut bad = 0;
    for home in jdks::one_of_each() {
        bad += compare(&home, jars, &copies, &directory)?;
    }
    if bad > 0 {
        bail!("{bad} classes are refused only when they are instrumented");
    }
    Ok(())
}

fn instrument(jars: &[PathBuf], directory: &Path, java: &JavaHome) -> Result<Vec<PathBuf>> {
    let config = directory.join("everything.toml");
    fs::write(&config, CONFIG)?;
    let copies = directory.join("instrumented");
    let mut pre = command(project::cli());
    pre.arg("pre").arg("--config").arg(&config).arg("--output").arg(&copies);
    pre.arg("--java-home").arg(java.path()).args(jars);
    execute(&mut pre)?;
    Ok(jars.iter().filter_map(|jar| jar.file_name()).map(|name| copies.join(name)).collect())
}

/// How many classes this JDK refuses in the copies but not in the originals.
fn compare(home: &JavaHome, jars: &[PathBuf], copies: &[PathBuf], directory: &Path) -> Result<usize> {
    let originals = refused(home, jars, directory)?;
    let instrumented = refused(home, copies, directory)?;
    let known = |line: &str| originals.lines.iter().any(|original| class_and_error(original) == class_and_error(line));
    let new: Vec<_> = instrumented.lines.iter().filter(|line| !known(line)).collect();
    println!(
        "JDK {}: {} classes linked as they are, {} instrumented, {} of them refused",
        home.version(),
        originals.linked,
        instrumented.linked,
        new.len()
    );
    new.iter().take(20).for_each(|line| println!("  {line}"));
    Ok(new.len())
}

/// `FAILED jar class error`; the message behind that may hold numbers that change from run to run.
fn class_and_error(line: &str) -> Vec<&str> {
    line.splitn(5, ' ').take(4).collect()
}

struct Linked {
    linked: u64,
    lines: BTreeSet<String>,
}

fn refused(home: &JavaHome, jars: &[PathBuf], directory: &Path) -> Result<Linked> {
    let mut java = command(home.path().join("bin/java"));
    // Old options are announced as such on later JDKs; that is not what is asked here.
    java.args(["-Xverify:all", "-XX:-PrintWarnings", "-Xmx2g", "-cp"]).arg(directory).arg("LinkEveryClass").args(jars);
    let text = output(&mut java)?;
    let figure = |line: &str| line.split(' ').nth(2)?.parse::<u64>().ok();
    Ok(Linked {
        linked: text.lines().filter(|line| line.starts_with("LINKED ")).filter_map(figure).sum(),
        lines: text.lines().filter(|line| line.starts_with("FAILED ")).map(str::to_owned).collect(),
    })
}
