//! One method body that is edited the plain way: insert at one place, repair everything, insert at the next place.

use anyhow::{Context, Result, ensure};
use classfile::Code;
use classfile::instruction::{Instruction, Instructions};
use classfile::opcode::{self, Form};

/// Code and the offsets that its tables hold.
#[derive(Debug)]
pub(crate) struct Body {
    code: Vec<u8>,
    /// Start, end and handler of each row.
    exceptions: Vec<[usize; 3]>,
    /// Offsets in the other tables: lines, variables, frames.
    places: Vec<usize>,
    /// How often all instructions were walked to find their new offsets.
    pub(crate) passes: u64,
}

/// Where each instruction goes, by its old offset, and which branches get four bytes for their distance.
struct Layout {
    offsets: Vec<usize>,
    is_wide: Vec<bool>,
}

impl Body {
    pub(crate) fn of(code: &Code<'_>, places: Vec<usize>) -> Body {
        let rows = code.exception_table.rows();
        let exceptions = rows.map(|row| [row.start, row.end, row.handler].map(usize::from)).collect();
        Body { code: code.bytecode.to_vec(), exceptions, places, passes: 0 }
    }

    /// Inserts `prolog` at the start and `epilog` before each return, and appends `handler` for all code in between.
    pub(crate) fn surround(&mut self, prolog: &[u8], epilog: &[u8], handler: &[u8]) -> Result<()> {
        self.insert(0, prolog, true)?;
        let mut number = 0;
        while let Some(at) = self.nth_return(number)? {
            self.insert(at, epilog, false)?;
            number += 1;
        }
        let end = self.code.len();
        self.insert(end, handler, false)?;
        self.exceptions.push([prolog.len(), end, end]);
        Ok(())
    }

    fn nth_return(&self, number: usize) -> Result<Option<usize>> {
        let is_return = |opcode: u8| (opcode::IRETURN..=opcode::RETURN).contains(&opcode);
        let mut found = 0;
        for instruction in Instructions::new(&self.code) {
            let instruction = instruction?;
            if is_return(instruction.opcode) {
                if found == number {
                    return Ok(Some(instruction.offset as usize));
                }
                found += 1;
            }
        }
        Ok(None)
    }

    /// Inserts bytes at an instruction. `is_in_front`: a jump to that instruction does not run them.
    fn insert(&mut self, at: usize, bytes: &[u8], is_in_front: bool) -> Result<()> {
        let mut is_wide = vec![false; self.code.len()];
        let layout = loop {
            self.passes += 1;
            let offsets = self.offsets(at, bytes.len(), &is_wide)?;
            let layout = Layout { offsets, is_wide };
            let more = self.too_far(&layout, |target| layout.target(target, at, bytes.len(), is_in_front))?;
            is_wide = layout.is_wide.clone();
            if more.is_empty() {
                break layout;
            }
            more.into_iter().for_each(|branch| is_wide[branch] = true);
        };
        let moved = |place: usize| layout.target(place, at, bytes.len(), is_in_front);
        self.code = self.emit(&layout, at, bytes, moved)?;
        self.exceptions.iter_mut().flatten().for_each(|place| *place = moved(*place));
        self.places.iter_mut().for_each(|place| *place = moved(*place));
        Ok(())
    }

    fn offsets(&self, at: usize, length: usize, is_wide: &[bool]) -> Result<Vec<usize>> {
        let mut offsets = vec![usize::MAX; self.code.len() + 1];
        let mut next = 0;
        for instruction in Instructions::new(&self.code) {
            let instruction = instruction?;
            let old = instruction.offset as usize;
            next += if old == at { length } else { 0 };
            offsets[old] = next;
            next += new_length(&instruction, next, is_wide[old]);
        }
        offsets[self.code.len()] = next + if at == self.code.len() { length } else { 0 };
        Ok(offsets)
    }

    /// Short branches that do not reach their targets any more.
    fn too_far(&self, layout: &Layout, moved: impl Fn(usize) -> usize) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        for instruction in Instructions::new(&self.code) {
            let instruction = instruction?;
            let old = instruction.offset as usize;
            let is_short = opcode::info(instruction.opcode).is_some_and(|info| info.form == Form::Branch);
            if let (true, Some(target)) = (is_short && !layout.is_wide[old], instruction.branch_target()) {
                let distance = moved(target as usize) as i64 - layout.offsets[old] as i64;
                if i16::try_from(distance).is_err() {
                    found.push(old);
                }
            }
        }
        Ok(found)
    }

    fn emit(&self, layout: &Layout, at: usize, bytes: &[u8], moved: impl Fn(usize) -> usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for instruction in Instructions::new(&self.code) {
            let instruction = instruction?;
            let old = instruction.offset as usize;
            if old == at {
                out.extend_from_slice(bytes);
            }
            let here = out.len();
            let distance = |target: i64| moved(target as usize) as i64 - here as i64;
            if let Some(switch) = instruction.switch() {
                out.push(instruction.opcode);
                out.resize(here + 4 - here % 4, 0);
                let word =
                    |distance_before: i32| distance(i64::from(switch.offset) + i64::from(distance_before)) as i32;
                out.extend(word(switch.default).to_be_bytes());
                let cases: Vec<_> = switch.cases().collect();
                match switch.low {
                    Some(low) => {
                        out.extend(low.to_be_bytes());
                        out.extend((low + cases.len() as i32 - 1).to_be_bytes());
                        cases.iter().for_each(|(_, case)| out.extend(word(*case).to_be_bytes()));
                    }
                    None => {
                        out.extend((cases.len() as i32).to_be_bytes());
                        for (key, case) in &cases {
                            out.extend(key.to_be_bytes());
                            out.extend(word(*case).to_be_bytes());
                        }
                    }
                }
            } else if let Some(target) = instruction.branch_target() {
                branch(&mut out, &instruction, distance(target), layout.is_wide[old]);
            } else {
                out.extend_from_slice(instruction.bytes);
            }
        }
        if at == self.code.len() {
            out.extend_from_slice(bytes);
        }
        Ok(out)
    }

    /// Whether all that points into the code points at instructions.
    pub(crate) fn check(&self) -> Result<()> {
        let mut starts = vec![false; self.code.len() + 1];
        starts[self.code.len()] = true;
        let mut targets: Vec<usize> = self.exceptions.iter().flatten().chain(&self.places).copied().collect();
        for instruction in Instructions::new(&self.code) {
            let instruction = instruction?;
            starts[instruction.offset as usize] = true;
            targets.extend(instruction.branch_target().map(|target| target as usize));
            let of_switch = instruction.switch().map(|switch| {
                let distances = switch.cases().map(|(_, distance)| distance).chain([switch.default]);
                distances.map(|distance| (i64::from(switch.offset) + i64::from(distance)) as usize).collect::<Vec<_>>()
            });
            targets.extend(of_switch.into_iter().flatten());
        }
        for target in targets {
            ensure!(*starts.get(target).context("beyond the code")?, "{target} is no instruction");
        }
        Ok(())
    }
}

impl Layout {
    fn target(&self, old: usize, at: usize, length: usize, is_in_front: bool) -> usize {
        let new = self.offsets[old];
        if old == at && !is_in_front { new - length } else { new }
    }
}

fn new_length(instruction: &Instruction<'_>, new_offset: usize, is_wide: bool) -> usize {
    let length = instruction.bytes.len();
    if instruction.switch().is_some() {
        return length - (3 - instruction.offset as usize % 4) + (3 - new_offset % 4);
    }
    match (is_wide, instruction.opcode) {
        (false, _) => length,
        (true, opcode::GOTO | opcode::JSR) => 5,
        (true, _) => 8,
    }
}

fn branch(out: &mut Vec<u8>, instruction: &Instruction<'_>, distance: i64, is_wide: bool) {
    let is_long = opcode::info(instruction.opcode).is_some_and(|info| info.form == Form::WideBranch);
    match (is_long, is_wide, instruction.opcode) {
        (true, ..) => {
            out.push(instruction.opcode);
            out.extend((distance as i32).to_be_bytes());
        }
        (false, false, opcode) => {
            out.push(opcode);
            out.extend((distance as i16).to_be_bytes());
        }
        (false, true, opcode @ (opcode::GOTO | opcode::JSR)) => {
            out.push(opcode + (opcode::GOTO_W - opcode::GOTO));
            out.extend((distance as i32).to_be_bytes());
        }
        (false, true, opcode) => {
            // The opposite condition jumps over the long jump.
            let opposite = if opcode >= opcode::IFNULL { opcode ^ 1 } else { ((opcode + 1) ^ 1) - 1 };
            out.extend([opposite, 0, 8, opcode::GOTO_W]);
            out.extend((distance as i32 - 3).to_be_bytes());
        }
    }
}
