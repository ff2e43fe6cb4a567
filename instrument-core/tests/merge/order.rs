//! Is the merged method prolog, target, epilog, and does a jump of the target never reach the prolog?

use classfile::access::{ABSTRACT, NATIVE, PUBLIC};
use classfile::opcode::*;
use classfile::{ClassFile, Tag};
use instrument_core::{Outcome, Refusal};

use crate::assembler::{ClassBuilder, PUBLIC_STATIC, Type, class_with};
use crate::fixtures::{compiled, instrument, merged, merged_everywhere, plan};
use crate::inspect::body;

fn calls_between(descriptor: &str, templates: &[&str]) -> Vec<String> {
    let class = class_with("Order", 52, descriptor, |code| {
        code.limits(2, 4).invoke_static("Order", "own", "()V").op(RETURN);
    });
    let output = merged(&class, templates);
    body(&output.bytes, 0).calls(&output.bytes)
}

#[test]
fn the_target_is_between_prolog_and_epilog() {
    assert_eq!(calls_between("()V", &["straight"]), ["enter", "own", "exit"]);
    assert_eq!(calls_between("()V", &["bracket"]), ["enter", "own", "exit", "exit"]);
    assert_eq!(calls_between("()V", &["bare"]), ["own"]);
}

#[test]
fn neither_the_sentinel_nor_anything_else_of_the_target_class_is_left() {
    for template in ["bracket", "everything", "names", "outcome"] {
        let class = class_with("Order", 52, "(I)I", |code| {
            code.limits(1, 1).iload(0).op(IRETURN);
        });
        let output = merged(&class, &[template]).bytes;
        let needle = b"java/instr/Target";
        assert!(!output.windows(needle.len()).any(|window| window == needle), "{template}");
    }
}

#[test]
fn stacked_templates_nest_outermost_first() {
    let stacked = ["outer-in", "inner-in", "own", "inner-out", "inner-out", "outer-out", "outer-out"];
    let class = class_with("Order", 52, "()V", |code| {
        code.limits(1, 0).invoke_static("Order", "own", "()V").op(RETURN);
    });
    let output = merged(&class, &["outer", "inner"]);
    let parsed = ClassFile::parse(&output.bytes).unwrap();
    let texts: Vec<_> = body(&output.bytes, 0)
        .steps
        .iter()
        .filter_map(|step| match step.opcode {
            LDC => Some(parsed.constant_pool().string(u16::from(step.bytes[1])).unwrap().to_string()),
            INVOKESTATIC => {
                let method = parsed.constant_pool().member_ref(u16::from_be_bytes([step.bytes[1], step.bytes[2]]));
                (method.unwrap().name == "own").then(|| "own".to_owned())
            }
            _ => None,
        })
        .collect();
    assert_eq!(texts, stacked);
    // The inner handler ends before the outer one, so it is first in the table.
    let rows = body(&output.bytes, 0).rows;
    assert_eq!(rows.len(), 2);
    assert!(rows[0].start >= rows[1].start && rows[0].end <= rows[1].end, "{rows:?}");
    assert_eq!(output.probes.len(), 0);
}

#[test]
fn a_jump_back_to_the_first_instruction_does_not_run_the_prolog_again() {
    for template in ["straight", "bracket", "loops", "catches", "everything"] {
        let class = class_with("Loop", 52, "(I)V", |code| {
            let start = code.limits(1, 1).here();
            code.frame(&[Type::Int], &[]).bytes(&[IINC, 0, 0xFF]).iload(0).jump(IFGT, start).op(RETURN);
        });
        let output = merged(&class, &[template]);
        let map = &output.methods[0].offset_map;
        let body = body(&output.bytes, 0);
        let start = map.to_new(0).unwrap();
        let jump = body.step_at(map.to_new(5).unwrap());
        assert_eq!((jump.opcode, jump.targets.as_slice()), (IFGT, &[start][..]), "{template}");
        assert_eq!(body.step_at(start).bytes, [IINC, 0, 0xFF]);
        body.frame_at(start);
    }
}

#[test]
fn several_methods_get_different_templates_in_one_class() {
    let mut class = ClassBuilder::new("Many", 52);
    for name in ["a", "b", "c", "d", "e"] {
        class.method(PUBLIC_STATIC, name, "()V", |code| {
            code.limits(0, 0).op(RETURN);
        });
    }
    let class = class.finish();
    let plans = [plan(0, &["straight"]), plan(1, &["outer"]), plan(3, &["inner", "bracket"]), plan(4, &["straight"])];
    let Outcome::Rewritten(output) = instrument(&class, &plans) else { panic!("nothing was rewritten") };
    assert_eq!(output.methods.iter().map(|method| method.method_index).collect::<Vec<_>>(), [0, 1, 3, 4]);
    assert_eq!(body(&output.bytes, 0).calls(&output.bytes), ["enter", "exit"]);
    assert_eq!(body(&output.bytes, 1).calls(&output.bytes), ["note", "note", "note"]);
    assert_eq!(body(&output.bytes, 2).code, [RETURN]);
    assert_eq!(body(&output.bytes, 3).calls(&output.bytes), ["note", "enter", "exit", "exit", "note", "note"]);
    assert_eq!(output.probes.iter().map(|probe| probe.method_index).collect::<Vec<_>>(), [0, 3, 4]);
}

#[test]
fn a_refused_method_leaves_no_trace_and_the_others_are_rewritten() {
    let build = |with_native: bool| {
        let mut class = ClassBuilder::new("Mixed", 52);
        class.method(PUBLIC_STATIC, "first", "(I)V", |code| {
            code.limits(0, 1).op(RETURN);
        });
        if with_native {
            class.raw_method(PUBLIC | NATIVE, "native", "()V", &[]);
            class.raw_method(PUBLIC | ABSTRACT, "abstract", "()V", &[]);
        }
        class.method(PUBLIC_STATIC, "none", "()V", |code| {
            code.limits(0, 0).op(RETURN);
        });
        class.method(PUBLIC_STATIC, "last", "(I)V", |code| {
            code.limits(0, 1).op(RETURN);
        });
        class.finish()
    };
    let class = build(true);
    let Outcome::Rewritten(output) = merged_everywhere(&class, &["first"]) else { panic!("nothing was rewritten") };
    let refused: Vec<_> = output.refused.iter().map(|refused| (refused.method_index, refused.reason.key())).collect();
    assert_eq!(refused, [(1, "no-code"), (2, "no-code"), (3, "no-such-argument")]);
    assert_eq!(output.refused[2].reason, Refusal::NoSuchArgument { index: 0, arguments: 0 });
    assert_eq!(body(&output.bytes, 3).code, [RETURN]);
    assert_eq!(
        body(&output.bytes, 4).calls(&output.bytes),
        ["valueOf", "value", "valueOf", "value", "valueOf", "value"]
    );

    // Asking only for those that can be had gives the same bytes: the refused one left nothing in the pool.
    let Outcome::Rewritten(alone) = instrument(&class, &[plan(0, &["first"]), plan(4, &["first"])]) else {
        panic!("nothing was rewritten")
    };
    assert_eq!(alone.bytes, output.bytes);
}

#[test]
fn a_plan_that_does_not_fit_the_class_is_refused_instead_of_losing_methods() {
    let class = compiled("targets/Behaviour");
    let count = ClassFile::parse(&class).unwrap().methods().len();
    for methods in [&[count][..], &[1, 0], &[1, 1]] {
        let plan: Vec<_> = methods.iter().map(|index| plan(*index, &["straight"])).collect();
        let Outcome::Unchanged { refused } = instrument(&class, &plan) else { panic!("{methods:?} was rewritten") };
        assert!(refused.iter().all(|refused| matches!(refused.reason, Refusal::SelfCheck(_))), "{refused:?}");
    }
}

#[test]
fn what_is_not_planned_is_copied_byte_by_byte() {
    let original = compiled("targets/Behaviour");
    let class = ClassFile::parse(&original).unwrap();
    let planned = class.methods().iter().position(|method| method.name == "words").unwrap();
    let Outcome::Rewritten(output) = instrument(&original, &[plan(planned, &["everything"])]) else {
        panic!("nothing was rewritten")
    };
    let rewritten = ClassFile::parse(&output.bytes).unwrap();
    let pool = class.constant_pool().end_offset();
    assert_eq!(original[10..pool], output.bytes[10..pool], "the pool's entries keep their places");
    let bytes_of = |file: &[u8], member: &classfile::Member<'_>| file[member.offset..member.end].to_vec();
    for (before, after) in class.fields().iter().zip(rewritten.fields()) {
        assert_eq!(bytes_of(&original, before), bytes_of(&output.bytes, after));
    }
    for (index, (before, after)) in class.methods().iter().zip(rewritten.methods()).enumerate() {
        let same = bytes_of(&original, before) == bytes_of(&output.bytes, after);
        assert_eq!(same, index != planned, "{}", before.name);
    }
    assert_eq!(original[class.attributes_offset()..], output.bytes[rewritten.attributes_offset()..]);
}

#[test]
fn a_method_keeps_its_other_attributes_and_their_order() {
    let mut class = ClassBuilder::new("Attributes", 52);
    let attributes: [(&str, &[u8]); 2] = [("Deprecated", &[]), ("com.acme.Unknown", &[1, 2, 3])];
    class.method_with(PUBLIC_STATIC, "m", "()V", &attributes, |code| {
        code.limits(0, 0).op(RETURN);
    });
    class.attribute("com.acme.OfClass", &[9; 7]);
    let output = merged(&class.finish(), &["bracket"]).bytes;
    let rewritten = ClassFile::parse(&output).unwrap();
    let names = rewritten.methods()[0].attributes(&rewritten).map(|attribute| attribute.unwrap().name.to_string());
    assert_eq!(names.collect::<Vec<_>>(), ["Code", "Deprecated", "com.acme.Unknown"]);
    let unknown = rewritten.methods()[0].attributes(&rewritten).find(b"com.acme.Unknown").unwrap().unwrap();
    assert_eq!(unknown.content, [1, 2, 3]);
    assert_eq!(rewritten.attributes().find(b"com.acme.OfClass").unwrap().unwrap().content, [9; 7]);
}

#[test]
fn a_class_of_a_later_java_version_is_only_a_number() {
    let class = class_with("Later", 99, "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    let output = merged(&class, &["bracket"]).bytes;
    let rewritten = ClassFile::parse(&output).unwrap();
    assert_eq!(rewritten.major_version(), 99);
    assert_eq!(rewritten.constant_pool().tag(1).unwrap(), Tag::Utf8);
}
