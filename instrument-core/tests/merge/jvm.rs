//! Does a JVM accept what was merged, and does it do the same as before?

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use instrument_core::{EngineOptions, Outcome};

use crate::fixtures::{classes, compiled, library, merged_everywhere, merged_everywhere_with};
use crate::same_behaviour::all_options;

fn java() -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) => Path::new(&home).join("bin/java"),
        None => PathBuf::from("java"),
    }
}

/// A folder of this test run, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("merge-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a main class and gives its standard output; a JVM that does not end in two minutes is killed.
pub(crate) fn run(class_path: &[&Path], arguments: &[&str]) -> String {
    let class_path = std::env::join_paths(class_path).unwrap();
    let mut command = Command::new(java());
    command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xverify:all", "-Xmx256m", "-cp"]).arg(class_path);
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("java starts");
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = err.read_to_string(&mut text);
        text
    });
    let deadline = Instant::now() + Duration::from_secs(120);
    let killer = std::thread::spawn(move || {
        loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::park_timeout(Duration::from_millis(20)),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return None;
                }
                Ok(Some(status)) => return status.code(),
                Err(_) => return None,
            }
        }
    });
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    let (code, errors) = (killer.join().unwrap(), reader.join().unwrap());
    assert_eq!(code, Some(0), "{arguments:?}: {text}\n{errors}");
    text
}

pub(crate) const TARGETS: [&str; 4] =
    ["targets/Behaviour", "targets/Behaviour$Child", "targets/Shape", "targets/Behaviour$1"];

/// Writes the targets with these templates merged into every method that takes them.
fn write_targets(folder: &Path, templates: &[&str]) -> usize {
    std::fs::create_dir_all(folder.join("targets")).unwrap();
    let mut methods = 0;
    for name in TARGETS.iter().filter(|name| classes().join(format!("{name}.class")).exists()) {
        if let Outcome::Rewritten(output) = merged_everywhere(&compiled(name), templates) {
            methods += output.methods.len();
            std::fs::write(folder.join(format!("{name}.class")), output.bytes).unwrap();
        }
    }
    methods
}

pub(crate) fn lines<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

/// What the templates noted during one call of `targets.Run`.
pub(crate) fn events<'t>(text: &'t str, what: &str) -> &'t str {
    let start = format!("events {what}: ");
    text.lines().find_map(|line| line.strip_prefix(start.as_str())).unwrap_or_else(|| panic!("no {what} in {text}"))
}

#[test]
fn methods_do_the_same_with_every_template() {
    let original = run(&[&classes()], &["targets.Run"]);
    let expected = lines(&original, "result ");
    assert!(expected.len() > 30, "{original}");
    let library = library();
    let mut stacks: Vec<Vec<&str>> = library.names().map(|name| vec![name]).collect();
    stacks.push(vec!["outer", "catches", "everything"]);
    stacks.push(vec!["locals", "loops", "switches", "clock"]);
    for stack in stacks {
        let folder = folder(&format!("run-{}", stack.join("-")));
        // Templates that ask for a receiver or an argument do not go into every method.
        assert!(write_targets(&folder, &stack) > 0, "{stack:?}");
        let text = run(&[&folder, &classes()], &["targets.Run"]);
        assert_eq!(lines(&text, "result "), expected, "{stack:?}");
    }
}

#[test]
fn each_call_is_entered_and_left_once() {
    let folder = folder("events");
    write_targets(&folder, &["bracket"]);
    let text = run(&[&folder, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "nothing"), "enter exit");
    assert_eq!(events(&text, "forever"), "enter exit");
    assert_eq!(events(&text, "finals"), "enter enter enter exit exit exit");
    assert_eq!(events(&text, "area"), "enter enter exit exit enter exit", "two constructors nested, then the method");
    assert_eq!(events(&text, "throws"), "enter exit", "a constructor that throws after super() is left");
    assert_eq!(events(&text, "before super"), "enter", "one that throws before has no handler yet");
    assert_eq!(events(&text, "guarded"), "enter enter exit exit enter enter exit exit");
    for line in lines(&text, "events ").iter().filter(|line| !line.contains("before super")) {
        let count = |word: &str| line.split(' ').filter(|found| *found == word).count();
        assert_eq!(count("enter"), count("exit"), "{line}");
    }
}

#[test]
fn templates_see_arguments_results_and_exceptions() {
    let all = folder("all");
    write_targets(&all, &["all"]);
    let text = run(&[&all, &classes()], &["targets.Run"]);
    let many = "[1, 2, 3.0, 4.0, 5, [I@, 7, true, 9]";
    let seen = events(&text, "many");
    let masked: Vec<&str> = seen.split("[I@").collect();
    assert_eq!(masked.len(), 3, "{seen}");
    let halves: Vec<String> =
        masked[1..].iter().map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit()).to_owned()).collect();
    let half = many.split("[I@").nth(1).unwrap();
    assert!(halves.iter().all(|found| found.starts_with(half)), "the target overwrites all of them: {seen}");
    assert_eq!(events(&text, "booleans"), "[true, 1, y, 3] [true, 1, y, 3]");

    let outcome = folder("outcome");
    write_targets(&outcome, &["outcome"]);
    let text = run(&[&outcome, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "booleans"), "Boolean:false null");
    assert_eq!(events(&text, "bytes"), "Byte:44 null");
    assert_eq!(events(&text, "chars"), "Character:c null");
    assert_eq!(events(&text, "shorts"), "Short:-28672 null");
    assert!(events(&text, "floats").starts_with("Float:0.3"));
    assert_eq!(events(&text, "nothing"), "null null");
    assert_eq!(events(&text, "forever"), "null UnsupportedOperationException:limit");
    assert!(events(&text, "longs").starts_with("Long:"));

    let first = folder("first");
    write_targets(&first, &["first"]);
    let text = run(&[&first, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "spin"), "Integer:4 Integer:4", "the target counts its parameter down");
    assert_eq!(events(&text, "floats"), "Float:1.0 Float:1.0");

    let receiver = folder("receiver");
    write_targets(&receiver, &["receiver"]);
    let text = run(&[&receiver, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "nothing"), "Boolean:true Boolean:true");
    assert_eq!(events(&text, "area"), "Boolean:false Boolean:false");
}

#[test]
fn templates_of_every_shape_do_what_they_say() {
    let texts = |template: &str| {
        let folder = folder(&format!("shape-{template}"));
        write_targets(&folder, &[template]);
        run(&[&folder, &classes()], &["targets.Run"])
    };
    assert_eq!(events(&texts("loops"), "nothing"), "left0");
    assert_eq!(events(&texts("switches"), "nothing"), "many");
    let text = texts("catches");
    assert_eq!(events(&text, "nothing"), "finally-1");
    assert_eq!(events(&text, "forever"), "runtime finally-1");
    let text = texts("locals");
    assert_eq!(events(&text, "nothing"), "8 targets.Behaviour 1.5 2.5 3 71");
    assert_eq!(events(&texts("concatenation"), "nothing"), "in-nothing-false out-nothing-false again-nothing");
    assert_eq!(events(&texts("names"), "bytes"), "targets.Behaviour bytes (I)B");
    assert_eq!(events(&texts("building"), "nothing"), "StringBuilder:d");
    assert_eq!(events(&texts("reused"), "nothing"), "true out 4");
    let constants = texts("constants");
    assert!(
        events(&constants, "nothing")
            .starts_with("Integer:1000000 Long:3000000000 Float:1.25 Double:2.718281828459045 String:text")
    );
}

#[test]
fn assembled_methods_are_accepted_with_every_template() {
    let samples = [
        crate::far_jumps::samples(),
        crate::handlers::samples(),
        crate::constructors::samples(),
        crate::old_versions::samples(),
        crate::returns::samples(),
        crate::branches::samples(),
    ];
    let samples: Vec<_> = samples.into_iter().flatten().collect();
    let library = library();
    let mut stacks: Vec<Vec<&str>> = library.names().map(|name| vec![name]).collect();
    stacks.push(vec![]);
    stacks.push(vec!["outer", "catches", "clock"]);
    stacks.push(vec!["loops", "everything", "loops"]);
    let mut runs: Vec<_> = stacks.iter().map(|stack| ("default", EngineOptions::default(), stack)).collect();
    for (name, options) in all_options().into_iter().skip(1) {
        runs.extend(stacks.iter().rev().take(2).map(|stack| (name, options, stack)));
    }
    let (mut folders, mut expected) = (Vec::new(), 0);
    for (options_name, options, stack) in runs {
        let folder = folder(&format!("link-{options_name}-{}", stack.join("-")));
        for (name, class) in &samples {
            let bytes = match merged_everywhere_with(options, class, stack) {
                Outcome::Rewritten(output) => output.bytes,
                Outcome::Unchanged { .. } if stack.is_empty() => class.clone(),
                Outcome::Unchanged { .. } => continue,
            };
            expected += 1;
            std::fs::write(folder.join(format!("{name}.class")), bytes).unwrap();
        }
        folders.push(folder.display().to_string());
    }
    let arguments: Vec<_> = std::iter::once("targets.LinkAll").chain(folders.iter().map(String::as_str)).collect();
    let text = run(&[&classes()], &arguments);
    assert_eq!(text.trim(), format!("linked {expected}"));
    assert!(expected > samples.len() * library.names().count() / 2);
}
