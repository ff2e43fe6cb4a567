//! Which merged methods get the engine's own check, and the check of a method as it was written.

use std::convert::Infallible;

use classfile::stack_map::{VerificationType, implied_locals};
use classfile::{ByteReader, ClassFile, ConstantPool, Member};

use super::Workspace;
use crate::weave::merge::emit::TargetMethod;
use crate::weave::refusal::Refusal;
use crate::weave::verify::Body;

/// Which methods of the single pass are checked. Those that were merged by way of nodes always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// All: in debug builds, and wherever the two walkers are compared.
    EveryMethod,
    /// One of 128.
    Sample,
}

impl Default for Checked {
    fn default() -> Checked {
        if cfg!(debug_assertions) { Checked::EveryMethod } else { Checked::Sample }
    }
}

impl Checked {
    /// Returns whether a method is checked. It depends on nothing but the class file, so the same class is always treated alike.
    pub(super) fn includes(self, class: &ClassFile<'_>, method: &Member<'_>) -> bool {
        self == Checked::EveryMethod || is_in_sample(class.bytes().len(), method.attributes_offset)
    }
}

/// Chooses one of 128 methods by the seven highest bits of a product (Fibonacci hashing) of the length of the file and the method's
/// place in it.
fn is_in_sample(file_length: usize, place: usize) -> bool {
    let mixed = (file_length as u64) << 32 ^ place as u64;
    mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57 == 0
}

const UNREADABLE: Refusal = Refusal::SelfCheck("unreadable method");

impl Workspace {
    /// Checks the merged method that was written from `start` on: `attributes_count` and the attributes. `has_frames` is false for
    /// code that the JVM verifies without frames, or not at all.
    pub(super) fn check_written(
        &mut self,
        class: &ClassFile<'_>,
        target: &TargetMethod<'_>,
        start: usize,
        has_frames: bool,
    ) -> Result<(), Refusal> {
        let written = self.methods.as_slice().get(start..).ok_or(UNREADABLE)?;
        let code = Written::read(written, class.constant_pool()).map_err(|_| UNREADABLE)?.ok_or(UNREADABLE)?;
        let receiver = (!target.is_static()).then_some(VerificationType::Top);
        // The check counts slots and does not look at types.
        let Ok(()) = implied_locals(receiver, &target.descriptor, &mut self.implied, |_| Ok::<_, Infallible>(0));
        let body = Body {
            code: code.bytecode,
            rows: code.rows,
            max_locals: code.max_locals,
            frames: code.frames,
            implied: &self.implied,
            frames_required: class.major_version() >= 51 && has_frames,
            constants: self.pool.count(),
        };
        self.checker.check(&body).map_err(Refusal::SelfCheck)
    }
}

/// The parts of a written `Code` attribute that are checked.
struct Written<'w> {
    max_locals: u16,
    bytecode: &'w [u8],
    rows: &'w [[u8; 8]],
    frames: Option<&'w [u8]>,
}

impl<'w> Written<'w> {
    /// Reads a method from its `attributes_count` on; `None` if it has no code.
    fn read(method: &'w [u8], pool: &ConstantPool<'_>) -> classfile::Result<Option<Written<'w>>> {
        let Some(code) = find(&mut ByteReader::new(method, 0, "method_info"), b"Code", pool)? else { return Ok(None) };
        let mut reader = ByteReader::new(code, 0, "Code");
        let (_max_stack, max_locals) = (reader.u2()?, reader.u2()?);
        let length = reader.u4()? as usize;
        let bytecode = reader.take(length)?;
        let rows = usize::from(reader.u2()?);
        let (rows, _) = reader.take(rows * 8)?.as_chunks::<8>();
        let frames = find(&mut reader, FRAMES, pool)?;
        Ok(Some(Written { max_locals, bytecode, rows, frames }))
    }
}

const FRAMES: &[u8] = b"StackMapTable";

/// Reads a table of attributes to its end; returns the content of the first with this name.
fn find<'w>(
    reader: &mut ByteReader<'w>,
    wanted: &[u8],
    pool: &ConstantPool<'_>,
) -> classfile::Result<Option<&'w [u8]>> {
    let mut found = None;
    for _ in 0..reader.u2()? {
        let name = reader.u2()?;
        // The one name that is ever appended to the pool is that of the frames.
        let name = if name < pool.count() { pool.utf8(name)?.as_bytes() } else { FRAMES };
        let length = reader.u4()? as usize;
        let content = reader.take(length)?;
        if name == wanted {
            found = found.or(Some(content));
        }
    }
    reader.expect_end()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_about_one_of_128_whatever_the_sizes_of_classes_and_methods() {
        for step in [17, 64, 96, 1_000] {
            let chosen =
                |length: usize| (10..length).step_by(step).filter(|place| is_in_sample(length, *place)).count();
            let (chosen, all) = (100..400)
                .map(|number| number * 256)
                .fold((0, 0), |(sum, all), length| (sum + chosen(length), all + (length - 10).div_ceil(step)));
            assert!((all / 192..all / 96).contains(&chosen), "{chosen} of {all}, every {step} bytes");
        }
    }
}
