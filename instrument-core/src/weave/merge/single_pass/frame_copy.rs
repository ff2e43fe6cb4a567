//! The target's frames, copied from bytes to bytes while its code is walked (JVMS 4.7.4): offsets moved, locals filled up and
//! followed by the template's. The result is what [`classfile::stack_map::FrameEncoder`] would write.

use classfile::stack_map::{FrameForm, FrameHead};
use classfile::{ByteReader, ByteWriter};

use super::Bailout;
use crate::weave::body::super_call::MadeObjects;
use crate::weave::merge::frames::MOST_TYPES;
use crate::weave::merge::places::Places;

const FULL: u8 = 255;
/// Tag of the verification type of a local that holds nothing usable.
const TOP: u8 = 0;

/// Memory of the copy.
#[derive(Debug, Default)]
pub(crate) struct FrameMemory {
    /// The present locals of the target, in the form of the file.
    locals: Vec<u8>,
    /// Where each of them begins.
    starts: Vec<u32>,
    /// Slots they fill.
    slots: usize,
    stack: Vec<u8>,
    /// Locals of the frame that was written last, trailing tops left out.
    previous: Listed,
    present: Listed,
    out: ByteWriter,
}

/// Verification types in the form of the file.
#[derive(Debug, Default)]
pub(super) struct Listed {
    bytes: Vec<u8>,
    count: usize,
    /// Bytes and entries up to the last that is no top.
    solid: (usize, usize),
}

impl Listed {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.solid = (0, 0);
    }

    pub(super) fn push(&mut self, entry: &[u8]) {
        self.bytes.extend_from_slice(entry);
        self.count += 1;
        if entry != [TOP] {
            self.solid = (self.bytes.len(), self.count);
        }
    }

    pub(super) fn tops(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
        self.count += count;
    }

    pub(super) fn append(&mut self, other: &Listed) {
        if other.solid.1 > 0 {
            self.solid = (self.bytes.len() + other.solid.0, self.count + other.solid.1);
        }
        self.bytes.extend_from_slice(&other.bytes);
        self.count += other.count;
    }

    /// Trailing tops say nothing; the verifier fills up with them.
    pub(super) fn without_trailing_tops(&mut self) -> &Listed {
        self.bytes.truncate(self.solid.0);
        self.count = self.solid.1;
        self
    }
}

impl FrameMemory {
    /// Starts a method. `implied` are the locals that its descriptor implies, if something depends on them.
    fn begin(&mut self, implied: &Listed) {
        self.locals.clear();
        self.locals.extend_from_slice(&implied.bytes);
        self.starts.clear();
        self.slots = 0;
        self.previous.clear();
        self.previous.append(implied);
        self.out.clear();
        self.out.u2(0);
    }
}

/// Reads frames and writes them.
pub(super) struct FrameCopy<'f, 'm> {
    reader: ByteReader<'f>,
    left: u16,
    form: FrameForm,
    /// Original offset of the frame that [`FrameCopy::copy`] takes next.
    offset: Option<u32>,
    written: u16,
    last_written: Option<u32>,
    previous_known: bool,
    locals_changed: bool,
    max_locals: usize,
    /// `constant_pool_count` of the original class.
    constants: u16,
    /// Types in all frames together, written out.
    types: usize,
    /// The entries after the target's locals in all of its frames.
    added: &'f Listed,
    memory: &'m mut FrameMemory,
}

impl<'f, 'm> FrameCopy<'f, 'm> {
    /// A copy of the frames in `content`; `implied` gives the locals that the descriptor implies.
    pub(super) fn new(
        content: Option<&'f [u8]>,
        implied: &Listed,
        (max_locals, constants): (u16, u16),
        added: &'f Listed,
        memory: &'m mut FrameMemory,
    ) -> Result<FrameCopy<'f, 'm>, Bailout> {
        let mut reader = ByteReader::new(content.unwrap_or(&[0, 0]), 0, "StackMapTable");
        let left = reader.u2()?;
        memory.begin(implied);
        let mut at = 0;
        while let Some(&tag) = implied.bytes.get(at) {
            memory.starts.push(at as u32);
            memory.slots += slots_of(tag);
            at += length_of(tag)?;
        }
        Ok(FrameCopy {
            reader,
            left,
            form: FrameForm::Same,
            offset: None,
            written: 0,
            last_written: None,
            previous_known: content.is_some(),
            locals_changed: true,
            max_locals: usize::from(max_locals),
            constants,
            types: 0,
            added,
            memory,
        })
    }

    /// Returns the original offset of the next frame; `u32::MAX` after the last.
    pub(super) fn next_offset(&mut self) -> Result<u32, Bailout> {
        if self.left == 0 {
            self.reader.expect_end()?;
            return Ok(u32::MAX);
        }
        self.left -= 1;
        let head = FrameHead::read(&mut self.reader)?;
        self.form = head.form;
        let delta = u32::from(head.delta);
        let offset = self.offset.map_or(delta, |before| before + delta + 1);
        self.offset = Some(offset);
        Ok(offset)
    }

    /// Reads the rest of the next frame and writes it at its new offset, unless it is not `wanted`. Gives the words on its stack.
    pub(super) fn copy(&mut self, new_offset: u32, wanted: bool, places: &Places<'_>) -> Result<i32, Bailout> {
        self.memory.stack.clear();
        let (mut count, mut words) = (0, 0);
        match self.form {
            FrameForm::Same => {}
            FrameForm::OneStackItem => (count, words) = (1, self.stack_entries(1, places)?),
            FrameForm::Chop(gone) => self.chop(usize::from(gone))?,
            FrameForm::Append(added) => self.locals(u16::from(added), places)?,
            FrameForm::Full => {
                self.memory.locals.clear();
                self.memory.starts.clear();
                self.memory.slots = 0;
                let locals = self.reader.u2()?;
                self.locals(locals, places)?;
                self.locals_changed = true;
                count = usize::from(self.reader.u2()?);
                words = self.stack_entries(count, places)?;
            }
        }
        if wanted {
            self.write_copied(new_offset, count)?;
        }
        Ok(words)
    }

    fn chop(&mut self, count: usize) -> Result<(), Bailout> {
        let memory = &mut *self.memory;
        for _ in 0..count {
            let start = memory.starts.pop().ok_or(Bailout)? as usize;
            memory.slots -= slots_of(*memory.locals.get(start).ok_or(Bailout)?);
            memory.locals.truncate(start);
        }
        self.locals_changed = true;
        Ok(())
    }

    fn locals(&mut self, count: u16, places: &Places<'_>) -> Result<(), Bailout> {
        let memory = &mut *self.memory;
        for _ in 0..count {
            memory.starts.push(memory.locals.len() as u32);
            memory.slots += entry(&mut self.reader, places, self.constants, &mut memory.locals)?;
        }
        self.locals_changed = true;
        Ok(())
    }

    fn stack_entries(&mut self, count: usize, places: &Places<'_>) -> Result<i32, Bailout> {
        let mut words = 0;
        for _ in 0..count {
            words += entry(&mut self.reader, places, self.constants, &mut self.memory.stack)?;
        }
        Ok(words as i32)
    }

    /// Returns whether the object of a constructor is initialised in the present frame, and which others are not.
    pub(super) fn initialisation(&self) -> Result<(bool, MadeObjects), Bailout> {
        let mut is_initialised = true;
        let mut made = MadeObjects::new();
        for types in [&self.memory.locals, &self.memory.stack] {
            let mut at = 0;
            while let Some(&tag) = types.get(at) {
                is_initialised &= tag != 6;
                if let (8, Some(place)) = (tag, types.get(at + 1..at + 3)) {
                    made.push(place.iter().fold(0, |place, byte| place << 8 | u32::from(*byte)));
                }
                at += length_of(tag)?;
            }
        }
        Ok((is_initialised, made))
    }

    fn write_copied(&mut self, new_offset: u32, stack_count: usize) -> Result<(), Bailout> {
        let memory = &mut *self.memory;
        if self.locals_changed {
            let tops = self.max_locals.checked_sub(memory.slots).ok_or(Bailout)?;
            let is_solid = |start: &&u32| memory.locals.get(**start as usize) != Some(&TOP);
            let solid = memory.starts.iter().rev().skip_while(|start| !is_solid(start)).count();
            memory.present.clear();
            memory.present.bytes.extend_from_slice(&memory.locals);
            memory.present.count = memory.starts.len();
            memory.present.solid = (memory.starts.get(solid).map_or(memory.locals.len(), |end| *end as usize), solid);
            memory.present.tops(tops);
            memory.present.append(self.added);
            self.types += memory.present.count;
            memory.present.without_trailing_tops();
        }
        self.types += stack_count;
        // By way of nodes there are those of the template, too.
        if self.types > MOST_TYPES / 2 {
            return Err(Bailout);
        }
        let stack = std::mem::take(&mut memory.stack);
        let written = self.write(new_offset, &stack, stack_count);
        self.memory.stack = stack;
        self.locals_changed = false;
        written
    }

    /// Writes a frame with other locals than the target's.
    pub(super) fn add(&mut self, new_offset: u32, locals: &Listed, stack: &Listed) -> Result<(), Bailout> {
        let present = &mut self.memory.present;
        present.clear();
        present.append(locals);
        self.locals_changed = true;
        self.write(new_offset, &stack.bytes, stack.count)
    }

    /// Writes the frame with the locals in `present`, in the shortest form.
    fn write(&mut self, offset: u32, stack: &[u8], stack_count: usize) -> Result<(), Bailout> {
        let delta = match self.last_written {
            None => offset,
            Some(before) => offset.checked_sub(before + 1).ok_or(Bailout)?,
        };
        let delta = u16::try_from(delta).map_err(|_| Bailout)?;
        let FrameMemory { previous, present, out, .. } = &mut *self.memory;
        let same = self.written > 0 && !self.locals_changed || self.previous_known && previous.bytes == present.bytes;
        if same && stack_count == 0 {
            tag(out, 0, 251, delta);
        } else if same && stack_count == 1 {
            tag(out, 64, 247, delta);
            out.bytes(stack);
        } else if let Some(added) = appended(previous, present).filter(|_| self.previous_known && stack_count == 0) {
            out.u1(251 + (present.count - previous.count) as u8);
            out.u2(delta);
            out.bytes(added);
        } else if self.previous_known && stack_count == 0 && appended(present, previous).is_some() {
            out.u1(251 - (previous.count - present.count) as u8);
            out.u2(delta);
        } else {
            out.u1(FULL);
            out.u2(delta);
            out.u2(u16::try_from(present.count).map_err(|_| Bailout)?);
            out.bytes(&present.bytes);
            out.u2(u16::try_from(stack_count).map_err(|_| Bailout)?);
            out.bytes(stack);
        }
        if !same {
            previous.clear();
            previous.append(present);
        }
        self.previous_known = true;
        self.written = self.written.checked_add(1).ok_or(Bailout)?;
        self.last_written = Some(offset);
        Ok(())
    }

    /// The content of the merged method's `StackMapTable`; `None` if it has no frame.
    pub(super) fn finish(self) -> Option<&'m [u8]> {
        self.memory.out.patch_u2(0, self.written);
        (self.written > 0).then(|| self.memory.out.as_slice())
    }
}

/// Returns the entries of `longer` after those of `shorter`, if these are one to three.
fn appended<'l>(shorter: &Listed, longer: &'l Listed) -> Option<&'l [u8]> {
    let added = longer.count.checked_sub(shorter.count)?;
    if (1..=3).contains(&added) { longer.bytes.strip_prefix(shorter.bytes.as_slice()) } else { None }
}

fn tag(out: &mut ByteWriter, short: u8, long: u8, delta: u16) {
    if delta < 64 {
        out.u1(short + delta as u8);
    } else {
        out.u1(long);
        out.u2(delta);
    }
}

/// Copies a verification type; gives its slots.
#[inline]
fn entry(reader: &mut ByteReader<'_>, places: &Places<'_>, constants: u16, to: &mut Vec<u8>) -> Result<usize, Bailout> {
    let tag = reader.u1()?;
    to.push(tag);
    match tag {
        0..=6 => {}
        7 => {
            let class = reader.u2()?;
            if class >= constants {
                return Err(Bailout);
            }
            to.extend_from_slice(&class.to_be_bytes());
        }
        // Named by the offset of its `new`, which precedes it in all code that compilers write.
        8 => to.extend_from_slice(&places.instruction(reader.u2()?)?.to_be_bytes()),
        _ => return Err(Bailout),
    }
    Ok(slots_of(tag))
}

fn slots_of(tag: u8) -> usize {
    if matches!(tag, 3 | 4) { 2 } else { 1 }
}

fn length_of(tag: u8) -> Result<usize, Bailout> {
    match tag {
        0..=6 => Ok(1),
        7 | 8 => Ok(3),
        _ => Err(Bailout),
    }
}
