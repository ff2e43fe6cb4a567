//! Does every way out of the target run the epilog, with the result it had?

use crate::assembler::{CodeBuilder, Type, class_with};
use crate::fixtures::merged;
use crate::inspect::{Body, body, needed_stack};
use classfile::opcode::*;

/// Offsets of instructions with one of these opcodes.
fn places(body: &Body, wanted: &[u8]) -> Vec<u32> {
    body.steps.iter().filter(|step| wanted.contains(&step.opcode)).map(|step| step.offset).collect()
}

const RETURNS: [u8; 6] = [IRETURN, LRETURN, FRETURN, DRETURN, ARETURN, RETURN];

fn forty_returns(code: &mut CodeBuilder<'_>) {
    code.limits(1, 1);
    for value in 0..40 {
        let next = code.label();
        code.iload(0).bytes(&[BIPUSH, value]).jump(IF_ICMPNE, next).bytes(&[BIPUSH, value, IRETURN]);
        code.place(next).frame(&[Type::Int], &[]);
    }
    code.limits(2, 1).bytes(&[ICONST_M1, IRETURN]);
}

/// Returns of all kinds for the JVM to judge.
pub(crate) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("Forty", class_with("Forty", 52, "(I)I", forty_returns)),
        ("Junk", with_junk(&[ICONST_5, ACONST_NULL], 2)),
        ("Reverse", in_reverse("Reverse", 48)),
    ]
}

#[test]
fn forty_returns_all_go_to_the_one_epilog() {
    let class = class_with("Forty", 52, "(I)I", forty_returns);
    let output = merged(&class, &["bracket"]);
    let map = &output.methods[0].offset_map;
    let original = body(&class, 0);
    let merged = body(&output.bytes, 0);
    let mut targets = Vec::new();
    for offset in places(&original, &RETURNS) {
        let store = merged.step_at(map.to_new(offset).unwrap());
        assert_eq!(store.opcode, ISTORE_1, "the result is kept in the slot after the target's");
        let next = merged.step_at(store.offset + 1);
        targets.push(if next.opcode == GOTO { next.targets[0] } else { next.offset });
    }
    targets.dedup();
    assert_eq!((places(&original, &RETURNS).len(), targets.len()), (41, 1));
    assert_eq!(places(&merged, &RETURNS).len(), 1, "one way out is left");
    assert_eq!(output.methods[0].passes, 1, "passes do not depend on the number of branches");
}

#[test]
fn every_type_of_result_survives() {
    let rows: [(&str, u8, u8, u8, u16); 6] = [
        ("()I", ICONST_0, ISTORE_0, IRETURN, 1),
        ("()J", LCONST_0, LSTORE_0, LRETURN, 2),
        ("()F", FCONST_0, FSTORE_0, FRETURN, 1),
        ("()D", DCONST_0, DSTORE_0, DRETURN, 2),
        ("()Ljava/lang/String;", ACONST_NULL, ASTORE_0, ARETURN, 1),
        ("()[J", ACONST_NULL, ASTORE_0, ARETURN, 1),
    ];
    for (descriptor, push, store, end, words) in rows {
        // With an only return at the end it would stay on the stack.
        let class = class_with("Result", 49, descriptor, |code| {
            code.limits(words, 0).bytes(&[push, end, push, end]);
        });
        let output = merged(&class, &["bracket"]);
        let merged = body(&output.bytes, 0);
        let start = output.methods[0].offset_map.to_new(0).unwrap();
        assert_eq!(merged.step_at(start).opcode, push, "{descriptor}");
        let cast = u32::from(end == ARETURN) * 3;
        assert_eq!(merged.step_at(start + 1 + cast).opcode, store, "{descriptor}");
        assert_eq!(places(&merged, &RETURNS).len(), 1);
        assert_eq!(merged.steps.iter().find(|step| RETURNS.contains(&step.opcode)).unwrap().opcode, end);
        assert_eq!(merged.max_locals, words + 1, "{descriptor}: result and the template's throwable");
    }
}

#[test]
fn the_result_stays_on_the_stack_where_the_epilog_allows_it() {
    let class = class_with("Falls", 52, "(J)J", |code| {
        code.limits(2, 2).bytes(&[LLOAD_0, LRETURN]);
    });
    let output = merged(&class, &["straight"]);
    let merged = body(&output.bytes, 0);
    assert_eq!(merged.max_locals, 2);
    assert!(!merged.names().iter().any(|name| name.contains("store")), "{:?}", merged.names());
    assert_eq!(merged.max_stack, 3, "result below the epilog's operand");
    assert_eq!(needed_stack(&output.bytes, &merged), 3);
}

/// Leaves `junk` words below an int result.
fn with_junk(junk: &'static [u8], words: u16) -> Vec<u8> {
    class_with("Junk", 52, "(I)I", move |code| {
        let other = code.limits(words + 1, 1).label();
        code.iload(0).jump(IFEQ, other).bytes(junk).bytes(&[ICONST_1, IRETURN]);
        code.place(other).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
    })
}

#[test]
fn operands_below_the_result_are_dropped() {
    for (junk, words, pop) in
        [(&[ICONST_5][..], 1, POP), (&[LCONST_1][..], 2, POP2), (&[ICONST_5, ACONST_NULL][..], 2, POP2)]
    {
        let class = with_junk(junk, words);
        let output = merged(&class, &["bracket"]);
        let merged = body(&output.bytes, 0);
        let at = output.methods[0].offset_map.to_new(6 + junk.len() as u32).unwrap();
        assert_eq!(merged.step_at(at).opcode, ISTORE_1, "{:?}", merged.names());
        assert_eq!(merged.step_at(at + 1).opcode, pop);
        assert_eq!(needed_stack(&output.bytes, &merged), merged.max_stack);
    }
}

#[test]
fn any_number_of_operands_below_the_result_is_dropped_without_tearing_a_long() {
    let cases: [(&[u8], u16, &[u8]); 4] = [
        (&[ICONST_5, LCONST_1], 3, &[POP2, POP]),
        (&[LCONST_1, ICONST_5], 3, &[POP, POP2]),
        (&[ICONST_5, ICONST_4, ICONST_3], 3, &[POP2, POP]),
        (&[DCONST_0, ICONST_5, LCONST_1, ACONST_NULL], 6, &[POP, POP2, POP, POP2]),
    ];
    for (junk, words, pops) in cases {
        let class = class_with("Junk", 52, "(I)I", |code| {
            let other = code.limits(words + 1, 1).label();
            code.iload(0).jump(IFEQ, other).bytes(junk).bytes(&[ICONST_1, IRETURN]);
            code.place(other).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
        });
        for templates in [&["bracket"][..], &["bracket", "straight"]] {
            let output = merged(&class, templates);
            let merged = body(&output.bytes, 0);
            let at = output.methods[0].offset_map.to_new(6 + junk.len() as u32).unwrap();
            let drops: Vec<_> = (0..pops.len() as u32).map(|next| merged.step_at(at + 1 + next).opcode).collect();
            assert_eq!(drops, pops, "{:?}", merged.names());
            assert_eq!(needed_stack(&output.bytes, &merged), merged.max_stack);
        }
    }
}

#[test]
fn a_single_return_keeps_little_and_drops_much_of_what_lies_below_it() {
    // A simple epilog does not mind what lies below, but in the merged body nothing would tell what it is.
    let with = |junk: &'static [u8]| {
        class_with("Junk", 52, "()I", move |code| {
            code.limits(4, 0).bytes(junk).bytes(&[ICONST_1, IRETURN]);
        })
    };
    let names = |class: &[u8]| body(&merged(class, &["straight"]).bytes, 0).names();
    assert!(!names(&with(&[LCONST_1])).contains(&"pop2"));
    assert!(names(&with(&[ICONST_5, LCONST_1])).contains(&"pop2"));
    let output = merged(&with(&[ICONST_5, LCONST_1]), &["outer", "straight"]);
    let merged = body(&output.bytes, 0);
    assert_eq!(needed_stack(&output.bytes, &merged), merged.max_stack);
}

#[test]
fn operands_are_counted_without_frames_too() {
    // Version 48 has no frames: the depth at the second return is known only from the jump, which follows it.
    let class = class_with("Junk", 48, "(I)I", |code| {
        let (early, go, late) = (code.label(), code.label(), code.label());
        code.limits(3, 1).jump(GOTO, go);
        code.place(early).bytes(&[ICONST_1, IRETURN]);
        code.place(late).op(ICONST_4).jump(GOTO, early);
        code.place(go).bytes(&[ICONST_5]).jump(GOTO, late);
    });
    let output = merged(&class, &["bracket"]);
    let merged = body(&output.bytes, 0);
    let at = output.methods[0].offset_map.to_new(4).unwrap();
    assert_eq!(merged.step_at(at + 1).opcode, POP2, "{:?}", merged.names());
    assert_eq!(needed_stack(&output.bytes, &merged), merged.max_stack);
}

/// Twenty blocks in reverse order, each jumping back to the one before it in the code.
fn in_reverse(name: &str, major: u16) -> Vec<u8> {
    class_with(name, major, "()I", |code| {
        let blocks: Vec<_> = (0..20).map(|_| code.label()).collect();
        code.limits(2, 0).op(ICONST_5).jump(GOTO, blocks[19]);
        code.place(blocks[0]).bytes(&[ICONST_1, IRETURN]);
        for block in 1..20 {
            code.place(blocks[block]).jump(GOTO, blocks[block - 1]);
        }
    })
}

#[test]
fn operands_are_counted_through_any_number_of_backward_jumps() {
    let class = in_reverse("Reverse", 48);
    let output = merged(&class, &["bracket"]);
    let merged = body(&output.bytes, 0);
    assert_eq!(merged.step_at(output.methods[0].offset_map.to_new(5).unwrap() + 1).opcode, POP, "{:?}", merged.names());
    needed_stack(&output.bytes, &merged);
}

#[test]
fn a_return_in_the_middle_jumps_and_the_last_one_falls_through() {
    let class = class_with("Middle", 52, "(I)V", |code| {
        let other = code.limits(1, 1).label();
        code.iload(0).jump(IFEQ, other).op(RETURN);
        code.place(other).frame(&[Type::Int], &[]).op(NOP).op(RETURN);
    });
    let output = merged(&class, &["bracket"]);
    let map = &output.methods[0].offset_map;
    let merged = body(&output.bytes, 0);
    let middle = merged.step_at(map.to_new(5).unwrap());
    assert_eq!(middle.opcode, GOTO);
    assert_eq!(middle.targets, [map.to_new(7).unwrap()], "the last return is nothing but the epilog's start");
}

#[test]
fn a_last_return_that_is_a_jump_target_becomes_the_epilog() {
    for template in ["bracket", "straight", "loops", "everything"] {
        let class = class_with("Last", 52, "(I)V", |code| {
            let end = code.limits(1, 2).label();
            code.iload(0).jump(IFEQ, end).bytes(&[ICONST_0, ISTORE_1, NOP]);
            code.place(end).frame(&[Type::Int], &[]).op(RETURN);
        });
        let output = merged(&class, &[template]);
        let map = &output.methods[0].offset_map;
        let merged = body(&output.bytes, 0);
        let jump = merged.step_at(map.to_new(2).unwrap());
        assert_eq!(jump.targets, [map.to_new(8).unwrap()], "{template}");
        merged.frame_at(jump.targets[0]);
        let offsets: Vec<_> = merged.frames.iter().map(|frame| frame.offset).collect();
        assert!(offsets.is_sorted_by(|a, b| a < b), "{offsets:?}");
    }
}

#[test]
fn a_target_without_any_return_has_an_epilog_for_its_exceptions() {
    let class = class_with("Never", 52, "()I", |code| {
        let start = code.limits(1, 0).here();
        code.frame(&[], &[]).op(NOP).jump(GOTO, start);
    });
    let output = merged(&class, &["bracket"]);
    let merged = body(&output.bytes, 0);
    assert_eq!(merged.rows.len(), 1);
    let epilog = u32::from(merged.rows[0].end);
    assert!(merged.frame_at(epilog).stack.is_empty());
    let throws = class_with("Throws", 52, "()I", |code| {
        code.limits(1, 0).bytes(&[ACONST_NULL, ATHROW]);
    });
    assert_eq!(body(&merged_bytes(&throws), 0).rows.len(), 1);
}

fn merged_bytes(class: &[u8]) -> Vec<u8> {
    merged(class, &["bracket"]).bytes
}

#[test]
fn unreachable_code_is_merged_unchanged() {
    let class = class_with("Dead", 49, "()I", |code| {
        code.limits(1, 0).bytes(&[ICONST_1, IRETURN, ICONST_2, NOP, IRETURN]);
    });
    let output = merged(&class, &["bracket"]);
    let map = &output.methods[0].offset_map;
    let merged = body(&output.bytes, 0);
    assert_eq!(merged.step_at(map.to_new(2).unwrap()).opcode, ICONST_2);
    assert_eq!(merged.step_at(map.to_new(4).unwrap()).opcode, ISTORE_0);
}
