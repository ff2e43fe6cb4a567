//! The fuzz targets of `fuzz/`, without libFuzzer: on their seeds, on everything that was ever found, and on a few thousand
//! changes with fixed seeds. `cargo xtask fuzz` goes on from here for as long as one likes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;
mod real_classes;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fuzz::mutation::{self, Random};

type Target = fn(&[u8]);

const CLASSES: [&str; 3] = ["classfile/tests/classes", "instrument-core/tests/templates/classes", "fuzz/seeds/class"];
const TEMPLATES: [&str; 1] = ["instrument-core/tests/templates/classes"];
const CONFIGS: [&str; 2] = ["settings/src/fixtures", "templates/src/main/presets"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All files below a folder with one of these endings; with none given, all. A missing folder has none.
fn files(folder: &Path, ending: Option<&str>, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut paths: Vec<_> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, ending, found);
        } else if ending.is_none() || path.extension().is_some_and(|known| Some(known) == ending.map(AsRef::as_ref)) {
            let content = fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
}

fn seeds(folders: &[&str], ending: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    folders.iter().for_each(|folder| files(&root().join(folder), Some(ending), &mut found));
    assert!(found.len() >= 10, "{folders:?} have only {} seeds", found.len());
    found
}

fn replay(target: Target, seeds: &[(PathBuf, Vec<u8>)]) {
    for (path, content) in seeds {
        if catch_unwind(|| target(content)).is_err() {
            panic!("{} is a finding", path.display());
        }
    }
}

fn mutate(target: Target, seeds: &[(PathBuf, Vec<u8>)], rounds: u64) {
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let (path, content) = &seeds[random.below(seeds.len())];
        let mut content = content.clone();
        for _ in 0..1 + random.below(3) {
            mutation::any(&mut content, &mut random);
        }
        if catch_unwind(AssertUnwindSafe(|| target(&content))).is_err() {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("finding-{seed}"));
            fs::write(&kept, &content).unwrap();
            panic!("seed {seed}, a change of {}, is a finding; kept as {}", path.display(), kept.display());
        }
    }
}

/// Seeds, then what was found (`fuzz/found/NAME`), then changes of the seeds.
fn smoke(name: &str, target: Target, folders: &[&str], ending: &str, rounds: u64) {
    let seeds = seeds(folders, ending);
    replay(target, &seeds);
    let mut found = Vec::new();
    files(&root().join("fuzz/found").join(name), None, &mut found);
    replay(target, &found);
    mutate(target, &seeds, rounds);
}

#[test]
fn class_reader() {
    smoke("class_reader", fuzz::class_reader::check, &CLASSES, "class", 8_000);
}

#[test]
fn lift_merge_lower() {
    smoke("lift_merge_lower", fuzz::lift_merge_lower::check, &CLASSES, "class", 3_000);
}

#[test]
fn template_lint() {
    smoke("template_lint", fuzz::template_lint::check, &TEMPLATES, "class", 3_000);
}

#[test]
fn config() {
    smoke("config", fuzz::config::check, &CONFIGS, "toml", 1_500);
}

/// A target that cannot fail would show nothing.
#[test]
fn a_finding_is_reported() {
    let seeds = vec![(PathBuf::from("made up"), vec![1, 2, 3])];
    let target: Target = |data| assert!(data.first() == Some(&1), "changed");
    replay(target, &seeds);
    assert!(catch_unwind(|| mutate(target, &seeds, 200)).is_err());
}
