//! `instr detach`: ends the recording in a JVM and restores its classes.

use std::path::{Path, PathBuf};

use anyhow::Result;
use control::Status;

use super::attach::{LIBRARY, PATIENCE, text, visible};
use crate::failure::Failure;
use crate::java_process::{AttachSocket, Jvm};
use crate::running_agent::brief_status;

/// Remove the agent from a running JVM: its recording is completed, its classes are restored. The application goes on.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// The agent, as the JVM loaded it: for one with `socket = false` in [control], or under another name.
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let pid = arguments.pid;
    let (jvm, status) = unload(pid, arguments.agent.as_deref())?;
    println!("instr is detached from process {pid} ({}): its classes are restored", jvm.main);
    if let Some(file) = status.and_then(|status| status.trace_file) {
        println!("recording: {}", jvm.process.absolute(&file).display());
    }
    Ok(())
}

/// Removes the agent; says nothing.
pub(crate) fn detach(pid: u32) -> Result<()> {
    unload(pid, None).map(|_| ())
}

fn unload(pid: u32, agent: Option<&Path>) -> Result<(Jvm, Option<Status>)> {
    let jvm = Jvm::find(pid)?;
    jvm.process.check_running()?;
    let status = brief_status(&jvm.process, PATIENCE).ok();
    let library = match (agent, jvm.loaded_library(LIBRARY)) {
        (Some(library), _) => visible(&jvm.process, library, "agent")?,
        (None, Some(library)) if status.is_some() => library.to_owned(),
        (None, Some(library)) => {
            return Err(Failure::new(
                format!("process {pid} has no active agent to detach"),
                format!("one with `socket = false` in [control] is detached with `--agent {}`", library.display()),
            )
            .into());
        }
        (None, None) => {
            return Err(Failure::new(
                format!("process {pid} has no agent to detach"),
                format!(
                    "`instr ps` lists the JVMs; an agent of another name than {LIBRARY} is detached with `--agent FILE`"
                ),
            )
            .into());
        }
    };
    check_unchanged(&library)?;
    AttachSocket::open(&jvm)?.load(text(&library)?, "detach")?;
    if brief_status(&jvm.process, PATIENCE).is_ok() {
        let reason = format!("process {pid} still has the agent");
        return Err(Failure::new(reason, "its reason is on the standard error of the JVM").into());
    }
    Ok((jvm, status))
}

/// The JVM would load a file that has replaced the library as another agent.
fn check_unchanged(library: &Path) -> Result<()> {
    match library.to_string_lossy().strip_suffix(" (deleted)") {
        Some(before) => Err(Failure::new(
            format!("the agent in the JVM was loaded from {before}, which has been replaced since"),
            "`instr stop` ends its recording; the classes are restored when the JVM is started again",
        )
        .into()),
        None => Ok(()),
    }
}
