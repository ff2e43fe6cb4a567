//! The rules of a configuration file: TOML text -> types, with every mistake shown at its place.
//!
//! [`model`] declares `[[rule]]`, `[filter]` and `[exclude]`, with the macro of [`declaration`] and the kinds of values of [`value_kind`] and
//! [`capture_keys`]; [`rule_file`] and [`read_rule`] read them with [`table_reader`] and check what concerns several keys; [`problems`],
//! [`diagnostic`] and [`source_text`] are what is reported. The other tables of the file belong to the agent and are declared in the crate
//! `settings`, with the same means.

mod capture_keys;
mod declaration;
mod diagnostic;
mod model;
mod name_doubt;
mod problems;
mod read_rule;
mod rule_file;
mod source_text;
mod table_reader;
mod time;
mod value_kind;

pub use declaration::{KeyDeclaration, Table, TableDeclaration, missing};
pub use diagnostic::{Diagnostic, Severity};
pub use model::{ExcludeConfig, FilterConfig, Rule, RuleTables};
pub use problems::Problems;
pub use read_rule::check_rules;
pub use rule_file::{RuleFile, parse_document, read_damaged_document, read_table, read_tables};
pub use source_text::SourceText;
pub use table_reader::TableReader;
pub use time::{HOW_TO_WRITE_TIMES, parse_time};
pub use value_kind::{Boolean, ValueKind, list, located, number, parsed, text, texts, time, word, words};
