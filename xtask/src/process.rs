//! Running other programs: what is run is shown, and a failure says what failed.

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::project;

/// Commands with dozens of files are shown in part.
const LONGEST_TEXT: usize = 300;

/// A command that runs at the top of the checkout.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(project::root());
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Maven, quiet about downloads, on the given JDK.
pub(crate) fn maven(java_home: &Path) -> Command {
    let mut command = command("mvn");
    command.args(["-B", "-ntp"]).env("JAVA_HOME", java_home);
    command
}

/// Runs with the terminal passed on; anything but success is an error.
pub(crate) fn execute(command: &mut Command) -> Result<()> {
    show(command);
    let status = command.status().with_context(|| format!("cannot start {}", name_of(command)))?;
    check(command, status)
}

/// Runs and gives what it wrote to standard output; its standard error goes to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    show(command);
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {}", name_of(command)))?;
    check(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs, shows each line of standard output at once, and passes it to `see`.
pub(crate) fn execute_seeing(command: &mut Command, mut see: impl FnMut(&str)) -> Result<()> {
    show(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", name_of(command)))?;
    if let Some(lines) = child.stdout.take() {
        for line in BufReader::new(lines).split(b'\n') {
            let line = line.context("reading the output")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            see(&line);
        }
    }
    let status = child.wait().context("waiting for the end")?;
    check(command, status)
}

/// Whether a program is there and answers; its output is not shown.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} failed ({status})", text_of(command));
    }
    Ok(())
}

/// Tells what is about to run, in bold where that means something.
pub(crate) fn show(command: &Command) {
    let text = text_of(command);
    if std::io::stderr().is_terminal() {
        eprintln!("\x1b[1m$ {text}\x1b[0m");
    } else {
        eprintln!("$ {text}");
    }
}

fn name_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn text_of(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut text = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    for (number, argument) in command.get_args().enumerate() {
        if text.len() > LONGEST_TEXT {
            return format!("{text} ... ({} arguments more)", command.get_args().count() - number);
        }
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
