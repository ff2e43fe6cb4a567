//! Do reports show the right figures, and only as text?
//!
//! The expected text of the terminal is in `tests/expected`; `cargo xtask bless trace` writes it anew.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::path::Path;

use expect_test::expect_file;
use sample::{START, diagnosis, ended_diagnosis, method, options, without_size, write_sample};
use serde_json::Value;
use trace::analysis::{Comparison, Measure, TimeLine};
use trace::report::{self, TerminalOptions};
use trace::{Analysis, AnalysisOptions, Claim, Diagnosis, DiagnosisNode, Recording, TraceReader};

/// The analysis of what `write` records, under a file name that is the same on every machine.
fn analysis(write: impl FnOnce(&mut Recording), recording: impl FnOnce(&Path) -> Recording) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.jfr");
    let mut recording = recording(&file);
    write(&mut recording);
    recording.finish().unwrap();
    let options = AnalysisOptions { in_blocks: true, ..AnalysisOptions::default() };
    let mut analysis = Analysis::of_file(&file, options).unwrap();
    analysis.recording.path = "sample.jfr".into();
    analysis
}

fn sample() -> Analysis {
    analysis(|_| {}, |file| write_sample(file).unwrap())
}

fn empty() -> Analysis {
    analysis(|_| {}, |file| Recording::create(file, options()).unwrap())
}

fn diff_html(before: &Analysis, after: &Analysis) -> String {
    let [one, other] = [before, after].map(std::slice::from_ref);
    report::diff_html(one, other, &Comparison::of(before, after))
}

/// A recording whose names try to do harm.
fn hostile() -> Analysis {
    let write = |recording: &mut Recording| {
        recording
            .define_method(1, method("a/<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", true));
        recording.define_thread(1, "\x1b[31m\"><b>&amp;", 1, false);
        recording.set_thread(1);
        recording.statement(1, START + 10, 5, "--</script><script>alert(3)</script>\u{2028}@@DATA@@");
        let node = DiagnosisNode { method: "<iframe\x1b[2J>".to_owned(), ..DiagnosisNode::default() };
        let sentence = Some("</script><script>alert(5)</script>".to_owned());
        let found = Diagnosis { state: "done\x1b[H".to_owned(), sentence, nodes: vec![node], ..Diagnosis::default() };
        recording.diagnosis(START + 12, &found);
        recording.note(START + 11, "\x1b]0;x\x07", "<svg/onload=alert(4)>");
    };
    analysis(write, |file| Recording::create(file, options()).unwrap())
}

/// The data of a page, as a browser finds it.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("the data");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn the_terminal_shows_the_sample_as_expected() {
    let options = TerminalOptions { width: 140, ..TerminalOptions::default() };
    let text = report::terminal(&sample(), &options) + &report::method(&sample(), "query", &options);
    expect_file!["expected/terminal.txt"].assert_eq(&without_size(&text));
}

fn diagnosed(recording: &mut Recording) {
    recording.diagnosis(START + 4_000_000_000, &diagnosis());
    recording.diagnosis(START + 5_000_000_000, &ended_diagnosis());
}

#[test]
fn diagnoses_are_shown_with_their_result_first_and_only_if_there_are_any() {
    let options = TerminalOptions { width: 120, ..TerminalOptions::default() };
    let beside_calls = report::terminal(&analysis(diagnosed, |file| write_sample(file).unwrap()), &options);
    let (text, rest) = beside_calls.split_once("\n\nMethods by own time").expect("the methods follow");
    let (_, section) = text.split_once("\n\n").expect("the head");
    expect_file!["expected/terminal-diagnoses.txt"].assert_eq(&format!("{section}\n"));
    assert!(rest.contains("Handler.handle"), "{rest}");

    let many = |recording: &mut Recording| {
        for number in 0..20 {
            let sentence = Some(format!("{number} % of the slow calls is A.a -> sleep"));
            recording
                .diagnosis(START + 5_000_000_000 + number, &Diagnosis { claim: 9 + number, sentence, ..diagnosis() });
        }
    };
    let text = report::terminal(&analysis(many, |file| write_sample(file).unwrap()), &options);
    assert_eq!(text.matches("Diagnosis of com.acme").count(), 3, "{text}");
    assert!(text.contains("17 earlier diagnoses") && text.contains("  16 % of the slow calls"), "{text}");

    let only = analysis(diagnosed, |file| Recording::create(file, sample::options()).unwrap());
    let text = report::terminal(&only, &options);
    assert!(text.contains("Diagnoses\n") && !text.contains("No calls recorded"), "{text}");
    assert!(!report::terminal(&sample(), &options).contains("Diagnos"));
    for width in [40, 80, 200] {
        let text = report::terminal(&only, &TerminalOptions { width, ..TerminalOptions::default() });
        let (_, section) = text.split_once("Diagnoses\n").unwrap();
        assert!(section.lines().all(|line| line.chars().count() <= width), "{width}: {section}");
    }
}

#[test]
fn the_page_and_the_figures_for_programs_hold_diagnoses_as_the_command_prints_them() {
    let analysis = analysis(diagnosed, |file| Recording::create(file, options()).unwrap());
    let page = data(&report::html(&analysis));
    let json: Value = serde_json::from_str(&report::json(&analysis)).unwrap();
    assert_eq!(page["diagnoses"], json["diagnoses"]);
    let mut first = json["diagnoses"][0].clone();
    assert_eq!(first.as_object_mut().unwrap().remove("ended_after_ms"), Some(4_000.0.into()));
    let printed: Value =
        serde_json::from_str(&report::diagnosis_json(&diagnosis(), report::DiagnosisJson::default())).unwrap();
    assert_eq!(first, printed);
    let found_nothing = &json["diagnoses"][1];
    assert_eq!((&found_nothing["sentence"], &found_nothing["tree"]["calls"]), (&Value::Null, &Value::Null));
    let none: Value = serde_json::from_str(&report::json(&sample())).unwrap();
    assert_eq!(none["diagnoses"], Value::Array(Vec::new()));
}

#[test]
fn the_first_method_is_the_one_with_the_most_of_what_is_asked_for() {
    let many = |recording: &mut Recording| {
        recording.set_thread(1);
        for (probe, name) in [(1, "outer"), (2, "frequent"), (3, "slow")] {
            recording.define_method(probe, method("com/acme/Top", name, true));
        }
        (0..9).for_each(|call| recording.call(2, START + 1_000 + call * 10, 5));
        recording.statement(3, START + 5_000, 50_000, "select 1");
        recording.call(1, START, 60_000);
    };
    let analysis = analysis(many, |file| Recording::create(file, options()).unwrap());
    let first = |by| {
        let text = report::terminal(&analysis, &TerminalOptions { by, rows: 1, ..TerminalOptions::default() });
        let line = text.lines().skip_while(|line| !line.starts_with("Methods by")).nth(2).unwrap().to_owned();
        line.rsplit_once('.').unwrap().1.to_owned()
    };
    assert_eq!([Measure::Own, Measure::Total, Measure::Calls].map(first), ["slow", "outer", "frequent"]);
    let text = report::terminal(&analysis, &TerminalOptions::default());
    let io = text.split("Methods by input and output").nth(1).unwrap();
    assert!(io.contains("com.acme.Top.slow") && !io.contains("frequent"), "{io}");
}

#[test]
fn lines_fit_the_terminal_whatever_its_width() {
    let long_names = |recording: &mut Recording| {
        for depth in 1..=30 {
            let class = format!("com/acme/some/quite/long/package/name/that/goes/on/AndALongClassName{depth}");
            recording.define_method(depth, method(&class, "andALongMethodName", true));
        }
        recording.define_thread(1, &"thread ".repeat(40), 1, false);
        recording.set_thread(1);
        for depth in (1..=30_u64).rev() {
            recording.statement(depth as u32, START + depth * 10, 100_000 - depth * 20, &"select ".repeat(50));
        }
    };
    let analysis = analysis(long_names, |file| Recording::create(file, options()).unwrap());
    for width in [80, 100, 132, 200] {
        let text = report::terminal(&analysis, &TerminalOptions { width, ..TerminalOptions::default() });
        let too_long: Vec<_> = text.lines().filter(|line| line.chars().count() > width).collect();
        assert!(too_long.is_empty(), "{width}: {too_long:#?}");
    }
}

#[test]
fn small_callees_are_summed_up_in_one_line() {
    let many = |recording: &mut Recording| {
        recording.set_thread(1);
        for probe in 1..=50 {
            recording.define_method(probe, method("com/acme/Small", &format!("part{probe}"), true));
            recording.call(probe, START + u64::from(probe) * 10, 5);
        }
        recording.define_method(100, method("com/acme/Main", "main", true));
        recording.call(100, START, 1_000_000);
    };
    let analysis = analysis(many, |file| Recording::create(file, options()).unwrap());
    let text = report::terminal(&analysis, &TerminalOptions::default());
    let line = text.lines().find(|line| line.contains("... 50 more")).expect("the line");
    assert!(line.contains("250 ns"), "{line}");
}

#[test]
fn paths_below_small_callees_are_counted_too() {
    let many = |recording: &mut Recording| {
        recording.set_thread(1);
        for (probe, name) in [(1, "main"), (2, "small"), (3, "below"), (4, "other")] {
            recording.define_method(probe, method("com/acme/Main", name, true));
        }
        recording.call(3, START + 20, 10);
        recording.call(3, START + 40, 10);
        recording.call(2, START + 10, 100);
        recording.call(4, START + 200, 50);
        recording.call(1, START, 1_000_000);
    };
    let analysis = analysis(many, |file| Recording::create(file, options()).unwrap());
    let text = report::terminal(&analysis, &TerminalOptions::default());
    let line = text.lines().find(|line| line.contains("... 3 more")).expect(&text);
    assert!(line.contains("150 ns") && line.split_whitespace().any(|word| word == "4"), "{line}");
}

#[test]
fn an_empty_recording_says_what_to_check() {
    let text = report::terminal(&empty(), &TerminalOptions::default());
    assert!(text.contains("No calls recorded.") && text.contains("instr explain"), "{text}");
    let page = data(&report::html(&empty()));
    assert_eq!(page["calls"], 0);
    assert!(page["check"][0].as_str().unwrap().contains("instr explain"));
    assert!(report::method(&empty(), "x", &TerminalOptions::default()).contains("No recorded method"));
}

#[test]
fn the_page_holds_the_figures_of_the_analysis() {
    let analysis = sample();
    let page = data(&report::html(&analysis));
    assert_eq!(page["total"], analysis.tree.total());
    assert_eq!(page["calls"], 5);
    assert_eq!(page["recording"]["pid"], 4711);
    assert_eq!(page["http"][0]["text"], "GET /orders/{order}");
    assert_eq!(page["statements"][0]["total"], 4_500);
    assert_eq!(page["sockets"][0]["bytes"], 1_u64 << 33);
    let nodes = &page["nodes"];
    let frames = page["frames"].as_array().unwrap();
    let query = (0..4).find(|node| {
        let frame = nodes["frame"][node].as_i64().unwrap();
        frame >= 0 && frames[frame as usize]["method"] == "query"
    });
    let query = query.expect("the node of query");
    let caller = nodes["parent"][query].as_u64().unwrap() as usize;
    assert_eq!((&nodes["total"][query], &nodes["total"][caller]), (&4_500.into(), &8_100.into()));
    assert_eq!(nodes["own"][caller], 3_600);
    assert_eq!(nodes["parent"][caller], 0);
}

/// A page with a time line, of what `write` records.
fn page_with_time_line(write: impl FnOnce(&mut Recording)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.jfr");
    let mut recording = write_sample(&file).unwrap();
    write(&mut recording);
    recording.finish().unwrap();
    let mut reader = TraceReader::open(&file).unwrap();
    let mut time_line = TimeLine::of(&reader);
    let analysis = Analysis::with_slices(&mut reader, AnalysisOptions::default(), &mut time_line);
    report::html_with_time_line(&analysis, &time_line)
}

#[test]
fn the_time_line_shows_every_thread_and_all_virtual_ones_as_one() {
    let page = data(&page_with_time_line(|_| {}));
    let line = &page["time_line"];
    assert_eq!(line["lanes"][0]["name"], "virtual threads");
    assert_eq!(line["lanes"][1]["name"], "http-1");
    let total = |lane: usize| line["lanes"][lane]["total"].as_u64().unwrap();
    assert_eq!(total(0) + total(1), page["total"].as_u64().unwrap());
    // By lanes and start: the watched call, the request with its two queries, the transfer.
    let column =
        |name: &str| -> Vec<u64> { line[name].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect() };
    assert_eq!(column("lane"), [0, 1, 1, 1, 1]);
    assert_eq!(column("start")[1..], [1_000, 2_000, 5_000, 9_500]);
    assert_eq!(column("length")[1..], [8_000, 3_000, 1_500, 100]);
    assert_eq!(column("depth")[1..], [0, 1, 1, 0]);
}

#[test]
fn of_many_calls_the_time_line_keeps_the_longest_and_those_around_them() {
    let many = |recording: &mut Recording| {
        recording.set_thread(31);
        for request in 1..=3_000_u64 {
            let start = START + request * 100_000;
            recording.call(2, start + 10, request);
            recording.call(2, start + 5_000, 1_000 + request);
            recording.call(1, start, 10_000 + request);
        }
    };
    let page = data(&page_with_time_line(many));
    let lengths: Vec<_> =
        page["time_line"]["length"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap()).collect();
    assert_eq!(lengths.len(), 4_000);
    assert_eq!(lengths.iter().filter(|length| **length > 10_000).count(), 3_001, "every request, and the watched call");
    assert!(lengths.iter().min().unwrap() > &2_900);
}

#[test]
fn a_comparison_shows_what_changed_and_what_may_be_chance() {
    let calls = |time: u64| {
        move |recording: &mut Recording| {
            recording.define_method(1, method("com/acme/Steady", "work", true));
            recording.define_method(2, method("com/acme/Scattered", "work", true));
            recording.set_thread(1);
            for call in 0..50 {
                recording.call(1, START + call * 100_000, time);
                recording.call(2, START + call * 100_000 + 50_000, call * 100 + time / 10);
            }
        }
    };
    let create = |file: &Path| Recording::create(file, options()).unwrap();
    let (before, after) = (analysis(calls(1_000), create), analysis(calls(1_500), create));
    let options = TerminalOptions { width: 130, ..TerminalOptions::default() };
    let text = report::comparison(&Comparison::of(&before, &after), Measure::Own, &options);
    let line = |name: &str| text.lines().find(|line| line.contains(name)).expect(name);
    assert!(line("Steady").contains(" +50.0 %") && line("Steady").contains("1.50 µs"), "{text}");
    assert!(line("Scattered").contains("≈+"), "{text}");
    assert!(text.contains("How much one run of the program differs from the next is not in it"), "{text}");
    let gone = report::comparison(&Comparison::of(&before, &empty()), Measure::Total, &options);
    assert!(gone.contains(" gone "), "{gone}");
    assert!(report::comparison(&Comparison::of(&empty(), &after), Measure::Calls, &options).contains(" new "));
}

#[test]
fn names_from_the_application_never_become_markup_or_escape_sequences() {
    let page = report::html(&hostile());
    assert_eq!(page.matches("<script").count(), 2, "the data and our own script");
    assert_eq!(page.matches("</script>").count(), 2);
    for harm in ["<img", "<svg", "<b>", "<iframe"] {
        assert!(!page.contains(harm), "{harm}");
    }
    let data = data(&page);
    assert_eq!(data["frames"][0]["method"], "</script><script>alert(2)</script>");
    assert_eq!(data["statements"][0]["text"], "--</script><script>alert(3)</script>\u{2028}@@DATA@@");

    let text = report::terminal(&hostile(), &TerminalOptions::default());
    assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text}");
    let coloured = report::terminal(&sample(), &TerminalOptions { colours: true, ..TerminalOptions::default() });
    assert!(coloured.contains("\x1b["));
}

#[test]
fn the_page_needs_nothing_from_the_network() {
    let (one, other) = (sample(), hostile());
    let difference = diff_html(&one, &other);
    assert!(!difference.contains("<script>alert") && !difference.contains("<img"), "names are data, not HTML");
    let page = report::html(&one) + &diff_html(&one, &one);
    for needle in ["http://", "https://", "src=", "@import", "url(", "innerHTML", "fetch("] {
        assert!(!page.contains(needle), "{needle}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_page_of_differences_holds_both_trees_and_every_method() {
    let (before, after) = (sample(), hostile());
    let page = data(&diff_html(&before, &after));
    let diff = &page["diff"];
    for (side, analysis) in [&before, &after].into_iter().enumerate() {
        assert_eq!(diff["nodes"][side]["total"][0], analysis.tree.total());
        let own = diff["nodes"][side]["own"].as_array().unwrap().iter().map(|own| own.as_u64().unwrap());
        assert_eq!(own.sum::<u64>(), analysis.tree.total(), "own times add up");
        let called = analysis.frames.iter().filter(|frame| frame.calls > 0).count();
        let named = diff["methods"].as_array().unwrap().iter().filter(|row| !row["figures"][side].is_null());
        assert_eq!(named.count(), called);
    }
    assert!(diff["methods"].as_array().unwrap().iter().all(|row| row["frame"].is_u64()), "each leads to its paths");
}

#[test]
fn of_a_huge_tree_the_page_shows_the_largest_part_and_says_how_much_is_hidden() {
    let many = |recording: &mut Recording| {
        recording.set_thread(1);
        for probe in 1..=50_000 {
            recording.define_method(probe, method("com/acme/Wide", &format!("m{probe}"), true));
            recording.call(probe, START + u64::from(probe) * 1_000_000, u64::from(probe));
        }
    };
    let analysis = analysis(many, |file| Recording::create(file, options()).unwrap());
    let page = data(&report::html(&analysis));
    let nodes = &page["nodes"];
    let totals: Vec<u64> = nodes["total"].as_array().unwrap().iter().map(|total| total.as_u64().unwrap()).collect();
    assert!(totals.len() < 41_000, "{}", totals.len());
    let shown: u64 = totals.iter().skip(1).sum();
    assert_eq!(shown + nodes["hidden_total"][0].as_u64().unwrap(), totals[0]);
    assert_eq!(totals.len() as u64 - 1 + nodes["hidden"][0].as_u64().unwrap(), 50_000);
}

/// A method whose level was lowered: 605,465 calls were recorded where there had been millions.
#[test]
fn a_method_whose_level_was_changed_is_marked_with_the_part_of_the_time_that_was_recorded() {
    let claim =
        |from: &'static str, to: &'static str| Claim { owner: "governor", reason: "31 % of the CPU time", from, to };
    let write = |recording: &mut Recording| {
        for (probe, name) in [(1, "lowered"), (2, "kept"), (3, "removed"), (4, "neverCalled")] {
            recording.define_method(probe, method("com/acme/Short", name, true));
        }
        recording.set_thread(1);
        recording.call(1, START + 100, 50);
        recording.call(2, START + 200, 9_000_000_000);
        recording.call(3, START + 300, 20);
        recording.claim(START + 1_000_000_000, Some(1), &claim("time", "watch"));
        recording.claim(START + 5_000_000_000, Some(3), &claim("watch", "removed"));
        recording.claim(START + 5_000_000_000, Some(4), &claim("watch", "removed"));
        recording.claim(START + 6_000_000_000, None, &claim("recording", "paused"));
        recording.claim(START + 8_000_000_000, None, &claim("paused", "recording"));
        recording.note(START + 9_999_999_999, "test", "the last event");
    };
    let analysis = analysis(write, |file| Recording::create(file, options()).unwrap());
    let text = report::terminal(&analysis, &TerminalOptions { width: 120, ..TerminalOptions::default() });
    let lines = |name: &str| text.lines().filter(|line| line.ends_with(name)).count();
    assert_eq!(lines("com.acme.Short.lowered [first 1.0 s]"), 1, "{text}");
    assert_eq!(lines("com.acme.Short.removed [first 5.0 s]"), 1, "{text}");
    assert!(lines("com.acme.Short.kept") > 0 && text.contains("those of this part of the time"), "{text}");
    assert!(text.contains("warning: 2 methods were not at one level all the time"), "{text}");
    let callers = "the time of calls that were not recorded is part of the own time of their callers";
    assert!(text.contains(callers), "{text}");
    assert!(text.contains("all probes were paused for 2.0 s (20 % of the time)"), "{text}");
    let json: Value = serde_json::from_str(&report::json(&analysis)).unwrap();
    let frames = json["frames"].as_array().unwrap();
    let of = |name: &str| frames.iter().find(|frame| frame["method"] == name).unwrap();
    assert_eq!((of("lowered")["part"]["text"].as_str(), frames.len()), (Some("first 1.0 s"), 3));
    assert_eq!(of("lowered")["part"]["rest_is_estimated"], true);
    assert_eq!((&of("removed")["part"]["rest_is_estimated"], of("kept").get("part")), (&Value::Bool(false), None));
}
