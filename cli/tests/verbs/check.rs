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

#[test]
fn a_named_pipe_is_refused_and_not_waited_for() {
    let sandbox = Sandbox::new();
    assert!(std::process::Command::new("mkfifo").arg(sandbox.path("pipe.toml")).status().unwrap().success());
    let said = sandbox.instr(&["check", "pipe.toml"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("because: it is a named pipe, not a regular file"), "{}", said.stderr);
}

#[test]
fn each_file_of_a_directory_has_its_own_result() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("b.toml", EVERYTHING),
        ("a.toml", "[[rule]]\nclass = \"com..acme\"\n"),
        ("c.toml", "[[rule]]\nclas = \"x.**\"\n"),
        ("note.txt", "no TOML ["),
    ] {
        sandbox.write(name, text);
    }
    std::fs::create_dir(sandbox.path("deeper.toml")).unwrap();
    let said = sandbox.instr(&["check", "."]);
    assert_eq!(said.code, 1);
    let lines: Vec<&str> = said.stdout.lines().map(|line| line.split(" (").next().unwrap()).collect();
    assert_eq!(lines, ["./a.toml: has mistakes", "./b.toml: ok", "./c.toml: has mistakes"]);
    expect("check-directory.txt", &said.stderr);
    std::fs::remove_file(sandbox.path("a.toml")).unwrap();
    std::fs::remove_file(sandbox.path("c.toml")).unwrap();
    assert_eq!(sandbox.instr(&["check", "."]).code, 0);
}

#[test]
fn a_directory_without_configurations_is_an_error() {
    let sandbox = Sandbox::new();
    let said = sandbox.instr(&["check", "."]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: there is no file *.toml in ."), "{}", said.stderr);
}

#[test]
fn a_rule_that_takes_no_method_is_reported_with_its_nearest_reason() {
    let sandbox = Sandbox::new();
    sandbox.jar("shop.jar", &[]);
    let rules = "[[rule]]\nname = \"orders\"\nclass = \"shop.Order\"\n\
                 [[rule]]\nname = \"misspelt\"\nclass = \"shop.Odrer\"\n\
                 [[rule]]\nname = \"servlets\"\nclass = \"shop.**\"\nextends = \"jakarta.servlet.Servlet\"\n\
                 [[rule]]\nname = \"driver\"\nclass = \"shop.**\"\njar = \"ojdbc*.jar\"\n\
                 [[rule]]\nname = \"queries\"\nclass = \"shop.**\"\ncalls = \"java.sql.Statement.execute*\"\n\
                 [[rule]]\nname = \"lists\"\nclass = \"java.util.ArrayList\"\nmethod = \"grwo\"\n\
                 [[rule]]\npreset = \"servlet\"\n";
    sandbox.write("rules.toml", rules);
    let said = sandbox.instr(&["check", "rules.toml", "shop.jar"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.starts_with("rules.toml: ok (7 rules, 6 without a method, "), "{}", said.stdout);
    expect("check-idle.txt", &said.stderr);
}

#[test]
fn slow_calls_of_a_method_that_no_class_has_are_reported_with_their_place() {
    let sandbox = Sandbox::new();
    sandbox.jar("shop.jar", &[]);
    let tables = "[[rule]]\nclass = \"shop.**\"\n\
                  [[slow-calls]]\nmethods = \"shop.Odrer.*\"\n\
                  [[slow-calls]]\nmethods = \"shop.Order.*\"\n\
                  [[slow-calls]]\nmethods = \"java.util.ArrayList.grow\"\n\
                  [[slow-calls]]\nmethods = \"java.util.ArrayList.grwo\"\n\
                  [[slow-calls]]\nmethods = \"category:database\"\n\
                  [[slow-calls]]\n";
    sandbox.write("rules.toml", tables);
    let said = sandbox.instr(&["check", "rules.toml", "shop.jar"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    expect("check-slow-calls.txt", &said.stderr);
}

#[test]
fn a_jar_of_templates_that_is_not_there_is_shown_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.toml", format!("[agent]\ntemplates = [\"absent.jar\"]\n{EVERYTHING}"));
    let said = sandbox.instr(&["check", "bad.toml"]);
    assert_eq!(said.code, 1);
    expect("check-absent-templates.txt", &said.stderr);
}

#[test]
fn a_file_that_is_no_text_is_shown_with_the_place_of_the_first_wrong_byte() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.toml", b"[[rule]]\nclass = \"com.caf\xe9\"\n");
    let said = sandbox.instr(&["check", "bad.toml"]);
    assert_eq!(said.code, 1);
    expect("check-not-utf8.txt", &said.stderr);
}
