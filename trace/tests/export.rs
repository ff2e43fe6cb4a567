//! Is what is exported what other tools expect, and all of what was recorded?
//!
//! The expected files are in `tests/expected`; `cargo xtask bless trace` writes them anew.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use sample::{method, options, record, write_sample};
use serde_json::Value;
use trace::export::{self, CollapsedOptions, Weight};
use trace::{Analysis, AnalysisOptions, Recording, TraceReader};

type Written = (tempfile::TempDir, PathBuf);

fn recorded(write: impl FnOnce(&Path) -> Recording) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.jfr");
    write(&file).finish().unwrap();
    (folder, file)
}

/// Beside the sample: a second thread, and calls of level watch that do not nest by their times.
fn sample_file() -> Written {
    recorded(|file| {
        let mut recording = write_sample(file).unwrap();
        recording.define_thread(32, "pool;1\nworker", 4713, false);
        recording.set_thread(32);
        // `query` is after the end of its caller, and `größe` began, rounded, before its caller.
        let calls = [(2, 7_300, 500), (3, 5_000, 2_000), (1, 4_000, 3_000), (3, 20_000, 1_900), (2, 21_000, 2_000)];
        for (probe, start, duration) in calls {
            recording.calls(&[record(probe, start, duration)]);
        }
        recording
    })
}

/// Executes a random program; calls are written when they end, as by the agent.
struct Execution {
    recording: Recording,
    random: u64,
    now: u64,
}

impl Execution {
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    fn call(&mut self, thread: u64, depth: u64) {
        let start = self.now;
        self.now += self.below(400);
        for _ in 0..if depth == 0 { 0 } else { self.below(4) } {
            self.call(thread, depth - 1);
            self.now += self.below(400);
        }
        let probe = 1 + self.below(6);
        self.recording.set_thread(thread);
        self.recording.calls(&[record(probe, start, self.now - start)]);
        if self.below(50) == 0 {
            self.recording.flush_chunk().unwrap();
        }
    }
}

/// Methods that call each other at random, on two platform threads and many virtual ones, in several chunks.
fn random_file() -> Written {
    recorded(|file| {
        let mut execution = Execution { recording: Recording::create(file, options()).unwrap(), random: 7, now: 0 };
        for probe in 1..=6 {
            execution.recording.define_method(probe, method("com/acme/Random", &format!("m{probe}"), true));
        }
        for round in 0..60 {
            let thread = if round % 3 == 0 { 100 + round } else { 5 + round % 2 };
            execution.recording.define_thread(thread, "", 0, thread >= 100);
            execution.call(thread, 4);
            execution.now += 1;
        }
        execution.recording
    })
}

fn collapsed(file: &Path, weight: Weight, threads: bool) -> String {
    let options = CollapsedOptions { weight, threads, ..CollapsedOptions::default() };
    let mut out = Vec::new();
    export::collapsed(&mut TraceReader::open(file).unwrap(), &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn speedscope(file: &Path) -> String {
    let mut out = Vec::new();
    export::speedscope(&mut TraceReader::open(file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn chrome(file: &Path) -> String {
    let mut out = Vec::new();
    export::chrome(&mut TraceReader::open(file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn bytes(
    file: &Path,
    export: impl FnOnce(&mut TraceReader, AnalysisOptions, &mut Vec<u8>) -> io::Result<Analysis>,
) -> Vec<u8> {
    let mut out = Vec::new();
    export(&mut TraceReader::open(file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    out
}

fn perfetto(file: &Path) -> Vec<u8> {
    bytes(file, export::perfetto)
}

/// Without the compression, whose bytes are the business of a library.
fn pprof(file: &Path) -> Vec<u8> {
    let compressed = bytes(file, export::pprof);
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(compressed.as_slice()).read_to_end(&mut plain).unwrap();
    plain
}

fn otlp(file: &Path) -> String {
    String::from_utf8(bytes(file, export::otlp)).unwrap()
}

fn analysis(file: &Path) -> Analysis {
    Analysis::of_file(file, AnalysisOptions::default()).unwrap()
}

fn expect(name: &str, text: &str) {
    expect_file![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name)].assert_eq(text);
}

/// Compares bytes as `xxd -plain` prints them; `xxd -revert -plain` makes the file that a tool would read.
fn expect_bytes(name: &str, found: &[u8]) {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    expect(name, &found.chunks(30).map(line).collect::<String>());
}

fn weights(text: &str) -> u64 {
    text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

/// The complete events of a Chrome trace by thread: start and end in nanoseconds.
fn complete_events(trace: &Value) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let nanos = |number: &Value| (number.as_f64().unwrap() * 1_000.0).round() as u64;
    let mut threads: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X") {
        let start = nanos(&event["ts"]);
        threads.entry(event["tid"].as_u64().unwrap()).or_default().push((start, start + nanos(&event["dur"])));
    }
    threads
}

#[test]
fn the_sample_in_every_format() {
    let (_folder, file) = sample_file();
    expect("collapsed.txt", &collapsed(&file, Weight::OwnTime, false));
    expect("collapsed-calls.txt", &collapsed(&file, Weight::Calls, false));
    expect("collapsed-threads.txt", &collapsed(&file, Weight::OwnTime, true));
    expect("speedscope.json", &speedscope(&file));
    expect("chrome.json", &chrome(&file));
    expect("otlp.jsonl", &otlp(&file));
    expect_bytes("perfetto.pb.hex", &perfetto(&file));
    expect_bytes("pprof.pb.hex", &pprof(&file));
}

#[test]
fn the_same_recording_gives_the_same_bytes() {
    let (_folder, file) = random_file();
    assert_eq!(collapsed(&file, Weight::OwnTime, true), collapsed(&file, Weight::OwnTime, true));
    assert_eq!(speedscope(&file), speedscope(&file));
    assert_eq!(chrome(&file), chrome(&file));
    assert_eq!(otlp(&file), otlp(&file));
    assert!(perfetto(&file) == perfetto(&file) && pprof(&file) == pprof(&file));
}

#[test]
fn collapsed_weights_add_up_to_the_own_times_and_the_calls_of_the_report() {
    for (_folder, file) in [sample_file(), random_file()] {
        let analysis = analysis(&file);
        let own: u64 = analysis.frames.iter().map(|frame| frame.own).sum();
        assert_eq!(weights(&collapsed(&file, Weight::OwnTime, false)), own / 1_000);
        assert_eq!(weights(&collapsed(&file, Weight::Calls, false)), analysis.calls);
        assert_eq!(weights(&collapsed(&file, Weight::Calls, true)), analysis.calls);
    }
}

#[test]
fn collapsed_by_threads_adds_up_to_the_times_of_the_threads() {
    let (_folder, file) = random_file();
    let text = collapsed(&file, Weight::OwnTime, true);
    let of = |first: &str| weights(&text.lines().filter(|line| line.starts_with(first)).collect::<Vec<_>>().join("\n"));
    let rows = analysis(&file).threads;
    assert_eq!(rows.len(), 3);
    for row in rows {
        let first =
            if row.is_virtual { "[virtual threads];".to_owned() } else { format!("[thread {0} tid={0}];", row.id) };
        assert!(of(&first).abs_diff(row.total / 1_000) <= 1, "{first}: {} and {}", of(&first), row.total);
    }
}

#[test]
fn every_event_of_speedscope_is_in_order_and_has_its_other_end() {
    for (_folder, file) in [sample_file(), random_file()] {
        let calls = analysis(&file).calls;
        let json: Value = serde_json::from_str(&speedscope(&file)).unwrap();
        let frames = json["shared"]["frames"].as_array().unwrap().len() as u64;
        let mut begins = 0;
        for profile in json["profiles"].as_array().unwrap() {
            let (mut stack, mut now) = (Vec::new(), profile["startValue"].as_u64().unwrap());
            for event in profile["events"].as_array().unwrap() {
                let (at, frame) = (event["at"].as_u64().unwrap(), event["frame"].as_u64().unwrap());
                assert!(at >= now && frame < frames, "{event} in {}", profile["name"]);
                now = at;
                if event["type"] == "O" {
                    begins += 1;
                    stack.push(frame);
                } else {
                    assert_eq!((&event["type"], stack.pop()), (&"C".into(), Some(frame)), "{}", profile["name"]);
                }
            }
            assert!(stack.is_empty() && now <= profile["endValue"].as_u64().unwrap(), "{}", profile["name"]);
        }
        assert_eq!(begins, calls);
    }
}

#[test]
fn chrome_has_an_event_for_each_call_and_those_of_a_thread_nest() {
    for (_folder, file) in [sample_file(), random_file()] {
        let json: Value = serde_json::from_str(&chrome(&file)).unwrap();
        let threads = complete_events(&json);
        assert_eq!(threads.values().map(Vec::len).sum::<usize>() as u64, analysis(&file).calls);
        for (thread, events) in &threads {
            let named = |event: &Value| event["name"] == "thread_name" && event["tid"] == *thread;
            assert_eq!(json["traceEvents"].as_array().unwrap().iter().filter(|event| named(event)).count(), 1);
            // Callers come first: each event lies inside one of those before it, or before all of them.
            let mut open: Vec<(u64, u64)> = Vec::new();
            for event in events {
                while open.pop_if(|outer| outer.0 >= event.1 && outer.0 > event.0).is_some() {}
                let fits = open.last().is_none_or(|outer| outer.0 <= event.0 && event.1 <= outer.1);
                assert!(fits, "thread {thread}: {event:?} in {:?}", open.last());
                open.push(*event);
            }
        }
    }
}

#[test]
fn exact_calls_keep_their_times_beside_estimated_ones() {
    let (_folder, file) = recorded(|file| {
        let mut recording = Recording::create(file, options()).unwrap();
        recording.define_method(1, method("com/acme/A", "exact", true));
        recording.define_method(2, method("com/acme/A", "watched", false));
        recording.set_thread(1);
        // Two exact calls in one that was watched, in another that was watched; all after their rounded ends.
        let calls = [(1, 7_300, 7_800), (1, 7_810, 7_900), (2, 6_000, 7_000), (2, 5_000, 7_000), (1, 8_000, 8_200)];
        for (probe, start, end) in calls {
            recording.calls(&[record(probe, start, end - start)]);
        }
        recording
    });
    let events = complete_events(&serde_json::from_str(&chrome(&file)).unwrap());
    let expected = [(8_000, 8_200), (5_000, 7_900), (6_000, 7_900), (7_810, 7_900), (7_300, 7_800)];
    assert_eq!(events[&1], expected);
}

#[test]
fn a_recording_without_calls_is_valid_in_every_format() {
    let (_folder, file) = recorded(|file| Recording::create(file, options()).unwrap());
    assert_eq!(collapsed(&file, Weight::OwnTime, false), "");
    let json: Value = serde_json::from_str(&speedscope(&file)).unwrap();
    assert_eq!(json["profiles"], Value::Array(Vec::new()));
    let json: Value = serde_json::from_str(&chrome(&file)).unwrap();
    assert_eq!(json["traceEvents"].as_array().unwrap().len(), 1, "the name of the process");
}

#[test]
fn names_never_break_a_format() {
    let (_folder, file) = recorded(|file| {
        let mut recording = Recording::create(file, options()).unwrap();
        recording.define_method(1, method("a/B", "\"};\r\n\u{2028}\\ 17", true));
        recording.define_thread(1, "\";]\n\u{1b}", 1, false);
        recording.set_thread(1);
        recording.calls(&[record(1, 0, 5_000)]);
        recording
    });
    assert_eq!(collapsed(&file, Weight::OwnTime, true), "[\"_]__ tid=1];a.B.\"}____\\ 17 5\n");
    let json: Value = serde_json::from_str(&speedscope(&file)).unwrap();
    assert_eq!(json["shared"]["frames"][0]["name"], "a.B.\"};\r\n\u{2028}\\ 17");
    let json: Value = serde_json::from_str(&chrome(&file)).unwrap();
    assert_eq!(json["traceEvents"][2]["name"], "a.B.\"};\r\n\u{2028}\\ 17");
}

/// Takes some bytes and then no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_cannot_be_written_is_an_error_wherever_it_happens() {
    let (_folder, file) = sample_file();
    let kind = |result: io::Result<Analysis>| result.unwrap_err().kind();
    let all = AnalysisOptions::default();
    let reader = || TraceReader::open(&file).unwrap();
    for room in (0..chrome(&file).len()).step_by(41) {
        assert_eq!(kind(export::chrome(&mut reader(), all, &mut Full(room))), io::ErrorKind::StorageFull);
    }
    for room in (0..speedscope(&file).len()).step_by(41) {
        assert_eq!(kind(export::speedscope(&mut reader(), all, &mut Full(room))), io::ErrorKind::StorageFull);
    }
    let lines = CollapsedOptions::default();
    assert_eq!(kind(export::collapsed(&mut reader(), &lines, &mut Full(30))), io::ErrorKind::StorageFull);
}

#[test]
fn damaged_recordings_give_whole_json_of_what_is_left() {
    let (_folder, file) = random_file();
    let bytes = fs::read(&file).unwrap();
    for round in 0..60 {
        let mut damaged = bytes[..bytes.len() - round * 101].to_vec();
        let at = round * 7919 % damaged.len();
        damaged[at] ^= 0x55;
        fs::write(&file, &damaged).unwrap();
        if TraceReader::open(&file).is_ok() {
            assert!(serde_json::from_str::<Value>(&chrome(&file)).is_ok(), "round {round}");
            assert!(serde_json::from_str::<Value>(&speedscope(&file)).is_ok(), "round {round}");
            collapsed(&file, Weight::OwnTime, true);
        }
    }
}

/// A span: its trace, its caller, its start and end.
type Span = (String, Option<String>, u64, u64);

fn spans(text: &str) -> BTreeMap<String, Span> {
    let mut spans = BTreeMap::new();
    for line in text.lines() {
        let request: Value = serde_json::from_str(line).unwrap();
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
            let word = |name: &str| span[name].as_str().map(str::to_owned);
            let number = |name: &str| word(name).unwrap().parse::<u64>().unwrap();
            let times = (number("startTimeUnixNano"), number("endTimeUnixNano"));
            let known = (word("traceId").unwrap(), word("parentSpanId"), times.0, times.1);
            assert!(spans.insert(word("spanId").unwrap(), known).is_none(), "a span id twice");
        }
    }
    spans
}

#[test]
fn otlp_has_a_span_for_each_call_inside_that_of_its_caller() {
    for (_folder, file) in [sample_file(), random_file()] {
        let analysis = analysis(&file);
        let spans = spans(&otlp(&file));
        assert_eq!(spans.len() as u64, analysis.calls);
        let outermost = spans.values().filter(|(_, parent, _, _)| parent.is_none()).count();
        assert_eq!(outermost as u64, analysis.tree.node(trace::analysis::NodeId::ROOT).unwrap().calls);
        for (id, (trace, parent, start, end)) in &spans {
            assert!((id.len(), trace.len()) == (16, 32) && start <= end);
            if let Some(parent) = parent {
                let (of, _, from, to) = &spans[parent];
                assert!(of == trace && from <= start && end <= to, "{id} in {parent}");
            }
        }
    }
}

/// The fields of a message: number and content, which is the value itself for integers.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    let mut found = Vec::new();
    let varint = |message: &mut &[u8]| {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = message.split_first().unwrap();
            *message = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return value;
            }
        }
        unreachable!()
    };
    while !message.is_empty() {
        let key = varint(&mut message);
        let value = varint(&mut message);
        match key & 7 {
            0 => found.push((key >> 3, value, Vec::new())),
            2 => {
                let (content, rest) = message.split_at(value as usize);
                message = rest;
                found.push((key >> 3, 0, content.to_vec()));
            }
            other => unreachable!("wire type {other}"),
        }
    }
    found
}

fn field(message: &[u8], wanted: u64) -> Option<(u64, Vec<u8>)> {
    fields(message).into_iter().find(|(number, _, _)| *number == wanted).map(|(_, value, content)| (value, content))
}

#[test]
fn pprof_samples_add_up_to_the_calls_and_the_time_of_the_report() {
    let (_folder, file) = random_file();
    let analysis = analysis(&file);
    let (mut calls, mut time) = (0, 0);
    let profile = pprof(&file);
    for (_, _, sample) in fields(&profile).iter().filter(|(number, _, _)| *number == 2) {
        // Two packed integers.
        let (_, mut values) = field(sample, 2).unwrap();
        values.splice(0..0, [0x12, values.len() as u8]);
        let packed = fields(&values).remove(0).2;
        let mut numbers = Vec::new();
        let mut value = (0, 0);
        for byte in packed {
            value = (value.0 | u64::from(byte & 0x7f) << value.1, value.1 + 7);
            if byte < 0x80 {
                numbers.push(value.0);
                value = (0, 0);
            }
        }
        calls += numbers[0];
        time += numbers[1];
    }
    assert_eq!((calls, time), (analysis.calls, analysis.tree.total()));
}

#[test]
fn in_perfettos_format_each_begin_has_its_end_and_times_never_go_back() {
    let (_folder, file) = random_file();
    let mut open: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut begun = 0;
    for (_, _, packet) in fields(&perfetto(&file)) {
        let Some((_, event)) = field(&packet, 11) else { continue };
        let (sequence, at) = (field(&packet, 10).unwrap().0, field(&packet, 8).unwrap().0);
        let (depth, last) = open.entry(sequence).or_default();
        assert!(*last <= at);
        *last = at;
        match field(&event, 9).unwrap().0 {
            1 => (*depth, begun) = (*depth + 1, begun + 1),
            2 => *depth -= 1,
            other => unreachable!("type {other}"),
        }
    }
    assert_eq!(begun, analysis(&file).calls);
    assert!(open.len() > 2 && open.values().all(|(depth, _)| *depth == 0));
}
