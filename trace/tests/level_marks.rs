//! Are methods whose figures cover a part of the time only, and calls whose times are estimates, marked in comparisons and exports?
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod sample;

use std::io::{self, Read};
use std::path::Path;

use sample::{START, method, options};
use serde_json::Value;
use trace::analysis::{Comparison, Measure};
use trace::export::{self, CollapsedOptions, Weight};
use trace::report::{TerminalOptions, comparison, diff_html};
use trace::{Analysis, AnalysisOptions, Claim, Recording, TraceReader};

const SECOND: u64 = 1_000_000_000;
const MARKED: &str = "com.acme.Short.lowered [first 1.0 s]";

/// `lowered` is at level time for the first of ten seconds, then at level watch; `kept` is at level time.
fn write(file: &Path) {
    let mut recording = Recording::create(file, options()).unwrap();
    recording.define_method(1, method("com/acme/Short", "lowered", true));
    recording.define_method(2, method("com/acme/Short", "kept", true));
    let watched = trace::MethodInfo { exact: false, ..method("com/acme/Short", "lowered", true) };
    recording.define_method(3, watched);
    recording.define_thread(1, "main", 1, false);
    recording.set_thread(1);
    recording.call(1, START + 100, 50_000);
    recording.call(2, START + SECOND, 5_000_000);
    let claim = Claim { owner: "governor", reason: "31 % of the CPU time", from: "time", to: "watch" };
    recording.claim(START + SECOND, Some(1), &claim);
    recording.call(3, START + 2 * SECOND, 20_000_000);
    recording.note(START + 10 * SECOND - 1, "test", "the last event");
    recording.finish().unwrap();
}

/// `lowered` and `kept` 40 times in ten seconds; if `goes_on` is false, `lowered` only in the first second, then its probe is removed.
fn analysed(goes_on: bool) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("levels.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    for (probe, name) in [(1, "lowered"), (2, "kept")] {
        recording.define_method(probe, method("com/acme/Short", name, true));
    }
    recording.define_thread(1, "main", 1, false);
    recording.set_thread(1);
    for start in (0..40).map(|number| START + number * SECOND / 4) {
        if goes_on || start < START + SECOND {
            recording.call(1, start + 10_000_000, 50_000);
        }
        recording.call(2, start + 20_000_000, 50_000);
    }
    if !goes_on {
        let claim = Claim { owner: "governor", reason: "31 % of the CPU time", from: "time", to: "removed" };
        recording.claim(START + SECOND, Some(1), &claim);
    }
    recording.note(START + 10 * SECOND - 1, "test", "the last event");
    recording.finish().unwrap();
    Analysis::of_file(&file, AnalysisOptions { in_blocks: true, ..ALL }).unwrap()
}

#[test]
fn rows_of_a_comparison_have_the_mark_and_what_covers_a_part_of_the_time_is_not_judged() {
    let [before, after] = [[analysed(true)], [analysed(false)]];
    let changes = Comparison::of(&before[0], &after[0]);
    let [kept, lowered] = changes.methods.as_slice() else { unreachable!("two methods") };
    assert_eq!(lowered.marked_name(), "com.acme.Short.lowered [after: first 1.0 s]");
    assert_eq!(kept.marked_name(), "com.acme.Short.kept");
    for measure in [Measure::Own, Measure::Total, Measure::Calls] {
        assert_eq!((lowered.is_noise(measure), lowered.noise_percent(measure)), (None, None), "{measure:?}");
        assert_eq!(kept.is_noise(measure), Some(true), "{measure:?}");
    }
    let back = Comparison::of(&after[0], &before[0]);
    assert!(back.worse_by(Measure::Calls, 5.0, 1.0).is_empty(), "4 calls of the first second, 40 of all the time");
    assert_eq!(back.unjudged_above(Measure::Calls, 5.0, 1.0).len(), 1);

    let text = comparison(&changes, Measure::Own, &TerminalOptions { width: 160, ..TerminalOptions::default() });
    let row = text.lines().find(|line| line.ends_with("com.acme.Short.lowered [after: first 1.0 s]"));
    assert!(row.is_some_and(|row| row.contains("?-90.0 %")), "{text}");
    assert!(text.contains("[..] the calls are those of this part of the time"), "{text}");
    let page = diff_html(&before, &after, &changes);
    assert!(page.contains(r#""parts":[null,{"percent":10.0"#), "the row of the page");
}

fn exported(export: impl FnOnce(&mut TraceReader, &mut Vec<u8>) -> io::Result<Analysis>) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("levels.jfr");
    write(&file);
    let mut out = Vec::new();
    export(&mut TraceReader::open(&file).unwrap(), &mut out).unwrap();
    out
}

fn text(export: impl FnOnce(&mut TraceReader, &mut Vec<u8>) -> io::Result<Analysis>) -> String {
    String::from_utf8(exported(export)).unwrap()
}

const ALL: AnalysisOptions = AnalysisOptions { after_start_up: false, in_blocks: false };

#[test]
fn methods_of_a_part_of_the_time_are_marked_in_collapsed_stacks_and_pprof() {
    let options = CollapsedOptions { weight: Weight::Calls, ..CollapsedOptions::default() };
    let collapsed = text(|reader, out| export::collapsed(reader, &options, out));
    let mut lines: Vec<_> = collapsed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["com.acme.Short.kept 1", "com.acme.Short.lowered [first 1.0 s] 2"]);

    let compressed = exported(|reader, out| export::pprof(reader, ALL, out));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(compressed.as_slice()).read_to_end(&mut plain).unwrap();
    let holds = |wanted: &str| plain.windows(wanted.len()).any(|bytes| bytes == wanted.as_bytes());
    assert!(holds(MARKED) && holds("com.acme.Short.lowered(I)V") && !holds("com.acme.Short.kept ["));
}

#[test]
fn speedscope_and_chrome_mark_methods_and_estimated_calls() {
    let whole: Value = serde_json::from_str(&text(|reader, out| export::speedscope(reader, ALL, out))).unwrap();
    let name = |event: &Value| whole["shared"]["frames"][event["frame"].as_u64().unwrap() as usize]["name"].clone();
    let events = whole["profiles"][0]["events"].as_array().unwrap().iter();
    let names: Vec<_> = events.map(name).map(|name| name.as_str().unwrap().to_owned()).collect();
    let estimated = format!("{MARKED} [estimated]");
    let expected = [MARKED, MARKED, "com.acme.Short.kept", "com.acme.Short.kept", &estimated, &estimated];
    assert_eq!(names, expected);

    let whole: Value = serde_json::from_str(&text(|reader, out| export::chrome(reader, ALL, out))).unwrap();
    let calls = whole["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let mut marks: Vec<_> = calls.map(|call| (call["name"].as_str().unwrap(), call["cat"].as_str().unwrap())).collect();
    marks.reverse();
    assert_eq!(marks, [(MARKED, "exact"), ("com.acme.Short.kept", "exact"), (MARKED, "estimated")]);
}

#[test]
fn spans_of_otlp_keep_their_names_and_have_the_mark_as_an_attribute() {
    let whole: Value = serde_json::from_str(&text(|reader, out| export::otlp(reader, ALL, out))).unwrap();
    let spans = whole["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let part = |span: &Value| {
        let attributes = span["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|attribute| attribute["key"] == "instr.recorded_part");
        found.map(|attribute| attribute["value"]["stringValue"].as_str().unwrap().to_owned())
    };
    for span in spans {
        let expected = (span["name"] == "com.acme.Short.lowered").then(|| "first 1.0 s".to_owned());
        assert_eq!(part(span), expected, "{span}");
    }
    assert_eq!(spans.len(), 3);
}

#[test]
fn the_mark_is_that_of_the_part_that_is_exported() {
    let options = AnalysisOptions { after_start_up: true, ..ALL };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("levels.jfr");
    let mut recording = Recording::create(&file, sample::options()).unwrap();
    recording.define_method(1, method("com/acme/Short", "raised", true));
    recording.define_thread(1, "main", 1, false);
    recording.set_thread(1);
    let claim = Claim { owner: "user", reason: "instr level", from: "watch", to: "time" };
    recording.claim(START + SECOND, Some(1), &claim);
    recording.start_up_done(START + 2 * SECOND);
    recording.call(1, START + 3 * SECOND, 50_000);
    recording.finish().unwrap();
    for (options, name) in [(ALL, "com.acme.Short.raised [last 2.0 s]"), (options, "com.acme.Short.raised")] {
        let mut out = Vec::new();
        export::chrome(&mut TraceReader::open(&file).unwrap(), options, &mut out).unwrap();
        let found = String::from_utf8(out).unwrap();
        assert!(found.contains(&format!("\"{name}\"")), "{found}");
    }
}

/// Number and content of the fields of a message of Protocol Buffers; numbers as 8 bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let number = |message: &mut &[u8]| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = message[0];
            *message = &message[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    };
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = number(&mut message);
        let content = match key & 7 {
            0 => number(&mut message).to_le_bytes().to_vec(),
            1 | 2 => {
                let length = if key & 7 == 1 { 8 } else { number(&mut message) as usize };
                let (content, rest) = message.split_at(length);
                message = rest;
                content.to_vec()
            }
            other => unreachable!("wire type {other}"),
        };
        found.push((key >> 3, content));
    }
    found
}

#[test]
fn perfetto_marks_methods_and_estimated_calls() {
    let field = |message: &[u8], wanted: u64| fields(message).into_iter().find(|(number, _)| *number == wanted);
    let text = |content: Vec<u8>| String::from_utf8(content).unwrap();
    let (mut names, mut categories, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for (_, packet) in fields(&exported(|reader, out| export::perfetto(reader, ALL, out))) {
        for (kind, interned) in field(&packet, 12).iter().flat_map(|(_, data)| fields(data)) {
            let entry = (field(&interned, 1).unwrap().1, text(field(&interned, 2).unwrap().1));
            if kind == 1 { categories.push(entry) } else { names.push(entry) }
        }
        let Some((_, event)) = field(&packet, 11) else { continue };
        let Some((_, name)) = field(&event, 10) else { continue };
        let found = |entries: &[(Vec<u8>, String)], wanted: &[u8]| {
            entries.iter().find(|(iid, _)| iid == wanted).unwrap().1.clone()
        };
        calls.push((found(&names, &name), found(&categories, &field(&event, 3).unwrap().1)));
    }
    let calls: Vec<_> = calls.iter().map(|(name, category)| (name.as_str(), category.as_str())).collect();
    assert_eq!(calls, [(MARKED, "exact"), ("com.acme.Short.kept", "exact"), (MARKED, "estimated")]);
}
