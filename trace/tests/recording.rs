//! Does the reader see what the writer was given?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::path::{Path, PathBuf};

use sample::{EPOCH, START, method, options, record};
use trace::reader::{Call, Chunk, Event};
use trace::{MethodInfo, Recording, RecordingOptions, TraceReader};

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    (folder, file)
}

/// A call with its names.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    thread: (u64, String),
    method: String,
    template: String,
    start: u64,
    duration: u64,
    exact: bool,
}

fn seen(chunk: &Chunk, call: Call) -> Seen {
    let thread = chunk.thread(call.thread).expect("the thread is in the pool");
    let method = chunk.method(call.method).expect("the method is in the pool");
    Seen {
        thread: (thread.id, thread.name.clone()),
        method: format!("{}.{}{}", method.class, method.name, method.descriptor),
        template: chunk.template(call.template).expect("the template is in the pool").to_owned(),
        start: call.start - EPOCH,
        duration: call.duration,
        exact: call.exact,
    }
}

fn chunks(file: &Path) -> Vec<Chunk> {
    let reader = TraceReader::open(file).unwrap();
    assert!(reader.warnings().is_empty());
    (0..reader.chunk_count()).map(|index| reader.chunk(index).unwrap()).collect()
}

fn calls(file: &Path) -> Vec<Seen> {
    let mut all = Vec::new();
    for chunk in chunks(file) {
        for event in chunk.events() {
            if let Event::MethodCall(call) = event.unwrap() {
                all.push(seen(&chunk, call));
            }
        }
    }
    all
}

#[test]
fn times_durations_and_ids_of_every_length_come_back() {
    let (_folder, file) = scratch();
    let mut recording = Recording::create(&file, options()).unwrap();
    let probes = [1, 127, 128, 16_383, 16_384, 0xff_ffff];
    for probe in probes {
        recording.define_method(probe, method("com/acme/Job", &format!("run{probe}"), true));
    }
    let times: Vec<u64> = (0..55).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).collect();
    let threads = [1, 127, 128, 1 << 20, 1 << 33, u64::MAX];
    let mut expected = Vec::new();
    for (index, time) in times.iter().enumerate() {
        let probe = probes[index % probes.len()];
        let thread = threads[index % threads.len()];
        let duration = time & ((1 << 40) - 1);
        recording.define_thread(thread, "t", 0, false);
        recording.set_thread(thread);
        recording.calls(&[record(u64::from(probe), *time, duration)]);
        recording.call(probe, START + time, *time);
        for duration in [duration, *time] {
            expected.push(Seen {
                thread: (if thread == u64::MAX { 0 } else { thread }, "t".to_owned()),
                method: format!("com/acme/Job.run{probe}(I)V"),
                template: "timed".to_owned(),
                start: *time,
                duration,
                exact: true,
            });
        }
    }
    assert_eq!(recording.finish().unwrap().calls, expected.len() as u64);
    let calls = calls(&file);
    assert_eq!(calls.len(), expected.len());
    for (seen, mut expected) in calls.into_iter().zip(expected) {
        // A Java id is never negative: such a thread counts as one of the operating system.
        if expected.thread.0 == 0 {
            expected.thread.1 = seen.thread.1.clone();
        }
        assert_eq!(seen, expected);
    }
}

#[test]
fn chunks_follow_the_limit_and_hold_only_the_constants_they_use() {
    let (_folder, file) = scratch();
    let limit = 100_000;
    let mut recording = Recording::create(&file, RecordingOptions { max_chunk_bytes: limit, ..options() }).unwrap();
    for probe in 1..=2_000 {
        recording.define_method(probe, method(&format!("com/acme/Class{probe}"), "run", true));
    }
    recording.define_thread(1, "main", 1, false);
    recording.set_thread(1);
    let records: Vec<_> = (0..100_000).map(|index| record(1 + index / 50, index * 100, 99)).collect();
    records.chunks(777).for_each(|records| recording.calls(records));
    let statistics = recording.finish().unwrap();
    assert_eq!((statistics.calls, statistics.dropped_events), (100_000, 0));

    let all = calls(&file);
    assert_eq!(all.len(), 100_000);
    assert!(all.iter().zip(0..).all(|(seen, index)| {
        seen.start == index * 100 && seen.method == format!("com/acme/Class{}.run(I)V", 1 + index / 50)
    }));
    let chunks = chunks(&file);
    assert!((15..30).contains(&chunks.len()), "{} chunks", chunks.len());
    assert_eq!(statistics.chunks, chunks.len() as u64);
    for chunk in &chunks {
        let used = chunk.events().flatten().filter_map(|event| match event {
            Event::MethodCall(call) => Some(call.method),
            _ => None,
        });
        let used: std::collections::BTreeSet<u64> = used.collect();
        let written = (1..=2_000).filter(|key| chunk.method(*key).is_some()).collect();
        assert_eq!(used, written);
    }
    assert!(std::fs::metadata(&file).unwrap().len() < (limit + 60_000) as u64 * chunks.len() as u64);
}

#[test]
fn every_chunk_has_a_start_of_its_own_even_if_no_time_passes() {
    let (_folder, file) = scratch();
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.set_thread(1);
    for _ in 0..3 {
        recording.calls(&[record(1, 0, 0)]);
        recording.flush_chunk().unwrap();
    }
    recording.finish().unwrap();
    let starts: Vec<_> = chunks(&file).iter().map(Chunk::start_epoch_nanos).collect();
    assert_eq!(starts, [EPOCH, EPOCH + 1, EPOCH + 2, EPOCH + 3, EPOCH + 4]);
}

#[test]
fn a_key_never_changes_its_meaning_in_a_file() {
    let (_folder, file) = scratch();
    let mut recording = Recording::create(&file, options()).unwrap();
    let mut meanings = std::collections::HashMap::new();
    for round in 0..6 {
        recording.define_method(1, method("com/acme/Job", &format!("run{}", round % 3), round % 2 == 0));
        recording.define_thread(70, &format!("worker {}", round / 2), 5, false);
        recording.define_thread(80, if round % 3 == 0 { "" } else { "named" }, 0, true);
        for thread in [70, 80, 90] {
            recording.set_thread(thread);
            recording.calls(&[record(1, round * 10, 5)]);
        }
        recording.flush_chunk().unwrap();
    }
    recording.thread_ended(70, START + 100);
    recording.finish().unwrap();
    for chunk in chunks(&file) {
        for event in chunk.events().flatten() {
            if let Event::MethodCall(call) = event {
                let thread = format!("{:?}", chunk.thread(call.thread).unwrap());
                assert_eq!(meanings.entry(call.thread).or_insert_with(|| thread.clone()), &thread);
            }
        }
    }
    let names: Vec<_> = calls(&file).into_iter().filter(|call| call.thread.0 == 70).map(|call| call.thread.1).collect();
    assert_eq!(names, ["worker 0", "worker 0", "worker 1", "worker 1", "worker 2", "worker 2"]);
    let exact: Vec<_> = calls(&file).into_iter().filter(|call| call.thread.0 == 90).map(|call| call.exact).collect();
    assert_eq!(exact, [true, false, true, false, true, false]);
}

#[test]
fn names_that_are_not_plain_text_are_kept() {
    let (_folder, file) = scratch();
    let mut recording = Recording::create(&file, options()).unwrap();
    let odd = MethodInfo { name: b"a\xc0\x80\xed\xa0\xbd\xed\xb8\x80\xed\xa0\x80", ..method("", "", true) };
    recording.define_method(1, odd);
    recording.define_thread(1, "\u{1f600} <b>", 1, false);
    recording.set_thread(1);
    recording.statement(1, START + 1, 1, "");
    recording.statement(1, START + 2, 1, &"ä".repeat(100_000));
    recording.finish().unwrap();
    let calls = calls(&file);
    assert_eq!(calls[0].method, ".a\0\u{1f600}\\u{d800}(I)V");
    assert_eq!(calls[0].thread.1, "\u{1f600} <b>");
    let chunk = &chunks(&file)[1];
    let statements: Vec<_> = chunk
        .events()
        .flatten()
        .filter_map(|event| match event {
            Event::Statement { statement, .. } => Some(statement.len()),
            _ => None,
        })
        .collect();
    assert_eq!(statements, [0, 32 << 10]);
}

#[test]
fn what_began_before_the_recording_is_cut_at_its_start() {
    let (_folder, file) = scratch();
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(1, method("com/acme/Job", "run", true));
    recording.set_thread(1);
    recording.call(1, START - 1_000, 1_500);
    recording.call(1, START - 1_000, 10);
    recording.finish().unwrap();
    let times: Vec<_> = calls(&file).into_iter().map(|call| (call.start, call.duration)).collect();
    assert_eq!(times, [(0, 500), (0, 0)]);
}

#[test]
fn calls_of_unknown_probes_are_kept_and_counted() {
    let (_folder, file) = scratch();
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(5, method("com/acme/Job", "run", true));
    recording.define_method(u32::MAX, method("com/acme/Job", "never", true));
    recording.set_thread(1);
    recording.calls(&[record(1, 1, 1), record(5, 2, 1), record(0xff_ffff, 3, 1), record(0, 4, 1)]);
    recording.call(u32::MAX, START + 5, 1);
    let statistics = recording.finish().unwrap();
    assert_eq!((statistics.calls, statistics.unknown_probes), (5, 4));
    let known: Vec<_> = calls(&file).into_iter().map(|call| call.method.starts_with("com/acme/Job.run")).collect();
    assert_eq!(known, [false, true, false, false, false]);
}
