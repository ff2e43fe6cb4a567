//! HotSpot's attach protocol: how a JVM that runs is asked to load an agent.
//!
//! The JVM opens the socket `/tmp/.java_pidN` when it gets SIGQUIT and finds a file `.attach_pidN` in its working directory or in /tmp; N is its
//! process id inside its own container. A request is a version and texts, each ended by a zero; the answer is a number, a line end and a text up
//! to the end of the connection. In version 1 there are always three arguments of at most 1024 bytes. Version 2 (JDK 24 and newer) puts the length of
//! the texts before them; a JVM says that it has it when it is asked for `getversion`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Gid, Uid};
use rustix::process::{Pid, Signal, kill_process};

use super::jvm::Jvm;
use super::process::Process;
use crate::failure::Failure;

/// Longest argument of version 1 in bytes.
const LONGEST_ARGUMENT: usize = 1024;
/// A JVM opens its socket in milliseconds, if it runs at all.
const OPENING: Duration = Duration::from_secs(10);
/// To load an agent, which retransforms thousands of classes, takes seconds.
const LOADING: Duration = Duration::from_secs(120);
/// How often it is checked whether the process can still answer.
const CHECK: Duration = Duration::from_millis(200);

/// The socket of a JVM that waits for requests to load agents.
#[derive(Debug)]
pub(crate) struct AttachSocket {
    process: Process,
    path: PathBuf,
}

impl AttachSocket {
    /// Has a JVM open its socket, unless it did so before.
    pub(crate) fn open(jvm: &Jvm) -> Result<AttachSocket> {
        jvm.check_attachable()?;
        let process = jvm.process.clone();
        process.check_running()?;
        let socket = match find_socket(&process)? {
            Some(path) if UnixStream::connect(&path).is_ok() => path,
            _ => have_socket_opened(&process)?,
        };
        Ok(AttachSocket { process, path: socket })
    }

    /// Has the JVM load a library as an agent. Both texts are those that the JVM gets.
    pub(crate) fn load(&self, library: &str, options: &str) -> Result<()> {
        let arguments = [library, "true", options];
        let request = match arguments.iter().find(|argument| argument.len() > LONGEST_ARGUMENT) {
            None => request_of_version_1("load", arguments),
            Some(_) if self.has_version_2() => request_of_version_2("load", &arguments),
            Some(long) => return Err(self.too_long(long)),
        };
        self.ask(request).and_then(|answer| outcome(&answer, self.process.pid))
    }

    /// Older JVMs do not know the request.
    fn has_version_2(&self) -> bool {
        let answer = self.ask(request_of_version_1("getversion", [""; 3]));
        answer.is_ok_and(|answer| is_version_2(&answer))
    }

    fn too_long(&self, argument: &str) -> anyhow::Error {
        let shown: String = argument.chars().take(60).collect();
        Failure::new(
            format!(
                "process {} takes names of at most {LONGEST_ARGUMENT} bytes, as all JVMs before JDK 24; this one has {}: {shown}...",
                self.process.pid,
                argument.len()
            ),
            "copy the file to a directory with a shorter path",
        )
        .into()
    }

    /// Sends a request on a connection of its own and waits for the whole answer, as long as the process can give one.
    fn ask(&self, request: Vec<u8>) -> Result<String> {
        let (sender, answer) = channel();
        let path = self.path.clone();
        // A socket that nobody reads may block at any point.
        std::thread::Builder::new().name("attach".to_owned()).spawn(move || {
            let _ = sender.send(exchange(&path, &request));
        })?;
        let pid = self.process.pid;
        let deadline = Instant::now() + LOADING;
        loop {
            match answer.recv_timeout(CHECK) {
                Ok(answer) => return answer.with_context(|| format!("process {pid} does not answer")),
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("process {pid} cannot be asked"),
                Err(RecvTimeoutError::Timeout) => self.process.check_running()?,
            }
            if Instant::now() > deadline {
                let reason = format!("process {pid} has not answered for {} s", LOADING.as_secs());
                return Err(
                    Failure::new(reason, "it may do so later: `instr status` shows whether it has an agent").into()
                );
            }
        }
    }
}

fn exchange(path: &Path, request: &[u8]) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn request_of_version_1(command: &str, arguments: [&str; 3]) -> Vec<u8> {
    texts(["1", command].into_iter().chain(arguments))
}

fn request_of_version_2(command: &str, arguments: &[&str]) -> Vec<u8> {
    let body = texts([command].into_iter().chain(arguments.iter().copied()));
    [texts(["2", &body.len().to_string()].into_iter()), body].concat()
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<u8> {
    texts.flat_map(|text| text.bytes().chain([0])).collect()
}

fn is_version_2(answer: &str) -> bool {
    // `2 option,option`
    matches!(answer.split_once('\n'), Some(("0", version)) if version.split_whitespace().next() == Some("2"))
}

/// What the agent answers if it is active already (`JNI_EEXIST`).
const ALREADY_ACTIVE: &str = "-5";

/// Whether the JVM has loaded the agent. It answers 0 and `return code: 0`; otherwise the reason is in the text.
fn outcome(answer: &str, pid: u32) -> Result<()> {
    if answer.is_empty() {
        return Err(Failure::new(
            format!("process {pid} has closed the connection without an answer"),
            "a JVM answers its own user and group, and root: run `instr` with both, or as root",
        )
        .into());
    }
    let (_, text) = answer.split_once('\n').unwrap_or(("", answer));
    match text.trim().rsplit_once("return code:").map(|(_, code)| code.trim()) {
        Some("0") => Ok(()),
        Some(ALREADY_ACTIVE) => Err(Failure::new(
            format!("process {pid} has got the agent from somebody else meanwhile, with another configuration"),
            format!("`instr claims {pid}` shows what it does; for your configuration, `instr detach {pid}` first"),
        )
        .into()),
        _ if text.contains("EnableDynamicAgentLoading") => Err(Failure::new(
            format!("process {pid} loads no agents while it runs"),
            "start it with -XX:+EnableDynamicAgentLoading, or with the agent (`-agentpath:...=CONFIG`)",
        )
        .into()),
        _ => Err(Failure::new(
            format!("process {pid} cannot load the agent: {}", text.trim()),
            "the JVM's user must be able to read the library, and it must be built for this system",
        )
        .into()),
    }
}

/// Returns the socket file of a JVM that has opened one before. Everybody can write into the directory, so it must be the JVM's user's.
fn find_socket(process: &Process) -> Result<Option<PathBuf>> {
    let name = format!(".java_pid{}", process.inner_pid());
    for directory in process.temporary_directories() {
        let path = directory.join(&name);
        let Ok(found) = path.symlink_metadata() else { continue };
        let is_safe = found.file_type().is_socket() && found.mode() & 0o066 == 0;
        if !is_safe || process.user().is_some_and(|user| found.uid() != user) {
            let reason = format!(
                "{} is not the socket of the JVM: it belongs to somebody else or is open to others",
                path.display()
            );
            return Err(Failure::new(reason, "remove the file and attach again").into());
        }
        return Ok(Some(path));
    }
    Ok(None)
}

fn have_socket_opened(process: &Process) -> Result<PathBuf> {
    let pid = process.pid;
    if !process.handles_quit() {
        let reason =
            format!("process {pid} does not handle the signal (SIGQUIT) by which a JVM is asked to open its socket");
        let help = "a JVM that has just been started does so after a moment";
        return Err(Failure::new(reason, help).into());
    }
    let _request = AttachFile::create(process)?;
    let receiver = i32::try_from(pid).ok().and_then(Pid::from_raw).context("process ids are positive")?;
    let signal =
        || kill_process(receiver, Signal::QUIT).with_context(|| format!("no signal can be sent to process {pid}"));
    signal()?;
    let begin = Instant::now();
    let mut repeated = false;
    while begin.elapsed() < OPENING {
        std::thread::sleep(Duration::from_millis(5));
        if let Some(path) = find_socket(process)?
            && UnixStream::connect(&path).is_ok()
        {
            return Ok(path);
        }
        process.check_running()?;
        if !repeated && begin.elapsed() > OPENING / 2 {
            repeated = true;
            signal()?;
        }
    }
    let reason = format!("process {pid} has not opened its socket for {} s", OPENING.as_secs());
    Err(Failure::new(
        reason,
        "it may be too busy to handle signals, or not be HotSpot; try again, or start it with the agent",
    )
    .into())
}

/// The file that distinguishes a request to open the socket from one for a thread dump, which is SIGQUIT, too. It is removed again.
struct AttachFile(Option<PathBuf>);

impl AttachFile {
    fn create(process: &Process) -> Result<AttachFile> {
        let name = format!(".attach_pid{}", process.inner_pid());
        let [own_tmp, tmp] = process.temporary_directories();
        let mut last = None;
        for directory in [process.file("cwd"), own_tmp, tmp] {
            // Links in /proc end with the process, and the file must be removed all the same.
            let lasting = directory.canonicalize().ok().filter(|_| process.shares_file_system());
            let path = lasting.unwrap_or(directory).join(&name);
            match File::create_new(&path) {
                Ok(file) => {
                    // The JVM takes a file of its own user only.
                    if let Some(user) = process.user() {
                        let _ = rustix::fs::fchown(file.as_fd(), Some(Uid::from_raw(user)), None::<Gid>);
                    }
                    return Ok(AttachFile(Some(path)));
                }
                // Another `instr` or `jcmd` attaches at the same time.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(AttachFile(None)),
                Err(error) => last = Some(error),
            }
        }
        let error = last.unwrap_or_else(|| io::ErrorKind::NotFound.into());
        Err(error).with_context(|| format!("no file {name} can be created for process {}", process.pid))
    }
}

impl Drop for AttachFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // The JVM may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_in_both_versions() {
        assert_eq!(request_of_version_1("load", ["/a.so", "true", ""]), b"1\0load\0/a.so\0true\0\0");
        assert_eq!(request_of_version_2("load", &["/a.so", "true"]), b"2\x0016\0load\0/a.so\0true\0");
        assert!(is_version_2("0\n2 streaming") && is_version_2("0\n2"));
        assert!(
            !is_version_2("0\n1") && !is_version_2("-1\nOperation getversion not recognized!") && !is_version_2("")
        );
    }

    #[test]
    fn the_answer_of_every_jdk_is_understood() {
        let of = |answer: &str| outcome(answer, 7).map_err(|error| error.to_string());
        assert_eq!(of("0\nreturn code: 0\n"), Ok(()));
        for (answer, reason) in [
            ("", "without an answer"),
            ("0\nreturn code: -5\n", "from somebody else meanwhile"),
            ("0\nreturn code: 1\n", "cannot load the agent: return code: 1"),
            ("0\n/a.so was not loaded.\n/a.so: cannot open", "/a.so: cannot open"),
            (
                "-1\nDynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch",
                "loads no agents",
            ),
        ] {
            let error = of(answer).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
