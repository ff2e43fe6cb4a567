//! The renamed originals, which are appended after the methods of the class.

use classfile::{ByteWriter, ClassFile, ConstantPoolWriter, Member, ModifiedUtf8, access};

use super::NotWrapped;
use crate::weave::refusal::Refusal;

/// Methods written so far.
#[derive(Debug, Default)]
pub(crate) struct AddedMethods {
    bytes: ByteWriter,
    count: u16,
}

/// `strictfp` says how the body computes, so it goes with the body; the lock of `synchronized` is taken by the wrapper.
const KEPT: u16 = access::STATIC | access::STRICT;

impl AddedMethods {
    pub(crate) fn clear(&mut self) {
        self.rewind((0, 0));
    }

    pub(crate) fn mark(&self) -> (usize, u16) {
        (self.bytes.len(), self.count)
    }

    pub(crate) fn rewind(&mut self, mark: (usize, u16)) {
        self.bytes.truncate(mark.0);
        self.count = mark.1;
    }

    /// The method with its `Code` as it is, under another name.
    pub(crate) fn original(
        &mut self,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        name: &[u8],
        pool: &mut ConstantPoolWriter,
    ) -> Result<(), Refusal> {
        let count = self.count + 1;
        if class.methods().len() + usize::from(count) > usize::from(u16::MAX) {
            return Err(NotWrapped::MethodsFull.into());
        }
        let code = method.attributes(class).find(b"Code")?.ok_or(Refusal::NoCode)?;
        self.bytes.u2(access::PRIVATE | access::SYNTHETIC | method.access_flags & KEPT);
        self.bytes.u2(pool.utf8(class.constant_pool(), ModifiedUtf8(name))?);
        self.bytes.u2(pool.utf8(class.constant_pool(), method.descriptor)?);
        self.bytes.u2(1);
        self.bytes.u2(code.name_index);
        self.bytes.u4(code.content.len() as u32);
        self.bytes.bytes(code.content);
        self.count = count;
        Ok(())
    }

    /// Completes the table of methods, which begins with its count.
    pub(crate) fn append_to(&self, methods: &mut ByteWriter, class: &ClassFile<'_>) {
        if self.count > 0 {
            methods.bytes(self.bytes.as_slice());
            methods.patch_u2(0, class.methods().len() as u16 + self.count);
        }
    }
}
