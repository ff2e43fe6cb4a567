//! What lies on the operand stack before each return: where a long or double begins decides how it is dropped.
//!
//! Asked for only where three or more words lie below a result, which is rare. One walk over the ways through the code, from
//! its start, its handlers and its frames (dead code has nothing else); two ways to one place arrive with the same operands,
//! or no verifier would take the method. Memory is bounded: what is kept at all places together has a limit.

use std::collections::BTreeMap;

use classfile::descriptor::{FieldType, MethodDescriptor};
use classfile::instruction::{self, Instruction};
use classfile::opcode::{self, Flow};
use classfile::stack_map::VerificationType;
use classfile::{ConstantPool, ModifiedUtf8};

/// Instructions that are looked at before the walk is given up: more than any method has, less than hostile code could cost.
const MOST_STEPS: usize = 1_000_000;

/// Words that are kept for all places together before the walk is given up. Compilers leave a few at a jump, and code has at
/// most 65,535 bytes; hostile code could ask for a gigabyte.
const MOST_WORDS: usize = 1 << 20;

/// The words on the operand stack, lowest first; true for the second word of a long or double.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operands(Vec<bool>);

impl Operands {
    fn push(&mut self, words: u16) {
        match words {
            0 => {}
            1 => self.0.push(false),
            _ => self.0.extend([false, true]),
        }
    }

    fn pop(&mut self, words: usize) -> Option<()> {
        self.0.truncate(self.0.len().checked_sub(words)?);
        Some(())
    }

    /// The `dup` family: the upper `copied` words are put below the `crossed` words under them once more.
    fn duplicate(&mut self, copied: usize, crossed: usize) -> Option<()> {
        let top = self.0.len().checked_sub(copied)?;
        let place = top.checked_sub(crossed)?;
        let words = self.0.get(top..)?.to_vec();
        self.0.splice(place..place, words);
        Some(())
    }

    /// `pop` and `pop2` instructions that drop `words` words from the top; `None` if a value would be torn apart.
    pub(crate) fn drops(&self, words: usize) -> Option<Vec<u8>> {
        let mut left = self.0.get(self.0.len().checked_sub(words)?..)?;
        let mut drops = Vec::with_capacity(words);
        loop {
            left = match left {
                [] => return Some(drops),
                [rest @ .., false, true] | [rest @ .., false, false] => {
                    drops.push(opcode::POP2);
                    rest
                }
                [rest @ .., false] => {
                    drops.push(opcode::POP);
                    rest
                }
                [.., true] => return None,
            }
        }
    }

    /// Words.
    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    /// Without the `words` words on top.
    pub(crate) fn below(&self, words: u16) -> Option<Operands> {
        let mut below = self.clone();
        below.pop(usize::from(words))?;
        Some(below)
    }
}

impl From<&[VerificationType]> for Operands {
    fn from(stack: &[VerificationType]) -> Operands {
        let mut operands = Operands::default();
        stack.iter().for_each(|entry| operands.push(entry.slots() as u16));
        operands
    }
}

/// The operands before every return that a way leads to, by code offset. What cannot be read is not followed further. `None` if
/// following the code would take too much time or memory.
pub(crate) fn before_returns(
    bytecode: &[u8],
    pool: &ConstantPool<'_>,
    handlers: &[u32],
    frames: impl Iterator<Item = (u32, Operands)>,
) -> Option<BTreeMap<u32, Operands>> {
    let thrown = Operands(vec![false]);
    let (known, pending, returns) = Default::default();
    let mut walk = Walk { bytecode, pool, known, pending, returns, steps: 0, words: 0 };
    frames.for_each(|(place, operands)| walk.learn(place, &operands));
    walk.learn(0, &Operands::default());
    handlers.iter().for_each(|handler| walk.learn(*handler, &thrown));
    while let Some(start) = walk.pending.pop() {
        // If a path cannot be followed, the returns on it remain unknown.
        let _ = walk.follow(start);
        if walk.is_too_much() {
            return None;
        }
    }
    Some(walk.returns)
}

struct Walk<'w, 'a> {
    bytecode: &'w [u8],
    pool: &'w ConstantPool<'a>,
    /// Operands at places that are followed from.
    known: BTreeMap<u32, Operands>,
    pending: Vec<u32>,
    returns: BTreeMap<u32, Operands>,
    steps: usize,
    /// Words kept in `known` and `returns`; more than [`MOST_WORDS`] if there were more to keep.
    words: usize,
}

impl Walk<'_, '_> {
    fn is_too_much(&self) -> bool {
        self.steps > MOST_STEPS || self.words > MOST_WORDS
    }

    /// Takes account of operands that are to be kept; false if there is no more room for them.
    fn has_room(&mut self, operands: &Operands) -> bool {
        self.words = self.words.saturating_add(operands.depth());
        !self.is_too_much()
    }

    /// Keeps the operands at a place that a way leads to, if it is a new one.
    fn learn(&mut self, place: u32, operands: &Operands) {
        if !self.known.contains_key(&place) && self.has_room(operands) {
            self.known.insert(place, operands.clone());
            self.pending.push(place);
        }
    }

    /// Follows the straight way from `start` to its end or to another known place.
    fn follow(&mut self, start: u32) -> Option<()> {
        let mut operands = self.known.get(&start)?.clone();
        let mut at = start;
        loop {
            self.steps += 1;
            if self.is_too_much() {
                return None;
            }
            let length = instruction::length_at(self.bytecode, at as usize).ok()?;
            let bytes = self.bytecode.get(at as usize..at as usize + length)?;
            let instruction = Instruction { offset: at, opcode: *bytes.first()?, bytes };
            let flow = opcode::info(instruction.opcode)?.flow;
            if flow == Flow::Return {
                if self.has_room(&operands) {
                    self.returns.insert(at, operands);
                }
                return Some(());
            }
            let before_call = (flow == Flow::Subroutine).then(|| operands.clone());
            step(&mut operands, &instruction, self.pool)?;
            self.targets(&instruction, &operands);
            match flow {
                Flow::Next if instruction.u1(0) == opcode::RET && instruction.opcode == opcode::WIDE => return Some(()),
                Flow::Next | Flow::Conditional => {}
                // The subroutine takes its return address and gives the stack back as it was.
                Flow::Subroutine => operands = before_call?,
                _ => return Some(()),
            }
            at += length as u32;
            if self.known.contains_key(&at) {
                return Some(());
            }
        }
    }

    fn targets(&mut self, instruction: &Instruction<'_>, operands: &Operands) {
        let switch = instruction.switch();
        let distances = switch.iter().flat_map(|switch| {
            let cases = switch.cases().map(|(_, distance)| distance);
            std::iter::once(switch.default).chain(cases).map(|distance| i64::from(switch.offset) + i64::from(distance))
        });
        for target in distances.chain(instruction.branch_target()) {
            if let Ok(target) = u32::try_from(target) {
                self.learn(target, operands);
            }
        }
    }
}

/// What one instruction does to the operands.
fn step(operands: &mut Operands, instruction: &Instruction<'_>, pool: &ConstantPool<'_>) -> Option<()> {
    match instruction.opcode {
        opcode::DUP => return operands.duplicate(1, 0),
        opcode::DUP_X1 => return operands.duplicate(1, 1),
        opcode::DUP_X2 => return operands.duplicate(1, 2),
        opcode::DUP2 => return operands.duplicate(2, 0),
        opcode::DUP2_X1 => return operands.duplicate(2, 1),
        opcode::DUP2_X2 => return operands.duplicate(2, 2),
        // Two single words before and after.
        opcode::SWAP => return Some(()),
        _ => {}
    }
    let (pops, pushes) = effect(instruction, pool)?;
    operands.pop(usize::from(pops))?;
    operands.push(pushes);
    Some(())
}

/// Words popped and words of the one value pushed.
fn effect(instruction: &Instruction<'_>, pool: &ConstantPool<'_>) -> Option<(u16, u16)> {
    let of_table = |opcode: u8| {
        let info = opcode::info(opcode)?;
        Some((u16::try_from(info.pops).ok()?, u16::try_from(info.pushes).ok()?))
    };
    let field =
        || Some(FieldType::take(pool.member_ref(instruction.u2(0)).ok()?.descriptor.as_bytes())?.0.kind().words());
    match instruction.opcode {
        opcode::WIDE => of_table(instruction.u1(0)),
        opcode::MULTIANEWARRAY => Some((u16::from(instruction.u1(2)), 1)),
        opcode::GETSTATIC => Some((0, field()?)),
        opcode::PUTSTATIC => Some((field()?, 0)),
        opcode::GETFIELD => Some((1, field()?)),
        opcode::PUTFIELD => Some((field()? + 1, 0)),
        opcode::INVOKEDYNAMIC => call(pool.dynamic(instruction.u2(0)).ok()?.2, 0),
        opcode::INVOKESTATIC => call(pool.member_ref(instruction.u2(0)).ok()?.descriptor, 0),
        opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE => call(pool.member_ref(instruction.u2(0)).ok()?.descriptor, 1),
        opcode => of_table(opcode),
    }
}

fn call(descriptor: ModifiedUtf8<'_>, receiver: u16) -> Option<(u16, u16)> {
    let method = MethodDescriptor::parse(descriptor.as_bytes()).ok()?;
    let result = method.return_type().map_or(0, |result| result.kind().words());
    Some((method.parameter_words().checked_add(receiver)?, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_torn_apart() {
        let of = |words: &[u16]| {
            let mut operands = Operands::default();
            words.iter().for_each(|words| operands.push(*words));
            operands
        };
        assert_eq!(of(&[2, 1]).drops(3).unwrap(), [opcode::POP, opcode::POP2]);
        assert_eq!(of(&[1, 2]).drops(3).unwrap(), [opcode::POP2, opcode::POP]);
        assert_eq!(of(&[1, 1, 1]).drops(3).unwrap(), [opcode::POP2, opcode::POP]);
        assert_eq!(of(&[2, 1, 2, 1, 1]).drops(7).unwrap(), [opcode::POP2, opcode::POP2, opcode::POP, opcode::POP2]);
        assert_eq!(of(&[2]).drops(1), None);
        assert_eq!(of(&[1]).drops(2), None);
    }

    #[test]
    fn copies_keep_their_halves() {
        let mut operands = Operands(vec![false, false, true]);
        operands.duplicate(2, 1).unwrap();
        assert_eq!(operands.0, [false, true, false, false, true]);
        assert_eq!(operands.below(2).unwrap().drops(3).unwrap(), [opcode::POP, opcode::POP2]);
    }

    #[test]
    fn what_is_kept_has_a_limit() {
        let class =
            classfile::ClassFile::parse(include_bytes!("../../../../classfile/tests/classes/Empty.class")).unwrap();
        let mut code = vec![opcode::ICONST_0; 2_000];
        code.extend([opcode::ICONST_0, opcode::IFEQ, 0, 3].repeat(1_000));
        code.push(opcode::IRETURN);
        let follow = |code: &[u8]| before_returns(code, class.constant_pool(), &[], std::iter::empty());
        assert_eq!(follow(&code), None);
        let few = follow(&code[1_900..]).unwrap();
        assert_eq!(few.values().map(Operands::depth).collect::<Vec<_>>(), [100]);
    }
}
