//! Templates and targets compiled by javac (`tests/templates/build.sh`), and short ways through the engine.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use classfile::instruction::Instructions;
use classfile::{ClassFile, opcode};
use instrument_core::engine::both_walkers::instrument_by_both;
use instrument_core::level::Level;
use instrument_core::template::{TemplateId, TemplateLibrary};
use instrument_core::{CallSite, Engine, EngineOptions, MethodPlan, Outcome, Refusal, Rewritten, Workspace};

/// Folder of the checked-in classes.
pub(crate) fn classes() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/templates/classes")
}

/// A checked-in class by its internal name.
pub(crate) fn compiled(name: &str) -> Vec<u8> {
    let path = classes().join(format!("{name}.class"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run tests/templates/build.sh", path.display()))
}

/// All good templates.
pub(crate) fn library() -> Arc<TemplateLibrary> {
    static LIBRARY: OnceLock<Arc<TemplateLibrary>> = OnceLock::new();
    let fill = || {
        let mut library = TemplateLibrary::new();
        for name in
            ["templates/Shapes", "templates/Values", "templates/Captures", "templates/CallSites", "templates/Modern"]
        {
            library.add_class(&compiled(name), "test").unwrap_or_else(|problems| panic!("{problems:#?}"));
        }
        Arc::new(library)
    };
    Arc::clone(LIBRARY.get_or_init(fill))
}

pub(crate) fn engine() -> Engine {
    engine_with(EngineOptions::default())
}

/// An engine that keeps offset maps, whatever the other options.
pub(crate) fn engine_with(options: EngineOptions) -> Engine {
    Engine::new(library(), EngineOptions { offset_maps: true, ..options })
}

pub(crate) fn template(name: &str) -> TemplateId {
    library().find(name, Level::Time).unwrap_or_else(|| panic!("no template {name}"))
}

pub(crate) fn plan(method_index: usize, templates: &[&str]) -> MethodPlan {
    MethodPlan::inline(method_index, templates.iter().map(|name| template(name)).collect::<Vec<_>>())
}

pub(crate) fn instrument(class: &[u8], plan: &[MethodPlan]) -> Outcome {
    instrument_with(EngineOptions::default(), class, plan)
}

pub(crate) fn instrument_with(options: EngineOptions, class: &[u8], plan: &[MethodPlan]) -> Outcome {
    let class = ClassFile::parse(class).expect("the test's class can be read");
    let outcome = engine_with(options).instrument(&mut Workspace::new(), &class, plan);
    if options == EngineOptions::default() {
        // Without offset maps the engine merges in a single pass where it can.
        let both = instrument_by_both(&Engine::new(library(), options), &mut Workspace::new(), &class, plan);
        let usual = both.unwrap_or_else(|difference| panic!("the two walkers differ: {difference}"));
        assert_same_but_for_offset_maps(&usual, &outcome);
    }
    outcome
}

fn assert_same_but_for_offset_maps(usual: &Outcome, with_maps: &Outcome) {
    match (usual, with_maps) {
        (Outcome::Rewritten(usual), Outcome::Rewritten(with_maps)) => {
            assert!(usual.bytes == with_maps.bytes, "other bytes with offset maps");
            assert_eq!(usual.probes, with_maps.probes);
            assert_eq!(usual.refused, with_maps.refused);
        }
        (usual, with_maps) => assert_eq!(usual, with_maps),
    }
}

/// The class with the templates merged into its method `index`.
pub(crate) fn merged_at(class: &[u8], index: usize, templates: &[&str]) -> Rewritten {
    match instrument(class, &[plan(index, templates)]) {
        Outcome::Rewritten(rewritten) => rewritten,
        Outcome::Unchanged { refused } => panic!("refused: {}", refused.first().expect("a reason").reason),
    }
}

/// The class with the templates merged into its first method, with these options.
pub(crate) fn merged_with(options: EngineOptions, class: &[u8], templates: &[&str]) -> Rewritten {
    match instrument_with(options, class, &[plan(0, templates)]) {
        Outcome::Rewritten(rewritten) => rewritten,
        Outcome::Unchanged { refused } => panic!("refused: {}", refused.first().expect("a reason").reason),
    }
}

/// The class with the templates merged into its first method.
pub(crate) fn merged(class: &[u8], templates: &[&str]) -> Rewritten {
    merged_at(class, 0, templates)
}

/// Why the first method cannot have this template.
pub(crate) fn refusal(class: &[u8], template: &str) -> Refusal {
    match instrument(class, &[plan(0, &[template])]) {
        Outcome::Rewritten(_) => panic!("{template} was merged"),
        Outcome::Unchanged { refused } => refused.first().expect("a reason").reason.clone(),
    }
}

/// A site at each call in the method's own code, numbered from `first` on.
pub(crate) fn every_call(class: &ClassFile<'_>, method_index: usize, first: u16) -> Vec<CallSite> {
    let code = class.methods()[method_index].code(class).expect("the code can be read");
    let instructions = code.iter().flat_map(|code| Instructions::new(code.bytecode)).flatten();
    let calls = instructions.filter(|step| (opcode::INVOKEVIRTUAL..=opcode::INVOKEDYNAMIC).contains(&step.opcode));
    calls.zip(first..).map(|(step, number)| CallSite { offset: step.offset as u16, number }).collect()
}

/// A merge into all methods that have code, with a site at each of their calls.
pub(crate) fn with_every_site(options: EngineOptions, class: &[u8], templates: &[&str]) -> Outcome {
    let parsed = ClassFile::parse(class).expect("the test's class can be read");
    let sites = |index| every_call(&parsed, index, 0);
    let plans: Vec<_> =
        (0..parsed.methods().len()).map(|index| plan(index, templates).with_sites(sites(index))).collect();
    instrument_with(options, class, &plans)
}

/// A merge of one template into all methods that have code; methods that are refused stay.
pub(crate) fn merged_everywhere(class: &[u8], templates: &[&str]) -> Outcome {
    merged_everywhere_with(EngineOptions::default(), class, templates)
}

pub(crate) fn merged_everywhere_with(options: EngineOptions, class: &[u8], templates: &[&str]) -> Outcome {
    let parsed = ClassFile::parse(class).expect("the test's class can be read");
    let plans: Vec<_> = (0..parsed.methods().len()).map(|index| plan(index, templates)).collect();
    instrument_with(options, class, &plans)
}
