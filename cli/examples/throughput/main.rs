//! Speed of the engine alone: `throughput --jdk HOME [--passes N] [--level L] [--nodes] [JAR | DIRECTORY]...`
//!
//! All classes of `java.base` and of the jars are held in memory; each pass puts the template `timed` into every method that
//! is neither a constructor nor a class initialiser, on one thread (`--nodes`: all by way of nodes, because offset maps are kept). Prints one line of JSON a pass, the first one cold.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its user")]

mod classes_in_memory;
#[path = "../corpus/embedded.rs"]
mod embedded;
mod thread_time;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use classes_in_memory::{add_jars, add_java_base};
use classfile::{ClassFile, PoolTables, access};
use instrument_core::level::Level;
use instrument_core::template::TemplateId;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Workspace};
use thread_time::cpu_nanoseconds;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut passes = 4;
    let mut level = Level::Time;
    let mut offset_maps = false;
    let mut classes = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--passes" => passes = arguments.next().context("--passes needs a number")?.parse()?,
            "--jdk" => add_java_base(&arguments.next().context("--jdk needs a directory")?, &mut classes)?,
            "--nodes" => offset_maps = true,
            "--level" => level = level_named(&arguments.next().context("--level needs a name")?)?,
            option if option.starts_with('-') => bail!("`{option}` is not known"),
            path => add_jars(path, &mut classes)?,
        }
    }
    let library = Arc::new(embedded::library()?);
    let template = library.find("timed", level).context("there is no template `timed`")?;
    let engine = Engine::new(library, EngineOptions { offset_maps, ..EngineOptions::default() });
    for pass in 1..=passes {
        println!("{}", one_pass(pass, &classes, &engine, template)?);
    }
    Ok(())
}

fn level_named(name: &str) -> Result<Level> {
    Ok(match name {
        "off" => Level::Off,
        "watch" => Level::Watch,
        "time" => Level::Time,
        _ => bail!("there is no level `{name}`"),
    })
}

#[inline(never)]
fn one_pass(number: u32, classes: &[Vec<u8>], engine: &Engine, template: TemplateId) -> Result<String> {
    let mut nanoseconds = vec![0u64; classes.len()];
    let (mut bytes_in, mut bytes_out, mut methods, mut refused) = (0, 0, 0, 0);
    let cpu = cpu_nanoseconds()?;
    let start = Instant::now();
    let mut before = start;
    let mut workspace = Workspace::default();
    let mut plan = Vec::new();
    let mut pool_tables = PoolTables::default();
    for (bytes, nanoseconds) in classes.iter().zip(&mut nanoseconds) {
        bytes_in += bytes.len();
        let class = ClassFile::parse_reusing(bytes, std::mem::take(&mut pool_tables))?;
        plan_of(&class, template, &mut plan);
        match engine.instrument(&mut workspace, &class, &plan) {
            Outcome::Rewritten(rewritten) => {
                bytes_out += rewritten.bytes.len();
                methods += rewritten.methods.len();
                refused += rewritten.refused.len();
                workspace.recycle(rewritten.bytes);
            }
            Outcome::Unchanged { refused: left } => {
                bytes_out += bytes.len();
                refused += left.len();
            }
        }
        pool_tables = class.into_pool_tables();
        let now = Instant::now();
        *nanoseconds = (now - before).as_nanos() as u64;
        before = now;
    }
    let wall = start.elapsed();
    let cpu = cpu_nanoseconds()? - cpu;
    nanoseconds.sort_unstable();
    let at = |share: f64| {
        let index = (share * nanoseconds.len() as f64).round() as usize;
        nanoseconds.get(index.min(nanoseconds.len() - 1)).copied().unwrap_or_default() as f64 / 1e3
    };
    Ok(format!(
        "{{\"engine\":\"instr\",\"pass\":{number},\"classes\":{},\"methods\":{methods},\"failures\":{refused},\
         \"in_bytes\":{bytes_in},\"out_bytes\":{bytes_out},\"wall_ms\":{:.1},\"cpu_ms\":{:.1},\"p50_us\":{:.1},\
         \"p90_us\":{:.1},\"p99_us\":{:.1},\"p999_us\":{:.1},\"max_us\":{:.1}}}",
        classes.len(),
        wall.as_secs_f64() * 1e3,
        cpu as f64 / 1e6,
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0),
    ))
}

/// Every method with code that is neither a constructor nor a class initialiser.
fn plan_of(class: &ClassFile<'_>, template: TemplateId, plan: &mut Vec<MethodPlan>) {
    plan.clear();
    let named = class.methods().iter().enumerate().filter(|(_, method)| !method.name.as_bytes().starts_with(b"<"));
    let bodies = named.filter(|(_, method)| method.access_flags & (access::ABSTRACT | access::NATIVE) == 0);
    plan.extend(bodies.map(|(method_index, _)| MethodPlan::inline(method_index, template)));
}
