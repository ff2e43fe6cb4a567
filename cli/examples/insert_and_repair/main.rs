//! What a plain rewriter would take: `insert_and_repair [--jdk HOME] [JAR | DIRECTORY]...`
//!
//! The engine works out all offsets of a method once. The plain way is to insert the prolog, repair every branch, switch, handler and table,
//! then the same for the epilog before each return. Here both do this to the same methods, on one thread, in memory; the plain rewriter only does the
//! code and the offsets in its tables: no constants, no frames of its own, no check, no class file. That is in its favour.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its user")]
#![allow(clippy::indexing_slicing, reason = "a broken measurement may end")]

mod body;
#[path = "../throughput/classes_in_memory.rs"]
mod classes_in_memory;
#[path = "../corpus/embedded.rs"]
mod embedded;
#[path = "../throughput/thread_time.rs"]
mod thread_time;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use body::Body;
use classes_in_memory::{add_jars, add_java_base};
use classfile::attribute_kind::Location;
use classfile::attributes::{AttributeContent, StackMapFrame};
use classfile::{ClassFile, Code, access};
use instrument_core::level::Level;
use instrument_core::template::TemplateId;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Workspace};
use thread_time::cpu_nanoseconds;

/// The instructions of the template `timed` as `instr dump` shows them, with placeholders for the constant-pool indexes: reads the clock
/// and stores the time; passes it on with the probe's number; does the same and rethrows.
const PROLOG: [u8; 5] = [0xb8, 0, 1, 0x37, 100];
const EPILOG: [u8; 7] = [0x16, 100, 0x12, 1, 0xb8, 0, 1];
const HANDLER: [u8; 8] = [0x16, 100, 0x12, 1, 0xb8, 0, 1, 0xbf];

const ROUNDS: usize = 4;

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
    let mut classes = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jdk" => add_java_base(&arguments.next().context("--jdk needs a directory")?, &mut classes)?,
            option if option.starts_with('-') => bail!("`{option}` is not known"),
            path => add_jars(path, &mut classes)?,
        }
    }
    let library = Arc::new(embedded::library()?);
    let template = library.find("timed", Level::Time).context("there is no template `timed`")?;
    let engine = Engine::new(library, EngineOptions::default());
    println!("| round | way | methods | us a method | passes a method | most |\n|---|---|---|---|---|---|");
    edit_plainly(&classes, |body| body.check())?;
    for round in 1..=ROUNDS {
        let plain = plainly(&classes)?;
        let ours = by_engine(&classes, &engine, template)?;
        plain.print(round, "insert and repair");
        ours.print(round, "engine, whole classes");
        println!("| {round} | ratio | | {:.2} | {:.2} | |", plain.micros() / ours.micros(), plain.mean() / ours.mean());
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    cpu_nanoseconds: u64,
    methods: u64,
    passes: u64,
    most: u64,
}

impl Tally {
    fn add(&mut self, passes: u64) {
        self.methods += 1;
        self.passes += passes;
        self.most = self.most.max(passes);
    }

    fn micros(&self) -> f64 {
        self.cpu_nanoseconds as f64 / 1e3 / self.methods as f64
    }

    fn mean(&self) -> f64 {
        self.passes as f64 / self.methods as f64
    }

    fn print(&self, round: usize, way: &str) {
        println!("| {round} | {way} | {} | {:.2} | {:.2} | {} |", self.methods, self.micros(), self.mean(), self.most);
    }
}

fn plainly(classes: &[Vec<u8>]) -> Result<Tally> {
    let mut tally = Tally::default();
    let start = cpu_nanoseconds()?;
    edit_plainly(classes, |body| {
        tally.add(body.passes);
        Ok(())
    })?;
    tally.cpu_nanoseconds = cpu_nanoseconds()? - start;
    Ok(tally)
}

fn edit_plainly(classes: &[Vec<u8>], mut edited: impl FnMut(&Body) -> Result<()>) -> Result<()> {
    for bytes in classes {
        let class = ClassFile::parse(bytes)?;
        for method in class.methods().iter().filter(|method| !method.name.as_bytes().starts_with(b"<")) {
            let Some(code) = method.code(&class)? else { continue };
            let mut body = Body::of(&code, places(&code, &class)?);
            body.surround(&PROLOG, &EPILOG, &HANDLER)?;
            edited(&body).with_context(|| format!("{}.{}", class.this_class(), method.name))?;
        }
    }
    Ok(())
}

/// Code offsets in the tables of lines, variables and frames.
fn places(code: &Code<'_>, class: &ClassFile<'_>) -> Result<Vec<usize>> {
    let mut places = Vec::new();
    for attribute in code.attributes(class) {
        match AttributeContent::parse(&attribute?, Location::Code, class)? {
            AttributeContent::LineNumberTable(lines) => places.extend(lines.iter().map(|line| usize::from(line.start))),
            AttributeContent::LocalVariableTable(rows) | AttributeContent::LocalVariableTypeTable(rows) => {
                for row in rows.iter() {
                    places.extend([usize::from(row.start), usize::from(row.start) + usize::from(row.length)]);
                }
            }
            AttributeContent::StackMapTable(frames) => {
                let mut next = 0;
                for frame in frames.iter() {
                    places.push(next + delta(&frame));
                    next += delta(&frame) + 1;
                }
            }
            _ => {}
        }
    }
    Ok(places)
}

fn delta(frame: &StackMapFrame<'_>) -> usize {
    match frame {
        StackMapFrame::Same { delta } | StackMapFrame::SameLocalsOneStackItem { delta, .. } => usize::from(*delta),
        StackMapFrame::SameLocalsOneStackItemExtended { delta, .. }
        | StackMapFrame::Chop { delta, .. }
        | StackMapFrame::SameExtended { delta }
        | StackMapFrame::Append { delta, .. } => usize::from(*delta),
        StackMapFrame::Full(frame) => usize::from(frame.delta),
    }
}

fn by_engine(classes: &[Vec<u8>], engine: &Engine, template: TemplateId) -> Result<Tally> {
    let mut tally = Tally::default();
    let start = cpu_nanoseconds()?;
    let mut workspace = Workspace::default();
    for bytes in classes {
        let class = ClassFile::parse(bytes)?;
        let named = class.methods().iter().enumerate().filter(|(_, method)| !method.name.as_bytes().starts_with(b"<"));
        let bodies = named.filter(|(_, method)| method.access_flags & (access::ABSTRACT | access::NATIVE) == 0);
        let plan: Vec<_> = bodies.map(|(method_index, _)| MethodPlan::inline(method_index, template)).collect();
        let outcome = engine.instrument(&mut workspace, &class, &plan);
        if let Outcome::Rewritten(rewritten) = outcome {
            rewritten.methods.iter().for_each(|method| tally.add(u64::from(method.passes)));
            workspace.recycle(rewritten.bytes);
        }
    }
    tally.cpu_nanoseconds = cpu_nanoseconds()? - start;
    Ok(tally)
}
