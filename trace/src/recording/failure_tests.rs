//! What a recording does when its file cannot be written.

use std::path::Path;

use super::{Destination, MethodInfo, ProcessInfo, Recording, RecordingOptions};
use crate::recording::chunk_file::ChunkFile;
use crate::{Analysis, AnalysisOptions};

fn recording(file: &Path) -> Recording {
    let options = RecordingOptions { max_chunk_bytes: 4096, ..RecordingOptions::new(0, 0, ProcessInfo::default()) };
    let mut recording = Recording::create(file, options).unwrap();
    let method =
        MethodInfo { class: b"a/B", name: b"c", descriptor: b"()V", access_flags: 0, exact: true, template: "timed" };
    recording.define_method(1, method);
    recording.set_thread(1);
    recording
}

#[cfg(target_os = "linux")]
fn full_disk() -> Destination {
    Destination::File(ChunkFile::new(std::fs::File::options().write(true).open("/dev/full").unwrap(), true))
}

#[test]
fn a_file_that_cannot_be_created_is_an_error() {
    let options = RecordingOptions::new(0, 0, ProcessInfo::default());
    assert!(Recording::create(Path::new("/nowhere/at/all.jfr"), options).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_drops_chunks_counts_them_and_does_not_end_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let mut recording = recording(&file);
    let good_file = std::mem::replace(&mut recording.destination, full_disk());

    recording.calls(&[[100, 5 << 24 | 1]; 5_000]);
    assert!(recording.flush_chunk().is_err(), "the error of a chunk that was full is returned by the next flush");
    assert_eq!(recording.statistics().dropped_events, 5_000);
    assert!(recording.flush_chunk().is_ok(), "nothing new to write, no new error");
    recording.calls(&[[100, 5 << 24 | 1]; 10]);
    assert!(recording.flush_chunk().is_err());

    recording.destination = good_file;
    recording.calls(&[[200, 5 << 24 | 1]; 7]);
    recording.flush_chunk().unwrap();
    let statistics = recording.finish().unwrap();
    assert_eq!((statistics.calls, statistics.dropped_events, statistics.dropped_calls), (5_017, 5_010, 5_010));

    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    assert_eq!((analysis.calls, analysis.lost), (7, 5_010), "one figure everywhere");
    assert_eq!(statistics.lost, 5_010);
    let warned = |part: &str| analysis.warnings.iter().any(|warning| warning.contains(part));
    assert!(warned("5010 calls and 0 other events were dropped") && warned("too low"), "{:?}", analysis.warnings);
    let notes = &analysis.recording.notes;
    assert!(notes.iter().any(|(_, kind, text)| kind == "dropped" && text.contains("5010")), "{notes:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn drops_are_reported_even_if_only_the_last_chunk_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let mut recording = recording(&file);
    let good_file = std::mem::replace(&mut recording.destination, full_disk());
    recording.calls(&[[100, 5 << 24 | 1]; 20]);
    assert!(recording.flush_chunk().is_err());
    assert_eq!(recording.statistics().dropped_calls, 20);

    recording.destination = good_file;
    recording.calls(&[[200, 5 << 24 | 1]; 3]);
    recording.finish().unwrap();
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    assert_eq!((analysis.calls, analysis.lost), (3, 20));
    assert!(analysis.warnings.iter().any(|warning| warning.contains("20 calls")), "{:?}", analysis.warnings);
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_of_a_recording_without_calls_says_that_they_were_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let mut recording = recording(&file);
    recording.lost(50, 4);
    let good_file = std::mem::replace(&mut recording.destination, full_disk());
    recording.calls(&[[100, 5 << 24 | 1]; 20]);
    assert!(recording.flush_chunk().is_err());
    let reported = |file: &Path| {
        let analysis = Analysis::of_file(file, AnalysisOptions::default()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&crate::report::json(&analysis)).unwrap();
        let text = crate::report::terminal(&analysis, &crate::report::TerminalOptions::default());
        (text, json["check"][0].as_str().unwrap().to_owned(), analysis.threads)
    };
    let (text, check, _) = reported(&file);
    assert!(check.starts_with("The recording has no end: ") && text.contains(&check), "{text}");

    recording.destination = good_file;
    recording.finish().unwrap();
    let (text, check, threads) = reported(&file);
    assert!(text.contains("0 of 0 methods, 24 lost; "), "losses of a dropped chunk are reported again: {text}");
    assert!(check.starts_with("Calls were recorded and lost: ") && !text.contains("Does a rule match?"), "{text}");
    let names: Vec<_> = threads.iter().map(|row| (row.name.as_str(), row.lost)).collect();
    assert_eq!(names, [("(unknown threads)", 24)]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_recording_whose_last_chunk_has_no_place_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let mut recording = recording(&file);
    recording.calls(&[[100, 5 << 24 | 1]; 20]);
    recording.flush_chunk().unwrap();
    recording.destination = full_disk();
    recording.calls(&[[200, 5 << 24 | 1]; 3]);
    let (statistics, result) = recording.end();
    assert!(result.is_err());
    assert_eq!((statistics.calls, statistics.dropped_calls), (23, 3));
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    assert_eq!((analysis.calls, analysis.lost), (20, 0));
    let explains = |warning: &String| warning.contains("full disk") && warning.contains("not among the lost ones");
    assert!(analysis.warnings.iter().any(explains), "{:?}", analysis.warnings);
    let text = crate::report::terminal(&analysis, &crate::report::TerminalOptions::default());
    assert!(text.contains("20 of 1 method, 0 or more lost; "), "{text}");
}
