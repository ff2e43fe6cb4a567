//! `instr attach`: loads the agent into a JVM that runs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use control::Status;
use trace::report::counted;

use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::java_process::{AttachSocket, Jvm, Process};
use crate::running_agent::brief_status;

/// File name of the agent.
pub(crate) const LIBRARY: &str = "libinstr.so";
/// For the agent's own answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Load the agent into a running JVM. The configuration is checked first; if it has mistakes, the JVM is not touched.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM (`instr ps` lists them).
    pid: u32,
    /// The configuration, a TOML file.
    config: PathBuf,
    /// The agent, if it is not beside `instr`. For a JVM in a container, this path and that of the configuration are paths in the container.
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (jvm, checked) = load(arguments.pid, (&arguments.config, false), arguments.agent.as_deref())?;
    report(&jvm, checked.config.control.socket)
}

/// Loads the agent with a configuration that records nothing by itself.
pub(crate) fn load_without_rules(pid: u32) -> Result<()> {
    let config = tempfile::Builder::new().prefix("instr-").suffix(".toml").tempfile()?;
    std::fs::write(config.path(), "[trace]\nwrite = false\n")?;
    // The JVM may run as another user.
    std::fs::set_permissions(config.path(), Permissions::from_mode(0o644))?;
    load(pid, (config.path(), true), None)?;
    Ok(())
}

/// Returns the JVM, and the configuration, whose warnings are shown before.
fn load(pid: u32, (config, is_without_rules): (&Path, bool), agent: Option<&Path>) -> Result<(Jvm, Configuration)> {
    let jvm = Jvm::find(pid)?;
    jvm.process.check_running()?;
    if let Ok(Status { agent_version, .. }) = brief_status(&jvm.process, PATIENCE) {
        let reason = format!("process {pid} has the agent already (instr {agent_version})");
        let help = if is_without_rules {
            format!("leave `--attach` out: the agent that is there does it; or `instr detach {pid}` first")
        } else {
            format!(
                "`instr reload {pid}` has it read changed rules; for another configuration, `instr detach {pid}` first"
            )
        };
        return Err(Failure::new(reason, help).into());
    }
    let config = visible(&jvm.process, config, "configuration")?;
    let checked = Configuration::read(&jvm.process.seen_from_here(&config))?;
    // That there are no rules is meant.
    if !is_without_rules {
        checked.show_warnings();
    }
    let library = match agent {
        Some(library) => library.to_owned(),
        None => beside_program()?,
    };
    let library = visible(&jvm.process, &library, "agent")?;
    AttachSocket::open(&jvm)?.load(text(&library)?, text(&config)?)?;
    Ok((jvm, checked))
}

/// The library is distributed beside the program.
fn beside_program() -> Result<PathBuf> {
    let program = std::env::current_exe().context("the directory of `instr` is unknown")?;
    let library = program.with_file_name(LIBRARY);
    if library.exists() {
        return Ok(library);
    }
    let reason = format!("there is no agent {}", library.display());
    Err(Failure::new(reason, format!("name the agent: `--agent /path/to/{LIBRARY}`")).into())
}

/// Returns the absolute name of a file that the process can reach by it.
pub(crate) fn visible(process: &Process, file: &Path, what: &str) -> Result<PathBuf> {
    let absolute = std::path::absolute(file)?;
    if !process.shares_file_system() && !process.seen_from_here(&absolute).exists() {
        return Err(Failure::new(
            format!("process {} runs in a container, where there is no {what} {}", process.pid, absolute.display()),
            "copy the file into the container, and name it by its path there",
        )
        .into());
    }
    Ok(absolute)
}

/// What is sent to a JVM is text.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Failure::new(format!("the path {} is not UTF-8", path.display()), "give the file another name").into()
    })
}

fn report(jvm: &Jvm, has_socket: bool) -> Result<()> {
    let (pid, main) = (jvm.process.pid, &jvm.main);
    if jvm.warns_about_agents() {
        println!(
            "note: the JVM has warned of a loaded agent on its standard error; -XX:+EnableDynamicAgentLoading avoids that"
        );
    }
    if !has_socket {
        println!(
            "the agent was loaded into process {pid} ({main}); with `socket = false` in [control] it does not say what it does"
        );
        return Ok(());
    }
    let status = brief_status(&jvm.process, PATIENCE).map_err(|_| {
        Failure::new(
            format!("the agent was loaded into process {pid} ({main}), but is not active"),
            "its reason is on the standard error of the JVM; often the JVM's user cannot read the configuration",
        )
    })?;
    println!(
        "instr {} is attached to process {pid} ({main}): {} of {} instrumented up to now",
        status.agent_version,
        counted(status.methods_instrumented, "method"),
        counted(status.classes_rewritten, "class")
    );
    if let Some(file) = status.trace_file {
        println!("recording: {}", jvm.process.absolute(&file).display());
    }
    println!("`instr status {pid}` shows what it does, `instr detach {pid}` removes it");
    match status.trace_file_trouble {
        Some(trouble) => Err(Failure::new(
            format!("the agent is attached, but the trace file {trouble}"),
            format!(
                "`instr detach {pid}`, name a place that the JVM's user may write to (`file` in [trace]), and attach again"
            ),
        )
        .into()),
        None => Ok(()),
    }
}
