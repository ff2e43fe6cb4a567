//! Do samples come back as they were taken, and does every view of them add up to all of them?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sample::{START, method, options};
use trace::analysis::{Grouping, SampleProfile, groups, stacks};
use trace::export::Sampled::RunningThreads;
use trace::export::{collapsed_samples, speedscope_samples};
use trace::report::{TerminalOptions, json, moved, terminal};
use trace::{Analysis, AnalysisOptions, Recording, RecordingOptions, SampleFrame, SamplerSettings, TraceReader};

const MILLISECOND: u64 = 1_000_000;

fn settings() -> SamplerSettings<'static> {
    SamplerSettings { engine: "async", interval_nanos: 10 * MILLISECOND, bias: "none to speak of" }
}

/// Threads 31 (`busy`: C<-B<-A six times, B<-A twice) and 32 (`idle`: C<-C<-A, one cut stack, one failure).
fn write_samples(path: &Path, options: RecordingOptions) {
    let mut recording = Recording::create(path, options).unwrap();
    recording.sampler_started(START, settings());
    recording.define_thread(31, "busy", 4711, false);
    recording.define_thread(32, "idle", 4712, false);
    let [a, b, c] = ["a", "b", "c"].map(|name| recording.sampled_method(method("com/acme/Work", name, true)));
    let frame = |method, line| SampleFrame { method, line, bytecode_index: 3, is_native: false };
    recording.set_thread(31);
    for tick in 0..6 {
        let line = 30 + u32::from(tick == 5);
        recording.sample(START + tick * MILLISECOND, &[frame(c, line), frame(b, 20), frame(a, 10)], false);
    }
    recording.start_up_done(START + 5 * MILLISECOND / 2);
    for tick in 6..8 {
        recording.sample(START + tick * MILLISECOND, &[frame(b, 21), frame(a, 10)], false);
    }
    recording.set_thread(32);
    recording.sample(START + 9 * MILLISECOND, &[frame(c, 30), frame(c, 31), frame(a, 11)], false);
    recording.sample(START + 9 * MILLISECOND, &[frame(c, 30), frame(b, 20)], true);
    recording.failed_sample(START + 9 * MILLISECOND, "GC active", "libjvm.so: memcpy");
    let statistics = recording.finish().unwrap();
    assert_eq!((statistics.samples, statistics.calls), (11, 0));
}

fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.jfr");
    write_samples(&file, options());
    (folder, file)
}

fn profile(file: &Path, options: AnalysisOptions) -> SampleProfile {
    Analysis::of_file(file, options).unwrap().samples.expect("samples")
}

fn by_method(profile: &SampleProfile) -> BTreeMap<String, (u64, u64)> {
    profile.frames.iter().map(|frame| (frame.method.clone(), (frame.own, frame.total))).collect()
}

fn check_sums(profile: &SampleProfile) {
    assert_eq!(profile.tree.total(), profile.ticks, "tree");
    assert_eq!(profile.tree.nodes().iter().map(|node| node.own).sum::<u64>(), profile.ticks, "stacks");
    assert_eq!(profile.frames.iter().map(|frame| frame.own).sum::<u64>(), profile.ticks, "methods");
    for grouping in [Grouping::Module, Grouping::Package, Grouping::Class] {
        let rows = groups(&profile.tree, &profile.frames, grouping);
        assert_eq!(rows.iter().map(|row| row.own).sum::<u64>(), profile.ticks, "{grouping:?}");
    }
    let (rows, _) = stacks(&profile.tree, usize::MAX);
    assert_eq!(rows.iter().map(|row| row.own).sum::<u64>(), profile.ticks, "distinct stacks");
    assert_eq!(profile.lines.iter().map(|row| row.ticks).sum::<u64>(), profile.ticks, "lines");
    assert_eq!(profile.threads.iter().map(|row| row.ticks).sum::<u64>(), profile.ticks, "threads");
}

#[test]
fn every_level_of_a_stack_counts_and_every_view_adds_up() {
    let (_folder, file) = written();
    let profile = profile(&file, AnalysisOptions::default());
    check_sums(&profile);
    assert_eq!((profile.ticks, profile.truncated, profile.failed_ticks()), (11, 1, 1));
    assert_eq!(profile.failed, [("GC active".to_owned(), 1)]);
    let methods = by_method(&profile);
    assert_eq!(methods["a"], (0, 9));
    assert_eq!(methods["b"], (2, 9));
    assert_eq!(methods["c"], (8, 8), "a recursive method counts once a stack");
    assert_eq!(methods["[no stack] libjvm.so: memcpy"], (1, 1));
    assert_eq!(methods["[outer frames missing]"], (0, 1));
    let threads: Vec<_> = profile.threads.iter().map(|row| (row.name.as_str(), row.id, row.ticks)).collect();
    assert_eq!(threads, [("busy", 31, 8), ("idle", 32, 3)]);
    let lines: Vec<_> = profile.lines.iter().map(|row| (row.line, row.ticks)).take(2).collect();
    assert_eq!(lines, [(30, 7), (21, 2)]);
    assert_eq!((profile.engine.as_str(), profile.interval_nanos), ("async", Some(10 * MILLISECOND)));
}

#[test]
fn samples_that_are_written_after_the_end_of_their_thread_have_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ended.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.sampler_started(START, settings());
    recording.define_thread(31, "busy", 4711, false);
    let method = recording.sampled_method(method("com/acme/Work", "a", true));
    recording.thread_ended(31, START + 9 * MILLISECOND);
    for tick in 7..9 {
        recording.set_thread(31);
        let frame = SampleFrame { method, line: 10, bytecode_index: 3, is_native: false };
        recording.sample(START + tick * MILLISECOND, &[frame], false);
        recording.flush_chunk().unwrap();
    }
    recording.finish().unwrap();
    let profile = profile(&file, AnalysisOptions::default());
    let threads: Vec<_> = profile.threads.iter().map(|row| (row.name.as_str(), row.id, row.ticks)).collect();
    assert_eq!(threads, [("busy", 31, 2)]);
}

#[test]
fn chunks_do_not_change_what_samples_say() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chunks.jfr");
    let mut recording = Recording::create(&file, RecordingOptions { max_chunk_bytes: 4096, ..options() }).unwrap();
    recording.define_thread(31, "busy", 4711, false);
    recording.set_thread(31);
    let methods: Vec<_> =
        (0..200).map(|n| recording.sampled_method(method("com/acme/Work", &format!("m{n}"), true))).collect();
    for tick in 0..10_000_u64 {
        let frame = |method| SampleFrame { method, line: 1, bytecode_index: 0, is_native: false };
        let stack = [methods[tick as usize % 200], methods[0], methods[1]].map(frame);
        recording.sample(START + tick * MILLISECOND, &stack, false);
    }
    assert!(recording.finish().unwrap().chunks > 10);
    let profile = profile(&file, AnalysisOptions::default());
    check_sums(&profile);
    assert_eq!(profile.ticks, 10_000);
    assert_eq!((profile.frames.len(), profile.failed_ticks()), (200, 0));
    assert!(profile.frames.iter().all(|frame| frame.own == 50), "each was the innermost as often");
}

#[test]
fn samples_before_the_mark_are_left_out_if_asked_for() {
    let (_folder, file) = written();
    let profile = profile(&file, AnalysisOptions { after_start_up: true, ..AnalysisOptions::default() });
    check_sums(&profile);
    assert_eq!(profile.ticks, 8, "three ticks were before it");
}

#[test]
fn a_report_of_samples_alone_shows_them_and_no_calls() {
    let (_folder, file) = written();
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    let text = terminal(&analysis, &TerminalOptions { lines: true, ..TerminalOptions::default() });
    for expected in [
        "Hot methods by samples: 11 samples, one each 10.0 ms of processor time: 110 ms",
        "engine async: none to speak of",
        "1 stacks are deeper than what was recorded",
        "1 samples (9.1 %) have no stack: GC active 1",
        "com.acme.Work.c:30",
        "busy (id 31)",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
    assert!(!text.contains("Methods by own time") && !text.contains("What to check"), "{text}");
    assert!(!text.contains("engine = "), "there is no reason to change the engine");
    let data: serde_json::Value = serde_json::from_str(&json(&analysis)).unwrap();
    assert_eq!(data["samples"]["ticks"], 11);
    assert_eq!(data["samples"]["nodes"]["total"][0], 11);
}

#[test]
fn where_a_quarter_of_the_samples_has_no_stack_the_report_names_the_other_engine() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.sampler_started(START, settings());
    recording.define_thread(31, "busy", 4711, false);
    recording.set_thread(31);
    let work = recording.sampled_method(method("com/acme/Work", "a", true));
    let frame = SampleFrame { method: work, line: 10, bytecode_index: 3, is_native: false };
    recording.sample(START, &[frame], false);
    recording.failed_sample(START + MILLISECOND, "unknown place in Java", "");
    recording.finish().unwrap();
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    let text = terminal(&analysis, &TerminalOptions::default());
    assert!(text.contains("[sampler] engine = \"jvmti\" has a stack for nearly all samples"), "{text}");
}

#[test]
fn exported_samples_are_the_recorded_ones() {
    let (_folder, file) = written();
    let mut lines = Vec::new();
    collapsed_samples(
        &mut TraceReader::open(&file).unwrap(),
        AnalysisOptions::default(),
        RunningThreads,
        false,
        &mut lines,
    )
    .unwrap();
    let text = String::from_utf8(lines).unwrap();
    let mut found: Vec<&str> = text.lines().collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "[no stack] libjvm.so: memcpy 1",
            "[outer frames missing];com.acme.Work.b;com.acme.Work.c 1",
            "com.acme.Work.a;com.acme.Work.b 2",
            "com.acme.Work.a;com.acme.Work.b;com.acme.Work.c 6",
            "com.acme.Work.a;com.acme.Work.c;com.acme.Work.c 1",
        ]
    );
    let mut by_thread = Vec::new();
    collapsed_samples(
        &mut TraceReader::open(&file).unwrap(),
        AnalysisOptions::default(),
        RunningThreads,
        true,
        &mut by_thread,
    )
    .unwrap();
    let by_thread = String::from_utf8(by_thread).unwrap();
    assert!(by_thread.contains("[busy tid=31];com.acme.Work.a;com.acme.Work.b 2"), "{by_thread}");

    let mut out = Vec::new();
    speedscope_samples(&mut TraceReader::open(&file).unwrap(), AnalysisOptions::default(), RunningThreads, &mut out)
        .unwrap();
    let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let busy = &file["profiles"][0];
    assert_eq!((&busy["name"], &busy["type"]), (&"busy".into(), &"sampled".into()));
    let weights: u64 = busy["weights"].as_array().unwrap().iter().map(|weight| weight.as_u64().unwrap()).sum();
    assert_eq!(weights, 80 * MILLISECOND);
    assert_eq!(busy["samples"].as_array().unwrap().len(), busy["weights"].as_array().unwrap().len());
}

#[test]
fn a_share_that_moved_is_reported_and_one_that_did_not_is_not() {
    let (_folder, file) = written();
    let all = profile(&file, AnalysisOptions::default());
    let later = profile(&file, AnalysisOptions { after_start_up: true, ..AnalysisOptions::default() });
    let text = moved(&all, &later, 6.0, &TerminalOptions::default());
    // b: 2 of 11, then 2 of 8; c: 8 of 11, then 5 of 8.
    let rows: Vec<&str> = text.lines().skip(2).map(str::trim).collect();
    assert_eq!(rows, ["72.7   62.5   -10.2  com.acme.Work.c", "18.2   25.0    +6.8  com.acme.Work.b"], "{text}");
    assert!(moved(&all, &all, 0.5, &TerminalOptions::default()).contains("none"));
}
