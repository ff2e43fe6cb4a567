//! Are our files JFR recordings? The `jfr` tool of the JDK says so, and shows the values that were written.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::path::Path;

use sample::{START, count, diagnosis, ended_diagnosis, jfr, method, options, record, write_sample};
use serde_json::Value;
use trace::{Recording, SampleFrame, SamplerSettings};

fn events(file: &Path, name: &str) -> Vec<Value> {
    let json = jfr(&["print", "--json", "--stack-depth", "0", "--events", name], file);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let events = json["recording"]["events"].as_array().expect("events").clone();
    events.into_iter().map(|event| event["values"].clone()).collect()
}

#[test]
fn summary_counts_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.jfr");
    write_sample(&file).unwrap().finish().unwrap();
    let summary = jfr(&["summary"], &file);
    let expected = [
        ("instr.MethodCall", 5),
        ("instr.Statement", 2),
        ("instr.HttpRequest", 1),
        ("instr.SocketTransfer", 1),
        ("instr.Loss", 1),
        ("instr.StartUpDone", 1),
        ("instr.Configuration", 2),
        ("instr.Note", 1),
        ("instr.RecordingEnd", 1),
        ("jdk.ThreadStart", 1),
        ("jdk.JVMInformation", 1),
        ("jdk.CPUInformation", 1),
        ("jdk.OSInformation", 1),
    ];
    for (event, expected) in expected {
        assert_eq!(count(&summary, event), expected, "{event} in\n{summary}");
    }
    assert!(summary.contains(" Chunks: 2"), "{summary}");
}

#[test]
fn print_shows_the_values_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.jfr");
    write_sample(&file).unwrap().finish().unwrap();

    let calls = events(&file, "instr.MethodCall");
    let watched = calls.iter().find(|call| call["exact"] == false).expect("the watched call");
    assert_eq!(watched["method"]["name"], "größe");
    assert_eq!(watched["method"]["type"]["name"], "Unnamed");
    assert_eq!(watched["duration"], "PT0.002S");
    assert_eq!(watched["eventThread"]["javaThreadId"], 1_000);
    assert_eq!(watched["template"], "timed-watch");

    let requests = events(&file, "instr.HttpRequest");
    assert_eq!(requests[0]["path"], "/orders/7");
    assert_eq!(requests[0]["status"], 200);
    assert_eq!(requests[0]["httpMethod"], "GET");
    assert_eq!(requests[0]["duration"], "PT0.000008S");
    assert_eq!(requests[0]["eventThread"]["javaName"], "http-1");
    assert_eq!(requests[0]["eventThread"]["osThreadId"], 4712);
    assert_eq!(requests[0]["method"]["type"]["name"], "com/acme/Handler");
    assert_eq!(requests[0]["method"]["type"]["package"]["name"], "com/acme");
    assert_eq!(requests[0]["method"]["descriptor"], "(I)V");

    let statements = events(&file, "instr.Statement");
    assert!(statements.iter().all(|event| event["statement"] == "select 1"), "{statements:?}");
    assert_eq!(events(&file, "instr.SocketTransfer")[0]["bytes"], 1_u64 << 33);
    assert_eq!(events(&file, "instr.Loss")[0]["lost"], 3);
    assert_eq!(events(&file, "instr.RecordingEnd")[0]["calls"], 5);
    assert_eq!(events(&file, "jdk.JVMInformation")[0]["pid"], 4711);
}

#[test]
fn a_diagnosis_has_units_and_what_was_not_measured_is_not_available() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("diagnosis.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.diagnosis(START + 10, &diagnosis());
    recording.diagnosis(START + 20, &ended_diagnosis());
    recording.finish().unwrap();

    let results = events(&file, "instr.Diagnosis");
    assert_eq!(results[0]["sentence"], diagnosis().sentence.unwrap());
    assert_eq!(
        (&results[0]["calls"], &results[0]["slow"], &results[0]["nodes"]),
        (&14_210.into(), &14.into(), &6.into())
    );
    assert_eq!(results[0]["learnt"], true);
    assert_eq!((&results[1]["sentence"], &results[1]["reason"]), (&Value::Null, &"the time is up".into()));
    let nodes = events(&file, "instr.DiagnosisNode");
    assert_eq!(nodes.len(), 7);
    assert_eq!(
        (&nodes[3]["share"], &nodes[3]["parent"], &nodes[3]["lines"]),
        (&0.823.into(), &2.into(), &"77, 81".into())
    );

    let printed = jfr(&["print", "--events", "instr.Diagnosis,instr.DiagnosisNode"], &file);
    let lines: Vec<&str> = printed.lines().map(str::trim).collect();
    for line in
        ["longestStop = 12.0 ms", "slowerThan = 480 ms", "explained = 82.30%", "share = 0.10%", "condition = N/A"]
    {
        assert!(lines.contains(&line), "{line} in\n{printed}");
    }
    for unknown in ["slowerThan", "explained", "parent", "calls", "slowTime", "share"] {
        assert!(lines.contains(&format!("{unknown} = N/A").as_str()), "{unknown} in\n{printed}");
    }
}

#[test]
fn many_chunks_with_a_renamed_thread_keep_their_names_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chunks.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(7, method("com/acme/Job", "run", true));
    let second = 1_000_000_000;
    for (index, name) in ["first", "second", "third"].into_iter().enumerate() {
        recording.define_thread(40, name, 9, false);
        recording.set_thread(40);
        recording.calls(&[record(7, index as u64 * second, 500)]);
        recording.flush_chunk().unwrap();
    }
    recording.finish().unwrap();

    let calls = events(&file, "instr.MethodCall");
    let names: Vec<_> = calls.iter().map(|call| call["eventThread"]["javaName"].as_str().unwrap()).collect();
    assert_eq!(names, ["first", "second", "third"]);
    let seconds: Vec<_> = calls.iter().map(|call| nanos_of_the_minute(&call["startTime"]) / second).collect();
    assert_eq!([seconds[1] - seconds[0], seconds[2] - seconds[1]], [1, 1]);
}

/// From "2023-11-14T22:13:20.000001Z" and the like.
fn nanos_of_the_minute(time: &Value) -> u64 {
    let time = time.as_str().expect("a time");
    let seconds = time.get(17..).unwrap().split(['Z', '+', '-']).next().unwrap();
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    whole.parse::<u64>().unwrap() * 1_000_000_000 + format!("{fraction:0<9}").parse::<u64>().unwrap()
}

#[test]
fn unknown_probes_and_early_calls_are_no_problem_for_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(2, method("com/acme/Job", "run", true));
    recording.set_thread(50);
    recording.calls(&[record(1, 5, 5), record(0xff_ffff, 20, 1), [START - 100, 300 << 24 | 2]]);
    recording.call(2, START + 1_000, 1 << 41);
    recording.finish().unwrap();
    let calls = events(&file, "instr.MethodCall");
    assert_eq!(calls.len(), 4);
    assert_eq!(calls.iter().filter(|call| call["method"]["name"] == "unknown").count(), 2);
    assert!(calls.iter().any(|call| call["duration"] == "PT0.0000002S"), "cut at the start: {calls:?}");
    assert!(calls.iter().any(|call| call["duration"] == "PT36M39.023255552S"), "more than 2^40 ns: {calls:?}");
}

#[test]
fn samples_are_execution_samples() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    let settings = SamplerSettings { engine: "async", interval_nanos: 10_000_000, bias: "" };
    recording.sampler_started(START, settings);
    recording.define_thread(31, "http-1", 4712, false);
    recording.set_thread(31);
    let [inner, outer] = ["inner", "outer"].map(|name| recording.sampled_method(method("com/acme/Work", name, true)));
    let frame = |method, line, is_native| SampleFrame { method, line, bytecode_index: 7, is_native };
    recording.sample(START + 5, &[frame(inner, 12, false), frame(outer, 34, false)], true);
    recording.failed_sample(START + 6, "GC active", "libjvm.so: memcpy");
    recording.finish().unwrap();

    let json = jfr(&["print", "--json", "--stack-depth", "64", "--events", "jdk.ExecutionSample"], &file);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let sample = &json["recording"]["events"][0]["values"];
    assert_eq!(sample["sampledThread"]["javaName"], "http-1");
    assert_eq!(sample["state"], "STATE_RUNNABLE");
    assert_eq!(sample["stackTrace"]["truncated"], true);
    let frames = sample["stackTrace"]["frames"].as_array().unwrap();
    let shown: Vec<_> = frames
        .iter()
        .map(|frame| (frame["method"]["name"].as_str().unwrap(), frame["lineNumber"].as_u64().unwrap()))
        .collect();
    assert_eq!(shown, [("inner", 12), ("outer", 34)]);
    assert_eq!(frames[0]["bytecodeIndex"], 7);
    assert_eq!(events(&file, "instr.FailedSample")[0]["reason"], "GC active");
    assert_eq!(events(&file, "instr.FailedSample")[0]["place"], "libjvm.so: memcpy");
    let periods: Vec<Value> = events(&file, "jdk.ActiveSetting");
    assert!(periods.iter().any(|setting| setting["name"] == "period" && setting["value"] == "10 ms"), "{periods:?}");
}

#[test]
fn allocations_code_and_unloaded_classes_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jvm.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.allocation_sampler_started(START, 524_288);
    recording.define_thread(31, "http-1", 4712, false);
    recording.set_thread(31);
    let method_key = recording.sampled_method(method("com/acme/Work", "copy", true));
    let frames = [SampleFrame { method: method_key, line: 12, bytecode_index: 7, is_native: false }];
    recording.allocation_sample(START + 5, (b"[B", 4_096, 526_338), &frames, false);
    recording.loaded_methods((b"com/acme/Work", 2), [(&b"copy"[..], &b"(I)V"[..], 1)].into_iter(), START + 6);
    recording.class_defined(b"com/acme/Plugin", 2, 31, START + 7);
    recording.compiled_code(method("com/acme/Work", "copy", true), (0x7f12_3456_789a, 640), START + 8);
    recording.generated_code("StubRoutines (1)", (0x7f12_0000_0000, 64), START + 8);
    recording.native_library("/opt/jdk/lib/server/libjvm.so", "5a4b", (0x7f15_0000_0000, 1 << 20), START + 8);
    recording.compiled_code_unloaded(0x7f12_3456_789a, START + 9);
    assert_eq!(recording.loader_unloaded(2, START + 10), 2);
    recording.thread_switches(31, (1_000_000, 77), START + 10);
    recording.phase(START + 11, "end", "asked for by a user");
    recording.finish().unwrap();

    let allocation = &events(&file, "jdk.ObjectAllocationSample")[0];
    assert_eq!((&allocation["weight"], &allocation["objectSize"]), (&526_338.into(), &4_096.into()));
    assert_eq!(allocation["objectClass"]["name"], "[B");
    let code = &events(&file, "instr.CompiledCode")[0];
    assert_eq!((&code["address"], &code["length"]), (&0x7f12_3456_789a_u64.into(), &640.into()));
    assert_eq!(events(&file, "instr.CompiledCodeUnload")[0]["method"]["name"], "copy");
    assert_eq!(events(&file, "instr.GeneratedCode")[0]["name"], "StubRoutines (1)");
    let library = &events(&file, "instr.NativeLibrary")[0];
    assert_eq!(library["name"], "/opt/jdk/lib/server/libjvm.so");
    assert_eq!((&library["buildId"], &library["address"]), (&"5a4b".into(), &0x7f15_0000_0000_u64.into()));
    assert_eq!(events(&file, "instr.LoadedMethod")[0]["method"]["descriptor"], "(I)V");
    let mut unloaded: Vec<_> = events(&file, "jdk.ClassUnload");
    unloaded.sort_by_key(|event| event["unloadedClass"]["name"].to_string());
    assert_eq!(unloaded[0]["unloadedClass"]["name"], "com/acme/Plugin");
    assert_eq!((unloaded.len(), &unloaded[1]["loader"]), (2, &2.into()));
    let switches = &events(&file, "instr.ThreadSwitches")[0];
    assert_eq!((&switches["voluntary"], &switches["involuntary"]), (&1_000_000.into(), &77.into()));
    assert_eq!(switches["eventThread"]["javaName"], "http-1");
    assert_eq!(events(&file, "instr.Phase")[0]["reason"], "asked for by a user");
    let text = jfr(&["print", "--events", "CompiledCode"], &file);
    assert!(text.contains("address = 0x7F123456789A"), "shown as an address: {text}");
}
