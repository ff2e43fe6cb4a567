//! A diagnosis from its start to its end, whatever ends it.

use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use anyhow::Result;
use control::{Diagnosis, DiagnosisState, Request};
use trace::report::DiagnosisJson;

use super::conversation::{Answer, Conversation};
use super::display::{Display, print_result};
use super::exit_code;
use super::interruption::{BETWEEN_SIGNALS, Interruption};
use super::peers::{self, First, Together};
use crate::java_process::Process;
use crate::running_agent::OpenConnection;

const NOT_CONFIRMED: &str = "the agent has not confirmed that the probes are removed: it removes them when it notices that the connection is closed";

/// How a diagnosis is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// It goes on when this command ends.
    pub(crate) keep: bool,
    /// The result is JSON.
    pub(crate) json: bool,
    /// What is listed of it.
    pub(crate) listed: DiagnosisJson,
}

/// Starts a diagnosis, shows it until it is done and, if processes are named, until it is done there, and prints what was found.
pub(crate) fn follow(pid: u32, request: &Request, manner: Manner, with: &[u32]) -> Result<ExitCode> {
    peers::check(pid, with)?;
    let began = Instant::now();
    let interruption = Interruption::listen()?;
    let conversation = Conversation::start(pid, vec![request.clone()])?;
    let mut following =
        Following { pid, manner, conversation, display: Display::new(manner.json, manner.listed.order), last: None };
    loop {
        match following.conversation.answers.recv_timeout(BETWEEN_SIGNALS) {
            Ok(Answer::Seen(seen)) => {
                if following.look(*seen)? {
                    return match &following.last {
                        Some(found) if !with.is_empty() && found.sentence.is_some() => {
                            let first = First { pid, request, found, took: began.elapsed() };
                            let together = peers::go_on(&first, with, &mut following.display, &interruption);
                            following.done_together(&together)
                        }
                        _ => following.done(),
                    };
                }
            }
            Ok(Answer::Failed(error)) => return following.lost(error),
            // Nothing was ordered, so this is the end of the thread.
            Ok(Answer::Removed) | Err(RecvTimeoutError::Disconnected) => return following.done(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(code) = interruption.code() {
            return following.interrupted(code);
        }
    }
}

struct Following {
    pid: u32,
    manner: Manner,
    conversation: Conversation,
    display: Display,
    /// As it was last seen.
    last: Option<Diagnosis>,
}

impl Following {
    /// Shows what was seen. Returns whether that is final.
    fn look(&mut self, seen: Diagnosis) -> Result<bool> {
        let hint = if self.manner.keep {
            format!("Ctrl-C leaves it alone: {}", self.how_to_look_again(seen.claim))
        } else {
            "Ctrl-C ends it and removes its probes".to_owned()
        };
        self.display.show(&(&seen).into(), &hint)?;
        if self.last.is_none() && self.manner.keep && matches!(self.display, Display::States(..)) {
            eprintln!("claim {} stays: {}", seen.claim, self.how_to_look_again(seen.claim));
        }
        let is_final = seen.state.is_final();
        self.last = Some(seen);
        Ok(is_final)
    }

    fn how_to_look_again(&self, claim: u32) -> String {
        let pid = self.pid;
        format!("`instr diagnose {pid} --show {claim}` shows it, `instr remove {pid} {claim}` ends it")
    }

    /// Prints what is known for good.
    fn done(&mut self) -> Result<ExitCode> {
        self.display.clear()?;
        let Some(last) = &self.last else { anyhow::bail!("process {} has not answered", self.pid) };
        print_result(&last.into(), self.manner.json, self.manner.listed)?;
        Ok(exit_code(last))
    }

    /// Prints what was found in several processes.
    fn done_together(&mut self, together: &Together) -> Result<ExitCode> {
        self.display.clear()?;
        print_result(&together.found, self.manner.json, self.manner.listed)?;
        if !together.unconfirmed.is_empty() {
            let pids: Vec<String> = together.unconfirmed.iter().map(u32::to_string).collect();
            self.say(&format!("process {}: {NOT_CONFIRMED}", pids.join(", ")));
        }
        Ok(together.interrupted.map_or(ExitCode::SUCCESS, ExitCode::from))
    }

    /// The agent is gone, or does not know the diagnosis any more. What was found until then is not lost.
    fn lost(&mut self, error: anyhow::Error) -> Result<ExitCode> {
        let Some(last) = &mut self.last else { return Err(error) };
        let has_ended = Process::ends_now(self.pid);
        if has_ended || OpenConnection::to(self.pid).is_err() {
            last.state = DiagnosisState::Ended;
            let happened = if has_ended { "has ended" } else { "has no agent any more: it was detached" };
            last.reason = Some(format!("process {} {happened}", self.pid));
            return self.done();
        }
        let claim = last.claim;
        self.done()?;
        if self.manner.keep {
            eprintln!("claim {claim}: {}", self.how_to_look_again(claim));
        }
        Err(error)
    }

    /// The user has seen enough.
    fn interrupted(&mut self, code: u8) -> Result<ExitCode> {
        let said = if self.manner.keep { None } else { Some(self.remove()) };
        self.display.clear()?;
        if let Some(last) = &self.last {
            print_result(&last.into(), self.manner.json, self.manner.listed)?;
        }
        let said = match (said, &self.last) {
            (Some(said), _) => said.to_owned(),
            (None, Some(last)) => format!("claim {} goes on: {}", last.claim, self.how_to_look_again(last.claim)),
            (None, None) => format!("the agent has not answered yet; `instr claims {}` lists the claim", self.pid),
        };
        self.say(&said);
        Ok(code.into())
    }

    /// The only thing on standard output is the object that scripts read, if they do.
    fn say(&self, said: &str) {
        if self.manner.json { eprintln!("{said}") } else { println!("{said}") }
    }

    /// Has the agent remove the probes. Returns what is to be said of that.
    fn remove(&mut self) -> &'static str {
        if self.conversation.remove(&mut self.last) { "removed" } else { NOT_CONFIRMED }
    }
}
