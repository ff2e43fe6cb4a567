//! Words on the operand stack: the effect of single instructions, from the one table and the constant pool.

use classfile::{ConstantPool, ModifiedUtf8, opcode};

/// Effects of instructions with a constant, remembered by constant for the whole class.
#[derive(Debug, Default)]
pub(crate) struct CallEffects {
    /// Words pushed minus words popped by a call through this constant, receiver not counted; `UNKNOWN` until asked.
    calls: Vec<i16>,
}

const UNKNOWN: i16 = i16::MIN;

impl CallEffects {
    /// Forgets the last class.
    pub(crate) fn begin(&mut self, pool: &ConstantPool<'_>) {
        self.calls.clear();
        self.calls.resize(usize::from(pool.count()), UNKNOWN);
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

    /// Words pushed minus words popped; `None` if the constant is not what the instruction needs.
    pub(crate) fn of(&mut self, pool: &ConstantPool<'_>, opcode: u8, constant: u16, dimensions: u8) -> Option<i32> {
        match opcode {
            opcode::MULTIANEWARRAY => return Some(1 - i32::from(dimensions)),
            opcode::GETSTATIC..=opcode::INVOKEDYNAMIC => {}
            _ => return None,
        }
        let known = self.calls.get(usize::from(constant)).copied().unwrap_or(UNKNOWN);
        let base = if known == UNKNOWN { self.compute(pool, constant)? } else { known };
        let base = i32::from(base);
        Some(match opcode {
            opcode::GETSTATIC => base,
            opcode::PUTSTATIC => -base,
            opcode::GETFIELD => base - 1,
            opcode::PUTFIELD => -base - 1,
            opcode::INVOKESTATIC | opcode::INVOKEDYNAMIC => base,
            _ => base - 1,
        })
    }

    #[cold]
    fn compute(&mut self, pool: &ConstantPool<'_>, constant: u16) -> Option<i16> {
        let descriptor = pool.descriptor_of(constant).ok()?;
        let effect = effect_of(descriptor)?;
        if let Some(place) = self.calls.get_mut(usize::from(constant)) {
            *place = effect;
        }
        Some(effect)
    }
}

/// Words of a field's type, or words of a method's result minus those of its parameters.
fn effect_of(descriptor: ModifiedUtf8<'_>) -> Option<i16> {
    let mut bytes = descriptor.as_bytes().iter();
    let (mut sign, mut words) = (1i32, 0i32);
    while let Some(&byte) = bytes.next() {
        words += match byte {
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
            b'L' | b'[' => {
                let mut element = byte;
                while element == b'[' {
                    element = *bytes.next()?;
                }
                if element == b'L' {
                    bytes.find(|byte| **byte == b';')?;
                }
                sign
            }
            _ => return None,
        };
    }
    i16::try_from(words).ok()
}
