//! Does each way of looking at a recording (process, thread, module, package, class, method, stack) add up to the same?
//!
//! The expected text is in `tests/expected/views.txt`; `cargo xtask bless trace` writes it anew.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use expect_test::expect_file;
use sample::{START, method, options, record, without_size};
use serde_json::Value;
use trace::analysis::{GroupRow, Grouping, Measure, groups};
use trace::report::{TerminalOptions, View, json, view};
use trace::{Analysis, AnalysisOptions, Recording, SampleFrame, SampledMethod, SamplerSettings};

const ALL: [View; 8] = [
    View::Process,
    View::Thread,
    View::Groups(Grouping::Module),
    View::Groups(Grouping::Package),
    View::Groups(Grouping::Class),
    View::Method,
    View::Stack,
    View::Tree,
];
const CLASSES: [&str; 5] =
    ["com/acme/web/Page", "com/acme/web/Form", "com/acme/Shop", "java/util/HashMap", "java/sql/Connection"];

/// What an agent knows: the modules of the JDK.
fn module_of(class: &str) -> Option<String> {
    let modules = [("java/util/", "java.base"), ("java/sql/", "java.sql")];
    modules.into_iter().find(|(package, _)| class.starts_with(package)).map(|(_, module)| module.to_owned())
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A program of calls that nest, and samples of random stacks, of three threads.
fn random_recording(seed: u64) -> Analysis {
    let mut random = Random(seed);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("random.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.take_modules_from(Box::new(module_of));
    let settings = SamplerSettings { engine: "async", interval_nanos: 10_000_000, bias: "none" };
    recording.sampler_started(START, settings);
    let mut sampled: Vec<SampledMethod> = Vec::new();
    for (index, class) in CLASSES.iter().cycle().take(12).enumerate() {
        let name = format!("m{index}");
        recording.define_method(index as u32 + 1, method(class, &name, true));
        sampled.push(recording.sampled_method(method(class, &name, true)));
    }
    for thread in 1..=3 {
        recording.define_thread(thread, &format!("worker-{thread}"), thread, false);
        recording.set_thread(thread);
        let mut at = START;
        for _ in 0..20 {
            call(&mut random, &mut recording, &mut at, 4);
        }
        for tick in 0..random.below(300) as u64 {
            let depth = 1 + random.below(8);
            let frame =
                |method: &SampledMethod| SampleFrame { method: *method, line: 1, bytecode_index: 0, is_native: false };
            let stack: Vec<SampleFrame> = (0..depth).map(|_| frame(&sampled[random.below(sampled.len())])).collect();
            match random.below(20) {
                0 => recording.failed_sample(START + tick, "GC active", ""),
                other => recording.sample(START + tick, &stack, other == 1),
            }
        }
    }
    recording.finish().unwrap();
    let mut analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    analysis.recording.path = "random.jfr".into();
    analysis
}

fn call(random: &mut Random, recording: &mut Recording, at: &mut u64, depth: usize) {
    let start = *at;
    *at += 1 + random.below(1_000) as u64;
    for _ in 0..if depth == 0 { 0 } else { random.below(4) } {
        call(random, recording, at, depth - 1);
    }
    *at += 1 + random.below(1_000) as u64;
    recording.calls(&[record(1 + random.below(12) as u64, start - START, *at - start)]);
}

/// The lines with the sum, one for calls and one for samples, without their blanks.
fn sums(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| line.contains("= sum of all")).map(words).collect()
}

#[test]
fn every_view_of_random_programs_adds_up_to_the_total() {
    for seed in 1..=40 {
        let analysis = random_recording(seed);
        let profile = analysis.samples.as_ref().expect("samples");
        let (total, ticks) = (analysis.tree.total(), profile.ticks);
        let own = |rows: Vec<GroupRow>| rows.iter().map(|row| row.own).sum::<u64>();
        for grouping in [Grouping::Module, Grouping::Package, Grouping::Class] {
            let rows = groups(&analysis.tree, &analysis.frames, grouping);
            assert!(rows.iter().all(|row| row.own <= row.total && row.total <= total), "seed {seed}: {rows:?}");
            assert_eq!(rows.iter().map(|row| row.calls).sum::<u64>(), analysis.calls, "seed {seed}");
            assert_eq!(own(rows), total, "seed {seed} {grouping:?}");
            assert_eq!(own(groups(&profile.tree, &profile.frames, grouping)), ticks, "seed {seed} {grouping:?}");
        }
        // What a person reads: the same sum below each table, with all that did not fit into one line above it.
        let options = TerminalOptions { rows: 3, ..TerminalOptions::default() };
        let of_process = sums(&view(&analysis, View::Process, &options));
        assert_eq!(of_process.len(), 2);
        let figures = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[0].to_owned(), words[words.len() - 5].to_owned())
        };
        for choice in ALL.into_iter().filter(|choice| *choice != View::Tree) {
            let text = view(&analysis, choice, &options);
            let found: Vec<_> = sums(&text).iter().map(|line| figures(line)).collect();
            let expected: Vec<_> = of_process.iter().map(|line| figures(line)).collect();
            assert_eq!(found, expected, "seed {seed}\n{text}");
        }
    }
}

/// A tick rounds the caller's time down; the callee took longer than that.
#[test]
fn shares_add_up_to_100_percent_where_estimates_of_callees_exceed_their_caller() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watched.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(1, method("com/acme/Shop", "serve", false));
    recording.define_method(2, method("com/acme/Shop", "pay", true));
    recording.set_thread(1);
    recording.calls(&[record(2, 1_000_500, 1_200_000), record(1, 1_000_000, 1_000_000)]);
    recording.finish().unwrap();
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    let text = view(&analysis, View::Method, &TerminalOptions::default());
    assert_eq!(sums(&text), ["~1.20 ms 100.0 ≥2 = sum of all"], "{text}");
    assert!(text.contains("the sum is more than the 1.00 ms of all calls"), "{text}");
}

#[test]
fn modules_come_back_where_the_recorder_knew_them() {
    let analysis = random_recording(7);
    let names = |grouping| -> Vec<String> {
        let mut names: Vec<String> =
            groups(&analysis.tree, &analysis.frames, grouping).into_iter().map(|row| row.name).collect();
        names.sort();
        names
    };
    assert_eq!(names(Grouping::Module), ["com.acme", "com.acme.web", "java.base", "java.sql"]);
    assert_eq!(names(Grouping::Package), ["com.acme", "com.acme.web", "java.sql", "java.util"]);
    let data: Value = serde_json::from_str(&json(&analysis)).unwrap();
    for source in [&data, &data["samples"]] {
        let total = source["nodes"]["total"][0].as_u64().unwrap();
        for list in ["modules", "packages", "classes"] {
            let rows = source["views"][list].as_array().unwrap();
            assert_eq!(rows.iter().map(|row| row["own"].as_u64().unwrap()).sum::<u64>(), total, "{list}");
        }
    }
    assert_eq!(data["views"]["modules_are_packages"], true);
}

#[test]
fn the_terminal_shows_each_view_as_expected() {
    let analysis = random_recording(3);
    let options = TerminalOptions { rows: 4, by: Measure::Own, ..TerminalOptions::default() };
    let text: String = ALL.into_iter().map(|choice| view(&analysis, choice, &options) + "\n").collect();
    expect_file!["expected/views.txt"].assert_eq(&without_size(&text));
}
