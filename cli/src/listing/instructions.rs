//! Instructions as text, with the origin of each.

use classfile::Code;
use classfile::instruction::{Instruction, Instructions};
use classfile::opcode::{self, Form};
use instrument_core::OffsetMap;

use super::constants::Constants;
use super::{Case, Line, Origin, Variable};

/// All instructions of a body.
pub(super) fn decode(
    code: &Code<'_>,
    constants: &Constants<'_, '_>,
    variables: &[Variable],
) -> classfile::Result<Vec<Line>> {
    let line = |instruction: classfile::Result<Instruction<'_>>| {
        let instruction = instruction?;
        let mut line = line(&instruction, constants);
        if let Some(slot) = slot(&instruction) {
            line.comment = variable_name(&instruction, slot, variables);
        }
        Ok(line)
    };
    Instructions::new(code.bytecode).map(line).collect()
}

fn line(instruction: &Instruction<'_>, constants: &Constants<'_, '_>) -> Line {
    let info = opcode::info(instruction.opcode);
    let mut line = Line {
        offset: instruction.offset,
        mnemonic: info.map_or("?", |info| info.name).to_owned(),
        operand: String::new(),
        cases: Vec::new(),
        comment: String::new(),
        origin: None,
        was: None,
    };
    line.operand = match info.map_or(Form::None, |info| info.form) {
        Form::None => String::new(),
        Form::Byte => (instruction.u1(0) as i8).to_string(),
        Form::Short => (instruction.u2(0) as i16).to_string(),
        Form::ShortConstant | Form::Constant | Form::InvokeInterface | Form::InvokeDynamic => {
            let index = instruction.constant().unwrap_or_default();
            if constants.is_probe_number(index) {
                line.comment = "number of the probe, set by the agent".to_owned();
            }
            constants.text(index)
        }
        Form::Local => instruction.u1(0).to_string(),
        Form::Increment => format!("{} {:+}", instruction.u1(0), instruction.u1(1) as i8),
        Form::Branch | Form::WideBranch => instruction.branch_target().unwrap_or_default().to_string(),
        Form::TableSwitch | Form::LookupSwitch => {
            line.cases = cases(instruction);
            String::new()
        }
        Form::ArrayType => array_type(instruction.u1(0)).to_owned(),
        Form::MultiNewArray => format!("{} {}", constants.text(instruction.u2(0)), instruction.u1(2)),
        Form::Wide => {
            let inner = opcode::info(instruction.u1(0)).map_or("?", |info| info.name);
            line.mnemonic = format!("wide {inner}");
            match instruction.u1(0) {
                opcode::IINC => format!("{} {:+}", instruction.u2(1), instruction.u2(3) as i16),
                _ => instruction.u2(1).to_string(),
            }
        }
    };
    line
}

fn cases(instruction: &Instruction<'_>) -> Vec<Case> {
    let Some(switch) = instruction.switch() else { return Vec::new() };
    let target = |distance: i32| i64::from(instruction.offset) + i64::from(distance);
    let keyed = switch.cases().map(|(key, distance)| Case { key: Some(key), target: target(distance) });
    keyed.chain(std::iter::once(Case { key: None, target: target(switch.default) })).collect()
}

/// JVMS table 6.5.newarray-A.
fn array_type(code: u8) -> &'static str {
    match code {
        4 => "boolean",
        5 => "char",
        6 => "float",
        7 => "double",
        8 => "byte",
        9 => "short",
        10 => "int",
        11 => "long",
        _ => "?",
    }
}

/// The local slot that an instruction reads or writes.
fn slot(instruction: &Instruction<'_>) -> Option<u16> {
    let short = |first: u8| u16::from((instruction.opcode - first) % 4);
    match instruction.opcode {
        opcode::ILOAD_0..=opcode::ALOAD_3 => Some(short(opcode::ILOAD_0)),
        opcode::ISTORE_0..=opcode::ASTORE_3 => Some(short(opcode::ISTORE_0)),
        opcode::WIDE => Some(instruction.u2(1)),
        other => match opcode::info(other)?.form {
            Form::Local | Form::Increment => Some(u16::from(instruction.u1(0))),
            _ => None,
        },
    }
}

/// Returns the name of the variable in `slot`. The range of a variable begins after the instruction that sets it first.
fn variable_name(instruction: &Instruction<'_>, slot: u16, variables: &[Variable]) -> String {
    let next = instruction.offset + instruction.bytes.len() as u32;
    let lives = |variable: &&Variable, at: u32| {
        variable.slot == slot && (u32::from(variable.start)..variable.end).contains(&at)
    };
    let of = |at: u32| variables.iter().find(|variable| lives(variable, at));
    of(instruction.offset).or_else(|| of(next)).map(|variable| variable.name.clone()).unwrap_or_default()
}

/// Says for each instruction of an instrumented method whether it was there before.
pub(super) fn mark_origins(lines: &mut [Line], before: &[Line], map: &OffsetMap) {
    let first = map.stretches().map(|(_, new, _)| new).min().unwrap_or(0);
    let last = map.stretches().map(|(_, new, length)| new + length).max().unwrap_or(0);
    for line in lines {
        let original = map.to_original(line.offset);
        let original = original.and_then(|at| before.binary_search_by_key(&at, |line| line.offset).ok());
        let original = original.and_then(|at| before.get(at));
        line.was = original.map(|original| original.offset);
        line.origin = Some(match original {
            Some(original) if !is_return(original) => Origin::Target,
            Some(_) if replaces_return(line) => Origin::Return,
            // The last return of a method can vanish: the epilog follows.
            Some(_) => {
                line.was = None;
                Origin::Epilog
            }
            None if line.offset < first => Origin::Prolog,
            None if line.offset < last => Origin::Return,
            None => Origin::Epilog,
        });
    }
}

/// The same for a wrapper: its own code is the call of the original with the loads of the arguments.
pub(super) fn mark_wrapper(lines: &mut [Line], original: &str, arguments: usize) {
    let Some(call) = lines.iter().position(|line| line.mnemonic.starts_with("invoke") && line.operand == original)
    else {
        return;
    };
    for (at, line) in lines.iter_mut().enumerate() {
        line.origin = Some(match at {
            _ if at + arguments < call => Origin::Prolog,
            _ if at <= call => Origin::Target,
            _ if at == call + 1 && replaces_return(line) => Origin::Return,
            _ => Origin::Epilog,
        });
    }
}

fn is_return(line: &Line) -> bool {
    line.mnemonic.ends_with("return")
}

/// A return becomes: keep the result, drop what lies below it, go to the epilog.
fn replaces_return(line: &Line) -> bool {
    let mnemonic = line.mnemonic.trim_start_matches("wide ");
    mnemonic.contains("store") || mnemonic.starts_with("goto") || mnemonic.starts_with("pop") || mnemonic == "checkcast"
}
