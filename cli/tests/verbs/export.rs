//! `instr export`: a recording for other tools, on standard output or in a file.

use std::fs;

use trace::{MethodInfo, ProcessInfo, Recording, RecordingOptions};

use crate::sandbox::{Said, Sandbox, expect};

/// `main` calls `work` twice.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let process = ProcessInfo { pid: 4711, command_line: "shop.Main --secret".to_owned(), ..ProcessInfo::default() };
    let options = RecordingOptions::new(1_700_000_000_000_000_000, 0, process);
    let mut recording = Recording::create(&sandbox.path("trace.jfr"), options).unwrap();
    for (probe, name) in [(1, "main"), (2, "work")] {
        let (class, name, descriptor) = (&b"shop/Main"[..], str::as_bytes(name), &b"()V"[..]);
        let method = MethodInfo { class, name, descriptor, access_flags: 1, exact: true, template: "timed" };
        recording.define_method(probe, method);
    }
    recording.start_up_done(0);
    recording.define_thread(1, "main", 4711, false);
    recording.set_thread(1);
    for (probe, start, end) in [(2, 2_000, 5_000), (2, 6_000, 7_500), (1, 1_000, 9_000)] {
        recording.calls(&[[start, (end - start) << 24 | probe]]);
    }
    recording.finish().unwrap();
    sandbox
}

fn export(sandbox: &Sandbox, format: &str, further: &[&str]) -> Said {
    sandbox.instr(&[&["export", "trace.jfr", "--format", format], further].concat())
}

#[test]
fn what_is_piped_is_what_is_written_to_a_file() {
    let sandbox = sandbox();
    for format in ["collapsed", "speedscope", "chrome", "otlp"] {
        let said = export(&sandbox, format, &[]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{format}");
        expect(&format!("export-{format}.txt"), &said.stdout);
        let to_file = export(&sandbox, format, &["--output", "out"]);
        assert_eq!((to_file.code, to_file.stdout.as_str()), (0, ""));
        assert_eq!(to_file.stderr, "out: 3 calls\n");
        assert_eq!(fs::read_to_string(sandbox.path("out")).unwrap(), said.stdout);
    }
}

#[test]
fn what_is_no_text_is_written_to_a_file() {
    let sandbox = sandbox();
    for (format, begin) in [("pprof", &[0x1f, 0x8b][..]), ("perfetto", &[0x0a])] {
        let said = export(&sandbox, format, &["--output", "out"]);
        assert_eq!((said.code, said.stderr.as_str()), (0, "out: 3 calls\n"), "{format}");
        assert!(fs::read(sandbox.path("out")).unwrap().starts_with(begin), "{format}");
    }
}

#[test]
fn an_output_is_replaced_when_the_new_one_is_whole() {
    let sandbox = sandbox();
    sandbox.write("out", "of yesterday");
    fs::create_dir(sandbox.path("out.part")).unwrap();
    let said = export(&sandbox, "collapsed", &["--output", "out"]);
    assert!(said.code == 1 && said.stderr.starts_with("error: cannot write out\n"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(sandbox.path("out")).unwrap(), "of yesterday");
    fs::remove_dir(sandbox.path("out.part")).unwrap();
    assert_eq!(export(&sandbox, "collapsed", &["--output", "out"]).code, 0);
    assert!(
        !sandbox.path("out.part").exists() && fs::read_to_string(sandbox.path("out")).unwrap().contains("shop.Main")
    );
    assert_eq!(export(&sandbox, "collapsed", &["--output", "/dev/null"]).code, 0);
}

#[test]
fn collapsed_stacks_by_calls_and_by_threads() {
    let said = export(&sandbox(), "collapsed", &["--weight", "calls", "--threads"]);
    assert_eq!(said.stdout, "[main tid=1];shop.Main.main 1\n[main tid=1];shop.Main.main;shop.Main.work 2\n");
    let said = export(&sandbox(), "chrome", &["--weight", "calls"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("are for --format collapsed") && said.stderr.contains("help: "), "{}", said.stderr);
}

#[test]
fn a_file_that_is_no_recording_gives_no_output_file() {
    let sandbox = sandbox();
    let recording = fs::read(sandbox.path("trace.jfr")).unwrap();
    sandbox.write("text.jfr", "this is no recording");
    sandbox.write("begin.jfr", &recording[..100]);
    for file in ["text.jfr", "begin.jfr", "absent.jfr"] {
        let said = sandbox.instr(&["export", file, "--format", "chrome", "--output", "out"]);
        assert_eq!((said.code, said.stdout.as_str()), (1, ""));
        assert!(said.stderr.starts_with(&format!("error: cannot export {file}\n  because: ")), "{}", said.stderr);
        assert!(said.stderr.contains("\n  help: ") && !sandbox.path("out").exists());
    }
}

#[test]
fn of_a_torn_recording_the_whole_chunks_are_exported_and_the_rest_is_reported() {
    let sandbox = sandbox();
    let mut recording = fs::read(sandbox.path("trace.jfr")).unwrap();
    let whole = export(&sandbox, "collapsed", &[]).stdout;
    recording.extend_from_slice(b"FLR\0torn");
    sandbox.write("trace.jfr", recording);
    let said = export(&sandbox, "collapsed", &[]);
    assert_eq!((said.code, said.stdout), (0, whole));
    assert!(said.stderr.contains("warning: the last 8 bytes are not a whole chunk"), "{}", said.stderr);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let sandbox = sandbox();
    let said = export(&sandbox, "speedscope", &["--output", "absent/out.json"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    assert!(said.stderr.starts_with("error: cannot write absent/out.json\n  because: "), "{}", said.stderr);
    assert!(said.stderr.contains("\n  help: "), "{}", said.stderr);
    let before = fs::read(sandbox.path("trace.jfr")).unwrap();
    let said = export(&sandbox, "chrome", &["--output", "./trace.jfr"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("would overwrite the recording"), "{}", said.stderr);
    assert_eq!(fs::read(sandbox.path("trace.jfr")).unwrap(), before);
    // Another one, and one of which a crash has left the beginning.
    sandbox.write("torn.jfr", &before[..100]);
    let said = export(&sandbox, "chrome", &["--output", "torn.jfr"]);
    assert!(said.code == 1 && said.stderr.contains("would overwrite the recording torn.jfr"), "{}", said.stderr);
    assert_eq!(fs::read(sandbox.path("torn.jfr")).unwrap(), &before[..100]);
}

#[test]
fn a_format_that_does_not_exist_is_a_wrong_command_line() {
    let said = export(&sandbox(), "svg", &[]);
    assert_eq!(said.code, 2);
    assert!(
        said.stderr.contains("[possible values: collapsed, speedscope, chrome, perfetto, pprof, otlp]"),
        "{}",
        said.stderr
    );
}
