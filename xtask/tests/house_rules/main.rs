//! Rules of the house that no compiler checks: who may use whom (`imports.rs`: files of the agent), how long a file and how large a folder
//! may be, where `unsafe` may be used.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod imports;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LONGEST_FILE: usize = 600;
const LARGEST_FOLDER: usize = 16;
/// Folders that were larger when the rule was made, with their number of files: it may only fall. One package of Java cannot be
/// divided: that of the runtime grows by what its classes may only share within it.
const LARGE_FOLDERS: [(&str, usize); 12] = [
    ("classfile/src", 21),
    ("cli/src", 18),
    ("cli/src/commands", 28),
    ("instrument-core/src/rules/selection", 26),
    ("instrument-core/tests/merge", 33),
    ("instrument-core/tests/templates/src/faulty", 25),
    ("integration-tests/test-targets/src/main/java/targets", 43),
    ("java-runtime/src/main/java/java/instr", 37),
    ("trace/src/analysis", 34),
    ("trace/src/recording", 21),
    ("trace/tests", 20),
    ("xtask/src", 17),
];
const FORBIDDEN_NAMES: [&str; 7] = ["util", "utils", "common", "helper", "helpers", "misc", "shared"];
/// The only places with `unsafe`: the agent's layer over JVMTI and JNI.
const UNSAFE_ALLOWED: [&str; 2] = ["agent/src/jvm/", "agent/src/ffi/"];
/// Crates that turn bytes into bytes and do nothing else.
const PURE: [&str; 3] = ["classfile/src/", "instrument-core/src/", "settings/src/"];
/// Folders of a crate in an order: each uses only those before it, so that none use each other.
const LAYERS: [(&str, &[&str]); 3] = [
    ("instrument-core/src", &["weave", "facts", "rules"]),
    ("instrument-core/src/weave", &["template", "body", "merge", "wrapper", "engine"]),
    ("instrument-core/src/rules", &["patterns", "predicates", "capture", "config", "selection"]),
];
/// What the tests of a crate may use beyond that: every class of every JDK goes through the reader here.
const TEST_EDGES: [(&str, &str); 1] = [("xtask", "classfile")];

#[test]
fn crates_use_only_what_the_design_allows() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = [
        (
            "agent",
            &[
                "class-source",
                "classfile",
                "control",
                "instrument-core",
                "metrics",
                "performance-data",
                "records",
                "settings",
                "trace",
            ][..],
        ),
        (
            "cli",
            &[
                "class-source",
                "classfile",
                "control",
                "http-service",
                "instrument-core",
                "performance-data",
                "settings",
                "trace",
            ],
        ),
        ("control", &["instrument-core", "trace"]),
        ("metrics", &["control", "http-service", "instrument-core", "records", "settings", "trace"]),
        ("records", &["classfile", "control", "instrument-core", "trace"]),
        ("settings", &["instrument-core"]),
        ("instrument-core", &["classfile"]),
        ("xtask", &["class-source", "classfile"]), // classfile: only its tests, which read whole JDKs
        ("class-source", &[]),
        ("performance-data", &[]),
        ("classfile", &[]),
        ("http-service", &[]),
        ("trace", &[]),
    ]
    .into_iter()
    .map(|(name, used)| (name, used.iter().copied().collect()))
    .collect();

    let metadata = cargo_metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let own: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    assert_eq!(own, allowed.keys().copied().collect(), "a new crate needs a line in the list of edges");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let for_tests = dependency["kind"] == "dev" && TEST_EDGES.contains(&(name, used));
            assert!(!own.contains(used) || for_tests || allowed[name].contains(used), "`{name}` may not use `{used}`");
        }
    }
}

#[test]
fn folders_use_only_what_the_design_allows() {
    let found = violations(&["rs"], |path, text| {
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
        let production = text.split(concat!("#[cfg(", "test)]")).next().unwrap_or(text);
        let lines: Vec<_> = if is_test { Vec::new() } else { code_lines(production).collect() };
        let forbidden = |&(folder, layers): &(&str, &[&'static str])| {
            let inside = path.strip_prefix(folder)?.strip_prefix('/')?;
            let own = inside.split(['/', '.']).next()?;
            let at = layers.iter().position(|layer| *layer == own)?;
            let module = folder.split_once("/src").map_or("", |(_, module)| module).replace('/', "::");
            let later = layers.get(at + 1..)?.iter().map(|layer| format!("crate{module}::{layer}"));
            // Names that the library shows outside for modules of `rules`.
            let shown = ["config", "selection", "capture"].map(|name| format!("crate::{name}"));
            let names: Vec<String> = later.chain(shown).chain(["super::super::".to_owned()]).collect();
            lines.iter().copied().find(|(_, line)| names.iter().any(|name| line.contains(name.as_str()))).map(place_of)
        };
        LAYERS.iter().find_map(forbidden)
    });
    assert!(found.is_empty(), "a folder that uses one listed after it in LAYERS:\n{}", found.join("\n"));
}

#[test]
fn loaded_classes_are_retransformed_in_one_place() {
    let function = concat!("jvm::", "retransform(");
    let callers = violations(&["rs"], |path, text| {
        let inside = path.starts_with("agent/src/") && code_lines(text).any(|(_, line)| line.contains(function));
        inside.then(String::new)
    });
    assert_eq!(callers, ["  agent/src/reconcile/retransforming.rs: "], "all else asks the reconciler");
    let of_jvmti = violations(&["rs"], |path, text| {
        let calls = |line: &str| line.contains(concat!("jvmti_call!(jvmti, Retransform", "Classes"));
        code_lines(text).any(|(_, line)| path.starts_with("agent/src/") && calls(line)).then(String::new)
    });
    assert_eq!(of_jvmti, ["  agent/src/jvm/classes/loaded_classes.rs: "]);
}

#[test]
fn files_are_short() {
    let long = violations(&["rs", "java", "py", "sh"], |_, text| {
        let lines = text.lines().count();
        (lines > LONGEST_FILE).then(|| format!("{lines} lines"))
    });
    assert!(long.is_empty(), "no file above {LONGEST_FILE} lines:\n{}", long.join("\n"));
}

#[test]
fn folders_are_small() {
    let sizes: RefCell<BTreeMap<String, usize>> = RefCell::default();
    violations(&["rs", "java"], |path, _| {
        let (folder, file) = path.rsplit_once('/')?;
        if file != "mod.rs" {
            *sizes.borrow_mut().entry(folder.to_owned()).or_default() += 1;
        }
        None
    });
    let most = |folder: &str| {
        LARGE_FOLDERS.iter().find(|(large, _)| *large == folder).map_or(LARGEST_FOLDER, |&(_, most)| most)
    };
    let large = sizes.into_inner().into_iter().filter(|(folder, files)| *files > most(folder));
    let large: Vec<_> = large.map(|(folder, files)| format!("{folder}: {files}")).collect();
    assert!(
        large.is_empty(),
        "a folder of more than {LARGEST_FOLDER} source files wants subfolders:\n{}",
        large.join("\n")
    );
}

#[test]
fn files_are_named_after_what_they_tell() {
    let vague = violations(&["rs", "java", "py", "sh"], |path, _| {
        // Stubs replace classes of the JDK and cannot choose their names.
        if path.contains("/stubs/") {
            return None;
        }
        let mut names = path.split('/').map(|part| part.split('.').next().unwrap_or(part).to_lowercase());
        names.find(|name| FORBIDDEN_NAMES.contains(&name.as_str()))
    });
    assert!(vague.is_empty(), "names that say nothing:\n{}", vague.join("\n"));
}

#[test]
fn unsafe_is_only_in_the_layer_over_the_jvm() {
    let found = violations(&["rs"], |path, text| {
        let allowed = UNSAFE_ALLOWED.iter().any(|place| path.starts_with(place));
        if allowed { None } else { code_lines(text).find(|(_, line)| has_unsafe(line)).map(place_of) }
    });
    assert!(found.is_empty(), "`unsafe` outside {UNSAFE_ALLOWED:?}:\n{}", found.join("\n"));
}

#[test]
fn unsafe_blocks_say_why_they_are_sound() {
    let found = violations(&["rs"], |_, text| {
        let lines: Vec<_> = text.lines().collect();
        let block = |line: &str| without_strings(line).contains(concat!("unsa", "fe {"));
        let number = lines.iter().position(|line| block(line) && !line.trim_start().starts_with("//"))?;
        let said = lines[number.saturating_sub(8)..=number].iter().any(|line| line.contains("SAFETY"));
        (!said).then(|| format!("line {}", number + 1))
    });
    assert!(found.is_empty(), "blocks without a SAFETY comment:\n{}", found.join("\n"));
}

#[test]
fn no_test_is_switched_off() {
    let switches = [concat!("#[ign", "ore"), concat!("@Dis", "abled"), concat!("#[cfg(any", "())]")];
    let found = violations(&["rs", "java"], |_, text| {
        text.lines()
            .zip(1..)
            .find(|(line, _)| switches.iter().any(|switch| line.contains(switch)))
            .map(|(line, number)| place_of((number, line)))
    });
    assert!(found.is_empty(), "tests that are switched off:\n{}", found.join("\n"));
}

#[test]
fn pure_crates_touch_nothing_outside() {
    let outside = ["fs", "net", "time", "thread", "process", "env", "io"].map(|module| format!("std::{module}"));
    let found = violations(&["rs"], |path, text| {
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
        if is_test || !PURE.iter().any(|pure| path.starts_with(pure)) {
            return None;
        }
        let production = text.split(concat!("#[cfg(", "test)]")).next().unwrap_or(text);
        let touches = |line: &str| outside.iter().any(|module| line.contains(module.as_str()));
        code_lines(production).find(|(_, line)| touches(line)).map(place_of)
    });
    assert!(found.is_empty(), "bytes in, bytes out, but:\n{}", found.join("\n"));
}

#[test]
fn every_requirement_has_one_line_in_the_ledger() {
    let ledger = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let rows: Vec<Vec<&str>> = ledger
        .lines()
        .filter(|line| line.starts_with("| S"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let ids: BTreeSet<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!((rows.len(), ids.len()), (286, 286), "each id once");
    for row in &rows {
        assert!(matches!(row[3], "done" | "partly" | "not yet"), "{}: state `{}`", row[1], row[3]);
        assert!(row[3] == "not yet" || !row[4].is_empty(), "{} is {} but nothing shows it", row[1], row[3]);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn cargo_metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Asks `check` about every source file with one of these endings; gives `path: what it said`.
fn violations(endings: &[&str], check: impl Fn(&str, &str) -> Option<String>) -> Vec<String> {
    let root = root();
    let mut found = Vec::new();
    let mut pending = vec![root.clone()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
                let text = fs::read_to_string(&path).unwrap();
                let relative = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.extend(check(&relative, &text).map(|what| format!("  {relative}: {what}")));
            }
        }
    }
    found.sort();
    found
}

fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().zip(1..).map(|(line, number)| (number, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn has_unsafe(line: &str) -> bool {
    let word = concat!("unsa", "fe");
    without_strings(line).split(|c: char| !c.is_alphanumeric() && c != '_').any(|token| token == word)
}

/// The line with the text of its string literals left out (good enough for lines that hold whole literals).
fn without_strings(line: &str) -> String {
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

fn place_of((number, line): (usize, &str)) -> String {
    format!("line {number}: {}", line.trim())
}
