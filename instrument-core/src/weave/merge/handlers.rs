//! Exception handlers of the merged method: the target's rows first, so that inner handlers win, then the template's.

use std::ops::Range;

use classfile::ExceptionRow;

use crate::weave::body::layout::ISLAND_LENGTH;
use crate::weave::body::node::{NodeList, Position};
use crate::weave::body::super_call::Stretches;
use crate::weave::refusal::Refusal;
use crate::weave::template::symbol::SymbolSink;
use crate::weave::template::{Template, TemplateHandler};

/// A stretch of the target that is protected; up to the epilog where it has no end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protected {
    pub(crate) start: Position,
    pub(crate) end: Option<Position>,
}

impl Protected {
    /// Returns its new offsets.
    pub(crate) fn in_list(self, list: &NodeList, epilog: u32) -> Result<Range<u32>, Refusal> {
        Ok(list.offset_of(self.start)?..self.end.map_or(Ok(epilog), |end| list.offset_of(end))?)
    }
}

/// Places that rows refer to.
#[derive(Clone, Debug)]
pub(crate) struct HandlerPlaces<'p> {
    pub(crate) operations: &'p [Position],
    /// New offsets of what the template protects of the target.
    pub(crate) protected: Stretches,
    pub(crate) is_constructor: bool,
    pub(crate) epilog: Position,
    pub(crate) code_length: u32,
}

/// Writes all rows with their new offsets; rows that cover nothing are left out. Gives the new places of the target's rows if
/// they are not the old ones.
pub(crate) fn rows(
    target: &[ExceptionRow],
    original_length: u32,
    template: &Template,
    list: &NodeList,
    places: &HandlerPlaces<'_>,
    sink: &mut SymbolSink<'_, '_>,
    out: &mut Vec<ExceptionRow>,
) -> Result<Option<Vec<u16>>, Refusal> {
    out.clear();
    let mut moved = None;
    let fault = || Refusal::SelfCheck("handler outside the code");
    let epilog = list.offset_of(places.epilog)?;
    for (index, row) in target.iter().enumerate() {
        if moved.is_none() && out.len() != index {
            moved = Some((0..index as u16).collect::<Vec<_>>());
        }
        if let Some(moved) = &mut moved {
            moved.push(u16::try_from(out.len()).map_err(|_| Refusal::SelfCheck("more than 65,535 handlers"))?);
        }
        let at = |offset: u16| list.offset_of(list.position_of(u32::from(offset)).ok_or_else(fault)?);
        let end = if u32::from(row.end) >= original_length { epilog } else { at(row.end)? };
        push(out, list, at(row.start)?..end, at(row.handler)?, row.catch_type)?;
    }
    for row in &template.handlers {
        let catch_type = match row.catch_type {
            Some(symbol) => {
                let placed = sink.symbol(&template.symbols, symbol)?;
                placed.ok_or(Refusal::SelfCheck("caught class of the template"))?.0
            }
            None => 0,
        };
        let at = |operation: usize| match places.operations.get(operation) {
            Some(place) => list.offset_of(*place),
            None if operation == template.operations.len() => Ok(places.code_length),
            None => Err(fault()),
        };
        for piece in covered(row, template.sentinel, places.is_constructor, &places.protected, epilog, at)? {
            push(out, list, piece, at(row.handler)?, catch_type)?;
        }
    }
    Ok(moved)
}

/// Returns what a row of the template covers in the merged code, given what is protected of the target and where the epilog and
/// the template's operations are.
pub(crate) fn covered<E>(
    row: &TemplateHandler,
    sentinel: usize,
    is_constructor: bool,
    protected: &[Range<u32>],
    epilog: u32,
    at: impl Fn(usize) -> Result<u32, E>,
) -> Result<Stretches, E> {
    let mut pieces = Stretches::new();
    if !row.covers(sentinel) {
        pieces.push(at(row.start)?..at(row.end)?);
        return Ok(pieces);
    }
    pieces.extend(protected.iter().cloned());
    // Before super() nothing that a handler expects is there yet.
    if row.start != sentinel
        && !is_constructor
        && let Some(first) = pieces.first_mut()
    {
        first.start = at(row.start)?;
    }
    if row.end > sentinel + 1 {
        match pieces.last_mut() {
            Some(last) if last.end == epilog => last.end = at(row.end)?,
            _ => pieces.push(epilog..at(row.end)?),
        }
    }
    Ok(pieces)
}

/// Pushes a row in pieces around islands: what holds at an island is what its target expects, which need not be what the
/// handler does.
fn push(
    out: &mut Vec<ExceptionRow>,
    list: &NodeList,
    range: Range<u32>,
    handler: u32,
    catch_type: u16,
) -> Result<(), Refusal> {
    let short = |offset: u32| u16::try_from(offset).map_err(|_| Refusal::CodeTooLarge { length: offset as usize });
    let mut piece = |start: u32, end: u32| {
        if start < end {
            out.push(ExceptionRow { start: short(start)?, end: short(end)?, handler: short(handler)?, catch_type });
        }
        Ok(())
    };
    let mut start = range.start;
    for island in list.islands.iter().filter(|island| range.contains(&island.offset)) {
        piece(start, island.offset)?;
        start = island.offset + ISLAND_LENGTH;
    }
    piece(start, range.end)
}
