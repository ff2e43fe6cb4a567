//! Rules with `delegates`: every command finds the delegates of all classes of the jars before it decides about one.

use crate::sandbox::{Said, Sandbox};

const RULES: &str = "[[rule]]\nclass = \"tasks.Submits\"\ndelegates = \"sinks\"\nlevel = \"time\"\n";

macro_rules! class {
    ($name:literal) => {
        (
            concat!("tasks/", $name, ".class"),
            include_bytes!(concat!("../../../instrument-core/tests/decisions/classes/tasks/", $name, ".class"))
                .as_slice(),
        )
    };
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("rules.toml", RULES);
    // The class that hands things over is the last.
    sandbox.jar("tasks.jar", &[class!("Jobs"), class!("Submits$Inner"), class!("Submits")]);
    sandbox
}

fn said(sandbox: &Sandbox, verb: &[&str]) -> Said {
    let said = sandbox.instr(&[verb, &["tasks.jar"]].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    said
}

#[test]
fn explain_inventory_and_pre_agree_about_delegates_in_other_classes() {
    let sandbox = sandbox();
    let explained = said(&sandbox, &["explain", "--config", "rules.toml", "tasks.Jobs.run"]).stdout;
    let reason = "yes rule-1: delegate of tasks.Submits.other, handed to ExecutorService.execute";
    assert!(explained.contains(reason), "{explained}");
    let listed = said(&sandbox, &["inventory", "--config", "rules.toml"]).stdout;
    for line in ["tasks.Jobs: 3 of 3 methods", "tasks.Submits: 3 of 27 methods", "tasks.Submits$Inner: 1 of 3 methods"]
    {
        assert!(listed.contains(line), "{listed}");
    }
    let pre = said(&sandbox, &["pre", "--config", "rules.toml", "--output", "out", "--json"]).stdout;
    assert!(pre.contains("\"methods_instrumented\":7") || pre.contains("\"methods_instrumented\": 7"), "{pre}");
}

#[test]
fn check_warns_of_rules_whose_methods_hand_nothing_over() {
    let sandbox = sandbox();
    assert_eq!(said(&sandbox, &["check", "rules.toml"]).stderr, "");
    sandbox.write("rules.toml", RULES.replace("Submits", "Jobs"));
    let warning = said(&sandbox, &["check", "rules.toml"]).stderr;
    assert!(warning.contains("none creates a delegate of the kind that `delegates` says"), "{warning}");
}
