//! `instr explain`: what the rules say about a class, and why.

use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::{Context, Result};
use classfile::ClassFile;
use instrument_core::selection::{ClassContext, NoFactsYet};

use crate::classes::Classes;
use crate::configuration::Configuration;

/// Tell for each method of a class which rule decides, and why the other rules do not.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file.
    #[arg(long, value_name = "CONFIG")]
    config: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The JDK that is asked for classes which are in no jar. Default: JAVA_HOME, else the java on the PATH.
    #[arg(long, value_name = "DIR")]
    java_home: Option<PathBuf>,
    /// The class, as com.acme.Order$Line or com/acme/Order$Line.
    class: String,
    /// Jars or directories with the class and its super types.
    #[arg(value_name = "JAR")]
    jars: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let configuration = Configuration::read(&arguments.config)?;
    configuration.show_warnings();
    let classes = Classes::open(&arguments.jars, arguments.java_home.as_deref())?;
    let bytes = classes.named(&arguments.class)?;
    let class = ClassFile::parse(&bytes).with_context(|| format!("cannot read the class {}", arguments.class))?;
    let origin = classes.origin_of(class.this_class().as_bytes());
    let never = configuration.never(&classes);
    let context = ClassContext { hierarchy: &classes, origin: &origin, facts: &NoFactsYet, never: &never, reach: None };
    let explanation = configuration.rules.explain(&class, &context);
    let text =
        if arguments.json { serde_json::to_string_pretty(&explanation)? + "\n" } else { explanation.to_string() };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}
