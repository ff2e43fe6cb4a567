//! The command line itself: version, unknown verbs, what needs no configuration.

use crate::sandbox::{Sandbox, expect};

#[test]
fn the_version_is_that_of_the_package() {
    let said = Sandbox::new().instr(&["--version"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, concat!("instr ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn a_wrong_command_line_ends_with_2_and_says_what_is_right() {
    let sandbox = Sandbox::new();
    for wrong in [&["chekc"][..], &[], &["check"], &["pre", "a.jar"], &["check", "--colour", "c.toml"]] {
        let said = sandbox.instr(wrong);
        assert_eq!(said.code, 2, "{wrong:?}");
        assert!(said.stderr.contains("Usage: instr"), "{wrong:?}: {}", said.stderr);
    }
}

#[test]
fn templates_are_listed_with_their_source() {
    let said = Sandbox::new().instr(&["templates"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    expect("templates.txt", &said.stdout);
}

#[test]
fn the_schema_knows_every_table_of_the_configuration() {
    let said = Sandbox::new().instr(&["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let tables: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    for table in ["agent", "exclude", "filter", "metrics", "rule", "trace"] {
        assert!(tables.iter().any(|known| known == table), "{table} is not in {tables:?}");
    }
}

#[test]
fn the_protocol_is_described_with_every_request() {
    let said = Sandbox::new().instr(&["schema", "--protocol"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let schema: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(schema["protocol"], 1);
    for verb in ["hello", "status", "level", "stop"] {
        assert!(schema["requests"][verb]["answer"].is_object(), "{verb}");
    }
}
