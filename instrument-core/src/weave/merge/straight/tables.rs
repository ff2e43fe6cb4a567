//! Exception rows and debug tables, copied and moved.

use classfile::{ByteWriter, ConstantPool};

use super::NotStraight;
use super::parts::CodeTable;
use super::places::Places;
use crate::weave::body::input::TableKind;

/// Words on the stack where an exception arrives.
const THROWN: i32 = 1;

/// Appends the target's exception rows; gives how many remain, because those that cover nothing any more are left out.
pub(super) fn rows(rows: &[[u8; 8]], places: &Places<'_>, out: &mut ByteWriter) -> Result<u16, NotStraight> {
    let mut written = 0;
    for &[a, b, c, d, e, f, g, h] in rows {
        let [start, end, handler, catch_type] = [[a, b], [c, d], [e, f], [g, h]].map(u16::from_be_bytes);
        if start >= end || catch_type >= places.constants {
            return Err(NotStraight);
        }
        let (start, end) = (places.instruction(start)?, places.end(end.into())?);
        let handler = places.target(handler.into(), THROWN)?;
        if start < end {
            [start, end, handler, catch_type].into_iter().for_each(|value| out.u2(value));
            written += 1;
        }
    }
    Ok(written)
}

/// Appends a table of the code with its offsets moved.
pub(super) fn table(
    table: &CodeTable<'_>,
    places: &Places<'_>,
    (max_locals, pool): (u16, &ConstantPool<'_>),
    out: &mut ByteWriter,
) -> Result<(), NotStraight> {
    out.u2(table.name_index);
    out.u4(table.content.len() as u32);
    let start = out.len();
    out.bytes(table.content);
    let content = out.written_from(start);
    match table.kind {
        TableKind::LineNumbers => line_numbers(rows_of(content)?, places),
        TableKind::LocalVariables => local_variables(rows_of(content)?, places, (max_locals, pool)),
        _ => Ok(()),
    }
}

/// The rows of a table, if they are all there is.
fn rows_of<const N: usize>(content: &mut [u8]) -> Result<&mut [[u8; N]], NotStraight> {
    let (count, rest) = content.split_first_chunk_mut::<2>().ok_or(NotStraight)?;
    let (rows, left) = rest.as_chunks_mut::<N>();
    let is_whole = left.is_empty() && rows.len() == usize::from(u16::from_be_bytes(*count));
    if is_whole { Ok(rows) } else { Err(NotStraight) }
}

fn line_numbers(rows: &mut [[u8; 4]], places: &Places<'_>) -> Result<(), NotStraight> {
    for [high, low, ..] in rows {
        let start = places.instruction(u16::from_be_bytes([*high, *low]))?;
        // What began with the method still does.
        if [*high, *low] != [0, 0] {
            [*high, *low] = start.to_be_bytes();
        }
    }
    Ok(())
}

fn local_variables(
    rows: &mut [[u8; 10]],
    places: &Places<'_>,
    (max_locals, pool): (u16, &ConstantPool<'_>),
) -> Result<(), NotStraight> {
    for [a, b, c, d, e, f, g, h, i, j] in rows {
        let [start, length, name, descriptor, slot] =
            [[*a, *b], [*c, *d], [*e, *f], [*g, *h], [*i, *j]].map(u16::from_be_bytes);
        if name >= pool.count() || descriptor >= pool.count() || slot >= max_locals {
            return Err(NotStraight);
        }
        // Only in the last slot does it matter whether there would be room for two.
        if slot + 1 == max_locals && matches!(pool.utf8(descriptor)?.as_bytes(), b"J" | b"D") {
            return Err(NotStraight);
        }
        let new_start = if start == 0 { 0 } else { places.instruction(start)? };
        let new_end = places.end(u32::from(start) + u32::from(length))?;
        [*a, *b] = new_start.to_be_bytes();
        [*c, *d] = new_end.saturating_sub(new_start).to_be_bytes();
    }
    Ok(())
}
