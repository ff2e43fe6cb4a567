//! Lifts a target's code to nodes, and follows the depth of its operand stack, which decides how returns are written.

use std::collections::BTreeMap;

use classfile::instruction::{self, Instruction};
use classfile::opcode::{self, Flow};
use classfile::{ConstantPool, Error, ErrorKind};

use super::local_access::LocalAccess;
use super::node::{NodeId, NodeKind, NodeList, Position, Source};
use super::operands::Operands;
use super::stack_depth::StackEffects;
use crate::weave::call_sites::CallSite;
use crate::weave::refusal::Refusal;

/// Passes over code without frames before its stack depths are given up.
const MOST_PASSES: usize = 64;

/// A return of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Return {
    /// Its node: a straight node that holds just the return; a label follows.
    pub(crate) node: NodeId,
    /// Words on the stack before it, result included; `None` if no way leads there.
    pub(crate) depth: Option<u16>,
}

/// A call site of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiftedSite {
    pub(crate) site: CallSite,
    /// Its node: a straight node that holds just the invoke instruction.
    pub(crate) node: NodeId,
    /// Most words on the stack before the call, arguments included, and after it; `None` if no way leads there.
    pub(crate) depth: Option<u16>,
}

/// Frames of the target as far as lifting needs them: offset and words on the stack, ascending.
pub(crate) type FrameDepths<'f> = &'f [(u32, u16)];

/// What lifting finds out besides the nodes.
#[derive(Debug, Default)]
pub(crate) struct Lifted {
    pub(crate) returns: Vec<Return>,
    /// Nodes of single instructions that touch a local from [`Lifter::apart_from`] on.
    pub(crate) locals: Vec<NodeId>,
    pub(crate) sites: Vec<LiftedSite>,
    /// Empty nodes before the instructions at [`Lifter::entries`].
    pub(crate) entries: Vec<NodeId>,
    /// Operands before each return by original offset; worked out only where more lie there than can be dropped blindly.
    pub(crate) operands: BTreeMap<u32, Operands>,
    /// Most words on the operand stack, as far as ways are known.
    pub(crate) deepest: u16,
    /// Depths at jump targets of code without frames; reused memory.
    depths: Vec<(u32, u16)>,
    /// Set when a pass learnt the depth of a place it had passed already.
    missed: bool,
}

/// What the code is lifted with.
pub(crate) struct Lifter<'l, 'a> {
    pub(crate) pool: &'l ConstantPool<'a>,
    pub(crate) effects: &'l mut StackEffects,
    pub(crate) frames: FrameDepths<'l>,
    /// Original offsets where handlers begin.
    pub(crate) handlers: &'l [u32],
    /// Accesses to locals from this slot on become nodes of their own.
    pub(crate) apart_from: Option<u16>,
    /// Invoke instructions that become nodes of their own, ascending.
    pub(crate) sites: &'l [CallSite],
    /// Original offsets of instructions before which something is inserted, ascending.
    pub(crate) entries: &'l [u32],
}

impl Lifter<'_, '_> {
    /// Appends the nodes of `bytecode` to `list`.
    pub(crate) fn lift(&mut self, bytecode: &[u8], list: &mut NodeList, lifted: &mut Lifted) -> Result<(), Refusal> {
        lifted.operands.clear();
        lifted.depths.clear();
        lifted.depths.extend_from_slice(self.frames);
        if self.frames.is_empty() {
            for &handler in self.handlers {
                learn(&mut lifted.depths, handler, 1);
            }
        }
        let first = list.next_id();
        // Without frames a place that only a later jump leads to is known only after the pass: go again, a few times.
        for _ in 0..MOST_PASSES {
            list.nodes.truncate(first.0 as usize);
            list.switch_targets.clear();
            lifted.returns.clear();
            lifted.locals.clear();
            lifted.sites.clear();
            lifted.entries.clear();
            lifted.missed = false;
            let as_it_is = self.apart_from.is_none() && self.sites.is_empty() && self.entries.is_empty();
            match as_it_is {
                true => self.pass::<false>(bytecode, list, lifted)?,
                false => self.pass::<true>(bytecode, list, lifted)?,
            }
            if !lifted.missed {
                break;
            }
        }
        if lifted.missed {
            return Err(Error::new(ErrorKind::BadValue, 0, "code without frames that jumps back too often").into());
        }
        let learnt = lifted.depths.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        lifted.deepest = lifted.deepest.max(learnt);
        list.target = first.0..list.next_id().0;
        resolve(list, bytecode.len() as u32)
    }

    /// One pass; `APART` if accesses to some locals or calls are nodes of their own, or something is to be inserted.
    fn pass<const APART: bool>(
        &mut self,
        bytecode: &[u8],
        list: &mut NodeList,
        lifted: &mut Lifted,
    ) -> Result<(), Error> {
        let mut walk = Walk { run: 0, depth: Some(0), next_known: 0 };
        let (mut offset, mut deepest) = (0, 0);
        while offset < bytecode.len() {
            walk.meet_known(offset as u32, &lifted.depths);
            if APART {
                self.entry(offset as u32, &mut walk, list, lifted);
            }
            let before = walk.depth;
            let opcode = bytecode.get(offset).copied().unwrap_or_default();
            let length = match opcode::fixed_length(opcode) {
                // If the code ends within an instruction of fixed length, this is detected after the loop.
                0 => instruction::length_at(bytecode, offset)?,
                length => length,
            };
            let info = opcode::info(opcode).ok_or(Error::new(ErrorKind::UnknownOpcode(opcode), offset, "code"))?;
            if info.flow == Flow::Next {
                if info.pops >= 0 {
                    walk.depth = walk.depth.map(|depth| depth + i32::from(info.pushes) - i32::from(info.pops));
                } else {
                    let bytes = bytecode.get(offset..offset + length).unwrap_or_default();
                    let instruction = Instruction { offset: offset as u32, opcode, bytes };
                    self.with_operand(&instruction, &mut walk)?;
                }
            } else {
                let bytes = bytecode.get(offset..offset + length).unwrap_or_default();
                let instruction = Instruction { offset: offset as u32, opcode, bytes };
                walk.flow(&instruction, info.flow, list, lifted, self.frames.is_empty())?;
            }
            if APART {
                let bytes = bytecode.get(offset..offset + length).unwrap_or_default();
                let instruction = Instruction { offset: offset as u32, opcode, bytes };
                self.apart(&instruction, &mut walk, list, lifted);
                self.site(&instruction, before, &mut walk, list, lifted)?;
            }
            deepest = deepest.max(walk.depth.unwrap_or(0));
            offset += length;
        }
        if offset != bytecode.len() {
            return Err(Error::new(ErrorKind::Truncated, bytecode.len(), "code"));
        }
        lifted.deepest = words(deepest, offset as u32)?;
        walk.end_run(offset as u32, list);
        Ok(())
    }

    /// Gives an access to a local that moves a node of its own.
    fn apart(&self, instruction: &Instruction<'_>, walk: &mut Walk, list: &mut NodeList, lifted: &mut Lifted) {
        let access = LocalAccess::of(instruction);
        if self.apart_from.zip(access).is_some_and(|(from, access)| access.slot >= from) {
            let (offset, length) = (instruction.offset, instruction.bytes.len() as u32);
            walk.end_run(offset, list);
            lifted.locals.push(list.push(NodeKind::Straight(Source::Target), offset, length, true));
            walk.run = offset + length;
        }
    }

    /// Inserts an empty node where something is to be inserted.
    fn entry(&self, offset: u32, walk: &mut Walk, list: &mut NodeList, lifted: &mut Lifted) {
        if self.entries.binary_search(&offset).is_ok() {
            walk.end_run(offset, list);
            lifted.entries.push(list.push_inserted(offset));
            walk.run = offset;
        }
    }

    /// Gives a call site a node of its own.
    fn site(
        &self,
        instruction: &Instruction<'_>,
        before: Option<i32>,
        walk: &mut Walk,
        list: &mut NodeList,
        lifted: &mut Lifted,
    ) -> Result<(), Error> {
        let wanted = self.sites.binary_search_by_key(&instruction.offset, |site| site.offset.into());
        let site = wanted.ok().and_then(|place| self.sites.get(place)).copied();
        let is_call = (opcode::INVOKEVIRTUAL..=opcode::INVOKEDYNAMIC).contains(&instruction.opcode);
        if let Some(site) = site.filter(|_| is_call) {
            let (offset, length) = (instruction.offset, instruction.bytes.len() as u32);
            walk.end_run(offset, list);
            let node = list.push(NodeKind::Straight(Source::Target), offset, length, true);
            let deepest = before.max(walk.depth).map(|depth| words(depth, offset)).transpose()?;
            lifted.sites.push(LiftedSite { site, node, depth: deepest });
            walk.run = offset + length;
        }
        Ok(())
    }

    /// Handles instructions whose effect depends on their operand: fields, calls, `wide`, `multianewarray`.
    fn with_operand(&mut self, instruction: &Instruction<'_>, walk: &mut Walk) -> Result<(), Error> {
        let effect = if instruction.opcode == opcode::WIDE {
            opcode::info(instruction.u1(0)).map(|info| i32::from(info.pushes) - i32::from(info.pops))
        } else {
            self.effects.of(self.pool, instruction.opcode, instruction.u2(0), instruction.u1(2))
        };
        let wrong = Error::new(ErrorKind::WrongConstantKind(instruction.u2(0)), instruction.offset as usize, "code");
        let effect = effect.ok_or(wrong)?;
        walk.depth = walk.depth.map(|depth| depth + effect);
        Ok(())
    }
}

/// State of one pass.
struct Walk {
    /// Where the present straight run began.
    run: u32,
    /// Words on the stack; `None` where no way leads as far as known.
    depth: Option<i32>,
    next_known: usize,
}

impl Walk {
    #[inline]
    fn meet_known(&mut self, offset: u32, known: &[(u32, u16)]) {
        while let Some(&(at, depth)) = known.get(self.next_known) {
            if at > offset {
                return;
            }
            if at == offset {
                self.depth = Some(i32::from(depth));
            }
            self.next_known += 1;
        }
    }

    fn end_run(&mut self, offset: u32, list: &mut NodeList) {
        if offset > self.run {
            list.push(NodeKind::Straight(Source::Target), self.run, offset - self.run, true);
        }
    }

    /// A jump, switch, return or throw.
    fn flow(
        &mut self,
        instruction: &Instruction<'_>,
        flow: Flow,
        list: &mut NodeList,
        lifted: &mut Lifted,
        learning: bool,
    ) -> Result<(), Error> {
        let offset = instruction.offset;
        let next = offset + instruction.bytes.len() as u32;
        match flow {
            Flow::Next | Flow::Throw | Flow::SubroutineReturn => {
                // Nothing in them depends on their place: they stay in the run.
                self.depth = None;
                return Ok(());
            }
            Flow::Return => {
                self.end_run(offset, list);
                let node = list.push(NodeKind::Straight(Source::Target), offset, 1, true);
                let depth = self.depth.map(|depth| words(depth, offset)).transpose()?;
                // What takes the return's place is a store and a jump: two nodes.
                list.push(NodeKind::Label, next, 0, true);
                lifted.returns.push(Return { node, depth });
                self.depth = None;
            }
            Flow::Conditional | Flow::Goto | Flow::Subroutine => {
                self.end_run(offset, list);
                let target = target_offset(instruction, instruction.branch_target())?;
                let place = Position { node: NodeId(0), within: target };
                let wide = matches!(instruction.opcode, opcode::GOTO_W | opcode::JSR_W);
                let (kind, at_target) = match flow {
                    Flow::Conditional => {
                        let pops = opcode::info(instruction.opcode).map_or(0, |info| i32::from(info.pops));
                        self.depth = self.depth.map(|depth| depth - pops);
                        (NodeKind::Conditional { opcode: instruction.opcode, target: place, island: None }, self.depth)
                    }
                    Flow::Goto => (NodeKind::Goto { target: place, wide }, self.depth.take()),
                    _ => (NodeKind::Subroutine { target: place, wide }, self.depth.map(|depth| depth + 1)),
                };
                list.push(kind, offset, instruction.bytes.len() as u32, true);
                if learning {
                    self.note(lifted, target, at_target)?;
                }
            }
            Flow::Switch => {
                self.end_run(offset, list);
                self.switch(instruction, list, lifted, learning)?;
            }
        }
        self.run = next;
        Ok(())
    }

    fn switch(
        &mut self,
        instruction: &Instruction<'_>,
        list: &mut NodeList,
        lifted: &mut Lifted,
        learning: bool,
    ) -> Result<(), Error> {
        let broken = Error::new(ErrorKind::Truncated, instruction.offset as usize, "switch");
        let switch = instruction.switch().ok_or(broken)?;
        let targets = list.switch_targets.len() as u32;
        let at_targets = self.depth.map(|depth| depth - 1);
        let distances = std::iter::once(switch.default).chain(switch.cases().map(|(_, distance)| distance));
        for distance in distances {
            let absolute = i64::from(instruction.offset) + i64::from(distance);
            let target = target_offset(instruction, Some(absolute))?;
            list.switch_targets.push(Position { node: NodeId(0), within: target });
            if learning {
                self.note(lifted, target, at_targets)?;
            }
        }
        list.push(NodeKind::Switch { targets }, instruction.offset, instruction.bytes.len() as u32, true);
        self.depth = None;
        Ok(())
    }

    /// Code without frames: remembers the depth at a jump's target.
    fn note(&mut self, lifted: &mut Lifted, target: u32, depth: Option<i32>) -> Result<(), Error> {
        let Some(depth) = depth else { return Ok(()) };
        if learn(&mut lifted.depths, target, words(depth, target)?) {
            if target < self.run {
                lifted.missed = true;
            }
            // The new entry may stand before the ones that were met already.
            self.next_known = lifted.depths.partition_point(|(at, _)| *at < self.run).min(self.next_known);
        }
        Ok(())
    }
}

/// Returns a depth of the operand stack that a verifier could accept, or the fault of the code.
fn words(depth: i32, offset: u32) -> Result<u16, Error> {
    u16::try_from(depth).map_err(|_| Error::new(ErrorKind::BadValue, offset as usize, "operand stack"))
}

/// Remembers a depth; true if the place is new.
fn learn(depths: &mut Vec<(u32, u16)>, offset: u32, depth: u16) -> bool {
    match depths.binary_search_by_key(&offset, |known| known.0) {
        Ok(_) => false,
        Err(place) => {
            depths.insert(place, (offset, depth));
            true
        }
    }
}

fn target_offset(instruction: &Instruction<'_>, target: Option<i64>) -> Result<u32, Error> {
    let bad = Error::new(ErrorKind::BadCodeOffset(instruction.offset), instruction.offset as usize, "branch");
    target.and_then(|target| u32::try_from(target).ok()).ok_or(bad)
}

/// Turns original offsets, kept in `within`, into positions.
fn resolve(list: &mut NodeList, code_length: u32) -> Result<(), Refusal> {
    let place = |list: &NodeList, position: Position| {
        let bad = Error::new(ErrorKind::BadCodeOffset(position.within), position.within as usize, "branch");
        if position.within >= code_length { Err(bad) } else { list.position_of(position.within).ok_or(bad) }
    };
    for index in list.target.clone() {
        let resolved = match list.get(NodeId(index))?.kind {
            NodeKind::Conditional { opcode, target, island } => {
                NodeKind::Conditional { opcode, target: place(list, target)?, island }
            }
            NodeKind::Goto { target, wide } => NodeKind::Goto { target: place(list, target)?, wide },
            NodeKind::Subroutine { target, wide } => NodeKind::Subroutine { target: place(list, target)?, wide },
            _ => continue,
        };
        list.get_mut(NodeId(index))?.kind = resolved;
    }
    let mut targets = std::mem::take(&mut list.switch_targets);
    for target in &mut targets {
        *target = place(list, *target)?;
    }
    list.switch_targets = targets;
    Ok(())
}
