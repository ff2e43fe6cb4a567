//! `instr schema`: the JSON Schema of configurations, or of the control protocol.

use std::io::{Write, stdout};

use anyhow::Result;

/// Print the JSON Schema of the configuration, for editors.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print that of the requests and answers on the control socket instead (docs/protocol.md).
    #[arg(long)]
    protocol: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let schema = if arguments.protocol { control::protocol_schema() } else { settings::schema() };
    stdout().write_all(schema.as_bytes())?;
    Ok(())
}
