//! Do templates get the values they ask for, boxed, as they were at the start, each from its own slot?

use classfile::ClassFile;
use classfile::access::PUBLIC;
use classfile::opcode::*;
use instrument_core::{Outcome, Refusal};

use crate::assembler::{ClassBuilder, PUBLIC_STATIC, class_with};
use crate::fixtures::{compiled, instrument, merged, merged_everywhere, plan, refusal};
use crate::inspect::body;

fn owner_of_first_call(class: &[u8], name: &str) -> String {
    let parsed = ClassFile::parse(class).unwrap();
    let calls = body(class, 0).steps.into_iter().filter(|step| step.opcode == INVOKESTATIC);
    calls
        .map(|step| u16::from_be_bytes([step.bytes[1], step.bytes[2]]))
        .map(|constant| parsed.constant_pool().member_ref(constant).unwrap())
        .find(|member| member.name == name)
        .map_or_else(String::new, |member| format!("{}{}", member.owner, member.descriptor))
}

#[test]
fn an_argument_of_every_type_is_boxed() {
    let rows = [
        ("Z", ILOAD_0, "java/lang/Boolean(Z)Ljava/lang/Boolean;"),
        ("B", ILOAD_0, "java/lang/Byte(B)Ljava/lang/Byte;"),
        ("C", ILOAD_0, "java/lang/Character(C)Ljava/lang/Character;"),
        ("S", ILOAD_0, "java/lang/Short(S)Ljava/lang/Short;"),
        ("I", ILOAD_0, "java/lang/Integer(I)Ljava/lang/Integer;"),
        ("J", LLOAD_0, "java/lang/Long(J)Ljava/lang/Long;"),
        ("F", FLOAD_0, "java/lang/Float(F)Ljava/lang/Float;"),
        ("D", DLOAD_0, "java/lang/Double(D)Ljava/lang/Double;"),
        ("Ljava/lang/String;", ALOAD_0, ""),
        ("[[D", ALOAD_0, ""),
    ];
    for (descriptor, load, boxing) in rows {
        let class = class_with("Argument", 52, &format!("({descriptor})V"), |code| {
            code.limits(0, 2).op(RETURN);
        });
        let output = merged(&class, &["first"]).bytes;
        assert_eq!(body(&output, 0).steps[0].opcode, load, "{descriptor}: copied first of all");
        assert_eq!(owner_of_first_call(&output, "valueOf"), boxing, "{descriptor}");
    }
}

#[test]
fn arguments_are_counted_in_slots() {
    // (D[ILcom/machin/Bidule;)I: the receiver in 0, a double in 1 and 2, an array in 3, an object in 4.
    for (flags, slot) in [(PUBLIC, ALOAD_0 + 4), (PUBLIC_STATIC, ALOAD_0 + 3)] {
        let mut class = ClassBuilder::new("Machin", 52);
        class.method(flags, "m", "(D[ILcom/machin/Bidule;)I", |code| {
            code.limits(1, 5).bytes(&[ICONST_1, IRETURN]);
        });
        let class = class.finish();
        let third = body(&merged(&class, &["third-before"]).bytes, 0).steps[0].clone();
        let found = if third.bytes.len() == 1 { third.opcode } else { ALOAD_0 + third.bytes[1] };
        assert_eq!(found, slot);
    }
}

#[test]
fn an_argument_used_after_the_target_is_saved_and_one_used_before_is_not() {
    let class = class_with("Overwrites", 52, "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;)V", |code| {
        code.limits(1, 3).bytes(&[ACONST_NULL, ASTORE_0, RETURN]);
    });
    let copied = body(&merged(&class, &["first"]).bytes, 0);
    assert_eq!(copied.steps[..2].iter().map(|step| step.opcode).collect::<Vec<_>>(), [ALOAD_0, ASTORE_3]);
    assert_eq!(copied.steps.iter().filter(|step| step.opcode == ALOAD_3).count(), 2, "on both ways out");
    let before = body(&merged(&class, &["third-before"]).bytes, 0);
    assert_eq!(before.steps[0].opcode, ALOAD_2);
    assert_eq!(before.max_locals, 3);
}

#[test]
fn an_argument_that_is_not_there_is_refused() {
    let class = class_with("Few", 52, "(JJ)V", |code| {
        code.limits(0, 4).op(RETURN);
    });
    assert_eq!(refusal(&class, "seventh"), Refusal::NoSuchArgument { index: 6, arguments: 2 });
    assert_eq!(refusal(&class, "third-before"), Refusal::NoSuchArgument { index: 2, arguments: 2 });
    merged(&class, &["first"]);
}

#[test]
fn all_arguments_of_a_method_without_any_are_an_empty_array() {
    let class = class_with("None", 52, "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    let output = merged(&class, &["all-before"]).bytes;
    assert_eq!(body(&output, 0).names()[..2], ["iconst_0", "anewarray"]);
}

#[test]
fn more_than_127_arguments_are_numbered() {
    let descriptor = format!("({})V", "I".repeat(255));
    let class = class_with("Crowd", 52, &descriptor, |code| {
        code.limits(0, 255).op(RETURN);
    });
    let output = merged(&class, &["all"]).bytes;
    let merged = body(&output, 0);
    assert_eq!(merged.steps[0].bytes, [SIPUSH, 0, 255]);
    assert_eq!(merged.steps.iter().filter(|step| step.opcode == AASTORE).count(), 255, "built once, used twice");
}

#[test]
fn the_receiver_of_a_static_method_is_null() {
    let build = |flags| {
        let mut class = ClassBuilder::new("Receiver", 52);
        class.method(flags, "m", "()V", |code| {
            code.limits(0, 1).op(RETURN);
        });
        class.finish()
    };
    let of_static = body(&merged(&build(PUBLIC_STATIC), &["receiver"]).bytes, 0);
    assert!(of_static.names().contains(&"aconst_null"));
    let of_instance = body(&merged(&build(PUBLIC), &["receiver"]).bytes, 0);
    assert!(!of_instance.names().contains(&"aconst_null"));
    assert_eq!(of_instance.names()[..2], ["aload_0", "astore_1"]);
}

#[test]
fn names_are_those_of_the_target() {
    let mut class = ClassBuilder::new("com/acme/Order$Line", 52);
    class.method(PUBLIC_STATIC, "total", "([JLjava/lang/String;)D", |code| {
        code.limits(2, 2).bytes(&[DCONST_1, DRETURN]);
    });
    let output = merged(&class.finish(), &["names"]).bytes;
    let parsed = ClassFile::parse(&output).unwrap();
    let body = body(&output, 0);
    let texts = body.steps.iter().filter(|step| step.opcode == LDC);
    let texts: Vec<_> =
        texts.map(|step| parsed.constant_pool().string(step.bytes[1].into()).unwrap().to_string()).collect();
    assert_eq!(texts, ["com.acme.Order$Line", "total", "([JLjava/lang/String;)D"]);
}

#[test]
fn a_probe_slot_is_the_constant_that_the_code_loads() {
    let original = compiled("targets/Behaviour");
    let Outcome::Rewritten(output) = merged_everywhere(&original, &["bracket", "straight"]) else {
        panic!("nothing was rewritten")
    };
    let count = ClassFile::parse(&original).unwrap().methods().len();
    assert_eq!(output.probes.len() + 2 * output.refused.len(), 2 * count, "one for each template of each method");
    let mut bytes = output.bytes.clone();
    for (number, probe) in output.probes.iter().enumerate() {
        let place = &mut bytes[probe.offset..probe.offset + 4];
        assert_eq!(place, (number as u32).to_be_bytes());
        place.copy_from_slice(&(0xAB_0000 + number as u32).to_be_bytes());
    }
    let patched = ClassFile::parse(&bytes).unwrap();
    for (number, probe) in output.probes.iter().enumerate() {
        let loaded: Vec<i32> = body(&bytes, probe.method_index)
            .steps
            .iter()
            .filter_map(|step| match step.opcode {
                LDC => patched.constant_pool().integer(step.bytes[1].into()).ok(),
                LDC_W => patched.constant_pool().integer(u16::from_be_bytes([step.bytes[1], step.bytes[2]])).ok(),
                _ => None,
            })
            .collect();
        assert!(loaded.contains(&(0xAB_0000 + number as i32)), "{number} of {probe:?}: {loaded:?}");
    }
}

#[test]
fn a_method_without_a_use_of_the_number_has_no_slot() {
    let class = class_with("None", 52, "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    let Outcome::Rewritten(output) = instrument(&class, &[plan(0, &["outer", "straight", "clock"])]) else {
        panic!("nothing was rewritten")
    };
    let of: Vec<_> = output.probes.iter().map(|probe| probe.template).collect();
    assert_eq!(of, [crate::fixtures::template("straight")]);
}
