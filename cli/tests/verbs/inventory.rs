//! `instr inventory`: what a configuration instruments, class by class.

use crate::sandbox::{Said, Sandbox, expect};

const RULES: &str = "[[rule]]\nname = \"lines\"\nclass = \"shop.Order$*\"\nexclude = \"**#toString()\"\n\n\
                     [[rule]]\nname = \"runnables\"\nextends = \"java.lang.Runnable\"\nmethod = \"run()\"\nlevel = \"time\"\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("rules.toml", RULES);
    sandbox.jar("shop.jar", &[("shop/Broken.class", b"no class")]);
    sandbox
}

fn inventory(sandbox: &Sandbox, more: &[&str]) -> Said {
    sandbox.instr(&[&["inventory", "--config", "rules.toml"], more].concat())
}

#[test]
fn each_class_and_each_method_has_a_line_with_its_reason() {
    let sandbox = sandbox();
    let said = inventory(&sandbox, &["shop.jar"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    expect("inventory.txt", &said.stdout);
    let said = inventory(&sandbox, &["--methods", "shop.jar"]);
    expect("inventory-methods.txt", &said.stdout);
}

#[test]
fn two_inventories_differ_in_the_lines_of_what_has_changed() {
    let sandbox = sandbox();
    let before = inventory(&sandbox, &["--methods", "shop.jar"]).stdout;
    assert_eq!(inventory(&sandbox, &["--methods", "shop.jar"]).stdout, before, "the order is always the same");
    sandbox.write("rules.toml", RULES.replace("exclude = \"**#toString()\"\n", "level = \"time\"\n"));
    let after = inventory(&sandbox, &["--methods", "shop.jar"]).stdout;
    let only_in = |these: &str, others: &str| -> Vec<String> {
        let lines = these.lines().filter(|line| !line.starts_with('#') && !others.lines().any(|other| other == *line));
        lines.map(|line| line.split(':').next().unwrap().to_owned()).collect()
    };
    let method = "shop.Order$Line.toString() java.lang.String";
    assert_eq!(only_in(&before, &after), ["no  shop.Order$Line".to_owned(), format!("no  {method}")]);
    assert_eq!(only_in(&after, &before), ["yes shop.Order$Line".to_owned(), format!("yes {method}")]);
}

#[test]
fn json_has_the_documented_keys() {
    let sandbox = sandbox();
    let said = inventory(&sandbox, &["--json", "--methods", "shop.jar"]);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["classes", "totals"]);
    let totals = [
        "classes",
        "classes_instrumented",
        "classes_unchanged",
        "jars",
        "left_out",
        "methods",
        "methods_instrumented",
        "methods_unchanged",
    ];
    assert_eq!(keys(&json["totals"]), totals);
    let classes = json["classes"].as_array().unwrap();
    let names: Vec<&str> = classes.iter().map(|class| class["class"].as_str().unwrap()).collect();
    assert_eq!(names, ["shop.Broken", "shop.Main", "shop.Order", "shop.Order$Line"]);
    assert_eq!(keys(&classes[0]), ["class", "code", "instrumented", "jar", "reason", "state"]);
    assert_eq!((&classes[0]["code"], &classes[1]["code"]), (&"unreadable".into(), &"no-rule".into()));
    let of_class = ["class", "instrumented", "jar", "left_alone", "listed", "methods", "state", "wanted_by"];
    assert_eq!(keys(&classes[2]), of_class);
    let listed = classes[2]["listed"].as_array().unwrap();
    let run = listed.iter().find(|method| method["name"] == "run").unwrap();
    assert_eq!(keys(run), ["descriptor", "level", "mode", "name", "signature", "state", "templates", "wanted_by"]);
    assert_eq!((&run["wanted_by"], &run["state"]), (&"rule runnables".into(), &"instrumented".into()));
    let other = listed.iter().find(|method| method["state"] == "unchanged").unwrap();
    assert_eq!(keys(other), ["code", "descriptor", "name", "reason", "signature", "state"]);
}

#[test]
fn names_narrow_it_and_classes_of_the_jdk_are_listed_by_request() {
    let sandbox = sandbox();
    sandbox.write(
        "rules.toml",
        "[[rule]]\nname = \"lists\"\nclass = [\"java.util.ArrayList\", \"shop.Main\"]\nlevel = \"time\"\n",
    );
    let lines = |more: &[&str]| -> Vec<String> {
        let said = inventory(&sandbox, more).stdout;
        said.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split(':').next().unwrap().to_owned())
            .collect()
    };
    let (list, order) = ("yes java.util.ArrayList", "no  shop.Order");
    assert!(lines(&["--jdk", "shop.jar"]).iter().any(|line| line == list));
    let without = lines(&["shop.jar"]);
    assert!(!without.iter().any(|line| line == list) && without.iter().any(|line| line == order), "{without:?}");
    assert_eq!(lines(&["--jdk", "--classes", "shop.M*", "shop.jar"]), ["yes shop.Main"]);
}

#[test]
fn what_the_engine_refuses_is_not_listed_as_instrumented() {
    let sandbox = sandbox();
    let everything = crate::sandbox::EVERYTHING;
    sandbox.write("rules.toml", format!("{everything}mode = \"wrapper\"\nconstructors = true\n"));
    let said = inventory(&sandbox, &["--methods", "--classes", "shop.Order", "shop.jar"]);
    let constructor = said.stdout.lines().find(|line| line.contains(".<init>(")).unwrap();
    assert!(constructor.starts_with("no  shop.Order.<init>(") && constructor.contains("wrapper"), "{constructor}");
}

#[test]
fn a_directory_means_its_classes_and_the_jars_in_it() {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.path("app/lib")).unwrap();
    std::fs::rename(sandbox.path("shop.jar"), sandbox.path("app/lib/shop.jar")).unwrap();
    std::fs::rename(sandbox.path("classes"), sandbox.path("app/classes")).unwrap();
    std::fs::remove_file(sandbox.path("app/classes/shop/Main.class")).unwrap();
    let said = inventory(&sandbox, &["app"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let totals: Vec<&str> =
        said.stdout.lines().filter(|line| line.starts_with("# ") && line.contains(": 1 of")).collect();
    assert_eq!(totals, ["# app: 1 of 2 classes"], "{}", said.stdout);
    assert!(said.stdout.contains("# shop.jar: 0 of 2 classes\n"), "each class once: {}", said.stdout);
}

#[test]
fn an_inventory_without_an_instrumented_method_ends_with_1() {
    let sandbox = sandbox();
    sandbox.write("rules.toml", "[[rule]]\nclass = \"shop.Odrer\"\n");
    let said = inventory(&sandbox, &["shop.jar"]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains("no  shop.Order: no rule matches the class\n"), "{}", said.stdout);
    assert!(said.stderr.starts_with("error: no method of these classes is instrumented"), "{}", said.stderr);
}
