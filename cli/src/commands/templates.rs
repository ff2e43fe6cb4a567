//! `instr templates`: which templates there are.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use instrument_core::level::Level;
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

/// Returns how the level of a variant is shown. A live variant is for all levels.
pub(crate) fn level_name(live: bool, level: Level) -> &'static str {
    if live { "live" } else { level.name() }
}

/// Returns rows as lines, with the columns below each other.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| format!("{cell:0$}", width(column)));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn as_table(library: &TemplateLibrary) -> String {
    let head = ["template", "category", "level", "source", "from"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(library.iter().map(|(_, template)| row(template))).collect();
    aligned(&rows)
}

fn level(template: &Template) -> &'static str {
    level_name(template.live, template.level)
}

fn row(template: &Template) -> [String; 5] {
    // A variant of its own, for rules that choose values of calls.
    let level = format!("{}{}", level(template), if template.captures() { ", values" } else { "" });
    [template.name.clone(), template.category.clone(), level, template.source.clone(), template.origin.clone()]
}
