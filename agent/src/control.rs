//! The Unix domain socket on which the same user's `instr` commands ask and change what can be changed.
//!
//! One request is one line of JSON, the answer one JSON value; then the connection ends. The socket is
//! `/tmp/instr-<user id>/<process id>.sock` in a directory that nobody else can enter.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use settings::TraceMode;

use crate::call_tree::CallTree;
use crate::hottest::Hot;
use crate::jvm::block_signals;
use crate::live_control::{Bursts, Governed, LiveCounts, WantedLevel};
use crate::live_selection::LiveSelection;
use crate::metrics::Sending;
use crate::probe_switch::PausedBy;
use crate::recorder::{DumpAnswer, Dumped};
use crate::session::Session;
use crate::withdrawn_probes::WithdrawnProbes;

/// Longest request.
const MOST_BYTES: u64 = 4096;
/// A client that says nothing for so long is forgotten.
const PATIENCE: Duration = Duration::from_secs(2);
/// A dump that takes longer to write is announced, not waited for: the client has less patience than that.
const DUMP_PATIENCE: Duration = Duration::from_secs(4);
/// So many methods are told with a status, if nobody asks for another number.
const HOTTEST: usize = 50;
/// And so many at most.
const MOST_METHODS: usize = 5_000;

/// What can be asked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
enum Request {
    Status {
        /// How many methods are told.
        #[serde(default)]
        methods: Option<usize>,
        /// Also how long calls took since the last request of this kind: for those who ask again and again.
        #[serde(default)]
        durations: bool,
    },
    Level {
        methods: String,
        level: WantedLevel,
    },
    /// Switches all probes off, whatever their level.
    Pause,
    Resume,
    /// The call tree up to now.
    CallTree,
    /// Write what the ring holds.
    DumpTrace,
    /// End the recording, let the application go on.
    Stop,
}

/// The answer to a request to switch all probes.
#[derive(Debug, Serialize)]
struct Switched {
    /// Whether that changed anything.
    changed: bool,
    /// Why probes record nothing all the same.
    paused: Vec<&'static str>,
}

/// The answer to a request that has ended the recording.
#[derive(Debug, Serialize)]
pub(crate) struct Stopped {
    pub(crate) reason: String,
    pub(crate) trace_file: Option<PathBuf>,
    pub(crate) trace_file_bytes: u64,
    pub(crate) records: u64,
    pub(crate) lost: u64,
}

/// The answer to a request that cannot be fulfilled.
#[derive(Debug, Serialize)]
struct Refusal {
    error: String,
}

/// What people are told who ask while the program runs.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    agent_version: &'static str,
    pid: u32,
    trace_file: Option<PathBuf>,
    trace_file_bytes: u64,
    /// Whether the newest part is kept in memory.
    ring: bool,
    /// Why the recording has ended, if it has.
    ended: Option<String>,
    dumps: Vec<Dumped>,
    classes_rewritten: u64,
    methods_instrumented: u64,
    records: u64,
    lost: u64,
    /// Live probes by category and level.
    live: Vec<LiveCounts>,
    bursts: Option<Bursts>,
    governor: Option<Governed>,
    /// Why no probe records at present: `request` (`instr pause`), `breaker`; empty if they record.
    paused: Vec<&'static str>,
    /// Why the breaker is open.
    breaker: Option<String>,
    /// How sending to an OpenTelemetry receiver goes.
    otlp: Option<Sending>,
    /// What is probably not as it was meant.
    warnings: Vec<String>,
    decisions: Vec<String>,
    hottest: Vec<Hot>,
}

impl Status {
    /// The status of a session.
    pub(crate) fn of(
        session: &Session,
        trace_file: Option<PathBuf>,
        ended: Option<String>,
        methods: usize,
        durations: bool,
    ) -> Status {
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let records = *session.records.lock();
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        Status {
            agent_version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            trace_file_bytes: trace_file.as_ref().map_or(0, size),
            trace_file,
            ring: session.setup.config.trace.mode == TraceMode::Ring,
            ended,
            dumps: session.dumps.dumped(),
            classes_rewritten: count(&session.statistics.classes_rewritten),
            methods_instrumented: count(&session.statistics.methods_instrumented),
            records: records.records,
            lost: records.lost,
            live: session
                .live
                .count(&session.setup, &session.withdrawn.as_ref().map(WithdrawnProbes::numbers).unwrap_or_default()),
            bursts: session.live.bursts(&session.setup),
            governor: session.live.governed(session.withdrawn.as_ref().map(WithdrawnProbes::percent)),
            paused: paused(session),
            breaker: session.health.lock().open_because.clone(),
            otlp: session.sending(),
            warnings: [session.doubts.lines(session.setup.rules.rules()), session.live.warnings()].concat(),
            decisions: session.live.decisions(),
            hottest: Hot::of(session, methods.min(MOST_METHODS), durations),
        }
    }
}

fn paused(session: &Session) -> Vec<&'static str> {
    let by = session.switch.paused_by().into_iter();
    by.map(|by| match by {
        PausedBy::Request => "request",
        PausedBy::Breaker => "breaker",
    })
    .collect()
}

/// Switches all probes, and says so to those who look at the recording.
fn switch(session: &Session, on: bool) -> Switched {
    let changed = session.switch_probes(PausedBy::Request, on);
    if changed {
        let line = if on { "all probes resumed by request" } else { "all probes paused by request" };
        session.live.note(line);
        session.events.note("switch", line);
    }
    Switched { changed, paused: paused(session) }
}

/// A socket that is listened to.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    path: PathBuf,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Opens the socket and answers for a session until this value is dropped.
    pub(crate) fn open(session: Weak<Session>) -> io::Result<ControlSocket> {
        let user = std::fs::metadata("/proc/self")?.uid();
        let directory = PathBuf::from(format!("/tmp/instr-{user}"));
        private_directory(&directory, user)?;
        let path = directory.join(format!("{}.sock", std::process::id()));
        // Left behind by a process of the same number that was killed.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        let closed = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&closed);
        let thread = std::thread::Builder::new().name("instr-control".to_owned()).spawn(move || {
            block_signals();
            remove_abandoned(&directory);
            for stream in listener.incoming() {
                if ends.load(Ordering::Acquire) {
                    break;
                }
                if let Some(stream) = stream.ok().filter(|_| session.strong_count() > 0) {
                    let _ = serve(stream, &session);
                }
            }
        })?;
        Ok(ControlSocket { path, closed, thread: Some(thread) })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        // Wakes the thread, which waits for somebody to connect.
        let woken = UnixStream::connect(&self.path).is_ok();
        let _ = std::fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// Makes the directory, or checks that it is this user's and nobody else's: /tmp belongs to all.
fn private_directory(directory: &Path, user: u32) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(directory)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let text = format!("{} belongs to somebody else or is open to others", directory.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Removes the sockets of processes that were killed: nobody else does. One whose process cannot be seen may belong to another
/// container that shares the directory, so it goes only if nobody listens to it.
fn remove_abandoned(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let process = path.file_stem().and_then(|name| name.to_str()?.parse::<u32>().ok());
        let is_socket = path.extension().is_some_and(|extension| extension == "sock");
        let Some(process) = process.filter(|_| is_socket) else { continue };
        let is_refused =
            || UnixStream::connect(&path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if !Path::new(&format!("/proc/{process}")).exists() && is_refused() {
            // Another agent may have done it meanwhile.
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn serve(mut stream: UnixStream, session: &Weak<Session>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(MOST_BYTES)).read_line(&mut line)?;
    let Some(session) = session.upgrade() else { return Ok(()) };
    let answer = answer(&line, &session);
    stream.write_all(answer.as_bytes())
}

fn answer(line: &str, session: &Arc<Session>) -> String {
    let json = match serde_json::from_str(line) {
        Ok(Request::Status { methods, durations }) => {
            serde_json::to_string(&session.status(methods.unwrap_or(HOTTEST), durations))
        }
        Ok(Request::Level { methods, level }) => match selected(&methods, session) {
            Ok(selection) => serde_json::to_string(&session.set_level(&selection, level)),
            Err(error) => serde_json::to_string(&Refusal { error }),
        },
        Ok(Request::Pause) => serde_json::to_string(&switch(session, false)),
        Ok(Request::Resume) => serde_json::to_string(&switch(session, true)),
        Ok(Request::DumpTrace) => as_json(dump_trace(session)),
        Ok(Request::CallTree) => as_json(CallTree::of(session)),
        Ok(Request::Stop) => as_json(session.stop_recording("asked for by a user")),
        Err(error) => serde_json::to_string(&Refusal { error: format!("not a request: {error}") }),
    };
    json.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

fn selected(text: &str, session: &Session) -> Result<LiveSelection, String> {
    let selection = LiveSelection::parse(text)?;
    selection.unknown(&session.setup.templates).map_or(Ok(selection), Err)
}

fn as_json<T: Serialize>(answer: Result<T, String>) -> serde_json::Result<String> {
    match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(error) => serde_json::to_string(&Refusal { error }),
    }
}

fn dump_trace(session: &Session) -> DumpAnswer {
    if session.setup.config.trace.mode == TraceMode::Stream {
        return Err(
            "there is nothing to dump: the recording is written as it goes (mode = \"stream\" in [trace])".to_owned()
        );
    }
    if let Some(reason) = session.status_ended() {
        return Err(format!("the recording has ended: {reason}"));
    }
    session
        .dumps
        .ask()
        .recv_timeout(DUMP_PATIENCE)
        .unwrap_or_else(|_| Err("the dump is not written yet; `instr status` shows its name when it is".to_owned()))
}

#[cfg(test)]
mod tests {
    use instrument_core::level::Level;

    use super::*;

    #[test]
    fn a_directory_that_others_can_enter_is_refused() {
        let user = std::fs::metadata("/proc/self").unwrap().uid();
        let parent = std::env::temp_dir().join(format!("instr-control-test-{}", std::process::id()));
        let own = parent.join("own");
        std::fs::create_dir_all(&parent).unwrap();
        private_directory(&own, user).unwrap();
        private_directory(&own, user).unwrap();
        assert!(private_directory(&own, user + 1).is_err(), "another user's");
        let open = parent.join("open");
        std::fs::DirBuilder::new().mode(0o755).create(&open).unwrap();
        assert!(private_directory(&open, user).is_err());
        let link = parent.join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(private_directory(&link, user).is_err(), "a link can be turned");
        std::fs::remove_dir_all(&parent).unwrap();
    }

    #[test]
    fn sockets_of_killed_processes_go_and_all_else_stays() {
        let directory = std::env::temp_dir().join(format!("instr-sockets-test-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = |name: &str| directory.join(name);
        // No process has such a number; two listeners are gone, one is not.
        let listening = UnixListener::bind(path("4194305.sock")).unwrap();
        drop(UnixListener::bind(path("4194306.sock")).unwrap());
        drop(UnixListener::bind(path(&format!("{}.sock", std::process::id()))).unwrap());
        std::fs::write(path("notes.txt"), "").unwrap();
        remove_abandoned(&directory);
        let left = |name: &str| path(name).exists();
        assert!(left("4194305.sock") && left("notes.txt") && left(&format!("{}.sock", std::process::id())));
        assert!(!left("4194306.sock"));
        drop(listening);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn requests_are_read() {
        assert!(matches!(
            serde_json::from_str(r#"{"ask":"status"}"#),
            Ok(Request::Status { methods: None, durations: false })
        ));
        let status = serde_json::from_str(r#"{"ask":"status","methods":7,"durations":true}"#);
        assert!(matches!(status, Ok(Request::Status { methods: Some(7), durations: true })));
        let level = serde_json::from_str(r#"{"ask":"level","methods":"a.B.*","level":"off"}"#);
        assert!(matches!(level, Ok(Request::Level { level: WantedLevel::Exact(Level::Off), .. })));
        let level = serde_json::from_str(r#"{"ask":"level","methods":"a.B.*","level":"auto"}"#);
        assert!(matches!(level, Ok(Request::Level { level: WantedLevel::Auto, .. })));
        assert!(serde_json::from_str::<Request>(r#"{"ask":"level","methods":"a","level":"loud"}"#).is_err());
    }
}
