//! A template that makes an object of the user's own timer class with class and method in one string, and the two worked
//! examples (requirements S4.3, S4.8, S4.21, S4.22); `timer_object` has the rest.

use std::sync::Arc;

use classfile::access::PUBLIC;
use classfile::opcode::*;
use classfile::{ClassFile, Tag};
use instrument_core::level::Level;
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Rewritten, Workspace};

use crate::assembler::{ClassBuilder, CodeBuilder, PUBLIC_STATIC, class_with};
use crate::inspect::{Body, body};

const TIMER: &str = "com/machin/RealTimer";

/// A template of this body, which may use [`TIMER`].
pub(crate) fn assembled(body: impl FnOnce(&mut CodeBuilder<'_>)) -> Vec<u8> {
    let mut class = ClassBuilder::new("Assembled", 52);
    let annotation = class.pool.utf8("Ljava/instr/Template;");
    let [name, template, requires, timer] = ["name", "assembled", "requires", TIMER].map(|text| class.pool.utf8(text));
    let mut marks = vec![0, 1];
    for (before, number) in [(&[][..], annotation), (&[0, 2], name), (b"s", template), (&[], requires), (b"s", timer)] {
        marks.extend(before);
        marks.extend(number.to_be_bytes());
    }
    class.method_with(0x8, "assembled", "()V", &[("RuntimeInvisibleAnnotations", &marks)], body);
    class.finish()
}

/// `RealTimer timer = new RealTimer(Target.qualifiedName()); Target.proceed(); timer.end();`
fn timer(code: &mut CodeBuilder<'_>) {
    let class = code.pool.class(TIMER);
    code.limits(3, 1).indexed(NEW, class).op(DUP);
    code.invoke_static("java/instr/Target", "qualifiedName", "()Ljava/lang/String;");
    code.invoke_special(TIMER, "<init>", "(Ljava/lang/String;)V").op(ASTORE_0);
    code.invoke_static("java/instr/Target", "proceed", "()V");
    let end = code.pool.member(Tag::Methodref, TIMER, "end", "()V");
    code.op(ALOAD_0).indexed(INVOKEVIRTUAL, end).op(RETURN);
}

/// The class with an assembled template in its first method.
pub(crate) fn merged_with(template: &[u8], class: &[u8]) -> Rewritten {
    let mut library = TemplateLibrary::new();
    library.add_class(template, "test").unwrap_or_else(|problems| panic!("{problems:?}"));
    let id = library.find("assembled", Level::Time).unwrap();
    let engine = Engine::new(Arc::new(library), EngineOptions { offset_maps: true, ..EngineOptions::default() });
    let plan = [MethodPlan::inline(0, vec![id])];
    match engine.instrument(&mut Workspace::new(), &ClassFile::parse(class).unwrap(), &plan) {
        Outcome::Rewritten(rewritten) => rewritten,
        Outcome::Unchanged { refused } => panic!("{}", refused[0].reason),
    }
}

fn timed(class: &[u8]) -> Rewritten {
    merged_with(&assembled(timer), class)
}

fn names(body: &Body) -> Vec<String> {
    body.names().into_iter().map(str::to_owned).collect()
}

fn number(bytes: &[u8]) -> u16 {
    match *bytes {
        [_, low] => u16::from(low),
        [_, high, low] => u16::from_be_bytes([high, low]),
        _ => panic!("no constant: {bytes:?}"),
    }
}

#[test]
fn the_entry_makes_the_timer_and_the_exit_ends_it() {
    let class = class_with("p/C", 52, "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    let output = timed(&class).bytes;
    let (parsed, body) = (ClassFile::parse(&output).unwrap(), body(&output, 0));
    let expected = ["new", "dup", "ldc", "invokespecial", "astore_0", "aload_0", "invokevirtual", "return"];
    assert_eq!(names(&body), expected);
    let pool = parsed.constant_pool();
    assert_eq!(pool.class_name(number(&body.steps[0].bytes)).unwrap(), TIMER);
    assert_eq!(pool.string(number(&body.steps[2].bytes)).unwrap(), "p.C.m", "class and method in one string");
    let called = |step: usize| {
        let member = pool.member_ref(number(&body.steps[step].bytes)).unwrap();
        format!("{}.{}{}", member.owner, member.name, member.descriptor)
    };
    assert_eq!(called(3), "com/machin/RealTimer.<init>(Ljava/lang/String;)V");
    assert_eq!(called(6), "com/machin/RealTimer.end()V");
}

/// One byte of index goes up to 255; all other references have two, of which the high one must not get lost.
#[test]
fn the_name_is_loaded_by_the_form_that_its_index_needs() {
    let mut seen = Vec::new();
    for places in 230..270 {
        let mut class = ClassBuilder::new("p/C", 52);
        class.method(PUBLIC_STATIC, "m", "()V", |code| {
            code.limits(0, 0).op(RETURN);
        });
        class.pool.fill_to(places);
        let output = timed(&class.finish()).bytes;
        let (parsed, body) = (ClassFile::parse(&output).unwrap(), body(&output, 0));
        let (pool, load) = (parsed.constant_pool(), &body.steps[2]);
        let index = number(&load.bytes);
        assert_eq!(load.opcode, if index < 256 { LDC } else { LDC_W }, "{index}");
        assert_eq!(pool.string(index).unwrap(), "p.C.m", "{index}");
        assert_eq!(pool.class_name(number(&body.steps[0].bytes)).unwrap(), TIMER, "{index}");
        assert_eq!(pool.member_ref(number(&body.steps[3].bytes)).unwrap().name, "<init>", "{index}");
        assert_eq!(pool.member_ref(number(&body.steps[6].bytes)).unwrap().name, "end", "{index}");
        seen.push(index);
    }
    assert!(seen.contains(&255) && seen.contains(&256), "{seen:?}");
}

/// The two worked examples: a double, an array and an object bring the timer to slot 5; with two parameters there are four locals.
#[test]
fn the_timer_gets_the_first_slot_after_the_parameters() {
    let example = |flags: u16, descriptor: &str, locals: u16| {
        let mut class = ClassBuilder::new("com/machin/Chose", 52);
        class.method(flags, "m", descriptor, |code| {
            code.limits(1, locals).op(if descriptor.ends_with('V') { NOP } else { ICONST_1 });
            code.op(if descriptor.ends_with('V') { RETURN } else { IRETURN });
        });
        body(&timed(&class.finish()).bytes, 0)
    };
    let store = |body: &Body| body.steps[4].bytes.clone();
    let five = example(PUBLIC, "(D[ILcom/machin/Bidule;)I", 5);
    assert_eq!((store(&five), five.max_locals), (vec![ASTORE, 5], 6));
    let four = example(PUBLIC_STATIC, "(D[ILcom/machin/Bidule;)I", 4);
    assert_eq!((store(&four), four.max_locals), (vec![ASTORE, 4], 5));
    let two = example(PUBLIC, "(ILjava/lang/String;)V", 3);
    assert_eq!((store(&two), two.max_locals), (vec![ASTORE_3], 4));
}
