//! Walks are written into recordings and read back.

use std::fs;
use std::path::Path;

use super::*;
use crate::{Analysis, AnalysisOptions, ProcessInfo, Recording, RecordingOptions, WalkHooks};

const START: u64 = 5_000;

fn caller(method: &str) -> WalkCaller {
    WalkCaller {
        method: method.to_owned(),
        via: Some("x.Größe.of(A)".to_owned()),
        calls: Some(12_549),
        calls_share: Some(0.688),
        calls_margin: Some(0.007),
        time_nanos: Some(81_200_001),
        time_share: Some(0.252),
        time_margin: Some(0.041),
        shortest_nanos: Some(1_201),
        longest_nanos: Some(20_401_000),
        cpu_share: Some(0.255),
        margin: Some(0.032),
        followed: true,
    }
}

fn level(callers: Vec<WalkCaller>) -> WalkLevel {
    WalkLevel {
        level: 2,
        hot: "a.Hot.hot(int)".to_owned(),
        of: "b.B.größe()".to_owned(),
        source: "measured".to_owned(),
        calls: Some(18_240),
        covered: Some(0.999),
        share: 0.75,
        callers,
        without_caller: vec![WithoutCaller { reason: "the thread begins there".to_owned(), share: 0.1 }],
        reason: Some("r".to_owned()),
    }
}

/// Everything is known of it.
fn full(number: u64) -> Walk {
    let spot = |method: &str, kind: Option<&str>, margin| HotSpot {
        method: method.to_owned(),
        kind: kind.map(str::to_owned),
        share: 0.413,
        margin,
        samples: 1_327,
    };
    let of_samples = WalkLevel { source: "samples".to_owned(), calls: None, covered: None, ..level(Vec::new()) };
    // The bare caller was met by no sample, and its calls were not measured.
    let bare = WalkCaller { method: "d.D.d()".to_owned(), ..WalkCaller::default() };
    Walk {
        number,
        state: "ended".to_owned(),
        metric: Some("allocated".to_owned()),
        samples: 3_214,
        sampler: "async".to_owned(),
        bias: Some("at any instruction".to_owned()),
        hot: vec![spot("a.Hot.hot(int)", Some("jit"), Some(0.017)), spot("b.B.b()", None, None)],
        levels: vec![level(vec![caller("c.C.c()"), bare]), of_samples],
        hooks: WalkHooks { now: 0, most: 5, calls: 41_022, late: 3, changes: 9, longest_stop_nanos: 3_600_001 },
        end: Some("a.Hot.hot(int): root; b.B.b(): it was ended".to_owned()),
        notices: vec!["one".to_owned(), "another one".to_owned()],
        ended_after_nanos: Some(1_000 * number),
        gauge: vec![
            HookCount { after_nanos: 1_000 * number - 500, now: 5 },
            HookCount { after_nanos: 1_000 * number - 1, now: 0 },
        ],
    }
}

/// Nothing is known of it but that it has ended.
fn bare(number: u64) -> Walk {
    let ended_after_nanos = Some(1_000 * number);
    Walk { number, state: "ended".to_owned(), ended_after_nanos, ..Walk::default() }
}

fn written(file: &Path, chunk_bytes: usize, walks: &[Walk]) {
    let options = RecordingOptions {
        max_chunk_bytes: chunk_bytes,
        ..RecordingOptions::new(1_700_000_000_000_000_000, START, ProcessInfo::default())
    };
    let mut recording = Recording::create(file, options).unwrap();
    for walk in walks {
        for HookCount { after_nanos, now } in &walk.gauge {
            recording.hook_gauge(START + after_nanos, walk.number, *now, 5);
        }
        recording.walk(START + walk.ended_after_nanos.unwrap_or(0), walk);
    }
    recording.finish().unwrap();
}

fn read(file: &Path) -> Analysis {
    Analysis::of_file(file, AnalysisOptions::default()).unwrap()
}

#[test]
fn all_that_is_known_of_a_walk_is_read_back_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let walks = [full(1), bare(2), full(3)];
    written(&file, RecordingOptions::DEFAULT_CHUNK, &walks);
    assert_eq!(read(&file).walks, walks);
}

#[test]
fn a_walk_that_is_spread_over_chunks_is_whole_and_one_that_was_cut_is_shown_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jfr");
    let levels: Vec<WalkLevel> = (0..200).map(|_| level((0..10).map(|_| caller("c.C.c()")).collect())).collect();
    let large = Walk { levels, ..full(1) };
    written(&file, 4_096, std::slice::from_ref(&large));
    let whole = read(&file);
    assert!(whole.recording.chunks > 5, "{} chunks", whole.recording.chunks);
    assert_eq!(whole.walks, [large]);

    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let cut = read(&file).walks.remove(0);
    assert!((50..200).contains(&cut.levels.len()), "{} levels", cut.levels.len());
    assert_eq!((cut.number, cut.end), (1, None));
    assert!(cut.notices[0].contains("its end is missing"), "{:?}", cut.notices);
}

#[test]
fn parts_that_are_missing_are_counted() {
    let end = |hot_spots, levels| WalkPart::End { walk: bare(1), hot_spots, levels };
    let mut walks = Walks::default();
    let row = level(Vec::new());
    for part in [
        WalkPart::Caller(4, 0, caller("lost.A.a()")),
        WalkPart::Level { row: 1, level: WalkLevel { without_caller: Vec::new(), ..row }, edges: 3 },
        WalkPart::Caller(1, 2, caller("c.C.c()")),
        end(1, 3),
    ] {
        walks.see((9, 1), part);
    }
    let (found, warning) = walks.finish(0);
    let [Walk { levels, notices, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((levels.len(), levels[0].callers.len(), warning), (1, 1, None));
    // The hot method, a row, the caller whose row is not there, and two callers of the row that is.
    assert_eq!(notices[..], ["5 of its methods and callers are missing in this recording"]);
}

#[test]
fn of_endless_walks_and_parts_some_are_kept_and_a_warning_says_so() {
    let mut walks = Walks::default();
    for at in (0..MOST as u64 + 5).rev() {
        walks.see((at, 1), WalkPart::End { walk: bare(1), hot_spots: 0, levels: 0 });
    }
    let (found, warning) = walks.finish(0);
    assert_eq!((found.len(), found[0].ended_after_nanos), (MOST, Some(5)), "the last ones");
    assert_eq!(warning.as_deref(), Some("only the last 200 walks are shown, with 200 parts"));
    let mut walks = Walks::default();
    (0..MOST_PARTS as u64 + 7).for_each(|number| walks.see((1, 1), WalkPart::Caller(0, number, caller("a"))));
    (0..7).for_each(|at| walks.see((at, 1), WalkPart::Probes(1)));
    assert!(walks.finish(0).1.is_some());
}
