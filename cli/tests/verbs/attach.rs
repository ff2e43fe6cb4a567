//! `instr attach`, `detach` and `ps` where there is no JVM: each says why not.

use std::process::{Command, Stdio};

use crate::sandbox::{EVERYTHING, Sandbox};

#[test]
fn a_process_that_is_no_jvm_or_is_not_there_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("good.toml", EVERYTHING);
    let own = std::process::id().to_string();
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let gone = ended.id().to_string();
    for (pid, reason) in [(&own, format!("process {own} is not a JVM")), (&gone, format!("there is no process {gone}"))]
    {
        for arguments in [&["attach", pid, "good.toml"][..], &["detach", pid]] {
            let said = sandbox.instr(arguments);
            assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{arguments:?}");
            assert!(said.stderr.contains(&reason) && said.stderr.contains("help: "), "{arguments:?}: {}", said.stderr);
        }
    }
}

#[test]
fn processes_that_are_no_jvms_are_not_listed() {
    let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let said = Sandbox::new().instr(&["ps", "--json"]);
    other.kill().unwrap();
    other.wait().unwrap();
    let listed: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let pids: Vec<_> = listed["jvms"].as_array().unwrap().iter().map(|jvm| jvm["pid"].as_u64().unwrap()).collect();
    assert!(!pids.contains(&u64::from(other.id())), "{pids:?}");
    let table = Sandbox::new().instr(&["ps"]).stdout;
    assert!(table.lines().next().unwrap().trim_start().starts_with("PID  JDK"), "{table}");
}
