//! Do the exports show which call handed over what runs on another thread?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prost::Message;
use sample::{START, method, options};
use serde_json::Value;
use trace::{Analysis, AnalysisOptions, Recording, TaskStep, TraceReader, export};

/// `order` on thread 1 calls `hand`, which hands a task over at 30; it runs on thread 2 as `work` with `part` inside, which hands the
/// next over at 66; that runs on thread 3 as `last`, twice. `other` on thread 3 belongs to nobody.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    for (id, name) in (1..).zip(["order", "hand", "work", "part", "last", "other"]) {
        recording.define_method(id, method("com/acme/Shop", name, true));
    }
    for (id, name) in [(1, "main"), (2, "worker-1"), (3, "worker-2")] {
        recording.define_thread(id, name, id, false);
    }
    let mut on = |thread, calls: &[(u32, u64, u64)], steps: &[(TaskStep, u32, u64)]| {
        recording.set_thread(thread);
        steps.iter().for_each(|(step, task, at)| recording.task(*step, *task, START + at));
        calls.iter().for_each(|(probe, from, to)| recording.call(*probe, START + from, to - from));
    };
    use TaskStep::{Begins, Ends, HandedOver};
    on(1, &[(2, 20, 50), (1, 10, 100)], &[(HandedOver, 7, 30)]);
    on(2, &[(4, 65, 70), (3, 61, 80)], &[(Begins, 7, 60), (HandedOver, 8, 66), (Ends, 0, 90)]);
    on(3, &[(6, 40, 45), (5, 96, 97), (5, 98, 99)], &[(Begins, 8, 95), (Ends, 0, 110)]);
    recording.finish().unwrap();
    (folder, file)
}

fn exported(
    file: &Path,
    write: impl Fn(&mut TraceReader, AnalysisOptions, &mut Vec<u8>) -> std::io::Result<Analysis>,
) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut TraceReader::open(file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    out
}

#[test]
fn chrome_has_an_arrow_from_each_hand_over_to_the_first_call_of_the_task() {
    let (_folder, file) = written();
    let json: Value = serde_json::from_slice(&exported(&file, export::chrome)).unwrap();
    let flows: Vec<(String, u64, u64, f64)> = json["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["cat"] == "task")
        .map(|event| {
            let text = event["ph"].as_str().unwrap().to_owned();
            (text, event["id"].as_u64().unwrap(), event["tid"].as_u64().unwrap(), event["ts"].as_f64().unwrap())
        })
        .collect();
    let expected = [("s", 1, 1, 0.03), ("f", 1, 2, 0.061), ("s", 2, 2, 0.066), ("f", 2, 3, 0.096)];
    assert_eq!(flows, expected.map(|(end, id, thread, at)| (end.to_owned(), id, thread, at)));
}

#[test]
fn spans_of_a_task_stand_in_the_trace_and_below_the_call_that_handed_it_over() {
    let (_folder, file) = written();
    let text = String::from_utf8(exported(&file, export::otlp)).unwrap();
    let mut spans: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
            let text = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
            let name = text("name").trim_start_matches("com.acme.Shop.").to_owned();
            names.insert(text("spanId"), name.clone());
            spans.insert(name, (text("traceId"), text("parentSpanId")));
        }
    }
    let parent = |name: &str| names.get(&spans[name].1).map(String::as_str);
    assert_eq!(
        ["order", "hand", "work", "part", "last", "other"].map(parent),
        [None, Some("order"), Some("hand"), Some("work"), Some("part"), None]
    );
    let of_order: Vec<&str> =
        spans.iter().filter(|(_, (trace, _))| *trace == spans["order"].0).map(|(name, _)| name.as_str()).collect();
    assert_eq!(of_order, ["hand", "last", "order", "part", "work"]);
}

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(fixed64, repeated, tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[test]
fn perfetto_has_the_flow_at_the_begin_of_both_calls() {
    let (_folder, file) = written();
    let trace = Trace::decode(exported(&file, export::perfetto).as_slice()).unwrap();
    let mut flows: Vec<(u64, Vec<u64>, Vec<u64>)> = trace
        .packet
        .into_iter()
        .filter_map(|packet| Some((packet.timestamp?, packet.track_event?)))
        .map(|(at, event)| (at, event.flow_ids, event.terminating_flow_ids))
        .filter(|(_, begins, ends)| !begins.is_empty() || !ends.is_empty())
        .collect();
    flows.sort();
    assert_eq!(flows, [(20, vec![1], vec![]), (61, vec![], vec![1]), (65, vec![2], vec![]), (96, vec![], vec![2])]);
}
