//! Classes from before frames, and from the years in which frames could be left out.

use classfile::opcode::*;
use instrument_core::{MethodPlan, Outcome, Refusal};

use crate::assembler::{ClassBuilder, CodeBuilder, PUBLIC_STATIC, Type, class_with};
use crate::branches::assert_same_flow;
use crate::fixtures::{classes, instrument, merged, plan, refusal};
use crate::inspect::{body, needed_stack};
use crate::jvm::{folder, run};

/// A finally block as javac wrote it before 1.4.2: a subroutine, called on each way out.
fn subroutine(code: &mut CodeBuilder<'_>) {
    let (handler, finally, end) = (code.limits(2, 4).label(), code.label(), code.label());
    let start = code.here();
    code.invoke_static("java/lang/System", "nanoTime", "()J").bytes(&[POP2, ICONST_1, ISTORE_1]).jump(JSR, finally);
    code.bytes(&[ILOAD_1, IRETURN]);
    code.place(handler).op(ASTORE_2).jump(JSR, finally).bytes(&[ALOAD_2, ATHROW]);
    code.place(finally).bytes(&[ASTORE_3, IINC, 0, 1, RET, 3]);
    code.place(end).row(start, handler, handler, None);
}

fn loop_and_junk(code: &mut CodeBuilder<'_>) {
    let (start, end) = (code.limits(4, 1).here(), code.label());
    code.bytes(&[IINC, 0, 0xFF])
        .iload(0)
        .jump(IFGT, start)
        .iload(0)
        .jump(IFEQ, end)
        .bytes(&[ICONST_1, ICONST_2, IRETURN]);
    code.place(end).bytes(&[LCONST_0, ICONST_3, IRETURN]);
}

pub(crate) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let names = [("Old45", 45), ("Old46", 46), ("Old48", 48), ("Old49", 49)];
    let mut samples: Vec<_> = names.map(|(name, major)| (name, class_with(name, major, "(I)I", loop_and_junk))).into();
    samples.push(("Jsr48", class_with("Jsr48", 48, "(I)I", subroutine)));
    samples.push(("Jsr50", class_with("Jsr50", 50, "(I)I", subroutine)));
    samples.push(("Fifty", class_with("Fifty", 50, "(I)I", loop_and_junk)));
    samples.push(("FiftyHandler", handler_without_frames("FiftyHandler")));
    samples
}

#[test]
fn classes_without_frames_get_none() {
    for (name, class) in samples() {
        for template in ["bracket", "loops", "catches", "everything"] {
            let output = merged(&class, &[template]);
            let merged = body(&output.bytes, 0);
            assert_same_flow(&body(&class, 0), &merged, &output.methods[0].offset_map);
            assert_eq!(merged.attribute("StackMapTable"), None, "{name} {template}");
        }
    }
}

#[test]
fn subroutines_survive() {
    let class = class_with("Jsr", 48, "(I)I", subroutine);
    for templates in [&["bracket"][..], &["clock", "bracket"]] {
        let output = merged(&class, templates);
        let merged = body(&output.bytes, 0);
        assert_eq!(merged.steps.iter().filter(|step| step.opcode == JSR).count(), 2);
        assert_eq!(merged.steps.iter().filter(|step| step.opcode == RET).count(), 1);
        assert_eq!(needed_stack(&output.bytes, &merged), merged.max_stack);
    }
}

/// Version 50, no jump, but a handler: frames would have to stand there.
fn handler_without_frames(name: &str) -> Vec<u8> {
    class_with(name, 50, "(I)I", |code| {
        let (start, handler) = (code.limits(2, 1).here(), code.label());
        code.invoke_static("java/lang/System", "nanoTime", "()J").bytes(&[POP2, ICONST_1, IRETURN]);
        code.place(handler).bytes(&[POP, ICONST_2, IRETURN]).row(start, handler, handler, None);
    })
}

#[test]
fn version_50_has_frames_if_it_had_some_or_needs_none() {
    let with_frames = class_with("Fifty", 50, "(I)V", |code| {
        let end = code.limits(1, 1).label();
        code.iload(0).jump(IFEQ, end).op(NOP).place(end).frame(&[Type::Int], &[]).op(RETURN);
    });
    assert!(!body(&merged(&with_frames, &["bracket"]).bytes, 0).frames.is_empty());
    let without_jumps = class_with("Fifty", 50, "(I)V", |code| {
        code.limits(0, 1).op(NOP).op(RETURN);
    });
    assert!(!body(&merged(&without_jumps, &["bracket"]).bytes, 0).frames.is_empty());
}

/// Up to version 45.2: one byte for the stack, one for the locals, two for the length of the code. JVMs since 15 read it as
/// that of later versions, so what a method of such a class says depends on the JVM.
#[test]
fn classes_from_before_45_3_are_left_alone() {
    let mut class = ClassBuilder::new("Oldest", 45);
    let code = class.pool.utf8("Code");
    let content = [&[2, 1, 0, 4][..], &[ICONST_1, ICONST_2, IADD, IRETURN], &[0, 0, 0, 0]].concat();
    class.raw_method(PUBLIC_STATIC, "m", "(I)I", &[(code, content)]);
    let mut bytes = class.finish();
    bytes[5] = 2;
    assert_eq!(refusal(&bytes, "bracket").key(), "short-code-head");
    let mut long = class_with("Oldest", 45, "(I)I", loop_and_junk);
    merged(&long, &["bracket"]);
    long[5] = 2;
    assert_eq!(refusal(&long, "bracket").key(), "short-code-head");
    long[4..8].copy_from_slice(&[0, 3, 0, 44]);
    assert_eq!(refusal(&long, "bracket").key(), "short-code-head");
}

#[test]
fn a_frame_table_that_old_jvms_ignore_is_not_trusted() {
    let class = class_with("Old", 49, "()V", |code| {
        code.limits(0, 0).attribute("StackMapTable", &[0xFF, 0xFF, 1]).op(RETURN);
    });
    assert_eq!(body(&merged(&class, &["bracket"]).bytes, 0).attribute("StackMapTable"), None);
    let damaged = class_with("New", 52, "()V", |code| {
        code.limits(0, 0).attribute("StackMapTable", &[0xFF, 0xFF, 1]).op(RETURN);
    });
    assert_eq!(refusal(&damaged, "bracket").key(), "malformed");
}

#[test]
fn a_template_with_newer_instructions_is_refused() {
    let of = |major| {
        class_with("Old", major, "()V", |code| {
            code.limits(0, 0).op(RETURN);
        })
    };
    assert_eq!(refusal(&of(50), "concatenation"), Refusal::ClassVersion { needed: 51, found: 50 });
    merged(&of(51), &["concatenation"]);
    assert_eq!(refusal(&of(48), "constants"), Refusal::ClassVersion { needed: 49, found: 48 });
    merged(&of(49), &["constants"]);
}

const TWO_MISSING: &str = "(Lmissing/One;)V";

/// The parameter's local holds objects of two classes that are nowhere to be found, one after the other and never both.
fn two_missing_classes(code: &mut CodeBuilder<'_>) {
    code.limits(1, 1).invoke_static("missing/Maker", "other", "()Lmissing/Other;").bytes(&[ASTORE_0, NOP, RETURN]);
}

/// The same in a local that is empty at first, each in a branch that returns.
fn two_missing_classes_at_returns(code: &mut CodeBuilder<'_>) {
    let second = code.limits(1, 2).label();
    code.iload(0).jump(IFEQ, second);
    code.invoke_static("missing/Maker", "one", "()Lmissing/One;").bytes(&[ASTORE_1, RETURN]);
    code.place(second).invoke_static("missing/Maker", "other", "()Lmissing/Other;").bytes(&[ASTORE_1, RETURN]);
}

/// Returns the rewritten class if a wrapper is allowed, and whether it has one.
fn where_wrappers_are_allowed(class: &[u8]) -> (Vec<u8>, bool) {
    let allowed = MethodPlan { wrapper_allowed: true, ..plan(0, &["catches"]) };
    let Outcome::Rewritten(output) = instrument(class, &[allowed]) else { panic!("refused") };
    (output.bytes, output.methods[0].renamed.is_some())
}

#[test]
fn where_types_are_inferred_references_that_would_meet_ask_for_a_wrapper() {
    let with_two = |major| class_with("Two", major, TWO_MISSING, two_missing_classes);
    for major in [45, 48, 49] {
        assert!(where_wrappers_are_allowed(&with_two(major)).1, "{major}");
        assert!(merged(&with_two(major), &["catches"]).methods[0].renamed.is_none(), "the only way there is");
    }
    for major in [50, 51, 52] {
        assert!(!where_wrappers_are_allowed(&with_two(major)).1, "nothing is inferred in version {major}");
    }
    let without_frames = |major| class_with("NoFrames", major, "(I)V", two_missing_classes_at_returns);
    assert!(where_wrappers_are_allowed(&without_frames(50)).1);
    assert!(!where_wrappers_are_allowed(&without_frames(51)).1, "nobody verifies it");
    let only_numbers = class_with("Old48", 48, "(I)I", loop_and_junk);
    assert!(!where_wrappers_are_allowed(&only_numbers).1);
}

#[test]
fn a_constructor_that_asks_for_a_wrapper_takes_the_template_in() {
    let mut class = ClassBuilder::new("Made", 48);
    class.method(classfile::access::PUBLIC, "<init>", "(Ljava/lang/String;)V", |code| {
        code.limits(1, 2).aload(0).invoke_special("java/lang/Object", "<init>", "()V");
        code.bytes(&[ACONST_NULL, ASTORE_1, RETURN]);
    });
    let class = class.finish();
    let (bytes, wrapped) = where_wrappers_are_allowed(&class);
    assert!(!wrapped);
    assert_eq!(bytes, merged(&class, &["catches"]).bytes, "nothing is left of the first try");
}

/// Version 50 with frames that are wrong, or right: one at an instruction that is there or not.
fn fifty_with_frame_at(code: &mut CodeBuilder<'_>, delta: u8) {
    code.attribute("StackMapTable", &[0, 1, delta]);
    two_missing_classes(code);
}

#[test]
fn wrong_frames_in_version_50_ask_for_a_wrapper_as_missing_ones_do() {
    let wrong = class_with("Wrong", 50, TWO_MISSING, |code| fifty_with_frame_at(code, 60));
    assert!(where_wrappers_are_allowed(&wrong).1);
    // The JVM goes back to type inference for all methods of the class.
    let two = |delta: u8| {
        let mut class = ClassBuilder::new("Two", 50);
        class.method(PUBLIC_STATIC, "first", TWO_MISSING, two_missing_classes);
        class.method(PUBLIC_STATIC, "second", "()V", |code| {
            code.limits(0, 0).attribute("StackMapTable", &[0, 1, delta]).op(NOP).op(RETURN);
        });
        let allowed = |index| MethodPlan { wrapper_allowed: true, ..plan(index, &["catches"]) };
        let Outcome::Rewritten(output) = instrument(&class.finish(), &[allowed(0), allowed(1)]) else {
            panic!("refused")
        };
        (output.methods[0].renamed.is_some(), body(&output.bytes, 0).frames.is_empty())
    };
    assert_eq!(two(1), (false, false));
    assert_eq!(two(60), (true, true));
}

/// A local that holds an object of one class before `super()` and of another one after it.
fn two_missing_classes_around_super() -> Vec<u8> {
    let mut class = ClassBuilder::new("Around", 49);
    class.method(classfile::access::PUBLIC, "<init>", "()V", |code| {
        code.limits(1, 2).invoke_static("missing/Maker", "one", "()Lmissing/One;").op(ASTORE_1);
        code.aload(0).invoke_special("java/lang/Object", "<init>", "()V").op(NOP);
        code.invoke_static("missing/Maker", "other", "()Lmissing/Other;").bytes(&[ASTORE_1, NOP, RETURN]);
    });
    class.finish()
}

#[test]
fn a_constructor_that_would_need_a_wrapper_is_left_alone() {
    let allowed = MethodPlan { wrapper_allowed: true, ..plan(0, &["catches"]) };
    let Outcome::Unchanged { refused } = instrument(&two_missing_classes_around_super(), &[allowed]) else {
        panic!("rewritten")
    };
    assert_eq!(refused[0].reason.key(), "may-load-classes");
}

#[test]
fn references_of_one_class_need_no_wrapper() {
    let storing = |descriptor: &str, maker: &'static str| {
        class_with("Same", 48, descriptor, |code| {
            let end = code.limits(2, 2).label();
            code.aload(0).jump(IFNONNULL, end).invoke_static("missing/Maker", "make", maker).op(DUP).op(ASTORE_0);
            code.bytes(&[POP, RETURN]).place(end).op(RETURN);
        })
    };
    assert!(!where_wrappers_are_allowed(&storing("(Lmissing/One;)V", "()Lmissing/One;")).1);
    assert!(!where_wrappers_are_allowed(&storing("(Ljava/lang/Object;)V", "()Lmissing/One;")).1);
    assert!(where_wrappers_are_allowed(&storing("(Lmissing/One;)V", "()Lmissing/Other;")).1);
}

#[test]
fn the_jvm_is_not_made_to_look_for_classes_that_are_missing() {
    let samples = [
        ("Wrong", class_with("Wrong", 50, TWO_MISSING, |code| fifty_with_frame_at(code, 60))),
        ("Handler", class_with("Handler", 48, TWO_MISSING, two_missing_classes)),
        ("Returns", class_with("Returns", 48, "(I)V", two_missing_classes_at_returns)),
        ("NoFrames", class_with("NoFrames", 50, "(I)V", two_missing_classes_at_returns)),
    ];
    for (name, class) in samples {
        let link = |way: &str, bytes: &[u8]| {
            let folder = folder(&format!("missing-{name}-{way}"));
            std::fs::write(folder.join(format!("{name}.class")), bytes).unwrap();
            run(&[&classes()], &["targets.LinkAll", &folder.display().to_string()])
        };
        assert_eq!(link("as-it-is", &class).trim(), "linked 1", "{name}");
        assert_eq!(link("wrapper", &where_wrappers_are_allowed(&class).0).trim(), "linked 1", "{name}");
        let inline = link("inline", &merged(&class, &["catches"]).bytes);
        assert!(inline.contains("NoClassDefFoundError: missing/"), "{name}: the reason for the wrapper: {inline}");
    }
    let link = |name: &str, bytes: &[u8]| {
        let folder = folder(&format!("missing-{name}"));
        std::fs::write(folder.join(format!("{name}.class")), bytes).unwrap();
        run(&[&classes()], &["targets.LinkAll", &folder.display().to_string()])
    };
    let same = class_with("Same", 48, "(Lmissing/One;)V", |code| {
        code.limits(1, 1).invoke_static("missing/Maker", "one", "()Lmissing/One;").bytes(&[ASTORE_0, NOP, RETURN]);
    });
    assert_eq!(link("Same", &merged(&same, &["catches"]).bytes).trim(), "linked 1", "references of one class");
    let around = two_missing_classes_around_super();
    assert_eq!(link("Around", &around).trim(), "linked 1");
    assert!(link("Around", &merged(&around, &["catches"]).bytes).contains("NoClassDefFoundError: missing/"));
}
