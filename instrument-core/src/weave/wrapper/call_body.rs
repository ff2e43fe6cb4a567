//! The wrapper's body before any template is put around it: load all arguments, call the original, return its result.

use classfile::attributes::{LineNumber, Structure, Table as Rows};
use classfile::descriptor::MethodDescriptor;
use classfile::{ByteWriter, ClassFile, Code, ConstantPool, ConstantPoolWriter, Member, ModifiedUtf8, Tag};
use classfile::{access, opcode};
use smallvec::SmallVec;

use crate::weave::body::input::{BodyInput, Table, TableKind};
use crate::weave::merge::emit::{load_opcode, local_bytes, return_opcode};
use crate::weave::refusal::Refusal;

/// The body.
#[derive(Debug)]
pub(crate) struct CallBody {
    bytecode: Vec<u8>,
    /// Words of the arguments, receiver included: just these are loaded.
    argument_words: u16,
    result_words: u16,
    /// The method reference through which the original is called.
    constant: u16,
    line_numbers: Vec<u8>,
}

impl CallBody {
    /// The body that calls the method `name` of the class itself, which has the descriptor and the staticness of `method`.
    pub(crate) fn new(
        class: &ClassFile<'_>,
        method: &Member<'_>,
        descriptor: &MethodDescriptor<'_>,
        name: &[u8],
        pool: &mut ConstantPoolWriter,
    ) -> Result<CallBody, Refusal> {
        let interface = class.access_flags() & access::INTERFACE != 0;
        let tag = if interface { Tag::InterfaceMethodref } else { Tag::Methodref };
        let constant =
            pool.member(class.constant_pool(), tag, class.this_class(), ModifiedUtf8(name), method.descriptor)?;
        let is_static = method.has(access::STATIC);
        let mut bytecode = Vec::new();
        let mut slot = 0u16;
        let mut load = |opcode: u8, words: u16| {
            let (bytes, length) = local_bytes(opcode, slot);
            bytecode.extend_from_slice(bytes.get(..length).unwrap_or_default());
            slot = slot.checked_add(words).ok_or(Refusal::TooManyLocals)?;
            Ok::<_, Refusal>(())
        };
        if !is_static {
            load(opcode::ALOAD, 1)?;
        }
        for parameter in descriptor.parameters() {
            load(load_opcode(parameter.kind()), parameter.kind().words())?;
        }
        // Never virtual: a subclass whose method is wrapped as well calls this one by `super`, and would be called back.
        bytecode.push(if is_static { opcode::INVOKESTATIC } else { opcode::INVOKESPECIAL });
        bytecode.extend_from_slice(&constant.to_be_bytes());
        let result = descriptor.return_type().map(|result| result.kind());
        bytecode.push(result.map_or(opcode::RETURN, return_opcode));
        let result_words = result.map_or(0, |kind| kind.words());
        Ok(CallBody { bytecode, argument_words: slot, result_words, constant, line_numbers: Vec::new() })
    }

    /// The constant that the call names.
    pub(crate) fn constant(&self) -> u16 {
        self.constant
    }

    /// The body as a target of the merge; its one line is the first of the original.
    pub(crate) fn as_input<'b>(
        &'b mut self,
        original: &Code<'_>,
        pool: &ConstantPool<'_>,
    ) -> classfile::Result<BodyInput<'b>> {
        let mut tables = SmallVec::new();
        if let Some(attribute) = original.attributes_in(pool).find(b"LineNumberTable")? {
            let rows = Rows::<LineNumber>::read(&mut attribute.reader("LineNumberTable"), 0)?;
            if let Some(first) = rows.iter().min_by_key(|row| row.start) {
                let mut content = ByteWriter::new();
                content.u2(1);
                LineNumber { start: 0, line: first.line }.write(&mut content);
                self.line_numbers = content.into_vec();
                tables.push(Table {
                    kind: TableKind::LineNumbers,
                    name_index: attribute.name_index,
                    content: &self.line_numbers,
                    offset: attribute.offset,
                });
            }
        }
        Ok(BodyInput {
            max_stack: self.argument_words.max(self.result_words),
            max_locals: self.argument_words,
            bytecode: &self.bytecode,
            rows: SmallVec::new(),
            tables,
        })
    }
}
