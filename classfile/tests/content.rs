//! What is recognised where, and how strictly: for every row of the attribute table.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use classfile::attribute_kind::{AttributeInfo, AttributeKind, Location, TABLE};
use classfile::attributes::AttributeContent;
use classfile::{Attribute, ByteWriter, ClassFile, Error, ErrorKind, ModifiedUtf8};

const EMPTY: &[u8] = include_bytes!("classes/Empty.class");
const LOCATIONS: [Location; 5] =
    [Location::Class, Location::Field, Location::Method, Location::Code, Location::RecordComponent];

fn class_of_version(major: u16) -> Vec<u8> {
    let mut bytes = EMPTY.to_vec();
    bytes[6..8].copy_from_slice(&major.to_be_bytes());
    bytes
}

fn attribute<'a>(name: &'a str, content: &'a [u8]) -> Attribute<'a> {
    Attribute { name: ModifiedUtf8(name.as_bytes()), name_index: 9, content, offset: 1000 }
}

/// The smallest content that is allowed.
fn smallest(info: &AttributeInfo) -> Vec<u8> {
    match info.kind {
        AttributeKind::Deprecated | AttributeKind::Synthetic | AttributeKind::SourceDebugExtension => vec![],
        AttributeKind::MethodParameters => vec![0],
        AttributeKind::RuntimeVisibleParameterAnnotations | AttributeKind::RuntimeInvisibleParameterAnnotations => {
            vec![0]
        }
        AttributeKind::AnnotationDefault => vec![b'I', 0, 1],
        AttributeKind::EnclosingMethod | AttributeKind::ModuleHashes => vec![0; 4],
        AttributeKind::Module => vec![0; 16],
        AttributeKind::Code => vec![0, 0, 0, 0, 0, 0, 0, 1, 0xB1, 0, 0, 0, 0],
        _ => vec![0; 2], // an index or an empty table
    }
}

fn parse<'a>(attribute: &Attribute<'a>, location: Location, major: u16) -> Result<AttributeContent<'a>, Error> {
    let bytes = class_of_version(major);
    // The class gives only its version; the content is our own.
    let class = ClassFile::parse(Box::leak(bytes.into_boxed_slice())).unwrap();
    AttributeContent::parse(attribute, location, &class)
}

#[test]
fn every_attribute_is_recognised_from_its_version_in_its_places() {
    for info in TABLE {
        let content = smallest(info);
        let attribute = attribute(info.name, &content);
        for location in LOCATIONS {
            let parsed = parse(&attribute, location, info.since).unwrap();
            let unknown = matches!(parsed, AttributeContent::Unknown(_));
            assert_eq!(unknown, !info.stands_in(location), "{} in {location:?}", info.name);
            let older = parse(&attribute, location, info.since - 1).unwrap();
            assert!(matches!(older, AttributeContent::Unknown(raw) if raw == content), "{}", info.name);
            let mut out = ByteWriter::new();
            parsed.write(&mut out);
            assert_eq!(out.as_slice(), content, "{} in {location:?}", info.name);
        }
    }
}

#[test]
fn content_must_end_where_the_attribute_does() {
    for info in TABLE {
        let mut content = smallest(info);
        let location = LOCATIONS.into_iter().find(|&location| info.stands_in(location)).unwrap();
        for length in 0..content.len() {
            let error = parse(&attribute(info.name, &content[..length]), location, 69).unwrap_err();
            assert_eq!((error.kind, error.offset <= 1000 + length), (ErrorKind::Truncated, true), "{}", info.name);
        }
        content.push(0);
        let parsed = parse(&attribute(info.name, &content), location, 69);
        // Text for debuggers is as long as the attribute.
        match info.kind {
            AttributeKind::SourceDebugExtension => assert!(parsed.is_ok()),
            _ => assert_eq!(parsed.unwrap_err().kind, ErrorKind::TrailingBytes, "{}", info.name),
        }
    }
}

#[test]
fn unknown_attributes_stay_raw() {
    let parsed = parse(&attribute("com.acme.Tracing", b"anything"), Location::Method, 69).unwrap();
    assert!(matches!(parsed, AttributeContent::Unknown(b"anything")));
}

#[test]
fn errors_name_the_attribute_and_the_place_in_the_file() {
    let error = parse(&attribute("InnerClasses", &[0, 1, 0]), Location::Class, 69).unwrap_err();
    assert_eq!(error.to_string(), "class file ends inside InnerClasses (at offset 0x3ea)");
}
