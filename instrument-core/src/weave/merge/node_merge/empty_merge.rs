//! Lift and layout as for a merge, but without a template: the result must equal the input.

use super::rows::LaidOut;
use super::{MergeMemory, MergedBody, NodeMerge, layout};
use crate::level::Level;
use crate::weave::body::node::{NodeKind, Position};
use crate::weave::merge::frames::{FrameContext, FramePlaces};
use crate::weave::merge::renumber::Renumbering;
use crate::weave::merge::slots::SlotPlan;
use crate::weave::options::Layout;
use crate::weave::refusal::Refusal;
use crate::weave::template::{Needs, Purpose, Template};

/// A template without a single instruction, to be given to [`NodeMerge::unchanged`].
pub(crate) fn empty_template() -> Template {
    let (operations, symbols, frames, handlers, live_locals) = Default::default();
    Template {
        name: String::new(),
        category: String::new(),
        level: Level::Off,
        live: false,
        purpose: Purpose::Rules,
        origin: String::new(),
        content: 0,
        source: String::new(),
        requires: Vec::new(),
        operations,
        sentinel: 0,
        symbols,
        frames,
        handlers,
        live_locals,
        max_locals: 0,
        needs: Needs::default(),
        scope: None,
        epilog_is_straight: true,
        single_pass: None,
        minimum_version: 0,
    }
}

impl NodeMerge<'_, '_, '_, '_> {
    /// Lifts the body and lowers it again.
    pub(crate) fn unchanged(mut self, memory: &mut MergeMemory) -> Result<MergedBody, Refusal> {
        let frames_wanted = self.read_frames(memory)?;
        memory.list.clear();
        memory.positions.clear();
        memory.sites.choose(&[], None, &[]);
        self.lift(memory, None)?;
        let end = memory.list.push_made(NodeKind::Label);
        let after = Position::start_of(end);
        memory.list.order = [0..0, memory.list.target.clone(), end.0..end.0 + 1];
        if frames_wanted {
            let own_slots = [self.body.max_locals, 0];
            let slots = SlotPlan::new((self.template, None), self.method, &self.target.descriptor, own_slots, false)?;
            let places = FramePlaces {
                operations: &memory.positions,
                epilog: after,
                sentinel_is_target: true,
                epilog_needs_frame: false,
            };
            let mut context = FrameContext { template: self.template, slots: &slots, places, sink: &mut self.sink };
            memory.merger.collect(&memory.target_frames, &memory.list, &mut context)?;
        }
        let (length, passes) = layout::assign_offsets(&mut memory.list, Layout::Shortest)?;
        let (max_stack, max_locals) = (self.body.max_stack, self.body.max_locals);
        let mut lowered =
            MergedBody { max_stack, max_locals, passes, has_frames: frames_wanted, ..MergedBody::default() };
        layout::write(&memory.list, self.body.bytecode, &mut lowered.code)?;
        let laid_out = LaidOut { epilog: after, length, initialised: None, renumbering: Renumbering::NONE };
        self.attributes(memory, &laid_out, &mut lowered)?;
        Ok(lowered)
    }
}
