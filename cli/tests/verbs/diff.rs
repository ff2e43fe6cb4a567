//! `instr diff`: recordings of two sides, and whether a build shall fail.

use trace::{MethodInfo, ProcessInfo, Recording, RecordingOptions};

use crate::sandbox::{Said, Sandbox};

/// `main` calls `work`, which takes so long, ten times.
fn record(sandbox: &Sandbox, file: &str, work: u64) {
    record_with_main(sandbox, file, work, 2_000_000);
}

fn record_with_main(sandbox: &Sandbox, file: &str, work: u64, main: u64) {
    let options = RecordingOptions::new(1_700_000_000_000_000_000, 0, ProcessInfo::default());
    let mut recording = Recording::create(&sandbox.path(file), options).unwrap();
    for (probe, name) in [(1, "main"), (2, "work")] {
        let (class, name, descriptor) = (&b"shop/Main"[..], str::as_bytes(name), &b"()V"[..]);
        let method = MethodInfo { class, name, descriptor, access_flags: 1, exact: true, template: "timed" };
        recording.define_method(probe, method);
    }
    recording.set_thread(1);
    for call in 0..10 {
        recording.call(2, 1_000 + call * 100_000, work);
    }
    recording.call(1, 500, main);
    recording.finish().unwrap();
}

fn diff(further: &[&str]) -> Said {
    let sandbox = Sandbox::new();
    record(&sandbox, "before.jfr", 10_000);
    record(&sandbox, "after.jfr", 12_000);
    sandbox.instr(&[&["diff"], further, &["before.jfr", "after.jfr"]].concat())
}

#[test]
fn the_table_names_what_changed() {
    let said = diff(&[]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let line = said.stdout.lines().find(|line| line.contains("shop.Main.work")).unwrap();
    assert!(line.contains("+20.0 %") && line.contains("100 µs") && line.contains("120 µs"), "{}", said.stdout);
    assert!(
        !said.stdout.contains('\x1b') && !said.stdout.contains("reading ["),
        "no colours and no progress in a pipe"
    );
}

#[test]
fn a_build_fails_only_above_its_limit() {
    let said = diff(&["--by", "per-call", "--fail-above", "10%"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: 1 method got worse by more than 10 %:\n  +20.0 %"), "{}", said.stderr);
    assert!(said.stderr.contains("shop.Main.work()V") && said.stdout.contains("shop.Main.work"));
    assert_eq!(diff(&["--fail-above", "25"]).code, 0);
    assert_eq!(diff(&["--fail-above", "10%", "--smallest-share", "50"]).code, 0, "work is a small part of all");
    assert_eq!(diff(&["--fail-above", "much"]).code, 2);
}

/// A misspelt rule must not turn the check of a build off.
#[test]
fn a_build_fails_if_nothing_is_compared() {
    let sandbox = Sandbox::new();
    record(&sandbox, "calls.jfr", 10_000);
    let options = RecordingOptions::new(1_700_000_000_000_000_000, 0, ProcessInfo::default());
    Recording::create(&sandbox.path("none.jfr"), options.clone()).unwrap().finish().unwrap();
    let mut other = Recording::create(&sandbox.path("other.jfr"), options).unwrap();
    let (class, name, descriptor) = (&b"shop/Other"[..], &b"work"[..], &b"()V"[..]);
    other.define_method(1, MethodInfo { class, name, descriptor, access_flags: 1, exact: true, template: "timed" });
    other.set_thread(1);
    other.call(1, 500, 1_000);
    other.finish().unwrap();
    for (files, reason) in [
        (&["calls.jfr", "none.jfr"][..], "no calls were recorded in none.jfr"),
        (&["none.jfr", "calls.jfr"], "no calls were recorded in none.jfr"),
        (&["--before", "calls.jfr", "none.jfr", "--after", "calls.jfr"], "no calls were recorded in none.jfr"),
        (&["calls.jfr", "other.jfr"], "no method was called on both sides"),
    ] {
        let said = sandbox.instr(&[&["diff", "--fail-above", "10%"], files].concat());
        let expected = format!("error: --fail-above cannot be checked: {reason}\n  help: ");
        assert_eq!((said.code, said.stderr.starts_with(&expected)), (1, true), "{files:?}: {}", said.stderr);
        let said = sandbox.instr(&[&["diff"], files].concat());
        assert_eq!((said.code, said.stdout.contains("warning: ")), (0, true), "{files:?}: {}", said.stdout);
    }
}

#[test]
fn runs_that_differ_among_each_other_do_not_fail_a_build() {
    let sandbox = Sandbox::new();
    for (file, work) in [("a1.jfr", 10_000), ("a2.jfr", 12_000), ("b1.jfr", 9_900), ("b2.jfr", 13_000)] {
        record(&sandbox, file, work);
    }
    for (file, work) in [("c1.jfr", 30_000), ("c2.jfr", 32_000)] {
        record(&sandbox, file, work);
    }
    let fails = ["diff", "--by", "per-call", "--fail-above", "10%"];
    let compare = |files: &[&str]| sandbox.instr(&[&fails, files].concat());
    let alone = compare(&["a1.jfr", "b2.jfr"]);
    assert_eq!(alone.code, 1, "nothing in one recording says otherwise");
    assert!(alone.stdout.contains("How much one run of the program differs from the next is not in it"));
    let together = compare(&["--before", "a1.jfr", "a2.jfr", "--after", "b1.jfr", "b2.jfr"]);
    assert_eq!(together.code, 0, "{}", together.stdout);
    assert!(together.stderr.starts_with("note: 2 methods did not seem to get worse"), "{}", together.stderr);
    assert!(
        together.stdout.contains("means of the recordings") && together.stdout.contains("≈+"),
        "{}",
        together.stdout
    );
    assert!(!together.stdout.contains("is not in it"));
    let slower = compare(&["--before", "a1.jfr", "a2.jfr", "--after", "c1.jfr", "--after", "c2.jfr"]);
    assert_eq!(slower.code, 1, "{}", slower.stdout);
    assert!(slower.stderr.contains("+181.8 % (chance: ±"), "{}", slower.stderr);
}

#[test]
fn a_method_that_was_called_once_is_named_and_does_not_fail_a_build() {
    let sandbox = Sandbox::new();
    record(&sandbox, "before.jfr", 10_000);
    record_with_main(&sandbox, "after.jfr", 10_000, 4_000_000);
    let said = sandbox.instr(&["diff", "--fail-above", "10%", "before.jfr", "after.jfr"]);
    assert_eq!(said.code, 0);
    assert!(said.stderr.starts_with("warning: 1 method cannot be judged. "), "{}", said.stderr);
    assert!(said.stderr.contains("shop.Main.main()V") && said.stdout.contains("?+"), "{}{}", said.stderr, said.stdout);
}

#[test]
fn too_little_data_is_named_and_does_not_pass_for_a_judgement() {
    let sandbox = Sandbox::new();
    for (file, main) in [("before.jfr", 2_000_000), ("after1.jfr", 3_000_000), ("after2.jfr", 3_400_000)] {
        record_with_main(&sandbox, file, 10_000, main);
    }
    let compare = |files: &[&str]| sandbox.instr(&[&["diff", "--fail-above", "10%"], files].concat());
    let said = compare(&["--before", "before.jfr", "--after", "after1.jfr", "after2.jfr"]);
    assert_eq!(said.code, 0);
    let unjudged = |line: &str| line.contains("shop.Main.main()V") && line.contains(" (chance: ±");
    assert!(said.stderr.starts_with("warning: 1 method cannot be judged. "), "{}", said.stderr);
    assert!(said.stderr.lines().any(unjudged), "{}", said.stderr);
    // One call on each side, and the second took less: nobody knows what a third would take.
    let faster = compare(&["after2.jfr", "after1.jfr"]);
    assert!(
        faster.code == 0 && faster.stderr.starts_with("note: 1 method did not seem to get worse"),
        "{}",
        faster.stderr
    );
    let same = compare(&["--before", "before.jfr", "--after", "before.jfr", "before.jfr"]);
    assert_eq!((same.code, same.stderr.as_str()), (0, ""));
}

#[test]
fn both_sides_are_named_in_one_way() {
    for files in
        [&["diff", "a.jfr"][..], &["diff", "--before", "a.jfr"], &["diff", "--before", "a", "--after", "b", "--", "c"]]
    {
        assert_eq!(Sandbox::new().instr(files).code, 2, "{files:?}");
    }
}

#[test]
fn programs_get_json() {
    let said = diff(&["--json", "--by", "total"]);
    let whole: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let work = &whole["methods"][0];
    assert_eq!((&work["method"], &work["percent"]), (&"shop.Main.work".into(), &20.0.into()));
    assert_eq!((&work["before"]["total"], &work["after"]["calls"]), (&100_000.into(), &10.into()));
    assert_eq!((&work["is_chance"], &whole["chance_includes_runs"]), (&false.into(), &false.into()));
}

#[test]
fn a_page_shows_the_differences() {
    let sandbox = Sandbox::new();
    record(&sandbox, "before.jfr", 10_000);
    record(&sandbox, "after.jfr", 12_000);
    let said = sandbox.instr(&["diff", "--html", "diff.html", "before.jfr", "after.jfr"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, "HTML page: diff.html\n"));
    let page = std::fs::read_to_string(sandbox.path("diff.html")).unwrap();
    assert!(
        page.contains("<title>before.jfr → after.jfr · instr</title>") && page.contains("Flame graph of differences")
    );
    let said = sandbox.instr(&["diff", "--html", "absent/diff.html", "before.jfr", "after.jfr"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: cannot write absent/diff.html"), "{}", said.stderr);
    let before = std::fs::read(sandbox.path("before.jfr")).unwrap();
    let said = sandbox.instr(&["diff", "--html", "before.jfr", "before.jfr", "after.jfr"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: the output would overwrite the recording before.jfr\n"), "{}", said.stderr);
    assert_eq!(std::fs::read(sandbox.path("before.jfr")).unwrap(), before);
}

#[test]
fn what_is_no_recording_is_named() {
    let sandbox = Sandbox::new();
    record(&sandbox, "before.jfr", 1);
    let said = sandbox.instr(&["diff", "before.jfr", "absent.jfr"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: cannot compare absent.jfr\n  because: "), "{}", said.stderr);
}
