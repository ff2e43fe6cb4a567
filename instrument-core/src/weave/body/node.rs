//! The nodes of a method body.
//!
//! A stretch of instructions without jumps, switches and returns is *one* node: nothing in it depends on its offset, so
//! it is copied as it is (see docs/decisions/004). A position is a node and a byte offset inside it, so it keeps its meaning
//! whatever is inserted before or after the node.

use std::ops::Range;

use crate::weave::refusal::Refusal;

/// Something refers to a node that the list does not have.
pub(crate) const NO_NODE: Refusal = Refusal::SelfCheck("node outside the list");

/// A node of one body, by its place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct NodeId(pub(crate) u32);

/// A place in the code: a number of bytes after the start of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Position {
    pub(crate) node: NodeId,
    pub(crate) within: u32,
}

impl Position {
    pub(crate) fn start_of(node: NodeId) -> Position {
        Position { node, within: 0 }
    }
}

/// Which buffer a straight node's bytes stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The target's own code; `start` is also the original offset.
    Target,
    /// Bytes made by the merge.
    Synthesized,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// Instructions that are copied.
    Straight(Source),
    /// A conditional jump; the opcode of the short form. It goes by way of an island if its target is out of reach.
    Conditional { opcode: u8, target: Position, island: Option<u32> },
    /// `goto` (or `goto_w`).
    Goto { target: Position, wide: bool },
    /// `jsr` (or `jsr_w`).
    Subroutine { target: Position, wide: bool },
    /// A switch of the target; its targets start at `targets` in the body's table, default first.
    Switch { targets: u32 },
    /// A switch of a template, described in the body's table of made switches.
    SynthesizedSwitch { index: u32 },
    /// A place without bytes, to point at.
    Label,
}

/// A `goto_w` in a place that is not fallen into, for conditional jumps that do not reach their target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Island {
    /// It is inserted after this node.
    pub(crate) after: NodeId,
    pub(crate) target: Position,
    /// Code offset in the output; known after layout.
    pub(crate) offset: u32,
}

/// A node: `start` and `length` say where its bytes are in their source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// Original code offset, for nodes of the target; for those inserted into it, of the instruction that follows.
    pub(crate) original: u32,
    /// Offset of its bytes in their source.
    pub(crate) start: u32,
    /// Bytes in the source.
    pub(crate) length: u32,
    /// Code offset in the output; known after layout.
    pub(crate) offset: u32,
    /// True for nodes of the target, which have an original offset.
    pub(crate) of_target: bool,
}

/// Operands of a switch that a template brings.
#[derive(Clone, Debug)]
pub(crate) struct SynthesizedSwitch {
    pub(crate) default: Position,
    pub(crate) cases: Vec<(i32, Position)>,
    pub(crate) low: Option<i32>,
}

impl SynthesizedSwitch {
    /// 32-bit words after the padding.
    pub(crate) fn words(&self) -> u32 {
        let cases = self.cases.len() as u32;
        if self.low.is_some() { 3 + cases } else { 2 + 2 * cases }
    }
}

/// The arena of the nodes of one body, and their order. Memory is kept from method to method.
#[derive(Debug, Default)]
pub(crate) struct NodeList {
    pub(crate) nodes: Vec<Node>,
    /// Targets of the target's switches.
    pub(crate) switch_targets: Vec<Position>,
    pub(crate) synthesized_switches: Vec<SynthesizedSwitch>,
    /// Bytes of nodes that the merge made.
    pub(crate) made: Vec<u8>,
    /// Made by the layout of code over 32 KiB.
    pub(crate) islands: Vec<Island>,
    /// The nodes of the target.
    pub(crate) target: Range<u32>,
    /// The order in which stretches of the arena stand in the code: prolog, target, epilog.
    pub(crate) order: [Range<u32>; 3],
}

impl NodeList {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.switch_targets.clear();
        self.synthesized_switches.clear();
        self.made.clear();
        self.islands.clear();
        self.target = 0..0;
        self.order = [0..0, 0..0, 0..0];
    }

    /// The id that the next node gets.
    pub(crate) fn next_id(&self) -> NodeId {
        NodeId(self.nodes.len() as u32)
    }

    pub(crate) fn push(&mut self, kind: NodeKind, start: u32, length: u32, of_target: bool) -> NodeId {
        let id = self.next_id();
        self.nodes.push(Node { kind, original: start, start, length, offset: 0, of_target });
        id
    }

    pub(crate) fn get(&self, id: NodeId) -> Result<&Node, Refusal> {
        self.nodes.get(id.0 as usize).ok_or(NO_NODE)
    }

    pub(crate) fn get_mut(&mut self, id: NodeId) -> Result<&mut Node, Refusal> {
        self.nodes.get_mut(id.0 as usize).ok_or(NO_NODE)
    }

    /// A node made by the merge, without bytes of its own in a source.
    pub(crate) fn push_made(&mut self, kind: NodeKind) -> NodeId {
        self.push(kind, 0, 0, false)
    }

    /// Node ids in code order.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.order.clone().into_iter().flatten().map(NodeId)
    }

    /// Returns the place after the last node.
    pub(crate) fn end(&self) -> Position {
        match self.nodes.last() {
            Some(last) if last.kind == NodeKind::Straight(Source::Synthesized) => {
                Position { node: NodeId(self.nodes.len() as u32 - 1), within: last.length }
            }
            _ => Position::start_of(self.next_id()),
        }
    }

    /// Appends bytes to a straight node at the end of the list, starting one if need be.
    #[inline]
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        let start = self.made.len() as u32;
        self.made.extend_from_slice(bytes);
        match self.nodes.last_mut() {
            Some(last) if last.kind == NodeKind::Straight(Source::Synthesized) && last.start + last.length == start => {
                last.length += bytes.len() as u32;
            }
            _ => {
                self.push(NodeKind::Straight(Source::Synthesized), start, bytes.len() as u32, false);
            }
        }
    }

    /// Returns where the instruction at an original code offset is, whatever was inserted before it; the end of the code gives the end
    /// of the last target node.
    pub(crate) fn instruction_at(&self, original: u32) -> Option<Position> {
        let first = self.target.start as usize;
        let nodes = self.nodes.get(first..self.target.end as usize)?;
        let next = nodes.partition_point(|node| node.original <= original);
        let index = next.checked_sub(1)?;
        let node = nodes.get(index)?;
        Some(Position { node: NodeId((first + index) as u32), within: original - node.original })
    }

    /// The position of an original code offset, as a jump, a handler or a frame means it: code that was inserted before the
    /// instruction belongs to it.
    pub(crate) fn position_of(&self, original: u32) -> Option<Position> {
        self.instruction_at(original).map(|place| self.before_inserted(place))
    }

    /// Goes back over code that was inserted before the instruction at a position.
    #[inline]
    fn before_inserted(&self, place: Position) -> Position {
        let before = place.node.0.checked_sub(1).filter(|before| place.within == 0 && self.target.contains(before));
        match before.and_then(|before| self.nodes.get(before as usize)) {
            Some(inserted) if !inserted.of_target => Position::start_of(NodeId(place.node.0 - 1)),
            _ => place,
        }
    }

    /// Inserts an empty node before the target's instruction at an original offset, which is the next one to be lifted.
    pub(crate) fn push_inserted(&mut self, original: u32) -> NodeId {
        self.push(NodeKind::Straight(Source::Synthesized), original, 0, false)
    }

    /// Like [`NodeList::position_of`], looking first at the target's node number `near` and the few after it.
    #[inline]
    pub(crate) fn position_near(&self, original: u32, near: &mut usize) -> Option<Position> {
        let first = self.target.start as usize;
        let nodes = self.nodes.get(first..self.target.end as usize)?;
        for index in *near..*near + 4 {
            let node = nodes.get(index)?;
            if node.original > original {
                break;
            }
            if nodes.get(index + 1).is_none_or(|next| next.original > original) {
                *near = index;
                let place = Position { node: NodeId((first + index) as u32), within: original - node.original };
                return Some(self.before_inserted(place));
            }
        }
        let place = self.position_of(original)?;
        *near = (place.node.0 as usize).saturating_sub(first);
        Some(place)
    }

    /// Returns the new code offset of a position, after layout.
    pub(crate) fn offset_of(&self, position: Position) -> Result<u32, Refusal> {
        Ok(self.get(position.node)?.offset + position.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_without_a_node_is_a_fault_and_no_offset_0() {
        let mut list = NodeList::default();
        assert_eq!(list.offset_of(Position::default()), Err(NO_NODE));
        let node = list.push_made(NodeKind::Label);
        assert_eq!(list.offset_of(Position::start_of(node)), Ok(0));
        assert_eq!(list.offset_of(Position::start_of(NodeId(1))), Err(NO_NODE));
    }
}
