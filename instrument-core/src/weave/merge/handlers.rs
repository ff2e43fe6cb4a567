//! Exception handlers of the merged method: the target's rows first, so that inner handlers win, then the template's.

use std::ops::Range;

use classfile::ExceptionRow;

use super::places::{OutsideCode, Places};
use crate::weave::body::super_call::Stretches;
use crate::weave::template::{Template, TemplateHandler};

/// Passes each of the target's rows to `push`, moved: what it covers, its handler and the class it catches.
pub(crate) fn target_rows<E: From<OutsideCode>>(
    rows: impl Iterator<Item = ExceptionRow>,
    places: &Places<'_>,
    mut push: impl FnMut(Range<u32>, u32, u16) -> Result<(), E>,
) -> Result<(), E> {
    for row in rows {
        let (start, end) = (places.instruction(row.start)?, places.end(row.end.into())?);
        push(start.into()..end.into(), places.handler(row.handler)?.into(), row.catch_type)?;
    }
    Ok(())
}

/// What the template protects of the target.
#[derive(Clone, Debug)]
pub(crate) struct Protection {
    pub(crate) is_constructor: bool,
    /// New offsets, ascending.
    stretches: Stretches,
    epilog: u32,
}

impl Protection {
    /// Returns the new offsets of the code that is protected: all of the target, or the part of a constructor where its object is
    /// `initialised`, given by original offsets.
    pub(crate) fn new(initialised: Option<&[Range<u32>]>, places: &Places<'_>) -> Result<Protection, OutsideCode> {
        let epilog = u32::from(places.epilog);
        let Some(initialised) = initialised else {
            let stretches = std::iter::once(u32::from(places.instruction(0)?)..epilog).collect();
            return Ok(Protection { is_constructor: false, stretches, epilog });
        };
        let moved = initialised.iter().map(|stretch| {
            let start = u16::try_from(stretch.start).map_err(|_| OutsideCode)?;
            Ok(places.instruction(start)?.into()..places.end(stretch.end)?.into())
        });
        Ok(Protection { is_constructor: true, stretches: moved.collect::<Result<_, OutsideCode>>()?, epilog })
    }

    /// Returns what a row of the template covers in the merged code, given where the template's operations are.
    fn covered<E>(
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
        pieces.extend(self.stretches.iter().cloned());
        // Before super() nothing that a handler expects is there yet.
        if row.start != sentinel
            && !self.is_constructor
            && let Some(first) = pieces.first_mut()
        {
            first.start = at(row.start)?;
        }
        if row.end > sentinel + 1 {
            match pieces.last_mut() {
                Some(last) if last.end == self.epilog => last.end = at(row.end)?,
                _ => pieces.push(self.epilog..at(row.end)?),
            }
        }
        Ok(pieces)
    }
}

/// Passes each of the template's rows to `push`, as [`target_rows`] does. `at` gives the new offset of an operation or of the code's
/// end, `catch_type` the constant of the class that a row catches.
pub(crate) fn template_rows<E>(
    template: &Template,
    protection: &Protection,
    at: impl Fn(usize) -> Result<u32, E>,
    mut catch_type: impl FnMut(usize, &TemplateHandler) -> Result<u16, E>,
    mut push: impl FnMut(Range<u32>, u32, u16) -> Result<(), E>,
) -> Result<(), E> {
    for (index, row) in template.handlers.iter().enumerate() {
        let catch_type = catch_type(index, row)?;
        for piece in protection.covered(row, template.sentinel, &at)? {
            push(piece, at(row.handler)?, catch_type)?;
        }
    }
    Ok(())
}
