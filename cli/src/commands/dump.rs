//! `instr dump`: methods as instructions, before and after.

use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use classfile::ClassFile;
use instrument_core::rules::nearest_name::nearest_name;
use instrument_core::rules::patterns::method_pattern::MethodPattern;
use instrument_core::{EngineOptions, Layout, SentinelForm, SlotScheme};

use crate::classes::Classes;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::instrumentation::Instrumentation;
use crate::listing::Paint;
use crate::method_dump::{ClassDump, Wanted};

/// Which form of jumps is written.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum LayoutChoice {
    /// Short ones that widen only where they must
    Shortest,
    /// Wide ones from the start
    Long,
}

/// What is left where `Target.proceed()` stood.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SentinelChoice {
    /// Nothing
    Removed,
    /// As many nop as it had bytes
    Nop,
}

/// Which slots the locals of the templates get.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SlotChoice {
    /// After all locals of the method
    AfterLocals,
    /// Between its parameters and its other locals
    AfterParameters,
}

/// Print methods as instructions, before and after they are instrumented, or why they stay as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The configuration, a TOML file.
    #[arg(long, value_name = "CONFIG")]
    config: PathBuf,
    /// Print methods only as they are in the class.
    #[arg(long, conflicts_with_all = ["after", "both"])]
    before: bool,
    /// Print methods only as they are once instrumented.
    #[arg(long, conflicts_with = "both")]
    after: bool,
    /// Print methods as they are and as they are once instrumented. This is what happens without any of the three.
    #[arg(long)]
    both: bool,
    /// Print the new offset of each instruction of a method.
    #[arg(long)]
    offset_map: bool,
    /// Merge in another way than the agent does, for comparison: form of the jumps.
    #[arg(long, value_enum, default_value = "shortest")]
    layout: LayoutChoice,
    /// Likewise: what is left of the template's call of Target.proceed().
    #[arg(long, value_enum, default_value = "removed")]
    sentinel: SentinelChoice,
    /// Likewise: which slots the locals of the templates get.
    #[arg(long, value_enum, default_value = "after-locals")]
    slots: SlotChoice,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The JDK that is asked for classes which are in no jar. Default: JAVA_HOME, else the java on the PATH.
    #[arg(long, value_name = "DIR")]
    java_home: Option<PathBuf>,
    /// The class, as com.acme.Order$Line or com/acme/Order$Line.
    class: String,
    /// Methods as in a rule: name, name(type, *) or name(..). Without it: all that are instrumented.
    #[arg(value_name = "METHOD")]
    method: Option<String>,
    /// Jars or directories with the class and its super types.
    #[arg(value_name = "JAR")]
    jars: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let configuration = Configuration::read(&arguments.config)?;
    configuration.show_warnings();
    let (method, jars) = method_and_jars(arguments);
    let classes = Classes::open(&jars, arguments.java_home.as_deref())?;
    let bytes = classes.named(&arguments.class)?;
    let class = ClassFile::parse(&bytes).with_context(|| format!("cannot read the class {}", arguments.class))?;
    let pattern = method.map(|text| pattern(text, &class, &arguments.class)).transpose()?;
    let wanted = Wanted {
        methods: pattern.as_ref(),
        before: arguments.before || !arguments.after,
        after: arguments.after || !arguments.before,
        offset_map: arguments.offset_map,
    };
    let mut instrumentation = Instrumentation::new(&configuration, &classes, engine_options(arguments));
    instrumentation.origin = classes.origin_of(class.this_class().as_bytes());
    let explanation = configuration.rules.explain(&class, &instrumentation.context());
    let (_, outcome) = instrumentation.examine(&class);
    let dump = ClassDump::new(&class, explanation, outcome, &wanted)?;
    let text = if arguments.json { serde_json::to_string_pretty(&dump)? + "\n" } else { dump.text(paint())? };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn engine_options(arguments: &Arguments) -> EngineOptions {
    EngineOptions {
        offset_maps: true,
        layout: match arguments.layout {
            LayoutChoice::Shortest => Layout::Shortest,
            LayoutChoice::Long => Layout::Long,
        },
        sentinel: match arguments.sentinel {
            SentinelChoice::Removed => SentinelForm::Removed,
            SentinelChoice::Nop => SentinelForm::NoOperations,
        },
        slots: match arguments.slots {
            SlotChoice::AfterLocals => SlotScheme::AfterLocals,
            SlotChoice::AfterParameters => SlotScheme::AfterParameters,
        },
    }
}

fn paint() -> Paint {
    Paint { colours: stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
}

/// Returns the method and the jars. METHOD may be left out: then the argument in its place is the first jar.
fn method_and_jars(arguments: &Arguments) -> (Option<&str>, Vec<PathBuf>) {
    let mut jars = arguments.jars.clone();
    match arguments.method.as_deref() {
        Some(text) if is_container(text) => {
            jars.insert(0, text.into());
            (None, jars)
        }
        method => (method, jars),
    }
}

fn is_container(text: &str) -> bool {
    let path = Path::new(text);
    let is_archive = path.extension().is_some_and(|ending| ending == "jar" || ending == "war" || ending == "zip");
    is_archive || text.contains(['/', '\\']) || path.exists()
}

/// The pattern, if some method of the class matches it.
fn pattern(text: &str, class: &ClassFile<'_>, class_name: &str) -> Result<MethodPattern> {
    let pattern = MethodPattern::parse(text).map_err(|error| {
        Failure::new(format!("`{text}` names no methods: {}", error.message), "write name, name(type, *) or name(..)")
    })?;
    let mut methods = class.methods().iter();
    if methods.any(|method| pattern.matches(method.name.as_bytes(), method.descriptor.as_bytes())) {
        return Ok(pattern);
    }
    let names: Vec<String> = class.methods().iter().map(|method| method.name.to_string()).collect();
    let name = text.split('(').next().unwrap_or(text).trim();
    let help = if names.iter().any(|known| known == name) {
        format!("there is a method of this name with other types; write {name}(..) for all of them")
    } else {
        match nearest_name(name, names.iter().map(String::as_str)) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("the class has {}", known(names)),
        }
    };
    Err(Failure::new(format!("the class {class_name} has no method {text}"), help).into())
}

/// Each name once, and not too many of them.
fn known(mut names: Vec<String>) -> String {
    const SHOWN: usize = 12;
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let list = names.join(", ");
    match more {
        0 if list.is_empty() => "no methods".to_owned(),
        0 => list,
        more => format!("{list} and {more} more"),
    }
}
