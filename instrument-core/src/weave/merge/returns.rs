//! Returns of the target: they store the result, drop what lies below it, and go to the epilog.

use classfile::descriptor::Kind;
use classfile::opcode;

use super::emit::{local_bytes, store_opcode};
use super::slots::SlotPlan;
use crate::weave::body::lift::{Lifted, Return};
use crate::weave::body::node::{NodeId, NodeKind, NodeList, Position, Source};
use crate::weave::refusal::Refusal;

/// How the target's normal end reaches the epilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// One return, at the very end: the epilog follows it, and the result stays where it is, on the operand stack.
    FallsThroughWithResult {
        /// Words on the stack, result included.
        depth: u16,
    },
    /// Every return stores its result; all but a last one jump.
    Jumps,
}

/// Words that can be dropped from below a result without knowing what they are.
const BLINDLY: i32 = 2;

/// Chooses the ending. `epilog_is_straight` says that the epilog's normal way has no jumps, frames, handlers and no use for
/// the result, so that operands below it on the stack do no harm. More than `BLINDLY` words are dropped all the same, because
/// in the merged body, which may be merged again, their types are not known.
pub(crate) fn ending(lifted: &Lifted, list: &NodeList, epilog_is_straight: bool, result: Option<Kind>) -> Ending {
    match lifted.returns.as_slice() {
        [only] if epilog_is_straight && is_last(only, list) && surplus(only, result) <= BLINDLY => match only.depth {
            Some(depth) => Ending::FallsThroughWithResult { depth },
            None => Ending::Jumps,
        },
        _ => Ending::Jumps,
    }
}

/// Returns whether operands below a result can be dropped only if their types are known.
pub(crate) fn operands_matter(lifted: &Lifted, result: Option<Kind>) -> bool {
    lifted.returns.iter().any(|exit| surplus(exit, result) > BLINDLY)
}

/// Words below the result.
fn surplus(exit: &Return, result: Option<Kind>) -> i32 {
    let result = result.map_or(0, Kind::words);
    exit.depth.map_or(0, |depth| i32::from(depth) - i32::from(result))
}

/// Returns whether the label after the return is the target's last node.
fn is_last(exit: &Return, list: &NodeList) -> bool {
    exit.node.0 + 2 == list.target.end
}

/// Replaces all returns; `epilog` is where the epilog begins. `cast` is the constant of the class that a result is cast to before
/// it is stored.
pub(crate) fn replace(
    lifted: &Lifted,
    list: &mut NodeList,
    slots: &SlotPlan<'_>,
    ending: Ending,
    epilog: Position,
    result: Option<Kind>,
    cast: Option<u16>,
) -> Result<(), Refusal> {
    for exit in &lifted.returns {
        let start = list.made.len() as u32;
        if ending == Ending::Jumps {
            if let Some((slot, field_type)) = slots.result {
                if let Some([high, low]) = cast.map(u16::to_be_bytes) {
                    list.made.extend_from_slice(&[opcode::CHECKCAST, high, low]);
                }
                let (bytes, length) = local_bytes(store_opcode(field_type.kind()), slot);
                list.made.extend_from_slice(bytes.get(..length).unwrap_or_default());
            }
            drop_surplus(exit, result, lifted, list)?;
        }
        let length = list.made.len() as u32 - start;
        let last = is_last(exit, list);
        let node = list.get_mut(exit.node)?;
        (node.kind, node.start, node.length) = (NodeKind::Straight(Source::Synthesized), start, length);
        if !last {
            list.get_mut(NodeId(exit.node.0 + 1))?.kind = NodeKind::Goto { target: epilog, wide: false };
        }
    }
    Ok(())
}

/// Some compilers leave operands below the result; the epilog begins with an empty stack.
fn drop_surplus(exit: &Return, result: Option<Kind>, lifted: &Lifted, list: &mut NodeList) -> Result<(), Refusal> {
    match surplus(exit, result) {
        ..=0 => {}
        1 => list.made.push(opcode::POP),
        // Two words are either one long or double or two of the others: pop2 takes both.
        2 => list.made.push(opcode::POP2),
        words => {
            let original = list.get(exit.node)?.original;
            let operands = lifted.operands.get(&original);
            let below = operands.and_then(|operands| operands.below(result.map_or(0, Kind::words)));
            let drops = below.and_then(|below| below.drops(words as usize));
            list.made.extend(drops.ok_or(Refusal::SurplusOperands { words: exit.depth.unwrap_or_default() })?);
        }
    }
    Ok(())
}
