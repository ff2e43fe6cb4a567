//! `instr inventory`: which classes and methods of an application are instrumented, and why the others are not.

use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

use anyhow::Result;
use control::Request;
use instrument_core::rules::patterns::NameGlob;

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::inventory::application_files::with_jars_below;
use crate::inventory::of_files::Listed;
use crate::inventory::{Inventory, of_files, of_process};

/// List which classes of an application are instrumented and which not, each with its reason, in an order that does not change: compare two
/// inventories with `diff`. Of jars by a configuration, or of a running JVM.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "instr inventory [OPTIONS] --config <CONFIG> <JAR>...\n       instr inventory [OPTIONS] <PID>"
)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file: what would it instrument of the jars?
    #[arg(long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Also list each method of the classes that a rule matches.
    #[arg(long)]
    methods: bool,
    /// Only classes of these names: `*` matches any text inside a package, `**` across packages.
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    classes: Option<NameGlob>,
    /// Also list the classes of the JDK that a rule may take.
    #[arg(long)]
    jdk: bool,
    /// Of a running JVM: most classes and methods that are listed. Default: 50,000.
    #[arg(long, conflicts_with = "config")]
    most: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The JDK whose classes the jars extend. Default: JAVA_HOME, else the java on the PATH.
    #[arg(long, value_name = "DIR", requires = "config")]
    java_home: Option<PathBuf>,
    /// With --config: jars or directories with the classes and jars of the application. Without it: the process id of a JVM.
    #[arg(required = true, value_name = "JAR|PID")]
    of: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { config, methods, classes: names, jdk, most, json, java_home, of } = arguments;
    let inventory = if let Some(config) = config {
        let configuration = Configuration::read(config)?;
        configuration.show_warnings();
        let classes = Classes::open(&with_jars_below(of)?, java_home.as_deref())?;
        let listed = Listed { classes: names.clone(), jdk: *jdk, methods: *methods };
        of_files::inventory(&configuration, &classes, &listed)?
    } else {
        let classes = names.as_ref().map(|names| names.text().replace('/', "."));
        let request = Request::Inventory { classes, methods: *methods, jdk: *jdk, most: *most };
        of_process::inventory(process(of)?, &request)?
    };
    print(&inventory, *json)
}

fn process(of: &[PathBuf]) -> Result<u32> {
    let pid = match of {
        [pid] => pid.to_str().and_then(|pid| pid.parse().ok()),
        _ => None,
    };
    let help = "name a configuration for jars: instr inventory --config CONFIG JAR...";
    pid.ok_or_else(|| Failure::new("without --config the argument is the process id of a JVM", help).into())
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
