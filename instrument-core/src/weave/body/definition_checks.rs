//! Checks that the JVM makes when it defines a class, for faults that rewriting would remove: a class that is refused without the
//! agent must be refused with it. Parts that are copied unchanged are left to the JVM.
//!
//! * Constants are appended, so an index beyond the pool's end would get a meaning (for parts that are only copied:
//!   `engine/copied_references.rs`).
//! * Local slots are added, so arguments and variables that have no room would find some.
//! * Tables are written anew, so rows outside the code would be put right.
//! * The epilog follows the code, so code that runs off its end would run into it.
//! * Returns are replaced, so one of another kind than the method's result would pass for the right one.

use classfile::attributes::{AttributeContent, Structure, Table as Rows, TypeAnnotation};
use classfile::descriptor::MethodDescriptor;
use classfile::instruction::Instructions;
use classfile::opcode::{self, Flow};
use classfile::stack_map::{FrameForm, FrameHead};
use classfile::{ByteReader, ConstantPool, Error, ErrorKind, ExceptionRow, Result, opcode_outline};

use super::input::{BodyInput, Table, TableKind, Variable};

/// Fails if a constant names one beyond the end of the pool.
pub(crate) fn check_pool(pool: &ConstantPool<'_>) -> Result<()> {
    let count = pool.count();
    if pool.highest_reference() < count {
        return Ok(());
    }
    let mut outside = None;
    pool.visit_contents(|index, tag, content| {
        let part = |at: usize| {
            let bytes = content.get(at..).and_then(|rest| rest.first_chunk::<2>());
            bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
        };
        let highest = match tag {
            1..=6 => return,
            9..=12 => part(0).max(part(2)),
            15 => part(1),
            17 | 18 => part(2),
            _ => part(0),
        };
        if highest >= count {
            outside = outside.or(Some(index));
        }
    });
    match outside {
        Some(index) => Err(Error::new(ErrorKind::BadConstantIndex(index), pool.offset_of(index)?, "constant_pool")),
        None => Ok(()),
    }
}

/// Whether a table cannot be read at all, for which the JVM refuses a class of any version that knows the table.
pub(crate) fn is_unreadable(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Truncated | ErrorKind::BadFrame | ErrorKind::TrailingBytes)
}

/// Fails if something in the body lies outside of it; `returns` is the opcode of all returns.
pub(crate) fn check_body(
    body: &BodyInput<'_>,
    descriptor: &MethodDescriptor<'_>,
    is_static: bool,
    returns: u8,
    pool: &ConstantPool<'_>,
) -> Result<()> {
    if u32::from(descriptor.parameter_words()) + u32::from(!is_static) > u32::from(body.max_locals) {
        return Err(Error::new(ErrorKind::BadValue, 0, "max_locals"));
    }
    check_operands(body, returns, pool)?;
    for row in &body.rows {
        check_row(row, body.bytecode.len(), pool)?;
    }
    if body.tables.iter().filter(|table| table.kind == TableKind::StackMap).count() > 1 {
        return Err(Error::new(ErrorKind::BadValue, 0, "second StackMapTable"));
    }
    body.tables.iter().try_for_each(|table| check_table(table, body, pool))
}

fn check_operands(body: &BodyInput<'_>, returns: u8, pool: &ConstantPool<'_>) -> Result<()> {
    let code = body.bytecode;
    let (mut at, mut last, mut implied) = (0, 0, 0);
    while let Some(&opcode) = code.get(at) {
        last = at;
        let outline = opcode_outline::outline(opcode);
        implied = implied.max(outline.implied_slots);
        if (opcode::IRETURN..=opcode::RETURN).contains(&opcode) && opcode != returns {
            return Err(Error::new(ErrorKind::BadValue, at, "return"));
        }
        if outline.is_plain {
            at += usize::from(outline.length);
            continue;
        }
        let mut instructions = Instructions::starting_at(code, at);
        let Some(instruction) = instructions.next().transpose()? else { break };
        if let Some(index) = instruction.constant() {
            check_index(index, pool, at)?;
        }
        if instruction.last_local().is_some_and(|slot| slot >= u32::from(body.max_locals)) {
            return Err(Error::new(ErrorKind::BadValue, at, "local slot"));
        }
        at += instruction.bytes.len();
    }
    let end = code.get(last..).unwrap_or_default();
    let flow = end.first().and_then(|&opcode| opcode::info(opcode)).map(|info| info.flow);
    let goes_on = matches!(flow, None | Some(Flow::Next | Flow::Conditional | Flow::Subroutine));
    if goes_on && !matches!(end, [opcode::WIDE, opcode::RET, ..]) {
        return Err(Error::new(ErrorKind::BadValue, code.len(), "end of the code"));
    }
    let fits = u16::from(implied) <= body.max_locals;
    if fits { Ok(()) } else { Err(Error::new(ErrorKind::BadValue, 0, "local slot")) }
}

fn check_index(index: u16, pool: &ConstantPool<'_>, offset: usize) -> Result<()> {
    let outside = index >= pool.count();
    if outside { Err(Error::new(ErrorKind::BadConstantIndex(index), offset, "constant index")) } else { Ok(()) }
}

/// Fails if a handler, what it covers or what it catches lies outside.
pub(crate) fn check_row(row: &ExceptionRow, code_length: usize, pool: &ConstantPool<'_>) -> Result<()> {
    check_index(row.catch_type, pool, 0)?;
    let inside = row.start < row.end && usize::from(row.end) <= code_length && usize::from(row.handler) < code_length;
    if inside { Ok(()) } else { Err(Error::new(ErrorKind::BadValue, 0, "exception_table")) }
}

fn check_table(table: &Table<'_>, body: &BodyInput<'_>, pool: &ConstantPool<'_>) -> Result<()> {
    let reader = ByteReader::new(table.content, table.offset, "debug table");
    match table.kind {
        TableKind::LineNumbers => check_line_numbers(reader, body.bytecode.len()),
        TableKind::LocalVariables => check_variables(reader, body, pool),
        // Whether they can be read at all is for others to say: old classes are taken with any.
        TableKind::StackMap => match check_frames(reader, pool) {
            Err(error) if !matches!(error.kind, ErrorKind::BadConstantIndex(_)) => Ok(()),
            checked => checked,
        },
        TableKind::TypeAnnotations => check_type_annotations(reader, pool),
        TableKind::Dropped | TableKind::Other => Ok(()),
    }
}

/// Checks the classes that frames name; everything else in them is written as it was read.
fn check_frames(mut reader: ByteReader<'_>, pool: &ConstantPool<'_>) -> Result<()> {
    for _ in 0..reader.u2()? {
        match FrameHead::read(&mut reader)?.form {
            FrameForm::Same | FrameForm::Chop(_) => {}
            FrameForm::OneStackItem => check_types(1, &mut reader, pool)?,
            FrameForm::Append(added) => check_types(u16::from(added), &mut reader, pool)?,
            FrameForm::Full => {
                for _ in ["locals", "stack"] {
                    let count = reader.u2()?;
                    check_types(count, &mut reader, pool)?;
                }
            }
        }
    }
    Ok(())
}

fn check_types(count: u16, reader: &mut ByteReader<'_>, pool: &ConstantPool<'_>) -> Result<()> {
    for _ in 0..count {
        match reader.u1()? {
            7 => check_index(reader.u2()?, pool, reader.offset())?,
            8 => reader.skip(2)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_type_annotations(mut reader: ByteReader<'_>, pool: &ConstantPool<'_>) -> Result<()> {
    let offset = reader.offset();
    // What cannot be read means nothing to anybody.
    let Ok(rows) = Rows::<TypeAnnotation<'_>>::read(&mut reader, 0) else { return Ok(()) };
    let mut highest = 0;
    AttributeContent::RuntimeVisibleTypeAnnotations(rows).visit_constants(&mut |index| highest = highest.max(index));
    check_index(highest, pool, offset)
}

fn check_line_numbers(mut reader: ByteReader<'_>, code_length: usize) -> Result<()> {
    for _ in 0..reader.u2()? {
        if usize::from(reader.u2()?) >= code_length {
            return Err(reader.error(ErrorKind::BadValue));
        }
        reader.skip(2)?;
    }
    Ok(())
}

fn check_variables(mut reader: ByteReader<'_>, body: &BodyInput<'_>, pool: &ConstantPool<'_>) -> Result<()> {
    for _ in 0..reader.u2()? {
        let row = *reader.take(10)?.first_chunk::<10>().ok_or(reader.error(ErrorKind::Truncated))?;
        check_variable(&Variable::of(row), body.bytecode.len(), body.max_locals, pool)
            .map_err(|kind| reader.error(kind))?;
    }
    Ok(())
}

/// Fails if a variable, or what describes it, lies outside.
#[inline]
pub(crate) fn check_variable(
    variable: &Variable,
    code_length: usize,
    max_locals: u16,
    pool: &ConstantPool<'_>,
) -> std::result::Result<(), ErrorKind> {
    let Variable { start, length, name, descriptor, slot } = *variable;
    let highest = name.max(descriptor);
    if highest >= pool.count() {
        return Err(ErrorKind::BadConstantIndex(highest));
    }
    let end = usize::from(start) + usize::from(length);
    if usize::from(start) >= code_length || end > code_length || slot >= max_locals {
        return Err(ErrorKind::BadValue);
    }
    // Only in the last slot does it matter whether there would be room for two.
    if slot + 1 == max_locals {
        let descriptor = pool.utf8(descriptor).map_err(|error| error.kind)?;
        if matches!(descriptor.as_bytes(), b"J" | b"D") {
            return Err(ErrorKind::BadValue);
        }
    }
    Ok(())
}
