//! `instr check`: mistakes are shown with place and suggestion.

use crate::sandbox::{EVERYTHING, Sandbox, expect};

#[test]
fn a_right_configuration_is_called_so() {
    let sandbox = Sandbox::new();
    sandbox.write("good.toml", EVERYTHING);
    let said = sandbox.instr(&["check", "good.toml"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.starts_with("good.toml: ok (1 rule, "), "{}", said.stdout);
}

#[test]
fn every_mistake_is_shown_with_its_place() {
    let sandbox = Sandbox::new();
    let text = "[trace]\nfiel = \"t.jfr\"\n\n[[rule]]\nclass = \"com..acme\"\ntemplate = \"tmied\"\nlevel = \"tiem\"\n";
    sandbox.write("bad.toml", text);
    let said = sandbox.instr(&["check", "bad.toml"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    expect("check-mistakes.txt", &said.stderr);
}

#[test]
fn a_template_that_does_not_exist_is_a_mistake() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.toml", EVERYTHING.replace("timed", "tmied"));
    let said = sandbox.instr(&["check", "bad.toml"]);
    assert_eq!(said.code, 1);
    expect("check-template.txt", &said.stderr);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let said = Sandbox::new().instr(&["check", "absent.toml"]);
    assert_eq!(said.code, 1);
    expect("check-absent.txt", &said.stderr);
}
