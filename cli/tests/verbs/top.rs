//! `instr top` on a pseudo-terminal: what a person would see, and that the terminal is given back whatever ends it.
//!
//! This process plays the JVM: it listens where an agent would.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const PATIENCE: Duration = Duration::from_secs(60);

/// A process that pretends to have an agent: any child with an own number will do.
struct PretendedJvm {
    process: Child,
    socket: PathBuf,
    /// The level of its method, as it was last set.
    level: Arc<Mutex<String>>,
}

impl PretendedJvm {
    fn start() -> PretendedJvm {
        PretendedJvm::start_in(&own_namespace())
    }

    /// Starts one whose agent answers in this namespace of process ids.
    fn start_in(namespace: &str) -> PretendedJvm {
        let process = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = process.id();
        let user = rustix::process::getuid().as_raw();
        let folder = PathBuf::from(format!("/tmp/instr-{user}"));
        let _ = fs::DirBuilder::new().mode(0o700).create(&folder);
        let socket = folder.join(format!("{pid}-{namespace}.sock"));
        let listener = UnixListener::bind(&socket).unwrap();
        let level = Arc::new(Mutex::new("time".to_owned()));
        let shared = Arc::clone(&level);
        std::thread::spawn(move || {
            for (look, stream) in (1..).zip(listener.incoming()) {
                let Ok(mut stream) = stream else { return };
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                // A starting agent connects to see whether the socket is used.
                let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
                let answer = if request["level"] == "off" {
                    json!({"error": "this one stays on"})
                } else if request["ask"] == "level" {
                    *shared.lock().unwrap() = request["level"].as_str().unwrap().to_owned();
                    json!({"changed": 1, "live": 2, "fixed": []})
                } else {
                    status(pid, look, &shared.lock().unwrap())
                };
                let _ = stream.write_all(answer.to_string().as_bytes());
            }
        });
        PretendedJvm { process, socket, level }
    }

    fn end(&mut self) {
        let _ = fs::remove_file(&self.socket);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for PretendedJvm {
    fn drop(&mut self) {
        self.end();
    }
}

fn own_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap();
    link.to_str().unwrap().chars().filter(char::is_ascii_digit).collect()
}

fn status(pid: u32, look: u64, level: &str) -> Value {
    json!({
        "agent_version": "0.1.0", "pid": pid, "trace_file": "/tmp/shop.jfr", "trace_file_bytes": 1_000,
        "classes_rewritten": 3, "methods_instrumented": 40, "records": 1_000 * look, "lost": 0, "live": [{"category": "catch-all", "levels": {"time": 2}}],
        "governor": null, "decisions": [],
        "hottest": [
            {"probe": 1, "category": "catch-all", "method": "com.acme.Shop.sell", "level": level, "calls": 10 * look, "nanos": 1_000_000 * look, "lengths": 1_000_000 * look,
             "recent": {"p50": 90_000, "p99": 123_000, "max": 456_000}},
            {"probe": 5, "category": "catch-all", "method": "com.acme.Shop.count", "level": "time", "calls": 5 * look, "nanos": 1_000 * look, "lengths": 1_000 * look},
        ],
    })
}

/// `instr top` with a pseudo-terminal of its own, and what that shows.
struct Session {
    controller: File,
    /// Kept open, so that the terminal can be asked after the program has ended.
    terminal: OwnedFd,
    before: Termios,
    program: Child,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Session {
    fn start(pid: u32) -> Session {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let terminal = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: 110, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let before = tcgetattr(&terminal).unwrap();
        let end = || Stdio::from(terminal.try_clone().unwrap());
        // With the terminal as its own, as if typed into a shell there.
        let program = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_instr"), "top", "--interval", "0.1", &pid.to_string()])
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let controller = File::from(controller);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(nonzero(24), nonzero(110), 0)));
        let (mut reader, shown) = (controller.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..read]);
            }
        });
        Session { controller, terminal, before, program, screen }
    }

    fn contents(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    fn shows(&self, what: &str, is_there: impl Fn(&vt100::Screen) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_there(self.screen.lock().unwrap().screen()) {
            assert!(Instant::now() < until, "{what} is not to be seen:\n{}", self.contents());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn shows_text(&self, text: &str) {
        self.shows(text, |screen| screen.contents().contains(text));
    }

    fn type_keys(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end of the program; then the terminal must be as it was before.
    fn end(mut self) -> (ExitStatus, String) {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match self.program.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(Instant::now() < until, "still there:\n{}", self.contents()),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        self.shows("the screen from before", |screen| !screen.alternate_screen() && !screen.hide_cursor());
        let after = tcgetattr(&self.terminal).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes, "echo and lines are back");
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
        (status, self.contents())
    }
}

fn nonzero(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

/// The process of `instr` itself: the child of `setsid`.
fn instr_below(parent: u32) -> i32 {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    children.split_whitespace().next().map_or(parent as i32, |child| child.parse().unwrap())
}

#[test]
fn a_person_sees_the_methods_filters_them_changes_a_level_and_quits() {
    let jvm = PretendedJvm::start();
    let mut session = Session::start(jvm.process.id());
    session.shows_text("com.acme.Shop.sell");
    session.shows("the whole screen", |screen| screen.alternate_screen() && screen.contents().contains("q quit"));
    session.shows_text("123 µs");
    session.type_keys("/sell\r");
    session.shows("only one method", |screen| !screen.contents().contains("com.acme.Shop.count"));
    session.type_keys("\x1b[Bw");
    session.shows_text("com.acme.Shop.sell is at level watch now");
    assert_eq!(*jvm.level.lock().unwrap(), "watch");
    // What the agent does not do is said, and the screen goes on.
    session.type_keys("o");
    session.shows_text("this one stays on");
    session.type_keys("q");
    let (status, left) = session.end();
    assert!(status.success(), "{status:?}");
    assert!(!left.contains("com.acme"), "nothing of it stays on the screen: {left}");
}

#[test]
fn a_changed_size_is_drawn_anew() {
    let jvm = PretendedJvm::start();
    let mut session = Session::start(jvm.process.id());
    session.shows("the longest call", |screen| screen.contents().contains("456 µs"));
    session.screen.lock().unwrap().screen_mut().set_size(nonzero(12), nonzero(70));
    tcsetwinsize(&session.terminal, Winsize { ws_row: 12, ws_col: 70, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    session.shows("fewer columns", |screen| {
        let text = screen.contents();
        !text.contains("456 µs") && text.contains("123 µs") && text.contains("com.acme.Shop.sell")
    });
    session.type_keys("\x03");
    assert!(session.end().0.success(), "Control-C quits");
}

#[test]
fn the_terminal_is_restored_when_the_program_is_ended_from_outside() {
    let jvm = PretendedJvm::start();
    let session = Session::start(jvm.process.id());
    session.shows_text("com.acme.Shop.sell");
    let instr = instr_below(session.program.id());
    rustix::process::kill_process(rustix::process::Pid::from_raw(instr).unwrap(), rustix::process::Signal::TERM)
        .unwrap();
    session.end();
}

#[test]
fn the_terminal_is_restored_when_the_jvm_ends_and_its_recording_is_named() {
    let mut jvm = PretendedJvm::start();
    let session = Session::start(jvm.process.id());
    session.shows_text("com.acme.Shop.sell");
    jvm.end();
    let (status, left) = session.end();
    assert!(status.success(), "{status:?} {left}");
    assert!(left.contains("has ended; its recording: /tmp/shop.jfr"), "{left}");
}

#[test]
fn into_a_pipe_goes_a_plain_table() {
    let jvm = PretendedJvm::start();
    let pid = jvm.process.id().to_string();
    let output =
        Command::new(env!("CARGO_BIN_EXE_instr")).args(["top", "--once", "--interval", "0.1", &pid]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("calls/s") && text.contains("com.acme.Shop.sell"), "{text}");
    assert!(!text.contains('\x1b'), "no control sequences: {text:?}");
    assert!(Path::new(&jvm.socket).exists());
}

#[test]
fn plain_tables_end_with_the_jvm() {
    let mut jvm = PretendedJvm::start();
    let mut instr = Command::new(env!("CARGO_BIN_EXE_instr"))
        .args(["top", "--plain", "--interval", "0.1", &jvm.process.id().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(instr.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    jvm.end();
    let output = instr.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && text.contains("has ended; its recording: /tmp/shop.jfr"), "{first}{text}");
}

#[test]
fn an_agent_of_the_same_number_in_another_container_is_not_asked() {
    let other = PretendedJvm::start_in("1");
    let said = Sandbox::new().instr(&["status", &other.process.id().to_string()]);
    assert_eq!(said.code, 1, "{}", said.stdout);
    assert!(said.stderr.contains("does not listen to instr"), "{}", said.stderr);
}
