//! Several recordings under one name: none of them is lost.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use trace::recording::ClaimedFile;
use trace::{Analysis, AnalysisOptions, MethodInfo, ProcessInfo, Recording, RecordingOptions};

fn begin(path: &Path) -> (Recording, PathBuf, Option<PathBuf>) {
    let file = ClaimedFile::claim(path).unwrap();
    let (path, earlier) = (file.path().to_owned(), file.earlier().map(Path::to_owned));
    let options = RecordingOptions::new(0, 0, ProcessInfo::default());
    let mut recording = Recording::in_file(file, options).unwrap();
    let method =
        MethodInfo { class: b"a/B", name: b"c", descriptor: b"()V", access_flags: 0, exact: true, template: "timed" };
    recording.define_method(1, method);
    recording.set_thread(1);
    recording.start_up_done(0);
    (recording, path, earlier)
}

fn record(path: &Path, calls: usize) -> PathBuf {
    let (mut recording, path, _) = begin(path);
    recording.calls(&vec![[100, 5 << 24 | 1]; calls]);
    recording.finish().unwrap();
    path
}

fn calls(path: &Path) -> u64 {
    let analysis = Analysis::of_file(path, AnalysisOptions::default()).unwrap();
    assert_eq!(analysis.warnings, Vec::<String>::new(), "{}", path.display());
    analysis.calls
}

#[test]
fn a_file_that_is_being_written_is_left_to_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jfr");
    let (mut first, first_path, _) = begin(&path);
    first.calls(&[[100, 5 << 24 | 1]; 7]);
    let others: Vec<_> = (0..2).map(|_| begin(&path)).collect();
    let pid = std::process::id();
    let names: Vec<_> = others.iter().map(|(_, path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, [format!("trace-{pid}.jfr"), format!("trace-{pid}-2.jfr")]);
    first.calls(&[[200, 5 << 24 | 1]; 2]);
    for (mut recording, other, earlier) in others {
        assert_eq!(earlier, None);
        recording.calls(&[[100, 5 << 24 | 1]; 3]);
        recording.finish().unwrap();
        assert_eq!(calls(&other), 3);
    }
    first.finish().unwrap();
    assert_eq!((first_path.as_path(), calls(&path)), (path.as_path(), 9));
}

#[test]
fn an_earlier_recording_is_renamed_and_the_newest_has_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jfr");
    for run in 1..4 {
        assert_eq!(record(&path, run), path);
    }
    assert_eq!(calls(&path), 3);
    assert_eq!(calls(&folder.path().join("trace-1.jfr")), 1);
    assert_eq!(calls(&folder.path().join("trace-2.jfr")), 2);
}

#[test]
fn a_symbolic_link_stays_and_recordings_are_kept_where_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let link = folder.path().join("trace.jfr");
    std::os::unix::fs::symlink("disk/newest.jfr", &link).unwrap();
    assert_eq!([record(&link, 1), record(&link, 2)], [link.clone(), link.clone()]);
    assert_eq!([calls(&disk.join("newest-1.jfr")), calls(&disk.join("newest.jfr"))], [1, 2]);
    let (first, ..) = begin(&link);
    let beside = disk.join(format!("newest-{}.jfr", std::process::id()));
    assert_eq!(record(&link, 3), beside);
    first.finish().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing but the link and the directory");
}

#[test]
fn the_torn_tail_of_a_killed_process_is_cut_before_its_recording_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jfr");
    record(&path, 5);
    let whole = fs::metadata(&path).unwrap().len();
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"FLR\0 begun, then the process was killed")
        .unwrap();
    let (recording, _, earlier) = begin(&path);
    let earlier = earlier.unwrap();
    assert_eq!((fs::metadata(&earlier).unwrap().len(), calls(&earlier)), (whole, 5));
    recording.finish().unwrap();
    // One that was killed in its first chunk leaves nothing to keep.
    fs::write(&path, b"FLR\0 the very first chunk").unwrap();
    let (_, _, earlier) = begin(&path);
    assert_eq!(earlier, None);
}

#[test]
fn other_files_are_never_touched_and_empty_ones_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "what somebody still needs").unwrap();
    let refused = ClaimedFile::claim(&notes).unwrap_err();
    assert!(refused.to_string().contains("not overwritten"), "{refused}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "what somebody still needs");
    let empty = folder.path().join("made by mktemp");
    File::create(&empty).unwrap();
    assert_eq!((record(&empty, 4), calls(&empty)), (empty.clone(), 4));
    let (_, path, _) = begin(Path::new("/dev/null"));
    assert_eq!(path, Path::new("/dev/null"));
}

#[test]
fn the_file_of_an_open_stream_is_never_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jfr");
    let stream = OpenOptions::new().append(true).create(true).open(&path).unwrap();
    let named = PathBuf::from(format!("/dev/fd/{}", stream.as_raw_fd()));
    assert_eq!((record(&named, 3), calls(&path)), (named.clone(), 3));
    let refused = ClaimedFile::claim(&named).unwrap_err().to_string();
    assert!(refused.contains("redirected to a file that is not empty"), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(calls(&path), 3);
}

#[test]
fn no_recording_is_written_where_the_link_of_another_user_leads() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let link = folder.path().join("trace.jfr");
    std::os::unix::fs::symlink("elsewhere.jfr", &link).unwrap();
    assert_eq!(record(&link, 1), link, "a link of one's own");
    // Only root can make it one of another user.
    if std::os::unix::fs::lchown(&link, Some(12_345), None).is_ok() {
        let refused = ClaimedFile::claim(&link).unwrap_err().to_string();
        assert!(refused.contains("another user"), "{refused}");
    }
    assert_eq!(calls(&folder.path().join("elsewhere.jfr")), 1);
}
