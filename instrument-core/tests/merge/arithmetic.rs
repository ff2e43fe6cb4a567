//! Slots, forms, depths and lengths, in tables (requirements S4.21 to S4.26).

use classfile::access::PUBLIC;
use classfile::opcode::*;
use classfile::{ClassFile, Tag};

use crate::assembler::{ClassBuilder, PUBLIC_STATIC};
use crate::fixtures::{compiled, merged, merged_everywhere};
use crate::inspect::{body, needed_stack};
use crate::timer_class::{assembled, merged_with};

/// Returns the bytes of a load or store.
fn local_form(opcode: u8, slot: u16) -> Vec<u8> {
    let (base, short) = if opcode <= ALOAD { (ILOAD, ILOAD_0) } else { (ISTORE, ISTORE_0) };
    let [high, low] = slot.to_be_bytes();
    match slot {
        0..=3 => vec![short + 4 * (opcode - base) + low],
        4..=255 => vec![opcode, low],
        _ => vec![WIDE, opcode, high, low],
    }
}

/// A template that looks at one argument before the target runs: its first instruction loads the parameter.
fn asks_for(argument: u8) -> Vec<u8> {
    assembled(|code| {
        code.limits(1, 0).bytes(&[BIPUSH, argument]);
        code.invoke_static("java/instr/Target", "arg", "(I)Ljava/lang/Object;").op(POP);
        code.invoke_static("java/instr/Target", "proceed", "()V").op(RETURN);
    })
}

fn method(flags: u16, descriptor: &str, stack: u16, locals: u16, code: &[u8]) -> Vec<u8> {
    let mut class = ClassBuilder::new("Machin", 52);
    class.method(flags, "m", descriptor, |builder| {
        builder.limits(stack, locals).bytes(code);
    });
    class.finish()
}

/// A method with two ways out, so that the result has to be kept in a slot. The first return is at [`FIRST_RETURN`].
fn two_returns(flags: u16, descriptor: &str, locals: u16, push: u8, end: u8) -> Vec<u8> {
    let mut class = ClassBuilder::new("Machin", 52);
    class.method(flags, "m", descriptor, |code| {
        let other = code.label();
        code.limits(2, locals).op(ICONST_0).jump(IFEQ, other).bytes(&[push, end]);
        code.place(other).frame(&[], &[]).bytes(&[push, end]);
    });
    class.finish()
}

const FIRST_RETURN: u32 = 5;

/// Opcode and slot of each parameter of an instance method; one less each in a static one.
#[test]
fn parameters_lie_where_the_descriptor_says() {
    let rows: [(&str, &[(u8, u16)]); 6] = [
        ("(D[ILcom/machin/Bidule;)V", &[(DLOAD, 1), (ALOAD, 3), (ALOAD, 4)]),
        (
            "(ZBCSIFJD)V",
            &[(ILOAD, 1), (ILOAD, 2), (ILOAD, 3), (ILOAD, 4), (ILOAD, 5), (FLOAD, 6), (LLOAD, 7), (DLOAD, 9)],
        ),
        ("([[J[[[DLx;)V", &[(ALOAD, 1), (ALOAD, 2), (ALOAD, 3)]),
        ("(JJJ)V", &[(LLOAD, 1), (LLOAD, 3), (LLOAD, 5)]),
        ("([Lx;D[DJ)V", &[(ALOAD, 1), (DLOAD, 2), (ALOAD, 4), (LLOAD, 5)]),
        ("(I)V", &[(ILOAD, 1)]),
    ];
    for (descriptor, parameters) in rows {
        for (argument, &(opcode, slot)) in parameters.iter().enumerate() {
            let template = asks_for(argument as u8);
            for (flags, slot) in [(PUBLIC, slot), (PUBLIC_STATIC, slot - 1)] {
                let output = merged_with(&template, &method(flags, descriptor, 0, 12, &[RETURN]));
                assert_eq!(body(&output.bytes, 0).steps[0].bytes, local_form(opcode, slot), "{descriptor} {argument}");
            }
        }
    }
}

#[test]
fn parameters_beyond_slot_255_are_loaded_by_the_wide_form() {
    let descriptor = format!("({}IJ)V", "J".repeat(126));
    let target = method(PUBLIC_STATIC, &descriptor, 0, 255, &[RETURN]);
    let loads = |argument: u8| body(&merged_with(&asks_for(argument), &target).bytes, 0).steps[0].bytes.clone();
    assert_eq!(loads(126), local_form(ILOAD, 252));
    assert_eq!(loads(127), local_form(LLOAD, 253));
}

/// Receiver, parameters, saved result, then the template's own: `clock` has a long and a throwable.
#[test]
fn locals_are_the_sum_of_their_owners() {
    for (flags, descriptor, parameters, result, push, end) in [
        (PUBLIC, "(ILjava/lang/String;)V", 3, 0, NOP, RETURN),
        (PUBLIC_STATIC, "(ILjava/lang/String;)V", 2, 0, NOP, RETURN),
        (PUBLIC, "(D[ILcom/machin/Bidule;)I", 5, 1, ICONST_1, IRETURN),
        (PUBLIC_STATIC, "(JD)J", 4, 2, LCONST_1, LRETURN),
        (PUBLIC_STATIC, "()D", 0, 2, DCONST_1, DRETURN),
        (PUBLIC_STATIC, "()[[J", 0, 1, ACONST_NULL, ARETURN),
    ] {
        let locals = |target: Vec<u8>| body(&merged(&target, &["clock"]).bytes, 0).max_locals;
        let saved = locals(two_returns(flags, descriptor, parameters, push, end));
        assert_eq!(saved, parameters + result + 2 + 1, "{descriptor}");
        // With one return at the end the result stays on the stack.
        let kept = locals(method(flags, descriptor, 2, parameters, &[push, end]));
        assert_eq!(kept, parameters + 2 + 1, "{descriptor}");
    }
}

/// The saved result is stored and loaded on both sides of each border, for every type.
#[test]
fn loads_and_stores_take_the_shortest_form_for_every_type() {
    for (result, push, store, load, end) in [
        ("I", ICONST_1, ISTORE, ILOAD, IRETURN),
        ("Z", ICONST_1, ISTORE, ILOAD, IRETURN),
        ("B", ICONST_1, ISTORE, ILOAD, IRETURN),
        ("C", ICONST_1, ISTORE, ILOAD, IRETURN),
        ("S", ICONST_1, ISTORE, ILOAD, IRETURN),
        ("J", LCONST_1, LSTORE, LLOAD, LRETURN),
        ("F", FCONST_1, FSTORE, FLOAD, FRETURN),
        ("D", DCONST_1, DSTORE, DLOAD, DRETURN),
        ("Ljava/lang/String;", ACONST_NULL, ASTORE, ALOAD, ARETURN),
        ("[[I", ACONST_NULL, ASTORE, ALOAD, ARETURN),
    ] {
        for slots in [0, 3, 4, 254, 255, 256, 1000] {
            let target = two_returns(PUBLIC_STATIC, &format!("(){result}"), slots, push, end);
            let output = merged(&target, &["clock"]);
            let body = body(&output.bytes, 0);
            let stored = output.methods[0].offset_map.to_new(FIRST_RETURN).unwrap();
            assert_eq!(body.step_at(stored).bytes, local_form(store, slots), "{result} at {slots}");
            let returned = body.steps.iter().position(|step| step.opcode == end).unwrap();
            let ends = body.steps.iter().filter(|step| (IRETURN..=RETURN).contains(&step.opcode)).count();
            assert_eq!(ends, 1, "{result}: one return, of its own type");
            assert_eq!(body.steps[returned - 1].bytes, local_form(load, slots), "{result} at {slots}");
        }
    }
}

#[test]
fn twenty_longs_need_their_forty_words() {
    let descriptor = format!("({})V", "J".repeat(20));
    let mut class = ClassBuilder::new("Longs", 52);
    class.method(PUBLIC, "m", &descriptor, |code| {
        code.limits(41, 41).op(ALOAD_0);
        for at in 0..20u8 {
            code.bytes(&[LLOAD, 1 + 2 * at]);
        }
        let again = code.pool.member(Tag::Methodref, "Longs", "m", &descriptor);
        code.indexed(INVOKEVIRTUAL, again).op(RETURN);
    });
    let class = class.finish();
    for template in ["clock", "all", "bracket"] {
        let output = merged(&class, &[template]).bytes;
        let body = body(&output, 0);
        assert_eq!((body.max_stack, needed_stack(&output, &body)), (41, 41), "{template}");
    }
    // With a body that needs nothing, the array of all arguments decides: array, array, index and a long.
    let small = method(PUBLIC_STATIC, &descriptor, 0, 40, &[RETURN]);
    let output = merged(&small, &["all"]).bytes;
    let merged = body(&output, 0);
    assert_eq!((merged.max_stack, needed_stack(&output, &merged)), (5, 5));
}

/// this, a double of two words, an array and an object: five words.
#[test]
fn passing_the_parameters_on_needs_five_words() {
    let mut class = ClassBuilder::new("Machin", 52);
    class.method(PUBLIC, "m", "(D[ILcom/machin/Bidule;)I", |code| {
        code.limits(5, 5).bytes(&[ALOAD_0, DLOAD_1, ALOAD_3, ALOAD, 4]);
        let original = code.pool.member(Tag::Methodref, "Machin", "_m", "(D[ILcom/machin/Bidule;)I");
        code.indexed(INVOKEVIRTUAL, original).op(IRETURN);
    });
    let output = merged(&class.finish(), &["clock"]).bytes;
    let body = body(&output, 0);
    assert_eq!((body.max_stack, needed_stack(&output, &body)), (5, 5));
}

/// What is written down as lengths is what is there.
#[test]
fn code_and_attribute_lengths_agree() {
    for templates in [&["bracket"][..], &["clock", "all"], &["switches"], &["loops", "catches"]] {
        let original = compiled("targets/Behaviour");
        let instrument_core::Outcome::Rewritten(output) = merged_everywhere(&original, templates) else {
            panic!("refused")
        };
        let class = ClassFile::parse(&output.bytes).unwrap();
        for done in &output.methods {
            let method = &class.methods()[done.method_index];
            let code = method.code(&class).unwrap().unwrap();
            let body = body(&output.bytes, done.method_index);
            let instructions: usize = body.steps.iter().map(|step| step.bytes.len()).sum();
            assert_eq!(
                (instructions, code.bytecode.len()),
                (done.length_after as usize, instructions),
                "{}",
                method.name
            );
            let tables: usize = body.attributes.iter().map(|(_, content)| 6 + content.len()).sum();
            let attribute = 2 + 2 + 4 + instructions + 2 + 8 * body.rows.len() + 2 + tables;
            assert_eq!(code.attribute().content.len(), attribute, "{}", method.name);
        }
    }
}
