//! How to read the values of one type: what to keep, what to skip. Made once per chunk and type from the metadata, so
//! that files of other versions and other writers can be read as well.

use super::ReadError;
use super::cursor::{Cursor, Text};
use super::metadata::{Field, Types};

/// Types can contain each other; a type that contains itself cannot be read.
const DEEPEST_TYPE: u32 = 16;
/// What is kept of most events.
const NUMBERS: usize = 8;
const TEXTS: usize = 4;

/// The fields to keep, by name; their positions are their indices in [`Values`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) numbers: &'static [&'static str],
    pub(super) texts: &'static [&'static str],
}

/// The kept values of one event or constant.
#[derive(Debug)]
pub(super) struct Values<'c, const N: usize = NUMBERS, const T: usize = TEXTS> {
    /// Of a number that is no integer, the bits of its `f64`.
    pub(super) numbers: [u64; N],
    pub(super) texts: [Text<'c>; T],
}

#[derive(Debug, Clone, Copy)]
enum Encoding {
    Varint,
    Byte,
    Fixed(u64),
    Text,
    Nested(u64),
}

#[derive(Debug, Clone, Copy)]
struct Step {
    encoding: Encoding,
    is_array: bool,
    keep_at: Option<usize>,
}

/// How to read the values of one type.
#[derive(Debug)]
pub(super) struct Plan {
    steps: Vec<Step>,
}

impl Plan {
    /// A plan for a type; `None` when the chunk has no such type. A kept field that the type does not have stays 0.
    pub(super) fn new(types: &Types, type_id: u64, wanted: Wanted) -> Option<Plan> {
        let declared = types.get(&type_id)?;
        // A value that is not a struct (the strings of the string pool) is read as its only field.
        let whole = Field { name: String::new(), type_id, is_pooled: false, is_array: false };
        let fields: Vec<&Field> = match encoding(types, &whole) {
            Encoding::Nested(_) => declared.fields.iter().collect(),
            _ => vec![&whole],
        };
        Some(Plan { steps: fields.into_iter().map(|field| step(types, field, wanted)).collect() })
    }

    /// Reads a value, all kept fields.
    pub(super) fn read<'c, const N: usize, const T: usize>(
        &self,
        cursor: &mut Cursor<'c>,
        types: &Types,
    ) -> Result<Values<'c, N, T>, ReadError> {
        let mut values = Values { numbers: [0; N], texts: std::array::from_fn(|_| Text::default()) };
        for step in &self.steps {
            match (step.encoding, step.keep_at) {
                (Encoding::Text, Some(index)) => {
                    let text = cursor.text()?;
                    if let Some(slot) = values.texts.get_mut(index) {
                        *slot = text;
                    }
                }
                _ => step.number(cursor, types, &mut values.numbers)?,
            }
        }
        Ok(values)
    }

    /// Reads a value of which only numbers are kept.
    #[inline]
    pub(super) fn read_numbers(&self, cursor: &mut Cursor<'_>, types: &Types) -> Result<[u64; NUMBERS], ReadError> {
        let mut numbers = [0; NUMBERS];
        for step in &self.steps {
            step.number(cursor, types, &mut numbers)?;
        }
        Ok(numbers)
    }
}

impl Step {
    #[inline]
    fn number(&self, cursor: &mut Cursor<'_>, types: &Types, numbers: &mut [u64]) -> Result<(), ReadError> {
        let number = match (self.encoding, self.keep_at) {
            (Encoding::Varint, Some(_)) => cursor.varint()?,
            (Encoding::Byte, Some(_)) => u64::from(cursor.byte()?),
            (Encoding::Fixed(length), Some(_)) => fixed(cursor.take(length)?),
            _ => return skip(cursor, types, self.encoding, self.is_array, DEEPEST_TYPE),
        };
        if let Some(slot) = self.keep_at.and_then(|index| numbers.get_mut(index)) {
            *slot = number;
        }
        Ok(())
    }
}

fn step(types: &Types, field: &Field, wanted: Wanted) -> Step {
    let encoding = encoding(types, field);
    let names = match encoding {
        Encoding::Varint | Encoding::Byte | Encoding::Fixed(_) => wanted.numbers,
        Encoding::Text => wanted.texts,
        _ => &[],
    };
    let keep_at = names.iter().position(|name| *name == field.name).filter(|_| !field.is_array);
    Step { encoding, is_array: field.is_array, keep_at }
}

fn encoding(types: &Types, field: &Field) -> Encoding {
    if field.is_pooled {
        return Encoding::Varint;
    }
    match types.get(&field.type_id).map(|declared| declared.name.as_str()) {
        Some("boolean" | "byte") => Encoding::Byte,
        Some("char" | "short" | "int" | "long") => Encoding::Varint,
        Some("float") => Encoding::Fixed(4),
        Some("double") => Encoding::Fixed(8),
        Some("java.lang.String") => Encoding::Text,
        _ => Encoding::Nested(field.type_id),
    }
}

/// Returns the bits of a `float` or `double` as those of an `f64`.
fn fixed(bytes: &[u8]) -> u64 {
    let of_float = |bytes: &[u8; 4]| f64::from(f32::from_be_bytes(*bytes)).to_bits();
    let of_double = bytes.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
    of_double.or_else(|| bytes.first_chunk().map(of_float)).unwrap_or(0)
}

/// Goes over a field of any type.
pub(super) fn skip_field(cursor: &mut Cursor<'_>, types: &Types, field: &Field) -> Result<(), ReadError> {
    skip(cursor, types, encoding(types, field), field.is_array, DEEPEST_TYPE)
}

fn skip(
    cursor: &mut Cursor<'_>,
    types: &Types,
    encoding: Encoding,
    is_array: bool,
    depth: u32,
) -> Result<(), ReadError> {
    let count = if is_array { cursor.count()? } else { 1 };
    for _ in 0..count {
        match encoding {
            Encoding::Varint => drop(cursor.varint()?),
            Encoding::Byte => drop(cursor.byte()?),
            Encoding::Fixed(length) => drop(cursor.take(length)?),
            Encoding::Text => cursor.skip_text()?,
            Encoding::Nested(type_id) => skip_nested(cursor, types, type_id, depth)?,
        }
    }
    Ok(())
}

fn skip_nested(cursor: &mut Cursor<'_>, types: &Types, type_id: u64, depth: u32) -> Result<(), ReadError> {
    let Some(declared) = types.get(&type_id).filter(|_| depth > 0) else {
        return Err(cursor.error("a value has a type that is not declared, or contains itself"));
    };
    for field in &declared.fields {
        skip(cursor, types, encoding(types, field), field.is_array, depth - 1)?;
    }
    Ok(())
}
