//! Does a template see every exit of a method exactly once when a JVM runs it?

use std::path::Path;
use std::sync::Arc;

use classfile::ClassFile;
use instrument_core::level::Level;
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, MethodPlan, Outcome, Workspace};

use crate::fixtures::{classes, compiled};
use crate::jvm::{events, folder, lines, run};
use crate::same_behaviour::all_options;

/// `targets.Exits` with these templates around each of its methods but the constructor.
fn write_exits(folder: &Path, engine: &Engine, templates: &[&str]) {
    let original = compiled("targets/Exits");
    let class = ClassFile::parse(&original).unwrap();
    let library = engine.library();
    let templates: Vec<_> = templates.iter().map(|name| library.find(name, Level::Time).unwrap()).collect();
    let methods = class.methods().iter().enumerate().filter(|(_, method)| method.name != "<init>");
    let plan: Vec<_> = methods.map(|(index, _)| MethodPlan::inline(index, templates.clone())).collect();
    match engine.instrument(&mut Workspace::new(), &class, &plan) {
        Outcome::Rewritten(output) if output.refused.is_empty() => {
            std::fs::create_dir_all(folder.join("targets")).unwrap();
            std::fs::write(folder.join("targets/Exits.class"), output.bytes).unwrap();
        }
        other => panic!("{other:?}"),
    }
}

fn library() -> Arc<TemplateLibrary> {
    let mut library = TemplateLibrary::new();
    for name in ["templates/Shapes", "templates/Failing"] {
        library.add_class(&compiled(name), "test").unwrap();
    }
    Arc::new(library)
}

fn run_exits(folder: &Path) -> String {
    run(&[folder, &classes()], &["targets.RunExits"])
}

/// A result, an exception of its own, of a callee, of a full stack below it, and one that another thread puts into it.
const WAYS: [&str; 5] = ["returns", "throws", "callee", "overflow", "stop"];

#[test]
fn each_exit_is_seen_once() {
    let original = run(&[&classes()], &["targets.RunExits"]);
    for (name, options) in all_options() {
        let folder = folder(&format!("exits-{name}"));
        write_exits(&folder, &Engine::new(library(), options), &["bracket"]);
        let text = run_exits(&folder);
        assert_eq!(lines(&text, "result "), lines(&original, "result "), "{name}");
        assert!(text.contains("result overflow = threw java.lang.StackOverflowError"), "{text}");
        for way in WAYS {
            assert_eq!(events(&text, way), "enter exit", "{name}");
        }
    }
}

#[test]
fn stacked_templates_are_each_left_once() {
    let folder = folder("exits-stacked");
    write_exits(&folder, &Engine::new(library(), all_options()[0].1), &["outer", "bracket", "inner"]);
    let text = run_exits(&folder);
    for way in WAYS {
        assert_eq!(events(&text, way), "outer-in enter inner-in inner-out exit outer-out");
    }
}

#[test]
fn an_epilog_that_throws_does_not_run_twice() {
    let folder = folder("exits-failing");
    write_exits(&folder, &Engine::new(library(), all_options()[0].1), &["failing"]);
    let text = run_exits(&folder);
    for way in &WAYS[..4] {
        assert_eq!(events(&text, way), "enter exit");
        let expected = format!("result {way} = threw java.lang.UnsupportedOperationException: probe");
        assert!(text.contains(&expected), "{text}");
    }
    // The outer of two is left by the inner one's exception, once.
    write_exits(&folder, &Engine::new(library(), all_options()[0].1), &["outer", "failing"]);
    let text = run_exits(&folder);
    for way in &WAYS[..4] {
        assert_eq!(events(&text, way), "outer-in enter exit outer-out");
    }
}
