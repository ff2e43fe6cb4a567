//! The agent in a running JVM, as it answers on its socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use control::{Refusal, Request, Status, namespace_of, socket_name};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// An agent that is not answering for so long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(5);

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

/// Asks the agent in the JVM with this process id; the text of the answer.
pub(crate) fn ask_text(pid: u32, request: &Request) -> Result<String> {
    let mut stream = connect(pid)?;
    stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)))?;
    let silent = || format!("the agent in process {pid} does not answer");
    writeln!(stream, "{}", serde_json::to_string(request)?).with_context(silent)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).with_context(silent)?;
    if answer.trim().is_empty() {
        return Err(Failure::new(silent(), "the process may be about to end, or the agent has been detached").into());
    }
    Ok(answer)
}

/// Asks the agent in the JVM with this process id.
pub(crate) fn ask<T: DeserializeOwned>(pid: u32, request: &Request) -> Result<T> {
    let answer = ask_text(pid, request)?;
    match serde_json::from_str(&answer).with_context(|| format!("process {pid} answers something strange"))? {
        Answer::Given(answer) => Ok(answer),
        Answer::Refused(Refusal { error }) => {
            Err(Failure::new(error, "`instr status` shows what the agent does").into())
        }
    }
}

fn connect(pid: u32) -> Result<UnixStream> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let Ok(found) = std::fs::metadata(&process) else {
        return Err(Failure::new(format!("there is no process {pid}"), "`jps -l` lists the JVMs").into());
    };
    // In a container the process has another number and another /tmp.
    let inner = inner_pid(pid).unwrap_or(pid);
    let directory = format!("tmp/instr-{}", found.uid());
    let directories = [process.join("root").join(&directory), PathBuf::from("/").join(&directory)];
    // Containers may share the directory: the same number in another namespace is another process.
    let name = socket_name(inner, &pid_namespace(&process));
    let mut last = None;
    for directory in directories {
        match UnixStream::connect(directory.join(&name)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let help = match last.map(|error| error.kind()) {
        Some(io::ErrorKind::PermissionDenied) => "only the user that the JVM runs as can ask it",
        _ => "it must be a JVM with instr's agent, without `socket = false` in `[control]`",
    };
    Err(Failure::new(format!("process {pid} does not listen to instr"), help).into())
}

/// The number of a process' namespace of process ids. Where that of the process is not visible (its program has file capabilities), it is taken
/// to be that of `instr`; empty if /proc shows neither.
fn pid_namespace(process: &Path) -> String {
    namespace_of(process).or_else(|_| namespace_of(Path::new("/proc/self"))).unwrap_or_default()
}

/// The number that a process has inside its own container.
fn inner_pid(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}
