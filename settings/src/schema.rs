//! The JSON Schema of the configuration, for editors.

use schemars::Schema;
use schemars::transform::{RecursiveTransform, Transform};

use crate::model::Config;

/// The JSON Schema (draft 2020-12) of a configuration file, as indented JSON.
pub fn schema() -> String {
    format!("{:#}\n", generate().as_value())
}

pub(super) fn generate() -> Schema {
    let mut schema = schemars::schema_for!(Config);
    schema.insert("title".to_owned(), "instr configuration".into());
    // A key without default is simply absent: TOML has no null, and an empty list says nothing.
    RecursiveTransform(|part: &mut Schema| {
        if part.get("default").is_some_and(|default| default.is_null() || default.as_array().is_some_and(Vec::is_empty))
        {
            part.remove("default");
        }
    })
    .transform(&mut schema);
    schema
}
