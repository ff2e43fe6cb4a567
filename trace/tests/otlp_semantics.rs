//! Do exported spans of requests, statements and transfers have kind, name, attributes and status of OpenTelemetry's conventions?
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod sample;

use std::collections::BTreeMap;

use sample::{EPOCH, START, method, options, record};
use serde_json::{Value, json};
use trace::recording::HttpRequest;
use trace::{AnalysisOptions, MethodInfo, Recording, TraceReader, export};

const SERVLET: u32 = 1;
const POOL: u32 = 2;
const DRIVER: u32 = 3;
const SOCKET: u32 = 4;
const WATCHED: u32 = 5;

const FIND: &str = "select * from members where id = 17";

/// A request with a statement, executed by a pool, and a transfer; a call of the pool without a statement; requests that failed;
/// statements of a driver, two of them equal calls in one another; another statement of the pool in another thread at the same time.
fn recorded() -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("semantics.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_method(SERVLET, method("com/acme/Servlet", "service", true));
    recording.define_method(POOL, method("com/zaxxer/hikari/pool/Proxy", "execute", true));
    recording.define_method(DRIVER, method("org/h2/jdbc/JdbcStatement", "execute", true));
    recording.define_method(SOCKET, method("java/net/Socket", "read", true));
    recording
        .define_method(WATCHED, MethodInfo { exact: false, ..method("org/h2/jdbc/JdbcStatement", "nested", false) });
    recording.define_thread(31, "http-1", 4712, false);
    recording.define_thread(32, "http-2", 4713, false);
    recording.set_thread(31);
    let asked = |path, route, status| HttpRequest { http_method: "GET", path, route, status };
    recording.statement(POOL, START + 2_000, 3_000, FIND);
    recording.socket_transfer(SOCKET, START + 6_000, 100, "10.0.0.1", 1 << 33);
    recording.calls(&[record(u64::from(POOL), 7_000, 100)]);
    recording.http_request(SERVLET, START + 1_000, 8_000, &asked("/members/17", "/members/{id}", 200));
    recording.http_request(SERVLET, START + 10_000, 500, &asked("/members/18", "", 503));
    recording.http_request(SERVLET, START + 11_000, 500, &asked("/members/x", "/members/{id}", 404));
    recording.statement(DRIVER, START + 12_000, 500, "find me");
    for text in ["delete from inner_one", "delete from outer_one"] {
        recording.statement(WATCHED, START + 1_000_000, 1_000_000, text);
    }
    recording.set_thread(32);
    recording.statement(POOL, START + 2_000, 3_000, "commit");
    recording.finish().unwrap();

    let mut out = Vec::new();
    export::otlp(&mut TraceReader::open(&file).unwrap(), AnalysisOptions::default(), &mut out).unwrap();
    let lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let spans = lines.flat_map(|line| {
        let line: Value = serde_json::from_slice(line).unwrap();
        line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
    });
    spans.collect()
}

/// Kind, name, status and the attributes of the conventions, of the span that begins then in the thread.
fn shown(spans: &[Value], thread: &str, start: u64) -> (u64, String, Value, BTreeMap<String, Value>) {
    let start = (EPOCH + start).to_string();
    let of_thread = |span: &&Value| {
        span["attributes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["value"]["intValue"] == thread && one["key"] == "thread.id")
    };
    let span = spans.iter().filter(of_thread).find(|span| span["startTimeUnixNano"] == start.as_str()).unwrap();
    let known = ["http.", "url.", "db.", "error.", "network.", "instr.bytes"];
    let attributes = span["attributes"].as_array().unwrap().iter().filter_map(|one| {
        let key = one["key"].as_str().unwrap();
        known.iter().any(|first| key.starts_with(first)).then(|| (key.to_owned(), one["value"].clone()))
    });
    let kind = span["kind"].as_u64().unwrap();
    (kind, span["name"].as_str().unwrap().to_owned(), span["status"].clone(), attributes.collect())
}

fn attributes(texts: &[(&str, &str)], numbers: &[(&str, &str)]) -> BTreeMap<String, Value> {
    let texts = texts.iter().map(|(key, value)| ((*key).to_owned(), json!({ "stringValue": value })));
    texts.chain(numbers.iter().map(|(key, value)| ((*key).to_owned(), json!({ "intValue": value })))).collect()
}

#[test]
fn requests_are_server_spans_named_by_method_and_route() {
    let spans = recorded();
    let status = "http.response.status_code";
    let expected = attributes(
        &[("http.request.method", "GET"), ("url.path", "/members/17"), ("http.route", "/members/{id}")],
        &[(status, "200")],
    );
    assert_eq!(shown(&spans, "31", 1_000), (2, "GET /members/{id}".to_owned(), Value::Null, expected));
    let expected = attributes(
        &[("http.request.method", "GET"), ("url.path", "/members/18"), ("error.type", "503")],
        &[(status, "503")],
    );
    let failed = json!({ "code": 2 });
    assert_eq!(shown(&spans, "31", 10_000), (2, "GET /members/{n}".to_owned(), failed, expected));
    let (kind, name, of_span, found) = shown(&spans, "31", 11_000);
    assert_eq!((kind, name.as_str(), of_span), (2, "GET /members/{id}", Value::Null));
    assert!(!found.contains_key("error.type"), "the caller's error is not the server's");
}

#[test]
fn statements_are_client_spans_named_by_operation_and_table() {
    let spans = recorded();
    let of_pool = [("db.query.text", FIND), ("db.operation.name", "SELECT"), ("db.query.summary", "SELECT members")];
    let expected = (3, "SELECT members".to_owned(), Value::Null, attributes(&of_pool, &[]));
    assert_eq!(shown(&spans, "31", 2_000), expected, "the database is not known through a pool");
    assert_eq!(shown(&spans, "32", 2_000).1, "COMMIT", "the same method at the same time in another thread");
    let of_driver = attributes(&[("db.system.name", "h2database"), ("db.query.text", "find me")], &[]);
    assert_eq!(shown(&spans, "31", 12_000), (3, "h2database".to_owned(), Value::Null, of_driver));
    let transfer = attributes(&[("network.peer.address", "10.0.0.1")], &[("instr.bytes", "8589934592")]);
    assert_eq!(shown(&spans, "31", 6_000), (3, "java.net.Socket.read".to_owned(), Value::Null, transfer));
}

#[test]
fn of_equal_calls_each_has_its_own_statement_and_calls_without_details_have_none() {
    let spans = recorded();
    let plain = (1, "com.zaxxer.hikari.pool.Proxy.execute".to_owned(), Value::Null, BTreeMap::new());
    assert_eq!(shown(&spans, "31", 7_000), plain);
    let [outer, inner] = ["DELETE outer_one", "DELETE inner_one"]
        .map(|name| spans.iter().find(|span| span["name"] == name).expect(name));
    assert_eq!(inner["parentSpanId"], outer["spanId"]);
    assert_eq!(outer["parentSpanId"], Value::Null);
}
