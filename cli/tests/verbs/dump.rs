//! `instr dump`: listings of methods, before and after.
//!
//! The classes are checked in (`dumped/build.sh`), because what javac writes differs from release to release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::sandbox::{Said, Sandbox, expect, java};

const RULES: &str = "[[rule]]\nname = \"simple\"\nclass = \"com.machin.Bidule\"\n\
                     method = [\"passesAllOn\", \"twoParameters\", \"wideLocals\"]\ntemplate = \"real-timer\"\nlevel = \"time\"\n\n\
                     [[rule]]\nname = \"stacked\"\nclass = \"com.machin.Bidule\"\nmethod = \"bigger\"\n\
                     template = [\"timed\", \"safe-timer\"]\nlevel = \"time\"\n\n\
                     [[rule]]\nname = \"broken\"\nclass = \"com.machin.Bidule$Nothing\"\n";

fn classes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/dumped/classes")
}

const WRAPPERS: &str = "[[rule]]\nname = \"wrappers\"\nclass = \"com.machin.Bidule\"\n\
                        method = [\"passesAllOn\", \"twoParameters\", \"original\"]\ntemplate = \"real-timer\"\n\
                        level = \"time\"\nmode = \"wrapper\"\n\n";

fn sandbox() -> Sandbox {
    sandbox_with(RULES)
}

fn sandbox_with(rules: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("rules.toml", format!("[agent]\ntemplates = {:?}\n\n{rules}", classes()));
    let entries = ["Bidule", "Bidule$Nothing", "RealTimer"].map(|name| {
        let entry = format!("com/machin/{name}.class");
        let bytes = fs::read(classes().join(&entry)).unwrap();
        (entry, bytes)
    });
    sandbox.jar_of("machin.jar", &entries);
    sandbox
}

fn dump(sandbox: &Sandbox, further: &[&str]) -> Said {
    sandbox.instr(&[&["dump", "--config", "rules.toml"], further].concat())
}

#[test]
fn the_worked_examples_of_the_requirements() {
    let sandbox = sandbox();
    for (method, file) in [("passesAllOn", "dump-passes-all-on.txt"), ("twoParameters", "dump-two-parameters.txt")] {
        let said = dump(&sandbox, &["--offset-map", "com.machin.Bidule", method, "machin.jar"]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""));
        expect(file, &said.stdout);
    }
    let said = dump(&sandbox, &["--json", "com/machin/Bidule", "passesAllOn", "machin.jar"]);
    let json: Value = serde_json::from_str(&said.stdout).unwrap();
    let after = &json["methods"][0]["after"];
    assert_eq!(after["max-stack"], 5, "this, a double of two words, an array, an object");
    assert_eq!(after["max-locals"], 6);
    let stores = |line: &&Value| line["mnemonic"] == "astore";
    let timer = after["instructions"].as_array().unwrap().iter().find(stores).unwrap();
    assert_eq!((&timer["operand"], &timer["origin"]), (&"5".into(), &"prolog".into()));
    let said = dump(&sandbox, &["--json", "com.machin.Bidule", "twoParameters", "machin.jar"]);
    let json: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(json["methods"][0]["after"]["max-locals"], 4);
}

/// As the requirements tell them: the original is renamed, and a wrapper makes the timer, passes everything on, ends it.
#[test]
fn the_worked_examples_as_wrappers() {
    let sandbox = sandbox_with(WRAPPERS);
    for (method, file) in
        [("passesAllOn", "dump-passes-all-on-wrapper.txt"), ("twoParameters", "dump-two-parameters-wrapper.txt")]
    {
        let said = dump(&sandbox, &["--after", "com.machin.Bidule", method, "machin.jar"]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""));
        expect(file, &said.stdout);
    }
    for (method, slot, locals, stack) in [("passesAllOn", "5", 6, 5), ("twoParameters", "", 4, 3)] {
        let said = dump(&sandbox, &["--json", "com.machin.Bidule", method, "machin.jar"]);
        let json: Value = serde_json::from_str(&said.stdout).unwrap();
        let after = &json["methods"][0]["after"];
        assert_eq!((&after["max-locals"], &after["max-stack"]), (&locals.into(), &stack.into()), "{method}");
        let stores = |line: &&Value| line["mnemonic"].as_str().unwrap().starts_with("astore");
        let timer = after["instructions"].as_array().unwrap().iter().find(stores).unwrap();
        assert_eq!(timer["operand"].as_str().unwrap_or_default(), slot, "{method}");
        let renamed = json["methods"][0]["change"]["renamed"].as_str().unwrap();
        assert!(renamed.starts_with(&format!("_{method}")), "{renamed}");
    }
}

#[test]
fn other_ways_to_merge_can_be_looked_at() {
    let sandbox = sandbox();
    let listed = |options: &[&str]| {
        let said = dump(&sandbox, &[&["--json", "com.machin.Bidule", "bigger", "machin.jar"], options].concat());
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{options:?}");
        let json: Value = serde_json::from_str(&said.stdout).unwrap();
        our_instructions(&json["methods"][0])
    };
    let count = |lines: &[(u64, String)], wanted: &str| lines.iter().filter(|(_, line)| line == wanted).count();
    let usual = listed(&[]);
    assert_eq!((count(&usual, "nop"), count(&usual, "goto_w")), (0, 0));
    let long = listed(&["--layout", "long"]);
    assert!(count(&long, "goto_w") > count(&usual, "goto") && count(&long, "goto") == 0);
    let marked = listed(&["--sentinel", "nop"]);
    assert_eq!(count(&marked, "nop"), 6, "two templates, each with a call of three bytes");
    let moved = listed(&["--slots", "after-parameters"]);
    assert!(count(&moved, "lstore_3") < count(&usual, "lstore_3"), "the first local is not in slot 3 any more");
    let said = dump(&sandbox, &["--slots", "in-front", "com.machin.Bidule", "machin.jar"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
}

#[test]
fn a_method_with_switches_handlers_and_stacked_templates() {
    let said = dump(&sandbox(), &["--both", "--offset-map", "com.machin.Bidule", "bigger", "machin.jar"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    expect("dump-bigger.txt", &said.stdout);
}

#[test]
fn wide_locals() {
    let said = dump(&sandbox(), &["--after", "com.machin.Bidule", "wideLocals", "machin.jar"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    expect("dump-wide-locals.txt", &said.stdout);
}

#[test]
fn methods_that_stay_as_they_are_say_why() {
    let sandbox = sandbox();
    let said = dump(&sandbox, &["--before", "com.machin.Bidule", "machin.jar"]);
    assert!(said.stdout.contains("  - original(double, int[], com.machin.Bidule) int: no rule takes it\n"));
    assert!(said.stdout.contains("  before: public;") && !said.stdout.contains("after:"), "{}", said.stdout);
    let said = dump(&sandbox, &["com.machin.Bidule", "original", "machin.jar"]);
    assert!(
        said.stdout.contains("  left alone: no rule takes it\n  as it is: private; max_stack 4"),
        "{}",
        said.stdout
    );
    let said = dump(&sandbox, &["com.machin.Bidule$Nothing", "machin.jar"]);
    assert!(said.stdout.contains("  - declared() void: it is abstract\n"), "{}", said.stdout);
}

#[test]
fn names_that_are_nowhere_are_errors_with_the_nearest_one() {
    let sandbox = sandbox();
    for (arguments, error, help) in [
        (
            ["com.machin.Bidul", "machin.jar"],
            "error: there is no class com.machin.Bidul in 1 jar",
            "`com.machin.Bidule`",
        ),
        (["Bidule", "machin.jar"], "error: there is no class Bidule in 1 jar", "`com.machin.Bidule`"),
        (["java.lang.Thraed", "machin.jar"], "error: there is no class java.lang.Thraed", "`java.lang.Thread`"),
        (["java.lang.Thread", "jion"], "error: the class java.lang.Thread has no method jion", "`join`"),
        (["java.lang.Thread", "join(int)"], "error: the class java.lang.Thread has no method join(int)", "join(..)"),
        (["java.lang.Runnable", "zzz"], "error: the class java.lang.Runnable has no method zzz", "the class has run"),
        (["java.lang.Thread", "x("], "error: `x(` names no methods: ", "name(type, *)"),
    ] {
        let said = dump(&sandbox, &arguments);
        assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(said.stderr.starts_with(error) && said.stderr.contains(help), "{arguments:?}: {}", said.stderr);
    }
}

/// What javap, which knows nothing of us, reads from the classes that `instr pre` writes.
#[test]
fn javap_reads_the_same_instructions() {
    let wrapper = WRAPPERS.replace("\"passesAllOn\", \"twoParameters\", ", "");
    let sandbox = sandbox_with(&(wrapper + RULES));
    let said = sandbox.instr(&["pre", "--config", "rules.toml", "--output", "out", "machin.jar"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let javap = Command::new(java().path().join("bin/javap"))
        .args(["-c", "-p", "-cp"])
        .arg(sandbox.path("out/machin.jar"))
        .arg("com.machin.Bidule")
        .output()
        .unwrap();
    let mut theirs = javap_instructions(&String::from_utf8(javap.stdout).unwrap());
    let said = dump(&sandbox, &["--json", "--after", "com.machin.Bidule", "*", "machin.jar"]);
    let json: Value = serde_json::from_str(&said.stdout).unwrap();
    let mut ours: Vec<_> = json["methods"].as_array().unwrap().iter().map(our_instructions).collect();
    assert_eq!(ours.len(), theirs.len(), "methods");
    // The original of a wrapper is at the end of the class; here it follows the wrapper.
    ours.sort();
    theirs.sort();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert!(ours.iter().flatten().any(|(_, mnemonic)| mnemonic == "wide lstore"), "the test has no wide form");
}

fn our_instructions(method: &Value) -> Vec<(u64, String)> {
    let listing = if method["after"].is_null() { &method["before"] } else { &method["after"] };
    let lines = listing["instructions"].as_array().unwrap().iter();
    lines.map(|line| (line["offset"].as_u64().unwrap(), line["mnemonic"].as_str().unwrap().to_owned())).collect()
}

/// Offset and mnemonic of each line `12: iload_1 ...`, method by method.
fn javap_instructions(text: &str) -> Vec<Vec<(u64, String)>> {
    let mut methods = Vec::new();
    for line in text.lines() {
        if line.trim() == "Code:" {
            methods.push(Vec::new());
        }
        let Some((offset, rest)) = line.trim().split_once(": ") else { continue };
        let Ok(offset) = offset.parse() else { continue };
        let mnemonic = rest.split_whitespace().next().unwrap();
        // Cases of a switch look alike, but a number follows the colon.
        if let Some(method) = methods.last_mut().filter(|_| mnemonic.starts_with(|c: char| c.is_ascii_lowercase())) {
            let wide = mnemonic.strip_suffix("_w").filter(|short| !matches!(*short, "ldc" | "ldc2" | "goto" | "jsr"));
            method.push((offset, wide.map_or(mnemonic.to_owned(), |short| format!("wide {short}"))));
        }
    }
    methods
}

/// The agent runs in the application's directory, the command line anywhere: both look beside the configuration first.
#[test]
fn jars_of_templates_stand_relative_to_the_configuration() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path("conf/own/com/machin")).unwrap();
    let template = "com/machin/Timing.class";
    fs::copy(classes().join(template), sandbox.path("conf/own").join(template)).unwrap();
    sandbox.write("conf/rules.toml", format!("[agent]\ntemplates = \"own\"\n\n{RULES}"));
    let said =
        sandbox.instr(&["dump", "--config", "conf/rules.toml", "com.machin.Bidule", "twoParameters", "machin.jar"]);
    assert!(said.code == 0 && said.stdout.contains("real-timer at level time"), "{}{}", said.stdout, said.stderr);
}

#[test]
fn methods_of_the_jdk_that_the_probes_use_stay_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.write("rules.toml", "[[rule]]\nclass = \"java.lang.Thread\"\nlevel = \"time\"\n");
    let said = dump(&sandbox, &["java.lang.Thread", "getName(..)"]);
    let reason = "  left alone: used by the runtime: the probes themselves call it\n";
    assert!(said.code == 0 && said.stdout.contains(reason), "{}{}", said.stdout, said.stderr);
}
