//! `instr explain`: what the rules say about a class, and why.

mod live;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use anyhow::{Context, Result};
use class_source::Error as SourceError;
use classfile::ClassFile;
use instrument_core::internal_name::{to_internal, to_source};
use instrument_core::rules::patterns::NameGlob;
use instrument_core::selection::{ClassContext, ClassExplanation, ClassOrigin, NoFactsYet};

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::delegates;
use crate::failure::Failure;
use crate::file_origin::FileOrigin;

type Explain<'e> = dyn Fn(&ClassFile<'_>, &dyn ClassOrigin) -> ClassExplanation + Sync + 'e;

/// Show for each method of a class which rule decides, and why the other rules do not; with --live what a loaded class carries, and why not more.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file.
    #[arg(long, value_name = "CONFIG", required_unless_present = "live")]
    config: Option<PathBuf>,
    /// In place of a configuration: the process id of a JVM with the agent. Explains loaded classes: by the rules in force, claims, and what
    /// keeps probes from being inserted.
    #[arg(long, value_name = "PID", conflicts_with_all = ["config", "jars", "java_home"])]
    live: Option<u32>,
    /// Print JSON: an object, or a list of these where CLASS is a pattern.
    #[arg(long)]
    json: bool,
    /// The JDK that is asked for classes which are in no jar. Default: JAVA_HOME, else the java on the PATH.
    #[arg(long, value_name = "DIR")]
    java_home: Option<PathBuf>,
    /// The class, as com.acme.Order$Line or com/acme/Order$Line, or one of its methods, as com.acme.Order.total; or all classes of the jars that
    /// match a pattern with `*` and `**`, such as 'com.acme.**'. With --live: the first hundred loaded classes, and a method of them, as
    /// 'com.acme.*.total'.
    class: String,
    /// Jars or directories with the class and its super types.
    #[arg(value_name = "JAR")]
    jars: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let config = match (&arguments.live, &arguments.config) {
        (Some(pid), _) => return live::run(*pid, &arguments.class, arguments.json),
        (None, Some(config)) => config,
        (None, None) => {
            return Err(Failure::new("no configuration is named", "write --config CONFIG or --live PID").into());
        }
    };
    let configuration = Configuration::read(config)?;
    configuration.show_warnings();
    let classes = Classes::open(&arguments.jars, arguments.java_home.as_deref())?;
    let never = configuration.never(&classes);
    let delegates = delegates::find(&configuration, &classes, &never)?;
    let explain = |class: &ClassFile<'_>, origin: &dyn ClassOrigin| {
        let context = ClassContext {
            hierarchy: &classes,
            origin,
            facts: &NoFactsYet,
            never: &never,
            delegates: &delegates,
            reach: None,
        };
        configuration.rules.explain(class, &context)
    };
    if arguments.class.contains('*') {
        return explain_all(arguments, &classes, &explain);
    }
    let (bytes, method) = class_or_method(&classes, &arguments.class)?;
    let class = ClassFile::parse(&bytes).with_context(|| format!("cannot read the class {}", arguments.class))?;
    let origin = classes.origin_of(class.this_class().as_bytes());
    let mut explanation = explain(&class, &origin);
    if let Some(method) = method {
        explanation.methods.retain(|explained| explained.name == method);
        if explanation.methods.is_empty() {
            return Err(no_method(&class, method).into());
        }
    }
    let text =
        if arguments.json { serde_json::to_string_pretty(&explanation)? + "\n" } else { explanation.to_string() };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Returns the class of this name; if there is none, that of the name before the last dot, and the name of a method after it.
fn class_or_method<'n>(classes: &Classes, name: &'n str) -> Result<(Vec<u8>, Option<&'n str>)> {
    if let Some((class, method)) = name.rsplit_once('.')
        && method != "class"
        && classes.find(&to_internal(&name.replace('/', ".")))?.is_none()
        && let Some(bytes) = classes.find(&to_internal(&class.replace('/', ".")))?
    {
        return Ok((bytes, Some(method)));
    }
    Ok((classes.named(name)?, None))
}

fn no_method(class: &ClassFile<'_>, method: &str) -> Failure {
    let mut names: Vec<String> = class.methods().iter().map(|method| method.name.to_string()).collect();
    names.sort();
    names.dedup();
    let class = to_source(class.this_class().as_bytes());
    Failure::new(format!("{class} has no method {method}"), format!("its methods are {}", names.join(", ")))
}

/// Explains the classes of the jars that the pattern names: as many jars at a time as there are processors, printed in the order of the class
/// path.
fn explain_all(arguments: &Arguments, classes: &Classes, explain: &Explain<'_>) -> Result<()> {
    let pattern = &arguments.class;
    let names = NameGlob::class(pattern).map_err(|error| {
        Failure::new(format!("`{pattern}` names no classes: {}", error.message), "write package.Class with `*` or `**`")
    })?;
    let jars = classes.containers();
    let next = AtomicUsize::new(0);
    let (sender, texts) = mpsc::channel();
    let explain_jars = |sender: Sender<(usize, Result<String>)>| {
        loop {
            let jar = next.fetch_add(1, Ordering::Relaxed);
            // Nobody receives any more if the output has been closed.
            if jar >= jars || sender.send((jar, explain_jar(classes, jar, &names, arguments.json, explain))).is_err() {
                return;
            }
        }
    };
    let is_empty = thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get).min(jars) {
            let sender = sender.clone();
            scope.spawn(|| explain_jars(sender));
        }
        drop(sender);
        print_in_order(texts, arguments.json)
    })?;
    if is_empty {
        let help =
            "`*` matches any text inside a package, `**` across packages; classes of the JDK are explained one by one";
        return Err(Failure::new(format!("no class of the jars is named by {pattern}"), help).into());
    }
    Ok(())
}

/// Returns what is printed for the classes of one jar.
fn explain_jar(classes: &Classes, jar: usize, names: &NameGlob, json: bool, explain: &Explain<'_>) -> Result<String> {
    let mut text = String::new();
    let visit = |class: &ClassFile<'_>, origin: &FileOrigin| -> Result<(), End> {
        if !names.matches(class.this_class().as_bytes()) {
            return Ok(());
        }
        if !text.is_empty() {
            text.push_str(separator(json));
        }
        let explanation = explain(class, origin);
        if json {
            text.push_str(&serde_json::to_string(&explanation).map_err(anyhow::Error::from)?);
        } else {
            write!(text, "{explanation}").map_err(anyhow::Error::from)?;
        }
        Ok(())
    };
    classes.for_each_in_jar(jar, visit).map_err(|end| end.0)?;
    Ok(text)
}

/// Prints the texts of the jars by number, each as soon as those before it are there; returns whether there is nothing to print.
fn print_in_order(texts: Receiver<(usize, Result<String>)>, json: bool) -> Result<bool> {
    let mut out = stdout().lock();
    let mut early = BTreeMap::new();
    let mut next = 0;
    let mut is_empty = true;
    for (jar, text) in texts {
        early.insert(jar, text);
        while let Some(text) = early.remove(&next) {
            next += 1;
            let text = text?;
            if text.is_empty() {
                continue;
            }
            let start = if !is_empty {
                separator(json)
            } else if json {
                "[\n"
            } else {
                ""
            };
            is_empty = false;
            out.write_all(start.as_bytes())?;
            out.write_all(text.as_bytes())?;
        }
    }
    if json && !is_empty {
        out.write_all(b"\n]\n")?;
    }
    Ok(is_empty)
}

/// Returns what is printed between two classes.
fn separator(json: bool) -> &'static str {
    if json { ",\n" } else { "\n" }
}

/// Why the classes are not visited any further.
struct End(anyhow::Error);

impl From<SourceError> for End {
    fn from(error: SourceError) -> End {
        End(error.into())
    }
}

impl From<anyhow::Error> for End {
    fn from(error: anyhow::Error) -> End {
        End(error)
    }
}
