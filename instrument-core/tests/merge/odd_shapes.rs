//! Methods that are legal but that hardly any compiler of today writes. Each can be called with numbers and terminates.

use classfile::Tag;
use classfile::access::PUBLIC;
use classfile::opcode::*;

use crate::assembler::{ClassBuilder, CodeBuilder, PUBLIC_STATIC, Type, class_with};

const THROWABLE: Type = Type::Object("java/lang/Throwable");
const OBJECT: &str = "java/lang/Object";

/// All of them, by class name.
pub(crate) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("SurplusFrames", class_with("SurplusFrames", 52, "(I)I", surplus_with_frames)),
        ("SurplusOld", class_with("SurplusOld", 48, "(I)I", surplus_without_frames)),
        ("SurplusJoin", class_with("SurplusJoin", 52, "(I)J", surplus_over_a_join)),
        ("SurplusAtTheEnd", class_with("SurplusAtTheEnd", 52, "(I)I", surplus_at_the_end)),
        ("NestedJsr", class_with("NestedJsr", 48, "(I)I", |code| nested_subroutines(code, JSR, false))),
        ("WideJsr", class_with("WideJsr", 47, "(I)I", |code| nested_subroutines(code, JSR_W, true))),
        ("Jsr45", class_with("Jsr45", 45, "(I)I", |code| nested_subroutines(code, JSR, true))),
        ("WideGoto", class_with("WideGoto", 52, "(I)I", wide_gotos)),
        ("Slots", slots_at_the_borders("Slots", 52)),
        ("Slots46", slots_at_the_borders("Slots46", 46)),
        ("Switches", class_with("Switches", 52, "(I)I", switches)),
        ("DeadFramed", class_with("DeadFramed", 52, "(I)I", dead_code)),
        ("Dead49", class_with("Dead49", 49, "(I)I", dead_code_without_frames)),
        ("LoopAtStart", class_with("LoopAtStart", 52, "(I)I", loop_at_the_start)),
        ("LoopAtStart45", class_with("LoopAtStart45", 45, "(I)I", loop_at_the_start)),
        ("Overlapping", class_with("Overlapping", 52, "(I)I", overlapping_handlers)),
        ("ToTheEnd", class_with("ToTheEnd", 52, "(I)I", handler_range_to_the_end)),
        ("FromTheStart", class_with("FromTheStart", 51, "(I)I", handler_range_from_the_start)),
        ("Monitors", class_with("Monitors", 52, "(I)I", monitors)),
        ("Flexible", flexible_constructor("Flexible", 52)),
        ("FlexibleLater", flexible_constructor("FlexibleLater", 69)),
        ("TwoSupers", two_supers()),
        ("Fifty", class_with("Fifty", 50, "(I)I", |code| frames_of_fifty(code, Some(Type::Int)))),
        ("FiftyBare", class_with("FiftyBare", 50, "(I)I", |code| frames_of_fifty(code, None))),
        ("MadeInALoop", class_with("MadeInALoop", 52, "(I)I", uninitialised_over_a_branch)),
        ("Dynamic", dynamic_constants()),
    ]
}

/// Version 50 with frames that are wrong: HotSpot goes back to its old verifier for each of these.
pub(crate) fn with_false_frames() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("FiftyWrongType", class_with("FiftyWrongType", 50, "(I)I", |code| frames_of_fifty(code, Some(THROWABLE)))),
        ("FiftyWrongDepth", class_with("FiftyWrongDepth", 50, "(I)I", frames_of_the_wrong_depth)),
        ("FiftyWrongPlace", class_with("FiftyWrongPlace", 50, "(I)I", |code| damaged_frames(code, &[0, 1, 4]))),
        (
            "FiftyTooMany",
            class_with("FiftyTooMany", 50, "(I)I", |code| damaged_frames(code, &[0, 1, 254, 0, 6, 1, 1, 4])),
        ),
    ]
}

/// A loop with a handler in it, with frames where the version has some.
pub(crate) fn of_version(name: &str, major: u16) -> Vec<u8> {
    class_with(name, major, "(I)I", |code| {
        let (handler, next) = (code.limits(2, 1).label(), code.label());
        let start = code.here();
        code.bytes(&[BIPUSH, 12, ILOAD_0, IDIV, ISTORE_0]);
        let end = code.here();
        code.jump(GOTO, next).place(handler);
        if major >= 50 {
            code.frame(&[Type::Int], &[Type::Object("java/lang/ArithmeticException")]);
        }
        code.op(POP).bytes(&[BIPUSH, 7, ISTORE_0]).place(next);
        if major >= 50 {
            code.frame(&[Type::Int], &[]);
        }
        code.iload(0).op(IRETURN).row(start, end, handler, Some("java/lang/ArithmeticException"));
    })
}

/// One word, then a long, then one word below an int result; and the same the other way round.
fn surplus_with_frames(code: &mut CodeBuilder<'_>) {
    let (other, third) = (code.limits(7, 1).label(), code.label());
    code.iload(0).jump(IFEQ, other).iload(0).bytes(&[ICONST_1]).jump(IF_ICMPEQ, third);
    code.bytes(&[ICONST_5, LCONST_1, ACONST_NULL, BIPUSH, 40, IRETURN]);
    code.place(other).frame(&[Type::Int], &[]).bytes(&[LCONST_1, ICONST_5, DCONST_0, BIPUSH, 41, IRETURN]);
    // A copied long under a word: dup2_x1 puts it where it can be torn apart.
    code.place(third).frame(&[Type::Int], &[]).bytes(&[ICONST_3, LCONST_1, DUP2_X1, POP2, BIPUSH, 42, IRETURN]);
}

/// The surplus operands were pushed before a jump, a handler and a subroutine.
fn surplus_without_frames(code: &mut CodeBuilder<'_>) {
    let (early, go, handler, finally) = (code.limits(8, 3).label(), code.label(), code.label(), code.label());
    code.jump(GOTO, go);
    code.place(early).jump(JSR, finally).bytes(&[ICONST_1, IRETURN]);
    code.place(handler).bytes(&[LCONST_0, ICONST_2, BIPUSH, 77, IRETURN]);
    code.place(finally).bytes(&[ASTORE_2, RET, 2]);
    let start = code.place(go).here();
    code.bytes(&[BIPUSH, 10, ILOAD_0, IDIV, POP]);
    let end = code.here();
    code.bytes(&[FCONST_1, LCONST_1, ICONST_4]).jump(GOTO, early).row(start, end, handler, None);
}

/// The operands are known from a frame only.
fn surplus_over_a_join(code: &mut CodeBuilder<'_>) {
    let (other, join) = (code.limits(9, 1).label(), code.label());
    code.bytes(&[ICONST_5, LCONST_1]).iload(0).jump(IFEQ, other).op(ICONST_2).jump(GOTO, join);
    code.place(other).frame(&[Type::Int], &[Type::Int, Type::Long]).op(ICONST_3);
    code.place(join).frame(&[Type::Int], &[Type::Int, Type::Long, Type::Int]);
    code.bytes(&[I2L, DUP2, LRETURN]);
}

fn surplus_at_the_end(code: &mut CodeBuilder<'_>) {
    code.limits(7, 1).bytes(&[ICONST_5, LCONST_1, FCONST_0, ICONST_1, ILOAD_0, IADD, IRETURN]);
}

/// A subroutine that calls another one; return addresses in a slot that needs the wide form of `ret`, if asked for.
fn nested_subroutines(code: &mut CodeBuilder<'_>, call: u8, wide: bool) {
    let (outer, inner) = (code.limits(3, 400).label(), code.label());
    code.jump(call, outer).jump(call, outer).iload(0).op(IRETURN);
    let (store, back): (&[u8], &[u8]) =
        if wide { (&[WIDE, ASTORE, 1, 0x2C], &[WIDE, RET, 1, 0x2C]) } else { (&[ASTORE_1], &[RET, 1]) };
    code.place(outer).bytes(store).bytes(&[IINC, 0, 10]).jump(call, inner).bytes(back);
    code.place(inner).bytes(&[ASTORE_2, IINC, 0, 1, RET, 2]);
}

fn wide_gotos(code: &mut CodeBuilder<'_>) {
    let (back, end) = (code.limits(1, 1).label(), code.label());
    code.jump(GOTO_W, end);
    code.place(back).frame(&[Type::Int], &[]).bytes(&[IINC, 0, 5]).iload(0).op(IRETURN);
    code.place(end).frame(&[Type::Int], &[]).bytes(&[IINC, 0, 1]).jump(GOTO_W, back);
}

/// Loads, stores and increments of slots at each border of a form, parameters on the far side of some.
fn slots_at_the_borders(name: &str, major: u16) -> Vec<u8> {
    class_with(name, major, "(I)I", |code| {
        code.limits(4, 65_010);
        for slot in [1u16, 3, 4, 250, 253, 254, 255, 256, 257, 65_000] {
            let [high, low] = slot.to_be_bytes();
            code.iload(0);
            match slot {
                0..=3 => code.op(ISTORE_0 + low),
                4..=255 => code.bytes(&[ISTORE, low]),
                _ => code.bytes(&[WIDE, ISTORE, high, low]),
            };
            match slot {
                0..=255 => code.bytes(&[IINC, low, 3]),
                _ => code.bytes(&[WIDE, IINC, high, low, 0, 3]),
            };
            code.bytes(&[WIDE, IINC, high, low, 0x03, 0xE8]);
            match slot {
                0..=3 => code.op(ILOAD_0 + low),
                4..=255 => code.bytes(&[ILOAD, low]),
                _ => code.bytes(&[WIDE, ILOAD, high, low]),
            };
            // A long over two slots at the same border.
            let [high, low] = (slot + 2).to_be_bytes();
            code.bytes(&[I2L, WIDE, LSTORE, high, low, WIDE, LLOAD, high, low, L2I, ILOAD_0, IADD, ISTORE_0]);
        }
        code.iload(0).op(IRETURN);
    })
}

/// Both switches at all four alignments.
fn switches(code: &mut CodeBuilder<'_>) {
    code.limits(2, 1);
    for nops in 0..4 {
        let (one, two, join) = (code.label(), code.label(), code.label());
        code.repeat(NOP, nops).iload(0).table_switch(-1, join, &[one, two, join, one]);
        code.place(one).frame(&[Type::Int], &[]).bytes(&[IINC, 0, 3]).jump(GOTO, join);
        code.place(two).frame(&[Type::Int], &[]).bytes(&[IINC, 0, 4]);
        code.place(join).frame(&[Type::Int], &[]);
        let (one, two, join) = (code.label(), code.label(), code.label());
        code.repeat(NOP, nops).iload(0).lookup_switch(join, &[(0, one), (3, two), (70_000, one)]);
        code.place(one).frame(&[Type::Int], &[]).bytes(&[IINC, 0, 5]).jump(GOTO, join);
        code.place(two).frame(&[Type::Int], &[]).bytes(&[IINC, 0, 7]);
        code.place(join).frame(&[Type::Int], &[]);
    }
    code.iload(0).op(IRETURN);
}

/// Code that nothing leads to, with the frame that it must have, a return with operands below it among it.
fn dead_code(code: &mut CodeBuilder<'_>) {
    code.limits(6, 1).iload(0).op(IRETURN);
    code.frame(&[Type::Int], &[Type::Int, Type::Long, Type::Int]).op(IRETURN);
    let end = code.frame(&[], &[]).here();
    code.jump(GOTO, end);
}

fn dead_code_without_frames(code: &mut CodeBuilder<'_>) {
    code.limits(4, 1).iload(0).op(IRETURN).bytes(&[LCONST_1, ICONST_2, ICONST_2, IRETURN, POP, ATHROW]);
}

/// A branch of version 50, with a frame that says this of the only local.
fn frames_of_fifty(code: &mut CodeBuilder<'_>, local: Option<Type>) {
    let other = code.limits(1, 1).label();
    code.iload(0).jump(IFLE, other).bytes(&[BIPUSH, 11, IRETURN]).place(other);
    if let Some(local) = local {
        code.frame(&[local], &[]);
    }
    code.bytes(&[BIPUSH, 12, IRETURN]);
}

/// The frame at the second return says that three words lie below what is returned; there are none.
fn frames_of_the_wrong_depth(code: &mut CodeBuilder<'_>) {
    let other = code.limits(5, 1).label();
    code.iload(0).iload(0).jump(IFLE, other).op(IRETURN);
    code.place(other).frame(&[Type::Int], &[Type::Long, Type::Int, Type::Int]).op(IRETURN);
}

/// A table in the middle of an instruction, of more locals than there are, or not to be read at all.
fn damaged_frames(code: &mut CodeBuilder<'_>, table: &[u8]) {
    code.attribute("StackMapTable", table);
    frames_of_fifty(code, None);
}

/// Jumps back to the first instruction, as long as the argument is positive.
fn loop_at_the_start(code: &mut CodeBuilder<'_>) {
    let start = code.limits(1, 1).here();
    code.frame(&[Type::Int], &[]).bytes(&[IINC, 0, 0xFF]).iload(0).jump(IFGT, start).iload(0).op(IRETURN);
}

/// Ranges that cross each other and handlers that lie in their own range: each throws again until a counter is used up.
fn overlapping_handlers(code: &mut CodeBuilder<'_>) {
    let locals = [Type::Int, Type::Int];
    let (first, second, done) = (code.limits(3, 2).label(), code.label(), code.label());
    code.bytes(&[ICONST_0, ISTORE_1]);
    let start = code.here();
    code.bytes(&[IINC, 1, 1, BIPUSH, 100, ILOAD_0, IDIV, ISTORE_0]);
    let middle = code.here();
    code.bytes(&[BIPUSH, 100, ILOAD_0, ICONST_1, ISUB, IDIV, POP]).jump(GOTO, done);
    code.place(first).frame(&locals, &[Type::Object("java/lang/ArithmeticException")]).op(POP);
    code.bytes(&[IINC, 1, 10, ILOAD_1, BIPUSH, 30]).jump(IF_ICMPGT, done);
    code.bytes(&[ICONST_1, ICONST_0, IDIV, POP, ACONST_NULL]);
    let end = code.here();
    code.place(second).frame(&locals, &[THROWABLE]).bytes(&[POP, IINC, 1, 64]);
    code.place(done).frame(&locals, &[]).bytes(&[ILOAD_1, ILOAD_0, IADD, IRETURN]);
    let (divided, all) = (Some("java/lang/ArithmeticException"), None);
    code.row(start, end, first, divided).row(middle, end, second, all).row(start, middle, second, all);
    code.row(first, second, first, divided);
}

/// The range ends where the code does.
fn handler_range_to_the_end(code: &mut CodeBuilder<'_>) {
    let (handler, divide, end) = (code.limits(2, 1).label(), code.label(), code.label());
    code.jump(GOTO, divide);
    code.place(handler).frame(&[Type::Int], &[THROWABLE]).bytes(&[POP, BIPUSH, 99, IRETURN]);
    let start = code.place(divide).frame(&[Type::Int], &[]).here();
    code.bytes(&[BIPUSH, 12, ILOAD_0, IDIV, IRETURN]);
    code.place(end).row(start, end, handler, None);
}

/// The range begins with the code, and its handler jumps back there.
fn handler_range_from_the_start(code: &mut CodeBuilder<'_>) {
    let (start, handler) = (code.limits(2, 1).here(), code.label());
    code.frame(&[Type::Int], &[]).bytes(&[BIPUSH, 12, ILOAD_0, IDIV, IRETURN]);
    let end = code.here();
    code.place(handler).frame(&[Type::Int], &[THROWABLE]).bytes(&[POP, IINC, 0, 3]).jump(GOTO, start);
    code.row(start, end, handler, Some("java/lang/RuntimeException"));
}

/// A synchronized block as javac writes it, left in three ways; its handler protects itself.
fn monitors(code: &mut CodeBuilder<'_>) {
    let locals = [Type::Int, Type::Object(OBJECT)];
    let (handler, negative) = (code.limits(3, 2).label(), code.label());
    code.new_object(OBJECT);
    code.op(DUP).invoke_special(OBJECT, "<init>", "()V").bytes(&[DUP, ASTORE_1, MONITORENTER]);
    let start = code.here();
    code.iload(0).jump(IFLT, negative).bytes(&[BIPUSH, 12, ILOAD_0, IDIV, ALOAD_1, MONITOREXIT, IRETURN]);
    code.place(negative).frame(&locals, &[]).bytes(&[ALOAD_1, MONITOREXIT]);
    let end = code.here();
    code.bytes(&[BIPUSH, 55, IRETURN]);
    code.place(handler).frame(&locals, &[THROWABLE]).bytes(&[ALOAD_1, MONITOREXIT]);
    let left = code.here();
    code.op(ATHROW).row(start, end, handler, None).row(handler, left, handler, None);
}

/// Before `super()`: a loop, a branch and a handler that goes on; the object is there in every frame, not initialised.
fn flexible_constructor(name: &'static str, major: u16) -> Vec<u8> {
    let mut class = ClassBuilder::new(name, major);
    class.method(PUBLIC, "<init>", "(I)V", |code| {
        let before = [Type::UninitializedThis, Type::Int];
        let (handler, done, fine) = (code.limits(3, 2).label(), code.label(), code.label());
        let start = code.here();
        code.frame(&before, &[]).bytes(&[IINC, 1, 0xFF]).iload(1).jump(IFGT, start);
        code.bytes(&[BIPUSH, 12]).iload(1).op(IDIV).bytes(&[ISTORE, 1]);
        let end = code.here();
        code.jump(GOTO, done);
        code.place(handler).frame(&before, &[THROWABLE]).bytes(&[POP, ICONST_4, ISTORE_1]);
        code.place(done).frame(&before, &[]).aload(0).invoke_special(OBJECT, "<init>", "()V");
        code.iload(1).jump(IFGE, fine).bytes(&[ICONST_1, ICONST_0, IDIV, POP]);
        code.place(fine).frame(&[Type::Object(name), Type::Int], &[]).op(RETURN);
        code.row(start, end, handler, Some("java/lang/ArithmeticException"));
    });
    class.finish()
}

/// Two calls of `super()` on two branches, each followed by work, one of which throws.
fn two_supers() -> Vec<u8> {
    let mut class = ClassBuilder::new("TwoSupers", 52);
    class.method(PUBLIC, "<init>", "(I)V", |code| {
        let (other, done) = (code.limits(3, 2).label(), code.label());
        let after = [Type::Object("TwoSupers"), Type::Int];
        code.iload(1).jump(IFEQ, other).aload(0).invoke_special(OBJECT, "<init>", "()V");
        code.bytes(&[IINC, 1, 1, BIPUSH, 9]).iload(1).op(IDIV).op(POP).jump(GOTO, done);
        code.place(other).frame(&[Type::UninitializedThis, Type::Int], &[]).aload(0);
        code.invoke_special(OBJECT, "<init>", "()V").bytes(&[IINC, 1, 2]);
        code.place(done).frame(&after, &[]).bytes(&[BIPUSH, 9]).iload(1).op(IDIV).op(POP).op(RETURN);
    });
    class.finish()
}

/// An object that is made, and not yet initialised over two branches, in frames.
fn uninitialised_over_a_branch(code: &mut CodeBuilder<'_>) {
    let (other, join) = (code.limits(4, 2).label(), code.label());
    code.bytes(&[ICONST_0, ISTORE_1]);
    let made = code.new_object("java/lang/Integer");
    code.op(DUP).iload(0).jump(IFEQ, other).iload(0).jump(GOTO, join);
    let locals = [Type::Int, Type::Int];
    let stack = [Type::New(made), Type::New(made)];
    code.place(other).frame(&locals, &stack).bytes(&[BIPUSH, 33]);
    code.place(join).frame(&locals, &[stack[0], stack[1], Type::Int]);
    code.invoke_special("java/lang/Integer", "<init>", "(I)V");
    let value = code.pool.member(Tag::Methodref, "java/lang/Integer", "intValue", "()I");
    code.indexed(INVOKEVIRTUAL, value).op(IRETURN);
}

/// `ldc` of a dynamic constant, and an `invokedynamic`.
fn dynamic_constants() -> Vec<u8> {
    let mut class = ClassBuilder::new("Dynamic", 55);
    let bootstrap = |class: &mut ClassBuilder, owner: &str, name: &str, descriptor: &str| {
        let method = class.pool.member(Tag::Methodref, owner, name, descriptor);
        class.pool.method_handle(6, method)
    };
    let lookup = "Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;";
    let constants = "java/lang/invoke/ConstantBootstraps";
    let primitive =
        bootstrap(&mut class, constants, "primitiveClass", &format!("({lookup}Ljava/lang/Class;)Ljava/lang/Class;"));
    let concat = bootstrap(
        &mut class,
        "java/lang/invoke/StringConcatFactory",
        "makeConcat",
        &format!("({lookup}Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;"),
    );
    let rows = [2u16.to_be_bytes(), primitive.to_be_bytes(), [0; 2], concat.to_be_bytes(), [0; 2]].concat();
    class.method(PUBLIC_STATIC, "m", "(I)Ljava/lang/String;", |code| {
        let kind = code.pool.dynamic(Tag::Dynamic, 0, "I", "Ljava/lang/Class;");
        let call = code.pool.dynamic(Tag::InvokeDynamic, 1, "makeConcat", "(Ljava/lang/Class;I)Ljava/lang/String;");
        code.limits(3, 1).indexed(LDC_W, kind).iload(0).indexed(INVOKEDYNAMIC, call).bytes(&[0, 0, ARETURN]);
    });
    class.attribute("BootstrapMethods", &rows);
    class.finish()
}
