//! Do values that were recorded with calls come out beside their calls, in the JDK's reader, in reports and in every export?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::path::{Path, PathBuf};

use sample::{HANDLE, QUERY, START, WATCHED, jfr, method, options, record};
use serde_json::Value;
use trace::analysis::{Slice, SliceVisitor, TimeLine};
use trace::reader::Thread;
use trace::report::{TerminalOptions, html_with_time_line, json, terminal};
use trace::{Analysis, AnalysisOptions, Recording, TraceReader, export};

const INNER: &str = r#"id=7, name="a, \"b\"""#;
const OUTER: &str = "id=8, order=com.acme.Order@1f";

/// In one thread a query inside a request, three equal calls in one another, and values that are recorded after other calls; in
/// another the same method at the same time.
fn recorded() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(HANDLE, method("com/acme/Handler", "handle", true));
    recording.define_method(QUERY, method("com/acme/Store", "query", true));
    recording.define_method(WATCHED, method("com/acme/Tree", "walk", false));
    recording.define_thread(31, "http-1", 4712, false);
    recording.define_thread(32, "http-2", 4713, false);
    recording.set_thread(31);
    recording.call_with_arguments(QUERY, START + 2_000, 3_000, INNER);
    recording.calls(&[record(u64::from(QUERY), 6_000, 100)]);
    recording.call_with_arguments(HANDLE, START + 1_000, 8_000, OUTER);
    for depth in ["n=0", "n=1", "n=2"] {
        recording.call_with_arguments(WATCHED, START + 1_000_000, 1_000_000, depth);
    }
    recording.calls(&[record(u64::from(HANDLE), 3_000_000, 500), record(u64::from(QUERY), 3_000_600, 50)]);
    recording.arguments_of_call(HANDLE, START + 3_000_000, 500, "text=\"late\"");
    recording.set_thread(32);
    recording.call_with_arguments(QUERY, START + 2_000, 3_000, "other=1");
    recording.finish().unwrap();
    (folder, file)
}

#[derive(Default)]
struct Seen(Vec<String>);

impl SliceVisitor for Seen {
    fn thread(&mut self, _thread: &Thread) {}

    fn slice(&mut self, slice: &Slice<'_>) {
        let start = slice.start - sample::EPOCH;
        self.0.push(format!("{} {} {start} {}", slice.thread, slice.frame.method, slice.arguments.unwrap_or("-")));
    }
}

fn analysed(file: &Path) -> Analysis {
    Analysis::of_file(file, AnalysisOptions::default()).unwrap()
}

#[test]
fn each_call_gets_its_own_values() {
    let (_folder, file) = recorded();
    let mut seen = Seen::default();
    Analysis::with_slices(&mut TraceReader::open(&file).unwrap(), AnalysisOptions::default(), &mut seen);
    seen.0.sort();
    let depth = |line: &&String| line.contains("walk");
    let walks: Vec<&str> = seen.0.iter().filter(depth).map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(walks, ["n=0", "n=1", "n=2"]);
    let others: Vec<&str> = seen.0.iter().filter(|line| !depth(line)).map(String::as_str).collect();
    assert_eq!(
        others,
        [
            format!("31 handle 1000 {OUTER}").as_str(),
            "31 handle 3000000 text=\"late\"",
            format!("31 query 2000 {INNER}").as_str(),
            "31 query 3000600 -",
            "31 query 6000 -",
            "32 query 2000 other=1",
        ]
    );
}

#[test]
fn of_equal_calls_the_outermost_has_the_values_that_came_last() {
    struct Depths(Vec<(usize, String)>);
    impl SliceVisitor for Depths {
        fn thread(&mut self, _thread: &Thread) {}
        fn slice(&mut self, slice: &Slice<'_>) {
            if slice.frame.method == "walk" {
                self.0.push((slice.depth, slice.arguments.unwrap().to_owned()));
            }
        }
    }
    let (_folder, file) = recorded();
    let mut depths = Depths(Vec::new());
    Analysis::with_slices(&mut TraceReader::open(&file).unwrap(), AnalysisOptions::default(), &mut depths);
    assert_eq!(depths.0, [(0, "n=2".to_owned()), (1, "n=1".to_owned()), (2, "n=0".to_owned())]);
}

#[test]
fn the_jdk_reads_the_values_beside_their_calls() {
    let (_folder, file) = recorded();
    let text = jfr(&["print", "--json", "--events", "instr.CallArguments"], &file);
    let json: Value = serde_json::from_str(&text).unwrap();
    let events = json["recording"]["events"].as_array().unwrap();
    assert_eq!(events.len(), 7);
    let first = &events[0]["values"];
    assert_eq!((&first["arguments"], &first["method"]["name"]), (&INNER.into(), &"query".into()));
    assert_eq!((&first["duration"], &first["exact"]), (&"PT0.000003S".into(), &true.into()));
}

#[test]
fn reports_show_the_longest_calls_with_their_values() {
    let (_folder, file) = recorded();
    let analysis = analysed(&file);
    let durations: Vec<u64> = analysis.slowest_calls.iter().map(|call| call.duration).collect();
    assert_eq!(durations, [8_000, 3_000, 3_000, 500], "at level watch, how long calls of one tick took is unknown");
    let shown = terminal(&analysis, &TerminalOptions::default());
    assert!(shown.contains("Slowest calls with their arguments") && shown.contains(OUTER), "{shown}");
    let data: Value = serde_json::from_str(&json(&analysis)).unwrap();
    let slow = &data["slowest_calls"][0];
    assert_eq!((&slow["method"], &slow["arguments"]), (&"com.acme.Handler.handle".into(), &OUTER.into()));
    assert_eq!((&slow["start"], &slow["thread"], &slow["estimated"]), (&1_000.into(), &"http-1".into(), &false.into()));
}

#[test]
fn the_time_line_knows_the_values_of_its_calls() {
    let (_folder, file) = recorded();
    let mut reader = TraceReader::open(&file).unwrap();
    let mut line = TimeLine::of(&reader);
    let analysis = Analysis::with_slices(&mut reader, AnalysisOptions::default(), &mut line);
    let calls = line.lanes(10).1;
    let with: Vec<&str> = calls.iter().filter_map(|call| call.arguments.as_deref()).collect();
    assert_eq!(with.len(), 7);
    let page = html_with_time_line(&analysis, &line);
    assert!(page.contains("order=com.acme.Order@1f") && page.contains("\"arguments\":{"));
}

#[test]
fn chrome_has_them_as_args() {
    let (_folder, file) = recorded();
    let mut out = Vec::new();
    export::chrome(&mut TraceReader::open(&file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    let json: Value = serde_json::from_slice(&out).unwrap();
    let of = |ts: f64, tid: u64| {
        let events = json["traceEvents"].as_array().unwrap();
        events.iter().find(|event| event["ph"] == "X" && event["ts"] == ts && event["tid"] == tid).unwrap()["args"]
            .clone()
    };
    assert_eq!(of(2.0, 31), serde_json::json!({ "id": "7", "name": "a, \"b\"" }));
    assert_eq!(of(1.0, 31), serde_json::json!({ "id": "8", "order": "com.acme.Order@1f" }));
    assert_eq!(of(6.0, 31), Value::Null);
}

#[test]
fn otlp_has_them_as_attributes() {
    let (_folder, file) = recorded();
    let mut out = Vec::new();
    export::otlp(&mut TraceReader::open(&file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    let line: Value = serde_json::from_slice(out.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let spans = line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let of = |key: &str| -> Vec<&str> {
        let attributes = spans.iter().flat_map(|span| span["attributes"].as_array().unwrap());
        attributes
            .filter(|entry| entry["key"] == key)
            .map(|entry| entry["value"]["stringValue"].as_str().unwrap())
            .collect()
    };
    assert_eq!(of("instr.argument.name"), ["a, \"b\""]);
    assert_eq!(of("instr.argument.n").len(), 3);
}

#[test]
fn perfetto_has_them_as_annotations_of_the_begin() {
    let (_folder, file) = recorded();
    let mut out = Vec::new();
    export::perfetto(&mut TraceReader::open(&file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    // DebugAnnotation { string_value (6), name (10) }, as field 4 of TrackEvent.
    let annotation = |name: &str, value: &str| {
        let text = |tag: u8, text: &str| [&[tag << 3 | 2, text.len() as u8], text.as_bytes()].concat();
        let inner = [text(6, value), text(10, name)].concat();
        [&[4 << 3 | 2, inner.len() as u8][..], &inner].concat()
    };
    for (name, value) in [("name", "a, \"b\""), ("order", "com.acme.Order@1f"), ("text", "late"), ("n", "2")] {
        let wanted = annotation(name, value);
        assert!(out.windows(wanted.len()).any(|window| window == wanted), "{name}={value}");
    }
}
