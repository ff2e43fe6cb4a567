//! `instr dump-trace`: has the agent in a running JVM write what it keeps in memory.

use anyhow::Result;
use control::{Dumped, Request};

use super::status::describe;
use crate::running_agent::ask;

/// Write the newest part of a recording that is kept in memory (`mode = "ring"` in [trace]) into a file.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let dumped: Dumped = ask(arguments.pid, &Request::DumpTrace)?;
    println!("{}", describe(&dumped));
    Ok(())
}
