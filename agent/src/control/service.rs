//! Answers requests on the control socket, one a connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Weak;
use std::time::Duration;

use control::{CallTree, Changed, Dumped, Refusal, Reloaded, Request, Status, Stopped, Switched, WantedLevel};
use serde::Serialize;

use super::socket::ControlSocket;

/// Longest request.
const MOST_BYTES: u64 = 4096;
/// A client that says nothing for so long is forgotten.
const PATIENCE: Duration = Duration::from_secs(2);
/// Methods of a status, if nobody asks for another number.
const HOTTEST: usize = 50;
/// The most that a status has.
const MOST_METHODS: usize = 5_000;

/// What clients can ask of. A reason is one sentence for the user.
pub(crate) trait Controlled: Send + Sync {
    /// What has been done and decided, with this many methods at most.
    fn status(&self, methods: usize, durations: bool) -> Status;

    /// Sets the level of methods (`package.Class.method` with `*`, or `category:NAME`).
    fn set_level(&self, methods: &str, level: WantedLevel) -> Result<Changed, String>;

    /// Switches all probes on or off.
    fn switch(&self, on: bool) -> Result<Switched, String>;

    /// The call tree up to now.
    fn call_tree(&self) -> Result<CallTree, String>;

    /// Has the ring written.
    fn dump_trace(&self) -> Result<Dumped, String>;

    /// Reads the configuration file again.
    fn reload(&self) -> Result<Reloaded, String>;

    /// Ends the recording.
    fn stop(&self) -> Result<Stopped, String>;
}

/// Answers until the socket is dropped.
pub(crate) fn open(controlled: Weak<dyn Controlled>) -> io::Result<ControlSocket> {
    ControlSocket::open(move |stream| {
        // Who has asked and does not listen to the answer loses only that.
        let _ = serve(stream, &controlled);
    })
}

fn serve(mut stream: UnixStream, controlled: &Weak<dyn Controlled>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(MOST_BYTES)).read_line(&mut line)?;
    let Some(controlled) = controlled.upgrade() else { return Ok(()) };
    stream.write_all(answer(&line, &*controlled).as_bytes())
}

fn answer(line: &str, controlled: &dyn Controlled) -> String {
    let json = match serde_json::from_str(line) {
        Ok(Request::Status { methods, durations }) => {
            as_json(Ok(controlled.status(methods.unwrap_or(HOTTEST).min(MOST_METHODS), durations)))
        }
        Ok(Request::Level { methods, level }) => as_json(controlled.set_level(&methods, level)),
        Ok(Request::Pause) => as_json(controlled.switch(false)),
        Ok(Request::Resume) => as_json(controlled.switch(true)),
        Ok(Request::Reload) => as_json(controlled.reload()),
        Ok(Request::DumpTrace) => as_json(controlled.dump_trace()),
        Ok(Request::CallTree) => as_json(controlled.call_tree()),
        Ok(Request::Stop) => as_json(controlled.stop()),
        Err(error) => as_json::<Status>(Err(format!("not a request: {error}"))),
    };
    json.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

fn as_json<T: Serialize>(answer: Result<T, String>) -> serde_json::Result<String> {
    match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(error) => serde_json::to_string(&Refusal { error }),
    }
}
