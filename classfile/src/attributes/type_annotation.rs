//! Annotations on types (JVMS 4.7.20, 4.7.21): which type of which declaration or instruction they annotate.

use super::annotation::Annotation;
use super::structure::{Structure, structure};
use super::table::Table;
use crate::{ByteReader, ByteWriter, ErrorKind, Result};

structure! {
    /// An annotation and the type that it annotates.
    pub struct TypeAnnotation<'a> {
        /// The declaration or instruction that has the type.
        pub target: Target<'a>,
        /// The way from that type to the annotated part of it; empty for the type itself.
        pub path: Table<'a, TypePathStep, u8>,
        /// The annotation.
        pub annotation: Annotation<'a>,
    }
}

structure! {
    /// A step into a type.
    pub struct TypePathStep {
        /// 0 array element, 1 nested type, 2 bound of a wildcard, 3 type argument.
        pub kind: u8,
        /// Which type argument, for kind 3.
        pub argument: u8,
    }
}

structure! {
    /// A range of instructions where an annotated local variable has a value.
    pub struct LocalVariableRange {
        /// First code offset.
        pub start: u16,
        /// Bytes of code.
        pub length: u16,
        /// Local slot.
        pub slot: u16,
    }
}

/// What a type annotation refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// `target_type` (JVMS tables 4.7.20-A and 4.7.20-B), e.g. 0x14 for the return type.
    pub target_type: u8,
    /// Where exactly.
    pub place: TargetPlace<'a>,
}

/// `target_info`: its form follows from the `target_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPlace<'a> {
    /// 0x00, 0x01: a type parameter of the class or method, by number.
    TypeParameter(u8),
    /// 0x10: the super class (65535) or a super interface, by number.
    SuperType(u16),
    /// 0x11, 0x12: a bound of a type parameter, both by number.
    TypeParameterBound {
        /// Which type parameter.
        parameter: u8,
        /// Which bound.
        bound: u8,
    },
    /// 0x13, 0x14, 0x15: the type of the field, the return type or the receiver.
    Declaration,
    /// 0x16: a parameter of the method, by number.
    FormalParameter(u8),
    /// 0x17: a type in the `throws` clause, by number.
    Throws(u16),
    /// 0x40, 0x41: a local or resource variable.
    LocalVariable(Table<'a, LocalVariableRange>),
    /// 0x42: row of the exception table.
    Catch(u16),
    /// 0x43 to 0x46: `instanceof`, `new` or a method reference, by code offset.
    Instruction(u16),
    /// 0x47 to 0x4B: a type argument of a cast, a call or a method reference.
    TypeArgument {
        /// Code offset of the instruction.
        offset: u16,
        /// Which type argument, or which type of an intersection.
        argument: u8,
    },
}

impl<'a> Structure<'a> for Target<'a> {
    fn read(reader: &mut ByteReader<'a>, depth: u8) -> Result<Target<'a>> {
        let mut type_reader = *reader;
        let target_type = reader.u1()?;
        let place = match target_type {
            0x00 | 0x01 => TargetPlace::TypeParameter(reader.u1()?),
            0x10 => TargetPlace::SuperType(reader.u2()?),
            0x11 | 0x12 => TargetPlace::TypeParameterBound { parameter: reader.u1()?, bound: reader.u1()? },
            0x13..=0x15 => TargetPlace::Declaration,
            0x16 => TargetPlace::FormalParameter(reader.u1()?),
            0x17 => TargetPlace::Throws(reader.u2()?),
            0x40 | 0x41 => TargetPlace::LocalVariable(Table::read(reader, depth)?),
            0x42 => TargetPlace::Catch(reader.u2()?),
            0x43..=0x46 => TargetPlace::Instruction(reader.u2()?),
            0x47..=0x4B => TargetPlace::TypeArgument { offset: reader.u2()?, argument: reader.u1()? },
            _ => {
                type_reader.set_context("target_type");
                return Err(type_reader.error(ErrorKind::BadValue));
            }
        };
        Ok(Target { target_type, place })
    }

    fn write(&self, out: &mut ByteWriter) {
        out.u1(self.target_type);
        match self.place {
            TargetPlace::TypeParameter(number) | TargetPlace::FormalParameter(number) => out.u1(number),
            TargetPlace::SuperType(number) | TargetPlace::Throws(number) => out.u2(number),
            TargetPlace::TypeParameterBound { parameter, bound } => {
                out.u1(parameter);
                out.u1(bound);
            }
            TargetPlace::Declaration => {}
            TargetPlace::LocalVariable(ranges) => ranges.write(out),
            TargetPlace::Catch(row) => out.u2(row),
            TargetPlace::Instruction(offset) => out.u2(offset),
            TargetPlace::TypeArgument { offset, argument } => {
                out.u2(offset);
                out.u1(argument);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(bytes: &[u8]) -> Target<'_> {
        let mut reader = ByteReader::new(bytes, 0, "test");
        let target = Target::read(&mut reader, 0).unwrap();
        reader.expect_end().unwrap();
        let mut out = ByteWriter::new();
        target.write(&mut out);
        assert_eq!(out.as_slice(), bytes);
        target
    }

    #[test]
    fn every_target_survives() {
        assert_eq!(round_trip(&[0x01, 2]).place, TargetPlace::TypeParameter(2));
        assert_eq!(round_trip(&[0x10, 0xFF, 0xFF]).place, TargetPlace::SuperType(0xFFFF));
        assert_eq!(round_trip(&[0x12, 1, 2]).place, TargetPlace::TypeParameterBound { parameter: 1, bound: 2 });
        assert_eq!(round_trip(&[0x15]).place, TargetPlace::Declaration);
        assert_eq!(round_trip(&[0x16, 3]).place, TargetPlace::FormalParameter(3));
        assert_eq!(round_trip(&[0x17, 1, 0]).place, TargetPlace::Throws(256));
        assert_eq!(round_trip(&[0x42, 0, 4]).place, TargetPlace::Catch(4));
        assert_eq!(round_trip(&[0x46, 0, 5]).place, TargetPlace::Instruction(5));
        assert_eq!(round_trip(&[0x4B, 0, 6, 7]).place, TargetPlace::TypeArgument { offset: 6, argument: 7 });
        let variable = round_trip(&[0x40, 0, 2, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]);
        let TargetPlace::LocalVariable(ranges) = variable.place else { panic!("{variable:?}") };
        let second = LocalVariableRange { start: 4, length: 5, slot: 6 };
        assert_eq!(ranges.iter().nth(1), Some(second));
    }

    #[test]
    fn path_and_annotation_follow_the_target() {
        // Return type, path [array element, second type argument], annotation type 9 without elements.
        let bytes = [0x14, 2, 0, 0, 3, 1, 0, 9, 0, 0];
        let annotation = TypeAnnotation::read(&mut ByteReader::new(&bytes, 0, "test"), 0).unwrap();
        assert_eq!(annotation.path.iter().last(), Some(TypePathStep { kind: 3, argument: 1 }));
        assert_eq!(annotation.annotation.descriptor, 9);
    }

    #[test]
    fn unknown_targets_are_errors() {
        for target_type in [0x02, 0x0F, 0x18, 0x3F, 0x4C, 0xFF] {
            let bytes = [target_type, 0, 0, 0, 0];
            let error = Target::read(&mut ByteReader::new(&bytes, 0, "test"), 0).unwrap_err();
            assert_eq!((error.kind, error.offset), (ErrorKind::BadValue, 0));
        }
    }
}
