//! `cargo xtask fuzz [--seconds N] [TARGET]`: libFuzzer on the targets of fuzz/, one after another.
//!
//! What it learns stays in the target directory and is where the next run begins; a finding goes to fuzz/found/TARGET, which is
//! part of the repository and is replayed by `cargo test -p cli --test fuzzing`.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{answers, command, execute};
use crate::project;

const CARGO_FUZZ_VERSION: &str = "0.13.2";

struct Target {
    name: &'static str,
    /// Folders of the checkout to begin with.
    seeds: &'static [&'static str],
    options: &'static [&'static str],
}

const CLASSES: &[&str] = &["instrument-core/tests/templates/classes", "classfile/tests/classes", "fuzz/seeds/class"];

const TARGETS: [Target; 4] = [
    Target { name: "class_reader", seeds: CLASSES, options: &["-max_len=12000"] },
    Target { name: "lift_merge_lower", seeds: CLASSES, options: &["-max_len=12000"] },
    Target { name: "template_lint", seeds: &["instrument-core/tests/templates/classes"], options: &["-max_len=9000"] },
    Target {
        name: "config",
        seeds: &["settings/src/fixtures", "templates/src/main/presets"],
        options: &["-max_len=2000", "-dict=fuzz/config.dict"],
    },
];

/// Runs the targets asked for.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (seconds, names) = parse(arguments)?;
    if let Some(unknown) = names.iter().find(|name| TARGETS.iter().all(|target| target.name != **name)) {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no target `{unknown}`; there are {}", known.join(", "));
    }
    install()?;
    for target in TARGETS.iter().filter(|target| names.is_empty() || names.contains(&target.name)) {
        fuzz(target, seconds)?;
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(u64, Vec<&str>)> {
    let mut arguments = arguments.iter().map(String::as_str);
    let (mut seconds, mut names) = (60, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument {
            "--seconds" => {
                let number = arguments.next().context("--seconds needs a number")?;
                seconds = number.parse().with_context(|| format!("--seconds: `{number}` is not a number"))?;
            }
            option if option.starts_with('-') => bail!("`fuzz` does not know `{option}`"),
            name => names.push(name),
        }
    }
    Ok((seconds, names))
}

fn install() -> Result<()> {
    if answers(command("cargo").args(["fuzz", "--version"])) {
        return Ok(());
    }
    execute(command("cargo").args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ_VERSION]))
        .context("cargo-fuzz is not installed and could not be")
}

fn fuzz(target: &Target, seconds: u64) -> Result<()> {
    let found = project::root().join("fuzz/found").join(target.name);
    let learnt = project::target().join("fuzz-corpus").join(target.name);
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&learnt)?;
    let mut fuzz = cargo_fuzz();
    // There is no unsafe code to watch.
    fuzz.args(["run", "--sanitizer", "none", target.name]).arg(&learnt);
    let seeds = target.seeds.iter().map(|seeds| project::root().join(seeds)).filter(|seeds| seeds.is_dir());
    fuzz.args(seeds).arg("--").args(["-rss_limit_mb=2048", "-timeout=10", "-print_final_stats=1"]);
    fuzz.arg(format!("-max_total_time={seconds}")).args(target.options);
    fuzz.arg(format!("-artifact_prefix={}/", found.display()));
    execute(&mut fuzz).with_context(|| format!("{}: see {}", target.name, found.display()))
}

/// Fuzzing needs a nightly compiler, or RUSTC_BOOTSTRAP=1.
fn cargo_fuzz() -> Command {
    let mut cargo = command("cargo");
    if answers(command("cargo").args(["+nightly", "--version"])) {
        cargo.arg("+nightly");
    } else {
        cargo.env("RUSTC_BOOTSTRAP", "1");
    }
    cargo.arg("fuzz");
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_names_in_any_order() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(parse(&words("config --seconds 5 template_lint")).unwrap(), (5, vec!["config", "template_lint"]));
        assert_eq!(parse(&[]).unwrap(), (60, vec![]));
        assert!(parse(&words("--seconds x")).is_err());
        assert!(parse(&words("--minutes 5")).is_err());
    }

    #[test]
    fn the_targets_are_those_of_the_crate() {
        let manifest = fs::read_to_string(project::root().join("fuzz/Cargo.toml")).unwrap();
        let binaries: Vec<_> = manifest.split("[[bin]]").skip(1).collect();
        assert_eq!(binaries.len(), TARGETS.len());
        for target in &TARGETS {
            assert!(binaries.iter().any(|binary| binary.contains(&format!("name = \"{}\"", target.name))));
            assert!(project::root().join(target.seeds[0]).is_dir());
        }
    }
}
