//! Does anything in a class file make the engine panic, hang or hand out a class that it cannot read itself?

use classfile::ClassFile;
use instrument_core::template::TemplateLibrary;
use instrument_core::{MethodPlan, Outcome, Workspace};

use crate::fixtures::{compiled, engine, plan};

/// A small generator with a fixed seed (splitmix64), so that a failure can be had again.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const STACKS: [&[&str]; 6] =
    [&["bracket"], &["everything"], &["catches", "loops"], &["concatenation"], &["straight"], &["locals", "all"]];

/// Gives the number of methods that were rewritten.
fn through_the_engine(bytes: &[u8], random: &mut Random, workspace: &mut Workspace) -> usize {
    let Ok(class) = ClassFile::parse(bytes) else { return 0 };
    let templates = STACKS[random.below(STACKS.len())];
    let plans: Vec<MethodPlan> = (0..class.methods().len()).map(|index| plan(index, templates)).collect();
    match engine().instrument(workspace, &class, &plans) {
        Outcome::Rewritten(output) => {
            let rewritten = ClassFile::parse(&output.bytes).expect("what is written can be read");
            assert_eq!(rewritten.methods().len(), class.methods().len());
            for method in &output.methods {
                rewritten.methods()[method.method_index].code(&rewritten).expect("its code, too");
            }
            output.methods.len()
        }
        Outcome::Unchanged { .. } => 0,
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0, 0xFF, 0x7F, 0x80][random.below(4)],
            3 => drop(bytes.remove(at)),
            4 => bytes.insert(at, random.next() as u8),
            _ => {
                let from = random.below(bytes.len());
                bytes[at] = bytes[from];
            }
        }
    }
}

fn sources() -> Vec<Vec<u8>> {
    let compiled = ["targets/Behaviour", "targets/Behaviour$Child", "targets/Shape", "probe/Log"].map(compiled);
    let assembled = [crate::old_versions::samples(), crate::constructors::samples(), crate::handlers::samples()];
    compiled.into_iter().chain(assembled.into_iter().flatten().map(|(_, class)| class)).collect()
}

#[test]
fn mutated_classes_never_break_the_engine() {
    let (sources, mut workspace, mut rewritten) = (sources(), Workspace::new(), 0);
    for seed in 0..6_000 {
        let mut random = Random::new(seed);
        let mut bytes = sources[random.below(sources.len())].clone();
        mutate(&mut bytes, &mut random);
        rewritten += through_the_engine(&bytes, &mut random, &mut workspace);
    }
    assert!(rewritten > 2_000, "the mutations leave too little to merge: {rewritten}");
}

/// Mutations inside the code of one method, which the outline does not look at.
#[test]
fn mutated_code_never_breaks_the_engine() {
    let (sources, mut workspace, mut rewritten) = (sources(), Workspace::new(), 0);
    for seed in 0..6_000 {
        let mut random = Random::new(seed + 1_000_000);
        let mut bytes = sources[random.below(sources.len())].clone();
        let class = ClassFile::parse(&bytes).unwrap();
        let method = class.methods()[random.below(class.methods().len())];
        let range = method.attributes_offset + 2..method.end;
        for _ in 0..1 + random.below(3) {
            let at = range.start + random.below(range.len());
            bytes[at] = random.next() as u8;
        }
        rewritten += through_the_engine(&bytes, &mut random, &mut workspace);
    }
    assert!(rewritten > 2_000, "the mutations leave too little to merge: {rewritten}");
}

#[test]
fn truncated_classes_never_break_the_engine() {
    let (bytes, mut workspace) = (compiled("targets/Behaviour$Child"), Workspace::new());
    for length in 0..bytes.len() {
        assert_eq!(through_the_engine(&bytes[..length], &mut Random::new(7), &mut workspace), 0, "{length}");
    }
}

#[test]
fn mutated_templates_never_break_the_linter_or_a_merge() {
    let target = compiled("targets/Behaviour$Child");
    let target = ClassFile::parse(&target).unwrap();
    let (mut workspace, mut accepted) = (Workspace::new(), 0);
    for seed in 0..3_000 {
        let mut random = Random::new(seed + 2_000_000);
        let mut bytes = compiled(["templates/Shapes", "templates/Values", "templates/Modern"][random.below(3)]);
        mutate(&mut bytes, &mut random);
        let mut library = TemplateLibrary::new();
        if library.add_class(&bytes, "mutated").is_err() {
            continue;
        }
        accepted += 1;
        let ids: Vec<_> = library.iter().map(|(id, _)| id).collect();
        let engine = instrument_core::Engine::new(library.into(), Default::default());
        for id in ids {
            let plans = (0..target.methods().len()).map(|method_index| MethodPlan::inline(method_index, vec![id]));
            engine.instrument(&mut workspace, &target, &plans.collect::<Vec<_>>());
        }
    }
    assert!(accepted > 300, "{accepted}");
}
