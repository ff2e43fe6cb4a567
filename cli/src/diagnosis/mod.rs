//! `instr diagnose`: a diagnosis is started, followed until it is done or the user has seen enough, and shown.

mod conversation;
mod display;
mod following;
mod interruption;
mod times;

use std::process::ExitCode;

use anyhow::Result;
use control::Request;

use crate::running_agent::ask;
pub(crate) use following::{Manner, follow};
pub(crate) use times::microseconds;

/// The diagnosis ended without a result.
const NO_RESULT: u8 = 3;

/// Shows once how far a diagnosis has come that somebody started with `--keep`.
pub(crate) fn show(pid: u32, claim: u32, json: bool) -> Result<ExitCode> {
    let diagnosis: control::Diagnosis = ask(pid, &Request::Diagnosis { claim })?;
    display::print_result(&diagnosis, json)?;
    Ok(if diagnosis.state.is_final() { exit_code(&diagnosis) } else { ExitCode::SUCCESS })
}

fn exit_code(diagnosis: &control::Diagnosis) -> ExitCode {
    if diagnosis.sentence.is_some() { ExitCode::SUCCESS } else { NO_RESULT.into() }
}
