//! Call sites: is the code around each call what it should be, does everything else in the method mean what it meant, and which are refused?

use classfile::access::PUBLIC;
use classfile::opcode::*;
use classfile::{ClassFile, ExceptionRow, Tag};
use instrument_core::{CallSite, EngineOptions, MethodPlan, Outcome, Refusal, Rewritten, SiteRefusal};

use crate::assembler::{ClassBuilder, CodeBuilder, PUBLIC_STATIC, Type, class_with};
use crate::fixtures::{every_call, instrument, instrument_with, plan, with_every_site};
use crate::hostile::Random;
use crate::inspect::{Body, Step, body, needed_stack};
use crate::random_program::random_program;
use crate::same_behaviour::all_options;

const THROWABLE: Type = Type::Object("java/lang/Throwable");

/// A plan for the first method with these sites.
fn with_sites(templates: &[&str], sites: &[(u16, u16)]) -> MethodPlan {
    let sites = sites.iter().map(|&(offset, number)| CallSite { offset, number });
    plan(0, templates).with_sites(sites.collect())
}

fn rewritten(class: &[u8], plan: MethodPlan) -> Rewritten {
    match instrument(class, &[plan]) {
        Outcome::Rewritten(output) => output,
        Outcome::Unchanged { refused } => panic!("refused: {}", refused[0].reason),
    }
}

/// The class with a site at every call of its first method.
fn every_site(class: &[u8]) -> Rewritten {
    let sites = every_call(&ClassFile::parse(class).unwrap(), 0, 0);
    let output = rewritten(class, plan(0, &["sites"]).with_sites(sites));
    assert_eq!(output.methods[0].refused_sites, []);
    output
}

/// The method of `probe.Sites` that a step calls.
fn site_call(class: &ClassFile<'_>, step: &Step) -> Option<String> {
    let constant = u16::from_be_bytes([*step.bytes.get(1)?, *step.bytes.get(2)?]);
    let method = class.constant_pool().member_ref(constant).ok().filter(|_| step.opcode == INVOKESTATIC)?;
    (method.owner == "probe/Sites").then(|| method.name.to_string())
}

/// Mnemonics of the merged method; calls of `probe.Sites` by their names, loads of a long and the number after it left out.
fn told(output: &Rewritten) -> Vec<String> {
    let (class, body) = (ClassFile::parse(&output.bytes).unwrap(), body(&output.bytes, 0));
    let names = body.names();
    let text = |(step, name): (&Step, &&str)| site_call(&class, step).unwrap_or_else(|| (*name).to_owned());
    let all = body.steps.iter().zip(&names).map(text);
    all.filter(|name| !name.starts_with("lload")).collect()
}

/// The exceptions rows as they were, the template's last.
fn assert_stack(output: &Rewritten) {
    let body = body(&output.bytes, 0);
    assert_eq!(body.max_stack, needed_stack(&output.bytes, &body), "{:?}", body.names());
}

#[test]
fn a_call_stands_between_begin_and_end() {
    let class = class_with("Simple", 52, "(I)I", |code| {
        code.limits(1, 1).op(ILOAD_0).invoke_static("Simple", "m", "(I)I").op(IRETURN);
    });
    let output = rewritten(&class, with_sites(&["sites"], &[(1, 3)]));
    let body = body(&output.bytes, 0);
    let from = body.steps.iter().position(|step| step.opcode == ILOAD_0).unwrap();
    let code: Vec<_> = body.steps[from..from + 8].iter().flat_map(|step| step.bytes.clone()).collect();
    let [begin, own, end] = [3, 4, 7].map(|at| body.steps[from + at].bytes[1..].to_vec());
    let expected =
        [&[ILOAD_0, LLOAD_1, ICONST_3, INVOKESTATIC], &begin[..], &[INVOKESTATIC], &own, &[LLOAD_1, ICONST_3]];
    assert_eq!(code, [&expected.concat(), &[INVOKESTATIC][..], &end].concat());
    assert_eq!(
        told(&output)[..9],
        ["ldc", "enter", "lstore_1", "iload_0", "iconst_3", "begin", "invokestatic", "iconst_3", "end"]
    );
    assert_eq!(output.methods[0].length_after - output.methods[0].length_before, bare_growth() + 10);
    // The argument below the scope and the number.
    assert_eq!(body.max_stack, 4);
    assert_stack(&output);
}

/// How much the template alone adds to a method with one return at its end and a local.
fn bare_growth() -> u32 {
    let class = class_with("Simple", 52, "(I)I", |code| {
        code.limits(1, 1).op(ILOAD_0).invoke_static("Simple", "m", "(I)I").op(IRETURN);
    });
    let method = &rewritten(&class, plan(0, &["sites"])).methods[0];
    method.length_after - method.length_before
}

#[test]
fn every_kind_of_call_can_be_a_site() {
    let class = class_with("Kinds", 52, "(I)I", |code| {
        let list = code.pool.member(Tag::InterfaceMethodref, "java/util/List", "get", "(I)Ljava/lang/Object;");
        let text = code.pool.member(Tag::Methodref, "java/lang/Object", "toString", "()Ljava/lang/String;");
        code.limits(4, 1);
        code.new_object("java/util/ArrayList");
        code.op(DUP).iload(0).invoke_special("java/util/ArrayList", "<init>", "(I)V");
        code.iload(0).indexed(INVOKEINTERFACE, list).bytes(&[2, 0]).indexed(INVOKEVIRTUAL, text).op(POP);
        code.iload(0).invoke_static("Kinds", "m", "(I)I").op(IRETURN);
    });
    let output = every_site(&class);
    let told = told(&output);
    for name in ["invokespecial", "invokeinterface", "invokevirtual", "invokestatic"] {
        let at = told.iter().position(|told| told == name).unwrap();
        assert_eq!((told[at - 1].as_str(), told[at + 2].as_str()), ("begin", "end"), "{told:?}");
    }
    // Twice the new object, its argument, and the scope and the number above them.
    assert_eq!(body(&output.bytes, 0).max_stack, 6);
    assert_stack(&output);
}

#[test]
fn a_jump_to_a_call_begins_it_and_one_after_it_does_not_end_it() {
    let class = class_with("Jumps", 52, "(I)I", |code| {
        let (call, after) = (code.limits(2, 1).label(), code.label());
        code.iload(0).jump(IFEQ, after).iload(0).jump(IFLT, after).iload(0).iload(0).jump(IFGT, call);
        code.bytes(&[POP, ICONST_1]).place(call).frame(&[Type::Int], &[Type::Int]);
        code.invoke_static("Jumps", "m", "(I)I").op(ISTORE_0).place(after).frame(&[Type::Int], &[]);
        code.iload(0).op(IRETURN);
    });
    let output = every_site(&class);
    let (parsed, body) = (ClassFile::parse(&output.bytes).unwrap(), body(&output.bytes, 0));
    let target = |opcode: u8| body.steps.iter().find(|step| step.opcode == opcode).unwrap().targets[0];
    let at = |offset: u32| body.steps.iter().position(|step| step.offset == offset).unwrap();
    let begin = at(target(IFGT));
    assert_eq!(site_call(&parsed, &body.steps[begin + 2]).as_deref(), Some("begin"));
    // The frame there has the scope among its locals, and so has that after the call.
    for place in [target(IFGT), target(IFEQ)] {
        assert_eq!(body.frame_at(place).locals.len(), 3, "the parameter and the scope");
    }
    let end = at(target(IFEQ));
    assert_eq!(body.steps[end].opcode, ILOAD);
    assert_eq!(site_call(&parsed, &body.steps[end - 2]).as_deref(), Some("end"));
    assert_stack(&output);
}

/// A call in two nested `try` blocks, the inner handler with a call as its first instruction.
fn nested_handlers(code: &mut CodeBuilder<'_>) {
    let (inner, outer) = (code.limits(4, 1).label(), code.label());
    let print = code.pool.member(Tag::Methodref, "java/lang/Throwable", "hashCode", "()I");
    let start = code.here();
    code.iload(0).invoke_static("Nested", "m", "(I)I");
    let end = code.op(IRETURN).here();
    code.place(inner).frame(&[Type::Int], &[THROWABLE]).indexed(INVOKEVIRTUAL, print).op(IRETURN);
    code.place(outer).frame(&[Type::Int], &[THROWABLE]);
    let made = code.new_object("java/lang/RuntimeException");
    code.op(DUP_X1).bytes(&[SWAP]).iload(0);
    let middle = code.label();
    code.jump(IFEQ, middle).op(NOP).place(middle);
    let (new, int) = (Type::New(made), Type::Int);
    code.frame(&[int], &[new, new, THROWABLE]).invoke_special(
        "java/lang/RuntimeException",
        "<init>",
        "(Ljava/lang/Throwable;)V",
    );
    code.op(ATHROW).row(start, end, inner, Some("java/lang/Exception")).row(start, outer, outer, None);
}

#[test]
fn handlers_that_cover_a_site_close_it_first() {
    let class = class_with("Nested", 52, "(I)I", nested_handlers);
    let output = every_site(&class);
    let told = told(&output);
    assert_eq!(told.iter().filter(|name| *name == "caught").count(), 2, "{told:?}");
    let (before, after, parsed) = (body(&class, 0), body(&output.bytes, 0), ClassFile::parse(&output.bytes).unwrap());
    for (old, new) in before.rows.iter().zip(&after.rows) {
        let handler = after.steps.iter().position(|step| step.offset == u32::from(new.handler)).unwrap();
        assert_eq!(site_call(&parsed, &after.steps[handler + 1]).as_deref(), Some("caught"));
        assert_eq!(after.frame_at(new.handler.into()).stack.len(), 1, "{old:?}");
    }
    assert_eq!(site_call(&parsed, after.step_at(u32::from(after.rows[0].handler) + 1)).as_deref(), Some("caught"));
    // The object made at a handler's first instruction is named by that instruction, not by what was inserted before it.
    assert_frames_name_new_objects(&after);
    assert_stack(&output);
}

fn assert_frames_name_new_objects(body: &Body) {
    use classfile::stack_map::VerificationType::Uninitialized;
    let entries = body.frames.iter().flat_map(|frame| frame.locals.iter().chain(&frame.stack));
    let made: Vec<_> =
        entries.filter_map(|entry| if let Uninitialized(at) = entry { Some(*at) } else { None }).collect();
    assert!(!made.is_empty());
    made.iter().for_each(|at| assert_eq!(body.step_at(*at).opcode, NEW));
}

/// A `synchronized` block as javac writes it: its handler covers itself.
fn synchronized(code: &mut CodeBuilder<'_>) {
    let handler = code.limits(2, 3).label();
    let lock = code.pool.class("Locked");
    code.indexed(LDC_W, lock).bytes(&[DUP, ASTORE_1, MONITORENTER]);
    let start = code.here();
    code.iload(0).invoke_static("Locked", "m", "(I)I").bytes(&[ALOAD_1, MONITOREXIT]);
    let end = code.here();
    code.op(IRETURN).place(handler);
    code.frame(&[Type::Int, Type::Object("java/lang/Object")], &[THROWABLE]).bytes(&[ASTORE_2, ALOAD_1, MONITOREXIT]);
    let after = code.here();
    code.bytes(&[ALOAD_2, ATHROW]).row(start, end, handler, None).row(handler, after, handler, None);
}

#[test]
fn a_handler_that_covers_itself_does_not_call_anything() {
    let class = class_with("Locked", 52, "(I)I", synchronized);
    let output = every_site(&class);
    assert!(!told(&output).contains(&"caught".to_owned()), "a stack overflow in it would run it again and again");
    assert_stack(&output);
}

#[test]
fn in_a_constructor_sites_come_after_super() {
    let mut class = ClassBuilder::new("Made", 52);
    class.method(PUBLIC, "<init>", "(I)V", |code| {
        code.limits(2, 2).aload(0).iload(1).invoke_static("Made", "before", "(I)I").op(POP);
        code.invoke_special("java/lang/Object", "<init>", "()V").iload(1).invoke_static("Made", "after", "(I)I");
        code.bytes(&[POP, RETURN]);
    });
    let class = class.finish();
    let sites = every_call(&ClassFile::parse(&class).unwrap(), 0, 0);
    let output = rewritten(&class, plan(0, &["sites"]).with_sites(sites.clone()));
    let refused: Vec<_> =
        output.methods[0].refused_sites.iter().map(|refused| (refused.site, &refused.reason)).collect();
    assert_eq!(refused, [(sites[0], &SiteRefusal::BeforeSuper), (sites[1], &SiteRefusal::BeforeSuper)]);
    assert_eq!(told(&output).iter().filter(|name| *name == "begin").count(), 1);
    assert_stack(&output);
}

#[test]
fn what_is_no_site_is_refused_alone() {
    let class = class_with("Several", 49, "(I)I", |code| {
        code.limits(1, 1).op(ILOAD_0).invoke_static("Several", "m", "(I)I").op(IRETURN);
        code.op(ILOAD_0).invoke_static("Several", "m", "(I)I").op(IRETURN);
    });
    // A load, the middle of a call, the call, the call again, one that nothing leads to, beyond the code.
    let planned = with_sites(&["sites"], &[(0, 0), (2, 1), (1, 2), (1, 3), (6, 4), (600, 5)]);
    let output = rewritten(&class, planned);
    let refused: Vec<_> =
        output.methods[0].refused_sites.iter().map(|refused| (refused.site.number, refused.reason.key())).collect();
    let expected = [(3, "repeated-site"), (0, "not-a-call"), (1, "not-a-call"), (4, "unreachable"), (5, "not-a-call")];
    assert_eq!(refused, expected);
    assert_eq!(told(&output).iter().filter(|name| *name == "begin").count(), 1);
}

#[test]
fn without_a_scope_or_with_a_wrapper_there_are_no_sites() {
    let class = class_with("Simple", 52, "(I)I", |code| {
        code.limits(1, 1).op(ILOAD_0).invoke_static("Simple", "m", "(I)I").op(IRETURN);
    });
    let sites = vec![CallSite { offset: 1, number: 9 }];
    let wrapper = MethodPlan::wrapper(0, plan(0, &["sites"]).templates).with_sites(sites.clone());
    let plans = [
        (with_sites(&["bracket"], &[(1, 9)]), SiteRefusal::NoScope),
        // The scope must be that of the innermost template.
        (with_sites(&["sites", "bracket"], &[(1, 9)]), SiteRefusal::NoScope),
        (wrapper, SiteRefusal::Wrapped),
    ];
    for (with, reason) in plans {
        let without = MethodPlan { sites: Vec::new(), ..with.clone() };
        let (with, without) = (rewritten(&class, with), rewritten(&class, without));
        assert_eq!(with.methods[0].refused_sites.len(), 1);
        assert_eq!(with.methods[0].refused_sites[0].reason, reason);
        assert_eq!(with.methods[0].refused_sites[0].site, sites[0]);
        assert!(with.bytes == without.bytes, "{reason}");
    }
    let around = rewritten(&class, with_sites(&["bracket", "sites"], &[(1, 9)]));
    assert_eq!(around.methods[0].refused_sites, []);
    assert!(told(&around).contains(&"begin".to_owned()));
    assert_stack(&around);
}

#[test]
fn a_method_that_would_get_too_large_keeps_its_template_without_sites() {
    let class = class_with("Large", 52, "(I)I", |code| {
        code.limits(1, 1).op(ILOAD_0);
        for _ in 0..600 {
            code.invoke_static("Large", "m", "(I)I").bytes(&[NOP; 8]);
        }
        code.op(IRETURN);
    });
    let sites = every_call(&ClassFile::parse(&class).unwrap(), 0, 100);
    let few = rewritten(&class, plan(0, &["sites"]).with_sites(sites[..90].to_vec()));
    assert_eq!(few.methods[0].refused_sites, []);
    assert!((6_600 + 90 * 13..8_000).contains(&few.methods[0].length_after), "{}", few.methods[0].length_after);
    let all = rewritten(&class, plan(0, &["sites"]).with_sites(sites.clone()));
    assert_eq!(all.methods[0].refused_sites.len(), sites.len());
    for refused in &all.methods[0].refused_sites {
        assert!(matches!(refused.reason, SiteRefusal::Method(Refusal::HugeForJit { .. })), "{}", refused.reason);
        assert_eq!(refused.reason.key(), "huge-for-jit");
    }
    assert!(all.bytes == rewritten(&class, plan(0, &["sites"])).bytes);
}

#[test]
fn numbers_and_slots_take_their_shortest_form() {
    let pushes = [
        (0, "iconst_0", 1),
        (5, "iconst_5", 1),
        (6, "bipush", 2),
        (127, "bipush", 2),
        (128, "sipush", 3),
        (0x7FFF, "sipush", 3),
        (0x8000, "ldc_w", 3),
        (u16::MAX, "ldc_w", 3),
    ];
    for (locals, load) in [(3, 1), (4, 2), (255, 2), (256, 4)] {
        let class = class_with("Slots", 49, "(I)I", |code| {
            code.limits(1, locals).op(ILOAD_0).invoke_static("Slots", "m", "(I)I").op(IRETURN);
        });
        let bare = rewritten(&class, plan(0, &["sites"])).methods[0].length_after;
        for (number, push, length) in pushes {
            let output = rewritten(&class, with_sites(&["sites"], &[(1, number)]));
            assert_eq!(output.methods[0].length_after - bare, 2 * (load + length + 3), "{locals} {number}");
            assert_eq!(told(&output).iter().filter(|name| *name == push).count(), 2, "{number}");
            let parsed = ClassFile::parse(&output.bytes).unwrap();
            for step in body(&output.bytes, 0).steps.iter().filter(|step| step.opcode == LDC_W) {
                let constant = u16::from_be_bytes([step.bytes[1], step.bytes[2]]);
                assert_eq!(parsed.constant_pool().integer(constant), Ok(i32::from(number)));
            }
        }
    }
}

#[test]
fn lines_and_annotations_follow_the_call() {
    // An annotation of the type argument of a call, of the object made, and of the call again.
    let types = |call: u16, new: u16| {
        let mut content = vec![0, 3];
        for (kind, offset) in [(0x49, call), (0x44, new), (0x47, call)] {
            content.push(kind);
            content.extend(offset.to_be_bytes());
            content.extend((kind != 0x44).then_some(0));
            content.extend([0, 0, 1, 0, 0]);
        }
        content
    };
    let class = class_with("Tables", 52, "(I)I", |code| {
        let handler = code.limits(2, 1).label();
        let start = code.here();
        code.op(ILOAD_0).invoke_static("Tables", "m", "(I)I").op(IRETURN).place(handler);
        code.frame(&[Type::Int], &[THROWABLE]).new_object("java/lang/Object");
        code.bytes(&[POP, POP, ICONST_0, IRETURN]).row(start, handler, handler, None);
        code.attribute("LineNumberTable", &[0, 3, 0, 0, 0, 1, 0, 1, 0, 2, 0, 5, 0, 3]);
        code.attribute("RuntimeInvisibleTypeAnnotations", &types(1, 5));
    });
    let (parsed, before) = (ClassFile::parse(&class).unwrap(), body(&class, 0));
    assert_eq!(before.step_at(5).opcode, NEW, "{:?}", before.names());
    let sites = every_call(&parsed, 0, 40);
    let output = rewritten(&class, plan(0, &["sites"]).with_sites(sites));
    let after = body(&output.bytes, 0);
    let content = |name: &str| after.attributes.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let own_call = after.steps.iter().position(|step| step.opcode == ILOAD_0).unwrap() + 4;
    let made = after.steps.iter().find(|step| step.opcode == NEW).unwrap();
    let annotated = types(after.steps[own_call].offset as u16, made.offset as u16);
    assert_eq!(content("RuntimeInvisibleTypeAnnotations"), annotated);
    let lines = content("LineNumberTable");
    let line = |row: usize| u32::from(u16::from_be_bytes([lines[2 + row * 4], lines[3 + row * 4]]));
    // The call's line begins with `begin`, the handler's with `caught`.
    assert_eq!([line(0), line(1), line(2)], [0, after.steps[own_call - 3].offset, u32::from(after.rows[0].handler)]);
    assert_stack(&output);
}

/// Whether the merged method goes the ways of the original, with `begin`, `end` and `caught` on them and nothing else.
fn assert_same_ways(class: &[u8], output: &Rewritten) {
    let (before, after) = (body(class, 0), body(&output.bytes, 0));
    let (parsed, map) = (ClassFile::parse(&output.bytes).unwrap(), &output.methods[0].offset_map);
    let index = |offset: u32| after.steps.iter().position(|step| step.offset == offset);
    let is =
        |at: usize, name: &str| after.steps.get(at).and_then(|step| site_call(&parsed, step)).as_deref() == Some(name);
    // Where something leads that led to an original offset.
    let entry = |original: u32| {
        let new = map.to_new(original).expect("every instruction is in the map");
        let at = index(new).unwrap_or(after.steps.len());
        let caught = at.checked_sub(2).filter(|before| is(before + 1, "caught"));
        caught.map_or(new, |caught| after.steps[caught].offset)
    };
    for old in before.steps.iter().filter(|step| !(IRETURN..=RETURN).contains(&step.opcode)) {
        let at = index(map.to_new(old.offset).unwrap()).expect("an instruction");
        if (INVOKEVIRTUAL..=INVOKEDYNAMIC).contains(&old.opcode) {
            let reached = is(at + 2, "begin");
            let own = if reached { at + 3 } else { at };
            assert_eq!(after.steps[own].bytes, old.bytes);
            assert_eq!(is(own + 3, "end"), reached);
            assert!(!reached || after.steps[at + 1].bytes == after.steps[own + 2].bytes, "the same number");
        } else {
            assert_eq!(after.steps[at].opcode, old.opcode);
            let targets: Vec<_> = old.targets.iter().map(|target| entry(*target)).collect();
            assert_eq!(after.steps[at].targets, targets);
        }
    }
    let mut rows = after.rows.iter();
    for old in &before.rows {
        let last_alone = before.steps.last().is_some_and(|last| last.offset == u32::from(old.start));
        let same = |new: &ExceptionRow| u32::from(new.start) == entry(old.start.into());
        if last_alone && !rows.clone().next().is_some_and(same) {
            continue;
        }
        let new = rows.next().expect("every row");
        assert!(same(new) && u32::from(new.handler) == entry(old.handler.into()) && new.catch_type == old.catch_type);
        let end = before.steps.iter().find(|step| step.offset == u32::from(old.end));
        assert!(end.is_none_or(|end| u32::from(new.end) == entry(end.offset)), "{old:?} {new:?}");
    }
}

#[test]
fn random_programs_go_the_same_ways_with_a_site_at_every_call() {
    let (mut merged, mut sites, mut closing) = (0, 0, 0);
    for seed in 0..1_500 {
        let class = random_program(&mut Random::new(seed + 6_000_000));
        for templates in [&["sites"][..], &["sites-without-end"], &["bracket", "sites"]] {
            let options = if templates.len() > 1 { all_options() } else { [("default", EngineOptions::default()); 5] };
            let (name, options) = options[seed as usize % 5];
            let Outcome::Rewritten(output) = with_every_site(options, &class, templates) else { continue };
            let told = told(&output);
            let count = |wanted: &str| told.iter().filter(|name| *name == wanted).count();
            assert_eq!(count("begin"), count("end"));
            merged += 1;
            sites += count("begin");
            closing += count("caught");
            let body = body(&output.bytes, 0);
            assert!(needed_stack(&output.bytes, &body) <= body.max_stack, "seed {seed}");
            if name == "default" && templates.len() == 1 {
                let same = std::panic::catch_unwind(|| assert_same_ways(&class, &output));
                assert!(same.is_ok(), "seed {seed}, {templates:?}");
            }
        }
    }
    assert!(merged > 3_600 && sites > 5_000 && closing > 300, "{merged} merged, {sites} sites, {closing} handlers");
}

#[test]
fn options_change_nothing_about_sites() {
    let class = class_with("Nested", 52, "(I)I", nested_handlers);
    let sites = every_call(&ClassFile::parse(&class).unwrap(), 0, 0);
    for (name, options) in all_options() {
        let plan = plan(0, &["sites"]).with_sites(sites.clone());
        let Outcome::Rewritten(output) = instrument_with(options, &class, &[plan]) else { panic!("{name}") };
        let told = told(&output);
        let count = |wanted: &str| told.iter().filter(|name| *name == wanted).count();
        assert_eq!([count("begin"), count("end"), count("caught")], [3, 3, 2], "{name}");
        let body = body(&output.bytes, 0);
        assert!(needed_stack(&output.bytes, &body) <= body.max_stack, "{name}");
    }
}

/// Nothing but a plan makes a difference: the template alone is merged as any other.
#[test]
fn without_sites_nothing_calls_them() {
    let mut class = ClassBuilder::new("Plain", 52);
    class.method(PUBLIC_STATIC, "m", "(I)I", nested_handlers);
    let output = rewritten(&class.finish(), plan(0, &["sites"]));
    let told = told(&output);
    assert!(!["begin", "end", "caught"].iter().any(|name| told.contains(&(*name).to_owned())), "{told:?}");
}
