//! `instr template`: what authors of templates need.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Result;
use instrument_core::template::{ExaminedTemplate, TemplateProblem};
use serde_json::{Value, json};

use super::templates::{aligned, level_name};
use crate::configuration::for_each_template_class;
use crate::embedded::RUNTIME_CLASSES;
use crate::failure::{Complete, Failure};

/// For authors of templates.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Lint(LintArguments),
}

/// Check the templates of jars as the agent does before it uses them. Fails if one of them is refused, or if there are none.
#[derive(Debug, clap::Args)]
struct LintArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Jars or directories with compiled templates.
    #[arg(value_name = "JAR", required = true)]
    jars: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Lint(arguments) => lint(arguments),
    }
}

/// What was found in all jars.
#[derive(Default)]
struct Findings {
    templates: Vec<(PathBuf, ExaminedTemplate)>,
    /// Classes that cannot be read.
    unreadable: Vec<TemplateProblem>,
}

fn lint(arguments: &LintArguments) -> Result<()> {
    let mut findings = Findings::default();
    for jar in &arguments.jars {
        findings.add(jar)?;
    }
    let text = if arguments.json { findings.as_json()? } else { findings.as_table() };
    stdout().write_all(text.as_bytes())?;
    let problems: Vec<String> = findings.problems().map(|problem| format!("error: {problem}\n")).collect();
    if !problems.is_empty() {
        return Err(Complete(problems.concat()).into());
    }
    if findings.templates.is_empty() {
        let what = "no template found: no method has the annotation @java.instr.Template";
        return Err(Failure::new(what, "name the jar that your build wrote, after it was compiled").into());
    }
    Ok(())
}

impl Findings {
    fn add(&mut self, jar: &Path) -> Result<()> {
        let origin = jar.display().to_string();
        let help = "name a jar, or a directory with class files";
        for_each_template_class(jar, help, |bytes| match ExaminedTemplate::all(bytes, &origin, RUNTIME_CLASSES) {
            Ok(found) => self.templates.extend(found.into_iter().map(|template| (jar.to_owned(), template))),
            Err(problem) => self.unreadable.push(problem),
        })
    }

    fn problems(&self) -> impl Iterator<Item = &TemplateProblem> {
        let of_templates = self.templates.iter().flat_map(|(_, template)| template.outcome.as_ref().err());
        self.unreadable.iter().chain(of_templates.flatten())
    }

    fn as_table(&self) -> String {
        if self.templates.is_empty() {
            return String::new();
        }
        let head = ["template", "category", "level", "outcome", "source"].map(str::to_owned);
        let row = |(_, template): &(PathBuf, ExaminedTemplate)| {
            let level = level_name(template.live, template.level).to_owned();
            let (name, category) = (template.name.clone(), template.category.clone());
            [name, category, level, outcome(template).to_owned(), template.source.clone()]
        };
        aligned(&std::iter::once(head).chain(self.templates.iter().map(row)).collect::<Vec<_>>())
    }

    fn as_json(&self) -> Result<String> {
        let template = |(jar, template): &(PathBuf, ExaminedTemplate)| {
            let problems: Vec<Value> = template.outcome.as_ref().err().into_iter().flatten().map(problem).collect();
            json!({
                "name": template.name, "category": template.category, "level": level_name(template.live, template.level),
                "source": template.source, "jar": jar, "outcome": outcome(template), "problems": problems,
            })
        };
        let templates: Vec<Value> = self.templates.iter().map(template).collect();
        let unreadable: Vec<Value> = self.unreadable.iter().map(problem).collect();
        Ok(serde_json::to_string_pretty(&json!({"templates": templates, "unreadable": unreadable}))? + "\n")
    }
}

fn outcome(template: &ExaminedTemplate) -> &'static str {
    if template.outcome.is_ok() { "ok" } else { "refused" }
}

fn problem(problem: &TemplateProblem) -> Value {
    json!({"jar": problem.origin, "file": problem.source_file, "line": problem.line, "message": problem.message})
}
