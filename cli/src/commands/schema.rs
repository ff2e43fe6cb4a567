//! `instr schema`: the JSON Schema of configurations.

use std::io::{Write, stdout};

use anyhow::Result;

/// Print the JSON Schema of the configuration, for editors.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> Result<()> {
    stdout().write_all(settings::schema().as_bytes())?;
    Ok(())
}
