//! Method bodies by opcodes and labels.

use classfile::opcode::*;
use classfile::{ByteWriter, Tag};

use super::{Pool, write_attributes};

/// A place in the code that may be placed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// A verification type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Int,
    Long,
    UninitializedThis,
    Object(&'static str),
    /// Made by the `new` at this label.
    New(Label),
}

enum Width {
    Short,
    Wide,
}

/// Offset of the distance, offset of the instruction, target, and how wide.
struct Fixup(usize, usize, Label, Width);

struct Frame {
    offset: usize,
    locals: Vec<Type>,
    stack: Vec<Type>,
}

pub(crate) struct CodeBuilder<'p> {
    pub(crate) pool: &'p mut Pool,
    bytes: Vec<u8>,
    max_stack: u16,
    max_locals: u16,
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
    rows: Vec<(Label, Label, Label, u16)>,
    frames: Vec<Frame>,
    locals: Vec<(Label, Label, &'static str, u16)>,
    attributes: Vec<(u16, Vec<u8>)>,
}

impl<'p> CodeBuilder<'p> {
    pub(super) fn new(pool: &'p mut Pool) -> CodeBuilder<'p> {
        let (bytes, labels, fixups, rows, frames) = Default::default();
        let (locals, attributes) = Default::default();
        CodeBuilder { pool, bytes, max_stack: 8, max_locals: 8, labels, fixups, rows, frames, locals, attributes }
    }

    pub(crate) fn limits(&mut self, max_stack: u16, max_locals: u16) -> &mut Self {
        (self.max_stack, self.max_locals) = (max_stack, max_locals);
        self
    }

    pub(crate) fn offset(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn op(&mut self, opcode: u8) -> &mut Self {
        self.bytes.push(opcode);
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    pub(crate) fn repeat(&mut self, opcode: u8, times: usize) -> &mut Self {
        self.bytes.extend(std::iter::repeat_n(opcode, times));
        self
    }

    pub(crate) fn aload(&mut self, slot: u8) -> &mut Self {
        self.bytes(&[ALOAD, slot])
    }

    pub(crate) fn iload(&mut self, slot: u8) -> &mut Self {
        self.bytes(&[ILOAD, slot])
    }

    pub(crate) fn indexed(&mut self, opcode: u8, constant: u16) -> &mut Self {
        self.op(opcode).bytes(&constant.to_be_bytes())
    }

    pub(crate) fn invoke_static(&mut self, owner: &str, name: &str, descriptor: &str) -> &mut Self {
        let method = self.pool.member(Tag::Methodref, owner, name, descriptor);
        self.indexed(INVOKESTATIC, method)
    }

    pub(crate) fn invoke_special(&mut self, owner: &str, name: &str, descriptor: &str) -> &mut Self {
        let method = self.pool.member(Tag::Methodref, owner, name, descriptor);
        self.indexed(INVOKESPECIAL, method)
    }

    pub(crate) fn new_object(&mut self, class: &str) -> Label {
        let here = self.here();
        let class = self.pool.class(class);
        self.indexed(NEW, class);
        here
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// A label at the present place.
    pub(crate) fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    pub(crate) fn place(&mut self, label: Label) -> &mut Self {
        let here = self.offset();
        *self.labels.get_mut(label.0).unwrap() = Some(here);
        self
    }

    /// A jump with a 16-bit distance, or a 32-bit one for `goto_w` and `jsr_w`.
    pub(crate) fn jump(&mut self, opcode: u8, target: Label) -> &mut Self {
        let from = self.offset();
        self.op(opcode);
        let wide = matches!(opcode, GOTO_W | JSR_W);
        self.distance(from, target, if wide { Width::Wide } else { Width::Short })
    }

    fn distance(&mut self, from: usize, target: Label, width: Width) -> &mut Self {
        let here = self.offset();
        self.bytes.extend(match width {
            Width::Short => &[0; 2][..],
            Width::Wide => &[0; 4],
        });
        self.fixups.push(Fixup(here, from, target, width));
        self
    }

    fn switch_header(&mut self, opcode: u8, default: Label) -> usize {
        let from = self.offset();
        self.op(opcode);
        while !self.offset().is_multiple_of(4) {
            self.op(0);
        }
        self.distance(from, default, Width::Wide);
        from
    }

    pub(crate) fn table_switch(&mut self, low: i32, default: Label, cases: &[Label]) -> &mut Self {
        let from = self.switch_header(TABLESWITCH, default);
        let high = low + cases.len() as i32 - 1;
        self.bytes(&low.to_be_bytes()).bytes(&high.to_be_bytes());
        for &case in cases {
            self.distance(from, case, Width::Wide);
        }
        self
    }

    pub(crate) fn lookup_switch(&mut self, default: Label, cases: &[(i32, Label)]) -> &mut Self {
        let from = self.switch_header(LOOKUPSWITCH, default);
        self.bytes(&(cases.len() as u32).to_be_bytes());
        for &(key, case) in cases {
            self.bytes(&key.to_be_bytes()).distance(from, case, Width::Wide);
        }
        self
    }

    /// A frame at the present place.
    pub(crate) fn frame(&mut self, locals: &[Type], stack: &[Type]) -> &mut Self {
        let offset = self.offset();
        self.frames.push(Frame { offset, locals: locals.to_vec(), stack: stack.to_vec() });
        self
    }

    /// An exception handler; `None` catches everything.
    pub(crate) fn row(&mut self, start: Label, end: Label, handler: Label, catches: Option<&str>) -> &mut Self {
        let class = catches.map_or(0, |name| self.pool.class(name));
        self.rows.push((start, end, handler, class));
        self
    }

    pub(crate) fn local_variable(&mut self, start: Label, end: Label, name: &'static str, slot: u16) -> &mut Self {
        self.locals.push((start, end, name, slot));
        self
    }

    /// Any other attribute of `Code`.
    pub(crate) fn attribute(&mut self, name: &str, content: &[u8]) -> &mut Self {
        let name = self.pool.utf8(name);
        self.attributes.push((name, content.to_vec()));
        self
    }

    fn at(&self, label: Label) -> usize {
        self.labels.get(label.0).copied().flatten().expect("label is placed")
    }

    fn short(&self, label: Label) -> [u8; 2] {
        (self.at(label) as u16).to_be_bytes()
    }

    fn resolve(&mut self) {
        for Fixup(place, from, target, width) in std::mem::take(&mut self.fixups) {
            let distance = self.at(target) as i64 - from as i64;
            match width {
                Width::Short => {
                    let distance = i16::try_from(distance).expect("a short jump reaches its target");
                    self.bytes[place..place + 2].copy_from_slice(&distance.to_be_bytes());
                }
                Width::Wide => self.bytes[place..place + 4].copy_from_slice(&(distance as i32).to_be_bytes()),
            }
        }
    }

    fn types(&mut self, types: &[Type], out: &mut ByteWriter) {
        out.u2(types.len() as u16);
        for entry in types {
            match entry {
                Type::Int => out.u1(1),
                Type::Long => out.u1(4),
                Type::UninitializedThis => out.u1(6),
                Type::Object(class) => {
                    out.u1(7);
                    out.u2(self.pool.class(class));
                }
                Type::New(label) => {
                    out.u1(8);
                    out.u2(self.at(*label) as u16);
                }
            }
        }
    }

    /// All frames as full ones, so that every merge has to choose the form anew.
    fn stack_map(&mut self) -> Vec<u8> {
        let mut out = ByteWriter::new();
        let frames = std::mem::take(&mut self.frames);
        out.u2(frames.len() as u16);
        let mut next = 0;
        for frame in frames {
            out.u1(255);
            out.u2((frame.offset - next) as u16);
            next = frame.offset + 1;
            self.types(&frame.locals, &mut out);
            self.types(&frame.stack, &mut out);
        }
        out.into_vec()
    }

    /// The content of the `Code` attribute.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.resolve();
        let mut attributes = Vec::new();
        if !self.frames.is_empty() {
            let frames = self.stack_map();
            attributes.push((self.pool.utf8("StackMapTable"), frames));
        }
        if !self.locals.is_empty() {
            attributes.push((self.pool.utf8("LocalVariableTable"), self.local_table()));
        }
        attributes.append(&mut self.attributes);
        let mut out = [self.max_stack.to_be_bytes(), self.max_locals.to_be_bytes()].concat();
        out.extend((self.bytes.len() as u32).to_be_bytes());
        out.extend(&self.bytes);
        out.extend((self.rows.len() as u16).to_be_bytes());
        for &(start, end, handler, class) in &self.rows {
            for value in [self.short(start), self.short(end), self.short(handler), class.to_be_bytes()] {
                out.extend(value);
            }
        }
        write_attributes(&attributes, &mut out);
        out
    }

    fn local_table(&mut self) -> Vec<u8> {
        let locals = std::mem::take(&mut self.locals);
        let mut content = (locals.len() as u16).to_be_bytes().to_vec();
        for (start, end, name, slot) in locals {
            let length = (self.at(end) - self.at(start)) as u16;
            let (name, descriptor) = (self.pool.utf8(name), self.pool.utf8("I"));
            let start = self.at(start) as u16;
            for value in [start, length, name, descriptor, slot] {
                content.extend(value.to_be_bytes());
            }
        }
        content
    }
}
