//! Is everything that would break a limit of the class file or of the JIT refused with its reason, and nothing else?

use classfile::ClassFile;
use classfile::opcode::*;
use instrument_core::{MethodPlan, Outcome, Refusal};

use crate::assembler::{ClassBuilder, PUBLIC_STATIC, class_with};
use crate::fixtures::{instrument, merged, plan, refusal};
use crate::inspect::body;

/// A method of exactly this many bytes.
fn of_length(length: usize) -> Vec<u8> {
    class_with("Long", 52, "()V", |code| {
        code.limits(1, 1).repeat(NOP, length - 1).op(RETURN);
    })
}

/// Bytes that the template adds to a void method.
fn growth(template: &str) -> usize {
    body(&merged(&of_length(10), &[template]).bytes, 0).code.len() - 10
}

#[test]
fn a_method_is_not_pushed_over_what_hotspot_compiles() {
    let growth = growth("bracket");
    let fits = 8_000 - growth;
    assert_eq!(body(&merged(&of_length(fits), &["bracket"]).bytes, 0).code.len(), 8_000);
    assert_eq!(refusal(&of_length(fits + 1), "bracket"), Refusal::HugeForJit { before: fits + 1, after: 8_001 });
    assert_eq!(refusal(&of_length(7_990), "bracket").key(), "huge-for-jit");
    assert_eq!(refusal(&of_length(8_000), "bracket").key(), "huge-for-jit");
    merged(&of_length(8_001), &["bracket"]);
}

#[test]
fn a_method_without_room_gets_a_wrapper_where_one_is_allowed() {
    for (length, key) in [(7_990, "huge-for-jit"), (65_530, "code-too-large")] {
        let class = of_length(length);
        let allowed = MethodPlan { wrapper_allowed: true, ..plan(0, &["bracket"]) };
        let Outcome::Rewritten(output) = instrument(&class, std::slice::from_ref(&allowed)) else {
            panic!("{length} bytes are refused")
        };
        let renamed = output.methods[0].renamed.as_deref().expect("the original got another name");
        let rewritten = ClassFile::parse(&output.bytes).unwrap();
        let original = rewritten.methods().iter().position(|method| method.name.as_bytes() == renamed).unwrap();
        assert_eq!(body(&output.bytes, original).code, body(&class, 0).code);
        assert!(body(&output.bytes, 0).calls(&output.bytes).contains(&"enter".to_owned()));
        assert_eq!(output.probes.len(), 1, "nothing is left of the first try");

        // The reason is the first one if there cannot be a wrapper either, or may not be.
        assert_eq!(refusal(&class, "bracket").key(), key);
        let mut initialiser = ClassBuilder::new("Static", 52);
        initialiser.method(PUBLIC_STATIC, "<clinit>", "()V", |code| {
            code.limits(1, 0).repeat(NOP, length - 1).op(RETURN);
        });
        let Outcome::Unchanged { refused } = instrument(&initialiser.finish(), &[allowed]) else { panic!("wrapped") };
        assert_eq!(refused[0].reason.key(), key);
    }
}

#[test]
fn a_method_that_has_room_is_not_wrapped() {
    let allowed = MethodPlan { wrapper_allowed: true, ..plan(0, &["bracket"]) };
    for length in [10, 7_900, 8_001, 40_000] {
        let Outcome::Rewritten(output) = instrument(&of_length(length), std::slice::from_ref(&allowed)) else {
            panic!("{length} bytes are refused")
        };
        assert_eq!(output.methods[0].renamed, None, "{length}");
    }
}

#[test]
fn code_ends_at_65535_bytes() {
    let fits = 65_535 - growth("bracket");
    assert_eq!(body(&merged(&of_length(fits), &["bracket"]).bytes, 0).code.len(), 65_535);
    assert_eq!(refusal(&of_length(fits + 1), "bracket"), Refusal::CodeTooLarge { length: 65_536 });
    assert_eq!(refusal(&of_length(65_535), "bracket").key(), "code-too-large");
    let text = refusal(&of_length(65_535), "bracket").to_string();
    assert!(text.contains("65,535"), "{text}");
}

fn with_pool_of(count: u16) -> Vec<u8> {
    let mut class = ClassBuilder::new("Full", 52);
    for name in ["one", "two"] {
        class.method(PUBLIC_STATIC, name, "()V", |code| {
            code.limits(0, 0).op(RETURN);
        });
    }
    class.pool.fill_to(count);
    class.finish()
}

#[test]
fn a_full_constant_pool_is_refused() {
    assert_eq!(refusal(&with_pool_of(65_535), "bracket"), Refusal::PoolFull);
    assert_eq!(refusal(&with_pool_of(65_530), "bracket"), Refusal::PoolFull);
    // What fits exactly is merged; `ldc` of the number is then a wide one.
    let appended = {
        let output = merged(&with_pool_of(300), &["bracket"]).bytes;
        ClassFile::parse(&output).unwrap().constant_pool().count() - 300
    };
    let output = merged(&with_pool_of(65_535 - appended), &["bracket"]).bytes;
    assert_eq!(ClassFile::parse(&output).unwrap().constant_pool().count(), 65_535);
    assert!(body(&output, 0).names().contains(&"ldc_w"));
    assert_eq!(refusal(&with_pool_of(65_535 - appended + 1), "bracket"), Refusal::PoolFull);
}

#[test]
fn a_method_that_needs_no_constant_is_rewritten_in_a_full_pool() {
    let class = with_pool_of(65_535);
    let Outcome::Rewritten(output) = instrument(&class, &[plan(0, &["bracket"]), plan(1, &["bare"])]) else {
        panic!("nothing was rewritten")
    };
    assert_eq!(output.refused.first().unwrap().reason, Refusal::PoolFull);
    assert_eq!(ClassFile::parse(&output.bytes).unwrap().constant_pool().count(), 65_535);
    assert!(output.probes.is_empty());
}

#[test]
fn local_slots_end_at_65535() {
    let with_locals = |count: u16| {
        class_with("Locals", 49, "()V", |code| {
            code.limits(0, count).op(RETURN);
        })
    };
    // `bracket` needs one for the throwable it holds.
    assert_eq!(body(&merged(&with_locals(65_534), &["bracket"]).bytes, 0).max_locals, 65_535);
    assert_eq!(refusal(&with_locals(65_535), "bracket"), Refusal::TooManyLocals);
    assert_eq!(refusal(&with_locals(65_533), "clock"), Refusal::TooManyLocals);
}

#[test]
fn a_full_exception_table_is_refused() {
    let with_rows = |count: usize| {
        class_with("Rows", 49, "()V", |code| {
            let start = code.limits(1, 1).here();
            code.op(NOP);
            let end = code.here();
            let handler = code.op(RETURN).here();
            code.bytes(&[POP, RETURN]);
            for _ in 0..count {
                code.row(start, end, handler, None);
            }
        })
    };
    assert_eq!(body(&merged(&with_rows(65_534), &["bracket"]).bytes, 0).rows.len(), 65_535);
    assert!(matches!(instrument(&with_rows(65_535), &[plan(0, &["bracket"])]), Outcome::Unchanged { .. }));
}

#[test]
fn passes_do_not_grow_with_the_number_of_branches() {
    for jumps in [1, 10, 1_000] {
        let class = class_with("Jumps", 49, "(I)V", |code| {
            code.limits(1, 1);
            for _ in 0..jumps {
                let next = code.label();
                code.iload(0).jump(IFEQ, next).place(next);
            }
            code.op(RETURN);
        });
        assert_eq!(merged(&class, &["bracket"]).methods[0].passes, 1);
    }
}

#[test]
fn attributes_of_the_code_end_at_65535() {
    let with_attributes = |count: usize| {
        class_with("Attributes", 52, "()V", |code| {
            for _ in 0..count {
                code.attribute("Unknown", &[]);
            }
            code.limits(0, 0).op(RETURN);
        })
    };
    // The handler of `bracket` needs a table of frames, which this code has not.
    assert_eq!(body(&merged(&with_attributes(65_534), &["bracket"]).bytes, 0).attributes.len(), 65_535);
    assert_eq!(refusal(&with_attributes(65_535), "bracket").key(), "too-many-attributes");
    let allowed = MethodPlan { wrapper_allowed: true, ..plan(0, &["bracket"]) };
    let Outcome::Rewritten(output) = instrument(&with_attributes(65_535), &[allowed]) else { panic!("refused") };
    assert!(output.methods[0].renamed.is_some(), "the original keeps its attributes");
}

#[test]
fn attributes_of_the_class_end_at_65535() {
    let with_attributes = |count: usize| {
        let mut class = ClassBuilder::new("Attributes", 52);
        class.method(PUBLIC_STATIC, "m", "()V", |code| {
            code.limits(0, 0).op(RETURN);
        });
        (0..count).for_each(|_| class.attribute("Unknown", &[]));
        class.finish()
    };
    // `concatenation` brings rows of `BootstrapMethods`, which is one more.
    merged(&with_attributes(65_534), &["concatenation"]);
    assert_eq!(refusal(&with_attributes(65_535), "concatenation").key(), "too-many-attributes");
}

/// Many words on the operand stack, and a jump with all of them every four bytes.
#[test]
fn operands_that_would_take_much_memory_are_not_followed() {
    let with = |words: usize, jumps: usize| {
        class_with("Deep", 49, "(I)I", |code| {
            code.limits(words as u16 + 1, 1).repeat(ICONST_0, words);
            for _ in 0..jumps {
                let next = code.label();
                code.op(ILOAD_0).jump(IFEQ, next).place(next);
            }
            code.bytes(&[ICONST_1, IRETURN]);
        })
    };
    merged(&with(100, 7_000), &["bracket"]);
    assert_eq!(refusal(&with(30_000, 7_800), "bracket").key(), "surplus-operands");
}

/// Each frame adds one local to those of the frame before; written out, each has thousands.
#[test]
fn frames_that_would_take_much_memory_are_not_expanded() {
    let with = |frames: u16| {
        class_with("Frames", 52, "()V", |code| {
            let mut content = frames.to_be_bytes().to_vec();
            content.extend([252, 0, 0, 1].repeat(usize::from(frames)));
            code.limits(1, frames).attribute("StackMapTable", &content);
            code.repeat(NOP, usize::from(frames)).op(RETURN);
        })
    };
    merged(&with(1_000), &["bracket"]);
    assert_eq!(refusal(&with(20_000), "bracket").key(), "frames-too-large");
}
