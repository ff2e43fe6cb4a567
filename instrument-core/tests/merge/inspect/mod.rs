//! Rewritten methods, decoded for looking at.

mod stack_depth;

pub(crate) use stack_depth::needed_stack;

use classfile::descriptor::MethodDescriptor;
use classfile::instruction::Instructions;
use classfile::opcode;
use classfile::stack_map::{FrameDecoder, VerificationType, implied_locals};
use classfile::{ClassFile, ExceptionRow};

/// One instruction, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) offset: u32,
    pub(crate) opcode: u8,
    pub(crate) bytes: Vec<u8>,
    /// Targets of a jump or switch, default first.
    pub(crate) targets: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) offset: u32,
    /// One entry per slot: the second half of a long or double is a top.
    pub(crate) locals: Vec<VerificationType>,
    pub(crate) stack: Vec<VerificationType>,
}

/// A method body with everything decoded.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) code: Vec<u8>,
    pub(crate) steps: Vec<Step>,
    pub(crate) rows: Vec<ExceptionRow>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) attributes: Vec<(String, Vec<u8>)>,
}

/// The body of a method of a class.
pub(crate) fn body(class: &[u8], method_index: usize) -> Body {
    let class = ClassFile::parse(class).expect("the output can be read");
    let method = class.methods().get(method_index).expect("the method exists");
    let code = method.code(&class).unwrap().expect("the method has code");
    let attributes: Vec<_> = code
        .attributes(&class)
        .map(|attribute| attribute.map(|attribute| (attribute.name.to_string(), attribute.content.to_vec())).unwrap())
        .collect();
    Body {
        max_stack: code.max_stack,
        max_locals: code.max_locals,
        code: code.bytecode.to_vec(),
        steps: steps(code.bytecode),
        rows: code.exception_table.rows().collect(),
        frames: frames(&class, method_index),
        attributes,
    }
}

fn steps(bytecode: &[u8]) -> Vec<Step> {
    let decode = |instruction: classfile::Result<classfile::instruction::Instruction<'_>>| {
        let instruction = instruction.expect("the output decodes");
        let mut targets: Vec<u32> = instruction.branch_target().map(|target| target as u32).into_iter().collect();
        if let Some(switch) = instruction.switch() {
            let distances = std::iter::once(switch.default).chain(switch.cases().map(|(_, distance)| distance));
            targets.extend(distances.map(|distance| (i64::from(instruction.offset) + i64::from(distance)) as u32));
        }
        Step { offset: instruction.offset, opcode: instruction.opcode, bytes: instruction.bytes.to_vec(), targets }
    };
    Instructions::new(bytecode).map(decode).collect()
}

fn frames(class: &ClassFile<'_>, method_index: usize) -> Vec<Frame> {
    let method = class.methods().get(method_index).unwrap();
    let code = method.code(class).unwrap().unwrap();
    let Some(table) = code.attributes(class).find(b"StackMapTable").unwrap() else { return Vec::new() };
    let descriptor = MethodDescriptor::parse(method.descriptor.as_bytes()).unwrap();
    let constructor = method.name == "<init>" && class.super_class().is_some();
    let receiver = match (method.has(classfile::access::STATIC), constructor) {
        (true, _) => None,
        (_, true) => Some(VerificationType::UninitializedThis),
        _ => Some(VerificationType::Object(class_constant(class, class.this_class().as_bytes()))),
    };
    let (mut locals, mut stack, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    let index = |name: &[u8]| Ok::<_, ()>(class_constant(class, name));
    implied_locals(receiver, &descriptor, &mut locals, index).unwrap();
    let mut decoder = FrameDecoder::new(table.reader("frames"), &mut locals, &mut stack).unwrap();
    while let Some(offset) = decoder.advance().unwrap() {
        let locals = decoder.locals().iter().flat_map(|&entry| std::iter::once(entry).chain(second_half(entry)));
        frames.push(Frame { offset, locals: locals.collect(), stack: decoder.stack().to_vec() });
    }
    frames
}

fn second_half(entry: VerificationType) -> Option<VerificationType> {
    (entry.slots() == 2).then_some(VerificationType::Top)
}

/// Index of a class constant by name; 0 if there is none.
pub(crate) fn class_constant(class: &ClassFile<'_>, name: &[u8]) -> u16 {
    let pool = class.constant_pool();
    let found = pool.entries().find(|(index, _)| pool.class_name(*index).is_ok_and(|known| known.as_bytes() == name));
    found.map_or(0, |(index, _)| index)
}

impl Body {
    pub(crate) fn step_at(&self, offset: u32) -> &Step {
        let found = self.steps.binary_search_by_key(&offset, |step| step.offset).ok();
        let step = found.and_then(|index| self.steps.get(index));
        step.unwrap_or_else(|| panic!("no instruction at {offset}: {:?}", self.names()))
    }

    pub(crate) fn has_step_at(&self, offset: u32) -> bool {
        self.steps.binary_search_by_key(&offset, |step| step.offset).is_ok()
    }

    pub(crate) fn frame_at(&self, offset: u32) -> &Frame {
        let found = self.frames.iter().find(|frame| frame.offset == offset);
        found.unwrap_or_else(|| panic!("no frame at {offset}: {:#?}", self.frames))
    }

    /// Mnemonics in order.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.steps.iter().map(|step| opcode::info(step.opcode).map_or("?", |info| info.name)).collect()
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&[u8]> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, content)| content.as_slice())
    }

    /// `method` of each call, in code order.
    pub(crate) fn calls(&self, class: &[u8]) -> Vec<String> {
        let class = ClassFile::parse(class).unwrap();
        let calls = self.steps.iter().filter(|step| (0xb6..=0xb9).contains(&step.opcode));
        calls
            .map(|step| {
                let constant = u16::from_be_bytes([step.bytes[1], step.bytes[2]]);
                class.constant_pool().member_ref(constant).unwrap().name.to_string()
            })
            .collect()
    }
}
