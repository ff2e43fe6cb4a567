//! Do we read and write everything? Classes with every attribute that javac and jmod can write are written byte for byte.
//! (`xtask/tests/identity.rs` asks the same of whole JDKs.)

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;

use classfile::attribute_kind::{AttributeKind, Location, TABLE};
use classfile::attributes::AttributeContent;
use classfile::{Attributes, ByteWriter, ClassFile, class_writer};

mod sample;

#[test]
fn samples_come_back_byte_for_byte() {
    for (name, bytes) in sample::classes() {
        let class = ClassFile::parse(&bytes).unwrap();
        let mut out = ByteWriter::new();
        let copied = class_writer::write(&class, &mut out).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(out.as_slice(), bytes, "{name}");
        assert_eq!(copied, 0, "{name} has attributes that were not decoded");
    }
}

/// Without this the test above could pass because nothing is recognised.
#[test]
fn samples_hold_all_attributes_of_todays_compilers() {
    let mut seen = BTreeSet::new();
    for (_, bytes) in sample::classes() {
        let class = ClassFile::parse(&bytes).unwrap();
        collect(class.attributes(), Location::Class, &class, &mut seen);
        for field in class.fields() {
            collect(field.attributes(&class), Location::Field, &class, &mut seen);
        }
        for method in class.methods() {
            collect(method.attributes(&class), Location::Method, &class, &mut seen);
        }
    }
    let missing: Vec<_> = TABLE.iter().map(|row| row.name).filter(|&name| !seen.contains(name)).collect();
    assert_eq!(missing, ["SourceDebugExtension", "StackMap", "Synthetic"]);
}

fn collect(
    attributes: Attributes<'_, '_>,
    location: Location,
    class: &ClassFile<'_>,
    seen: &mut BTreeSet<&'static str>,
) {
    for attribute in attributes {
        let attribute = attribute.unwrap();
        let info = AttributeKind::recognise(&attribute, class.major_version(), location);
        seen.insert(info.unwrap_or_else(|| panic!("{} is not known", attribute.name)).name);
        match AttributeContent::parse(&attribute, location, class).unwrap() {
            AttributeContent::Code(code) => collect(code.attributes(class), Location::Code, class, seen),
            AttributeContent::Record(components) => {
                for component in components {
                    let attributes = component.attributes.iter(class.constant_pool());
                    collect(attributes, Location::RecordComponent, class, seen);
                }
            }
            _ => {}
        }
    }
}
