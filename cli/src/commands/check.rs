//! `instr check`: is a configuration right?

use std::path::PathBuf;

use anyhow::Result;
use trace::report::counted;

use crate::configuration::Configuration;

/// Say whether a configuration is right; if not, where, why and what to write instead.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file.
    config: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let configuration = Configuration::read(&arguments.config)?;
    configuration.show_warnings();
    let rules = counted(configuration.config.rules.len() as u64, "rule");
    let templates = counted(configuration.library.names().count() as u64, "template");
    println!("{}: ok ({rules}, {templates} known)", arguments.config.display());
    Ok(())
}
