//! Names of parameters that a JVM has lost are put back as they were.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use classfile::{ByteWriter, ClassFile, ParameterNames};

/// Compiled with `-parameters`.
const CLASSES: [&[u8]; 4] = [
    include_bytes!("classes/Everything.class"),
    include_bytes!("classes/Everything$Point.class"),
    include_bytes!("classes/Everything$Color.class"),
    include_bytes!("classes/Everything$1.class"),
];

/// The class without `MethodParameters`, as HotSpot before JDK 19 hands it to a retransform, and how many methods had them.
fn without_names(class: &ClassFile<'_>) -> (Vec<u8>, usize) {
    let file = class.bytes();
    let mut out = ByteWriter::new();
    let (mut copied, mut lost) = (0, 0);
    for method in class.methods() {
        out.bytes(&file[copied..method.attributes_offset]);
        copied = method.end;
        let kept: Vec<_> = method.attributes(class).map(Result::unwrap).collect();
        let count = kept.len();
        let kept: Vec<_> = kept.into_iter().filter(|attribute| attribute.name != "MethodParameters").collect();
        lost += count - kept.len();
        out.u2(kept.len() as u16);
        for attribute in kept {
            out.u2(attribute.name_index);
            out.u4(attribute.content.len() as u32);
            out.bytes(attribute.content);
        }
    }
    out.bytes(&file[copied..]);
    (out.into_vec(), lost)
}

/// The contents of all `MethodParameters`, by method.
fn contents<'a>(class: &ClassFile<'a>) -> Vec<Option<&'a [u8]>> {
    let of = |method: &classfile::Member<'a>| method.attributes(class).find(b"MethodParameters").unwrap();
    class.methods().iter().map(|method| of(method).map(|attribute| attribute.content)).collect()
}

#[test]
fn lost_names_are_restored_and_nothing_else_changes() {
    for bytes in CLASSES {
        let class = ClassFile::parse(bytes).unwrap();
        let names = ParameterNames::of(&class).unwrap();
        assert!(!names.is_empty());
        assert_eq!(names.put_back(&class), None, "nothing is lost");
        let (bare, lost) = without_names(&class);
        assert!(lost > 0);
        let bare = ClassFile::parse(&bare).unwrap();
        assert!(ParameterNames::of(&bare).unwrap().is_empty());
        let restored = names.put_back(&bare).unwrap();
        let restored = ClassFile::parse(&restored).unwrap();
        assert_eq!(contents(&restored), contents(&class));
        assert_eq!(ParameterNames::of(&restored), Some(names));
        assert_eq!(without_names(&restored).0, bare.bytes(), "the rest");
    }
}

#[test]
fn a_class_that_never_had_the_names_gets_none() {
    let class = ClassFile::parse(CLASSES[0]).unwrap();
    let names = ParameterNames::of(&class).unwrap();
    assert!(class.methods().iter().any(|method| names.texts().contains(&method.name.as_bytes())));
    let other = ClassFile::parse(include_bytes!("classes/Empty.class")).unwrap();
    assert_eq!(names.put_back(&other), None, "its pool has no such attribute");
    let (bare, _) = without_names(&ClassFile::parse(CLASSES[1]).unwrap());
    assert_eq!(names.put_back(&ClassFile::parse(&bare).unwrap()), None, "other methods");
}

#[test]
fn a_damaged_attribute_has_no_names() {
    let class = ClassFile::parse(CLASSES[0]).unwrap();
    let attribute =
        class.methods().iter().find_map(|method| method.attributes(&class).find(b"MethodParameters").unwrap());
    let mut damaged = CLASSES[0].to_vec();
    damaged[attribute.unwrap().offset] += 1;
    assert_eq!(ParameterNames::of(&ClassFile::parse(&damaged).unwrap()), None, "a row more than there is");
}
