//! Stack map frames as encoded in the file, form by form (JVMS 4.7.4). [`crate::stack_map`] expands them.

use super::structure::{Structure, structure};
use super::table::Table;
use crate::stack_map::{FrameForm, FrameHead, VerificationType};
use crate::{ByteReader, ByteWriter, Result};

impl Structure<'_> for VerificationType {
    fn read(reader: &mut ByteReader<'_>, _: u8) -> Result<VerificationType> {
        VerificationType::read(reader)
    }

    fn write(&self, out: &mut ByteWriter) {
        VerificationType::write(*self, out);
    }
}

/// A frame of `StackMapTable`. `delta` is `offset_delta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackMapFrame<'a> {
    /// Tags 0 to 63: locals as before, empty stack.
    Same {
        /// At most 63.
        delta: u8,
    },
    /// Tags 64 to 127: locals as before, one stack entry.
    SameLocalsOneStackItem {
        /// At most 63.
        delta: u8,
        /// The entry.
        item: VerificationType,
    },
    /// Tag 247: the same with a longer distance.
    SameLocalsOneStackItemExtended {
        /// Distance from the frame before.
        delta: u16,
        /// The entry.
        item: VerificationType,
    },
    /// Tags 248 to 250: the last locals are gone, empty stack.
    Chop {
        /// 1 to 3 locals.
        gone: u8,
        /// Distance from the frame before.
        delta: u16,
    },
    /// Tag 251: as [`StackMapFrame::Same`] with a longer distance.
    SameExtended {
        /// Distance from the frame before.
        delta: u16,
    },
    /// Tags 252 to 254: more locals, empty stack.
    Append {
        /// Distance from the frame before.
        delta: u16,
        /// 1 to 3 new locals.
        locals: Table<'a, VerificationType, u8>,
    },
    /// Tag 255: everything anew.
    Full(FullFrame<'a>),
}

structure! {
    /// A frame that does not build on the one before.
    pub struct FullFrame<'a> {
        /// Distance from the frame before. In the `StackMap` of CLDC: the code offset itself.
        pub delta: u16,
        /// All locals.
        pub locals: Table<'a, VerificationType>,
        /// The whole operand stack.
        pub stack: Table<'a, VerificationType>,
    }
}

impl<'a> Structure<'a> for StackMapFrame<'a> {
    fn read(reader: &mut ByteReader<'a>, depth: u8) -> Result<StackMapFrame<'a>> {
        let FrameHead { form, delta, is_short } = FrameHead::read(reader)?;
        Ok(match (form, is_short) {
            (FrameForm::Same, true) => StackMapFrame::Same { delta: delta as u8 },
            (FrameForm::Same, false) => StackMapFrame::SameExtended { delta },
            (FrameForm::OneStackItem, true) => {
                StackMapFrame::SameLocalsOneStackItem { delta: delta as u8, item: VerificationType::read(reader)? }
            }
            (FrameForm::OneStackItem, false) => {
                StackMapFrame::SameLocalsOneStackItemExtended { delta, item: VerificationType::read(reader)? }
            }
            (FrameForm::Chop(gone), _) => StackMapFrame::Chop { gone, delta },
            (FrameForm::Append(added), _) => {
                StackMapFrame::Append { delta, locals: Table::read_counted(reader, added, depth)? }
            }
            (FrameForm::Full, _) => {
                let (locals, stack) = (Table::read(reader, depth)?, Table::read(reader, depth)?);
                StackMapFrame::Full(FullFrame { delta, locals, stack })
            }
        })
    }

    fn write(&self, out: &mut ByteWriter) {
        match self {
            StackMapFrame::Same { delta } => out.u1(*delta),
            StackMapFrame::SameLocalsOneStackItem { delta, item } => {
                out.u1(64 + delta);
                item.write(out);
            }
            StackMapFrame::SameLocalsOneStackItemExtended { delta, item } => {
                out.u1(247);
                out.u2(*delta);
                item.write(out);
            }
            StackMapFrame::Chop { gone, delta } => {
                out.u1(251 - gone);
                out.u2(*delta);
            }
            StackMapFrame::SameExtended { delta } => {
                out.u1(251);
                out.u2(*delta);
            }
            StackMapFrame::Append { delta, locals } => {
                out.u1(251 + locals.len() as u8);
                out.u2(*delta);
                locals.write_uncounted(out);
            }
            StackMapFrame::Full(frame) => {
                out.u1(255);
                frame.write(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use VerificationType::{Double, Integer, Null, Object, Uninitialized, UninitializedThis};

    fn round_trip(bytes: &[u8]) -> StackMapFrame<'_> {
        let mut reader = ByteReader::new(bytes, 0, "test");
        let frame = StackMapFrame::read(&mut reader, 0).unwrap();
        reader.expect_end().unwrap();
        let mut out = ByteWriter::new();
        frame.write(&mut out);
        assert_eq!(out.as_slice(), bytes);
        frame
    }

    #[test]
    fn every_form_survives() {
        assert_eq!(round_trip(&[63]), StackMapFrame::Same { delta: 63 });
        assert_eq!(round_trip(&[64, 1]), StackMapFrame::SameLocalsOneStackItem { delta: 0, item: Integer });
        let extended = StackMapFrame::SameLocalsOneStackItemExtended { delta: 256, item: Object(9) };
        assert_eq!(round_trip(&[247, 1, 0, 7, 0, 9]), extended);
        assert_eq!(round_trip(&[248, 0, 1]), StackMapFrame::Chop { gone: 3, delta: 1 });
        assert_eq!(round_trip(&[250, 0, 1]), StackMapFrame::Chop { gone: 1, delta: 1 });
        assert_eq!(round_trip(&[251, 0, 2]), StackMapFrame::SameExtended { delta: 2 });
        let StackMapFrame::Append { delta: 3, locals } = round_trip(&[254, 0, 3, 3, 5, 6]) else { panic!() };
        assert_eq!(locals.iter().collect::<Vec<_>>(), [Double, Null, UninitializedThis]);
        let StackMapFrame::Full(full) = round_trip(&[255, 0, 4, 0, 1, 8, 0, 5, 0, 2, 1, 1]) else { panic!() };
        assert_eq!((full.delta, full.locals.iter().next(), full.stack.len()), (4, Some(Uninitialized(5)), 2));
    }

    #[test]
    fn reserved_tags_and_types_are_errors() {
        for bytes in [&[128][..], &[246], &[64, 9], &[252, 0, 0, 10]] {
            let error = StackMapFrame::read(&mut ByteReader::new(bytes, 0, "test"), 0).unwrap_err();
            assert_eq!(error.kind, ErrorKind::BadFrame, "{bytes:?}");
        }
    }
}
