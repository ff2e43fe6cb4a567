//! `instr check`: is a configuration right, and does each of its rules take something?

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use trace::report::counted;

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::failure::{self, Failure};
use crate::idle_rules;

/// Say whether a configuration is right; if not, where, why and what to write instead.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file; or a directory, of which all files *.toml are checked.
    config: PathBuf,
    /// Jars or directories with classes: a rule that takes no method of them, nor of the JDK, is reported with the nearest reason, and `[[slow-calls]]` of a
    /// method that none of them has.
    #[arg(value_name = "JAR")]
    jars: Vec<PathBuf>,
    /// With jars: the JDK of the program. Default: JAVA_HOME, else the java on the PATH.
    #[arg(long, value_name = "DIR")]
    java_home: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let classes = match arguments.jars.as_slice() {
        [] => None,
        jars => Some(Classes::open(jars, arguments.java_home.as_deref())?),
    };
    if !arguments.config.is_dir() {
        return check(&arguments.config, classes.as_ref());
    }
    let files = configurations(&arguments.config)?;
    let mut bad = 0;
    for file in &files {
        if let Err(error) = check(file, classes.as_ref()) {
            bad += 1;
            eprint!("{}", failure::text(&error));
            println!("{}: has mistakes", file.display());
        }
    }
    match bad {
        0 => Ok(()),
        bad => {
            let verb = if bad == 1 { "has" } else { "have" };
            let message = format!("{bad} of {} {verb} mistakes", counted(files.len() as u64, "configuration"));
            Err(anyhow!("{message}"))
        }
    }
}

/// The files in the directory itself, by name.
fn configurations(directory: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list {}", directory.display());
    let entries = fs::read_dir(directory).with_context(cannot)?.collect::<Result<Vec<_>, _>>().with_context(cannot)?;
    let is_configuration = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml") && path.is_file();
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(is_configuration).collect();
    files.sort();
    if files.is_empty() {
        let message = format!("there is no file *.toml in {}", directory.display());
        return Err(Failure::new(message, "directories in it are not searched").into());
    }
    Ok(files)
}

fn check(file: &Path, classes: Option<&Classes>) -> Result<()> {
    let configuration = Configuration::read(file)?;
    configuration.show_warnings();
    let rules = counted(configuration.config.rules.len() as u64, "rule");
    let templates = counted(configuration.library.names().count() as u64, "template");
    let idle = match classes {
        Some(classes) => idle_rules::find(&configuration, classes)?,
        None => Vec::new(),
    };
    idle.iter().for_each(|line| eprintln!("warning: {line}"));
    if let Some(classes) = classes {
        idle_rules::slow_calls_of_nothing(&configuration, classes)?.iter().for_each(|warning| eprintln!("{warning}"));
    }
    let idle = if idle.is_empty() { String::new() } else { format!(", {} without a method", idle.len()) };
    println!("{}: ok ({rules}{idle}, {templates} known)", file.display());
    Ok(())
}
