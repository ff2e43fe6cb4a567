//! Do the engine's options change what they say, and nothing else?

use classfile::opcode::*;
use instrument_core::{EngineOptions, Layout, Refusal, SentinelForm, SlotScheme};

use crate::assembler::{CodeBuilder, Type, class_with};
use crate::branches::assert_same_flow;
use crate::fixtures::{instrument_with, merged, merged_with, plan};
use crate::inspect::{Body, body, needed_stack};
use crate::{far_jumps, odd_shapes};

fn long() -> EngineOptions {
    EngineOptions { layout: Layout::Long, ..EngineOptions::default() }
}

fn no_operations() -> EngineOptions {
    EngineOptions { sentinel: SentinelForm::NoOperations, ..EngineOptions::default() }
}

fn after_parameters() -> EngineOptions {
    EngineOptions { slots: SlotScheme::AfterParameters, ..EngineOptions::default() }
}

#[test]
fn the_long_layout_takes_one_pass_whatever_the_number_of_jumps() {
    for (name, class) in far_jumps::samples() {
        assert!(merged(&class, &["bracket"]).methods[0].passes > 1, "{name}");
        let output = merged_with(long(), &class, &["bracket"]);
        assert_eq!(output.methods[0].passes, 1, "{name}");
        let merged = body(&output.bytes, 0);
        assert_same_flow(&body(&class, 0), &merged, &output.methods[0].offset_map);
        assert_eq!(needed_stack(&output.bytes, &merged), merged.max_stack, "{name}");
    }
    for jumps in [1, 10, 700] {
        let class = class_with("Jumps", 49, "(I)V", |code| {
            code.limits(1, 1);
            for _ in 0..jumps {
                let next = code.label();
                code.iload(0).jump(IFEQ, next).place(next);
            }
            code.op(RETURN);
        });
        assert_eq!(merged_with(long(), &class, &["bracket"]).methods[0].passes, 1);
    }
}

#[test]
fn every_jump_of_the_long_layout_is_wide() {
    for (name, class) in odd_shapes::samples() {
        for templates in [&["bracket"][..], &["loops", "catches"]] {
            let output = merged_with(long(), &class, templates);
            let merged = body(&output.bytes, 0);
            assert_same_flow(&body(&class, 0), &merged, &output.methods[0].offset_map);
            for step in &merged.steps {
                assert!(!matches!(step.opcode, GOTO | JSR), "{name}: short jump at {}", step.offset);
                if step.targets.len() == 1 && !matches!(step.opcode, GOTO_W | JSR_W | TABLESWITCH | LOOKUPSWITCH) {
                    assert_eq!(merged.step_at(step.targets[0]).opcode, GOTO_W, "{name} at {}", step.offset);
                }
            }
        }
    }
}

#[test]
fn the_sentinels_place_is_marked_by_as_many_nops() {
    for (name, class) in odd_shapes::samples() {
        for template in ["bare", "straight", "bracket", "loops", "catches"] {
            let [marked, plain] =
                [no_operations(), EngineOptions::default()].map(|options| merged_with(options, &class, &[template]));
            let start = marked.methods[0].offset_map.to_new(0).unwrap();
            let [marked_body, plain_body] = [&marked, &plain].map(|output| body(&output.bytes, 0));
            let nops: Vec<_> = (1..=3).map(|back| marked_body.step_at(start - back).opcode).collect();
            assert_eq!(nops, [NOP; 3], "{name} {template}");
            assert_eq!(plain.methods[0].offset_map.to_new(0), Some(start - 3), "{name} {template}");
            // No jump of the target leads to them.
            assert_same_flow(&body(&class, 0), &marked_body, &marked.methods[0].offset_map);
            assert!(!plain_body.names().contains(&"nop") || body(&class, 0).names().contains(&"nop"));
        }
    }
}

#[test]
fn a_loop_that_ends_the_prolog_leads_to_the_nops() {
    let class = class_with("Marked", 52, "()V", |code| {
        code.limits(1, 0).op(RETURN);
    });
    let output = merged_with(no_operations(), &class, &["loops"]);
    let merged = body(&output.bytes, 0);
    let nops = output.methods[0].offset_map.to_new(0).unwrap() - 3;
    assert!(merged.steps.iter().any(|step| step.targets.contains(&nops)), "{:?}", merged.names());
    merged.frame_at(nops);
}

/// Slots at the borders of each form, in a table, and in an annotation.
fn with_locals(code: &mut CodeBuilder<'_>) {
    let begin = code.limits(3, 260).here();
    for slot in [1u8, 2, 3, 252, 255] {
        code.iload(0).bytes(&[ISTORE, slot, IINC, slot, 1]);
    }
    code.bytes(&[LCONST_0, LSTORE, 250]);
    let join = code.label();
    code.iload(0).jump(IFEQ, join).bytes(&[IINC, 3, 2]);
    code.place(join).frame(&[Type::Int, Type::Int, Type::Int, Type::Int], &[]);
    code.bytes(&[ILOAD_3, IRETURN]);
    let end = code.here();
    code.local_variable(begin, end, "parameter", 0).local_variable(begin, end, "local", 3);
    let mark = code.pool.utf8("Lcom/acme/Mark;").to_be_bytes();
    let annotation = [&[0, 1, 0x40, 0, 1, 0, 0, 0, 5, 0, 3, 0][..], &mark, &[0, 0]].concat();
    code.attribute("RuntimeVisibleTypeAnnotations", &annotation);
}

fn u2(content: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([content[at], content[at + 1]])
}

#[test]
fn locals_after_the_parameters_move_the_targets() {
    let class = class_with("Locals", 52, "(I)I", with_locals);
    let output = merged_with(after_parameters(), &class, &["clock"]);
    let (map, moved) = (&output.methods[0].offset_map, body(&output.bytes, 0));
    // The start time and the caught throwable, directly after the parameter.
    let by = moved.max_locals - 260;
    let before: Vec<_> = moved.steps.iter().filter(|step| step.offset < map.to_new(0).unwrap()).collect();
    assert!(before.iter().any(|step| step.opcode == LSTORE_1), "{:?}", moved.names());
    let at = |original: u32| moved.step_at(map.to_new(original).unwrap()).bytes.clone();
    let original = body(&class, 0);
    let mut high_slots = original.steps.iter().filter(|step| step.bytes == [ISTORE, 255]).map(|step| step.offset);
    let high = high_slots.next_back().unwrap();
    let [first, second] = (255 + by).to_be_bytes();
    assert_eq!(at(high), [WIDE, ISTORE, first, second]);
    assert_eq!(at(high + 2), [WIDE, IINC, first, second, 0, 1]);
    assert_eq!(at(2), [ISTORE, 1 + by as u8]);
    let table = moved.attribute("LocalVariableTable").unwrap();
    assert_eq!((u2(table, 10), u2(table, 20)), (0, 3 + by));
    let annotation = moved.attribute("RuntimeVisibleTypeAnnotations").unwrap();
    assert_eq!(u2(annotation, 9), 3 + by);
    let frame = moved.frame_at(map.to_new(original.frames[0].offset).unwrap());
    let locals = |body: &Body| body.frames[0].locals.clone();
    assert_eq!(frame.locals[0], locals(&original)[0]);
    assert_eq!(frame.locals[usize::from(1 + by)..usize::from(4 + by)], locals(&original)[1..4]);
    assert_eq!(needed_stack(&output.bytes, &moved), moved.max_stack);
}

#[test]
fn a_long_over_the_border_stays_in_one_piece() {
    // Slot 0 is the parameter's at first and the first half of a long later.
    let class = class_with("Across", 49, "(I)J", |code| {
        code.limits(4, 3).iload(0).bytes(&[ISTORE_2, LCONST_1, LSTORE_0, LLOAD_0, ILOAD_2, I2L, LADD, LRETURN]);
        code.bytes(&[LCONST_0, LRETURN]);
    });
    let output = merged_with(after_parameters(), &class, &["bracket"]);
    let (map, merged) = (&output.methods[0].offset_map, body(&output.bytes, 0));
    assert_eq!(merged.step_at(map.to_new(4).unwrap()).opcode, LSTORE_0);
    assert_eq!(merged.step_at(map.to_new(2).unwrap()).bytes, [ISTORE, 5], "after the result and the throwable");
}

#[test]
fn locals_in_front_are_refused() {
    let options = EngineOptions { slots: SlotScheme::InFront, ..EngineOptions::default() };
    let class = class_with("Front", 52, "(I)V", |code| {
        code.limits(0, 1).op(RETURN);
    });
    let instrument_core::Outcome::Unchanged { refused } = instrument_with(options, &class, &[plan(0, &["bare"])])
    else {
        panic!("merged")
    };
    assert_eq!(refused[0].reason, Refusal::LocalsInFront);
    assert!(refused[0].reason.to_string().contains("parameters"));
}

#[test]
fn the_defaults_are_the_shortest_code() {
    let class = class_with("Plain", 52, "(I)I", |code| {
        let other = code.limits(1, 1).label();
        code.iload(0).jump(IFEQ, other).bytes(&[ICONST_1, IRETURN]);
        code.place(other).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
    });
    let lengths = [EngineOptions::default(), long(), no_operations()]
        .map(|options| merged_with(options, &class, &["bracket"]).methods[0].length_after);
    assert!(lengths[0] < lengths[1] && lengths[0] + 3 == lengths[2], "{lengths:?}");
}
