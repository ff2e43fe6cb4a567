//! Is the call tree that is rebuilt from a file the one that was executed?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::collections::BTreeMap;
use std::path::Path;

use sample::{START, method, options, record, write_sample};
use trace::analysis::{FrameId, Grouping, NodeId, groups, stacks};
use trace::{Analysis, AnalysisOptions, Recording, TICK_LIMIT};

/// Calls and total time by path.
type Tree = BTreeMap<Vec<String>, (u64, u64)>;

fn analyse(file: &Path) -> Analysis {
    Analysis::of_file(file, AnalysisOptions::default()).unwrap()
}

fn tree(analysis: &Analysis) -> Tree {
    let mut paths: Vec<Vec<String>> = Vec::new();
    let mut tree = Tree::new();
    for node in analysis.tree.nodes() {
        let mut path = paths.get(node.parent.index()).cloned().unwrap_or_default();
        path.extend(node.frame.map(|id| analysis.frame(id).unwrap().method.clone()));
        if node.frame.is_some() {
            tree.insert(path.clone(), (node.calls, node.total));
        }
        paths.push(path);
    }
    tree
}

/// A tree written as ["a/b", calls, total].
fn expected<const N: usize>(rows: [(&str, u64, u64); N]) -> Tree {
    rows.into_iter()
        .map(|(path, calls, total)| (path.split('/').map(str::to_owned).collect(), (calls, total)))
        .collect()
}

/// Whether every view adds up to the same time: own times, threads, modules, packages, classes, stacks, methods' calls.
fn check_sums(analysis: &Analysis) {
    let total = analysis.tree.total();
    assert_eq!(analysis.frames.iter().map(|frame| frame.own).sum::<u64>(), total, "own times of the methods");
    assert_eq!(analysis.threads.iter().map(|row| row.total).sum::<u64>(), total, "threads");
    assert_eq!(analysis.frames.iter().map(|frame| frame.calls).sum::<u64>(), analysis.calls, "calls of the methods");
    assert_eq!(analysis.threads.iter().map(|row| row.calls).sum::<u64>(), analysis.calls, "calls of the threads");
    for grouping in [Grouping::Module, Grouping::Package, Grouping::Class] {
        let rows = groups(&analysis.tree, &analysis.frames, grouping);
        assert_eq!(rows.iter().map(|row| row.own).sum::<u64>(), total, "{grouping:?}");
        assert_eq!(rows.iter().map(|row| row.calls).sum::<u64>(), analysis.calls, "calls by {grouping:?}");
    }
    let (rows, number) = stacks(&analysis.tree, usize::MAX);
    assert_eq!((rows.iter().map(|row| row.own).sum::<u64>(), rows.len()), (total, number), "stacks");
    for node in analysis.tree.nodes() {
        let children: u64 = node.children.iter().map(|child| analysis.tree.node(*child).unwrap().total).sum();
        assert_eq!(node.own + children, node.total, "own time and children of a node");
    }
}

/// Letters are shared out among three classes in two packages.
fn class_of(letter: char) -> &'static str {
    ["com/acme/Letters", "com/acme/More", "org/other/Letters"][letter as usize % 3]
}

/// Time of the calls of each package that are not inside of another call of the same package, from the executed tree.
fn totals_by_package(executed: &Tree) -> BTreeMap<String, u64> {
    let package = |method: &String| {
        let class = class_of(method.chars().next().unwrap());
        class.rsplit_once('/').unwrap().0.replace('/', ".")
    };
    let mut totals = BTreeMap::new();
    for (path, (_, total)) in executed {
        let (last, callers) = path.split_last().unwrap();
        if callers.iter().all(|caller| package(caller) != package(last)) {
            *totals.entry(package(last)).or_default() += total;
        }
    }
    totals
}

/// A recording with methods named "a" (probe 1) to "z" and one thread.
struct Script {
    folder: tempfile::TempDir,
    recording: Recording,
}

impl Script {
    fn new() -> Script {
        let folder = tempfile::tempdir().unwrap();
        let mut recording = Recording::create(&folder.path().join("trace.jfr"), options()).unwrap();
        for (probe, letter) in (1..).zip('a'..='z') {
            recording.define_method(probe, method(class_of(letter), &letter.to_string(), letter < 'w'));
        }
        recording.define_thread(5, "main", 1, false);
        recording.set_thread(5);
        recording.configuration(START, TICK_LIMIT, "1000");
        Script { folder, recording }
    }

    fn calls(&mut self, calls: &[(char, u64, u64)]) {
        for (letter, start, end) in calls {
            self.recording.calls(&[record(u64::from(*letter) - 96, *start, end - start)]);
        }
    }

    fn analyse(self) -> Analysis {
        self.recording.finish().unwrap();
        analyse(&self.folder.path().join("trace.jfr"))
    }
}

#[test]
fn nested_calls_and_details_of_the_sample() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.jfr");
    write_sample(&file).unwrap().finish().unwrap();
    let analysis = analyse(&file);
    let rows = [("handle", 2, 8_100), ("handle/query", 2, 4_500), ("größe", 1, 2_000_000)];
    assert_eq!(tree(&analysis), expected(rows));
    check_sums(&analysis);

    let query = analysis.frames.iter().position(|frame| frame.method == "query").unwrap();
    let frame = &analysis.frames[query];
    assert_eq!(
        (frame.calls, frame.total, frame.own, frame.times.longest(), frame.times.average()),
        (2, 4_500, 4_500, Some(3_000), Some(2_250))
    );
    assert_eq!((frame.class.as_str(), frame.template.as_str()), ("com.acme.Store", "timed"));
    let statement = &analysis.statements[0];
    assert_eq!((statement.text.as_str(), statement.calls, statement.times.sum), ("select 1", 2, 4_500));
    assert_eq!(analysis.http_requests[0].text, "GET /orders/{order}");
    assert_eq!((analysis.sockets[0].text.as_str(), analysis.sockets[0].bytes), ("10.0.0.1:5432", 1 << 33));
    assert_eq!(analysis.lost, 3);
    assert_eq!(analysis.recording.pid, 4711);
    assert_eq!(analysis.recording.start_up_nanos, Some(9_000));
    assert_eq!(analysis.recording.notes.len(), 1);
    assert!(analysis.recording.is_finished);
    let threads: Vec<_> = analysis.threads.iter().map(|row| (row.name.as_str(), row.calls, row.total)).collect();
    assert_eq!(threads, [("virtual threads", 1, 2_000_000), ("http-1", 4, 8_100)]);
    assert_eq!(analysis.threads.iter().map(|row| row.lost).collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn recursion_counts_its_time_once() {
    let mut script = Script::new();
    script.calls(&[('a', 30, 40), ('b', 25, 45), ('a', 20, 50), ('a', 10, 60), ('a', 70, 71)]);
    let analysis = script.analyse();
    check_sums(&analysis);
    let rows = [("a", 2, 51), ("a/a", 1, 30), ("a/a/b", 1, 20), ("a/a/b/a", 1, 10)];
    assert_eq!(tree(&analysis), expected(rows));
    let a = &analysis.frames.iter().find(|frame| frame.method == "a").unwrap();
    assert_eq!((a.calls, a.total, a.own, a.times.sum), (4, 51, 41, 91));
}

#[test]
fn calls_that_end_together_as_when_an_exception_passes_are_nested_by_their_order() {
    let mut script = Script::new();
    script.calls(&[('c', 10, 20), ('b', 10, 20), ('a', 10, 20), ('d', 20, 20), ('d', 20, 30), ('e', 0, 40)]);
    let analysis = script.analyse();
    check_sums(&analysis);
    let rows = [("e", 1, 40), ("e/a", 1, 10), ("e/a/b", 1, 10), ("e/a/b/c", 1, 10), ("e/d", 1, 10), ("e/d/d", 1, 0)];
    assert_eq!(tree(&analysis), expected(rows));
}

#[test]
fn a_caller_that_ends_many_chunks_later_still_gets_its_callees() {
    let mut script = Script::new();
    for index in 0..20 {
        script.calls(&[('c', index * 10 + 101, index * 10 + 105), ('b', index * 10 + 100, index * 10 + 109)]);
        script.recording.flush_chunk().unwrap();
    }
    script.calls(&[('a', 50, 1_000)]);
    let analysis = script.analyse();
    check_sums(&analysis);
    assert_eq!(tree(&analysis), expected([("a", 1, 950), ("a/b", 20, 180), ("a/b/c", 20, 80)]));
    assert_eq!(analysis.recording.chunks, 22);
}

#[test]
fn a_renamed_thread_stays_one_thread() {
    let mut script = Script::new();
    script.calls(&[('b', 20, 30)]);
    script.recording.define_thread(5, "job 17", 1, false);
    script.calls(&[('c', 40, 50)]);
    script.recording.define_thread(5, "main", 1, false);
    script.calls(&[('a', 10, 60)]);
    let analysis = script.analyse();
    assert_eq!(tree(&analysis), expected([("a", 1, 50), ("a/b", 1, 10), ("a/c", 1, 10)]));
    assert_eq!(analysis.threads.len(), 1);
    assert_eq!(analysis.threads[0].name, "main");
}

#[test]
fn threads_with_overlapping_times_do_not_mix() {
    let mut script = Script::new();
    script.calls(&[('b', 20, 30)]);
    script.recording.set_thread(6);
    script.calls(&[('c', 12, 55)]);
    script.recording.set_thread(5);
    script.calls(&[('a', 10, 60)]);
    assert_eq!(tree(&script.analyse()), expected([("a", 1, 50), ("a/b", 1, 10), ("c", 1, 43)]));
}

#[test]
fn watched_calls_are_marked_and_nested_although_their_times_are_rounded() {
    let mut script = Script::new();
    // The exact call `a` is after the end of its caller `w`, which was rounded down to the tick.
    script.calls(&[('a', 7_300, 7_800), ('x', 5_000, 7_000), ('w', 4_000, 7_000)]);
    let analysis = script.analyse();
    assert_eq!(tree(&analysis), expected([("w", 1, 3_000), ("w/x", 1, 2_000), ("w/x/a", 1, 500)]));
    let estimated: Vec<_> = analysis.frames.iter().filter(|frame| frame.is_estimated()).collect();
    assert_eq!(estimated.len(), 2);
}

#[test]
fn a_watched_call_is_inside_the_exact_one_in_which_it_ran_although_its_start_was_rounded_to_before_that() {
    let mut script = Script::new();
    // `x` really began after 4,300; `y` and the exact `b` had ended before.
    script.calls(&[
        ('y', 3_000, 4_000),
        ('b', 4_100, 4_200),
        ('x', 4_000, 6_000),
        ('a', 4_300, 6_800),
        ('w', 3_000, 6_000),
    ]);
    let analysis = script.analyse();
    let rows = [("w", 1, 3_000), ("w/a", 1, 2_500), ("w/a/x", 1, 2_000), ("w/b", 1, 100), ("w/y", 1, 1_000)];
    assert_eq!(tree(&analysis), expected(rows));
}

#[test]
fn callers_and_callees_of_a_method() {
    let mut script = Script::new();
    script.calls(&[('c', 1, 2), ('a', 0, 3), ('c', 11, 15), ('b', 10, 20), ('c', 30, 36)]);
    let analysis = script.analyse();
    let id = |name: &str| {
        let ids = analysis.frames_by_own_time();
        *ids.iter().find(|id| analysis.frame(**id).unwrap().method == name).unwrap()
    };
    let named = |frame: Option<FrameId>| frame.map(|id| analysis.frame(id).unwrap().method.clone());
    let callers: Vec<_> = analysis.callers(id("c")).into_iter().map(|row| (named(row.frame), row.total)).collect();
    assert_eq!(callers, [(None, 6), (Some("b".to_owned()), 4), (Some("a".to_owned()), 1)]);
    let callees: Vec<_> = analysis.callees(id("b")).into_iter().map(|row| (named(row.frame), row.calls)).collect();
    assert_eq!(callees, [(Some("c".to_owned()), 1)]);
    assert_eq!(analysis.tree.node(NodeId::ROOT).unwrap().children.len(), 3);
}

#[test]
fn only_calls_after_the_start_up_if_asked() {
    let mut script = Script::new();
    script.calls(&[('a', 10, 20)]);
    script.recording.start_up_done(START + 50);
    script.calls(&[('b', 60, 70), ('c', 40, 80)]);
    script.recording.finish().unwrap();
    let file = script.folder.path().join("trace.jfr");
    let analysis =
        Analysis::of_file(&file, AnalysisOptions { after_start_up: true, ..AnalysisOptions::default() }).unwrap();
    assert_eq!(tree(&analysis), expected([("c", 1, 40), ("c/b", 1, 10)]));
    let [warning] = analysis.warnings.as_slice() else { panic!("{:?}", analysis.warnings) };
    assert!(warning.starts_with("1 of the calls began before"), "`c`: {warning}");
    assert_eq!(analyse(&file).calls, 3);
}

#[test]
fn a_file_without_the_marker_is_shown_whole_with_a_warning() {
    let mut script = Script::new();
    script.calls(&[('a', 10, 20)]);
    script.recording.finish().unwrap();
    let file = script.folder.path().join("trace.jfr");
    let analysis =
        Analysis::of_file(&file, AnalysisOptions { after_start_up: true, ..AnalysisOptions::default() }).unwrap();
    assert_eq!(analysis.calls, 1);
    assert!(analysis.warnings[0].contains("start-up"), "{:?}", analysis.warnings);
}

/// A generator of numbers for the random programs below.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A call as it reaches a ring.
struct Written {
    thread: u64,
    ring: u64,
    probe: u64,
    start: u64,
    end: u64,
}

/// Executes a random program on one thread, and notes its tree as it happens.
struct Execution<'a> {
    random: &'a mut Random,
    thread: u64,
    rings: u64,
    ring: u64,
    now: u64,
    path: Vec<String>,
    written: Vec<Written>,
    tree: &'a mut Tree,
}

impl Execution<'_> {
    fn call(&mut self, depth: u64) {
        let probe = 1 + self.random.below(6);
        self.path.push(char::from(96 + probe as u8).to_string());
        let start = self.pass_time();
        let mut callees = if depth == 0 { 0 } else { self.random.below(4) };
        while callees > 0 {
            callees -= 1;
            self.call(depth - 1);
        }
        // A virtual thread may go on on another carrier.
        if self.random.below(3) == 0 {
            self.ring = self.random.below(self.rings);
        }
        let end = self.pass_time();
        self.written.push(Written { thread: self.thread, ring: self.ring, probe, start, end });
        let node = self.tree.entry(self.path.clone()).or_default();
        *node = (node.0 + 1, node.1 + end - start);
        self.path.pop();
    }

    /// Virtual threads need time to change the carrier; others may see the same time twice between two calls.
    fn pass_time(&mut self) -> u64 {
        self.now += 1 + self.random.below(50);
        self.now
    }
}

/// Rings are emptied one after the other while the threads go on, so what is written by then goes into the file.
fn drain(mut written: Vec<Written>, random: &mut Random, recording: &mut Recording) {
    written.sort_by_key(|call| call.end);
    let mut moment = 0;
    while !written.is_empty() {
        for ring in 0..100 {
            moment += random.below(40);
            let ready = |call: &Written| call.ring == ring && call.end <= moment;
            for call in written.extract_if(.., |call| ready(call)) {
                if call.thread >= 100 {
                    recording.define_thread(call.thread, "", 0, true);
                }
                recording.set_thread(call.thread);
                recording.calls(&[record(call.probe, call.start, call.end - call.start)]);
            }
            if random.below(30) == 0 {
                recording.flush_chunk().unwrap();
            }
        }
    }
}

#[test]
fn random_programs_on_platform_and_virtual_threads_give_the_tree_that_was_executed() {
    for seed in 1..=60 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut script = Script::new();
        let mut executed = Tree::new();
        let mut written = Vec::new();
        for thread in [5, 6, 100, 101, 102] {
            let is_virtual = thread >= 100;
            // Platform threads have a ring each, the virtual ones share four.
            let rings = if is_virtual { 4 } else { 1 };
            let now = random.below(500);
            let mut execution = Execution {
                random: &mut random,
                thread,
                rings,
                ring: 0,
                now,
                path: Vec::new(),
                written: Vec::new(),
                tree: &mut executed,
            };
            (0..8).for_each(|_| execution.call(5));
            let offset = if is_virtual { 0 } else { thread };
            written.extend(execution.written.into_iter().map(|call| Written { ring: call.ring + offset * 10, ..call }));
        }
        drain(written, &mut random, &mut script.recording);
        let analysis = script.analyse();
        assert_eq!(tree(&analysis), executed, "seed {seed}");
        let rows = groups(&analysis.tree, &analysis.frames, Grouping::Package);
        let by_package: BTreeMap<String, u64> = rows.into_iter().map(|row| (row.name, row.total)).collect();
        assert_eq!(by_package, totals_by_package(&executed), "seed {seed}");
        check_sums(&analysis);
    }
}
