//! `instr diagnose`: a diagnosis is started, followed until it is done or the user has seen enough, and shown.
//!
//! With `--with` it goes on in other JVMs (`peers`), below the call that waits for their answer (`http_call`): requests carry the context there
//! (`carried_context`), and the trees are shown as one (`joined`), by the part of the requests that each JVM answers (`requests`).

mod carried_context;
mod conversation;
mod display;
mod following;
mod http_call;
mod interruption;
mod joined;
mod peers;
mod requests;
mod times;

use std::process::ExitCode;

use anyhow::Result;
use control::Request;
use trace::report::DiagnosisJson;

use crate::running_agent::ask;
pub(crate) use display::terminal_width;
pub(crate) use following::{Manner, follow};
pub(crate) use interruption::Interruption;
pub(crate) use times::microseconds;

/// The diagnosis ended without a result.
const NO_RESULT: u8 = 3;

/// Shows once how far a diagnosis has come that somebody started with `--keep`.
pub(crate) fn show(pid: u32, claim: u32, json: bool, listed: DiagnosisJson) -> Result<ExitCode> {
    let diagnosis: control::Diagnosis = ask(pid, &Request::Diagnosis { claim })?;
    display::print_result(&(&diagnosis).into(), json, listed)?;
    Ok(if diagnosis.state.is_final() { exit_code(&diagnosis) } else { ExitCode::SUCCESS })
}

fn exit_code(diagnosis: &control::Diagnosis) -> ExitCode {
    if diagnosis.sentence.is_some() { ExitCode::SUCCESS } else { NO_RESULT.into() }
}
