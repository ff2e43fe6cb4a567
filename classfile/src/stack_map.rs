//! Stack map frames (JVMS 4.7.4): a decoder that expands every frame and an encoder that picks the shortest form.
//!
//! Locals are listed as the format lists them: one entry for a long or double, which then takes two slots.

use crate::descriptor::{FieldType, Kind, MethodDescriptor};
use crate::{ByteReader, ByteWriter, ErrorKind, Result};

/// A verification type (JVMS 4.10.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerificationType {
    /// Nothing usable.
    Top,
    /// int and everything smaller.
    Integer,
    /// float
    Float,
    /// double: two slots
    Double,
    /// long: two slots
    Long,
    /// null
    Null,
    /// `this` of a constructor before `super()` or `this()` returned.
    UninitializedThis,
    /// A class, interface or array: constant-pool index of its `CONSTANT_Class`.
    Object(u16),
    /// An object made by the `new` instruction at this code offset, not initialised yet.
    Uninitialized(u32),
}

impl VerificationType {
    /// Slots in the locals.
    #[inline]
    pub fn slots(self) -> usize {
        if matches!(self, VerificationType::Long | VerificationType::Double) { 2 } else { 1 }
    }

    pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<VerificationType> {
        Ok(match reader.u1()? {
            0 => VerificationType::Top,
            1 => VerificationType::Integer,
            2 => VerificationType::Float,
            3 => VerificationType::Double,
            4 => VerificationType::Long,
            5 => VerificationType::Null,
            6 => VerificationType::UninitializedThis,
            7 => VerificationType::Object(reader.u2()?),
            8 => VerificationType::Uninitialized(u32::from(reader.u2()?)),
            _ => return Err(reader.error(ErrorKind::BadFrame)),
        })
    }

    #[inline]
    pub(crate) fn write(self, out: &mut ByteWriter) {
        let (tag, operand) = match self {
            VerificationType::Top => (0, None),
            VerificationType::Integer => (1, None),
            VerificationType::Float => (2, None),
            VerificationType::Double => (3, None),
            VerificationType::Long => (4, None),
            VerificationType::Null => (5, None),
            VerificationType::UninitializedThis => (6, None),
            VerificationType::Object(class) => (7, Some(class)),
            VerificationType::Uninitialized(offset) => (8, Some(offset.min(0xFFFF) as u16)),
        };
        match operand.map(u16::to_be_bytes) {
            None => out.u1(tag),
            Some([high, low]) => out.bytes(&[tag, high, low]),
        }
    }
}

/// What a stack map frame says besides its distance from the frame before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameForm {
    /// Locals as before, empty stack.
    Same,
    /// Locals as before, one stack entry, which follows.
    OneStackItem,
    /// So many of the last locals are gone (1 to 3), empty stack.
    Chop(u8),
    /// So many more locals (1 to 3), which follow; empty stack.
    Append(u8),
    /// The numbers of all locals and of all stack entries, each followed by the entries.
    Full,
}

/// The beginning of a stack map frame, up to the verification types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// What follows.
    pub form: FrameForm,
    /// `offset_delta`.
    pub delta: u16,
    /// Whether the distance is part of the tag.
    pub is_short: bool,
}

impl FrameHead {
    /// Reads tag and distance.
    #[inline]
    pub fn read(reader: &mut ByteReader<'_>) -> Result<FrameHead> {
        let tag = reader.u1()?;
        let form = match tag {
            0..=63 => return Ok(FrameHead { form: FrameForm::Same, delta: u16::from(tag), is_short: true }),
            64..=127 => {
                return Ok(FrameHead { form: FrameForm::OneStackItem, delta: u16::from(tag - 64), is_short: true });
            }
            128..=246 => return Err(reader.error(ErrorKind::BadFrame)),
            247 => FrameForm::OneStackItem,
            248..=250 => FrameForm::Chop(251 - tag),
            251 => FrameForm::Same,
            252..=254 => FrameForm::Append(tag - 251),
            255 => FrameForm::Full,
        };
        Ok(FrameHead { form, delta: reader.u2()?, is_short: false })
    }
}

/// Decodes the frames of a `StackMapTable` one after another; locals and stack are kept between frames.
#[derive(Debug)]
pub struct FrameDecoder<'a, 'b> {
    reader: ByteReader<'a>,
    left: u16,
    offset: Option<u32>,
    locals_changed: bool,
    highest_class: u16,
    locals: &'b mut Vec<VerificationType>,
    stack: &'b mut Vec<VerificationType>,
}

impl<'a, 'b> FrameDecoder<'a, 'b> {
    /// Starts with `locals` holding the frame that the method's descriptor implies; both buffers are changed by
    /// [`FrameDecoder::advance`].
    pub fn new(
        mut reader: ByteReader<'a>,
        locals: &'b mut Vec<VerificationType>,
        stack: &'b mut Vec<VerificationType>,
    ) -> Result<FrameDecoder<'a, 'b>> {
        reader.set_context("StackMapTable");
        let left = reader.u2()?;
        stack.clear();
        Ok(FrameDecoder { reader, left, offset: None, locals_changed: true, highest_class: 0, locals, stack })
    }

    /// Locals of the present frame.
    pub fn locals(&self) -> &[VerificationType] {
        self.locals
    }

    /// False if the present frame is written as having the locals of the one before it.
    #[inline]
    pub fn locals_changed(&self) -> bool {
        self.locals_changed
    }

    /// Operand stack of the present frame.
    pub fn stack(&self) -> &[VerificationType] {
        self.stack
    }

    /// The highest constant that the frames so far have named as a class.
    #[inline]
    pub fn highest_class(&self) -> u16 {
        self.highest_class
    }

    /// Goes to the next frame and gives its code offset; `None` after the last.
    pub fn advance(&mut self) -> Result<Option<u32>> {
        if self.left == 0 {
            self.reader.expect_end()?;
            return Ok(None);
        }
        self.left -= 1;
        let head = FrameHead::read(&mut self.reader)?;
        self.stack.clear();
        self.locals_changed = !matches!(head.form, FrameForm::Same | FrameForm::OneStackItem);
        match head.form {
            FrameForm::Same => {}
            FrameForm::OneStackItem => {
                let entry = self.entry()?;
                self.stack.push(entry);
            }
            FrameForm::Chop(gone) => {
                let kept = self.locals.len().checked_sub(usize::from(gone));
                self.locals.truncate(kept.ok_or(self.reader.error(ErrorKind::BadFrame))?);
            }
            FrameForm::Append(added) => {
                for _ in 0..added {
                    let entry = self.entry()?;
                    self.locals.push(entry);
                }
            }
            FrameForm::Full => self.full()?,
        }
        let delta = head.delta;
        let offset = match self.offset {
            None => u32::from(delta),
            Some(previous) => previous + u32::from(delta) + 1,
        };
        self.offset = Some(offset);
        Ok(Some(offset))
    }

    fn full(&mut self) -> Result<()> {
        self.locals.clear();
        for _ in 0..self.reader.u2()? {
            let entry = self.entry()?;
            self.locals.push(entry);
        }
        for _ in 0..self.reader.u2()? {
            let entry = self.entry()?;
            self.stack.push(entry);
        }
        Ok(())
    }

    #[inline]
    fn entry(&mut self) -> Result<VerificationType> {
        let entry = VerificationType::read(&mut self.reader)?;
        if let VerificationType::Object(class) = entry {
            self.highest_class = self.highest_class.max(class);
        }
        Ok(entry)
    }
}

/// Writes frames in ascending order of their offset, each in the shortest form.
#[derive(Debug, Default)]
pub struct FrameEncoder {
    previous_locals: Vec<VerificationType>,
    previous_known: bool,
    previous_offset: Option<u32>,
    count: u16,
    out: ByteWriter,
}

impl FrameEncoder {
    /// An encoder without a method; call [`FrameEncoder::begin`] first.
    pub fn new() -> FrameEncoder {
        FrameEncoder::default()
    }

    /// Starts a method whose descriptor implies these locals; memory is kept. Without them the first frame is a full one.
    pub fn begin(&mut self, implied_locals: Option<&[VerificationType]>) {
        self.previous_locals.clear();
        self.previous_locals.extend_from_slice(implied_locals.unwrap_or_default());
        self.previous_known = implied_locals.is_some();
        self.previous_offset = None;
        self.count = 0;
        self.out.clear();
        self.out.u2(0);
    }

    /// Number of frames so far.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Appends a frame; false if its offset is not higher than that of the frame before.
    pub fn frame(&mut self, offset: u32, locals: &[VerificationType], stack: &[VerificationType]) -> bool {
        // Trailing tops say nothing; the verifier fills up with them.
        let used = locals.iter().rposition(|&local| local != VerificationType::Top).map_or(0, |last| last + 1);
        let locals = locals.get(..used).unwrap_or_default();
        let delta = match self.previous_offset {
            None => offset,
            Some(previous) if offset > previous => offset - previous - 1,
            Some(_) => return false,
        };
        // Code is at most 65,535 bytes, so the delta fits.
        self.encode(delta.min(0xFFFF) as u16, locals, stack);
        self.count = self.count.saturating_add(1);
        self.previous_offset = Some(offset);
        self.previous_known = true;
        self.previous_locals.clear();
        self.previous_locals.extend_from_slice(locals);
        true
    }

    /// Appends a frame with the locals of the frame before it; false if there is none, or its offset is not lower.
    #[inline]
    pub fn same_locals(&mut self, offset: u32, stack: &[VerificationType]) -> bool {
        let delta = match self.previous_offset {
            Some(previous) if offset > previous => (offset - previous - 1).min(0xFFFF) as u16,
            _ => return false,
        };
        match stack {
            [] => self.out.frame_tag(0, 251, delta),
            [only] => {
                self.out.frame_tag(64, 247, delta);
                only.write(&mut self.out);
            }
            _ => full_frame(&mut self.out, delta, &self.previous_locals, stack),
        }
        self.count = self.count.saturating_add(1);
        self.previous_offset = Some(offset);
        true
    }

    fn encode(&mut self, delta: u16, locals: &[VerificationType], stack: &[VerificationType]) {
        let common = self.previous_locals.iter().zip(locals).take_while(|(a, b)| a == b).count();
        let removed = self.previous_locals.len() - common;
        let added = locals.len() - common;
        let out = &mut self.out;
        match (removed, added, stack) {
            _ if !self.previous_known => full_frame(out, delta, locals, stack),
            (0, 0, []) => out.frame_tag(0, 251, delta),
            (0, 0, [only]) => {
                out.frame_tag(64, 247, delta);
                only.write(out);
            }
            (1..=3, 0, []) => {
                out.u1(251 - removed as u8);
                out.u2(delta);
            }
            (0, 1..=3, []) => {
                out.u1(251 + added as u8);
                out.u2(delta);
                locals.iter().skip(common).for_each(|local| local.write(out));
            }
            _ => full_frame(out, delta, locals, stack),
        }
    }

    /// The content of the `StackMapTable` attribute.
    pub fn finish(&mut self) -> &[u8] {
        self.out.patch_u2(0, self.count);
        self.out.as_slice()
    }
}

impl ByteWriter {
    /// The start of a frame that has a form for deltas below 64, and one for all.
    #[inline]
    fn frame_tag(&mut self, short: u8, long: u8, delta: u16) {
        if delta < 64 {
            self.u1(short + delta as u8);
        } else {
            self.u1(long);
            self.u2(delta);
        }
    }
}

fn full_frame(out: &mut ByteWriter, delta: u16, locals: &[VerificationType], stack: &[VerificationType]) {
    out.u1(255);
    out.u2(delta);
    out.u2(locals.len().min(0xFFFF) as u16);
    locals.iter().for_each(|local| local.write(out));
    out.u2(stack.len().min(0xFFFF) as u16);
    stack.iter().for_each(|entry| entry.write(out));
}

/// Appends the locals that a method begins with (JVMS 4.10.1.6): receiver, then parameters. `class_index` gives the
/// `CONSTANT_Class` of a name and may fail.
pub fn implied_locals<E>(
    receiver: Option<VerificationType>,
    descriptor: &MethodDescriptor<'_>,
    locals: &mut Vec<VerificationType>,
    mut class_index: impl FnMut(&[u8]) -> std::result::Result<u16, E>,
) -> std::result::Result<(), E> {
    locals.clear();
    locals.extend(receiver);
    for parameter in descriptor.parameters() {
        locals.push(match parameter.kind() {
            Kind::Reference => VerificationType::Object(class_index(parameter.class_name().unwrap_or_default())?),
            _ => primitive(parameter),
        });
    }
    Ok(())
}

/// The verification type of a primitive field type.
pub fn primitive(field_type: FieldType<'_>) -> VerificationType {
    match field_type.kind() {
        Kind::Int => VerificationType::Integer,
        Kind::Long => VerificationType::Long,
        Kind::Float => VerificationType::Float,
        Kind::Double => VerificationType::Double,
        Kind::Reference => VerificationType::Top,
    }
}

#[cfg(test)]
mod tests {
    use super::VerificationType::{Integer, Long, Object, Top};
    use super::*;

    fn decode(bytes: &[u8], implied: &[VerificationType]) -> Vec<(u32, Vec<VerificationType>, Vec<VerificationType>)> {
        let (mut locals, mut stack) = (implied.to_vec(), Vec::new());
        let mut decoder = FrameDecoder::new(ByteReader::new(bytes, 0, "test"), &mut locals, &mut stack).unwrap();
        let mut frames = Vec::new();
        while let Some(offset) = decoder.advance().unwrap() {
            frames.push((offset, decoder.locals().to_vec(), decoder.stack().to_vec()));
        }
        frames
    }

    #[test]
    fn every_form_survives() {
        let implied = [Object(2), Integer];
        let frames = [
            (5, vec![Object(2), Integer], vec![]),
            (70, vec![Object(2), Integer], vec![Object(9)]),
            (200, vec![Object(2), Integer], vec![]),
            (201, vec![Object(2), Integer, Long, Top, Integer], vec![]),
            (202, vec![Object(2)], vec![]),
            (203, vec![Integer], vec![Integer, Long]),
            (300, vec![Integer], vec![Integer]),
        ];
        let mut encoder = FrameEncoder::new();
        encoder.begin(Some(&implied));
        for (offset, locals, stack) in &frames {
            assert!(encoder.frame(*offset, locals, stack));
        }
        let bytes = encoder.finish().to_vec();
        assert_eq!(decode(&bytes, &implied), frames);
        // The first frame is in the shortest form: one byte.
        assert_eq!(bytes.get(2), Some(&5));
    }

    #[test]
    fn refuses_frames_out_of_order() {
        let mut encoder = FrameEncoder::new();
        encoder.begin(Some(&[]));
        assert!(!encoder.same_locals(4, &[]), "there is no frame yet");
        assert!(encoder.frame(4, &[], &[]));
        for offset in [3, 4] {
            assert!(!encoder.frame(offset, &[Integer], &[]) && !encoder.same_locals(offset, &[]), "{offset}");
        }
        assert_eq!(encoder.count(), 1);
    }

    #[test]
    fn the_highest_class_of_locals_and_stacks_is_known() {
        let table = [0, 3, 252, 0, 1, 7, 0, 4, 64, 7, 0, 9, 255, 0, 0, 0, 1, 7, 0, 2, 0, 1, 8, 0, 99];
        let (mut locals, mut stack) = (vec![Object(20)], Vec::new());
        let mut decoder = FrameDecoder::new(ByteReader::new(&table, 0, "test"), &mut locals, &mut stack).unwrap();
        for highest in [4, 9, 9] {
            decoder.advance().unwrap();
            assert_eq!(decoder.highest_class(), highest);
        }
    }

    #[test]
    fn damaged_tables_are_errors() {
        for bytes in [&[0, 1][..], &[0, 1, 200], &[0, 1, 250, 0, 0], &[0, 1, 64, 9], &[0, 0, 1]] {
            let (mut locals, mut stack) = (Vec::new(), Vec::new());
            let mut decoder = FrameDecoder::new(ByteReader::new(bytes, 0, "test"), &mut locals, &mut stack).unwrap();
            assert!(decoder.advance().is_err(), "{bytes:?}");
        }
    }
}
