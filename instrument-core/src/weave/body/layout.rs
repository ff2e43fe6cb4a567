//! Gives every node its offset and writes the code.
//!
//! All jumps start short. Up to 32,767 bytes every jump fits and one pass is enough; beyond, jumps that do not reach their
//! target become wide (`goto_w`) or, if conditional, go by way of an island, and the pass is done again until nothing
//! widens any more. Widening is never taken back, so this ends.
//!
//! In the long layout every jump is wide and every conditional one has its island before the first pass, so that none widens.

use super::node::{Island, NO_NODE, Node, NodeId, NodeKind, NodeList, Position, Source, SynthesizedSwitch};
use crate::weave::options::Layout;
use crate::weave::refusal::Refusal;
use classfile::opcode;

pub(crate) const ISLAND_LENGTH: u32 = 5;
const MAX_CODE: u32 = 65_535;
const NO_TEMPLATE_SWITCH: Refusal = Refusal::SelfCheck("template switch");

/// Assigns offsets; gives the length of the code and the number of passes.
pub(crate) fn assign_offsets(list: &mut NodeList, layout: Layout) -> Result<(u32, u32), Refusal> {
    if layout == Layout::Long {
        widen_all(list)?;
    }
    let mut passes = 1;
    let mut length = number(list)?;
    while (i16::MAX as u32 + 1..=MAX_CODE).contains(&length) && widen(list)? {
        passes += 1;
        length = number(list)?;
    }
    if length > MAX_CODE {
        return Err(Refusal::CodeTooLarge { length: length as usize });
    }
    Ok((length, passes))
}

/// Gives every node its offset; returns the length of the code.
fn number(list: &mut NodeList) -> Result<u32, Refusal> {
    let mut offset = 0u32;
    let mut island = 0;
    for id in list.in_order() {
        let node = list.nodes.get_mut(id.0 as usize).ok_or(NO_NODE)?;
        node.offset = offset;
        offset = end_of(node, &list.synthesized_switches)?;
        while let Some(next) = list.islands.get_mut(island).filter(|next| next.after == id) {
            next.offset = offset;
            offset += ISLAND_LENGTH;
            island += 1;
        }
    }
    Ok(offset)
}

/// Returns the offset after a node.
fn end_of(node: &Node, synthesized_switches: &[SynthesizedSwitch]) -> Result<u32, Refusal> {
    let offset = node.offset;
    let length = match node.kind {
        NodeKind::Straight(_) => node.length,
        NodeKind::Conditional { .. } => 3,
        NodeKind::Goto { wide, .. } | NodeKind::Subroutine { wide, .. } => 3 + 2 * u32::from(wide),
        NodeKind::Switch { .. } => node.length - padding(node.start) + padding(offset),
        NodeKind::SynthesizedSwitch { index } => {
            let made = synthesized_switches.get(index as usize).ok_or(NO_TEMPLATE_SWITCH)?;
            1 + padding(offset) + 4 * made.words()
        }
        NodeKind::Label => 0,
    };
    Ok(offset + length)
}

/// Bytes between a switch's opcode and its first aligned word (JVMS 6.5, tableswitch).
fn padding(offset: u32) -> u32 {
    3 - (offset & 3)
}

/// Returns where a conditional jump leads: to its target, or to the island from which the target is reached.
fn way_to(target: Position, island: Option<u32>, list: &NodeList) -> Result<u32, Refusal> {
    let Some(island) = island else { return list.offset_of(target) };
    let island = list.islands.get(island as usize).ok_or(Refusal::SelfCheck("jump to an unknown island"))?;
    Ok(island.offset)
}

fn reaches(from: u32, to: u32) -> bool {
    i16::try_from(i64::from(to) - i64::from(from)).is_ok()
}

/// Widens what does not fit; true if anything changed.
fn widen(list: &mut NodeList) -> Result<bool, Refusal> {
    let mut changed = false;
    for index in 0..list.nodes.len() {
        let node = *list.get(NodeId(index as u32))?;
        let wider = match node.kind {
            NodeKind::Goto { target, wide: false } if !reaches(node.offset, list.offset_of(target)?) => {
                NodeKind::Goto { target, wide: true }
            }
            NodeKind::Subroutine { target, wide: false } if !reaches(node.offset, list.offset_of(target)?) => {
                NodeKind::Subroutine { target, wide: true }
            }
            NodeKind::Conditional { opcode, target, island } => {
                let to = way_to(target, island, list)?;
                if reaches(node.offset, to) {
                    continue;
                }
                NodeKind::Conditional { opcode, target, island: Some(place_island(list, node.offset, target)?) }
            }
            _ => continue,
        };
        list.get_mut(NodeId(index as u32))?.kind = wider;
        changed = true;
    }
    Ok(changed)
}

/// Gives every jump its widest form; the island of a conditional one is inserted at the next place that is not fallen into. (An
/// inverted jump around a `goto_w` would need a frame after it, which the target does not have.)
fn widen_all(list: &mut NodeList) -> Result<(), Refusal> {
    let mut waiting = Vec::new();
    let last = list.in_order().last();
    for id in list.in_order() {
        let in_prolog = list.order[0].contains(&id.0);
        let node = list.nodes.get_mut(id.0 as usize).ok_or(NO_NODE)?;
        match &mut node.kind {
            NodeKind::Goto { wide, .. } | NodeKind::Subroutine { wide, .. } => *wide = true,
            NodeKind::Conditional { .. } => waiting.push(id),
            _ => {}
        }
        // Control never falls off the code's end.
        if (is_not_fallen_out_of(node.kind) && !in_prolog) || Some(id) == last {
            let first = list.islands.len();
            waiting.drain(..).try_for_each(|jump| give_island(list, jump, id, first))?;
        }
    }
    Ok(())
}

/// Redirects a conditional jump to an island after `site`, whose islands begin at `first`.
fn give_island(list: &mut NodeList, jump: NodeId, site: NodeId, first: usize) -> Result<(), Refusal> {
    let node = list.nodes.get_mut(jump.0 as usize).ok_or(NO_NODE)?;
    let NodeKind::Conditional { target, island, .. } = &mut node.kind else {
        return Err(Refusal::SelfCheck("island without a conditional jump"));
    };
    let known = list.islands.iter().skip(first).position(|known| known.target == *target);
    let place = known.map_or(list.islands.len(), |place| first + place);
    *island = Some(place as u32);
    if known.is_none() {
        let target = *target;
        list.islands.push(Island { after: site, target, offset: 0 });
    }
    Ok(())
}

fn is_not_fallen_out_of(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Goto { .. } | NodeKind::Switch { .. } | NodeKind::SynthesizedSwitch { .. })
}

/// An island from which `target` is reached and that can be reached from `from`: with some room to grow, or else without.
fn place_island(list: &mut NodeList, from: u32, target: Position) -> Result<u32, Refusal> {
    const ROOM: u32 = 2_000;
    let reach = i16::MAX as u32;
    if let Some(island) = island_within(reach - ROOM, list, from, target)? {
        return Ok(island);
    }
    island_within(reach, list, from, target)?.ok_or(Refusal::JumpTooFar)
}

fn island_within(reach: u32, list: &mut NodeList, from: u32, target: Position) -> Result<Option<u32>, Refusal> {
    let near = |offset: u32| offset.abs_diff(from) < reach;
    if let Some(known) = list.islands.iter().position(|island| island.target == target && near(island.offset)) {
        return Ok(Some(known as u32));
    }
    // Not in the prolog: after it, arena and code have the same order.
    let sites = list.nodes.iter().enumerate().filter(|(index, _)| !list.order[0].contains(&(*index as u32)));
    let mut nearest: Option<(usize, u32)> = None;
    for (site, node) in sites.filter(|(_, node)| is_not_fallen_out_of(node.kind)) {
        // A switch may be long itself, so its end counts.
        let end = end_of(node, &list.synthesized_switches)?;
        if near(end) && nearest.is_none_or(|(_, known)| end.abs_diff(from) < known.abs_diff(from)) {
            nearest = Some((site, end));
        }
    }
    let Some((site, offset)) = nearest else { return Ok(None) };
    let island = Island { after: NodeId(site as u32), target, offset };
    let place = list.islands.partition_point(|other| other.after <= island.after);
    // Islands are few; those after the new one move by one place.
    for node in &mut list.nodes {
        if let NodeKind::Conditional { island: Some(index), .. } = &mut node.kind
            && *index as usize >= place
        {
            *index += 1;
        }
    }
    list.islands.insert(place, island);
    Ok(Some(place as u32))
}

/// Appends the code to `out`; `target_code` is the target's original code.
pub(crate) fn write(list: &NodeList, target_code: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut island = 0;
    for id in list.in_order() {
        let node = list.get(id)?;
        let from = node.offset;
        match node.kind {
            NodeKind::Straight(source) => {
                let bytes = if source == Source::Target { target_code } else { &list.made };
                let range = node.start as usize..(node.start + node.length) as usize;
                out.extend_from_slice(bytes.get(range).ok_or(Refusal::SelfCheck("straight run out of bounds"))?);
            }
            NodeKind::Conditional { opcode, target, island } => {
                short_jump(opcode, from, way_to(target, island, list)?, out)?;
            }
            NodeKind::Goto { target, wide } => jump(opcode::GOTO, wide, from, list.offset_of(target)?, out)?,
            NodeKind::Subroutine { target, wide } => jump(opcode::JSR, wide, from, list.offset_of(target)?, out)?,
            NodeKind::Switch { targets } => {
                write_switch(list, node.start, node.length, from, targets, target_code, out)?
            }
            NodeKind::SynthesizedSwitch { index } => write_made_switch(list, index, from, out)?,
            NodeKind::Label => {}
        }
        while let Some(next) = list.islands.get(island).filter(|next| next.after == id) {
            jump(opcode::GOTO, true, next.offset, list.offset_of(next.target)?, out)?;
            island += 1;
        }
    }
    Ok(())
}

fn short_jump(opcode: u8, from: u32, to: u32, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let distance = i64::from(to) - i64::from(from);
    let distance = i16::try_from(distance).map_err(|_| Refusal::SelfCheck("jump out of reach"))?;
    out.push(opcode);
    out.extend_from_slice(&distance.to_be_bytes());
    Ok(())
}

fn jump(opcode: u8, wide: bool, from: u32, to: u32, out: &mut Vec<u8>) -> Result<(), Refusal> {
    if !wide {
        return short_jump(opcode, from, to, out);
    }
    out.push(if opcode == opcode::GOTO { opcode::GOTO_W } else { opcode::JSR_W });
    out.extend_from_slice(&(to as i32 - from as i32).to_be_bytes());
    Ok(())
}

fn pad(offset: u32, out: &mut Vec<u8>) {
    out.extend(std::iter::repeat_n(0, padding(offset) as usize));
}

fn write_switch(
    list: &NodeList,
    start: u32,
    length: u32,
    from: u32,
    targets: u32,
    target_code: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let fault = Refusal::SelfCheck("switch out of bounds");
    let bytes = target_code.get(start as usize..(start + length) as usize).ok_or(fault.clone())?;
    let opcode = *bytes.first().ok_or(fault.clone())?;
    let (words, _) = bytes.get(1 + padding(start) as usize..).ok_or(fault.clone())?.as_chunks::<4>();
    out.push(opcode);
    pad(from, out);
    // Word 0 is the default. A table has low and high next and then only targets; a lookup has its count and then pairs.
    let is_target = |word: usize| match opcode {
        opcode::TABLESWITCH => word == 0 || word > 2,
        _ => word == 0 || (word > 1 && word % 2 == 1),
    };
    let mut next = targets as usize;
    for (index, word) in words.iter().enumerate() {
        if is_target(index) {
            let target = list.switch_targets.get(next).ok_or(fault.clone())?;
            next += 1;
            out.extend_from_slice(&(list.offset_of(*target)? as i32 - from as i32).to_be_bytes());
        } else {
            out.extend_from_slice(word);
        }
    }
    Ok(())
}

fn write_made_switch(list: &NodeList, index: u32, from: u32, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let made = list.synthesized_switches.get(index as usize).ok_or(NO_TEMPLATE_SWITCH)?;
    let distance = |target: Position| Ok::<_, Refusal>((list.offset_of(target)? as i32 - from as i32).to_be_bytes());
    out.push(if made.low.is_some() { opcode::TABLESWITCH } else { opcode::LOOKUPSWITCH });
    pad(from, out);
    out.extend_from_slice(&distance(made.default)?);
    match made.low {
        Some(low) => {
            out.extend_from_slice(&low.to_be_bytes());
            let high = low.wrapping_add(made.cases.len() as i32 - 1);
            out.extend_from_slice(&high.to_be_bytes());
        }
        None => out.extend_from_slice(&(made.cases.len() as u32).to_be_bytes()),
    }
    for (key, target) in &made.cases {
        if made.low.is_none() {
            out.extend_from_slice(&key.to_be_bytes());
        }
        out.extend_from_slice(&distance(*target)?);
    }
    Ok(())
}
