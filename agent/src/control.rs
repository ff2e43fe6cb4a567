//! The Unix domain socket on which the same user's `instr` commands ask and change what can be changed.
//!
//! Requests and answers are those of the crate `control`; one a connection. Where the socket is: `control_socket.rs`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use control::{Refusal, Request, Status, Switched};
use serde::Serialize;
use settings::TraceMode;

use crate::control_socket::ControlSocket;
use crate::live_selection::LiveSelection;
use crate::probe_switch::PausedBy;
use crate::recorder::DumpAnswer;
use crate::session::Session;
use crate::withdrawn_probes::WithdrawnProbes;
use crate::{call_tree, hottest};

/// Longest request.
const MOST_BYTES: u64 = 4096;
/// A client that says nothing for so long is forgotten.
const PATIENCE: Duration = Duration::from_secs(2);
/// A dump that takes longer to write is announced, not waited for: the client has less patience than that.
const DUMP_PATIENCE: Duration = Duration::from_secs(4);
/// Methods of a status, if nobody asks for another number.
const HOTTEST: usize = 50;
/// The most that a status has.
const MOST_METHODS: usize = 5_000;

/// Returns the status of a session.
pub(crate) fn status(
    session: &Session,
    trace_file: Option<PathBuf>,
    ended: Option<String>,
    methods: usize,
    durations: bool,
) -> Status {
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let records = *session.records.lock();
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    // After the end probes do nothing, whatever level they had.
    let goes_on = ended.is_none();
    let withdrawn = || session.withdrawn.as_ref().map(WithdrawnProbes::numbers).unwrap_or_default();
    Status {
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        trace_file_bytes: trace_file.as_ref().map_or(0, size),
        trace_file,
        ring: session.setup.config.trace.mode == TraceMode::Ring,
        ended,
        dumps: session.dumps.dumped(),
        classes_rewritten: count(&session.statistics.classes_rewritten),
        methods_instrumented: count(&session.statistics.methods_instrumented),
        classes_instrumented_ahead: count(&session.statistics.classes_ahead),
        probes_instrumented_ahead: count(&session.statistics.probes_ahead),
        records: records.records,
        lost: records.lost,
        live: if goes_on { session.live.count(&session.setup, &withdrawn()) } else { Vec::new() },
        bursts: session.live.bursts(&session.setup).filter(|_| goes_on),
        governor: session.live.governed(session.withdrawn.as_ref().map(WithdrawnProbes::percent)).filter(|_| goes_on),
        paused: paused(session),
        breaker: session.health.lock().open_because.clone(),
        otlp: session.sending(),
        warnings: [session.doubts.lines(session.setup.rules.rules()), session.live.warnings()].concat(),
        decisions: session.live.decisions(),
        hottest: hottest::methods(session, methods.min(MOST_METHODS), durations, goes_on),
    }
}

fn paused(session: &Session) -> Vec<String> {
    let by = session.switch.paused_by().into_iter();
    by.map(|by| match by {
        PausedBy::Request => "request".to_owned(),
        PausedBy::Breaker => "breaker".to_owned(),
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

/// Answers for a session until the socket is dropped.
pub(crate) fn open(session: Weak<Session>) -> io::Result<ControlSocket> {
    ControlSocket::open(move |stream| {
        // Who has asked and does not listen to the answer loses only that.
        let _ = serve(stream, &session);
    })
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
        Ok(Request::Level { .. } | Request::Pause | Request::Resume) if session.status_ended().is_some() => {
            let reason = session.status_ended().unwrap_or_default();
            serde_json::to_string(&Refusal {
                error: format!("the recording has ended, no probe records any more: {reason}"),
            })
        }
        Ok(Request::Level { methods, level }) => match selected(&methods, session) {
            Ok(selection) => serde_json::to_string(&session.set_level(&selection, level)),
            Err(error) => serde_json::to_string(&Refusal { error }),
        },
        Ok(Request::Pause) => serde_json::to_string(&switch(session, false)),
        Ok(Request::Resume) => serde_json::to_string(&switch(session, true)),
        Ok(Request::DumpTrace) => as_json(dump_trace(session)),
        Ok(Request::CallTree) => as_json(call_tree::of(session)),
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
