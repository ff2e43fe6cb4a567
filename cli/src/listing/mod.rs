//! A method as people read it: instructions with offsets, mnemonics and symbolic operands, and every table of its code.

mod constants;
mod frames;
mod instructions;
mod text;

use classfile::attributes::{AttributeContent, LineNumber, LocalVariable};
use classfile::descriptor::MethodDescriptor;
use classfile::{ClassFile, Code, Member, access, attribute_kind::Location};
use instrument_core::OffsetMap;
use instrument_core::internal_name::to_source;
use serde::Serialize;

pub(crate) use text::{Paint, write_listing};

use constants::Constants;

/// A method body, decoded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Listing {
    /// Flags of the method, in the order of their bits.
    pub(crate) flags: Vec<&'static str>,
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    /// Bytes of code.
    pub(crate) code_length: usize,
    pub(crate) instructions: Vec<Line>,
    pub(crate) exception_table: Vec<Handler>,
    pub(crate) line_numbers: Vec<SourceLine>,
    pub(crate) local_variables: Vec<Variable>,
    pub(crate) frames: Vec<Frame>,
}

/// One instruction.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Line {
    pub(crate) offset: u32,
    pub(crate) mnemonic: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) operand: String,
    /// Cases of a switch, the default last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cases: Vec<Case>,
    /// Meaning of the operand, e.g. the name of a local variable.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) comment: String,
    /// Its origin, in an instrumented method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Origin>,
    /// Its offset before, if it was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) was: Option<u32>,
}

/// A case of a switch; the default has no key.
#[derive(Debug, Serialize)]
pub(crate) struct Case {
    pub(crate) key: Option<i32>,
    pub(crate) target: i64,
}

/// Which part of an instrumented method an instruction belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Origin {
    /// Code of the templates before the method's own code.
    Prolog,
    /// The method's own code.
    Target,
    /// Code that replaces a return of the method's own code.
    Return,
    /// Code of the templates after the method's own code.
    Epilog,
}

/// A row of the exception table.
#[derive(Debug, Serialize)]
pub(crate) struct Handler {
    pub(crate) start: u16,
    pub(crate) end: u16,
    pub(crate) handler: u16,
    /// `None` catches everything.
    pub(crate) catches: Option<String>,
}

/// From this offset on the instructions belong to this line of the source.
#[derive(Debug, Serialize)]
pub(crate) struct SourceLine {
    pub(crate) offset: u16,
    pub(crate) line: u16,
}

/// A named local variable.
#[derive(Debug, Serialize)]
pub(crate) struct Variable {
    pub(crate) start: u16,
    pub(crate) end: u32,
    pub(crate) slot: u16,
    pub(crate) name: String,
    pub(crate) descriptor: String,
}

/// Types at an offset, as the verifier expects them: one entry a value, so a long is one.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    pub(crate) offset: u32,
    pub(crate) locals: Vec<String>,
    pub(crate) stack: Vec<String>,
}

/// What is known about an instrumented method besides its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Merged<'m> {
    /// The method as it was.
    pub(crate) before: &'m Listing,
    pub(crate) way: Way<'m>,
    /// Offsets in the class file of the numbers of probes.
    pub(crate) probes: &'m [usize],
}

/// How the method's own code is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way<'m> {
    /// It is between prolog and epilog.
    Inline(&'m OffsetMap),
    /// It is called, by this name, as a method of its own.
    Wrapper(&'m str),
}

impl Listing {
    /// Decodes a method; `None` if it has no code.
    pub(crate) fn of(
        class: &ClassFile<'_>,
        method: &Member<'_>,
        merged: Option<Merged<'_>>,
    ) -> classfile::Result<Option<Listing>> {
        let Some(code) = method.code(class)? else { return Ok(None) };
        let mut tables = Tables::read(class, &code)?;
        tables.variables.sort_by_key(|variable| (variable.start, variable.slot));
        let constants = Constants::of(class, merged.map_or(&[], |merged| merged.probes))?;
        let mut instructions = instructions::decode(&code, &constants, &tables.variables)?;
        if let Some(merged) = merged {
            match merged.way {
                Way::Inline(map) => instructions::mark_origins(&mut instructions, &merged.before.instructions, map),
                Way::Wrapper(name) => {
                    let original = format!("{}.{name}{}", to_source(class.this_class().as_bytes()), method.descriptor);
                    instructions::mark_wrapper(&mut instructions, &original, argument_count(method)?);
                }
            }
        }
        Ok(Some(Listing {
            flags: flags(method.access_flags),
            max_stack: code.max_stack,
            max_locals: code.max_locals,
            code_length: code.bytecode.len(),
            instructions,
            exception_table: handlers(&code, &constants),
            line_numbers: tables.lines,
            local_variables: tables.variables,
            frames: frames::decode(class, method, &code)?,
        }))
    }
}

/// Arguments with the receiver.
fn argument_count(method: &Member<'_>) -> classfile::Result<usize> {
    let descriptor = MethodDescriptor::parse(method.descriptor.as_bytes())?;
    Ok(descriptor.parameters().count() + usize::from(!method.has(access::STATIC)))
}

#[derive(Default)]
struct Tables {
    lines: Vec<SourceLine>,
    variables: Vec<Variable>,
}

impl Tables {
    fn read(class: &ClassFile<'_>, code: &Code<'_>) -> classfile::Result<Tables> {
        let mut tables = Tables::default();
        for attribute in code.attributes(class) {
            match AttributeContent::parse(&attribute?, Location::Code, class)? {
                AttributeContent::LineNumberTable(rows) => {
                    tables
                        .lines
                        .extend(rows.iter().map(|LineNumber { start, line }| SourceLine { offset: start, line }));
                }
                AttributeContent::LocalVariableTable(rows) => {
                    for row in rows.iter() {
                        tables.variables.push(variable(class, row)?);
                    }
                }
                _ => {}
            }
        }
        tables.lines.sort_by_key(|line| line.offset);
        Ok(tables)
    }
}

fn variable(class: &ClassFile<'_>, row: LocalVariable) -> classfile::Result<Variable> {
    let pool = class.constant_pool();
    Ok(Variable {
        start: row.start,
        end: u32::from(row.start) + u32::from(row.length),
        slot: row.slot,
        name: pool.utf8(row.name)?.to_string(),
        descriptor: pool.utf8(row.descriptor)?.to_string(),
    })
}

fn handlers(code: &Code<'_>, constants: &Constants<'_, '_>) -> Vec<Handler> {
    let rows = code.exception_table.rows();
    rows.map(|row| Handler {
        start: row.start,
        end: row.end,
        handler: row.handler,
        catches: (row.catch_type != 0).then(|| constants.text(row.catch_type)),
    })
    .collect()
}

fn flags(flags: u16) -> Vec<&'static str> {
    let names = [
        (access::PUBLIC, "public"),
        (access::PRIVATE, "private"),
        (access::PROTECTED, "protected"),
        (access::STATIC, "static"),
        (access::FINAL, "final"),
        (access::SYNCHRONIZED, "synchronized"),
        (access::BRIDGE, "bridge"),
        (access::VARARGS, "varargs"),
        (access::NATIVE, "native"),
        (access::ABSTRACT, "abstract"),
        (0x0800, "strictfp"),
        (access::SYNTHETIC, "synthetic"),
    ];
    names.into_iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| name).collect()
}
