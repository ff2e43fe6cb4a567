//! Do a template's constants of every kind get into the class, found again where they are there already?

use std::collections::HashMap;
use std::sync::Arc;

use classfile::opcode::*;
use classfile::{ClassFile, Tag};
use instrument_core::level::Level;
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Workspace};

use crate::assembler::{ClassBuilder, class_with};
use crate::fixtures::{compiled, merged, merged_everywhere};
use crate::inspect::body;

const BOOTSTRAP: &str =
    "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;)Ljava/lang/Object;";

/// A template with constants that javac writes for no Java 8 source: handles, types, computed constants.
fn modern_template() -> Vec<u8> {
    let mut class = ClassBuilder::new("Assembled", 55);
    let mark = class.pool.utf8("Ljava/instr/Template;");
    let annotation = [&[0, 1][..], &mark.to_be_bytes(), &[0, 0]].concat();
    let abs = class.pool.member(Tag::Methodref, "java/lang/Math", "abs", "(I)I");
    let handle = class.pool.method_handle(6, abs);
    let method_type = class.pool.method_type("(ILjava/lang/String;)V");
    let computed = class.pool.dynamic(Tag::Dynamic, 0, "null", "Ljava/lang/String;");
    let wide = class.pool.dynamic(Tag::Dynamic, 0, "MAX", "J");
    let list = class.pool.member(Tag::InterfaceMethodref, "java/util/List", "of", "()Ljava/util/List;");
    class.method_with(0x8, "modern", "()V", &[("RuntimeInvisibleAnnotations", &annotation)], |code| {
        code.limits(2, 0);
        for constant in [handle, method_type, computed] {
            code.bytes(&[LDC, constant as u8, POP]);
        }
        code.indexed(LDC2_W, wide).op(POP2).indexed(INVOKESTATIC, list).op(POP);
        code.invoke_static("java/instr/Target", "proceed", "()V").indexed(LDC_W, computed).bytes(&[POP, RETURN]);
    });
    let bootstrap = class.pool.member(Tag::Methodref, "java/lang/invoke/ConstantBootstraps", "nullConstant", BOOTSTRAP);
    let bootstrap = class.pool.method_handle(6, bootstrap);
    class.attribute("BootstrapMethods", &[&[0, 1][..], &bootstrap.to_be_bytes(), &[0, 0]].concat());
    class.finish()
}

fn merge_modern(class: &[u8]) -> Outcome {
    let mut library = TemplateLibrary::new();
    library.add_class(&modern_template(), "test").unwrap_or_else(|problems| panic!("{problems:?}"));
    let id = library.find("modern", Level::Time).unwrap();
    let engine = Engine::new(Arc::new(library), EngineOptions::default());
    let plan = [MethodPlan::inline(0, vec![id])];
    engine.instrument(&mut Workspace::new(), &ClassFile::parse(class).unwrap(), &plan)
}

fn simple(major: u16) -> Vec<u8> {
    class_with("Simple", major, "()V", |code| {
        code.limits(0, 0).op(RETURN);
    })
}

/// Every entry by tag and content; probe numbers may repeat what the class has.
fn assert_no_duplicates(bytes: &[u8], probes: &[instrument_core::ProbeSlot]) {
    let class = ClassFile::parse(bytes).unwrap();
    let pool = class.constant_pool();
    let mut seen = HashMap::new();
    for (index, tag) in pool.entries() {
        let offset = pool.offset_of(index).unwrap() + 1;
        if probes.iter().any(|probe| probe.offset == offset) {
            continue;
        }
        let content = pool.content(index, tag).unwrap();
        if let Some(earlier) = seen.insert((tag as u8, content), index) {
            panic!("{tag:?} {index} is also {earlier}");
        }
    }
}

fn bootstrap_rows(bytes: &[u8]) -> Vec<Vec<u16>> {
    let class = ClassFile::parse(bytes).unwrap();
    let Some(attribute) = class.attributes().find(b"BootstrapMethods").unwrap() else { return Vec::new() };
    let mut reader = attribute.reader("rows");
    let rows = (0..reader.u2().unwrap())
        .map(|_| {
            let handle = reader.u2().unwrap();
            let count = reader.u2().unwrap();
            std::iter::once(handle).chain((0..count).map(|_| reader.u2().unwrap())).collect()
        })
        .collect();
    reader.expect_end().unwrap();
    rows
}

#[test]
fn constants_of_every_kind_arrive() {
    let Outcome::Rewritten(output) = merge_modern(&simple(55)) else { panic!("refused") };
    let class = ClassFile::parse(&output.bytes).unwrap();
    let pool = class.constant_pool();
    let tags: Vec<_> = pool.entries().map(|(_, tag)| tag).collect();
    for tag in [Tag::MethodHandle, Tag::MethodType, Tag::Dynamic, Tag::InterfaceMethodref, Tag::Methodref] {
        assert!(tags.contains(&tag), "{tag:?}");
    }
    let body = body(&output.bytes, 0);
    let loaded = |name: &str| body.steps.iter().filter(|step| info(step.opcode).unwrap().name == name).count();
    assert_eq!((loaded("ldc"), loaded("ldc2_w")), (4, 1));
    let wide = body.steps.iter().find(|step| step.opcode == LDC2_W).unwrap();
    let (row, name, descriptor) = pool.dynamic(u16::from_be_bytes([wide.bytes[1], wide.bytes[2]])).unwrap();
    assert_eq!((row, name.to_string(), descriptor.to_string()), (0, "MAX".to_owned(), "J".to_owned()));
    assert_eq!(bootstrap_rows(&output.bytes).len(), 1);
    assert_no_duplicates(&output.bytes, &output.probes);
}

#[test]
fn the_java_8_constants_arrive() {
    let output = merged(&simple(52), &["constants"]);
    let class = ClassFile::parse(&output.bytes).unwrap();
    let pool = class.constant_pool();
    let has =
        |wanted: Tag, check: &dyn Fn(u16) -> bool| pool.entries().any(|(index, tag)| tag == wanted && check(index));
    assert!(has(Tag::Integer, &|index| pool.integer(index) == Ok(1_000_000)));
    assert!(has(Tag::Long, &|index| pool.long(index) == Ok(3_000_000_000)));
    assert!(has(Tag::Float, &|index| pool.float_bits(index) == Ok(1.25f32.to_bits())));
    assert!(has(Tag::Double, &|index| pool.double_bits(index) == Ok(std::f64::consts::E.to_bits())));
    let text: &[u8] = b"text\xC0\x80\xED\xA0\xBD\xED\xB8\x80";
    assert!(has(Tag::String, &|index| pool.string(index).is_ok_and(|found| found.as_bytes() == text)));
    assert!(has(Tag::Class, &|index| pool.class_name(index).is_ok_and(|name| name == "[Ljava/lang/String;")));
    assert!(has(Tag::Class, &|index| pool.class_name(index).is_ok_and(|name| name == "[[Ljava/lang/Object;")));
    assert_no_duplicates(&output.bytes, &output.probes);
}

#[test]
fn concatenation_brings_its_bootstrap_rows_once() {
    for file in ["targets/Behaviour", "targets/Run"] {
        let original = compiled(file);
        let before = bootstrap_rows(&original);
        let Outcome::Rewritten(output) = merged_everywhere(&original, &["concatenation"]) else { panic!("refused") };
        let after = bootstrap_rows(&output.bytes);
        assert_eq!(after[..before.len()], before, "existing rows keep their places");
        assert_eq!(after.len() - before.len(), 3, "three texts, whatever the number of methods");
        assert_no_duplicates(&output.bytes, &output.probes);
        // Everything else of the class is as it was.
        let names = |bytes: &[u8]| -> Vec<String> {
            let class = ClassFile::parse(bytes).unwrap();
            class.attributes().map(|attribute| attribute.unwrap().name.to_string()).collect()
        };
        let (mut old, mut new) = (names(&original), names(&output.bytes));
        old.retain(|name| name != "BootstrapMethods");
        assert_eq!(new.pop().as_deref(), Some("BootstrapMethods"));
        assert_eq!(new, old);
    }
}

#[test]
fn merging_again_adds_no_constant_and_no_row() {
    for templates in [&["outer"][..], &["concatenation"], &["catches"], &["all"]] {
        let original = compiled("targets/Behaviour");
        let Outcome::Rewritten(once) = merged_everywhere(&original, templates) else { panic!("refused") };
        let Outcome::Rewritten(twice) = merged_everywhere(&once.bytes, templates) else { panic!("refused") };
        let count = |bytes: &[u8]| ClassFile::parse(bytes).unwrap().constant_pool().count();
        let numbers = twice.probes.len() as u16;
        assert_eq!(count(&twice.bytes), count(&once.bytes) + numbers, "{templates:?}");
        assert_eq!(bootstrap_rows(&twice.bytes), bootstrap_rows(&once.bytes), "{templates:?}");
    }
}

#[test]
fn nothing_is_appended_twice_in_any_merge() {
    for templates in [&["bracket"][..], &["everything"], &["catches", "names"], &["constants", "locals", "switches"]] {
        for file in ["targets/Behaviour", "targets/Shape", "targets/Behaviour$Child"] {
            let Outcome::Rewritten(output) = merged_everywhere(&compiled(file), templates) else { continue };
            assert_no_duplicates(&output.bytes, &output.probes);
        }
    }
}

#[test]
fn a_class_too_old_for_the_constants_is_refused() {
    for (major, needed) in [(54, 55), (49, 55)] {
        let Outcome::Unchanged { refused } = merge_modern(&simple(major)) else { panic!("merged into {major}") };
        assert_eq!(
            refused[0].reason.to_string(),
            format!("the template needs class-file version {needed}; the class has {major}")
        );
    }
}

#[test]
fn a_lying_number_of_bootstrap_rows_does_no_harm() {
    let mut class = ClassBuilder::new("Lies", 55);
    class.method(crate::assembler::PUBLIC_STATIC, "m", "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    class.attribute("BootstrapMethods", &[0xFF, 0xFF]);
    let outcome = merge_modern(&class.finish());
    assert!(matches!(outcome, Outcome::Unchanged { .. }), "the table is full");
}
