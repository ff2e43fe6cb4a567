//! The one walk over the target's code: every instruction is checked and copied, returns become the way to the epilog, frames
//! are copied where they stand, and jumps are noted, to be written when all places are known.
//!
//! The walk takes only what compilers write; with everything else it gives up, and the merge by way of nodes says what is wrong.

use classfile::{ByteWriter, ConstantPool, opcode, opcode_outline};

use super::frame_copy::FrameCopy;
use super::{Bailout, GaveUp};
use crate::weave::body::stack_depth::StackEffects;
use crate::weave::body::super_call::{Initialisation, Stretches};
use crate::weave::merge::places::{Places, START, framed};

/// Words on the stack of a frame that can be noted with its place.
const DEEPEST: i32 = 0x3FFF;
/// Stands for the epilog as the target of a jump.
const EPILOG: u32 = u32::MAX;

/// A distance that is written when all places are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    /// Offset of the distance in the merged code.
    at: u32,
    /// New offset of the instruction.
    from: u32,
    /// Original offset it leads to.
    target: u32,
    /// Words on the stack.
    depth: i32,
    /// The distance has four bytes.
    wide: bool,
}

/// How the target ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit<'e> {
    /// The opcode of all returns.
    pub(super) opcode: u8,
    /// The target gives a result.
    pub(super) has_result: bool,
    /// The result stays on the stack, which it does with one return at the very end and not otherwise.
    pub(super) keeps_result: bool,
    /// The instruction that stores the result otherwise.
    pub(super) store: &'e [u8],
}

/// What a walk found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walked {
    /// True if there is one return, at the very end.
    pub(super) has_single_exit: bool,
}

/// Memory of the walk.
#[derive(Debug, Default)]
pub(crate) struct WalkMemory {
    pub(super) places: Vec<u32>,
    /// Of a constructor: original offsets where its object is initialised.
    pub(super) initialised: Stretches,
    jumps: Vec<Jump>,
}

/// What is walked, and with what.
pub(super) struct Walk<'w, 'a, 'f, 'm> {
    pub(super) code: &'w [u8],
    /// The code and a little more, so that operands can be read without asking whether they are there.
    pub(super) window: &'w [u8],
    pub(super) pool: &'w ConstantPool<'a>,
    pub(super) effects: &'w mut StackEffects,
    pub(super) max_stack: u16,
    pub(super) max_locals: u16,
    pub(super) exit: Exit<'w>,
    pub(super) is_constructor: bool,
    pub(super) frames: &'w mut FrameCopy<'f, 'm>,
    pub(super) memory: &'w mut WalkMemory,
    pub(super) out: &'w mut ByteWriter,
}

/// Where the walk is.
struct State {
    at: usize,
    /// Words on the operand stack.
    depth: i32,
    /// Most words so far.
    deepest: i32,
    /// New offset minus original one, of what is copied now.
    shift: usize,
    /// Up to here the code has been copied.
    copied: usize,
    /// Control can come from the instruction before.
    reachable: bool,
    /// Most slots that a step needs.
    slots: u16,
    /// The highest constant that a step has, less one.
    constant_below: u16,
    initialisation: Initialisation,
    /// Returns so far that are not the last instruction.
    early_returns: u32,
    /// The last instruction is a return.
    returns_at_end: bool,
}

impl Walk<'_, '_, '_, '_> {
    /// Appends the target's code, whose first byte is `prolog` bytes after the start of the merged code.
    pub(super) fn run(mut self, prolog: usize) -> Result<Walked, GaveUp> {
        let code = self.code;
        self.memory.jumps.clear();
        self.memory.places.clear();
        self.memory.places.resize(code.len(), 0);
        let mut state = State {
            at: 0,
            depth: 0,
            deepest: 0,
            shift: prolog,
            copied: 0,
            reachable: true,
            slots: 0,
            constant_below: 0,
            // Code that can be walked to its end has a frame wherever a jump arrives.
            initialisation: Initialisation::new(true),
            early_returns: 0,
            returns_at_end: false,
        };
        let mut next_frame = self.frames.next_offset()? as usize;
        while let Some(&opcode) = code.get(state.at) {
            if state.at >= next_frame {
                next_frame = self.frame(&mut state, opcode, next_frame)?;
            } else if !state.reachable {
                return Err(GaveUp::Bailout);
            }
            if self.is_constructor {
                self.steps::<true>(&mut state, next_frame)?;
            } else {
                self.steps::<false>(&mut state, next_frame)?;
            }
            if state.at < next_frame
                && let Some(&opcode) = code.get(state.at)
            {
                let outline = opcode_outline::outline(opcode);
                state.depth += i32::from(outline.effect);
                self.other(opcode, usize::from(outline.length), &mut state)?;
                state.deepest = state.deepest.max(state.depth);
            }
        }
        self.copy_up_to(code.len(), &mut state)?;
        let is_whole = state.at == code.len() && !state.reachable && next_frame == u32::MAX as usize;
        let constants = state.constant_below.saturating_add(1) < self.pool.count().max(2);
        let fits = state.slots <= self.max_locals && state.deepest <= i32::from(self.max_stack);
        if !is_whole || !fits || !constants {
            return Err(GaveUp::Bailout);
        }
        let has_single_exit = state.returns_at_end && state.early_returns == 0;
        if self.exit.has_result && self.exit.keeps_result != has_single_exit {
            return Err(GaveUp::OtherEnding);
        }
        self.memory.initialised = state.initialisation.finish(code.len() as u32);
        Ok(Walked { has_single_exit })
    }

    /// Walks up to the next frame or the next instruction that is more than a step, whose place is noted, too. In a constructor
    /// those that make or construct objects are more than that.
    #[inline]
    fn steps<const IN_CONSTRUCTOR: bool>(&mut self, state: &mut State, next_frame: usize) -> Result<(), Bailout> {
        let end = next_frame.min(self.code.len());
        let (mut at, mut depth, mut deepest) = (state.at, state.depth, state.deepest);
        let (mut slots, mut constant_below) = (state.slots, state.constant_below);
        while at < end {
            let Some(&[opcode, first, second]) = self.window.get(at..).and_then(|rest| rest.first_chunk::<3>()) else {
                break;
            };
            if let Some(place) = self.memory.places.get_mut(at) {
                // A frame may stand here already.
                *place |= START | (at + state.shift) as u32;
            }
            let step = opcode_outline::step(opcode);
            let makes_objects = matches!(opcode, opcode::NEW | opcode::INVOKESPECIAL);
            if step.length == 0 || IN_CONSTRUCTOR && makes_objects {
                break;
            }
            slots = slots.max(step.slots_needed(first));
            let constant = step.constant([first, second]);
            constant_below = constant_below.max(step.constant_below(constant));
            depth += i32::from(step.effect);
            // What is no field or call asks for constant 0, which has no effect: cheaper than to guess which it is.
            let member = constant & u16::from(step.member_sign != 0).wrapping_neg();
            depth += i32::from(step.member_sign) * self.effects.of_member(self.pool, member).ok_or(Bailout)?;
            deepest = deepest.max(depth);
            at += usize::from(step.length);
        }
        state.deepest = deepest;
        (state.at, state.depth, state.slots, state.constant_below) = (at, depth, slots, constant_below);
        Ok(())
    }

    /// Takes the frame at `at`; gives the place of the next one.
    fn frame(&mut self, state: &mut State, opcode: u8, at: usize) -> Result<usize, GaveUp> {
        if at != state.at {
            return Err(GaveUp::Bailout);
        }
        // A void return at the end leaves no bytes: the frame of the epilog, which expects less, is used for both.
        let is_last = state.at + 1 == self.code.len();
        let vanishes = is_last && opcode == opcode::RETURN && state.early_returns > 0;
        let places = Places { entries: &self.memory.places, epilog: 0, has_frames: true };
        let depth = self.frames.copy((state.at + state.shift) as u32, !vanishes, &places)?;
        // What is true of all ways to all frames is true of the code, whatever a verifier would say of the frames.
        if state.reachable && state.depth != depth || depth > DEEPEST {
            return Err(GaveUp::Bailout);
        }
        state.depth = depth;
        state.deepest = state.deepest.max(depth);
        if self.is_constructor {
            state.initialisation.note_frame(at as u32, self.frames.types());
        }
        if let Some(place) = self.memory.places.get_mut(at) {
            *place |= framed(depth);
        }
        state.reachable = true;
        Ok(self.frames.next_offset()? as usize)
    }

    /// An instruction that is more than a step; its effect on the stack is taken into account where the table knows it.
    #[inline]
    fn other(&mut self, opcode: u8, length: usize, state: &mut State) -> Result<(), GaveUp> {
        match opcode {
            opcode::NEW => {
                self.constant(self.u2(state.at + 1)?)?;
                state.initialisation.note_new();
            }
            opcode::INVOKESPECIAL => self.construction(state)?,
            opcode::IFEQ..=opcode::IF_ACMPNE | opcode::IFNULL | opcode::IFNONNULL => self.jump(state)?,
            opcode::GOTO => {
                self.jump(state)?;
                state.reachable = false;
            }
            opcode::IRETURN..=opcode::RETURN => return self.method_return(opcode, state),
            opcode::ATHROW => state.reachable = false,
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH => return self.switch(opcode, state),
            opcode::MULTIANEWARRAY => {
                self.constant(self.u2(state.at + 1)?)?;
                state.depth += 1 - i32::from(self.u1(state.at + 3)?);
            }
            opcode::WIDE => return self.wide(state),
            _ => return Err(GaveUp::Bailout),
        }
        state.at += length;
        Ok(())
    }

    #[inline]
    fn u1(&self, at: usize) -> Result<u8, Bailout> {
        self.code.get(at).copied().ok_or(Bailout)
    }

    #[inline]
    fn u2(&self, at: usize) -> Result<u16, Bailout> {
        let bytes = self.code.get(at..).and_then(|rest| rest.first_chunk::<2>()).ok_or(Bailout)?;
        Ok(u16::from_be_bytes(*bytes))
    }

    fn i4(&self, at: usize) -> Result<i32, Bailout> {
        let bytes = self.code.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(Bailout)?;
        Ok(i32::from_be_bytes(*bytes))
    }

    #[inline]
    fn constant(&self, index: u16) -> Result<(), Bailout> {
        if index == 0 || index >= self.pool.count() { Err(Bailout) } else { Ok(()) }
    }

    #[inline]
    fn local(&self, slot: u16, opcode: u8) -> Result<(), Bailout> {
        let end = u32::from(slot) + u32::from(opcode_outline::slots_taken(opcode));
        if end > u32::from(self.max_locals) { Err(Bailout) } else { Ok(()) }
    }

    /// A call in a constructor that may be that of `super()` or `this()`.
    fn construction(&mut self, state: &mut State) -> Result<(), Bailout> {
        let index = self.u2(state.at + 1)?;
        self.constant(index)?;
        state.depth += self.effects.of_member(self.pool, index).ok_or(Bailout)? - 1;
        if self.pool.member_ref(index)?.name == "<init>" {
            state.initialisation.note_constructor_call(state.at as u32);
        }
        Ok(())
    }

    fn jump(&mut self, state: &State) -> Result<(), Bailout> {
        let distance = i64::from(self.u2(state.at + 1)? as i16);
        let from = (state.at + state.shift) as u32;
        self.note(Jump { at: from + 1, from, target: 0, depth: state.depth, wide: false }, state.at as i64 + distance)
    }

    fn note(&mut self, jump: Jump, target: i64) -> Result<(), Bailout> {
        let target = u32::try_from(target).map_err(|_| Bailout)?;
        self.memory.jumps.push(Jump { target, ..jump });
        Ok(())
    }

    fn copy_up_to(&mut self, end: usize, state: &mut State) -> Result<(), Bailout> {
        self.out.bytes(self.code.get(state.copied..end).ok_or(Bailout)?);
        state.copied = end;
        Ok(())
    }

    fn method_return(&mut self, opcode: u8, state: &mut State) -> Result<(), GaveUp> {
        // The table has taken the result off the stack.
        if opcode != self.exit.opcode || state.depth != 0 {
            return Err(GaveUp::Bailout);
        }
        let is_last = state.at + 1 == self.code.len();
        self.copy_up_to(state.at, state)?;
        state.copied = state.at + 1;
        state.returns_at_end = is_last;
        if !self.exit.keeps_result {
            let store = self.exit.store;
            self.out.bytes(store);
            if !is_last {
                state.early_returns += 1;
                let from = (state.at + state.shift + store.len()) as u32;
                self.memory.jumps.push(Jump { at: from + 1, from, target: EPILOG, depth: 0, wide: false });
                self.out.bytes(&[opcode::GOTO, 0, 0]);
                state.shift += store.len() + 2;
            }
        } else if !is_last {
            return Err(GaveUp::OtherEnding);
        }
        state.reachable = false;
        state.at += 1;
        Ok(())
    }

    fn switch(&mut self, opcode: u8, state: &mut State) -> Result<(), GaveUp> {
        let (at, from) = (state.at, state.at + state.shift);
        let words = (at + 4) & !3;
        let (header, step, count) = if opcode == opcode::TABLESWITCH {
            let (low, high) = (i64::from(self.i4(words + 4)?), i64::from(self.i4(words + 8)?));
            (12, 4, usize::try_from(high - low + 1).map_err(|_| Bailout)?)
        } else {
            (8, 8, usize::try_from(self.i4(words + 4)?).map_err(|_| Bailout)?)
        };
        let end = count.checked_mul(step).map(|length| words + header + length);
        let end = end.filter(|end| *end <= self.code.len()).ok_or(Bailout)?;
        let new_words = (from + 4) & !3;
        self.copy_up_to(at + 1, state)?;
        self.out.bytes([0; 3].get(..new_words - from - 1).ok_or(Bailout)?);
        self.note_distance(words, new_words, state)?;
        for place in (1..=count).map(|case| header + case * step - 4) {
            self.note_distance(words + place, new_words + place, state)?;
        }
        state.copied = words;
        self.copy_up_to(end, state)?;
        // The target never moves towards the start.
        state.shift = new_words.checked_sub(words).ok_or(Bailout)?;
        state.at = end;
        state.reachable = false;
        Ok(())
    }

    fn note_distance(&mut self, at: usize, new_at: usize, state: &State) -> Result<(), Bailout> {
        let distance = i64::from(self.i4(at)?);
        let from = (state.at + state.shift) as u32;
        self.note(
            Jump { at: new_at as u32, from, target: 0, depth: state.depth, wide: true },
            state.at as i64 + distance,
        )
    }

    /// An access to a local with a two-byte slot.
    fn wide(&mut self, state: &mut State) -> Result<(), GaveUp> {
        let opcode = self.u1(state.at + 1)?;
        let length = match opcode {
            opcode::ILOAD..=opcode::ALOAD | opcode::ISTORE..=opcode::ASTORE => 4,
            opcode::IINC => 6,
            _ => return Err(GaveUp::Bailout),
        };
        self.local(self.u2(state.at + 2)?, opcode)?;
        state.depth += i32::from(opcode_outline::outline(opcode).effect);
        state.at += length;
        Ok(())
    }
}

/// Writes the distances of all jumps into the merged code, which begins at `code` of `out`.
pub(super) fn write_jumps(
    memory: &WalkMemory,
    places: &Places<'_>,
    code: usize,
    out: &mut ByteWriter,
) -> Result<(), Bailout> {
    for jump in &memory.jumps {
        let to = if jump.target == EPILOG { places.epilog } else { places.target(jump.target, jump.depth)? };
        let distance = i32::from(to) - jump.from as i32;
        let at = code + jump.at as usize;
        if jump.wide {
            out.patch_u4(at, distance as u32);
        } else {
            out.patch_u2(at, i16::try_from(distance).map_err(|_| Bailout)? as u16);
        }
    }
    Ok(())
}
