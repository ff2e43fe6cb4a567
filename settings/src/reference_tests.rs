//! What the declarations of keys promise, in `docs/configuration.md` and in the JSON Schema, is what the reader does.

use std::fmt::Write as _;

use expect_test::expect_file;
use instrument_core::config::{KeyDeclaration, TableDeclaration};
use instrument_core::rules::nearest_name::quoted_list;
use serde_json::Value as Json;

use super::model::TABLES;
use super::{Config, parse};

const HEAD: &str = "# Every key of the configuration

A TOML file. `instr check FILE` reports mistakes in it, `instr schema` prints this page as a JSON Schema for editors. A key that is not
listed here is a mistake, which the agent reports before it starts; words may be joined by `-` or `_`.

<!-- Written by `cargo xtask bless settings`. Change the declarations in settings/src/ and instrument-core/src/rules/config/model.rs. -->
";

#[test]
fn the_page_of_keys_is_that_of_the_declarations() {
    let mut page = HEAD.to_owned();
    for table in TABLES {
        let (header, about) = (table.header(), table.about.trim());
        writeln!(page, "\n## `{header}`\n\n{about}\n\n| key | value | what |\n|---|---|---|").unwrap();
        for key in (table.keys)() {
            let (name, values, about) = (key.name, &key.values, key.about.replace('|', "\\|"));
            let default = default_in_words(&key);
            assert!(default.is_empty() || !about.contains("Default:"), "two defaults of `{name}`");
            writeln!(page, "| `{name}` | {values} | {about}{default} |").unwrap();
        }
    }
    expect_file!["../../docs/configuration.md"].assert_eq(&page);
}

fn default_in_words(key: &KeyDeclaration) -> String {
    match &key.default {
        Json::Null => String::new(),
        Json::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Json::as_str).collect();
            format!(" Default: {}.", quoted_list(&words, "and"))
        }
        Json::String(text) => format!(" Default: `{text}`."),
        other => format!(" Default: `{other}`."),
    }
}

/// Returns what is read from a file with this line in this table, or all that is wrong with it.
fn read(table: &TableDeclaration, mode: &str, line: &str) -> Result<Config, String> {
    let (mut config, _) = parse(&format!("{}\n{mode}\n{line}\n", table.header()), "c.toml")
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<String>())?;
    config.source = Config::default().source;
    for rule in &mut config.rules {
        (rule.span, rule.source) = Default::default();
    }
    Ok(config)
}

/// Each key, with the lines without which it means nothing.
fn keys() -> impl Iterator<Item = (TableDeclaration, &'static str, KeyDeclaration)> {
    let of_table = |table: TableDeclaration| (table.keys)().into_iter().map(move |key| (table, key));
    TABLES.into_iter().flat_map(of_table).map(|(table, key)| {
        let mode = match (table.title, key.name) {
            ("context", "in") => "methods = 'a.B.c'",
            ("context", "methods") => "in = 'd.E.f'",
            ("context", _) => "in = 'd.E.f'\nmethods = 'a.B.c'",
            _ if key.about.starts_with("Mode `ring`") => "mode = 'ring'",
            _ => "",
        };
        (table, mode, key)
    })
}

#[test]
fn a_default_that_is_written_into_the_file_changes_nothing() {
    let with_default = keys().filter(|(_, _, key)| !key.default.is_null());
    for (table, mode, key) in with_default {
        // JSON and TOML write these values alike.
        let line = format!("{} = {}", key.name, key.default);
        assert_eq!(read(&table, mode, &line), read(&table, mode, ""), "{line}");
        assert!(read(&table, mode, &line).is_ok());
    }
}

#[test]
fn bounds_of_the_schema_are_those_of_the_reader() {
    let mut bounded = 0;
    for (table, mode, key) in keys() {
        let (inside, outside) =
            if let (Some(least), Some(most)) = (key.schema["minimum"].as_i64(), key.schema["maximum"].as_i64()) {
                ([least, most].map(Json::from), [least - 1, most + 1].map(Json::from))
            } else if let [least, most] = key.schema["examples"].as_array().map_or(&[][..], Vec::as_slice) {
                ([least, most].map(Json::clone), ["0 ms", "1441 min"].map(Json::from))
            } else {
                continue;
            };
        let is_refused = |value: &Json| {
            let line = format!("{} = {value}", key.name);
            let message = format!("`{}` must be between", key.name);
            read(&table, mode, &line).is_err_and(|errors| errors.contains(&message))
        };
        assert!(!inside.iter().any(is_refused), "{}: {inside:?}", key.name);
        assert!(outside.iter().all(is_refused), "{}: {outside:?}", key.name);
        bounded += 1;
    }
    assert!(bounded > 15);
}

#[test]
fn lists_are_empty_only_where_the_schema_lets_them() {
    for (table, mode, key) in keys() {
        let lists = key.schema["anyOf"].as_array().into_iter().flatten().filter(|part| part["type"] == "array");
        for list in lists {
            let may_be_empty = list["minItems"].as_i64().unwrap_or(0) == 0;
            let errors = read(&table, mode, &format!("{} = []", key.name)).err().unwrap_or_default();
            assert_eq!(!errors.contains("is an empty list"), may_be_empty, "{}: {errors}", key.name);
        }
    }
}

#[test]
fn no_key_takes_a_value_of_another_type() {
    for (table, mode, key) in keys() {
        let errors = read(&table, mode, &format!("{} = 1979-05-27", key.name)).unwrap_err();
        assert!(errors.contains(&format!("`{}`", key.name)) && errors.contains("this is a date"), "{errors}");
    }
}

#[test]
fn each_key_is_suggested_for_a_name_with_a_letter_too_many() {
    for (table, mode, key) in keys() {
        let wrong = format!("{}x", key.name);
        let errors = read(&table, mode, &format!("{wrong} = 1")).unwrap_err();
        let place = format!("c.toml:{}:1\n", 2 + mode.lines().count().max(1));
        let expected = [format!("unknown key `{wrong}`"), format!("did you mean `{}`?", key.name), place];
        assert!(expected.iter().all(|part| errors.contains(part)), "{errors}");
    }
}

#[test]
fn words_of_the_schema_are_those_of_the_reader() {
    let mut words = 0;
    for (table, mode, key) in keys() {
        let choices = key.schema.get("oneOf").or_else(|| key.schema["anyOf"][0].get("oneOf"));
        for word in choices.and_then(Json::as_array).into_iter().flatten().map(|choice| &choice["const"]) {
            let unknown = format!("unknown {} ", key.name);
            let refused = |value: &Json| {
                let errors = read(&table, mode, &format!("{} = {value}", key.name)).err();
                errors.filter(|errors| errors.contains(&unknown))
            };
            assert_eq!(refused(word), None, "{}", key.name);
            let word = word.as_str().unwrap();
            let errors = refused(&format!("{word}x").into()).unwrap_or_default();
            assert!(errors.contains(&format!("did you mean `{word}`?")), "{}: {errors}", key.name);
            words += 1;
        }
    }
    assert!(words > 20);
}
