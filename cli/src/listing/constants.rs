//! Constants of the pool as text: names for what has a name, values for the rest.

use classfile::attribute_kind::Location;
use classfile::attributes::{AttributeContent, BootstrapMethod, Table};
use classfile::descriptor::FieldType;
use classfile::{ClassFile, ConstantPool, MemberKind, ModifiedUtf8, Tag};
use instrument_core::internal_name::to_source;
use instrument_core::selection::signature::type_name;

/// Dynamic constants may have dynamic constants as arguments; a damaged class could go in circles.
const DEEPEST: u8 = 4;

/// The pool of a class, with what its dynamic constants refer to.
pub(super) struct Constants<'c, 'a> {
    pool: &'c ConstantPool<'a>,
    bootstrap: Option<Table<'a, BootstrapMethod<'a>>>,
    probes: &'c [usize],
}

impl<'c, 'a> Constants<'c, 'a> {
    /// `probes` are the offsets in the file of the numbers that probes record.
    pub(super) fn of(class: &'c ClassFile<'a>, probes: &'c [usize]) -> classfile::Result<Constants<'c, 'a>> {
        let bootstrap = match class.attributes().find(b"BootstrapMethods")? {
            Some(attribute) => match AttributeContent::parse(&attribute, Location::Class, class)? {
                AttributeContent::BootstrapMethods(rows) => Some(rows),
                _ => None,
            },
            None => None,
        };
        Ok(Constants { pool: class.constant_pool(), bootstrap, probes })
    }

    /// The constant at `index`; one that cannot be read is shown by its number.
    pub(super) fn text(&self, index: u16) -> String {
        self.read(index, DEEPEST).unwrap_or_else(|_| format!("constant #{index} (cannot be read)"))
    }

    /// Whether the constant is the number of a probe, which the agent sets when it loads the class.
    pub(super) fn is_probe_number(&self, index: u16) -> bool {
        self.pool.offset_of(index).is_ok_and(|offset| self.probes.contains(&(offset + 1)))
    }

    fn read(&self, index: u16, depth: u8) -> classfile::Result<String> {
        let pool = self.pool;
        Ok(match pool.tag(index)? {
            Tag::Integer => pool.integer(index)?.to_string(),
            Tag::Float => format!("{:?}f", f32::from_bits(pool.float_bits(index)?)),
            Tag::Long => format!("{}L", pool.long(index)?),
            Tag::Double => format!("{:?}d", f64::from_bits(pool.double_bits(index)?)),
            Tag::String => quoted(pool.string(index)?),
            Tag::Class => class_name(pool.class_name(index)?),
            Tag::MethodType => pool.method_type(index)?.to_string(),
            Tag::Fieldref | Tag::Methodref | Tag::InterfaceMethodref => self.member(index)?,
            Tag::MethodHandle => {
                let (kind, member) = pool.method_handle(index)?;
                format!("{} {}", handle_kind(kind), self.member(member)?)
            }
            Tag::Dynamic | Tag::InvokeDynamic => self.dynamic(index, depth)?,
            Tag::Utf8 => quoted(pool.utf8(index)?),
            Tag::NameAndType | Tag::Module | Tag::Package => format!("constant #{index}"),
        })
    }

    fn member(&self, index: u16) -> classfile::Result<String> {
        let member = self.pool.member_ref(index)?;
        let separator = if member.kind == MemberKind::Field { ":" } else { "" };
        Ok(format!("{}.{}{separator}{}", class_name(member.owner), member.name, member.descriptor))
    }

    /// Name and type, and in brackets the bootstrap method with its arguments.
    fn dynamic(&self, index: u16, depth: u8) -> classfile::Result<String> {
        let (row, name, descriptor) = self.pool.dynamic(index)?;
        let separator = if descriptor.as_bytes().starts_with(b"(") { "" } else { ":" };
        let mut text = format!("{name}{separator}{descriptor}");
        let row = self.bootstrap.and_then(|rows| rows.iter().nth(usize::from(row)));
        let Some(row) = row.filter(|_| depth > 0) else { return Ok(text) };
        let (_, method) = self.pool.method_handle(row.method)?;
        let method = self.pool.member_ref(method)?;
        text += &format!(" [{}.{}", class_name(method.owner), method.name);
        for (at, argument) in row.arguments.iter().enumerate() {
            text += if at == 0 { ": " } else { ", " };
            text += &self.read(argument, depth - 1)?;
        }
        Ok(text + "]")
    }
}

/// The name of a class, or of an array as a Java source writes it.
pub(super) fn class_name(name: ModifiedUtf8<'_>) -> String {
    match FieldType::take(name.as_bytes()) {
        Some((array, [])) if name.as_bytes().starts_with(b"[") => type_name(array),
        _ => to_source(name.as_bytes()),
    }
}

/// JVMS table 5.4.3.5-A.
fn handle_kind(kind: u8) -> &'static str {
    match kind {
        1 => "getfield",
        2 => "getstatic",
        3 => "putfield",
        4 => "putstatic",
        5 => "invokevirtual",
        6 => "invokestatic",
        7 => "invokespecial",
        8 => "newinvokespecial",
        9 => "invokeinterface",
        _ => "unknown kind",
    }
}

/// As a Java source would write it, on one line.
fn quoted(text: ModifiedUtf8<'_>) -> String {
    let mut quoted = String::from("\"");
    for character in text.to_string().chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_on_one_line() {
        assert_eq!(quoted(ModifiedUtf8(b"a \"b\"\n\x01")), r#""a \"b\"\n\u0001""#);
    }
}
