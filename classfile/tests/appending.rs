//! What is appended to a constant pool: each helper writes an entry once and finds it again, the class's own entries included.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use classfile::{ClassFile, ConstantPoolWriter, ModifiedUtf8, PoolFull, Tag};

const EMPTY: &[u8] = include_bytes!("classes/Empty.class");

/// Calls a helper twice on a writer after `Empty` and gives the entries it appended.
fn appended(helper: impl Fn(&mut ConstantPoolWriter, &ClassFile<'_>) -> Result<u16, PoolFull>) -> u16 {
    let class = ClassFile::parse(EMPTY).unwrap();
    let mut writer = ConstantPoolWriter::new();
    writer.begin(class.constant_pool());
    let first = helper(&mut writer, &class).unwrap();
    let count = writer.count();
    assert_eq!(helper(&mut writer, &class).unwrap(), first, "the same again");
    assert_eq!(writer.count(), count, "nothing new");
    count - class.constant_pool().count()
}

fn text(text: &str) -> ModifiedUtf8<'_> {
    ModifiedUtf8(text.as_bytes())
}

#[test]
fn each_helper_appends_its_parts_once() {
    assert_eq!(appended(|writer, class| writer.utf8(class.constant_pool(), text("new"))), 1);
    assert_eq!(appended(|writer, class| writer.class(class.constant_pool(), text("a/New"))), 2);
    assert_eq!(appended(|writer, class| writer.string(class.constant_pool(), text("said"))), 2);
    assert_eq!(appended(|writer, class| writer.method_type(class.constant_pool(), text("(J)J"))), 2);
    assert_eq!(appended(|writer, class| writer.name_and_type(class.constant_pool(), text("end"), text("(J)J"))), 3);
    assert_eq!(appended(|writer, class| writer.word(class.constant_pool(), Tag::Integer, 7)), 1);
    let wide = |writer: &mut ConstantPoolWriter, class: &ClassFile<'_>| {
        writer.double_word(class.constant_pool(), Tag::Long, 7)
    };
    assert_eq!(appended(wide), 2, "a long takes two places");
    let member = |writer: &mut ConstantPoolWriter, class: &ClassFile<'_>| {
        let pool = class.constant_pool();
        writer.member(pool, Tag::Methodref, text("a/Timer"), text("end"), text("(J)J"))
    };
    assert_eq!(appended(member), 6, "Class, NameAndType, Methodref and three texts");
}

#[test]
fn a_member_by_the_indexes_of_its_parts_is_the_one_by_name() {
    let class = ClassFile::parse(EMPTY).unwrap();
    let pool = class.constant_pool();
    let mut writer = ConstantPoolWriter::new();
    writer.begin(pool);
    let owner = writer.class(pool, text("a/Timer")).unwrap();
    let signature = writer.name_and_type(pool, text("end"), text("()V")).unwrap();
    let by_index = writer.pair(pool, Tag::Methodref, owner, signature).unwrap();
    assert_eq!(writer.member(pool, Tag::Methodref, text("a/Timer"), text("end"), text("()V")).unwrap(), by_index);
    let interface = writer.pair(pool, Tag::InterfaceMethodref, owner, signature).unwrap();
    assert_ne!(interface, by_index, "another kind is another entry");
}

#[test]
fn what_the_class_has_is_used() {
    let object = |writer: &mut ConstantPoolWriter, class: &ClassFile<'_>| {
        let pool = class.constant_pool();
        writer.member(pool, Tag::Methodref, text("java/lang/Object"), text("<init>"), text("()V"))
    };
    assert_eq!(appended(object), 0, "its constructor calls it");
    assert_eq!(appended(|writer, class| writer.class(class.constant_pool(), class.this_class())), 0);
    // `V` in a descriptor is not `V` as a whole.
    assert_eq!(appended(|writer, class| writer.utf8(class.constant_pool(), text("V"))), 1);
}

#[test]
fn entries_that_are_taken_back_are_written_again() {
    let class = ClassFile::parse(EMPTY).unwrap();
    let pool = class.constant_pool();
    let mut writer = ConstantPoolWriter::new();
    writer.begin(pool);
    let kept = writer.utf8(pool, text("kept")).unwrap();
    let mark = writer.mark();
    let taken_back = writer.class(pool, text("a/Gone")).unwrap();
    writer.rewind(mark);
    assert_eq!(writer.count(), kept + 1);
    let other = writer.string(pool, text("other")).unwrap();
    assert_eq!(other, taken_back, "the place is free");
    assert_eq!(writer.utf8(pool, text("kept")).unwrap(), kept);
    assert!(writer.utf8(pool, text("a/Gone")).unwrap() > other, "not found any more");
}
