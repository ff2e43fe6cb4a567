//! `instr report`: what cannot be read is an error, not an empty report.

use std::process::Command;

use trace::{MethodInfo, ProcessInfo, Recording, RecordingOptions};

use crate::sandbox::Sandbox;

#[test]
fn a_copied_recording_is_reported_without_classes_or_anything_else_of_its_machine() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let options = RecordingOptions::new(1_700_000_000_000_000_000, 0, ProcessInfo::default());
    let mut recording = Recording::create(&here.path("trace.jfr"), options).unwrap();
    let (class, name, descriptor) = (&b"nowhere/else/Known"[..], &b"work"[..], &b"(Lnot/Here;)V"[..]);
    recording.define_method(1, MethodInfo { class, name, descriptor, access_flags: 1, exact: true, template: "timed" });
    recording.set_thread(1);
    recording.call(1, 1_000, 5_000);
    recording.finish().unwrap();
    std::fs::rename(here.path("trace.jfr"), there.path("copy.jfr")).unwrap();
    drop(here);

    let mut report = Command::new(env!("CARGO_BIN_EXE_instr"));
    report.args(["report", "--html", "page.html", "copy.jfr"]).current_dir(there.path("")).env_clear();
    let output = report.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("5.00 µs") && text.contains("nowhere.else.Known.work"), "{text}");
    let page = std::fs::read_to_string(there.path("page.html")).unwrap();
    assert!(page.contains("nowhere.else.Known") && page.contains("(Lnot/Here;)V"));

    let recording = std::fs::read(there.path("copy.jfr")).unwrap();
    let said = there.instr(&["report", "--html", "copy.jfr", "copy.jfr"]);
    assert!(said.code == 1 && said.stderr.contains("would overwrite the recording copy.jfr"), "{}", said.stderr);
    assert_eq!(std::fs::read(there.path("copy.jfr")).unwrap(), recording);
}

#[test]
fn a_file_that_is_no_recording_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("text.jfr", "this is no recording");
    for file in ["text.jfr", "absent.jfr"] {
        let said = sandbox.instr(&["report", file]);
        assert_eq!((said.code, said.stdout.as_str()), (1, ""));
        assert!(said.stderr.starts_with("error: ") && said.stderr.contains(file), "{}", said.stderr);
    }
}

#[test]
fn names_are_cut_for_terminals_only() {
    let sandbox = Sandbox::new();
    let options = RecordingOptions::new(1_700_000_000_000_000_000, 0, ProcessInfo::default());
    let mut recording = Recording::create(&sandbox.path("trace.jfr"), options).unwrap();
    let class = format!("{}/Longest", vec!["package"; 30].join("/"));
    let (class, name, descriptor) = (class.as_bytes(), &b"work"[..], &b"()V"[..]);
    recording.define_method(1, MethodInfo { class, name, descriptor, access_flags: 1, exact: true, template: "timed" });
    recording.set_thread(1);
    recording.call(1, 1_000, 5_000);
    recording.finish().unwrap();
    let report = |columns: Option<&str>| {
        let mut report = Command::new(env!("CARGO_BIN_EXE_instr"));
        report.args(["report", "trace.jfr"]).current_dir(sandbox.path("")).env_clear();
        let output = report.envs(columns.map(|columns| ("COLUMNS", columns))).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let whole = format!("{}.Longest.work", vec!["package"; 30].join("."));
    assert!(report(None).contains(&whole), "{}", report(None));
    let narrow = report(Some("80"));
    assert!(!narrow.contains(&whole) && narrow.contains("Longest.work"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_named_with_what_to_do() {
    let sandbox = Sandbox::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut schema = Command::new(env!("CARGO_BIN_EXE_instr"));
    let output = schema.arg("schema").current_dir(sandbox.path("")).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot write to the standard output") && said.contains("No space left"), "{said}");
    assert!(said.contains("help: make room"), "{said}");
}
