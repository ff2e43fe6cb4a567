//! `instr explain`: the rule that decides, and why the others do not.

use crate::sandbox::{Sandbox, expect};

const RULES: &str = "[[rule]]\nname = \"lines\"\nclass = \"shop.Order$*\"\nexclude = \"**#toString()\"\n\n\
                     [[rule]]\nname = \"runnables\"\nextends = \"java.lang.Runnable\"\nmethod = \"run()\"\nlevel = \"time\"\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("rules.toml", RULES);
    sandbox.jar("shop.jar", &[]);
    sandbox
}

#[test]
fn each_method_has_a_reason() {
    let sandbox = sandbox();
    for (class, expected) in [("shop.Order", "explain-order.txt"), ("shop/Order$Line", "explain-line.txt")] {
        let said = sandbox.instr(&["explain", "--config", "rules.toml", class, "shop.jar"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        expect(expected, &said.stdout);
    }
}

#[test]
fn json_says_the_same() {
    let said = sandbox().instr(&["explain", "--json", "--config", "rules.toml", "shop.Order", "shop.jar"]);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(json["class"], "shop.Order");
    let methods = json["methods"].as_array().unwrap();
    let run = methods.iter().find(|method| method["name"] == "run").unwrap();
    assert_eq!(run["instrumented"]["rule"], "runnables");
}

#[test]
fn methods_without_a_wrapper_are_listed_before_the_program_runs() {
    let sandbox = sandbox();
    sandbox.write("wrapper.toml", format!("{}mode = \"wrapper\"\nconstructors = true\n", crate::sandbox::EVERYTHING));
    let said = sandbox.instr(&["explain", "--config", "wrapper.toml", "shop.Order", "shop.jar"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    expect("explain-wrapper.txt", &said.stdout);
}

#[test]
fn classes_of_the_jdk_need_no_jar() {
    let said = sandbox().instr(&["explain", "--config", "rules.toml", "java.lang.Thread"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("java.lang.Thread"), "{}", said.stdout);
}

#[test]
fn methods_that_the_probes_use_are_left_alone_as_in_the_agent() {
    let sandbox = sandbox();
    sandbox
        .write("rules.toml", "[[rule]]\nclass = [\"java.lang.Thread\", \"java.util.ArrayList\"]\nlevel = \"time\"\n");
    let said = sandbox.instr(&["explain", "--config", "rules.toml", "java.lang.Thread"]);
    let reason = "  - getName() java.lang.String: used by the runtime: the probes themselves call it\n";
    assert!(said.stdout.contains(reason), "{}", said.stdout);
    let said = sandbox.instr(&["explain", "--config", "rules.toml", "java.util.ArrayList"]);
    assert!(said.stdout.contains("  + add(java.lang.Object) boolean: timed at level time"), "{}", said.stdout);
}

#[test]
fn a_class_that_is_nowhere_is_an_error_with_help() {
    let said = sandbox().instr(&["explain", "--config", "rules.toml", "shop.Odrer", "shop.jar"]);
    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    assert!(said.stderr.starts_with("error: there is no class shop.Odrer in 1 jar and "), "{}", said.stderr);
    assert!(said.stderr.contains("  help: "), "{}", said.stderr);
}

#[test]
fn conditions_on_origin_and_bodies_are_explained() {
    let sandbox = sandbox();
    sandbox.write(
        "origin.toml",
        "[[rule]]\nname = \"driver\"\njar = \"ojdbc*.jar\"\n\n\
         [[rule]]\nname = \"webapp\"\nloader = \"*WebappClassLoader\"\n\n\
         [[rule]]\nname = \"modular\"\nmodule = \"com.acme.*\"\n\n\
         [[rule]]\nname = \"printing\"\njar = \"shop*.jar\"\ncalls = \"java.io.PrintStream.*\"\nflags = [\"public\", \"!static\"]\n\n\
         [[rule]]\nname = \"large\"\nclass = \"shop.*\"\nsize = \">=100\"\n",
    );
    let said = sandbox.instr(&["explain", "--config", "origin.toml", "shop.Order", "shop.jar"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    expect("explain-origin.txt", &said.stdout);
    sandbox.write("sql.toml", "[[rule]]\nname = \"sql\"\nmodule = \"java.sql\"\n");
    let said = sandbox.instr(&["explain", "--config", "sql.toml", "java.sql.DriverManager"]);
    assert!(said.stdout.contains("yes sql  `java.sql` names its module `java.sql`"), "{}", said.stdout);
}

#[test]
fn jars_are_explained_in_the_order_in_which_they_are_named() {
    let sandbox = sandbox();
    let jars = ["d.jar", "b.jar", "a.jar", "c.jar"];
    for name in jars {
        sandbox.jar(name, &[]);
    }
    // The reason of the rule's answer has the name of the jar.
    sandbox.write("jars.toml", "[[rule]]\nname = \"driver\"\njar = \"b*.jar\"\n");
    let explain = |json: bool, jars: &[&str]| {
        let arguments: &[&str] = if json { &["explain", "--json", "--config"] } else { &["explain", "--config"] };
        sandbox.instr(&[arguments, &["jars.toml", "shop.**"], jars].concat()).stdout
    };
    let alone = jars.map(|name| explain(false, &[name]));
    assert!(alone[0].contains("d.jar") && alone[0] != alone[1], "{}", alone[0]);
    assert_eq!(explain(false, &jars), alone.join("\n"));
    let list = |json: &str| serde_json::from_str::<Vec<serde_json::Value>>(json).unwrap();
    assert_eq!(list(&explain(true, &jars)), jars.map(|name| list(&explain(true, &[name]))).concat());
}

#[test]
fn a_method_is_explained_alone_and_a_pattern_means_all_classes_of_the_jars() {
    let sandbox = sandbox();
    let explain = |more: &[&str]| sandbox.instr(&[&["explain", "--config", "rules.toml"], more].concat());
    let said = explain(&["shop.Order.run", "shop.jar"]);
    let methods: Vec<&str> =
        said.stdout.lines().filter(|line| line.starts_with("  + ") || line.starts_with("  - ")).collect();
    assert_eq!(methods, ["  + run() void: timed at level time, inline (rule runnables)"]);
    let said = explain(&["shop.Order.ran", "shop.jar"]);
    assert_eq!(
        (said.code, said.stderr.contains("its methods are <init>, add, run, total")),
        (1, true),
        "{}",
        said.stderr
    );
    let said = explain(&["shop.**", "shop.jar"]);
    let classes: Vec<&str> = said.stdout.lines().filter(|line| line.starts_with("class ")).collect();
    assert_eq!(classes, ["class shop.Main", "class shop.Order", "class shop.Order$Line"]);
    let one = explain(&["shop.Order", "shop.jar"]).stdout;
    assert!(said.stdout.contains(&format!("\n{one}")), "each is explained as it is alone");
    let json: serde_json::Value =
        serde_json::from_str(&explain(&["--json", "shop.Order*", "shop.jar"]).stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    let said = explain(&["shp.**", "shop.jar"]);
    assert!(
        said.code == 1 && said.stderr.starts_with("error: no class of the jars is named by shp.**"),
        "{}",
        said.stderr
    );
}
