//! `docs/configuration.md`: every key, as the JSON Schema describes it. So every key is documented, and no other is.

use std::fmt::Write as _;

use expect_test::expect_file;
use serde_json::Value;

use super::parse::known_tables;
use super::schema::schema;

const HEAD: &str = "# Every key of the configuration

A TOML file. `instr check FILE` reports mistakes in it, `instr schema` prints this page as a JSON Schema for editors. A key that is not
listed here is a mistake, which the agent reports before it starts; words may be joined by `-` or `_`.

<!-- Written by `cargo xtask bless settings` from the schema. Change the comments in settings/src/ and instrument-core/src/rules/config/model.rs. -->
";

#[test]
fn the_page_of_keys_is_that_of_the_schema() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let mut page = HEAD.to_owned();
    for (table, keys) in known_tables() {
        write_table(&mut page, &schema, table, &keys);
    }
    expect_file!["../../docs/configuration.md"].assert_eq(&page);
}

fn write_table(page: &mut String, schema: &Value, table: &str, keys: &[&str]) {
    let (of_table, brackets) = match &schema["properties"][table] {
        rules @ Value::Object(rule) if rule.contains_key("items") => (resolved(schema, &rules["items"]), ["[[", "]]"]),
        other => (resolved(schema, other), ["[", "]"]),
    };
    let [open, close] = brackets;
    writeln!(page, "\n## `{open}{table}{close}`\n\n{}\n\n| key | value | what |\n|---|---|---|", description(of_table))
        .unwrap();
    for key in keys {
        let of_key = &of_table["properties"][key];
        assert!(of_key.is_object(), "the schema does not know `{key}` of `{table}`");
        let mut what = description(of_key);
        let default = &of_key["default"];
        let is_told = what.contains("efault") || default.is_null() || default.is_object();
        if !is_told {
            write!(what, " Default: `{}`.", default.to_string().trim_matches('"')).unwrap();
        }
        assert!(!what.is_empty(), "nothing is said about `{key}` of `{table}`");
        writeln!(page, "| `{key}` | {} | {what} |", values(schema, of_key)).unwrap();
    }
    let in_schema = of_table["properties"].as_object().unwrap().len();
    assert_eq!(in_schema, keys.len(), "the schema knows other keys of `{table}` than suggestions do");
}

fn resolved<'s>(schema: &'s Value, part: &'s Value) -> &'s Value {
    let name = part["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.map_or(part, |name| &schema["$defs"][name])
}

/// In one line, as a cell of a table has it.
fn description(part: &Value) -> String {
    part["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

/// Returns the values that the key may have, for the table.
fn values(schema: &Value, of_key: &Value) -> String {
    let of_type = resolved(schema, of_key);
    if let Some(choices) = of_type["oneOf"].as_array() {
        let names = choices.iter().filter_map(|choice| choice["const"].as_str().map(|name| format!("`{name}`")));
        return names.collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = of_type["enum"].as_array() {
        let names = choices.iter().filter_map(|choice| choice.as_str().map(|name| format!("`{name}`")));
        return names.collect::<Vec<_>>().join(", ");
    }
    match (of_type["type"].as_str(), of_type["maximum"].as_u64()) {
        (Some("boolean"), _) => "`true`, `false`".to_owned(),
        (Some("integer"), Some(most)) => format!("{} to {most}", of_type["minimum"].as_u64().unwrap_or(0)),
        (Some("array"), _) => format!("list of {}", values(schema, &of_type["items"])),
        (Some(kind), _) => kind.to_owned(),
        (None, _) => "string, or list of strings".to_owned(),
    }
}
