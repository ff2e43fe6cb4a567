//! The agent in a running JVM, as it answers on its socket.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// An agent that is not answering for so long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an agent says about itself.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Status {
    pub(crate) agent_version: String,
    pub(crate) pid: u32,
    pub(crate) trace_file: Option<PathBuf>,
    pub(crate) trace_file_bytes: u64,
    /// Whether the newest part of the recording is kept in memory.
    #[serde(default)]
    pub(crate) ring: bool,
    /// Why the recording has ended, if it has.
    #[serde(default)]
    pub(crate) ended: Option<String>,
    #[serde(default)]
    pub(crate) dumps: Vec<Dumped>,
    pub(crate) classes_rewritten: u64,
    pub(crate) methods_instrumented: u64,
    /// Classes that `instr pre` had instrumented, and their probes that record.
    #[serde(default)]
    pub(crate) classes_instrumented_ahead: u64,
    #[serde(default)]
    pub(crate) probes_instrumented_ahead: u64,
    pub(crate) records: u64,
    pub(crate) lost: u64,
    /// Live probes by category and level.
    pub(crate) live: Vec<LiveCounts>,
    pub(crate) bursts: Option<Bursts>,
    pub(crate) governor: Option<Governor>,
    /// Why no probe records at present: `request`, `breaker`.
    #[serde(default)]
    pub(crate) paused: Vec<String>,
    /// Why the breaker is open.
    #[serde(default)]
    pub(crate) breaker: Option<String>,
    /// How sending to an OpenTelemetry receiver goes.
    #[serde(default)]
    pub(crate) otlp: Option<Sending>,
    /// What is probably not as it was meant.
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    pub(crate) decisions: Vec<String>,
    pub(crate) hottest: Vec<Hot>,
}

impl Status {
    /// Returns why no probe records at present, in capitals for screens; `None` if they record.
    pub(crate) fn standstill(&self) -> Option<String> {
        let paused = || (!self.paused.is_empty()).then(|| format!("PROBES PAUSED ({})", self.paused.join(", ")));
        self.ended.as_ref().map(|reason| format!("RECORDING ENDED: {reason}")).or_else(paused)
    }
}

/// Figures and spans that are sent to a receiver.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Sending {
    pub(crate) url: String,
    pub(crate) metrics_sent: u64,
    pub(crate) metrics_dropped: u64,
    pub(crate) spans_sent: u64,
    pub(crate) spans_dropped: u64,
    /// Set while the receiver does not take them.
    pub(crate) failing: Option<Failing>,
}

/// Why a receiver takes nothing.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Failing {
    pub(crate) reason: String,
    pub(crate) attempts: u64,
    pub(crate) seconds: f64,
}

/// Live probes of one category.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct LiveCounts {
    pub(crate) category: String,
    pub(crate) levels: BTreeMap<String, usize>,
}

/// The windows of level burst.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Bursts {
    pub(crate) open_ms: u32,
    pub(crate) period_ms: u32,
    pub(crate) windows: u64,
    pub(crate) open_nanos: u64,
}

/// A dump that was written.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dumped {
    pub(crate) file: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    pub(crate) reason: String,
}

/// The answer to a request that has ended the recording.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Stopped {
    pub(crate) trace_file: Option<PathBuf>,
    pub(crate) trace_file_bytes: u64,
    pub(crate) records: u64,
    pub(crate) lost: u64,
}

/// The governor's figures.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Governor {
    pub(crate) budget_percent: u32,
    /// What probes take whose level the governor changes.
    pub(crate) percent: f64,
    /// What the others take.
    #[serde(default)]
    pub(crate) kept_percent: f64,
    #[serde(default)]
    pub(crate) watch_percent: Option<f64>,
    pub(crate) nanos_per_call: f64,
    #[serde(default)]
    pub(crate) nanos_per_full_call: f64,
}

impl Governor {
    /// What all probes take whose cost is known.
    pub(crate) fn all_percent(&self) -> f64 {
        self.percent + self.kept_percent + self.watch_percent.unwrap_or(0.0)
    }
}

/// A method that took time.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Hot {
    pub(crate) probe: u32,
    pub(crate) method: String,
    pub(crate) category: String,
    pub(crate) level: String,
    #[serde(default)]
    pub(crate) descriptor: String,
    pub(crate) calls: u64,
    /// Of these: calls whose times are estimates.
    #[serde(default)]
    pub(crate) estimated_calls: u64,
    pub(crate) nanos: u64,
    /// `nanos / calls` is the mean time of a call; false at level watch, unless all calls that were seen were long enough.
    #[serde(default)]
    pub(crate) mean_is_known: bool,
    /// How calls were recorded, if a class of this session has the probe.
    #[serde(default)]
    pub(crate) recorded: Option<RecordedTime>,
    /// How long the calls since the last look took; if that was asked for, and there were any.
    #[serde(default)]
    pub(crate) recent: Option<Recent>,
}

/// How calls were recorded since a probe was inserted. Nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct RecordedTime {
    /// In which every call was recorded.
    pub(crate) every_call: u64,
    /// In which calls were estimated (level watch).
    pub(crate) estimates: u64,
    pub(crate) whole: u64,
    /// Changes of the level.
    pub(crate) changes: u64,
}

/// Calls since the last look. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Recent {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
}

/// The answer to a change.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Changed {
    pub(crate) changed: usize,
    pub(crate) live: usize,
    /// What was meant and cannot change.
    pub(crate) fixed: Vec<Fixed>,
}

/// Methods that keep their level.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Fixed {
    pub(crate) rules: Vec<String>,
    pub(crate) template: String,
    pub(crate) methods: usize,
    pub(crate) level: String,
    pub(crate) reason: String,
}

/// The answer to a request to switch all probes.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Switched {
    pub(crate) changed: bool,
    pub(crate) paused: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Refused { error: String },
    Given(T),
}

/// Asks the agent in the JVM with this process id; the text of the answer.
pub(crate) fn ask_text(pid: u32, request: &serde_json::Value) -> Result<String> {
    let mut stream = connect(pid)?;
    stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)))?;
    let silent = || format!("the agent in process {pid} does not answer");
    writeln!(stream, "{request}").with_context(silent)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).with_context(silent)?;
    if answer.trim().is_empty() {
        return Err(Failure::new(silent(), "the process may be about to end, or the agent has been detached").into());
    }
    Ok(answer)
}

/// Asks the agent in the JVM with this process id.
pub(crate) fn ask<T: DeserializeOwned>(pid: u32, request: &serde_json::Value) -> Result<T> {
    let answer = ask_text(pid, request)?;
    match serde_json::from_str(&answer).with_context(|| format!("process {pid} answers something strange"))? {
        Answer::Given(answer) => Ok(answer),
        Answer::Refused { error } => Err(Failure::new(error, "`instr status` shows what the agent does").into()),
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
    let name = match pid_namespace(&process) {
        namespace if namespace.is_empty() => format!("{inner}.sock"),
        namespace => format!("{inner}-{namespace}.sock"),
    };
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
    let of = |process: &Path| std::fs::read_link(process.join("ns/pid"));
    let namespace = of(process).or_else(|_| of(Path::new("/proc/self"))).unwrap_or_default();
    namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// The number that a process has inside its own container.
fn inner_pid(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}
