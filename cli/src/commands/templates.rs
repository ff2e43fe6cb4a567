//! `instr templates`: which templates there are.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use instrument_core::template::{Template, TemplateLibrary};
use serde_json::json;

use crate::configuration::{Configuration, built_in_templates};

/// List the templates with their category, level and source.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also the templates that this configuration names.
    #[arg(long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let library = match &arguments.config {
        Some(config) => Configuration::read(config)?.library,
        None => Arc::new(built_in_templates()?),
    };
    let text = if arguments.json { as_json(&library)? } else { as_table(&library) };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn as_json(library: &TemplateLibrary) -> Result<String> {
    let templates: Vec<_> = library
        .iter()
        .map(|(_, template)| {
            json!({
                "name": template.name, "category": template.category, "level": level(template),
                "source": template.source, "origin": template.origin, "values": template.captures(),
            })
        })
        .collect();
    Ok(serde_json::to_string_pretty(&templates)? + "\n")
}

fn as_table(library: &TemplateLibrary) -> String {
    let head = ["template", "category", "level", "source", "from"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(library.iter().map(|(_, template)| row(template))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |[name, category, level, source, origin]: &[String; 5]| {
        let [a, b, c, d] = widths;
        format!("{name:a$}  {category:b$}  {level:c$}  {source:d$}  {origin}\n")
    };
    rows.iter().map(line).collect()
}

/// A live variant is for all levels.
fn level(template: &Template) -> &'static str {
    if template.live { "live" } else { template.level.name() }
}

fn row(template: &Template) -> [String; 5] {
    // A variant of its own, for rules that choose values of calls.
    let level = format!("{}{}", level(template), if template.captures() { ", values" } else { "" });
    [template.name.clone(), template.category.clone(), level, template.source.clone(), template.origin.clone()]
}
