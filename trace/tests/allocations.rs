//! Do samples of allocations come out with the same bytes in every report and every export?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::io::Read;
use std::path::{Path, PathBuf};

use sample::{START, method, options};
use trace::analysis::Grouping;
use trace::export::{Sampled, collapsed_samples, pprof_allocations, speedscope_samples};
use trace::report::{TerminalOptions, View, allocated, json, terminal, view};
use trace::{Analysis, AnalysisOptions, Recording, SampleFrame, TraceReader};

const KILOBYTE: u64 = 1_000;

/// Thread 31: `fill` below `run` allocates 6 kB of byte arrays in two samples, `run` itself 1 kB of lists; thread 32: `fill` alone 3 kB
/// of byte arrays.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("allocations.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.allocation_sampler_started(START, 512);
    recording.define_thread(31, "busy", 4711, false);
    recording.define_thread(32, "other", 4712, false);
    let [run, fill] = ["run", "fill"].map(|name| recording.sampled_method(method("com/acme/Work", name, true)));
    let frame = |method| SampleFrame { method, line: 7, bytecode_index: 3, is_native: false };
    recording.set_thread(31);
    recording.allocation_sample(START + 1, (b"[B", 16, 2 * KILOBYTE), &[frame(fill), frame(run)], false);
    recording.allocation_sample(START + 2, (b"[B", 16, 4 * KILOBYTE), &[frame(fill), frame(run)], false);
    recording.allocation_sample(START + 3, (b"java/util/ArrayList", 24, KILOBYTE), &[frame(run)], false);
    recording.set_thread(32);
    recording.allocation_sample(START + 4, (b"[B", 16, 3 * KILOBYTE), &[frame(fill)], false);
    recording.finish().unwrap();
    (folder, file)
}

fn analysis(file: &Path) -> Analysis {
    Analysis::of_file(file, AnalysisOptions::default()).unwrap()
}

fn collapsed(file: &Path, threads: bool) -> Vec<String> {
    let mut out = Vec::new();
    let mut reader = TraceReader::open(file).unwrap();
    collapsed_samples(&mut reader, AnalysisOptions::default(), Sampled::Allocations, threads, &mut out).unwrap();
    let mut lines: Vec<String> = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn every_view_adds_up_to_all_bytes() {
    let (_folder, file) = written();
    let analysis = analysis(&file);
    let profile = analysis.allocations.as_ref().unwrap();
    assert_eq!((profile.samples, profile.bytes), (4, 10 * KILOBYTE));
    let stacks = &profile.stacks;
    assert_eq!((stacks.ticks, stacks.tree.total()), (10 * KILOBYTE, 10 * KILOBYTE));
    assert_eq!(stacks.tree.nodes().iter().map(|node| node.own).sum::<u64>(), 10 * KILOBYTE);
    let threads: Vec<_> = stacks.threads.iter().map(|row| (row.name.as_str(), row.ticks)).collect();
    assert_eq!(threads, [("busy", 7 * KILOBYTE), ("other", 3 * KILOBYTE)]);
    let by_method: Vec<_> = stacks.frames.iter().map(|frame| (&*frame.method, frame.own, frame.total)).collect();
    assert!(by_method.contains(&("fill", 9 * KILOBYTE, 9 * KILOBYTE)), "{by_method:?}");
    assert!(by_method.contains(&("run", KILOBYTE, 7 * KILOBYTE)), "{by_method:?}");
}

#[test]
fn the_terminal_shows_methods_classes_and_the_tree() {
    let (_folder, file) = written();
    let analysis = analysis(&file);
    let options = TerminalOptions::default();
    for text in [terminal(&analysis, &options), allocated(analysis.allocations.as_ref().unwrap(), &options)] {
        assert!(text.contains("Methods by allocated memory, of 10.0 kB in 4 samples"), "{text}");
        assert!(text.contains("com.acme.Work.fill") && text.contains("byte[]"), "{text}");
        assert!(!text.contains("No calls"), "{text}");
    }
    for shown in [View::Thread, View::Method, View::Groups(Grouping::Class), View::Stack, View::Process] {
        let text = view(&analysis, shown, &options);
        let sum = text.lines().find(|line| line.contains("= sum of all")).unwrap();
        assert!(sum.contains("10.0 kB"), "{shown:?}: {text}");
    }
    assert!(view(&analysis, View::Tree, &options).contains("all threads"));
}

#[test]
fn json_has_the_tree_and_the_classes() {
    let (_folder, file) = written();
    let json: serde_json::Value = serde_json::from_str(&json(&analysis(&file))).unwrap();
    let allocations = &json["allocations"];
    assert_eq!((allocations["bytes"].as_u64(), allocations["samples"].as_u64()), (Some(10_000), Some(4)));
    let nodes = &allocations["nodes"];
    assert_eq!((nodes["total"][0].as_u64(), nodes["calls"][0].as_u64()), (Some(10_000), Some(4)));
    let class = &allocations["classes"][0];
    assert_eq!(
        (class["name"].as_str(), class["bytes"].as_u64(), class["samples"].as_u64()),
        (Some("byte[]"), Some(9_000), Some(3))
    );
    assert!(json["samples"].is_null());
}

#[test]
fn collapsed_stacks_and_speedscope_weigh_in_bytes() {
    let (_folder, file) = written();
    let expected = ["com.acme.Work.fill 3000", "com.acme.Work.run 1000", "com.acme.Work.run;com.acme.Work.fill 6000"];
    assert_eq!(collapsed(&file, false), expected);
    assert!(collapsed(&file, true).contains(&"[other tid=32];com.acme.Work.fill 3000".to_owned()));
    let mut out = Vec::new();
    let mut reader = TraceReader::open(&file).unwrap();
    speedscope_samples(&mut reader, AnalysisOptions::default(), Sampled::Allocations, &mut out).unwrap();
    let speedscope: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let busy = &speedscope["profiles"][0];
    assert_eq!((busy["unit"].as_str(), busy["endValue"].as_u64()), (Some("bytes"), Some(7_000)));
}

/// Returns the numbers at the beginning of these bytes, one after the other.
fn numbers(bytes: &[u8]) -> Vec<u64> {
    let mut numbers = vec![0];
    let mut shift = 0;
    for byte in bytes {
        *numbers.last_mut().unwrap() |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(0);
            shift = 0;
        }
    }
    numbers.pop();
    numbers
}

/// The fields of a message of protobuf that hold bytes; numbers are passed over.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut fields = Vec::new();
    let length = |message: &[u8]| message.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    while !message.is_empty() {
        let key = numbers(&message[..length(message)])[0];
        message = &message[length(message)..];
        let value = numbers(&message[..length(message)])[0];
        message = &message[length(message)..];
        let (bytes, rest) = message.split_at(if key & 7 == 2 { value as usize } else { 0 });
        message = rest;
        fields.push((key >> 3, bytes.to_vec()));
    }
    fields
}

#[test]
fn pprof_has_alloc_space_and_samples_of_each_path_alone() {
    let (_folder, file) = written();
    let mut compressed = Vec::new();
    let mut reader = TraceReader::open(&file).unwrap();
    pprof_allocations(&mut reader, AnalysisOptions::default(), &mut compressed).unwrap();
    let mut profile = Vec::new();
    flate2::read::GzDecoder::new(compressed.as_slice()).read_to_end(&mut profile).unwrap();
    let profile = fields(&profile);
    let values_of = |sample: &[u8]| numbers(&fields(sample).into_iter().find(|(field, _)| *field == 2).unwrap().1);
    let samples = profile.iter().filter(|(field, _)| *field == 2);
    let mut values: Vec<Vec<u64>> = samples.map(|(_, sample)| values_of(sample)).collect();
    values.sort_unstable();
    assert_eq!(values, [[1, 1_000], [1, 3_000], [2, 6_000]]);
    let texts = profile.iter().filter(|(field, _)| *field == 6).map(|(_, text)| text.as_slice());
    let types: Vec<&[u8]> = texts.skip(1).take(4).collect();
    assert_eq!(types, [&b"samples"[..], b"count", b"alloc_space", b"bytes"]);
}
