//! Do the two walkers write the same bytes for classes that compilers wrote?

use std::sync::Arc;

use class_source::{JavaHome, JdkImage};
use classfile::{ClassFile, access};
use instrument_core::engine::both_walkers::instrument_by_both;
use instrument_core::level::Level;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Workspace};

use crate::fuzz::built_in;

/// One class in so many of java.base is instrumented.
const STEP: usize = 12;

#[test]
fn both_walkers_write_the_same_bytes_and_every_merged_method_is_checked() {
    let homes = JavaHome::installed(&[]);
    let home = homes.iter().filter(|home| home.has_compiler()).max_by_key(|home| home.feature());
    let image = JdkImage::open(home.expect("the tests need a JDK").path()).unwrap();
    let library = built_in::library();
    let levels: Vec<_> =
        [Level::Off, Level::Watch, Level::Time].map(|level| library.find("timed", level).unwrap()).into();
    let engine = Engine::new(Arc::clone(library), EngineOptions::default());
    let mut workspace = Workspace::new();
    let mut merged = 0;
    let classes = image.classes().map(Result::unwrap).filter(|class| class.module() == "java.base");
    for (number, entry) in classes.step_by(STEP).enumerate() {
        let bytes = image.read(&entry).unwrap();
        let class = ClassFile::parse(&bytes).unwrap();
        let with_code = class
            .methods()
            .iter()
            .enumerate()
            .filter(|(_, method)| method.access_flags & (access::NATIVE | access::ABSTRACT) == 0);
        let template = levels[number % levels.len()];
        let plan: Vec<_> = with_code.map(|(index, _)| MethodPlan::inline(index, template)).collect();
        match instrument_by_both(&engine, &mut workspace, &class, &plan) {
            Ok(Outcome::Rewritten(rewritten)) => merged += rewritten.methods.len() as u64,
            Ok(Outcome::Unchanged { .. }) => {}
            Err(difference) => panic!("{}: {difference}", entry.name()),
        }
    }
    assert!(merged > 2_000, "{merged} methods");
    assert!(
        workspace.checked_methods() >= 2 * merged,
        "{merged} methods twice, {} checks",
        workspace.checked_methods()
    );
}
