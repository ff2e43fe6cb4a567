//! Debug tables and type annotations of the target, moved to the new offsets. Their size never changes.

use classfile::attributes::{Annotation, Structure, Table, TypePathStep};
use classfile::{ByteReader, ErrorKind};

use super::renumber::Renumbering;
use crate::weave::body::input::{self, TableKind};
use crate::weave::body::node::{NodeList, Position};
use crate::weave::refusal::Refusal;

/// Code and tables have a size that fits.
const OUTSIDE: Refusal = Refusal::SelfCheck("debug table outside the code");

/// New offsets of original ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moves<'m> {
    pub(crate) list: &'m NodeList,
    pub(crate) original_length: u32,
    /// Where the target ends.
    pub(crate) epilog: Position,
    /// New places of the target's exception rows, if they are not the old ones.
    pub(crate) moved_rows: Option<&'m [u16]>,
    pub(crate) renumbering: Renumbering,
}

impl Moves<'_> {
    /// Returns the new offset of an instruction.
    fn instruction(&self, original: u16) -> Result<u16, Refusal> {
        self.moved(original, self.list.position_of(u32::from(original)))
    }

    /// Returns the new offset of an instruction, looked for first where the last search ended.
    fn instruction_near(&self, original: u16, near: &mut usize) -> Result<u16, Refusal> {
        self.moved(original, self.list.position_near(u32::from(original), near))
    }

    fn moved(&self, original: u16, place: Option<Position>) -> Result<u16, Refusal> {
        let moved = self.list.offset_of(place.ok_or(OUTSIDE)?)?;
        match u16::try_from(moved) {
            Ok(moved) => Ok(moved),
            Err(_) if u32::from(original) < self.original_length => Err(OUTSIDE),
            // No JVM checks the offsets in type annotations: one outside the code stays outside.
            Err(_) => Ok(u16::MAX),
        }
    }

    /// Returns the new offset of a place where something begins that also holds for the prolog: what began with the method still does.
    fn start(&self, original: u16) -> Result<u16, Refusal> {
        if original == 0 { Ok(0) } else { self.instruction(original) }
    }

    /// Returns the new offset of an exclusive end.
    fn end(&self, original: u32) -> Result<u16, Refusal> {
        if original >= self.original_length {
            return u16::try_from(self.list.offset_of(self.epilog)?).map_err(|_| OUTSIDE);
        }
        let original = u16::try_from(original).map_err(|_| OUTSIDE)?;
        self.instruction(original)
    }
}

/// The copy of a table whose offsets are overwritten.
struct Copied<'c>(&'c mut [u8]);

impl Copied<'_> {
    fn patch_u2(&mut self, position: usize, value: u16) -> Result<(), Refusal> {
        let place = self.0.get_mut(position..).and_then(|rest| rest.first_chunk_mut::<2>());
        *place.ok_or(OUTSIDE)? = value.to_be_bytes();
        Ok(())
    }
}

/// Appends the content of a table to `out`.
pub(crate) fn write(table: &input::Table<'_>, moves: &Moves<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let start = out.len();
    out.extend_from_slice(table.content);
    let mut content = Copied(out.get_mut(start..).ok_or(OUTSIDE)?);
    let reader = ByteReader::new(table.content, table.offset, "debug table");
    match table.kind {
        TableKind::LineNumbers => line_numbers(reader, moves, &mut content),
        TableKind::LocalVariables => local_variables(reader, moves, &mut content),
        TableKind::TypeAnnotations => type_annotations(reader, moves, &mut content),
        TableKind::StackMap | TableKind::Dropped | TableKind::Other => Ok(()),
    }
}

fn line_numbers(mut reader: ByteReader<'_>, moves: &Moves<'_>, content: &mut Copied<'_>) -> Result<(), Refusal> {
    let count = usize::from(reader.u2()?);
    reader.skip(count * 4)?;
    let (rows, _) = content.0.get_mut(2..2 + count * 4).ok_or(OUTSIDE)?.as_chunks_mut::<4>();
    // Lines mostly stand in the order of the code, so the search goes on where the last one ended.
    let mut near = 0;
    for [high, low, ..] in rows {
        let start = u16::from_be_bytes([*high, *low]);
        let moved = if start == 0 { 0 } else { moves.instruction_near(start, &mut near)? };
        [*high, *low] = moved.to_be_bytes();
    }
    Ok(())
}

fn local_variables(mut reader: ByteReader<'_>, moves: &Moves<'_>, content: &mut Copied<'_>) -> Result<(), Refusal> {
    for _ in 0..reader.u2()? {
        range(&mut reader, moves, content)?;
        reader.skip(4)?;
        slot(&mut reader, moves, content)?;
    }
    Ok(())
}

fn slot(reader: &mut ByteReader<'_>, moves: &Moves<'_>, content: &mut Copied<'_>) -> Result<(), Refusal> {
    let position = reader.position();
    content.patch_u2(position, moves.renumbering.slot(reader.u2()?)?)
}

/// A start and a length.
fn range(reader: &mut ByteReader<'_>, moves: &Moves<'_>, content: &mut Copied<'_>) -> Result<(), Refusal> {
    let position = reader.position();
    let (start, length) = (reader.u2()?, reader.u2()?);
    let (new_start, new_end) = (moves.start(start)?, moves.end(u32::from(start) + u32::from(length))?);
    content.patch_u2(position, new_start)?;
    content.patch_u2(position + 2, new_end.saturating_sub(new_start))
}

fn type_annotations(mut reader: ByteReader<'_>, moves: &Moves<'_>, content: &mut Copied<'_>) -> Result<(), Refusal> {
    for _ in 0..reader.u2()? {
        match reader.u1()? {
            0x40 | 0x41 => {
                for _ in 0..reader.u2()? {
                    range(&mut reader, moves, content)?;
                    slot(&mut reader, moves, content)?;
                }
            }
            0x42 => {
                let position = reader.position();
                let row = usize::from(reader.u2()?);
                if let Some(moved) = moves.moved_rows.and_then(|rows| rows.get(row)) {
                    content.patch_u2(position, *moved)?;
                }
            }
            target @ 0x43..=0x4B => {
                let position = reader.position();
                let offset = reader.u2()?;
                content.patch_u2(position, moves.instruction(offset)?)?;
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
        let list = NodeList::default();
        let epilog = Position::default();
        let moves = Moves { list: &list, original_length: 9, epilog, moved_rows: None, renumbering: Renumbering::NONE };
        let lines = [0, 1, 0, 5, 0, 7];
        let table = input::Table { name_index: 1, kind: TableKind::LineNumbers, content: &lines, offset: 0 };
        assert_eq!(write(&table, &moves, &mut Vec::new()), Err(OUTSIDE));
    }
}
