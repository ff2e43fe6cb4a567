//! Exception handlers of the merged method: the target's rows first, so that inner handlers win, then the template's.

use std::ops::Range;

use classfile::ExceptionRow;

use super::places::{OutsideCode, Places};
use crate::weave::body::super_call::Stretches;
use crate::weave::template::TemplateHandler;

/// Returns the new offsets of what a row of the target covers, which may be nothing any more, and of its handler.
#[inline]
pub(crate) fn moved(row: &ExceptionRow, places: &Places<'_>) -> Result<(Range<u32>, u32), OutsideCode> {
    let (start, end) = (places.instruction(row.start)?, places.end(row.end.into())?);
    Ok((start.into()..end.into(), places.handler(row.handler)?.into()))
}

/// What the template protects of the target, by new offsets.
#[derive(Clone, Debug)]
pub(crate) struct Protection {
    /// All of the target, up to the epilog.
    target: Range<u32>,
    /// Of a constructor: the part where its object is initialised.
    initialised: Option<Stretches>,
}

impl Protection {
    /// Returns what is protected: all of the target, or the part of a constructor where its object is `initialised`, given by
    /// original offsets.
    #[inline]
    pub(crate) fn new(initialised: Option<&[Range<u32>]>, places: &Places<'_>) -> Result<Protection, OutsideCode> {
        let target = places.instruction(0)?.into()..places.epilog.into();
        Ok(Protection {
            target,
            initialised: initialised.map(|stretches| moved_stretches(stretches, places)).transpose()?,
        })
    }

    /// Returns what a row of the template covers in the merged code; `at` gives the new offset of an operation or of the code's end.
    #[inline]
    pub(crate) fn covered<E>(
        &self,
        row: &TemplateHandler,
        sentinel: usize,
        at: impl Fn(usize) -> Result<u32, E>,
    ) -> Result<Stretches, E> {
        let mut pieces = Stretches::new();
        if !row.covers(sentinel) {
            pieces.push(at(row.start)?..at(row.end)?);
            return Ok(pieces);
        }
        let reaches_epilog = row.end > sentinel + 1;
        let Some(initialised) = &self.initialised else {
            let start = if row.start == sentinel { self.target.start } else { at(row.start)? };
            pieces.push(start..if reaches_epilog { at(row.end)? } else { self.target.end });
            return Ok(pieces);
        };
        // Before super() nothing that a handler expects is there yet.
        pieces.extend(initialised.iter().cloned());
        if reaches_epilog {
            match pieces.last_mut() {
                Some(last) if last.end == self.target.end => last.end = at(row.end)?,
                _ => pieces.push(self.target.end..at(row.end)?),
            }
        }
        Ok(pieces)
    }
}

fn moved_stretches(stretches: &[Range<u32>], places: &Places<'_>) -> Result<Stretches, OutsideCode> {
    let moved = stretches.iter().map(|stretch| {
        let start = u16::try_from(stretch.start).map_err(|_| OutsideCode)?;
        Ok(places.instruction(start)?.into()..places.end(stretch.end)?.into())
    });
    moved.collect()
}
