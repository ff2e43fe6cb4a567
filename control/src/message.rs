//! How messages are declared: once, for reading, writing and the description of the protocol ([`protocol_schema`](crate::protocol_schema)).

use std::collections::BTreeMap;
use std::path::PathBuf;

use instrument_core::words::Words;
use serde_json::{Map, Value as Json, json};

/// The described types by name.
pub(crate) type Types = Map<String, Json>;

/// A type that messages consist of.
pub(crate) trait Described {
    /// Returns the JSON Schema of its values. Types with a name are added to `types`, and the schema refers to them.
    fn describe(types: &mut Types) -> Json;
}

/// A field of a message, as it is declared.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What is declared for serde: a field with a default may be missing.
    pub(crate) serde: &'static str,
    pub(crate) describe: fn(&mut Types) -> Json,
}

/// Returns the schema of an object with these fields.
pub(crate) fn object(about: &str, fields: &[Field], types: &mut Types) -> Json {
    let mut properties = Map::new();
    for field in fields {
        let mut schema = (field.describe)(types);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), field.about.trim().into());
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let required: Vec<&str> =
        fields.iter().filter(|field| !field.serde.starts_with("default")).map(|field| field.name).collect();
    json!({ "type": "object", "description": about.trim(), "properties": properties, "required": required })
}

/// Adds a type with a name unless it is known, and returns a reference to it.
pub(crate) fn named(name: &str, types: &mut Types, describe: impl FnOnce(&mut Types) -> Json) -> Json {
    if !types.contains_key(name) {
        let schema = describe(types);
        types.insert(name.to_owned(), schema);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// Returns the schema of words.
pub(crate) fn words<T: Words>() -> Json {
    json!({ "enum": T::WORDS.iter().map(|(_, word, _)| word).collect::<Vec<_>>() })
}

/// Declares structs that are (parts of) answers. Attributes for serde follow the description of a field; one with a default may be missing, as
/// agents of other versions leave it out.
macro_rules! messages {
    ($(
        $(#[doc = $about:literal])+
        $(#[derive($($derived:ident),+)])?
        pub struct $name:ident { $(
            $(#[doc = $what:literal])+
            $(#[serde($($serde:tt)+)])?
            pub $field:ident: $type:ty,
        )* }
    )*) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize $($(, $derived)+)?)]
        pub struct $name { $(
            $(#[doc = $what])+
            $(#[serde($($serde)+)])?
            pub $field: $type,
        )* }

        impl crate::message::Described for $name {
            fn describe(types: &mut crate::message::Types) -> serde_json::Value {
                let fields = [$(crate::message::Field {
                    name: stringify!($field),
                    about: concat!($($what),+),
                    serde: concat!($(stringify!($($serde)+))?),
                    describe: <$type as crate::message::Described>::describe,
                }),*];
                let object = |types: &mut crate::message::Types| crate::message::object(concat!($($about),+), &fields, types);
                crate::message::named(stringify!($name), types, object)
            }
        }
    )*};
}
pub(crate) use messages;

macro_rules! described {
    ($($type:ty => $schema:tt),* $(,)?) => {$(
        impl Described for $type {
            fn describe(_: &mut Types) -> Json {
                json!($schema)
            }
        }
    )*};
}

described! {
    bool => { "type": "boolean" },
    u32 => { "type": "integer", "minimum": 0 },
    u64 => { "type": "integer", "minimum": 0 },
    usize => { "type": "integer", "minimum": 0 },
    f64 => { "type": "number" },
    String => { "type": "string" },
    PathBuf => { "type": "string" },
}

impl<T: Described> Described for Option<T> {
    fn describe(types: &mut Types) -> Json {
        json!({ "anyOf": [T::describe(types), { "type": "null" }] })
    }
}

impl<T: Described> Described for Vec<T> {
    fn describe(types: &mut Types) -> Json {
        json!({ "type": "array", "items": T::describe(types) })
    }
}

impl<T: Described> Described for BTreeMap<String, T> {
    fn describe(types: &mut Types) -> Json {
        json!({ "type": "object", "additionalProperties": T::describe(types) })
    }
}
