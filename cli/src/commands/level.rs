//! `instr level`: changes the level of methods in a running JVM.

use anyhow::Result;
use serde_json::json;

use crate::failure::Failure;
use crate::running_agent::{Changed, ask};

/// Change the level of methods while they run. Works for live probes: `live = true` in [control], or a governor.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// The methods as `package.Class.method`; `*` stands for any text inside a package, `**` across packages.
    methods: String,
    /// The new level.
    #[arg(value_parser = ["off", "watch", "time"])]
    level: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { pid, methods, level } = arguments;
    let changed: Changed = ask(*pid, &json!({"ask": "level", "methods": methods, "level": level}))?;
    match changed {
        Changed { live: 0, .. } => Err(Failure::new(
            format!("process {pid} has no probes whose level can change"),
            "start it with `live = true` in `[control]`",
        )
        .into()),
        Changed { changed: 0, live } => Err(Failure::new(
            format!("none of the {live} live probes is in a method `{methods}`"),
            "write `package.Class.method`, with `*` inside a package or `**` across packages; `instr top` shows names",
        )
        .into()),
        Changed { changed, .. } => {
            println!("{changed} methods are at level {level} now");
            Ok(())
        }
    }
}
