//! A configuration file with everything it names: templates, presets, rules.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use class_source::{ClassPath, Error as SourceError};
use instrument_core::config::{self, Config, Diagnostic};
use instrument_core::selection::RuleSet;
use instrument_core::template::{TemplateLibrary, TemplateProblem};

use crate::embedded::{PRESETS, TEMPLATE_CLASSES};
use crate::failure::{Complete, Failure};

/// A configuration that can be used.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) config: Config,
    pub(crate) library: Arc<TemplateLibrary>,
    pub(crate) rules: RuleSet,
    /// Usable, but probably not what was meant.
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Configuration {
    /// Reads and checks everything; an error holds every diagnostic, as the agent would show it.
    pub(crate) fn read(file: &Path) -> Result<Configuration> {
        let text = fs::read_to_string(file).with_context(|| {
            Failure::new(format!("cannot read the configuration {}", file.display()), "name a TOML file")
        })?;
        let name = file.display().to_string();
        let (config, warnings) = config::parse(&text, &name).map_err(|problems| complete(&problems))?;
        let library = Arc::new(library(&config)?);
        let rules = RuleSet::compile(&config, &*library, PRESETS).map_err(|problems| complete(&problems))?;
        Ok(Configuration { config, library, rules, warnings })
    }

    /// Shows what is doubtful on standard error.
    pub(crate) fn show_warnings(&self) {
        for warning in &self.warnings {
            eprintln!("{warning}");
        }
    }
}

/// The templates that come with the program.
pub(crate) fn built_in_templates() -> Result<TemplateLibrary> {
    let mut library = TemplateLibrary::new();
    for (name, bytes) in TEMPLATE_CLASSES {
        library
            .add_class(bytes, "built-in")
            .map_err(|problems| complete(&problems))
            .with_context(|| (*name).to_owned())?;
    }
    Ok(library)
}

fn library(config: &Config) -> Result<TemplateLibrary> {
    let mut library = built_in_templates()?;
    let mut problems: Vec<TemplateProblem> = Vec::new();
    for jar in &config.agent.templates {
        let jar = jar.get_ref();
        let classes = ClassPath::open(&[jar.into()]).map_err(|error| {
            Failure::new(
                format!("cannot open the templates: {error}"),
                "[agent] templates names jars, as seen from here",
            )
        })?;
        classes.for_each(|class| -> Result<(), SourceError> {
            if class.release.is_none() && !class.path.ends_with("module-info.class") {
                problems.extend(library.add_class(class.bytes, jar).err().into_iter().flatten());
            }
            Ok(())
        })?;
    }
    if problems.is_empty() { Ok(library) } else { Err(complete(&problems).into()) }
}

fn complete(problems: &[impl Display]) -> Complete {
    Complete(
        problems.iter().map(|problem| problem.to_string().trim_end().to_owned() + "\n").collect::<Vec<_>>().join("\n"),
    )
}
