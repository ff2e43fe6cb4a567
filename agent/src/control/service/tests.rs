//! Clients of a socket whose agent is made up: its slow requests last until the test lets them go on.

use std::io::{BufRead, BufReader, Read};
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use control::TreeNode;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::*;

/// An agent that does nothing. `level`, and the reading of the file for `reload`, say that they begin, and last until they may end.
struct MadeUp {
    begins: Mutex<Sender<()>>,
    may_end: Mutex<Receiver<()>>,
    nodes: usize,
    /// Gets the claims of each client that has disconnected.
    left: Mutex<Sender<Vec<u32>>>,
}

impl Controlled for MadeUp {
    fn status(&self, methods: usize, _: bool) -> Status {
        serde_json::from_value(json!({
            "agent_version": "1", "pid": methods, "trace_file": null, "trace_file_bytes": 0, "classes_rewritten": 0,
            "methods_instrumented": 0, "records": 0, "lost": 0, "live": [], "bursts": null, "governor": null,
            "decisions": [], "hottest": [],
        }))
        .unwrap()
    }

    fn set_level(&self, _: &str, _: WantedLevel) -> Result<Changed, Refusal> {
        self.begins.lock().send(()).unwrap();
        self.may_end.lock().recv().unwrap();
        Ok(Changed { changed: 1, governed: None, live: 1, fixed: Vec::new(), overruled: Vec::new() })
    }

    fn switch(&self, _: bool) -> Result<Switched, Refusal> {
        Err(Refusal::new(ErrorCode::Ended, "it has ended"))
    }

    fn call_tree(&self) -> Result<CallTree, Refusal> {
        let node = TreeNode { parent: None, method: "a.B.c".repeat(20), calls: 1, total: 1, own: 1 };
        Ok(CallTree { nodes: vec![node; self.nodes], left_out: 5, misplaced: 0 })
    }

    fn dump_trace(&self) -> Result<Dumped, Refusal> {
        unreachable!("no test asks for it")
    }

    fn probe(&self, request: &ProbeRequest) -> Result<Probed, Refusal> {
        let claim = request.methods.parse().map_err(|_| Refusal::from("not here".to_owned()))?;
        Ok(Probed { claim, methods: 1, classes: 1, ..Probed::default() })
    }

    fn client_left(&self, claims: &[u32]) {
        self.left.lock().send(claims.to_vec()).unwrap();
    }

    fn methods(&self, methods: Option<&str>, most: Option<usize>) -> Result<(Vec<MethodRow>, MethodsDone), Refusal> {
        let row = MethodRow {
            context: None,
            class: methods.unwrap_or("a.B").to_owned(),
            method: "c".to_owned(),
            descriptor: "()V".to_owned(),
            template: "timed".to_owned(),
            category: "catch-all".to_owned(),
            level: "time".to_owned(),
            live: true,
            state: "active".to_owned(),
            wanted_by: vec!["rule orders".to_owned()],
        };
        let (matching, most) = (10_000, most.unwrap_or(1_000));
        Ok((vec![row; most], MethodsDone { done: true, matching, left_out: matching - most }))
    }

    fn inventory(&self, _: &InventoryRequest) -> Result<(Vec<InventoryClass>, InventoryDone), Refusal> {
        unreachable!("no test asks for it")
    }

    fn callees(&self, _: &CalleesRequest) -> Result<Callees, Refusal> {
        unreachable!("no test asks for it")
    }

    fn explain(&self, class: &str) -> Result<Explained, Refusal> {
        Err(Refusal::new(ErrorCode::UnknownName, format!("no loaded class is named {class}")))
    }

    fn diagnose(self: Arc<Self>, request: &DiagnoseRequest) -> Result<Diagnosis, Refusal> {
        Err(Refusal::from(format!("{} is not diagnosed here", request.method)))
    }

    fn diagnosis(&self, claim: u32) -> Result<Diagnosis, Refusal> {
        Err(Refusal::from(format!("there is no diagnosis {claim}")))
    }

    fn suspects(&self, _: Option<&str>, _: Option<u64>) -> Result<SuspectList, Refusal> {
        unreachable!("no test asks for it")
    }

    fn hot(&self, _: &HotRequest, _: &dyn Fn() -> bool) -> Result<HotSpots, Refusal> {
        unreachable!("no test asks for it")
    }

    fn callers(&self, _: &CallersRequest, _: &dyn Fn() -> bool) -> Result<Callers, Refusal> {
        unreachable!("no test asks for it")
    }

    fn walk(&self, _: &WalkRequest, _: &(dyn Fn() -> bool + Sync)) -> Result<Walk, Refusal> {
        unreachable!("no test asks for it")
    }

    fn walk_progress(&self) -> Result<Walk, Refusal> {
        unreachable!("no test asks for it")
    }

    fn claims(&self) -> ClaimList {
        ClaimList { claims: Vec::new() }
    }

    fn remove(&self, claim: u32) -> Result<Removed, Refusal> {
        Err(Refusal::from(format!("there is no claim {claim}")))
    }

    fn read_configuration(&self) -> Result<Setup, Refusal> {
        self.begins.lock().send(()).unwrap();
        self.may_end.lock().recv().unwrap();
        Err(Refusal::from("it was read".to_owned()))
    }

    fn reload(&self, _: Setup) -> Result<Reloaded, Refusal> {
        unreachable!("none is read")
    }

    fn stop(&self) -> Result<Stopped, Refusal> {
        Ok(Stopped { reason: "asked for".to_owned(), trace_file: None, trace_file_bytes: 0, records: 3, lost: 0 })
    }
}

struct Agent {
    folder: TempDir,
    socket: Option<ControlSocket>,
    controlled: Arc<MadeUp>,
    begun: Receiver<()>,
    end_one: Sender<()>,
    left: Receiver<Vec<u32>>,
}

impl Agent {
    fn new() -> Agent {
        Agent::with_peer(socket_peer)
    }

    fn with_peer(peer: fn(&UnixStream) -> io::Result<(u32, u32)>) -> Agent {
        let ((begins, begun), (end_one, may_end)) = (channel(), channel());
        let (leaves, left) = channel();
        let (begins, may_end, leaves) = (Mutex::new(begins), Mutex::new(may_end), Mutex::new(leaves));
        let controlled = Arc::new(MadeUp { begins, may_end, nodes: 2_500, left: leaves });
        let folder = tempfile::tempdir().unwrap();
        let weak: Weak<dyn Controlled> = Arc::<MadeUp>::downgrade(&controlled);
        let service = Service {
            controlled: weak,
            owner: effective_user(),
            peer,
            queues: Queues::default(),
            clients: ClientsWithClaims::default(),
        };
        let socket = Some(ControlSocket::open_in(folder.path(), "", 1, service).unwrap());
        Agent { folder, socket, controlled, begun, end_one, left }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("1.sock")
    }

    fn client(&self) -> UnixStream {
        UnixStream::connect(self.path()).unwrap()
    }

    fn ask(&self, request: &str) -> Json {
        ask(self.client(), request)
    }
}

/// Asks as clients before version 1 do, which read to the end of the connection.
fn ask(mut client: UnixStream, request: &str) -> Json {
    let _ = client.write_all(format!("{request}\n").as_bytes());
    let mut answer = String::new();
    // A client that has sent more than is read is disconnected after the answer.
    let _ = client.read_to_string(&mut answer);
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

const LEVEL: &str = r#"{"ask":"level","methods":"a.*","level":"off"}"#;
const STATUS: &str = r#"{"ask":"status","methods":7}"#;

fn next(lines: &mut impl BufRead) -> Json {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or(Json::Null)
}

#[test]
fn a_status_is_answered_while_a_slow_request_is_carried_out_and_slow_ones_wait_for_each_other() {
    let agent = Agent::new();
    let mut slow: Vec<UnixStream> = Vec::new();
    for _ in 0..MOST_SLOW {
        let mut client = agent.client();
        client.write_all(format!("{LEVEL}\n").as_bytes()).unwrap();
        slow.push(client);
    }
    agent.begun.recv().unwrap();
    let times = (0..5).map(|_| {
        let begin = Instant::now();
        assert_eq!(agent.ask(STATUS)["pid"], 7);
        begin.elapsed()
    });
    // On a machine that has other things to do, one of them is undisturbed.
    let shortest = times.min().unwrap();
    assert!(shortest < Duration::from_millis(100), "{shortest:?}");
    // As soon as the others are in the queue; until then this one takes part in it.
    let refusal = loop {
        let mut client = agent.client();
        client.write_all(format!("{LEVEL}\n").as_bytes()).unwrap();
        client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut answer = String::new();
        match client.read_to_string(&mut answer) {
            Ok(_) => break serde_json::from_str::<Json>(&answer).unwrap(),
            Err(_) => drop(client),
        }
    };
    assert_eq!(refusal["code"], "busy");
    assert!(agent.begun.try_recv().is_err(), "one at a time");
    // Those that took part in the queue end, too.
    (0..100).for_each(|_| agent.end_one.send(()).unwrap());
    // A client of the loop above may have been in the queue before one of these.
    let answers: Vec<Json> = slow.iter_mut().map(|client| next(&mut BufReader::new(client))).collect();
    assert!(answers.iter().all(|answer| answer["changed"] == 1 || answer["code"] == "busy"), "{answers:?}");
    assert!(answers.iter().any(|answer| answer["changed"] == 1));
}

fn send(agent: &Agent, request: &str) -> BufReader<UnixStream> {
    let mut client = agent.client();
    client.write_all(format!("{request}\n").as_bytes()).unwrap();
    BufReader::new(client)
}

/// Waits until one of the clients has an answer, and returns which.
fn answered_first(clients: &mut [BufReader<UnixStream>]) -> usize {
    for client in clients.iter() {
        client.get_ref().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    }
    let answered = loop {
        let has_answer = |client: &mut BufReader<UnixStream>| client.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        if let Some(answered) = clients.iter_mut().position(has_answer) {
            break answered;
        }
    };
    clients.iter().for_each(|client| client.get_ref().set_read_timeout(None).unwrap());
    answered
}

#[test]
fn a_reload_whose_file_cannot_be_read_for_long_keeps_only_other_reloads_waiting() {
    let agent = Agent::new();
    let mut first = send(&agent, r#"{"ask":"reload"}"#);
    agent.begun.recv().unwrap();
    let mut others: Vec<_> = (0..MOST_RELOADS).map(|_| send(&agent, r#"{"ask":"reload"}"#)).collect();
    assert_eq!(agent.ask(r#"{"ask":"probe","methods":"7"}"#)["claim"], 7);
    assert_eq!(agent.ask(r#"{"ask":"stop"}"#)["records"], 3);
    assert!(agent.begun.try_recv().is_err(), "one file is read at a time");
    // Before a reading ends: by then all requests have been looked at.
    let busy = answered_first(&mut others);
    assert_eq!(next(&mut others.remove(busy))["code"], "busy");
    (0..MOST_RELOADS).for_each(|_| agent.end_one.send(()).unwrap());
    assert_eq!(next(&mut first)["error"], "it was read");
    assert!(others.iter_mut().all(|client| next(client)["code"] == "refused"));
}

#[test]
fn the_end_of_the_agent_does_not_wait_for_a_file_that_cannot_be_read() {
    let mut agent = Agent::new();
    let mut client = send(&agent, r#"{"ask":"reload"}"#);
    agent.begun.recv().unwrap();
    let begin = Instant::now();
    drop(agent.socket.take());
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(next(&mut client), Json::Null, "it is disconnected");
    agent.end_one.send(()).unwrap();
}

#[test]
fn a_stop_waits_for_no_request_that_is_carried_out() {
    let agent = Agent::new();
    let mut slow: Vec<_> = (0..MOST_SLOW).map(|_| send(&agent, LEVEL)).collect();
    agent.begun.recv().unwrap();
    assert_eq!(agent.ask(r#"{"ask":"stop"}"#)["records"], 3);
    slow.iter().for_each(|_| agent.end_one.send(()).unwrap());
    assert!(slow.iter_mut().all(|client| next(client)["changed"] == 1));
}

#[test]
fn a_client_that_is_stopped_keeps_neither_others_nor_the_end_of_the_agent_waiting() {
    let mut agent = Agent::new();
    let mut stopped = Vec::new();
    for _ in 0..=MOST {
        let mut client = agent.client();
        // Half of a request, or a long answer that nobody reads.
        let text = if stopped.len() % 2 == 0 { "{\"ask\":" } else { "{\"ask\":\"call-tree\"}\n" };
        client.write_all(text.as_bytes()).unwrap();
        stopped.push(client);
    }
    // The last of them may still have its second; nobody waits longer.
    let begin = Instant::now();
    while agent.ask(STATUS)["pid"] != 7 {
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
    let begin = Instant::now();
    drop(agent.socket.take());
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(UnixStream::connect(agent.path()).is_err());
}

fn probe_while_connected(agent: &Agent, claim: u32) -> (BufReader<UnixStream>, Json) {
    let mut client = BufReader::new(agent.client());
    let request = format!("{{\"id\":1,\"ask\":\"probe\",\"methods\":\"{claim}\",\"while_connected\":true}}\n");
    client.get_mut().write_all(request.as_bytes()).unwrap();
    let answer = next(&mut client);
    (client, answer)
}

#[test]
fn claims_that_depend_on_a_client_end_with_its_connection_and_not_while_it_is_stopped() {
    let agent = Agent::new();
    let (mut first, answer) = probe_while_connected(&agent, 7);
    assert_eq!(answer["claim"], 7, "{answer}");
    // Another one on the same connection, and one that does not depend on it.
    for request in [r#""8","while_connected":true}"#, r#""9"}"#] {
        first.get_mut().write_all(format!("{{\"id\":1,\"ask\":\"probe\",\"methods\":{request}\n").as_bytes()).unwrap();
        assert!(next(&mut first)["claim"].is_number());
    }
    let refusal = agent.ask(r#"{"ask":"probe","methods":"1","while_connected":true}"#);
    assert_eq!(refusal["code"], "malformed", "{refusal}");
    // A client that is stopped sends nothing; its connection is open.
    assert!(agent.left.try_recv().is_err());
    drop(first);
    assert_eq!(agent.left.recv().unwrap(), [7, 8]);
}

#[test]
fn a_stopped_client_with_claims_is_disconnected_when_its_place_is_needed_and_its_claims_end() {
    let agent = Agent::new();
    let with_claims: Vec<_> = (0..MOST_SLOW as u32).map(|claim| probe_while_connected(&agent, claim).0).collect();
    let (_, refusal) = probe_while_connected(&agent, 99);
    assert_eq!(refusal["code"], "busy", "places are left for those that only ask: {refusal}");
    // Clients that keep asking need the other places, and one of those that are silent.
    let mut others = Vec::new();
    let (begin, mut ended) = (Instant::now(), None);
    while ended.is_none() && begin.elapsed() < Duration::from_secs(10) {
        let mut client = BufReader::new(agent.client());
        client.get_mut().write_all(b"{\"id\":1,\"ask\":\"hello\"}\n").unwrap();
        others.push(client);
        ended = agent.left.try_recv().ok();
    }
    assert_eq!(ended.map(|claims| claims.len()), Some(1));
    drop(with_claims);
}

#[test]
fn the_end_of_the_agent_waits_for_the_answer_to_what_is_carried_out() {
    let mut agent = Agent::new();
    let mut client = agent.client();
    client.write_all(format!("{LEVEL}\n").as_bytes()).unwrap();
    agent.begun.recv().unwrap();
    let end_one = agent.end_one.clone();
    let ending = agent.socket.take();
    std::thread::scope(|scope| {
        let end = scope.spawn(|| drop(ending));
        while agent.path().exists() {
            std::thread::yield_now();
        }
        assert!(!end.is_finished());
        end_one.send(()).unwrap();
    });
    assert_eq!(next(&mut BufReader::new(client))["changed"], 1);
}

#[test]
fn a_connection_takes_further_requests_if_they_have_ids() {
    let agent = Agent::new();
    let mut client = agent.client();
    let requests = r#"{"id":1,"ask":"hello"}
{"id":"two","ask":"pause"}
{"id":3,"ask":"dance"}
{"id":4,"ask":"call-tree","stream":true}
{"ask":"hello"}
{"id":5,"ask":"hello"}
"#;
    client.write_all(requests.as_bytes()).unwrap();
    let mut lines = BufReader::new(client);
    let hello = next(&mut lines);
    assert_eq!((&hello["id"], &hello["protocol"]), (&json!(1), &json!([PROTOCOL])));
    assert!(hello["abilities"].as_array().unwrap().contains(&json!("dump-trace")));
    assert_eq!(next(&mut lines), json!({"id": "two", "error": "it has ended", "code": "ended"}));
    let unknown = next(&mut lines);
    assert_eq!((&unknown["id"], &unknown["code"]), (&json!(3), &json!("unknown-request")));
    let parts: Vec<usize> = (0..3).map(|_| next(&mut lines)["part"].as_array().unwrap().len()).collect();
    assert_eq!(parts, [1_000, 1_000, 500]);
    assert_eq!(next(&mut lines), json!({"id": 4, "done": true, "left_out": 5, "misplaced": 0}));
    assert_eq!(next(&mut lines)["pid"], std::process::id());
    assert_eq!(next(&mut lines), Json::Null, "a request without an id is the last one");
}

#[test]
fn a_pattern_that_matches_ten_thousand_methods_is_answered_in_parts_up_to_the_limit() {
    let agent = Agent::new();
    let mut client = agent.client();
    let requests = r#"{"id":1,"ask":"methods","methods":"a.**"}
{"id":2,"ask":"methods","most":2500}
{"ask":"explain","class":"a.Nobody"}
"#;
    client.write_all(requests.as_bytes()).unwrap();
    let mut lines = BufReader::new(client);
    let part = next(&mut lines);
    assert_eq!((part["part"].as_array().unwrap().len(), &part["part"][0]["class"]), (1_000, &json!("a.**")));
    assert_eq!(next(&mut lines), json!({"id": 1, "done": true, "matching": 10_000, "left_out": 9_000}));
    let parts: Vec<usize> = (0..3).map(|_| next(&mut lines)["part"].as_array().unwrap().len()).collect();
    assert_eq!(parts, [1_000, 1_000, 500]);
    assert_eq!(next(&mut lines)["left_out"], 7_500);
    assert_eq!(next(&mut lines)["code"], "unknown-name");
}

#[test]
fn what_is_no_request_is_answered_with_its_reason() {
    let agent = Agent::new();
    assert_eq!(agent.ask("GET / HTTP/1.1")["code"], "malformed");
    let wrong = agent.ask(r#"{"ask":"level","methods":"a"}"#);
    assert!(wrong["error"].as_str().unwrap().contains("missing field `level`"), "{wrong}");
    let blank = " ".repeat(LONGEST_REQUEST);
    assert_eq!(agent.ask(&blank)["code"], "too-long");
    // The longest request of all, and one whose end is that of the connection.
    let long = format!("{}{STATUS}", &blank[STATUS.len() + 1..]);
    assert_eq!(agent.ask(&long)["pid"], 7);
    let mut client = agent.client();
    client.write_all(STATUS.as_bytes()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(next(&mut BufReader::new(client))["pid"], 7);
}

#[test]
fn only_root_and_the_user_of_the_process_may_ask() {
    let of_another = Agent::with_peer(|_| Ok((effective_user() + 1, 1)));
    let refusal = of_another.ask(STATUS);
    assert_eq!(refusal["code"], "not-allowed", "{refusal}");
    assert_eq!(Agent::with_peer(|_| Ok((0, 1))).ask(STATUS)["pid"], 7);
    assert_eq!(Agent::with_peer(|_| Err(io::ErrorKind::Other.into())).ask(STATUS)["code"], "not-allowed");
}

#[test]
fn nobody_answers_for_an_agent_that_has_left() {
    let Agent { socket, controlled, folder, .. } = Agent::new();
    drop(controlled);
    let mut client = UnixStream::connect(folder.path().join("1.sock")).unwrap();
    client.write_all(format!("{STATUS}\n").as_bytes()).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    drop(socket);
}

#[test]
fn many_clients_at_once_are_answered_or_refused() {
    let agent = Agent::new();
    let path = &agent.path();
    let codes: Vec<Json> = std::thread::scope(|scope| {
        let client = || ask(UnixStream::connect(path).unwrap(), STATUS);
        let clients: Vec<_> = (0..50).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(codes.iter().all(|answer| answer["pid"] == 7 || answer["code"] == "busy"), "{codes:?}");
    assert!(codes.iter().any(|answer| answer["pid"] == 7));
}
