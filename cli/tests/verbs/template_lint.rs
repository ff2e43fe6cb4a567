//! `instr template lint`: what authors of templates read before anything runs; and rules that name a category.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{Sandbox, expect, java};

const AUDIT: &str = "package acme;

import java.instr.*;

final class Audit {
    @Template(name = \"audit\", category = \"database/oracle\")
    static void audit() throws Throwable {
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Timer.exit(start, Target.id());
        }
    }

    @Template(name = \"audit\", category = \"database/oracle\", live = true)
    static void auditLive() throws Throwable {
        long start = Live.enter(Target.id());
        Target.proceed();
        Live.exit(start, Target.id());
    }
}
";

const FAULTY: &str = "package acme;

import java.instr.*;

final class Faulty {
    @Template(category = \"my own\")
    static void named() throws Throwable {
        Target.proceed();
    }

    @Template(level = Level.FULL)
    static void swallows() {
        try {
            Target.proceed();
        } catch (Throwable thrown) {
            System.out.println(thrown);
        }
    }

    @Template
    static void newer() throws Throwable {
        Timer.begin();
        Target.proceed();
    }
}
";

/// Compiles a class of `acme` into `classes`, against sources of a runtime in `newer` before those of the project.
fn compile(sandbox: &Sandbox, name: &str, source: &str) {
    sandbox.write(name, source);
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let roots = ["java-runtime/src/main/java", "java-runtime/src/stubs/java"].map(|folder| project.join(folder));
    let roots: Vec<PathBuf> = std::iter::once(sandbox.path("newer")).chain(roots).collect();
    let mut javac = Command::new(java().path().join("bin/javac"));
    javac.args(["--release", "8", "-Xlint:-options", "-implicit:none", "-nowarn", "-d"]).arg(sandbox.path("classes"));
    let output = javac.arg("-sourcepath").arg(std::env::join_paths(roots).unwrap()).arg(sandbox.path(name)).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn templates_are_listed_with_category_level_and_outcome() {
    let sandbox = Sandbox::new();
    compile(&sandbox, "Audit.java", AUDIT);
    let audit = fs::read(sandbox.path("classes/acme/Audit.class")).unwrap();
    sandbox.jar_of("audit.jar", &[("acme/Audit.class".to_owned(), audit)]);
    let said = sandbox.instr(&["template", "lint", "audit.jar"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    expect("template-lint.txt", &said.stdout);

    sandbox.jar("shop.jar", &[]);
    for (category, template) in [("database/oracle/batch", "audit"), ("database/postgresql", "jdbc")] {
        let rule = format!(
            "[agent]\ntemplates = 'audit.jar'\n[governor]\nenabled = false\n[filter]\nleaf = false\nmax-bytes = 0\n\
             [[rule]]\nclass = 'shop.Order'\ntemplate = 'category:{category}'\nlevel = 'time'\n"
        );
        sandbox.write("rules.toml", rule);
        let said = sandbox.instr(&["explain", "--config", "rules.toml", "shop.Order", "shop.jar"]);
        assert!(
            said.stdout.contains(&format!(": {template} at level time")),
            "{category}: {}{}",
            said.stdout,
            said.stderr
        );
    }
}

#[test]
fn each_refused_template_has_a_file_a_line_and_what_to_do() {
    let sandbox = Sandbox::new();
    let timer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../java-runtime/src/main/java/java/instr/Timer.java");
    let newer = fs::read_to_string(timer).unwrap().replacen(
        "private Timer() {}",
        "private Timer() {}\n    public static void begin() {}",
        1,
    );
    fs::create_dir_all(sandbox.path("newer/java/instr")).unwrap();
    sandbox.write("newer/java/instr/Timer.java", newer);
    compile(&sandbox, "Faulty.java", FAULTY);
    let said = sandbox.instr(&["template", "lint", "classes"]);
    assert_eq!(said.code, 1);
    expect("template-lint-refused.txt", &(said.stdout + &said.stderr));

    let said = sandbox.instr(&["template", "lint", "--json", "classes"]);
    assert_eq!(said.code, 1);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let [named, swallows, newer] = [0, 1, 2].map(|at| &json["templates"][at]);
    assert_eq!((&named["category"], &swallows["level"]), (&"my own".into(), &"full".into()));
    let problem = &newer["problems"][0];
    assert_eq!(
        (&newer["outcome"], &problem["file"], &problem["line"]),
        (&"refused".into(), &"Faulty.java".into(), &22.into())
    );
}

#[test]
fn a_jar_without_templates_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.jar("shop.jar", &[]);
    for (arguments, message) in [
        (["template", "lint", "shop.jar"], "no template found"),
        (["template", "lint", "none.jar"], "cannot open the templates"),
    ] {
        let said = sandbox.instr(&arguments);
        assert_eq!(said.code, 1);
        assert!(said.stderr.contains(message) && said.stderr.contains("help: "), "{}", said.stderr);
    }
}
