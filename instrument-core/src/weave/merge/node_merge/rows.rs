//! Exception rows, debug tables and frames of the merged code, once its layout is known.

use std::ops::Range;

use classfile::{ByteReader, ExceptionRow, ModifiedUtf8};

use super::{MergeMemory, MergedBody, NodeMerge};
use crate::weave::body::input::{Table, TableKind};
use crate::weave::body::layout::ISLAND_LENGTH;
use crate::weave::body::node::{NodeList, Position};
use crate::weave::body::super_call::Stretches;
use crate::weave::merge::handlers::{self, Protection};
use crate::weave::merge::places::{self, OutsideCode, Places};
use crate::weave::merge::renumber::Renumbering;
use crate::weave::merge::tables::{self, AnnotatedPlaces};
use crate::weave::refusal::Refusal;

/// What rows and tables depend on besides the nodes.
#[derive(Clone, Debug)]
pub(super) struct LaidOut {
    pub(super) epilog: Position,
    /// Bytes of the merged code.
    pub(super) length: u32,
    /// Of a constructor: original offsets where its object is initialised.
    pub(super) initialised: Option<Stretches>,
    pub(super) renumbering: Renumbering,
}

impl NodeMerge<'_, '_, '_, '_> {
    /// Adds rows, tables and frames to the merged body.
    pub(super) fn attributes(
        &mut self,
        memory: &mut MergeMemory,
        laid_out: &LaidOut,
        merged: &mut MergedBody,
    ) -> Result<(), Refusal> {
        places::fill(&memory.list, self.body.bytecode.len(), &mut memory.places)?;
        let epilog = u16::try_from(memory.list.offset_of(laid_out.epilog)?).map_err(|_| OutsideCode)?;
        let places = Places { entries: &memory.places, epilog, has_frames: false };
        let moved_rows = self.rows(memory, &places, laid_out, &mut merged.rows)?;
        let renumbering = laid_out.renumbering;
        let places = AnnotatedPlaces {
            places,
            moved_rows: moved_rows.as_deref(),
            renumbering,
            inserted: &memory.sites.inserted,
        };
        let mut frames_name = None;
        for table in &self.body.tables {
            match table.kind {
                TableKind::StackMap => frames_name = Some(table.name_index),
                TableKind::Dropped => {}
                kind => {
                    let start = merged.table_bytes.len();
                    copy_table(table, &places, &mut merged.table_bytes)?;
                    merged.add_table(kind, table.name_index, start);
                }
            }
        }
        if merged.has_frames {
            self.frames(memory, frames_name, merged)?;
        }
        Ok(())
    }

    /// Writes all rows; those that cover nothing are left out. Returns the new places of the target's rows if they are not the old ones.
    fn rows(
        &mut self,
        memory: &MergeMemory,
        places: &Places<'_>,
        laid_out: &LaidOut,
        rows: &mut Vec<ExceptionRow>,
    ) -> Result<Option<Vec<u16>>, Refusal> {
        let (list, template) = (&memory.list, self.template);
        let mut moved: Option<Vec<u16>> = None;
        rows.clear();
        for (index, row) in self.body.rows.iter().enumerate() {
            if moved.is_none() && rows.len() != index {
                moved = Some((0..index as u16).collect());
            }
            if let Some(moved) = &mut moved {
                moved.push(u16::try_from(rows.len()).map_err(|_| Refusal::SelfCheck("more than 65,535 handlers"))?);
            }
            let (covered, handler) = handlers::moved(row, places)?;
            push(rows, list, covered, handler, row.catch_type)?;
        }
        let protection = Protection::new(laid_out.initialised.as_deref(), places)?;
        let at = |operation: usize| match memory.positions.get(operation) {
            Some(place) => list.offset_of(*place),
            None if operation == template.operations.len() => Ok(laid_out.length),
            None => Err(OutsideCode.into()),
        };
        for row in &template.handlers {
            let catch_type = match row.catch_type {
                Some(symbol) => {
                    let placed = self.sink.symbol(&template.symbols, symbol)?;
                    placed.ok_or(Refusal::SelfCheck("caught class of the template"))?.0
                }
                None => 0,
            };
            for covered in protection.covered(row, template.sentinel, at)? {
                push(rows, list, covered, at(row.handler)?, catch_type)?;
            }
        }
        Ok(moved)
    }

    fn frames(&mut self, memory: &mut MergeMemory, name: Option<u16>, merged: &mut MergedBody) -> Result<(), Refusal> {
        let implied = memory.target_frames.implied();
        if let Some(content) = memory.merger.encode(implied, &memory.list, &memory.positions)? {
            let name_index = match name {
                Some(index) => index,
                None => self.sink.writer.utf8(self.sink.pool, ModifiedUtf8(b"StackMapTable"))?,
            };
            let start = merged.table_bytes.len();
            merged.table_bytes.extend_from_slice(content);
            merged.add_table(TableKind::StackMap, name_index, start);
        }
        Ok(())
    }
}

/// Appends the content of a table to `out`, moved.
fn copy_table(table: &Table<'_>, places: &AnnotatedPlaces<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let start = out.len();
    out.extend_from_slice(table.content);
    let copy = out.get_mut(start..).ok_or(OutsideCode)?;
    match table.kind {
        TableKind::LineNumbers => Ok(tables::line_numbers(tables::rows(copy)?, &places.places)?),
        TableKind::LocalVariables => {
            let slot = |slot: u16| places.renumbering.slot(slot);
            tables::local_variables(tables::rows(copy)?, &places.places, slot, |_| Ok::<_, Refusal>(()))
        }
        TableKind::TypeAnnotations => {
            let reader = ByteReader::new(table.content, table.offset, "debug table");
            tables::type_annotations(reader, places, copy)
        }
        TableKind::StackMap | TableKind::Dropped | TableKind::Other => Ok(()),
    }
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
