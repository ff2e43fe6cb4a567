//! Gives every node its offset and writes the code.
//!
//! All jumps start short. Up to 32,767 bytes every jump fits and one pass is enough; beyond, jumps that do not reach their
//! target become wide (`goto_w`) or, if conditional, go by way of an island, and the pass is done again until nothing
//! widens any more. Widening is never taken back, so this ends.
//!
//! In the long layout every jump is wide and every conditional one has its island before the first pass, so that none widens.

use super::node::{Island, MadeSwitch, Node, NodeId, NodeKind, NodeList, Position, Source};
use crate::weave::options::Layout;
use crate::weave::refusal::Refusal;
use classfile::opcode;

pub(crate) const ISLAND_LENGTH: u32 = 5;
const MAX_CODE: u32 = 65_535;

/// Assigns offsets; gives the length of the code and the number of passes.
pub(crate) fn assign_offsets(list: &mut NodeList, layout: Layout) -> Result<(u32, u32), Refusal> {
    if layout == Layout::Long {
        widen_all(list);
    }
    let mut passes = 1;
    let mut length = number(list);
    while (i16::MAX as u32 + 1..=MAX_CODE).contains(&length) && widen(list)? {
        passes += 1;
        length = number(list);
    }
    if length > MAX_CODE {
        return Err(Refusal::CodeTooLarge { length: length as usize });
    }
    Ok((length, passes))
}

fn number(list: &mut NodeList) -> u32 {
    let mut offset = 0u32;
    let mut island = 0;
    for id in list.in_order() {
        let Some(node) = list.nodes.get_mut(id.0 as usize) else { continue };
        node.offset = offset;
        offset = end_of(node, &list.made_switches);
        while let Some(next) = list.islands.get_mut(island).filter(|next| next.after == id) {
            next.offset = offset;
            offset += ISLAND_LENGTH;
            island += 1;
        }
    }
    offset
}

/// Returns the offset after a node.
fn end_of(node: &Node, made_switches: &[MadeSwitch]) -> u32 {
    let offset = node.offset;
    offset
        + match node.kind {
            NodeKind::Straight(_) => node.length,
            NodeKind::Conditional { .. } => 3,
            NodeKind::Goto { wide, .. } | NodeKind::Subroutine { wide, .. } => 3 + 2 * u32::from(wide),
            NodeKind::Switch { .. } => node.length - padding(node.start) + padding(offset),
            NodeKind::MadeSwitch { index } => {
                let words = made_switches.get(index as usize).map_or(0, MadeSwitch::words);
                1 + padding(offset) + 4 * words
            }
            NodeKind::Label => 0,
        }
}

/// Bytes between a switch's opcode and its first aligned word (JVMS 6.5, tableswitch).
fn padding(offset: u32) -> u32 {
    3 - (offset & 3)
}

fn reaches(from: u32, to: u32) -> bool {
    i16::try_from(i64::from(to) - i64::from(from)).is_ok()
}

/// Widens what does not fit; true if anything changed.
fn widen(list: &mut NodeList) -> Result<bool, Refusal> {
    let mut changed = false;
    for index in 0..list.nodes.len() {
        let Some(node) = list.nodes.get(index).copied() else { continue };
        let wider = match node.kind {
            NodeKind::Goto { target, wide: false } if !reaches(node.offset, list.offset_of(target)) => {
                NodeKind::Goto { target, wide: true }
            }
            NodeKind::Subroutine { target, wide: false } if !reaches(node.offset, list.offset_of(target)) => {
                NodeKind::Subroutine { target, wide: true }
            }
            NodeKind::Conditional { opcode, target, island } => {
                let to = match island.and_then(|island| list.islands.get(island as usize)) {
                    Some(island) => island.offset,
                    None => list.offset_of(target),
                };
                if reaches(node.offset, to) {
                    continue;
                }
                NodeKind::Conditional { opcode, target, island: Some(place_island(list, node.offset, target)?) }
            }
            _ => continue,
        };
        if let Some(node) = list.nodes.get_mut(index) {
            node.kind = wider;
        }
        changed = true;
    }
    Ok(changed)
}

/// Gives every jump its widest form; the island of a conditional one is inserted at the next place that is not fallen into. (An
/// inverted jump around a `goto_w` would need a frame after it, which the target does not have.)
fn widen_all(list: &mut NodeList) {
    let mut waiting = Vec::new();
    let last = list.in_order().last();
    for id in list.in_order() {
        let in_prolog = list.order[0].contains(&id.0);
        let Some(node) = list.nodes.get_mut(id.0 as usize) else { continue };
        match &mut node.kind {
            NodeKind::Goto { wide, .. } | NodeKind::Subroutine { wide, .. } => *wide = true,
            NodeKind::Conditional { .. } => waiting.push(id),
            _ => {}
        }
        // Control never falls off the code's end.
        if (is_not_fallen_out_of(node.kind) && !in_prolog) || Some(id) == last {
            let first = list.islands.len();
            waiting.drain(..).for_each(|jump| give_island(list, jump, id, first));
        }
    }
}

/// Redirects a conditional jump to an island after `site`, whose islands begin at `first`.
fn give_island(list: &mut NodeList, jump: NodeId, site: NodeId, first: usize) {
    let Some(node) = list.nodes.get_mut(jump.0 as usize) else { return };
    let NodeKind::Conditional { target, island, .. } = &mut node.kind else { return };
    let known = list.islands.iter().skip(first).position(|known| known.target == *target);
    let place = known.map_or(list.islands.len(), |place| first + place);
    *island = Some(place as u32);
    if known.is_none() {
        let target = *target;
        list.islands.push(Island { after: site, target, offset: 0 });
    }
}

fn is_not_fallen_out_of(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Goto { .. } | NodeKind::Switch { .. } | NodeKind::MadeSwitch { .. })
}

/// An island from which `target` is reached and that can be reached from `from`: with some room to grow, or else without.
fn place_island(list: &mut NodeList, from: u32, target: Position) -> Result<u32, Refusal> {
    const ROOM: u32 = 2_000;
    let reach = i16::MAX as u32;
    island_within(reach - ROOM, list, from, target)
        .or_else(|| island_within(reach, list, from, target))
        .ok_or(Refusal::JumpTooFar)
}

fn island_within(reach: u32, list: &mut NodeList, from: u32, target: Position) -> Option<u32> {
    let near = |offset: u32| offset.abs_diff(from) < reach;
    if let Some(known) = list.islands.iter().position(|island| island.target == target && near(island.offset)) {
        return Some(known as u32);
    }
    // Not in the prolog: after it, arena and code have the same order.
    let sites = list.nodes.iter().enumerate().filter(|(index, _)| !list.order[0].contains(&(*index as u32)));
    // A switch may be long itself, so its end counts.
    let ends = sites.filter(|(_, node)| is_not_fallen_out_of(node.kind));
    let ends = ends.map(|(site, node)| (site, end_of(node, &list.made_switches))).filter(|(_, end)| near(*end));
    let (site, offset) = ends.min_by_key(|(_, end)| end.abs_diff(from))?;
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
    Some(place as u32)
}

/// Appends the code to `out`; `target_code` is the target's original code.
pub(crate) fn write(list: &NodeList, target_code: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut island = 0;
    for id in list.in_order() {
        let Some(node) = list.get(id) else { continue };
        let from = node.offset;
        match node.kind {
            NodeKind::Straight(source) => {
                let bytes = if source == Source::Target { target_code } else { &list.made };
                let range = node.start as usize..(node.start + node.length) as usize;
                out.extend_from_slice(bytes.get(range).ok_or(Refusal::SelfCheck("straight run out of bounds"))?);
            }
            NodeKind::Conditional { opcode, target, island } => {
                let to = match island.and_then(|island| list.islands.get(island as usize)) {
                    Some(island) => island.offset,
                    None => list.offset_of(target),
                };
                short_jump(opcode, from, to, out)?;
            }
            NodeKind::Goto { target, wide } => jump(opcode::GOTO, wide, from, list.offset_of(target), out)?,
            NodeKind::Subroutine { target, wide } => jump(opcode::JSR, wide, from, list.offset_of(target), out)?,
            NodeKind::Switch { targets } => {
                write_switch(list, node.start, node.length, from, targets, target_code, out)?
            }
            NodeKind::MadeSwitch { index } => write_made_switch(list, index, from, out)?,
            NodeKind::Label => {}
        }
        while let Some(next) = list.islands.get(island).filter(|next| next.after == id) {
            jump(opcode::GOTO, true, next.offset, list.offset_of(next.target), out)?;
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
            out.extend_from_slice(&(list.offset_of(*target) as i32 - from as i32).to_be_bytes());
        } else {
            out.extend_from_slice(word);
        }
    }
    Ok(())
}

fn write_made_switch(list: &NodeList, index: u32, from: u32, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let made = list.made_switches.get(index as usize).ok_or(Refusal::SelfCheck("template switch"))?;
    let distance = |target: Position| (list.offset_of(target) as i32 - from as i32).to_be_bytes();
    out.push(if made.low.is_some() { opcode::TABLESWITCH } else { opcode::LOOKUPSWITCH });
    pad(from, out);
    out.extend_from_slice(&distance(made.default));
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
        out.extend_from_slice(&distance(*target));
    }
    Ok(())
}
