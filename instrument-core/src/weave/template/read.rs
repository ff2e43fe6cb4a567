//! Reads the templates of a compiled class: finds `@java.instr.Template`, lifts the code to operations.

use classfile::attributes::{Annotation, ElementValue, Structure, Table};
use classfile::instruction::{Instruction, Instructions};
use classfile::opcode::{self, Form};
use classfile::stack_map::{FrameDecoder, VerificationType};
use classfile::{ClassFile, Code, ConstantPool, Member, ModifiedUtf8, access};

use super::category;
use super::examined::ExaminedTemplate;
use super::exit_block;
use super::intrinsic::{Intrinsic, TARGET_CLASS};
use super::runtime_members::RuntimeClasses;
use super::symbol::{BootstrapRow, Symbol, SymbolReader};
use super::type_walk::class_symbol;
use super::{
    BUILT_IN, Operation, OperationKind, Purpose, Template, TemplateFrame, TemplateHandler, TemplateProblem,
    TemplateType, lint,
};
use crate::level::Level;
use crate::weave::template::SinglePassForm;

/// What the annotation says.
struct Marks {
    name: Option<String>,
    category: String,
    level: Level,
    live: bool,
    requires: Vec<String>,
}

/// A template being read: its place, for messages.
pub(super) struct Place<'a> {
    pub(super) class: &'a ClassFile<'a>,
    pub(super) method: &'a Member<'a>,
    origin: &'a str,
    source_file: Option<String>,
    lines: Vec<(u32, u32)>,
    pub(super) runtime: RuntimeClasses,
}

impl Place<'_> {
    pub(super) fn problem(&self, code_offset: u32, message: impl Into<String>) -> TemplateProblem {
        TemplateProblem {
            template: self.source(),
            origin: self.origin.to_owned(),
            source_file: self.source_file.clone(),
            line: self.line(code_offset),
            message: message.into(),
        }
    }

    fn source(&self) -> String {
        format!("{}.{}", self.class.this_class().to_string().replace('/', "."), self.method.name)
    }

    fn line(&self, code_offset: u32) -> Option<u32> {
        self.lines.iter().filter(|(start, _)| *start <= code_offset).max_by_key(|(start, _)| *start).map(|row| row.1)
    }
}

type Problems = Vec<TemplateProblem>;

/// All templates of a class, checked.
pub(super) fn templates(bytes: &[u8], origin: &str, runtime: RuntimeClasses) -> Result<Vec<Template>, Problems> {
    let (mut templates, mut problems) = (Vec::new(), Vec::new());
    for examined in examine(bytes, origin, runtime).map_err(|problem| vec![problem])? {
        match examined.outcome {
            Ok(template) => templates.push(template),
            Err(mut found) => problems.append(&mut found),
        }
    }
    if problems.is_empty() { Ok(templates) } else { Err(problems) }
}

/// Each template of a class, with the outcome of its check.
pub(super) fn examine(
    bytes: &[u8],
    origin: &str,
    runtime: RuntimeClasses,
) -> Result<Vec<ExaminedTemplate>, TemplateProblem> {
    let unreadable = |error: classfile::Error| TemplateProblem {
        template: "(class)".to_owned(),
        origin: origin.to_owned(),
        source_file: None,
        line: None,
        message: format!("cannot read the class file: {error}"),
    };
    let class = ClassFile::parse(bytes).map_err(unreadable)?;
    let source_file = source_file(&class);
    let mut examined = Vec::new();
    for method in class.methods() {
        let Some(marks) = marks(&class, method).map_err(unreadable)? else { continue };
        let source_file = source_file.clone();
        let mut place = Place { class: &class, method, origin, source_file, lines: vec![], runtime };
        examined.push(ExaminedTemplate {
            name: marks.name.clone().unwrap_or_else(|| method.name.to_string()),
            category: marks.category.clone(),
            level: marks.level,
            live: marks.live,
            source: place.source(),
            outcome: template(&mut place, marks),
        });
    }
    Ok(examined)
}

fn source_file(class: &ClassFile<'_>) -> Option<String> {
    let attribute = class.attributes().find(b"SourceFile").ok()??;
    let index = attribute.reader("SourceFile").u2().ok()?;
    Some(class.constant_pool().utf8(index).ok()?.to_string())
}

/// Reads `@Template` of a method; it has class retention, so it is one of the invisible annotations.
fn marks(class: &ClassFile<'_>, method: &Member<'_>) -> classfile::Result<Option<Marks>> {
    for name in [&b"RuntimeInvisibleAnnotations"[..], b"RuntimeVisibleAnnotations"] {
        let Some(attribute) = method.attributes(class).find(name)? else { continue };
        for annotation in Table::<Annotation<'_>>::read(&mut attribute.reader("annotation"), 0)? {
            if class.constant_pool().utf8(annotation.descriptor)? != "Ljava/instr/Template;" {
                continue;
            }
            let mut marks = Marks {
                name: None,
                category: "catch-all".to_owned(),
                level: Level::Time,
                live: false,
                requires: Vec::new(),
            };
            for element in annotation.elements {
                marks.take(class.constant_pool(), class.constant_pool().utf8(element.name)?, element.value)?;
            }
            return Ok(Some(marks));
        }
    }
    Ok(None)
}

impl Marks {
    /// Takes over an element of `@Template`.
    fn take(
        &mut self,
        pool: &ConstantPool<'_>,
        element: ModifiedUtf8<'_>,
        value: ElementValue<'_>,
    ) -> classfile::Result<()> {
        match value {
            ElementValue::Constant { tag: b's', value } => {
                let text = pool.utf8(value)?.to_string();
                match element.as_bytes() {
                    b"name" if !text.is_empty() => self.name = Some(text),
                    b"category" => self.category = text,
                    b"requires" => self.requires.push(text.replace('.', "/")),
                    _ => {}
                }
            }
            ElementValue::Constant { tag: b'Z', value } if element == "live" => self.live = pool.integer(value)? != 0,
            ElementValue::Enum { name, .. } => {
                let name = pool.utf8(name)?.to_string().to_ascii_lowercase();
                self.level = Level::ALL.into_iter().find(|level| level.name() == name).unwrap_or(self.level);
            }
            ElementValue::Array(values) => {
                for value in values {
                    self.take(pool, element, value)?;
                }
            }
            ElementValue::Constant { .. } | ElementValue::Class(_) | ElementValue::Annotation(_) => {}
        }
        Ok(())
    }
}

fn template(place: &mut Place<'_>, marks: Marks) -> Result<Template, Problems> {
    let unreadable =
        |place: &Place<'_>, error: classfile::Error| vec![place.problem(0, format!("cannot be read: {error}"))];
    let code = match place.method.code(place.class) {
        Ok(Some(code)) => code,
        Ok(None) => return Err(vec![place.problem(0, "has no body")]),
        Err(error) => return Err(unreadable(place, error)),
    };
    place.lines = line_numbers(place.class, &code).unwrap_or_default();
    if !place.method.has(access::STATIC) || place.method.descriptor != "()V" {
        return Err(vec![place.problem(0, "must be static, without parameters and void")]);
    }
    if let Some(message) = category::problem(&marks.category) {
        return Err(vec![place.problem(0, message)]);
    }
    if Purpose::of_category(&marks.category).is_some() && place.origin != BUILT_IN {
        let message = format!("has the category `{}`, which is instr's own; use another word", marks.category);
        return Err(vec![place.problem(0, message)]);
    }
    let mut lifted = lift(place, &code)?;
    lifted.read_tables(place, &code).map_err(|error| unreadable(place, error))?;
    if let Some(order) = exit_block::inline_exit_block(&mut lifted.operations, &mut lifted.frames, &mut lifted.handlers)
    {
        lifted.offsets = order.iter().filter_map(|old| lifted.offsets.get(*old).copied()).collect();
    }
    let mut template = Template {
        name: marks.name.unwrap_or_else(|| place.method.name.to_string()),
        category: marks.category,
        level: marks.level,
        live: marks.live,
        purpose: Purpose::Rules,
        origin: place.origin.to_owned(),
        content: 0,
        source: place.source(),
        requires: marks.requires,
        operations: lifted.operations,
        sentinel: 0,
        symbols: lifted.symbols,
        frames: lifted.frames,
        handlers: lifted.handlers,
        live_locals: Vec::new(),
        max_locals: code.max_locals,
        needs: super::Needs::default(),
        scope: None,
        epilog_is_straight: false,
        single_pass: None,
        minimum_version: 0,
    };
    let offsets = lifted.offsets;
    lint::complete(&mut template, &|operation| offsets.get(operation).copied().unwrap_or(0), place)?;
    template.epilog_is_straight = super::epilog_is_straight(&template);
    template.single_pass = SinglePassForm::of(&template);
    Ok(template)
}

fn line_numbers(class: &ClassFile<'_>, code: &Code<'_>) -> classfile::Result<Vec<(u32, u32)>> {
    let mut rows = Vec::new();
    for attribute in code.attributes(class) {
        let attribute = attribute?;
        if attribute.name == "LineNumberTable" {
            let mut reader = attribute.reader("LineNumberTable");
            for _ in 0..reader.u2()? {
                rows.push((u32::from(reader.u2()?), u32::from(reader.u2()?)));
            }
        }
    }
    Ok(rows)
}

#[derive(Default)]
struct Lifted {
    operations: Vec<Operation>,
    /// Code offset of each operation.
    offsets: Vec<u32>,
    symbols: Vec<Symbol>,
    frames: Vec<TemplateFrame>,
    handlers: Vec<TemplateHandler>,
}

fn lift(place: &Place<'_>, code: &Code<'_>) -> Result<Lifted, Problems> {
    let mut instructions = Vec::new();
    for instruction in Instructions::new(code.bytecode) {
        instructions.push(instruction.map_err(|error| vec![place.problem(0, error.to_string())])?);
    }
    let offsets: Vec<u32> = instructions.iter().map(|instruction| instruction.offset).collect();
    let bootstrap = bootstrap_rows(place.class).map_err(|error| vec![place.problem(0, error.to_string())])?;
    let reader = SymbolReader { pool: place.class.constant_pool(), bootstrap };
    let mut lifted = Lifted { offsets, ..Lifted::default() };
    let mut problems = Vec::new();
    for instruction in &instructions {
        match lifted.operation(instruction, &reader) {
            Ok(kind) => {
                let line = place.line(instruction.offset).unwrap_or(0);
                lifted.operations.push(Operation { kind, depth: 0, exceptional: false, normal: false, line });
            }
            Err(message) => problems.push(place.problem(instruction.offset, message)),
        }
    }
    if problems.is_empty() { Ok(lifted) } else { Err(problems) }
}

fn bootstrap_rows(class: &ClassFile<'_>) -> classfile::Result<Vec<BootstrapRow>> {
    let Some(attribute) = class.attributes().find(b"BootstrapMethods")? else { return Ok(Vec::new()) };
    let mut reader = attribute.reader("BootstrapMethods");
    let mut rows = Vec::new();
    for _ in 0..reader.u2()? {
        let handle = reader.u2()?;
        let arguments = (0..reader.u2()?).map(|_| reader.u2()).collect::<classfile::Result<_>>()?;
        rows.push(BootstrapRow { handle, arguments });
    }
    Ok(rows)
}

impl Lifted {
    fn at(&self, offset: i64) -> Result<usize, String> {
        let offset = u32::try_from(offset).map_err(|_| "branch out of the method".to_owned())?;
        self.offsets.binary_search(&offset).map_err(|_| "branch into an instruction".to_owned())
    }

    fn symbol(&mut self, symbol: Symbol) -> usize {
        self.symbols.iter().position(|known| *known == symbol).unwrap_or_else(|| {
            self.symbols.push(symbol);
            self.symbols.len() - 1
        })
    }

    fn operation(
        &mut self,
        instruction: &Instruction<'_>,
        reader: &SymbolReader<'_, '_>,
    ) -> Result<OperationKind, String> {
        let opcode = instruction.opcode;
        let info = opcode::info(opcode).ok_or("unknown instruction")?;
        Ok(match info.form {
            _ if (opcode::ILOAD_0..=opcode::ALOAD_3).contains(&opcode) => {
                let form = opcode - opcode::ILOAD_0;
                OperationKind::Local { opcode: opcode::ILOAD + form / 4, slot: u16::from(form % 4) }
            }
            _ if (opcode::ISTORE_0..=opcode::ASTORE_3).contains(&opcode) => {
                let form = opcode - opcode::ISTORE_0;
                OperationKind::Local { opcode: opcode::ISTORE + form / 4, slot: u16::from(form % 4) }
            }
            Form::Local if opcode == opcode::RET => return Err("jsr and ret are not allowed in a template".to_owned()),
            Form::Local => OperationKind::Local { opcode, slot: u16::from(instruction.u1(0)) },
            Form::Increment => {
                OperationKind::Increment { slot: u16::from(instruction.u1(0)), by: i16::from(instruction.u1(1) as i8) }
            }
            Form::Wide => match instruction.u1(0) {
                opcode::IINC => OperationKind::Increment { slot: instruction.u2(1), by: instruction.u2(3) as i16 },
                opcode::RET => return Err("jsr and ret are not allowed in a template".to_owned()),
                inner => OperationKind::Local { opcode: inner, slot: instruction.u2(1) },
            },
            Form::Branch | Form::WideBranch => self.branch(instruction)?,
            Form::TableSwitch | Form::LookupSwitch => self.switch(instruction)?,
            Form::None if opcode == opcode::RETURN => OperationKind::Return,
            Form::ShortConstant
            | Form::Constant
            | Form::InvokeInterface
            | Form::InvokeDynamic
            | Form::MultiNewArray => self.constant(instruction, reader)?,
            _ => OperationKind::Plain(instruction.bytes.to_vec()),
        })
    }

    fn branch(&self, instruction: &Instruction<'_>) -> Result<OperationKind, String> {
        let opcode = match instruction.opcode {
            opcode::JSR | opcode::JSR_W => return Err("jsr and ret are not allowed in a template".to_owned()),
            opcode::GOTO_W => opcode::GOTO,
            other => other,
        };
        let target = self.at(instruction.branch_target().ok_or("branch without target")?)?;
        Ok(OperationKind::Branch { opcode, target })
    }

    fn switch(&self, instruction: &Instruction<'_>) -> Result<OperationKind, String> {
        let switch = instruction.switch().ok_or("truncated switch")?;
        let at = |distance: i32| self.at(i64::from(switch.offset) + i64::from(distance));
        let mut cases = Vec::new();
        for (key, distance) in switch.cases() {
            cases.push((key, at(distance)?));
        }
        Ok(OperationKind::Switch { default: at(switch.default)?, cases, low: switch.low })
    }

    fn constant(
        &mut self,
        instruction: &Instruction<'_>,
        reader: &SymbolReader<'_, '_>,
    ) -> Result<OperationKind, String> {
        let index = instruction.constant().ok_or("instruction without constant")?;
        let symbol = reader.read(index, 8).map_err(|error| error.to_string())?;
        if let Symbol::Member(member) = &symbol
            && member.owner == TARGET_CLASS
        {
            return self.intrinsic(&member.name);
        }
        let opcode = if instruction.opcode == opcode::LDC_W { opcode::LDC } else { instruction.opcode };
        let (suffix, suffix_length) = match instruction.bytes.get(3..) {
            Some(&[a, b]) => ([a, b], 2),
            Some(&[a]) => ([a, 0], 1),
            _ => ([0, 0], 0),
        };
        let symbol = self.symbol(symbol);
        Ok(OperationKind::Constant { opcode, symbol, suffix, suffix_length })
    }

    /// `Target.arg(i)`: the pushed index before the call becomes part of it.
    fn intrinsic(&mut self, name: &[u8]) -> Result<OperationKind, String> {
        let intrinsic = Intrinsic::by_name(name)
            .ok_or_else(|| format!("java.instr.Target has no method {}", String::from_utf8_lossy(name)))?;
        if intrinsic != Intrinsic::Argument(0) {
            return Ok(OperationKind::Intrinsic(intrinsic));
        }
        let message = lint::CONSTANT_INDEX;
        let index = match self.operations.last().map(|operation| &operation.kind) {
            Some(OperationKind::Plain(bytes)) => match *bytes.as_slice() {
                [push] if (opcode::ICONST_0..=opcode::ICONST_5).contains(&push) => u16::from(push - opcode::ICONST_0),
                [opcode::BIPUSH, value] if value < 0x80 => u16::from(value),
                [opcode::SIPUSH, high, low] if high < 0x80 => u16::from_be_bytes([high, low]),
                _ => return Err(message.to_owned()),
            },
            _ => return Err(message.to_owned()),
        };
        if let Some(push) = self.operations.last_mut() {
            push.kind = OperationKind::Folded;
        }
        Ok(OperationKind::Intrinsic(Intrinsic::Argument(index)))
    }

    fn read_tables(&mut self, place: &Place<'_>, code: &Code<'_>) -> classfile::Result<()> {
        let end = self.operations.len();
        let bad = |offset: u32| {
            classfile::Error::new(classfile::ErrorKind::BadCodeOffset(offset), code.bytecode_offset, "template")
        };
        for row in code.exception_table.rows() {
            let at = |offset: u16| self.at(i64::from(offset)).map_err(|_| bad(u32::from(offset)));
            let stop = if usize::from(row.end) == code.bytecode.len() { end } else { at(row.end)? };
            let (start, handler) = (at(row.start)?, at(row.handler)?);
            let catch_type = match row.catch_type {
                0 => None,
                index => {
                    let name = place.class.constant_pool().class_name(index)?.as_bytes().to_vec();
                    Some(class_symbol(&mut self.symbols, &name))
                }
            };
            self.handlers.push(TemplateHandler { start, end: stop, handler, catch_type });
        }
        let Some(attribute) = code.attributes(place.class).find(b"StackMapTable")? else { return Ok(()) };
        let (mut locals, mut stack) = (Vec::new(), Vec::new());
        let mut decoder = FrameDecoder::new(attribute.reader("StackMapTable"), &mut locals, &mut stack)?;
        while let Some(offset) = decoder.advance()? {
            let operation = self.at(i64::from(offset)).map_err(|_| bad(offset))?;
            let locals = decoder.locals().to_vec();
            let stack = decoder.stack().to_vec();
            let frame =
                TemplateFrame { operation, locals: self.types(place, &locals)?, stack: self.types(place, &stack)? };
            self.frames.push(frame);
        }
        Ok(())
    }

    fn types(&mut self, place: &Place<'_>, types: &[VerificationType]) -> classfile::Result<Vec<TemplateType>> {
        let mut converted = Vec::new();
        for &entry in types {
            converted.push(match entry {
                VerificationType::Top | VerificationType::UninitializedThis => TemplateType::Top,
                VerificationType::Integer => TemplateType::Integer,
                VerificationType::Float => TemplateType::Float,
                VerificationType::Double => TemplateType::Double,
                VerificationType::Long => TemplateType::Long,
                VerificationType::Null => TemplateType::Null,
                VerificationType::Object(class) => {
                    let name = place.class.constant_pool().class_name(class)?.as_bytes().to_vec();
                    TemplateType::Object(class_symbol(&mut self.symbols, &name))
                }
                VerificationType::Uninitialized(offset) => {
                    TemplateType::Uninitialized(self.at(i64::from(offset)).map_err(|_| {
                        let kind = classfile::ErrorKind::BadCodeOffset(offset);
                        classfile::Error::new(kind, offset as usize, "template")
                    })?)
                }
            });
        }
        Ok(converted)
    }
}
