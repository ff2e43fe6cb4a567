//! Methods at level watch and at level time in one recording: are callers, own times and slices those of the program that ran?
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sample;

use std::collections::{BTreeMap, BTreeSet};

use sample::{START, method, options};
use trace::analysis::{Slice, SliceVisitor};
use trace::reader::Thread;
use trace::report::{TerminalOptions, terminal};
use trace::{Analysis, AnalysisOptions, Recording, TICK_LIMIT, TraceReader};

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
/// The longest tick that is not late.
const LIMIT: u64 = 1_500 * MICROSECOND;
const PLATFORM: u64 = 1;
const VIRTUAL: u64 = 100;

/// A program of methods `time*` and `watch*`, and what each of them did in truth.
struct Program {
    folder: tempfile::TempDir,
    recording: Recording,
    methods: Vec<&'static str>,
    ticks: Vec<u64>,
    now: u64,
    random: u64,
    running: Vec<&'static str>,
    /// Own time by method, and which method was called within which.
    own: BTreeMap<&'static str, u64>,
    called: BTreeSet<(String, String)>,
}

impl Program {
    fn new(thread: u64) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let mut recording = Recording::create(&folder.path().join("mixed.jfr"), options()).unwrap();
        recording.define_thread(thread, "main", 1, thread == VIRTUAL);
        recording.set_thread(thread);
        recording.configuration(START, TICK_LIMIT, &LIMIT.to_string());
        let (ticks, own, called) = (vec![0], BTreeMap::new(), BTreeSet::new());
        Program {
            folder,
            recording,
            methods: vec![],
            ticks,
            now: MILLISECOND,
            random: 88_172_645_463_325_252,
            running: vec![],
            own,
            called,
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    /// Each tick is up to 60 us late, each 300th by up to 9 ms.
    fn pass(&mut self, micros: u64) {
        let passed = micros * MICROSECOND + self.below(2 * MICROSECOND);
        self.now += passed;
        while self.ticks.last().is_some_and(|last| *last <= self.now) {
            let last = *self.ticks.last().unwrap();
            let late = if self.ticks.len().is_multiple_of(300) { 9 * MILLISECOND } else { 60 * MICROSECOND };
            let length = MILLISECOND + self.below(late);
            if length > LIMIT {
                self.recording.late_tick(START + last, length);
            }
            self.ticks.push(last + length);
        }
        if let Some(method) = self.running.last() {
            *self.own.entry(method).or_default() += passed;
        }
    }

    fn tick(&self) -> u64 {
        self.ticks[self.ticks.partition_point(|tick| *tick <= self.now) - 1]
    }

    fn call(&mut self, name: &'static str, body: impl FnOnce(&mut Program)) {
        let is_exact = name.starts_with("time");
        let probe = self.methods.iter().position(|known| *known == name).unwrap_or(self.methods.len()) as u32 + 1;
        if probe as usize > self.methods.len() {
            self.methods.push(name);
            self.recording.define_method(probe, method("com/acme/Mixed", name, is_exact));
        }
        let clock = |program: &Program| if is_exact { program.now } else { program.tick() };
        // A short watched call is not recorded: what it calls is reported below the next one around it.
        self.called.extend(self.running.iter().map(|around| ((*around).to_owned(), name.to_owned())));
        self.pass(0);
        let start = clock(self);
        self.running.push(name);
        body(self);
        self.pass(0);
        self.running.pop();
        let end = clock(self);
        if is_exact || end > start {
            self.recording.call(probe, START + start, end - start);
        }
        self.now += 100;
    }

    fn leaf(&mut self, name: &'static str, micros: u64) {
        self.call(name, |program| program.pass(micros));
    }

    fn finish(self) -> Finished {
        let mut recording = self.recording;
        recording.configuration(START, TICK_LIMIT, &LIMIT.to_string());
        recording.finish().unwrap();
        let mut slices = Slices::default();
        let mut reader = TraceReader::open(&self.folder.path().join("mixed.jfr")).unwrap();
        let analysis = Analysis::with_slices(&mut reader, AnalysisOptions::default(), &mut slices);
        Finished { analysis, own: self.own, called: self.called, slices }
    }
}

struct Finished {
    analysis: Analysis,
    own: BTreeMap<&'static str, u64>,
    called: BTreeSet<(String, String)>,
    slices: Slices,
}

impl Finished {
    fn reported_calls(&self) -> BTreeMap<(String, String), u64> {
        let tree = &self.analysis.tree;
        let name = |node: &trace::analysis::Node| {
            node.frame.map_or(String::new(), |id| self.analysis.frame(id).unwrap().method.clone())
        };
        let mut calls = BTreeMap::new();
        for node in tree.nodes().iter().skip(1) {
            *calls.entry((name(tree.node(node.parent).unwrap()), name(node))).or_default() += node.calls;
        }
        calls
    }

    /// No method has a caller that it never had, own times are within their margins, and a child with more time than its caller is marked.
    fn check(&self) {
        for (pair, calls) in self.reported_calls() {
            assert!(self.called.contains(&pair) || pair.0.is_empty(), "{calls} calls of {pair:?}");
        }
        for frame in &self.analysis.frames {
            let truth = self.own.get(frame.method.as_str()).copied().unwrap_or(0);
            // 19 of 20 cases are within the margin.
            let margin = if frame.own_is_estimated { frame.own_margin * 3 / 2 } else { 0 } + truth / 50;
            assert!(frame.own.abs_diff(truth) <= margin, "{}: {} is not {truth} +- {margin}", frame.method, frame.own);
        }
        for node in self.analysis.tree.nodes().iter().skip(1) {
            let below: u64 = node.children.iter().map(|child| self.analysis.tree.node(*child).unwrap().total).sum();
            assert!(below <= node.total || node.own_is_estimated, "{node:?}");
        }
        let moved = &self.slices.moved;
        assert!(moved.is_empty(), "{} exact calls were moved: {:?}", moved.len(), moved.last());
    }

    /// The part of the calls of a method that are reported below this caller, in percent.
    fn percent_below(&self, caller: &str, method: &str) -> u64 {
        let calls = self.reported_calls();
        let all: u64 = calls.iter().filter(|((_, callee), _)| callee == method).map(|(_, calls)| calls).sum();
        100 * calls.get(&(caller.to_owned(), method.to_owned())).unwrap_or(&0) / all.max(1)
    }
}

/// Exact calls whose slices are not as they were recorded.
#[derive(Default)]
struct Slices {
    moved: Vec<(String, u64, u64, u64)>,
}

impl SliceVisitor for Slices {
    fn thread(&mut self, _thread: &Thread) {}

    fn slice(&mut self, slice: &Slice<'_>) {
        if slice.exact && slice.end - slice.start != slice.duration {
            self.moved.push((slice.frame.method.clone(), slice.start, slice.end, slice.duration));
        }
    }
}

#[test]
fn an_exact_call_before_a_watched_one_is_not_called_by_it() {
    for thread in [PLATFORM, VIRTUAL] {
        let mut program = Program::new(thread);
        for _ in 0..1_500 {
            program.leaf("watchParse", 3_000);
            program.leaf("timeAudit", 50);
        }
        let finished = program.finish();
        finished.check();
        assert_eq!(finished.percent_below("", "timeAudit"), 100);
        let text = terminal(&finished.analysis, &TerminalOptions { width: 200, ..TerminalOptions::default() });
        assert!(!text.contains("└Mixed.timeAudit") || !text.contains("│└"), "{text}");
    }
}

#[test]
fn an_exact_call_at_the_beginning_of_a_watched_one_is_called_by_it() {
    for (thread, least, of_those_at_the_end) in [(PLATFORM, 99, 99), (VIRTUAL, 95, 50)] {
        let mut program = Program::new(thread);
        for _ in 0..1_500 {
            program.call("watchHandle", |program| {
                program.pass(700);
                program.leaf("timeAuthorise", 50);
                program.pass(1_500);
                program.leaf("timeStore", 400);
                program.leaf("timeStore", 400);
            });
            program.pass(20);
        }
        let finished = program.finish();
        finished.check();
        assert!(finished.percent_below("watchHandle", "timeAuthorise") >= least, "{:?}", finished.reported_calls());
        // The last call may end after the recorded end of its caller: only the order of the records says that it is within it.
        assert!(finished.percent_below("watchHandle", "timeStore") >= of_those_at_the_end);
    }
}

#[test]
fn siblings_of_both_levels_and_a_watched_callee() {
    for thread in [PLATFORM, VIRTUAL] {
        let mut program = Program::new(thread);
        for _ in 0..1_100 {
            program.leaf("timeShort", 200);
            program.leaf("watchLong", 5_000);
            program.leaf("timeShort", 200);
            program.call("timeOuter", |program| program.leaf("watchInner", 1_100));
        }
        let finished = program.finish();
        finished.check();
        let outer = finished.analysis.frames.iter().find(|frame| frame.method == "timeOuter").unwrap();
        assert!(outer.own_is_estimated && !outer.is_estimated() && outer.own_margin > 0);
        let text = terminal(&finished.analysis, &TerminalOptions { width: 200, ..TerminalOptions::default() });
        let row = text.lines().find(|line| line.ends_with("com.acme.Mixed.timeOuter")).unwrap();
        assert!(row.trim_start().starts_with('~') && row.matches('~').count() == 1, "own only: {row}");
    }
}

#[test]
fn a_watched_call_in_an_exact_one_keeps_what_it_called() {
    let mut program = Program::new(PLATFORM);
    for _ in 0..800 {
        program.call("timeRequest", |program| {
            program.leaf("timeBefore", 300);
            program.call("watchService", |program| {
                program.pass(1_500);
                program.leaf("timeQuery", 600);
                program.call("watchRender", |program| program.leaf("timeWrite", 700));
            });
            program.leaf("timeAfter", 100);
        });
        program.pass(500);
    }
    let finished = program.finish();
    finished.check();
    assert!(finished.percent_below("watchService", "timeQuery") >= 98, "{:?}", finished.reported_calls());
}
