//! Every class of jars and JDKs through reader, writer and engine: `corpus [--sample] [--into DIR [--sites]] [--jdk HOME]... [JAR]...`
//!
//! It fails if a class is not written as it was read, if a method is not lowered as it was lifted, if an instrumented class
//! cannot be read again, or if more than two methods in ten thousand are refused.

//! With `--into`, the classes are written as instrumented at level time, or with `--sites` as instrumented with a site at every call:
//! `DIR/FEATURE/MODULE/CLASS.class` for JDKs, `DIR/JAR/CLASS.class` for jars.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its user")]

mod class_check;
mod embedded;
mod lowering;
mod tally;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use class_source::{ClassPath, JavaHome, JdkImage};
use instrument_core::template::TemplateLibrary;

use class_check::{ClassCheck, USUAL, WITH_SITES};
use tally::Tally;

/// A part of the corpus that one thread works on.
#[derive(Debug)]
enum Source {
    Jar(PathBuf),
    Jdk(JavaHome),
}

#[derive(Debug, Default)]
struct Wanted {
    sample: bool,
    into: Option<PathBuf>,
    sites: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let mut wanted = Wanted::default();
    let mut sources = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--sample" => wanted.sample = true,
            "--sites" => wanted.sites = true,
            "--into" => wanted.into = Some(PathBuf::from(arguments.next().context("--into needs a directory")?)),
            "--jdk" => sources.push(Source::Jdk(JavaHome::read(arguments.next().context("--jdk needs a directory")?)?)),
            option if option.starts_with('-') => bail!("`{option}` is not known"),
            jar => sources.push(Source::Jar(PathBuf::from(jar))),
        }
    }
    if sources.is_empty() {
        bail!("no JDK and no jar is named");
    }
    let start = Instant::now();
    let tally = check_all(sources, &wanted, &Arc::new(embedded::library()?))?;
    println!("{}in {:.1} s", tally.text("all"), start.elapsed().as_secs_f64());
    Ok(tally.is_good())
}

/// Works on several sources at once, each on one thread.
fn check_all(mut sources: Vec<Source>, wanted: &Wanted, library: &Arc<TemplateLibrary>) -> Result<Tally> {
    // Taken from the end: the largest parts, the JDKs, first.
    sources.sort_by_key(|source| matches!(source, Source::Jdk(_)));
    let sources = Mutex::new(sources);
    let next = || sources.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let threads = std::thread::available_parallelism()?.get();
    let work = || -> Result<Tally> {
        let mut sum = Tally::default();
        while let Some(source) = next() {
            let (name, tally) = check(&source, wanted, library).with_context(|| format!("{source:?}"))?;
            print!("{}", tally.text(&name));
            sum.add(tally);
        }
        Ok(sum)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut sum = Tally::default();
        for worker in workers {
            sum.add(worker.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??);
        }
        Ok(sum)
    })
}

fn check(source: &Source, wanted: &Wanted, library: &Arc<TemplateLibrary>) -> Result<(String, Tally)> {
    let mut check = ClassCheck::new(library, if wanted.sites { WITH_SITES } else { USUAL })?;
    let name = match source {
        Source::Jar(jar) => {
            let name = jar.file_name().unwrap_or(jar.as_os_str()).to_string_lossy().into_owned();
            check.keep_below(wanted.into.as_ref().map(|into| into.join(&name)));
            check_jar(jar, &mut check)?;
            name
        }
        Source::Jdk(home) => {
            check_jdk(home, wanted, &mut check)?;
            format!("JDK {}", home.version())
        }
    };
    Ok((name, check.tally))
}

fn check_jar(jar: &Path, check: &mut ClassCheck) -> Result<()> {
    ClassPath::open(&[jar.to_path_buf()])?.for_each(|class| -> Result<()> {
        check.class(class.path, class.bytes);
        Ok(())
    })
}

/// The sample is `java.base`.
fn check_jdk(home: &JavaHome, wanted: &Wanted, check: &mut ClassCheck) -> Result<()> {
    let image = JdkImage::open(home.path())?;
    for class in image.classes() {
        let class = class?;
        if !wanted.sample || class.module() == "java.base" {
            let below = |into: &PathBuf| into.join(home.feature().to_string()).join(class.module());
            check.keep_below(wanted.into.as_ref().map(below));
            check.class(class.name(), &image.read(&class)?);
        }
    }
    if wanted.sites {
        check.keep_below(wanted.into.as_ref().map(|into| into.join(home.feature().to_string()).join("java.base")));
        embedded::called_by_sites().for_each(|(name, bytes)| check.keep(name, bytes));
    }
    Ok(())
}
