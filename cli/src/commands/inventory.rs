//! `instr inventory`: which classes and methods of an application are instrumented, and why the others are not.

use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

use anyhow::Result;
use instrument_core::rules::patterns::NameGlob;

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::inventory::Inventory;
use crate::inventory::of_files::{self, Listed};

/// List which classes of an application a configuration instruments and which not, each with its reason, in an order that does not change:
/// compare two inventories with `diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file.
    #[arg(long, value_name = "CONFIG")]
    config: PathBuf,
    /// Also list each method of the classes that a rule matches.
    #[arg(long)]
    methods: bool,
    /// Only classes of these names: `*` matches any text inside a package, `**` across packages.
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    classes: Option<NameGlob>,
    /// Also list the classes of the JDK that a rule may take.
    #[arg(long)]
    jdk: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The JDK whose classes the jars extend. Default: JAVA_HOME, else the java on the PATH.
    #[arg(long, value_name = "DIR")]
    java_home: Option<PathBuf>,
    /// Jars or directories with the classes of the application.
    #[arg(required = true, value_name = "JAR")]
    jars: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { config, methods, classes: names, jdk, json, java_home, jars } = arguments;
    let configuration = Configuration::read(config)?;
    configuration.show_warnings();
    let classes = Classes::open(jars, java_home.as_deref())?;
    let listed = Listed { classes: names.clone(), jdk: *jdk, methods: *methods };
    print(&of_files::inventory(&configuration, &classes, &listed)?, *json)
}

/// Prints an inventory. If nothing is instrumented, that is an error.
fn print(inventory: &Inventory, json: bool) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    if json {
        inventory.write_json(&mut out)?;
    } else {
        inventory.write_text(&mut out)?;
    }
    out.flush()?;
    if inventory.has_instrumented() {
        return Ok(());
    }
    let help = "the reasons are listed; `instr explain` shows for one class what each rule answers";
    Err(Failure::new("no method of these classes is instrumented", help).into())
}

fn glob(text: &str) -> Result<NameGlob, String> {
    NameGlob::class(text).map_err(|error| error.message)
}
