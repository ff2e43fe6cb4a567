//! Any class as a template: the linter takes it or says why not, and what it takes can be merged or is refused.

use classfile::ClassFile;
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Workspace};

/// Two ordinary classes of the engine's tests to merge into: static and instance methods, constructors, handlers, switches.
const TARGETS: [&[u8]; 2] = [
    include_bytes!("../../instrument-core/tests/templates/classes/targets/Behaviour$Child.class"),
    include_bytes!("../../instrument-core/tests/templates/classes/probe/Log.class"),
];

pub fn check(data: &[u8]) {
    let mut library = TemplateLibrary::new();
    match library.add_class(data, "fuzz.jar") {
        Ok(count) => assert!(library.iter().count() <= count),
        Err(problems) => {
            assert!(!problems.is_empty() && library.iter().count() == 0);
            assert!(problems.iter().all(|problem| problem.to_string().contains("(fuzz.jar): ")));
            return;
        }
    }
    let templates: Vec<_> = library.iter().map(|(id, _)| id).collect();
    let engine = Engine::new(library.into(), EngineOptions::default());
    let mut workspace = Workspace::new();
    for template in templates {
        for target in TARGETS {
            let class = ClassFile::parse(target).expect("the target is a class");
            let plan: Vec<_> = (0..class.methods().len())
                .map(|method_index| MethodPlan::inline(method_index, vec![template]))
                .collect();
            let outcome = engine.instrument(&mut workspace, &class, &plan);
            if let Outcome::Rewritten(rewritten) = outcome {
                ClassFile::parse(&rewritten.bytes).expect("what is written can be read");
            }
        }
    }
}
