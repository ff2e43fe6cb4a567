//! Instructions in place: lengths, switch operands, and an iterator over a body.

use crate::opcode::{self, Form};
use crate::{Error, ErrorKind, Result, opcode_outline};

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// Code offset of the opcode.
    pub offset: u32,
    /// The opcode (`wide` itself for the wide forms).
    pub opcode: u8,
    /// The whole instruction, opcode included.
    pub bytes: &'a [u8],
}

impl<'a> Instruction<'a> {
    /// The unsigned byte at `at` after the opcode; 0 if the form has none.
    pub fn u1(&self, at: usize) -> u8 {
        self.bytes.get(1 + at).copied().unwrap_or(0)
    }

    /// The unsigned 16-bit operand at `at` after the opcode; 0 if the form has none.
    pub fn u2(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.u1(at), self.u1(at + 1)])
    }

    /// Target of a branch instruction, as a code offset (may be out of range in a broken class).
    pub fn branch_target(&self) -> Option<i64> {
        let distance = match opcode::info(self.opcode)?.form {
            Form::Branch => i64::from(self.u2(0) as i16),
            Form::WideBranch => i64::from(i32::from_be_bytes([self.u1(0), self.u1(1), self.u1(2), self.u1(3)])),
            _ => return None,
        };
        Some(i64::from(self.offset) + distance)
    }

    /// Constant-pool index of the operand, if the form has one.
    pub fn constant(&self) -> Option<u16> {
        match opcode::info(self.opcode)?.form {
            Form::ShortConstant => Some(u16::from(self.u1(0))),
            Form::Constant | Form::InvokeInterface | Form::InvokeDynamic | Form::MultiNewArray => Some(self.u2(0)),
            _ => None,
        }
    }

    /// The last local slot that the instruction uses, if it uses any: for long and double the one after its operand.
    pub fn last_local(&self) -> Option<u32> {
        use opcode::{ALOAD_3, ASTORE_3, ILOAD, ILOAD_0, ISTORE, ISTORE_0};
        let (opcode, slot) = match opcode::info(self.opcode)?.form {
            Form::Local | Form::Increment => (self.opcode, u16::from(self.u1(0))),
            Form::Wide => (self.u1(0), self.u2(1)),
            // Four short forms for each of the five types, in the order of the long forms.
            Form::None if (ILOAD_0..=ALOAD_3).contains(&self.opcode) => {
                let short = self.opcode - ILOAD_0;
                (ILOAD + short / 4, u16::from(short % 4))
            }
            Form::None if (ISTORE_0..=ASTORE_3).contains(&self.opcode) => {
                let short = self.opcode - ISTORE_0;
                (ISTORE + short / 4, u16::from(short % 4))
            }
            _ => return None,
        };
        Some(u32::from(slot) + u32::from(opcode_outline::slots_taken(opcode)) - 1)
    }

    /// Keys and targets of a switch; `None` for other instructions.
    pub fn switch(&self) -> Option<Switch<'a>> {
        Switch::read(self)
    }
}

/// The operands of `tableswitch` or `lookupswitch`.
#[derive(Clone, Copy, Debug)]
pub struct Switch<'a> {
    /// Code offset of the switch, from which all distances count.
    pub offset: u32,
    /// Distance of the default target.
    pub default: i32,
    /// Lowest key of a `tableswitch`; `None` for `lookupswitch`.
    pub low: Option<i32>,
    /// The words after the header: distances, or pairs of key and distance.
    words: &'a [[u8; 4]],
}

impl<'a> Switch<'a> {
    fn read(instruction: &Instruction<'a>) -> Option<Switch<'a>> {
        let table = match instruction.opcode {
            opcode::TABLESWITCH => true,
            opcode::LOOKUPSWITCH => false,
            _ => return None,
        };
        let padding = 3 - (instruction.offset as usize & 3);
        let (words, _) = instruction.bytes.get(1 + padding..)?.as_chunks::<4>();
        let word = |at: usize| words.get(at).map(|word| i32::from_be_bytes(*word));
        Some(Switch {
            offset: instruction.offset,
            default: word(0)?,
            low: if table { Some(word(1)?) } else { None },
            words: words.get(if table { 3 } else { 2 }..)?,
        })
    }

    /// Key and distance of each case.
    pub fn cases(&self) -> impl Iterator<Item = (i32, i32)> + 'a {
        let words = self.words;
        let low = self.low;
        let count = if low.is_some() { words.len() } else { words.len() / 2 };
        (0..count).filter_map(move |case| {
            let word = |at: usize| words.get(at).map(|word| i32::from_be_bytes(*word));
            match low {
                Some(low) => Some((low.wrapping_add(case as i32), word(case)?)),
                None => Some((word(2 * case)?, word(2 * case + 1)?)),
            }
        })
    }
}

/// Length in bytes of the instruction at `offset`.
#[inline]
pub fn length_at(bytecode: &[u8], offset: usize) -> Result<usize> {
    let opcode = *bytecode.get(offset).ok_or(truncated(offset))?;
    let fixed = opcode::fixed_length(opcode);
    let length = if fixed != 0 { fixed } else { variable_length(bytecode, offset, opcode)? };
    if length > bytecode.len() - offset {
        return Err(truncated(offset));
    }
    Ok(length)
}

#[cold]
fn truncated(offset: usize) -> Error {
    Error::new(ErrorKind::Truncated, offset, "code")
}

fn variable_length(bytecode: &[u8], offset: usize, opcode: u8) -> Result<usize> {
    let word = |at: usize| {
        let bytes = bytecode.get(at..).and_then(|rest| rest.first_chunk::<4>());
        bytes.map(|word| i64::from(i32::from_be_bytes(*word))).ok_or(truncated(offset))
    };
    let aligned = (offset & !3) + 4;
    let length = match opcode {
        opcode::TABLESWITCH => {
            let cases = word(aligned + 8)? - word(aligned + 4)? + 1;
            if cases < 0 {
                return Err(Error::new(ErrorKind::BadValue, offset, "tableswitch"));
            }
            (aligned - offset) as i64 + 12 + 4 * cases
        }
        opcode::LOOKUPSWITCH => {
            let pairs = word(aligned + 4)?;
            if pairs < 0 {
                return Err(Error::new(ErrorKind::BadValue, offset, "lookupswitch"));
            }
            (aligned - offset) as i64 + 8 + 8 * pairs
        }
        opcode::WIDE => match bytecode.get(offset + 1).copied() {
            Some(opcode::IINC) => 6,
            Some(inner) if matches!(opcode::info(inner), Some(info) if info.form == Form::Local) => 4,
            Some(inner) => return Err(Error::new(ErrorKind::UnknownOpcode(inner), offset, "wide")),
            None => return Err(truncated(offset)),
        },
        _ => return Err(Error::new(ErrorKind::UnknownOpcode(opcode), offset, "code")),
    };
    usize::try_from(length).map_err(|_| truncated(offset))
}

/// Iterates over the instructions of a body; ends after the first error.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    bytecode: &'a [u8],
    offset: usize,
}

impl<'a> Instructions<'a> {
    /// The instructions of `bytecode`.
    pub fn new(bytecode: &'a [u8]) -> Instructions<'a> {
        Instructions { bytecode, offset: 0 }
    }

    /// The instructions from the one at `offset` on.
    pub fn starting_at(bytecode: &'a [u8], offset: usize) -> Instructions<'a> {
        Instructions { bytecode, offset }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>>;

    fn next(&mut self) -> Option<Result<Instruction<'a>>> {
        if self.offset >= self.bytecode.len() {
            return None;
        }
        let offset = self.offset;
        let instruction = length_at(self.bytecode, offset).and_then(|length| {
            let bytes = self.bytecode.get(offset..offset + length).ok_or(truncated(offset))?;
            let opcode = *bytes.first().ok_or(truncated(offset))?;
            self.offset += length;
            Ok(Instruction { offset: offset as u32, opcode, bytes })
        });
        if instruction.is_err() {
            self.offset = self.bytecode.len();
        }
        Some(instruction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_switches_depend_on_their_place() {
        // nop; tableswitch with 2 padding bytes, default +20, low 1, high 2, two distances
        let mut code = vec![opcode::NOP, opcode::TABLESWITCH, 0, 0];
        for word in [20i32, 1, 2, 21, 22] {
            code.extend(word.to_be_bytes());
        }
        code.push(opcode::RETURN);
        let instructions: Vec<_> = Instructions::new(&code).collect::<Result<_>>().unwrap();
        assert_eq!(instructions.iter().map(|i| i.offset).collect::<Vec<_>>(), [0, 1, 24]);
        let switch = instructions[1].switch().unwrap();
        assert_eq!(switch.default, 20);
        assert_eq!(switch.cases().collect::<Vec<_>>(), [(1, 21), (2, 22)]);
    }

    #[test]
    fn the_last_local_of_a_long_is_its_second_slot() {
        let last = |bytes: &[u8]| Instructions::new(bytes).next().unwrap().unwrap().last_local();
        assert_eq!(last(&[opcode::ILOAD, 7]), Some(7));
        assert_eq!(last(&[opcode::LSTORE, 7]), Some(8));
        assert_eq!(last(&[opcode::ALOAD_3]), Some(3));
        assert_eq!(last(&[opcode::DLOAD_3]), Some(4));
        assert_eq!(last(&[opcode::ISTORE_0]), Some(0));
        assert_eq!(last(&[opcode::IINC, 9, 1]), Some(9));
        assert_eq!(last(&[opcode::WIDE, opcode::DSTORE, 0xff, 0xff]), Some(0x10000));
        assert_eq!(last(&[opcode::SIPUSH, 1, 2]), None);
    }

    #[test]
    fn broken_code_is_an_error_not_a_panic() {
        for code in
            [&[opcode::SIPUSH, 1][..], &[opcode::TABLESWITCH], &[opcode::WIDE], &[opcode::WIDE, opcode::NOP], &[0xfe]]
        {
            assert!(Instructions::new(code).any(|instruction| instruction.is_err()), "{code:?}");
        }
        let mut huge = vec![opcode::LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0];
        huge.extend(i32::MAX.to_be_bytes());
        assert!(length_at(&huge, 0).is_err());
    }
}
