//! A small recording that several tests read.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use trace::recording::HttpRequest;
use trace::{Diagnosis, DiagnosisCost, DiagnosisNode, MethodInfo, ProcessInfo, Recording, RecordingOptions};

/// Wall-clock start of the recordings.
pub(crate) const EPOCH: u64 = 1_700_000_000_000_000_000;
/// `System.nanoTime()` at the start of the recordings.
pub(crate) const START: u64 = 77_000_000_000;

pub(crate) fn options() -> RecordingOptions {
    let process = ProcessInfo {
        pid: 4711,
        command_line: "com.acme.Main --port 80".to_owned(),
        jvm_name: "Test VM".to_owned(),
        jvm_version: "25+1".to_owned(),
        jvm_arguments: "-Xmx1g".to_owned(),
        jvm_start_epoch_millis: EPOCH / 1_000_000 - 5,
        agent_version: "0.1.0".to_owned(),
        config_text: "[[rule]]\nclass = \"com.acme.**\"\n".to_owned(),
        os_version: "Linux 6".to_owned(),
        cpu_model: "x86-64".to_owned(),
        cpu_count: 2,
    };
    RecordingOptions::new(EPOCH, START, process)
}

pub(crate) fn method<'a>(class: &'a str, name: &'a str, exact: bool) -> MethodInfo<'a> {
    MethodInfo {
        class: class.as_bytes(),
        name: name.as_bytes(),
        descriptor: b"(I)V",
        access_flags: 1,
        exact,
        template: if exact { "timed" } else { "timed-watch" },
    }
}

/// A ring record.
pub(crate) fn record(probe: u64, start: u64, duration: u64) -> [u64; 2] {
    [START + start, duration << 24 | probe]
}

pub(crate) const HANDLE: u32 = 1;
pub(crate) const QUERY: u32 = 2;
pub(crate) const WATCHED: u32 = 3;

/// One request by `http-1`: handle [1000, 9000] calls query [2000, 5000] and query [5000, 6500]; one watched call of a
/// virtual thread; some of every other event.
pub(crate) fn write_sample(path: &Path) -> std::io::Result<Recording> {
    let mut recording = Recording::create(path, options())?;
    recording.define_method(HANDLE, method("com/acme/Handler", "handle", true));
    recording.define_method(QUERY, method("com/acme/Store", "query", true));
    recording.define_method(WATCHED, method("Unnamed", "größe", false));
    recording.define_thread(31, "http-1", 4712, false);
    recording.define_thread(1_000, "", 0, true);
    recording.thread_started(31, START + 10);
    recording.set_thread(31);
    recording.statement(QUERY, START + 2_000, 3_000, "select 1");
    recording.statement(QUERY, START + 5_000, 1_500, "select 1");
    let request = HttpRequest { http_method: "GET", path: "/orders/7", route: "/orders/{order}", status: 200 };
    recording.http_request(HANDLE, START + 1_000, 8_000, &request);
    recording.socket_transfer(HANDLE, START + 9_500, 100, "10.0.0.1:5432", 1 << 33);
    recording.set_thread(1_000);
    recording.calls(&[record(u64::from(WATCHED), 1_000_000, 2_000_000)]);
    recording.set_thread(31);
    recording.lost(START + 20_000, 3);
    recording.start_up_done(START + 9_000);
    recording.note(START + 9_001, "demoted", "com.acme.Hot.loop is at level watch now");
    Ok(recording)
}

/// A diagnosis that was answered: calls that were not measured, own code and a socket beside the branch that was followed.
pub(crate) fn diagnosis() -> Diagnosis {
    const MILLI: u64 = 1_000_000;
    let node = |parent: Option<usize>, level, method: &str, kind: &str, share: Option<f64>| DiagnosisNode {
        parent,
        level,
        method: method.to_owned(),
        kind: kind.to_owned(),
        calls: share.map(|_| 14_210),
        slow_calls: share.map(|_| 14),
        total_nanos: share.map(|_| 9_000 * MILLI),
        slow_nanos: share.map(|share| (7_500.0 * share) as u64 * MILLI),
        share,
        followed: share.is_some_and(|share| share > 0.5),
        ..DiagnosisNode::default()
    };
    let read = node(Some(2), 3, "com.acme.Gateway.readAnswer(Socket)", "native", Some(0.823));
    let nodes = vec![
        node(None, 0, "com.acme.Checkout.pay(Order)", "method", Some(1.0)),
        node(Some(0), 1, "com.acme.Payment.charge(Order, Card)", "method", Some(0.9)),
        node(Some(1), 2, "com.acme.Gateway.send(Request)", "method", Some(0.86)),
        DiagnosisNode {
            running: Some(0.0),
            waiting: Some(1.0),
            reason: Some("socket read".to_owned()),
            lines: vec![77, 81],
            ..read
        },
        node(Some(1), 2, "com.acme.Audit.append(Order)", "call-site", None),
        node(Some(0), 1, "com.acme.Checkout.pay(Order)", "own-code", Some(0.001)),
    ];
    Diagnosis {
        claim: 4,
        method: "com.acme.Checkout.pay(Order)".to_owned(),
        context: Some("com.acme.Shop.serve".to_owned()),
        state: "done".to_owned(),
        slower_than_nanos: Some(480 * MILLI),
        learnt: true,
        calls: 14_210,
        slow: 14,
        explained: Some(0.823),
        sentence: Some(
            "82 % of the slow calls of Checkout.pay under com.acme.Shop.serve is Payment.charge -> Gateway.send -> socket read"
                .to_owned(),
        ),
        nodes,
        cost: DiagnosisCost { classes: 3, retransforms: 5, longest_stop_nanos: 12 * MILLI, cpu_nanos: 40 * MILLI },
        notices: vec!["2 calls were not measured: too many threads are inside such calls".to_owned()],
        ..Diagnosis::default()
    }
}

/// One that found nothing.
pub(crate) fn ended_diagnosis() -> Diagnosis {
    Diagnosis {
        claim: 5,
        method: "com.acme.Checkout.refund(Order)".to_owned(),
        state: "ended".to_owned(),
        reason: Some("the time is up".to_owned()),
        calls: 3,
        nodes: vec![DiagnosisNode {
            method: "com.acme.Checkout.refund(Order)".to_owned(),
            kind: "method".to_owned(),
            ..DiagnosisNode::default()
        }],
        ..Diagnosis::default()
    }
}

/// The `jfr` tool of JAVA_HOME, of the PATH, or beside the `java` of the PATH. Every supported machine has a JDK.
fn jfr_tool() -> PathBuf {
    let java_home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/jfr"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("jfr"));
    let beside_java = std::env::split_paths(&path)
        .filter_map(|folder| Some(folder.join("java").canonicalize().ok()?.parent()?.join("jfr")));
    java_home
        .into_iter()
        .chain(on_path)
        .chain(beside_java)
        .find(|tool| tool.is_file())
        .expect("a JDK with the tool `jfr`, by JAVA_HOME or PATH")
}

pub(crate) fn jfr(arguments: &[&str], file: &Path) -> String {
    let output = Command::new(jfr_tool()).args(arguments).arg(file).output().expect("jfr starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "jfr {arguments:?}: {complaint}{text}");
    text
}

/// Events of a type in the output of `jfr summary`.
pub(crate) fn count(summary: &str, event: &str) -> u64 {
    let line = summary.lines().find(|line| line.split_whitespace().next() == Some(event));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// A report without the size of the recording: it grows with every field of the schema.
pub(crate) fn without_size(report: &str) -> String {
    let shown = |line: &str| match line.split_once(" events, ") {
        Some((before, _)) => format!("{before} events, (size)\n"),
        None => format!("{line}\n"),
    };
    report.lines().map(shown).collect()
}
