//! Is a constructor protected only where its object is initialised, and refused where it never is?

use classfile::access::PUBLIC;
use classfile::opcode::*;
use classfile::stack_map::VerificationType;
use instrument_core::{Refusal, Rewritten};

use crate::assembler::{ClassBuilder, CodeBuilder, Type};
use crate::fixtures::{merged, refusal};
use crate::inspect::{Body, body};

const OBJECT: &str = "java/lang/Object";

fn constructor(name: &str, major: u16, descriptor: &str, body: impl FnOnce(&mut CodeBuilder<'_>)) -> Vec<u8> {
    let mut class = ClassBuilder::new(name, major);
    class.method(PUBLIC, "<init>", descriptor, body);
    class.finish()
}

/// `new` and a branch before super(): frames hold the object and another one, both not initialised.
fn branch_before_super() -> Vec<u8> {
    constructor("BranchBefore", 52, "(I)V", |code| {
        let (other, join) = (code.limits(6, 2).label(), code.label());
        code.aload(0);
        let made = code.new_object(OBJECT);
        code.op(DUP).iload(1).jump(IFEQ, other).op(ICONST_1).jump(GOTO, join);
        let locals = [Type::UninitializedThis, Type::Int];
        let stack = [Type::UninitializedThis, Type::New(made), Type::New(made)];
        code.place(other).frame(&locals, &stack).op(ICONST_2);
        code.place(join).frame(&locals, &[stack[0], stack[1], stack[2], Type::Int]).op(POP);
        code.invoke_special(OBJECT, "<init>", "()V").op(POP).invoke_special(OBJECT, "<init>", "()V");
        code.invoke_static("BranchBefore", "own", "()V").op(RETURN);
    })
}

/// The way of JDK 25: a handler and a loop before super().
fn prologue_before_super() -> Vec<u8> {
    constructor("PrologueBefore", 69, "(I)V", |code| {
        let locals = [Type::UninitializedThis, Type::Int];
        let (handler, done) = (code.limits(2, 2).label(), code.label());
        let start = code.here();
        code.frame(&locals, &[]).bytes(&[IINC, 1, 0xFF]).iload(1).jump(IFGT, start);
        let end = code.here();
        code.jump(GOTO, done);
        code.place(handler).frame(&locals, &[Type::Object("java/lang/Throwable")]).op(POP);
        code.place(done).frame(&locals, &[]).aload(0).invoke_special(OBJECT, "<init>", "()V");
        code.invoke_static("PrologueBefore", "own", "()V").op(RETURN).row(start, end, handler, None);
    })
}

/// this(...) with an argument that is made on the way.
fn chain() -> Vec<u8> {
    constructor("Chain", 52, "()V", |code| {
        code.limits(4, 1).aload(0);
        code.new_object(OBJECT);
        code.op(DUP).invoke_special(OBJECT, "<init>", "()V");
        code.invoke_special("Chain", "<init>", "(Ljava/lang/Object;)V").op(RETURN);
    })
}

/// What Groovy writes: a switch over several super(...) calls.
fn several_supers() -> Vec<u8> {
    constructor("Several", 52, "(I)V", |code| {
        let (one, two, done) = (code.limits(2, 2).label(), code.label(), code.label());
        let before = [Type::UninitializedThis, Type::Int];
        code.iload(1).jump(IFEQ, two);
        code.place(one).aload(0).invoke_special(OBJECT, "<init>", "()V").jump(GOTO, done);
        code.place(two).frame(&before, &[]).aload(0).invoke_special(OBJECT, "<init>", "()V");
        code.place(done).frame(&[Type::Object("Several"), Type::Int], &[]).op(RETURN);
    })
}

/// Two branches that have nothing in common, each with a `super()` and then a call that may throw.
fn supers_apart() -> Vec<u8> {
    constructor("Apart", 52, "(I)V", |code| {
        let (other, both) = (code.limits(4, 2).label(), code.label());
        let before = [Type::UninitializedThis, Type::Int];
        code.iload(1).jump(IFEQ, other).aload(0);
        let made = code.new_object(OBJECT);
        code.op(DUP).iload(1).jump(IFGT, both).op(NOP);
        code.place(both).frame(&before, &[before[0], Type::New(made), Type::New(made)]);
        code.invoke_special(OBJECT, "<init>", "()V").op(POP).invoke_special(OBJECT, "<init>", "()V");
        code.invoke_static("Apart", "own", "()V").op(RETURN);
        code.place(other).frame(&before, &[]).invoke_static("Apart", "early", "()V");
        code.aload(0).invoke_special(OBJECT, "<init>", "()V");
        code.invoke_static("Apart", "own", "()V").op(RETURN);
    })
}

/// Laid out backwards: what runs before super() is placed after it.
fn backwards() -> Vec<u8> {
    constructor("Backwards", 52, "()V", |code| {
        let (first, second) = (code.limits(1, 1).label(), code.label());
        code.jump(GOTO, first);
        code.place(second).frame(&[Type::UninitializedThis], &[]).aload(0);
        code.invoke_special(OBJECT, "<init>", "()V").invoke_static("Backwards", "own", "()V").op(RETURN);
        code.place(first).frame(&[Type::UninitializedThis], &[]).invoke_static("Backwards", "early", "()V");
        code.jump(GOTO, second);
    })
}

pub(crate) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("BranchBefore", branch_before_super()),
        ("Chain", chain()),
        ("Several", several_supers()),
        ("Apart", supers_apart()),
        ("Backwards", backwards()),
    ]
}

/// Returns the offset after the last `invokespecial` of the target.
fn after_super(class: &[u8], output: &Rewritten) -> u32 {
    let original = body(class, 0);
    let call = original.steps.iter().rfind(|step| step.opcode == INVOKESPECIAL).unwrap().offset;
    output.methods[0].offset_map.to_new(call).unwrap() + 3
}

fn template_row(output: &Rewritten) -> (Body, u32, u32) {
    let merged = body(&output.bytes, 0);
    let row = *merged.rows.last().unwrap();
    (merged, row.start.into(), row.end.into())
}

#[test]
fn only_what_follows_super_is_protected() {
    for class in [branch_before_super(), prologue_before_super()] {
        for templates in [&["bracket"][..], &["clock", "bracket"]] {
            let output = merged(&class, templates);
            let (merged, start, end) = template_row(&output);
            assert_eq!(start, after_super(&class, &output), "{templates:?}");
            assert!(end > start);
            for frame in merged.frames.iter().filter(|frame| frame.offset >= start) {
                assert!(!frame.locals.contains(&VerificationType::UninitializedThis));
            }
        }
    }
}

#[test]
fn the_prolog_runs_before_super() {
    let class = branch_before_super();
    let output = merged(&class, &["bracket"]);
    let calls = body(&output.bytes, 0).calls(&output.bytes);
    assert_eq!(calls, ["enter", "<init>", "<init>", "own", "exit", "exit"]);
}

#[test]
fn objects_under_construction_are_named_by_their_new_place() {
    let class = branch_before_super();
    let output = merged(&class, &["clock"]);
    let (map, original, merged) = (&output.methods[0].offset_map, body(&class, 0), body(&output.bytes, 0));
    for frame in &original.frames {
        let moved = merged.frame_at(map.to_new(frame.offset).unwrap());
        assert_eq!(moved.locals[0], VerificationType::UninitializedThis);
        for (before, after) in frame.stack.iter().zip(&moved.stack) {
            match before {
                VerificationType::Uninitialized(offset) => {
                    assert_eq!(*after, VerificationType::Uninitialized(map.to_new(*offset).unwrap()));
                    assert_eq!(merged.step_at(map.to_new(*offset).unwrap()).opcode, NEW);
                }
                other => assert_eq!(after, other),
            }
        }
    }
}

#[test]
fn a_call_of_this_counts_as_super() {
    let class = chain();
    let output = merged(&class, &["bracket"]);
    let merged = body(&output.bytes, 0);
    // Nothing but the return follows, so nothing is protected.
    assert_eq!(merged.rows, []);
    assert_eq!(merged.calls(&output.bytes), ["enter", "<init>", "<init>", "exit", "exit"]);
}

/// Which calls of `own`, `early` and constructors a row of the template covers, in the order of the target's code.
fn covered_calls(class: &[u8], templates: &[&str]) -> Vec<(String, bool)> {
    let output = merged(class, templates);
    let (original, merged) = (body(class, 0), body(&output.bytes, 0));
    let calls = original.steps.iter().filter(|step| matches!(step.opcode, INVOKESTATIC | INVOKESPECIAL));
    let covers = |at: u32| merged.rows.iter().any(|row| (u32::from(row.start)..u32::from(row.end)).contains(&at));
    let is_covered = calls.map(|step| covers(output.methods[0].offset_map.to_new(step.offset).unwrap()));
    original.calls(class).into_iter().zip(is_covered).collect()
}

#[test]
fn whatever_follows_any_of_several_supers_is_protected() {
    let expected = |calls: &[(&str, bool)]| -> Vec<(String, bool)> {
        calls.iter().map(|(name, covered)| (String::from(*name), *covered)).collect()
    };
    let (made, own, early) = (("<init>", false), ("own", true), ("early", false));
    for templates in [&["bracket"][..], &["catches"], &["bracket", "clock"]] {
        let apart = covered_calls(&supers_apart(), templates);
        assert_eq!(apart, expected(&[made, made, own, early, made, own]), "{templates:?}");
        assert_eq!(covered_calls(&backwards(), templates), expected(&[made, own, early]), "{templates:?}");
    }
    assert_eq!(covered_calls(&several_supers(), &["bracket"]), expected(&[made, made]));
}

#[test]
fn a_prolog_with_handlers_and_loops_keeps_the_object_uninitialised() {
    let class = branch_before_super();
    let output = merged(&class, &["catches"]);
    let start = output.methods[0].offset_map.to_new(0).unwrap();
    let merged = body(&output.bytes, 0);
    let prolog: Vec<_> = merged.frames.iter().filter(|frame| frame.offset <= start).collect();
    assert!(!prolog.is_empty());
    assert!(prolog.iter().all(|frame| frame.locals[0] == VerificationType::UninitializedThis), "{prolog:?}");
}

#[test]
fn a_constructor_that_never_calls_super_is_refused() {
    let never = constructor("Never", 52, "()V", |code| {
        code.limits(1, 1).bytes(&[ACONST_NULL, ATHROW]);
    });
    assert_eq!(refusal(&never, "bracket"), Refusal::ConstructorShape);
    // Without a handler no position is needed.
    merged(&never, &["straight"]);
}

#[test]
fn the_constructor_of_object_has_an_initialised_object_from_the_start() {
    let mut class = ClassBuilder::below(OBJECT, "", 52);
    class.method(PUBLIC, "<init>", "()V", |code| {
        code.limits(1, 1).op(NOP).op(RETURN);
    });
    let class = class.finish();
    for template in ["bracket", "receiver", "loops"] {
        let output = merged(&class, &[template]);
        for frame in body(&output.bytes, 0).frames {
            assert!(!frame.locals.contains(&VerificationType::UninitializedThis), "{template}");
        }
    }
    let (_, start, _) = template_row(&merged(&class, &["bracket"]));
    assert_eq!(start, merged(&class, &["bracket"]).methods[0].offset_map.to_new(0).unwrap());
}

#[test]
fn the_receiver_of_a_constructor_is_refused() {
    assert_eq!(refusal(&chain(), "receiver"), Refusal::ReceiverInConstructor);
    assert_eq!(refusal(&chain(), "everything"), Refusal::ReceiverInConstructor);
}

#[test]
fn a_method_named_like_a_constructor_call_does_not_disturb() {
    // An object is made and given up before its constructor ran.
    let class = constructor("GivenUp", 52, "(I)V", |code| {
        let ok = code.limits(3, 2).label();
        code.iload(1).jump(IFEQ, ok);
        code.new_object("java/lang/Error");
        code.op(DUP).invoke_special("java/lang/Error", "<init>", "()V").op(ATHROW);
        code.place(ok).frame(&[Type::UninitializedThis, Type::Int], &[]).aload(0);
        code.invoke_special(OBJECT, "<init>", "()V").invoke_static("GivenUp", "own", "()V").op(RETURN);
    });
    let output = merged(&class, &["bracket"]);
    assert_eq!(template_row(&output).1, after_super(&class, &output));
}
