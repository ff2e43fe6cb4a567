//! Writes a method body instruction by instruction from what the decoder says about each.

use crate::instruction::{Instruction, Instructions, Switch};
use crate::opcode::{self, Form};
use crate::{ByteWriter, Code, Error, ErrorKind, Result};

/// Writes everything of a `Code` attribute but its attributes: limits, instructions, exception table.
pub(crate) fn write_body(code: &Code<'_>, out: &mut ByteWriter) -> Result<()> {
    out.u2(code.max_stack);
    out.u2(code.max_locals);
    let length_position = out.len();
    out.u4(0);
    let start = out.len();
    for instruction in Instructions::new(code.bytecode) {
        write_instruction(&instruction?, out)?;
    }
    // Bodies are parts of a Code attribute, so they are shorter than 4 GiB.
    out.patch_u4(length_position, (out.len() - start) as u32);
    out.u2(code.exception_table.len() as u16);
    for row in code.exception_table.rows() {
        out.u2(row.start);
        out.u2(row.end);
        out.u2(row.handler);
        out.u2(row.catch_type);
    }
    Ok(())
}

fn write_instruction(instruction: &Instruction<'_>, out: &mut ByteWriter) -> Result<()> {
    let error = |kind| Error::new(kind, instruction.offset as usize, "code");
    let info = opcode::info(instruction.opcode).ok_or(error(ErrorKind::UnknownOpcode(instruction.opcode)))?;
    out.u1(instruction.opcode);
    match info.form {
        Form::None => {}
        Form::Byte | Form::ShortConstant | Form::Local | Form::ArrayType => out.u1(instruction.u1(0)),
        Form::Short | Form::Constant | Form::Branch => out.u2(instruction.u2(0)),
        Form::Increment => {
            out.u1(instruction.u1(0));
            out.u1(instruction.u1(1));
        }
        Form::WideBranch => {
            let target = instruction.branch_target().ok_or(error(ErrorKind::BadValue))?;
            out.i4((target - i64::from(instruction.offset)) as i32);
        }
        Form::InvokeInterface | Form::InvokeDynamic => {
            out.u2(instruction.u2(0));
            out.u2(instruction.u2(2));
        }
        Form::MultiNewArray => {
            out.u2(instruction.u2(0));
            out.u1(instruction.u1(2));
        }
        Form::Wide => {
            out.u1(instruction.u1(0));
            out.u2(instruction.u2(1));
            if instruction.u1(0) == opcode::IINC {
                out.u2(instruction.u2(3));
            }
        }
        Form::TableSwitch | Form::LookupSwitch => {
            let switch = instruction.switch().ok_or(error(ErrorKind::Truncated))?;
            let padding = 3 - (instruction.offset as usize & 3);
            // Zero by custom, but the JVMS asks for nothing.
            out.bytes(instruction.bytes.get(1..1 + padding).unwrap_or_default());
            write_switch(&switch, out);
        }
    }
    Ok(())
}

fn write_switch(switch: &Switch<'_>, out: &mut ByteWriter) {
    out.i4(switch.default);
    let cases = switch.cases().count() as i32;
    match switch.low {
        Some(low) => {
            out.i4(low);
            out.i4(low.wrapping_add(cases).wrapping_sub(1));
            switch.cases().for_each(|(_, distance)| out.i4(distance));
        }
        None => {
            out.i4(cases);
            switch.cases().for_each(|(key, distance)| {
                out.i4(key);
                out.i4(distance);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn survives(code: &[u8]) {
        let mut out = ByteWriter::new();
        for instruction in Instructions::new(code) {
            write_instruction(&instruction.unwrap(), &mut out).unwrap();
        }
        assert_eq!(out.as_slice(), code);
    }

    #[test]
    fn every_form_survives() {
        for opcode in 0..=0xC9 {
            let operands = match opcode {
                opcode::TABLESWITCH | opcode::LOOKUPSWITCH => continue,
                opcode::WIDE => 0,
                _ => opcode::fixed_length(opcode) - 1,
            };
            let mut code = vec![opcode];
            code.extend((1..=operands).map(|byte| 0x80 + byte as u8));
            if opcode == opcode::WIDE {
                code.extend([opcode::IINC, 1, 2, 3, 4, opcode::WIDE, opcode::ALOAD, 5, 6]);
            }
            survives(&code);
        }
    }

    #[test]
    fn switches_survive_at_every_alignment() {
        for before in 0..4 {
            for (opcode, words) in [
                (opcode::TABLESWITCH, &[9, -1, 1, 10, 20, 30][..]),
                (opcode::TABLESWITCH, &[9, i32::MAX, i32::MAX, 10]),
                (opcode::LOOKUPSWITCH, &[9, 2, -5, 10, 5, 20]),
                (opcode::LOOKUPSWITCH, &[9, 0]),
            ] {
                let mut code = vec![opcode::NOP; before];
                code.push(opcode);
                code.resize(before / 4 * 4 + 4, 0);
                code.extend(words.iter().flat_map(|word: &i32| word.to_be_bytes()));
                code.push(opcode::RETURN);
                survives(&code);
            }
        }
    }
}
