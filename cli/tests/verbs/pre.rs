//! `instr pre`: copies that the JVM accepts, originals untouched, figures that add up.

use std::fs;
use std::process::Command;

use crate::sandbox::{EVERYTHING, Said, Sandbox, expect, java};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("everything.toml", EVERYTHING);
    sandbox
}

fn pre(sandbox: &Sandbox, further: &[&str]) -> Said {
    let common = ["pre", "--config", "everything.toml", "--output", "out"];
    sandbox.instr(&[&common[..], further].concat())
}

#[test]
fn figures_and_probe_table_agree() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[("readme.txt", b"hello")]);
    let original = fs::read(sandbox.path("shop.jar")).unwrap();
    let said = pre(&sandbox, &["--json", "shop.jar"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let mut figures: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(figures["cpu_seconds"].as_f64().unwrap() >= 0.0);
    assert!(figures["bytes_out"].as_u64() > figures["bytes_in"].as_u64());
    let table: serde_json::Value = serde_json::from_slice(&fs::read(sandbox.path("out/probes.json")).unwrap()).unwrap();
    assert_eq!(table.as_array().unwrap().len() as u64, figures["methods_instrumented"].as_u64().unwrap());
    assert_eq!(fs::read(sandbox.path("shop.jar")).unwrap(), original);
    for changing in ["cpu_seconds", "bytes_in", "bytes_out"] {
        figures[changing] = "...".into();
    }
    expect("pre-figures.json", &(serde_json::to_string_pretty(&figures).unwrap() + "\n"));
    expect("pre-probes.json", &(serde_json::to_string_pretty(&table).unwrap() + "\n"));
}

#[test]
fn verbose_lists_each_insertion() {
    let sandbox = sandbox();
    let rules = EVERYTHING.to_owned() + "constructors = true\n\n[[rule]]\nname = \"x\"\nclass = \"other.X\"\n";
    sandbox.write("everything.toml", rules);
    sandbox.jar("shop.jar", &[]);
    let said = pre(&sandbox, &["-v", "--json", "shop.jar"]);
    let figures: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let idle = "warning: rule x (everything.toml:12) takes no method: no class matches `other.X`";
    let (warnings, lines): (Vec<_>, Vec<_>) = said.stderr.lines().partition(|line| line.starts_with("warning: "));
    assert_eq!(warnings, [idle]);
    assert_eq!(lines.len() as u64, figures["methods_instrumented"].as_u64().unwrap(), "{}", said.stderr);
    let line = lines.iter().find(|line| line.starts_with("shop.Order.total()J: timed, ")).unwrap();
    let (before, after) = line.split_once(" -> ").unwrap();
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).find_map(|n| n.parse::<u32>().ok()).unwrap();
    let (before, after, growth) =
        (number(before.rsplit(' ').next().unwrap()), number(after), number(after.split_once('+').unwrap().1));
    assert!(before > 0 && after == before + growth && line.ends_with("), 1 pass"), "{line}");
    assert_eq!(pre(&sandbox, &["shop.jar"]).stderr, format!("{idle}\n"), "without the option no method is listed");
}

/// No single method can tell that a name is misspelt.
#[test]
fn a_parameter_that_no_method_has_is_reported() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    for (arguments, help) in [
        (
            "[\"al\", \"count\", \"!nobody\"]",
            ["parameter `al`; did you mean `all`?", "parameter `nobody`; they have arguments, article, count"],
        ),
        ("[\"artcle\", \"none\"]", ["parameter `artcle`; did you mean `article`?", "parameter `none`; they have "]),
    ] {
        sandbox.write("everything.toml", format!("{EVERYTHING}constructors = true\narguments = {arguments}\n"));
        let said = pre(&sandbox, &["shop.jar"]);
        let lines: Vec<&str> = said.stderr.lines().collect();
        assert!(said.code == 0 && lines.len() == 2, "{}", said.stderr);
        for (line, help) in lines.iter().zip(help) {
            let begin = "warning: rule everything (everything.toml:5): none of its ";
            assert!(line.starts_with(begin) && line.contains(help), "{line}");
        }
    }
    sandbox.write("everything.toml", format!("{EVERYTHING}arguments = [\"all\", \"article\", 7]\n"));
    assert_eq!(pre(&sandbox, &["shop.jar"]).stderr, "");
}

#[test]
fn the_same_input_gives_the_same_jar() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    let copy = || {
        assert_eq!(pre(&sandbox, &["shop.jar"]).code, 0);
        fs::read(sandbox.path("out/shop.jar")).unwrap()
    };
    assert!(copy() == copy());
}

#[test]
fn what_is_instrumented_already_stays_as_it_is() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    assert_eq!(pre(&sandbox, &["shop.jar"]).code, 0);
    let again = sandbox.instr(&["pre", "--config", "everything.toml", "--output", "again", "out/shop.jar"]);
    assert_eq!(again.code, 1, "{}", again.stderr);
    assert!(again.stderr.starts_with("error: no class was rewritten: 3 classes had been instrumented before"));
    assert!(again.stdout.contains("left as they are because they hold probes already: 3 classes"), "{}", again.stdout);
    assert!(fs::read(sandbox.path("again/shop.jar")).unwrap() == fs::read(sandbox.path("out/shop.jar")).unwrap());
}

/// The mark of so many probes needs several entries of the constant pool.
#[test]
fn a_class_of_thousands_of_methods_gets_its_mark() {
    let sandbox = sandbox();
    let methods: String = (0..2_000).map(|i| format!("  int m{i}() {{ return hashCode() + {i}; }}\n")).collect();
    sandbox.write("Many.java", format!("package shop;\nclass Many {{\n{methods}}}\n"));
    let mut javac = Command::new(java().path().join("bin/javac"));
    assert!(javac.arg("-d").arg(sandbox.path("many")).arg(sandbox.path("Many.java")).status().unwrap().success());
    let class = fs::read(sandbox.path("many/shop/Many.class")).unwrap();
    sandbox.jar_of("many.jar", &[("shop/Many.class".to_owned(), class)]);
    let said = pre(&sandbox, &["--json", "many.jar"]);
    let figures: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, figures["methods_instrumented"].as_u64()), (0, Some(2_000)), "{}", said.stderr);
    let explained = sandbox.instr(&["explain", "--config", "everything.toml", "shop.Many", "out/many.jar"]);
    assert!(explained.stdout.contains("instrumented ahead of time by instr pre "), "{}", explained.stdout);
}

#[test]
fn wrappers_keep_the_names_under_which_calls_are_recorded() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    sandbox.write("everything.toml", format!("{EVERYTHING}mode = \"wrapper\"\nconstructors = true\n"));
    let said = pre(&sandbox, &["--json", "shop.jar"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let figures: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(figures["refused"]["constructor"].as_u64() > Some(0), "{figures}");
    let table = fs::read_to_string(sandbox.path("out/probes.json")).unwrap();
    assert!(table.contains("\"total\"") && !table.contains("$instr"), "{table}");
    let mut javap = Command::new(java().path().join("bin/javap"));
    let output = javap.args(["-p", "-cp"]).arg(sandbox.path("out/shop.jar")).arg("shop.Order").output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(listed.contains(" total(") && listed.contains("private long _total$instr("), "{listed}");
}

/// The copy is linked without the agent: nothing may refer to a runtime that is not there before a probe runs.
#[test]
fn the_jvm_verifies_every_class_of_the_copy() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    assert_eq!(pre(&sandbox, &["shop.jar"]).code, 0);
    let linker = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/corpus/LinkEveryClass.java");
    let mut command = Command::new(java().path().join("bin/java"));
    let output = command
        .args(["-Xverify:all", "-XX:-PrintWarnings", linker])
        .arg(sandbox.path("out/shop.jar"))
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout, "LINKED shop.jar 3 incomplete 0 failed 0\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn signatures_are_dropped_with_a_note() {
    let sandbox = sandbox();
    sandbox
        .jar("shop.jar", &[("META-INF/A.SF", b"digests"), ("META-INF/A.RSA", b"block"), ("META-INF/x.txt", b"kept")]);
    let said = pre(&sandbox, &["shop.jar"]);
    assert_eq!(said.code, 0);
    assert_eq!(
        said.stderr,
        "note: the copy of shop.jar is not signed any more: META-INF/A.SF, META-INF/A.RSA left out\n"
    );
    let names = entry_names(&sandbox, "out/shop.jar");
    assert!(names.iter().any(|name| name == "META-INF/x.txt") && !names.iter().any(|name| name.ends_with(".SF")));
}

#[test]
fn a_jar_without_a_chosen_class_is_copied_as_it_is() {
    let sandbox = sandbox();
    sandbox.write("everything.toml", EVERYTHING.replace("shop.**", "elsewhere.**"));
    sandbox.jar("shop.jar", &[("META-INF/A.SF", b"digests")]);
    assert_eq!(pre(&sandbox, &["shop.jar"]).code, 1);
    assert!(fs::read(sandbox.path("out/shop.jar")).unwrap() == fs::read(sandbox.path("shop.jar")).unwrap());
}

/// A build that instruments nothing must not look as if it had worked.
#[test]
fn no_class_rewritten_is_an_error_with_the_reason() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    sandbox.jar_of("empty.jar", &[("readme.txt".to_owned(), Vec::new())]);
    let excluded = format!("{EVERYTHING}exclude = \"shop.**\"\n");
    let wrapped = format!("{EVERYTHING}constructors = true\nmethod = \"<init>\"\nmode = \"wrapper\"\n");
    for (rules, jar, reason) in [
        (EVERYTHING.replace("shop.**", "elsewhere.**"), "shop.jar", "no rule chooses any of the "),
        (excluded, "shop.jar", "methods left out by reason: 3 constructor, 5 excluded-by-rule"),
        (wrapped, "shop.jar", "methods refused (constructor)"),
        (EVERYTHING.to_owned(), "empty.jar", "the jars hold no classes"),
    ] {
        sandbox.write("everything.toml", rules);
        let said = pre(&sandbox, &["--json", jar]);
        assert_eq!(said.code, 1, "{}", said.stderr);
        let figures: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(figures["classes_rewritten"], 0, "printed all the same");
        assert!(said.stderr.contains("error: no class was rewritten: "), "{}", said.stderr);
        assert!(said.stderr.contains(reason) && said.stderr.contains("help: `instr explain"), "{}", said.stderr);
    }
}

#[test]
fn libraries_in_executable_jars_are_instrumented_too() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    let library = fs::read(sandbox.path("shop.jar")).unwrap();
    sandbox.jar("app.jar", &[("BOOT-INF/lib/shop.jar", &library)]);
    let said = pre(&sandbox, &["--json", "app.jar"]);
    let figures: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(figures["classes"], 6);
    assert_eq!(figures["classes_rewritten"], 6);
}

#[test]
fn no_jar_is_ever_overwritten() {
    let sandbox = sandbox();
    sandbox.jar("shop.jar", &[]);
    let original = fs::read(sandbox.path("shop.jar")).unwrap();
    let said = sandbox.instr(&["pre", "--config", "everything.toml", "--output", ".", "shop.jar"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("would overwrite it") && said.stderr.contains("help: "), "{}", said.stderr);
    let said = pre(&sandbox, &["shop.jar", "classes/../shop.jar"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(fs::read(sandbox.path("shop.jar")).unwrap() == original);
}

#[test]
fn a_damaged_jar_is_named() {
    let sandbox = sandbox();
    sandbox.write("broken.jar", "no jar");
    let said = pre(&sandbox, &["broken.jar"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.starts_with("error: broken.jar: not a readable jar"), "{}", said.stderr);
}

#[test]
fn a_directory_is_no_jar_and_the_message_says_what_to_do() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("classes")).unwrap();
    let said = pre(&sandbox, &["classes"]);
    let expected = "error: classes is a directory, but only jars are instrumented ahead of time\n  help: pack it first: jar --create";
    assert!(said.code == 1 && said.stderr.starts_with(expected), "{}", said.stderr);
}

fn entry_names(sandbox: &Sandbox, jar: &str) -> Vec<String> {
    let archive = zip::ZipArchive::new(fs::File::open(sandbox.path(jar)).unwrap()).unwrap();
    archive.file_names().map(|name| name.unwrap().into_owned()).collect()
}
