//! `instr send` and `instr receive`: the received file equals the sent one, whatever happens to the connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trace::{MethodInfo, ProcessInfo, Recording, RecordingOptions};

use crate::sandbox::Sandbox;

const ANY_PORT: &str = "127.0.0.1:0";

/// `instr receive` at a port of its own; ends with the test.
struct Receiver {
    process: Child,
    url: String,
}

impl Receiver {
    fn start(sandbox: &Sandbox, listen: &str, further: &[&str]) -> Receiver {
        let mut command = Command::new(env!("CARGO_BIN_EXE_instr"));
        command.args(["receive", "--listen", listen, "--into", "there"]).args(further);
        let mut process = command.current_dir(sandbox.path("")).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening at ").unwrap().to_owned();
        Receiver { process, url }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.url.strip_prefix("http://").unwrap()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn recording(sandbox: &Sandbox) -> Recording {
    let options = RecordingOptions::new(1_700_000_000_000_000_000, 0, ProcessInfo::default());
    let mut recording = Recording::create(&sandbox.path("trace.jfr"), options).unwrap();
    let (class, name, descriptor) = (&b"shop/Order"[..], &b"total"[..], &b"()V"[..]);
    recording.define_method(1, MethodInfo { class, name, descriptor, access_flags: 1, exact: true, template: "timed" });
    recording.set_thread(1);
    recording
}

#[test]
fn a_recording_sent_while_it_is_written_arrives_whole_even_if_the_receiver_starts_late_and_restarts() {
    let sandbox = Sandbox::new();
    let mut recording = recording(&sandbox);
    let receiver = Receiver::start(&sandbox, ANY_PORT, &[]);
    let url = receiver.url.clone();
    let mut command = Command::new(env!("CARGO_BIN_EXE_instr"));
    command.args(["send", "--follow", "--to", &url, "trace.jfr"]).current_dir(sandbox.path(""));
    let mut sender = command.stdout(Stdio::null()).spawn().unwrap();
    let arrived = || std::fs::metadata(sandbox.path("there/trace.jfr")).map_or(0, |file| file.len());
    let wait_for = |bytes: u64| {
        let begun = Instant::now();
        while arrived() < bytes {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} of {bytes} bytes arrived", arrived());
            std::thread::yield_now();
        }
    };
    (0..1_000).for_each(|at| recording.call(1, at * 10, 5));
    recording.flush_chunk().unwrap();
    wait_for(recording.statistics().file_bytes);
    drop(receiver);
    (1_000..2_000).for_each(|at| recording.call(1, at * 10, 5));
    recording.flush_chunk().unwrap();
    recording.finish().unwrap();
    let again = Receiver::start(&sandbox, url.strip_prefix("http://").unwrap(), &[]);
    assert!(sender.wait().unwrap().success());
    let (here, there) = (sandbox.path("trace.jfr"), sandbox.path("there/trace.jfr"));
    assert!(std::fs::read(here).unwrap() == std::fs::read(there).unwrap(), "the same bytes, hence the same events");

    let page = again.get("/report/trace.jfr");
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("shop.Order"), "{}", page.get(..300).unwrap_or(&page));
    assert!(again.get("/report/other.jfr").starts_with("HTTP/1.1 404 "));
    assert!(again.get("/report/..%2ftrace.jfr").starts_with("HTTP/1.1 403 "));
    // Once more: everything is there, nothing is appended.
    let said = sandbox.instr(&["send", "--to", &url, "trace.jfr"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(arrived(), std::fs::metadata(sandbox.path("trace.jfr")).unwrap().len());
    // Another recording must not be mixed with it.
    let options = RecordingOptions::new(1_800_000_000_000_000_000, 0, ProcessInfo::default());
    Recording::create(&sandbox.path("other.jfr"), options).unwrap().finish().unwrap();
    let said = sandbox.instr(&["send", "--to", &url, "--name", "trace.jfr", "other.jfr"]);
    assert!(said.code == 1 && said.stderr.contains("409"), "{}", said.stderr);
}

#[test]
fn a_client_that_takes_its_time_keeps_nobody_waiting() {
    let sandbox = Sandbox::new();
    recording(&sandbox).finish().unwrap();
    let bytes = std::fs::read(sandbox.path("trace.jfr")).unwrap();
    let receiver = Receiver::start(&sandbox, ANY_PORT, &[]);
    let begin = |name: &str, part: &[u8]| {
        let mut client = TcpStream::connect(receiver.url.strip_prefix("http://").unwrap()).unwrap();
        let length = bytes.len();
        write!(client, "POST /recordings/{name}?offset=0&begun=0 HTTP/1.1\r\nContent-Length: {length}\r\n\r\n")
            .unwrap();
        client.write_all(part).unwrap();
        client
    };
    let answer = |mut client: TcpStream| {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    };
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    let mut slow = begin("slow.jfr", first);
    // Comes later and is served first.
    let said = answer(begin("quick.jfr", &bytes));
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    assert!(!sandbox.path("there/slow.jfr").exists());
    slow.write_all(rest).unwrap();
    let said = answer(slow);
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    for name in ["there/slow.jfr", "there/quick.jfr"] {
        assert!(std::fs::read(sandbox.path(name)).unwrap() == bytes, "{name}");
    }
}

#[test]
fn idle_clients_keep_nobody_waiting() {
    let sandbox = Sandbox::new();
    recording(&sandbox).finish().unwrap();
    let receiver = Receiver::start(&sandbox, ANY_PORT, &[]);
    let address = receiver.url.strip_prefix("http://").unwrap();
    let idle: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    let begun = Instant::now();
    let said = sandbox.instr(&["send", "--to", &receiver.url, "trace.jfr"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    // Each idle client has 10 s for its request: with all places taken this would have lasted at least as long.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(idle);
}

#[test]
fn without_the_token_nothing_is_taken_and_no_other_machine_is_let_in_without_one() {
    let sandbox = Sandbox::new();
    recording(&sandbox).finish().unwrap();
    sandbox.write("token", "s3cret\n");
    let receiver = Receiver::start(&sandbox, ANY_PORT, &["--token-file", "token"]);
    let said = sandbox.instr(&["send", "--to", &receiver.url, "trace.jfr"]);
    assert!(said.code == 1 && said.stderr.contains("401"), "{}", said.stderr);
    assert!(!sandbox.path("there/trace.jfr").exists());
    let said = sandbox.instr(&["send", "--to", &receiver.url, "--token-file", "token", "trace.jfr"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(receiver.get("/report/trace.jfr").starts_with("HTTP/1.1 401 "));
    let said = sandbox.instr(&["receive", "--listen", "0.0.0.0:0", "--into", "there"]);
    assert!(said.code == 1 && said.stderr.contains("--token-file"), "{}", said.stderr);
}
