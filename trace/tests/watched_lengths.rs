//! Level watch: a call of 8 ms is reported as 8 ms within its margin, or not at all, whatever the ticks are.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sample;

use sample::{START, method, options};
use serde_json::Value;
use trace::analysis::{Comparison, Measure};
use trace::report::{TerminalOptions, comparison, json, terminal};
use trace::{Analysis, AnalysisOptions, Claim, MethodInfo, Recording, TICK_LIMIT};

const MILLISECOND: u64 = 1_000_000;
/// A pause between two calls.
const PAUSE: u64 = 700_000;
/// Ticks are late from this on.
const SLACK: u64 = 10_000;

/// Ticks at random intervals of half of `longest` to all of it; every 100th is late.
fn ticks(longest: u64, late: u64) -> Vec<u64> {
    let (mut ticks, mut now, mut random) = (vec![0], 0, 88_172_645_463_325_252_u64);
    while now < 20_000 * MILLISECOND {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        now += longest - random % (longest / 2) + if ticks.len() % 100 == 0 { late } else { 0 };
        ticks.push(now);
    }
    ticks
}

/// A recording of calls of these lengths, again and again, as level watch sees them.
fn recorded(calls: &[u64], longest: u64, late: u64) -> Analysis {
    let ticks = ticks(longest, late);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watch.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(1, method("com/acme/Pause", "pause", false));
    recording.define_thread(1, "main", 1, false);
    recording.set_thread(1);
    recording.configuration(START, TICK_LIMIT, &(longest + SLACK).to_string());
    for pair in ticks.windows(2).filter(|pair| pair[1] - pair[0] > longest + SLACK) {
        recording.late_tick(START + pair[0], pair[1] - pair[0]);
    }
    let tick_before = |at: u64| ticks[ticks.partition_point(|tick| *tick <= at) - 1];
    let mut now = 3 * MILLISECOND;
    for length in calls.iter().cycle() {
        let (start, end) = (tick_before(now), tick_before(now + length));
        if end > start {
            recording.call(1, START + start, end - start);
        }
        now += length + PAUSE;
        if now > 19_000 * MILLISECOND {
            break;
        }
    }
    recording.finish().unwrap();
    Analysis::of_file(&file, AnalysisOptions::default()).unwrap()
}

/// Average, median, 95th percentile and maximum.
fn figures(analysis: &Analysis) -> [Option<u64>; 4] {
    let frame = &analysis.frames[0];
    [frame.times.average(), frame.times.percentile(50.0), frame.times.percentile(95.0), frame.times.longest()]
}

#[test]
fn calls_of_8_ms_are_reported_as_such_or_not_at_all() {
    let sleep = 8 * MILLISECOND;
    for (longest, late) in [(1, 0), (1, 60), (2, 0), (2, 25)] {
        let analysis = recorded(&[sleep], longest * MILLISECOND, late * MILLISECOND);
        for figure in figures(&analysis) {
            let figure = figure.unwrap();
            assert!(figure.abs_diff(sleep) <= longest * MILLISECOND + SLACK, "{figure} with ticks of {longest} ms");
        }
        let average = analysis.frames[0].times.average().unwrap();
        assert!(average.abs_diff(sleep) < sleep / 50, "{average}");
    }
    for (longest, late) in [(3, 0), (5, 0), (6, 30), (15, 0), (20, 100)] {
        let analysis = recorded(&[sleep], longest * MILLISECOND, late * MILLISECOND);
        let total = analysis.frames[0].total as f64 / (19_000.0 * 8.0 / 8.7);
        assert!((0.9e6..1.1e6).contains(&total), "the sum is right: {total}");
        assert_eq!(figures(&analysis), [None; 4], "ticks of {longest} ms");
    }
}

#[test]
fn a_method_with_short_calls_has_a_maximum_at_most() {
    let analysis = recorded(&[150, 150, 150, 30 * MILLISECOND], MILLISECOND, 0);
    let longest = analysis.frames[0].times.longest().unwrap();
    assert!(longest.abs_diff(30 * MILLISECOND) <= MILLISECOND + SLACK, "{longest}");
    let brief = recorded(&[150], MILLISECOND, 40 * MILLISECOND);
    assert_eq!(figures(&brief), [None; 4], "not 16 ms for 150 ns");
}

#[test]
fn what_is_unknown_is_blank_everywhere() {
    let analysis = recorded(&[8 * MILLISECOND], 15 * MILLISECOND, 0);
    let data: Value = serde_json::from_str(&json(&analysis)).unwrap();
    let frame = &data["frames"][0];
    for key in ["average", "p50", "p95", "p99", "max"] {
        assert!(frame[key].is_null(), "{key}: {frame}");
    }
    assert!(frame["total"].as_u64().unwrap() > 0);
    let options = TerminalOptions { width: 200, ..TerminalOptions::default() };
    let text = terminal(&analysis, &options);
    let row = text.lines().find(|line| line.ends_with("com.acme.Pause.pause")).unwrap();
    assert_eq!(row.split_whitespace().filter(|cell| cell.starts_with('~')).count(), 2, "own and total only: {row}");
    assert!(text.contains("only where all calls seen took 30.0 ms (two ticks) or more"), "{text}");

    let known = recorded(&[8 * MILLISECOND], MILLISECOND, 0);
    let both = Comparison::of(&known, &analysis);
    let change = &both.methods[0];
    let per_call = [change.before, change.after].map(|figures| figures.unwrap().average);
    assert!(per_call[0].is_some() && per_call[1].is_none(), "{per_call:?}");
    assert_eq!((change.percent(Measure::Average), change.difference(Measure::Average)), (None, 0));
    let compared = comparison(&both, Measure::Own, &options);
    let row = compared.lines().find(|line| line.ends_with("com.acme.Pause.pause")).unwrap();
    assert_eq!(row.split_whitespace().filter(|cell| cell.starts_with('~')).count(), 3, "one time per call: {row}");
}

#[test]
fn without_anything_about_ticks_no_length_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(1, method("com/acme/Pause", "pause", false));
    recording.call(1, START + 5, 900 * MILLISECOND);
    recording.finish().unwrap();
    assert_eq!(figures(&Analysis::of_file(&file, AnalysisOptions::default()).unwrap()), [None; 4]);
}

/// The numbers of a live probe, as the agent defines them: exact times and ticks.
#[test]
fn a_method_that_was_lowered_to_watch_is_marked_and_has_no_average() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lowered.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    let exact = method("com/acme/Short", "lowered", true);
    recording.define_method(1, exact);
    recording.define_method(2, MethodInfo { exact: false, ..exact });
    recording.configuration(START, TICK_LIMIT, &MILLISECOND.to_string());
    recording.set_thread(1);
    recording.call(1, START + 100, 3 * MILLISECOND);
    let claim = Claim { owner: "governor", reason: "31 % of the CPU time", from: "time", to: "watch" };
    recording.claim(START + 100 * MILLISECOND, Some(1), &claim);
    recording.call(2, START + 200 * MILLISECOND, MILLISECOND);
    recording.note(START + 1_000 * MILLISECOND, "test", "the last event");
    recording.finish().unwrap();
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    assert_eq!((analysis.frames.len(), figures(&analysis)), (1, [None; 4]));
    let text = terminal(&analysis, &TerminalOptions { width: 200, ..TerminalOptions::default() });
    let row = text.lines().find(|line| line.ends_with("com.acme.Short.lowered [first 0.1 s]")).unwrap();
    assert_eq!(row.split_whitespace().filter(|cell| cell.starts_with('~')).count(), 2, "own and total only: {row}");
}
