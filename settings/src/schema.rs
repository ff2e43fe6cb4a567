//! The JSON Schema of the configuration, for editors.

use instrument_core::config::{KeyDeclaration, TableDeclaration};
use serde_json::{Map, Value as Json, json};

use crate::model::TABLES;

/// Returns the JSON Schema (draft 2020-12) of a configuration file, as indented JSON.
pub fn schema() -> String {
    let tables: Map<String, Json> =
        TABLES.iter().map(|table| (table.title.to_owned(), schema_of_table(table))).collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "instr configuration",
        "description": "Configuration of the instr agent: what is instrumented, with which template, and where the results go.",
        "type": "object",
        "properties": tables,
        "additionalProperties": false,
    });
    format!("{schema:#}\n")
}

fn schema_of_table(table: &TableDeclaration) -> Json {
    let keys: Map<String, Json> =
        (table.keys)().into_iter().map(|key| (key.name.to_owned(), schema_of_key(key))).collect();
    let schema = json!({
        "description": table.about.trim(),
        "type": "object",
        "properties": keys,
        "additionalProperties": false,
    });
    if table.is_list() { json!({ "type": "array", "items": schema }) } else { schema }
}

fn schema_of_key(key: KeyDeclaration) -> Json {
    let mut schema = key.schema;
    if let Some(parts) = schema.as_object_mut() {
        parts.insert("description".to_owned(), key.about.into());
        if !key.default.is_null() {
            parts.insert("default".to_owned(), key.default);
        }
    }
    schema
}
