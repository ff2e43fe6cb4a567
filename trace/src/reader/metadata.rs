//! The types that a chunk declares, read from its metadata event.

use rustc_hash::FxHashMap;

use super::ReadError;
use super::cursor::{Cursor, Text};

/// The metadata of every known writer is at most six elements deep.
const DEEPEST_ELEMENT: u32 = 32;

/// The types of a chunk by id.
pub(super) type Types = FxHashMap<u64, Type>;

/// A declared type.
#[derive(Debug, Default)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// A field of a declared type.
#[derive(Debug, Default)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) type_id: u64,
    pub(super) is_pooled: bool,
    pub(super) is_array: bool,
}

/// Reads the metadata event at `offset`.
pub(super) fn read_types(chunk: &[u8], offset: usize) -> Result<Types, ReadError> {
    let mut cursor = Cursor::new(chunk, offset);
    let _size = cursor.varint()?;
    if cursor.varint()? != 0 {
        return Err(cursor.error("there is no metadata event where the chunk says"));
    }
    for _start_duration_id in 0..3 {
        cursor.varint()?;
    }
    let count = cursor.count()?;
    let strings = (0..count).map(|_| string(&mut cursor)).collect::<Result<Vec<_>, _>>()?;
    let mut types = Types::default();
    element(&mut cursor, &strings, &mut types, DEEPEST_ELEMENT)?;
    Ok(types)
}

fn string(cursor: &mut Cursor<'_>) -> Result<String, ReadError> {
    match cursor.text()? {
        Text::Null => Ok(String::new()),
        Text::Inline(text) => Ok(text.into_owned()),
        Text::Pooled(_) => Err(cursor.error("a name of the metadata refers to a pool")),
    }
}

/// What an element means for the one around it.
enum Element {
    Field(Field),
    Other,
}

fn element(cursor: &mut Cursor<'_>, strings: &[String], types: &mut Types, depth: u32) -> Result<Element, ReadError> {
    if depth == 0 {
        return Err(cursor.error("the metadata is nested too deeply"));
    }
    let text = |cursor: &mut Cursor<'_>| {
        let index = cursor.varint()?;
        let known = usize::try_from(index).ok().and_then(|index| strings.get(index));
        known.map(String::as_str).ok_or_else(|| cursor.error("the metadata has no such string"))
    };
    let kind = text(cursor)?;
    let mut attributes = FxHashMap::default();
    for _ in 0..cursor.count()? {
        let name = text(cursor)?;
        attributes.insert(name, text(cursor)?);
    }
    let mut fields = Vec::new();
    for _ in 0..cursor.count()? {
        if let Element::Field(field) = element(cursor, strings, types, depth - 1)? {
            fields.push(field);
        }
    }
    let value = |name: &str| attributes.get(name).copied().unwrap_or_default();
    let number = |name: &str| value(name).parse().map_err(|_| cursor.error("a type of the metadata has no id"));
    match kind {
        "class" => {
            types.insert(number("id")?, Type { name: value("name").to_owned(), fields });
            Ok(Element::Other)
        }
        "field" => Ok(Element::Field(Field {
            name: value("name").to_owned(),
            type_id: number("class")?,
            is_pooled: value("constantPool") == "true",
            is_array: !matches!(value("dimension"), "" | "0"),
        })),
        _ => Ok(Element::Other),
    }
}
