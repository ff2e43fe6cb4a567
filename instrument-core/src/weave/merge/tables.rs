//! Debug tables and type annotations of the target: their offsets are overwritten in a copy, whose size never changes.

use std::collections::BTreeMap;

use classfile::attributes::{Annotation, Structure, Table, TypePathStep};
use classfile::{ByteReader, ErrorKind};

use super::places::{OutsideCode, Places};
use super::renumber::Renumbering;
use crate::weave::body::input::Variable;
use crate::weave::refusal::Refusal;

/// Returns the rows of a table: as many as it says it has.
pub(crate) fn rows<const N: usize>(content: &mut [u8]) -> Result<&mut [[u8; N]], OutsideCode> {
    let (count, rest) = content.split_first_chunk_mut::<2>().ok_or(OutsideCode)?;
    rest.as_chunks_mut::<N>().0.get_mut(..usize::from(u16::from_be_bytes(*count))).ok_or(OutsideCode)
}

/// Moves the rows of a `LineNumberTable`.
pub(crate) fn line_numbers(rows: &mut [[u8; 4]], places: &Places<'_>) -> Result<(), OutsideCode> {
    for [high, low, ..] in rows {
        let start = places.start(u16::from_be_bytes([*high, *low]))?;
        [*high, *low] = start.to_be_bytes();
    }
    Ok(())
}

/// Moves the rows of a `LocalVariableTable` or a `LocalVariableTypeTable`, each of which `check` must accept.
pub(crate) fn local_variables<E: From<OutsideCode>>(
    rows: &mut [[u8; 10]],
    places: &Places<'_>,
    slot: impl Fn(u16) -> Result<u16, E>,
    mut check: impl FnMut(&Variable) -> Result<(), E>,
) -> Result<(), E> {
    for row in rows {
        let variable = Variable::of(*row);
        check(&variable)?;
        let start = places.start(variable.start)?;
        let end = places.end(u32::from(variable.start) + u32::from(variable.length))?;
        let [a, b, c, d, .., i, j] = row;
        [*a, *b] = start.to_be_bytes();
        [*c, *d] = end.checked_sub(start).ok_or(OutsideCode)?.to_be_bytes();
        [*i, *j] = slot(variable.slot)?.to_be_bytes();
    }
    Ok(())
}

/// New offsets for type annotations, whose offsets no JVM checks: one outside the code stays outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnnotatedPlaces<'m> {
    pub(crate) places: Places<'m>,
    /// New places of the target's exception rows, if they are not the old ones.
    pub(crate) moved_rows: Option<&'m [u16]>,
    pub(crate) renumbering: Renumbering,
    /// Bytes that were inserted before instructions, by original offset.
    pub(crate) inserted: &'m BTreeMap<u16, u16>,
}

impl AnnotatedPlaces<'_> {
    fn instruction(&self, original: u16) -> Result<u16, OutsideCode> {
        match usize::from(original).checked_sub(self.places.entries.len()) {
            None => self.places.instruction(original),
            Some(beyond) => Ok(u16::try_from(usize::from(self.places.epilog) + beyond).unwrap_or(u16::MAX)),
        }
    }

    /// Returns the new offset of an instruction itself, whatever was inserted before it.
    fn annotated(&self, original: u16) -> Result<u16, OutsideCode> {
        let inserted = self.inserted.get(&original).copied().unwrap_or(0);
        self.instruction(original)?.checked_add(inserted).ok_or(OutsideCode)
    }

    /// Moves a start and a length.
    fn range(&self, reader: &mut ByteReader<'_>, content: &mut Copied<'_>) -> Result<(), Refusal> {
        let position = reader.position();
        let (start, length) = (reader.u2()?, reader.u2()?);
        let end = u32::from(start) + u32::from(length);
        let end = if end as usize >= self.places.entries.len() { self.places.epilog } else { self.places.end(end)? };
        let start = if start == 0 { 0 } else { self.instruction(start)? };
        content.patch_u2(position, start)?;
        // A range that begins outside the code is empty.
        content.patch_u2(position + 2, end.saturating_sub(start))
    }
}

/// The copy of a table whose offsets are overwritten.
struct Copied<'c>(&'c mut [u8]);

impl Copied<'_> {
    fn patch_u2(&mut self, position: usize, value: u16) -> Result<(), Refusal> {
        let place = self.0.get_mut(position..).and_then(|rest| rest.first_chunk_mut::<2>());
        *place.ok_or(OutsideCode)? = value.to_be_bytes();
        Ok(())
    }
}

/// Moves the offsets and slots of type annotations; `reader` reads the original of the copy.
pub(crate) fn type_annotations(
    mut reader: ByteReader<'_>,
    places: &AnnotatedPlaces<'_>,
    copy: &mut [u8],
) -> Result<(), Refusal> {
    let content = &mut Copied(copy);
    for _ in 0..reader.u2()? {
        match reader.u1()? {
            0x40 | 0x41 => {
                for _ in 0..reader.u2()? {
                    places.range(&mut reader, content)?;
                    let position = reader.position();
                    content.patch_u2(position, places.renumbering.slot(reader.u2()?)?)?;
                }
            }
            0x42 => {
                let position = reader.position();
                let row = usize::from(reader.u2()?);
                if let Some(moved) = places.moved_rows.and_then(|rows| rows.get(row)) {
                    content.patch_u2(position, *moved)?;
                }
            }
            target @ 0x43..=0x4B => {
                let position = reader.position();
                let offset = reader.u2()?;
                content.patch_u2(position, places.annotated(offset)?)?;
                if target >= 0x47 {
                    reader.skip(1)?;
                }
            }
            _ => return Err(reader.error(ErrorKind::BadValue).into()),
        }
        Table::<TypePathStep, u8>::read(&mut reader, 0)?;
        Annotation::read(&mut reader, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_an_instruction_is_a_fault_and_no_offset_0() {
        let places = Places { entries: &[0; 9], epilog: 9, has_frames: false };
        let mut lines = [0, 1, 0, 5, 0, 7];
        assert_eq!(line_numbers(rows(&mut lines).unwrap(), &places), Err(OutsideCode));
        let mut variables = [0, 1, 0, 5, 0, 7, 0, 1, 0, 1, 0, 1];
        let moved = local_variables(rows(&mut variables).unwrap(), &places, Ok, |_| Ok::<_, OutsideCode>(()));
        assert_eq!(moved, Err(OutsideCode));
        assert_eq!(rows::<4>(&mut [0, 2, 0, 5, 0, 7]), Err(OutsideCode), "more rows than bytes");
    }
}
