//! Diagnoses are written into recordings and read back.

use std::fs;
use std::path::Path;

use super::*;
use crate::{
    Analysis, AnalysisOptions, DiagnosisCost, DiagnosisOrder, ProcessInfo, Recording, RecordingOptions, SlowCall,
    SlowCallStep,
};

const START: u64 = 5_000;

fn measured(parent: usize, method: &str) -> DiagnosisNode {
    DiagnosisNode {
        jvm: None,
        parent: Some(parent),
        level: 1,
        method: method.to_owned(),
        kind: "call-site".to_owned(),
        calls: Some(14_210),
        slow_calls: Some(0),
        total_nanos: Some(9_000_000_000),
        slow_nanos: Some(7_500_000_001),
        share: Some(0.823),
        per_call: None,
        running: Some(0.0),
        waiting: Some(1.0),
        followed: true,
        reason: Some("socket read".to_owned()),
        lines: vec![77, 8],
        via: vec!["x.Proxy.call()".to_owned(), "x.Größe.of(A)".to_owned()],
    }
}

/// Everything is known of it.
fn full() -> Diagnosis {
    let root = DiagnosisNode { parent: None, level: 0, kind: "method".to_owned(), ..measured(0, "a.A.pay(Order)") };
    Diagnosis {
        claim: 4,
        method: "a.A.pay(Order)".to_owned(),
        context: Some("a.A.pay > b.B.größe".to_owned()),
        condition: Some("arg(0) > 3".to_owned()),
        state: "ended".to_owned(),
        reason: Some("it was ended".to_owned()),
        slower_than_nanos: Some(480_000_000),
        learnt: true,
        calls: 14_210,
        slow: 14,
        explained: Some(0.9),
        sentence: Some("82 % of the slow calls of A.pay is B.charge -> socket read".to_owned()),
        parts: None,
        nodes: vec![root, measured(0, "b.B.charge()"), measured(1, "c.C.read()"), measured(0, "b.B.other()")],
        cost: DiagnosisCost { classes: 3, retransforms: 5, longest_stop_nanos: 12_000_001, cpu_nanos: 40_000_000 },
        notices: vec!["one".to_owned(), "another one".to_owned()],
        ended_after_nanos: Some(1_000),
        slow_calls: vec![slow_call(700_000_000), slow_call(500_000_000)],
        recorded_slow_calls: 2,
    }
}

fn slow_call(duration_nanos: u64) -> SlowCall {
    let step = |method: &str, calls, nanos| SlowCallStep { method: method.to_owned(), calls, nanos };
    SlowCall {
        claim: 4,
        method: "a.A.pay(Order)".to_owned(),
        context: Some("a.A.pay > b.B.größe".to_owned()),
        condition: Some("arg(0) > 3".to_owned()),
        thread_id: 0,
        thread: "größe-1".to_owned(),
        duration_nanos,
        began_after_nanos: 500,
        path: vec![step("b.B.charge()", 1, 480_000_000), step("c.C.read()", 2, 470_001_000)],
    }
}

/// Nothing is known of it but that it has ended.
fn bare() -> Diagnosis {
    Diagnosis {
        claim: 5,
        method: "a.A.b()".to_owned(),
        state: "ended".to_owned(),
        nodes: vec![DiagnosisNode { method: "a.A.b()".to_owned(), ..DiagnosisNode::default() }],
        ended_after_nanos: Some(2_000),
        ..Diagnosis::default()
    }
}

fn written(file: &Path, chunk_bytes: usize, diagnoses: &[Diagnosis]) {
    let options = RecordingOptions {
        max_chunk_bytes: chunk_bytes,
        ..RecordingOptions::new(1_700_000_000_000_000_000, START, ProcessInfo::default())
    };
    let mut recording = Recording::create(file, options).unwrap();
    for diagnosis in diagnoses {
        for call in diagnosis.slow_calls.iter().rev() {
            recording.slow_call(START + call.began_after_nanos, call);
        }
        recording.diagnosis(START + diagnosis.ended_after_nanos.unwrap_or(0), diagnosis);
    }
    recording.finish().unwrap();
}

fn read(file: &Path) -> Analysis {
    Analysis::of_file(file, AnalysisOptions::default()).unwrap()
}

#[test]
fn all_that_is_known_of_a_diagnosis_is_read_back_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let diagnoses = [full(), bare()];
    written(&file, RecordingOptions::DEFAULT_CHUNK, &diagnoses);
    assert_eq!(read(&file).diagnoses, diagnoses);
}

#[test]
fn a_tree_that_is_spread_over_chunks_is_whole_and_one_that_was_cut_is_shown_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let root = full().nodes.remove(0);
    let nodes: Vec<DiagnosisNode> = [root].into_iter().chain((0..3_000).map(|at| measured(at, "b.B.b()"))).collect();
    let large = Diagnosis { nodes, notices: Vec::new(), ..full() };
    written(&file, 4_096, std::slice::from_ref(&large));
    let whole = read(&file);
    assert!(whole.recording.chunks > 5, "{} chunks", whole.recording.chunks);
    assert_eq!(whole.diagnoses, [large]);

    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let cut = read(&file).diagnoses.remove(0);
    assert!((1_000..3_000).contains(&cut.nodes.len()), "{} nodes", cut.nodes.len());
    let missing = 3_001 - cut.nodes.len();
    assert_eq!(cut.notices, [format!("{missing} of 3001 nodes of the tree are missing in this recording")]);
}

fn parts(events: impl IntoIterator<Item = Event<'static>>) -> (Vec<Diagnosis>, Option<String>) {
    let mut diagnoses = Diagnoses::default();
    events.into_iter().for_each(|event| diagnoses.see(event));
    diagnoses.finish(0)
}

fn node(number: u64, parent: usize, method: &str) -> Event<'static> {
    Event::DiagnosisNode { at: 9, claim: 4, number, node: Box::new(measured(parent, method)) }
}

#[test]
fn a_tree_without_its_root_or_with_a_gap_keeps_the_rest() {
    let result = Diagnosis { nodes: Vec::new(), notices: Vec::new(), ..full() };
    let result = Event::Diagnosis { at: 9, diagnosis: Box::new(result), nodes: 5 };
    let (found, _) = parts([node(4, 3, "d"), node(2, 1, "b"), result]);
    let [Diagnosis { nodes, notices, .. }] = &found[..] else { panic!("{found:?}") };
    let names: Vec<_> = nodes.iter().map(|node| (node.method.as_str(), node.parent, node.calls)).collect();
    assert_eq!(names, [("a.A.pay(Order)", None, None), ("b", None, Some(14_210)), ("d", None, Some(14_210))]);
    assert_eq!(notices[..], ["3 of 5 nodes of the tree are missing in this recording"]);
    assert_eq!(found[0].children(DiagnosisOrder::Share)[0], [1, 2]);
}

#[test]
fn nodes_without_their_result_say_that_it_is_missing() {
    let (found, _) = parts([node(1, 0, "b"), node(0, 0, "a")]);
    let [Diagnosis { claim: 4, method, state, notices, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((method.as_str(), state.as_str()), ("a", ""));
    assert!(notices[0].contains("the result is missing"), "{notices:?}");
}

#[test]
fn of_endless_diagnoses_and_nodes_some_are_kept_and_a_warning_says_so() {
    let result = |at| Event::Diagnosis { at, diagnosis: Box::new(bare()), nodes: 0 };
    let (found, warning) = parts((0..MOST as u64 + 5).rev().map(result));
    assert_eq!((found.len(), found[0].ended_after_nanos), (MOST, Some(5)), "the last ones");
    assert_eq!(warning.as_deref(), Some("only the last 200 diagnoses are shown, with 0 nodes"));
    let (found, warning) = parts((0..MOST_NODES as u64 + 7).map(|number| node(number, 0, "a")));
    assert_eq!(found[0].nodes.len(), MOST_NODES);
    assert!(warning.is_some());
}

/// What other writers, or damage, make of the figures.
#[test]
fn impossible_figures_are_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let odd = |share| DiagnosisNode { share: Some(share), calls: Some(u64::MAX), ..measured(0, "a") };
    let nodes = [f64::NAN, f64::INFINITY, 1e300, -0.5].map(odd).into_iter().collect();
    written(&file, RecordingOptions::DEFAULT_CHUNK, &[Diagnosis { nodes, ..full() }]);
    let found = read(&file).diagnoses.remove(0);
    let shares: Vec<_> = found.nodes.iter().map(|node| node.share).collect();
    assert_eq!(shares, [None, None, None, Some(-0.5)]);
    assert_eq!(found.nodes[0].calls, Some(i64::MAX as u64));
}
