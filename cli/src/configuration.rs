//! A configuration file with everything it names: templates, presets, rules.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use class_source::{ClassPath, Error as SourceError, read_regular_file};
use instrument_core::selection::used_by_runtime::TemplateCode;
use instrument_core::selection::{RuleSet, UnmetLevel, Untouchable};
use instrument_core::template::{BUILT_IN, TemplateLibrary, TemplateProblem};
use settings::{Config, Diagnostic, SourceText};

use crate::classes::Classes;
use crate::embedded::{PRESETS, RUNTIME_CLASSES, TEMPLATE_CLASSES};
use crate::failure::{Complete, Failure};

/// A configuration that can be used.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) config: Config,
    pub(crate) library: Arc<TemplateLibrary>,
    pub(crate) rules: RuleSet,
    /// Class files of the user's templates.
    own_templates: Vec<Vec<u8>>,
    /// Usable, but probably not what was meant.
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Configuration {
    /// Reads and checks everything; an error holds every diagnostic, as the agent would show it.
    pub(crate) fn read(file: &Path) -> Result<Configuration> {
        let name = file.display().to_string();
        let bytes = read_regular_file(file)
            .with_context(|| Failure::new(format!("cannot read the configuration {name}"), "name a TOML file"))?;
        let text = String::from_utf8(bytes).map_err(|error| complete(&[not_utf8(&name, &error)]))?;
        let (config, warnings) = settings::parse(&text, &name).map_err(|problems| complete(&problems))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let (library, own_templates) = library(&config, folder)?;
        let library = Arc::new(library);
        let rules = config.compile_rules(&library, PRESETS).map_err(|problems| complete(&problems))?;
        Ok(Configuration { config, library, rules, own_templates, warnings })
    }

    /// Which methods of the JDK are left alone whatever the rules say, as in the agent that runs in this JDK.
    pub(crate) fn never<'c>(&'c self, classes: &'c Classes) -> impl Fn(&[u8], &[u8], &[u8]) -> bool + Sync + 'c {
        let untouchable = OnceLock::new();
        move |class, method, descriptor| {
            let compute = || {
                let own = self.own_templates.iter().map(Vec::as_slice);
                let files = own.chain(TEMPLATE_CLASSES.iter().map(|(_, bytes)| *bytes));
                let templates = TemplateCode::in_use(&self.rules, &self.library, files);
                Untouchable::compute(RUNTIME_CLASSES, &templates, &|name| classes.jdk_class(name))
            };
            Untouchable::concerns(class) && untouchable.get_or_init(compute).contains(class, method, descriptor)
        }
    }

    /// Shows what is doubtful on standard error.
    pub(crate) fn show_warnings(&self) {
        for warning in &self.warnings {
            eprintln!("{warning}");
        }
        for unmet in UnmetLevel::find(&self.rules, &self.library) {
            eprintln!("{unmet}");
        }
    }
}

/// Returns where a file is no text in UTF-8.
fn not_utf8(name: &str, error: &FromUtf8Error) -> Diagnostic {
    let at = error.utf8_error().valid_up_to();
    let source = SourceText::new(name, &String::from_utf8_lossy(error.as_bytes()));
    let replaced = at..at + char::REPLACEMENT_CHARACTER.len_utf8();
    let found = error.as_bytes().get(at).map_or(String::new(), |byte| format!(" (0x{byte:02x})"));
    let problem = source.error(replaced, format!("this byte{found} is no text in UTF-8"));
    problem.with_suggestion("save the file as UTF-8, or name the TOML file with the rules if this is another file")
}

/// The templates that are part of the program.
pub(crate) fn built_in_templates() -> Result<TemplateLibrary> {
    let mut library = TemplateLibrary::new();
    for (name, bytes) in TEMPLATE_CLASSES {
        library
            .add_class(bytes, BUILT_IN)
            .map_err(|problems| complete(&problems))
            .with_context(|| (*name).to_owned())?;
    }
    library.check_against(RUNTIME_CLASSES);
    Ok(library)
}

/// The built-in templates and those of the user's jars, with the class files of the latter. The path of a jar is relative to the
/// configuration file, or else to the working directory, as for the agent.
fn library(config: &Config, folder: &Path) -> Result<(TemplateLibrary, Vec<Vec<u8>>)> {
    let mut library = built_in_templates()?;
    let (mut problems, mut own): (Vec<TemplateProblem>, _) = (Vec::new(), Vec::new());
    for named in &config.agent.templates {
        let jar = named.get_ref();
        let beside = folder.join(jar);
        let path = if beside.exists() { beside } else { PathBuf::from(jar) };
        let help = "[agent] templates names jars, as seen from the configuration file or from here";
        let read = for_each_template_class(&path, help, |bytes| match library.add_class(bytes, jar) {
            Ok(0) => {}
            Ok(_) => own.push(bytes.to_vec()),
            Err(found) => problems.extend(found),
        });
        read.map_err(|error| complete(&[config.source.error(named.span(), error.to_string()).with_suggestion(help)]))?;
    }
    if problems.is_empty() { Ok((library, own)) } else { Err(complete(&problems).into()) }
}

/// Passes every class of a jar or directory that may hold templates to `visit`: those that every JVM can use. `help` says what to do if
/// it cannot be opened.
pub(crate) fn for_each_template_class(path: &Path, help: &str, mut visit: impl FnMut(&[u8])) -> Result<()> {
    let classes = ClassPath::open(&[path.to_owned()])
        .map_err(|error| Failure::new(format!("cannot open the templates: {error}"), help))?;
    classes.for_each(|class| -> Result<(), SourceError> {
        if class.release.is_none() && !class.path.ends_with("module-info.class") {
            visit(class.bytes);
        }
        Ok(())
    })?;
    Ok(())
}

fn complete(problems: &[impl Display]) -> Complete {
    Complete(
        problems.iter().map(|problem| problem.to_string().trim_end().to_owned() + "\n").collect::<Vec<_>>().join("\n"),
    )
}
