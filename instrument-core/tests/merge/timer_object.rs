//! A timer object per call (requirements S4.8 to S4.13, S4.22): created with the method's name at the entry, called at every exit.

use std::sync::Arc;

use classfile::access::PUBLIC;
use classfile::opcode::*;
use classfile::{ClassFile, ModifiedUtf8};
use instrument_core::level::Level;
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Rewritten, SlotScheme, Workspace};

use crate::assembler::{ClassBuilder, CodeBuilder, PUBLIC_STATIC, Type, class_with};
use crate::fixtures::{classes, compiled};
use crate::inspect::{Body, Step, body, needed_stack};
use crate::jvm::{folder, run};

fn timed_with(options: EngineOptions, class: &[u8], template: &str) -> Rewritten {
    let mut library = TemplateLibrary::new();
    library.add_class(&compiled("templates/Timers"), "test").unwrap();
    let id = library.find(template, Level::Time).unwrap();
    let engine = Engine::new(Arc::new(library), EngineOptions { offset_maps: true, ..options });
    let parsed = ClassFile::parse(class).unwrap();
    match engine.instrument(&mut Workspace::new(), &parsed, &[MethodPlan::inline(0, vec![id])]) {
        Outcome::Rewritten(output) => output,
        Outcome::Unchanged { refused } => panic!("{refused:?}"),
    }
}

fn timed(class: &[u8], template: &str) -> Rewritten {
    timed_with(EngineOptions::default(), class, template)
}

/// A pool with this many entries, and an empty method.
fn with_pool_of(count: u16) -> Vec<u8> {
    let mut class = ClassBuilder::new("Timed", 52);
    class.method(PUBLIC_STATIC, "m", "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    class.pool.fill_to(count);
    class.finish()
}

fn index_of(step: &Step) -> u16 {
    match step.bytes[..] {
        [LDC, low] => low.into(),
        [_, high, low, ..] => u16::from_be_bytes([high, low]),
        _ => panic!("{step:?} has no constant"),
    }
}

#[test]
fn the_entry_makes_the_timer_with_the_methods_name() {
    let mut forms = Vec::new();
    for count in 200..300 {
        let output = timed(&with_pool_of(count), "stopwatch-returns");
        let parsed = ClassFile::parse(&output.bytes).unwrap();
        let pool = parsed.constant_pool();
        let merged = body(&output.bytes, 0);
        let [new, dup, name, call, store, ..] = merged.steps.as_slice() else { panic!("{:?}", merged.names()) };
        assert_eq!([new.opcode, dup.opcode, call.opcode, store.opcode], [NEW, DUP, INVOKESPECIAL, ASTORE_0]);
        assert_eq!(pool.class_name(index_of(new)).unwrap(), "probe/Stopwatch", "{count}");
        assert_eq!(pool.string(index_of(name)).unwrap(), "m", "{count}");
        let made = pool.member_ref(index_of(call)).unwrap();
        assert_eq!((made.owner, made.name), (ModifiedUtf8(b"probe/Stopwatch"), ModifiedUtf8(b"<init>")), "{count}");
        assert_eq!(name.opcode == LDC, index_of(name) < 256, "{count}");
        forms.push((name.opcode, index_of(name)));
    }
    assert!(forms.contains(&(LDC, 255)) && forms.contains(&(LDC_W, 256)), "{forms:?}");
}

/// Ten returns, with a handler and a switch.
fn ten_returns(code: &mut CodeBuilder<'_>) {
    let (handler, last) = (code.limits(2, 1).label(), code.label());
    let labels: Vec<_> = (0..8).map(|_| code.label()).collect();
    let start = code.here();
    code.iload(0).table_switch(0, last, &labels);
    for (value, label) in (30u8..).zip(labels) {
        code.place(label).frame(&[Type::Int], &[]).bytes(&[BIPUSH, value, ILOAD_0, IDIV, IRETURN]);
    }
    let end = code.here();
    code.place(handler).frame(&[Type::Int], &[Type::Object("java/lang/Throwable")]).bytes(&[POP, ICONST_M1, IRETURN]);
    code.place(last).frame(&[Type::Int], &[]).iload(0).op(IRETURN).row(start, end, handler, None);
}

fn ends(body: &Body) -> usize {
    body.steps.iter().filter(|step| step.opcode == INVOKEVIRTUAL).count()
}

#[test]
fn every_return_leads_to_the_end_of_the_timer() {
    let class = class_with("TenReturns", 52, "(I)I", ten_returns);
    let original = body(&class, 0);
    assert_eq!(original.steps.iter().filter(|step| step.opcode == IRETURN).count(), 10);
    let output = timed(&class, "stopwatch-returns");
    let merged = body(&output.bytes, 0);
    assert_eq!((ends(&merged), merged.steps.iter().filter(|step| step.opcode == IRETURN).count()), (1, 1));
    assert_eq!(ends(&body(&timed(&class, "stopwatch").bytes, 0)), 2, "one more for exceptions");
    // The handler and its range have moved with the code.
    let map = &output.methods[0].offset_map;
    let (before, after) = (original.rows[0], merged.rows[0]);
    let new = |offset: u16| map.to_new(offset.into()).unwrap() as u16;
    assert_eq!((after.start, after.handler), (new(before.start), new(before.handler)));

    let folder = folder("timer-object");
    for (name, template) in [("Plain", None), ("Returns", Some("stopwatch-returns")), ("Handled", Some("stopwatch"))] {
        let class = class_with(name, 52, "(I)I", ten_returns);
        let bytes = template.map_or(class.clone(), |template| timed(&class, template).bytes);
        std::fs::write(folder.join(format!("{name}.class")), bytes).unwrap();
    }
    let printed = run(&[&classes()], &["targets.CallAll", &folder.display().to_string()]);
    let of = |name: &str| {
        let lines = printed.lines().filter(|line| line.contains(&format!(" {name}.")));
        lines.map(|line| line.replace(name, "")).collect::<Vec<_>>()
    };
    assert_eq!(of("Plain").len(), 5, "{printed}");
    assert_eq!((of("Returns"), of("Handled")), (of("Plain"), of("Plain")));
}

#[test]
fn the_timer_is_after_the_parameters_or_after_all_locals() {
    // The worked example: an instance method (D[ILcom/machin/Bidule;)I with two locals of its own.
    let mut class = ClassBuilder::new("Machin", 52);
    class.method(PUBLIC, "m", "(D[ILcom/machin/Bidule;)I", |code| {
        code.limits(1, 7).bytes(&[ICONST_1, ISTORE, 5, ICONST_2, ISTORE, 6, ILOAD, 5, IRETURN]);
    });
    let class = class.finish();
    let moved = EngineOptions { slots: SlotScheme::AfterParameters, ..EngineOptions::default() };
    for (options, slot, own) in [(EngineOptions::default(), 7, 5), (moved, 5, 6)] {
        let output = timed_with(options, &class, "stopwatch-returns");
        let merged = body(&output.bytes, 0);
        assert_eq!((merged.steps[4].bytes.as_slice(), merged.max_locals), (&[ASTORE, slot][..], 8));
        let at = output.methods[0].offset_map.to_new(1).unwrap();
        assert_eq!(merged.step_at(at).bytes, [ISTORE, own]);
    }
    // Receiver, two parameters, timer.
    let mut class = ClassBuilder::new("Two", 52);
    class.method(PUBLIC, "m", "(II)V", |code| {
        code.limits(0, 3).op(RETURN);
    });
    assert_eq!(body(&timed(&class.finish(), "stopwatch-returns").bytes, 0).max_locals, 4);
}

#[test]
fn the_stack_has_room_for_the_timer_and_a_pending_result() {
    let bodies: [(&str, u16, &[u8], u16); 4] = [
        ("()V", 0, &[RETURN], 3),
        ("()I", 1, &[ICONST_1, IRETURN], 3),
        ("()J", 2, &[LCONST_1, LRETURN], 3),
        ("()J", 4, &[LCONST_1, LCONST_0, LADD, LRETURN], 4),
    ];
    for (descriptor, before, code_bytes, expected) in bodies {
        let class = class_with("Stack", 52, descriptor, |code| {
            code.limits(before, 0).bytes(code_bytes);
        });
        for template in ["stopwatch-returns", "stopwatch"] {
            let output = timed(&class, template);
            let merged = body(&output.bytes, 0);
            assert_eq!(merged.max_stack, expected, "{descriptor} {template}");
            assert_eq!(needed_stack(&output.bytes, &merged), expected, "{descriptor} {template}");
        }
    }
}

#[test]
fn growth_is_reported_for_each_method() {
    let class = class_with("TenReturns", 52, "(I)I", ten_returns);
    let output = timed(&class, "stopwatch-returns");
    let method = &output.methods[0];
    assert_eq!(method.length_before as usize, body(&class, 0).code.len());
    assert_eq!(method.length_after as usize, body(&output.bytes, 0).code.len());
    assert!(method.length_after > method.length_before);
}
