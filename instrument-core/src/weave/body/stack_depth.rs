//! Words on the operand stack: the effect of single instructions, from the one table and the constant pool.

use classfile::descriptor::end_of_name;
use classfile::{ConstantPool, ModifiedUtf8, opcode};

/// Effects of instructions with a constant, remembered by constant for the whole class.
#[derive(Debug, Default)]
pub(crate) struct StackEffects {
    /// Words pushed minus words popped by a call through this constant, receiver not counted; `UNKNOWN` until asked.
    calls: Vec<i16>,
    /// The same by descriptor, because many constants share one.
    descriptors: Vec<i16>,
}

const UNKNOWN: i16 = i16::MIN;

impl StackEffects {
    /// Forgets the last class.
    pub(crate) fn begin(&mut self, pool: &ConstantPool<'_>) {
        for effects in [&mut self.calls, &mut self.descriptors] {
            effects.clear();
            effects.resize(usize::from(pool.count()), UNKNOWN);
        }
        if let Some(nothing) = self.calls.first_mut() {
            *nothing = 0;
        }
    }

    /// Remembers the effect of a constant that is appended to the pool and so cannot be looked up in it.
    pub(crate) fn note(&mut self, constant: u16, descriptor: ModifiedUtf8<'_>) {
        let index = usize::from(constant);
        if self.calls.len() <= index {
            self.calls.resize(index + 1, UNKNOWN);
        }
        if let (Some(effect), Some(place)) = (effect_of(descriptor), self.calls.get_mut(index)) {
            *place = effect;
        }
    }

    /// Words of a field, or words pushed minus words popped by a call, receiver not counted; none for constant 0.
    #[inline]
    pub(crate) fn of_member(&mut self, pool: &ConstantPool<'_>, constant: u16) -> Option<i32> {
        match self.calls.get(usize::from(constant)) {
            Some(&known) if known != UNKNOWN => Some(i32::from(known)),
            _ => self.compute(pool, constant).map(i32::from),
        }
    }

    /// Words pushed minus words popped; `None` if the constant is not what the instruction needs.
    pub(crate) fn of(&mut self, pool: &ConstantPool<'_>, opcode: u8, constant: u16, dimensions: u8) -> Option<i32> {
        match opcode {
            opcode::MULTIANEWARRAY => return Some(1 - i32::from(dimensions)),
            opcode::GETSTATIC..=opcode::INVOKEDYNAMIC => {}
            _ => return None,
        }
        if constant == 0 {
            return None;
        }
        let base = self.of_member(pool, constant)?;
        Some(match opcode {
            opcode::GETSTATIC => base,
            opcode::PUTSTATIC => -base,
            opcode::GETFIELD => base - 1,
            opcode::PUTFIELD => -base - 1,
            opcode::INVOKESTATIC | opcode::INVOKEDYNAMIC => base,
            _ => base - 1,
        })
    }

    #[inline(never)]
    fn compute(&mut self, pool: &ConstantPool<'_>, constant: u16) -> Option<i16> {
        let descriptor = pool.descriptor_index_of(constant).ok()?;
        let of_descriptor = self.descriptors.get_mut(usize::from(descriptor))?;
        if *of_descriptor == UNKNOWN {
            *of_descriptor = effect_of(pool.utf8(descriptor).ok()?)?;
        }
        let effect = *of_descriptor;
        if let Some(place) = self.calls.get_mut(usize::from(constant)) {
            *place = effect;
        }
        Some(effect)
    }
}

/// Words of a field's type, or words of a method's result minus those of its parameters.
fn effect_of(descriptor: ModifiedUtf8<'_>) -> Option<i16> {
    let mut rest = descriptor.as_bytes();
    let (mut sign, mut words) = (1i32, 0i32);
    while let [first, after @ ..] = rest {
        rest = after;
        words += match first {
            b'(' => {
                sign = -1;
                0
            }
            b')' => {
                sign = 1;
                0
            }
            b'V' => 0,
            b'J' | b'D' => 2 * sign,
            b'B' | b'C' | b'F' | b'I' | b'S' | b'Z' => sign,
            b'L' => {
                rest = rest.get(end_of_name(rest)?..)?;
                sign
            }
            b'[' => {
                while let [b'[', after @ ..] = rest {
                    rest = after;
                }
                let (element, after) = rest.split_first()?;
                rest = if *element == b'L' { after.get(end_of_name(after)?..)? } else { after };
                sign
            }
            _ => return None,
        };
    }
    i16::try_from(words).ok()
}
