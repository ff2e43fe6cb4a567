//! `instr stop`: ends the recording of a running JVM.

use anyhow::Result;
use control::{Request, Stopped};

use crate::running_agent::ask;

/// End the recording in a running JVM: the probes do nothing any more, the trace file is complete. The application goes on.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let stopped: Stopped = ask(arguments.pid, &Request::Stop)?;
    println!("the recording has ended: {} records, {} lost", stopped.records, stopped.lost);
    if let Some(file) = stopped.trace_file {
        println!("trace file: {} ({:.1} MB)", file.display(), stopped.trace_file_bytes as f64 / 1e6);
    }
    Ok(())
}
