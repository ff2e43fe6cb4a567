//! `instr ps`: the JVMs of this machine.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use control::Status;
use serde::Serialize;

use crate::java_process::Jvm;
use crate::running_agent::brief_status;

/// An agent answers in milliseconds; one that does not must not keep the list waiting.
const PATIENCE: Duration = Duration::from_millis(500);

/// List the JVMs of this machine that you may ask, with and without the agent.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Listed {
    pid: u32,
    user: Option<u32>,
    /// Main class or jar.
    main: String,
    jdk: Option<String>,
    /// Somebody has stopped the process.
    stopped: bool,
    agent: Option<Agent>,
}

#[derive(Debug, Serialize)]
struct Agent {
    /// Absent if it does not answer.
    version: Option<String>,
    answers: bool,
    recording: Option<PathBuf>,
    ended: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let jvms: Vec<Listed> = Jvm::all().iter().map(listed).collect();
    if arguments.json {
        println!("{:#}", serde_json::json!({ "jvms": jvms }));
    } else {
        print!("{}", table(&jvms));
    }
    Ok(())
}

fn listed(jvm: &Jvm) -> Listed {
    Listed {
        pid: jvm.process.pid,
        user: jvm.process.user(),
        main: jvm.main.clone(),
        jdk: jvm.jdk.clone(),
        stopped: jvm.process.is_stopped(),
        agent: agent(jvm),
    }
}

fn agent(jvm: &Jvm) -> Option<Agent> {
    match brief_status(&jvm.process, PATIENCE) {
        Ok(Status { agent_version, trace_file, ended, .. }) => {
            let recording = trace_file.map(|file| jvm.process.absolute(&file));
            Some(Agent { version: Some(agent_version), answers: true, recording, ended })
        }
        // It was loaded, and does not listen: it is stopped, has been detached, or has no socket.
        Err(_) => jvm.loaded_library(super::attach::LIBRARY).map(|_| Agent {
            version: None,
            answers: false,
            recording: None,
            ended: None,
        }),
    }
}

fn table(jvms: &[Listed]) -> String {
    let mut rows = vec![["PID", "JDK", "AGENT", "MAIN", "RECORDING"].map(str::to_owned)];
    rows.extend(jvms.iter().map(|jvm| {
        let agent = match &jvm.agent {
            _ if jvm.stopped => "stopped".to_owned(),
            None => "-".to_owned(),
            Some(Agent { version: Some(version), .. }) => version.clone(),
            Some(_) => "silent".to_owned(),
        };
        let recording = jvm.agent.as_ref().and_then(|agent| match (&agent.ended, &agent.recording) {
            (Some(_), Some(file)) => Some(format!("{} (ended)", file.display())),
            (Some(_), None) => Some("(ended)".to_owned()),
            (None, file) => file.as_ref().map(|file| file.display().to_string()),
        });
        let jdk = jvm.jdk.clone().unwrap_or_else(|| "?".to_owned());
        [jvm.pid.to_string(), jdk, agent, jvm.main.clone(), recording.unwrap_or_default()]
    }));
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let [pids, jdks, agents, mains] = [0, 1, 2, 3].map(|column| width(column).unwrap_or(0));
    let line = |[pid, jdk, agent, main, recording]: &[String; 5]| {
        let line = format!("{pid:>pids$}  {jdk:jdks$}  {agent:agents$}  {main:mains$}  {recording}");
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jvms_are_listed_with_their_agents() {
        let jvm = |pid, main: &str, agent| Listed {
            pid,
            user: Some(0),
            main: main.to_owned(),
            jdk: Some("17.0.15".to_owned()),
            stopped: false,
            agent,
        };
        let agent = |version: Option<&str>, recording: Option<&str>, ended: Option<&str>| {
            Some(Agent {
                version: version.map(str::to_owned),
                answers: version.is_some(),
                recording: recording.map(PathBuf::from),
                ended: ended.map(str::to_owned),
            })
        };
        let mut jvms = vec![
            jvm(7, "shop.Main", None),
            jvm(4_000, "/opt/shop.jar", agent(Some("0.1.0"), Some("/tmp/t.jfr"), None)),
            jvm(4_001, "a.B", agent(Some("0.1.0"), Some("/t.jfr"), Some("it is full"))),
            jvm(4_002, "a.C", agent(None, None, None)),
            jvm(4_003, "a.D", agent(None, None, None)),
        ];
        jvms[4].stopped = true;
        jvms[0].jdk = None;
        let expected = " PID  JDK      AGENT    MAIN           RECORDING\n   \
            7  ?        -        shop.Main\n\
            4000  17.0.15  0.1.0    /opt/shop.jar  /tmp/t.jfr\n\
            4001  17.0.15  0.1.0    a.B            /t.jfr (ended)\n\
            4002  17.0.15  silent   a.C\n\
            4003  17.0.15  stopped  a.D\n";
        assert_eq!(table(&jvms), expected);
    }
}
