//! Is every frame of the output the original one, filled up and extended as specified, and nothing more?

use classfile::ClassFile;
use classfile::opcode::*;
use classfile::stack_map::VerificationType::{self, Double, Float, Integer, Long, Object, Top};
use instrument_core::{Outcome, Rewritten};

use crate::assembler::{Type, class_with};
use crate::fixtures::{compiled, instrument, merged, plan};
use crate::inspect::{Body, Frame, body, class_constant};

/// Locals without the tops at their end, which say nothing.
fn trimmed(locals: &[VerificationType]) -> Vec<VerificationType> {
    let used = locals.iter().rposition(|&local| local != Top).map_or(0, |last| last + 1);
    let halves = locals.get(used.wrapping_sub(1)).map_or(0, |last| last.slots() - 1);
    let mut trimmed = locals[..used].to_vec();
    trimmed.extend(std::iter::repeat_n(Top, halves));
    trimmed
}

fn moved(types: &[VerificationType], output: &Rewritten) -> Vec<VerificationType> {
    let place = |entry: &VerificationType| match *entry {
        VerificationType::Uninitialized(offset) => {
            VerificationType::Uninitialized(output.methods[0].offset_map.to_new(offset).unwrap())
        }
        other => other,
    };
    types.iter().map(place).collect()
}

/// Returns the locals of the target's `frame`, with `added` after its own `slots`.
fn extended(frame: &Frame, slots: u16, added: &[VerificationType], output: &Rewritten) -> Vec<VerificationType> {
    let mut locals = moved(&frame.locals, output);
    locals.resize(slots.into(), Top);
    locals.extend(added);
    trimmed(&locals)
}

fn assert_target_frames(original: &Body, output: &Rewritten, index: usize, added: &[VerificationType]) {
    let map = &output.methods[0].offset_map;
    let merged = body(&output.bytes, index);
    for frame in &original.frames {
        let at = map.to_new(frame.offset).unwrap();
        let found = merged.frame_at(at);
        if original.step_at(frame.offset).opcode == RETURN && found.locals.first() == Some(&Top) {
            continue; // A last return without bytes: the epilog's frame is at this offset.
        }
        assert_eq!(found.stack, moved(&frame.stack, output));
        let expected = extended(frame, original.max_locals, added, output);
        assert_eq!(found.locals.len(), expected.len());
        for (slot, (found, expected)) in found.locals.iter().zip(&expected).enumerate() {
            // The descriptor may imply a class that the original pool does not hold.
            let implied = *expected == Object(0) && matches!(found, Object(_));
            assert!(implied || found == expected, "frame at {}, slot {slot}: {found:?}", frame.offset);
        }
    }
}

#[test]
fn target_frames_are_filled_up_and_extended_by_what_lives_across() {
    for file in ["targets/Behaviour", "targets/Behaviour$Child", "targets/Run", "probe/Log"] {
        let original = compiled(file);
        let parsed = ClassFile::parse(&original).unwrap();
        for (index, method) in parsed.methods().iter().enumerate() {
            let Ok(Some(_)) = method.code(&parsed) else { continue };
            let Outcome::Rewritten(output) = instrument(&original, &[plan(index, &["clock"])]) else { continue };
            let descriptor = classfile::descriptor::MethodDescriptor::parse(method.descriptor.as_bytes()).unwrap();
            let result = descriptor.return_type().map_or(0, |result| usize::from(result.kind().words()));
            let target = body(&original, index);
            let is_return = |step: &&crate::inspect::Step| (IRETURN..=RETURN).contains(&step.opcode);
            // The result of an only return at the end stays on the operand stack.
            let stays =
                target.steps.iter().filter(is_return).count() == 1 && target.steps.last().filter(is_return).is_some();
            let mut added = vec![Top; if stays { 0 } else { result }];
            added.extend([Long, Top]);
            assert_target_frames(&target, &output, index, &added);
        }
    }
}

#[test]
fn the_epilog_begins_with_the_result_and_the_templates_locals_only() {
    let class = class_with("Entry", 52, "(ILjava/lang/String;)D", |code| {
        let other = code.limits(2, 4).label();
        code.iload(0).jump(IFEQ, other).bytes(&[DCONST_0, DRETURN]);
        code.place(other).frame(&[Type::Int, Type::Object("java/lang/String")], &[]).bytes(&[DCONST_1, DRETURN]);
    });
    let output = merged(&class, &["clock"]);
    let merged = body(&output.bytes, 0);
    let epilog = u32::from(merged.rows[0].end);
    let entry = merged.frame_at(epilog);
    assert_eq!(entry.locals, [Top, Top, Top, Top, Double, Top, Long, Top]);
    assert!(entry.stack.is_empty());
    let handler = merged.frame_at(merged.rows[0].handler.into());
    assert_eq!(handler.locals, [Top, Top, Top, Top, Top, Top, Long, Top], "a handler has no result");
    let throwable = class_constant(&ClassFile::parse(&output.bytes).unwrap(), b"java/lang/Throwable");
    assert_eq!(handler.stack, [Object(throwable)]);
}

#[test]
fn every_kind_of_template_local_and_saved_value_is_in_the_frames() {
    let class = class_with("All", 52, "(I)J", |code| {
        let other = code.limits(2, 1).label();
        code.iload(0).jump(IFEQ, other).bytes(&[LCONST_0, LRETURN]);
        code.place(other).frame(&[Type::Int], &[]).bytes(&[LCONST_1, LRETURN]);
    });
    let output = merged(&class, &["locals"]);
    let rewritten = ClassFile::parse(&output.bytes).unwrap();
    let merged = body(&output.bytes, 0);
    let entry = merged.frame_at(merged.rows[0].end.into());
    let (object, array) = (class_constant(&rewritten, b"java/lang/String"), class_constant(&rewritten, b"[I"));
    let object = Object(if entry.locals[8] == Object(object) {
        object
    } else {
        class_constant(&rewritten, b"java/lang/Object")
    });
    assert_eq!(entry.locals, [Top, Long, Top, Long, Top, Float, Double, Top, object, Object(array)]);

    let output = merged_all(&class);
    let rewritten = ClassFile::parse(&output.bytes).unwrap();
    let merged = body(&output.bytes, 0);
    let named = |name: &[u8]| Object(class_constant(&rewritten, name));
    let entry = merged.frame_at(merged.rows[0].end.into());
    // Result, thrown, boxed result, argument 0, all arguments, the template's start.
    let objects = named(b"[Ljava/lang/Object;");
    let thrown = named(b"java/lang/Throwable");
    assert_eq!(entry.locals, [Top, Long, Top, thrown, named(b"java/lang/Object"), Integer, objects, Long, Top]);
}

fn merged_all(class: &[u8]) -> Rewritten {
    merged(class, &["everything"])
}

#[test]
fn the_first_frame_is_a_full_one_if_the_descriptor_was_not_worked_out() {
    let class = class_with("Plain", 52, "(Lcom/acme/Unheard;)V", |code| {
        code.limits(0, 1).op(NOP).op(RETURN);
    });
    let output = merged(&class, &["bracket"]).bytes;
    let table = body(&output, 0).attribute("StackMapTable").unwrap().to_vec();
    assert_eq!(table[2], 255);
    let rewritten = ClassFile::parse(&output).unwrap();
    assert_eq!(class_constant(&rewritten, b"com/acme/Unheard"), 0, "no constant is added for it");
    // A prolog with frames needs it: they contain the parameter's type.
    let output = merged(&class, &["loops"]).bytes;
    let unheard = class_constant(&ClassFile::parse(&output).unwrap(), b"com/acme/Unheard");
    assert_eq!(body(&output, 0).frames[0].locals[0], Object(unheard));
    assert_ne!(unheard, 0);
}

#[test]
fn a_template_without_branches_adds_no_frame_to_a_method_without() {
    let class = class_with("Plain", 52, "()V", |code| {
        code.limits(0, 0).op(NOP).op(RETURN);
    });
    assert_eq!(body(&merged(&class, &["straight"]).bytes, 0).attribute("StackMapTable"), None);
}

#[test]
fn every_jump_lands_on_a_frame() {
    for (name, class) in crate::far_jumps::samples().into_iter().chain(crate::handlers::samples()) {
        for template in ["bracket", "loops", "switches", "building"] {
            let merged = body(&merged(&class, &[template]).bytes, 0);
            for step in merged.steps.iter().filter(|step| !step.targets.is_empty()) {
                for &target in &step.targets {
                    merged.frame_at(target);
                }
            }
            assert!(merged.frames.iter().all(|frame| merged.has_step_at(frame.offset)), "{name} {template}");
        }
    }
}

#[test]
fn an_object_under_construction_in_a_template_is_named_by_its_place() {
    let class = class_with("Build", 52, "(J)V", |code| {
        code.limits(2, 2).op(NOP).op(RETURN);
    });
    let merged = body(&merged(&class, &["building"]).bytes, 0);
    let mut seen = 0;
    for entry in merged.frames.iter().flat_map(|frame| &frame.stack) {
        if let VerificationType::Uninitialized(offset) = entry {
            assert_eq!(merged.step_at(*offset).opcode, NEW);
            seen += 1;
        }
    }
    assert!(seen >= 4, "two branches with two frames each: {seen}");
}
