//! Are the exception rows right: the target's first, the template's catch-any exactly over the target?

use classfile::opcode::*;

use crate::assembler::{Type, class_with};
use crate::fixtures::{merged, merged_with};
use crate::hostile::Random;
use crate::inspect::{Body, body};
use crate::same_behaviour::all_options;

const THROWABLE: Type = Type::Object("java/lang/Throwable");

/// Handlers of all kinds: typed, one that ends with the code, one that covers itself, one over nothing but a return.
fn many_rows() -> Vec<u8> {
    class_with("Rows", 52, "(I)V", |code| {
        let (handler, last, end) = (code.label(), code.label(), code.label());
        let start = code.limits(2, 1).here();
        code.invoke_static("Rows", "own", "()V");
        let middle = code.here();
        code.op(RETURN);
        code.place(handler).frame(&[Type::Int], &[THROWABLE]).op(POP);
        let inside = code.here();
        code.invoke_static("Rows", "own", "()V").op(RETURN);
        code.place(last).frame(&[Type::Int], &[THROWABLE]).op(ATHROW);
        code.place(end);
        code.row(start, middle, handler, Some("java/lang/RuntimeException"));
        code.row(handler, inside, handler, None);
        code.row(middle, handler, last, Some("java/lang/Error"));
        code.row(inside, end, last, None);
    })
}

pub(crate) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![("Rows", many_rows()), ("OnlyReturn", only_return())]
}

#[test]
fn the_rows_of_the_target_come_first_and_keep_their_meaning() {
    let class = many_rows();
    let output = merged(&class, &["bracket"]);
    let (map, original, merged) = (&output.methods[0].offset_map, body(&class, 0), body(&output.bytes, 0));
    assert_eq!(merged.rows.len(), original.rows.len() + 1);
    let epilog = merged.rows.last().unwrap().end;
    for (before, after) in original.rows.iter().zip(&merged.rows) {
        let new = |offset: u16| map.to_new(offset.into()).map_or(epilog, |offset| offset as u16);
        assert_eq!((after.start, after.end, after.handler), (new(before.start), new(before.end), new(before.handler)));
        assert_eq!(after.catch_type, before.catch_type);
    }
}

#[test]
fn the_catch_any_of_the_template_covers_the_target_and_nothing_else() {
    let class = many_rows();
    let output = merged(&class, &["bracket"]);
    let (map, merged) = (&output.methods[0].offset_map, body(&output.bytes, 0));
    let row = *merged.rows.last().unwrap();
    assert_eq!(row.catch_type, 0);
    assert_eq!(u32::from(row.start), map.to_new(0).unwrap());
    let original = body(&class, 0);
    for step in &merged.steps {
        let covered = (u32::from(row.start)..u32::from(row.end)).contains(&step.offset);
        let of_target = original.steps.iter().any(|own| map.to_new(own.offset) == Some(step.offset));
        let of_return = covered && step.opcode == GOTO;
        assert_eq!(covered, of_target || of_return, "{}", step.offset);
    }
    // What it leads to is outside, so an exception in the epilog does not run it again.
    assert!(!(row.start..row.end).contains(&row.handler));
}

#[test]
fn a_row_that_ends_with_the_code_ends_with_the_target() {
    let class = many_rows();
    let merged = body(&merged(&class, &["straight"]).bytes, 0);
    let epilog = merged.steps.iter().rposition(|step| step.opcode == ATHROW).unwrap() + 1;
    assert_eq!(u32::from(merged.rows.last().unwrap().end), merged.steps[epilog].offset);
}

fn only_return() -> Vec<u8> {
    class_with("OnlyReturn", 52, "()V", |code| {
        let (start, handler) = (code.limits(1, 0).here(), code.label());
        code.op(RETURN);
        code.place(handler).frame(&[], &[THROWABLE]).op(ATHROW).row(start, handler, handler, None);
    })
}

#[test]
fn an_empty_target_has_no_row_of_the_template() {
    let class = class_with("Empty", 52, "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    let merged = body(&merged(&class, &["bracket"]).bytes, 0);
    assert_eq!(merged.rows, [], "there is nothing that could throw");
}

#[test]
fn typed_handlers_of_a_template_keep_their_order_and_type() {
    let class = class_with("Typed", 52, "()V", |code| {
        code.limits(0, 0).invoke_static("Typed", "own", "()V").op(RETURN);
    });
    let output = merged(&class, &["catches"]);
    let rewritten = classfile::ClassFile::parse(&output.bytes).unwrap();
    let merged = body(&output.bytes, 0);
    let start = output.methods[0].offset_map.to_new(0).unwrap();
    let over_target: Vec<_> = merged
        .rows
        .iter()
        .filter(|row| u32::from(row.start) == start)
        .map(|row| {
            rewritten.constant_pool().class_name(row.catch_type).map_or("any".to_owned(), |name| name.to_string())
        })
        .collect();
    assert_eq!(over_target, ["probe/Refusing", "java/lang/RuntimeException", "any"]);
    let before_target = merged.rows.iter().filter(|row| u32::from(row.end) <= start).count();
    assert_eq!(before_target, 1, "the prolog's own");
}

#[test]
fn a_handler_at_the_first_instruction_is_the_targets_and_not_the_prologs() {
    // No verifier takes it, but it is no reason to fail.
    let class = class_with("AtStart", 49, "()V", |code| {
        let start = code.limits(1, 0).here();
        code.op(NOP).invoke_static("AtStart", "own", "()V");
        let end = code.here();
        code.op(RETURN).row(start, end, start, None);
    });
    for template in ["straight", "bracket", "loops", "catches"] {
        let output = merged(&class, &[template]);
        let (start, merged) = (output.methods[0].offset_map.to_new(0).unwrap(), body(&output.bytes, 0));
        assert_eq!((u32::from(merged.rows[0].start), u32::from(merged.rows[0].handler)), (start, start), "{template}");
        assert!(start > 0);
    }
}

/// Blocks of random length, jumps between them, and rows from any block to any later one with any block as handler.
fn random_rows(random: &mut Random) -> Vec<u8> {
    let blocks = 2 + random.below(12);
    class_with("RandomRows", 52, "(I)I", |code| {
        let labels: Vec<_> = (0..=blocks).map(|_| code.limits(2, 1).label()).collect();
        for block in 0..blocks {
            code.place(labels[block]).frame(&[Type::Int], &[]).repeat(NOP, 1 + random.below(9));
            match random.below(4) {
                0 => drop(code.iload(0).jump(IFEQ, labels[random.below(blocks)])),
                1 => drop(code.iload(0).op(IRETURN)),
                2 => drop(code.jump(GOTO, labels[random.below(blocks)])),
                _ => {}
            }
        }
        code.frame(&[Type::Int], &[]).iload(0).op(IRETURN).place(labels[blocks]);
        for _ in 0..random.below(8) {
            let start = random.below(blocks);
            let end = start + 1 + random.below(blocks - start);
            let catches = [None, Some("java/lang/Error"), Some("java/lang/RuntimeException")][random.below(3)];
            code.row(labels[start], labels[end], labels[random.below(blocks)], catches);
        }
    })
}

/// Handler and type of each row over an instruction, in order.
fn covering(body: &Body, offset: u32) -> Vec<(u32, u16)> {
    let rows = body.rows.iter().filter(|row| (u32::from(row.start)..u32::from(row.end)).contains(&offset));
    rows.map(|row| (u32::from(row.handler), row.catch_type)).collect()
}

#[test]
fn random_rows_keep_their_meaning_whatever_is_put_in() {
    let templates = ["bare", "straight", "bracket", "clock", "loops", "catches"];
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let class = random_rows(&mut random);
        let mut stack = Vec::new();
        for _ in 0..=random.below(3) {
            stack.push(templates[random.below(templates.len())]);
        }
        let original = body(&class, 0);
        let options = all_options()[random.below(5)];
        let output = merged_with(options.1, &class, &stack);
        let (map, merged) = (&output.methods[0].offset_map, body(&output.bytes, 0));
        let new = |offset: u32| map.to_new(offset).unwrap();
        for step in original.steps.iter().filter(|step| !(IRETURN..=RETURN).contains(&step.opcode)) {
            let before: Vec<_> = covering(&original, step.offset);
            let before: Vec<_> = before.into_iter().map(|(handler, class)| (new(handler), class)).collect();
            let after = covering(&merged, new(step.offset));
            // The target's rows first, then those that the templates add.
            assert_eq!(after[..before.len()], before, "seed {seed}, {stack:?}, {}, at {}", options.0, step.offset);
            let handlers = original.rows.iter().map(|row| new(row.handler.into())).collect::<Vec<_>>();
            assert!(after[before.len()..].iter().all(|(handler, _)| !handlers.contains(handler)), "seed {seed}");
        }
    }
}
