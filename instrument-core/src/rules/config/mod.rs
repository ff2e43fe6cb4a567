//! The rules of a configuration file: TOML text -> types, with every mistake shown at its place.
//!
//! [`model`] holds `[[rule]]`, `[filter]` and `[exclude]`; [`rule_file`], [`read_rule`] and [`capture_keys`] read them with [`table_reader`],
//! which knows a key because it is asked for; [`problems`], [`diagnostic`] and [`source_text`] are what is reported. The other tables of
//! the file belong to the agent and are read by the crate `settings`, with the same means.

mod capture_keys;
mod diagnostic;
mod model;
mod name_doubt;
mod problems;
mod read_rule;
mod rule_file;
mod source_text;
mod table_reader;

pub use diagnostic::{Diagnostic, Severity};
pub use model::{DEFAULT_MAX_BYTES, ExcludeConfig, FilterConfig, Rule, RuleTables, string_or_list};
pub use problems::Problems;
pub use read_rule::check_rules;
pub use rule_file::{RuleFile, parse_document, read_damaged_document, read_table};
pub use source_text::SourceText;
pub use table_reader::TableReader;
