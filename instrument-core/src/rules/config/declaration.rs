//! How tables of the configuration file are declared: with [`declare_table!`](crate::declare_table).
//!
//! A key is declared once, as a field with its description, its name in the file, the kind of its values and, unless the field is an
//! `Option`, its default. The reader, suggestions for unknown keys, the JSON Schema and `docs/configuration.md` follow from that.

use serde_json::Value as Json;

use super::problems::Problems;
use super::table_reader::TableReader;
use super::value_kind::ValueKind;

/// A type that is read from a table; written with [`declare_table!`](crate::declare_table).
pub trait Table: Default {
    /// The table and its keys.
    const TABLE: TableDeclaration;

    /// Reads the keys. What concerns several of them is checked by the caller.
    fn read(table: &TableReader<'_, '_>, problems: &mut Problems) -> Self;
}

/// A table of the file, as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct TableDeclaration {
    /// Its name.
    pub title: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Names of its keys.
    pub names: &'static [&'static str],
    /// Returns its keys with all that the schema says of them.
    pub keys: fn() -> Vec<KeyDeclaration>,
}

impl TableDeclaration {
    /// Whether the file may have any number of these tables.
    pub fn is_list(&self) -> bool {
        matches!(self.title, "rule" | "context" | "claim" | "slow-calls")
    }

    /// Returns the line of the file that begins the table.
    pub fn header(&self) -> String {
        if self.is_list() { format!("[[{}]]", self.title) } else { format!("[{}]", self.title) }
    }
}

/// A key of a table, as it is declared.
#[derive(Debug)]
pub struct KeyDeclaration {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Its values in a few words.
    pub values: String,
    /// The JSON Schema of its values.
    pub schema: Json,
    /// The value that a file without the key has; null if there is none to show.
    pub default: Json,
}

impl KeyDeclaration {
    /// Returns the declaration of a key. `default` has one element, or none.
    pub fn new<K: ValueKind>(
        name: &'static str,
        about: &'static str,
        kind: &K,
        default: &[K::Value],
    ) -> KeyDeclaration {
        let default = default.first().map_or(Json::Null, |default| kind.written(default));
        KeyDeclaration { name, about: about.trim(), values: kind.summary(), schema: kind.schema(), default }
    }
}

/// Returns what is read where a key is missing.
pub fn missing<K: ValueKind>(_: &K) -> Option<K::Value> {
    None
}

/// Declares a table: a struct with a field for each key, `field: type = key("name", kind)` or `key("name", kind, default)`. Fields after
/// `and` are not read; they have the default of their type until they are set.
///
/// ```
/// use instrument_core::config::{Boolean, number};
/// instrument_core::declare_table! {
///     /// How the kettle works.
///     pub struct Kettle = "kettle" {
///         /// Degrees at which it stops.
///         stop_at: u32 = key("stop-at", number(40..=100), 100),
///         /// Degrees that are kept, if any.
///         keep_at: Option<u32> = key("keep-at", number(40..=95)),
///         /// Whether it beeps.
///         beep: bool = key("beep", Boolean, true),
///     }
/// }
/// let default = Kettle::default();
/// assert_eq!((default.stop_at, default.keep_at, default.beep), (100, None, true));
/// ```
#[macro_export]
macro_rules! declare_table {
    (
        $(#[doc = $about:literal])+
        pub struct $table:ident = $title:literal {
            $(
                $(#[doc = $what:literal])+
                $field:ident: $type:ty = key($name:literal, $kind:expr $(, $default:expr)?),
            )*
        }
        $( and { $( $(#[$meta:meta])* $extra:ident: $extra_type:ty, )* } )?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $table {
            $( $(#[doc = $what])+ pub $field: $type, )*
            $( $( $(#[$meta])* pub $extra: $extra_type, )* )?
        }

        impl Default for $table {
            fn default() -> Self {
                Self {
                    $( $field: $crate::rules::config::missing(&$kind)$(.unwrap_or($default))?, )*
                    $( $( $extra: Default::default(), )* )?
                }
            }
        }

        impl $crate::rules::config::Table for $table {
            const TABLE: $crate::rules::config::TableDeclaration = $crate::rules::config::TableDeclaration {
                title: $title,
                about: concat!($($about),+),
                names: &[$($name),*],
                keys: || vec![$(
                    $crate::rules::config::KeyDeclaration::new($name, concat!($($what),+), &$kind, &[$($default)?])
                ),*],
            };

            fn read(
                table: &$crate::rules::config::TableReader<'_, '_>,
                problems: &mut $crate::rules::config::Problems,
            ) -> Self {
                use $crate::rules::config::ValueKind as _;
                Self {
                    $( $field: $kind.read($name, table, problems)$(.unwrap_or($default))?, )*
                    $( $( $extra: Default::default(), )* )?
                }
            }
        }
    };
}
