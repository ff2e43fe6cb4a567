//! Are templates never changed, and is the output always the same, however many threads merge at once?

use std::hash::{DefaultHasher, Hash, Hasher};

use classfile::ClassFile;
use instrument_core::template::TemplateLibrary;
use instrument_core::{MethodPlan, Outcome, Workspace};

use crate::fixtures::{compiled, engine, library, plan};

const THREADS: usize = 4;
const MERGES: usize = 10_000;

fn fingerprint(library: &TemplateLibrary) -> u64 {
    let mut hasher = DefaultHasher::new();
    // The derived text shows every field of every template.
    format!("{library:?}").hash(&mut hasher);
    hasher.finish()
}

fn plans(count: usize) -> Vec<MethodPlan> {
    let stacks = [&["bracket"][..], &["everything"], &["outer", "inner"], &["catches"], &["locals", "switches"]];
    (0..count).map(|index| plan(index, stacks[index % stacks.len()])).collect()
}

fn hash_of(outcome: &Outcome) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{outcome:?}").hash(&mut hasher);
    hasher.finish()
}

#[test]
fn ten_thousand_merges_on_four_threads_change_no_template_and_give_one_result() {
    let before = fingerprint(&library());
    let bytes = compiled("targets/Behaviour");
    let class = ClassFile::parse(&bytes).unwrap();
    let plans = plans(class.methods().len());
    let rounds = MERGES / THREADS / plans.len() + 1;
    let expected = hash_of(&engine().instrument(&mut Workspace::new(), &class, &plans));
    let shared = engine();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                // The workspace is used again, with other classes in between.
                let mut workspace = Workspace::new();
                let other = compiled("targets/Run");
                for _ in 0..rounds {
                    let outcome = shared.instrument(&mut workspace, &class, &plans);
                    assert_eq!(hash_of(&outcome), expected);
                    shared.instrument(&mut workspace, &ClassFile::parse(&other).unwrap(), &plans[..1]);
                }
            });
        }
    });
    assert_eq!(fingerprint(&library()), before);
}
