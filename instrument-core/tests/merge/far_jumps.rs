//! Methods over 32 KiB: do jumps that no longer reach their target widen or take an island, and does layout always end?

use classfile::opcode::*;
use instrument_core::{OffsetMap, Refusal};

use crate::assembler::{CodeBuilder, Type, class_with};
use crate::branches::assert_same_flow;
use crate::fixtures::{merged, refusal};
use crate::inspect::{Body, Step, body, needed_stack};

/// Blocks that each have a return, which grows when it is replaced.
fn blocks(code: &mut CodeBuilder<'_>, blocks: usize, length: usize, locals: &[Type]) {
    for _ in 0..blocks {
        let next = code.label();
        code.iload(0).jump(IFNE, next).bytes(&[ICONST_1, IRETURN]);
        code.place(next).frame(locals, &[]).repeat(NOP, length - 7);
    }
}

/// A conditional jump and a `goto`, forward and back, over nearly 32 KiB that grow by more than is left.
fn over_returns(major: u16) -> Vec<u8> {
    class_with("FarOverReturns", major, "(I)I", |code| {
        let (middle, end) = (code.limits(1, 1).label(), code.label());
        code.iload(0).jump(IFEQ, end).iload(0).jump(IFLT, end);
        blocks(code, 160, 100, &[Type::Int]);
        code.jump(GOTO, middle).place(middle).frame(&[Type::Int], &[]);
        blocks(code, 160, 100, &[Type::Int]);
        code.iload(0).jump(IFGT, middle);
        code.place(end).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
    })
}

/// The same, but all within a try block whose handler needs a local that the jump's target does not have.
fn over_protected_code() -> Vec<u8> {
    class_with("FarOverProtected", 52, "(I)I", |code| {
        let (end, handler) = (code.limits(1, 2).label(), code.label());
        code.iload(0).bytes(&[ISTORE_1]).iload(0).jump(IFEQ, end);
        let start = code.here();
        blocks(code, 320, 100, &[Type::Int, Type::Int]);
        let stop = code.here();
        code.bytes(&[ICONST_3, IRETURN]);
        code.place(end).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
        code.place(handler).frame(&[Type::Int, Type::Int], &[Type::Object("java/lang/Throwable")]);
        code.bytes(&[POP]).iload(1).op(IRETURN).row(start, stop, handler, None);
    })
}

/// The only places that are not fallen into are a table of 12,400 bytes and returns, all nearly out of reach.
fn over_big_switch() -> Vec<u8> {
    class_with("FarOverSwitch", 52, "(I)I", |code| {
        let (end, middle) = (code.limits(1, 1).label(), code.label());
        code.iload(0).jump(IFEQ, end).repeat(NOP, 20_300);
        code.iload(0).table_switch(0, middle, &vec![middle; 3_100]);
        code.place(middle).frame(&[Type::Int], &[]);
        blocks(code, 5, 8, &[Type::Int]);
        code.place(end).frame(&[Type::Int], &[]).repeat(NOP, 1_000).bytes(&[ICONST_2, IRETURN]);
    })
}

/// Far methods for the JVM to judge.
pub(crate) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("FarOverReturns", over_returns(52)),
        ("FarOverProtected", over_protected_code()),
        ("FarOverSwitch", over_big_switch()),
        ("FarConditionalBack", back_to_the_start()),
    ]
}

fn back_to_the_start() -> Vec<u8> {
    class_with("FarConditionalBack", 52, "(I)I", |code| {
        let start = code.limits(1, 1).here();
        code.frame(&[Type::Int], &[]).bytes(&[IINC, 0, 1]);
        blocks(code, 320, 102, &[Type::Int]);
        code.iload(0).jump(IFLT, start).iload(0).jump(IFGE, start).bytes(&[ICONST_2, IRETURN]);
    })
}

/// A return's jump to the epilog is wide as well, but nothing jumps to it.
fn is_island(merged: &Body, map: &OffsetMap, step: &Step) -> bool {
    let framed = merged.frames.iter().any(|frame| frame.offset == step.offset);
    step.opcode == GOTO_W && framed && map.to_original(step.offset).is_none()
}

fn islands(original: &Body, merged: &Body) -> usize {
    let wide = |body: &Body| body.steps.iter().filter(|step| step.opcode == GOTO_W).count();
    wide(merged) - wide(original)
}

#[test]
fn far_jumps_keep_their_destination() {
    for (name, class) in samples() {
        for templates in [&["bracket"][..], &["loops"], &["clock", "everything"]] {
            let output = merged(&class, templates);
            let (original, merged) = (body(&class, 0), body(&output.bytes, 0));
            assert_same_flow(&original, &merged, &output.methods[0].offset_map);
            assert_eq!(needed_stack(&output.bytes, &merged), merged.max_stack, "{name}");
            assert!(merged.code.len() > 32_767, "{name} is too small to try anything");
            assert!(output.methods[0].passes > 1 && output.methods[0].passes < 10, "{}", output.methods[0].passes);
            assert!(islands(&original, &merged) > 0, "{name}");
        }
    }
}

#[test]
fn an_island_has_the_frame_of_its_target() {
    let class = over_returns(52);
    let output = merged(&class, &["bracket"]);
    let (map, merged) = (&output.methods[0].offset_map, body(&output.bytes, 0));
    let jump = merged.step_at(map.to_new(2).unwrap());
    let island = merged.step_at(jump.targets[0]);
    assert_eq!(island.opcode, GOTO_W);
    let (here, there) = (merged.frame_at(island.offset), merged.frame_at(island.targets[0]));
    assert_eq!((&here.locals, &here.stack), (&there.locals, &there.stack));
    // Both jumps to one target share it.
    assert_eq!(merged.step_at(map.to_new(7).unwrap()).targets, jump.targets);
}

#[test]
fn an_island_is_not_protected_by_the_handler_around_it() {
    let class = over_protected_code();
    let output = merged(&class, &["bracket"]);
    let (map, merged) = (&output.methods[0].offset_map, body(&output.bytes, 0));
    let handler = map.to_new(body(&class, 0).rows[0].handler.into()).unwrap();
    let rows: Vec<_> = merged.rows.iter().filter(|row| u32::from(row.handler) == handler).collect();
    let covered = |offset: u32| rows.iter().any(|row| (u32::from(row.start)..u32::from(row.end)).contains(&offset));
    let islands: Vec<_> = merged.steps.iter().filter(|step| is_island(&merged, map, step)).collect();
    assert!(islands.iter().any(|island| merged.frame_at(island.offset).locals.len() < 2), "the case is not tried");
    for island in islands.iter().filter(|island| merged.frame_at(island.offset).locals.len() < 2) {
        assert!(!covered(island.offset), "island at {}", island.offset);
    }
    // Everything that was protected still is.
    for step in &body(&class, 0).steps {
        let before = (u32::from(body_row(&class).0)..u32::from(body_row(&class).1)).contains(&step.offset);
        assert_eq!(covered(map.to_new(step.offset).unwrap()), before, "{}", step.offset);
        if step.offset > 400 {
            break;
        }
    }
}

fn body_row(class: &[u8]) -> (u16, u16) {
    let row = body(class, 0).rows[0];
    (row.start, row.end)
}

#[test]
fn old_classes_have_islands_too() {
    let class = over_returns(48);
    let output = merged(&class, &["bracket"]);
    assert_same_flow(&body(&class, 0), &body(&output.bytes, 0), &output.methods[0].offset_map);
}

#[test]
fn a_jump_without_any_island_in_reach_is_refused() {
    // The code that grows is directly before the jump's target, so that even a jump to that place is out of reach.
    let class = class_with("TooFar", 52, "(I)I", |code| {
        let end = code.limits(1, 1).label();
        code.iload(0).jump(IFEQ, end).repeat(NOP, 32_762).bytes(&[ICONST_1, IRETURN]);
        code.place(end).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
    });
    assert_eq!(refusal(&class, "bracket"), Refusal::JumpTooFar);
}

#[test]
fn a_switch_jumps_any_distance() {
    let class = class_with("FarSwitch", 52, "(I)I", |code| {
        let (near, far) = (code.limits(1, 1).label(), code.label());
        code.iload(0).lookup_switch(near, &[(1, far), (2, near)]);
        code.place(near).frame(&[Type::Int], &[]).repeat(NOP, 50_000);
        code.place(far).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
    });
    let output = merged(&class, &["bracket"]);
    assert_same_flow(&body(&class, 0), &body(&output.bytes, 0), &output.methods[0].offset_map);
}
