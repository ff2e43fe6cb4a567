//! What do the reader and the repair make of damaged files?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::fs;
use std::path::{Path, PathBuf};

use sample::{method, options, record, write_sample};
use trace::{Analysis, AnalysisOptions, ReadError, Recording, TraceReader, repair};

/// A file of the first chunk, two chunks with three calls each, and the last one. Returns its bytes and where its chunks
/// begin.
fn three_chunks(file: &Path) -> (Vec<u8>, Vec<usize>) {
    let mut recording = Recording::create(file, options()).unwrap();
    recording.define_method(1, method("com/acme/Job", "run", true));
    recording.set_thread(9);
    let mut begins = vec![0];
    for chunk in 0..2 {
        begins.push(recording.statistics().file_bytes as usize);
        (0..3).for_each(|index| recording.calls(&[record(1, chunk * 1_000 + index * 10, 5)]));
        recording.flush_chunk().unwrap();
    }
    begins.push(recording.statistics().file_bytes as usize);
    recording.finish().unwrap();
    (fs::read(file).unwrap(), begins)
}

fn calls(file: &Path) -> (u64, Vec<String>) {
    let analysis = Analysis::of_file(file, AnalysisOptions::default()).unwrap();
    (analysis.calls, analysis.warnings)
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    (folder, file)
}

#[test]
fn a_cut_anywhere_loses_only_the_chunk_that_was_cut() {
    let (_folder, file) = scratch();
    let (bytes, begins) = three_chunks(&file);
    for cut in (begins[1]..bytes.len()).step_by(61).chain(begins[1..].iter().copied()) {
        fs::write(&file, &bytes[..cut]).unwrap();
        let whole = begins.iter().filter(|begin| **begin <= cut && **begin > 0).count() as u64;
        let (count, warnings) = calls(&file);
        assert_eq!(count, (whole - 1) * 3, "cut at {cut}");
        let is_torn = !begins.contains(&cut);
        assert_eq!(warnings.iter().any(|warning| warning.contains("left out")), is_torn, "cut at {cut}: {warnings:?}");

        let repaired = repair(&file).unwrap();
        assert_eq!(repaired.chunks, whole);
        assert_eq!(repaired.cut_bytes > 0, is_torn);
        assert_eq!(fs::read(&file).unwrap(), bytes[..begins[whole as usize]]);
        assert_eq!(calls(&file).0, count);
    }
}

#[test]
fn a_sound_file_is_not_touched_and_rubbish_after_it_is_cut() {
    let (_folder, file) = scratch();
    let (bytes, _) = three_chunks(&file);
    assert_eq!(repair(&file).unwrap().cut_bytes, 0);
    for tail in [&[0_u8; 5000][..], b"FLR\0rubbish", &bytes[..100]] {
        fs::write(&file, [&bytes, tail].concat()).unwrap();
        assert_eq!(calls(&file).0, 6);
        assert_eq!(repair(&file).unwrap().cut_bytes, tail.len() as u64);
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

#[test]
fn an_unfinished_chunk_of_another_writer_is_left_out() {
    let (_folder, file) = scratch();
    let (mut bytes, begins) = three_chunks(&file);
    bytes[begins[2] + 64] = 1;
    fs::write(&file, &bytes).unwrap();
    assert_eq!(calls(&file).0, 3);
}

#[test]
fn a_file_that_is_no_recording_is_refused_and_never_cut() {
    let (_folder, file) = scratch();
    fs::write(&file, "some text that somebody still needs").unwrap();
    assert!(repair(&file).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "some text that somebody still needs");
    assert!(matches!(TraceReader::open(&file), Err(ReadError::NotARecording)));
    fs::write(&file, "").unwrap();
    assert!(matches!(TraceReader::open(&file), Err(ReadError::Empty)));
    fs::write(&file, b"FLR\0\0\x02").unwrap();
    assert!(matches!(TraceReader::open(&file), Err(ReadError::NoWholeChunk)));
    assert_eq!(repair(&file).unwrap().chunks, 0);
}

#[test]
fn an_unfinished_recording_is_readable_and_says_so() {
    let (_folder, file) = scratch();
    let mut recording = write_sample(&file).unwrap();
    recording.flush_chunk().unwrap();
    let (count, warnings) = calls(&file);
    assert_eq!(count, 5);
    assert!(warnings.iter().any(|warning| warning.contains("killed")), "{warnings:?}");
}

#[test]
fn wrong_bytes_anywhere_are_an_error_or_a_warning_but_nothing_worse() {
    let (_folder, file) = scratch();
    write_sample(&file).unwrap().finish().unwrap();
    let bytes = fs::read(&file).unwrap();
    let mut state = 42_u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    for _ in 0..1_000 {
        let mut damaged = bytes.clone();
        for _ in 0..=random(4) {
            let at = random(damaged.len());
            damaged[at] = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
        }
        fs::write(&file, &damaged).unwrap();
        if let Ok(analysis) = Analysis::of_file(&file, AnalysisOptions::default()) {
            assert!(analysis.calls <= bytes.len() as u64);
        }
    }
}
