//! Do `max_stack` and `max_locals` equal what an independent walk through the output finds?

use classfile::ClassFile;
use classfile::opcode::*;
use instrument_core::Outcome;

use crate::assembler::class_with;
use crate::fixtures::{compiled, instrument, merged, plan};
use crate::inspect::{Body, body, needed_stack};

/// The highest slot that any instruction names, and one more.
fn named_locals(body: &Body) -> u16 {
    let named = |step: &crate::inspect::Step| {
        let (opcode, slot) = match step.opcode {
            WIDE => (step.bytes[1], u16::from_be_bytes([step.bytes[2], step.bytes[3]])),
            ILOAD..=ALOAD | ISTORE..=ASTORE | IINC | RET => (step.opcode, u16::from(step.bytes[1])),
            ILOAD_0..=ALOAD_3 => (ILOAD + (step.opcode - ILOAD_0) / 4, u16::from((step.opcode - ILOAD_0) % 4)),
            ISTORE_0..=ASTORE_3 => (ISTORE + (step.opcode - ISTORE_0) / 4, u16::from((step.opcode - ISTORE_0) % 4)),
            _ => return 0,
        };
        slot + if matches!(opcode, LLOAD | DLOAD | LSTORE | DSTORE) { 2 } else { 1 }
    };
    body.steps.iter().map(named).max().unwrap_or(0)
}

#[test]
fn every_template_declares_what_it_needs_on_a_small_target() {
    // The target needs next to nothing, so that what the template adds decides.
    let class = class_with("Small", 55, "(IJDFLjava/lang/String;[IZ)J", |code| {
        code.limits(2, 9).bytes(&[LLOAD_1, LRETURN]);
    });
    for name in crate::fixtures::library().names() {
        let output = merged(&class, &[name]).bytes;
        let body = body(&output, 0);
        assert_eq!(body.max_stack, needed_stack(&output, &body), "{name}: {:?}", body.names());
        assert!(named_locals(&body) <= body.max_locals, "{name}");
        if name == "clock" {
            assert_eq!(body.max_locals, 9 + 2 + 1, "parameters, start, throwable; the result stays on the stack");
        }
    }
}

#[test]
fn stacked_templates_declare_what_they_need() {
    let class = class_with("Small", 52, "(IJDFLjava/lang/String;[IZ)J", |code| {
        code.limits(2, 9).bytes(&[LLOAD_1, LRETURN]);
    });
    let output = merged(&class, &["everything", "clock", "outcome", "straight"]).bytes;
    let body = body(&output, 0);
    assert_eq!(body.max_stack, needed_stack(&output, &body));
}

#[test]
fn targets_of_every_shape_declare_what_they_need() {
    for file in ["targets/Behaviour", "targets/Behaviour$Child", "targets/Shape"] {
        let original = compiled(file);
        let methods = ClassFile::parse(&original).unwrap().methods().len();
        for (index, template) in (0..methods).flat_map(|index| [(index, "bracket"), (index, "all"), (index, "catches")])
        {
            let Outcome::Rewritten(output) = instrument(&original, &[plan(index, &[template])]) else { continue };
            let body = body(&output.bytes, index);
            assert_eq!(body.max_stack, needed_stack(&output.bytes, &body), "{file} {index} {template}");
            assert!(named_locals(&body) <= body.max_locals);
        }
    }
}

#[test]
fn slots_take_the_shortest_form_on_both_sides_of_each_border() {
    for locals in [1, 3, 4, 254, 255, 256, 300] {
        // Two returns, so that the result goes through a slot.
        let class = class_with("Wide", 49, "()J", |code| {
            code.limits(2, locals).bytes(&[LCONST_1, LRETURN, LCONST_1, LRETURN]);
        });
        let body = body(&merged(&class, &["bracket"]).bytes, 0);
        let store =
            body.steps.iter().find(|step| step.bytes.contains(&LSTORE) || (LSTORE_0..=LSTORE_3).contains(&step.opcode));
        let [high, low] = locals.to_be_bytes();
        let expected = match locals {
            0..=3 => vec![LSTORE_0 + low],
            4..=255 => vec![LSTORE, low],
            _ => vec![WIDE, LSTORE, high, low],
        };
        assert_eq!(store.unwrap().bytes, expected, "{locals}");
        assert_eq!(body.max_locals, locals + 3);
    }
}

#[test]
fn wide_forms_of_the_target_are_kept() {
    let class = class_with("Wide", 52, "()I", |code| {
        code.limits(1, 400).bytes(&[ICONST_1, WIDE, ISTORE, 1, 0x8F, WIDE, IINC, 1, 0x8F, 3, 0xE8]);
        code.bytes(&[WIDE, ILOAD, 1, 0x8F, IRETURN]);
    });
    let output = merged(&class, &["loops"]);
    let body = body(&output.bytes, 0);
    let start = output.methods[0].offset_map.to_new(0).unwrap() as usize;
    assert_eq!(body.code[start..start + 15], crate::inspect::body(&class, 0).code[..15]);
    assert!(body.names().contains(&"wide"));
    assert_eq!(body.max_stack, needed_stack(&output.bytes, &body));
}
