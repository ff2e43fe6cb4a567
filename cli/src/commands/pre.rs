//! `instr pre`: instruments jars before they are run.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use instrument_core::EngineOptions;
use instrument_core::selection::SkipReason;
use serde_json::json;
use trace::report::counted;

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::inert_runtime;
use crate::instrumentation::{Instrumentation, Totals};
use crate::jar;
use crate::output_file;

const PROBE_TABLE: &str = "probes.json";

const INERT_RUNTIME: &str = "instr-runtime.jar";

const HELP_NOTHING_REWRITTEN: &str = "`instr explain --config CONFIG CLASS JAR` shows for one class which rule decides and why; \
     a class that was instrumented before is instrumented anew from its original jar";

/// Instrument jars ahead of time. The originals are only read; DIR gets a copy of each, and probes.json, the list of the
/// probes inserted.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file.
    #[arg(long, value_name = "CONFIG")]
    config: PathBuf,
    /// Where the instrumented jars go; made if it is not there.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Tell on standard error about each method: template, bytes before and after, layout passes; or why it is refused.
    #[arg(short, long)]
    verbose: bool,
    /// Print one JSON object in place of the text.
    #[arg(long)]
    json: bool,
    /// Also write instr-runtime.jar into DIR, with which the copies run without the agent and nothing is recorded:
    /// java -Xbootclasspath/a:DIR/instr-runtime.jar ...
    #[arg(long)]
    with_runtime: bool,
    /// The JDK whose classes the jars extend. Default: JAVA_HOME, else the java on the PATH.
    #[arg(long, value_name = "DIR")]
    java_home: Option<PathBuf>,
    /// More jars or directories with super types of the classes; they are not instrumented.
    #[arg(long, value_name = "JAR", value_delimiter = ':')]
    class_path: Vec<PathBuf>,
    /// The jars.
    #[arg(required = true, value_name = "JAR")]
    jars: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let configuration = Configuration::read(&arguments.config)?;
    configuration.show_warnings();
    let copies = copies(arguments)?;
    let class_path: Vec<_> = arguments.jars.iter().chain(&arguments.class_path).cloned().collect();
    let classes = Classes::open(&class_path, arguments.java_home.as_deref())?;
    let mut instrumentation = Instrumentation::new(&configuration, &classes, EngineOptions::default());
    instrumentation.verbose = arguments.verbose;
    for (jar, copy) in &copies {
        write_copy(jar, copy, &mut instrumentation)?;
    }
    let table = arguments.output.join(PROBE_TABLE);
    instrumentation.probes.write(output_file::create(&table)?)?;
    if arguments.with_runtime {
        let jar = arguments.output.join(INERT_RUNTIME);
        output_file::write(&jar, inert_runtime::jar()?)?;
    }
    let missing = instrumentation.missing();
    missing.iter().for_each(|line| eprintln!("warning: {line}"));
    if arguments.json {
        println!("{}", as_json(&instrumentation.totals));
    } else {
        print!("{}", as_text(&instrumentation.totals, &arguments.output));
    }
    match nothing_rewritten(&instrumentation.totals) {
        Some(reason) => Err(Failure::new(format!("no class was rewritten: {reason}"), HELP_NOTHING_REWRITTEN).into()),
        None => Ok(()),
    }
}

/// Returns why no class was rewritten; `None` if one was.
fn nothing_rewritten(totals: &Totals) -> Option<String> {
    if totals.classes_rewritten > 0 {
        return None;
    }
    let mut reasons = Vec::new();
    if totals.classes == 0 {
        reasons.push("the jars hold no classes".to_owned());
    }
    if totals.instrumented_before > 0 {
        reasons.push(format!("{} had been instrumented before", counted(totals.instrumented_before, "class")));
    }
    reasons.extend(
        totals.refused.iter().map(|(reason, count)| format!("{} refused ({reason})", counted(*count, "method"))),
    );
    // What a rule matches and something else leaves out; all other methods are matched by none.
    let left_out = totals.skipped.iter().filter(|(reason, _)| **reason != SkipReason::NoRule.key());
    let left_out: Vec<String> = left_out.map(|(reason, count)| format!("{count} {reason}")).collect();
    if reasons.is_empty() {
        let (classes, methods) = (counted(totals.classes, "class"), counted(totals.methods, "method"));
        reasons.push(format!("no rule chooses any of the {methods} of {classes}"));
    }
    if !left_out.is_empty() {
        reasons.push(format!("methods left out by reason: {}", left_out.join(", ")));
    }
    Some(reasons.join("; "))
}

/// Each jar with the place of its copy: never the jar itself, never one place for two.
fn copies(arguments: &Arguments) -> Result<Vec<(PathBuf, PathBuf)>> {
    fs::create_dir_all(&arguments.output)
        .with_context(|| format!("cannot make the directory {}", arguments.output.display()))?;
    let mut copies: Vec<(PathBuf, PathBuf)> = Vec::new();
    for jar in &arguments.jars {
        if jar.is_dir() {
            let what = format!("{} is a directory, but only jars are instrumented ahead of time", jar.display());
            let help = "pack it first: jar --create --file classes.jar -C DIR .; directories with super types are named by --class-path";
            return Err(Failure::new(what, help).into());
        }
        let name = jar.file_name().with_context(|| format!("{} has no file name", jar.display()))?;
        let copy = arguments.output.join(name);
        if same_file(jar, &copy) {
            let help = "give another --output; jars are never changed in place";
            return Err(Failure::new(format!("the copy of {} would overwrite it", jar.display()), help).into());
        }
        if let Some((other, _)) = copies.iter().find(|(_, other)| *other == copy) {
            let what = format!("{} and {} have the same file name", other.display(), jar.display());
            return Err(Failure::new(what, "instrument them into different directories").into());
        }
        output_file::refuse_recording(&copy)?;
        copies.push((jar.clone(), copy));
    }
    Ok(copies)
}

fn same_file(jar: &Path, copy: &Path) -> bool {
    matches!((jar.canonicalize(), copy.canonicalize()), (Ok(jar), Ok(copy)) if jar == copy)
}

fn write_copy(jar: &Path, copy: &Path, instrumentation: &mut Instrumentation<'_>) -> Result<()> {
    let file = File::open(jar).with_context(|| format!("cannot open {}", jar.display()))?;
    let rewritten = jar::rewrite(&jar.display().to_string(), BufReader::new(file), instrumentation)
        .with_context(|| jar.display().to_string())?;
    if !rewritten.dropped_signatures.is_empty() {
        let files = rewritten.dropped_signatures.join(", ");
        eprintln!("note: the copy of {} is not signed any more: {files} left out", jar.display());
    }
    match rewritten.bytes {
        Some(bytes) => output_file::write(copy, bytes),
        None => fs::copy(jar, copy).map(drop).with_context(|| format!("cannot write {}", copy.display())),
    }
}

fn as_json(totals: &Totals) -> serde_json::Value {
    json!({
        "classes": totals.classes,
        "classes_rewritten": totals.classes_rewritten,
        "methods": totals.methods,
        "methods_instrumented": totals.methods_instrumented,
        "instrumented_before": totals.instrumented_before,
        "refused": totals.refused,
        "cpu_seconds": totals.cpu.as_secs_f64(),
        "bytes_in": totals.bytes_in,
        "bytes_out": totals.bytes_out,
    })
}

fn as_text(totals: &Totals, output: &Path) -> String {
    let mut text = format!(
        "{} of {} rewritten, {} of {} instrumented, in {:.2} s of CPU time\n",
        totals.classes_rewritten,
        counted(totals.classes, "class"),
        totals.methods_instrumented,
        counted(totals.methods, "method"),
        totals.cpu.as_secs_f64()
    );
    if totals.instrumented_before > 0 {
        text.push_str(&format!(
            "left as they are because they hold probes already: {}\n",
            counted(totals.instrumented_before, "class")
        ));
    }
    for (reason, count) in &totals.refused {
        text.push_str(&format!("refused: {}: {reason}\n", counted(*count, "method")));
    }
    text.push_str(&format!("the copies and {PROBE_TABLE} are in {}\n", output.display()));
    text
}
