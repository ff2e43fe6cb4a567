//! Does a recording in memory keep what it should, forget the rest, and give whole files whenever it is asked?
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sample;

use std::path::Path;

use sample::{START, method, options, record};
use trace::reader::{CodeMap, CodeOwner, Event};
use trace::report::{TerminalOptions, terminal};
use trace::{Analysis, AnalysisOptions, Claim, MethodInfo, Recording, RecordingOptions, RingOptions, TraceReader};

const SECOND: u64 = 1_000_000_000;

fn ring(keep_nanos: Option<u64>, keep_bytes: u64) -> Recording {
    let mut recording = Recording::in_memory(options(), RingOptions { keep_nanos, keep_bytes });
    recording.define_method(1, method("com/acme/Job", "run", true));
    recording.define_thread(7, "worker", 70, false);
    recording
}

fn dump(recording: &mut Recording, at: u64, folder: &Path) -> Analysis {
    let file = folder.join(format!("dump-{at}.jfr"));
    recording.dump(START + at, "asked for").unwrap().write(&file).unwrap();
    Analysis::of_file(&file, AnalysisOptions::default()).unwrap()
}

#[test]
fn only_the_last_seconds_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(Some(10 * SECOND), 1 << 20);
    for second in 0..60 {
        recording.set_thread(7);
        recording.calls(&[record(1, second * SECOND, 1_000)]);
        recording.flush_chunk().unwrap();
    }
    let analysis = dump(&mut recording, 59 * SECOND + 1_000, folder.path());
    assert_eq!(analysis.calls, 11, "each chunk holds one call, those that ended within ten seconds stay");
    assert_eq!(analysis.recording.end_reason, "asked for");
    assert!(analysis.recording.is_finished);
    assert_eq!(analysis.threads[0].name, "worker");
    // Nothing is added any more, but the kept chunks still expire.
    assert_eq!(dump(&mut recording, 65 * SECOND, folder.path()).calls, 5);
    assert_eq!(dump(&mut recording, 100 * SECOND, folder.path()).calls, 0);
}

/// A loop of 12 s calls `run` for 500 ms each second; a dump keeps the last 5 s of that.
#[test]
fn the_own_time_of_a_call_that_began_before_what_is_kept_has_the_missing_time_as_its_margin() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(Some(5 * SECOND), 1 << 20);
    recording.define_method(2, method("com/acme/Job", "loop", true));
    recording.set_thread(7);
    for second in 0..12 {
        recording.calls(&[record(1, second * SECOND, SECOND / 2)]);
        recording.flush_chunk().unwrap();
    }
    recording.calls(&[record(2, 0, 12 * SECOND)]);
    let analysis = dump(&mut recording, 12 * SECOND, folder.path());
    let of = |name: &str| analysis.frames.iter().find(|frame| frame.method == name).unwrap();
    let (cut, whole) = (of("loop"), of("run"));
    assert!(cut.own > 9 * SECOND && cut.own_is_estimated && cut.own - cut.own_margin <= 6 * SECOND, "{cut:?}");
    assert!(!whole.own_is_estimated && whole.own_margin == 0 && cut.total == 12 * SECOND);
    let warning = analysis.warnings.iter().find(|warning| warning.contains("com.acme.Job.loop")).unwrap();
    assert!(warning.starts_with("1 of the calls began before"), "{warning}");
    let text = terminal(&analysis, &TerminalOptions { width: 200, ..TerminalOptions::default() });
    let row = text.lines().find(|line| line.ends_with("com.acme.Job.loop")).unwrap();
    assert!(row.trim_start().starts_with('~') && row.matches('~').count() == 1, "{row}");
}

#[test]
fn memory_is_bounded_whatever_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let keep = 1 << 20;
    let mut recording = ring(None, keep);
    recording.set_thread(7);
    let mut most = 0;
    for turn in 0..400 {
        let calls: Vec<_> = (0..1_000).map(|call| record(1, turn * 1_000_000 + call * 1_000, 500)).collect();
        recording.calls(&calls);
        most = most.max(recording.kept_bytes());
    }
    // A chunk of an eighth of it, which is looked at after each batch of 1024 calls of at most 40 bytes.
    assert!(most < keep + keep / 8 + 64 * 1024, "{most}");
    let analysis = dump(&mut recording, 400_000_000, folder.path());
    assert!((30_000..80_000).contains(&analysis.calls), "{}", analysis.calls);
    assert!(analysis.recording.file_bytes <= keep + keep / 8 + 256 * 1024);
}

#[test]
fn a_dump_begins_with_the_state_at_the_beginning_of_what_it_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(Some(10 * SECOND), 1 << 20);
    recording.live_thread(7, START);
    recording.loaded_class(b"java/lang/Object", 0, START);
    recording.loaded_class(b"com/acme/Old", 3, START);
    recording.start_up_done(START + 5);
    recording.configuration(START + 6, "sampler.engine", "async");
    recording.flush_chunk().unwrap();
    recording.define_thread(8, "short", 80, false);
    recording.thread_started(8, START + SECOND);
    assert_eq!(recording.loader_unloaded(3, START + SECOND), 1);
    recording.flush_chunk().unwrap();
    // Everything above is older than ten seconds now.
    recording.thread_ended(8, START + 20 * SECOND);
    recording.class_defined(b"com/acme/New", 4, 7, START + 20 * SECOND);
    recording.flush_chunk().unwrap();

    let file = folder.path().join("dump.jfr");
    recording.dump(START + 21 * SECOND, "asked for").unwrap().write(&file).unwrap();
    let text = describe(&file);
    let expected = [
        "LiveThread 7 worker",
        "LiveThread 8 short",
        "LoadedClass java/lang/Object 0",
        "StartUpDone",
        "Phase profiling",
        "ThreadEnd 8 short",
        "ClassDefine com/acme/New 4",
        "Phase end",
    ];
    assert_eq!(text, expected);
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    assert!(analysis.recording.configuration.contains(&("sampler.engine".to_owned(), "async".to_owned())));
    assert_eq!(analysis.recording.pid, 4711);
    assert_eq!(analysis.warnings, Vec::<String>::new());
}

fn switch_probes(recording: &mut Recording, at: u64, [from, to]: [&str; 2]) {
    recording.claim(START + at, None, &Claim { owner: "user", reason: "instr pause and resume", from, to });
    recording.flush_chunk().unwrap();
}

#[test]
fn a_dump_reports_a_pause_that_began_before_what_it_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(Some(10 * SECOND), 1 << 20);
    recording.start_up_done(START);
    switch_probes(&mut recording, SECOND, ["recording", "paused"]);
    // The pause is forgotten as an event, and nothing is recorded any more.
    let warning = |analysis: Analysis| analysis.warnings.join("; ");
    let paused = warning(dump(&mut recording, 40 * SECOND, folder.path()));
    assert!(paused.starts_with("all probes were paused for ") && paused.contains("(100 % of the time)"), "{paused}");
    switch_probes(&mut recording, 50 * SECOND, ["paused", "recording"]);
    recording.set_thread(7);
    for second in 51..70 {
        recording.calls(&[record(1, second * SECOND, 1_000)]);
        recording.flush_chunk().unwrap();
    }
    // Everything that is kept is later than the end of the pause.
    assert_eq!(warning(dump(&mut recording, 70 * SECOND, folder.path())), "");
}

/// The events of threads, classes and phases.
fn describe(file: &Path) -> Vec<String> {
    let json = sample::jfr(
        &[
            "print",
            "--json",
            "--events",
            "instr.LiveThread,instr.LoadedClass,instr.StartUpDone,instr.Phase,jdk.ThreadEnd,jdk.ClassDefine,jdk.ClassUnload",
        ],
        file,
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let events = json["recording"]["events"].as_array().unwrap().clone();
    let describe = |event: serde_json::Value| {
        let name = event["type"].as_str().unwrap().rsplit('.').next().unwrap().to_owned();
        let values = &event["values"];
        let text = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let class =
            ["loadedClass", "definedClass", "unloadedClass"].into_iter().find(|field| !values[*field].is_null());
        if let Some(field) = class {
            return format!("{name} {} {}", text(&values[field]["name"]), values["loader"]);
        }
        let thread = &values["thread"];
        if !thread.is_null() {
            return format!("{name} {} {}", thread["javaThreadId"], text(&thread["javaName"]));
        }
        format!("{name} {}", values["phase"].as_str().unwrap_or_default()).trim_end().to_owned()
    };
    events.into_iter().map(describe).collect()
}

#[test]
fn a_file_without_the_start_up_mark_has_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(None, 1 << 20);
    let warned = |analysis: Analysis| analysis.warnings.iter().any(|warning| warning.starts_with("no start-up mark"));
    assert!(warned(dump(&mut recording, SECOND, folder.path())));
    recording.start_up_done(START + 2 * SECOND);
    assert!(!warned(dump(&mut recording, 3 * SECOND, folder.path())));
}

#[test]
fn a_state_larger_than_a_chunk_is_written_in_several() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(Some(SECOND), 1 << 20);
    for number in 0..20_000 {
        recording.loaded_class(format!("com/acme/generated/Class{number}").as_bytes(), 0, START);
    }
    recording.start_up_done(START);
    recording.set_thread(7);
    recording.calls(&[record(1, 50 * SECOND, 5)]);
    let file = folder.path().join("dump.jfr");
    recording.dump(START + 50 * SECOND + 5, "asked for").unwrap().write(&file).unwrap();
    let summary = sample::jfr(&["summary"], &file);
    assert_eq!(sample::count(&summary, "instr.LoadedClass"), 20_000, "{summary}");
    assert_eq!(sample::count(&summary, "instr.MethodCall"), 1, "{summary}");
    assert!(TraceReader::open(&file).unwrap().chunk_count() > 5);
}

#[test]
fn each_dump_is_whole_and_the_recording_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(None, 1 << 20);
    recording.start_up_done(START);
    for turn in 1..=3 {
        recording.set_thread(7);
        recording.calls(&[record(1, turn * SECOND, 1_000)]);
        let analysis = dump(&mut recording, turn * SECOND + 2_000, folder.path());
        assert_eq!((analysis.calls, analysis.warnings), (turn, Vec::new()));
    }
}

#[test]
fn a_dump_that_cannot_be_written_leaves_nothing() {
    let mut recording = ring(None, 1 << 20);
    let dump = recording.dump(START, "asked for").unwrap();
    assert!(dump.write(Path::new("/nowhere/at/all.jfr")).is_err());
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken.jfr");
    std::fs::create_dir(&taken).unwrap();
    assert!(dump.write(&taken).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_recording_with_a_file_has_nothing_to_dump() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = Recording::create(&folder.path().join("file.jfr"), options()).unwrap();
    assert!(recording.dump(START, "asked for").is_none());
}

fn code<'a>(name: &'a str) -> MethodInfo<'a> {
    method("com/acme/Job", name, true)
}

fn name_at(map: &CodeMap, address: u64, at: u64) -> String {
    match map.owner_at(address, at) {
        Some(CodeOwner::Method { name, .. }) => name.to_string(),
        Some(CodeOwner::Jvm(name)) => format!("jvm {name}"),
        Some(CodeOwner::Library { name, build_id }) => format!("{name} {build_id}"),
        None => String::new(),
    }
}

#[test]
fn an_address_that_is_used_again_belongs_to_the_method_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.jfr");
    let mut recording = Recording::create(&file, RecordingOptions { max_chunk_bytes: 4096, ..options() }).unwrap();
    recording.generated_code("Interpreter", (0x7f00_0000_1000, 0x400), START);
    recording.compiled_code(code("first"), (0x7f00_0000_2000, 0x100), START + 100);
    recording.compiled_code(code("neighbour"), (0x7f00_0000_2100, 0x80), START + 100);
    recording.flush_chunk().unwrap();
    recording.compiled_code_unloaded(0x7f00_0000_2000, START + 200);
    recording.compiled_code_unloaded(0x7f00_dead_0000, START + 200);
    recording.compiled_code(code("second"), (0x7f00_0000_2040, 0x60), START + 300);
    // There is no event that `second` is gone.
    recording.compiled_code(code("third"), (0x7f00_0000_2000, 0x50), START + 400);
    recording.finish().unwrap();

    let map = CodeMap::of_reader(&TraceReader::open(&file).unwrap()).unwrap();
    let at = |nanos: u64| sample::EPOCH + nanos;
    assert_eq!(map.count(), 5);
    assert_eq!(name_at(&map, 0x7f00_0000_2050, at(50)), "", "there is no code yet");
    assert_eq!(name_at(&map, 0x7f00_0000_2050, at(150)), "first");
    assert_eq!(name_at(&map, 0x7f00_0000_2050, at(250)), "", "it is gone");
    assert_eq!(name_at(&map, 0x7f00_0000_2050, at(350)), "second");
    assert_eq!(name_at(&map, 0x7f00_0000_2050, at(450)), "", "the third is shorter, and the second cannot be there");
    assert_eq!(name_at(&map, 0x7f00_0000_204f, at(450)), "third");
    assert_eq!(name_at(&map, 0x7f00_0000_2100, at(450)), "neighbour");
    assert_eq!(name_at(&map, 0x7f00_0000_1000, at(0)), "jvm Interpreter");
    assert_eq!(name_at(&map, 0x7f00_0000_1400, at(0)), "");
}

#[test]
fn addresses_in_native_libraries_belong_to_a_build_id() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.native_library("/opt/jdk/lib/server/libjvm.so", "5a4b", (0x7f00_0000_0000, 0x100_0000), START + 100);
    recording.compiled_code(code("compiled"), (0x7f00_4000_0000, 0x100), START + 100);
    // Another one is there where it was, at the end.
    recording.native_library("/tmp/libother.so", "", (0x7f00_0080_0000, 0x1000), START + 200);
    recording.finish().unwrap();
    let map = CodeMap::of_reader(&TraceReader::open(&file).unwrap()).unwrap();
    let at = |nanos: u64| sample::EPOCH + nanos;
    assert_eq!(
        name_at(&map, 0x7f00_0000_1234, at(1)),
        "/opt/jdk/lib/server/libjvm.so 5a4b",
        "there before it was recorded"
    );
    assert_eq!(map.place_at(0x7f00_0000_1234, at(150)).unwrap().1, 0x1234);
    assert_eq!(name_at(&map, 0x7f00_0080_0001, at(150)), "/opt/jdk/lib/server/libjvm.so 5a4b");
    assert_eq!(name_at(&map, 0x7f00_0080_0001, at(250)), "/tmp/libother.so ");
    assert_eq!(name_at(&map, 0x7f00_4000_0001, at(150)), "compiled");
    assert_eq!((name_at(&map, 0x7f00_0100_0000, at(150)), map.count()), (String::new(), 3));
}

#[test]
fn the_code_that_exists_when_a_ring_begins_is_in_its_dump() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = ring(Some(SECOND), 1 << 20);
    recording.native_library("/usr/lib/libz.so.1", "00beef", (0x7f00_0000_0000, 0x1_0000), START);
    recording.compiled_code(code("stays"), (0x1000, 0x100), START);
    recording.compiled_code(code("goes"), (0x2000, 0x100), START);
    recording.flush_chunk().unwrap();
    recording.compiled_code_unloaded(0x2000, START + SECOND / 2);
    recording.flush_chunk().unwrap();
    let file = folder.path().join("dump.jfr");
    recording.dump(START + 10 * SECOND, "asked for").unwrap().write(&file).unwrap();
    let reader = TraceReader::open(&file).unwrap();
    let map = CodeMap::of_reader(&reader).unwrap();
    let at = sample::EPOCH + 10 * SECOND;
    assert_eq!((name_at(&map, 0x1001, at), name_at(&map, 0x2001, at)), ("stays".to_owned(), String::new()));
    assert_eq!(name_at(&map, 0x7f00_0000_0001, at), "/usr/lib/libz.so.1 00beef");
    let recorded = (0..reader.chunk_count()).map(|index| {
        let chunk = reader.chunk(index).unwrap();
        chunk.events().filter(|event| matches!(event, Ok(Event::CompiledCode { .. }))).count()
    });
    assert_eq!(recorded.sum::<usize>(), 1);
}
