//! `instr check`: is a configuration right?

use std::path::PathBuf;

use anyhow::Result;

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
    let rules = configuration.config.rules.len();
    let templates = configuration.library.names().count();
    println!("{}: ok ({}, {templates} templates known)", arguments.config.display(), counted(rules, "rule"));
    Ok(())
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
