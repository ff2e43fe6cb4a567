//! Writes the rewritten class: what is as it was in large pieces, what was merged method by method.

use std::ops::Range;

use classfile::{ByteWriter, ClassFile, Member, ModifiedUtf8};

use super::{Workspace, bootstrap_rows, copied_references};
use crate::weave::merge::node_merge::MergedBody;
use crate::weave::outcome::RewrittenMethod;
use crate::weave::refusal::Refusal;

impl Workspace {
    /// Writes the method's attributes, `Code` in its merged form.
    pub(super) fn write_method(
        &mut self,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        merged: &MergedBody,
    ) -> Result<(), Refusal> {
        let file = class.bytes();
        let out = &mut self.methods;
        out.bytes(part(file, method.attributes_offset..method.attributes_offset + 2)?);
        for attribute in method.attributes(class) {
            let attribute = attribute?;
            out.u2(attribute.name_index);
            if attribute.name != "Code" {
                out.u4(attribute.content.len() as u32);
                out.bytes(attribute.content);
                continue;
            }
            let length_position = out.len();
            out.u4(0);
            write_code(out, merged)?;
            out.patch_u4(length_position, (out.len() - length_position - 4) as u32);
        }
        Ok(())
    }

    /// Header, pool with what was appended, fields, methods, class attributes.
    pub(super) fn assemble(
        &mut self,
        class: &ClassFile<'_>,
        rewritten: &[RewrittenMethod],
    ) -> Result<Vec<u8>, Refusal> {
        let file = class.bytes();
        if !self.bootstrap.appended.is_empty() {
            bootstrap_rows::check(class, self.bootstrap.existing)?;
            // The attribute's name must be in the pool before the pool is written.
            self.pool.utf8(class.constant_pool(), ModifiedUtf8(b"BootstrapMethods"))?;
        }
        copied_references::check(class, self.pool.count(), rewritten)?;
        let capacity = file.len() + self.pool.appended().len() + self.methods.len();
        let mut out = ByteWriter::from_vec(std::mem::take(&mut self.written));
        out.clear();
        out.reserve(capacity);
        let pool_end = class.constant_pool().end_offset();
        out.bytes(part(file, 0..8)?);
        out.u2(self.pool.count());
        out.bytes(part(file, 10..pool_end)?);
        out.bytes(self.pool.appended());
        out.bytes(part(file, pool_end..class.methods_offset())?);
        out.bytes(self.methods.as_slice());
        self.class_attributes(class, &mut out)?;
        Ok(out.into_vec())
    }

    /// Copies the class's attributes; `BootstrapMethods` gets the appended rows.
    fn class_attributes(&mut self, class: &ClassFile<'_>, out: &mut ByteWriter) -> Result<(), Refusal> {
        let file = class.bytes();
        let rest = part(file, class.attributes_offset()..file.len())?;
        if self.bootstrap.appended.is_empty() {
            out.bytes(rest);
            return Ok(());
        }
        let count_position = out.len();
        let mut count = 0u16;
        out.u2(0);
        let mut existing: &[u8] = &[];
        for attribute in class.attributes() {
            let attribute = attribute?;
            if attribute.name == "BootstrapMethods" {
                existing = part(attribute.content, 2..attribute.content.len())?;
                continue;
            }
            out.u2(attribute.name_index);
            out.u4(attribute.content.len() as u32);
            out.bytes(attribute.content);
            count = count.checked_add(1).ok_or(Refusal::TooManyAttributes)?;
        }
        out.u2(self.pool.utf8(class.constant_pool(), ModifiedUtf8(b"BootstrapMethods"))?);
        let length_position = out.len();
        out.u4(0);
        let rows = usize::from(self.bootstrap.existing) + self.bootstrap.appended.len();
        out.u2(u16::try_from(rows).map_err(|_| Refusal::SelfCheck("more than 65,535 bootstrap methods"))?);
        out.bytes(existing);
        for row in &self.bootstrap.appended {
            out.u2(row.handle);
            out.u2(row.arguments.len() as u16);
            row.arguments.iter().for_each(|argument| out.u2(*argument));
        }
        out.patch_u4(length_position, (out.len() - length_position - 4) as u32);
        out.patch_u2(count_position, count.checked_add(1).ok_or(Refusal::TooManyAttributes)?);
        Ok(())
    }
}

/// Returns a part of the file, or of an attribute, that the class's outline has found.
fn part(bytes: &[u8], range: Range<usize>) -> Result<&[u8], Refusal> {
    bytes.get(range).ok_or(Refusal::SelfCheck("part outside the class"))
}

fn write_code(out: &mut ByteWriter, merged: &MergedBody) -> Result<(), Refusal> {
    let tables = u16::try_from(merged.tables.len()).map_err(|_| Refusal::TooManyAttributes)?;
    out.u2(merged.max_stack);
    out.u2(merged.max_locals);
    out.u4(merged.code.len() as u32);
    out.bytes(&merged.code);
    out.u2(u16::try_from(merged.rows.len()).map_err(|_| Refusal::SelfCheck("more than 65,535 handlers"))?);
    for row in &merged.rows {
        out.bytes(&row.bytes());
    }
    out.u2(tables);
    for table in &merged.tables {
        let content = merged.content(table)?;
        out.u2(table.name_index);
        out.u4(content.len() as u32);
        out.bytes(content);
    }
    Ok(())
}
