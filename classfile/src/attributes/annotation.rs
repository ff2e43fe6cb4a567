//! Annotations and their values (JVMS 4.7.16 to 4.7.19, 4.7.22).

use super::structure::{Structure, deeper, structure};
use super::table::Table;
use crate::{Attributes, ByteReader, ByteWriter, ErrorKind, Result};

structure! {
    /// An annotation.
    pub struct Annotation<'a> {
        /// Utf8: field descriptor of the annotation interface.
        pub descriptor: u16,
        /// Element names and values, without those left at their default.
        pub elements: Table<'a, AnnotationElement<'a>>,
    }
}

structure! {
    /// An element of an annotation.
    pub struct AnnotationElement<'a> {
        /// Utf8: name of the element, a method of the annotation interface.
        pub name: u16,
        /// What it is set to.
        pub value: ElementValue<'a>,
    }
}

/// Returns the annotations among the attributes of a class, field or method, visible at run time or not. An attribute that cannot be
/// read counts as having none, as it does for the JVM.
pub fn annotations<'a>(attributes: Attributes<'_, 'a>) -> impl Iterator<Item = Annotation<'a>> {
    let are_annotations = |name: &[u8]| matches!(name, b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations");
    let found = attributes.map_while(Result::ok).filter(move |attribute| are_annotations(attribute.name.0));
    found
        .filter_map(|attribute| Table::read(&mut attribute.reader("annotations"), 0).ok())
        .flat_map(|table: Table<'a, _>| table)
}

/// The value of an annotation element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementValue<'a> {
    /// A primitive value or a string.
    Constant {
        /// `B C D F I J S Z` as in descriptors, or `s` for a string.
        tag: u8,
        /// Integer, Float, Long, Double or (a string) Utf8.
        value: u16,
    },
    /// An enum constant.
    Enum {
        /// Utf8: field descriptor of the enum.
        descriptor: u16,
        /// Utf8: simple name of the constant.
        name: u16,
    },
    /// A class literal. Utf8: return descriptor, e.g. `V` for `void.class`.
    Class(u16),
    /// An annotation.
    Annotation(Annotation<'a>),
    /// An array of values.
    Array(Table<'a, ElementValue<'a>>),
}

impl<'a> Structure<'a> for ElementValue<'a> {
    fn read(reader: &mut ByteReader<'a>, depth: u8) -> Result<ElementValue<'a>> {
        let mut tag_reader = *reader;
        Ok(match reader.u1()? {
            tag @ (b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's') => {
                ElementValue::Constant { tag, value: reader.u2()? }
            }
            b'e' => ElementValue::Enum { descriptor: reader.u2()?, name: reader.u2()? },
            b'c' => ElementValue::Class(reader.u2()?),
            b'@' => ElementValue::Annotation(Annotation::read(reader, deeper(reader, depth)?)?),
            b'[' => ElementValue::Array(Table::read(reader, deeper(reader, depth)?)?),
            _ => {
                tag_reader.set_context("element_value");
                return Err(tag_reader.error(ErrorKind::BadValue));
            }
        })
    }

    fn write(&self, out: &mut ByteWriter) {
        match self {
            ElementValue::Constant { tag, value } => {
                out.u1(*tag);
                out.u2(*value);
            }
            ElementValue::Enum { descriptor, name } => {
                out.u1(b'e');
                out.u2(*descriptor);
                out.u2(*name);
            }
            ElementValue::Class(descriptor) => {
                out.u1(b'c');
                out.u2(*descriptor);
            }
            ElementValue::Annotation(annotation) => {
                out.u1(b'@');
                annotation.write(out);
            }
            ElementValue::Array(values) => {
                out.u1(b'[');
                values.write(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_DEPTH;
    use super::*;

    fn reader(bytes: &[u8]) -> ByteReader<'_> {
        ByteReader::new(bytes, 0, "test")
    }

    #[test]
    fn every_kind_of_value_survives() {
        let mut bytes = vec![0, 1, 0, 5]; // type 1, five elements
        bytes.extend([0, 2, b'I', 0, 3]);
        bytes.extend([0, 4, b'e', 0, 5, 0, 6]);
        bytes.extend([0, 7, b'c', 0, 8]);
        bytes.extend([0, 9, b'@', 0, 10, 0, 1, 0, 11, b's', 0, 12]);
        bytes.extend([0, 13, b'[', 0, 2, b'Z', 0, 14, b'[', 0, 0]);
        let annotation = Annotation::read(&mut reader(&bytes), 0).unwrap();
        let values: Vec<_> = annotation.elements.iter().map(|element| element.value).collect();
        assert_eq!(annotation.elements.iter().map(|element| element.name).collect::<Vec<_>>(), [2, 4, 7, 9, 13]);
        assert_eq!(values[0], ElementValue::Constant { tag: b'I', value: 3 });
        assert_eq!(values[1], ElementValue::Enum { descriptor: 5, name: 6 });
        assert_eq!(values[2], ElementValue::Class(8));
        assert!(
            matches!(values[3], ElementValue::Annotation(inner) if inner.descriptor == 10 && inner.elements.len() == 1)
        );
        assert!(matches!(values[4], ElementValue::Array(inner) if inner.len() == 2));
        let mut out = ByteWriter::new();
        annotation.write(&mut out);
        assert_eq!(out.as_slice(), bytes);
    }

    fn nested_arrays(depth: usize) -> Vec<u8> {
        let mut bytes = [b'[', 0, 1].repeat(depth);
        bytes.extend([b'I', 0, 1]);
        bytes
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_crash() {
        let deepest = nested_arrays(usize::from(MAX_DEPTH));
        let value = ElementValue::read(&mut reader(&deepest), 0).unwrap();
        let mut out = ByteWriter::new();
        value.write(&mut out);
        assert_eq!(out.as_slice(), deepest);
        let error = ElementValue::read(&mut reader(&nested_arrays(1_000_000)), 0).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NestedTooDeep);
        assert_eq!(error.offset, 3 * usize::from(MAX_DEPTH) + 1);
    }

    #[test]
    fn unknown_tags_are_errors_at_the_tag() {
        let error = ElementValue::read(&mut reader(b"x\0\0"), 0).unwrap_err();
        assert_eq!((error.kind, error.offset), (ErrorKind::BadValue, 0));
    }
}
