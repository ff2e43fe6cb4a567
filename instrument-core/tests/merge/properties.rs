//! Whatever the method and whatever the templates: jumps, handlers and tables mean what they meant, the output passes the engine's
//! own check, is the same each time, and the map of offsets leads to every instruction and back.

use classfile::ExceptionRow;
use classfile::opcode::*;
use instrument_core::{EngineOptions, OffsetMap, Outcome};

use crate::branches::assert_same_flow;
use crate::fixtures::{instrument_with, plan};
use crate::hostile::Random;
use crate::inspect::{Body, body, needed_stack};
use crate::random_program::random_program;
use crate::same_behaviour::all_options;

const TEMPLATES: [&str; 9] =
    ["bare", "straight", "bracket", "clock", "loops", "switches", "catches", "locals", "outcome"];

/// Asserts that each row covers the same instructions and has the same handler as before, and that the template's rows are last.
fn assert_same_handlers(original: &Body, merged: &Body, map: &OffsetMap) {
    let last = original.steps.last().expect("a method has code");
    let mut left = merged.rows.iter();
    for before in &original.rows {
        let only_last = u32::from(before.start) == last.offset && (IRETURN..=RETURN).contains(&last.opcode);
        let same = |after: &ExceptionRow| Some(u32::from(after.start)) == map.to_new(before.start.into());
        if only_last && !left.clone().next().is_some_and(same) {
            // A row over nothing but a last return that became nothing at all is left out.
            continue;
        }
        let after = left.next().expect("every row that covers something is there");
        assert_eq!(Some(u32::from(after.handler)), map.to_new(before.handler.into()));
        assert_eq!(after.catch_type, before.catch_type);
        for step in &original.steps {
            let new = map.to_new(step.offset).expect("every instruction is in the map");
            let covered = |row: &ExceptionRow, at: u32| (u32::from(row.start)..u32::from(row.end)).contains(&at);
            // A last return that became no instruction at all is at the end of the row.
            let gone = (IRETURN..=RETURN).contains(&step.opcode) && new == u32::from(after.end);
            let same = covered(before, step.offset) == covered(after, new);
            assert!(gone || same, "{before:?} {after:?} at {}", step.offset);
        }
    }
    let of_target = |row: &ExceptionRow| map.to_original(row.handler.into()).is_some();
    assert!(!left.any(of_target), "a row of the target follows one of the template");
}

/// Strictly ascending over all instructions that still have bytes, and back again.
fn assert_map(original: &Body, merged: &Body, map: &OffsetMap) {
    let mut last = None;
    for step in &original.steps {
        let new = map.to_new(step.offset).expect("every instruction is in the map");
        if map.to_original(new) != Some(step.offset) {
            assert!((IRETURN..=RETURN).contains(&step.opcode), "{} is lost", step.offset);
            continue;
        }
        assert!(last < Some(new), "not ascending at {}", step.offset);
        last = Some(new);
        assert!(merged.has_step_at(new), "no instruction at {new}");
    }
}

fn check(class: &[u8], templates: &[&str], options: EngineOptions) -> bool {
    let plan = [plan(0, templates)];
    let output = match instrument_with(options, class, &plan) {
        Outcome::Rewritten(output) => output,
        Outcome::Unchanged { refused } => {
            let reason = &refused[0].reason;
            // Stacks that differ from way to way may be refused, but nothing may be written that fails the own check.
            assert!(matches!(reason.key(), "surplus-operands" | "malformed"), "{templates:?}: {reason}");
            return false;
        }
    };
    assert_eq!(
        Outcome::Rewritten(output.clone()),
        instrument_with(options, class, &plan),
        "not the same the second time"
    );
    let (before, after) = (body(class, 0), body(&output.bytes, 0));
    let map = &output.methods[0].offset_map;
    if options == EngineOptions::default() {
        assert_same_flow(&before, &after, map);
        assert_same_handlers(&before, &after, map);
    }
    assert_map(&before, &after, map);
    assert!(needed_stack(&output.bytes, &after) <= after.max_stack);
    true
}

#[test]
fn random_programs_mean_the_same_under_random_templates() {
    let mut merged = 0;
    for seed in 0..1_500 {
        let mut random = Random::new(seed + 4_000_000);
        let class = random_program(&mut random);
        let count = 1 + random.below(3);
        let templates: Vec<_> = (0..count).map(|_| TEMPLATES[random.below(TEMPLATES.len())]).collect();
        let result = std::panic::catch_unwind(|| check(&class, &templates, EngineOptions::default()));
        merged += usize::from(result.unwrap_or_else(|_| panic!("seed {seed}, {templates:?}")));
    }
    assert!(merged > 1_200, "only {merged} of 1,500 programs took their templates");
}

#[test]
fn random_programs_keep_their_offsets_with_every_option() {
    let mut merged = 0;
    for seed in 0..400 {
        let mut random = Random::new(seed + 5_000_000);
        let class = random_program(&mut random);
        let templates = [TEMPLATES[random.below(TEMPLATES.len())]];
        for (name, options) in all_options() {
            let result = std::panic::catch_unwind(|| check(&class, &templates, options));
            merged += usize::from(result.unwrap_or_else(|_| panic!("seed {seed}, {templates:?}, {name}")));
        }
    }
    assert!(merged > 1_600, "only {merged} of 2,000");
}
