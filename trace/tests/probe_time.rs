//! Do reports show what a program would have taken without the probes' own time, where recordings have the prices of probes?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use sample::{START, method, options, record};
use serde_json::Value;
use trace::analysis::{Frame, Grouping, groups};
use trace::report::{self, TerminalOptions, View};
use trace::{
    AT_FULL, Analysis, AnalysisOptions, FULL_PROBE_OUTSIDE, MethodInfo, PROBE_INSIDE, Recording, TIME_PROBE_OUTSIDE,
};

/// What a call costs within its duration, and outside of it at levels time and full.
const INSIDE: u64 = 20;
const TIME_OUTSIDE: u64 = 25;
const FULL_OUTSIDE: u64 = 1_000;

const LAMBDA: u64 = 1;
const TINY: u64 = 2;
const TINY_AT_FULL: u64 = 3;
const WATCHED: u64 = 4;

/// Calls as (probe, start, duration), the inner ones first.
type Calls = Vec<(u64, u64, u64)>;

fn analysis(has_prices: bool, calls: &Calls) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    let prices = [(PROBE_INSIDE, INSIDE), (TIME_PROBE_OUTSIDE, TIME_OUTSIDE), (FULL_PROBE_OUTSIDE, FULL_OUTSIDE)];
    for (key, price) in prices.into_iter().filter(|_| has_prices) {
        recording.configuration(START, key, &format!("{price}.00"));
    }
    let at_full = format!("timed{AT_FULL}");
    recording.define_method(LAMBDA as u32, method("com/acme/Main", "lambda$main$0", true));
    recording.define_method(TINY as u32, method("com/acme/Tiny", "next", true));
    let tiny = method("com/acme/Tiny", "next", true);
    recording.define_method(TINY_AT_FULL as u32, MethodInfo { template: &at_full, ..tiny });
    recording.define_method(WATCHED as u32, method("com/acme/Slow", "wait", false));
    recording.define_thread(5, "main", 1, false);
    recording.set_thread(5);
    for (probe, start, duration) in calls {
        recording.calls(&[record(*probe, *start, *duration)]);
    }
    recording.finish().unwrap();
    Analysis::of_file(&file, AnalysisOptions { in_blocks: true, ..AnalysisOptions::default() }).unwrap()
}

/// `number` calls of 5 ns that follow each other after 2 ns, as they are recorded within a caller, and that caller.
fn tiny_calls(number: u64, probe: u64, outside: u64) -> Calls {
    let step = 2 + outside + INSIDE + 5;
    let inner = (0..number).map(|call| (probe, call * step + 2 + outside / 2, INSIDE + 5));
    inner.chain([(LAMBDA, 0, number * step + INSIDE)]).collect()
}

fn frame<'a>(analysis: &'a Analysis, name: &str) -> &'a Frame {
    analysis.frames.iter().find(|frame| frame.method == name).unwrap()
}

fn times(analysis: &Analysis, name: &str) -> (u64, u64) {
    let frame = frame(analysis, name);
    (frame.own, frame.total)
}

/// Whether own times, nodes and groups still add up.
fn check_sums(analysis: &Analysis) {
    let total = analysis.tree.total();
    assert_eq!(analysis.frames.iter().map(|frame| frame.own).sum::<u64>(), total);
    let rows = groups(&analysis.tree, &analysis.frames, Grouping::Class);
    assert_eq!(rows.iter().map(|row| row.own).sum::<u64>(), total);
    for node in analysis.tree.nodes() {
        let children: u64 = node.children.iter().map(|child| analysis.tree.node(*child).unwrap().total).sum();
        assert_eq!(node.own + children, node.total);
    }
}

#[test]
fn a_caller_of_20_000_tiny_calls_has_the_time_that_it_has_without_probes() {
    let calls = tiny_calls(20_000, TINY, TIME_OUTSIDE);
    let recorded = analysis(false, &calls);
    assert_eq!(times(&recorded, "lambda$main$0"), (20_000 * 27 + INSIDE, 20_000 * 52 + INSIDE), "as recorded");
    assert!(recorded.probe_time.is_none());

    let analysis = analysis(true, &calls);
    assert_eq!(times(&analysis, "lambda$main$0"), (20_000 * 2, 20_000 * 7));
    assert_eq!(times(&analysis, "next"), (20_000 * 5, 20_000 * 5));
    assert_eq!(frame(&analysis, "next").times.average(), Some(INSIDE + 5), "calls stay as recorded");
    check_sums(&analysis);
    let lambda = analysis.frames.iter().position(|frame| frame.method == "lambda$main$0").unwrap();
    let lambda = analysis.frames_by_own_time().into_iter().find(|id| id.index() == lambda).unwrap();
    assert_eq!(analysis.callees(lambda)[0].total, 20_000 * 5);
    assert_eq!(analysis.recorded_total(), recorded.tree.total());
    assert_eq!(analysis.threads[0].total, recorded.tree.total());
}

#[test]
fn a_report_begins_with_what_to_do_if_probes_took_much_of_the_time() {
    let analysis = analysis(true, &tiny_calls(20_000, TINY, TIME_OUTSIDE));
    let text = report::terminal(&analysis, &TerminalOptions::default());
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("warning: at least 86.5 % of the recorded time was the probes' own and is left out"),
        "{first}"
    );
    assert!(first.contains("com.acme.Tiny.next (20000 calls)") && first.contains("`watch`"), "{first}");
    let threads = report::view(&analysis, View::Thread, &TerminalOptions::default());
    assert!(threads.starts_with(first) && threads.contains("in 1.04 ms of calls"), "{threads}");
    let json: Value = serde_json::from_str(&report::json(&analysis)).unwrap();
    assert_eq!(json["probes"]["nanos"], 20_000 * 45 + INSIDE);
    assert!(json["probes"]["advice"].as_str().is_some_and(|advice| first.ends_with(advice)), "{json}");
    let comparison = trace::analysis::Comparison::of(&analysis, &analysis);
    assert!(comparison.warnings[0][0].contains("86.5 %"), "{:?}", comparison.warnings);
}

#[test]
fn a_small_share_is_stated_with_the_facts_of_the_recording() {
    let analysis = analysis(true, &vec![(TINY, 1_000, 300), (LAMBDA, 0, 1_000)]);
    assert_eq!((times(&analysis, "lambda$main$0"), times(&analysis, "next")), ((655, 935), (280, 280)));
    let text = report::terminal(&analysis, &TerminalOptions::default());
    assert!(text.starts_with("Recording "), "{text}");
    assert!(
        text.contains("probes    at least 6.5 % of the recorded time was the probes' own and is left out of own"),
        "{text}"
    );
}

#[test]
fn calls_cost_what_their_level_costs() {
    let at_full = analysis(true, &tiny_calls(100, TINY_AT_FULL, FULL_OUTSIDE));
    assert_eq!(times(&at_full, "lambda$main$0"), (100 * 2, 100 * 7));
    // A method of both levels is one method.
    let mut both = tiny_calls(100, TINY, TIME_OUTSIDE);
    let end = both.last().unwrap().2;
    both.extend(tiny_calls(100, TINY_AT_FULL, FULL_OUTSIDE).iter().map(|call| (call.0, call.1 + end, call.2)));
    let both = analysis(true, &both);
    assert_eq!((times(&both, "lambda$main$0"), times(&both, "next")), ((200 * 2, 200 * 7), (200 * 5, 200 * 5)));
    assert_eq!((frame(&both, "next").calls, frame(&both, "next").template.as_str()), (200, "timed"));
    check_sums(&both);
    // An estimate contains nothing that could be subtracted.
    let watched = analysis(true, &vec![(WATCHED, 1_000_000, 2_000_000)]);
    assert_eq!((times(&watched, "wait"), watched.probe_time), ((2_000_000, 2_000_000), None));
}

#[test]
fn recursion_loses_its_time_once_and_no_time_becomes_less_than_nothing() {
    // 50 calls in one another, each with 100 ns of its own.
    let depth = 50;
    let nested: Calls = (0..depth).rev().map(|level| (TINY, level * 50, (depth - level) * 100)).collect();
    let deep = analysis(true, &nested);
    // Every call has 100 ns of its own, of which 20 are its own probe's and 25 that of the call within it.
    assert_eq!(times(&deep, "next"), (depth * 55 + 25, depth * 55 + 25));
    check_sums(&deep);
    // Calls that took less than a probe is said to cost.
    let short = analysis(true, &vec![(TINY, 5, 3), (TINY, 10, 3), (LAMBDA, 0, 40)]);
    assert_eq!((times(&short, "next"), times(&short, "lambda$main$0")), ((0, 0), (0, 0)));
    check_sums(&short);
}
