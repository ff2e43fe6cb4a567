//! Checks that copied parts keep their meaning: an index beyond the end of the class's own constant pool makes a JVM refuse the
//! class, but in the rewritten class it would name a constant that was appended for a template.
//!
//! Checked are all parts that are copied without being parsed: those of fields and of the class, methods without a template,
//! originals of wrappers, and the attributes beside the code of the others. (What the merge reads it checks itself, and the
//! constants of the pool are checked before anything is done.) Contents of attributes are decoded only if two bytes somewhere
//! in them, read as an index, would name an appended constant, which is rare.

use classfile::attribute_kind::Location;
use classfile::attributes::AttributeContent;
use classfile::instruction;
use classfile::{Attribute, Attributes, ClassFile, Code, Error, ErrorKind, Member, Result, opcode, opcode_outline};

use crate::weave::outcome::RewrittenMethod;

/// Fails if something that is copied names a constant that was appended; `count` is that of all constants.
pub(super) fn check(class: &ClassFile<'_>, count: u16, rewritten: &[RewrittenMethod]) -> Result<()> {
    let own = class.constant_pool().count();
    if count <= own {
        return Ok(());
    }
    let copied = Copied { class, own, appended: count - own };
    for field in class.fields() {
        copied.attributes(field.attributes(class), Location::Field, true)?;
    }
    let mut rewritten = rewritten.iter().peekable();
    for (index, method) in class.methods().iter().enumerate() {
        let is_merged = match rewritten.next_if(|done| done.method_index == index) {
            Some(done) => done.renamed.is_none(),
            None => false,
        };
        copied.method(method, is_merged)?;
    }
    copied.attributes(class.attributes(), Location::Class, true)
}

struct Copied<'c, 'a> {
    class: &'c ClassFile<'a>,
    /// Constants of the class itself, and one more.
    own: u16,
    appended: u16,
}

impl<'a> Copied<'_, 'a> {
    fn method(&self, method: &Member<'a>, is_merged: bool) -> Result<()> {
        self.attributes(method.attributes(self.class), Location::Method, !is_merged)
    }

    /// Checks names and contents of attributes, which must be readable as a table: the class's outline has seen to that.
    fn attributes(&self, attributes: Attributes<'_, 'a>, location: Location, with_code: bool) -> Result<()> {
        for attribute in attributes {
            let attribute = attribute?;
            if location == Location::Method && attribute.name == "Code" {
                if with_code {
                    self.code(&attribute)?;
                }
            } else if self.may_name_appended(attribute.content) {
                self.content(&attribute, location)?;
            }
        }
        Ok(())
    }

    /// Whether any two bytes would name an appended constant.
    fn may_name_appended(&self, content: &[u8]) -> bool {
        let pairs = content.iter().zip(content.iter().skip(1));
        pairs.fold(false, |found, (high, low)| {
            let index = u16::from_be_bytes([*high, *low]);
            found | (index.wrapping_sub(self.own) < self.appended)
        })
    }

    fn index(&self, index: u16, offset: usize) -> Result<()> {
        let outside = index >= self.own;
        if outside { Err(Error::new(ErrorKind::BadConstantIndex(index), offset, "constant index")) } else { Ok(()) }
    }

    fn content(&self, attribute: &Attribute<'a>, location: Location) -> Result<()> {
        let content = AttributeContent::parse(attribute, location, self.class)?;
        let mut highest = 0;
        content.visit_constants(&mut |index| highest = highest.max(index));
        self.index(highest, attribute.offset)?;
        if let AttributeContent::Record(components) = content {
            for component in components {
                let inside = component.attributes.iter(self.class.constant_pool());
                self.attributes(inside, Location::RecordComponent, true)?;
            }
        }
        Ok(())
    }

    /// Code that nothing was merged into. What no JVM can read is left to it.
    fn code(&self, attribute: &Attribute<'a>) -> Result<()> {
        let Ok(code) = Code::parse(*attribute) else { return Ok(()) };
        self.instructions(&code)?;
        for row in code.exception_table.rows() {
            self.index(row.catch_type, attribute.offset)?;
        }
        self.attributes(code.attributes(self.class), Location::Code, true)
    }

    fn instructions(&self, code: &Code<'a>) -> Result<()> {
        let bytecode = code.bytecode;
        let byte = |at: usize| bytecode.get(at).copied().unwrap_or(0);
        let (mut at, mut highest) = (0, 0);
        while let Some(&opcode) = bytecode.get(at) {
            let step = opcode_outline::step(opcode);
            let operands = [byte(at + 1), byte(at + 2)];
            if step.length > 0 {
                highest = highest.max(step.constant(operands));
                at += usize::from(step.length);
                continue;
            }
            if opcode == opcode::MULTIANEWARRAY {
                highest = highest.max(u16::from_be_bytes(operands));
            }
            let Ok(length) = instruction::length_at(bytecode, at) else { break };
            at += length;
        }
        self.index(highest, code.bytecode_offset)
    }
}
