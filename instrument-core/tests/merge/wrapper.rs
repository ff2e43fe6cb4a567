//! Wrapper mode: the original under another name, a new method under the old one, and nobody notices.

use std::collections::BTreeSet;
use std::path::Path;

use classfile::access::*;
use classfile::opcode::*;
use classfile::{ClassFile, Member, Tag};
use instrument_core::level::Mode;
use instrument_core::{MethodPlan, NotWrapped, Outcome, Refusal, Rewritten};

use crate::assembler::{ClassBuilder, PUBLIC_STATIC, class_with};
use crate::fixtures::{classes, compiled, instrument, library, plan, template};
use crate::inspect::{body, needed_stack};
use crate::jvm::{TARGETS, events, folder, lines, run};

fn wrapper(method_index: usize, templates: &[&str]) -> MethodPlan {
    MethodPlan::wrapper(method_index, templates.iter().map(|name| template(name)).collect::<Vec<_>>())
}

fn wrapped(class: &[u8], templates: &[&str]) -> Rewritten {
    match instrument(class, &[wrapper(0, templates)]) {
        Outcome::Rewritten(rewritten) => rewritten,
        Outcome::Unchanged { refused } => panic!("refused: {}", refused.first().expect("a reason").reason),
    }
}

fn refused(class: &[u8], method_index: usize) -> NotWrapped {
    match instrument(class, &[wrapper(method_index, &["bracket"])]) {
        Outcome::Rewritten(_) => panic!("was wrapped"),
        Outcome::Unchanged { refused } => match refused.first().expect("a reason").reason {
            Refusal::NotWrapped(reason) => reason,
            ref other => panic!("{other}"),
        },
    }
}

fn method_named<'c, 'a>(class: &'c ClassFile<'a>, name: &str) -> &'c Member<'a> {
    let found = class.methods().iter().find(|method| method.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

fn attribute_names(class: &ClassFile<'_>, method: &Member<'_>) -> Vec<String> {
    method.attributes(class).map(|attribute| attribute.unwrap().name.to_string()).collect()
}

fn attribute<'a>(class: &ClassFile<'a>, method: &Member<'a>, name: &str) -> Vec<u8> {
    method.attributes(class).find(name.as_bytes()).unwrap().unwrap_or_else(|| panic!("no {name}")).content.to_vec()
}

/// Wraps all methods of a class but those that a template would call while it writes a value down.
fn wrap_all(class: &[u8], templates: &[&str]) -> Outcome {
    let parsed = ClassFile::parse(class).unwrap();
    let is_called = |method: &Member<'_>| ["toString", "hashCode", "show"].iter().any(|name| method.name == *name);
    let methods = parsed.methods().iter().enumerate().filter(|(_, method)| !is_called(method));
    let plans: Vec<_> = methods.map(|(index, _)| wrapper(index, templates)).collect();
    instrument(class, &plans)
}

/// Writes the classes with wrappers around all their methods; how many there are.
fn write_wrapped(folder: &Path, names: &[String], templates: &[&str]) -> usize {
    std::fs::create_dir_all(folder.join("targets")).unwrap();
    let mut methods = 0;
    for name in names {
        if let Outcome::Rewritten(output) = wrap_all(&compiled(name), templates) {
            methods += output.methods.len();
            std::fs::write(folder.join(format!("{name}.class")), output.bytes).unwrap();
        }
    }
    methods
}

fn wrapping_classes() -> Vec<String> {
    let files = std::fs::read_dir(classes().join("targets")).unwrap().flatten();
    let names = files.map(|file| file.file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("Wrapping")).collect();
    names.sort();
    names.iter().map(|name| format!("targets/{}", name.trim_end_matches(".class"))).collect()
}

fn behaviour_classes() -> Vec<String> {
    TARGETS
        .iter()
        .filter(|name| classes().join(format!("{name}.class")).exists())
        .map(|name| name.to_string())
        .collect()
}

fn all_stacks() -> Vec<Vec<String>> {
    let library = library();
    let mut stacks: Vec<Vec<String>> = library.names().map(|name| vec![name.to_owned()]).collect();
    stacks.push(Vec::new());
    stacks.push(["outer", "catches", "everything"].map(str::to_owned).to_vec());
    stacks
}

#[test]
fn methods_do_the_same_in_a_wrapper_with_every_template() {
    let expected_text = run(&[&classes()], &["targets.Run"]);
    let expected = lines(&expected_text, "result ");
    for stack in all_stacks() {
        let stack: Vec<&str> = stack.iter().map(String::as_str).collect();
        let folder = folder(&format!("wrap-run-{}", stack.join("-")));
        assert!(write_wrapped(&folder, &behaviour_classes(), &stack) > 0, "{stack:?}");
        let text = run(&[&folder, &classes()], &["targets.Run"]);
        assert_eq!(lines(&text, "result "), expected, "{stack:?}");
    }
}

#[test]
fn programs_do_not_see_that_their_methods_were_renamed() {
    let expected_text = run(&[&classes()], &["targets.Wrapping"]);
    let expected = lines(&expected_text, "result ");
    assert!(expected.len() > 25, "{expected_text}");
    let all = wrapping_classes();
    assert!(all.len() > 12, "{all:?}");
    for stack in [&[][..], &["bracket"], &["names"], &["outer", "catches", "clock"], &["loops", "outcome"]] {
        let folder = folder(&format!("wrap-all-{}", stack.join("-")));
        assert!(write_wrapped(&folder, &all, stack) > 50, "{stack:?}");
        let text = run(&[&folder, &classes()], &["targets.Wrapping"]);
        assert_eq!(lines(&text, "result "), expected, "{stack:?}");
        let views = lines(&text, "view ");
        assert!(views.contains(&"view stackTop _callsStackTop$instr"), "one frame more: {views:?}");
        let synthetic = views.iter().find(|line| line.starts_with("view synthetic ")).unwrap();
        for method in [
            "private java.lang.String targets.Wrapping$Taken.___run$instr(int)[]",
            "private java.lang.String targets.Wrapping$Taken.__run$instr$instr(int)[]",
            "private static java.lang.String targets.Wrapping$Greeter._twice$instr(java.lang.String)[]",
        ] {
            assert!(synthetic.contains(method), "no {method}: {synthetic}");
        }
    }
}

#[test]
fn each_call_is_entered_and_left_once_whatever_it_ends_with() {
    let folder = folder("wrap-events");
    write_wrapped(&folder, &[behaviour_classes(), wrapping_classes()].concat(), &["bracket"]);
    let text = run(&[&folder, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "nothing"), "enter exit");
    assert_eq!(events(&text, "forever"), "enter exit", "an exception leaves it, too");
    assert_eq!(events(&text, "finals"), "enter enter enter exit exit exit");
    let text = run(&[&folder, &classes()], &["targets.Wrapping"]);
    // lambda, Leaf, Middle, Base: each once, none called back.
    assert_eq!(events(&text, "chain"), "enter enter enter enter exit exit exit exit");
    assert_eq!(events(&text, "throws"), "enter enter exit exit");
}

#[test]
fn arguments_results_and_exceptions_are_those_of_the_method() {
    let all = folder("wrap-all-arguments");
    write_wrapped(&all, &behaviour_classes(), &["all"]);
    let text = run(&[&all, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "booleans"), "[true, 1, y, 3] [true, 1, y, 3]");
    let outcome = folder("wrap-outcome");
    write_wrapped(&outcome, &behaviour_classes(), &["outcome"]);
    let text = run(&[&outcome, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "bytes"), "Byte:44 null");
    assert_eq!(events(&text, "forever"), "null UnsupportedOperationException:limit");
    let names = folder("wrap-names");
    write_wrapped(&names, &behaviour_classes(), &["names"]);
    let text = run(&[&names, &classes()], &["targets.Run"]);
    assert_eq!(events(&text, "bytes"), "targets.Behaviour bytes (I)B", "the name is the original one");
}

#[test]
fn assembled_methods_are_accepted_in_wrappers() {
    let samples = [
        crate::far_jumps::samples(),
        crate::handlers::samples(),
        crate::old_versions::samples(),
        crate::returns::samples(),
        crate::branches::samples(),
    ];
    let samples: Vec<_> = samples.into_iter().flatten().collect();
    let (mut folders, mut expected) = (Vec::new(), 0);
    for stack in [&[][..], &["bracket"], &["everything"]] {
        let folder = folder(&format!("wrap-link-{}", stack.join("-")));
        for (name, class) in &samples {
            let Outcome::Rewritten(output) = wrap_all(class, stack) else { continue };
            expected += 1;
            std::fs::write(folder.join(format!("{name}.class")), output.bytes).unwrap();
        }
        folders.push(folder.display().to_string());
    }
    let arguments: Vec<_> = std::iter::once("targets.LinkAll").chain(folders.iter().map(String::as_str)).collect();
    let text = run(&[&classes()], &arguments);
    assert_eq!(text.trim(), format!("linked {expected}"));
    assert!(expected > 2 * samples.len(), "{expected} of {} samples", samples.len());
}

#[test]
fn every_type_of_result_and_argument_passes_through() {
    let rows: [(&str, u8, &[u8], &[u8]); 10] = [
        ("V", 0, &[], &[RETURN]),
        ("Z", 1, &[ILOAD_0], &[IRETURN]),
        ("B", 1, &[ILOAD_0], &[IRETURN]),
        ("C", 1, &[ILOAD_0], &[IRETURN]),
        ("S", 1, &[ILOAD_0], &[IRETURN]),
        ("I", 1, &[ILOAD_0], &[IRETURN]),
        ("J", 2, &[LLOAD_0], &[LRETURN]),
        ("F", 1, &[FLOAD_0], &[FRETURN]),
        ("D", 2, &[DLOAD_0], &[DRETURN]),
        ("[[J", 1, &[ALOAD_0], &[ARETURN]),
    ];
    for (kind, words, load, end) in rows {
        let parameter = if kind == "V" { "" } else { kind };
        let class = class_with("Through", 52, &format!("({parameter}){kind}"), |code| {
            code.limits(words.into(), words.into()).bytes(&[load, end].concat());
        });
        let output = wrapped(&class, &[]).bytes;
        let wrapper = body(&output, 0);
        let opcodes: Vec<u8> = wrapper.steps.iter().map(|step| step.opcode).collect();
        assert_eq!(opcodes, [load, &[INVOKESTATIC], end].concat(), "{kind}");
        assert_eq!((wrapper.max_stack, wrapper.max_locals), (words.into(), words.into()), "{kind}");
    }
}

#[test]
fn the_stack_has_room_for_all_arguments_at_once() {
    let descriptor = format!("({})D", "J".repeat(20));
    let mut class = ClassBuilder::new("Wide", 52);
    class.method(PUBLIC, "m", &descriptor, |code| {
        code.limits(2, 41).bytes(&[DCONST_1, DRETURN]);
    });
    let output = wrapped(&class.finish(), &[]).bytes;
    let wrapper = body(&output, 0);
    assert_eq!((wrapper.max_stack, wrapper.max_locals), (41, 41));
    assert_eq!(needed_stack(&output, &wrapper), 41);
    let loads: Vec<_> = wrapper.steps.iter().map(|step| step.bytes.clone()).take(4).collect();
    assert_eq!(loads, [vec![ALOAD_0], vec![LLOAD_1], vec![LLOAD_3], vec![LLOAD, 5]]);
    // Fewer argument words than result words.
    let class = class_with("Narrow", 52, "(I)J", |code| {
        code.limits(2, 1).bytes(&[LCONST_1, LRETURN]);
    });
    assert_eq!(body(&wrapped(&class, &[]).bytes, 0).max_stack, 2);
    // 255 words, the most there can be, need the form with a one-byte slot.
    let class = class_with("Full", 52, &format!("({})V", "I".repeat(255)), |code| {
        code.limits(0, 255).op(RETURN);
    });
    let full = body(&wrapped(&class, &["bracket"]).bytes, 0);
    let last_load = full.steps.iter().rfind(|step| step.opcode == ILOAD).unwrap();
    assert_eq!(last_load.bytes, [ILOAD, 254]);
}

#[test]
fn everything_but_the_code_stays_with_the_name() {
    let class = compiled("targets/Wrapping");
    let parsed = ClassFile::parse(&class).unwrap();
    let index = parsed.methods().iter().position(|method| method.name == "generic").unwrap();
    let Outcome::Rewritten(output) = instrument(&class, &[wrapper(index, &["bracket"])]) else { panic!("refused") };
    let rewritten = ClassFile::parse(&output.bytes).unwrap();
    assert_eq!(rewritten.methods().len(), parsed.methods().len() + 1);
    let (before, wrapper) = (&parsed.methods()[index], &rewritten.methods()[index]);
    let original = rewritten.methods().last().unwrap();
    assert_eq!(wrapper.name, "generic");
    assert_eq!((wrapper.descriptor, wrapper.access_flags), (before.descriptor, before.access_flags));
    assert_eq!(attribute_names(&rewritten, wrapper), attribute_names(&parsed, before));
    let kept =
        ["Exceptions", "Signature", "RuntimeVisibleAnnotations", "RuntimeVisibleParameterAnnotations", "Deprecated"];
    for name in kept {
        assert_eq!(attribute(&rewritten, wrapper, name), attribute(&parsed, before, name), "{name}");
    }
    assert_eq!(original.name, "_generic$instr");
    assert_eq!((original.descriptor, original.access_flags), (before.descriptor, PRIVATE | SYNTHETIC));
    assert_eq!(attribute_names(&rewritten, original), ["Code"]);
    assert_eq!(attribute(&rewritten, original, "Code"), attribute(&parsed, before, "Code"));
    assert_eq!(output.methods[0].renamed.as_deref(), Some(b"_generic$instr".as_slice()));
    assert!(output.probes.iter().all(|probe| probe.method_index == index), "the probe is that of the old name (S4.19)");
}

#[test]
fn the_wrapper_has_the_first_line_of_the_original() {
    let class = compiled("targets/Wrapping");
    let parsed = ClassFile::parse(&class).unwrap();
    let index = parsed.methods().iter().position(|method| method.name == "fib").unwrap();
    let lines = |class: &[u8], index: usize| body(class, index).attribute("LineNumberTable").unwrap().to_vec();
    let first = lines(&class, index)[4..6].to_vec();
    let Outcome::Rewritten(output) = instrument(&class, &[wrapper(index, &[])]) else { panic!("refused") };
    assert_eq!(lines(&output.bytes, index), [&[0, 1, 0, 0][..], &first].concat());
    let merged = instrument(&class, &[wrapper(index, &["bracket"])]);
    let Outcome::Rewritten(output) = merged else { panic!("refused") };
    assert_eq!(lines(&output.bytes, index)[..6], [&[0, 1, 0, 0][..], &first].concat(), "the prolog has the line, too");
}

#[test]
fn flags_say_who_locks_and_who_computes() {
    let rows = [
        (PUBLIC | SYNCHRONIZED, PRIVATE | SYNTHETIC),
        (PUBLIC_STATIC | SYNCHRONIZED, PRIVATE | SYNTHETIC | STATIC),
        (PROTECTED | FINAL, PRIVATE | SYNTHETIC),
        (PUBLIC | VARARGS | BRIDGE | SYNTHETIC, PRIVATE | SYNTHETIC),
        (STRICT, PRIVATE | SYNTHETIC | STRICT),
        (PRIVATE | STATIC, PRIVATE | SYNTHETIC | STATIC),
    ];
    for (flags, renamed) in rows {
        let mut class = ClassBuilder::new("Flags", 52);
        class.method(flags, "m", "()V", |code| {
            code.limits(0, 1).op(RETURN);
        });
        let output = wrapped(&class.finish(), &["bracket"]).bytes;
        let parsed = ClassFile::parse(&output).unwrap();
        assert_eq!(method_named(&parsed, "m").access_flags, flags);
        assert_eq!(method_named(&parsed, "_m$instr").access_flags, renamed);
        let call = if flags & STATIC == 0 { INVOKESPECIAL } else { INVOKESTATIC };
        assert_eq!(
            body(&output, 0).steps.iter().filter(|step| step.opcode == call).count(),
            if flags & STATIC == 0 { 1 } else { 4 }
        );
    }
}

#[test]
fn a_name_that_is_taken_gets_more_underscores_and_overloads_share_one() {
    let mut class = ClassBuilder::new("Names", 52);
    for (name, descriptor) in [("a", "()V"), ("_a$instr", "()V"), ("a", "(I)V"), ("__a$instr", "(I)V")] {
        class.method(PUBLIC_STATIC, name, descriptor, |code| {
            code.limits(0, 1).op(RETURN);
        });
    }
    let class = class.finish();
    let plans: Vec<_> = (0..4).map(|index| wrapper(index, &["bracket"])).collect();
    let Outcome::Rewritten(output) = instrument(&class, &plans) else { panic!("refused") };
    let renamed: Vec<_> = output
        .methods
        .iter()
        .map(|method| String::from_utf8(method.renamed.clone().unwrap().into_vec()).unwrap())
        .collect();
    assert_eq!(renamed, ["__a$instr", "__a$instr$instr", "_a$instr", "___a$instr$instr"]);
    let parsed = ClassFile::parse(&output.bytes).unwrap();
    let all: BTreeSet<_> =
        parsed.methods().iter().map(|method| (method.name.to_string(), method.descriptor.to_string())).collect();
    assert_eq!(all.len(), 8, "{all:?}");
}

#[test]
fn constants_are_not_written_twice() {
    let class = compiled("targets/Wrapping");
    let Outcome::Rewritten(output) = wrap_all(&class, &["bracket"]) else { panic!("refused") };
    let parsed = ClassFile::parse(&output.bytes).unwrap();
    let pool = parsed.constant_pool();
    let mut seen = BTreeSet::new();
    // The numbers of the probes are equal or not, but each has its own place.
    for (index, tag) in pool.entries().filter(|(_, tag)| *tag != Tag::Integer) {
        assert!(seen.insert((tag as u8, pool.content(index, tag).unwrap())), "{index} {tag:?}");
    }
    let renamed = output.methods.len();
    let added = usize::from(pool.count() - ClassFile::parse(&class).unwrap().constant_pool().count());
    // A new name, its NameAndType and Methodref for each method, its number, and the few constants of the template.
    assert!(added <= 4 * renamed + 16, "{added} constants for {renamed} methods");
}

#[test]
fn what_cannot_be_renamed_is_refused_with_its_reason() {
    let mut class = ClassBuilder::new("Refused", 52);
    class.method(PUBLIC, "<init>", "()V", |code| {
        code.limits(1, 1).op(RETURN);
    });
    class.method(STATIC, "<clinit>", "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    class.raw_method(PUBLIC | ABSTRACT, "abstracted", "()V", &[]);
    class.raw_method(PUBLIC | NATIVE, "natively", "()V", &[]);
    let class = class.finish();
    let reasons: Vec<_> = (0..4).map(|index| refused(&class, index)).collect();
    let expected = [NotWrapped::Constructor, NotWrapped::ClassInitialiser, NotWrapped::Abstract, NotWrapped::Native];
    assert_eq!(reasons, expected);

    let wrapping = compiled("targets/Wrapping");
    let at = |name: &str| {
        ClassFile::parse(&wrapping).unwrap().methods().iter().position(|method| method.name == name).unwrap()
    };
    assert_eq!(refused(&wrapping, at("caller")), NotWrapped::CallerSensitive);
    assert_eq!(refused(&wrapping, at("stackTop")), NotWrapped::CallerSensitive);

    let mut old = compiled("targets/Wrapping$Greeter");
    old[6..8].copy_from_slice(&51u16.to_be_bytes());
    let greet = ClassFile::parse(&old).unwrap().methods().iter().position(|method| method.name == "greet").unwrap();
    assert_eq!(refused(&old, greet), NotWrapped::OldInterface);
}

#[test]
fn methods_that_the_jvm_knows_by_annotation_stay() {
    let mut class = ClassBuilder::new("Known", 52);
    let annotation = class.pool.utf8("Ljdk/internal/vm/annotation/ForceInline;").to_be_bytes();
    let content = [&[0, 1][..], &annotation, &[0, 0]].concat();
    class.method_with(PUBLIC_STATIC, "m", "()V", &[("RuntimeVisibleAnnotations", &content)], |code| {
        code.limits(0, 0).op(RETURN);
    });
    assert_eq!(refused(&class.finish(), 0), NotWrapped::AnnotatedForJvm);
}

#[test]
fn a_refused_method_adds_nothing_and_the_others_are_wrapped() {
    let mut class = ClassBuilder::new("Partly", 52);
    for name in ["first", "second", "third"] {
        class.method(PUBLIC_STATIC, name, "()V", |code| {
            code.limits(0, 0).op(RETURN);
        });
    }
    let class = class.finish();
    // `first` asks for an argument that no method has, after the reference to its original was appended.
    let plans = [wrapper(0, &["first"]), wrapper(1, &["bracket"]), plan(2, &["bracket"])];
    let Outcome::Rewritten(output) = instrument(&class, &plans) else { panic!("refused") };
    assert_eq!(output.refused.len(), 1);
    let modes: Vec<_> = output.methods.iter().map(|method| method.renamed.is_some()).collect();
    assert_eq!(modes, [true, false], "wrapper and inline in one class");
    let parsed = ClassFile::parse(&output.bytes).unwrap();
    let names: Vec<_> = parsed.methods().iter().map(|method| method.name.to_string()).collect();
    assert_eq!(names, ["first", "second", "third", "_second$instr"]);
    let alone = instrument(&class, &plans[1..]);
    let Outcome::Rewritten(alone) = alone else { panic!("refused") };
    assert_eq!(output.bytes, alone.bytes, "as if the first had never been tried");
}

#[test]
fn the_same_names_come_out_with_and_without_templates() {
    let class = compiled("targets/Wrapping$Taken");
    let signatures = |bytes: &[u8]| -> Vec<(String, String, u16)> {
        let parsed = ClassFile::parse(bytes).unwrap();
        let describe =
            |method: &Member<'_>| (method.name.to_string(), method.descriptor.to_string(), method.access_flags);
        parsed.methods().iter().map(describe).collect()
    };
    let all: Vec<_> = [&["everything"][..], &["bracket", "outer"], &[]]
        .iter()
        .map(|stack| match wrap_all(&class, stack) {
            Outcome::Rewritten(output) => signatures(&output.bytes),
            Outcome::Unchanged { .. } => panic!("refused"),
        })
        .collect();
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
}

#[test]
fn inline_mode_without_templates_is_still_refused() {
    let class = class_with("Nothing", 52, "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    let nothing = MethodPlan { mode: Mode::Inline, ..MethodPlan::wrapper(0, Vec::new()) };
    let Outcome::Unchanged { refused } = instrument(&class, &[nothing]) else { panic!("rewritten") };
    assert_eq!(refused[0].reason, Refusal::UnknownTemplate);
}
