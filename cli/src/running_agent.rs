//! The agent in a running JVM, as it answers on its socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use control::{CallTree, CallTreeDone, ErrorCode, Refusal, Request, RequestId, Status, answer_line, socket_name};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::{Complete, Failure};
use crate::java_process::Process;

/// An agent that is not answering for so long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(5);
/// Changes may take long, and wait for each other; an inventory reads the files of thousands of classes.
const LONG_PATIENCE: Duration = Duration::from_secs(300);

/// The beginning of an error that has its place in a file.
const DIAGNOSTIC: &str = "error: ";

/// Returns why no probe records at present, in capitals for screens; `None` if they record.
pub(crate) fn standstill(status: &Status) -> Option<String> {
    let paused = || (!status.paused.is_empty()).then(|| format!("PROBES PAUSED ({})", status.paused.join(", ")));
    status.ended.as_ref().map(|reason| format!("RECORDING ENDED: {reason}")).or_else(paused)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Refused(Refusal),
    Given(T),
}

/// Asks the agent in the JVM with this process id. Returns the text of the answer.
pub(crate) fn ask_text(pid: u32, request: &Request) -> Result<String> {
    let process = Process::find(pid)?;
    if !request.takes_long() {
        return ask_process(&process, request, PATIENCE);
    }
    // It would carry the request out when it goes on, whether anybody waits for that or not.
    process.check_running()?;
    ask_process(&process, request, LONG_PATIENCE)
}

/// Asks the agent in the JVM with this process id.
pub(crate) fn ask<T: DeserializeOwned>(pid: u32, request: &Request) -> Result<T> {
    read(pid, &ask_text(pid, request)?)
}

/// A connection that stays open for several requests.
pub(crate) struct OpenConnection {
    pid: u32,
    stream: BufReader<UnixStream>,
}

impl OpenConnection {
    /// Connects to the agent in the JVM with this process id.
    pub(crate) fn to(pid: u32) -> Result<OpenConnection> {
        let process = Process::find(pid)?;
        process.check_running()?;
        let stream = connect(&process)?;
        stream.set_read_timeout(Some(LONG_PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)))?;
        Ok(OpenConnection { pid, stream: BufReader::new(stream) })
    }

    /// Asks for an answer in one line.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T> {
        let left = |error: io::Error| {
            let reason = format!("the agent in process {} has closed the connection", self.pid);
            Failure::new(
                reason,
                format!(
                    "`instr ps` shows whether the process runs and has the agent; if so, ask again: others needed the place ({error})"
                ),
            )
        };
        // With an id the connection stays open.
        let request = answer_line(Some(&RequestId::Number(1)), request);
        let mut answer = String::new();
        // A refusal may have been sent before the agent disconnected.
        let _ = self.stream.get_mut().write_all(request.as_bytes());
        match self.stream.read_line(&mut answer) {
            Ok(0) => Err(left(io::ErrorKind::UnexpectedEof.into()).into()),
            Ok(_) => read(self.pid, &answer),
            Err(error) => Err(left(error).into()),
        }
    }
}

/// Returns the status of the agent in a process, without its methods.
pub(crate) fn brief_status(process: &Process, patience: Duration) -> Result<Status> {
    let request = Request::Status { methods: Some(0), durations: false };
    read(process.pid, &ask_process(process, &request, patience)?)
}

/// Asks for the call tree, which may be answered in parts.
pub(crate) fn ask_call_tree(pid: u32) -> Result<CallTree> {
    let (nodes, end) = ask_in_parts(pid, &Request::CallTree { stream: true })?;
    Ok(match end {
        CallTreeEnd::Done(CallTreeDone { left_out, misplaced, .. }) => CallTree { nodes, left_out, misplaced },
        CallTreeEnd::Whole(tree) => tree,
    })
}

/// Agents before version 1 of the protocol answer in one line.
#[derive(Deserialize)]
#[serde(untagged)]
enum CallTreeEnd {
    Done(CallTreeDone),
    Whole(CallTree),
}

/// Asks the agent in the JVM with this process id for an answer in parts. Returns the rows of all parts, and the last line.
pub(crate) fn ask_in_parts<T: DeserializeOwned, D: DeserializeOwned>(
    pid: u32,
    request: &Request,
) -> Result<(Vec<T>, D)> {
    let text = ask_text(pid, request)?;
    let mut rows = Vec::new();
    for line in text.lines() {
        match read(pid, line)? {
            Line::Part { part } => rows.extend::<Vec<T>>(part),
            Line::Done(done) => return Ok((rows, done)),
        }
    }
    anyhow::bail!("the agent in process {pid} has left before its answer was complete")
}

/// A line of an answer in parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line<T, D> {
    Part { part: Vec<T> },
    Done(D),
}

fn read<T: DeserializeOwned>(pid: u32, answer: &str) -> Result<T> {
    match serde_json::from_str(answer).with_context(|| format!("process {pid} answers something strange"))? {
        Answer::Given(answer) => Ok(answer),
        Answer::Refused(refusal) => Err(failure(refusal)),
    }
}

fn failure(Refusal { error, code, help }: Refusal) -> anyhow::Error {
    let help = help.or_else(|| {
        let is_newer = code == ErrorCode::UnknownRequest;
        is_newer.then(|| "take the `instr` of the same version as the agent".to_owned())
    });
    match help {
        Some(help) => Failure::new(error, help).with_code(code).into(),
        // Mistakes in a configuration, which are laid out as `instr check` does it.
        None if error.starts_with(DIAGNOSTIC) => Complete(error).into(),
        None => anyhow::anyhow!(error),
    }
}

/// A request whose answer takes its time: it is read on a thread of its own. The agent gives up requests whose connection is closed.
pub(crate) struct PendingAnswer<T> {
    stream: UnixStream,
    answer: Receiver<Result<T>>,
}

impl<T: DeserializeOwned + Send + 'static> PendingAnswer<T> {
    /// Asks the agent in the JVM with this process id, and waits for its answer however long that takes.
    pub(crate) fn ask(pid: u32, request: Request) -> Result<PendingAnswer<T>> {
        let process = Process::find(pid)?;
        process.check_running()?;
        let stream = connect(&process)?;
        let own = stream.try_clone()?;
        let (give, answer) = channel();
        std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
            let text = exchange(&process, own, &request, None);
            // Nobody waits any more if this command ends.
            let _ = give.send(text.and_then(|text| read(pid, &text)));
        })?;
        Ok(PendingAnswer { stream, answer })
    }

    /// Waits for the answer for this time; `None` if there is none yet.
    pub(crate) fn wait(&self, time: Duration) -> Option<Result<T>> {
        match self.answer.recv_timeout(time) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(Err(anyhow::anyhow!("internal error: the thread that asks has ended")))
            }
        }
    }

    /// Closes the connection.
    pub(crate) fn give_up(&self) {
        // The agent may have closed it before.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn ask_process(process: &Process, request: &Request, patience: Duration) -> Result<String> {
    exchange(process, connect(process)?, request, Some(patience))
}

/// Sends a request and returns the answer, for which is waited for so long; `None`: for ever.
fn exchange(
    process: &Process,
    mut stream: UnixStream,
    request: &Request,
    patience: Option<Duration>,
) -> Result<String> {
    let pid = process.pid;
    stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience))?;
    let silent = |error: io::Error| {
        let help = if process.is_stopped() {
            format!("the process is stopped; `kill -CONT {pid}` lets it go on")
        } else {
            let within = patience.map_or(String::new(), |patience| format!(" within {} s", patience.as_secs_f64()));
            format!("it did not answer{within}: it may be busy, ask again ({error})")
        };
        Failure::new(format!("the agent in process {pid} does not answer"), help)
    };
    let sent = writeln!(stream, "{}", serde_json::to_string(request)?);
    // An agent that refuses a client may disconnect before it has read the request. After the answer it disconnects, too.
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    match sent.and(read.map(drop)) {
        Err(error) if answer.is_empty() => Err(silent(error).into()),
        _ if answer.trim().is_empty() => {
            let reason = format!("the agent in process {pid} does not answer");
            Err(Failure::new(reason, "`instr ps` shows whether the process still runs and has the agent").into())
        }
        _ => Ok(answer),
    }
}

fn connect(process: &Process) -> Result<UnixStream> {
    // In a container the process has another number and another /tmp.
    let directory = process.owner().map(|owner| format!("instr-{owner}")).unwrap_or_default();
    // Containers may share the directory: the same number in another namespace is another process.
    let name = socket_name(process.inner_pid(), &process.pid_namespace());
    let mut last = None;
    for tmp in process.temporary_directories() {
        match UnixStream::connect(tmp.join(&directory).join(&name)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let help = match last.map(|error| error.kind()) {
        Some(io::ErrorKind::PermissionDenied) => "only the user that the JVM runs as can ask it",
        _ => "it must be a JVM with instr's agent (`instr attach`), without `socket = false` in `[control]`",
    };
    Err(Failure::new(format!("process {} does not listen to instr", process.pid), help).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure;

    #[test]
    fn a_refusal_is_shown_with_its_own_help_only_and_is_called_an_error_once() {
        let shown = |refusal: Refusal| failure::text(&failure(refusal));
        let mistake = "error: unknown key `metod`\n --> a.toml:3:1\ngeneration 1 stays in force";
        assert_eq!(shown(Refusal::from(mistake.to_owned())), format!("{mistake}\n"));
        assert_eq!(shown(Refusal::from("there is no claim 3".to_owned())), "error: there is no claim 3\n");
        let busy = Refusal::new(ErrorCode::Busy, "no").help("ask later");
        assert_eq!(shown(busy), "error: no\n  help: ask later\n");
    }
}
