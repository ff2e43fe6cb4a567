//! Debug tables, copied and moved.

use classfile::{ByteWriter, ConstantPool};

use super::Bailout;
use super::parts::CodeTable;
use crate::weave::body::definition_checks::check_variable;
use crate::weave::body::input::TableKind;
use crate::weave::merge::places::Places;
use crate::weave::merge::tables::{line_numbers, local_variables, rows};

/// Appends a table of the code with its offsets moved.
pub(super) fn table(
    table: &CodeTable<'_>,
    places: &Places<'_>,
    (max_locals, pool): (u16, &ConstantPool<'_>),
    out: &mut ByteWriter,
) -> Result<(), Bailout> {
    out.u2(table.name_index);
    out.u4(table.content.len() as u32);
    let start = out.len();
    out.bytes(table.content);
    let content = out.written_from(start);
    match table.kind {
        TableKind::LineNumbers => Ok(line_numbers(all_rows(content)?, places)?),
        TableKind::LocalVariables => local_variables(all_rows(content)?, places, Ok, |variable| {
            check_variable(variable, places.entries.len(), max_locals, pool).map_err(|_| Bailout)
        }),
        _ => Ok(()),
    }
}

/// Returns the rows of a table, if they are all there is.
fn all_rows<const N: usize>(content: &mut [u8]) -> Result<&mut [[u8; N]], Bailout> {
    let length = content.len();
    let rows = rows::<N>(content)?;
    if rows.len() * N + 2 == length { Ok(rows) } else { Err(Bailout) }
}
