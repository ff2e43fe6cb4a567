//! `cargo xtask demo`: the main job on a real program, from the build to a report that a person can read.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use class_source::JavaHome;

use crate::process::{cargo, command, execute, maven, output, show};
use crate::{prerequisites, project};

const ROUNDS: &str = "25";
const CONFIG: &str = "instr.toml";
const LONGEST_START: Duration = Duration::from_secs(120);
const LONGEST_END: Duration = Duration::from_secs(60);

/// Builds, runs the sample application without and with the agent, and prints the report.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`demo` takes no argument, but got `{unknown}`");
    }
    let java = prerequisites::check()?;
    let sample = Sample::build(&java)?;
    println!("\n=== the application without the agent");
    let expected = sample.result_without_agent()?;
    println!("{expected}\n\n=== the application with the agent, and requests over HTTP");
    let result = sample.result_with_agent()?;
    println!("{result}");
    if result != expected {
        bail!("the application answers differently with the agent");
    }
    println!("Same answers with and without the agent.\n\n=== what the agent says (stats.json)");
    println!("{}", fs::read_to_string(sample.directory.join("stats.json")).context("the agent left no stats.json")?);
    println!("=== the report");
    let html = sample.directory.join("report.html");
    let trace = sample.directory.join("trace.jfr");
    execute(command(project::cli()).arg("report").arg("--html").arg(&html).arg(&trace))?;
    println!("\nThe same with a flame graph: {}", html.display());
    println!("The recording, for jfr, JDK Mission Control or IntelliJ: {}", trace.display());
    println!("The configuration to play with: {}", sample.directory.join(CONFIG).display());
    Ok(())
}

/// The sample web application, built, and a directory to run it in.
struct Sample {
    java: PathBuf,
    jar: PathBuf,
    directory: PathBuf,
}

impl Sample {
    fn build(java: &JavaHome) -> Result<Sample> {
        execute(cargo().args(["build", "--release", "--package", "agent", "--package", "cli"]))?;
        let module = "integration-tests/sample-webapp";
        let mut package = maven(java.path());
        package.args(["--quiet", "--projects", module, "--also-make", "package", "-DskipTests"]);
        execute(&mut package)?;
        let directory = project::target().join("demo");
        if directory.exists() {
            fs::remove_dir_all(&directory).context("clearing the directory of the last demo")?;
        }
        fs::create_dir_all(&directory)?;
        fs::copy(project::root().join("xtask/demo.toml"), directory.join(CONFIG))?;
        // A copy: a build that runs at the same time would pull the jar away under the application.
        let jar = directory.join("sample-webapp.jar");
        fs::copy(project::root().join(module).join("target/sample-webapp.jar"), &jar)?;
        Ok(Sample { java: java.path().join("bin/java"), jar, directory })
    }

    fn java(&self) -> Command {
        let mut command = Command::new(&self.java);
        command.current_dir(&self.directory);
        command
    }

    fn result_without_agent(&self) -> Result<String> {
        result_of(&output(self.java().arg("-jar").arg(&self.jar).args(["self", ROUNDS]))?)
    }

    fn result_with_agent(&self) -> Result<String> {
        let agent = format!("-agentpath:{}={CONFIG}", project::agent().display());
        let server = Server::start(self.java().arg(agent).arg("-jar").arg(&self.jar), &self.directory)?;
        let answers = output(self.java().arg("-jar").arg(&self.jar).args(["load", &server.port, ROUNDS]));
        server.stop()?;
        result_of(&answers?)
    }
}

fn result_of(text: &str) -> Result<String> {
    let line = text.lines().find(|line| line.starts_with("RESULT"));
    line.map(str::to_owned).context("the application printed no RESULT line")
}

/// A running application; it is killed if something goes wrong on the way.
struct Server {
    process: Child,
    port: String,
    /// What follows `READY`; closed when the application has ended.
    lines: Receiver<String>,
}

impl Server {
    fn start(command: &mut Command, directory: &Path) -> Result<Server> {
        show(command);
        let mut process = command.stdout(Stdio::piped()).spawn().context("cannot start java")?;
        let output = process.stdout.take().context("no standard output")?;
        let mut server =
            Server { process, port: String::new(), lines: ready_lines(output, directory.join("server.log"))? };
        server.port = server.lines.recv_timeout(LONGEST_START).map_err(|reason| match reason {
            RecvTimeoutError::Timeout => anyhow!("the application was not up after {} s", LONGEST_START.as_secs()),
            RecvTimeoutError::Disconnected => anyhow!("the application ended before it was up"),
        })?;
        Ok(server)
    }

    /// Asks it to end as an operator would, so that the agent closes its recording.
    fn stop(mut self) -> Result<()> {
        execute(command("kill").arg(self.process.id().to_string()))?;
        // Its standard output closes when it ends; nothing else is sent any more.
        match self.lines.recv_timeout(LONGEST_END) {
            Err(RecvTimeoutError::Timeout) => bail!("the application did not end within {} s", LONGEST_END.as_secs()),
            _ => self.process.wait().map(drop).context("waiting for the application"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends the port of the line `READY port`; the thread keeps reading, so that the application never blocks on its output.
fn ready_lines(output: ChildStdout, log: PathBuf) -> Result<Receiver<String>> {
    let mut log = File::create(log)?;
    let (ready, ports) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(port) = line.strip_prefix("READY ") {
                let _ = ready.send(port.to_owned());
            }
            let _ = writeln!(log, "{line}");
        }
    });
    Ok(ports)
}
