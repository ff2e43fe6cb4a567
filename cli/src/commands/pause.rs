//! `instr pause` and `instr resume`: one switch for all probes of a running JVM.

use anyhow::Result;
use control::{Request, Switched};

use crate::running_agent::ask;

/// Switch all probes of a running JVM off at once, whatever their level; `instr resume` switches them on again. The recording goes
/// on, without calls. No class is touched.
#[derive(Debug, clap::Args)]
pub(crate) struct PauseArguments {
    /// Process id of the JVM.
    pid: u32,
}

/// Switch the probes on again that `instr pause` switched off, with the levels that they have.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArguments {
    /// Process id of the JVM.
    pid: u32,
}

pub(crate) fn pause(arguments: &PauseArguments) -> Result<()> {
    let switched: Switched = ask(arguments.pid, &Request::Pause)?;
    println!("{}", text(&switched, "all probes are off now", "all probes were off already"));
    Ok(())
}

pub(crate) fn resume(arguments: &ResumeArguments) -> Result<()> {
    let switched: Switched = ask(arguments.pid, &Request::Resume)?;
    println!("{}", text(&switched, "the probes are on again", "nobody had paused the probes"));
    Ok(())
}

fn text(switched: &Switched, done: &str, was_so: &str) -> String {
    let first = if switched.changed { done } else { was_so };
    let breaker = switched.paused.iter().any(|reason| reason == "breaker");
    let rest = if breaker { "; the breaker is open, so nothing is recorded until the heap is well again" } else { "" };
    format!("{first}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_still_keeps_the_probes_off_is_said() {
        let switched = |changed, paused: &[&str]| Switched {
            changed,
            paused: paused.iter().map(|reason| (*reason).to_owned()).collect(),
        };
        assert_eq!(text(&switched(true, &["request"]), "off", "was"), "off");
        assert_eq!(text(&switched(false, &["request"]), "off", "was"), "was");
        assert!(text(&switched(true, &["breaker"]), "on", "was").starts_with("on; the breaker is open"));
    }
}
